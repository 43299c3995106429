//! The devnet: transactions and receipts per second over its real port, how soon it answers, and what it keeps in memory.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use inbox_devnet::ledger::{NODE, TREASURY, TREASURY_KEY};
use inbox_hedera::grpc::{Channel, framed};
use inbox_hedera::key::PrivateKey;
use inbox_hedera::proto::{
    AccountId, Answered, Asked, Code, CreateTopicBody, Data, Query, ReceiptQuery, Response,
    SubmitMessageBody, Timestamp, TopicId, TransactionBody, TransactionId, TransactionReceipt,
    TransactionResponse,
};
use prost::Message;
use rusqlite::Connection;
use tokio::runtime::Runtime;

use crate::Outcome;
use crate::lab::{Lab, end};
use crate::report::Report;
use crate::stats::{Samples, time};

/// How many clients there are at once.
const CLIENTS: [usize; 3] = [1, 8, 32];

/// How often everything is measured, and for how long.
const ROUNDS: usize = 5;
const LONG: Duration = Duration::from_secs(2);

/// How often the start is measured.
const STARTS: usize = 15;

/// What a stub did that checked no signature and wrote nothing, with one client and with 32.
const STUB: [(usize, u64); 2] = [(1, 634), (32, 1_996)];

const RECEIPT: &str = "/proto.CryptoService/getTransactionReceipts";
const CREATE: &str = "/proto.ConsensusService/createTopic";
const SUBMIT: &str = "/proto.ConsensusService/submitMessage";

/// A devnet in a process of its own.
struct Devnet {
    child: Child,
    node: String,
}

impl Devnet {
    fn start(lab: &Lab, data: &Path) -> Outcome<Self> {
        let folder = data.parent().ok_or("the ledger is nowhere")?;
        let mut command = Lab::clean(&lab.inbox, folder);
        command.args(["devnet", "--json", "--data"]).arg(data);
        for port in ["--node", "--mirror", "--rest"] {
            command.args([port, "127.0.0.1:0"]);
        }
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().ok_or("no pipe")?).read_line(&mut line)?;
        let told: serde_json::Value = serde_json::from_str(&line)?;
        let node = told["node"].as_str().ok_or("the devnet said nothing")?;
        Ok(Devnet {
            node: node.to_owned(),
            child,
        })
    }

    /// What it keeps in memory, in kilobytes.
    fn resident(&self) -> Outcome<u64> {
        let path = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(path)?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let number = line.and_then(|line| line.split_whitespace().next());
        Ok(number.ok_or("no VmRSS")?.parse()?)
    }
}

/// One who submits, and asks for the receipt.
struct Client {
    node: Channel,
    key: PrivateKey,
}

/// Numbers ids, so that no two are the same.
static MADE: AtomicU64 = AtomicU64::new(0);

impl Client {
    fn new(node: &str) -> Outcome<Self> {
        Ok(Client {
            node: Channel::new(node, Duration::from_secs(20)),
            key: TREASURY_KEY.parse()?,
        })
    }

    fn body(data: Data) -> Outcome<TransactionBody> {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
        let made = MADE.fetch_add(1, Ordering::Relaxed);
        let start = Timestamp {
            seconds: i64::try_from(now.as_secs())? - 5,
            nanos: i32::try_from(made % 1_000_000_000)?,
        };
        let id = TransactionId::new(AccountId::of(TREASURY), start);
        let fee = 3_000_000_000;
        Ok(TransactionBody::new(id, AccountId::of(NODE), fee, data))
    }

    async fn receipt(&self, id: Option<TransactionId>) -> Outcome<Option<TransactionReceipt>> {
        let query = Query {
            query: Some(Asked::Receipt(ReceiptQuery {
                transaction_id: id,
                ..ReceiptQuery::default()
            })),
        };
        let bytes = self.node.call(RECEIPT, framed(&query)).await?;
        match Response::decode(bytes)?.response {
            Some(Answered::Receipt(answer)) => Ok(answer.receipt),
            _ => Err("it is no receipt".into()),
        }
    }

    async fn run(&self, path: &str, data: Data) -> Outcome<TransactionReceipt> {
        let body = Self::body(data)?;
        let transaction = body.sign([&self.key])?;
        let bytes = self.node.call(path, framed(&transaction)).await?;
        let code = Code::from(TransactionResponse::decode(bytes)?.precheck_code);
        if code != Code::Ok {
            return Err(format!("the node said {code}").into());
        }
        let receipt = self.receipt(body.transaction_id).await?;
        let receipt = receipt.ok_or("there is no receipt")?;
        match Code::from(receipt.status) {
            Code::Success => Ok(receipt),
            code => Err(format!("the receipt says {code}").into()),
        }
    }
}

fn message(topic: TopicId) -> Data {
    Data::SubmitMessage(SubmitMessageBody {
        topic_id: Some(topic),
        message: br#"{"p":"hcs-10","op":"message","operator_id":"0.0.5@0.0.6","data":"hello"}"#
            .to_vec(),
        chunk_info: None,
    })
}

/// Messages and their receipts per second, by so many clients.
fn rate(runtime: &Runtime, node: &str, topic: TopicId, clients: usize) -> Outcome<u64> {
    let is_over = Arc::new(AtomicBool::new(false));
    let start = Instant::now();
    let counts = runtime.block_on(async {
        let mut tasks = Vec::with_capacity(clients);
        for _ in 0..clients {
            let client = Client::new(node)?;
            let is_over = Arc::clone(&is_over);
            tasks.push(tokio::spawn(async move {
                let mut count = 0_u64;
                while !is_over.load(Ordering::Relaxed) {
                    if let Err(error) = client.run(SUBMIT, message(topic)).await {
                        return Err(error.to_string());
                    }
                    count += 1;
                }
                Ok(count)
            }));
        }
        tokio::time::sleep(LONG).await;
        is_over.store(true, Ordering::Relaxed);
        let mut counts = 0;
        for task in tasks {
            counts += task.await??;
        }
        Outcome::Ok(counts)
    })?;
    Ok(per_second(counts, start.elapsed()))
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rate to be read, not to be computed with"
)]
fn per_second(count: u64, took: Duration) -> u64 {
    (count as f64 / took.as_secs_f64()).round() as u64
}

/// The least that each must cost: one signature checked, and three rows written in a commit of their own.
fn floor(db: &Connection, key: &PrivateKey) -> Outcome<u64> {
    let body = Client::body(message(TopicId::of(1)))?.encode_to_vec();
    let (public, signature) = (key.public()?, key.sign(&body)?);
    let start = Instant::now();
    let mut count = 0;
    while start.elapsed() < LONG {
        if !public.verifies(&body, &signature) {
            return Err("the signature is wrong".into());
        }
        db.execute_batch("BEGIN IMMEDIATE")?;
        for _ in 0..3 {
            db.prepare_cached("INSERT INTO rows (body) VALUES (?1)")?
                .execute([&body])?;
        }
        db.execute_batch("COMMIT")?;
        count += 1;
    }
    Ok(per_second(count, start.elapsed()))
}

/// The middle of some rates.
fn median(mut rates: Vec<u64>) -> u64 {
    rates.sort_unstable();
    rates.get(rates.len() / 2).copied().unwrap_or_default()
}

pub(crate) fn measure(lab: &Lab, report: &mut Report) -> Outcome<()> {
    let folder = lab.folder("devnet")?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    measure_starts(lab, &folder, &runtime, report)?;
    let devnet = Devnet::start(lab, &folder.join("devnet.db"))?;
    let outcome = measure_rates(&devnet, &folder, &runtime, report);
    end(devnet.child);
    outcome?;
    report.fact(
        "hiero-local-node, as published",
        "Docker with 6 CPUs and 8 GB, 16 GB of memory; about 90 s to start".into(),
        String::new(),
    );
    report.fact(
        "solo 0.87, as published",
        "Kubernetes with 6 cores and 12 GB of memory".into(),
        String::new(),
    );
    Ok(())
}

/// From starting the process to its first answer: with a new ledger, and with one that is there.
fn measure_starts(lab: &Lab, folder: &Path, runtime: &Runtime, report: &mut Report) -> Outcome<()> {
    let (mut first, mut again) = (Samples::default(), Samples::default());
    let mut resident = 0;
    for number in 0..STARTS {
        let data = folder.join(format!("start-{number}.db"));
        for samples in [&mut first, &mut again] {
            let start = Instant::now();
            let devnet = Devnet::start(lab, &data)?;
            let client = Client::new(&devnet.node)?;
            let id = Client::body(message(TopicId::of(1)))?.transaction_id;
            let answered = runtime.block_on(client.receipt(id));
            samples.push(start.elapsed());
            resident = resident.max(devnet.resident()?);
            end(devnet.child);
            answered?;
        }
    }
    report.goal(
        "devnet: process start until the first answer",
        format!(
            "{} with a new ledger, {} with one that is there",
            first.words(),
            again.words()
        ),
        String::new(),
        "under 100 ms",
        first.median() < Duration::from_millis(100) && again.median() < Duration::from_millis(100),
    );
    report.fact(
        "devnet: memory after its first answer",
        megabytes(resident),
        String::new(),
    );
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "a size to be read")]
fn megabytes(kilobytes: u64) -> String {
    format!("{:.1} MB", kilobytes as f64 / 1024.0)
}

fn measure_rates(
    devnet: &Devnet,
    folder: &Path,
    runtime: &Runtime,
    report: &mut Report,
) -> Outcome<()> {
    let db = Connection::open(folder.join("floor.db"))?;
    db.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; CREATE TABLE rows (id INTEGER PRIMARY KEY, body BLOB);",
    )?;
    let client = Client::new(&devnet.node)?;
    let create = Data::CreateTopic(CreateTopicBody::default());
    let made = runtime.block_on(client.run(CREATE, create))?;
    let topic = made.topic_id.ok_or("there is no topic")?;
    let mut rates = [const { Vec::new() }; CLIENTS.len()];
    let mut floors = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        for (place, clients) in CLIENTS.into_iter().enumerate() {
            rates[place].push(rate(runtime, &devnet.node, topic, clients)?);
        }
        floors.push(floor(&db, &client.key)?);
    }
    let floor = median(floors);
    report.fact(
        "a signature checked and a commit, bare, one after the other",
        format!("{floor} /s"),
        String::new(),
    );
    for (place, clients) in CLIENTS.into_iter().enumerate() {
        let rate = median(rates[place].clone());
        let (least, most) = (
            rates[place].iter().min().copied().unwrap_or_default(),
            rates[place].iter().max().copied().unwrap_or_default(),
        );
        let what = format!("devnet: messages with their receipts, {clients} client(s)");
        let measured = format!(
            "{rate} /s ({least} to {most}), {} each",
            each(rate, clients)
        );
        let ratio = format!("{} % of bare", rate * 100 / floor.max(1));
        match STUB.iter().find(|(count, _)| *count == clients) {
            Some((_, stub)) => {
                let goal = format!("over {stub} /s, what a stub did without signatures or disk");
                report.goal(&what, measured, ratio, &goal, rate > *stub);
            }
            None => report.fact(&what, measured, ratio),
        }
    }
    let last = runtime.block_on(client.run(SUBMIT, message(topic)))?;
    let resident = devnet.resident()?;
    report.goal(
        &format!(
            "devnet: memory after {} messages",
            last.topic_sequence_number
        ),
        megabytes(resident),
        String::new(),
        "under 30 MB",
        resident < 30 * 1024,
    );
    Ok(())
}

/// How long each takes at this rate, by so many at once.
fn each(rate: u64, clients: usize) -> String {
    let clients = u32::try_from(clients).unwrap_or(u32::MAX);
    let rate = u32::try_from(rate.max(1)).unwrap_or(u32::MAX);
    time(Duration::from_secs(1) * clients / rate)
}
