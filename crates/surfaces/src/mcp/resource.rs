//! Resources: the inbox and each thread, to be read, and to be told of when they change.

use std::time::{Duration, Instant};

use inbox_core::{Code, EventId, Refusal, ThreadId};
use inbox_ops::{Caller, Effect, Operation, Read, Show, Waiting, Watch, Watched};
use rmcp::ErrorData;
use rmcp::model::{Resource, ResourceTemplate};

use super::desk::{Desk, Ending, Proof};
use super::ground::{Ground, Polled};
use super::look::Seen;
use super::text;

const INBOX: &str = "inbox://inbox";
const THREAD: &str = "inbox://thread/";

/// How long one wait for a change takes before the next begins.
const TURN: Duration = Duration::from_hours(1);

/// What a URI names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// The caller's inbox.
    Inbox,
    /// A thread.
    Thread(ThreadId),
}

impl Place {
    pub(super) fn of(uri: &str) -> Option<Place> {
        if uri == INBOX {
            return Some(Place::Inbox);
        }
        uri.strip_prefix(THREAD)?.parse().ok().map(Place::Thread)
    }

    pub(super) fn named(uri: &str) -> Result<Place, ErrorData> {
        Place::of(uri).ok_or_else(|| {
            ErrorData::resource_not_found(
                format!("there is no resource {uri:?}: {INBOX} and {THREAD}ID are"),
                None,
            )
        })
    }
}

/// The resources that have a name.
pub(super) fn list() -> Vec<Resource> {
    vec![
        Resource::new(INBOX, "inbox")
            .with_description("Unread mail")
            .with_mime_type("text/plain"),
    ]
}

/// The resources that are one of many.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new(format!("{THREAD}{{id}}"), "thread")
            .with_description("A thread with its messages")
            .with_mime_type("text/plain"),
    ]
}

/// The text of a resource. Looking at it marks nothing as read.
pub(super) async fn read(desk: &Desk, place: Place) -> Result<String, ErrorData> {
    let text = desk.stand(
        Effect::Read,
        Proof::default(),
        move |ground, caller| match place {
            Place::Inbox => {
                let peek = Read {
                    peek: true,
                    ..Read::default()
                };
                Ok(text::of_mail(&ground.run(&peek, caller)?))
            }
            Place::Thread(id) => Ok(text::of_answer(&ground.run(&Show::of(id), caller)?, 0)),
        },
    );
    let (begun, text) = (Instant::now(), text.await);
    let name = match place {
        Place::Inbox => Read::NAME,
        Place::Thread(_) => Show::NAME,
    };
    desk.ended(name, text.is_err(), Some(begun.elapsed()));
    text.map_err(|refusal| as_error(&refusal))
}

/// A refusal where the protocol has no place for one but an error.
pub(super) fn as_error(refusal: &Refusal) -> ErrorData {
    let message = refusal.message.clone();
    let data = serde_json::to_value(refusal).ok();
    match refusal.code {
        Code::ThreadNotFound => ErrorData::resource_not_found(message, data),
        code if code.exit() == 50 => ErrorData::internal_error(message, data),
        _ => ErrorData::invalid_params(message, data),
    }
}

fn watch(place: Place, after: Option<EventId>) -> Watch {
    Watch {
        thread: match place {
            Place::Thread(id) => Some(id),
            Place::Inbox => None,
        },
        after_event: after,
        ..Watch::default()
    }
}

/// Whom a change is by: anybody in a thread, others in an inbox.
fn look(
    place: Place,
    watch: &mut Polled<Watch>,
    ground: &Ground<'_>,
    caller: &Caller,
) -> Result<Watched, Refusal> {
    let mut caller = caller.clone();
    match place {
        Place::Thread(_) => caller.agent = None,
        Place::Inbox => drop(caller.agent()?),
    }
    watch.look(ground, &caller)
}

/// Where a subscription begins: now.
pub(super) async fn now(desk: &Desk, place: Place) -> Result<EventId, Refusal> {
    desk.stand(Effect::Read, Proof::default(), move |ground, caller| {
        let mut now = Polled::new(watch(place, None));
        Ok(look(place, &mut now, ground, caller)?.next_event_id)
    })
    .await
}

/// Waits for a change after an event. Whether there was one, and where to go on.
pub(super) async fn change(
    desk: &Desk,
    place: Place,
    after: EventId,
) -> Result<(bool, EventId), Refusal> {
    let mut later = Polled::new(watch(place, Some(after)));
    let waited = desk.wait(
        Proof::default(),
        Instant::now() + TURN,
        move |caller| match (place, &caller.agent) {
            (Place::Thread(id), _) => inbox_store::bell::Key::Thread(id),
            (Place::Inbox, Some(agent)) => agent.into(),
            (Place::Inbox, None) => inbox_store::bell::Key::Any,
        },
        move |ground, caller| {
            let answer = look(place, &mut later, ground, caller)?;
            Ok(Seen {
                is_over: Watch::is_over(&answer),
                answer,
                wake_at: None,
            })
        },
        std::future::pending::<Ending>(),
    );
    let waited = waited.await?;
    Ok((waited.woke, waited.next_event_id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_names_the_inbox_or_a_thread() {
        assert_eq!(Place::of("inbox://inbox"), Some(Place::Inbox));
        assert!(matches!(
            Place::of("inbox://thread/thr_1"),
            Some(Place::Thread(_))
        ));
        for uri in [
            "",
            "inbox://",
            "inbox://thread/",
            "file:///etc/passwd",
            "inbox://inbox/",
        ] {
            assert_eq!(Place::of(uri), None, "{uri}");
        }
    }
}
