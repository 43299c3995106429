//! Who may say what: an operation counts as its writer's when the account that it names paid for it.

use crate::id::{AccountId, OperatorId};
use crate::operation::Operation;

/// Whom an operation names as its writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writer {
    /// An agent, by its `operator_id`.
    Operator(OperatorId),
    /// An agent that is also the owner of the topic.
    OwningOperator(OperatorId),
    /// The owner of the topic; the `operator_id` is somebody else, or may be.
    Owner,
    /// The account that is registered.
    Account(AccountId),
    /// Nobody: the state of the topic decides.
    Unnamed,
}

/// Whether an operation is believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It is from this account.
    Verified(AccountId),
    /// It says that it is from somebody who did not pay for it. It is kept and never acted on.
    Unverified,
}

/// Whom an operation names as its writer.
pub const fn writer(operation: &Operation) -> Writer {
    match operation {
        Operation::Register(register) => Writer::Account(register.account),
        Operation::Delete(_) | Operation::Migrate(_) => Writer::Unnamed,
        Operation::ConnectionRequest(request) => Writer::Operator(request.operator),
        Operation::ConnectionCreated(created) => Writer::OwningOperator(created.operator),
        Operation::InboundMessage(message) => Writer::Operator(message.operator),
        Operation::RequestRecord(_) | Operation::CreatedRecord(_) | Operation::ClosedRecord(_) => {
            Writer::Owner
        }
        Operation::OutboundMessage(message) => Writer::OwningOperator(message.operator),
        Operation::Message(message) => Writer::Operator(message.operator),
        Operation::CloseConnection(close) => Writer::Operator(close.operator),
        Operation::Transaction(transaction) => Writer::Operator(transaction.operator),
    }
}

/// Whether an operation is from whom it says, given who paid for it and who owns its topic.
pub fn standing(operation: &Operation, payer: AccountId, owner: Option<AccountId>) -> Standing {
    let is_verified = match writer(operation) {
        Writer::Operator(operator) => operator.account == payer,
        Writer::OwningOperator(operator) => {
            operator.account == payer && owner.is_none_or(|owner| owner == payer)
        }
        Writer::Owner => owner == Some(payer),
        Writer::Account(account) => account == payer,
        Writer::Unnamed => true,
    };
    if is_verified {
        Standing::Verified(payer)
    } else {
        Standing::Unverified
    }
}
