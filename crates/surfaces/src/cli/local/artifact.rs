//! What is found at an artifact's path.

use std::path::Path;

use inbox_core::limit;
use inbox_store::private;
use serde_json::{Value, json};

/// The path as it was given; size, hash and media type when it is a readable regular file.
pub(crate) fn describe(path: &str) -> Value {
    match private::measure(Path::new(path), limit::ARTIFACT) {
        Ok((size, sha256)) => {
            json!({ "path": path, "size": size, "sha256": sha256, "media_type": media_type(path) })
        }
        Err(_) => json!({ "path": path }),
    }
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
