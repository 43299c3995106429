//! What reaches people outside of the store, by what, and how soon.

use inbox_core::record::Millis;
use inbox_core::{AgentName, Refusal, limit};
use jiff::tz::TimeZone;
use jiff::{ToSpan, civil};
use serde::{Deserialize, Serialize};

/// The longest that one may wait for a person, in seconds.
const WEEK: i64 = 7 * 86_400;

/// The shortest and the longest time between two digests, in minutes.
const MINUTES: (i64, i64) = (1, 31 * 24 * 60);

/// What reaches people elsewhere. Its `Debug` hides the webhook, whose address is a secret.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Notify {
    /// The people who are told; every person on the roster when it is empty.
    pub people: Vec<AgentName>,
    /// Whether it is shown on the desktop of this machine.
    pub desktop: bool,
    /// A URL to which it is posted, as JSON.
    pub webhook: Option<String>,
    /// A file with the secret that signs what is posted; `INBOX_WEBHOOK_SECRET` comes before it.
    pub webhook_secret_file: Option<String>,
    /// A program with its arguments, which is given it on its standard input, as JSON.
    pub command: Vec<String>,
    /// The variables that the program has, beside those that every program needs.
    pub command_env: Vec<String>,
    /// How long the program may take.
    pub command_seconds: i64,
    /// Whether the text of a message goes along, and not its summary alone.
    pub with_body: bool,
    /// How long a person has to answer or read by themselves.
    pub patience_seconds: i64,
    /// How many messages are told of in an hour, one by one; what is more is one notice.
    pub at_most_per_hour: i64,
    /// When the rest is summed up: every `30m`, `1h` or `1d`, or daily at `08:30`; never unless it is set.
    pub digest: Option<String>,
}

impl std::fmt::Debug for Notify {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Notify")
            .field("people", &self.people)
            .field("desktop", &self.desktop)
            .field("webhook", &self.webhook.as_ref().map(|_| "…"))
            .field("command", &self.command)
            .finish_non_exhaustive()
    }
}

impl Default for Notify {
    fn default() -> Self {
        Notify {
            people: Vec::new(),
            desktop: false,
            webhook: None,
            webhook_secret_file: None,
            command: Vec::new(),
            command_env: Vec::new(),
            command_seconds: 20,
            with_body: false,
            patience_seconds: 0,
            at_most_per_hour: 30,
            digest: None,
        }
    }
}

impl Notify {
    /// Whether anybody is to be told by anything.
    pub fn is_wanted(&self) -> bool {
        self.desktop || self.webhook.is_some() || !self.command.is_empty()
    }

    /// Refuses what cannot be done, by the setting's name.
    pub fn check(&self) -> Result<(), (&'static str, Refusal)> {
        for (name, value, least, most) in [
            ("notify.command_seconds", self.command_seconds, 1, 120),
            ("notify.patience_seconds", self.patience_seconds, 0, WEEK),
            ("notify.at_most_per_hour", self.at_most_per_hour, 1, 10_000),
        ] {
            limit::in_range(name, value, least, most).map_err(|refusal| (name, refusal))?;
        }
        if let Some(url) = &self.webhook {
            host(url).map_err(|refusal| ("notify.webhook", refusal))?;
        }
        if self.command.first().is_some_and(String::is_empty) {
            let refusal = Refusal::input("notify.command begins with an empty word");
            return Err(("notify.command", refusal));
        }
        self.rhythm()
            .map_err(|refusal| ("notify.digest", refusal))?;
        Ok(())
    }

    /// When the rest is summed up.
    pub fn rhythm(&self) -> Result<Option<Rhythm>, Refusal> {
        self.digest.as_deref().map(str::parse).transpose()
    }
}

/// The host of a webhook. What else is in its URL may be a secret, and is not repeated.
pub fn host(url: &str) -> Result<&str, Refusal> {
    let wrong = |what: &str| Refusal::input(format!("notify.webhook {what}"));
    let rest = url
        .strip_prefix("https://")
        .or_else(|| url.strip_prefix("http://"))
        .ok_or_else(|| wrong("begins with neither https:// nor http://"))?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let host = &rest[..end];
    if host.contains('@') {
        return Err(wrong(
            "has a name or a password before its host; webhook_secret_file proves who posts",
        ));
    }
    let is_plain = |c: char| c.is_ascii_graphic();
    if host.is_empty() || host.starts_with(':') || !url.chars().all(is_plain) {
        return Err(wrong("has no host, or has what no URL may have"));
    }
    Ok(host)
}

/// When the rest is summed up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rhythm {
    /// Every so many minutes.
    Every(i64),
    /// Daily at this time, where the machine is.
    At(civil::Time),
}

impl std::str::FromStr for Rhythm {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Self, Refusal> {
        let wrong = || {
            Refusal::input(format!(
                "notify.digest {} is neither a time such as 30m, 1h or 1d nor a time of day such as 08:30",
                inbox_core::text::quoted(text)
            ))
        };
        if let Some((hour, minute)) = text.split_once(':') {
            let number = |text: &str| {
                let is_short = (1..=2).contains(&text.len());
                let number = text.parse::<i8>().ok();
                number.filter(|_| is_short && text.bytes().all(|byte| byte.is_ascii_digit()))
            };
            let (hour, minute) = number(hour).zip(number(minute)).ok_or_else(wrong)?;
            let time = civil::Time::new(hour, minute, 0, 0).map_err(|_| wrong())?;
            return Ok(Rhythm::At(time));
        }
        let unit = text.chars().last().ok_or_else(wrong)?;
        let minutes = match unit {
            'm' => 1,
            'h' => 60,
            'd' => 24 * 60,
            _ => return Err(wrong()),
        };
        let count: i64 = text[..text.len() - 1].parse().map_err(|_| wrong())?;
        let minutes = count.checked_mul(minutes).ok_or_else(wrong)?;
        limit::in_range("notify.digest in minutes", minutes, MINUTES.0, MINUTES.1)?;
        Ok(Rhythm::Every(minutes))
    }
}

impl Rhythm {
    /// When it is time again, after it was.
    pub fn next(self, last: Millis, zone: &TimeZone) -> Millis {
        match self {
            Rhythm::Every(minutes) => Millis(last.0.saturating_add(minutes * 60_000)),
            Rhythm::At(time) => {
                let last = last.timestamp().to_zoned(zone.clone());
                let mut day = last.date();
                // At the ends of the calendar there is no next day, and then it is never time.
                for _ in 0..3 {
                    let at = day.to_datetime(time).to_zoned(zone.clone());
                    match at {
                        Ok(at) if at > last => return at.timestamp().into(),
                        Ok(_) => {}
                        Err(_) => break,
                    }
                    match day.checked_add(1.day()) {
                        Ok(next) => day = next,
                        Err(_) => break,
                    }
                }
                Millis(i64::MAX)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_comes_after_a_while_or_at_a_time_of_day() {
        for (text, minutes) in [("30m", 30), ("1h", 60), ("2d", 2880)] {
            assert_eq!(text.parse(), Ok(Rhythm::Every(minutes)), "{text}");
        }
        for wrong in [
            "",
            "h",
            "1",
            "0m",
            "-1h",
            "1w",
            "24:00",
            "8:60",
            "8:",
            ":30",
            "+8:30",
            "008:30",
            "99999999999999999999d",
            "1é",
        ] {
            assert!(wrong.parse::<Rhythm>().is_err(), "{wrong}");
        }
        let at = |text: &str| text.parse::<jiff::Timestamp>().map(Millis::from).unwrap();
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        let morning: Rhythm = "08:30".parse().unwrap();
        for (last, next) in [
            ("2026-01-01T00:00:00Z", "2026-01-01T06:30:00Z"),
            ("2026-01-01T06:30:00Z", "2026-01-02T06:30:00Z"),
            ("2026-12-31T23:00:00Z", "2027-01-01T06:30:00Z"),
        ] {
            assert_eq!(morning.next(at(last), &zone), at(next), "{last}");
        }
        let hourly: Rhythm = "1h".parse().unwrap();
        assert_eq!(
            hourly.next(at("2026-01-01T00:00:00Z"), &zone),
            at("2026-01-01T01:00:00Z")
        );
    }

    #[test]
    fn a_webhook_is_a_url_without_a_password() {
        assert_eq!(
            host("https://hooks.example.com/x?y").unwrap(),
            "hooks.example.com"
        );
        assert_eq!(host("http://127.0.0.1:8080").unwrap(), "127.0.0.1:8080");
        for wrong in [
            "ftp://a/",
            "file:///etc/passwd",
            "https://",
            "https:///x",
            "https://:80/",
            "https://u:p@host/",
            "https://a b/",
            "https://a/\u{1b}",
            "gopher",
            "HTTPS://A",
        ] {
            let refusal = host(wrong).unwrap_err();
            assert!(!refusal.message.contains(wrong), "{}", refusal.message);
        }
    }
}
