//! What a network's errors are to those who asked: a code, what happened, and what to do next.

use inbox_core::{Code, Refusal};
use inbox_hcs::Refused;
use inbox_hedera::client::ExecuteError;
use inbox_hedera::key::KeyError;
use inbox_hedera::mirror::MirrorError;
use inbox_hedera::proto;
use inbox_hedera::submit::SubmitError;

/// An error of the layers below, told to whoever asked.
pub trait Told<T> {
    /// The same, as a refusal.
    fn told(self) -> Result<T, Refusal>;
}

impl<T> Told<T> for Result<T, ExecuteError> {
    fn told(self) -> Result<T, Refusal> {
        self.map_err(|error| executing(&error, error.to_string()))
    }
}

impl<T> Told<T> for Result<T, SubmitError> {
    fn told(self) -> Result<T, Refusal> {
        self.map_err(|error| {
            let message = error.to_string();
            match error.execute() {
                Some(below) => executing(below, message),
                None if matches!(error, SubmitError::Empty) => {
                    Refusal::input(message).hint("a message says something")
                }
                None => Refusal::new(Code::TooLarge, message)
                    .hint("inbox hcs file put writes what is larger"),
            }
        })
    }
}

fn executing(error: &ExecuteError, message: String) -> Refusal {
    match error {
        ExecuteError::Refused(_, code) => by_code(*code, message),
        ExecuteError::Failed(happened) => {
            by_code(proto::Code::from(happened.receipt.status), message)
        }
        ExecuteError::NotTaken { .. } => Refusal::new(Code::Ledger, message)
            .hint("inbox devnet runs a network here; --network names another"),
        ExecuteError::Unknown { .. } => Refusal::new(Code::Ledger, message)
            .hint("inbox hcs inspect shows whether it happened; look before you do it again"),
        ExecuteError::Key(_) => Refusal::input(message),
    }
}

fn by_code(code: proto::Code, message: String) -> Refusal {
    match code {
        proto::Code::InvalidSignature
        | proto::Code::Unauthorized
        | proto::Code::AuthorizationFailed => Refusal::new(Code::NotAllowed, message)
            .hint("inbox hcs topic show TOPIC names the keys that may do this"),
        proto::Code::InvalidTopicId | proto::Code::TopicExpired => {
            Refusal::new(Code::TopicNotFound, message)
        }
        proto::Code::PayerAccountNotFound
        | proto::Code::InvalidAccountId
        | proto::Code::AccountIdDoesNotExist => Refusal::new(Code::AccountNotFound, message),
        proto::Code::InsufficientPayerBalance | proto::Code::InsufficientAccountBalance => {
            Refusal::new(Code::Ledger, message)
                .hint("inbox hcs account show has the balance; inbox hcs account fund adds to it")
        }
        proto::Code::InvalidTransactionStart | proto::Code::TransactionExpired => {
            Refusal::new(Code::Ledger, message)
                .hint("date shows the clock of this machine, which must be that of the network")
        }
        proto::Code::ScheduleAlreadyExecuted
        | proto::Code::ScheduleAlreadyDeleted
        | proto::Code::NoNewValidSignatures
        | proto::Code::IdenticalScheduleAlreadyCreated => {
            Refusal::new(Code::AlreadyExists, message)
        }
        _ => Refusal::new(Code::Ledger, message),
    }
}

impl<T> Told<T> for Result<T, MirrorError> {
    fn told(self) -> Result<T, Refusal> {
        self.map_err(|error| {
            Refusal::new(Code::Ledger, error.to_string())
                .hint("inbox devnet runs a network here; --network names another")
        })
    }
}

impl<T> Told<T> for Result<T, KeyError> {
    fn told(self) -> Result<T, Refusal> {
        self.map_err(|error| Refusal::input(error.to_string()))
    }
}

impl<T> Told<T> for Result<T, Refused> {
    /// What the caller wants to write cannot be.
    fn told(self) -> Result<T, Refusal> {
        self.map_err(|refused| {
            let code = match refused {
                Refused::TooLarge { .. } => Code::TooLarge,
                _ => Code::InvalidInput,
            };
            Refusal::new(code, refused.to_string())
        })
    }
}

/// What somebody else wrote cannot be read.
pub(crate) fn unreadable(what: &str, refused: &Refused) -> Refusal {
    Refusal::new(
        Code::InvalidWire,
        format!("{what} cannot be read: {refused}"),
    )
}

/// What the network must name in its answer.
pub(crate) fn named<T>(found: Option<T>, what: &str) -> Result<T, Refusal> {
    found.ok_or_else(|| {
        Refusal::new(
            Code::Ledger,
            format!("the network's answer does not name {what}"),
        )
    })
}
