//! What is told: a line, a text, and the whole as JSON. Whatever came from others has nothing active in it.

use inbox_core::Message;
use inbox_core::text::visible;
use inbox_ops::{About, Notice, NoticeSort};
use serde_json::{Value, json};

/// The form of the document. Keys may be added to it.
const VERSION: u32 = 1;

fn clean(text: &str) -> String {
    visible(text, false).into_owned()
}

/// One line. It begins with a word of ours or with an agent's name, and never with a dash.
pub(crate) fn title(notice: &Notice) -> String {
    let from = match &notice.about {
        About::Message(message, _) => message.from_agent.to_string(),
        _ => String::new(),
    };
    match (notice.sort, &notice.about) {
        (NoticeSort::Blocked, _) => format!("{from} waits for your answer"),
        (NoticeSort::Approval, _) => format!("{from} asks for your approval"),
        (NoticeSort::Connection, _) => format!("{from}: somebody wants to connect"),
        (NoticeSort::Question, _) => format!("{from} asks"),
        (NoticeSort::Urgent, _) => format!("urgent from {from}"),
        (NoticeSort::Digest, About::Rest { count, is_more, .. }) => {
            let more = if *is_more { " or more" } else { "" };
            let s = if *count == 1 && !*is_more { "" } else { "s" };
            format!("{count}{more} new message{s}")
        }
        (NoticeSort::More, About::More(count)) => format!("{count} more messages within the hour"),
        _ => "inbox reaches you".to_owned(),
    }
}

/// One line more. It begins as the title does.
pub(super) fn text(notice: &Notice) -> String {
    match &notice.about {
        About::Message(message, thread) => {
            let summary = clean(summary(message));
            let what = if summary.is_empty() {
                clean(&thread.subject)
            } else {
                summary
            };
            format!("{}: {what}", message.thread_id)
        }
        About::Rest {
            mail, done, failed, ..
        } => {
            let counted = [(*failed, "failed"), (*done, "done")];
            let counted = counted.iter().filter(|(count, _)| *count > 0);
            let mut parts: Vec<String> = counted
                .map(|(count, what)| format!("{count} {what}"))
                .collect();
            parts.extend(mail.iter().take(3).map(|message| {
                let summary = clean(summary(message));
                format!("{}: {summary}", message.from_agent)
            }));
            parts.join(" · ")
        }
        About::More(_) => "inbox desk shows what waits for you".to_owned(),
        About::Nothing => "this is a test; nothing waits because of it".to_owned(),
    }
}

/// The first line of a message.
fn summary(message: &Message) -> &str {
    message.summary.lines().next().unwrap_or_default()
}

/// The whole, on one line.
pub(crate) fn document(notice: &Notice, is_whole: bool) -> Value {
    let mut value = json!({
        "version": VERSION,
        "id": notice.id,
        "sort": notice.sort,
        "person": notice.person,
        "title": title(notice),
        "text": text(notice),
    });
    match &notice.about {
        About::Message(message, thread) => {
            value["thread_id"] = json!(thread.thread_id);
            value["subject"] = json!(clean(&thread.subject));
            let told = brief(message);
            for (key, said) in told.as_object().into_iter().flatten() {
                value[key] = said.clone();
            }
            if is_whole {
                value["body"] = json!(visible(&message.body, true));
            }
        }
        About::Rest {
            mail,
            count,
            done,
            failed,
            is_more,
            unread,
        } => {
            value["count"] = json!(count);
            value["count_is_more"] = json!(is_more);
            value["done"] = json!(done);
            value["failed"] = json!(failed);
            value["unread"] = json!(unread);
            value["mail"] = mail.iter().map(brief).collect();
        }
        About::More(count) => value["count"] = json!(count),
        About::Nothing => {}
    }
    value
}

fn brief(message: &Message) -> Value {
    json!({
        "message_id": message.message_id,
        "uid": message.uid,
        "thread_id": message.thread_id,
        "from_agent": message.from_agent,
        "kind": message.kind,
        "message_type": message.message_type.as_deref().map(clean),
        "priority": message.priority,
        "summary": clean(&message.summary),
        "created_at": message.created_at,
    })
}
