//! The three kinds of values that cross between Rust and either database.

use std::borrow::Cow;

use crate::error::StoreError;

/// A parameter of a statement.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Param<'a> {
    /// No value.
    Null,
    /// An integer of any width.
    Int(i64),
    /// A text.
    Text(&'a str),
}

impl From<i64> for Param<'_> {
    fn from(value: i64) -> Self {
        Param::Int(value)
    }
}

impl<'a> From<&'a str> for Param<'a> {
    fn from(value: &'a str) -> Self {
        Param::Text(value)
    }
}

impl<'a, T> From<Option<T>> for Param<'a>
where
    T: Into<Param<'a>>,
{
    fn from(value: Option<T>) -> Self {
        value.map_or(Param::Null, Into::into)
    }
}

/// Refuses what one of the databases cannot hold, before either is asked: both give the same answer, and a value that is never held is no
/// failure of the store.
pub(crate) fn storable(params: &[Param<'_>]) -> Result<(), StoreError> {
    let has_nul = |param: &Param<'_>| matches!(param, Param::Text(text) if text.contains('\0'));
    if params.iter().any(has_nul) {
        let problem = "a text has a NUL character, which cannot be stored";
        return Err(StoreError::Unstorable(problem.into()));
    }
    Ok(())
}

/// A text for people, with a picture in the place of what cannot be stored.
pub(crate) fn shown(text: &str) -> Cow<'_, str> {
    if text.contains('\0') {
        return text.replace('\0', "\u{2400}").into();
    }
    text.into()
}

/// A value in a row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    /// No value.
    Null,
    /// An integer of any width.
    Int(i64),
    /// A text.
    Text(String),
}

/// One row of an answer, read from left to right.
#[derive(Debug, Clone)]
pub(crate) struct Row(std::vec::IntoIter<Value>);

impl Row {
    /// A row of these values.
    pub(crate) fn new(values: Vec<Value>) -> Self {
        Row(values.into_iter())
    }

    /// The columns that were not read yet.
    pub(crate) fn into_values(self) -> Vec<Value> {
        self.0.collect()
    }

    /// The next column, an integer.
    pub(crate) fn int(&mut self) -> Result<i64, StoreError> {
        self.maybe_int()?
            .ok_or_else(|| StoreError::Unreadable("a missing number".into()))
    }

    /// The next column, an integer or null.
    pub(crate) fn maybe_int(&mut self) -> Result<Option<i64>, StoreError> {
        match self.0.next() {
            Some(Value::Int(value)) => Ok(Some(value)),
            Some(Value::Null) => Ok(None),
            other => Err(StoreError::Unreadable(format!(
                "{other:?} in place of a number"
            ))),
        }
    }

    /// The next column, a text.
    pub(crate) fn text(&mut self) -> Result<String, StoreError> {
        self.maybe_text()?
            .ok_or_else(|| StoreError::Unreadable("a missing text".into()))
    }

    /// The next column, a text or null.
    pub(crate) fn maybe_text(&mut self) -> Result<Option<String>, StoreError> {
        match self.0.next() {
            Some(Value::Text(value)) => Ok(Some(value)),
            Some(Value::Null) => Ok(None),
            other => Err(StoreError::Unreadable(format!(
                "{other:?} in place of a text"
            ))),
        }
    }

    /// The next column, parsed from its text.
    pub(crate) fn parsed<T: std::str::FromStr>(&mut self) -> Result<T, StoreError> {
        let text = self.text()?;
        text.parse()
            .map_err(|_| StoreError::Unreadable(inbox_core::text::quoted(&text)))
    }

    /// The next column, a word of a vocabulary.
    pub(crate) fn word<T>(
        &mut self,
        from_code: impl Fn(i64) -> Option<T>,
    ) -> Result<T, StoreError> {
        let code = self.int()?;
        from_code(code).ok_or_else(|| StoreError::Unreadable(format!("the word number {code}")))
    }
}
