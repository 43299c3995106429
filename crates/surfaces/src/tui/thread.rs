//! One thread: its facts, and below them what was said, oldest first.

use inbox_core::record::Millis;
use inbox_core::{Kind, Message};
use inbox_ops::Shown;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::{Line, Span};

use super::app::{App, Reading};
use super::deal::carried;
use super::paint::{self, BOLD, DIM, NAME, PLAIN, WAITS, safe, span, spread, wrapped};
use super::payload::beginning;
use super::rows::{ago, left, priority, status};

/// How many of a thread's messages are laid out: the newest.
const MOST: usize = 100;

/// The most lines of one message, and the most characters of its text: whoever writes may not make the console slow.
const LINES: usize = 300;
const TEXT: usize = 12_000;

impl App {
    /// Draws the thread that is open.
    pub(super) fn draw_thread(&mut self, buffer: &mut Buffer, area: Rect) {
        let width = usize::from(area.width);
        let (now, reading) = (self.now, &mut self.reading);
        let Some(shown) = &reading.shown else {
            let text = match (&reading.refusal, reading.id) {
                (Some(refusal), _) => format!("{}: {}", refusal.message, refusal.hint),
                (None, Some(id)) => format!("looking at {id} …"),
                (None, None) => "Choose something, and it is shown here.".to_owned(),
            };
            for (row, text) in (0..).zip(wrapped(&text, width)) {
                paint::line(buffer, area, row, &Line::styled(text, DIM));
            }
            return;
        };
        let mut row = 0;
        for head in header(shown, now, width) {
            paint::line(buffer, area, row, &head);
            row += 1;
        }
        paint::rule(buffer, area, row);
        row += 1;
        let lines = messages(shown, now, width);
        let height = usize::from(area.height.saturating_sub(row));
        place(reading, lines.len(), height);
        let seen = lines.iter().skip(reading.top).take(height);
        for (at, text) in (row..).zip(seen) {
            paint::line(buffer, area, at, text);
        }
        let more = reading.total.saturating_sub(reading.top + height);
        if more > 0 {
            let text = format!(" {more} more lines ↓ ");
            let wide = u16::try_from(text.chars().count()).unwrap_or(0);
            let at = Rect {
                x: area.right().saturating_sub(wide),
                width: wide.min(area.width),
                ..area
            };
            let last = area.height.saturating_sub(1);
            paint::line(buffer, at, last, &Line::styled(text, paint::HERE));
        }
    }
}

/// Puts the window where it was, or at the end if it was there.
fn place(reading: &mut Reading, total: usize, height: usize) {
    (reading.total, reading.height) = (total, height);
    let last = total.saturating_sub(height);
    reading.top = if reading.is_at_end {
        last
    } else {
        reading.top.min(last)
    };
}

fn header(shown: &Shown, now: Millis, width: usize) -> Vec<Line<'static>> {
    let thread = &shown.thread;
    let subject = match thread.subject.trim() {
        "" => "(no subject)",
        subject => subject,
    };
    let mut title = vec![span(subject, BOLD)];
    title.extend(priority(thread.priority));
    let to: Vec<String> = thread.to.iter().map(ToString::to_string).collect();
    let mut facts = vec![
        status(thread.status),
        Span::styled("  ", PLAIN),
        Span::styled(thread.created_by.to_string(), NAME),
        Span::styled(" → ", DIM),
        span(&to.join(", "), NAME),
        Span::styled(format!(" · {}", ago(thread.created_at, now)), DIM),
    ];
    for label in [&thread.run_id, &thread.task_id] {
        if !label.is_empty() {
            facts.push(span(&format!(" · {label}"), DIM));
        }
    }
    if let (Some(sort), Some(id)) = (thread.ref_type, &thread.ref_id) {
        facts.push(span(&format!(" · {sort}:{id}"), DIM));
    }
    let id = Span::styled(thread.thread_id.to_string(), DIM);
    let mut lines = vec![
        spread(title, vec![id], width),
        spread(facts, Vec::new(), width),
    ];
    if let Some(lease) = &shown.lease {
        let held = vec![
            Span::styled(lease.agent_id.to_string(), NAME),
            Span::styled(" has it for another ", PLAIN),
            Span::styled(left(lease.expires_at, now), BOLD),
        ];
        lines.push(spread(held, Vec::new(), width));
    }
    lines
}

fn messages(shown: &Shown, now: Millis, width: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let earlier = shown.messages.len().saturating_sub(MOST);
    if earlier > 0 {
        let id = shown.thread.thread_id;
        let text = format!("{earlier} earlier messages: inbox show --thread {id}");
        lines.push(Line::styled(text, DIM));
        lines.push(Line::default());
    }
    for message in shown.messages.iter().skip(earlier) {
        one(shown, message, now, width, &mut lines);
        lines.push(Line::default());
    }
    lines.pop();
    lines
}

fn one(
    shown: &Shown,
    message: &Message,
    now: Millis,
    width: usize,
    lines: &mut Vec<Line<'static>>,
) {
    let is_question = message.kind == Kind::Question;
    let kind = match message.message_type.as_deref() {
        Some(sort) => format!(" {} · {sort}", message.kind.name()),
        None => format!(" {}", message.kind.name()),
    };
    let mut head = vec![
        Span::styled(message.from_agent.to_string(), NAME.patch(BOLD)),
        span(&kind, if is_question { WAITS } else { DIM }),
    ];
    head.extend(priority(message.priority));
    if !message.verified {
        head.push(Span::styled(" unproven", DIM));
    }
    let at = format!("{} · {}", message.message_id, ago(message.created_at, now));
    lines.push(spread(head, vec![Span::styled(at, DIM)], width));
    let room = width.saturating_sub(2);
    let mut text = Vec::new();
    let (summary, whole) = (message.summary.trim(), message.body.trim());
    let body = beginning(whole, TEXT);
    if body.lines().next().map(str::trim) != Some(summary) {
        let summary = wrapped(&safe(summary), room);
        text.extend(summary.into_iter().map(|line| Line::styled(line, BOLD)));
    }
    text.extend(wrapped(body, room).into_iter().map(Line::raw));
    for entry in carried(message, now, room) {
        let (name, value) = entry.text.split_at(entry.name);
        text.push(Line::from(vec![
            Span::styled(name.to_owned(), DIM),
            Span::raw(value.to_owned()),
        ]));
    }
    let is_cut = text.len() > LINES || body.len() < whole.len();
    text.truncate(LINES);
    if is_cut {
        text.push(Line::styled("… cut: inbox show has all of it", DIM));
    }
    for artifact in &shown.artifacts {
        if artifact.message_id == message.message_id {
            let size = artifact.metadata_json.size;
            let size = size.map(|size| format!(" · {size} bytes"));
            let told = format!("⎘ {}{}", artifact.path, size.unwrap_or_default());
            text.push(Line::from(span(&told, DIM)));
        }
    }
    let mut ladders = shown.receipts.iter();
    if let Some(ladder) = ladders.find(|ladder| ladder.message_id == message.message_id) {
        let rungs = ladder.receipts.iter();
        let rungs: Vec<String> = rungs
            .map(|rung| format!("{} {}", rung.agent_id, rung.step))
            .collect();
        if !rungs.is_empty() {
            let told = wrapped(&format!("→ {}", rungs.join(" · ")), room);
            text.extend(told.into_iter().map(|line| Line::styled(line, DIM)));
        }
    }
    for mut line in text {
        line.spans.insert(0, Span::raw("  "));
        lines.push(line);
    }
}
