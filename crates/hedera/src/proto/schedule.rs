//! Transactions that wait for signatures.

use super::{
    AccountId, CreateTopicBody, CryptoCreateBody, CryptoTransferBody, CryptoUpdateBody,
    CustomFeeLimit, DeleteTopicBody, Key, KeyList, ScheduleId, SubmitMessageBody, Timestamp,
    TransactionId, UpdateTopicBody,
};

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct SchedulableBody {
    #[prost(uint64, tag = "1")]
    pub transaction_fee: u64,
    #[prost(string, tag = "2")]
    pub memo: String,
    #[prost(oneof = "Schedulable", tags = "7, 9, 10, 18, 19, 20, 21, 34")]
    pub data: Option<Schedulable>,
    #[prost(message, repeated, tag = "1001")]
    pub max_custom_fees: Vec<CustomFeeLimit>,
}

#[derive(Clone, PartialEq, Eq, prost::Oneof)]
pub enum Schedulable {
    #[prost(message, tag = "7")]
    CryptoCreate(CryptoCreateBody),
    #[prost(message, tag = "9")]
    CryptoTransfer(CryptoTransferBody),
    #[prost(message, tag = "10")]
    CryptoUpdate(CryptoUpdateBody),
    #[prost(message, tag = "18")]
    CreateTopic(CreateTopicBody),
    #[prost(message, tag = "19")]
    UpdateTopic(UpdateTopicBody),
    #[prost(message, tag = "20")]
    DeleteTopic(DeleteTopicBody),
    #[prost(message, tag = "21")]
    SubmitMessage(SubmitMessageBody),
    #[prost(message, tag = "34")]
    ScheduleDelete(ScheduleDeleteBody),
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ScheduleCreateBody {
    #[prost(message, optional, tag = "1")]
    pub scheduled: Option<SchedulableBody>,
    #[prost(string, tag = "2")]
    pub memo: String,
    #[prost(message, optional, tag = "3")]
    pub admin_key: Option<Key>,
    #[prost(message, optional, tag = "4")]
    pub payer_account_id: Option<AccountId>,
    #[prost(message, optional, tag = "5")]
    pub expiration_time: Option<Timestamp>,
    #[prost(bool, tag = "13")]
    pub wait_for_expiry: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct ScheduleSignBody {
    #[prost(message, optional, tag = "1")]
    pub schedule_id: Option<ScheduleId>,
}

#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct ScheduleDeleteBody {
    #[prost(message, optional, tag = "1")]
    pub schedule_id: Option<ScheduleId>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ScheduleInfo {
    #[prost(message, optional, tag = "1")]
    pub schedule_id: Option<ScheduleId>,
    #[prost(oneof = "ScheduleEnd", tags = "2, 3")]
    pub end: Option<ScheduleEnd>,
    #[prost(message, optional, tag = "4")]
    pub expiration_time: Option<Timestamp>,
    #[prost(message, optional, tag = "5")]
    pub scheduled: Option<SchedulableBody>,
    #[prost(string, tag = "6")]
    pub memo: String,
    #[prost(message, optional, tag = "7")]
    pub admin_key: Option<Key>,
    #[prost(message, optional, tag = "8")]
    pub signers: Option<KeyList>,
    #[prost(message, optional, tag = "9")]
    pub creator_account_id: Option<AccountId>,
    #[prost(message, optional, tag = "10")]
    pub payer_account_id: Option<AccountId>,
    #[prost(message, optional, tag = "11")]
    pub scheduled_transaction_id: Option<TransactionId>,
    #[prost(bytes = "vec", tag = "12")]
    pub ledger_id: Vec<u8>,
    #[prost(bool, tag = "13")]
    pub wait_for_expiry: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, prost::Oneof)]
pub enum ScheduleEnd {
    #[prost(message, tag = "2")]
    Deleted(Timestamp),
    #[prost(message, tag = "3")]
    Executed(Timestamp),
}
