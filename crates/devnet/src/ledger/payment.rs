//! Who asks a node pays for the answer: with a transfer to the node that comes with the question.

use inbox_hedera::proto::{
    AccountId, Asked, Code, CryptoTransferBody, Data, Query, QueryHeader, Response,
};
use prost::Message;

use super::genesis::{NODES, TREASURY};
use super::offer::Offered;
use super::precheck::{self, Checked};
use super::{Fault, Ledger, Offer, Refused, ask, fee};

/// How a question is paid for.
#[derive(Debug)]
pub enum Payment {
    /// It costs nothing, or nothing more.
    Free,
    /// This transfer must be taken first.
    Due(Box<Offer>),
    /// It is not paid for, and this is the answer.
    Refused(Response),
}

/// What a question says besides what it asks for.
pub(super) fn header(asked: &Asked) -> Option<&QueryHeader> {
    match asked {
        Asked::Receipt(query) => query.header.as_ref(),
        Asked::Record(query) => query.header.as_ref(),
        Asked::Balance(query) => query.header.as_ref(),
        Asked::AccountInfo(query) => query.header.as_ref(),
        Asked::TopicInfo(query) => query.header.as_ref(),
        Asked::ScheduleInfo(query) => query.header.as_ref(),
        Asked::Version(query) => query.header.as_ref(),
    }
}

/// What the answer costs, in tinybars.
pub(super) fn price(asked: &Asked) -> u64 {
    match asked {
        Asked::Receipt(_) | Asked::Balance(_) => 0,
        Asked::Record(_)
        | Asked::AccountInfo(_)
        | Asked::TopicInfo(_)
        | Asked::ScheduleInfo(_)
        | Asked::Version(_) => fee::of_answer(),
    }
}

impl Ledger {
    /// Looks at how a question is paid for, before anything is taken.
    pub fn payment(&self, query: &Query) -> Payment {
        let Some(asked) = &query.query else {
            return Payment::Free;
        };
        let price = price(asked);
        let header = header(asked);
        let is_answer = header.is_none_or(|header| header.response_type == ask::ANSWER);
        if price == 0 || !is_answer {
            return Payment::Free;
        }
        let refuse = |code: Code, cost: u64| {
            Payment::Refused(ask::refusal(asked, ask::header(code, ask::ANSWER, cost)))
        };
        let transaction = header.and_then(|header| header.payment.clone());
        let Some(transaction) = transaction else {
            return refuse(Code::InvalidTransactionBody, 0);
        };
        let offer = Offer::read(&transaction.encode_to_vec());
        let checked = match &offer.0 {
            Ok(offered) => self.is_enough(offered, price),
            Err(code) => Err((*code).into()),
        };
        match checked {
            Ok(true) => Payment::Due(Box::new(offer)),
            Ok(false) => Payment::Free,
            Err(Refused {
                fault: Fault::Code(code),
                cost,
            }) => refuse(code, cost),
            Err(_) => refuse(Code::Busy, 0),
        }
    }

    /// Whether a payment is to be taken, when it is enough.
    fn is_enough(&self, offered: &Offered, price: u64) -> Result<bool, Refused> {
        let checked = precheck::check(&self.db, offered, self.now())?;
        let Some(Data::CryptoTransfer(transfer)) = &offered.signed.body.data else {
            return Err(Code::InsufficientTxFee.into());
        };
        // The treasury may ask for nothing.
        if checked.payer.num == TREASURY {
            return Ok(false);
        }
        covers(transfer, &checked, price)?;
        Ok(true)
    }
}

fn covers(transfer: &CryptoTransferBody, checked: &Checked, price: u64) -> Result<(), Refused> {
    let amounts = transfer
        .transfers
        .as_ref()
        .map_or(&[][..], |list| &list.amounts);
    if amounts.is_empty() {
        return Err(Code::InvalidAccountAmounts.into());
    }
    let amount_of = |num: i64| {
        let mut found = amounts.iter().filter(|one| {
            let account = one.account_id.as_ref();
            account.and_then(AccountId::num) == Some(num)
        });
        found.next().map(|one| one.amount)
    };
    let short = |code: Code, cost: u64| Refused {
        fault: code.into(),
        cost,
    };
    let given = amount_of(checked.payer.num).unwrap_or_default();
    if given < 0 && checked.payer.balance - checked.fee < given.saturating_neg() {
        let wanted = given.unsigned_abs() + checked.fee.unsigned_abs();
        return Err(short(Code::InsufficientPayerBalance, wanted));
    }
    match NODES.clone().find_map(amount_of).map(u64::try_from) {
        Some(Ok(amount)) if amount >= price => Ok(()),
        Some(Ok(_)) => Err(short(Code::InsufficientTxFee, price)),
        _ => Err(Code::InvalidReceivingNodeAccount.into()),
    }
}
