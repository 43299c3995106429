//! The terminal: taken while the console is there, and given back as it was, however that ends.
//!
//! What goes out is made here and nowhere else: moves, styles, and the texts of cells, in which nothing can be that a terminal
//! would obey.

use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::{Mutex, PoisonError};

use inbox_core::text::visible;
use ratatui_core::backend::{Backend, ClearType, WindowSize};
use ratatui_core::buffer::Cell;
use ratatui_core::layout::{Position, Size};
use ratatui_core::style::{Color, Modifier};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

/// Another screen, its cursor hidden, pastes told apart from typing.
const TAKE: &str = "\x1b[?1049h\x1b[?25l\x1b[?2004h\x1b[2J";
/// All of it undone.
const GIVE_BACK: &str = "\x1b[0m\x1b[?2004l\x1b[?25h\x1b[?1049l";

/// Drawn at once, where a terminal can.
const BEGIN: &str = "\x1b[?2026h";
const END: &str = "\x1b[?2026l";

/// The most characters of one cell: a letter with its accents, and no tower of them.
const CELL: usize = 8;

/// How the terminal was before it was taken.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// Takes the terminal.
pub(super) fn take() -> std::io::Result<()> {
    let stdin = std::io::stdin();
    let now = tcgetattr(&stdin)?;
    let mut raw = now.clone();
    raw.make_raw();
    tcsetattr(&stdin, OptionalActions::Now, &raw)?;
    let mut before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
    before.get_or_insert(now);
    send(TAKE)
}

/// Gives the terminal back. Twice is once.
pub(super) fn give_back() {
    let before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(before) = before {
        let _ = send(GIVE_BACK);
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &before);
    }
}

/// Gives the terminal back when it is dropped.
pub(super) struct Taken;

impl Drop for Taken {
    fn drop(&mut self) {
        give_back();
    }
}

fn send(text: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// The terminal as ratatui draws on it. What was drawn goes out in one piece.
#[derive(Default)]
pub(super) struct Screen {
    out: String,
    has_colour: bool,
}

impl Screen {
    pub(super) fn new(has_colour: bool) -> Self {
        Screen {
            out: String::new(),
            has_colour,
        }
    }

    /// What would go out.
    #[cfg(test)]
    pub(super) fn taken(self) -> String {
        self.out
    }

    fn style(&mut self, cell: &Cell) {
        self.out.push_str("\x1b[0");
        for (modifier, code) in [
            (Modifier::BOLD, 1),
            (Modifier::DIM, 2),
            (Modifier::ITALIC, 3),
            (Modifier::UNDERLINED, 4),
            (Modifier::REVERSED, 7),
        ] {
            if cell.modifier.contains(modifier) {
                let _ = write!(self.out, ";{code}");
            }
        }
        if self.has_colour {
            for (colour, base) in [(cell.fg, 30), (cell.bg, 40)] {
                if let Some(number) = number(colour) {
                    let bright = if number >= 8 { 60 - 8 } else { 0 };
                    let _ = write!(self.out, ";{}", base + bright + number);
                }
            }
        }
        self.out.push('m');
    }
}

/// One of the sixteen colours that every terminal's owner has chosen.
fn number(colour: Color) -> Option<u8> {
    Some(match colour {
        Color::Black => 0,
        Color::Red => 1,
        Color::Green => 2,
        Color::Yellow => 3,
        Color::Blue => 4,
        Color::Magenta => 5,
        Color::Cyan => 6,
        Color::Gray => 7,
        Color::DarkGray => 8,
        Color::LightRed => 9,
        Color::LightGreen => 10,
        Color::LightYellow => 11,
        Color::LightBlue => 12,
        Color::LightMagenta => 13,
        Color::LightCyan => 14,
        Color::White => 15,
        _ => return None,
    })
}

/// What may stand in a cell: nothing that acts, and not more than a cell holds.
fn harmless(symbol: &str) -> &str {
    if visible(symbol, false) != symbol {
        return "?";
    }
    match symbol.char_indices().nth(CELL) {
        Some((end, _)) => &symbol[..end],
        None => symbol,
    }
}

impl Backend for Screen {
    type Error = std::io::Error;

    fn draw<'a, I>(&mut self, content: I) -> Result<(), Self::Error>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        let mut styled: Option<Cell> = None;
        let mut next = None;
        for (x, y, cell) in content {
            if next != Some((x, y)) {
                let _ = write!(self.out, "\x1b[{};{}H", y + 1, x + 1);
            }
            let is_same = |last: &Cell| {
                (last.fg, last.bg, last.modifier) == (cell.fg, cell.bg, cell.modifier)
            };
            if !styled.as_ref().is_some_and(is_same) {
                self.style(cell);
                styled = Some(cell.clone());
            }
            let symbol = harmless(cell.symbol());
            self.out.push_str(symbol);
            // Where a wide one leaves the cursor is told again, as terminals differ about it.
            next = symbol.is_ascii().then_some((x + 1, y));
        }
        if styled.is_some() {
            self.out.push_str("\x1b[0m");
        }
        Ok(())
    }

    fn hide_cursor(&mut self) -> Result<(), Self::Error> {
        self.out.push_str("\x1b[?25l");
        Ok(())
    }

    fn show_cursor(&mut self) -> Result<(), Self::Error> {
        self.out.push_str("\x1b[?25h");
        Ok(())
    }

    fn get_cursor_position(&mut self) -> Result<Position, Self::Error> {
        Ok(Position::ORIGIN)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> Result<(), Self::Error> {
        let Position { x, y } = position.into();
        let _ = write!(self.out, "\x1b[{};{}H", y + 1, x + 1);
        Ok(())
    }

    fn clear(&mut self) -> Result<(), Self::Error> {
        self.out.push_str("\x1b[0m\x1b[2J");
        Ok(())
    }

    fn clear_region(&mut self, _: ClearType) -> Result<(), Self::Error> {
        self.clear()
    }

    fn size(&self) -> Result<Size, Self::Error> {
        let found = tcgetwinsize(std::io::stdout())?;
        // A terminal that does not know its size has the usual one.
        let or = |count: u16, usual: u16| if count == 0 { usual } else { count };
        Ok(Size::new(or(found.ws_col, 80), or(found.ws_row, 24)))
    }

    fn window_size(&mut self) -> Result<WindowSize, Self::Error> {
        Ok(WindowSize {
            columns_rows: self.size()?,
            pixels: Size::ZERO,
        })
    }

    fn flush(&mut self) -> Result<(), Self::Error> {
        if self.out.is_empty() {
            return Ok(());
        }
        let text = std::mem::take(&mut self.out);
        send(&format!("{BEGIN}{text}{END}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_cannot_act_on_the_terminal() {
        let mut screen = Screen::new(true);
        let hostile = ["\x1b]52;c;x\x07", "\u{9b}31m", "\u{202e}", "\u{200b}", "\n"];
        let cells: Vec<Cell> = hostile
            .iter()
            .map(|symbol| {
                let mut cell = Cell::default();
                cell.set_symbol(symbol);
                cell
            })
            .collect();
        screen.draw(cells.iter().map(|cell| (0, 0, cell))).unwrap();
        let text = screen.out.replace("\x1b[1;1H", "").replace("\x1b[0m", "");
        assert_eq!(text, "?????");
    }

    #[test]
    fn a_tower_of_accents_is_cut() {
        let tower = format!("a{}", "\u{301}".repeat(1000));
        assert_eq!(harmless(&tower).chars().count(), CELL);
    }

    #[test]
    fn without_colour_no_colour_is_written() {
        let mut cell = Cell::default();
        cell.set_symbol("x").set_fg(Color::Red);
        cell.modifier = Modifier::BOLD;
        for (has_colour, wanted) in [(false, "\x1b[0;1mx"), (true, "\x1b[0;1;31mx")] {
            let mut screen = Screen::new(has_colour);
            screen.draw([(0, 0, &cell)].into_iter()).unwrap();
            assert!(screen.out.contains(wanted), "{:?}", screen.out);
        }
    }
}
