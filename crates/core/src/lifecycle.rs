//! The lifecycle of a thread: the one function that decides, and nothing else does.
//!
//! A store gathers [`Facts`] in a transaction, asks [`decide`], and commits the [`Decision`] by
//! compare-and-set. SQL holds no rule that is not here.

use crate::error::{Code, Refusal};
use crate::id::ThreadId;
use crate::name::AgentName;
use crate::record::Millis;
use crate::sabotage::planted;
use crate::word::{EventType, Kind, Status};

/// What is known about a thread and about who asks, at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// The thread.
    pub thread: ThreadId,
    /// Where it stands.
    pub status: Status,
    /// Whether it was opened by a task: work, and not a conversation.
    pub is_work: bool,
    /// Whether it is the commentary of an entity, which has no end.
    pub is_commentary: bool,
    /// Who holds it, or held it last while it was open.
    pub holder: Option<AgentName>,
    /// When that lease ends or ended.
    pub lease_until: Option<Millis>,
    /// Who asks.
    pub asker: Asker,
}

/// Who asks, seen from the thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asker {
    /// What the lease token that was named is to this thread.
    pub token: TokenStanding,
    /// What the session is to this thread.
    pub session: SessionStanding,
    /// What the name is to this thread.
    pub name: NameStanding,
    /// Whether the asker opened the thread.
    pub is_creator: bool,
    /// Whether one of the thread's addresses reaches the asker.
    pub is_reached: bool,
    /// Whether the surface lets the asker act on threads that are not its own.
    pub may_override: bool,
}

/// What a lease token is to a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenStanding {
    /// No token was named.
    None,
    /// It is the token of the newest claim.
    Current,
    /// It is of the newest claim, but the asker says to be somebody else.
    Borrowed,
    /// It is for this thread, but not of the newest claim.
    Stale,
    /// It is for another thread.
    Foreign,
}

/// What a session is to a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionStanding {
    /// No session was named, or the claim was made without one.
    None,
    /// It made the newest claim.
    Holder,
    /// It made an earlier claim.
    Former,
    /// It never claimed the thread, and the newest claim has another session.
    Other,
}

/// What an agent's name is to a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameStanding {
    /// It holds the newest claim, its only one on this thread.
    HolderOnce,
    /// It holds the newest claim and had claimed the thread before: two workers may share the name.
    HolderAgain,
    /// It made an earlier claim.
    Former,
    /// It never claimed the thread, or no name was given.
    Stranger,
}

impl TokenStanding {
    /// Every standing.
    pub const ALL: [Self; 5] = [
        Self::None,
        Self::Current,
        Self::Borrowed,
        Self::Stale,
        Self::Foreign,
    ];
}

impl SessionStanding {
    /// Every standing.
    pub const ALL: [Self; 4] = [Self::None, Self::Holder, Self::Former, Self::Other];
}

impl NameStanding {
    /// Every standing.
    pub const ALL: [Self; 4] = [
        Self::HolderOnce,
        Self::HolderAgain,
        Self::Former,
        Self::Stranger,
    ];
}

/// A step that somebody wants to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Take the thread for so many milliseconds.
    Claim {
        /// The length of the lease.
        lease_ms: i64,
    },
    /// Hold it for so many milliseconds from now.
    Renew {
        /// The new length of the lease.
        lease_ms: i64,
    },
    /// Report progress.
    Start,
    /// Ask a question and wait.
    Block,
    /// Finish with a result.
    Finish,
    /// Give up with a reason.
    Fail,
    /// Give it back.
    Release,
    /// Call it off.
    Cancel,
    /// Give it to another.
    Assign,
    /// Take it from whoever holds it, for those whom it was for.
    TakeBack,
    /// Add a message of this kind.
    Append(Kind),
    /// Say that a message has been handled.
    Acknowledge,
    /// Give a message that reached nobody another address.
    Readdress,
    /// Say that the ledger has a message.
    Confirm,
}

/// What a step changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// The event to append.
    pub event: EventType,
    /// The status that it leaves.
    pub status: Status,
    /// What happens to the lease.
    pub lease: LeaseChange,
    /// Whether the asker acted on a thread that was not its own.
    pub is_override: bool,
}

/// What a step does to the lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseChange {
    /// Nothing.
    Keep,
    /// A new claim: the next epoch and a new token.
    Take {
        /// When it ends.
        until: Millis,
    },
    /// The same claim, with another end.
    Extend {
        /// When it ends.
        until: Millis,
    },
    /// The work is over; who did it stays on record.
    Finish,
    /// Nobody holds it; the epoch moves on, so that the old token is worth nothing.
    Drop,
}

/// Decides whether a step may be taken, and what it changes.
pub fn decide(facts: &Facts, command: Command, now: Millis) -> Result<Decision, Refusal> {
    let held = |event, status, lease| {
        must_hold(facts, now).map(|()| Decision {
            event,
            status,
            lease,
            is_override: false,
        })
    };
    match command {
        Command::Claim { lease_ms } => claim(facts, lease_ms, now),
        Command::Renew { lease_ms } => {
            let until = Millis(now.0 + lease_ms);
            held(
                EventType::Renewed,
                facts.status,
                LeaseChange::Extend { until },
            )
        }
        Command::Start => held(EventType::InProgress, Status::InProgress, LeaseChange::Keep),
        Command::Block => held(EventType::Blocked, Status::Blocked, LeaseChange::Keep),
        Command::Finish => held(EventType::Done, Status::Done, LeaseChange::Finish),
        Command::Fail => held(EventType::Failed, Status::Failed, LeaseChange::Finish),
        Command::Release => held(EventType::Released, Status::Pending, LeaseChange::Drop),
        Command::Cancel => cancel(facts),
        Command::Assign => assign(facts),
        Command::TakeBack => take_back(facts),
        Command::Append(kind) => append(facts, kind, now),
        Command::Acknowledge => Ok(acknowledge(facts)),
        Command::Readdress => Ok(said(EventType::Readdressed, facts.status)),
        Command::Confirm => Ok(said(EventType::Confirmed, facts.status)),
    }
}

/// A step that leaves status and lease as they are.
fn said(event: EventType, status: Status) -> Decision {
    Decision {
        event,
        status,
        lease: LeaseChange::Keep,
        is_override: false,
    }
}

/// Acknowledging never changes the status of work. A conversation that nobody has claimed is over by it.
fn acknowledge(facts: &Facts) -> Decision {
    if facts.is_work || facts.is_commentary || facts.status != Status::Pending {
        return said(EventType::Acked, facts.status);
    }
    said(EventType::Done, Status::Done)
}

fn claim(facts: &Facts, lease_ms: i64, now: Millis) -> Result<Decision, Refusal> {
    must_be_open(facts)?;
    if is_live(facts, now) && !planted("live_lease_ignored") {
        return Err(conflict(facts));
    }
    let is_override = !facts.asker.is_reached;
    if is_override && !facts.asker.may_override {
        return Err(Refusal::new(
            Code::NotAllowed,
            format!("thread {} is not addressed to you", facts.thread),
        )
        .hint("inbox fetch lists what is"));
    }
    let until = Millis(now.0 + lease_ms);
    Ok(Decision {
        event: EventType::Claimed,
        status: Status::Claimed,
        lease: LeaseChange::Take { until },
        is_override,
    })
}

fn cancel(facts: &Facts) -> Result<Decision, Refusal> {
    must_be_open(facts)?;
    let holds = matches!(
        facts.asker.name,
        NameStanding::HolderOnce | NameStanding::HolderAgain
    );
    let is_own = facts.asker.is_creator || (holds && facts.status.is_held());
    Ok(Decision {
        event: EventType::Cancelled,
        status: Status::Cancelled,
        lease: LeaseChange::Drop,
        is_override: must_be_own(facts, is_own)?,
    })
}

fn take_back(facts: &Facts) -> Result<Decision, Refusal> {
    let decision = assign(facts)?;
    // It would say to those whom it is for that it is theirs, which it is already.
    if !facts.status.is_held() {
        return Err(Refusal::new(
            Code::InvalidTransition,
            format!(
                "nobody holds thread {}, so it cannot be taken back",
                facts.thread
            ),
        )
        .hint(format!(
            "inbox assign --thread {} --to ADDRESS gives it to another",
            facts.thread
        )));
    }
    Ok(decision)
}

fn assign(facts: &Facts) -> Result<Decision, Refusal> {
    must_be_open(facts)?;
    if !facts.is_work {
        return Err(Refusal::new(
            Code::InvalidTransition,
            format!("thread {} is no work, and nobody holds it", facts.thread),
        )
        .hint("inbox send --thread ID --to ADDRESS sends another a message in it"));
    }
    Ok(Decision {
        event: EventType::Readdressed,
        status: Status::Pending,
        lease: if facts.status.is_held() {
            LeaseChange::Drop
        } else {
            LeaseChange::Keep
        },
        // A holder gives it back by a release, which asks for its proof.
        is_override: must_be_own(facts, facts.asker.is_creator)?,
    })
}

/// Refuses who has no part in a thread. Whether it acts on one that is not its own.
fn must_be_own(facts: &Facts, is_own: bool) -> Result<bool, Refusal> {
    let is_override = !is_own;
    if is_override && !facts.asker.may_override {
        return Err(Refusal::new(
            Code::NotAllowed,
            format!("thread {} was opened by somebody else", facts.thread),
        )
        .hint("ask its creator with inbox reply"));
    }
    Ok(is_override)
}

fn append(facts: &Facts, kind: Kind, now: Millis) -> Result<Decision, Refusal> {
    if kind == Kind::Result && facts.is_work {
        must_hold(facts, now)?;
    }
    // A message needs no lease; but who names a proof that has run out is a worker that has not
    // noticed, and must be told before it says more.
    let ended = facts.status.is_held() && !is_live(facts, now);
    let lost = match facts.asker.token {
        TokenStanding::Stale => true,
        TokenStanding::Current => ended,
        // A leader may answer in its worker's shell, whose token is in the environment.
        TokenStanding::None | TokenStanding::Borrowed | TokenStanding::Foreign => {
            match facts.asker.session {
                SessionStanding::Former => true,
                SessionStanding::Holder => ended,
                SessionStanding::None | SessionStanding::Other => false,
            }
        }
    };
    if lost && !planted("no_epoch_check") {
        return Err(self::lost(facts, now));
    }
    Ok(said(EventType::Message, facts.status))
}

fn must_be_open(facts: &Facts) -> Result<(), Refusal> {
    if facts.status.is_final() {
        return Err(Refusal::new(
            Code::InvalidTransition,
            format!(
                "thread {} is {}, which is final",
                facts.thread, facts.status
            ),
        )
        .hint("messages may still be added with inbox reply; new work is a new thread")
        .detail("status", facts.status.name()));
    }
    Ok(())
}

/// Whether the asker proves that it holds the thread now.
fn must_hold(facts: &Facts, now: Millis) -> Result<(), Refusal> {
    must_be_open(facts)?;
    if !facts.status.is_held() {
        if facts.asker.token != TokenStanding::None {
            return Err(lost(facts, now));
        }
        return Err(Refusal::new(
            Code::InvalidTransition,
            format!("thread {} is pending: nobody holds it", facts.thread),
        )
        .hint(format!("inbox claim --thread {}", facts.thread))
        .detail("status", facts.status.name()));
    }
    let proven = match (facts.asker.token, facts.asker.session, facts.asker.name) {
        (TokenStanding::Current, _, _) => true,
        (TokenStanding::Borrowed, _, _) => false,
        (TokenStanding::Stale | TokenStanding::Foreign, _, _) => planted("no_epoch_check"),
        (TokenStanding::None, SessionStanding::Holder, _) => true,
        (TokenStanding::None, SessionStanding::Former | SessionStanding::Other, name) => {
            return Err(if is_stranger_to_live(facts, name, now) {
                conflict(facts)
            } else {
                lost(facts, now)
            });
        }
        (TokenStanding::None, SessionStanding::None, NameStanding::HolderOnce) => true,
        (TokenStanding::None, SessionStanding::None, NameStanding::HolderAgain) => {
            planted("name_is_enough")
        }
        (TokenStanding::None, SessionStanding::None, name) => {
            return Err(if is_stranger_to_live(facts, name, now) {
                conflict(facts)
            } else {
                lost(facts, now)
            });
        }
    };
    if proven && (is_live(facts, now) || planted("expiry_ignored")) {
        Ok(())
    } else {
        Err(lost(facts, now))
    }
}

/// Whether somebody else, whom the asker never was, holds the thread now.
fn is_stranger_to_live(facts: &Facts, name: NameStanding, now: Millis) -> bool {
    name == NameStanding::Stranger
        && facts.asker.session != SessionStanding::Former
        && is_live(facts, now)
}

/// A lease has ended when now ≥ its deadline.
fn is_live(facts: &Facts, now: Millis) -> bool {
    facts.status.is_held() && facts.lease_until.is_some_and(|until| now < until)
}

fn conflict(facts: &Facts) -> Refusal {
    let holder = facts.holder.as_ref().map_or("somebody", AgentName::as_str);
    let mut refusal = Refusal::new(
        Code::LeaseConflict,
        format!("thread {} is leased to {holder}", facts.thread),
    )
    .hint("take other work with inbox claim; the holder extends its own lease with inbox renew --lease TOKEN")
    .detail("agent_id", holder);
    if let Some(until) = facts.lease_until {
        refusal.message.push_str(&format!(" until {until}"));
        refusal = refusal.detail("expires_at", until.to_string());
    }
    refusal
}

fn lost(facts: &Facts, now: Millis) -> Refusal {
    let thread = facts.thread;
    let why = match facts.lease_until {
        _ if !facts.status.is_held() => format!("the lease on thread {thread} has ended"),
        Some(until) if now >= until => format!("the lease on thread {thread} ended at {until}"),
        _ if facts.asker.name == NameStanding::HolderAgain
            && facts.asker.token == TokenStanding::None =>
        {
            format!(
                "thread {thread} was claimed more than once under this name, so the name alone proves nothing"
            )
        }
        _ if facts.asker.token == TokenStanding::Borrowed => {
            format!(
                "the lease token that was named belongs to another agent, which holds thread {thread}"
            )
        }
        _ => format!("thread {thread} is held under another claim"),
    };
    Refusal::new(Code::LeaseLost, why).hint(format!(
        "stop working on it; inbox claim --thread {thread} takes it again when it is free, and every write then names --lease TOKEN"
    ))
}

#[cfg(test)]
mod tests;
