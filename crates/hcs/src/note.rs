//! A note on the topic of a task, phase, stage, project or agent, and who is to hear of it.

use serde_json::Value;

use crate::fields::{Object, Report, document, filled, shown_value, text, texts, time};
use crate::form::Form;
use crate::operation::{MAX_ASSEMBLED, MAX_MESSAGE};
use crate::report::{Deviation, Refused};

/// What a note is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NoteType {
    /// A task.
    Task,
    /// A phase.
    Phase,
    /// A stage.
    Stage,
    /// A project.
    Project,
    /// An agent.
    Agent,
}

impl NoteType {
    /// Every type.
    pub const ALL: [NoteType; 5] = [
        NoteType::Task,
        NoteType::Phase,
        NoteType::Stage,
        NoteType::Project,
        NoteType::Agent,
    ];

    /// Its word.
    pub const fn name(self) -> &'static str {
        match self {
            NoteType::Task => "task.note",
            NoteType::Phase => "phase.note",
            NoteType::Stage => "stage.note",
            NoteType::Project => "project.note",
            NoteType::Agent => "agent.note",
        }
    }

    fn read(value: &Value, report: &mut Report) -> Option<Self> {
        let found = NoteType::ALL.into_iter().find(|word| value == word.name());
        match found {
            Some(found) => Some(found),
            None => report.refuse(format!(
                "must be task.note, phase.note, stage.note, project.note or agent.note, not {}",
                shown_value(value)
            )),
        }
    }
}

/// A note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// What it is about.
    pub note_type: NoteType,
    /// Who wrote it.
    pub from_agent: String,
    /// The text, in Markdown.
    pub note: String,
    /// Who is to hear of it.
    pub notify: Vec<String>,
    /// When it was written, as its writer says.
    pub written_at: Option<jiff::Timestamp>,
}

impl Note {
    /// Reads what somebody wrote, with what was forgiven.
    pub fn read(bytes: &[u8]) -> Result<(Self, Vec<Deviation>), Refused> {
        let value = document(bytes, "the note", MAX_ASSEMBLED)?;
        let mut report = Report::default();
        let note = Note::read_value(&value, &mut report);
        report.finish(note)
    }

    fn read_value(value: &Value, report: &mut Report) -> Option<Self> {
        let mut object = Object::open(value, report)?;
        // What agents of one inbox add, for each other.
        object.known(&["x_uid", "x_priority"]);
        let note_type = object.required("type", NoteType::read);
        let from_agent = object.required("from_agent", filled);
        let note = object.required("note", text);
        let notify = object.optional("notify", texts);
        let written_at = object.wanted("ts", time);
        object.close();
        Some(Note {
            note_type: note_type?,
            from_agent: from_agent?,
            note: note?,
            notify: notify?.unwrap_or_default(),
            written_at: written_at.flatten(),
        })
    }

    /// The message to submit.
    pub fn write(&self) -> Result<String, Refused> {
        Form::default()
            .set("type", self.note_type.name())
            .set("from_agent", self.from_agent.as_str())
            .set("note", self.note.as_str())
            .set("notify", self.notify.clone())
            .must("ts", self.written_at.map(|time| time.to_string()))?
            .fit("the note", MAX_MESSAGE)
    }
}
