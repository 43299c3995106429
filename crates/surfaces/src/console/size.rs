//! How much stands on a page. What agents write has limits far above what a person reads at once, so lists have pages, long texts
//! show how they begin, and no page grows beyond what a slow line carries, whatever is in it.

use std::borrow::Cow;

/// How much of a page its messages may take, in bytes.
pub(super) const PAGE: usize = 110_000;

/// How much one text may take, in bytes.
pub(super) const TEXT: usize = 24_000;

/// How many characters of a line are shown where it stands alone, and in a list.
pub(super) const LINE: usize = 2_000;
pub(super) const SHORT: usize = 120;

/// The beginning of a text, with a sign that there is more.
pub(super) fn clip(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()).into(),
        None => text.into(),
    }
}

/// What is left of a page.
pub(super) struct Room {
    left: usize,
    is_empty: bool,
}

impl Room {
    pub(super) fn new(bytes: usize) -> Self {
        Room {
            left: bytes,
            is_empty: true,
        }
    }

    /// Whether something of this size goes in. The first always does, so that a page is never empty.
    pub(super) fn take(&mut self, bytes: usize) -> bool {
        let fits = self.is_empty || bytes <= self.left;
        self.left = if fits {
            self.left.saturating_sub(bytes)
        } else {
            0
        };
        self.is_empty = false;
        fits
    }
}

/// A page of a list that is counted from its beginning: the first of the pages around it.
pub(super) struct Part {
    pub(super) newer: Option<usize>,
    pub(super) older: Option<usize>,
}

impl Part {
    /// The page that begins at `from`, of `shown` out of `all`; pages are `most` long.
    pub(super) fn new(from: usize, shown: usize, all: usize, most: usize) -> Self {
        let end = from + shown;
        Part {
            newer: (from > 0).then(|| from.saturating_sub(most)),
            older: (end < all).then_some(end),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters_and_says_so() {
        assert_eq!(clip("äöü", 3), "äöü");
        assert_eq!(clip("äöüx", 3), "äöü…");
        assert_eq!(clip("a b", 2), "a…");
    }

    #[test]
    fn the_first_goes_in_and_nothing_behind_what_did_not() {
        let mut room = Room::new(10);
        assert!(room.take(50));
        assert!(!room.take(1));
        let mut room = Room::new(10);
        assert!(room.take(4) && room.take(6));
        assert!(!room.take(20) && !room.take(1));
    }
}
