//! Bridges that die at their named points, on a network that is busy, loses receipts and has a mirror that does not say what there is: in
//! the end every message is on its topic once, and the store has what its topics have.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use inbox_core::record::Millis;
use inbox_store::FailPoint;
use serde_json::{Map, Value, json};

use crate::bout::Bout;
use crate::child::{Leashed, Outcome, ends, eventually, words};
use crate::dice::Dice;
use crate::ground::Ground;
use crate::http::{connect, post};
use crate::{Broken, Part, must};

/// Where bridges die.
pub(crate) const POINTS: [FailPoint; 13] = [
    FailPoint::BridgeBeforeId,
    FailPoint::LedgerBeforeSend,
    FailPoint::LedgerAfterSend,
    FailPoint::LedgerAfterReceipt,
    FailPoint::BridgeAfterSaid,
    FailPoint::BridgeBeforeTaking,
    FailPoint::BridgeMidst,
    FailPoint::BridgeBeforeCommit,
    FailPoint::BridgeAfterCommit,
    FailPoint::BeforeCommit,
    FailPoint::AfterCommit,
    FailPoint::BeforeRing,
    FailPoint::AfterRing,
];

/// Where somebody dies who makes the agents' places on the ledger.
pub(crate) const OF_A_PLACE: [FailPoint; 4] = [
    FailPoint::LedgerBeforeSave,
    FailPoint::LedgerAfterReceipt,
    FailPoint::LedgerAfterSend,
    FailPoint::LedgerBeforeSend,
];

/// What a node may do wrong so often, and a mirror.
const TROUBLES: [&str; 11] = [
    "busy", "lose", "late", "drop", "repeat", "reorder", "other", "cut", "limit", "fail", "html",
];

const AGENTS: [&str; 3] = ["ada", "ben", "cyd"];

/// So many rounds are on one store and one network. Then the network is calm, and everything is compared.
const ACT: u64 = 20;

/// The share of one who died is over by then.
const LEASE: i64 = 31_000;

/// What failed often waits so long.
const PATIENCE: i64 = 600_000;

/// The part.
pub struct Ledger;

impl Part for Ledger {
    fn name(&self) -> &'static str {
        "ledger"
    }

    fn promise(&self) -> &'static str {
        "every message is on its topic once, and the store has what its topics have"
    }

    fn run(&self, bout: &mut Bout<'_>) -> Result<(), Broken> {
        bout.in_acts(ACT, act)
    }
}

/// Rounds on one store.
fn act(bout: &mut Bout<'_>, ground: &Ground<'_>) -> Result<(), Broken> {
    let mut field = Field::make(ground)?;
    let mut sent = 0;
    while let Some(mut round) = bout.next() {
        let dice = &mut round.dice;
        field.now += LEASE;
        for n in 0..=dice.below(3) {
            field.send(dice, &format!("round-{}-{n}", round.number))?;
            sent += 1;
            bout.count("messages", 1);
        }
        field.trouble(dice)?;
        let point = *dice.pick(&POINTS).unwrap_or(&POINTS[0]);
        let is_dead = field.bridge(Some((point, 1 + dice.below(2))))?;
        bout.count("deaths", u64::from(is_dead));
    }
    field.compare(sent)?;
    bout.count("comparisons", 1);
    Ok(())
}

/// A store on a devnet.
struct Field<'a> {
    ground: &'a Ground<'a>,
    network: PathBuf,
    rest: String,
    now: i64,
    _devnet: Leashed,
}

impl<'a> Field<'a> {
    fn make(ground: &'a Ground<'a>) -> Result<Self, Broken> {
        let mut devnet = ground.start(
            "devnet --node 127.0.0.1:0 --mirror 127.0.0.1:0 --rest 127.0.0.1:0 --data devnet.db",
        )?;
        let mut line = String::new();
        if let Some(stdout) = devnet.stdout.take() {
            BufReader::new(stdout).read_line(&mut line)?;
        }
        let said: Value = serde_json::from_str(&line)?;
        let text = |name: &str| said[name].as_str().unwrap_or_default().to_owned();
        let network = ground.folder().join("network.json");
        let described = json!({
            "network": { text("node"): text("node_account_id") },
            "mirrorNetwork": [text("mirror")],
            "mirrorRest": text("rest"),
        });
        std::fs::write(&network, described.to_string())?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map_or(0, |since| since.as_millis());
        let field = Field {
            ground,
            network,
            rest: text("rest").replace("http://", ""),
            now: i64::try_from(now).unwrap_or(0),
            _devnet: devnet,
        };
        for agent in AGENTS {
            field.run(&format!("agent add {agent}"), None)?.ok()?;
        }
        field.provision()?;
        Ok(field)
    }

    /// Gives each agent its place. Who does it dies on the way, again and again, and nothing is made twice.
    fn provision(&self) -> Result<(), Broken> {
        for point in OF_A_PLACE {
            let died = self.run("hcs provision --all", Some((point, 1)))?;
            must(died.code == -1, || {
                format!("who makes places must die at {point:?}, and lives: {died}")
            })?;
        }
        let made = self.run("hcs provision --all", None)?.ok()?;
        let agents = made["agents"].as_array().into_iter().flatten();
        let ids: BTreeSet<u64> = agents.flat_map(ids_of).collect();
        let (first, last) = (ids.first().copied(), ids.last().copied());
        let all = first.zip(last).map(|(first, last)| last - first + 1);
        // The network counts, and nobody else makes anything on it: what is missing in between was made and is known to nobody.
        must(all == u64::try_from(ids.len()).ok(), || {
            format!("each thing is made once, and there are others beside {made}")
        })
    }

    /// Runs a command at the time that it is here, or lets it die at a point.
    fn run(&self, line: &str, dies: Option<(FailPoint, u64)>) -> Result<Outcome, Broken> {
        ends(self.start(line, dies)?)
    }

    fn start(&self, line: &str, dies: Option<(FailPoint, u64)>) -> Result<Leashed, Broken> {
        let mut command = self.ground.command(words(line));
        command
            .env("INBOX_LEDGER_NETWORK", &self.network)
            .env(
                "INBOX_HEDERA_KEYS",
                self.ground.folder().join("hedera.keys"),
            )
            .env("INBOX_NOW", Millis(self.now).to_string());
        if let Some((point, time)) = dies {
            command.env("INBOX_FAIL_POINT", format!("{}:{time}", point as u32));
        }
        Ok(Leashed(command.spawn()?))
    }

    fn send(&self, dice: &mut Dice, subject: &str) -> Result<(), Broken> {
        let from = dice.below(3);
        let to = (from + 1 + dice.below(2)) % 3;
        let name = |n: u64| AGENTS[usize::try_from(n).unwrap_or(0)];
        let priority = 1 + dice.below(5);
        let line = format!(
            "send --from {} --to {} --subject {subject} --priority {priority}",
            name(from),
            name(to)
        );
        self.run(&line, None)?.ok().map(drop)
    }

    /// Asks the network for what it shall do wrong.
    fn ask(&self, troubles: Map<String, Value>) -> Result<(), Broken> {
        let mut stream = connect(&self.rest)?;
        let body = Value::Object(troubles);
        let answer = post(&mut stream, &self.rest, "/devnet/faults", &[], &body)?;
        must(answer.is_some(), || {
            "the network does not take trouble".to_owned()
        })
    }

    fn trouble(&self, dice: &mut Dice) -> Result<(), Broken> {
        let mut troubles = calm();
        for _ in 0..3 {
            let name = *dice.pick(&TROUBLES).unwrap_or(&TROUBLES[0]);
            troubles.insert(name.to_owned(), (1 + dice.below(2)).into());
        }
        if dice.below(4) == 0 {
            troubles.insert("lag".to_owned(), "100ms".into());
        }
        self.ask(troubles)
    }

    /// A bridge that does what there is to do. Whether it died.
    fn bridge(&self, dies: Option<(FailPoint, u64)>) -> Result<bool, Broken> {
        let mut child = self.start("bridge --once", dies)?;
        let status = eventually("a bridge ends", || child.try_wait().ok().flatten())?;
        let outcome = ends(child)?;
        let is_dead = status.signal() == Some(9);
        // A network that is away is no fault of the bridge.
        let is_fine = matches!(status.code(), Some(0 | 50));
        must(is_dead || is_fine, || format!("a bridge ended: {outcome}"))?;
        Ok(is_dead)
    }

    /// Lets everything settle on a calm network, and compares the store with its topics.
    fn compare(&mut self, sent: u64) -> Result<(), Broken> {
        self.ask(calm())?;
        let mut status = Value::Null;
        for _ in 0..5 {
            self.now += PATIENCE;
            self.bridge(None)?;
            status = self.run("bridge status", None)?.ok()?;
            if status["backlog"]["messages"] == 0 {
                break;
            }
        }
        must(status["backlog"]["messages"] == 0, || {
            format!("what waits for the ledger does not go there: {status}")
        })?;
        let verified = self.run("verify", None)?.ok()?;
        let topics = verified["topics"].as_array().cloned().unwrap_or_default();
        let number = |value: &Value| value.as_u64().unwrap_or(0);
        let mail: u64 = topics.iter().map(|topic| number(&topic["mail"])).sum();
        must(mail == sent, || {
            format!("{sent} messages were sent, and {mail} are on the topics: {verified}")
        })?;
        let records = &status["records"];
        let is_clean = ["taken", "repeated", "unverified", "unreadable"]
            .iter()
            .all(|state| records[*state] == 0);
        must(is_clean && number(&records["confirmed"]) >= sent, || {
            format!("each of {sent} messages must be confirmed once: {records}")
        })
    }
}

/// The numbers of what an agent has on the ledger.
fn ids_of(agent: &Value) -> Vec<u64> {
    let names = [
        "account_id",
        "inbound_topic_id",
        "outbound_topic_id",
        "profile",
        "registry_topic_id",
    ];
    let number = |name: &&str| agent[*name].as_str()?.rsplit('.').next()?.parse().ok();
    names.iter().filter_map(number).collect()
}

/// Nothing goes wrong.
fn calm() -> Map<String, Value> {
    let none = TROUBLES.iter().map(|name| ((*name).to_owned(), 0.into()));
    none.chain([("lag".to_owned(), "0ms".into())]).collect()
}
