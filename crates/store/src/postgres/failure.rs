//! PostgreSQL's errors in the store's terms.

use std::error::Error as _;

use tokio_postgres::Error;
use tokio_postgres::error::{DbError, Severity, SqlState};

use super::bind::Misfit;
use crate::error::StoreError;

/// What an error of a statement means to the caller.
pub(super) fn of(server: &str, error: &Error) -> StoreError {
    if ends_connection(error) {
        let words = words(error);
        return StoreError::Database(format!(
            "the connection to PostgreSQL at {server} was lost: {words}"
        ));
    }
    match error.code() {
        // Somebody else was first, or PostgreSQL had to choose: the same again may well succeed.
        Some(
            &SqlState::T_R_SERIALIZATION_FAILURE
            | &SqlState::T_R_DEADLOCK_DETECTED
            | &SqlState::UNIQUE_VIOLATION,
        ) => StoreError::Raced,
        // A statement is cancelled when it runs into its time limit.
        Some(&SqlState::LOCK_NOT_AVAILABLE | &SqlState::QUERY_CANCELED) => {
            StoreError::Busy(words(error))
        }
        _ => StoreError::Database(words(error)),
    }
}

/// Whether the connection cannot be used after this error.
pub(super) fn ends_connection(error: &Error) -> bool {
    match error.as_db_error() {
        Some(db) => matches!(
            db.parsed_severity(),
            Some(Severity::Fatal | Severity::Panic)
        ),
        // Everything else that the client finds itself is about the connection or the protocol.
        None => !error
            .source()
            .is_some_and(<dyn std::error::Error>::is::<Misfit>),
    }
}

/// Whether the server no longer has a prepared statement, or cannot run it since a table changed.
pub(super) fn forgot_statement(error: &Error) -> bool {
    matches!(
        error.code(),
        Some(&SqlState::INVALID_SQL_STATEMENT_NAME | &SqlState::FEATURE_NOT_SUPPORTED)
    )
}

/// The error in words: what the database says, or each cause after its effect.
pub(super) fn words(error: &Error) -> String {
    if let Some(db) = error.as_db_error() {
        return db_words(db);
    }
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

fn db_words(db: &DbError) -> String {
    let mut text = db.message().to_owned();
    // The detail of these quotes the whole row, which may hold a lease's secret.
    let quotes_row = matches!(
        *db.code(),
        SqlState::CHECK_VIOLATION | SqlState::NOT_NULL_VIOLATION
    );
    if let Some(detail) = db.detail().filter(|_| !quotes_row) {
        text.push_str(": ");
        text.push_str(detail);
    }
    let code = db.code().code();
    match class(code) {
        Some(class) => format!("{text} ({class}, SQLSTATE {code})"),
        None => format!("{text} (SQLSTATE {code})"),
    }
}

/// The name of an SQLSTATE's class, after PostgreSQL's manual, appendix A.
fn class(code: &str) -> Option<&'static str> {
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
