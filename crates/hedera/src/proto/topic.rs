//! Topics, their messages and their fees; what a mirror streams of them.

use super::{
    AccountId, Duration, FileId, Key, StringValue, Timestamp, TokenId, TopicId, TransactionId,
};

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct CreateTopicBody {
    #[prost(string, tag = "1")]
    pub memo: String,
    #[prost(message, optional, tag = "2")]
    pub admin_key: Option<Key>,
    #[prost(message, optional, tag = "3")]
    pub submit_key: Option<Key>,
    #[prost(message, optional, tag = "6")]
    pub auto_renew_period: Option<Duration>,
    #[prost(message, optional, tag = "7")]
    pub auto_renew_account: Option<AccountId>,
    #[prost(message, optional, tag = "8")]
    pub fee_schedule_key: Option<Key>,
    #[prost(message, repeated, tag = "9")]
    pub fee_exempt_key_list: Vec<Key>,
    #[prost(message, repeated, tag = "10")]
    pub custom_fees: Vec<FixedCustomFee>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct UpdateTopicBody {
    #[prost(message, optional, tag = "1")]
    pub topic_id: Option<TopicId>,
    #[prost(message, optional, tag = "2")]
    pub memo: Option<StringValue>,
    #[prost(message, optional, tag = "4")]
    pub expiration_time: Option<Timestamp>,
    #[prost(message, optional, tag = "6")]
    pub admin_key: Option<Key>,
    #[prost(message, optional, tag = "7")]
    pub submit_key: Option<Key>,
    #[prost(message, optional, tag = "8")]
    pub auto_renew_period: Option<Duration>,
    #[prost(message, optional, tag = "9")]
    pub auto_renew_account: Option<AccountId>,
    #[prost(message, optional, tag = "10")]
    pub fee_schedule_key: Option<Key>,
    #[prost(message, optional, tag = "11")]
    pub fee_exempt_key_list: Option<FeeExemptKeyList>,
    #[prost(message, optional, tag = "12")]
    pub custom_fees: Option<FixedCustomFeeList>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct DeleteTopicBody {
    #[prost(message, optional, tag = "1")]
    pub topic_id: Option<TopicId>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ChunkInfo {
    #[prost(message, optional, tag = "1")]
    pub initial_transaction_id: Option<TransactionId>,
    #[prost(int32, tag = "2")]
    pub total: i32,
    #[prost(int32, tag = "3")]
    pub number: i32,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct SubmitMessageBody {
    #[prost(message, optional, tag = "1")]
    pub topic_id: Option<TopicId>,
    #[prost(bytes = "vec", tag = "2")]
    pub message: Vec<u8>,
    #[prost(message, optional, tag = "3")]
    pub chunk_info: Option<ChunkInfo>,
}

#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct FixedFee {
    #[prost(int64, tag = "1")]
    pub amount: i64,
    #[prost(message, optional, tag = "2")]
    pub denominating_token_id: Option<TokenId>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct FixedCustomFee {
    #[prost(message, optional, tag = "1")]
    pub fixed_fee: Option<FixedFee>,
    #[prost(message, optional, tag = "2")]
    pub fee_collector_account_id: Option<AccountId>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct FixedCustomFeeList {
    #[prost(message, repeated, tag = "1")]
    pub fees: Vec<FixedCustomFee>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct FeeExemptKeyList {
    #[prost(message, repeated, tag = "1")]
    pub keys: Vec<Key>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct CustomFeeLimit {
    #[prost(message, optional, tag = "1")]
    pub account_id: Option<AccountId>,
    #[prost(message, repeated, tag = "2")]
    pub fees: Vec<FixedFee>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct TopicInfo {
    #[prost(string, tag = "1")]
    pub memo: String,
    #[prost(bytes = "vec", tag = "2")]
    pub running_hash: Vec<u8>,
    #[prost(uint64, tag = "3")]
    pub sequence_number: u64,
    #[prost(message, optional, tag = "4")]
    pub expiration_time: Option<Timestamp>,
    #[prost(message, optional, tag = "5")]
    pub admin_key: Option<Key>,
    #[prost(message, optional, tag = "6")]
    pub submit_key: Option<Key>,
    #[prost(message, optional, tag = "7")]
    pub auto_renew_period: Option<Duration>,
    #[prost(message, optional, tag = "8")]
    pub auto_renew_account: Option<AccountId>,
    #[prost(bytes = "vec", tag = "9")]
    pub ledger_id: Vec<u8>,
    #[prost(message, optional, tag = "10")]
    pub fee_schedule_key: Option<Key>,
    #[prost(message, repeated, tag = "11")]
    pub fee_exempt_key_list: Vec<Key>,
    #[prost(message, repeated, tag = "12")]
    pub custom_fees: Vec<FixedCustomFee>,
}

/// What a mirror is asked for when it streams a topic.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct TopicQuery {
    #[prost(message, optional, tag = "1")]
    pub topic_id: Option<TopicId>,
    #[prost(message, optional, tag = "2")]
    pub consensus_start_time: Option<Timestamp>,
    #[prost(message, optional, tag = "3")]
    pub consensus_end_time: Option<Timestamp>,
    #[prost(uint64, tag = "4")]
    pub limit: u64,
}

/// One message as a mirror streams it.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct TopicResponse {
    #[prost(message, optional, tag = "1")]
    pub consensus_timestamp: Option<Timestamp>,
    #[prost(bytes = "vec", tag = "2")]
    pub message: Vec<u8>,
    #[prost(bytes = "vec", tag = "3")]
    pub running_hash: Vec<u8>,
    #[prost(uint64, tag = "4")]
    pub sequence_number: u64,
    #[prost(uint64, tag = "5")]
    pub running_hash_version: u64,
    #[prost(message, optional, tag = "6")]
    pub chunk_info: Option<ChunkInfo>,
}

/// What a mirror is asked for when it lists the nodes.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct AddressBookQuery {
    #[prost(message, optional, tag = "1")]
    pub file_id: Option<FileId>,
    #[prost(int32, tag = "2")]
    pub limit: i32,
}
