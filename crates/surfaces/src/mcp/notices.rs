//! Notices of changes: who is told, by which way, and what somebody wants to hear of.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use inbox_core::EventId;
use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::SubscriptionSink;
use rmcp::{ErrorData, Peer, RoleServer};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use super::desk::Desk;
use super::resource::{self, Place};

/// How many resources one connection may subscribe to.
pub(super) const SUBSCRIPTIONS: usize = 100;

/// The resources that somebody wants to hear of; they end with the connection.
#[derive(Default)]
pub(super) struct Subscribed(Mutex<HashMap<String, AbortHandle>>);

impl Subscribed {
    fn all(&self) -> MutexGuard<'_, HashMap<String, AbortHandle>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has an ear told of every change from now on.
    pub(super) async fn add(&self, ear: Ear, desk: &Desk, uri: String) -> Result<(), ErrorData> {
        let place = Place::named(&uri)?;
        let after = resource::now(desk, place)
            .await
            .map_err(|refusal| resource::as_error(&refusal))?;
        let mut all = self.all();
        if all.len() >= SUBSCRIPTIONS && !all.contains_key(&uri) {
            return Err(ErrorData::invalid_params(
                format!("there are {SUBSCRIPTIONS} subscriptions, which is the most"),
                None,
            ));
        }
        let task = tokio::spawn(ear.tell_all(desk.clone(), uri.clone(), place, after));
        if let Some(older) = all.insert(uri, task.abort_handle()) {
            older.abort();
        }
        Ok(())
    }

    pub(super) fn remove(&self, uri: &str) {
        if let Some(task) = self.all().remove(uri) {
            task.abort();
        }
    }
}

impl Drop for Subscribed {
    fn drop(&mut self) {
        self.all().values().for_each(AbortHandle::abort);
    }
}

/// Notices that wait for whoever fetches them, and the subscriptions that they come from. A resource that changed
/// twice before is told of once.
#[derive(Default)]
pub struct Notices {
    changed: Mutex<Vec<String>>,
    rang: Notify,
    pub(super) subscribed: Subscribed,
}

impl Notices {
    fn changed(&self) -> MutexGuard<'_, Vec<String>> {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, uri: &str) {
        let mut changed = self.changed();
        if !changed.iter().any(|known| known == uri) {
            changed.push(uri.to_owned());
        }
        self.rang.notify_one();
    }

    /// What is to be told now, as messages of the protocol.
    pub fn take(&self) -> Vec<Value> {
        let changed = std::mem::take(&mut *self.changed());
        let notice = |uri| json!({ "jsonrpc": "2.0", "method": "notifications/resources/updated", "params": { "uri": uri } });
        changed.into_iter().map(notice).collect()
    }

    /// Returns once there may be something.
    pub async fn rang(&self) {
        self.rang.notified().await;
    }
}

/// Whom to tell of changes, by the way of its revision.
pub(super) enum Ear {
    Peer(Peer<RoleServer>),
    Sink(SubscriptionSink),
    Kept(Weak<Notices>),
}

impl Ear {
    /// Somebody who fetches its notices.
    pub(super) fn of(notices: &Arc<Notices>) -> Self {
        Ear::Kept(Arc::downgrade(notices))
    }

    /// Tells of a change. Whether anybody heard.
    pub(super) async fn tell(&self, uri: &str) -> bool {
        match self {
            Ear::Peer(peer) => {
                let notice = ResourceUpdatedNotificationParam::new(uri);
                peer.notify_resource_updated(notice).await.is_ok()
            }
            Ear::Sink(sink) => sink.notify_resource_updated(uri).await.is_ok(),
            Ear::Kept(notices) => notices.upgrade().map(|notices| notices.put(uri)).is_some(),
        }
    }

    /// Tells of every change until nobody hears.
    pub(super) async fn tell_all(self, desk: Desk, uri: String, place: Place, mut after: EventId) {
        loop {
            match resource::change(&desk, place, after).await {
                Ok((woke, next)) => {
                    after = next;
                    if woke && !self.tell(&uri).await {
                        return;
                    }
                }
                // The store may be back in a moment.
                Err(_) => tokio::time::sleep(Duration::from_secs(1)).await,
            }
        }
    }
}
