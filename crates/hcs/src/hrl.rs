//! Hashgraph resource locators, and the one step by which a message's reference is followed.

use std::fmt;
use std::str::FromStr;

use crate::id::{TopicId, number};
use crate::operation::Data;
use crate::report::Refused;

/// A resource on a topic: `hcs://1/0.0.12345`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hrl {
    /// The standard that says how the topic is read: 1 for a file, 2 for a registry.
    pub protocol: u16,
    /// The topic.
    pub topic: TopicId,
}

impl Hrl {
    /// The file on this topic.
    pub const fn file(topic: TopicId) -> Self {
        Hrl { protocol: 1, topic }
    }
}

impl fmt::Display for Hrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "hcs://{}/{}", self.protocol, self.topic)
    }
}

impl FromStr for Hrl {
    type Err = Refused;
    fn from_str(text: &str) -> Result<Self, Refused> {
        let parse = || {
            let (protocol, topic) = text.strip_prefix("hcs://")?.split_once('/')?;
            let protocol = u16::try_from(number(protocol)?).ok()?;
            Some(Hrl {
                protocol: (protocol > 0).then_some(protocol)?,
                topic: topic.parse().ok()?,
            })
        };
        parse().ok_or_else(|| Refused::text(text, "a locator such as hcs://1/0.0.12345"))
    }
}

/// What a message says, after its reference was followed. It has no reference of its own to follow: what a file
/// holds is content, even if it looks like a locator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// The text of the message itself.
    Inline(String),
    /// The bytes of the file that it refers to.
    File(Vec<u8>),
}

/// The content of `data`. A reference to a file is fetched once: `fetch` can be called no more often, so that
/// files which refer to each other cannot make a reader go round.
pub fn resolve<E>(
    data: &Data,
    fetch: impl FnOnce(TopicId) -> Result<Vec<u8>, E>,
) -> Result<Content, E> {
    match data.file() {
        Some(topic) => fetch(topic).map(Content::File),
        None => Ok(Content::Inline(data.as_str().to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_locator_has_one_text() {
        let hrl: Hrl = "hcs://1/0.0.12345".parse().unwrap();
        assert_eq!(hrl, Hrl::file("0.0.12345".parse().unwrap()));
        assert_eq!(hrl.to_string(), "hcs://1/0.0.12345");
        for wrong in [
            "",
            "hcs://1/",
            "hcs:///0.0.5",
            "hcs://0/0.0.5",
            "hcs://01/0.0.5",
            "hcs://65536/0.0.5",
            "hcs://99999999999999999999/0.0.5",
            "hcs://1/0.0.0",
            "hcs://1/0.0.5/",
            "hcs://1/0.0.5 ",
            "HCS://1/0.0.5",
            "hcs://-1/0.0.5",
            "hcs://1/hcs://1/0.0.5",
        ] {
            assert!(wrong.parse::<Hrl>().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn references_that_refer_on_are_fetched_once() {
        let topic = |number| TopicId::new(0, 0, number).unwrap();
        // Itself, a circle of two, and a chain of a thousand.
        let next: [fn(u64) -> u64; 3] = [|n| n, |n| 1 + n % 2, |n| (n + 1).min(1_000)];
        for next in next {
            let mut fetches = 0;
            let data = Data::new(Hrl::file(topic(1)).to_string());
            let content = resolve(&data, |at| {
                fetches += 1;
                let to = Hrl::file(topic(next(at.number())));
                Ok::<_, Refused>(to.to_string().into_bytes())
            });
            assert_eq!(fetches, 1);
            assert!(matches!(content, Ok(Content::File(bytes)) if bytes.starts_with(b"hcs://1/")));
        }
        let inline = resolve(&Data::new("hcs://2/0.0.5"), |_| Err("is not fetched"));
        assert_eq!(inline, Ok(Content::Inline("hcs://2/0.0.5".to_owned())));
    }
}
