//! Amounts of HBAR, as people write them.

use std::fmt;
use std::str::FromStr;

use inbox_core::Refusal;
use inbox_hedera::fee::Amount;

/// How many tinybars are one HBAR.
const WHOLE: i64 = 100_000_000;

/// How many digits stand behind the point.
const DIGITS: usize = 8;

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

    /// `2`, `0.5`: never below zero, and no more digits than there are tinybars.
    fn from_str(text: &str) -> Result<Self, Refusal> {
        let parse = || {
            let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
            let is_plain = |digits: &str| {
                !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
            };
            if !is_plain(whole) || !is_plain(part) || part.len() > DIGITS {
                return None;
            }
            let whole: i64 = whole.parse().ok()?;
            let part: i64 = format!("{part:0<DIGITS$}").parse().ok()?;
            whole.checked_mul(WHOLE)?.checked_add(part).map(Hbar)
        };
        parse().ok_or_else(|| {
            Refusal::input(format!("{text:?} is not an amount of HBAR"))
                .hint("write it as 2 or 0.5; the smallest is 0.00000001")
        })
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
