//! What a runner tells those who watch it: a line for each turn, and on a terminal what its command says just now.

use std::time::Duration;

use inbox_core::text::visible;
use inbox_runner::News;
use serde_json::{Value, json};

use crate::cli::print::{Printer, complain};

pub(super) struct Told {
    printer: Printer,
}

impl Told {
    pub(super) fn new(printer: Printer) -> Self {
        Told { printer }
    }

    pub(super) fn tell(&self, news: &News) {
        if self.printer.is_json() {
            if let Some(line) = as_json(news) {
                let _ = self.printer.raw(&format!("{line}\n"));
            }
            return;
        }
        match news {
            News::Idle => self.printer.in_place("waiting for work"),
            News::Said { thread, line } => self.printer.in_place(&format!("{thread}  {line}")),
            News::Warning(text) => {
                self.printer.in_place("");
                complain(&format!("warning: {}", visible(text, false)));
            }
            _ => {
                self.printer.in_place("");
                let line = line(news);
                let _ = self.printer.raw(&format!("{}\n", visible(&line, false)));
            }
        }
    }
}

fn line(news: &News) -> String {
    match news {
        News::Took { thread, subject } => format!("{thread}  took  {subject}"),
        News::Refused {
            thread,
            attempt,
            reasons,
        } => format!(
            "{thread}  attempt {attempt} not accepted  {}",
            reasons.join("; ")
        ),
        News::Asked { thread, question } => format!("{thread}  waits for an answer  {question}"),
        News::Answered { thread } => format!("{thread}  answered"),
        News::Ended {
            thread,
            end,
            summary,
            took,
        } => format!("{thread}  {}  {summary}  ({})", end.name(), time(*took)),
        News::Idle | News::Said { .. } | News::Warning(_) => String::new(),
    }
}

/// A length of time as people say it.
fn time(took: Duration) -> String {
    let seconds = took.as_secs();
    if seconds < 120 {
        format!("{seconds}s")
    } else {
        format!("{}m", (seconds + 30) / 60)
    }
}

fn as_json(news: &News) -> Option<Value> {
    Some(match news {
        News::Idle => json!({ "news": "idle" }),
        News::Took { thread, subject } => {
            json!({ "news": "took", "thread_id": thread, "subject": subject })
        }
        News::Refused {
            thread,
            attempt,
            reasons,
        } => {
            json!({ "news": "refused", "thread_id": thread, "attempt": attempt, "reasons": reasons })
        }
        News::Asked { thread, question } => {
            json!({ "news": "asked", "thread_id": thread, "question": question })
        }
        News::Answered { thread } => json!({ "news": "answered", "thread_id": thread }),
        News::Ended {
            thread,
            end,
            summary,
            took,
        } => json!({
            "news": "ended",
            "thread_id": thread,
            "end": end.name(),
            "summary": summary,
            "seconds": took.as_secs(),
        }),
        News::Warning(text) => json!({ "news": "warning", "text": text }),
        // Its words are in the thread.
        News::Said { .. } => return None,
    })
}
