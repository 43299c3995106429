//! What is found at an artifact's path.

use std::fmt::Write;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// The path as it was given; size, hash and media type when it is a readable regular file.
pub(crate) fn describe(path: &str) -> Value {
    match read(Path::new(path)) {
        Some((size, sha256)) => {
            json!({ "path": path, "size": size, "sha256": sha256, "media_type": media_type(path) })
        }
        None => json!({ "path": path }),
    }
}

fn read(path: &Path) -> Option<(u64, String)> {
    // Asked before opening: opening a pipe would block, and a device may do anything.
    if !std::fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut file = File::open(path).ok()?;
    let mut hash = Sha256::new();
    let mut size = 0;
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer).ok()? {
            0 => break,
            read => {
                hash.update(&buffer[..read]);
                size += read as u64;
            }
        }
    }
    let hex = hash.finalize().iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    });
    Some((size, hex))
}

/// The media type by the file's name: what agents hand each other.
fn media_type(path: &str) -> &'static str {
    let extension = Path::new(path)
        .extension()
        .and_then(|ext| ext.to_str())
        .unwrap_or_default()
        .to_ascii_lowercase();
    match extension.as_str() {
        "md" | "markdown" => "text/markdown",
        "txt" | "log" | "out" | "err" => "text/plain",
        "json" => "application/json",
        "jsonl" | "ndjson" => "application/x-ndjson",
        "patch" | "diff" => "text/x-diff",
        "html" | "htm" => "text/html",
        "css" => "text/css",
        "csv" => "text/csv",
        "xml" => "application/xml",
        "yaml" | "yml" => "application/yaml",
        "toml" => "application/toml",
        "rs" => "text/x-rust",
        "py" => "text/x-python",
        "js" | "mjs" => "text/javascript",
        "ts" | "tsx" => "text/x-typescript",
        "go" => "text/x-go",
        "sh" => "text/x-shellscript",
        "sql" => "application/sql",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "svg" => "image/svg+xml",
        "webp" => "image/webp",
        "pdf" => "application/pdf",
        "zip" => "application/zip",
        "gz" | "tgz" => "application/gzip",
        "zst" => "application/zstd",
        "tar" => "application/x-tar",
        _ => "application/octet-stream",
    }
}
