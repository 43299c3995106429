//! Values that a shell may offer for an argument.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command};

/// Takes any text: what is wrong with it is said where its meaning is known, with a better hint than the parser's.
#[derive(Clone)]
struct Suggested(Vec<String>);

impl TypedValueParser for Suggested {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.0.iter().map(PossibleValue::new)))
    }
}

/// Lets shells offer these values. The help of the argument says already which there are.
pub(crate) fn suggest<T: Into<String>>(arg: Arg, values: impl IntoIterator<Item = T>) -> Arg {
    let values: Vec<String> = values.into_iter().map(Into::into).collect();
    if values.is_empty() {
        return arg;
    }
    arg.value_parser(Suggested(values))
        .hide_possible_values(true)
}
