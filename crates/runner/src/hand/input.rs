//! What a command is given to read: a folder of its own, a file in it, and words that stand for them.

use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use inbox_core::{Code, Refusal};

/// A word of the command with what it stands for. What is put in is not looked at again.
pub(super) fn fill(word: &str, values: &[(&str, &str)]) -> String {
    let mut out = String::new();
    let mut rest = word;
    while let Some(at) = rest.find('{') {
        let (before, after) = rest.split_at(at);
        out.push_str(before);
        let found = values.iter().find(|(name, _)| after.starts_with(name));
        let (put, taken) = found.map_or(("{", 1), |(name, value)| (*value, name.len()));
        out.push_str(put);
        rest = &after[taken..];
    }
    out.push_str(rest);
    out
}

/// A folder that nobody else can look into.
pub(super) fn scratch() -> Result<PathBuf, Refusal> {
    let cannot = |error: &dyn std::fmt::Display| {
        Refusal::new(
            Code::Storage,
            format!("a folder for the prompt cannot be made: {error}"),
        )
    };
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|error| cannot(&error))?;
    let name: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let path = std::env::temp_dir().join(format!("inbox-run-{name}"));
    std::fs::DirBuilder::new()
        .mode(0o700)
        .create(&path)
        .map_err(|error| cannot(&error))?;
    Ok(path)
}

pub(super) fn write(path: &Path, text: &str) -> Result<(), Refusal> {
    let written = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| {
        Refusal::new(
            Code::Storage,
            format!("the prompt cannot be written: {error}"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::fill;

    #[test]
    fn a_prompt_is_put_in_once_and_never_read_as_a_pattern() {
        let fill = |word: &str, prompt: &str| {
            fill(
                word,
                &[
                    ("{prompt_file}", "/f"),
                    ("{prompt}", prompt),
                    ("{session}", "s1"),
                ],
            )
        };
        assert_eq!(
            fill("-p={prompt}", "a {prompt_file} b"),
            "-p=a {prompt_file} b"
        );
        assert_eq!(fill("{prompt_file}{session}", "x"), "/fs1");
        assert_eq!(fill("{prompts} {x} {", "x"), "{prompts} {x} {");
        assert_eq!(fill("plain", "x"), "plain");
    }
}
