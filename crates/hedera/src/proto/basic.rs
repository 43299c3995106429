//! Ids, keys, times, amounts.

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Message)]
pub struct Timestamp {
    #[prost(int64, tag = "1")]
    pub seconds: i64,
    #[prost(int32, tag = "2")]
    pub nanos: i32,
}

#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct TimestampSeconds {
    #[prost(int64, tag = "1")]
    pub seconds: i64,
}

#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct Duration {
    #[prost(int64, tag = "1")]
    pub seconds: i64,
}

#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct AccountId {
    #[prost(int64, tag = "1")]
    pub shard: i64,
    #[prost(int64, tag = "2")]
    pub realm: i64,
    #[prost(oneof = "AccountIdKind", tags = "3, 4")]
    pub account: Option<AccountIdKind>,
}

#[derive(Clone, PartialEq, Eq, Hash, prost::Oneof)]
pub enum AccountIdKind {
    #[prost(int64, tag = "3")]
    Num(i64),
    #[prost(bytes, tag = "4")]
    Alias(Vec<u8>),
}

impl AccountId {
    /// The account with this number, in the only shard and realm that there is.
    pub fn of(num: i64) -> Self {
        AccountId {
            shard: 0,
            realm: 0,
            account: Some(AccountIdKind::Num(num)),
        }
    }

    /// Its number; nothing when it is named by an alias or lies elsewhere.
    pub fn num(&self) -> Option<i64> {
        match self.account {
            Some(AccountIdKind::Num(num)) if (self.shard, self.realm) == (0, 0) => Some(num),
            _ => None,
        }
    }
}

/// An id of three numbers.
macro_rules! entity_id {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        $($(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, prost::Message)]
        pub struct $name {
            #[prost(int64, tag = "1")]
            pub shard: i64,
            #[prost(int64, tag = "2")]
            pub realm: i64,
            #[prost(int64, tag = "3")]
            pub num: i64,
        }

        impl $name {
            /// The one with this number, in the only shard and realm that there is.
            pub fn of(num: i64) -> Self {
                $name { shard: 0, realm: 0, num }
            }
        })*
    };
}

entity_id! {
    TopicId,
    ScheduleId,
    TokenId,
    FileId,
}

#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct ContractId {
    #[prost(int64, tag = "1")]
    pub shard: i64,
    #[prost(int64, tag = "2")]
    pub realm: i64,
    #[prost(int64, optional, tag = "3")]
    pub num: Option<i64>,
    #[prost(bytes, optional, tag = "4")]
    pub evm_address: Option<Vec<u8>>,
}

#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct TransactionId {
    #[prost(message, optional, tag = "1")]
    pub valid_start: Option<Timestamp>,
    #[prost(message, optional, tag = "2")]
    pub account_id: Option<AccountId>,
    #[prost(bool, tag = "3")]
    pub scheduled: bool,
    #[prost(int32, tag = "4")]
    pub nonce: i32,
}

#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct Key {
    #[prost(oneof = "KeyKind", tags = "1, 2, 3, 4, 5, 6, 7, 8")]
    pub key: Option<KeyKind>,
}

#[derive(Clone, PartialEq, Eq, Hash, prost::Oneof)]
pub enum KeyKind {
    #[prost(message, tag = "1")]
    Contract(ContractId),
    #[prost(bytes, tag = "2")]
    Ed25519(Vec<u8>),
    #[prost(bytes, tag = "3")]
    Rsa3072(Vec<u8>),
    #[prost(bytes, tag = "4")]
    Ecdsa384(Vec<u8>),
    #[prost(message, tag = "5")]
    Threshold(ThresholdKey),
    #[prost(message, tag = "6")]
    List(KeyList),
    #[prost(bytes, tag = "7")]
    EcdsaSecp256k1(Vec<u8>),
    #[prost(message, tag = "8")]
    DelegatableContract(ContractId),
}

#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct ThresholdKey {
    #[prost(uint32, tag = "1")]
    pub threshold: u32,
    #[prost(message, optional, tag = "2")]
    pub keys: Option<KeyList>,
}

#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct KeyList {
    #[prost(message, repeated, tag = "1")]
    pub keys: Vec<Key>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct SignaturePair {
    #[prost(bytes = "vec", tag = "1")]
    pub pub_key_prefix: Vec<u8>,
    #[prost(oneof = "SignatureKind", tags = "2, 3, 4, 5, 6")]
    pub signature: Option<SignatureKind>,
}

#[derive(Clone, PartialEq, Eq, prost::Oneof)]
pub enum SignatureKind {
    #[prost(bytes, tag = "2")]
    Contract(Vec<u8>),
    #[prost(bytes, tag = "3")]
    Ed25519(Vec<u8>),
    #[prost(bytes, tag = "4")]
    Rsa3072(Vec<u8>),
    #[prost(bytes, tag = "5")]
    Ecdsa384(Vec<u8>),
    #[prost(bytes, tag = "6")]
    EcdsaSecp256k1(Vec<u8>),
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct SignatureMap {
    #[prost(message, repeated, tag = "1")]
    pub pairs: Vec<SignaturePair>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct AccountAmount {
    #[prost(message, optional, tag = "1")]
    pub account_id: Option<AccountId>,
    #[prost(sint64, tag = "2")]
    pub amount: i64,
    #[prost(bool, tag = "3")]
    pub is_approval: bool,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct TransferList {
    #[prost(message, repeated, tag = "1")]
    pub amounts: Vec<AccountAmount>,
}

/// Transfers of tokens: that there are some is all that is known of them.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct TokenTransferList {
    #[prost(message, optional, tag = "1")]
    pub token: Option<TokenId>,
    #[prost(message, repeated, tag = "2")]
    pub transfers: Vec<AccountAmount>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ServiceEndpoint {
    #[prost(bytes = "vec", tag = "1")]
    pub ip_address_v4: Vec<u8>,
    #[prost(int32, tag = "2")]
    pub port: i32,
    #[prost(string, tag = "3")]
    pub domain_name: String,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct NodeAddress {
    #[prost(string, tag = "4")]
    pub rsa_pub_key: String,
    #[prost(int64, tag = "5")]
    pub node_id: i64,
    #[prost(message, optional, tag = "6")]
    pub node_account_id: Option<AccountId>,
    #[prost(bytes = "vec", tag = "7")]
    pub node_cert_hash: Vec<u8>,
    #[prost(message, repeated, tag = "8")]
    pub service_endpoint: Vec<ServiceEndpoint>,
    #[prost(string, tag = "9")]
    pub description: String,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct SemanticVersion {
    #[prost(int32, tag = "1")]
    pub major: i32,
    #[prost(int32, tag = "2")]
    pub minor: i32,
    #[prost(int32, tag = "3")]
    pub patch: i32,
    #[prost(string, tag = "4")]
    pub pre: String,
    #[prost(string, tag = "5")]
    pub build: String,
}

#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct ExchangeRate {
    #[prost(int32, tag = "1")]
    pub hbar_equiv: i32,
    #[prost(int32, tag = "2")]
    pub cent_equiv: i32,
    #[prost(message, optional, tag = "3")]
    pub expiration_time: Option<TimestampSeconds>,
}

#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct ExchangeRateSet {
    #[prost(message, optional, tag = "1")]
    pub current_rate: Option<ExchangeRate>,
    #[prost(message, optional, tag = "2")]
    pub next_rate: Option<ExchangeRate>,
}

/// A value that may be there and empty, which is not the same as not being there.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct StringValue {
    #[prost(string, tag = "1")]
    pub value: String,
}

#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct BoolValue {
    #[prost(bool, tag = "1")]
    pub value: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct Int32Value {
    #[prost(int32, tag = "1")]
    pub value: i32,
}
