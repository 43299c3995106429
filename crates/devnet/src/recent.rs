//! The newest receipts: who submits asks for one next, and need not wait for the ledger while it writes for others. A receipt never changes.

use std::collections::{HashMap, VecDeque};

use inbox_hedera::proto::{
    Answered, Asked, Code, Query, ReceiptResponse, Response, ResponseHeader, TransactionId,
    TransactionReceipt,
};

/// How many there are.
const MOST: usize = 2048;

#[derive(Debug, Default)]
pub(crate) struct Recent {
    receipts: HashMap<TransactionId, TransactionReceipt>,
    /// Their ids, the oldest first.
    order: VecDeque<TransactionId>,
}

impl Recent {
    /// Notes a receipt that is on the ledger.
    pub(crate) fn add(&mut self, id: TransactionId, receipt: TransactionReceipt) {
        if self.order.len() == MOST
            && let Some(oldest) = self.order.pop_front()
        {
            self.receipts.remove(&oldest);
        }
        self.order.push_back(id.clone());
        self.receipts.insert(id, receipt);
    }

    /// The answer to a question for a receipt, where it is a new one.
    pub(crate) fn answer(&self, query: &Query) -> Option<Response> {
        let Some(Asked::Receipt(asked)) = &query.query else {
            return None;
        };
        let is_answer = |header: &inbox_hedera::proto::QueryHeader| header.response_type == 0;
        if !asked.header.as_ref().is_none_or(is_answer) {
            return None;
        }
        let receipt = self.receipts.get(asked.transaction_id.as_ref()?)?;
        Some(Response {
            response: Some(Answered::Receipt(Box::new(ReceiptResponse {
                header: Some(ResponseHeader {
                    precheck_code: Code::Ok.number(),
                    ..ResponseHeader::default()
                }),
                receipt: Some(receipt.clone()),
            }))),
        })
    }
}
