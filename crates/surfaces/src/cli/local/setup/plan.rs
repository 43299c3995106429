//! What is to be done to which file, settled before anything is written.

use std::path::{Path, PathBuf};

use inbox_core::sabotage::planted;
use inbox_core::{Code, Refusal};

use super::client::{Client, Places};
use super::ledger::Ledger;
use super::piece::{Content, Piece};
use super::{diff, file, json, toml};

/// What happens to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// Nothing: it is as it should be.
    Nothing,
    /// It is made.
    Create,
    /// It is changed.
    Edit,
    /// It becomes what it was before, byte for byte.
    Restore,
    /// It is taken away.
    Delete,
    /// It stays, because the user changed it.
    Keep,
}

impl What {
    pub(super) fn word(self) -> &'static str {
        match self {
            What::Nothing => "unchanged",
            What::Create => "create",
            What::Edit => "edit",
            What::Restore => "restore",
            What::Delete => "delete",
            What::Keep => "keep",
        }
    }
}

/// A file and what is to be done to it.
pub(super) struct Change {
    pub(super) client: Client,
    /// As the client knows it.
    pub(super) path: PathBuf,
    /// Where it is, links followed.
    pub(super) real: PathBuf,
    pub(super) what: What,
    pub(super) before: Option<String>,
    pub(super) after: Option<String>,
    /// What `--remove` brings back; nothing when there was no file.
    base: Option<String>,
}

impl Change {
    pub(super) fn is_any(&self) -> bool {
        !matches!(self.what, What::Nothing | What::Keep)
    }

    pub(super) fn diff(&self) -> String {
        let text = |side: &Option<String>| side.clone().unwrap_or_default();
        diff::diff(&text(&self.before), &text(&self.after))
    }
}

/// What wiring a client does to one of its files.
pub(super) fn wire(
    client: Client,
    piece: &Piece,
    ledger: &Ledger,
    places: &Places,
) -> Result<Change, Refusal> {
    let real = file::real(&piece.path);
    let before = file::text_of(&real)?;
    let old = before.as_deref().unwrap_or_default();
    let after = match &piece.content {
        Content::Whole(text) => Ok(text.clone()),
        Content::Json(wants) => json::with(old, wants),
        Content::Toml(server) => toml::with(old, server),
    };
    let after = after.map_err(|problem| unreadable(client, &piece.path, &problem, places))?;
    let is_same = before.as_deref() == Some(after.as_str());
    let what = match &before {
        _ if is_same => What::Nothing,
        None => What::Create,
        Some(_) => What::Edit,
    };
    if what == What::Edit {
        writable(client, &real, places)?;
    }
    let base = base(piece, &real, before.as_deref(), ledger)?;
    Ok(Change {
        client,
        path: piece.path.clone(),
        real,
        what,
        before,
        after: Some(after),
        base,
    })
}

/// What the file was without us. While nobody else has changed it, that is what the ledger has; else it is what
/// is there now, without what is ours.
fn base(
    piece: &Piece,
    real: &Path,
    before: Option<&str>,
    ledger: &Ledger,
) -> Result<Option<String>, Refusal> {
    let Some(before) = before else {
        return Ok(None);
    };
    if let Some(entry) = ledger.find(real)
        && entry.wrote == file::hash(before)
    {
        return ledger.before(entry);
    }
    let rest = match &piece.content {
        Content::Whole(_) => before.to_owned(),
        Content::Json(wants) => json::without(before, wants).unwrap_or_else(|_| before.to_owned()),
        Content::Toml(_) => toml::without(before).unwrap_or_else(|_| before.to_owned()),
    };
    Ok(Some(rest))
}

/// What unwiring a client does to one of its files.
pub(super) fn unwire(
    client: Client,
    piece: &Piece,
    ledger: &Ledger,
    places: &Places,
    leaving: &[Client],
) -> Result<Change, Refusal> {
    let real = file::real(&piece.path);
    let before = file::text_of(&real)?;
    let change = |what: What, after: Option<String>| Change {
        client,
        path: piece.path.clone(),
        real: real.clone(),
        what,
        before: before.clone(),
        after,
        base: None,
    };
    let Some(text) = &before else {
        return Ok(change(What::Nothing, None));
    };
    let entry = ledger.find(&real);
    let is_shared = entry.is_some_and(|entry| {
        let leaves = |name: &String| leaving.iter().any(|client| client.name() == name);
        !entry.clients.iter().all(leaves)
    });
    if is_shared && matches!(piece.content, Content::Whole(_)) {
        return Ok(change(What::Nothing, before.clone()));
    }
    let done = match entry {
        Some(entry) if entry.wrote == file::hash(text) || planted("restore_blindly") => {
            match ledger.before(entry)? {
                Some(old) => change(What::Restore, Some(old)),
                None => change(What::Delete, None),
            }
        }
        _ => {
            let rest = match &piece.content {
                Content::Whole(ours) if ours == text => None,
                Content::Whole(_) => return Ok(change(What::Keep, before.clone())),
                Content::Json(wants) => Some(json::without(text, wants)),
                Content::Toml(_) => Some(toml::without(text)),
            };
            let rest = rest
                .transpose()
                .map_err(|problem| unreadable(client, &piece.path, &problem, places))?;
            let was_made = entry.is_some_and(|entry| entry.backup.is_none());
            match rest {
                None => change(What::Delete, None),
                Some(rest) if rest == *text => change(What::Nothing, Some(rest)),
                // A file that we made and in which nobody wrote anything of their own.
                Some(rest) if was_made && is_bare(piece, &rest) => change(What::Delete, None),
                Some(rest) => change(What::Edit, Some(rest)),
            }
        }
    };
    if done.is_any() {
        writable(client, &real, places)?;
    }
    Ok(done)
}

fn is_bare(piece: &Piece, rest: &str) -> bool {
    match &piece.content {
        Content::Json(wants) => json::is_bare(rest, wants),
        _ => rest.trim().is_empty(),
    }
}

/// Carries a change out; gives the folders that were made for a file that is gone now.
pub(super) fn carry_out(
    change: &Change,
    ledger: &mut Ledger,
    is_wiring: bool,
) -> Result<Vec<PathBuf>, Refusal> {
    if change.is_any() && file::text_of(&change.real)? != change.before {
        let message = format!("{} was changed by somebody just now", change.path.display());
        return Err(Refusal::new(Code::Storage, message)
            .hint("inbox setup again looks at it as it is now")
            .detail("path", change.path.display().to_string()));
    }
    if is_wiring {
        return write(change, ledger).map(|()| Vec::new());
    }
    let mut folders = Vec::new();
    match (&change.what, &change.after) {
        (What::Restore | What::Edit, Some(text)) => file::replace(&change.real, text, 0o644)?,
        (What::Delete, _) => {
            file::remove(&change.real)?;
            let entry = ledger.find(&change.real);
            folders.extend(entry.into_iter().flat_map(|entry| entry.folders.clone()));
        }
        _ => {}
    }
    ledger.forget(&change.real, change.client)?;
    Ok(folders)
}

/// Takes away folders that were made for files, where nobody has put anything else.
pub(super) fn sweep(mut folders: Vec<PathBuf>) {
    folders.sort_by_key(|folder| std::cmp::Reverse(folder.components().count()));
    for folder in folders {
        let _ = std::fs::remove_dir(folder);
    }
}

fn write(change: &Change, ledger: &mut Ledger) -> Result<(), Refusal> {
    let Some(text) = change.after.as_deref().filter(|_| change.is_any()) else {
        return ledger.share(&change.real, change.client);
    };
    let folder = change.real.parent().unwrap_or(Path::new("."));
    let folders = file::make_folder(folder, 0o755)?;
    let base = change.base.as_deref();
    ledger.note(&change.real, change.client, base, text, folders)?;
    file::replace(&change.real, text, 0o644)
}

fn writable(client: Client, real: &Path, places: &Places) -> Result<(), Refusal> {
    if !file::is_read_only(real) {
        return Ok(());
    }
    let path = places.shown(real);
    Err(
        Refusal::new(Code::NotAllowed, format!("{path} is read-only"))
            .hint(format!("chmod u+w {path}, then inbox setup {client} again"))
            .detail("path", real.display().to_string()),
    )
}

fn unreadable(client: Client, path: &Path, problem: &str, places: &Places) -> Refusal {
    let problem = problem.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown = places.shown(path);
    Refusal::input(format!(
        "{shown} cannot be read, and nothing was changed: {problem}"
    ))
    .hint(format!(
        "inbox setup {client} again, when the file is correct; without it, name the other clients"
    ))
    .detail("path", path.display().to_string())
}
