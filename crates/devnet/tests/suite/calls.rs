//! Every call of the services' list: what the devnet does not do is refused as a node refuses it, and never with OK.

use bytes::Bytes;
use inbox_hedera::grpc::{CallError, framed, framed_bytes};
use inbox_hedera::proto::{
    AccountId, AddressBookQuery, Code, NodeAddress, ResponseHeader, TransactionResponse,
};
use prost::Message;

use crate::net::message;
use crate::ports::Client;

/// Calls that take a transaction, by their service, and whether it is carried out here.
const TRANSACTIONS: &[(&str, &[&str], &[&str])] = &[
    (
        "AddressBookService",
        &[],
        &[
            "createNode",
            "deleteNode",
            "updateNode",
            "createRegisteredNode",
            "deleteRegisteredNode",
            "updateRegisteredNode",
        ],
    ),
    (
        "ConsensusService",
        &["createTopic", "updateTopic", "deleteTopic", "submitMessage"],
        &[],
    ),
    (
        "CryptoService",
        &["createAccount", "updateAccount", "cryptoTransfer"],
        &[
            "cryptoDelete",
            "approveAllowances",
            "deleteAllowances",
            "addLiveHash",
            "deleteLiveHash",
        ],
    ),
    (
        "FileService",
        &[],
        &[
            "createFile",
            "updateFile",
            "deleteFile",
            "appendContent",
            "systemDelete",
            "systemUndelete",
        ],
    ),
    ("FreezeService", &[], &["freeze"]),
    ("NetworkService", &[], &["uncheckedSubmit"]),
    (
        "ScheduleService",
        &["createSchedule", "signSchedule", "deleteSchedule"],
        &[],
    ),
    (
        "SmartContractService",
        &[],
        &[
            "createContract",
            "updateContract",
            "contractCallMethod",
            "deleteContract",
            "systemDelete",
            "systemUndelete",
            "callEthereum",
            "hookStore",
            "lambdaSStore",
        ],
    ),
    (
        "TokenService",
        &[],
        &[
            "createToken",
            "updateToken",
            "mintToken",
            "burnToken",
            "deleteToken",
            "wipeTokenAccount",
            "freezeTokenAccount",
            "unfreezeTokenAccount",
            "grantKycToTokenAccount",
            "revokeKycFromTokenAccount",
            "associateTokens",
            "dissociateTokens",
            "updateTokenFeeSchedule",
            "pauseToken",
            "unpauseToken",
            "updateNfts",
            "rejectToken",
            "airdropTokens",
            "cancelAirdrop",
            "claimAirdrop",
        ],
    ),
    ("UtilService", &[], &["prng", "atomicBatch"]),
];

/// Calls that ask: the number of the question's field, and whether it is answered here.
const QUERIES: &[(&str, u32, bool)] = &[
    ("SmartContractService/getBySolidityID", 2, false),
    ("SmartContractService/contractCallLocalMethod", 3, false),
    ("SmartContractService/getContractInfo", 4, false),
    ("SmartContractService/ContractGetBytecode", 5, false),
    ("SmartContractService/getTxRecordByContractID", 6, false),
    ("CryptoService/cryptoGetBalance", 7, true),
    ("CryptoService/getAccountRecords", 8, false),
    ("CryptoService/getAccountInfo", 9, true),
    ("CryptoService/getLiveHash", 10, false),
    ("CryptoService/getStakersByAccountID", 11, false),
    ("FileService/getFileContent", 12, false),
    ("FileService/getFileInfo", 13, false),
    ("CryptoService/getTransactionReceipts", 14, true),
    ("CryptoService/getTxRecordByTxID", 15, true),
    ("CryptoService/getFastTransactionRecord", 16, false),
    ("ConsensusService/getTopicInfo", 50, true),
    ("NetworkService/getVersionInfo", 51, true),
    ("TokenService/getTokenInfo", 52, false),
    ("ScheduleService/getScheduleInfo", 53, true),
    ("TokenService/getAccountNftInfos", 54, false),
    ("TokenService/getTokenNftInfo", 55, false),
    ("TokenService/getTokenNftInfos", 56, false),
    ("NetworkService/getExecutionTime", 57, false),
    ("NetworkService/getAccountDetails", 58, false),
];

/// The message in the first field of another, and the number of the field.
fn first(mut bytes: &[u8]) -> (u32, Vec<u8>) {
    let (field, kind) = prost::encoding::decode_key(&mut bytes).unwrap();
    assert_eq!(kind, prost::encoding::WireType::LengthDelimited);
    let length = prost::encoding::decode_varint(&mut bytes).unwrap();
    let length = usize::try_from(length).unwrap();
    (field, bytes[..length].to_vec())
}

/// The code in the header of an answer to a question of this number.
fn code(answer: &Bytes, question: u32) -> Code {
    let (field, inner) = first(answer);
    let wanted = if question < 50 {
        question
    } else {
        question + 100
    };
    assert_eq!(field, wanted);
    let (field, header) = first(&inner);
    assert_eq!(field, 1);
    let header = ResponseHeader::decode(header.as_slice()).unwrap();
    header.precheck_code.into()
}

#[tokio::test]
async fn a_transaction_of_another_kind_is_not_supported_whatever_is_in_it() {
    let mut client = Client::start().await;
    let topic = client.topic().await;
    for (service, ours, others) in TRANSACTIONS {
        let nothing = framed_bytes(b"");
        for name in *ours {
            let path = format!("/proto.{service}/{name}");
            let answer = client.node.call(&path, nothing.clone()).await.unwrap();
            let code = TransactionResponse::decode(answer).unwrap().precheck_code;
            let code = Code::from(code);
            assert!(
                !matches!(code, Code::Ok | Code::NotSupported),
                "{path}: {code}"
            );
        }
        for name in *others {
            let path = format!("/proto.{service}/{name}");
            // Even one that would be carried out elsewhere.
            let good = client.signed(message(topic, "hello"));
            for bytes in [nothing.clone(), good] {
                let answer = client.node.call(&path, bytes).await.unwrap();
                let code = TransactionResponse::decode(answer).unwrap().precheck_code;
                assert_eq!(Code::from(code), Code::NotSupported, "{path}");
            }
        }
    }
    let receipt = client
        .run("/proto.ConsensusService/submitMessage", message(topic, "1"))
        .await;
    assert_eq!(receipt.topic_sequence_number, 1);
}

#[tokio::test]
async fn a_question_of_another_kind_is_not_supported_and_one_of_ours_needs_what_it_asks_for() {
    let client = Client::start().await;
    for (name, field, is_ours) in QUERIES {
        let mut query = Vec::new();
        prost::encoding::bytes::encode(*field, &Vec::<u8>::new(), &mut query);
        // An empty message is written, too.
        assert!(!query.is_empty());
        let path = format!("/proto.{name}");
        let answer = client.node.call(&path, framed_bytes(&query)).await.unwrap();
        let code = code(&answer, *field);
        assert_ne!(code, Code::Ok, "{path}");
        assert_eq!(code == Code::NotSupported, !is_ours, "{path}: {code}");
    }
    for path in ["/proto.CryptoService/nothing", "/proto.Nothing/x", "/x"] {
        let refused = client.node.call(path, framed_bytes(b"")).await.unwrap_err();
        assert!(
            matches!(refused, CallError::Status { code: 12, .. }),
            "{path}: {refused}"
        );
    }
}

#[tokio::test]
async fn the_address_book_has_the_node_where_it_is() {
    let client = Client::start().await;
    let path = "/com.hedera.mirror.api.proto.NetworkService/getNodes";
    let query = framed(&AddressBookQuery::default());
    let mut stream = client.mirror.stream(path, query).await.unwrap();
    let node = NodeAddress::decode(stream.next().await.unwrap().unwrap()).unwrap();
    assert_eq!(node.node_account_id, Some(AccountId::of(3)));
    let at = &node.service_endpoint[0];
    let port = client.node.address().rsplit_once(':').unwrap().1;
    assert_eq!(at.ip_address_v4, [127, 0, 0, 1]);
    assert_eq!(at.port.to_string(), port);
    assert_eq!(stream.next().await.unwrap(), None);
}
