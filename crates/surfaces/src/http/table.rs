//! The operations as a server calls them: by path, with a body, one row each.

use std::sync::Arc;

use inbox_core::sabotage::planted;
use inbox_core::{Code, Refusal, Scope};
use inbox_ops::{Answer, Caller, Effect, Identity, Inbox, Operation, Visitor, Waiting};
use schemars::{Schema, SchemaGenerator};

use super::engine::Engine;
use super::wait;

/// An answer as it goes out.
pub(super) type Reply = Result<Vec<u8>, Refusal>;

/// A request that was read, and can be run where the store is.
pub(super) type Ready = Box<dyn FnOnce(&Inbox, &Caller) -> Result<Written, Refusal> + Send>;

/// An answer that is still to be written out, which need not happen where the store is.
pub(super) type Written = Box<dyn FnOnce() -> Reply + Send>;

/// A request that waits.
pub(super) type Waits = fn(Arc<Engine>, Caller, &[u8]) -> Result<wait::Answering, Refusal>;

/// One operation.
pub(super) struct Entry {
    /// Its name on every surface.
    pub(super) name: &'static str,
    /// Its name in a path.
    pub(super) path: String,
    pub(super) effect: Effect,
    /// Whether it writes in parts, beside the writes of others.
    pub(super) is_long: bool,
    pub(super) identity: Identity,
    /// What a token must allow.
    pub(super) scope: Scope,
    pub(super) read: fn(&[u8]) -> Result<Ready, Refusal>,
    pub(super) wait: Option<Waits>,
    /// What it does, in one line.
    pub(super) about: fn() -> String,
    pub(super) request: fn(&mut SchemaGenerator) -> Schema,
    pub(super) answer: fn(&mut SchemaGenerator) -> Schema,
}

/// Every operation, by its path.
pub(super) struct Table {
    entries: Vec<Entry>,
}

impl Table {
    pub(super) fn new() -> Self {
        let mut table = Table {
            entries: Vec::new(),
        };
        inbox_ops::each_operation(&mut table);
        table.entries.sort_by(|a, b| a.path.cmp(&b.path));
        table
    }

    pub(super) fn find(&self, path: &str) -> Option<&Entry> {
        let place = self
            .entries
            .binary_search_by(|entry| entry.path.as_str().cmp(path));
        place.ok().and_then(|place| self.entries.get(place))
    }

    /// The place of an entry of this table.
    pub(super) fn place(&self, entry: &Entry) -> usize {
        let is_it = |other: &Entry| std::ptr::eq(other, entry);
        self.entries.iter().position(is_it).unwrap_or_default()
    }

    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    fn add<O: Operation>(&mut self, wait: Option<Waits>) {
        let scope = O::SCOPE.unwrap_or(match O::EFFECT {
            Effect::Write => Scope::Write,
            Effect::Read | Effect::Wait => Scope::Read,
        });
        self.entries.push(Entry {
            name: O::NAME,
            path: O::NAME.replace(' ', "-"),
            effect: O::EFFECT,
            is_long: O::IS_LONG,
            identity: O::IDENTITY,
            scope,
            read: read::<O>,
            wait,
            about: || {
                let schema = schemars::schema_for!(O);
                let about = schema.get("description").and_then(|text| text.as_str());
                about
                    .and_then(|text| text.lines().next())
                    .unwrap_or_default()
                    .to_owned()
            },
            request: |generator| generator.subschema_for::<O>(),
            answer: |generator| generator.subschema_for::<O::Answer>(),
        });
    }
}

impl Visitor for Table {
    fn visit<O: Operation>(&mut self) {
        self.add::<O>(None);
    }

    fn visit_waiting<O: Waiting>(&mut self) {
        self.add::<O>(Some(wait::start::<O>));
    }
}

/// Reads a request. An empty body is an empty object.
pub(super) fn request<O: Operation>(body: &[u8]) -> Result<O, Refusal> {
    let body = if body.is_empty() { b"{}" } else { body };
    let text =
        std::str::from_utf8(body).map_err(|_| Refusal::input("the body is not UTF-8 text"))?;
    // By the same reader as every payload: a key that is there twice is refused.
    let value = inbox_ops::decode_request(text)
        .map_err(|error| Refusal::input(format!("the body is not JSON: {}", error.message)))?;
    if !value.is_object() {
        return Err(Refusal::input("the body is not a JSON object")
            .hint(format!("send the fields of {} as an object", O::NAME)));
    }
    // From the text and not from the value, which forgets how a number was written.
    serde_json::from_str(text).map_err(|error| {
        let told = error.to_string();
        let place = format!(" at line {} column {}", error.line(), error.column());
        Refusal::from_carried(told.strip_suffix(&place).unwrap_or(&told))
    })
}

fn read<O: Operation>(body: &[u8]) -> Result<Ready, Refusal> {
    let request: O = request(body)?;
    Ok(Box::new(move |inbox, caller| {
        let answer = request.run(inbox, caller)?;
        let written: Written = Box::new(move || write(O::NAME, &answer));
        Ok(written)
    }))
}

/// Writes an answer as every surface gives it.
pub(super) fn write<A: Answer>(command: &str, answer: &A) -> Reply {
    let text = crate::envelope::answer(command, answer)?;
    if planted("null_left_out") {
        let mut answer: serde_json::Map<_, serde_json::Value> =
            serde_json::from_str(&text).map_err(crate::envelope::internal)?;
        answer.retain(|_, value| !value.is_null());
        return serde_json::to_vec(&answer).map_err(crate::envelope::internal);
    }
    Ok(text.into_bytes())
}

/// A refusal as every surface gives it.
pub(super) fn refused(refusal: &Refusal) -> Vec<u8> {
    crate::envelope::refusal(refusal).into_bytes()
}

/// What an operation that is no operation is answered with.
pub(super) fn unknown(path: &str) -> Refusal {
    Refusal::new(
        Code::InvalidInput,
        format!("there is no operation {path:?}"),
    )
    .hint("GET /openapi.json lists the operations")
}
