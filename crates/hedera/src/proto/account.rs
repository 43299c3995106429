//! Accounts and transfers.

use super::{
    AccountId, BoolValue, Duration, Int32Value, Key, StringValue, Timestamp, TokenTransferList,
    TransferList,
};

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct CryptoCreateBody {
    #[prost(message, optional, tag = "1")]
    pub key: Option<Key>,
    #[prost(uint64, tag = "2")]
    pub initial_balance: u64,
    #[prost(uint64, tag = "6")]
    pub send_record_threshold: u64,
    #[prost(uint64, tag = "7")]
    pub receive_record_threshold: u64,
    #[prost(bool, tag = "8")]
    pub receiver_sig_required: bool,
    #[prost(message, optional, tag = "9")]
    pub auto_renew_period: Option<Duration>,
    #[prost(string, tag = "13")]
    pub memo: String,
    #[prost(int32, tag = "14")]
    pub max_automatic_token_associations: i32,
    #[prost(oneof = "StakedId", tags = "15, 16")]
    pub staked_id: Option<StakedId>,
    #[prost(bool, tag = "17")]
    pub decline_reward: bool,
    #[prost(bytes = "vec", tag = "18")]
    pub alias: Vec<u8>,
}

#[derive(Clone, PartialEq, Eq, prost::Oneof)]
pub enum StakedId {
    #[prost(message, tag = "15")]
    Account(AccountId),
    #[prost(int64, tag = "16")]
    Node(i64),
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct CryptoUpdateBody {
    #[prost(message, optional, tag = "2")]
    pub account_id: Option<AccountId>,
    #[prost(message, optional, tag = "3")]
    pub key: Option<Key>,
    #[prost(message, optional, tag = "8")]
    pub auto_renew_period: Option<Duration>,
    #[prost(message, optional, tag = "9")]
    pub expiration_time: Option<Timestamp>,
    #[prost(message, optional, tag = "13")]
    pub receiver_sig_required: Option<BoolValue>,
    #[prost(message, optional, tag = "14")]
    pub memo: Option<StringValue>,
    #[prost(message, optional, tag = "15")]
    pub max_automatic_token_associations: Option<Int32Value>,
    #[prost(message, optional, tag = "18")]
    pub decline_reward: Option<BoolValue>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct CryptoTransferBody {
    #[prost(message, optional, tag = "1")]
    pub transfers: Option<TransferList>,
    #[prost(message, repeated, tag = "2")]
    pub token_transfers: Vec<TokenTransferList>,
}
