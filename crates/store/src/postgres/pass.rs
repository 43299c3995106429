//! The password file, as libpq reads it: `host:port:database:user:password` in each line, `*` for
//! anything, `\` before a `:` or a `\` that is meant, and the first line that fits.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::url::{Host, Secret};

/// Longer than any real one, and short enough to read at once.
const LONGEST: u64 = 1 << 20;

/// The password for this login, or in words why the file has none.
pub(super) fn look_up(
    path: &Path,
    host: &Host,
    database: &str,
    user: &str,
) -> Result<Secret, String> {
    let shown = path.display();
    let none = || format!("there is none in PGPASSWORD, and no password file {shown}");
    let unreadable =
        |error: &std::io::Error| format!("the password file {shown} cannot be read: {error}");
    // Looked at before it is opened: opening a named pipe would wait for its writer.
    match path.metadata() {
        Ok(facts) if !facts.is_file() => {
            return Err(format!("{shown} was ignored: it is not a plain file"));
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(none()),
        Err(error) => return Err(unreadable(&error)),
        Ok(_) => {}
    }
    let file = File::open(path).map_err(|error| unreadable(&error))?;
    let mode = file.metadata().map_err(|error| unreadable(&error))?.mode();
    if mode & 0o077 != 0 {
        return Err(format!(
            "the password file {shown} was ignored, because others than its owner may use it (mode {:04o}): chmod 600 {shown}",
            mode & 0o7777
        ));
    }
    let mut bytes = Vec::new();
    file.take(LONGEST)
        .read_to_end(&mut bytes)
        .map_err(|error| unreadable(&error))?;
    // A line that goes on where the reading ends would give half a password.
    if bytes.len() as u64 == LONGEST {
        let end = bytes.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
        bytes.truncate(end);
    }
    // A line in another encoding spoils itself alone.
    let text = String::from_utf8_lossy(&bytes);
    let port = host.port().to_string();
    for name in names(host) {
        let wanted = [name.as_str(), &port, database, user];
        if let Some(password) = text.lines().find_map(|line| password(line, wanted)) {
            return Ok(Secret::new(password));
        }
    }
    Err(format!(
        "the password file {shown} has no line for {host}:{database}:{user}"
    ))
}

/// What a line may call this host. A socket in its usual place is `localhost`; any other is its
/// folder, so that whoever makes a folder does not get the passwords for this machine.
fn names(host: &Host) -> Vec<String> {
    match host {
        Host::Tcp { name, .. } => vec![name.clone()],
        Host::Unix { folder, .. } => {
            let folder = folder.display().to_string();
            if host.is_default_socket() {
                vec!["localhost".into(), folder]
            } else {
                vec![folder]
            }
        }
    }
}

/// The password in `line` if its first four fields fit.
pub(super) fn password(line: &str, wanted: [&str; 4]) -> Option<String> {
    if line.starts_with('#') {
        return None;
    }
    let mut rest = line;
    for wanted in wanted {
        let is_any = rest.starts_with("*:");
        let (field, tail) = field(rest);
        if !is_any && field != wanted {
            return None;
        }
        rest = tail?;
    }
    let (password, _) = field(rest);
    (!password.is_empty()).then_some(password)
}

/// The text up to the next bare `:`, without its escapes, and what follows that.
fn field(text: &str) -> (String, Option<&str>) {
    let mut field = String::new();
    let mut chars = text.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            ':' => return (field, Some(&text[at + 1..])),
            '\\' => field.push(chars.next().map_or('\\', |(_, next)| next)),
            char => field.push(char),
        }
    }
    (field, None)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn tcp(name: &str) -> Host {
        Host::Tcp {
            name: name.into(),
            address: None,
            port: 5432,
        }
    }

    fn found(line: &str) -> Option<String> {
        password(line, ["db.example", "5432", "work", "ada"])
    }

    #[test]
    fn a_line_fits_by_its_four_fields() {
        for line in [
            "db.example:5432:work:ada:hunter2",
            "*:*:*:*:hunter2",
            "db.example:*:work:*:hunter2",
            r"db\.example:5432:work:ada:hunter2",
            r"*:*:*:*:hunter2:and what follows a bare colon is no part of it",
        ] {
            assert_eq!(found(line).as_deref(), Some("hunter2"), "{line}");
        }
        for line in [
            "",
            "#*:*:*:*:hunter2",
            "other:5432:work:ada:hunter2",
            "db.example:5433:work:ada:hunter2",
            "db.example:5432:work:ada",
            "db.example:5432:work:ada:",
            r"\*:*:*:*:hunter2",
            "**:*:*:*:hunter2",
            "db.*:5432:work:ada:hunter2",
        ] {
            assert_eq!(found(line), None, "{line}");
        }
    }

    #[test]
    fn a_backslash_keeps_the_next_character() {
        assert_eq!(found(r"*:*:*:*:a\:b\\c").as_deref(), Some(r"a:b\c"));
        assert_eq!(found(r"*:*:*:*:end\").as_deref(), Some(r"end\"));
        let odd = password(r"\:\:1:5432:w\\k:ada:x", ["::1", "5432", r"w\k", "ada"]);
        assert_eq!(odd.as_deref(), Some("x"));
    }

    #[test]
    fn a_socket_in_its_usual_place_is_localhost_and_another_is_not() {
        let unix = |folder: &str| Host::Unix {
            folder: folder.into(),
            port: 5432,
        };
        assert_eq!(names(&unix("/tmp")), ["localhost", "/tmp"]);
        assert_eq!(names(&unix("/h/eve")), ["/h/eve"]);
        assert_eq!(names(&tcp("localhost")), ["localhost"]);
    }

    #[test]
    fn the_first_line_that_fits_wins_and_a_file_that_others_may_read_is_ignored() {
        let folder = std::env::temp_dir().join(format!("inbox-pass-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("pgpass");
        let look = |user: &str| look_up(&path, &tcp("db"), "work", user);
        let mode = |mode: u32| {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        assert!(look("ada").unwrap_err().contains("no password file"));
        std::fs::write(&path, "# ours\r\n*:*:*:ada:first\r\n*:*:*:*:hunter2\n").unwrap();
        for open in [0o644, 0o640, 0o604, 0o620] {
            mode(open);
            let reason = look("ada").unwrap_err();
            assert!(reason.contains("chmod 600"), "{reason}");
            assert!(!reason.contains("hunter2"), "{reason}");
        }
        mode(0o600);
        assert_eq!(look("ada").unwrap().reveal(), "first");
        assert_eq!(look("bob").unwrap().reveal(), "hunter2");
        std::fs::write(&path, "other:*:*:*:hunter2\n").unwrap();
        let reason = look("bob").unwrap_err();
        assert!(reason.contains("no line for db:5432:work:bob"), "{reason}");
        assert!(
            look_up(&folder, &tcp("db"), "work", "ada")
                .unwrap_err()
                .contains("plain file")
        );
        let long = format!("{}*:*:*:*:hunter2hunter2", "#\n".repeat(524_280));
        assert!(long.len() as u64 > LONGEST);
        std::fs::write(&path, &long).unwrap();
        assert!(look("ada").is_err(), "half a password is none");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
