//! The inbox files of Claude Code's teams: `teams/<team>/inboxes/<agent>.json`, one list of entries each.
//!
//! The format is not documented by its maker; this reads what public reports of these files show. An
//! entry's text may itself be JSON with a `type`: a notice of the program rather than words of an agent.

use std::collections::HashMap;

use inbox_core::Kind;
use inbox_core::record::Millis;
use serde_json::{Map, Value};

use super::convert::{BOM, text, time_of, uid, under};
use super::names::Names;
use super::{Batch, Incoming, Seen, json};

/// The key in payloads.
pub const SOURCE: &str = "claude_teams";

/// The batch in inbox files, each with its name, which says whose it is.
pub fn decode<N: AsRef<str>, T: AsRef<str>>(files: &[(N, T)]) -> Batch {
    let mut batch = Batch::default();
    let mut names = Names::of(SOURCE, &[]);
    let mut files: Vec<_> = files
        .iter()
        .map(|(name, text)| (name.as_ref(), text.as_ref()))
        .collect();
    // Names are given in this order, however the folder was listed.
    files.sort_unstable_by_key(|(name, _)| *name);
    for (name, content) in files {
        let file = File::named(name);
        let bytes = content.as_bytes();
        let entries = match json::value(bytes.strip_prefix(BOM).unwrap_or(bytes)) {
            Ok(Value::Array(entries)) => entries,
            Ok(other) => {
                batch.refuse(name, format!("it is {}, not a list", json::sort(&other)));
                continue;
            }
            Err(problem) => {
                batch.refuse(name, problem);
                continue;
            }
        };
        let mut repeated = HashMap::new();
        for (index, entry) in entries.into_iter().enumerate() {
            let place = format!("{name}, entry {}", index + 1);
            match message(&file, entry, &place, &mut names, &mut repeated) {
                Ok(message) => batch.take(message),
                Err(problem) => batch.refuse(place, problem),
            }
        }
    }
    // Each file is in order; together they are by time, and equal times stay as they were.
    batch.messages.sort_by_key(|message| message.created_at);
    batch
}

/// Whose inbox a file is.
struct File<'a> {
    team: &'a str,
    agent: &'a str,
}

impl<'a> File<'a> {
    fn named(name: &'a str) -> Self {
        let mut parts = name.rsplit(['/', '\\']);
        let last = parts.next().unwrap_or_default();
        let agent = last.strip_suffix(".json").unwrap_or(last);
        let team = match parts.next() {
            Some("inboxes") => parts.next().unwrap_or_default(),
            Some(folder) => folder,
            None => "",
        };
        File { team, agent }
    }

    /// A name in this team, which may also be written with it.
    fn agent_name<'n>(&self, name: &'n str) -> &'n str {
        match name.rsplit_once('@') {
            Some((name, team)) if team == self.team && !name.is_empty() => name,
            _ => name,
        }
    }
}

fn message(
    file: &File<'_>,
    entry: Value,
    place: &str,
    names: &mut Names,
    repeated: &mut HashMap<String, usize>,
) -> Result<Incoming, String> {
    let Value::Object(mut entry) = entry else {
        return Err(format!("it is {}, not an object", json::sort(&entry)));
    };
    let from = text(&entry, "from").ok_or("it has no from")?.to_owned();
    let said = ["text", "content"]
        .iter()
        .find_map(|key| entry.get(*key)?.as_str())
        .ok_or("it has no text")?
        .to_owned();
    let stamp = entry.get("timestamp").cloned().unwrap_or_default();
    let created_at = time_of(&stamp).ok_or("its timestamp is not a time")?;
    let stamp = stamp.to_string();
    let key = [file.team, file.agent, &from, &stamp, &said];
    // Entries have no ids, and a program may say the same thing twice in one millisecond.
    let count = repeated.entry(uid(SOURCE, &key)).or_default();
    *count += 1;
    let uid = match *count {
        1 => uid(SOURCE, &key),
        again => uid(SOURCE, &[&key[..], &[&again.to_string()]].concat()),
    };
    let is_read = entry.get("read").and_then(Value::as_bool) == Some(true);
    let agent = names.within(file.team, file.agent);
    let notice = notice(&said);
    let subject = text(&entry, "summary")
        .or_else(|| text(notice.as_ref()?, "subject"))
        .map(one_line)
        .filter(|subject| !subject.is_empty());
    let kind = notice.as_ref().and_then(|notice| text(notice, "type"));
    let message_type = kind.map(|kind| format!("{SOURCE}.{}", one_line(kind).replace(' ', "_")));
    let kind = kind.map_or(Kind::Event, |kind| kind_of(kind, is_read));
    for told in ["text", "content", "timestamp", "summary", "read"] {
        entry.shift_remove(told);
    }
    entry.insert("agent".to_owned(), file.agent.into());
    if !file.team.is_empty() {
        entry.insert("team".to_owned(), file.team.into());
    }
    if let Some(notice) = notice {
        entry.insert("notice".to_owned(), notice.into());
    }
    Ok(Incoming {
        place: place.to_owned(),
        uid,
        from: names.within(file.team, file.agent_name(&from)),
        from_session: None,
        to: vec![agent.clone()],
        created_at,
        subject,
        body: said,
        payload: under(SOURCE, entry),
        thread_key: None,
        parent_uid: None,
        kind: Some(kind),
        message_type,
        priority: None,
        ttl_hours: None,
        reads: if is_read {
            read(agent, created_at)
        } else {
            Vec::new()
        },
        acks: Vec::new(),
    })
}

/// That the owner has read it. When is not written down.
fn read(reader: String, at: Millis) -> Vec<Seen> {
    vec![Seen { reader, at }]
}

/// The object that a text is, when it says what it is.
fn notice(said: &str) -> Option<Map<String, Value>> {
    if !said.trim_start().starts_with('{') {
        return None;
    }
    json::object(said.as_bytes())
        .ok()
        .filter(|object| text(object, "type").is_some())
}

/// What a notice is here. An assignment that was taken in may long be done: only an unread one is work.
fn kind_of(notice: &str, is_read: bool) -> Kind {
    match notice {
        "task_assignment" if !is_read => Kind::Task,
        "shutdown_request" => Kind::Control,
        "plan_approval_request" | "permission_request" | "sandbox_permission_request" => {
            Kind::Question
        }
        _ if notice.ends_with("_response")
            || notice.ends_with("_approved")
            || notice.ends_with("_rejected") =>
        {
            Kind::Answer
        }
        _ => Kind::Event,
    }
}

/// A text as one line of at most a hundred characters, which is what a summary is for.
fn one_line(text: &str) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    words.join(" ").chars().take(100).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn fixture() -> Batch {
        let folder = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../testkit/foreign/claude_teams"
        );
        let read = |name: &str| {
            let text = std::fs::read_to_string(format!("{folder}/{name}")).unwrap();
            (name.to_owned(), text)
        };
        decode(&[
            read("shop/inboxes/team-lead.json"),
            read("shop/inboxes/api-builder.json"),
            read("shop/inboxes/reviewer.json"),
        ])
    }

    fn found<'a>(batch: &'a Batch, body: &str) -> &'a Incoming {
        batch
            .messages
            .iter()
            .find(|message| message.body.contains(body))
            .unwrap()
    }

    #[test]
    fn the_files_of_a_team_are_read_in_the_order_of_time() {
        let batch = fixture();
        assert_eq!((batch.messages.len(), batch.bad.len()), (9, 0));
        assert!(
            batch
                .messages
                .is_sorted_by_key(|message| message.created_at)
        );
        assert_eq!(fixture(), batch);
    }

    #[test]
    fn words_keep_their_summary_their_reader_and_their_colour() {
        let batch = fixture();
        let report = found(&batch, "Größe");
        assert_eq!(
            (report.from.as_str(), &report.to[..]),
            ("api-builder", &["team-lead".to_owned()][..])
        );
        assert_eq!(report.subject.as_deref(), Some("Routes are done"));
        assert_eq!(report.reads, read("team-lead".into(), report.created_at));
        assert_eq!(report.payload["claude_teams"]["color"], "blue");
        assert_eq!(report.payload["claude_teams"]["team"], "shop");
        assert_eq!(report.kind, Some(Kind::Event));
        assert!(report.body.contains('\n'));
    }

    #[test]
    fn notices_are_told_by_their_type() {
        let batch = fixture();
        let told = |body: &str| {
            let message = found(&batch, body);
            (message.kind.unwrap(), message.message_type.clone().unwrap())
        };
        let as_told = |kind, name: &str| (kind, format!("claude_teams.{name}"));
        assert_eq!(
            told("idle_notification"),
            as_told(Kind::Event, "idle_notification")
        );
        assert_eq!(
            told("\"taskId\":\"1\""),
            as_told(Kind::Event, "task_assignment")
        );
        assert_eq!(
            told("\"taskId\":\"2\""),
            as_told(Kind::Task, "task_assignment")
        );
        assert_eq!(
            told("shutdown_request"),
            as_told(Kind::Control, "shutdown_request")
        );
        assert_eq!(
            told("shutdown_approved"),
            as_told(Kind::Answer, "shutdown_approved")
        );
        let task = found(&batch, "\"taskId\":\"2\"");
        assert_eq!(task.subject.as_deref(), Some("Review the routes"));
        assert_eq!(task.payload["claude_teams"]["notice"]["taskId"], "2");
    }

    #[test]
    fn teams_and_repeated_entries_are_told_apart() {
        let one = r#"[{"from":"a","text":"x","timestamp":"2026-01-01T00:00:00Z"},
                      {"from":"a","text":"x","timestamp":"2026-01-01T00:00:00Z"}]"#;
        let batch = decode(&[
            ("one/inboxes/team-lead.json", one),
            ("two/inboxes/team-lead.json", one),
        ]);
        let uids: std::collections::HashSet<_> =
            batch.messages.iter().map(|message| &message.uid).collect();
        assert_eq!(uids.len(), 4);
        assert_eq!(batch.messages[0].to, ["team-lead"]);
        assert_eq!(batch.messages[2].to, ["team-lead-2"]);
        // A file alone gives the same uids as among others.
        let alone = decode(&[("two/inboxes/team-lead.json", one)]);
        assert_eq!(alone.messages[0].uid, batch.messages[2].uid);
        assert_eq!(alone.messages[1].uid, batch.messages[3].uid);
    }

    #[test]
    fn what_cannot_be_taken_is_named_and_the_rest_goes_on() {
        let good = json!({"from": "system@t", "text": "", "timestamp": 1_767_225_600_000_i64});
        let list = json!([
            5, {"text": "x"}, {"from": "a"}, {"from": "a", "text": "x", "timestamp": "soon"},
            {"from": "a", "text": "x", "timestamp": 0}, good,
        ])
        .to_string();
        let batch = decode(&[
            ("t/inboxes/a.json", list.as_str()),
            ("t/inboxes/b.json", "{}"),
            ("t/inboxes/c.json", "[{\"from\":\"a\""),
            ("t/inboxes/d.json", r#"[{"from":"a","from":"b"}]"#),
            ("t/inboxes/e.json", "\u{feff}[]"),
        ]);
        assert_eq!(batch.messages.len(), 2);
        assert_eq!(batch.messages[1].from, "system-claude-teams");
        let bad: Vec<_> = batch
            .bad
            .iter()
            .map(|bad| format!("{}: {}", bad.place, bad.problem))
            .collect();
        assert_eq!(
            bad,
            [
                "t/inboxes/a.json, entry 1: it is a number, not an object",
                "t/inboxes/a.json, entry 2: it has no from",
                "t/inboxes/a.json, entry 3: it has no text",
                "t/inboxes/a.json, entry 4: its timestamp is not a time",
                "t/inboxes/b.json: it is an object, not a list",
                "t/inboxes/c.json: it is cut short",
                "t/inboxes/d.json: the key \"from\" is there twice",
            ]
        );
    }

    proptest! {
        #[test]
        fn arbitrary_files_are_answered(name in ".{0,40}", text in r#"[\[\]{}":,\\a-f0-9 ]{0,80}|.{0,60}"#) {
            decode(&[(name, text)]);
        }
    }
}
