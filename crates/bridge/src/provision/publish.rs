//! The profile: written when it is another than the one that is published, each message of its file once.

use inbox_core::{Agent, Refusal};
use inbox_hcs::{
    AccountMemo, Algorithm, Hash, Hrl, Limits, Mime, Participant, ProfileReference, TopicId,
    write_file,
};
use inbox_hedera::client::Asking;
use inbox_hedera::proto::CreateTopicBody;

use super::step::Slot;
use super::{Hands, Labels, Moment, Provisioner, broken, profile, said};
use crate::keys::{Draft, Keys, PublishedFile};
use crate::net::{Net, memo_of};
use crate::told::Told;

impl Provisioner<'_> {
    /// Publishes the profile if it is another than the one that is published: its file, and whether it is new.
    pub(super) fn publish(
        &self,
        keys: &mut Keys,
        agent: &Agent,
        me: Participant,
        hands: &Hands<'_>,
    ) -> Result<(TopicId, bool), Refusal> {
        let name = agent.agent_id.as_str();
        let work = keys.work(name);
        let labels = Labels::of(agent, work.published.as_ref());
        let text = profile(agent, &labels, me).write().told()?;
        let sha256 = Hash::of(text.as_bytes()).to_string();
        if let Some(published) = work.published.filter(|found| found.sha256 == sha256) {
            let file = published.topic_id.parse();
            return Ok((file.map_err(|_| broken(&published.topic_id))?, false));
        }
        let file = self.write(keys, name, hands.net()?, text.as_bytes())?;
        let memo = AccountMemo::new(ProfileReference::Topic(Hrl::file(file))).told()?;
        let step = format!("memo to {file}");
        let slot = Slot::Agent { name, step: &step };
        let asking = Asking::of(memo_of(me.account, &memo.to_string()));
        self.carry_out(keys, &slot, hands.net()?, &asking)?;
        let mut work = keys.work(name);
        work.pending = None;
        work.draft = None;
        work.published = Some(PublishedFile {
            sha256,
            topic_id: file.to_string(),
            roles: labels.roles,
            tags: labels.tags,
        });
        self.reach(Moment::BeforeSave);
        keys.set_work(name, work)?;
        Ok((file, true))
    }

    /// Writes a file, or goes on with it: each of its messages is there once.
    fn write(
        &self,
        keys: &mut Keys,
        name: &str,
        net: &Net,
        content: &[u8],
    ) -> Result<TopicId, Refusal> {
        let mime = Mime::json();
        let written = write_file(content, &mime, Algorithm::Brotli, &Limits::default()).told()?;
        // What stands on the topic, and not what was compressed: another version may compress otherwise.
        let sha256 = Hash::of(written.messages.concat().as_bytes()).to_string();
        let begun = keys.work(name).draft;
        let mut draft = begun
            .filter(|draft| draft.sha256 == sha256)
            .unwrap_or_else(|| Draft {
                sha256: sha256.clone(),
                topic_id: None,
                messages: 0,
            });
        let save = |keys: &mut Keys, draft: &Draft| {
            let mut work = keys.work(name);
            work.pending = None;
            work.draft = Some(draft.clone());
            self.reach(Moment::BeforeSave);
            keys.set_work(name, work)
        };
        let of = sha256.get(..12).unwrap_or_default();
        let topic = match &draft.topic_id {
            Some(id) => id.parse().map_err(|_| broken(id))?,
            None => {
                let body = CreateTopicBody {
                    memo: written.memo.to_string(),
                    submit_key: Some(net.public_key()?),
                    ..CreateTopicBody::default()
                };
                let topic = self.topic(keys, name, &format!("file {of}"), net, body)?;
                draft.topic_id = Some(topic.to_string());
                save(keys, &draft)?;
                topic
            }
        };
        for (place, message) in written.messages.iter().enumerate().skip(draft.messages) {
            let step = format!("message {place} of file {of}");
            let slot = Slot::Agent { name, step: &step };
            let asking = Asking::of(said(topic, message));
            self.carry_out(keys, &slot, net, &asking)?;
            draft.messages = place + 1;
            save(keys, &draft)?;
        }
        Ok(topic)
    }
}
