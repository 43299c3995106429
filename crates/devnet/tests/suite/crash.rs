//! A devnet that is killed in the midst of its work: what had a receipt is there, once, and everything adds up.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use bytes::Bytes;
use inbox_devnet::ledger::{NODE, TREASURY, TREASURY_KEY, funded};
use inbox_devnet::{Devnet, Options};
use inbox_hedera::grpc::{CallError, Channel, framed};
use inbox_hedera::key::PrivateKey;
use inbox_hedera::mirror::Mirror;
use inbox_hedera::proto::{
    AccountId, Answered, Asked, Code, CreateTopicBody, Data, Query, ReceiptQuery, Response,
    Timestamp, TopicId, TransactionBody, TransactionId, TransactionReceipt, TransactionResponse,
};
use prost::Message;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::mirror::audited;
use crate::money::transfer;
use crate::net::{HBAR, Party, message};

/// Names the file of the devnet that is to be killed.
const FILE: &str = "INBOX_DEVNET_TEST_FILE";

/// The devnet that is to be killed, in a process of its own: a test that does nothing unless the other one runs it.
#[test]
fn the_process_that_is_killed() {
    let Some(file) = std::env::var_os(FILE) else {
        return;
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let options = Options {
        data: Some(PathBuf::from(file)),
        ..Options::anywhere()
    };
    let devnet = runtime.block_on(Devnet::start(&options)).unwrap();
    let line = format!("\nlistens {} {}\n", devnet.node, devnet.rest);
    std::io::stdout().write_all(line.as_bytes()).unwrap();
    // It ends with whoever started it, if it is not killed before.
    let _ = std::io::stdin().read(&mut [0]);
}

struct Process {
    child: Child,
    node: String,
    rest: String,
}

impl Process {
    fn start(file: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "crash::the_process_that_is_killed",
                "--nocapture",
            ])
            .env(FILE, OsString::from(file))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let line = out
            .lines()
            .map(Result::unwrap)
            .find(|line| line.starts_with("listens "))
            .unwrap();
        let words: Vec<&str> = line.split(' ').collect();
        Process {
            child,
            node: words[1].to_owned(),
            rest: words[2].to_owned(),
        }
    }

    /// Ends it as `kill -9` does.
    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// What was answered before the end: the transaction, its id and its receipt.
type Answer = (Bytes, TransactionId, TransactionReceipt);

struct Caller {
    node: Channel,
    key: PrivateKey,
    made: Arc<AtomicI32>,
}

impl Caller {
    fn new(process: &Process, made: &Arc<AtomicI32>) -> Self {
        Caller {
            node: Channel::new(process.node.clone(), Duration::from_secs(20)),
            key: TREASURY_KEY.parse().unwrap(),
            made: Arc::clone(made),
        }
    }

    async fn receipt(&self, id: &TransactionId) -> Result<TransactionReceipt, CallError> {
        let query = Query {
            query: Some(Asked::Receipt(ReceiptQuery {
                transaction_id: Some(id.clone()),
                ..ReceiptQuery::default()
            })),
        };
        let path = "/proto.CryptoService/getTransactionReceipts";
        let bytes = self.node.call(path, framed(&query)).await?;
        let Some(Answered::Receipt(answer)) = Response::decode(bytes).unwrap().response else {
            panic!("a receipt was asked for");
        };
        Ok(answer.receipt.unwrap())
    }

    async fn offer(&self, bytes: Bytes) -> Result<Code, CallError> {
        let path = "/proto.ConsensusService/submitMessage";
        let answer = self.node.call(path, bytes).await?;
        let response = TransactionResponse::decode(answer).unwrap();
        Ok(response.precheck_code.into())
    }

    async fn run(&self, data: Data) -> Result<Answer, CallError> {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let start = Timestamp {
            seconds: i64::try_from(now.unwrap().as_secs()).unwrap() - 5,
            nanos: self.made.fetch_add(1, Ordering::SeqCst),
        };
        let id = TransactionId::new(AccountId::of(TREASURY), start);
        let body = TransactionBody::new(id.clone(), AccountId::of(NODE), 3_000_000_000, data);
        let bytes = framed(&body.sign([&self.key]).unwrap());
        assert_eq!(self.offer(bytes.clone()).await?, Code::Ok);
        let receipt = self.receipt(&id).await?;
        Ok((bytes, id, receipt))
    }

    /// Works until nobody answers any more.
    async fn work(self, topic: TopicId, tell: UnboundedSender<Answer>) {
        let other = funded().unwrap().remove(0);
        let parties = [(TREASURY, self.key.clone()), (other.num, other.key)];
        let [one, two] = parties.map(|(num, key)| Party { num, key });
        for number in 0.. {
            let data = if number % 3 == 0 {
                Data::CryptoTransfer(transfer(&[(&one, -number), (&two, number)]))
            } else {
                message(topic, &format!("message {number}"))
            };
            match self.run(data).await {
                Ok(answer) => tell.send(answer).unwrap(),
                Err(_) => return,
            }
        }
    }
}

#[test]
fn what_had_a_receipt_outlives_a_kill_and_everything_adds_up() {
    let folder = std::env::temp_dir().join(format!("inbox-devnet-crash-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("devnet.db");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let made = Arc::default();
    let mut process = Process::start(&file);
    let create = Data::CreateTopic(CreateTopicBody::default());
    let first = runtime
        .block_on(Caller::new(&process, &made).run(create))
        .unwrap();
    let topic = first.2.topic_id.unwrap();
    for round in 1..=3 {
        let (tell, mut told) = unbounded_channel();
        for _ in 0..8 {
            let caller = Caller::new(&process, &made);
            runtime.spawn(caller.work(topic, tell.clone()));
        }
        drop(tell);
        let mut answers = runtime.block_on(async {
            let mut answers = Vec::new();
            for _ in 0..100 {
                answers.push(told.recv().await.unwrap());
            }
            answers
        });
        process.kill();
        // Those that were on their way when it died had their receipts, too.
        while let Some(answer) = runtime.block_on(told.recv()) {
            answers.push(answer);
        }
        process = Process::start(&file);
        let caller = Caller::new(&process, &made);
        runtime.block_on(async {
            for (bytes, id, receipt) in &answers {
                assert_eq!(&caller.receipt(id).await.unwrap(), receipt, "round {round}");
                let again = caller.offer(bytes.clone()).await.unwrap();
                assert_eq!(again, Code::DuplicateTransaction);
            }
        });
        let url = format!("http://{}", process.rest);
        let count = audited(&Mirror::new(&url), topic.num);
        let highest = answers
            .iter()
            .map(|(_, _, receipt)| receipt.topic_sequence_number)
            .max();
        assert!(Some(count) >= highest);
        let url = format!("{url}/api/v1/network/supply");
        let (_, supply) = runtime.block_on(crate::ports::get(url));
        assert_eq!(
            supply["total_supply"],
            (50_000_000_000 * HBAR).to_string(),
            "round {round}"
        );
    }
    process.kill();
    std::fs::remove_dir_all(&folder).unwrap();
}
