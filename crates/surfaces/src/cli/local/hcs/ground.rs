//! What every command of `hcs` stands on: which network, whose keys, who acts, and where answers go.

use std::path::{Path, PathBuf};

use clap::ArgMatches;
use inbox_bridge::keys::{Holder, Keys};
use inbox_bridge::{Agent, Hbar, Net, peer};
use inbox_core::{Code, Refusal};
use inbox_devnet::ledger::{TREASURY, TREASURY_KEY};
use inbox_hcs::{AccountId, Participant, Sequence, TopicId};
use inbox_hedera::key::PrivateKey;
use inbox_hedera::mirror::Mirror;
use inbox_hedera::network::Network;
use inbox_ops::{Inbox, Page};
use serde_json::Value;

use crate::cli::{Context, Ended, config, far, find, operation};

/// Where keys are unless told otherwise: beside the usual store.
const KEYS: &str = ".agents/hedera.keys";

/// The network unless told otherwise.
const LOCAL: &str = "local";

pub(super) struct Ground<'a> {
    name: &'a str,
    pub(super) matches: &'a ArgMatches,
    pub(super) context: &'a Context,
    network: Network,
}

/// Who acts, and by which name in the file of keys.
pub(super) struct Actor {
    pub(super) name: Option<String>,
    pub(super) holder: Holder,
}

impl<'a> Ground<'a> {
    pub(super) fn new(
        name: &'a str,
        matches: &'a ArgMatches,
        context: &'a Context,
    ) -> Result<Self, Refusal> {
        let flag = matches.get_one::<String>("network").cloned();
        let named = flag.or_else(|| find::variable("INBOX_HEDERA_NETWORK"));
        let named = named
            .or_else(|| of_the_store(context))
            .unwrap_or_else(|| LOCAL.to_owned());
        let network = network(&named)?;
        Ok(Ground {
            name,
            matches,
            context,
            network,
        })
    }

    /// What was called.
    pub(super) fn command(&self) -> &str {
        self.name
    }

    pub(super) fn text(&self, id: &str) -> Option<String> {
        self.matches.get_one::<String>(id).cloned()
    }

    /// An argument that the parser requires.
    pub(super) fn must(&self, id: &str) -> String {
        self.text(id).unwrap_or_default()
    }

    pub(super) fn is_set(&self, id: &str) -> bool {
        self.matches.get_flag(id)
    }

    /// The store, where there is one on this machine.
    pub(super) fn store(&self) -> Result<Option<Inbox>, Refusal> {
        if far::server(self.context)?.is_some() {
            return Ok(None);
        }
        match operation::open(self.context) {
            Ok(inbox) => Ok(Some(inbox)),
            Err(refusal) if refusal.code == Code::StoreNotFound => Ok(None),
            Err(refusal) => Err(refusal),
        }
    }

    /// The file of keys, held until it is dropped.
    pub(super) fn keys(&self) -> Result<Keys, Refusal> {
        let path = keys_path(self.matches.get_one::<String>("keys").cloned())?;
        Keys::open(&path, &self.network.name)
    }

    pub(super) fn mirror(&self) -> Mirror {
        Mirror::new(&self.network.mirror)
    }

    /// Who acts: `--agent` in the file of keys, else who the environment names.
    pub(super) fn actor(&self) -> Result<Actor, Refusal> {
        if let Some(agent) = &self.context.agent_flag {
            return self.named(agent.as_str());
        }
        if let Some(holder) = from_environment()? {
            return Ok(Actor { name: None, holder });
        }
        match &self.context.agent {
            Some(agent) => self.named(agent.as_str()),
            None => Err(Refusal::input("who acts? there is no --agent")
                .hint("inbox hcs account list shows whose keys there are; --agent NAME picks one")),
        }
    }

    fn named(&self, name: &str) -> Result<Actor, Refusal> {
        Ok(Actor {
            holder: self.keys()?.get(name)?,
            name: Some(name.to_owned()),
        })
    }

    /// Who pays for an account: who the environment names, or on a local network the treasury.
    pub(super) fn funder(&self) -> Result<(AccountId, PrivateKey), Refusal> {
        if let Some(agent) = &self.context.agent_flag
            && from_environment()?.is_none()
        {
            let holder = self.keys()?.get(agent.as_str())?;
            return Ok((holder.account, holder.key));
        }
        self.patron()
    }

    /// The same, where --agent is another's name.
    pub(super) fn patron(&self) -> Result<(AccountId, PrivateKey), Refusal> {
        patron(&self.network)
    }

    /// The network with its address book. Without that the nodes that everybody knows are enough to begin with.
    pub(super) fn booked(&self) -> Network {
        let network = self.network.clone().with_address_book();
        network.unwrap_or_else(|_| self.network.clone())
    }

    /// The network, for one who pays.
    pub(super) fn net(&self, account: AccountId, key: PrivateKey) -> Result<Net, Refusal> {
        Net::open(&self.booked(), account, key)
    }

    /// The network, for who acts.
    pub(super) fn own_net(&self, actor: &Actor) -> Result<Net, Refusal> {
        self.net(actor.holder.account, actor.holder.key.clone())
    }

    /// Who acts, as an agent: by the file of keys, else by its own profile.
    pub(super) fn participant(&self, actor: &Actor) -> Result<Participant, Refusal> {
        let account = actor.holder.account;
        if let (Some(inbound_topic), Some(outbound_topic)) =
            (actor.holder.inbound, actor.holder.outbound)
        {
            return Ok(Participant {
                account,
                inbound_topic,
                outbound_topic,
            });
        }
        let mirror = self.mirror();
        let own = peer::peer(&mirror, account).map_err(|refusal| Refusal {
            hint: "inbox hcs profile publish makes an agent of the account".to_owned(),
            ..refusal
        })?;
        Ok(Participant {
            account,
            inbound_topic: own.operator(&mirror)?.inbound_topic,
            outbound_topic: own.outbound_topic()?,
        })
    }

    /// The account that an argument names: by its id, or by a name in the file of keys.
    pub(super) fn account(&self, text: &str) -> Result<AccountId, Refusal> {
        if let Ok(id) = text.parse() {
            return Ok(id);
        }
        if let Some(holder) = self.keys()?.find(text)? {
            return Ok(holder.account);
        }
        Err(Refusal::input(format!(
            "{text:?} is no account, such as 0.0.1234, and no name in the file of keys"
        ))
        .hint("inbox hcs account list shows the names"))
    }

    pub(super) fn topic(&self, id: &str) -> Result<TopicId, Refusal> {
        let text = self.must(id);
        text.parse()
            .map_err(|error: inbox_hcs::Refused| Refusal::input(error.to_string()))
    }

    pub(super) fn sequence(&self, id: &str) -> Result<Option<Sequence>, Refusal> {
        let Some(text) = self.text(id) else {
            return Ok(None);
        };
        let number = text.parse().ok().and_then(Sequence::new);
        number
            .map(Some)
            .ok_or_else(|| Refusal::input(format!("{text:?} is not the number of a message")))
    }

    pub(super) fn must_sequence(&self, id: &str) -> Result<Sequence, Refusal> {
        self.sequence(id)?
            .ok_or_else(|| Refusal::input(format!("{id} is missing")))
    }

    pub(super) fn hbar(&self, id: &str) -> Result<Option<Hbar>, Refusal> {
        self.text(id).map(|text| text.parse()).transpose()
    }

    /// The most that a topic may take for a message.
    pub(super) fn max_fee(&self) -> Result<Hbar, Refusal> {
        Ok(self.hbar("max-fee")?.unwrap_or_default())
    }

    /// Who acts, as an agent that lets a topic take up to `--max-fee`.
    pub(super) fn agent<'n>(&self, net: &'n Net, actor: &Actor) -> Result<Agent<'n>, Refusal> {
        Ok(Agent::new(net, self.participant(actor)?).up_to(self.max_fee()?))
    }

    /// Does not show something to who acts any more. Only who is in the file of keys can remember it.
    pub(super) fn hide(&self, actor: &Actor, what: String) -> Result<(), Refusal> {
        let Some(name) = &actor.name else {
            return Ok(());
        };
        let mut keys = self.keys()?;
        let mut holder = keys.get(name)?;
        if !holder.hidden.contains(&what) {
            holder.hidden.push(what);
            keys.put(name, &holder)?;
        }
        Ok(())
    }

    /// The same after something was done, once the mirror has it too.
    pub(super) fn done(&self, net: &Net, body: &Value, page: &Page) -> Result<Ended, Refusal> {
        net.catch_up();
        self.answer(body, page)
    }

    /// Prints an answer: as JSON with these keys, or as a page.
    pub(super) fn answer(&self, body: &Value, page: &Page) -> Result<Ended, Refusal> {
        let printer = self.context.printer;
        if printer.is_json() {
            printer.object(self.name, true, body)?;
        } else {
            printer.page(page)?;
        }
        Ok(Ended::Something)
    }
}

/// The network that the store's record lives on, where there is a store and it says so.
fn of_the_store(context: &Context) -> Option<String> {
    let location = find::store(context.db.as_deref()).ok();
    let config = config::load_here(location.as_ref()).ok()?;
    config.ledger.network
}

/// The network that is called so.
pub(in crate::cli::local) fn network(named: &str) -> Result<Network, Refusal> {
    // One file is one network, from wherever it is named.
    let path = std::fs::canonicalize(named);
    let named = path.map_or(named.to_owned(), |path| path.to_string_lossy().into_owned());
    Network::named(&named).map_err(|error| {
        Refusal::input(error.to_string())
            .hint("inbox hcs --network local|testnet|previewnet|mainnet|FILE")
    })
}

/// Who pays for accounts on a network: who the environment names, or on a local network the treasury.
pub(in crate::cli::local) fn patron(network: &Network) -> Result<(AccountId, PrivateKey), Refusal> {
    if let Some(holder) = from_environment()? {
        return Ok((holder.account, holder.key));
    }
    if network.is_public() {
        let network = &network.name;
        return Err(Refusal::input(format!("who pays for it on {network}?"))
            .hint("export INBOX_HEDERA_ACCOUNT and INBOX_HEDERA_KEY, or --agent NAME of one whose key is there"));
    }
    let account = u64::try_from(TREASURY)
        .ok()
        .and_then(|number| AccountId::new(0, 0, number));
    let key = TREASURY_KEY.parse();
    account
        .zip(key.ok())
        .ok_or_else(|| Refusal::new(Code::Internal, "the key of the treasury cannot be read"))
}

/// The file of keys: by its flag, else by the environment, else the usual one.
pub(in crate::cli::local) fn keys_path(flag: Option<String>) -> Result<PathBuf, Refusal> {
    let named = flag.or_else(|| find::variable("INBOX_HEDERA_KEYS"));
    named.map_or_else(usual_keys, |named| Ok(named.into()))
}

/// Beside the nearest store, or where one would be made.
fn usual_keys() -> Result<PathBuf, Refusal> {
    let here = std::env::current_dir().unwrap_or_default();
    let near = here
        .ancestors()
        .map(|folder| folder.join(KEYS))
        .find(|path| path.exists());
    let Some(near) = near else {
        return Ok(Path::new(KEYS).to_owned());
    };
    // Whoever can put another file there decides which account pays and signs.
    find::must_be_trusted(&near, |place| {
        format!(
            "inbox hcs --keys {place} uses that file if you trust it, as INBOX_HEDERA_KEYS does"
        )
    })?;
    Ok(near)
}

/// Who the environment names: an account with its key, never one without the other.
fn from_environment() -> Result<Option<Holder>, Refusal> {
    let account = find::variable("INBOX_HEDERA_ACCOUNT");
    let key = find::variable("INBOX_HEDERA_KEY");
    let (account, key) = match (account, key) {
        (None, None) => return Ok(None),
        (Some(account), Some(key)) => (account, key),
        (Some(_), None) => {
            return Err(Refusal::input(
                "INBOX_HEDERA_ACCOUNT is set, and INBOX_HEDERA_KEY is not",
            ));
        }
        (None, Some(_)) => {
            return Err(Refusal::input(
                "INBOX_HEDERA_KEY is set, and INBOX_HEDERA_ACCOUNT is not",
            ));
        }
    };
    Ok(Some(Holder {
        // The two are easily swapped, and then this is the secret.
        account: account.parse().map_err(|_: inbox_hcs::Refused| {
            Refusal::input("INBOX_HEDERA_ACCOUNT is not an account id such as 0.0.1234")
        })?,
        // The value is a secret: only that it is none may be said.
        key: key.parse().map_err(|error: inbox_hedera::key::KeyError| {
            Refusal::input(format!("INBOX_HEDERA_KEY: {error}"))
        })?,
        inbound: None,
        outbound: None,
        hidden: Vec::new(),
    }))
}
