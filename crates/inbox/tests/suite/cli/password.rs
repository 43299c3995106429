//! Passwords of a PostgreSQL store: where they may come from, and that nothing shows them.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::OnceLock;

use inbox_testkit::certs::{Authority, Validity};
use inbox_testkit::cluster::{Cluster, Setup};
use inbox_testkit::sandbox::{Outcome, Sandbox, TempDir};

use crate::INBOX;

/// A password that no text of ours has by chance, nor that of another process of these tests.
fn canary() -> String {
    format!("canary{}x8Kq", std::process::id())
}

/// A server with TLS that asks everybody but its owner for a password, and the certificate of the
/// authority behind it.
fn secured() -> &'static (Cluster, String) {
    static SECURED: OnceLock<(Cluster, String)> = OnceLock::new();
    SECURED.get_or_init(|| {
        let papers = TempDir::new();
        let authority = Authority::new(papers.path(), "Our authority");
        let own = authority.issue("server", "DNS:localhost", Validity::Now);
        let hba = ["local all all trust", "host all all all scram-sha-256"];
        let cluster = Cluster::start_with(Setup::with_tls(&own, &hba));
        let canary = canary();
        cluster.psql(&format!("CREATE ROLE ada LOGIN PASSWORD '{canary}'"));
        cluster.psql("GRANT CREATE ON DATABASE inbox TO ada");
        let root = std::fs::read_to_string(authority.cert()).unwrap();
        (cluster, root)
    })
}

fn cluster() -> &'static Cluster {
    &secured().0
}

fn url(login: &str, schema: &str) -> String {
    let port = cluster().port();
    format!("postgres://{login}@127.0.0.1:{port}/inbox?schema={schema}")
}

#[track_caller]
fn is_silent(outcome: &Outcome) {
    // What all the secrets of these tests end in.
    let canary = canary().replace("canary", "");
    assert!(!outcome.stdout.contains(&canary), "{}", outcome.stdout);
    assert!(!outcome.stderr.contains(&canary), "{}", outcome.stderr);
}

fn write_pgpass(folder: &Path, password: &str, mode: u32) {
    let path = folder.join(".pgpass");
    let line = format!("# ours\n127.0.0.1:*:inbox:ada:{password}\n");
    std::fs::write(&path, line).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_password_comes_from_the_environment_a_file_or_the_url_in_inbox_db() {
    let db = url("ada", "p_sources");
    let args = |db: &str| ["init", "--json", "--db", db].map(str::to_owned);

    let mut by_variable = Sandbox::empty(INBOX);
    by_variable.set("PGPASSWORD", &canary());
    by_variable.run(args(&db)).ok();

    let by_file = Sandbox::empty(INBOX);
    write_pgpass(by_file.folder(), &canary(), 0o600);
    by_file.run(args(&db)).ok();

    let login = format!("ada:{}", canary());
    let by_url = Sandbox::at(INBOX, url(&login, "p_sources"));
    for command in ["list", "doctor", "config", "search x", "dead-letters"] {
        for json in [None, Some("--json")] {
            let outcome = by_url.run(command.split(' ').chain(json));
            assert!(matches!(outcome.code, 0 | 10), "{command}: {outcome:?}");
            is_silent(&outcome);
        }
    }
    let copy = by_url.run(["backup", "--to", "copy.db", "--json"]);
    assert_ne!(copy.code, 0);
    is_silent(&copy);
}

#[test]
fn a_login_that_fails_is_told_with_the_reason_and_without_the_password() {
    let db = url("ada", "p_failures");
    let args = ["list", "--json", "--db", &db];
    let message = |inbox: &Sandbox| {
        let outcome = inbox.run(args);
        is_silent(&outcome);
        outcome.refused(50, "storage")["error"]["message"].to_string()
    };

    let mut wrong = Sandbox::empty(INBOX);
    wrong.set("PGPASSWORD", &format!("{}-wrong", canary()));
    let told = message(&wrong);
    assert!(told.contains("password authentication failed"), "{told}");

    let without = Sandbox::empty(INBOX);
    let told = message(&without);
    assert!(told.contains("asks for a password"), "{told}");
    assert!(told.contains("PGPASSWORD"), "{told}");

    write_pgpass(without.folder(), &canary(), 0o644);
    let told = message(&without);
    assert!(told.contains("chmod 600"), "{told}");
}

#[test]
fn the_server_is_proved_by_the_users_file_or_the_systems_store() {
    let root = &secured().1;
    let db = |host: &str, query: &str| {
        let port = cluster().port();
        format!("postgres://ada@{host}:{port}/inbox?schema=p_tls&sslmode=verify-full{query}")
    };
    let refusal = |inbox: &Sandbox, db: &str| {
        let outcome = inbox.run(["init", "--json", "--db", db]);
        is_silent(&outcome);
        outcome.refused(50, "storage")["error"]["message"].to_string()
    };
    let mut inbox = Sandbox::empty(INBOX);
    inbox.set("PGPASSWORD", &canary());
    let told = refusal(&inbox, &db("localhost", ""));
    assert!(told.contains(".postgresql/root.crt to verify"), "{told}");

    let usual = inbox.folder().join(".postgresql");
    std::fs::create_dir(&usual).unwrap();
    std::fs::write(usual.join("root.crt"), root).unwrap();
    let usual = db("localhost", "&channel_binding=require");
    inbox.run(["init", "--json", "--db", &usual]).ok();
    let told = refusal(&inbox, &db("127.0.0.1", ""));
    assert!(
        told.contains("not for 127.0.0.1 but for localhost"),
        "{told}"
    );

    // Whom the system trusts is read where OpenSSL reads it.
    let system = db("localhost", "&sslrootcert=system");
    let store = inbox.folder().join("system.pem");
    inbox.set("SSL_CERT_FILE", &store.display().to_string());
    let elsewhere = TempDir::new();
    let stranger = Authority::new(elsewhere.path(), "Their authority").cert();
    std::fs::copy(stranger, &store).unwrap();
    let told = refusal(&inbox, &system);
    assert!(told.contains("nobody in the system's store"), "{told}");
    std::fs::write(&store, root).unwrap();
    inbox.run(["init", "--json", "--db", &system]).ok();
}

#[test]
fn a_password_in_an_argument_is_refused() {
    let inbox = Sandbox::empty(INBOX);
    // Not the one that another test looks for among all the processes.
    let canary = canary().replace("canary", "argument");
    let port = cluster().port();
    for db in [
        url(&format!("ada:{canary}"), "p_argument"),
        format!("postgres://127.0.0.1:{port}/inbox?user=ada&password={canary}"),
        format!("postgres://ada:x/{canary}@127.0.0.1:{port}/inbox"),
        format!("postgres://ada:x@{canary}@127.0.0.1:{port}/inbox"),
        format!("mysql://ada:{canary}@127.0.0.1/inbox"),
        format!("host=127.0.0.1 user=ada password={canary}"),
    ] {
        for command in ["init", "list", "doctor", "config"] {
            let outcome = inbox.run([command, "--json", "--db", &db]);
            is_silent(&outcome);
            let refusal = outcome.refused(30, "invalid_input");
            let hint = refusal["error"]["hint"].to_string();
            assert!(hint.contains("PGPASSWORD"), "{hint}");
            assert!(hint.contains("INBOX_DB"), "{hint}");
        }
        for [from, to] in [[db.as_str(), "new.db"], ["old.db", db.as_str()]] {
            let outcome = inbox.run(["migrate", "--json", "--from", from, "--to", to]);
            is_silent(&outcome);
            outcome.refused(30, "invalid_input");
        }
    }
}

#[test]
fn a_malformed_url_in_inbox_db_is_refused_without_its_password() {
    let canary = canary();
    for db in [
        format!("postgres://ada:x@{canary}@h/inbox"),
        format!("postgres://ada:{canary}/x@h/inbox"),
        format!("postgres://ada:{canary}"),
        format!("postgres://h/inbox?password=x&{canary}=1"),
        format!("postgres://h/inbox&password={canary}"),
        format!("Postgres://ada:{canary}@h/inbox"),
        format!("mysql://ada:{canary}@h/inbox"),
    ] {
        let mut inbox = Sandbox::empty(INBOX);
        inbox.set("INBOX_DB", &db);
        for command in ["init", "list", "doctor", "config"] {
            for json in [None, Some("--json")] {
                is_silent(&inbox.run([command].into_iter().chain(json)));
            }
        }
        inbox.run(["list", "--json"]).refused(30, "invalid_input");
    }
}

#[test]
fn no_list_of_processes_shows_a_password() {
    let login = format!("ada:{}", canary());
    let inbox = Sandbox::at(
        INBOX,
        url(&login, "p_processes") + "&application_name=p_processes",
    );
    let mut watcher = inbox.spawn(["watch", "--follow", "--agent", "ada", "--json"]);
    let connected = "SELECT count(*) > 0 FROM pg_stat_activity \
         WHERE application_name = 'p_processes' AND usename = 'ada'";
    while cluster().psql(connected) != "t" {
        assert_eq!(watcher.try_wait().unwrap(), None, "it watches");
    }
    let own = std::fs::read(format!("/proc/{}/cmdline", watcher.id())).unwrap();
    assert!(String::from_utf8_lossy(&own).contains("watch"));
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        // A process may end before it is read.
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        assert!(!line.contains(&canary()), "{line}");
    }
    watcher.kill().unwrap();
    watcher.wait().unwrap();
}

#[test]
fn the_torture_proves_the_server_by_a_file_that_is_named_from_here_or_is_in_ones_home() {
    let port = cluster().port();
    let db = format!("postgres://ada@localhost:{port}/inbox?sslmode=verify-full");
    let mut inbox = Sandbox::empty(INBOX);
    inbox.set("PGPASSWORD", &canary());
    inbox.set("TMPDIR", &inbox.folder().display().to_string());
    std::fs::write(inbox.folder().join("our ca.crt"), &secured().1).unwrap();
    let holds = |inbox: &Sandbox, db: &str| {
        let args = [
            "torture", "--only", "kills", "--rounds", "1", "--json", "--db",
        ];
        let outcome = inbox.run(args.into_iter().chain([db]));
        is_silent(&outcome);
        assert_eq!(outcome.ok()["parts"][0]["verdict"], "held", "{outcome}");
    };
    holds(&inbox, &format!("{db}&sslrootcert=our%20ca.crt"));
    let usual = inbox.folder().join(".postgresql");
    std::fs::create_dir(&usual).unwrap();
    std::fs::write(usual.join("root.crt"), &secured().1).unwrap();
    holds(&inbox, &db);
    std::fs::remove_dir_all(&usual).unwrap();
    inbox.set("PGSSLROOTCERT", "our ca.crt");
    holds(&inbox, &db);
}
