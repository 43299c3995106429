//! What is typed: the bytes of a terminal as keys.
//!
//! A sequence may come in pieces, and a lone escape is a key only if nothing follows it; who reads the bytes says when nothing did.

/// A key, or a text that was pasted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Key {
    Char(char),
    Ctrl(char),
    Alt(char),
    Enter,
    /// Enter with Ctrl or Alt, where the terminal tells them apart.
    Send,
    Esc,
    Tab,
    BackTab,
    Backspace,
    Delete,
    Up,
    Down,
    Left,
    Right,
    Home,
    End,
    PageUp,
    PageDown,
    Paste(String),
}

const ESC: u8 = 0x1b;

/// How a paste begins and ends, for a terminal that was asked to say so.
const PASTE: &[u8] = b"\x1b[200~";
const PASTED: &[u8] = b"\x1b[201~";

/// The longest sequence of a key; what is longer is none.
const LONGEST: usize = 32;

/// Reads bytes as keys.
#[derive(Debug, Default)]
pub(super) struct Keys {
    open: Vec<u8>,
    pasting: Option<Vec<u8>>,
}

impl Keys {
    /// The keys that these bytes complete.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Vec<Key> {
        let mut keys = Vec::new();
        for &byte in bytes {
            if let Some(text) = &mut self.pasting {
                text.push(byte);
                if text.ends_with(PASTED) {
                    let end = text.len() - PASTED.len();
                    let text = String::from_utf8_lossy(&text[..end]).into_owned();
                    self.pasting = None;
                    keys.push(Key::Paste(text));
                }
                continue;
            }
            self.open.push(byte);
            if self.open == PASTE {
                self.open.clear();
                self.pasting = Some(Vec::new());
                continue;
            }
            match key(&self.open) {
                Read::More if self.open.len() < LONGEST => {}
                Read::More | Read::Nothing => self.open.clear(),
                Read::Key(key) => {
                    self.open.clear();
                    keys.push(key);
                }
            }
        }
        keys
    }

    /// Whether more must follow, unless a lone escape was meant.
    pub(super) fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Nothing followed: what was meant.
    pub(super) fn end(&mut self) -> Option<Key> {
        let open = std::mem::take(&mut self.open);
        match open[..] {
            [ESC] => Some(Key::Esc),
            [ESC, b'['] => Some(Key::Alt('[')),
            [ESC, b'O'] => Some(Key::Alt('O')),
            _ => None,
        }
    }
}

enum Read {
    More,
    Nothing,
    Key(Key),
}

fn key(bytes: &[u8]) -> Read {
    match bytes {
        [ESC] => Read::More,
        [ESC, b'[', rest @ ..] => sequence(rest),
        [ESC, b'O'] => Read::More,
        [ESC, b'O', last] => named(*last, 1),
        [ESC, ESC] => Read::Key(Key::Esc),
        [ESC, rest @ ..] => match plain(rest) {
            Read::Key(Key::Enter) => Read::Key(Key::Send),
            Read::Key(Key::Char(c)) => Read::Key(Key::Alt(c)),
            Read::Key(_) => Read::Nothing,
            other => other,
        },
        _ => plain(bytes),
    }
}

fn plain(bytes: &[u8]) -> Read {
    let [first, rest @ ..] = bytes else {
        return Read::More;
    };
    Read::Key(match (first, rest) {
        (b'\r' | b'\n', _) => Key::Enter,
        (b'\t', _) => Key::Tab,
        (0x7f | 0x08, _) => Key::Backspace,
        (0, _) => Key::Ctrl(' '),
        (1..=26, _) => Key::Ctrl(char::from(first - 1 + b'a')),
        (0x1c..=0x1f, _) => return Read::Nothing,
        (0x20..=0x7e, _) => Key::Char(char::from(*first)),
        _ => {
            let length = match first {
                0xc2..=0xdf => 2,
                0xe0..=0xef => 3,
                0xf0..=0xf4 => 4,
                _ => return Read::Nothing,
            };
            if bytes.len() < length {
                return Read::More;
            }
            let text = std::str::from_utf8(bytes).ok();
            match text.and_then(|text| text.chars().next()) {
                Some(c) => Key::Char(c),
                None => return Read::Nothing,
            }
        }
    })
}

/// What follows `ESC [`.
fn sequence(rest: &[u8]) -> Read {
    let Some((last, numbers)) = rest.split_last() else {
        return Read::More;
    };
    if !(0x40..=0x7e).contains(last) {
        return if (0x20..=0x3f).contains(last) {
            Read::More
        } else {
            Read::Nothing
        };
    }
    let text = std::str::from_utf8(numbers).unwrap_or_default();
    let mut numbers = text.split(';').map(|part| {
        part.split(':')
            .next()
            .and_then(|it| it.parse().ok())
            .unwrap_or(1)
    });
    let first: u32 = numbers.next().unwrap_or(1);
    let second: u32 = numbers.next().unwrap_or(1);
    let third: u32 = numbers.next().unwrap_or(0);
    match last {
        b'~' => Read::Key(match first {
            1 | 7 => Key::Home,
            3 => Key::Delete,
            4 | 8 => Key::End,
            5 => Key::PageUp,
            6 => Key::PageDown,
            // A key with its modifiers, as xterm tells those that have no sequence.
            27 => return modified(third, second),
            _ => return Read::Nothing,
        }),
        // The same, as newer terminals tell it.
        b'u' => modified(first, second),
        last => named(*last, second),
    }
}

/// A key by its character, with its modifiers: one and a bit for each of shift, alt and ctrl.
fn modified(code: u32, modifiers: u32) -> Read {
    let held = modifiers.saturating_sub(1);
    let (is_alt, is_ctrl) = (held & 2 != 0, held & 4 != 0);
    Read::Key(match code {
        13 if is_alt || is_ctrl => Key::Send,
        13 => Key::Enter,
        27 => Key::Esc,
        9 if held & 1 != 0 => Key::BackTab,
        9 => Key::Tab,
        127 => Key::Backspace,
        code => match char::from_u32(code).filter(|c| !c.is_control()) {
            Some(c) if is_ctrl => Key::Ctrl(c.to_ascii_lowercase()),
            Some(c) if is_alt => Key::Alt(c),
            Some(c) => Key::Char(c),
            None => return Read::Nothing,
        },
    })
}

fn named(last: u8, _modifiers: u32) -> Read {
    Read::Key(match last {
        b'A' => Key::Up,
        b'B' => Key::Down,
        b'C' => Key::Right,
        b'D' => Key::Left,
        b'H' => Key::Home,
        b'F' => Key::End,
        b'Z' => Key::BackTab,
        b'M' => Key::Enter,
        _ => return Read::Nothing,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(bytes: &[u8]) -> Vec<Key> {
        Keys::default().read(bytes)
    }

    #[test]
    fn what_terminals_send_is_read_as_keys() {
        for (bytes, key) in [
            (&b"j"[..], Key::Char('j')),
            ("ä".as_bytes(), Key::Char('ä')),
            ("🦀".as_bytes(), Key::Char('🦀')),
            (b"\r", Key::Enter),
            (b"\t", Key::Tab),
            (b"\x1b[Z", Key::BackTab),
            (b"\x7f", Key::Backspace),
            (b"\x13", Key::Ctrl('s')),
            (b"\x1b\r", Key::Send),
            (b"\x1b[13;5u", Key::Send),
            (b"\x1b[27;5;13~", Key::Send),
            (b"\x1bf", Key::Alt('f')),
            (b"\x1b[A", Key::Up),
            (b"\x1bOB", Key::Down),
            (b"\x1b[1;5C", Key::Right),
            (b"\x1b[5~", Key::PageUp),
            (b"\x1b[6~", Key::PageDown),
            (b"\x1b[1~", Key::Home),
            (b"\x1b[F", Key::End),
            (b"\x1b[3~", Key::Delete),
        ] {
            assert_eq!(typed(bytes), std::slice::from_ref(&key));
            let mut keys = Keys::default();
            let mut slowly = Vec::new();
            for &byte in bytes {
                slowly.extend(keys.read(&[byte]));
            }
            assert_eq!(slowly, [key], "one byte at a time");
            assert!(!keys.is_open());
        }
    }

    #[test]
    fn a_lone_escape_is_a_key_when_nothing_follows() {
        let mut keys = Keys::default();
        assert_eq!(keys.read(b"\x1b"), []);
        assert!(keys.is_open());
        assert_eq!(keys.end(), Some(Key::Esc));
        assert_eq!(keys.read(b"q"), [Key::Char('q')]);
    }

    #[test]
    fn a_paste_is_one_text_whatever_is_in_it() {
        let keys = typed(b"a\x1b[200~one\ntwo\x1b[31mq\x1b[201~b");
        let pasted = Key::Paste("one\ntwo\x1b[31mq".to_owned());
        assert_eq!(keys, [Key::Char('a'), pasted, Key::Char('b')]);
    }

    #[test]
    fn what_is_no_key_is_passed_over() {
        assert_eq!(typed(b"\x1b[?1;2cx"), [Key::Char('x')]);
        assert_eq!(typed(b"\xff\xfex"), [Key::Char('x')]);
        assert_eq!(typed(b"\x1b[I\x1b[Ox"), [Key::Char('x')]);
    }

    #[test]
    fn any_bytes_are_keys_or_nothing_and_cost_no_more_than_they_are() {
        let pieces: [&[u8]; 12] = [
            b"\x1b",
            b"\x1b[",
            b"\x1bO",
            b"\x1b[200~",
            b"\x1b[201~",
            b"~",
            b";5",
            b"999999999999",
            b"\xc3",
            b"\xf0\x9f",
            b"a",
            b"\0",
        ];
        let mut seed = 0x5eed_0041_u64;
        for _ in 0..2000 {
            let mut keys = Keys::default();
            let (mut typed, mut found) = (0, 0);
            for _ in 0..40 {
                seed ^= seed << 13;
                seed ^= seed >> 7;
                seed ^= seed << 17;
                let noise = [seed.to_le_bytes()[0]];
                let piece = if seed.is_multiple_of(3) {
                    &noise[..]
                } else {
                    pieces[usize::try_from(seed % 12).unwrap()]
                };
                typed += piece.len();
                found += keys.read(piece).len();
                assert!(keys.open.len() < LONGEST);
            }
            let _ = keys.end();
            assert!(found <= typed && !keys.is_open());
        }
    }
}
