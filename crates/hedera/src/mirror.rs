//! A reader of a mirror node's REST: topics, messages, accounts, schedules, transactions, nodes.
//!
//! What a mirror says is a stranger's word: answers are bounded, pages are followed on the same host alone and only forwards, and what
//! has another form than it should is an error with its place. Whether a history is whole is for running hashes to say.

mod answer;
mod ask;
mod facts;
mod find;
#[cfg(test)]
mod properties;

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;
use thiserror::Error;
use ureq::Agent;
use ureq::http::HeaderMap;

pub use self::facts::*;

/// The largest answer, in bytes: a hundred messages, three times over.
const MOST: u64 = 1024 * 1024;

/// How many messages are asked for at once.
const PAGE: usize = 100;

/// How long one request may take.
const PATIENCE: Duration = Duration::from_secs(15);

/// How often a request is tried, and how long to wait before the second time; twice as long before each after it.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(250);

/// The longest that a mirror may make us wait before the next attempt.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// A mirror that does not say what it is asked.
#[derive(Debug, Error)]
pub enum MirrorError {
    /// It cannot be reached, or does not answer.
    #[error("the mirror {0} cannot be reached: {1}")]
    Unreachable(String, String),
    /// It answered with an error of its own.
    #[error("the mirror answered {status} to {path}")]
    Status {
        /// The number.
        status: u16,
        /// What was asked for.
        path: String,
    },
    /// It answered something else than what was asked for.
    #[error("the mirror's answer to {path} has no good {field}")]
    Form {
        /// What was asked for.
        path: String,
        /// What is missing or wrong.
        field: String,
    },
    /// It says that the list goes on somewhere else.
    #[error("the mirror's answer to {path} goes on elsewhere, at {link:?}")]
    Foreign {
        /// What was asked for.
        path: String,
        /// Where it would go on.
        link: String,
    },
    /// Its list does not end.
    #[error("the mirror's answer to {path} has more than {most} entries")]
    Endless {
        /// What was asked for.
        path: String,
        /// How many are taken.
        most: usize,
    },
}

/// A mirror node. Copies of it share their connections.
#[derive(Clone)]
pub struct Mirror {
    base: String,
    agent: Agent,
    tries: u32,
}

/// What came of one request: the answer, or what went wrong and how long the mirror asks to be left alone.
type Tried = Result<Option<Value>, (MirrorError, Option<Duration>)>;

impl Mirror {
    /// The mirror at this address, such as `http://127.0.0.1:5551`.
    pub fn new(base: &str) -> Self {
        let mut config = Agent::config_builder()
            .timeout_global(Some(PATIENCE))
            .http_status_as_error(false)
            // A mirror answers by itself; whoever sends elsewhere is not it.
            .max_redirects(0);
        if base.starts_with("https:") {
            config = config.tls_config(crate::tls::of_requests());
        }
        Mirror {
            base: base.trim_end_matches('/').to_owned(),
            agent: config.build().new_agent(),
            tries: TRIES,
        }
    }

    /// The same, which tries nothing twice: for whoever comes again by itself.
    pub fn trying_once(mut self) -> Self {
        self.tries = 1;
        self
    }

    /// Where it is.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// What a path answers; nothing when there is no such thing.
    fn get(&self, path: &str) -> Result<Option<Value>, MirrorError> {
        let url = format!("{}{path}", self.base);
        let mut pause = PAUSE;
        let mut tries = 1;
        loop {
            let (error, wait) = match self.try_get(&url, path) {
                Ok(found) => return Ok(found),
                Err(failed) => failed,
            };
            let may_pass = match &error {
                MirrorError::Unreachable(..) => true,
                MirrorError::Status { status, .. } => *status == 429 || *status >= 500,
                _ => false,
            };
            if !may_pass || tries >= self.tries {
                return Err(error);
            }
            tries += 1;
            std::thread::sleep(wait.unwrap_or_default().max(pause));
            pause *= 2;
        }
    }

    fn try_get(&self, url: &str, path: &str) -> Tried {
        let away = |error: ureq::Error| {
            let error = MirrorError::Unreachable(self.base.clone(), error.to_string());
            (error, None)
        };
        let mut answer = self.agent.get(url).call().map_err(away)?;
        match answer.status().as_u16() {
            200 => {}
            404 => return Ok(None),
            status => {
                let path = path.to_owned();
                let wait = asked_to_wait(answer.headers());
                return Err((MirrorError::Status { status, path }, wait));
            }
        }
        let text = answer
            .body_mut()
            .with_config()
            .limit(MOST)
            .read_to_string()
            .map_err(away)?;
        serde_json::from_str(&text).map(Some).map_err(|_| {
            let error = MirrorError::Form {
                path: path.to_owned(),
                field: "JSON".into(),
            };
            (error, None)
        })
    }

    /// Every entry of a list that comes in pages, at most so many.
    fn listed(&self, first: &str, field: &str, most: usize) -> Result<Vec<Value>, MirrorError> {
        let mut path = first.to_owned();
        let mut seen = BTreeSet::new();
        let mut all = Vec::new();
        let endless = || MirrorError::Endless {
            path: first.to_owned(),
            most,
        };
        loop {
            let Some(mut found) = self.get(&path)? else {
                return Ok(all);
            };
            let Some(Value::Array(page)) = found.get_mut(field).map(Value::take) else {
                let field = field.to_owned();
                return Err(MirrorError::Form { path, field });
            };
            // Pages with nothing on them could follow one another for ever.
            let is_empty = page.is_empty();
            all.extend(page);
            if all.len() > most {
                return Err(endless());
            }
            let next = match &found["links"]["next"] {
                Value::String(link) if !is_empty => self.same_host(&path, link)?,
                _ => return Ok(all),
            };
            seen.insert(path);
            if seen.contains(&next) {
                return Err(endless());
            }
            path = next;
        }
    }

    /// The path of a link to the next page, which must be on this mirror.
    fn same_host(&self, path: &str, link: &str) -> Result<String, MirrorError> {
        let rest = link.strip_prefix(&self.base).unwrap_or(link);
        let is_plain = rest.bytes().all(|byte| byte.is_ascii_graphic())
            && !rest.contains(['\\', '#', '@'])
            && !rest.contains("..")
            && !rest.contains("//");
        if is_plain && rest.starts_with("/api/v1/") {
            return Ok(rest.to_owned());
        }
        Err(MirrorError::Foreign {
            path: path.to_owned(),
            link: link.chars().take(200).collect(),
        })
    }
}

/// How long a server asks to be left alone, where it says so in seconds: not longer than we are ready to wait.
fn asked_to_wait(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get("retry-after")?.to_str().ok()?;
    let seconds = text.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(LONGEST_WAIT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mirror_may_ask_for_a_pause_and_not_for_an_hour() {
        let wait = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("retry-after", text.parse().expect("it is a header"));
            asked_to_wait(&headers)
        };
        assert_eq!(wait("3"), Some(Duration::from_secs(3)));
        assert_eq!(wait("3600"), Some(LONGEST_WAIT));
        assert_eq!(wait("-1"), None);
        assert_eq!(wait("Fri, 31 Dec 1999 23:59:59 GMT"), None);
        assert_eq!(asked_to_wait(&HeaderMap::new()), None);
    }

    #[test]
    fn a_list_goes_on_at_the_same_mirror_or_not_at_all() {
        let mirror = Mirror::new("http://127.0.0.1:5551/");
        let next = |link: &str| mirror.same_host("/api/v1/x", link).ok();
        let good = Some("/api/v1/network/nodes?node.id=gt:3".to_owned());
        assert_eq!(next("/api/v1/network/nodes?node.id=gt:3"), good);
        assert_eq!(
            next("http://127.0.0.1:5551/api/v1/network/nodes?node.id=gt:3"),
            good
        );
        for bad in [
            "",
            "https://elsewhere.example/api/v1/network/nodes",
            "http://127.0.0.1:5551.elsewhere.example/api/v1/x",
            "http://127.0.0.1:55510/api/v1/x",
            "http://127.0.0.1:5551@elsewhere.example/api/v1/x",
            "//elsewhere.example/api/v1/x",
            "/api/v1/../../secret",
            "/api/v1/x#y",
            "/api/v1/\r\nHost: elsewhere.example",
            "/admin",
            "@elsewhere.example/api/v1/",
        ] {
            assert_eq!(next(bad), None, "{bad}");
        }
    }
}
