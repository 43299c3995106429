//! A ledger under a clock that the test sets, and how transactions are made for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use inbox_devnet::ledger::{Effects, Ledger, NODE, TREASURY, TREASURY_KEY, funded};
use inbox_hedera::key::{Algorithm, PrivateKey};
use inbox_hedera::proto::{
    AccountId, Code, CreateTopicBody, CryptoCreateBody, Data, Key, SubmitMessageBody, Timestamp,
    TopicId, TransactionBody, TransactionId, TransactionReceipt, TransactionRecord,
};
use prost::Message;

/// One hbar in tinybars.
pub(crate) const HBAR: i64 = 100_000_000;

const SECOND: i64 = 1_000_000_000;

/// Where the clock begins.
const START: i64 = 1_800_000_000 * SECOND;

/// Somebody with an account.
pub(crate) struct Party {
    pub(crate) num: i64,
    pub(crate) key: PrivateKey,
}

impl Party {
    pub(crate) fn public(&self) -> Key {
        Key::from(&self.key.public().unwrap())
    }
}

pub(crate) struct Net {
    pub(crate) ledger: Ledger,
    clock: Arc<AtomicI64>,
    made: AtomicI64,
}

impl Net {
    pub(crate) fn new() -> Self {
        Net::on(Ledger::in_memory().unwrap())
    }

    pub(crate) fn on(ledger: Ledger) -> Self {
        let clock = Arc::new(AtomicI64::new(START));
        let told = Arc::clone(&clock);
        Net {
            ledger: ledger.with_clock(move || told.load(Ordering::SeqCst)),
            clock,
            made: AtomicI64::new(0),
        }
    }

    pub(crate) fn advance(&self, seconds: i64) {
        self.clock.fetch_add(seconds * SECOND, Ordering::SeqCst);
    }

    pub(crate) fn now(&self) -> i64 {
        self.clock.load(Ordering::SeqCst)
    }

    pub(crate) fn treasury(&self) -> Party {
        Party {
            num: TREASURY,
            key: TREASURY_KEY.parse().unwrap(),
        }
    }

    /// One of those who have something in the beginning; the first five have Ed25519 keys.
    pub(crate) fn somebody(&self, place: usize) -> Party {
        let funded = funded().unwrap().into_iter().nth(place).unwrap();
        Party {
            num: funded.num,
            key: funded.key,
        }
    }

    /// A body by this payer, with an id that no other has.
    pub(crate) fn body(&self, payer: &Party, data: Data) -> TransactionBody {
        let past = 5 * SECOND - self.made.fetch_add(1, Ordering::SeqCst);
        let start = time(self.now() - past);
        let id = TransactionId::new(AccountId::of(payer.num), start);
        let fee = u64::try_from(30 * HBAR).unwrap();
        TransactionBody::new(id, AccountId::of(NODE), fee, data)
    }

    /// What a node says to bytes.
    pub(crate) fn put(&mut self, bytes: &[u8]) -> (Code, Effects) {
        let (response, effects) = self.ledger.submit(bytes);
        (Code::from(response.precheck_code), effects)
    }

    /// What a node says to a body that these have signed.
    pub(crate) fn offer(&mut self, body: &TransactionBody, signers: &[&Party]) -> Code {
        let keys = signers.iter().map(|party| &party.key);
        let bytes = body.sign(keys).unwrap().encode_to_vec();
        self.put(&bytes).0
    }

    /// What came of a body that these have signed; it is let in.
    pub(crate) fn record(
        &mut self,
        body: &TransactionBody,
        signers: &[&Party],
    ) -> TransactionRecord {
        assert_eq!(self.offer(body, signers), Code::Ok);
        let id = body.transaction_id.clone().unwrap();
        self.ledger.record(&id).unwrap().unwrap()
    }

    /// The same of what the first of these asks for.
    pub(crate) fn run(&mut self, signers: &[&Party], data: Data) -> TransactionReceipt {
        let body = self.body(signers[0], data);
        self.record(&body, signers).receipt.unwrap()
    }

    /// The same, which succeeds.
    pub(crate) fn must(&mut self, signers: &[&Party], data: Data) -> TransactionReceipt {
        let receipt = self.run(signers, data);
        assert_eq!(Code::from(receipt.status), Code::Success);
        receipt
    }

    /// The same, and how it ended.
    pub(crate) fn status(&mut self, signers: &[&Party], data: Data) -> Code {
        self.run(signers, data).status.into()
    }

    pub(crate) fn topic(&mut self, signers: &[&Party], body: CreateTopicBody) -> TopicId {
        self.must(signers, Data::CreateTopic(body))
            .topic_id
            .unwrap()
    }

    pub(crate) fn account(&mut self, payer: &Party, algorithm: Algorithm, hbars: i64) -> Party {
        let key = PrivateKey::generate(algorithm).unwrap();
        let body = CryptoCreateBody {
            key: Some(Key::from(&key.public().unwrap())),
            initial_balance: u64::try_from(hbars * HBAR).unwrap(),
            ..CryptoCreateBody::default()
        };
        let receipt = self.must(&[payer], Data::CryptoCreate(body));
        let num = receipt.account_id.unwrap().num().unwrap();
        Party { num, key }
    }

    pub(crate) fn balance(&self, num: i64) -> i64 {
        let found = inbox_devnet::ledger::Account::find(self.ledger.db(), num);
        found.unwrap().unwrap().balance
    }

    /// What all accounts have together.
    pub(crate) fn supply(&self) -> i64 {
        self.ledger
            .db()
            .query_row("SELECT SUM(balance) FROM accounts", [], |row| row.get(0))
            .unwrap()
    }
}

pub(crate) fn message(topic: TopicId, text: &str) -> Data {
    Data::SubmitMessage(SubmitMessageBody {
        topic_id: Some(topic),
        message: text.as_bytes().to_vec(),
        chunk_info: None,
    })
}

pub(crate) fn time(nanos: i64) -> Timestamp {
    Timestamp {
        seconds: nanos / SECOND,
        nanos: i32::try_from(nanos % SECOND).unwrap(),
    }
}
