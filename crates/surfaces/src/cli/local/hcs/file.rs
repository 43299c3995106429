//! `inbox hcs file …`: files on topics (HCS-1).

use std::io::{Read, Write};

use clap::Command;
use inbox_bridge::file;
use inbox_core::{Code, Refusal};
use inbox_hcs::{Algorithm, Hash, Limits, Mime};
use inbox_ops::Page;
use serde_json::json;

use super::ground::Ground;
use super::{group, option, word};
use crate::cli::Ended;

pub(super) fn commands() -> Vec<Command> {
    vec![
        group("file", "Keep files on topics, and get them back")
            .subcommand(
                Command::new("put")
                    .about("Write a file to a topic of its own, for everybody and for good")
                    .arg(word("file", "FILE", "The file; - for standard input"))
                    .arg(option(
                        "mime",
                        "TYPE",
                        "Its media type [default: by its name]",
                    ))
                    .arg(
                        option("compress", "HOW", "zstd or brotli")
                            .value_parser(["zstd", "brotli"])
                            .default_value("brotli"),
                    ),
            )
            .subcommand(
                Command::new("get")
                    .about("Read a file, and check that it is what its topic says")
                    .arg(word("topic", "TOPIC", "Its topic"))
                    .arg(option(
                        "to",
                        "FILE",
                        "Write it here, which must not exist [default: standard output]",
                    )),
            ),
    ]
}

pub(super) fn put(ground: &Ground<'_>) -> Result<Ended, Refusal> {
    let path = ground.must("file");
    let content = content(&path)?;
    let mime = match ground.text("mime") {
        Some(mime) => mime
            .parse()
            .map_err(|error: inbox_hcs::Refused| Refusal::input(error.to_string()))?,
        None => by_name(&path),
    };
    let algorithm = match ground.must("compress").as_str() {
        "zstd" => Algorithm::Zstd,
        _ => Algorithm::Brotli,
    };
    let actor = ground.actor()?;
    let net = ground.own_net(&actor)?;
    let topic = file::put(&net, &content, &mime, algorithm)?;
    let body = json!({
        "topic_id": topic.to_string(),
        "reference": format!("hcs://1/{topic}"),
        "bytes": content.len(),
        "sha256": Hash::of(&content).to_string(),
        "media_type": mime.as_str(),
    });
    ground.done(
        &net,
        &body,
        &Page::default().line(format!("hcs://1/{topic}")),
    )
}

/// A file's bytes, no more than a file on a topic may have.
fn content(path: &str) -> Result<Vec<u8>, Refusal> {
    let cannot = |error: std::io::Error| {
        let code = match error.kind() {
            std::io::ErrorKind::NotFound => Code::InvalidInput,
            _ => Code::Storage,
        };
        Refusal::new(code, format!("{path} cannot be read: {error}"))
    };
    let most = u64::try_from(Limits::default().content).unwrap_or(u64::MAX);
    let mut bytes = Vec::new();
    if path == "-" {
        std::io::stdin().take(most + 1).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(most + 1).read_to_end(&mut bytes))
    }
    .map_err(cannot)?;
    Ok(bytes)
}

fn by_name(path: &str) -> Mime {
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    let known = match extension.to_ascii_lowercase().as_str() {
        "json" => "application/json",
        "txt" | "log" => "text/plain",
        "md" => "text/markdown",
        "html" => "text/html",
        "csv" => "text/csv",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "svg" => "image/svg+xml",
        "pdf" => "application/pdf",
        _ => "application/octet-stream",
    };
    known.parse().unwrap_or_else(|_| Mime::bytes())
}

pub(super) fn get(ground: &Ground<'_>) -> Result<Ended, Refusal> {
    let topic = ground.topic("topic")?;
    let found = file::get(&ground.mirror(), topic)?;
    let printer = ground.context.printer;
    let Some(to) = ground.text("to") else {
        if printer.is_json() {
            let text = std::str::from_utf8(&found.content).ok();
            let body = json!({
                "topic_id": topic.to_string(),
                "media_type": found.mime.as_str(),
                "bytes": found.content.len(),
                "sha256": Hash::of(&found.content).to_string(),
                "text": text,
            });
            return ground.answer(&body, &Page::default());
        }
        printer.bytes(&found.content)?;
        return Ok(Ended::Something);
    };
    let mut how = inbox_store::private::file();
    let mut file = how
        .write(true)
        .create_new(true)
        .open(&to)
        .map_err(|error| {
            let code = match error.kind() {
                std::io::ErrorKind::AlreadyExists => Code::AlreadyExists,
                _ => Code::Storage,
            };
            Refusal::new(code, format!("{to} cannot be written: {error}"))
        })?;
    file.write_all(&found.content)
        .and_then(|()| file.sync_all())
        .map_err(|error| Refusal::new(Code::Storage, format!("{to} cannot be written: {error}")))?;
    let body = json!({
        "topic_id": topic.to_string(),
        "media_type": found.mime.as_str(),
        "bytes": found.content.len(),
        "sha256": Hash::of(&found.content).to_string(),
        "file": to,
    });
    let page = Page::default().line(format!("{} bytes in {to}", found.content.len()));
    ground.answer(&body, &page)
}
