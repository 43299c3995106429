//! The rows of the lists: a question, a message, an agent, a thread, each in a line or two.

use inbox_core::record::Millis;
use inbox_core::{Agent, Message, Priority, SessionState, Status, Thread};
use inbox_ops::{Ask, AskSort, Holding, SearchHit, Work};
use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};

use super::lists::{ItemKey, Row};
use super::paint::{ALARM, BOLD, DIM, GOOD, NAME, PLAIN, WAITS, span, spread};
use crate::person;

/// From this width on a row is one line.
pub(super) const ONE_LINE: usize = 78;

/// How long ago something was.
pub(super) fn ago(time: Millis, now: Millis) -> String {
    person::span(now.0.saturating_sub(time.0))
}

/// How much time is left: to the second within the last hour.
pub(super) fn left(until: Millis, now: Millis) -> String {
    let millis = until.0.saturating_sub(now.0);
    match millis / 1000 {
        ..=0 => "over".to_owned(),
        seconds @ 1..3600 => format!("{}:{:02}", seconds / 60, seconds % 60),
        _ => person::span(millis),
    }
}

/// How a status looks.
pub(super) fn status_style(status: Status) -> Style {
    match status {
        Status::Blocked => WAITS,
        Status::InProgress | Status::Claimed => GOOD,
        Status::Failed => ALARM,
        Status::Pending => PLAIN,
        Status::Done | Status::Cancelled => DIM,
    }
}

pub(super) fn status(status: Status) -> Span<'static> {
    let text = format!(
        "{} {}",
        person::status_mark(status),
        person::status_word(status)
    );
    Span::styled(text, status_style(status))
}

/// A priority that is another than usual.
pub(super) fn priority(priority: Priority) -> Option<Span<'static>> {
    let style = if priority <= Priority::High {
        ALARM
    } else {
        DIM
    };
    (priority != Priority::Normal).then(|| Span::styled(format!(" {priority}"), style))
}

/// What is said, and beside it, or below it, who and when.
fn told(
    left: Vec<Span<'static>>,
    about: Vec<Span<'static>>,
    time: String,
    width: usize,
) -> Vec<Line<'static>> {
    let time = Span::styled(time, DIM);
    let about_width: usize = about.iter().map(Span::width).sum();
    if width >= ONE_LINE && about_width + 30 < width / 2 {
        let mut right = about;
        right.push(Span::raw("  "));
        right.push(Span::styled(format!("{:>4}", time.content), DIM));
        return vec![spread(left, right, width)];
    }
    let mut below = vec![Span::raw("  ")];
    below.extend(about);
    vec![
        spread(left, vec![time], width),
        spread(below, Vec::new(), width),
    ]
}

pub(super) fn ask_row(ask: &Ask, now: Millis, width: usize) -> Row {
    let (word, _) = person::wanted(ask.sort);
    let (mark, style) = match ask.sort {
        AskSort::Blocked => ("◼", WAITS),
        AskSort::Approval => ("▲", ALARM),
        AskSort::Connection => ("◆", NAME),
        AskSort::Question => ("?", BOLD),
    };
    let mut left_side = vec![
        Span::styled(format!("{mark} {word:<10} "), style),
        span(said(&ask.message.summary, &ask.thread.subject), BOLD),
    ];
    left_side.extend(priority(ask.message.priority));
    let mut below = vec![
        Span::raw("  "),
        Span::styled(ask.waiting.to_string(), NAME),
        Span::styled(format!(" has waited {}", ago(ask.since, now)), PLAIN),
    ];
    // Who asks for leave should be who it says.
    if !ask.message.verified && ask.sort == AskSort::Approval {
        below.push(Span::styled(" unproven", DIM));
    }
    if let Some(until) = ask.lease_until {
        below.push(Span::styled(format!(" · lease {}", left(until, now)), DIM));
    }
    if !ask.thread.subject.trim().is_empty() && ask.thread.subject != ask.message.summary {
        below.push(span(&format!(" · {}", ask.thread.subject), DIM));
    }
    let lines = vec![
        spread(left_side, Vec::new(), width),
        spread(below, Vec::new(), width),
    ];
    Row::Item(ItemKey::Ask(ask.thread.thread_id), lines)
}

fn said<'a>(summary: &'a str, subject: &'a str) -> &'a str {
    match (summary.trim(), subject.trim()) {
        ("", "") => "(no subject)",
        ("", subject) => subject,
        (summary, _) => summary,
    }
}

pub(super) fn mail_row(message: &Message, now: Millis, width: usize) -> Row {
    let sort = message.message_type.as_deref();
    let mut left_side = vec![span(said(&message.summary, ""), PLAIN)];
    left_side.extend(priority(message.priority));
    let mut about = vec![Span::styled(message.from_agent.to_string(), NAME)];
    let to: Vec<String> = message.to.iter().map(ToString::to_string).collect();
    let more = format!(
        " to {} · {}",
        to.join(", "),
        sort.unwrap_or(message.kind.name())
    );
    about.push(span(&more, DIM));
    let lines = told(left_side, about, ago(message.created_at, now), width);
    Row::Item(ItemKey::Mail(message.message_id, message.thread_id), lines)
}

pub(super) fn agent_row(agent: &Agent, work: &Work, now: Millis, width: usize) -> Row {
    let (word, mark) = person::state_mark(agent.state);
    let style = match agent.state {
        Some(SessionState::Alive) => GOOD,
        Some(SessionState::Frozen) => NAME,
        _ => DIM,
    };
    let mut left_side = vec![
        Span::styled(format!("{mark} {word:<10} "), style),
        Span::styled(agent.agent_id.to_string(), BOLD),
    ];
    let roles = agent.roles.iter().map(|role| format!("role:{role}"));
    let labels = roles.chain(agent.tags.iter().cloned());
    let labels: Vec<String> = labels.chain(work.clients.iter().cloned()).collect();
    if !labels.is_empty() {
        left_side.push(span(&format!("  {}", labels.join(" ")), DIM));
    }
    let mut right = Vec::new();
    if work
        .holds
        .iter()
        .any(|held| held.thread.status == Status::Blocked)
    {
        right.push(Span::styled("blocked  ", WAITS));
    }
    if work.unread > 0 {
        let count = match work.unread {
            100.. => "99+".to_owned(),
            count => count.to_string(),
        };
        right.push(Span::styled(format!("{count} unread  "), BOLD));
    }
    let seen = agent.seen_at.map(|seen| ago(seen, now));
    right.push(Span::styled(
        format!("{:>4}", seen.as_deref().unwrap_or("never")),
        DIM,
    ));
    let lines = vec![spread(left_side, right, width)];
    Row::Item(ItemKey::Agent(agent.agent_id.clone()), lines)
}

pub(super) fn held_row(held: &Holding, now: Millis, width: usize) -> Row {
    let left_side = vec![
        Span::raw("   └ "),
        status(held.thread.status),
        Span::raw("  "),
        span(said(&held.thread.subject, "(no subject)"), PLAIN),
    ];
    let right = vec![Span::styled(
        format!("lease {:>5}", left(held.expires_at, now)),
        DIM,
    )];
    let lines = vec![spread(left_side, right, width)];
    Row::Item(ItemKey::Thread(held.thread.thread_id), lines)
}

pub(super) fn thread_row(thread: &Thread, now: Millis, width: usize) -> Row {
    let mark = person::status_mark(thread.status);
    let word = person::status_word(thread.status);
    let mut left_side = vec![
        Span::styled(format!("{mark} {word:<12}"), status_style(thread.status)),
        span(said(&thread.subject, "(no subject)"), PLAIN),
    ];
    left_side.extend(priority(thread.priority));
    let about = vec![
        Span::styled(thread.created_by.to_string(), NAME),
        Span::styled(" → ", DIM),
        span(&thread.assigned_to, NAME),
    ];
    let lines = told(left_side, about, ago(thread.updated_at, now), width);
    Row::Item(ItemKey::Thread(thread.thread_id), lines)
}

pub(super) fn hit_row(hit: &SearchHit, now: Millis, width: usize) -> Row {
    let message = &hit.message;
    let left_side = vec![
        Span::styled(
            format!("{} ", person::status_mark(hit.thread.status)),
            status_style(hit.thread.status),
        ),
        span(said(&message.summary, &hit.thread.subject), PLAIN),
    ];
    let about = vec![
        Span::styled(message.from_agent.to_string(), NAME),
        span(
            &format!(" in {}", said(&hit.thread.subject, "(no subject)")),
            DIM,
        ),
    ];
    let lines = told(left_side, about, ago(message.created_at, now), width);
    let key = ItemKey::Mail(message.message_id, message.thread_id);
    Row::Item(key, lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_counts_down() {
        let now = Millis(1_000_000);
        assert_eq!(left(Millis(1_000_000 + 271_000), now), "4:31");
        assert_eq!(left(Millis(1_000_000 + 7_200_000), now), "2h");
        assert_eq!(left(Millis(999_000), now), "over");
    }
}
