//! What holds of everything that is read on the way to PostgreSQL, whatever it is: URLs, password files, the server's messages. Nothing
//! panics, nothing hangs, and no password is in what is said.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;
use proptest::sample::select;

use super::failure::Failure;
use super::tls::Stream;
use super::url::Target;
use super::wire::{Request, Wire};
use crate::damage::{cases, damaged, damaged_text};
use crate::location::Location;
use crate::value::Value;

/// What people write, each with a password in the place of `{}`.
const URLS: &[&str] = &[
    "postgres://ada:{}@db:5432/work",
    "postgresql://ada:{}@db",
    "postgres://:{}@db/work",
    "postgres://ada:{}@a:1,b:2/work?target_session_attrs=primary",
    "postgres://ada:{}@[::1]:9/work?sslmode=require",
    "postgres://ada:{}",
    "postgres://ada:{}/work",
    "postgres://db/work?user=ada&password={}",
    "postgres://db/work?password={}&schema=team_2",
    "postgres://db/work?p%61ssword={}&sslmode=verify-full",
    "postgres://db/work?sslpassword={}",
    "postgres://db/work&password={}",
    "postgres://ada%3A{}@db/work",
    "postgres://ada%3A{}%40db/work",
    "postgres:///ada%3A{}%40db",
    "Postgres://ada:{}@db/work",
    "postgres:/ada:{}@db/work",
    "mysql://ada:{}@db/work",
    "host=db user=ada password={}",
];

/// Signs that a password has, bare and escaped.
const SIGNS: &[&str] = &[
    "", "@", "/", "?", "#", "%", "&", "=", ":", ",", ";", " ", "[", "]", "+", "%40", "%3A", "%2F",
    "%25", "%00", "%zz", "%", "?schema=", "é", "\u{1b}", "\n", "..", "://",
];

/// A password's two parts, which stand in no other text, and the URL that it is in.
fn with_password() -> impl Strategy<Value = (String, String, String)> {
    let part = "q[a-z0-9]{9}";
    (part, select(SIGNS), "x[a-z0-9]{9}", select(URLS)).prop_map(|(first, sign, second, url)| {
        // A login that lacks its host has one in what follows an @.
        let sign = match sign {
            "@" if !url.contains('@') && !url.contains("password=") => "",
            sign => sign,
        };
        let url = url.replace("{}", &format!("{first}{sign}{second}"));
        (first, second, url)
    })
}

fn said(url: &str) -> String {
    let location = Location::parse(url);
    let mut all = vec![location.shown(), location.named(), format!("{location:?}")];
    match Target::parse(url) {
        Ok(target) => {
            all.push(format!("{target:?}"));
            let missing = Path::new("/nonexistent/pgpass");
            let looked_up = target
                .hosts
                .iter()
                .map(|host| super::pass::look_up(missing, host, &target.database, &target.user));
            all.extend(looked_up.filter_map(Result::err));
            all.extend([target.server, target.place]);
        }
        Err(error) => all.push(format!("{error} {error:?}")),
    }
    all.join("\n")
}

/// One message of a server's.
fn frame(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).expect("it is short");
    [&[tag][..], &length.to_be_bytes(), body].concat()
}

/// What a server says to a login, a statement and a listener.
fn sessions() -> Vec<Vec<u8>> {
    let column = |name: &str, oid: u32| {
        let oid = oid.to_be_bytes();
        [
            name.as_bytes(),
            &[0; 7],
            &oid,
            &[0, 8, 255, 255, 255, 255, 0, 0],
        ]
        .concat()
    };
    let columns = [
        &[0, 3][..],
        &column("n", 20),
        &column("t", 25),
        &column("b", 16),
    ]
    .concat();
    let row = b"\0\x03\0\0\0\x0242\0\0\0\x03abc\xff\xff\xff\xff";
    let error = b"SERROR\0VERROR\0C23505\0Mduplicate\0Dkey\0\0";
    let answer = [
        frame(b'1', b""),
        frame(b'2', b""),
        frame(b'T', &columns),
        frame(b'D', row),
        frame(b'C', b"SELECT 1\0"),
        frame(b'A', b"\0\0\0\x07bell\x0017 3 99999\0"),
        frame(b'N', error),
        frame(b'Z', b"I"),
    ];
    let login = [
        frame(b'R', b"\0\0\0\0"),
        frame(b'S', b"server_version\x0017\0"),
        frame(b'K', b"\0\0\0\x07\0\0\0\x09"),
        frame(b'Z', b"I"),
    ];
    let scram = [
        frame(b'R', b"\0\0\0\x0aSCRAM-SHA-256\0SCRAM-SHA-256-PLUS\0\0"),
        frame(b'R', b"\0\0\0\x0br=abc,s=QSXCR+Q6sek8bf92,i=4096"),
        frame(b'R', b"\0\0\0\x0cv=rmF9pqV8S7suAoZWja4dJRkFsKQ="),
    ];
    vec![
        [login.concat(), answer.concat(), answer.concat()].concat(),
        [answer.concat(), frame(b'E', error), frame(b'Z', b"E")].concat(),
        [scram.concat(), login.concat()].concat(),
        [frame(b'R', b"\0\0\0\x05salt"), login.concat()].concat(),
        [
            frame(b'R', b"\0\0\0\x03"),
            frame(b'E', b"SFATAL\0C28P01\0\0"),
        ]
        .concat(),
    ]
}

/// A wire on which a server has said this, and then went away; and the server's end, which takes what is sent.
fn stream(bytes: &[u8]) -> (Stream, UnixStream) {
    let (ours, mut theirs) = UnixStream::pair().expect("a pair of sockets");
    // What is more than the system keeps is not said.
    theirs.set_nonblocking(true).expect("a socket");
    let _ = theirs.write(bytes);
    theirs
        .shutdown(std::net::Shutdown::Write)
        .expect("a socket");
    ours.set_read_timeout(Some(Duration::from_secs(20)))
        .expect("a socket");
    (Stream::Unix(ours), theirs)
}

fn wire(bytes: &[u8]) -> (Wire, UnixStream) {
    let (ours, theirs) = stream(bytes);
    (Wire::new(ours), theirs)
}

fn is_late(failure: Option<&Failure>) -> bool {
    matches!(failure, Some(Failure::Late))
}

proptest! {
    #![proptest_config(cases(2_000))]

    #[test]
    fn no_password_is_in_what_is_said_of_a_url((first, second, url) in with_password()) {
        let said = said(&url);
        prop_assert!(!said.contains(&first) && !said.contains(&second), "{url}: {said}");
    }

    #[test]
    fn whatever_a_url_is_it_is_read_or_refused(url in damaged_text(URLS.to_vec())) {
        let _ = Location::parse(&url).has_password();
        prop_assert!(said(&url).len() < 40 * url.len() + 10_000);
        if let Ok(target) = Target::parse(&url) {
            prop_assert!(!target.hosts.is_empty() && !target.connect_timeout.is_zero());
            prop_assert!(target.hosts.len() <= url.len());
            // What errors show has nothing in it that acts on a terminal, but for what a database may be called.
            let hosts = target.server.split('/').next().unwrap_or_default();
            prop_assert!(!hosts.chars().any(char::is_control), "{hosts:?}");
        }
    }

    #[test]
    fn a_line_of_a_password_file_gives_its_password_and_no_other(
        fields in proptest::array::uniform4("[a-z:\\\\*#é]{0,6}"),
        password in "[a-z:\\\\*# é]{1,9}",
        line in damaged_text(vec![r"db:5432:work:ada:hunter2", r"*:*:*:*:a\:b\\c", r"\:\:1:*:w\\k:*:x"]),
    ) {
        let escaped = |text: &String| text.replace('\\', "\\\\").replace(':', "\\:");
        let wanted = [&fields[0], &fields[1], &fields[2], &fields[3]].map(String::as_str);
        let written: Vec<String> = fields.iter().chain([&password]).map(escaped).collect();
        let written = written.join(":");
        let found = super::pass::password(&written, wanted);
        let is_comment = written.starts_with('#');
        prop_assert_eq!(found, (!is_comment).then_some(password));
        let _ = super::pass::password(&line, ["db", "5432", "work", "ada"]);
    }
}

proptest! {
    #![proptest_config(cases(600))]

    #[test]
    fn whatever_a_server_says_ends_in_an_answer_or_a_failure(bytes in damaged(sessions())) {
        let target = Target::parse("postgres://ada:hunter2hunter2@/work").expect("a good URL");
        let host = target.hosts[0].clone();
        let (ours, _theirs) = stream(&bytes);
        let login = Wire::log_in(ours, &target, &host);
        prop_assert!(!is_late(login.as_ref().err()));
        if let Err(failure) = login {
            prop_assert!(!failure.meaning("db").to_string().contains("hunter2hunter2"));
        }
        let (mut wire, _theirs) = self::wire(&bytes);
        let params = [Value::Int(7), Value::Text("x".into()), Value::Null];
        let request = || Request {
            name: "s1".into(),
            text: Some("SELECT $1, $2, $3"),
            params: &params,
            columns: None,
        };
        let mut known = request();
        known.columns = Some(std::sync::Arc::from([20, 25, 16]));
        let answered = wire.pipeline(&[request(), known]);
        prop_assert!(!is_late(answered.failure.as_ref()));
        for row in answered.replies.into_iter().flat_map(|reply| reply.rows) {
            let _ = format!("{row:?}");
        }
        let (mut wire, _theirs) = self::wire(&bytes);
        prop_assert!(!is_late(wire.script("SELECT 1").err().as_ref()));
        let (mut wire, _theirs) = self::wire(&bytes);
        for _ in 0..20 {
            if wire.next_notice(Duration::from_secs(20)).is_err() {
                break;
            }
        }
    }
}

#[test]
fn a_length_that_no_message_has_is_refused_before_there_is_room_for_it() {
    for length in [u32::MAX, 1 << 31, (256 << 20) + 1] {
        let bytes = [&b"D"[..], &length.to_be_bytes(), b"\0\x01"].concat();
        let (mut wire, _theirs) = wire(&bytes);
        let failure = wire.script("SELECT 1").unwrap_err();
        assert!(failure.words().contains("no message"), "{failure:?}");
    }
}
