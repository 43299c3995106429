//! A webhook: each notice is posted as JSON, signed as Standard Webhooks signs (standardwebhooks.com), so that receivers can check it with
//! what they have. No redirect is followed, and the URL is repeated nowhere: for many services it is the secret.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use inbox_core::text::visible;
use inbox_core::{Code, Refusal};
use inbox_ops::config::webhook_host;
use inbox_ops::{Config, Notice};
use inbox_store::private;
use ring::hmac;

use super::document;
use crate::cli::{far, find};

/// How long one post may take, and how long until somebody answers the door.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);
const DOOR: Duration = Duration::from_secs(5);

/// The variable that has the secret.
const SECRET: &str = "INBOX_WEBHOOK_SECRET";

/// What a secret begins with that is written in base64.
const ENCODED: &str = "whsec_";

/// The largest file that may be a secret.
const LONG: u64 = 4096;

/// A URL, and what signs.
pub(crate) struct Webhook {
    url: String,
    host: String,
    file: Option<PathBuf>,
}

impl Webhook {
    pub(super) fn new(url: &str, config: &Config) -> Result<Self, Refusal> {
        let file = config
            .notify
            .webhook_secret_file
            .as_ref()
            .map(PathBuf::from);
        let folder = config.folder.clone().unwrap_or_default();
        Ok(Webhook {
            url: url.to_owned(),
            host: webhook_host(url)?.to_owned(),
            file: file.map(|file| folder.join(file)),
        })
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    pub(super) fn host(&self) -> &str {
        &self.host
    }

    /// The secret, if there is one.
    fn secret(&self) -> Result<Option<Vec<u8>>, Refusal> {
        let text = match (find::variable(SECRET), &self.file) {
            (Some(text), _) => text,
            (None, None) => return Ok(None),
            (None, Some(path)) => {
                let shown = path.display();
                let cannot = |why: &dyn std::fmt::Display| {
                    Refusal::input(format!(
                        "the webhook's secret in {shown} cannot be read: {why}"
                    ))
                    .hint("inbox config shows notify.webhook_secret_file")
                };
                let found = std::fs::metadata(path).map_err(|error| cannot(&error))?;
                if found.permissions().mode() & 0o077 != 0 {
                    let message = format!("others can read the webhook's secret in {shown}");
                    return Err(
                        Refusal::new(Code::NotAllowed, message).hint(format!("chmod 600 {shown}"))
                    );
                }
                let bytes = private::read_any(path, LONG).map_err(|error| cannot(&error))?;
                String::from_utf8(bytes).map_err(|_| cannot(&"it is not UTF-8 text"))?
            }
        };
        let text = text.trim();
        let wrong = || {
            Refusal::input("the webhook's secret begins with whsec_ and is not base64, or is empty")
                .hint("openssl rand -base64 32 makes one")
        };
        let bytes = match text.strip_prefix(ENCODED) {
            Some(encoded) => STANDARD.decode(encoded).map_err(|_| wrong())?,
            None => text.as_bytes().to_vec(),
        };
        if bytes.is_empty() {
            return Err(wrong());
        }
        Ok(Some(bytes))
    }

    pub(super) fn send(&self, notice: &Notice, is_whole: bool) -> Result<(), String> {
        let said = |refusal: Refusal| refusal.message;
        let mut config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .timeout_global(Some(PATIENCE))
            .timeout_connect(Some(DOOR))
            .user_agent(concat!("inbox/", env!("CARGO_PKG_VERSION")));
        if self.url.starts_with("https:") {
            let authority = far::authority().map_err(said)?;
            config = config.tls_config(crate::far::tls(authority.as_deref()).map_err(said)?);
        }
        let body = document(notice, is_whole).to_string();
        let time = jiff::Timestamp::now().as_second().to_string();
        let mut request = config
            .build()
            .new_agent()
            .post(&self.url)
            .header("content-type", "application/json")
            .header("webhook-id", &notice.id)
            .header("webhook-timestamp", &time);
        if let Some(secret) = self.secret().map_err(said)? {
            request = request.header(
                "webhook-signature",
                signature(&secret, &notice.id, &time, &body),
            );
        }
        let answered = request.send(body).map_err(|error| self.away(&error))?;
        match answered.status().as_u16() {
            200..=299 => Ok(()),
            status @ 300..=399 => Err(format!(
                "{} answered {status}, and redirects are not followed",
                self.host
            )),
            status => Err(format!("{} answered {status}", self.host)),
        }
    }

    fn away(&self, error: &ureq::Error) -> String {
        let told = error.to_string();
        let told = if told.contains(&self.url) {
            "it cannot be reached".to_owned()
        } else {
            visible(&told, false).into_owned()
        };
        format!("{}: {told}", self.host)
    }

    pub(super) fn problem(&self) -> Option<(String, String)> {
        if let Err(refusal) = self.secret() {
            return Some((refusal.message, refusal.hint));
        }
        let name = self
            .host
            .rsplit_once(':')
            .map_or(self.host.as_str(), |(name, _)| name);
        let is_here = matches!(name, "localhost" | "[::1]") || name.starts_with("127.");
        (self.url.starts_with("http:") && !is_here).then(|| {
            (
                format!("what is posted to {} can be read on the way", self.host),
                "inbox config shows notify.webhook; use https://".to_owned(),
            )
        })
    }
}

/// The signature of a body, by its id and its time.
fn signature(secret: &[u8], id: &str, time: &str, body: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
    let tag = hmac::sign(&key, format!("{id}.{time}.{body}").as_bytes());
    format!("v1,{}", STANDARD.encode(tag.as_ref()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signature_is_the_one_of_standard_webhooks() {
        // The example of the specification.
        let secret = STANDARD.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let signed = signature(
            &secret,
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            "1614265330",
            r#"{"test": 2432232314}"#,
        );
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }
}
