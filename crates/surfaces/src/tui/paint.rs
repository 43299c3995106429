//! How texts come onto the screen: made harmless, cut, wrapped and styled. Every foreign text passes through here.

use inbox_core::text::visible;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

/// Tabs are so many spaces.
const TAB: &str = "    ";

/// What is told apart. A colour says nothing that a modifier or a word does not say too.
pub(super) const PLAIN: Style = Style::new();
pub(super) const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
pub(super) const DIM: Style = Style::new().add_modifier(Modifier::DIM);
pub(super) const ALARM: Style = Style::new().fg(Color::Red).add_modifier(Modifier::BOLD);
pub(super) const WAITS: Style = Style::new().fg(Color::Yellow).add_modifier(Modifier::BOLD);
pub(super) const GOOD: Style = Style::new().fg(Color::Green);
pub(super) const NAME: Style = Style::new().fg(Color::Cyan);
pub(super) const HERE: Style = Style::new().add_modifier(Modifier::REVERSED);
pub(super) const HEADING: Style = Style::new().fg(Color::Blue).add_modifier(Modifier::BOLD);

/// A foreign text on one line, with nothing in it that acts or hides.
pub(super) fn safe(text: &str) -> String {
    visible(text, false).replace('\t', " ")
}

/// A span of foreign text.
pub(super) fn span(text: &str, style: Style) -> Span<'static> {
    Span::styled(safe(text), style)
}

/// The letters of a text as a reader counts them.
pub(super) fn letters(text: &str) -> Vec<String> {
    let span = Span::raw(text);
    let letters = span.styled_graphemes(Style::new());
    letters.map(|letter| letter.symbol.to_owned()).collect()
}

/// A text that is at most so wide; what is cut ends with a mark.
pub(super) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for letter in letters(text) {
        let wide = letter.width();
        if used + wide + 1 > width {
            break;
        }
        used += wide;
        out.push_str(&letter);
    }
    if width > 0 {
        out.push('…');
    }
    out
}

/// A foreign text of several lines, each at most so wide, broken between words where that can be.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let text = visible(text.trim_end(), true).replace('\t', TAB);
    let width = width.max(4);
    let mut lines = Vec::new();
    for line in text.lines() {
        wrap_line(line, width, &mut lines);
    }
    lines
}

fn wrap_line(line: &str, width: usize, lines: &mut Vec<String>) {
    let indent: String = line
        .chars()
        .take_while(|c| *c == ' ')
        .take(width / 2)
        .collect();
    let mut out = String::new();
    let mut used = 0;
    for word in line.split_inclusive(' ') {
        let wide = word.trim_end_matches(' ').width();
        if used > 0 && used + wide > width && !out.trim().is_empty() {
            lines.push(std::mem::take(&mut out).trim_end().to_owned());
            out.push_str(&indent);
            used = indent.len();
        }
        if used + wide <= width {
            out.push_str(word);
            used += word.width();
            continue;
        }
        // A word that is wider than a line.
        for letter in letters(word) {
            let wide = letter.width();
            if used + wide > width {
                lines.push(std::mem::take(&mut out));
                used = 0;
            }
            out.push_str(&letter);
            used += wide;
        }
    }
    lines.push(out.trim_end().to_owned());
}

/// Writes a line, cut at the end of the area.
pub(super) fn line(buffer: &mut Buffer, area: Rect, row: u16, line: &Line<'_>) {
    if row < area.height {
        buffer.set_line(area.x, area.y + row, line, area.width);
    }
}

/// What stands at the left, cut so that what stands at the right has room.
pub(super) fn spread(
    mut left: Vec<Span<'static>>,
    right: Vec<Span<'static>>,
    width: usize,
) -> Line<'static> {
    let wide = |spans: &[Span<'_>]| spans.iter().map(Span::width).sum::<usize>();
    let right_width = wide(&right);
    let room = width.saturating_sub(right_width + usize::from(right_width > 0));
    let mut used = 0;
    for span in &mut left {
        let text = cut(&span.content, room.saturating_sub(used));
        span.content = text.into();
        used += span.width();
    }
    let pad = width.saturating_sub(used + right_width);
    left.push(Span::raw(" ".repeat(pad)));
    left.extend(right);
    Line::from(left)
}

/// A rule across the area.
pub(super) fn rule(buffer: &mut Buffer, area: Rect, row: u16) {
    let text = "─".repeat(usize::from(area.width));
    line(buffer, area, row, &Line::styled(text, DIM));
}

/// Empties an area and draws a frame around it: what is inside.
pub(super) fn framed(buffer: &mut Buffer, area: Rect, title: &str, style: Style) -> Rect {
    for row in 0..area.height {
        for column in 0..area.width {
            if let Some(cell) = buffer.cell_mut((area.x + column, area.y + row)) {
                cell.reset();
            }
        }
    }
    let inner = usize::from(area.width.saturating_sub(2));
    let title = cut(&format!(" {title} "), inner.saturating_sub(2));
    let top = format!(
        "╭─{title}{}╮",
        "─".repeat(inner.saturating_sub(1 + title.width()))
    );
    line(buffer, area, 0, &Line::styled(top, style));
    for row in 1..area.height.saturating_sub(1) {
        line(buffer, area, row, &Line::styled("│", style));
        let right = Rect::new(area.right().saturating_sub(1), area.y, 1, area.height);
        line(buffer, right, row, &Line::styled("│", style));
    }
    let bottom = format!("╰{}╯", "─".repeat(inner));
    line(
        buffer,
        area,
        area.height.saturating_sub(1),
        &Line::styled(bottom, style),
    );
    Rect::new(
        area.x + 2,
        area.y + 1,
        area.width.saturating_sub(4),
        area.height.saturating_sub(2),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words_and_never_too_wide() {
        let text = "one two three\n  indented words here\n\nabcdefghijklmnop 漢字漢字漢字漢字";
        let lines = wrapped(text, 10);
        assert_eq!(
            lines,
            [
                "one two",
                "three",
                "  indented",
                "  words",
                "  here",
                "",
                "abcdefghij",
                "klmnop",
                "漢字漢字漢",
                "字漢字"
            ]
        );
        for width in 4..40 {
            assert!(
                wrapped(text, width)
                    .iter()
                    .all(|line| line.width() <= width)
            );
        }
    }

    #[test]
    fn what_is_cut_says_so() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("漢字漢字", 5), "漢字…");
        assert_eq!(cut("abc", 0), "");
    }

    #[test]
    fn what_stands_at_the_right_keeps_its_room() {
        let left = vec![Span::raw("a long text on the left")];
        let line = spread(left, vec![Span::raw("3m")], 12);
        let text: String = line.iter().map(|span| span.content.as_ref()).collect();
        assert_eq!(text, "a long t… 3m");
    }
}
