//! The variables, and a search of the sources for any that is missing.

use std::collections::BTreeSet;
use std::path::Path;

use super::{page, table};
use crate::root;

/// A variable, whom it is for, and what it does.
pub(super) const VARIABLES: &[(&str, &str, &str)] = &[
    (
        "INBOX_DB",
        "use",
        "The store: a file, a `postgres://` URL, or the URL of a server. `--db` comes before it; without both it is the nearest `.agents/coord.db` above the working directory",
    ),
    (
        "INBOX_AGENT",
        "use",
        "Who is calling. `--agent` and `--from` come before it; `list` never uses it as a filter",
    ),
    (
        "INBOX_SESSION",
        "use",
        "Which session is calling. `--session` comes before it",
    ),
    (
        "CLAUDE_CODE_SESSION_ID",
        "use",
        "Set by Claude Code: which session is calling, if a hook has put it on the roster. `INBOX_SESSION` comes before it, and so does a name",
    ),
    (
        "CODEX_THREAD_ID",
        "use",
        "Set by Codex: the same, and lean text on a terminal too",
    ),
    (
        "INBOX_HOOK_DEBUG",
        "use",
        "Set to anything: `hook` says on standard error why it failed",
    ),
    (
        "INBOX_LEASE",
        "use",
        "The `lease_token` that proves a claim. `--lease` comes before it; `send` and `reply` in another thread ignore it",
    ),
    (
        "INBOX_THREAD",
        "use",
        "Set by `inbox run` for its command: the thread that it works on",
    ),
    ("INBOX_TOKEN", "use", "The token that a server asks for"),
    (
        "INBOX_TOKEN_FILE",
        "use",
        "A file with the token that a server asks for, which nobody else can read; without both it is `~/.config/inbox/token`",
    ),
    (
        "INBOX_WEBHOOK_SECRET",
        "use",
        "The secret that signs what `notify` posts to `notify.webhook`. It comes before the file in `notify.webhook_secret_file`",
    ),
    (
        "INBOX_CA_FILE",
        "use",
        "A certificate in PEM of an authority to trust beside the system's, for a server and for `notify.webhook`",
    ),
    (
        "INBOX_HEDERA_NETWORK",
        "use",
        "The network of `inbox hcs`: `local`, `testnet`, `previewnet`, `mainnet`, or a file of a client's configuration. `--network` comes before it; without both it is `local`",
    ),
    (
        "INBOX_HEDERA_KEYS",
        "use",
        "The file of keys of `inbox hcs`, which nobody else can read. `--keys` comes before it; without both it is the nearest `.agents/hedera.keys`",
    ),
    (
        "INBOX_HEDERA_ACCOUNT",
        "use",
        "The account that acts and pays in `inbox hcs`, when no `--agent` is given",
    ),
    ("INBOX_HEDERA_KEY", "use", "The private key of that account"),
    (
        "INBOX_HEDERA_REGISTRY",
        "use",
        "The topic of the registry of agents. `--registry` comes before it; without both it is the one that was made last",
    ),
    (
        "INBOX_LEAN",
        "use",
        "Set to anything: lean text on a terminal too, as in a pipe",
    ),
    (
        "TERM",
        "use",
        "The terminal; when it is missing or `dumb`, `inbox` without a command opens no console there",
    ),
    (
        "NO_COLOR",
        "use",
        "Set to anything: the console in a terminal has no colours; everything is told by marks and words too",
    ),
    (
        "INBOX_ALLOW_NETWORK_FS",
        "use",
        "Set to anything: open a store on a network file system, where SQLite's locks may not hold",
    ),
    (
        "INBOX_ALLOW_PLAIN_HTTP",
        "use",
        "Set to anything: send the token to a server on another machine without TLS, where whoever is between can read it",
    ),
    (
        "INBOX_LEDGER_NETWORK",
        "use",
        "The setting `ledger.network`: the network on which the record lives, by its name or by a file that describes it",
    ),
    (
        "INBOX_GUARD_MAX_HOPS",
        "use",
        "The setting `guard.max_hops`: the longest chain of messages of agents, each of which follows from the one before; 0 is no limit",
    ),
    (
        "INBOX_GUARD_MAX_TURNS",
        "use",
        "The setting `guard.max_turns`: how often agents may take turns in one thread without a person; 0 is no limit",
    ),
    (
        "INBOX_GUARD_MAX_REPEATS",
        "use",
        "The setting `guard.max_repeats`: how often one agent may say the same to the same within the window; 0 is no limit",
    ),
    (
        "INBOX_GUARD_WINDOW_MINUTES",
        "use",
        "The setting `guard.window_minutes`: the window for repeats, and for what a new message follows from",
    ),
    (
        "CLAUDECODE",
        "use",
        "Set by an agent's client: lean text on a terminal too",
    ),
    (
        "AI_AGENT",
        "use",
        "Set by an agent's client: lean text on a terminal too. So do `GEMINI_CLI`, `OPENCODE` and `CURSOR_AGENT`",
    ),
    (
        "CLAUDE_CONFIG_DIR",
        "use",
        "Where Claude Code keeps its files, for `setup`; `~/.claude` when it is not set",
    ),
    (
        "CODEX_HOME",
        "use",
        "Where Codex keeps its files, for `setup`; `~/.codex` when it is not set",
    ),
    (
        "XDG_STATE_HOME",
        "use",
        "`setup` keeps copies of the files as they were in `inbox/setup` below it; `~/.local/state` when it is not set",
    ),
    (
        "INBOX_TEST_STORE",
        "tests",
        "With `init`: the store that is made is for tests, and obeys the variables below",
    ),
    (
        "INBOX_NOW",
        "tests",
        "The time, RFC 3339, on a store for tests",
    ),
    (
        "INBOX_FAIL_POINT",
        "tests",
        "The number of the point at which the process dies, on a store for tests; `17:3` is the third time",
    ),
    (
        "INBOX_FAULT",
        "tests",
        "The transactions that end in a fault of the program, on a store for tests: `write:3`, or `read:3-9` for the third to the ninth that reads",
    ),
    (
        "INBOX_PRETEND_FS",
        "tests",
        "The magic number of the file system to be pretended, in hexadecimal, on a store for tests",
    ),
    (
        "INBOX_SABOTAGE",
        "tests",
        "The planted bug, in a binary built with the `sabotage` feature",
    ),
    (
        "INBOX_WRITE_DOCS",
        "tests",
        "Write `docs/reference/` and the transcripts in place of comparing them; `make docs` sets it",
    ),
];

const ABOUT: &str = "\
A flag comes before its variable. An empty variable counts as unset where a value is wanted.";

const SETTINGS: &str = "\
Every setting of `inbox.toml` has a variable: `INBOX_`, and its name in capitals with `_` for the dot. So
`INBOX_EXPIRY_TAG_HOURS=24` sets `expiry.tag_hours`, and `INBOX_PRESENCE_DEAD_AFTER_MINUTES=15` sets
`presence.dead_after_minutes`. A list is JSON: `INBOX_PROMPT_MEMORY='[\"remember\"]'`. The variable comes before the
file beside the store, and that one before the user's own. `inbox config` shows every setting, its value and where
it came from; [inbox.example.toml](../../definitions/inbox.example.toml) has them all with their defaults.";

const POSTGRES: &str = "\
What a `postgres://` URL does not say comes from libpq's variables: `PGHOST`, `PGHOSTADDR`, `PGPORT`, `PGUSER`,
`PGDATABASE`, `PGPASSWORD`, `PGPASSFILE`, `PGSSLMODE`, `PGSSLROOTCERT`, `PGSSLCERT`, `PGSSLKEY`, `PGSSLSNI`,
`PGSSLMINPROTOCOLVERSION`, `PGCHANNELBINDING`, `PGTARGETSESSIONATTRS`, `PGCONNECT_TIMEOUT`, `PGAPPNAME` and
`PGOPTIONS`. Those that demand what inbox cannot do, such as `PGREQUIREAUTH` and `PGSSLCRL`, are refused; `PGSERVICE`
is not read.";

pub(super) fn document() -> String {
    let section = |who: &str| {
        let rows = VARIABLES.iter().filter(|(_, whom, _)| *whom == who);
        let rows = rows.map(|(name, _, what)| vec![format!("`{name}`"), format!("{what}.")]);
        table(&["variable", "what it does"], rows)
    };
    let body = format!(
        "## For use\n\n{}\n## Settings\n\n{SETTINGS}\n\n## PostgreSQL\n\n{POSTGRES}\n\n## For tests\n\nA store that was not made for tests ignores `INBOX_NOW`, `INBOX_FAIL_POINT`, `INBOX_FAULT` and `INBOX_PRETEND_FS`.\n\n{}",
        section("use"),
        section("tests")
    );
    page("Environment", ABOUT, &body)
}

/// Every `INBOX_…` word in the workspace's own sources.
pub(super) fn read_by_the_sources() -> Vec<String> {
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(root().join("crates")).expect("the crates are there") {
        search(
            &entry.expect("an entry can be read").path().join("src"),
            &mut found,
        );
    }
    found.into_iter().collect()
}

fn search(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).expect("a folder can be listed") {
        let path = entry.expect("an entry can be read").path();
        if path.is_dir() {
            search(&path, found);
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        for (at, _) in text.match_indices("INBOX_") {
            let is_word = |letter: char| letter.is_ascii_uppercase() || letter == '_';
            let rest = &text[at..];
            let end = rest.find(|letter| !is_word(letter)).unwrap_or(rest.len());
            if end > "INBOX_".len() {
                found.insert(rest[..end].to_owned());
            }
        }
    }
}
