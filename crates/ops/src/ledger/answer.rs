//! Decisions about connections and proposals: who may take them, and what a reply decides.

use inbox_core::record::Millis;
use inbox_core::{AgentName, Code, Kind, Refusal, ThreadId};
use inbox_store::{
    Abort, ConnectionRow, ConnectionState, NewMessage, ProposalRow, ProposalState, Tx,
};

use crate::call::Caller;
use crate::config::Config;
use crate::lock;

/// What a reply decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decision {
    Yes,
    No,
    Hide,
}

/// The decision in a reply, and its reason: by the payload's `decision`, or the first word.
fn decision(message: &NewMessage) -> Option<(Decision, String)> {
    let payload = &message.payload_json;
    let (word, rest) = match payload["decision"].as_str() {
        Some(word) => {
            let reason = payload["reason"].as_str();
            (word, reason.unwrap_or(&message.body))
        }
        None => {
            let text = message.summary.trim();
            let (word, rest) = text
                .split_once(|c: char| c.is_whitespace() || matches!(c, ',' | ':' | '.' | '!'))
                .unwrap_or((text, ""));
            (
                word,
                if rest.is_empty() {
                    message.body.as_str()
                } else {
                    rest
                },
            )
        }
    };
    let decision = match word.to_ascii_lowercase().as_str() {
        "accept" | "accepted" | "approve" | "approved" | "yes" => Decision::Yes,
        "refuse" | "refused" | "reject" | "rejected" | "no" => Decision::No,
        "dismiss" | "dismissed" => Decision::Hide,
        _ => return None,
    };
    let reason = rest.trim_start_matches(|c: char| !c.is_alphanumeric());
    Some((decision, reason.trim().to_owned()))
}

/// Takes the decision that a reply is, if it is one in a thread in which somebody was asked.
pub(crate) fn answered(
    tx: &mut Tx<'_>,
    config: &Config,
    caller: &Caller,
    agent: &AgentName,
    id: ThreadId,
    message: &NewMessage,
) -> Result<(), Abort> {
    // What is no answer decides nothing.
    if config.ledger.network.is_none() || message.kind != Kind::Answer {
        return Ok(());
    }
    if let Some(row) = tx.proposal_of_thread(id)? {
        return about_proposal(tx, config, caller, agent, row, message);
    }
    for row in tx.connections_of_thread(id)? {
        if row.question == Some(id) {
            return about_connection(tx, caller, agent, row, message);
        }
    }
    Ok(())
}

fn about_connection(
    tx: &mut Tx<'_>,
    caller: &Caller,
    agent: &AgentName,
    mut row: ConnectionRow,
    message: &NewMessage,
) -> Result<(), Abort> {
    let decision = decision(message);
    if row.state != ConnectionState::Asked {
        // A word of thanks is no decision.
        return match decision {
            None => Ok(()),
            Some(_) => Err(decided(&row.other, row.state.name(), row.decided_by.as_deref()).into()),
        };
    }
    if !lock::is_person(tx, agent)? {
        return Err(Refusal::new(
            Code::NotAllowed,
            format!(
                "{agent} is no person, and only a person says whether {} is let in",
                row.other
            ),
        )
        .hint("inbox agent add NAME --kind human puts a person on the roster")
        .into());
    }
    lock::must_be_a_person(tx, caller, "who is let in")?;
    let (state, reason) = match decision {
        Some((Decision::Yes, _)) => (ConnectionState::Accepting, None),
        Some((Decision::No, reason)) => (ConnectionState::Refusing, Some(reason)),
        Some((Decision::Hide, _)) | None => {
            return Err(unclear("accept", "refuse").into());
        }
    };
    row.state = state;
    row.reason = reason.filter(|reason| !reason.is_empty());
    row.decided_by = Some(agent.to_string());
    row.next_at = tx.now();
    must_be_first(tx.set_connection(&mut row)?)
}

fn about_proposal(
    tx: &mut Tx<'_>,
    config: &Config,
    caller: &Caller,
    agent: &AgentName,
    mut row: ProposalRow,
    message: &NewMessage,
) -> Result<(), Abort> {
    let decision = decision(message);
    let is_open = matches!(row.state, ProposalState::Open | ProposalState::Undecodable);
    if !is_open {
        return match decision {
            None => Ok(()),
            Some(_) => {
                let (what, state) = (format!("schedule {}", row.schedule), row.state.name());
                Err(decided(&what, state, row.decided_by.as_deref()).into())
            }
        };
    }
    let is_decodable = row.state == ProposalState::Open;
    let kind = row.sort.clone().unwrap_or_default();
    let amount = row.amount.unwrap_or(i64::MAX);
    let is_signer = is_decodable && config.ledger.may_sign(agent, &kind, amount);
    if !is_signer && !lock::is_person(tx, agent)? {
        return Err(Refusal::new(
            Code::NotAllowed,
            format!(
                "{agent} is neither a person nor a signer for schedule {} ({kind}), and does not decide about it",
                row.schedule
            ),
        )
        .hint("inbox config shows ledger.signers: who may sign which kind, and up to how much")
        .into());
    }
    if !is_signer {
        lock::must_be_a_person(tx, caller, "a signature")?;
    }
    row.state = match &decision {
        Some((Decision::Yes, _)) if !is_decodable => {
            return Err(Refusal::new(
                Code::NotAllowed,
                format!(
                    "what schedule {} would do cannot be read, so it cannot be approved",
                    row.schedule
                ),
            )
            .hint("inbox reply --thread ID --summary reject tells the other; dismiss only hides it")
            .into());
        }
        Some((Decision::Yes, _)) => ProposalState::Approving,
        Some((Decision::No, _)) => ProposalState::Rejecting,
        Some((Decision::Hide, _)) => ProposalState::Dismissed,
        None => return Err(unclear("approve", "reject, or dismiss").into()),
    };
    row.reason = decision
        .map(|(_, reason)| reason)
        .filter(|reason| !reason.is_empty());
    row.decided_by = Some(agent.to_string());
    row.next_at = tx.now();
    (row.tries, row.problem) = (0, None);
    must_be_first(tx.set_proposal(&mut row)?)
}

fn must_be_first(is_first: bool) -> Result<(), Abort> {
    if is_first {
        return Ok(());
    }
    let problem = "it was changed at the same moment";
    Err(Refusal::new(Code::InvalidTransition, problem)
        .hint("inbox show --thread ID shows how it stands")
        .into())
}

fn decided(what: &str, state: &str, by: Option<&str>) -> Refusal {
    let by = by.map(|by| format!(", by {by}")).unwrap_or_default();
    Refusal::new(
        Code::InvalidTransition,
        format!("{what} is decided already: {state}{by}"),
    )
    .hint("inbox show --thread ID shows what became of it")
}

fn unclear(yes: &str, no: &str) -> Refusal {
    Refusal::input(format!("this is neither {yes} nor {no}")).hint(format!(
        "inbox reply --thread ID --summary {yes}; a comment that decides nothing has --kind event"
    ))
}

/// As far away as there is.
pub(super) const NEVER: Millis = Millis(i64::MAX);

#[cfg(test)]
mod tests {
    use inbox_core::Auth;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_decision_is_its_first_word_or_the_payloads() {
        let said = |summary: &str, body: &str| {
            let mut message = NewMessage::saying(Kind::Answer, summary, Auth::Local);
            body.clone_into(&mut message.body);
            decision(&message)
        };
        let yes = |reason: &str| Some((Decision::Yes, reason.to_owned()));
        let no = |reason: &str| Some((Decision::No, reason.to_owned()));
        assert_eq!(said("Accept", ""), yes(""));
        assert_eq!(said("approve, fine with me", ""), yes("fine with me"));
        assert_eq!(said("refuse: too dear", ""), no("too dear"));
        assert_eq!(said("reject", "too dear"), no("too dear"));
        assert_eq!(said("dismiss", ""), Some((Decision::Hide, String::new())));
        for unclear in ["", "acceptable?", "do not accept", "I would say yes"] {
            assert_eq!(said(unclear, ""), None, "{unclear:?}");
        }
        let mut typed = NewMessage::saying(Kind::Answer, "see the payload", Auth::Local);
        typed.payload_json = json!({ "decision": "refuse", "reason": "unknown" });
        assert_eq!(decision(&typed), no("unknown"));
    }
}
