//! The parameters of a question: what they compare with, how many rows they want, and where the next page begins.

use rusqlite::types::Value as Sql;

use super::{Refused, form};

/// The most rows of a page, and how many there are unless told otherwise.
const MOST: i64 = 100;
const USUAL: i64 = 25;

/// The parameters of a question.
#[derive(Debug, Default)]
pub(super) struct Query {
    pairs: Vec<(String, String)>,
}

/// How a value is compared, as in `gt:5`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compare {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Compare {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "eq" => Compare::Equal,
            "ne" => Compare::NotEqual,
            "lt" => Compare::Less,
            "lte" => Compare::LessOrEqual,
            "gt" => Compare::Greater,
            "gte" => Compare::GreaterOrEqual,
            _ => return None,
        })
    }

    /// As SQL writes it.
    fn sql(self) -> &'static str {
        match self {
            Compare::Equal => "=",
            Compare::NotEqual => "<>",
            Compare::Less => "<",
            Compare::LessOrEqual => "<=",
            Compare::Greater => ">",
            Compare::GreaterOrEqual => ">=",
        }
    }
}

/// A statement that grows, and its values.
pub(super) struct Select {
    pub(super) text: String,
    pub(super) values: Vec<Sql>,
}

impl Select {
    pub(super) fn new(text: &str, values: impl IntoIterator<Item = i64>) -> Self {
        Select {
            text: text.to_owned(),
            values: values.into_iter().map(Sql::from).collect(),
        }
    }

    /// Adds a condition with its value.
    pub(super) fn and(&mut self, condition: &str, value: impl Into<Sql>) {
        self.text.push_str(" AND ");
        self.text.push_str(condition);
        self.values.push(value.into());
    }
}

/// Which page is wanted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Page {
    pub(super) limit: i64,
    pub(super) is_descending: bool,
}

pub(super) fn invalid(name: &str) -> Refused {
    Refused::Invalid(format!("Invalid parameter: {name}"))
}

impl Query {
    /// Reads a question of which every parameter is known.
    pub(super) fn read(text: &str, known: &[&str]) -> Result<Self, Refused> {
        let pairs: Vec<(String, String)> = text
            .split('&')
            .filter(|pair| !pair.is_empty())
            .map(|pair| {
                let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                (form::unescaped(name), form::unescaped(value))
            })
            .collect();
        let unknown = pairs
            .iter()
            .find(|(name, _)| !known.contains(&name.as_str()));
        match unknown {
            Some((name, _)) => Err(Refused::Invalid(format!("Unknown query parameter: {name}"))),
            None => Ok(Query { pairs }),
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let found = self.pairs.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    fn limit(&self) -> Result<i64, Refused> {
        let Some(text) = self.get("limit") else {
            return Ok(USUAL);
        };
        match text.parse::<i64>() {
            Ok(limit) if limit > 0 => Ok(limit.min(MOST)),
            _ => Err(invalid("limit")),
        }
    }

    /// Which page is wanted, in the order that is usual or the other.
    pub(super) fn page(&self, is_usually_descending: bool) -> Result<Page, Refused> {
        let is_descending = match self.get("order") {
            None => is_usually_descending,
            Some("asc") => false,
            Some("desc") => true,
            Some(_) => return Err(invalid("order")),
        };
        Ok(Page {
            limit: self.limit()?,
            is_descending,
        })
    }

    /// A parameter that is true or false.
    pub(super) fn flag(&self, name: &str) -> Result<Option<bool>, Refused> {
        match self.get(name) {
            None => Ok(None),
            Some("true") => Ok(Some(true)),
            Some("false") => Ok(Some(false)),
            Some(_) => Err(invalid(name)),
        }
    }

    /// Narrows a statement by what a parameter compares a column with, each time that it is there.
    pub(super) fn narrow(
        &self,
        select: &mut Select,
        name: &str,
        column: &str,
        read: impl Fn(&str) -> Option<i64>,
    ) -> Result<(), Refused> {
        for (key, text) in &self.pairs {
            if key != name {
                continue;
            }
            let (compare, value) = compared(text).ok_or_else(|| invalid(name))?;
            let value = read(value).ok_or_else(|| invalid(name))?;
            select.and(&format!("{column} {} ?", compare.sql()), value);
        }
        Ok(())
    }

    /// Where the next page is, after a full one whose last row has this value of this parameter. What else was asked for is kept.
    pub(super) fn next(&self, path: &str, page: Page, name: &str, last: &str) -> String {
        let is_behind = |text: &str| {
            let compare = compared(text).map(|(compare, _)| compare);
            match compare {
                Some(Compare::Greater | Compare::GreaterOrEqual) => !page.is_descending,
                Some(Compare::Less | Compare::LessOrEqual) => page.is_descending,
                _ => false,
            }
        };
        let (order, compare) = if page.is_descending {
            ("desc", "lt")
        } else {
            ("asc", "gt")
        };
        let mut link = format!("/api/v1/{path}?limit={}&order={order}", page.limit);
        for (key, value) in &self.pairs {
            let is_told = key == "limit" || key == "order" || (key == name && is_behind(value));
            if !is_told {
                link.push_str(&format!("&{}={}", form::escaped(key), form::escaped(value)));
            }
        }
        link.push_str(&format!("&{name}={compare}:{last}"));
        link
    }
}

/// How a value is compared, and the value.
fn compared(text: &str) -> Option<(Compare, &str)> {
    match text.split_once(':') {
        Some((name, value)) => Some((Compare::named(name)?, value)),
        None => Some((Compare::Equal, text)),
    }
}

impl Page {
    /// What ends the statement of a page.
    pub(super) fn sql(self, column: &str) -> String {
        let order = if self.is_descending { "DESC" } else { "ASC" };
        format!(" ORDER BY {column} {order} LIMIT {}", self.limit)
    }

    /// Whether a page of so many rows may have another after it.
    pub(super) fn is_full(self, rows: usize) -> bool {
        i64::try_from(rows).is_ok_and(|rows| rows >= self.limit)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::damage::{cases, damaged_text};

    const KNOWN: &[&str] = &["limit", "order", "timestamp", "sequencenumber", "scheduled"];

    proptest! {
        #![proptest_config(cases(800))]

        /// Whatever is asked, a page has its bounds, its values are no part of the statement, and the next page can be asked for.
        #[test]
        fn whatever_is_asked_is_a_page_or_refused(text in damaged_text(vec![
            "limit=25&order=asc&sequencenumber=gt:5&timestamp=lte:1700000000.000000001",
            "limit=100&order=desc&timestamp=gte%3A1&timestamp=lt:9999999999.999999999&scheduled=true",
        ])) {
            let Ok(query) = Query::read(&text, KNOWN) else { return Ok(()); };
            let _ = query.flag("scheduled");
            let mut select = Select::new("SELECT 1 WHERE TRUE", [1]);
            let narrowed = query.narrow(&mut select, "timestamp", "consensus", form::nanos);
            let other = query.narrow(&mut select, "sequencenumber", "sequence", form::number);
            prop_assert!(select.text.matches('?').count() + 1 >= select.values.len());
            prop_assert!(select.text.chars().all(|c| c.is_ascii_alphanumeric() || " <>=?_.()".contains(c)), "{}", select.text);
            if let (Ok(page), Ok(()), Ok(())) = (query.page(false), narrowed, other) {
                prop_assert!((1..=MOST).contains(&page.limit));
                let next = query.next("topics/0.0.5/messages", page, "sequencenumber", "7");
                let (_, asked) = next.split_once('?').expect("it has a question");
                prop_assert!(Query::read(asked, KNOWN).is_ok_and(|query| query.page(true).is_ok()), "{next}");
            }
        }

        #[test]
        fn times_and_escapes_are_read_as_they_were_written(nanos in 0..i64::MAX, text in ".{0,40}") {
            prop_assert_eq!(form::nanos(&form::time(nanos)), Some(nanos));
            prop_assert_eq!(form::unescaped(&form::escaped(&text)), text);
        }

        #[test]
        fn trouble_is_read_or_refused(text in damaged_text(vec!["busy=3", "slow=200ms", "lag=24h", "gap=2", "slow=1m"])) {
            let _ = text.parse::<crate::fault::Trouble>();
        }
    }
}
