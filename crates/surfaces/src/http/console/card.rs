//! An agent's card over HTTP: it is checked beside the writes, and saved among them.

use hyper::{Response, StatusCode};
use inbox_core::Refusal;
use inbox_ops::Inbox;

use super::{Guest, Place, broken, html, redirect, visited};
use crate::console::{self, Answered};
use crate::http::route::{Body, House};

impl House {
    /// Answers a form of a card's page.
    pub(super) async fn card(&self, guest: Guest, place: Place) -> Result<Response<Body>, Refusal> {
        let is_check = place.path.get(3).is_some_and(|part| part == "check");
        let work = move |inbox: &Inbox| {
            visited(inbox, &guest, &place, |visit| {
                match console::answer_card(visit, is_check) {
                    Ok(Answered::Elsewhere(to)) => Ok(Ok(to)),
                    // What is only looked at needs no frame.
                    Ok(Answered::Page(_, shown)) if is_check => {
                        Ok(Err((StatusCode::OK, shown.main)))
                    }
                    Ok(Answered::Page(status, shown)) => {
                        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
                        Ok(Err((status, console::frame(visit, &shown, "")?)))
                    }
                    Err(refusal) => broken(visit, &refusal).map(Err),
                }
            })
        };
        let done = if is_check {
            self.engine.look(work).await?
        } else {
            self.engine.change(work).await?
        };
        match done {
            Ok(next) => redirect(&next),
            Err((status, page)) => Ok(html(status, page)),
        }
    }
}
