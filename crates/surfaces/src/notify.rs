//! How people are reached elsewhere: on a desktop, by a webhook, by a command.
//!
//! What there is to tell, and what was told already, is in `ops/src/notify.rs`. Here is by what, and who goes on doing it.

mod child;
mod command;
mod desktop;
mod document;
mod keeper;
mod webhook;

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use inbox_core::Refusal;
use inbox_ops::{Config, Notice};
use sha2::{Digest, Sha256};

pub(crate) use document::{document, title};
pub(crate) use keeper::{Event, Keeper, Told, once};

/// By what a person is reached.
pub(crate) enum Reach {
    /// The desktop of this machine.
    Desktop,
    /// A URL.
    Webhook(webhook::Webhook),
    /// A program.
    Command(command::Program),
}

impl Reach {
    /// What is configured.
    pub(crate) fn all(config: &Config) -> Result<Vec<Reach>, Refusal> {
        let notify = &config.notify;
        let mut all = Vec::new();
        if notify.desktop {
            all.push(Reach::Desktop);
        }
        if let Some(url) = &notify.webhook {
            all.push(Reach::Webhook(webhook::Webhook::new(url, config)?));
        }
        if !notify.command.is_empty() {
            all.push(Reach::Command(command::Program::new(notify)));
        }
        Ok(all)
    }

    /// What it is called in the store: the same in every process that would tell the same, and another on another desktop. The last
    /// word is a hash, because a URL and an argument may be secrets.
    pub(crate) fn name(&self) -> String {
        match self {
            Reach::Desktop => {
                let user = rustix::process::getuid().as_raw();
                let machine = rustix::system::uname();
                let machine = machine.nodename().to_string_lossy().into_owned();
                format!("desktop {machine} {}", hash(&format!("{user} {machine}")))
            }
            Reach::Webhook(webhook) => {
                format!("webhook {} {}", webhook.host(), hash(webhook.url()))
            }
            Reach::Command(program) => {
                format!(
                    "command {} {}",
                    program.base(),
                    hash(&program.words().join("\n"))
                )
            }
        }
    }

    /// What people know it by.
    pub(crate) fn shown(&self) -> String {
        shown(&self.name())
    }

    /// How long one notice may take.
    pub(crate) fn patience(&self) -> Duration {
        match self {
            Reach::Desktop => desktop::PATIENCE,
            Reach::Webhook(_) => webhook::PATIENCE,
            Reach::Command(program) => program.patience(),
        }
    }

    /// Tells a person; what was wrong, if it did not work.
    pub(crate) fn send(
        &self,
        notice: &Notice,
        is_whole: bool,
        over: &AtomicBool,
    ) -> Result<(), String> {
        match self {
            Reach::Desktop => desktop::send(notice, over),
            Reach::Webhook(webhook) => webhook.send(notice, is_whole),
            Reach::Command(program) => program.send(notice, is_whole, over),
        }
    }

    /// What keeps it from working that can be seen without trying, and what to do.
    pub(crate) fn problem(&self) -> Option<(String, String)> {
        match self {
            Reach::Desktop => desktop::problem(),
            Reach::Webhook(webhook) => webhook.problem(),
            Reach::Command(program) => program.problem(),
        }
    }
}

/// The name of a reach without its hash.
pub(crate) fn shown(name: &str) -> String {
    name.rsplit_once(' ')
        .map_or(name, |(name, _)| name)
        .to_owned()
}

fn hash(text: &str) -> String {
    let digest = Sha256::digest(text);
    digest
        .iter()
        .take(6)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
