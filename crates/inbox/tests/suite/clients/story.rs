//! What happens in a session of any client that something wakes.

use super::stage::{Place, Stage};

/// A client, as the story knows it.
pub(super) struct Client {
    /// Whose mail it gets.
    pub(super) agent: &'static str,
    /// By which door it is woken.
    pub(super) door: &'static str,
    /// What it shows at the end of a turn, where it takes what is typed before that for a part of the turn. Its hooks end earlier.
    pub(super) sign: Option<&'static str>,
}

/// A session begins with mail, is idle, and is woken by its door: over a draft of its user, and not in the midst of a turn.
pub(super) fn play(place: &Place, client: &Client, start: impl FnOnce(&Place) -> Stage) -> Stage {
    let Client { agent, door, sign } = *client;
    let rests = |stage: &mut Stage, said: &str| {
        place.idle();
        if let Some(sign) = sign {
            stage.shows_after(said, sign);
        }
    };
    let first = place.send("ada", agent, "question", "Which~fields?");
    let mut stage = start(place);
    let said = stage.asked("Hello");
    let header = format!("{first} ada unverified question: \"Which fields?\"");
    assert!(said.iter().any(|text| text.contains(&header)), "{said:#?}");
    rests(&mut stage, "Hello");
    assert_eq!(place.told(&first)["shown_by"], "hook_start");
    place.watched_by(door);

    stage.types("halfway");
    stage.shows("halfway");
    let second = place.send("luna", agent, "question", "And~now?");
    let pointer = "inbox: 1 new (1 request from luna). Run inbox read.";
    let said = stage.asked(pointer);
    for words in ["halfway", "And now?"] {
        assert!(!said.iter().any(|text| text.contains(words)), "{said:#?}");
    }
    let rung = place.told(&second);
    assert_eq!(rung["offered_by"], door, "{rung}");
    rests(&mut stage, pointer);
    stage.types("\r");
    let said = stage.asked("halfway");
    assert!(said.iter().any(|text| text == "halfway"), "{said:#?}");
    rests(&mut stage, "halfway");

    // In the midst of a turn nothing wakes it, and what has come meanwhile is one wake.
    stage.hold();
    stage.types("quixotic");
    stage.shows("quixotic");
    stage.types("\r");
    stage.asked("quixotic");
    let third = place.send("luna", agent, "event", "News");
    place.send("luna", agent, "event", "More~news");
    let rung = place.run(&format!("receipts {third} --json"))["receipts"][0].clone();
    assert_eq!(rung["step"], "queued", "{rung}");
    stage.go();
    let pointer = "inbox: 2 new (from luna). Run inbox read.";
    stage.asked(pointer);
    assert_eq!(place.told(&third)["offered_by"], door);
    rests(&mut stage, pointer);
    stage
}
