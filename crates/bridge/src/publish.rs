//! How an account becomes an agent: its topics, its profile in a file, and the memo that leads there.

use inbox_core::Refusal;
use inbox_hcs::{
    AccountMemo, Algorithm, Hrl, Mime, Participant, Profile, ProfileReference, TopicId, TopicMemo,
    Ttl,
};
use inbox_hedera::proto::{CreateTopicBody, FixedCustomFee, FixedFee};

use crate::net::Net;
use crate::told::Told;
use crate::{Hbar, file};

/// Who may ask the agent for a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inbound {
    /// Anybody.
    Public,
    /// Who has the agent's key.
    Controlled,
    /// Whoever pays the agent so much for each message.
    Fee(Hbar),
}

/// An account that is an agent now.
#[derive(Debug, Clone, PartialEq)]
pub struct Published {
    /// Its topics.
    pub me: Participant,
    /// The file with its profile.
    pub file: TopicId,
    /// The profile as it stands there.
    pub profile: Profile,
}

/// Makes the topic on which the payer records what it does.
pub fn create_outbound(net: &Net) -> Result<TopicId, Refusal> {
    net.create_topic(outbound_of(net, Ttl::MINUTE)?)
}

/// Such a topic.
pub(crate) fn outbound_of(net: &Net, ttl: Ttl) -> Result<CreateTopicBody, Refusal> {
    let key = net.public_key()?;
    Ok(CreateTopicBody {
        memo: TopicMemo::Outbound { ttl }.to_string(),
        admin_key: Some(key.clone()),
        submit_key: Some(key),
        ..CreateTopicBody::default()
    })
}

/// Makes the topic on which the payer hears requests.
pub fn create_inbound(net: &Net, inbound: Inbound) -> Result<TopicId, Refusal> {
    net.create_topic(inbound_of(net, inbound, Ttl::MINUTE)?)
}

/// Such a topic.
pub(crate) fn inbound_of(
    net: &Net,
    inbound: Inbound,
    ttl: Ttl,
) -> Result<CreateTopicBody, Refusal> {
    let key = net.public_key()?;
    let memo = TopicMemo::Inbound {
        ttl,
        account: net.account(),
    };
    let mut body = CreateTopicBody {
        memo: memo.to_string(),
        admin_key: Some(key.clone()),
        ..CreateTopicBody::default()
    };
    match inbound {
        Inbound::Public => {}
        Inbound::Controlled => body.submit_key = Some(key),
        Inbound::Fee(fee) => charge(net, &mut body, fee)?,
    }
    Ok(body)
}

/// Has a new topic take a fee for the payer, from everybody else.
pub fn charge(net: &Net, body: &mut CreateTopicBody, fee: Hbar) -> Result<(), Refusal> {
    let key = net.public_key()?;
    body.fee_schedule_key = Some(key.clone());
    body.fee_exempt_key_list = vec![key];
    body.custom_fees = vec![FixedCustomFee {
        fixed_fee: Some(FixedFee {
            amount: fee.tinybars(),
            denominating_token_id: None,
        }),
        fee_collector_account_id: Some(net.account().into()),
    }];
    Ok(())
}

/// Publishes a profile: in a file, to which the memo of the payer's account then leads.
pub fn publish(net: &Net, me: Participant, profile: Profile) -> Result<Published, Refusal> {
    let profile = Profile {
        base_account: Some(me.account),
        inbound_topic: Some(me.inbound_topic),
        outbound_topic: Some(me.outbound_topic),
        ..profile
    };
    let text = profile.write().told()?;
    let file = file::put(net, text.as_bytes(), &Mime::json(), Algorithm::Brotli)?;
    let memo = AccountMemo::new(ProfileReference::Topic(Hrl::file(file))).told()?;
    net.set_account_memo(&memo.to_string())?;
    Ok(Published { me, file, profile })
}
