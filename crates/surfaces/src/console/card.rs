//! An agent's card as a form: a field for each thing that a card has, with its rule beside it, and the whole as JSON.
//!
//! Fields and rules are made from the schema of the card's own type. A form carries the hash of the card that it began with, so that nobody
//! overwrites what they have not seen.

mod field;

use askama::Template;
use inbox_core::{AgentName, Code, Refusal};
use inbox_ops::{CardSet, CardShow, CardValidate, Operation};
use serde_json::Value;

use self::field::{Group, assembled, groups};
use super::html::{Html, encoded, line};
use super::{Fields, Shown, Visit, nothing, written};

/// What a form is answered with.
pub(crate) enum Answered {
    /// It is done, and this page comes next.
    Elsewhere(String),
    /// It is not, and this page says why, with what was written.
    Page(u16, Shown),
}

/// What is wrong with a card, and where.
struct Fault {
    pointer: String,
    message: String,
}

#[derive(Template)]
#[template(path = "card.html")]
struct Page<'a> {
    name: &'a str,
    path: String,
    guard: &'a str,
    base: &'a str,
    groups: Vec<Group>,
    /// What is wrong with the whole, or with what no field is for.
    faults: Vec<Fault>,
    /// Everything that is wrong, where it was written as JSON.
    json_faults: Vec<Fault>,
    json: String,
    is_json: bool,
    is_refused: bool,
    /// What the card is now, when somebody else has changed it.
    changed: Option<String>,
}

/// What somebody has written.
struct Draft<'a> {
    card: Value,
    json: String,
    is_json: bool,
    faults: Vec<Fault>,
    base: &'a str,
    is_refused: bool,
    changed: Option<&'a Value>,
}

pub(super) fn page(visit: &Visit<'_>, name: &str) -> Result<(String, Html), Refusal> {
    let slug: AgentName = name.parse()?;
    let found = CardShow { slug: slug.clone() }.run(visit.inbox, visit.caller)?;
    let card = found.card.unwrap_or_else(|| begun(&slug));
    let draft = Draft {
        json: pretty(&card),
        card,
        is_json: false,
        faults: Vec::new(),
        base: &found.hash,
        is_refused: false,
        changed: None,
    };
    Ok((title(&slug), form(visit, &slug, draft)?))
}

fn title(slug: &AgentName) -> String {
    format!("Card of {slug}")
}

/// Where a card begins that nobody has written.
fn begun(slug: &AgentName) -> Value {
    assembled(&Value::Null, slug, &Fields::default())
}

fn pretty(card: &Value) -> String {
    serde_json::to_string_pretty(card).unwrap_or_default()
}

/// Checks or saves what a form has.
pub(crate) fn answer(visit: &Visit<'_>, is_check: bool) -> Result<Answered, Refusal> {
    let path: Vec<&str> = visit.path.iter().map(String::as_str).collect();
    let slug: AgentName = match (&path[..], is_check) {
        (["agents", name, "card"], false) | (["agents", name, "card", "check"], true) => {
            name.parse()?
        }
        _ => return Err(nothing(&visit.path.join("/"))),
    };
    let found = CardShow { slug: slug.clone() }.run(visit.inbox, visit.caller)?;
    let is_json = visit.fields.get("form") == Some("json");
    let written = visit.fields.get("json").unwrap_or_default();
    let read = if is_json {
        serde_json::from_str(written).map_err(|error| Fault {
            pointer: String::new(),
            message: format!("is not JSON: {error}"),
        })
    } else {
        let kept = found.card.as_ref().unwrap_or(&Value::Null);
        Ok(assembled(kept, &slug, visit.fields))
    };
    let base = visit.fields.get("base").unwrap_or_default();
    let (card, mut faults) = match read {
        Ok(card) => {
            let check = CardValidate {
                for_agent: Some(slug.clone()),
                card: card.clone(),
            };
            let faults = check.run(visit.inbox, visit.caller).err();
            (
                card,
                faults.map_or_else(Vec::new, |refusal| faults_of(&refusal)),
            )
        }
        Err(fault) => (found.card.clone().unwrap_or_default(), vec![fault]),
    };
    let mut changed = None;
    if faults.is_empty() && !is_check {
        let set = CardSet {
            slug: Some(slug.clone()),
            if_hash: Some(base.to_owned()),
            card: card.clone(),
        };
        match set.run(visit.inbox, visit.caller) {
            Ok(_) => {
                let to = format!("/agents/{}", encoded(slug.as_str()));
                return Ok(Answered::Elsewhere(to));
            }
            Err(refusal) if refusal.code == Code::AlreadyExists => {
                changed = Some(found.card.as_ref().unwrap_or(&Value::Null));
            }
            Err(refusal) => faults = faults_of(&refusal),
        }
    }
    let status = match (changed.is_some(), faults.is_empty()) {
        (true, _) => Code::AlreadyExists.http(),
        (false, false) => Code::InvalidWire.http(),
        (false, true) => 200,
    };
    let draft = Draft {
        json: if is_json {
            written.to_owned()
        } else {
            pretty(&card)
        },
        card,
        is_json,
        faults,
        // Whoever has seen what it is now may replace it.
        base: if changed.is_some() { &found.hash } else { base },
        is_refused: !is_check,
        changed,
    };
    let main = form(visit, &slug, draft)?.to_string();
    let shown = Shown {
        title: title(&slug),
        main,
        asks: 0,
        unread: 0,
    };
    Ok(Answered::Page(status, shown))
}

/// What a refusal names, by its places.
fn faults_of(refusal: &Refusal) -> Vec<Fault> {
    let named = refusal.details.get("problems").and_then(Value::as_array);
    let text = |value: &Value| line(value.as_str().unwrap_or_default());
    let faults: Vec<Fault> = named
        .into_iter()
        .flatten()
        .map(|problem| Fault {
            pointer: text(&problem["pointer"]),
            message: text(&problem["message"]),
        })
        .collect();
    if faults.is_empty() {
        return vec![Fault {
            pointer: String::new(),
            message: line(&refusal.message),
        }];
    }
    faults
}

fn form(visit: &Visit<'_>, slug: &AgentName, draft: Draft<'_>) -> Result<Html, Refusal> {
    let (faults, json_faults) = if draft.is_json {
        (Vec::new(), draft.faults)
    } else {
        (draft.faults, Vec::new())
    };
    let (groups, faults) = groups(&draft.card, faults);
    written(&Page {
        name: slug.as_str(),
        path: encoded(slug.as_str()),
        guard: visit.guard,
        base: draft.base,
        groups,
        is_refused: draft.is_refused && draft.changed.is_none(),
        faults,
        json_faults,
        json: draft.json,
        is_json: draft.is_json,
        changed: draft.changed.map(pretty),
    })
}
