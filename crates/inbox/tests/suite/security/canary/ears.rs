//! What is said, kept as files, and looked through at once for every secret in every form.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use inbox_testkit::sandbox::TempDir;

/// Secrets, and everything in which they must not be.
pub(super) struct Ears {
    /// Beside everything that inbox makes.
    folder: TempDir,
    /// The name of the secret, by each form of it.
    forms: Mutex<BTreeMap<String, &'static str>>,
    count: AtomicUsize,
}

/// A secret that was found.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Leak {
    /// The file in which it is, without the folder of all that was said.
    pub(super) place: String,
    pub(super) secret: &'static str,
}

impl Ears {
    pub(super) fn new() -> Self {
        Ears {
            folder: TempDir::new(),
            forms: Mutex::new(BTreeMap::new()),
            count: AtomicUsize::new(0),
        }
    }

    /// A folder for what is not inbox's own: what witnesses write down.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Listens for a secret: plain, in the form of addresses, in base64 and in hexadecimal. A part of it is enough.
    pub(super) fn listen(&self, name: &'static str, secret: &str) {
        assert!(secret.len() >= 12, "{name} is too short to be told apart");
        let part = match secret.len() {
            40.. => &secret[10..36],
            _ => secret,
        };
        let mut forms = self.forms.lock().unwrap();
        for form in forms_of(part).into_iter().chain(keys_of(secret)) {
            forms.insert(form, name);
        }
    }

    /// Keeps what was said, by its place: a command, a path or a file.
    pub(super) fn hears(&self, place: &str, bytes: &[u8]) {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let place = place.replace('/', "\\");
        let place: String = place.chars().take(150).collect();
        std::fs::write(self.folder().join(format!("{number:05} {place}")), bytes).unwrap();
    }

    /// How much was heard.
    pub(super) fn heard(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Every secret in all that was said, and in every file below these folders.
    pub(super) fn leaks(&self, folders: &[&Path]) -> Vec<Leak> {
        let forms = self.forms.lock().unwrap();
        let patterns = TempDir::new();
        let file = patterns.path().join("patterns");
        let lines: String = forms.keys().map(|form| format!("{form}\n")).collect();
        std::fs::write(&file, lines).unwrap();
        let ran = Command::new("grep")
            .args(["-raoFHZ", "-f"])
            .arg(&file)
            .arg("--")
            .arg(self.folder())
            .args(folders)
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .output()
            .expect("grep runs");
        assert!(ran.status.code() < Some(2), "{ran:?}");
        let mut leaks = Vec::new();
        for line in ran.stdout.split(|byte| *byte == b'\n') {
            let line = String::from_utf8_lossy(line);
            let Some((place, form)) = line.split_once('\0') else {
                continue;
            };
            let own = format!("{}/", self.folder().display());
            leaks.push(Leak {
                place: place.strip_prefix(&own).unwrap_or(place).to_owned(),
                secret: forms.get(form).expect("a form that was looked for"),
            });
        }
        leaks.sort();
        leaks.dedup();
        leaks
    }

    /// What was said at a place, to show it where a secret was in it.
    pub(super) fn said(&self, leak: &Leak) -> String {
        let path = self.folder().join(&leak.place);
        let bytes = std::fs::read(path).unwrap_or_default();
        format!("{:.1500}", String::from_utf8_lossy(&bytes))
    }
}

/// A text as addresses have it.
pub(super) fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            write!(out, "%{byte:02X}").unwrap();
        }
    }
    out
}

/// Each form in which a text may stand in another.
fn forms_of(text: &str) -> Vec<String> {
    let hex: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    let address = encoded(text);
    let mut forms = vec![
        text.to_owned(),
        address.to_lowercase(),
        address.replace("%20", "+"),
        address,
        hex.to_uppercase(),
        hex,
        text.replace('"', "\\\""),
    ];
    // In base64 it depends on what stands before, and the ends on what stands around.
    for (before, begin) in [(0, 0), (1, 2), (2, 3)] {
        let bytes = [&vec![0; before], text.as_bytes()].concat();
        let whole = bytes.len() * 8 / 6;
        for engine in [STANDARD, URL_SAFE] {
            forms.push(engine.encode(&bytes)[begin..whole].to_owned());
        }
    }
    forms
}

/// A key in hexadecimal, as others write the bytes that it is.
fn keys_of(text: &str) -> Vec<String> {
    let byte = |at: usize| u8::from_str_radix(text.get(at * 2..at * 2 + 2)?, 16).ok();
    let bytes: Option<Vec<u8>> = (0..32).map(byte).collect();
    let bytes = bytes.filter(|_| text.len() == 64).unwrap_or_default();
    let before = if bytes.is_empty() { 0..0 } else { 0..3 };
    before
        .map(|before| STANDARD.encode([&vec![0; before], &bytes[..]].concat())[4..36].to_owned())
        .collect()
}

#[test]
fn a_secret_is_heard_in_every_form_and_in_a_part() {
    let secret = "c4nary of/ours+9 and a good deal more than that";
    let ears = Ears::new();
    ears.listen("ours", secret);
    let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    let forms = [
        secret.to_owned(),
        format!("https://u:{}@host/", encoded(secret)),
        STANDARD.encode(format!("u:{secret}")),
        STANDARD.encode(format!("us:{secret}")),
        URL_SAFE.encode(format!("use:{secret}!")),
        hex.to_uppercase(),
        secret[8..40].to_owned(),
    ];
    for form in &forms {
        ears.hears("a/place", form.as_bytes());
    }
    ears.hears("nothing", b"c4nary of/ours");
    assert_eq!(ears.leaks(&[]).len(), forms.len());
}
