//! How a node answers, and what came of a transaction.

use std::fmt;

macro_rules! codes {
    ($($code:ident = $number:literal $name:literal,)*) => {
        /// A response code: those that accounts, topics and schedules meet.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code {
            $(#[doc = $name] $code,)*
            /// Another one, by its number.
            Other(i32),
        }

        impl Code {
            /// Its number on the wire.
            pub fn number(self) -> i32 {
                match self {
                    $(Code::$code => $number,)*
                    Code::Other(number) => number,
                }
            }
        }

        impl From<i32> for Code {
            fn from(number: i32) -> Self {
                match number {
                    $($number => Code::$code,)*
                    other => Code::Other(other),
                }
            }
        }

        impl fmt::Display for Code {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Code::$code => f.write_str($name),)*
                    Code::Other(number) => write!(f, "response code {number}"),
                }
            }
        }
    };
}

codes! {
    Ok = 0 "OK",
    InvalidTransaction = 1 "INVALID_TRANSACTION",
    PayerAccountNotFound = 2 "PAYER_ACCOUNT_NOT_FOUND",
    InvalidNodeAccount = 3 "INVALID_NODE_ACCOUNT",
    TransactionExpired = 4 "TRANSACTION_EXPIRED",
    InvalidTransactionStart = 5 "INVALID_TRANSACTION_START",
    InvalidTransactionDuration = 6 "INVALID_TRANSACTION_DURATION",
    InvalidSignature = 7 "INVALID_SIGNATURE",
    MemoTooLong = 8 "MEMO_TOO_LONG",
    InsufficientTxFee = 9 "INSUFFICIENT_TX_FEE",
    InsufficientPayerBalance = 10 "INSUFFICIENT_PAYER_BALANCE",
    DuplicateTransaction = 11 "DUPLICATE_TRANSACTION",
    Busy = 12 "BUSY",
    NotSupported = 13 "NOT_SUPPORTED",
    InvalidAccountId = 15 "INVALID_ACCOUNT_ID",
    InvalidTransactionId = 17 "INVALID_TRANSACTION_ID",
    ReceiptNotFound = 18 "RECEIPT_NOT_FOUND",
    RecordNotFound = 19 "RECORD_NOT_FOUND",
    Unknown = 21 "UNKNOWN",
    Success = 22 "SUCCESS",
    FailInvalid = 23 "FAIL_INVALID",
    FailFee = 24 "FAIL_FEE",
    FailBalance = 25 "FAIL_BALANCE",
    KeyRequired = 26 "KEY_REQUIRED",
    BadEncoding = 27 "BAD_ENCODING",
    InsufficientAccountBalance = 28 "INSUFFICIENT_ACCOUNT_BALANCE",
    LocalCallModificationException = 32 "LOCAL_CALL_MODIFICATION_EXCEPTION",
    InvalidReceivingNodeAccount = 35 "INVALID_RECEIVING_NODE_ACCOUNT",
    MissingQueryHeader = 36 "MISSING_QUERY_HEADER",
    AccountUpdateFailed = 37 "ACCOUNT_UPDATE_FAILED",
    InvalidKeyEncoding = 38 "INVALID_KEY_ENCODING",
    InvalidQueryHeader = 41 "INVALID_QUERY_HEADER",
    InvalidFeeSubmitted = 42 "INVALID_FEE_SUBMITTED",
    InvalidPayerSignature = 43 "INVALID_PAYER_SIGNATURE",
    KeyNotProvided = 44 "KEY_NOT_PROVIDED",
    InvalidExpirationTime = 45 "INVALID_EXPIRATION_TIME",
    InvalidAccountAmounts = 48 "INVALID_ACCOUNT_AMOUNTS",
    EmptyTransactionBody = 49 "EMPTY_TRANSACTION_BODY",
    InvalidTransactionBody = 50 "INVALID_TRANSACTION_BODY",
    InvalidSignatureTypeMismatchingKey = 51 "INVALID_SIGNATURE_TYPE_MISMATCHING_KEY",
    InvalidSignatureCountMismatchingKey = 52 "INVALID_SIGNATURE_COUNT_MISMATCHING_KEY",
    EmptyQueryBody = 57 "EMPTY_QUERY_BODY",
    AccountIdDoesNotExist = 60 "ACCOUNT_ID_DOES_NOT_EXIST",
    TransactionOversize = 64 "TRANSACTION_OVERSIZE",
    TransactionTooManyLayers = 65 "TRANSACTION_TOO_MANY_LAYERS",
    PlatformNotActive = 67 "PLATFORM_NOT_ACTIVE",
    KeyPrefixMismatch = 68 "KEY_PREFIX_MISMATCH",
    PlatformTransactionNotCreated = 69 "PLATFORM_TRANSACTION_NOT_CREATED",
    InvalidRenewalPeriod = 70 "INVALID_RENEWAL_PERIOD",
    InvalidPayerAccountId = 71 "INVALID_PAYER_ACCOUNT_ID",
    AccountDeleted = 72 "ACCOUNT_DELETED",
    AccountRepeatedInAccountAmounts = 74 "ACCOUNT_REPEATED_IN_ACCOUNT_AMOUNTS",
    SettingNegativeAccountBalance = 75 "SETTING_NEGATIVE_ACCOUNT_BALANCE",
    AutorenewDurationNotInRange = 81 "AUTORENEW_DURATION_NOT_IN_RANGE",
    InvalidInitialBalance = 85 "INVALID_INITIAL_BALANCE",
    InvalidReceiveRecordThreshold = 86 "INVALID_RECEIVE_RECORD_THRESHOLD",
    InvalidSendRecordThreshold = 87 "INVALID_SEND_RECORD_THRESHOLD",
    PayerAccountUnauthorized = 89 "PAYER_ACCOUNT_UNAUTHORIZED",
    TransferListSizeLimitExceeded = 92 "TRANSFER_LIST_SIZE_LIMIT_EXCEEDED",
    ResultSizeLimitExceeded = 93 "RESULT_SIZE_LIMIT_EXCEEDED",
    EntityNotAllowedToDelete = 100 "ENTITY_NOT_ALLOWED_TO_DELETE",
    AuthorizationFailed = 101 "AUTHORIZATION_FAILED",
    TransferAccountSameAsDeleteAccount = 107 "TRANSFER_ACCOUNT_SAME_AS_DELETE_ACCOUNT",
    TotalLedgerBalanceInvalid = 108 "TOTAL_LEDGER_BALANCE_INVALID",
    ExpirationReductionNotAllowed = 110 "EXPIRATION_REDUCTION_NOT_ALLOWED",
    ReceiverSigRequired = 113 "RECEIVER_SIG_REQUIRED",
    InvalidTopicId = 150 "INVALID_TOPIC_ID",
    InvalidAdminKey = 155 "INVALID_ADMIN_KEY",
    InvalidSubmitKey = 156 "INVALID_SUBMIT_KEY",
    Unauthorized = 157 "UNAUTHORIZED",
    InvalidTopicMessage = 158 "INVALID_TOPIC_MESSAGE",
    InvalidAutorenewAccount = 159 "INVALID_AUTORENEW_ACCOUNT",
    AutorenewAccountNotAllowed = 160 "AUTORENEW_ACCOUNT_NOT_ALLOWED",
    TopicExpired = 162 "TOPIC_EXPIRED",
    InvalidChunkNumber = 163 "INVALID_CHUNK_NUMBER",
    InvalidChunkTransactionId = 164 "INVALID_CHUNK_TRANSACTION_ID",
    InvalidScheduleId = 201 "INVALID_SCHEDULE_ID",
    ScheduleIsImmutable = 202 "SCHEDULE_IS_IMMUTABLE",
    InvalidSchedulePayerId = 203 "INVALID_SCHEDULE_PAYER_ID",
    InvalidScheduleAccountId = 204 "INVALID_SCHEDULE_ACCOUNT_ID",
    NoNewValidSignatures = 205 "NO_NEW_VALID_SIGNATURES",
    UnresolvableRequiredSigners = 206 "UNRESOLVABLE_REQUIRED_SIGNERS",
    ScheduledTransactionNotInWhitelist = 207 "SCHEDULED_TRANSACTION_NOT_IN_WHITELIST",
    SomeSignaturesWereInvalid = 208 "SOME_SIGNATURES_WERE_INVALID",
    TransactionIdFieldNotAllowed = 209 "TRANSACTION_ID_FIELD_NOT_ALLOWED",
    IdenticalScheduleAlreadyCreated = 210 "IDENTICAL_SCHEDULE_ALREADY_CREATED",
    InvalidZeroByteInString = 211 "INVALID_ZERO_BYTE_IN_STRING",
    ScheduleAlreadyDeleted = 212 "SCHEDULE_ALREADY_DELETED",
    ScheduleAlreadyExecuted = 213 "SCHEDULE_ALREADY_EXECUTED",
    MessageSizeTooLarge = 214 "MESSAGE_SIZE_TOO_LARGE",
    InvalidQueryRange = 229 "INVALID_QUERY_RANGE",
    InsufficientPayerBalanceForCustomFee = 231 "INSUFFICIENT_PAYER_BALANCE_FOR_CUSTOM_FEE",
    CustomFeesListTooLong = 232 "CUSTOM_FEES_LIST_TOO_LONG",
    InvalidCustomFeeCollector = 233 "INVALID_CUSTOM_FEE_COLLECTOR",
    CustomFeeNotFullySpecified = 238 "CUSTOM_FEE_NOT_FULLY_SPECIFIED",
    CustomFeeMustBePositive = 239 "CUSTOM_FEE_MUST_BE_POSITIVE",
    InvalidCustomFeeScheduleKey = 247 "INVALID_CUSTOM_FEE_SCHEDULE_KEY",
    AccountAmountTransfersOnlyAllowedForFungibleCommon = 254 "ACCOUNT_AMOUNT_TRANSFERS_ONLY_ALLOWED_FOR_FUNGIBLE_COMMON",
    PayerAccountDeleted = 256 "PAYER_ACCOUNT_DELETED",
    CustomFeeChargingExceededMaxAccountAmounts = 258 "CUSTOM_FEE_CHARGING_EXCEEDED_MAX_ACCOUNT_AMOUNTS",
    InsufficientSenderAccountBalanceForCustomFee = 259 "INSUFFICIENT_SENDER_ACCOUNT_BALANCE_FOR_CUSTOM_FEE",
    RevertedSuccess = 280 "REVERTED_SUCCESS",
    InvalidAliasKey = 282 "INVALID_ALIAS_KEY",
    InvalidProxyAccountId = 284 "INVALID_PROXY_ACCOUNT_ID",
    InvalidTransferAccountId = 285 "INVALID_TRANSFER_ACCOUNT_ID",
    InvalidFeeCollectorAccountId = 286 "INVALID_FEE_COLLECTOR_ACCOUNT_ID",
    AliasIsImmutable = 287 "ALIAS_IS_IMMUTABLE",
    CannotApproveForAllFungibleCommon = 291 "CANNOT_APPROVE_FOR_ALL_FUNGIBLE_COMMON",
    ScheduleExpirationTimeTooFarInFuture = 306 "SCHEDULE_EXPIRATION_TIME_TOO_FAR_IN_FUTURE",
    ScheduleExpirationTimeMustBeHigherThanConsensusTime = 307 "SCHEDULE_EXPIRATION_TIME_MUST_BE_HIGHER_THAN_CONSENSUS_TIME",
    ProxyAccountIdFieldIsDeprecated = 320 "PROXY_ACCOUNT_ID_FIELD_IS_DEPRECATED",
    TransactionHasUnknownFields = 330 "TRANSACTION_HAS_UNKNOWN_FIELDS",
    AccountIsImmutable = 331 "ACCOUNT_IS_IMMUTABLE",
    AliasAlreadyAssigned = 332 "ALIAS_ALREADY_ASSIGNED",
    InvalidNodeAccountId = 341 "INVALID_NODE_ACCOUNT_ID",
    MaxNodesCreated = 347 "MAX_NODES_CREATED",
    ScheduleExpiryIsBusy = 370 "SCHEDULE_EXPIRY_IS_BUSY",
    MissingExpiryTime = 372 "MISSING_EXPIRY_TIME",
    MaxEntriesForFeeExemptKeyListExceeded = 376 "MAX_ENTRIES_FOR_FEE_EXEMPT_KEY_LIST_EXCEEDED",
    FeeExemptKeyListContainsDuplicatedKeys = 377 "FEE_EXEMPT_KEY_LIST_CONTAINS_DUPLICATED_KEYS",
    InvalidKeyInFeeExemptKeyList = 378 "INVALID_KEY_IN_FEE_EXEMPT_KEY_LIST",
    InvalidFeeScheduleKey = 379 "INVALID_FEE_SCHEDULE_KEY",
    FeeScheduleKeyCannotBeUpdated = 380 "FEE_SCHEDULE_KEY_CANNOT_BE_UPDATED",
    FeeScheduleKeyNotSet = 381 "FEE_SCHEDULE_KEY_NOT_SET",
    MaxCustomFeeLimitExceeded = 382 "MAX_CUSTOM_FEE_LIMIT_EXCEEDED",
    NoValidMaxCustomFee = 383 "NO_VALID_MAX_CUSTOM_FEE",
    InvalidMaxCustomFees = 384 "INVALID_MAX_CUSTOM_FEES",
    DuplicateDenominationInMaxCustomFeeList = 385 "DUPLICATE_DENOMINATION_IN_MAX_CUSTOM_FEE_LIST",
    DuplicateAccountIdInMaxCustomFeeList = 386 "DUPLICATE_ACCOUNT_ID_IN_MAX_CUSTOM_FEE_LIST",
    MaxCustomFeesIsNotSupported = 387 "MAX_CUSTOM_FEES_IS_NOT_SUPPORTED",
    InnerTransactionFailed = 391 "INNER_TRANSACTION_FAILED",
    ScheduleExpiryNotConfigurable = 395 "SCHEDULE_EXPIRY_NOT_CONFIGURABLE",
}
