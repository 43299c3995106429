//! The last error of a hook: one line beside the store, gone with the next hook that works.

use std::path::{Path, PathBuf};

use inbox_core::Refusal;
use inbox_core::record::Millis;
use inbox_core::text::visible;
use inbox_store::private;

use super::client::{Client, Event};
use crate::cli::{Context, config, find};

/// The file's name.
const FILE: &str = "hook-error";

/// The most that is kept of a message, in characters.
const MOST: usize = 500;

/// The most that is read of the file, in bytes.
const LONGEST: u64 = 64 * 1024;

/// The folder beside the store, if there is a store; the project's own for a server's.
pub(super) fn folder(db: Option<&str>) -> Option<PathBuf> {
    if find::server(db).is_some() {
        return config::folder(None);
    }
    config::folder(Some(&find::store(db).ok()?))
}

/// Keeps what went wrong.
pub(super) fn keep(context: &Context, client: Client, event: Event, refusal: &Refusal) {
    keep_in(
        folder(context.db.as_deref()).as_deref(),
        client,
        event,
        refusal,
    );
}

/// The same, in this folder.
pub(super) fn keep_in(folder: Option<&Path>, client: Client, event: Event, refusal: &Refusal) {
    let Some(folder) = folder else { return };
    let now = Millis::from(jiff::Timestamp::now());
    let message: String = refusal.message.chars().take(MOST).collect();
    let line = format!(
        "{now} {} {}: {} ({})\n",
        client.name(),
        event.name(),
        visible(&message, false),
        refusal.code
    );
    // Whether it can be kept or not, the agent goes on.
    let _ = private::write(&folder.join(FILE), line.as_bytes());
}

/// Forgets it: hooks work again.
pub(super) fn forget(context: &Context) {
    if let Some(folder) = folder(context.db.as_deref()) {
        let _ = std::fs::remove_file(folder.join(FILE));
    }
}

/// The last error, for `doctor`, and where it is kept.
pub(crate) fn last(folder: &Path) -> Option<(String, PathBuf)> {
    let path = folder.join(FILE);
    let text = private::read(&path, LONGEST).ok()?;
    let text = String::from_utf8_lossy(&text);
    Some((visible(text.trim(), false).into_owned(), path))
}
