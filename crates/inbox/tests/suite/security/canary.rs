//! Secrets of every sort, carried through every command and every route, and looked for in all that is said and kept.

mod ears;
mod ledger;
mod mistakes;
mod player;
mod story;

use inbox_testkit::sandbox::Sandbox;

use crate::INBOX;
use ears::{Ears, Leak};
use player::Player;

/// Where a secret is by contract: the beginning of the place, and the secret.
const GIVEN: [(&str, &str); 4] = [
    ("claim", "the lease"),
    ("renew", "the lease"),
    ("token create", "the token"),
    ("ui", "the link"),
];

fn is_given(leak: &Leak) -> bool {
    let place = leak.place.split_once(' ').map_or("", |(_, place)| place);
    GIVEN.contains(&(place, leak.secret))
}

#[test]
fn no_command_shows_or_keeps_a_secret() {
    let desk = Sandbox::empty(INBOX);
    let ears = Ears::new();
    let player = Player::new(&desk, &ears);
    let begun = std::time::Instant::now();
    let stage = story::begin(&player);
    eprintln!("begun {:?}", begun.elapsed());
    story::tell(&player);
    eprintln!("told {:?}", begun.elapsed());
    ledger::tell(&player);
    eprintln!("ledger {:?}", begun.elapsed());
    story::stay(&player, &stage);
    story::type_in(&player, &stage);
    eprintln!("typed {:?}", begun.elapsed());
    mistakes::make(&player, &stage);
    eprintln!("mistaken {:?}", begun.elapsed());
    mistakes::fail_all(&player);
    eprintln!("stayed {:?}", begun.elapsed());
    for leak in ears.leaks(&[desk.folder()]) {
        eprintln!("{leak:?} {}", is_given(&leak));
        if !is_given(&leak) { eprintln!("{}", ears.said(&leak)); }
    }
    eprintln!("searched {:?}", begun.elapsed());
    eprintln!("{:#?}", player.untried());
    let mut open = Vec::new();
    crate::security::modes::open_to_others(desk.folder(), &mut open);
    eprintln!("{}", open.join("\n"));
    eprintln!("{}", player.surprises().join("\n=====\n"));
    panic!("look");
}
