//! The entry on the registry, and the registry where there is none.

use inbox_core::Refusal;
use inbox_hcs::{Operation, Register, TopicId, TransactionMemo};
use inbox_hedera::client::Asking;
use inbox_hedera::fee;

use super::step::{self, Slot};
use super::{Change, Hands, Moment, Provisioner, said};
use crate::keys::{Keys, Registered};
use crate::net::topic_of;
use crate::registry;
use crate::told::{Told, named};

impl Provisioner<'_> {
    /// Puts the agent on the registry, which is made where there is none: where it is, and its number.
    pub(super) fn enlist(
        &self,
        keys: &mut Keys,
        name: &str,
        hands: &Hands<'_>,
        changes: &mut Vec<Change>,
    ) -> Result<(TopicId, Option<u64>), Refusal> {
        let registry = match self.registry.or_else(|| keys.registry()) {
            Some(registry) => registry,
            None => {
                changes.push(Change::Registry);
                self.make_registry(keys, hands)?
            }
        };
        let work = keys.work(name);
        let here = registry.to_string();
        if let Some(found) = work
            .registered
            .filter(|found| found.registry_topic_id == here)
        {
            return Ok((registry, found.uid));
        }
        let net = hands.net()?;
        let listed = registry::list(net.mirror(), registry)?;
        let step = format!("entry on {}", listed.topic);
        let is_begun = work.pending.is_some_and(|pending| pending.step == step);
        let mine = listed.directory.find(net.account());
        let uid = match mine {
            Some(found) if !is_begun => Some(found.uid.get()),
            _ => {
                let operation = Operation::Register(Register {
                    account: net.account(),
                    memo: None,
                });
                let text = operation.write().told()?;
                let limits = net.limits(listed.topic, text.len(), self.most)?;
                let memo = TransactionMemo::of(&operation).to_string();
                let mut asking = Asking::of(said(listed.topic, &text)).memo(memo);
                if !limits.is_empty() {
                    asking.fee = fee::SUBMIT_WITH_FEES;
                }
                let asking = asking.limited(limits);
                let slot = Slot::Agent { name, step: &step };
                let made = self.carry_out(keys, &slot, net, &asking)?;
                changes.push(Change::Entry);
                made.sequence
            }
        };
        let mut work = keys.work(name);
        work.pending = None;
        work.registered = Some(Registered {
            registry_topic_id: here,
            uid,
        });
        self.reach(Moment::BeforeSave);
        keys.set_work(name, work)?;
        Ok((registry, uid))
    }

    /// Makes the registry, or goes on with making it, in the name of whoever began.
    fn make_registry(&self, keys: &mut Keys, hands: &Hands<'_>) -> Result<TopicId, Refusal> {
        let begun_by = match keys.registry_transaction() {
            Some(id) => step::payer(id)?,
            None => None,
        };
        let other = match begun_by {
            Some(account) if account != hands.holder.account => keys.by_account(account)?,
            _ => None,
        };
        let others = match other {
            Some(holder) => Some(self.net(holder.account, holder.key)?),
            None => None,
        };
        let net = match &others {
            Some(net) => net,
            None => hands.net()?,
        };
        let asking = Asking::of(topic_of(registry::registry_of(net, None)?));
        let made = self.carry_out(keys, &Slot::Registry, net, &asking)?;
        let topic = named(made.topic, "a topic")?;
        // It is read before anything is written there.
        net.catch_up();
        self.reach(Moment::BeforeSave);
        keys.set_registry(topic)?;
        Ok(topic)
    }
}
