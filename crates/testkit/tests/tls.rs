//! TLS and passwords with a real PostgreSQL server: what each `sslmode` takes and refuses, and how a
//! login is made.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use inbox_store::{Location, Store};
use inbox_testkit::certs::{Authority, Validity};
use inbox_testkit::cluster::{Cluster, Setup};
use inbox_testkit::sandbox::TempDir;

/// A password that no text of ours has by chance.
const CANARY: &str = "canary7Qz9";
const MODES: [&str; 6] = [
    "disable",
    "allow",
    "prefer",
    "require",
    "verify-ca",
    "verify-full",
];

struct Secured {
    cluster: Cluster,
    /// The certificate of the authority that signed all the server's certificates but one.
    root: PathBuf,
    /// A client's certificate, for `carl`.
    carl: inbox_testkit::certs::Certificate,
    _papers: TempDir,
}

/// The one cluster of these tests. It goes with the last of them that runs.
fn shared() -> Arc<Mutex<Secured>> {
    static SHARED: Mutex<Weak<Mutex<Secured>>> = Mutex::new(Weak::new());
    let mut shared = locked(&SHARED);
    shared.upgrade().unwrap_or_else(|| {
        let secured = Arc::new(Mutex::new(Secured::start()));
        *shared = Arc::downgrade(&secured);
        secured
    })
}

/// They change its certificate, one after the other; one that failed has no say in the next.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Secured {
    fn start() -> Secured {
        let papers = TempDir::new();
        let ours = Authority::new(&papers.path().join("ours"), "Our authority");
        let theirs = Authority::new(&papers.path().join("theirs"), "Their authority");
        let here = "DNS:localhost,IP:127.0.0.1";
        let servers = [
            ("right", ours.issue("right", here, Validity::Now)),
            (
                "elsewhere",
                ours.issue("elsewhere", "DNS:db.example", Validity::Now),
            ),
            ("expired", ours.issue("expired", here, Validity::Past)),
            ("unknown", theirs.issue("unknown", here, Validity::Now)),
        ];
        let mut files = vec![("root.crt".to_owned(), ours.cert())];
        for (name, made) in &servers {
            files.push((format!("{name}.crt"), made.cert.clone()));
            files.push((format!("{name}.key"), made.key.clone()));
        }
        let hba = [
            "local all inbox trust",
            "local all all scram-sha-256",
            "hostssl all secure 127.0.0.1/32 scram-sha-256",
            "hostnossl all plain 127.0.0.1/32 scram-sha-256",
            "hostssl all carl 127.0.0.1/32 cert",
            "host all md 127.0.0.1/32 md5",
            "host all clear 127.0.0.1/32 password",
            "host all gss 127.0.0.1/32 gss",
            "host all ada 127.0.0.1/32 scram-sha-256",
        ];
        // Relative to the data folder, which is beside them.
        let settings = [
            "ssl = on",
            "ssl_cert_file = '../right.crt'",
            "ssl_key_file = '../right.key'",
            "ssl_ca_file = '../root.crt'",
        ];
        let cluster = Cluster::start_with(Setup {
            settings: settings.map(str::to_owned).to_vec(),
            hba: hba.map(str::to_owned).to_vec(),
            files,
        });
        for user in ["ada", "secure", "plain", "carl", "clear", "gss"] {
            cluster.psql(&format!("CREATE ROLE {user} LOGIN PASSWORD '{CANARY}'"));
            cluster.psql(&format!("GRANT CREATE ON DATABASE inbox TO {user}"));
        }
        cluster.psql(&format!(
            "SET password_encryption = 'md5'; CREATE ROLE md LOGIN PASSWORD '{CANARY}'"
        ));
        cluster.psql("GRANT CREATE ON DATABASE inbox TO md");
        Secured {
            root: ours.cert(),
            carl: ours.issue("carl", "", Validity::Now),
            _papers: papers,
            cluster,
        }
    }

    /// Has the server show this certificate; none is a server without TLS.
    fn show(&self, certificate: Option<&str>) {
        let Some(name) = certificate else {
            return self.cluster.set(&[("ssl", "off")]);
        };
        let (cert, key) = (format!("../{name}.crt"), format!("../{name}.key"));
        let settings = [
            ("ssl_cert_file", cert.as_str()),
            ("ssl_key_file", key.as_str()),
            ("ssl", "on"),
        ];
        self.cluster.set(&settings);
    }

    fn url(&self, user: &str, host: &str, query: &str) -> String {
        let port = self.cluster.port();
        format!("postgres://{user}:{CANARY}@{host}:{port}/inbox?schema=s_{user}&{query}")
    }
}

/// Whether there is a connection with TLS, without, or none and why.
fn attempt(secured: &Secured, url: &str) -> Result<bool, String> {
    static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let url = format!("{url}&application_name=try_{count}");
    let location = Location::Postgres(url);
    let opened = match Store::open(&location) {
        Err(inbox_store::StoreError::NotFound(_)) => {
            Store::init(&location).and_then(|_| Store::open(&location))
        }
        opened => opened,
    };
    match opened {
        Ok(store) => {
            let has_tls = secured.cluster.psql(&format!(
                "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
                 WHERE application_name = 'try_{count}'"
            ));
            drop(store);
            Ok(has_tls == "t")
        }
        Err(error) => {
            let words = error.to_string();
            assert!(!words.contains(CANARY), "{words}");
            assert!(words.starts_with("cannot reach PostgreSQL at "), "{words}");
            Err(words)
        }
    }
}

#[track_caller]
fn takes(secured: &Secured, url: &str, has_tls: bool) {
    assert_eq!(attempt(secured, url), Ok(has_tls), "{url}");
}

#[track_caller]
fn refuses(secured: &Secured, url: &str, due: &str) {
    let words = attempt(secured, url).expect_err(url);
    assert!(words.contains(due), "{url}: {words}");
}

#[test]
fn each_sslmode_takes_and_refuses_what_libpq_says() {
    let shared = shared();
    let secured = locked(&shared);
    let root = format!("sslrootcert={}", secured.root.display());
    // The server's certificate, and from which mode on it is refused with which words.
    let cases: [(Option<&str>, &str, &str); 5] = [
        (Some("right"), "none", ""),
        (
            Some("elsewhere"),
            "verify-full",
            "not for 127.0.0.1 but for db.example",
        ),
        (Some("expired"), "require", "has expired"),
        (Some("unknown"), "require", "signed by nobody in"),
        (None, "require", "does not do TLS"),
    ];
    for (certificate, strict, words) in cases {
        secured.show(certificate);
        let mut is_refused = false;
        for mode in MODES {
            is_refused |= mode == strict;
            let url = secured.url("ada", "127.0.0.1", &format!("sslmode={mode}&{root}"));
            if is_refused {
                refuses(&secured, &url, words);
            } else {
                let asks = !matches!(mode, "disable" | "allow");
                takes(&secured, &url, asks && certificate.is_some());
            }
        }
        if certificate.is_some() {
            // Nothing to verify with.
            takes(
                &secured,
                &secured.url("ada", "127.0.0.1", "sslmode=require"),
                true,
            );
        }
    }
    secured.show(Some("right"));
    let named = secured.url("ada", "localhost", &format!("sslmode=verify-full&{root}"));
    takes(&secured, &named, true);
    let missing = "sslmode=verify-full&sslrootcert=/nonexistent/root.crt";
    let missing = secured.url("ada", "localhost", missing);
    refuses(&secured, &missing, "/nonexistent/root.crt cannot be read");
}

#[test]
fn a_second_try_is_made_when_the_server_wants_the_other_kind() {
    let shared = shared();
    let secured = locked(&shared);
    secured.show(Some("right"));
    let url = |user: &str, mode: &str| secured.url(user, "127.0.0.1", &format!("sslmode={mode}"));
    takes(&secured, &url("secure", "allow"), true);
    takes(&secured, &url("secure", "prefer"), true);
    refuses(&secured, &url("secure", "disable"), "no encryption");
    takes(&secured, &url("plain", "prefer"), false);
    takes(&secured, &url("plain", "allow"), false);
    refuses(&secured, &url("plain", "require"), "SSL encryption");
}

#[test]
fn every_kind_of_login_works_and_a_wrong_password_is_told_without_it() {
    let shared = shared();
    let secured = locked(&shared);
    secured.show(Some("right"));
    for user in ["ada", "md", "clear"] {
        for mode in ["disable", "require"] {
            let url = secured.url(user, "127.0.0.1", &format!("sslmode={mode}"));
            takes(&secured, &url, mode == "require");
            let wrong = url.replace(CANARY, &format!("{CANARY}x"));
            refuses(&secured, &wrong, "password authentication failed");
            let none = url.replace(&format!(":{CANARY}"), "");
            let none = format!("{none}&passfile=/nonexistent/pgpass");
            refuses(
                &secured,
                &none,
                "asks for a password: there is none in PGPASSWORD",
            );
        }
    }
    let gss = secured.url("gss", "127.0.0.1", "sslmode=disable");
    refuses(&secured, &gss, "a kind of login that inbox does not have");
}

#[test]
fn a_login_is_bound_to_its_tls_connection() {
    let shared = shared();
    let secured = locked(&shared);
    secured.show(Some("right"));
    let url = |user: &str, query: &str| {
        secured.url(
            user,
            "127.0.0.1",
            &format!("channel_binding=require&{query}"),
        )
    };
    takes(&secured, &url("ada", "sslmode=require"), true);
    takes(&secured, &url("ada", "sslmode=prefer"), true);
    refuses(&secured, &url("ada", "sslmode=disable"), "has no TLS");
    refuses(&secured, &url("clear", "sslmode=require"), "no SCRAM login");
    let never = "sslmode=require&channel_binding=disable";
    takes(&secured, &secured.url("ada", "127.0.0.1", never), true);
}

#[test]
fn a_certificate_is_a_login() {
    let shared = shared();
    let secured = locked(&shared);
    secured.show(Some("right"));
    let (cert, key) = (secured.carl.cert.display(), secured.carl.key.display());
    let query = format!("sslmode=verify-full&sslrootcert={}", secured.root.display());
    let with = secured.url(
        "carl",
        "localhost",
        &format!("{query}&sslcert={cert}&sslkey={key}"),
    );
    takes(&secured, &with, true);
    let without = secured.url("carl", "localhost", &query);
    refuses(&secured, &without, "certificate");
}

#[test]
fn the_next_host_is_tried_until_one_will_do() {
    let shared = shared();
    let secured = locked(&shared);
    secured.show(Some("right"));
    let port = secured.cluster.port();
    let folder = secured
        .cluster
        .folder()
        .display()
        .to_string()
        .replace('/', "%2F");
    let start = format!("postgres://ada:{CANARY}@");
    let end = "inbox?schema=s_ada&sslmode=require";
    // Nobody listens on port 1.
    let url = format!("{start}127.0.0.1:1,127.0.0.1:{port}/{end}");
    takes(&secured, &url, true);
    let url = format!("{start}127.0.0.1:1,{folder}:{port}/{end}");
    takes(&secured, &url, false);
    let url = format!("{start}127.0.0.1:1,127.0.0.1:{port}/{end}&target_session_attrs=read-write");
    takes(&secured, &url, true);
    let url = format!("{start}db.example:{port}/{end}&hostaddr=127.0.0.1");
    takes(&secured, &url, true);
    let url = format!("{start}127.0.0.1:1,127.0.0.1:2/{end}");
    refuses(&secured, &url, "127.0.0.1:1: Connection refused");
    let options = "options=-c%20default_transaction_read_only%3Don&target_session_attrs=read-write";
    let url = format!("{start}127.0.0.1:{port}/{end}&{options}");
    refuses(&secured, &url, "does not take writes");
    let wrong = format!("{start}127.0.0.1:{port},127.0.0.1:1/{end}").replace(CANARY, "wrong");
    let words = attempt(&secured, &wrong).unwrap_err();
    assert!(
        !words.contains("refused"),
        "a wrong password ends the search: {words}"
    );
}
