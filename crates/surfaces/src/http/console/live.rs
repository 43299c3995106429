//! Pages that stay live: made again when something happened, once for all who look at the same, and sent where they changed.
//!
//! Making pages may not slow the work that they show: one is made at a time, and after each there is a pause as long as the making
//! was, many times as long while there is much work. What did not change is not sent.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hyper::body::Bytes;
use inbox_core::{AgentName, Refusal};
use inbox_store::bell::Key;
use tokio::sync::Semaphore;

use super::{Guest, Place, visited};
use crate::console;
use crate::http::events::Events;
use crate::http::route::House;

/// What happens within this time is shown at once.
const TOGETHER: Duration = Duration::from_millis(100);

/// A page is made again after this time although nothing rang: leases end, and sessions die, by the clock alone.
const STALE: Duration = Duration::from_secs(15);

/// How many times longer than the making of a page nothing is made after it while more than so many operations end in a second:
/// pages then take a small part of one core, however many look at them.
const PAUSES: [(f64, u32); 2] = [(1000.0, 59), (40.0, 19)];

/// The pages that somebody looks at.
pub(in crate::http) struct Live {
    pages: Mutex<HashMap<(AgentName, String), Shared>>,
    making: Arc<Semaphore>,
    load: Mutex<Load>,
}

/// How much work there is, as it was last looked at.
struct Load {
    at: Instant,
    ended: u64,
}

impl Default for Live {
    fn default() -> Self {
        Live {
            pages: Mutex::default(),
            making: Arc::new(Semaphore::new(1)),
            load: Mutex::new(Load {
                at: Instant::now(),
                ended: 0,
            }),
        }
    }
}

/// A page that several look at, and one makes.
type Shared = Arc<tokio::sync::Mutex<Page>>;

#[derive(Default)]
struct Page {
    /// When it was begun to be made.
    begun: Option<Instant>,
    /// As it is sent.
    data: Bytes,
    /// Without what the clock alone changes.
    mark: u64,
}

impl Live {
    fn page(&self, guest: &Guest, place: &Place) -> Shared {
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        pages.retain(|_, page| Arc::strong_count(page) > 1);
        let key = (guest.token.agent_id.clone(), place.at.clone());
        Arc::clone(pages.entry(key).or_default())
    }

    /// How many times longer than a making nothing is made now, given how many operations have ended.
    fn pause(&self, ended: u64) -> u32 {
        let mut load = self.load.lock().unwrap_or_else(PoisonError::into_inner);
        let more = u32::try_from(ended.saturating_sub(load.ended)).unwrap_or(u32::MAX);
        let rate = f64::from(more) / load.at.elapsed().as_secs_f64().max(0.001);
        *load = Load {
            at: Instant::now(),
            ended,
        };
        let pause = PAUSES.iter().find(|(much, _)| rate > *much);
        pause.map_or(1, |(_, pause)| *pause)
    }
}

/// Begins to follow a page.
pub(super) fn follow(house: &Arc<House>, guest: Guest, place: Place) -> Events {
    let (send, events) = Events::channel();
    let house = Arc::clone(house);
    tokio::spawn(async move {
        let shared = house.live.page(&guest, &place);
        let mut waiter = house.engine.waker.register(&Key::Any);
        let mut seen = None;
        let mut is_due = true;
        // Whoever was rung at the same time shares what was made since.
        let mut rang = Instant::now();
        loop {
            waiter.rearm();
            let piece = match made(&house, &guest, &place, &shared, rang).await {
                Ok((mark, _)) if seen == Some(mark) => Bytes::from_static(b": same\n\n"),
                Ok((mark, data)) => {
                    seen = Some(mark);
                    is_due = true;
                    data
                }
                Err(_) => Bytes::from_static(b": later\n\n"),
            };
            // That nothing changed is told now and then, so that a dead connection is noticed.
            if is_due && send.send(piece).await.is_err() {
                return;
            }
            if send.is_closed() || house.engine.is_stopping() {
                return;
            }
            is_due = false;
            tokio::select! {
                () = waiter.rang() => {
                    rang = Instant::now();
                    tokio::time::sleep(TOGETHER).await;
                }
                () = tokio::time::sleep(STALE) => {
                    is_due = true;
                    // Whoever else made it lately made it for this one, too.
                    let now = Instant::now();
                    rang = now.checked_sub(STALE / 2).unwrap_or(now);
                }
            }
            // A session that has ended is shown nothing more.
            if !house.is_in_console(&guest).await {
                let _ = send.send("event: out\ndata: \n\n".into()).await;
                return;
            }
        }
    });
    events
}

/// The page as it is after that time, made by whoever comes first.
async fn made(
    house: &Arc<House>,
    guest: &Guest,
    place: &Place,
    shared: &tokio::sync::Mutex<Page>,
    after: Instant,
) -> Result<(u64, Bytes), Refusal> {
    let mut page = shared.lock().await;
    if page.begun.is_none_or(|begun| begun < after) {
        let permit = Arc::clone(&house.live.making).acquire_owned().await;
        let begun = Instant::now();
        let (guest, place) = (guest.clone(), place.clone());
        let shown = house
            .engine
            .look(move |inbox| visited(inbox, &guest, &place, console::show))
            .await;
        let pause = begun.elapsed() * house.live.pause(house.engine.metrics.all_ended());
        let shown = shown?;
        page.begun = Some(begun);
        page.mark = mark(&shown);
        let data = serde_json::json!({
            "title": shown.title,
            "main": shown.main,
            "asks": shown.asks,
            "unread": shown.unread,
        });
        // One piece of memory for all who look at it.
        page.data = format!("event: page\ndata: {data}\n\n").into();
        // Who waits for this page has it now; the others wait for their turn.
        tokio::spawn(async move {
            tokio::time::sleep(pause).await;
            drop(permit);
        });
    }
    Ok((page.mark, page.data.clone()))
}

/// What tells a page from another, but for times that count on by themselves.
fn mark(shown: &console::Shown) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    (&shown.title, shown.asks, shown.unread).hash(&mut hasher);
    let mut parts = shown.main.split("</time>");
    for part in &mut parts {
        let told = part.rfind("<time").and_then(|start| {
            let end = part[start..].find('>')?;
            Some(&part[..=start + end])
        });
        told.unwrap_or(part).hash(&mut hasher);
    }
    hasher.finish()
}

impl House {
    async fn is_in_console(&self, guest: &Guest) -> bool {
        let secret = Some(guest.secret.clone());
        self.doors.open(&self.engine, secret).await.is_ok()
    }
}
