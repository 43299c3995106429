//! The console: pages on which a person sees what happens and steps in.
//!
//! Every page is made from operations, as every other surface is; what a person does is an operation too. Here is what stands on
//! the pages. How they are reached, by whom, and how they stay live is in `http/console.rs`.

mod act;
mod agents;
mod approval;
mod card;
mod channels;
mod flow;
mod house;
mod html;
mod mail;
mod markdown;
mod payload;
mod size;
mod thread;
mod threads;
mod whole;
mod you;

use askama::Template;
use inbox_core::record::Millis;
use inbox_core::{Code, EventId, Refusal};
use inbox_ops::{Caller, Desk, Inbox, Operation};

pub(crate) use act::act;
pub(crate) use card::{Answered, answer as answer_card};
use html::Html;
pub(crate) use html::decoded;

/// A text as a page shows it.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn markdown_of(text: &str) -> String {
    markdown::markdown(text).to_string()
}

/// A payload as a page shows it.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn payload_of(value: &serde_json::Value) -> String {
    payload::sections(value).0.to_string()
}

/// What a person asked for, and who it is.
pub(crate) struct Visit<'a> {
    pub(crate) inbox: &'a Inbox,
    pub(crate) caller: &'a Caller,
    /// The path, decoded, in its parts.
    pub(crate) path: &'a [String],
    pub(crate) fields: &'a Fields,
    /// What a form must send back.
    pub(crate) guard: &'a str,
    pub(crate) now: Millis,
}

/// Names with values, as a query or a form has them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Fields(Vec<(String, String)>);

impl Fields {
    /// Reads `a=b&c=d`. What is no text is refused.
    pub(crate) fn read(text: &str) -> Result<Self, Refusal> {
        let wrong = || Refusal::input("the fields are not encoded as a form encodes them");
        let mut fields = Vec::new();
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = decoded(name).ok_or_else(wrong)?;
            fields.push((name, decoded(value).ok_or_else(wrong)?));
        }
        Ok(Fields(fields))
    }

    /// The first value of a name that is not empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// Every value of a name that is not empty.
    pub(crate) fn all<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        let name = name.to_owned();
        self.0
            .iter()
            .filter(move |(other, value)| *other == name && !value.trim().is_empty())
            .map(|(_, value)| value.as_str())
    }

    /// A number, where there is one.
    fn number(&self, name: &str) -> Option<i64> {
        self.get(name)?.trim().parse().ok()
    }

    /// Where a page of a list begins.
    fn from(&self) -> usize {
        let from = self.number("from").unwrap_or(0);
        usize::try_from(from).unwrap_or(0).min(100_000)
    }

    /// A value that must be there, read as what it is.
    fn parsed<T>(&self, name: &str) -> Result<Option<T>, Refusal>
    where
        T: std::str::FromStr,
        T::Err: Into<Refusal>,
    {
        self.get(name)
            .map(|text| text.trim().parse().map_err(Into::into))
            .transpose()
    }
}

/// A page without its frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) title: String,
    pub(crate) main: String,
    /// How many questions wait for the person, and how much is unread.
    pub(crate) asks: usize,
    pub(crate) unread: i64,
}

/// The sections, with their paths and the keys that lead there.
const SECTIONS: [(&str, &str, &str); 9] = [
    ("", "For you", "y"),
    ("agents", "Agents", "a"),
    ("threads", "Threads", "t"),
    ("channels", "Channels", "c"),
    ("compose", "Write", "w"),
    ("flow", "Flow", "f"),
    ("dead", "Dead letters", "d"),
    ("ledger", "Ledger", "l"),
    ("store", "Store", "s"),
];

/// Makes a page.
pub(crate) fn show(visit: &Visit<'_>) -> Result<Shown, Refusal> {
    let path: Vec<&str> = visit.path.iter().map(String::as_str).collect();
    let desk = Desk {
        // Other pages say how much waits, and not what.
        limit: Some(if path.is_empty() { you::MAIL } else { 0 }),
        after_event: visit.fields.number("after").map(EventId),
    };
    let desk = desk.run(visit.inbox, visit.caller)?;
    let (asks, unread) = (desk.asks.len(), desk.unread);
    let (title, main) = match path[..] {
        [] => you::page(visit, &desk)?,
        ["agents"] => agents::list(visit)?,
        ["agents", name] => agents::one(visit, name)?,
        ["agents", name, "card"] => card::page(visit, name)?,
        ["threads"] => threads::page(visit)?,
        ["threads", id] => thread::page(visit, &desk, id)?,
        ["threads", id, message] => whole::page(visit, id, message)?,
        ["channels"] => channels::list(visit)?,
        ["channels", name] => channels::one(visit, name)?,
        ["compose"] => channels::compose(visit)?,
        ["flow"] => flow::page(visit)?,
        ["dead"] => house::dead(visit)?,
        ["ledger"] => house::ledger(visit)?,
        ["store"] => house::store(visit)?,
        _ => return Err(nothing(&visit.path.join("/"))),
    };
    Ok(Shown {
        title,
        main: main.to_string(),
        asks,
        unread,
    })
}

/// Whether a page follows what happens. One in which somebody writes at length stays as it is.
pub(crate) fn is_live(path: &[String]) -> bool {
    path.last().is_none_or(|last| last != "card")
}

fn nothing(path: &str) -> Refusal {
    Refusal::input(format!("there is no page at {path:?}"))
        .hint("go to the beginning: /")
        .detail("http", 404)
}

/// A link in the navigation.
struct Link {
    path: &'static str,
    name: &'static str,
    key: &'static str,
    is_here: bool,
}

#[derive(Template)]
#[template(path = "frame.html")]
struct Frame<'a> {
    title: &'a str,
    main: Html,
    links: Vec<Link>,
    asks: usize,
    person: &'a str,
    guard: &'a str,
    at: &'a str,
    version: &'a str,
}

/// A whole document. `at` is where it is, for what keeps it live.
pub(crate) fn frame(visit: &Visit<'_>, shown: &Shown, at: &str) -> Result<String, Refusal> {
    let here = visit.path.first().map_or("", String::as_str);
    let links = SECTIONS.iter().map(|&(path, name, key)| Link {
        path,
        name,
        key,
        is_here: path == here,
    });
    let agent = visit.caller.agent()?;
    written(&Frame {
        title: &shown.title,
        main: Html::new(shown.main.clone()),
        links: links.collect(),
        asks: shown.asks,
        person: agent.as_str(),
        guard: visit.guard,
        at,
        version: env!("CARGO_PKG_VERSION"),
    })
    .map(|html| html.to_string())
}

#[derive(Template)]
#[template(path = "refused.html")]
struct Refused<'a> {
    message: &'a str,
    hint: &'a str,
    code: &'a str,
}

/// What a refusal looks like on a page.
pub(crate) fn refused(refusal: &Refusal) -> Result<String, Refusal> {
    let hint = refusal.hint.clone();
    let code = refusal.code.to_string();
    written(&Refused {
        message: &html::line(&refusal.message),
        hint: &hint,
        code: &code,
    })
    .map(|html| html.to_string())
}

#[derive(Template)]
#[template(path = "outside.html")]
struct Outside<'a> {
    message: &'a str,
}

/// What who is not let in sees: how one comes in.
pub(crate) fn outside(message: &str) -> Result<String, Refusal> {
    written(&Outside { message }).map(|html| html.to_string())
}

fn written(template: &impl Template) -> Result<Html, Refusal> {
    let html = template.render().map_err(|error| {
        Refusal::new(Code::Internal, format!("a page cannot be written: {error}"))
    })?;
    Ok(Html::new(html))
}

/// What the pages load: their style, their script and their picture.
pub(crate) fn asset(name: &str) -> Option<(&'static str, &'static str)> {
    match name {
        "console.css" => Some((
            "text/css; charset=utf-8",
            include_str!("../assets/console.css"),
        )),
        "console.js" => Some((
            "text/javascript; charset=utf-8",
            include_str!("../assets/console.js"),
        )),
        "icon.svg" => Some(("image/svg+xml", include_str!("../assets/icon.svg"))),
        _ => None,
    }
}
