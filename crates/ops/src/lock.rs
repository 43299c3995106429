//! A person's lock: who speaks as her on this machine, decides for her, or makes a token in her name shows her passphrase first.
//!
//! Without a lock a name on the command line is what it says. Once a person has one, her name is hers, and while anybody has one
//! only a person who has shown that she is one says what agents may not: who else is a person, who is let in from a ledger, what is
//! signed. A token proves the same over the network.

use std::num::NonZeroU32;

use inbox_core::sabotage::planted;
use inbox_core::{AgentKind, AgentName, Auth, Code, Refusal};
use inbox_store::{Abort, Tx};
use ring::pbkdf2;

use crate::call::{Caller, Inbox};

/// How long a passphrase is at least, in letters.
const SHORTEST: usize = 8;

/// How long it is at most, in bytes.
const LONGEST: usize = 1024;

/// How often a passphrase is hashed: a fraction of a second for who knows it, and much for who guesses.
const TURNS: NonZeroU32 = NonZeroU32::new(600_000).expect("not zero");

/// The most that a seal may ask for: a second or two of work.
const MOST_TURNS: NonZeroU32 = NonZeroU32::new(10_000_000).expect("not zero");

/// How a passphrase is hashed.
static HASH: pbkdf2::Algorithm = pbkdf2::PBKDF2_HMAC_SHA256;

/// What a seal begins with: how it was made.
const METHOD: &str = "pbkdf2-sha256";

impl Inbox {
    /// Locks a person's name with a passphrase, gives it another, or opens it again.
    pub fn lock(
        &self,
        caller: &Caller,
        person: &AgentName,
        passphrase: Option<&str>,
    ) -> Result<(), Refusal> {
        let seal = passphrase.map(seal).transpose()?;
        let written = self.store().write(|tx| {
            let (true, Some(row)) = (is_person(tx, person)?, tx.agent(person)?) else {
                return Err(no_person(person).into());
            };
            must_be_proven(tx, caller, person)?;
            Ok(tx.set_seal(row.agent_no, seal.as_deref())?)
        });
        written.map(drop)
    }

    /// Whether a name is locked.
    pub fn is_locked(&self, person: &AgentName) -> Result<bool, Refusal> {
        self.store().read(|tx| Ok(tx.seal(person)?.is_some()))
    }

    /// Refuses a signature that is given by hand, from whoever has not shown to be a person once one has a lock. An agent that is a signer for
    /// as much needs nobody.
    pub fn must_sign(&self, caller: &Caller, kind: &str, most: Option<i64>) -> Result<(), Refusal> {
        let ledger = &self.config().ledger;
        let agent = caller.agent.as_ref();
        let is_signer =
            agent.is_some_and(|agent| most.is_some_and(|most| ledger.may_sign(agent, kind, most)));
        if is_signer {
            return Ok(());
        }
        self.store()
            .read(|tx| must_be_a_person(tx, caller, "a signature"))
    }

    /// The caller as the person whose passphrase this is.
    pub fn unlock(
        &self,
        caller: Caller,
        person: &AgentName,
        passphrase: &str,
    ) -> Result<Caller, Refusal> {
        let seal = self.store().read(|tx| Ok(tx.seal(person)?))?;
        if !seal.is_some_and(|seal| is_of(&seal, passphrase)) {
            return Err(
                Refusal::new(Code::Locked, format!("this is not {person}'s passphrase"))
                    .hint("try again; it is kept as a hash, and nobody can tell it to you"),
            );
        }
        Ok(Caller {
            agent: Some(person.clone()),
            session: None,
            auth: Auth::Token,
            ..caller
        })
    }
}

/// Whether a name is that of a person who is on the roster: whoever was taken off it decides nothing any more.
pub(crate) fn is_person(tx: &mut Tx<'_>, name: &AgentName) -> Result<bool, Abort> {
    let row = tx.agent(name)?;
    Ok(row.is_some_and(|row| row.kind == AgentKind::Human && !row.is_removed))
}

/// Refuses who calls by a locked name, or acts on it, and has not shown to be that person.
pub(crate) fn must_be_proven(
    tx: &mut Tx<'_>,
    caller: &Caller,
    name: &AgentName,
) -> Result<(), Abort> {
    let is_proven = caller.auth != Auth::Local && caller.agent.as_ref() == Some(name);
    let is_locked = tx.agent(name)?.is_some_and(|row| row.is_locked);
    if is_proven || !is_locked || planted("lock_ignored") {
        return Ok(());
    }
    Err(locked(
        name,
        format!("{name} is a person who has locked her name: it takes her passphrase"),
    )
    .into())
}

/// Refuses what only a person may say: over the network from whoever is none, and here, once a person has a lock, from a caller who
/// has not shown to be one.
pub(crate) fn must_be_a_person(tx: &mut Tx<'_>, caller: &Caller, what: &str) -> Result<(), Abort> {
    let is_known = caller.auth != Auth::Local;
    if let Some(agent) = caller.agent.as_ref().filter(|_| is_known)
        && is_person(tx, agent)?
    {
        return Ok(());
    }
    let locked_names = tx.locked()?;
    let Some(first) = locked_names.first() else {
        return if is_known {
            Err(not_hers(format!("{what} is a person's matter")).into())
        } else {
            Ok(())
        };
    };
    // Whoever calls by a name that is locked is asked for that one's passphrase.
    let named = caller.agent.as_ref();
    let name = named
        .filter(|name| locked_names.contains(name))
        .unwrap_or(first);
    Err(locked(
        name,
        format!(
            "{what} is a person's matter, and {name} has locked her name: it takes a passphrase"
        ),
    )
    .into())
}

/// Refuses what would speak as a person to whoever calls over the network and is not her, whatever their token allows.
pub(crate) fn must_not_be_anothers(
    tx: &mut Tx<'_>,
    caller: &Caller,
    name: &AgentName,
) -> Result<(), Abort> {
    let is_elsewhere = caller.auth != Auth::Local && caller.agent.as_ref() != Some(name);
    if is_elsewhere && is_person(tx, name)? {
        return Err(not_hers(format!("{name} is a person, and speaks for herself")).into());
    }
    Ok(())
}

fn not_hers(problem: String) -> Refusal {
    Refusal::new(Code::NotAllowed, problem)
        .hint("inbox on the machine that has the store does it, or a person's own token")
}

/// The name that is locked, by a refusal for it.
pub fn locked_name(refusal: &Refusal) -> Option<AgentName> {
    if refusal.code != Code::Locked {
        return None;
    }
    refusal.details.get("agent_id")?.as_str()?.parse().ok()
}

fn locked(name: &AgentName, problem: String) -> Refusal {
    Refusal::new(Code::Locked, problem)
        .hint("run it in a terminal, where the passphrase is asked for; or use inbox ui")
        .detail("agent_id", name.to_string())
}

fn no_person(name: &AgentName) -> Refusal {
    Refusal::new(
        Code::AgentNotFound,
        format!("{name} is no person on the roster"),
    )
    .hint(format!("inbox agent add {name} --kind human adds one"))
}

/// What a passphrase is checked against.
fn seal(passphrase: &str) -> Result<String, Refusal> {
    if passphrase.chars().count() < SHORTEST || passphrase.len() > LONGEST {
        return Err(Refusal::input(format!(
            "a passphrase has between {SHORTEST} letters and {LONGEST} bytes"
        ))
        .hint("a few words that do not belong together are easy to type and hard to guess"));
    }
    let mut salt = [0; 16];
    getrandom::fill(&mut salt)
        .map_err(|error| Refusal::new(Code::Internal, format!("no random numbers: {error}")))?;
    let mut hash = [0; 32];
    pbkdf2::derive(HASH, TURNS, &salt, passphrase.as_bytes(), &mut hash);
    Ok(format!("{METHOD}:{TURNS}:{}:{}", hex(&salt), hex(&hash)))
}

/// Whether a seal is a passphrase's. One that cannot be read is nobody's.
fn is_of(seal: &str, passphrase: &str) -> bool {
    let parts: Vec<&str> = seal.split(':').collect();
    let [METHOD, turns, salt, hash] = parts[..] else {
        return false;
    };
    let (Ok(turns), Some(salt), Some(hash)) = (turns.parse(), bytes(salt), bytes(hash)) else {
        return false;
    };
    // Whoever can write to the store must not keep others waiting for hours.
    if turns > MOST_TURNS {
        return false;
    }
    pbkdf2::verify(HASH, turns, &salt, passphrase.as_bytes(), &hash).is_ok()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let pairs = hex.as_bytes().chunks(2);
    pairs
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seal_is_one_passphrases_and_no_others() {
        let made = seal("correct horse").expect("a seal");
        assert!(is_of(&made, "correct horse"));
        assert!(!made.contains("correct"), "{made}");
        assert!(!is_of(&made, "correct horsf"));
        assert!(!is_of(&made, ""));
        assert_ne!(
            seal("correct horse").expect("a seal"),
            made,
            "each has a salt"
        );
        for broken in [
            "",
            ":::",
            "pbkdf2-sha256:0:00:00",
            "pbkdf2-sha256:1:é:00",
            "pbkdf2-sha256:4294967295:00:00",
            "md5:1:00:00",
        ] {
            assert!(!is_of(broken, "correct horse"), "{broken}");
        }
    }

    #[test]
    fn a_passphrase_is_long_enough_to_be_one() {
        assert!(seal("7letter").is_err());
        assert!(seal(&"x".repeat(LONGEST + 1)).is_err());
        assert!(seal("ſechſzig").is_ok(), "letters are counted, not bytes");
    }
}
