//! Transactions: what is signed, how it is answered, what came of it.

use super::{
    AccountId, CreateTopicBody, CryptoCreateBody, CryptoTransferBody, CryptoUpdateBody,
    CustomFeeLimit, DeleteTopicBody, Duration, ExchangeRateSet, FileId, Key, ScheduleCreateBody,
    ScheduleDeleteBody, ScheduleId, ScheduleSignBody, SignatureMap, SubmitMessageBody, Timestamp,
    TokenId, TopicId, TransactionId, TransferList, UpdateTopicBody,
};

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Transaction {
    #[prost(message, optional, tag = "3")]
    pub sig_map: Option<SignatureMap>,
    #[prost(bytes = "vec", tag = "4")]
    pub body_bytes: Vec<u8>,
    #[prost(bytes = "vec", tag = "5")]
    pub signed_transaction_bytes: Vec<u8>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct SignedTransaction {
    #[prost(bytes = "vec", tag = "1")]
    pub body_bytes: Vec<u8>,
    #[prost(message, optional, tag = "2")]
    pub sig_map: Option<SignatureMap>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct TransactionList {
    #[prost(message, repeated, tag = "1")]
    pub transactions: Vec<Transaction>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct TransactionBody {
    #[prost(message, optional, tag = "1")]
    pub transaction_id: Option<TransactionId>,
    #[prost(message, optional, tag = "2")]
    pub node_account_id: Option<AccountId>,
    #[prost(uint64, tag = "3")]
    pub transaction_fee: u64,
    #[prost(message, optional, tag = "4")]
    pub valid_duration: Option<Duration>,
    #[prost(bool, tag = "5")]
    pub generate_record: bool,
    #[prost(string, tag = "6")]
    pub memo: String,
    #[prost(message, optional, tag = "73")]
    pub batch_key: Option<Key>,
    #[prost(oneof = "Data", tags = "11, 14, 15, 24, 25, 26, 27, 42, 43, 44")]
    pub data: Option<Data>,
    #[prost(message, repeated, tag = "1001")]
    pub max_custom_fees: Vec<CustomFeeLimit>,
}

/// What a transaction does.
#[derive(Clone, PartialEq, Eq, prost::Oneof)]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one of them at a time, between its making and the wire"
)]
pub enum Data {
    #[prost(message, tag = "11")]
    CryptoCreate(CryptoCreateBody),
    #[prost(message, tag = "14")]
    CryptoTransfer(CryptoTransferBody),
    #[prost(message, tag = "15")]
    CryptoUpdate(CryptoUpdateBody),
    #[prost(message, tag = "24")]
    CreateTopic(CreateTopicBody),
    #[prost(message, tag = "25")]
    UpdateTopic(UpdateTopicBody),
    #[prost(message, tag = "26")]
    DeleteTopic(DeleteTopicBody),
    #[prost(message, tag = "27")]
    SubmitMessage(SubmitMessageBody),
    #[prost(message, tag = "42")]
    ScheduleCreate(ScheduleCreateBody),
    #[prost(message, tag = "43")]
    ScheduleDelete(ScheduleDeleteBody),
    #[prost(message, tag = "44")]
    ScheduleSign(ScheduleSignBody),
}

#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct TransactionResponse {
    #[prost(int32, tag = "1")]
    pub precheck_code: i32,
    #[prost(uint64, tag = "2")]
    pub cost: u64,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct TransactionReceipt {
    #[prost(int32, tag = "1")]
    pub status: i32,
    #[prost(message, optional, tag = "2")]
    pub account_id: Option<AccountId>,
    #[prost(message, optional, tag = "3")]
    pub file_id: Option<FileId>,
    #[prost(message, optional, tag = "5")]
    pub exchange_rate: Option<ExchangeRateSet>,
    #[prost(message, optional, tag = "6")]
    pub topic_id: Option<TopicId>,
    #[prost(uint64, tag = "7")]
    pub topic_sequence_number: u64,
    #[prost(bytes = "vec", tag = "8")]
    pub topic_running_hash: Vec<u8>,
    #[prost(uint64, tag = "9")]
    pub topic_running_hash_version: u64,
    #[prost(message, optional, tag = "10")]
    pub token_id: Option<TokenId>,
    #[prost(message, optional, tag = "12")]
    pub schedule_id: Option<ScheduleId>,
    #[prost(message, optional, tag = "13")]
    pub scheduled_transaction_id: Option<TransactionId>,
    #[prost(uint64, tag = "15")]
    pub node_id: u64,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct AssessedCustomFee {
    #[prost(int64, tag = "1")]
    pub amount: i64,
    #[prost(message, optional, tag = "2")]
    pub token_id: Option<TokenId>,
    #[prost(message, optional, tag = "3")]
    pub fee_collector_account_id: Option<AccountId>,
    #[prost(message, repeated, tag = "4")]
    pub effective_payer_account_id: Vec<AccountId>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct TransactionRecord {
    #[prost(message, optional, tag = "1")]
    pub receipt: Option<TransactionReceipt>,
    #[prost(bytes = "vec", tag = "2")]
    pub transaction_hash: Vec<u8>,
    #[prost(message, optional, tag = "3")]
    pub consensus_timestamp: Option<Timestamp>,
    #[prost(message, optional, tag = "4")]
    pub transaction_id: Option<TransactionId>,
    #[prost(string, tag = "5")]
    pub memo: String,
    #[prost(uint64, tag = "6")]
    pub transaction_fee: u64,
    #[prost(message, optional, tag = "10")]
    pub transfer_list: Option<TransferList>,
    #[prost(message, optional, tag = "12")]
    pub schedule_ref: Option<ScheduleId>,
    #[prost(message, repeated, tag = "13")]
    pub assessed_custom_fees: Vec<AssessedCustomFee>,
}
