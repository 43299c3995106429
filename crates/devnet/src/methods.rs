//! Every call that Hedera's nodes and mirrors take, so that what the devnet does not do is refused as a node refuses it.

/// What a call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    /// A transaction that is carried out.
    Transaction,
    /// A question that is answered.
    Query,
    /// A question for a receipt.
    Receipt,
    /// A transaction of a kind that is not known here.
    OtherTransaction,
    /// A question that is not answered here: the number of its field in an answer.
    OtherQuery(u32),
    /// The mirror's stream of a topic.
    Subscribe,
    /// The mirror's address book.
    Nodes,
}

/// What the call with this path is; nothing when no node has it.
pub(crate) fn method(path: &str) -> Option<Method> {
    let (service, name) = path.strip_prefix('/')?.split_once('/')?;
    match service {
        "com.hedera.mirror.api.proto.ConsensusService" => {
            (name == "subscribeTopic").then_some(Method::Subscribe)
        }
        "com.hedera.mirror.api.proto.NetworkService" => {
            (name == "getNodes").then_some(Method::Nodes)
        }
        _ => of_node(service.strip_prefix("proto.")?, name),
    }
}

fn of_node(service: &str, name: &str) -> Option<Method> {
    use Method::{OtherQuery, OtherTransaction, Query, Receipt, Transaction};
    Some(match (service, name) {
        ("ConsensusService", "createTopic" | "updateTopic" | "deleteTopic" | "submitMessage")
        | ("CryptoService", "createAccount" | "updateAccount" | "cryptoTransfer")
        | ("ScheduleService", "createSchedule" | "signSchedule" | "deleteSchedule") => Transaction,
        ("CryptoService", "getTransactionReceipts") => Receipt,
        ("ConsensusService", "getTopicInfo")
        | ("CryptoService", "cryptoGetBalance" | "getAccountInfo" | "getTxRecordByTxID")
        | ("ScheduleService", "getScheduleInfo")
        | ("NetworkService", "getVersionInfo") => Query,
        ("CryptoService", "getAccountRecords") => OtherQuery(8),
        ("CryptoService", "getLiveHash") => OtherQuery(10),
        ("CryptoService", "getStakersByAccountID") => OtherQuery(11),
        ("CryptoService", "getFastTransactionRecord") => OtherQuery(16),
        ("FileService", "getFileContent") => OtherQuery(12),
        ("FileService", "getFileInfo") => OtherQuery(13),
        ("NetworkService", "getExecutionTime") => OtherQuery(157),
        ("NetworkService", "getAccountDetails") => OtherQuery(158),
        ("SmartContractService", "getBySolidityID") => OtherQuery(2),
        ("SmartContractService", "contractCallLocalMethod") => OtherQuery(3),
        ("SmartContractService", "getContractInfo") => OtherQuery(4),
        ("SmartContractService", "ContractGetBytecode") => OtherQuery(5),
        ("SmartContractService", "getTxRecordByContractID") => OtherQuery(6),
        ("TokenService", "getTokenInfo") => OtherQuery(152),
        ("TokenService", "getAccountNftInfos") => OtherQuery(154),
        ("TokenService", "getTokenNftInfo") => OtherQuery(155),
        ("TokenService", "getTokenNftInfos") => OtherQuery(156),
        (service, name) if OTHERS.contains(&(service, name)) => OtherTransaction,
        _ => return None,
    })
}

/// The transactions of other kinds.
const OTHERS: &[(&str, &str)] = &[
    ("AddressBookService", "createNode"),
    ("AddressBookService", "createRegisteredNode"),
    ("AddressBookService", "deleteNode"),
    ("AddressBookService", "deleteRegisteredNode"),
    ("AddressBookService", "updateNode"),
    ("AddressBookService", "updateRegisteredNode"),
    ("CryptoService", "addLiveHash"),
    ("CryptoService", "approveAllowances"),
    ("CryptoService", "cryptoDelete"),
    ("CryptoService", "deleteAllowances"),
    ("CryptoService", "deleteLiveHash"),
    ("FileService", "appendContent"),
    ("FileService", "createFile"),
    ("FileService", "deleteFile"),
    ("FileService", "systemDelete"),
    ("FileService", "systemUndelete"),
    ("FileService", "updateFile"),
    ("FreezeService", "freeze"),
    ("NetworkService", "uncheckedSubmit"),
    ("SmartContractService", "callEthereum"),
    ("SmartContractService", "contractCallMethod"),
    ("SmartContractService", "createContract"),
    ("SmartContractService", "deleteContract"),
    ("SmartContractService", "hookStore"),
    ("SmartContractService", "lambdaSStore"),
    ("SmartContractService", "systemDelete"),
    ("SmartContractService", "systemUndelete"),
    ("SmartContractService", "updateContract"),
    ("TokenService", "airdropTokens"),
    ("TokenService", "associateTokens"),
    ("TokenService", "burnToken"),
    ("TokenService", "cancelAirdrop"),
    ("TokenService", "claimAirdrop"),
    ("TokenService", "createToken"),
    ("TokenService", "deleteToken"),
    ("TokenService", "dissociateTokens"),
    ("TokenService", "freezeTokenAccount"),
    ("TokenService", "grantKycToTokenAccount"),
    ("TokenService", "mintToken"),
    ("TokenService", "pauseToken"),
    ("TokenService", "rejectToken"),
    ("TokenService", "revokeKycFromTokenAccount"),
    ("TokenService", "unfreezeTokenAccount"),
    ("TokenService", "unpauseToken"),
    ("TokenService", "updateNfts"),
    ("TokenService", "updateToken"),
    ("TokenService", "updateTokenFeeSchedule"),
    ("TokenService", "wipeTokenAccount"),
    ("UtilService", "atomicBatch"),
    ("UtilService", "prng"),
];
