//! Mailbox files, and other programs' inboxes: read and written here, because a request holds no paths.

use std::collections::BTreeSet;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgMatches, Command};
use inbox_core::{Code, EventId, Refusal};
use inbox_ops::exchange::{self, Batch, Source, claude_teams, mailbox};
use inbox_ops::{Caller, Export, Format, Import, Imported, Inbox, Operation};
use inbox_store::bell::{Key, PATIENCE};
use inbox_store::foreign::Foreign;
use inbox_store::private;
use serde_json::{Value, json};

use crate::cli::{Context, Ended, operation};

/// The files of an agent mailbox.
const MAILBOX: &str = "agent-mailbox.jsonl";
const READS: &str = "agent-mailbox-reads.jsonl";

/// The most that is read of one file or of all of them together, in bytes.
const MOST: u64 = 128 << 20;

/// Adds the arguments that name files to the commands that have some.
pub(crate) fn with_files(name: &str, command: Command) -> Command {
    let follow = || Arg::new("follow").long("follow").action(ArgAction::SetTrue);
    match name {
        "export" => command
            .arg(
                Arg::new("dir")
                    .long("dir")
                    .value_name("PATH")
                    .help("Write agent-mailbox.jsonl and agent-mailbox-reads.jsonl in this folder"),
            )
            .arg(follow().requires("dir").help("Go on, and keep the files in step")),
        "import" => command
            .arg(
                Arg::new("path")
                    .value_name("PATH")
                    .required(true)
                    .action(ArgAction::Append)
                    .num_args(1..)
                    .help("A mailbox file or its folder, hcom's or MCP Agent Mail's database, or a team's inbox files"),
            )
            .arg(follow().help("Go on, and take in what is added")),
        _ => command,
    }
}

/// `import`: reads the files, and takes in what they hold.
pub(super) fn import(matches: &ArgMatches, context: &Context) -> Result<Ended, Refusal> {
    let paths: Vec<PathBuf> = matches
        .get_many::<String>("path")
        .into_iter()
        .flatten()
        .map(PathBuf::from)
        .collect();
    // Before the store is opened: what cannot be read is an error of its own.
    let mut stamp = stamp(&paths);
    let batch = read(&paths)?;
    let inbox = operation::open(context)?;
    let mut caller = Caller::local(context.agent.clone());
    caller.session.clone_from(&context.session);
    caller.key = matches
        .get_one::<String>("key")
        .map(|key| key.parse())
        .transpose()?;
    let follow = matches.get_flag("follow");
    let mut answer: Imported = Import { batch }.run(&inbox, &caller)?;
    loop {
        context.printer.answer(Import::NAME, &answer)?;
        if !follow {
            return Ok(Ended::Something);
        }
        // A key is for one command, and what is added later is another.
        caller.key = None;
        loop {
            std::thread::sleep(PATIENCE);
            let now = self::stamp(&paths);
            if now != stamp {
                stamp = now;
                break;
            }
        }
        answer = Import {
            batch: read(&paths)?,
        }
        .run(&inbox, &caller)?;
    }
}

/// What changes when a file does.
fn stamp(paths: &[PathBuf]) -> Vec<(u64, Option<std::time::SystemTime>)> {
    let mut found = Vec::new();
    for path in paths {
        for file in [
            path.clone(),
            path.join(MAILBOX),
            path.join(READS),
            beside(path, "-wal"),
        ] {
            if let Ok(metadata) = std::fs::metadata(file) {
                found.push((metadata.len(), metadata.modified().ok()));
            }
        }
    }
    found
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn read(paths: &[PathBuf]) -> Result<Batch, Refusal> {
    let mut whole = Batch::default();
    let mut teams: Vec<(String, String)> = Vec::new();
    let (mut mail, mut reads) = (Vec::new(), Vec::new());
    let mut open: Vec<PathBuf> = paths.to_vec();
    open.reverse();
    let mut left = MOST;
    while let Some(path) = open.pop() {
        let cannot = |error: &dyn std::fmt::Display| {
            Refusal::input(format!("{} cannot be read: {error}", path.display()))
                .detail("path", path.display().to_string())
        };
        if path.is_dir() {
            let entries = std::fs::read_dir(&path).map_err(|error| cannot(&error))?;
            let mut files: Vec<PathBuf> = entries
                .flatten()
                .map(|entry| entry.path())
                .filter(|file| {
                    let name = file.extension().and_then(|name| name.to_str());
                    // A team's inboxes are in a folder of that name; links are not followed.
                    let is_folder = file.is_dir() && !file.is_symlink();
                    is_folder || (file.is_file() && matches!(name, Some("json" | "jsonl")))
                })
                .filter(|file| !file.is_dir() || holds_mail(file, 3))
                .collect();
            if files.is_empty() {
                return Err(cannot(&"it holds no .json or .jsonl file"));
            }
            files.sort_by(|one, other| other.cmp(one));
            open.extend(files);
            continue;
        }
        let unread = |error: std::io::Error| match error.kind() {
            ErrorKind::FileTooLarge => too_large(&path, &error),
            _ => cannot(&error),
        };
        let file = std::fs::File::open(&path).map_err(unread)?;
        let mut head = Vec::new();
        (&file).take(16).read_to_end(&mut head).map_err(unread)?;
        if head.starts_with(b"SQLite format 3") {
            let batch = database(&path)?;
            whole.messages.extend(batch.messages);
            whole.reads.extend(batch.reads);
            whole.bad.extend(batch.bad);
            continue;
        }
        let bytes = private::bounded(head.as_slice().chain(file), left).map_err(unread)?;
        left = left.saturating_sub(bytes.len() as u64);
        match Source::of_text(&bytes) {
            Some(Source::ClaudeTeams) => {
                let name = path
                    .file_name()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned();
                teams.push((name, String::from_utf8_lossy(&bytes).into_owned()));
            }
            Some(Source::MailboxReads) => reads.extend(bytes),
            Some(_) => {
                mail.extend(bytes);
                // The reads of a mailbox stand beside it.
                let own = path.with_file_name(READS);
                if path.file_name().is_some_and(|name| name == MAILBOX)
                    && !paths.contains(&own)
                    && !path
                        .parent()
                        .is_some_and(|folder| paths.iter().any(|given| given == folder))
                {
                    match private::read_any(&own, left) {
                        Ok(bytes) => reads.extend(bytes),
                        Err(error) if error.kind() == ErrorKind::NotFound => {}
                        Err(error) => return Err(unread(error)),
                    }
                }
            }
            None if bytes.trim_ascii().is_empty() => {}
            None => {
                return Err(cannot(&"it is no mailbox, no team's inbox and no database that is known")
                    .hint("inbox import takes agent-mailbox.jsonl, hcom.db, MCP Agent Mail's storage.sqlite3 and Claude Code teams' inboxes"));
            }
        }
    }
    for batch in [mailbox::decode(&mail, &reads), claude_teams::decode(&teams)] {
        whole.messages.extend(batch.messages);
        whole.reads.extend(batch.reads);
        whole.bad.extend(batch.bad);
    }
    Ok(whole)
}

fn too_large(path: &Path, error: &std::io::Error) -> Refusal {
    let place = path.display();
    Refusal::new(Code::TooLarge, format!("{place} cannot be read: {error}"))
        .hint("split the file, and inbox import one part after the other; what is there already is not taken twice")
        .detail("path", place.to_string())
}

/// Whether a folder, or one below it, has a file that may hold mail.
fn holds_mail(folder: &Path, depth: usize) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).any(|path| {
        let name = path.extension().and_then(|name| name.to_str());
        let is_mail = path.is_file() && matches!(name, Some("json" | "jsonl"));
        is_mail
            || (depth > 0 && path.is_dir() && !path.is_symlink() && holds_mail(&path, depth - 1))
    })
}

fn database(path: &Path) -> Result<Batch, Refusal> {
    let cannot = |error: inbox_store::StoreError| {
        Refusal::input(format!("{} cannot be read: {error}", path.display()))
            .hint("stop the program that it belongs to, or copy the file, and try again")
    };
    let foreign = Foreign::open(path).map_err(cannot)?;
    let tables = foreign.tables().map_err(cannot)?;
    let source = Source::of_tables(&tables).ok_or_else(|| {
        Refusal::input(format!(
            "{} is nobody's inbox that is known",
            path.display()
        ))
        .hint("databases of hcom and of MCP Agent Mail can be imported")
    })?;
    let rows = foreign.rows(source.tables()).map_err(cannot)?;
    Ok(exchange::decode_tables(source, &rows))
}

/// `export --dir`: writes the files of an agent mailbox, and keeps them in step.
pub(super) fn export(matches: &ArgMatches, context: &Context) -> Result<Ended, Refusal> {
    let folder = PathBuf::from(
        matches
            .get_one::<String>("dir")
            .cloned()
            .unwrap_or_default(),
    );
    let follow = matches.get_flag("follow");
    if folder.exists() && !folder.is_dir() {
        return Err(Refusal::input(format!(
            "{} is a file, and --dir names a folder",
            folder.display()
        ))
        .hint("inbox export --dir FOLDER makes the folder and the two files in it")
        .detail("path", folder.display().to_string()));
    }
    let inbox = operation::open(context)?;
    let caller = Caller::local(context.agent.clone());
    private::make_folder(&folder).map_err(|error| cannot(&folder, &error))?;
    let mut mail = Lines::open(&folder.join(MAILBOX), |line| line["id"].to_string())?;
    let mut reads = Lines::open(&folder.join(READS), |line| {
        format!("{} {}", line["message_id"], line["reader_session_id"])
    })?;
    let mut after = EventId(0);
    loop {
        let mut listener = inbox.store().listen(&Key::Any);
        listener.rearm();
        let mark = inbox.store().change_mark();
        let (messages, next) = append(&inbox, &caller, Format::Mailbox, after, &mut mail)?;
        // A message that was read long after it was sent is read now.
        let (seen, _) = append(&inbox, &caller, Format::Reads, EventId(0), &mut reads)?;
        after = next;
        if messages + seen > 0 || !follow {
            report(context, &folder, messages, seen, after)?;
        }
        if !follow {
            return Ok(Ended::Something);
        }
        while !listener.wait(PATIENCE) && mark.is_some() && inbox.store().change_mark() == mark {}
    }
}

fn report(
    context: &Context,
    folder: &Path,
    messages: usize,
    reads: usize,
    next: EventId,
) -> Result<(), Refusal> {
    if context.printer.is_json() {
        let body = json!({
            "dir": folder.display().to_string(), "messages": messages, "reads": reads, "next_event_id": next,
        });
        return context.printer.object("export", true, &body);
    }
    let place = inbox_core::text::visible(&folder.display().to_string(), false).into_owned();
    context
        .printer
        .raw(&format!("{place}  {messages} messages, {reads} reads\n"))
}

fn append(
    inbox: &Inbox,
    caller: &Caller,
    format: Format,
    after: EventId,
    lines: &mut Lines,
) -> Result<(usize, EventId), Refusal> {
    let (mut after, mut written) = (after, 0);
    loop {
        let request = Export {
            format,
            after_event: Some(after),
            ..Export::default()
        };
        let page = request.run(inbox, caller)?;
        written += lines.append(&page.text)?;
        after = page.next_event_id;
        if !page.truncated {
            return Ok((written, after));
        }
    }
}

/// A file of JSON lines to which what is not there yet is appended.
struct Lines {
    path: PathBuf,
    known: BTreeSet<String>,
    id: fn(&Value) -> String,
}

impl Lines {
    fn open(path: &Path, id: fn(&Value) -> String) -> Result<Lines, Refusal> {
        let text = match private::read(path, MOST) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            Err(error) if error.kind() == ErrorKind::FileTooLarge => {
                return Err(Refusal::new(
                    Code::TooLarge,
                    format!("{} cannot be kept in step: {error}", path.display()),
                )
                .hint("inbox export --dir FOLDER begins anew in another folder"));
            }
            Err(error) => return Err(cannot(path, &error)),
        };
        let values = text
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let known = values.map(|line| id(&line)).collect();
        // A line that a crash cut short is ended, so that the next one stands by itself.
        if !text.is_empty() && !text.ends_with('\n') {
            write(path, "\n")?;
        }
        Ok(Lines {
            path: path.to_owned(),
            known,
            id,
        })
    }

    fn append(&mut self, text: &str) -> Result<usize, Refusal> {
        let mut new = String::new();
        let mut count = 0;
        for line in text.lines() {
            let id = serde_json::from_str::<Value>(line)
                .ok()
                .map(|value| (self.id)(&value));
            if id.is_some_and(|id| self.known.insert(id)) {
                new.push_str(line);
                new.push('\n');
                count += 1;
            }
        }
        write(&self.path, &new)?;
        Ok(count)
    }
}

fn write(path: &Path, text: &str) -> Result<(), Refusal> {
    let done =
        private::open(private::file().create(true).append(true), path).and_then(|mut file| {
            file.write_all(text.as_bytes())
                .and_then(|()| file.sync_data())
        });
    done.map_err(|error| cannot(path, &error))
}

fn cannot(path: &Path, error: &std::io::Error) -> Refusal {
    Refusal::new(
        Code::Storage,
        format!("{} cannot be written: {error}", path.display()),
    )
}
