//! A server, looked at from outside: whether it is there, whether it and this program understand each other, and what
//! the token opens.

use inbox_core::{AgentName, Refusal, Scope, Token};
use inbox_ops::{Caller, List};
use serde::Deserialize;

use super::Check;
use crate::cli::{Context, far};
use crate::far::{Far, Looked, is_here};

/// Clocks that differ by so many seconds are worth a word. A page is dated to the second, and takes a moment to come.
const APART: i64 = 10;

/// A token that ends within so many hours is worth a word.
const SOON: i64 = 72;

/// What `/health` says.
#[derive(Deserialize)]
struct Health {
    ok: bool,
    version: String,
}

/// Everything that can be seen of a server from here. What comes after a check that failed is left out where it
/// would only say the same.
pub(super) fn checks(context: &Context, url: &str) -> Result<Vec<Check>, Refusal> {
    let authority = far::authority()?;
    let anybody = Far::new(url, String::new(), authority.as_deref())?;
    let looked = match anybody.look("/health") {
        Ok(looked) => looked,
        Err(refusal) => return Ok(vec![Check::failed("server", &refusal)]),
    };
    let health = serde_json::from_str::<Health>(&looked.body).ok();
    let Some(health) = health.filter(|health| looked.status == 200 && health.ok) else {
        return Ok(vec![Check::failed("server", &anybody.strange(&looked))]);
    };
    let mut checks = vec![
        Check::ok("server", anybody.url()),
        of_way(anybody.url()),
        of_version(&health.version),
    ];
    checks.extend(of_clock(&looked));
    let secret = match far::secret() {
        Ok(secret) => secret,
        Err(refusal) => {
            checks.push(Check::failed("token", &refusal));
            return Ok(checks);
        }
    };
    let server = Far::new(url, secret, authority.as_deref())?;
    match server.token() {
        Ok(token) => {
            checks.push(of_token(&token));
            checks.extend(of_agent(context.agent.as_ref(), &token));
            if token.scopes.contains(&Scope::Read) {
                checks.push(of_store(&server));
            }
        }
        Err(refusal) => checks.push(Check::failed("token", &refusal)),
    }
    Ok(checks)
}

/// How what is said gets there.
fn of_way(url: &str) -> Check {
    if url.starts_with("https:") {
        let by = match crate::cli::find::variable("INBOX_CA_FILE") {
            Some(path) => format!("by the system's authorities or {path}"),
            None => "by the system's authorities".to_owned(),
        };
        return Check::ok("tls", format!("its certificate is trusted {by}"));
    }
    if is_here(url) {
        return Check::ok("tls", "none, and none is needed on this machine");
    }
    Check::warning(
        "tls",
        "none: the token and all mail can be read on the way",
        "inbox serve --tls-cert FILE --tls-key FILE, and https:// in --db",
    )
}

fn of_version(theirs: &str) -> Check {
    let ours = env!("CARGO_PKG_VERSION");
    if theirs == ours {
        return Check::ok("server_version", theirs);
    }
    Check::warning(
        "server_version",
        format!("{theirs}, and this program is {ours}"),
        "install the same version on both sides; what only one of them knows is refused",
    )
}

fn of_clock(looked: &Looked) -> Option<Check> {
    let theirs = jiff::fmt::rfc2822::parse(looked.date.as_deref()?).ok()?;
    let apart = jiff::Timestamp::now().as_second() - theirs.timestamp().as_second();
    Some(if apart.abs() <= APART {
        Check::ok("clock", "as the server's")
    } else {
        let (seconds, how) = (apart.abs(), if apart > 0 { "ahead of" } else { "behind" });
        Check::warning(
            "clock",
            format!("{seconds} seconds {how} the server's"),
            "timedatectl shows whether this machine's clock is set by the network; leases go by the store's",
        )
    })
}

fn of_token(token: &Token) -> Check {
    let scopes: Vec<_> = token.scopes.iter().map(ToString::to_string).collect();
    let what = format!(
        "{} calls as {} and allows {}",
        token.token_id,
        token.agent_id,
        scopes.join(", ")
    );
    let hours = token.expires_at.map(|end| {
        let left = end.0 - jiff::Timestamp::now().as_millisecond();
        left / 3_600_000
    });
    match hours.filter(|hours| *hours < SOON) {
        None => Check::ok("token", what),
        Some(hours) => Check::warning(
            "token",
            format!("{what}, for {hours} h more"),
            &format!(
                "inbox token create --agent {}, where the server runs, makes the next one",
                token.agent_id
            ),
        ),
    }
}

/// A name that is not the token's is refused with every command.
fn of_agent(agent: Option<&AgentName>, token: &Token) -> Option<Check> {
    let agent = agent.filter(|agent| **agent != token.agent_id)?;
    Some(Check::warning(
        "agent",
        format!(
            "{agent} is named here, and the token is {}'s",
            token.agent_id
        ),
        "unset INBOX_AGENT, or use a token of that agent: the server refuses to call as another",
    ))
}

/// Whether the server's own store answers.
fn of_store(server: &Far) -> Check {
    let look = List {
        limit: Some(1),
        ..List::default()
    };
    match server.call(&look, &Caller::local(None)) {
        Ok(_) => Check::ok("store", "the server's store answers"),
        Err(refusal) => Check::failed("store", &refusal),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_without_tls_is_fine_on_this_machine_alone() {
        for url in [
            "http://127.0.0.1:4380",
            "http://localhost:80",
            "http://[::1]:4380",
            "http://localhost",
            "https://inbox.example",
        ] {
            assert_eq!(of_way(url).status, "ok", "{url}");
        }
        for url in [
            "http://inbox.example",
            "http://10.0.0.7:4380",
            "http://[fd00::1]:80",
        ] {
            assert_eq!(of_way(url).status, "warning", "{url}");
        }
    }

    #[test]
    fn clocks_that_differ_are_worth_a_word() {
        let dated = |date: &str| {
            of_clock(&Looked {
                status: 200,
                date: Some(date.to_owned()),
                body: String::new(),
            })
        };
        let old = dated("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        assert_eq!(old.status, "warning");
        assert!(
            old.message.ends_with("ahead of the server's"),
            "{}",
            old.message
        );
        let now = jiff::Timestamp::now().strftime("%a, %d %b %Y %H:%M:%S GMT");
        assert_eq!(dated(&now.to_string()).unwrap().status, "ok");
        assert!(dated("yesterday").is_none());
    }

    #[test]
    fn another_version_is_worth_a_word() {
        assert_eq!(of_version(env!("CARGO_PKG_VERSION")).status, "ok");
        assert_eq!(of_version("0.0.1").status, "warning");
    }
}
