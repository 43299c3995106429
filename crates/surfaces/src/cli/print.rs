//! Output: JSON for programs, aligned columns for people, lean text for pipes and models.

use std::io::{IsTerminal, Write};

use inbox_core::record::Millis;
use inbox_core::text::visible;
use inbox_core::{Code, Refusal};
use inbox_ops::{Answer, Block, Cell, Page};
use serde::Serialize;
use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use super::Ended;
use crate::envelope::{self, internal};

/// The variables by which clients tell the commands of their agents that a model reads.
const IN_AGENT: [&str; 7] = [
    "CLAUDECODE",
    "AI_AGENT",
    "CODEX_THREAD_ID",
    "GEMINI_CLI",
    "OPENCODE",
    "CURSOR_AGENT",
    "INBOX_LEAN",
];

/// Where answers go, and in which form.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Printer {
    form: Form,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Json,
    Lean,
    Terminal,
}

impl Printer {
    pub(crate) fn new(as_json: bool) -> Self {
        // An agent's client often gives its shell a terminal, and still a model reads it.
        let in_agent = IN_AGENT.iter().any(|name| std::env::var_os(name).is_some());
        let form = if as_json {
            Form::Json
        } else if std::io::stdout().is_terminal() && !in_agent {
            Form::Terminal
        } else {
            Form::Lean
        };
        Printer { form }
    }

    /// Whether a person reads it on a terminal.
    pub(crate) fn is_terminal(self) -> bool {
        self.form == Form::Terminal
    }

    pub(crate) fn is_json(self) -> bool {
        self.form == Form::Json
    }

    /// Prints an answer.
    pub(crate) fn answer<A: Answer>(self, command: &str, answer: &A) -> Result<Ended, Refusal> {
        match self.form {
            Form::Json => self.object(command, true, answer)?,
            Form::Lean | Form::Terminal => {
                self.raw(&self.layout(&answer.page()))?;
                for warning in answer.warnings() {
                    complain(&format!("warning: {}", visible(warning, false)));
                }
            }
        }
        Ok(if answer.is_something() {
            Ended::Something
        } else {
            Ended::Nothing
        })
    }

    /// Prints one answer of many: an event a line. Whether anybody still reads them.
    pub(crate) fn stream_item<A: Answer>(self, answer: &A) -> Result<bool, Refusal> {
        if !self.is_json() {
            return self.offer(self.layout(&answer.page()).as_bytes());
        }
        let value = serde_json::to_value(answer).map_err(internal)?;
        let mut lines = String::new();
        match value.get("events").and_then(Value::as_array) {
            Some(events) => events
                .iter()
                .for_each(|event| lines.push_str(&format!("{event}\n"))),
            None => lines.push_str(&format!("{value}\n")),
        }
        self.offer(lines.as_bytes())
    }

    /// Prints a JSON object with `ok` and `command` before its own keys.
    pub(crate) fn object(
        self,
        command: &str,
        ok: bool,
        body: &impl Serialize,
    ) -> Result<(), Refusal> {
        self.raw(&envelope::object(command, ok, body)?)
    }

    /// Prints a page.
    pub(crate) fn page(self, page: &Page) -> Result<(), Refusal> {
        self.raw(&self.layout(page))
    }

    /// Prints text as it is. A reader that has gone is no error.
    pub(crate) fn raw(self, text: &str) -> Result<(), Refusal> {
        self.bytes(text.as_bytes())
    }

    /// Prints bytes as they are.
    pub(crate) fn bytes(self, bytes: &[u8]) -> Result<(), Refusal> {
        self.offer(bytes).map(drop)
    }

    /// Prints bytes as they are. Whether there was a reader.
    fn offer(self, bytes: &[u8]) -> Result<bool, Refusal> {
        let mut out = std::io::stdout().lock();
        match out.write_all(bytes).and_then(|()| out.flush()) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(false),
            Err(error) => Err(Refusal::new(
                Code::Storage,
                format!("the answer cannot be printed: {error}"),
            )
            .hint("inbox list shows what is there: what a command did stays done")),
        }
    }

    /// Shows a line in place of the one that was shown so before, or nothing, where a person sits at a terminal.
    pub(crate) fn in_place(self, line: &str) {
        const WIDTH: usize = 78;
        if self.form == Form::Terminal {
            let line = visible(line, false);
            let mut shown = String::new();
            for c in line.chars() {
                if shown.width() >= WIDTH {
                    shown.push('…');
                    break;
                }
                shown.push(c);
            }
            let _ = self.raw(&format!("\r\u{1b}[K{shown}"));
        }
    }

    /// Prints a refusal: on standard output as JSON, on standard error for people.
    pub(crate) fn refusal(self, refusal: &Refusal) {
        if self.is_json() {
            let text = envelope::refusal(refusal);
            // Where the answer could not be printed, the refusal cannot either, and silence would be taken for a crash.
            if self.raw(&text).is_err() {
                complain(text.trim_end());
            }
            return;
        }
        let refusal = envelope::shortened(refusal);
        complain(&format!(
            "error: {} ({})",
            visible(&refusal.message, false),
            refusal.code
        ));
        // The message has the first problem; `wire validate` has printed them all.
        let problems = refusal.details.get("problems").and_then(Value::as_array);
        let more = problems.filter(|_| !refusal.details.contains_key("file"));
        for problem in more.into_iter().flatten().skip(1) {
            let text = |key: &str| problem[key].as_str().unwrap_or_default();
            let line = format!("  {}: {}", text("pointer"), text("message"));
            complain(&visible(&line, false));
        }
        if !refusal.hint.is_empty() {
            complain(&format!("hint: {}", visible(&refusal.hint, false)));
        }
    }

    fn layout(self, page: &Page) -> String {
        let now = jiff::Timestamp::now().into();
        let mut out = String::new();
        for block in &page.blocks {
            match block {
                Block::Line(cells) => {
                    let cells: Vec<_> = cells
                        .iter()
                        .map(|cell| self.cell(cell, now))
                        .filter(|cell| !cell.is_empty())
                        .collect();
                    out.push_str(cells.join("  ").trim_end());
                    out.push('\n');
                }
                Block::Text(text) => {
                    out.push_str(&visible(text, true));
                    if !text.ends_with('\n') {
                        out.push('\n');
                    }
                }
                Block::Table { headings, rows } => self.table(&mut out, headings, rows, now),
            }
        }
        out
    }

    fn table(self, out: &mut String, headings: &[&str], rows: &[Vec<Cell>], now: Millis) {
        let mut lines: Vec<Vec<String>> = Vec::with_capacity(rows.len() + 1);
        if self.form == Form::Terminal && !headings.is_empty() {
            lines.push(headings.iter().map(ToString::to_string).collect());
        }
        lines.extend(
            rows.iter()
                .map(|row| row.iter().map(|cell| self.cell(cell, now)).collect()),
        );
        let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            lines
                .iter()
                .filter_map(|line| line.get(column))
                .map(|cell| cell.width())
                .max()
        };
        let widths: Vec<usize> = (0..columns)
            .map(|column| width(column).unwrap_or(0))
            .collect();
        for line in &lines {
            let mut text = String::new();
            for (cell, width) in line.iter().zip(&widths) {
                text.push_str(cell);
                let pad = if self.form == Form::Terminal {
                    width - cell.width()
                } else {
                    0
                };
                text.push_str(&" ".repeat(pad + 2));
            }
            out.push_str(text.trim_end());
            out.push('\n');
        }
    }

    fn cell(self, cell: &Cell, now: Millis) -> String {
        match cell {
            Cell::Text(text) => visible(text, false).into_owned(),
            Cell::Aside(cell) if self.form == Form::Terminal => self.cell(cell, now),
            Cell::Aside(_) => String::new(),
            Cell::Time(time) if self.form == Form::Terminal => {
                format!("{} ago", span(now.0 - time.0))
            }
            Cell::Time(time) => span(now.0 - time.0),
            Cell::Until(what, time) => {
                let what = visible(what, false);
                let clock = time.timestamp().to_string();
                let clock = clock.get(11..16).unwrap_or_default();
                if *time > now {
                    format!("{what} {clock} UTC (in {})", span(time.0 - now.0))
                } else {
                    format!("{what} {clock} UTC (ended {} ago)", span(now.0 - time.0))
                }
            }
        }
    }
}

/// Why the answer of a command that writes was not printed. It has written, and whoever takes this for a failure sends it twice.
pub(crate) fn done_unsaid(command: &str, refusal: Refusal) -> Refusal {
    Refusal {
        message: format!("{command} was done, and {}", refusal.message),
        ..refusal
    }
    .hint("inbox list shows what is there; send it again only with the --key that it had")
}

/// A page as models read it.
pub(crate) fn lean(page: &Page) -> String {
    Printer { form: Form::Lean }.layout(page)
}

/// A length of time in one unit, as people say it.
fn span(millis: i64) -> String {
    let seconds = (millis.max(0) + 500) / 1000;
    match seconds {
        0..=119 => format!("{seconds}s"),
        120..=7199 => format!("{}m", (seconds + 30) / 60),
        7200..=172_799 => format!("{}h", (seconds + 1800) / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// Says something besides the answer.
pub(crate) fn complain(text: &str) {
    let mut err = std::io::stderr().lock();
    let _ = writeln!(err, "{text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_said_in_one_unit() {
        assert_eq!(span(0), "0s");
        assert_eq!(span(900_000), "15m");
        assert_eq!(span(119_000), "119s");
        assert_eq!(span(7_200_000), "2h");
        assert_eq!(span(3 * 86_400_000), "3d");
        assert_eq!(span(-5), "0s");
    }
}
