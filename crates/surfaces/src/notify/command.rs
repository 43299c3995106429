//! A command of the user's own, which is given each notice on its standard input.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use inbox_core::text::visible;
use inbox_ops::Notice;
use inbox_ops::config::Notify;

use super::{child, document};

/// A program with its arguments.
pub(crate) struct Program {
    words: Vec<String>,
    variables: Vec<String>,
    patience: Duration,
}

impl Program {
    pub(super) fn new(notify: &Notify) -> Self {
        let seconds = u64::try_from(notify.command_seconds).unwrap_or(1);
        Program {
            words: notify.command.clone(),
            variables: notify.command_env.clone(),
            patience: Duration::from_secs(seconds),
        }
    }

    pub(super) fn words(&self) -> &[String] {
        &self.words
    }

    pub(super) fn patience(&self) -> Duration {
        self.patience
    }

    /// The program's name without its folder.
    pub(super) fn base(&self) -> String {
        let program = self.words.first().map_or("", String::as_str);
        let base = program.rsplit('/').next().unwrap_or(program);
        visible(base, false).replace(' ', "_")
    }

    pub(super) fn send(
        &self,
        notice: &Notice,
        is_whole: bool,
        over: &AtomicBool,
    ) -> Result<(), String> {
        let input = format!("{}\n", document(notice, is_whole));
        child::run(&self.words, input, &self.variables, self.patience, over)
    }

    pub(super) fn problem(&self) -> Option<(String, String)> {
        let program = self.words.first().map_or("", String::as_str);
        child::on_path(program).is_none().then(|| {
            (
                format!("there is no program {}", visible(program, false)),
                "inbox config shows notify.command; name a program that is on the PATH, or its whole path".to_owned(),
            )
        })
    }
}
