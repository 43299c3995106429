//! Names that cannot hold a wrong value.

use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

use crate::error::Refusal;
use crate::id::text_serde;
use crate::limit;
use crate::text::quoted;

/// The name of an agent, in lower case: `[a-z0-9][a-z0-9._-]{0,63}`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AgentName(String);

impl AgentName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name under which inbox itself speaks.
    pub fn system() -> Self {
        AgentName(SYSTEM.to_owned())
    }

    /// Whether it is inbox itself.
    pub fn is_system(&self) -> bool {
        self.0 == SYSTEM
    }

    /// The name by which an agent outside is known here: that of its account on the ledger.
    pub fn of_account(account: &str) -> Result<Self, Refusal> {
        let name: AgentName = format!("{OUTSIDE}{account}").parse()?;
        match name.account() {
            Some(_) => Ok(name),
            None => Err(Refusal::input(format!(
                "{} is not an account on the ledger",
                quoted(account)
            ))),
        }
    }

    /// The account of an agent outside; nothing for one that is here.
    pub fn account(&self) -> Option<&str> {
        let account = self.0.strip_prefix(OUTSIDE)?;
        let parts: Vec<&str> = account.split('.').collect();
        let is_number = |part: &&str| {
            part.bytes().all(|byte| byte.is_ascii_digit()) && part.parse::<u64>().is_ok()
        };
        (parts.len() == 3 && parts.iter().all(is_number)).then_some(account)
    }

    /// Whether `text` (already in lower case) has the form of a name.
    pub(crate) fn is_name(text: &str) -> bool {
        let mut bytes = text.bytes();
        let first = bytes
            .next()
            .is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        first
            && text.len() <= 64
            && bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-".contains(&b))
    }
}

/// What stands before the account in the name of an agent outside.
const OUTSIDE: &str = "account-";

/// Names that belong to nobody who asks for them: the person, inbox itself, its runner, and everybody.
pub const RESERVED: [&str; 4] = ["human", SYSTEM, "runner", "all"];

const SYSTEM: &str = "system";

/// The reserved name that a text is, or could be taken for: in another case, with spaces or
/// separators, or in letters that look the same.
pub fn reserved(text: &str) -> Option<&'static str> {
    static SKELETONS: LazyLock<[String; RESERVED.len()]> = LazyLock::new(|| RESERVED.map(skeleton));
    let seen = skeleton(text);
    let place = SKELETONS.iter().position(|reserved| *reserved == seen)?;
    RESERVED.get(place).copied()
}

/// What a text looks like: without case, spaces, separators and marks, and with one letter for those that
/// cannot be told apart on a screen. Two texts of one skeleton are look-alikes.
pub fn skeleton(text: &str) -> String {
    let letters = text.chars().map(unstyled).flat_map(char::to_lowercase);
    let plain = letters.filter_map(|c| {
        Some(match c {
            'а' | 'α' | 'ɑ' | 'á' | 'à' | 'â' | 'ä' | 'ã' | 'å' | 'ā' | 'ạ' => 'a',
            'с' | 'ϲ' | 'ç' => 'c',
            'ԁ' => 'd',
            'е' | 'ε' | 'é' | 'è' | 'ê' | 'ë' | 'ē' | 'ё' => 'e',
            'һ' | 'հ' | 'н' => 'h',
            'і' | 'ı' | 'ι' | 'í' | 'ì' | 'î' | 'ï' | 'ӏ' | 'l' | '1' | '|' | 'ⅼ' | 'ℓ' => {
                'i'
            }
            'ј' => 'j',
            'м' | 'ⅿ' => 'm',
            'ո' | 'η' | 'п' | 'ñ' => 'n',
            'о' | 'ο' | 'օ' | 'ó' | 'ò' | 'ô' | 'ö' | 'õ' | 'ø' | '0' => 'o',
            'р' | 'ρ' => 'p',
            'г' | 'ɾ' => 'r',
            'ѕ' | 'ꜱ' | '5' | '$' => 's',
            'т' | 'τ' => 't',
            'υ' | 'ս' | 'ú' | 'ù' | 'û' | 'ü' | 'ц' => 'u',
            'у' | 'γ' | 'ý' | 'ÿ' => 'y',
            c if c.is_alphanumeric() => c,
            _ => return None,
        })
    });
    plain
        .collect::<String>()
        .replace("rn", "m")
        .replace("vv", "w")
}

/// The character that a full-width or mathematical form stands for.
fn unstyled(c: char) -> char {
    let nth = |first: u8, number: u32| first + u8::try_from(number).unwrap_or_default();
    match c {
        '\u{ff01}'..='\u{ff5e}' => char::from(nth(b'!', c as u32 - 0xff01)),
        // Mathematical alphabets repeat the same letters in 13 styles, and the digits in five.
        '\u{1d400}'..='\u{1d6a3}' => char::from(nth(b'a', (c as u32 - 0x1d400) % 26)),
        '\u{1d7ce}'..='\u{1d7ff}' => char::from(nth(b'0', (c as u32 - 0x1d7ce) % 10)),
        c => c,
    }
}

impl FromStr for AgentName {
    type Err = Refusal;
    fn from_str(text: &str) -> Result<Self, Refusal> {
        let lower = text.to_ascii_lowercase();
        if AgentName::is_name(&lower) {
            return Ok(AgentName(lower));
        }
        let problem = if text.is_empty() {
            "the agent's name is empty".to_owned()
        } else {
            format!("{} is not a name for an agent", quoted(text))
        };
        Err(Refusal::input(problem).hint(
            "a name has 1 to 64 letters, digits, dots, dashes or underscores and begins with a letter or digit",
        ))
    }
}

/// One living instance of an agent, as its client names it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SessionId(String);

impl SessionId {
    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SessionId {
    type Err = Refusal;
    fn from_str(text: &str) -> Result<Self, Refusal> {
        let printable = text.bytes().all(|b| b.is_ascii_graphic());
        if text.is_empty() || text.len() > 128 || !printable {
            return Err(
                Refusal::input(format!("{} is not a session id", quoted(text)))
                    .hint("a session id has 1 to 128 printable ASCII characters without spaces"),
            );
        }
        Ok(SessionId(text.to_owned()))
    }
}

/// A label that a scheduler or client puts on something: a run, a task, a key, a message type.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Label(String);

impl Label {
    /// The label as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Label {
    type Err = Refusal;
    fn from_str(text: &str) -> Result<Self, Refusal> {
        if text.is_empty() || text.chars().any(char::is_control) {
            return Err(Refusal::input(format!("{} is not a label", quoted(text)))
                .hint("a label is one line of text that is not empty"));
        }
        limit::bytes("the label", text, limit::LABEL)
            .map_err(|refusal| refusal.hint("a label names something: keep it short"))?;
        Ok(Label(text.to_owned()))
    }
}

macro_rules! as_text {
    ($($name:ident, $description:literal;)*) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
        text_serde!($name, $description);
    )*};
}

as_text! {
    AgentName, "An agent's name.";
    SessionId, "A session's id.";
    Label, "A label: one line of text.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_compared_in_lower_case() {
        assert_eq!(
            "Backend-2".parse::<AgentName>().unwrap().as_str(),
            "backend-2"
        );
    }

    #[test]
    fn an_agent_outside_is_named_after_its_account() {
        let name = AgentName::of_account("0.0.4711").unwrap();
        assert_eq!(name.as_str(), "account-0.0.4711");
        assert_eq!(name.account(), Some("0.0.4711"));
        for wrong in ["", "0.0", "0.0.", "0.0.x", "0.0.5.6", "a.b.c", "0.0.-1"] {
            assert!(AgentName::of_account(wrong).is_err(), "{wrong:?}");
        }
        for here in ["account", "account-7", "my-account-0.0.4711", "0.0.4711"] {
            assert_eq!(here.parse::<AgentName>().unwrap().account(), None);
        }
    }

    #[test]
    fn look_alikes_of_reserved_names_are_recognised() {
        for text in [
            "human",
            "HUMAN",
            " human ",
            "hu-man",
            "hurnan",
            "humаn",
            "ｈｕｍａｎ",
            "𝐡𝐮𝐦𝐚𝐧",
            "hu\u{200b}man",
            "al1",
            "a11",
            "A L L",
            "sys.tem",
            "ѕуѕтем",
            "runner_",
            "ｈｕ－ｍａｎ",
            "ａ１１",
            "a𝟏𝟙",
        ] {
            assert!(reserved(text).is_some(), "{text:?}");
        }
        for text in [
            "humanist", "human-2", "systems", "alla", "quinn", "runners", "worker-1",
        ] {
            assert_eq!(reserved(text), None, "{text:?}");
        }
    }

    #[test]
    fn look_alikes_have_one_skeleton_letter_by_letter() {
        for (letter, alike) in [
            ("a", "аαɑáàâäãåāạＡ𝐚𝒜"),
            ("c", "сϲç"),
            ("d", "ԁ"),
            ("e", "еεéèêëēё"),
            ("h", "һհн"),
            ("i", "іıιíìîïӏl1|ⅼℓ"),
            ("j", "ј"),
            ("m", "мⅿ"),
            ("n", "ոηпñ"),
            ("o", "оοօóòôöõø0"),
            ("p", "рρ"),
            ("r", "гɾ"),
            ("s", "ѕꜱ5$"),
            ("t", "тτ"),
            ("u", "υսúùûüц"),
            ("y", "уγýÿ"),
        ] {
            for other in alike.chars() {
                assert_eq!(skeleton(&other.to_string()), letter, "{other}");
            }
        }
        assert_eq!(skeleton("B-2 x_Z.q"), "b2xzq");
        assert_eq!(skeleton("𝐚𝐛𝐳𝚣𝟎𝟿"), "abzzo9");
        assert_eq!(skeleton("！～ｂ"), skeleton("!~b"));
        assert_eq!(skeleton("vvorn"), "wom");
    }

    #[test]
    fn only_inbox_itself_is_the_system() {
        assert!(AgentName::system().is_system());
        assert_eq!(AgentName::system().to_string(), "system");
        assert!(!"systems".parse::<AgentName>().unwrap().is_system());
    }

    #[test]
    fn a_session_has_the_id_that_its_client_gave_it() {
        for text in ["a", "Ses/1@host:7", &"x".repeat(128)] {
            assert_eq!(text.parse::<SessionId>().unwrap().as_str(), text);
        }
        for text in ["", "a b", "ä", "a\n", &"x".repeat(129)] {
            assert!(text.parse::<SessionId>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_label_is_one_line_that_is_not_empty() {
        for text in ["a", "Fix the Login", "ä", &"x".repeat(limit::LABEL)] {
            assert_eq!(text.parse::<Label>().unwrap().as_str(), text);
        }
        for text in ["", "a\nb", "\u{1b}", &"x".repeat(limit::LABEL + 1)] {
            assert!(text.parse::<Label>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn what_is_not_a_name_is_refused() {
        for text in [
            "",
            " ",
            "a b",
            "-a",
            ".a",
            "_a",
            "ä",
            "a/b",
            "a\n",
            &"a".repeat(65),
            "role:x",
        ] {
            assert!(text.parse::<AgentName>().is_err(), "{text:?}");
        }
        assert!("a".repeat(64).parse::<AgentName>().is_ok());
    }
}
