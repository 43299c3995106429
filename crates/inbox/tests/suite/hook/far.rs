//! Hooks of agents whose mail is at a server: the token says who they are.

use serde_json::json;

use super::{CLIENTS, EVENTS, Project, SESSION};
use crate::server::Served;

/// Runs a hook with the mail at a server.
#[track_caller]
fn hook(project: &Project, server: (&str, &str), line: &str, source: &str) -> String {
    let input = json!({ "session_id": SESSION, "cwd": project.folder(), "source": source });
    let variables = [("INBOX_DB", server.0), ("INBOX_TOKEN", server.1)];
    let outcome = project.hook_with(line, &variables, input.to_string().as_bytes());
    assert_eq!(
        (outcome.code, outcome.stderr.as_str()),
        (0, ""),
        "{outcome}"
    );
    outcome.stdout
}

#[test]
fn a_clients_session_is_bound_and_told_at_a_server() {
    let served = Served::start();
    let secret = served.token("backend", "");
    let server = (served.url.as_str(), secret.as_str());
    let project = Project::without_store();
    std::fs::create_dir(project.folder().join(".agents")).unwrap();
    let config = "[session]\nagent = \"of-no-matter\"\nrole = [\"developer\"]\n";
    std::fs::write(project.beside_store("inbox.toml"), config).unwrap();
    assert_eq!(
        hook(&project, server, "gemini session-start", "startup"),
        ""
    );
    let send = "send --json --from ada --to role:developer --kind question --subject Fields?";
    served.desk.run(send.split_whitespace()).ok();
    let printed = hook(&project, server, "gemini prompt", "");
    assert!(
        printed.contains("1 new for backend.") && printed.contains("Open: inbox read\\n"),
        "{printed}"
    );
    for event in ["prompt", "after-tool", "stop"] {
        assert_eq!(hook(&project, server, &format!("gemini {event}"), ""), "");
    }
    served.desk.run(send.split_whitespace()).ok();
    let stop = hook(&project, server, "gemini stop", "");
    assert!(stop.contains("Run inbox read."), "{stop}");
    let end = hook(&project, server, "gemini end", "");
    assert!(end.contains("inbox: 2 new"), "{end}");
    let listed = served
        .desk
        .run(["session", "list", "--state", "dead", "--json"])
        .ok();
    let session = &listed["sessions"][0];
    assert_eq!(session["session_id"], SESSION);
    assert_eq!(session["agent_id"], "backend");
    assert_eq!(session["roles"], json!(["developer"]));
    let strange = json!({ "session_id": "unheard-of" }).to_string();
    let variables = [("INBOX_DB", server.0), ("INBOX_TOKEN", server.1)];
    let outcome = project.hook_with("gemini end", &variables, strange.as_bytes());
    assert_eq!(
        (outcome.stdout.as_str(), outcome.stderr.as_str()),
        ("", ""),
        "{outcome}"
    );
}

#[test]
fn a_server_that_is_away_or_refuses_stops_nobody() {
    let served = Served::start();
    let project = Project::without_store();
    for (url, secret, reason) in [
        ("http://127.0.0.1:1", "a-secret", "(storage)"),
        (served.url.as_str(), "a-secret", "(unauthorized)"),
        (served.url.as_str(), "", "(unauthorized)"),
        ("https://", "a-secret", "(invalid_input)"),
    ] {
        for client in CLIENTS {
            for event in EVENTS {
                let variables = [("INBOX_DB", url), ("INBOX_TOKEN", secret)];
                let input = b"{\"session_id\":\"s\"}";
                let outcome = project.hook_with(&format!("{client} {event}"), &variables, input);
                assert_eq!(
                    (outcome.code, outcome.stdout.as_str()),
                    (0, ""),
                    "{outcome}"
                );
                // Where nobody reads the answer, nothing is asked for.
                let is_asked = !outcome.stderr.is_empty();
                assert!(!is_asked || outcome.stderr.contains(reason), "{outcome}");
                assert!(
                    is_asked || matches!(event, "prompt" | "after-tool" | "compact"),
                    "{event}"
                );
            }
        }
    }
}

#[test]
fn a_peek_at_a_server_shows_headers_too() {
    let served = Served::start();
    let secret = served.token("backend", "");
    let send =
        "send --json --from ada --to backend --kind event --subject News --body Much~to~say.";
    served.desk.run(send.split_whitespace()).ok();
    let variables = [("INBOX_DB", served.url.as_str()), ("INBOX_TOKEN", &secret)];
    let peeked = Project::without_store().run_in(&variables, "read --peek");
    assert_eq!(
        peeked.stdout, "msg_1 ada unverified event: \"News\"\n1 unread\n",
        "{peeked}"
    );
}
