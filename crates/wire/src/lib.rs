//! Agent Wire and Agent Cards: the typed messages that agents exchange, and who an agent is.
//!
//! Pure: no I/O, no clock. Text becomes JSON by [`decode()`], JSON becomes a [`Wire`] by [`parse`] or a
//! [`Card`] by [`parse_card`], and every fault on the way is a [`Problem`] with a JSON pointer. The types
//! also make the JSON Schemas in `definitions/wire/`, by [`schemas()`].

mod card;
mod check;
mod contract;
mod decode;
mod form;
mod problem;
mod prompt;
mod rule;
mod schemas;
mod sentence;
mod subset;
mod template;
mod types;
mod wire;
mod word;

pub use card::{
    CARD_VERSION, Card, EscalationRule, Identity, Known, Voice, parse_card, route_address,
    validate_card,
};
pub use check::{Outputs, check_complete, output_document};
pub use contract::{ContractExample, contract, contracts};
pub use decode::{MAX_BYTES, MAX_DEPTH, decode, decode_carrier, decode_payload, decode_request};
pub use form::form;
pub use problem::{Fault, MAX_PROBLEMS, Problem, is_unknown_version};
pub use prompt::{Mail, PromptParts, mark, prompt};
pub use schemas::schemas;
pub use sentence::{sentences, words};
pub use subset::ContractSchema;
pub use template::{MessageType, TypeInfo, known_message_types, template, types};
pub use types::{
    Blocked, Brief, Claim, Complete, Env, Inbox, OutputContract, Verification, WIRE_VERSION,
};
pub use wire::{Payload, Wire, parse, validate};
pub use word::{BlockerType, Mechanical, OutputType, Semantic, Type, Via};
