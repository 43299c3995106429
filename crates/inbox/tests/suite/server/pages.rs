//! Every page of a busy store is one that a slow line carries, and its pages lead through all there is.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use inbox_ops::{Caller, Inbox};
use inbox_store::{Location, Store};
use inbox_testkit::crowd::{self, Crowd, Size};
use inbox_testkit::sandbox::Sandbox;

use super::Served;
use super::raw::{Answered, exchange};
use crate::INBOX;

/// The largest page.
const LARGEST: usize = 200_000;

/// How many pages of one sort are looked at.
const EACH: usize = 8;

/// A person in the console of a busy store.
struct Visit {
    served: Served,
    cookie: String,
    crowd: Crowd,
}

impl Visit {
    fn enter() -> Visit {
        let desk = Sandbox::new(INBOX);
        let location = Location::File(desk.store());
        let crowd = crowd::fill(&location, Size::SMALL).expect("it is filled");
        let inbox = Inbox::new(Store::open(&location).expect("it opens"));
        let person = crowd::PERSON.parse().expect("a name");
        let code = inbox
            .invite(&Caller::local(None), Some(&person), false)
            .expect("a link")
            .code;
        let served = Served::on(desk);
        let mut visit = Visit {
            served,
            cookie: String::new(),
            crowd,
        };
        let entered = visit.get(&format!("/in/{code}"));
        let cookie = entered.head.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            let is_cookie = name.eq_ignore_ascii_case("set-cookie");
            value.split(';').next().filter(|_| is_cookie)
        });
        cookie.expect("a cookie").clone_into(&mut visit.cookie);
        visit
    }

    fn get(&self, path: &str) -> Answered {
        let address = self.served.address();
        let cookie = &self.cookie;
        let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nCookie: {cookie}\r\n\r\n");
        exchange(address, request.as_bytes())
    }

    /// What stands at a path, which is there and no larger than it may be.
    #[track_caller]
    fn page(&self, path: &str) -> String {
        let found = self.get(path);
        assert_eq!(found.status, 200, "{path}: {}", found.body);
        let size = found.body.len();
        assert!(size < LARGEST, "{path} has {size} bytes");
        found.body
    }

    /// Follows a link with these words from page to page: the keys of what stands there, page by page.
    fn walk(&self, start: &str, words: &str) -> Vec<Vec<String>> {
        let (mut path, mut pages) = (start.to_owned(), Vec::new());
        loop {
            let page = self.page(&path);
            let keys = page.split("data-item data-key=\"").skip(1);
            let keys = keys.filter_map(|rest| rest.split('"').next());
            pages.push(keys.map(str::to_owned).collect());
            let link = links(&page).find(|(_, text)| text.contains(words));
            match link {
                Some((to, _)) => path = beside(&path, &to),
                None => return pages,
            }
        }
    }
}

/// The links of a page, with what they say.
fn links(page: &str) -> impl Iterator<Item = (String, String)> + '_ {
    page.split("<a ").skip(1).filter_map(|rest| {
        let tag = rest.split('>').next()?;
        let to = tag.split("href=\"").nth(1)?.split('"').next()?;
        let text = rest.split('>').nth(1)?.split('<').next()?;
        Some((
            to.replace("&#38;", "&").replace("&amp;", "&"),
            text.to_owned(),
        ))
    })
}

/// Where a link leads from a path.
fn beside(path: &str, to: &str) -> String {
    let here = path.split('?').next().unwrap_or_default();
    match to.strip_prefix('?') {
        Some(query) => format!("{here}?{query}"),
        None => to.to_owned(),
    }
}

/// A path without what makes it one of many.
fn sort(path: &str) -> String {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let mut parts = path.split('/').skip(1);
    let first = parts.next().unwrap_or_default();
    let names: Vec<&str> = query
        .split('&')
        .map(|pair| pair.split('=').next().unwrap_or_default())
        .collect();
    format!("{first}/{} {}", parts.count(), names.join(" "))
}

#[test]
fn every_page_of_a_busy_store_is_one_that_a_slow_line_carries() {
    let visit = Visit::enter();
    let mut waiting: VecDeque<String> = [
        format!("/threads/{}", visit.crowd.long),
        format!("/threads/{}", visit.crowd.large),
        format!("/threads/{}/{}", visit.crowd.large, visit.crowd.largest),
        "/channels/project:p02".to_owned(),
        "/threads?q=parser".to_owned(),
        "/threads?agent=agent-007&status=done".to_owned(),
        "/threads?run=release-7".to_owned(),
        "/flow?since=7d".to_owned(),
        "/flow?since=7d&run=release-7".to_owned(),
        "/".to_owned(),
    ]
    .into();
    let (mut seen, mut sorts) = (BTreeSet::new(), BTreeMap::new());
    while let Some(path) = waiting.pop_front() {
        let count: &mut usize = sorts.entry(sort(&path)).or_default();
        if *count >= EACH || !seen.insert(path.clone()) {
            continue;
        }
        *count += 1;
        let page = visit.page(&path);
        for (to, _) in links(&page) {
            let to = beside(&path, to.split('#').next().unwrap_or_default());
            let is_page = to.starts_with('/') && !to.starts_with("/assets");
            if is_page && !to.starts_with("/proof") {
                waiting.push_back(to);
            }
        }
    }
    for wanted in [
        "/1 ",
        "agents/0 from",
        "agents/1 ",
        "threads/1 before",
        "threads/2 part",
        "dead/0 from",
        "/0 after",
        "/0 from",
    ] {
        assert!(
            sorts.contains_key(wanted) || wanted == "/1 ",
            "{wanted}: {sorts:?}"
        );
    }
}

#[test]
fn the_pages_of_a_list_lead_through_all_of_it() {
    let visit = Visit::enter();
    let long = format!("/threads/{}", visit.crowd.long);
    let of = |pages: Vec<Vec<String>>, begins: &str| -> (usize, usize) {
        let keys = pages.into_iter().flatten();
        let keys: Vec<String> = keys.filter(|key| key.starts_with(begins)).collect();
        (keys.len(), keys.iter().collect::<BTreeSet<_>>().len())
    };
    let wanted = Size::SMALL.long;
    assert_eq!(of(visit.walk(&long, "Older"), "msg_"), (wanted, wanted));
    let agents = of(visit.walk("/agents", "More"), "agent-");
    assert_eq!(agents, (Size::SMALL.agents, Size::SMALL.agents));
    // Those who ask are held by no page twice, and each letter that reached nobody is on one.
    let (all, different) = of(visit.walk("/", "more"), "thr_");
    assert!(different >= Size::SMALL.asks, "{all} {different}");
    // What is urgent is on the first page too.
    let (_, mail) = of(visit.walk("/", "More mail"), "msg_");
    assert!(mail >= Size::SMALL.unread, "{mail}");
    // A message far back is found by its link.
    let oldest = visit
        .walk(&long, "Older")
        .last()
        .cloned()
        .unwrap_or_default();
    let found = visit.page(&format!("{long}?at={}", oldest[0]));
    assert!(found.contains(&format!("id=\"{}\"", oldest[0])));
}
