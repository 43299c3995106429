//! What the console asks the ledger: whether the store has what its topics have, and the proof of one message.
//!
//! A mirror may be slow. One question is asked at a time, beside everything else that the server does.

use std::sync::Arc;
use std::time::Duration;

use hyper::Response;
use hyper::header::{self, HeaderValue};
use inbox_core::{Code, MessageId, Refusal};
use tokio::sync::Semaphore;

use super::redirect;
use crate::cli::{check_ledger, proof_of};
use crate::http::route::{Body, House, text};

/// How long a form waits for a comparison before the page is shown that says that it goes on.
const PATIENCE: Duration = Duration::from_secs(5);

/// Lets one ask at a time.
pub(in crate::http) struct Asking(Arc<Semaphore>);

impl Default for Asking {
    fn default() -> Self {
        Asking(Arc::new(Semaphore::new(1)))
    }
}

fn busy() -> Refusal {
    Refusal::new(
        Code::RateLimited,
        "the ledger is being asked already, and it is asked one thing at a time",
    )
    .hint("load the page again in a moment")
}

impl House {
    /// Begins to compare the store with its topics, and shows the page that tells of it.
    pub(super) async fn compare_ledger(self: &Arc<Self>) -> Result<Response<Body>, Refusal> {
        let permit = Arc::clone(&self.asking.0);
        let permit = permit.try_acquire_owned().map_err(|_| busy())?;
        let begun = self.engine.change(|inbox| inbox.begin_check()).await?;
        let house = Arc::clone(self);
        let compared = tokio::spawn(async move {
            let found = house
                .engine
                .look(move |inbox| Ok(check_ledger(inbox, begun)))
                .await;
            if let Ok(check) = found {
                // What cannot be written down stays begun, and the page says so.
                let _ = house
                    .engine
                    .change(move |inbox| inbox.note_check(&check))
                    .await;
            }
            drop(permit);
        });
        let _ = tokio::time::timeout(PATIENCE, compared).await;
        redirect("/ledger")
    }

    /// A file that proves one message.
    pub(super) async fn proof(&self, message: &str) -> Result<Response<Body>, Refusal> {
        let message: MessageId = message.parse()?;
        let _permit = self.asking.0.try_acquire().map_err(|_| busy())?;
        let proof = self
            .engine
            .look(move |inbox| proof_of(inbox, message))
            .await?;
        let mut response = text(
            "application/json",
            hyper::StatusCode::OK,
            proof.into_bytes(),
        );
        let named = format!("attachment; filename=\"{message}.proof.json\"");
        if let Ok(named) = HeaderValue::from_str(&named) {
            response
                .headers_mut()
                .insert(header::CONTENT_DISPOSITION, named);
        }
        Ok(response)
    }
}
