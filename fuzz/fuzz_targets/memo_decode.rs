//! Text to the memos of topics, accounts and transactions, and to locators: nothing panics, and what is taken means the
//! same again when it is written.

#![no_main]

use inbox_hcs::{
    AccountMemo, FileMemo, Hrl, OperatorId, RegistryTransactionMemo, Timestamp, TopicMemo,
    TransactionMemo,
};
use libfuzzer_sys::fuzz_target;

fn reads_back<T: std::str::FromStr + ToString>(text: &str) {
    if let Ok(value) = text.parse::<T>() {
        assert_eq!(value.to_string(), text);
    }
}

fuzz_target!(|text: &str| {
    if let Ok((memo, deviations)) = TopicMemo::read(text) {
        assert_eq!(memo.to_string().parse(), Ok(memo));
        assert_eq!(deviations.is_empty(), memo.to_string() == text);
    }
    if let Ok((memo, _)) = AccountMemo::read(text) {
        let (again, _) = AccountMemo::read(&memo.to_string()).expect("what is written is read");
        assert_eq!(again, memo);
    }
    reads_back::<TransactionMemo>(text);
    reads_back::<RegistryTransactionMemo>(text);
    reads_back::<FileMemo>(text);
    reads_back::<Hrl>(text);
    reads_back::<OperatorId>(text);
    reads_back::<Timestamp>(text);
});
