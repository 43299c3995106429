//! How URLs are read, and what no refusal shows.

use std::collections::BTreeMap;

use super::super::tls::{Mode, Root};
use super::*;

fn parse_with(url: &str, variables: &[(&str, &str)]) -> Result<Target, StoreError> {
    let account = Account {
        name: Some("os_user".into()),
        home: Some("/h/os_user".into()),
    };
    let variables: BTreeMap<&str, &str> = variables.iter().copied().collect();
    Target::parse_in(url, &account, &|name| {
        variables.get(name).map(|value| (*value).to_owned())
    })
}

fn parse(url: &str) -> Target {
    parse_with(url, &[]).unwrap_or_else(|error| panic!("{url}: {error}"))
}

fn refusal(url: &str) -> String {
    let refused = parse_with(url, &[]).err();
    refused
        .unwrap_or_else(|| panic!("{url} is no refusal"))
        .to_string()
}

fn tcp(name: &str, port: u16) -> Host {
    Host::Tcp {
        name: name.into(),
        address: None,
        port,
    }
}

fn unix(folder: &str, port: u16) -> Host {
    Host::Unix {
        folder: folder.into(),
        port,
    }
}

#[test]
fn the_schema_is_taken_out_of_the_url() {
    let plain = parse("postgres://ada:secret@db.example:6432/work");
    assert_eq!(plain.schema, "inbox");
    assert_eq!(plain.place, "postgres://db.example:6432/work?schema=inbox");
    let url = "postgresql://ada@[::1]/work?connect_timeout=3&schema=team_2&sslmode=prefer";
    let named = parse(url);
    assert_eq!(named.schema, "team_2");
    assert_eq!(named.server, "[::1]:5432/work");
    assert_eq!(named.connect_timeout, Duration::from_secs(3));
}

#[test]
fn a_schema_that_needs_quotes_is_refused() {
    for name in ["", "Team", "2nd", "a-b", "a\"b", "a%22b", &"a".repeat(64)] {
        let refusal = refusal(&format!("postgres://h/d?schema={name}"));
        assert!(refusal.contains("schema must be"), "{name}: {refusal}");
    }
}

#[test]
fn no_refusal_shows_a_password() {
    for url in [
        "postgres://ada:hunter2@x@h/d",
        "postgres://ada:hunter2/x@h/d",
        "postgres://ada:hunter2?x@h/d",
        "postgres://h/d?user=ada&password=hunter2@x",
        "postgres://h/d?user=ada&password=x&hunter2=y",
        "postgres://h/d?user=ada&password=x&hunter2",
        "postgres://h/d?user=ada&password=x&sslmode=hunter2",
        "postgres://h/d?user=ada&Password=hunter2",
        "postgres://h/d?sslpassword=hunter2",
        "postgres://h/d&password=hunter2",
        "postgres://h&password=hunter2/d",
        "postgres://h/d/password=hunter2",
        "postgres://ada:x@h/d?connect_timeout=hunter2",
        "postgres://ada:hunter2",
        "postgres://ada:hunter2%@h/d",
        "postgres://ada:hunter2%ff@h/d",
        "postgres://ada:hunter2%00@h/d",
        "postgres://ada:hunter2@h:port/d",
        "postgres://h/d?password=%hunter2",
        "mysql://ada:hunter2@h/d",
        "postgres:/ada:hunter2@h/d",
        "host=h password=hunter2",
        // The marks of a login are escaped with it.
        "postgres://ada%3Ahunter2@h/d",
        "postgres://ada%3Ahunter2%40h/d",
        "postgres://ada%3Ahunter2",
        "postgres://hunter2%40h/d",
        "postgres://[ada:hunter2]/d",
        "postgres:///ada%3Ahunter2%40h",
        "postgres://ada:x?hunter2",
        "postgres://ada:x?hunter2=y",
        "postgres://h/d?p%61ssword=x&hunter2=y",
        "postgres://h/d?p%61ssword=x&sslmode=hunter2",
    ] {
        let refusal = refusal(url);
        assert!(!refusal.contains("hunter2"), "{refusal}");
    }
}

#[test]
fn nothing_printed_of_a_target_shows_a_password() {
    let target = parse_with("postgres://ada:hunter2@h/d", &[("PGPASSWORD", "hunter2")]).unwrap();
    assert!(!format!("{target:?}").contains("hunter2"));
    assert!(!target.server.contains("hunter2") && !target.place.contains("hunter2"));
    assert_eq!(target.password.unwrap().reveal(), "hunter2");
}

#[test]
fn hosts_and_ports_are_read_as_libpq_reads_them() {
    let cases: &[(&str, &[Host])] = &[
        ("postgres://h", &[tcp("h", 5432)]),
        ("postgres://h:1/d", &[tcp("h", 1)]),
        ("postgres://a:1,b:2/d", &[tcp("a", 1), tcp("b", 2)]),
        ("postgres://a:1,b/d", &[tcp("a", 1), tcp("b", 5432)]),
        ("postgres://a,b/d?port=7", &[tcp("a", 7), tcp("b", 7)]),
        ("postgres://[2001:db8::1]:9/d", &[tcp("2001:db8::1", 9)]),
        (
            "postgres://[fe80::1%25eth0]/d",
            &[tcp("fe80::1%eth0", 5432)],
        ),
        ("postgres://%2Fsockets:9/d", &[unix("/sockets", 9)]),
        ("postgres:///d?host=/sockets&port=9", &[unix("/sockets", 9)]),
        ("postgres://a/d?host=b", &[tcp("b", 5432)]),
        ("postgres://:9/d?host=b", &[tcp("b", 9)]),
        (
            "postgres:///d?host=a,b&port=1,2",
            &[tcp("a", 1), tcp("b", 2)],
        ),
        ("postgres://%68/d", &[tcp("h", 5432)]),
    ];
    for (url, hosts) in cases {
        assert_eq!(parse(url).hosts, *hosts, "{url}");
    }
    let both = &parse("postgres://h/d?hostaddr=10.0.0.1").hosts[0];
    let address = Some("10.0.0.1".parse().unwrap());
    let name = "h".to_owned();
    let port = 5432;
    assert_eq!(
        *both,
        Host::Tcp {
            name,
            address,
            port
        }
    );
    let socket = parse("postgres://%2Fsockets:9/d").hosts[0].socket();
    assert_eq!(socket, Some("/sockets/.s.PGSQL.9".into()));
    assert!(parse("postgres:///d").hosts[0].is_default_socket());
}

#[test]
fn a_wrong_host_or_port_is_refused() {
    for (url, due) in [
        ("postgres://h:0/d", "port"),
        ("postgres://h:65536/d", "port"),
        ("postgres://a,b,c/d?port=1,2", "port"),
        ("postgres://a,b/d?hostaddr=1.2.3.4", "hostaddr"),
        ("postgres://a/d?hostaddr=name", "hostaddr"),
        ("postgres://[::1/d", "IPv6"),
        ("postgres://[]/d", "IPv6"),
        ("postgres://[::1]9/d", "IPv6"),
        ("postgres:///d?host=%40abstract", "abstract"),
    ] {
        let refusal = refusal(url);
        assert!(refusal.contains(due), "{url}: {refusal}");
    }
}

#[test]
fn the_environment_fills_in_and_the_url_comes_first() {
    let variables = [
        ("PGHOST", "env.example"),
        ("PGPORT", "6000"),
        ("PGUSER", "eve"),
        ("PGDATABASE", "envdb"),
        ("PGPASSWORD", "envpass"),
        ("PGPASSFILE", "/env/pgpass"),
        ("PGSSLMODE", "verify-ca"),
        ("PGSSLROOTCERT", "/env/root.crt"),
        ("PGSSLCERT", "/env/me.crt"),
        ("PGSSLKEY", "/env/me.key"),
        ("PGCONNECT_TIMEOUT", "4"),
        ("PGAPPNAME", "envapp"),
        ("HOME", "/h/eve"),
    ];
    let env = parse_with("postgres://", &variables).unwrap();
    assert_eq!(env.server, "env.example:6000/envdb");
    assert_eq!(env.user, "eve");
    assert_eq!(env.password.unwrap().reveal(), "envpass");
    assert_eq!(env.passfile, Some("/env/pgpass".into()));
    assert_eq!(env.tls.mode, Mode::VerifyCa);
    assert_eq!(env.tls.root, Root::File("/env/root.crt".into()));
    assert_eq!(env.tls.cert, Some("/env/me.crt".into()));
    assert_eq!(env.tls.key, Some("/env/me.key".into()));
    assert_eq!(env.connect_timeout, Duration::from_secs(4));
    assert_eq!(env.application_name, "envapp");

    let url = "postgres://ada:own@own:1/owndb?sslmode=disable&application_name=mine&passfile=/p";
    let own = parse_with(url, &variables).unwrap();
    assert_eq!(own.server, "own:1/owndb");
    assert_eq!(own.user, "ada");
    assert_eq!(own.password.unwrap().reveal(), "own");
    assert_eq!(own.tls.mode, Mode::Disable);
    assert_eq!(own.application_name, "mine");
    assert_eq!(own.passfile, Some("/p".into()));

    let bare = parse("postgres://h");
    assert_eq!(
        (bare.user.as_str(), bare.database.as_str()),
        ("os_user", "os_user")
    );
    assert_eq!(bare.password, None);
    assert_eq!(bare.passfile, Some("/h/os_user/.pgpass".into()));
    assert_eq!(bare.tls.mode, Mode::Prefer);
    let usual = Some("/h/os_user/.postgresql/root.crt".into());
    assert_eq!(bare.tls.root, Root::Usual(usual));
    assert_eq!(bare.connect_timeout, CONNECT_WITHIN);
    assert_eq!(bare.application_name, "inbox");
    assert_eq!(parse("postgres://bo@h").database, "bo");
}

#[test]
fn escapes_are_decoded_in_every_part() {
    let target = parse("postgres://a%40b:p%3A%2F%3F%40%26=&x@h/d%20e?application_name=%C3%A9+");
    assert_eq!(target.user, "a@b");
    assert_eq!(target.password.unwrap().reveal(), "p:/?@&=&x");
    assert_eq!(target.database, "d e");
    assert_eq!(target.application_name, "é+");
    assert_eq!(parse("postgres://h/d?%75ser=ada").user, "ada");
}

#[test]
fn sslmode_has_libpqs_six_words() {
    for (word, mode) in [
        ("disable", Mode::Disable),
        ("allow", Mode::Allow),
        ("prefer", Mode::Prefer),
        ("require", Mode::Require),
        ("verify-ca", Mode::VerifyCa),
        ("verify-full", Mode::VerifyFull),
    ] {
        assert_eq!(
            parse(&format!("postgres://h/d?sslmode={word}")).tls.mode,
            mode
        );
    }
    let unknown = refusal("postgres://h/d?sslmode=maybe");
    assert!(
        unknown.contains("sslmode \"maybe\" is unknown"),
        "{unknown}"
    );
    assert!(unknown.contains("verify-full"), "{unknown}");
    assert_eq!(parse("postgres://h/d?ssl=true").tls.mode, Mode::Require);
}

#[test]
fn the_systems_authorities_need_the_strictest_mode() {
    let system = parse("postgres://h/d?sslrootcert=system").tls;
    assert_eq!((system.mode, system.root), (Mode::VerifyFull, Root::System));
    for mode in ["disable", "prefer", "require", "verify-ca"] {
        let refusal = refusal(&format!("postgres://h/d?sslrootcert=system&sslmode={mode}"));
        assert!(refusal.contains("verify-full"), "{refusal}");
    }
}

#[test]
fn what_other_programs_put_into_a_url_does_not_break_it() {
    for query in [
        "pgbouncer=true&connection_limit=1&pool_timeout=0",
        "sslmode=require&supa=base-pooler.x",
        "sslmode=require&channel_binding=require",
        "gssencmode=disable&load_balance_hosts=disable&client_encoding=UTF8",
        "sslnegotiation=postgres&replication=false&sslcompression=0",
        "keepalives=1&keepalives_idle=30&keepalives_interval=5&keepalives_count=3",
        "target_session_attrs=read-write&options=-c%20geqo%3Doff&&",
    ] {
        parse(&format!("postgres://h/d?{query}"));
    }
    let neon = parse("postgres://h/d?channel_binding=require&options=endpoint%3Dx");
    assert_eq!(neon.channel_binding, Binding::Require);
    assert_eq!(neon.options.as_deref(), Some("endpoint=x"));
    let idle = parse("postgres://h/d?keepalives_idle=30&keepalives_count=0").keepalive;
    assert_eq!((idle.on, idle.idle), (true, Some(Duration::from_secs(30))));
    assert_eq!(idle.count, None);
}

#[test]
fn what_cannot_be_done_is_refused_by_name() {
    for (query, due) in [
        ("foo=1", "the parameter foo"),
        ("foo", "the parameter foo"),
        ("sslnegotiation=direct", "sslnegotiation \"direct\""),
        ("target_session_attrs=standby", "inbox writes"),
        ("target_session_attrs=best", "\"best\""),
        ("require_auth=scram-sha-256", "require_auth"),
        ("service=x", "service"),
        ("sslcrl=/x", "sslcrl"),
        ("channel_binding=yes", "channel_binding \"yes\""),
        ("connect_timeout=soon", "connect_timeout \"soon\""),
        ("gssencmode=require", "gssencmode"),
    ] {
        let refusal = refusal(&format!("postgres://h/d?{query}"));
        assert!(refusal.contains(due), "{query}: {refusal}");
    }
    let demanded = parse_with("postgres://h/d", &[("PGREQUIREAUTH", "scram-sha-256")]);
    assert!(demanded.unwrap_err().to_string().contains("PGREQUIREAUTH"));
    let demanded = parse_with("postgres://h/d", &[("PGGSSENCMODE", "require")]);
    assert!(demanded.unwrap_err().to_string().contains("PGGSSENCMODE"));
}

#[test]
fn a_timeout_of_zero_is_none_and_never_a_zero_duration() {
    for seconds in ["0", "-1", "9999999999"] {
        let target = parse(&format!("postgres://h/d?connect_timeout={seconds}"));
        assert_eq!(target.connect_timeout, LONG, "{seconds}");
    }
}

/// Every text that one slip makes of `url`: a mark too many, or a letter too few.
fn slips(url: &str) -> Vec<String> {
    let mut slips = Vec::new();
    for at in 0..=url.len() {
        for mark in "@/:?#&=%[],; ".chars() {
            slips.push(format!("{}{mark}{}", &url[..at], &url[at..]));
        }
        if at < url.len() {
            slips.push(format!("{}{}", &url[..at], &url[at + 1..]));
        }
    }
    slips
}

#[test]
fn no_slip_in_a_url_shows_a_password_or_a_half_of_it() {
    let mut count = 0;
    for url in [
        "postgres://me:hunterTWO@db:5432/team?sslmode=prefer",
        "postgres://db:5432/team?user=me&password=hunterTWO&sslmode=prefer",
    ] {
        for slip in slips(url) {
            // Without its colon it is a user, and nothing tells that it is not.
            if slip.contains("mehunter") {
                continue;
            }
            let location = crate::Location::parse(&slip);
            let mut shown = vec![location.shown(), format!("{location:?}")];
            match parse_with(&slip, &[]) {
                Ok(target) => {
                    let hosts: Vec<String> = target.hosts.iter().map(Host::to_string).collect();
                    shown.extend([target.server, target.place, hosts.join(" ")]);
                }
                Err(error) => shown.push(error.to_string()),
            }
            for text in shown {
                let is_shown = ["hunter", "unterT", "TWO"]
                    .iter()
                    .any(|half| text.contains(half));
                assert!(!is_shown, "{slip}: {text}");
            }
            count += 1;
        }
    }
    assert!(count > 1000);
}
