//! A text that is being written: lines, a cursor, and what keys do to them.

use unicode_width::UnicodeWidthStr;

use super::keys::Key;
use super::paint::letters;

/// A text under work.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Editor {
    lines: Vec<String>,
    row: usize,
    /// In letters.
    column: usize,
}

impl Editor {
    /// Begins with a text, its end under the cursor.
    pub(super) fn of(text: &str) -> Self {
        let mut editor = Editor::default();
        editor.insert(text);
        editor
    }

    pub(super) fn text(&self) -> String {
        self.lines.join("\n")
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lines.iter().all(|line| line.trim().is_empty())
    }

    fn line(&self) -> &str {
        self.lines.get(self.row).map_or("", String::as_str)
    }

    fn width_of(&self, row: usize) -> usize {
        self.lines.get(row).map_or(0, |line| letters(line).len())
    }

    /// The current line, before the cursor and after it.
    fn parts(&self) -> (String, String) {
        let letters = letters(self.line());
        let at = self.column.min(letters.len());
        (letters[..at].concat(), letters[at..].concat())
    }

    fn set(&mut self, before: &str, after: &str) {
        if self.lines.is_empty() {
            self.lines.push(String::new());
        }
        self.column = letters(before).len();
        self.lines[self.row] = format!("{before}{after}");
    }

    /// Writes a text at the cursor. Characters that act are left out.
    pub(super) fn insert(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        for (index, piece) in text.split('\n').enumerate() {
            if index > 0 {
                self.break_line();
            }
            let piece: String = piece
                .replace('\t', "    ")
                .chars()
                .filter(|c| !c.is_control())
                .collect();
            let (before, after) = self.parts();
            self.set(&format!("{before}{piece}"), &after);
        }
    }

    fn break_line(&mut self) {
        let (before, after) = self.parts();
        self.set(&before, "");
        self.row += 1;
        self.column = 0;
        self.lines.insert(self.row, after);
    }

    /// What a key does; whether it did something.
    pub(super) fn key(&mut self, key: &Key) -> bool {
        match key {
            Key::Char(c) => self.insert(&c.to_string()),
            Key::Paste(text) => self.insert(text),
            Key::Enter => self.break_line(),
            Key::Tab => self.insert("\t"),
            Key::Backspace => self.backspace(),
            Key::Delete | Key::Ctrl('d') => self.delete(),
            Key::Left | Key::Ctrl('b') => self.left(),
            Key::Right | Key::Ctrl('f') => self.right(),
            Key::Up | Key::Ctrl('p') if self.row > 0 => {
                self.row -= 1;
                self.column = self.column.min(self.width_of(self.row));
            }
            Key::Down | Key::Ctrl('n') if self.row + 1 < self.lines.len() => {
                self.row += 1;
                self.column = self.column.min(self.width_of(self.row));
            }
            Key::Home | Key::Ctrl('a') => self.column = 0,
            Key::End | Key::Ctrl('e') => self.column = self.width_of(self.row),
            Key::Ctrl('u') => {
                let (_, after) = self.parts();
                self.set("", &after);
            }
            Key::Ctrl('k') => {
                let (before, _) = self.parts();
                self.set(&before, "");
            }
            Key::Ctrl('w') => {
                let (before, after) = self.parts();
                let rest = before.trim_end_matches(' ');
                let kept = rest.rfind(' ').map_or(0, |at| at + 1);
                self.set(&rest[..kept], &after);
            }
            _ => return false,
        }
        true
    }

    fn backspace(&mut self) {
        if self.column == 0 {
            if self.row == 0 {
                return;
            }
            let rest = self.lines.remove(self.row);
            self.row -= 1;
            let before = self.line().to_owned();
            self.set(&before, &rest);
            return;
        }
        let (before, after) = self.parts();
        let mut kept = letters(&before);
        kept.pop();
        self.set(&kept.concat(), &after);
    }

    fn delete(&mut self) {
        let (before, after) = self.parts();
        if after.is_empty() {
            if self.row + 1 < self.lines.len() {
                let next = self.lines.remove(self.row + 1);
                self.set(&before, &next);
            }
            return;
        }
        let rest = letters(&after)[1..].concat();
        self.set(&before, &rest);
    }

    fn left(&mut self) {
        if self.column > 0 {
            self.column -= 1;
        } else if self.row > 0 {
            self.row -= 1;
            self.column = self.width_of(self.row);
        }
    }

    fn right(&mut self) {
        if self.column < self.width_of(self.row) {
            self.column += 1;
        } else if self.row + 1 < self.lines.len() {
            self.row += 1;
            self.column = 0;
        }
    }

    /// The text in rows of this width, and where the cursor stands among them.
    pub(super) fn laid_out(&self, width: usize) -> (Vec<String>, (usize, usize)) {
        let width = width.max(2);
        let (mut rows, mut cursor) = (Vec::new(), (0, 0));
        let nothing = [String::new()];
        let lines = if self.lines.is_empty() {
            &nothing[..]
        } else {
            &self.lines
        };
        for (index, line) in lines.iter().enumerate() {
            let (mut row, mut used) = (String::new(), 0);
            let all = letters(line);
            for (column, letter) in all.iter().enumerate() {
                let wide = letter.width();
                if used + wide > width {
                    rows.push(std::mem::take(&mut row));
                    used = 0;
                }
                if (index, column) == (self.row, self.column) {
                    cursor = (rows.len(), used);
                }
                row.push_str(letter);
                used += wide;
            }
            if index == self.row && self.column >= all.len() {
                if used >= width {
                    rows.push(std::mem::take(&mut row));
                    used = 0;
                }
                cursor = (rows.len(), used);
            }
            rows.push(row);
        }
        (rows, cursor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(editor: &mut Editor, text: &str) {
        for c in text.chars() {
            let key = match c {
                '\n' => Key::Enter,
                '<' => Key::Left,
                '>' => Key::Right,
                '^' => Key::Up,
                '#' => Key::Backspace,
                c => Key::Char(c),
            };
            assert!(editor.key(&key) || c == '^');
        }
    }

    #[test]
    fn keys_write_move_and_take_back() {
        let mut editor = Editor::default();
        typed(&mut editor, "helo<l>\nworld\n##ä#d^!");
        assert_eq!(editor.text(), "hello!\nworld");
    }

    #[test]
    fn a_letter_with_its_accents_is_taken_back_whole() {
        let mut editor = Editor::of("e\u{301}👩‍🚀");
        editor.key(&Key::Backspace);
        assert_eq!(editor.text(), "e\u{301}");
        editor.key(&Key::Backspace);
        assert!(editor.is_empty());
    }

    #[test]
    fn what_is_pasted_keeps_its_lines_and_nothing_that_acts() {
        let mut editor = Editor::of("[]");
        editor.key(&Key::Left);
        editor.key(&Key::Paste("a\r\nb\u{1b}[31m\tc".to_owned()));
        assert_eq!(editor.text(), "[a\nb[31m    c]");
    }

    #[test]
    fn the_cursor_is_found_in_wrapped_rows() {
        let editor = Editor::of("abcdef\nxy");
        let (rows, cursor) = editor.laid_out(4);
        assert_eq!(rows, ["abcd", "ef", "xy"]);
        assert_eq!(cursor, (2, 2));
        let (rows, cursor) = Editor::of("abcd").laid_out(4);
        assert_eq!(rows, ["abcd", ""]);
        assert_eq!(cursor, (1, 0));
        assert_eq!(Editor::default().laid_out(4), (vec![String::new()], (0, 0)));
    }

    #[test]
    fn words_and_lines_are_taken_back_at_once() {
        let mut editor = Editor::of("one two three");
        editor.key(&Key::Ctrl('w'));
        assert_eq!(editor.text(), "one two ");
        editor.key(&Key::Ctrl('u'));
        assert_eq!(editor.text(), "");
    }
}
