//! What a command is to the runner: one that is given its prompt and prints, or one that is talked with.

use std::path::Path;

use inbox_ops::config::{Preset, Speak};

use crate::acp::Talk;
use crate::reader::{Found, Reader};

/// What comes of a part of the output.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Fed {
    /// What it says to those who follow it.
    pub(crate) progress: Vec<String>,
    /// The lines that are said to the command.
    pub(crate) say: Vec<String>,
}

/// A command, as it is heard.
#[derive(Debug)]
pub(crate) enum Client {
    Prints(Box<Reader>),
    Talks(Box<Talk>),
}

/// Whether such a command is talked with, and has its prompt from that.
pub(crate) fn talks(preset: Option<&Preset>) -> bool {
    preset.is_some_and(|preset| preset.speak == Speak::Acp)
}

impl Client {
    /// A command that is started for this input, to go on with that session, in which these words were the last.
    pub(crate) fn new(
        preset: Option<&Preset>,
        input: &str,
        folder: &Path,
        session: Option<(&str, &str)>,
    ) -> Self {
        match preset {
            Some(preset) if talks(Some(preset)) => {
                let folder = folder.display().to_string();
                let (session, last_words) = session.unzip();
                let talk = Talk::new(preset, input, &folder, session);
                Client::Talks(Box::new(talk.after(last_words.unwrap_or_default())))
            }
            _ => Client::Prints(Box::new(Reader::new(preset))),
        }
    }

    /// What is said to it first.
    pub(crate) fn opening(&self) -> Option<String> {
        match self {
            Client::Prints(_) => None,
            Client::Talks(talk) => Some(talk.opening()),
        }
    }

    /// Takes a part of its output.
    pub(crate) fn feed(&mut self, part: &[u8]) -> Fed {
        match self {
            Client::Prints(reader) => Fed {
                progress: reader.feed(part),
                say: Vec::new(),
            },
            Client::Talks(talk) => talk.feed(part),
        }
    }

    /// Whether nothing more is to be heard of it although it runs.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self, Client::Talks(talk) if talk.is_over())
    }

    /// What it said about what it did.
    pub(crate) fn finish(self) -> Found {
        match self {
            Client::Prints(reader) => reader.finish(),
            Client::Talks(talk) => talk.finish(),
        }
    }
}
