//! PostgreSQL's errors in the store's terms.

use crate::error::StoreError;

/// What went wrong on a connection.
#[derive(Debug)]
pub(super) enum Failure {
    /// The server refused a statement.
    Server(ServerError),
    /// The connection cannot be used any more.
    Lost(String),
    /// No answer came in time. The connection cannot be used any more, unless nothing was asked.
    Late,
    /// An answer that is not what the statement gives.
    Unreadable(String),
}

/// An error as the server words it.
#[derive(Debug, Default)]
pub(super) struct ServerError {
    pub(super) severity: String,
    pub(super) code: String,
    pub(super) message: String,
    pub(super) detail: Option<String>,
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Failure::Lost(error.to_string())
    }
}

impl Failure {
    /// Whether the connection cannot be used after this.
    pub(super) fn ends_connection(&self) -> bool {
        match self {
            Failure::Server(error) => matches!(error.severity.as_str(), "FATAL" | "PANIC"),
            Failure::Lost(_) | Failure::Late => true,
            // Its rows may still be on their way.
            Failure::Unreadable(_) => true,
        }
    }

    /// Whether the server no longer has a prepared statement, or cannot run it since a table changed.
    pub(super) fn forgot_statement(&self) -> bool {
        matches!(self, Failure::Server(error) if matches!(error.code.as_str(), "26000" | "0A000"))
    }

    /// What it means to the caller.
    pub(super) fn meaning(&self, server: &str) -> StoreError {
        if self.ends_connection() {
            return match self {
                Failure::Unreadable(what) => StoreError::Unreadable(what.clone()),
                _ => StoreError::Database(format!(
                    "the connection to PostgreSQL at {server} was lost: {}",
                    self.words()
                )),
            };
        }
        match self {
            Failure::Server(error) => match error.code.as_str() {
                // Somebody else was first, or PostgreSQL had to choose: the same again may succeed.
                "40001" | "40P01" | "23505" => StoreError::Raced,
                // A lock, or a statement that ran into its time limit.
                "55P03" | "57014" => StoreError::Busy(self.words()),
                "42501" => StoreError::Denied(self.words()),
                // A character that it does not have, a number out of its range, a row that its indexes do not take: never, however
                // often it is tried.
                "22021" | "22P05" | "22003" | "22008" | "54000" => {
                    StoreError::Unstorable(self.words())
                }
                _ => StoreError::Database(self.words()),
            },
            _ => StoreError::Database(self.words()),
        }
    }

    /// In words.
    pub(super) fn words(&self) -> String {
        match self {
            Failure::Server(error) => error.words(),
            Failure::Lost(words) | Failure::Unreadable(words) => words.clone(),
            Failure::Late => "no answer came in time".into(),
        }
    }
}

impl ServerError {
    fn words(&self) -> String {
        let mut text = self.message.clone();
        // The detail of these quotes the whole row, which may hold a lease's secret.
        let quotes_row = matches!(self.code.as_str(), "23514" | "23502");
        if let Some(detail) = self.detail.as_ref().filter(|_| !quotes_row) {
            text.push_str(": ");
            text.push_str(detail);
        }
        let code = &self.code;
        match class(code) {
            Some(class) => format!("{text} ({class}, SQLSTATE {code})"),
            None => format!("{text} (SQLSTATE {code})"),
        }
    }
}

/// The name of an SQLSTATE's class, after PostgreSQL's manual, appendix A.
fn class(code: &str) -> Option<&'static str> {
    // Its class is that of syntax errors, too, and would mislead.
    if code == "42501" {
        return Some("insufficient privilege");
    }
    Some(match code.get(..2)? {
        "08" => "connection exception",
        "0A" => "feature not supported",
        "22" => "data exception",
        "23" => "integrity constraint violation",
        "25" => "invalid transaction state",
        "26" => "invalid statement name",
        "28" => "invalid authorization",
        "3D" => "invalid database name",
        "3F" => "invalid schema name",
        "40" => "transaction rollback",
        "42" => "syntax error or access rule violation",
        "53" => "insufficient resources",
        "54" => "program limit exceeded",
        "55" => "object not in the needed state",
        "57" => "operator intervention",
        "58" => "system error",
        "XX" => "internal error",
        _ => return None,
    })
}
