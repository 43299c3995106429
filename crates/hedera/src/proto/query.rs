//! Questions to a node, and its answers.

use super::{
    AccountId, ContractId, Duration, Key, ScheduleId, ScheduleInfo, SemanticVersion, Timestamp,
    TopicId, TopicInfo, Transaction, TransactionId, TransactionReceipt, TransactionRecord,
};

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct QueryHeader {
    #[prost(message, optional, tag = "1")]
    pub payment: Option<Transaction>,
    /// 0 for an answer, 2 for its price.
    #[prost(int32, tag = "2")]
    pub response_type: i32,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ResponseHeader {
    #[prost(int32, tag = "1")]
    pub precheck_code: i32,
    #[prost(int32, tag = "2")]
    pub response_type: i32,
    #[prost(uint64, tag = "3")]
    pub cost: u64,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Query {
    #[prost(oneof = "Asked", tags = "7, 9, 14, 15, 50, 51, 53")]
    pub query: Option<Asked>,
}

#[derive(Clone, PartialEq, Eq, prost::Oneof)]
pub enum Asked {
    #[prost(message, tag = "7")]
    Balance(BalanceQuery),
    #[prost(message, tag = "9")]
    AccountInfo(AccountInfoQuery),
    #[prost(message, tag = "14")]
    Receipt(ReceiptQuery),
    #[prost(message, tag = "15")]
    Record(RecordQuery),
    #[prost(message, tag = "50")]
    TopicInfo(TopicInfoQuery),
    #[prost(message, tag = "51")]
    Version(VersionQuery),
    #[prost(message, tag = "53")]
    ScheduleInfo(ScheduleInfoQuery),
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Response {
    #[prost(oneof = "Answered", tags = "7, 9, 14, 15, 150, 151, 153")]
    pub response: Option<Answered>,
}

#[derive(Clone, PartialEq, Eq, prost::Oneof)]
pub enum Answered {
    #[prost(message, tag = "7")]
    Balance(BalanceResponse),
    #[prost(message, boxed, tag = "9")]
    AccountInfo(Box<AccountInfoResponse>),
    #[prost(message, boxed, tag = "14")]
    Receipt(Box<ReceiptResponse>),
    #[prost(message, boxed, tag = "15")]
    Record(Box<RecordResponse>),
    #[prost(message, boxed, tag = "150")]
    TopicInfo(Box<TopicInfoResponse>),
    #[prost(message, tag = "151")]
    Version(VersionResponse),
    #[prost(message, boxed, tag = "153")]
    ScheduleInfo(Box<ScheduleInfoResponse>),
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct BalanceQuery {
    #[prost(message, optional, tag = "1")]
    pub header: Option<QueryHeader>,
    #[prost(oneof = "BalanceOf", tags = "2, 3")]
    pub of: Option<BalanceOf>,
}

#[derive(Clone, PartialEq, Eq, prost::Oneof)]
pub enum BalanceOf {
    #[prost(message, tag = "2")]
    Account(AccountId),
    #[prost(message, tag = "3")]
    Contract(ContractId),
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct BalanceResponse {
    #[prost(message, optional, tag = "1")]
    pub header: Option<ResponseHeader>,
    #[prost(message, optional, tag = "2")]
    pub account_id: Option<AccountId>,
    #[prost(uint64, tag = "3")]
    pub balance: u64,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct AccountInfoQuery {
    #[prost(message, optional, tag = "1")]
    pub header: Option<QueryHeader>,
    #[prost(message, optional, tag = "2")]
    pub account_id: Option<AccountId>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct AccountInfoResponse {
    #[prost(message, optional, tag = "1")]
    pub header: Option<ResponseHeader>,
    #[prost(message, optional, tag = "2")]
    pub account_info: Option<AccountInfo>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct AccountInfo {
    #[prost(message, optional, tag = "1")]
    pub account_id: Option<AccountId>,
    #[prost(string, tag = "2")]
    pub contract_account_id: String,
    #[prost(bool, tag = "3")]
    pub deleted: bool,
    #[prost(message, optional, tag = "7")]
    pub key: Option<Key>,
    #[prost(uint64, tag = "8")]
    pub balance: u64,
    #[prost(bool, tag = "11")]
    pub receiver_sig_required: bool,
    #[prost(message, optional, tag = "12")]
    pub expiration_time: Option<Timestamp>,
    #[prost(message, optional, tag = "13")]
    pub auto_renew_period: Option<Duration>,
    #[prost(string, tag = "16")]
    pub memo: String,
    #[prost(int32, tag = "18")]
    pub max_automatic_token_associations: i32,
    #[prost(bytes = "vec", tag = "20")]
    pub ledger_id: Vec<u8>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ReceiptQuery {
    #[prost(message, optional, tag = "1")]
    pub header: Option<QueryHeader>,
    #[prost(message, optional, tag = "2")]
    pub transaction_id: Option<TransactionId>,
    #[prost(bool, tag = "3")]
    pub include_duplicates: bool,
    #[prost(bool, tag = "4")]
    pub include_child_receipts: bool,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ReceiptResponse {
    #[prost(message, optional, tag = "1")]
    pub header: Option<ResponseHeader>,
    #[prost(message, optional, tag = "2")]
    pub receipt: Option<TransactionReceipt>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct RecordQuery {
    #[prost(message, optional, tag = "1")]
    pub header: Option<QueryHeader>,
    #[prost(message, optional, tag = "2")]
    pub transaction_id: Option<TransactionId>,
    #[prost(bool, tag = "3")]
    pub include_duplicates: bool,
    #[prost(bool, tag = "4")]
    pub include_child_records: bool,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct RecordResponse {
    #[prost(message, optional, tag = "1")]
    pub header: Option<ResponseHeader>,
    #[prost(message, optional, tag = "3")]
    pub record: Option<TransactionRecord>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct TopicInfoQuery {
    #[prost(message, optional, tag = "1")]
    pub header: Option<QueryHeader>,
    #[prost(message, optional, tag = "2")]
    pub topic_id: Option<TopicId>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct TopicInfoResponse {
    #[prost(message, optional, tag = "1")]
    pub header: Option<ResponseHeader>,
    #[prost(message, optional, tag = "2")]
    pub topic_id: Option<TopicId>,
    #[prost(message, optional, tag = "5")]
    pub topic_info: Option<TopicInfo>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ScheduleInfoQuery {
    #[prost(message, optional, tag = "1")]
    pub header: Option<QueryHeader>,
    #[prost(message, optional, tag = "2")]
    pub schedule_id: Option<ScheduleId>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ScheduleInfoResponse {
    #[prost(message, optional, tag = "1")]
    pub header: Option<ResponseHeader>,
    #[prost(message, optional, tag = "2")]
    pub schedule_info: Option<ScheduleInfo>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct VersionQuery {
    #[prost(message, optional, tag = "1")]
    pub header: Option<QueryHeader>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct VersionResponse {
    #[prost(message, optional, tag = "1")]
    pub header: Option<ResponseHeader>,
    #[prost(message, optional, tag = "2")]
    pub hapi_proto_version: Option<SemanticVersion>,
    #[prost(message, optional, tag = "3")]
    pub services_version: Option<SemanticVersion>,
}
