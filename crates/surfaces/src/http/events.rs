//! Events as they happen, for browsers and programs: server-sent events from any cursor.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::Either;
use hyper::body::{Body as HttpBody, Bytes, Frame, Incoming};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Request, Response};
use inbox_core::{EventId, Refusal};
use inbox_ops::{Caller, Watch};
use tokio::sync::mpsc;

use super::gate::{self, one};
use super::route::{Body, House};
use super::wait::Wait;

/// How many pieces may wait for a slow reader before the stream waits for it.
const AHEAD: usize = 8;

/// Something is sent at least so often, so that a dead connection is noticed.
const ALIVE: Duration = Duration::from_secs(15);

/// A body that goes on.
pub(super) struct Events {
    pieces: mpsc::Receiver<Bytes>,
}

impl Events {
    /// A body, and where its pieces go in.
    pub(super) fn channel() -> (mpsc::Sender<Bytes>, Events) {
        let (send, pieces) = mpsc::channel(AHEAD);
        (send, Events { pieces })
    }
}

impl HttpBody for Events {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        self.pieces
            .poll_recv(context)
            .map(|piece| piece.map(|bytes| Ok(Frame::data(bytes))))
    }
}

/// Begins to follow: from `Last-Event-ID`, else from `after`, else from now.
pub(super) fn follow(
    house: &Arc<House>,
    request: &Request<Incoming>,
    caller: Caller,
) -> Result<Events, Refusal> {
    let mut watch = Watch::default();
    for pair in request.uri().query().unwrap_or_default().split('&') {
        match pair.split_once('=').unwrap_or((pair, "")) {
            ("", "") => {}
            ("after", value) => watch.after_event = Some(cursor(value)?),
            ("thread", value) => watch.thread = Some(value.parse()?),
            (name, _) => {
                return Err(Refusal::input(format!("there is no parameter {name:?}"))
                    .hint("after and thread choose what is followed"));
            }
        }
    }
    let last = HeaderName::from_static("last-event-id");
    if let Some(value) = one(request.headers(), &last)? {
        watch.after_event = Some(cursor(value)?);
    }
    let (send, events) = Events::channel();
    let secret = gate::secret(request.headers())?;
    let house = Arc::clone(house);
    tokio::spawn(async move {
        let mut wait = Wait::new(Arc::clone(&house.engine), watch, caller);
        loop {
            let piece = match wait.within(ALIVE).await {
                Ok(None) => ": alive\n\n".to_owned(),
                Ok(Some(answer)) if answer.events.is_empty() => break,
                Ok(Some(answer)) => answer.events.iter().map(frame).collect(),
                Err(refusal) => {
                    let error = crate::envelope::refusal(&refusal);
                    let _ = send
                        .send(format!("event: error\ndata: {error}\n").into())
                        .await;
                    break;
                }
            };
            // A token that has ended opens nothing more, whenever the stream was begun.
            if !house.is_open(secret.as_ref()).await || send.send(piece.into()).await.is_err() {
                break;
            }
        }
    });
    Ok(events)
}

fn cursor(text: &str) -> Result<EventId, Refusal> {
    let number: Option<i64> = text.parse().ok().filter(|number| *number >= 0);
    let shown = inbox_core::text::quoted(text);
    let wrong = || Refusal::input(format!("{shown} is not the number of an event"));
    number.map(EventId).ok_or_else(wrong)
}

fn frame(event: &inbox_core::Event) -> String {
    let data = serde_json::to_string(event).unwrap_or_default();
    format!(
        "id: {}\nevent: {}\ndata: {data}\n\n",
        event.event_id, event.event_type
    )
}

pub(super) fn response(events: Events) -> Response<Body> {
    let mut response = Response::new(Either::Right(Either::Left(events)));
    let headers = response.headers_mut();
    let kind = HeaderValue::from_static("text/event-stream; charset=utf-8");
    headers.insert(header::CONTENT_TYPE, kind);
    for (name, value) in super::SAFE {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #![proptest_config(crate::damage::cases(400))]

        #[test]
        fn a_cursor_is_a_number_or_refused_in_few_words(text in crate::damage::damaged_text(vec!["417", "9223372036854775807"])) {
            match cursor(&text) {
                Ok(found) => proptest::prop_assert!(found.0 >= 0),
                Err(refusal) => proptest::prop_assert!(refusal.message.len() < 1_500),
            }
        }
    }
}
