//! Amounts of HBAR, as people write them.

use std::fmt;
use std::str::FromStr;

use inbox_core::Refusal;
use inbox_hedera::fee::Amount;
use inbox_ops::config::Tinybars;

/// An amount, kept in tinybars.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Hbar(i64);

impl Hbar {
    /// So many tinybars.
    pub const fn from_tinybars(tinybars: i64) -> Self {
        Hbar(tinybars)
    }

    /// In tinybars.
    pub const fn tinybars(self) -> i64 {
        self.0
    }
}

impl FromStr for Hbar {
    type Err = Refusal;

    /// As a setting is read: `2`, `0.5`, never below zero, and no more digits than there are tinybars.
    fn from_str(text: &str) -> Result<Self, Refusal> {
        let Tinybars(tinybars) = text.parse()?;
        Ok(Hbar(tinybars))
    }
}

impl fmt::Display for Hbar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        write!(f, "{sign}{}", Amount::Tinybars(self.0.unsigned_abs()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_read_exactly() {
        for (text, tinybars) in [
            ("0", 0),
            ("2", 200_000_000),
            ("0.5", 50_000_000),
            ("1.00000001", 100_000_001),
            ("92233720368.54775807", i64::MAX),
        ] {
            assert_eq!(text.parse(), Ok(Hbar(tinybars)), "{text}");
        }
        for wrong in [
            "",
            ".5",
            "1.",
            "-1",
            "+1",
            "1e3",
            "0.000000001",
            "92233720368.54775808",
            " 1",
            "1 ℏ",
        ] {
            assert!(wrong.parse::<Hbar>().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn an_amount_is_shown_without_empty_digits() {
        for (tinybars, text) in [
            (0, "0 ℏ"),
            (50_000_000, "0.5 ℏ"),
            (-100_000_001, "-1.00000001 ℏ"),
            (i64::MIN, "-92233720368.54775808 ℏ"),
        ] {
            assert_eq!(Hbar(tinybars).to_string(), text);
        }
    }
}
