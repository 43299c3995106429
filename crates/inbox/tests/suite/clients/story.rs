//! What happens in a session of any client that something wakes.

use super::stage::{Place, Stage};

/// A session begins with mail, is idle, and is woken by this door: over a draft of its user, and not in the midst of a turn.
pub(super) fn play(
    place: &Place,
    agent: &str,
    door: &str,
    start: impl FnOnce(&Place) -> Stage,
) -> Stage {
    let first = place.send("ada", agent, "question", "Which~fields?");
    let mut stage = start(place);
    let said = stage.asked("Hello");
    let header = format!("{first} ada unverified question: \"Which fields?\"");
    assert!(said.iter().any(|text| text.contains(&header)), "{said:#?}");
    place.idle();
    assert_eq!(place.told(&first)["shown_by"], "hook_start");
    place.watched_by(door);

    stage.types("halfway");
    stage.shows("halfway");
    let second = place.send("luna", agent, "question", "And~now?");
    let said = stage.asked("inbox: 1 new (1 request from luna). Run inbox read.");
    for words in ["halfway", "And now?"] {
        assert!(!said.iter().any(|text| text.contains(words)), "{said:#?}");
    }
    let rung = place.told(&second);
    assert_eq!(rung["offered_by"], door, "{rung}");
    place.idle();
    stage.types("\r");
    let said = stage.asked("halfway");
    assert!(said.iter().any(|text| text == "halfway"), "{said:#?}");
    place.idle();

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
    stage.asked("inbox: 2 new (from luna). Run inbox read.");
    assert_eq!(place.told(&third)["offered_by"], door);
    place.idle();
    stage
}
