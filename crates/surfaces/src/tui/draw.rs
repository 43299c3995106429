//! The whole screen: the lists and the thread between a line of tabs and a line of keys.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::{Position, Rect};
use ratatui_core::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use super::app::{App, Tab, Told};
use super::lists::{ItemKey, Row};
use super::paint::{
    self, ALARM, BOLD, DIM, GOOD, HEADING, HERE, NAME, PLAIN, WAITS, safe, span, spread, wrapped,
};

/// Below this there is no room for anything.
const SMALLEST: (u16, u16) = (30, 8);

impl App {
    /// Draws everything. Where the cursor is, if something is written.
    pub(super) fn draw(&mut self, buffer: &mut Buffer) -> Option<Position> {
        let area = buffer.area;
        self.size = (area.width, area.height);
        if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
            let text = Line::raw("too small: make this window larger");
            paint::line(buffer, area, 0, &text);
            return None;
        }
        self.draw_tabs(buffer, area);
        paint::rule(buffer, area, 1);
        let mut bottom = area.height - 1;
        self.draw_keys(buffer, area, bottom);
        let notice = self.notice_lines(usize::from(area.width));
        for line in notice.iter().rev() {
            bottom -= 1;
            paint::line(buffer, area, bottom, line);
        }
        let mut cursor = None;
        if let Some(draft) = &self.draft {
            // It grows with what is written, and what it answers stays in sight.
            let (rows, _) = draft
                .editor
                .laid_out(usize::from(area.width.saturating_sub(4)));
            let rows = u16::try_from(rows.len()).unwrap_or(u16::MAX);
            let height = rows.saturating_add(3).min(bottom / 2).max(4);
            let height = height.min(bottom.saturating_sub(3));
            bottom -= height;
            let at = Rect::new(0, bottom, area.width, height);
            cursor = self.draw_draft(buffer, at, draft);
        }
        let main = Rect::new(0, 2, area.width, bottom.saturating_sub(2));
        self.draw_main(buffer, main);
        if let Some(dialog) = &self.dialog {
            cursor = self.draw_dialog(buffer, area, dialog);
        }
        cursor
    }

    fn draw_tabs(&self, buffer: &mut Buffer, area: Rect) {
        let mut left = vec![Span::raw(" ")];
        for (index, tab) in Tab::ALL.into_iter().enumerate() {
            let style = if tab == self.tab {
                HERE.patch(BOLD)
            } else {
                PLAIN
            };
            left.push(Span::styled(
                format!(" {} {} ", index + 1, tab.name()),
                style,
            ));
            let asks = self.desk.as_ref().map_or(0, |desk| desk.asks.len());
            if tab == Tab::You && asks > 0 {
                left.push(Span::styled(format!("({asks})"), WAITS));
            }
            left.push(Span::raw(" "));
        }
        let live = match (&self.trouble, &self.desk) {
            (Some(_), _) => Span::styled("✕ not live ", ALARM),
            (None, Some(_)) => Span::styled("● live ", GOOD),
            (None, None) => Span::styled("… ", DIM),
        };
        let right = vec![Span::styled(format!("{} ", self.me), NAME), live];
        let tabs = spread(left, right, usize::from(area.width));
        paint::line(buffer, area, 0, &tabs);
    }

    fn draw_keys(&self, buffer: &mut Buffer, area: Rect, row: u16) {
        let keys: &[(&str, &str)] = if self.draft.is_some() {
            &[
                ("^S", "send"),
                ("Esc", "leave, draft kept"),
                ("PgUp", "read above"),
            ]
        } else if self.dialog.is_some() {
            &[("Enter", "does it"), ("Esc", "back")]
        } else if self.is_in_thread {
            &[
                ("a", "answer"),
                ("r", "reply"),
                ("c", "claim for"),
                ("x", "call off"),
                ("Esc", "back"),
                ("?", "keys"),
                ("q", "leave"),
            ]
        } else {
            match self.tab {
                Tab::You => &[
                    ("Enter", "open"),
                    ("a", "answer"),
                    ("y/n", "decide"),
                    ("e", "read"),
                    ("?", "keys"),
                    ("q", "leave"),
                ],
                Tab::Agents => &[
                    ("Enter", "open"),
                    ("c", "claim for"),
                    ("x", "call off"),
                    ("?", "keys"),
                    ("q", "leave"),
                ],
                Tab::Threads => &[
                    ("Enter", "open"),
                    ("/", "search"),
                    ("s", "status"),
                    ("c", "claim for"),
                    ("?", "keys"),
                    ("q", "leave"),
                ],
            }
        };
        // Those in the middle give way to the last two.
        let wide = |(key, what): &(&str, &str)| key.width() + what.width() + 3;
        let ends = keys.len().saturating_sub(2);
        let mut room = usize::from(area.width).saturating_sub(1);
        room = room.saturating_sub(keys[ends..].iter().map(wide).sum());
        let mut spans = vec![Span::raw(" ")];
        for (index, (key, what)) in keys.iter().enumerate() {
            let width = wide(&(key, what));
            if index < ends && width > room {
                continue;
            }
            if index < ends {
                room -= width;
            }
            spans.push(Span::styled((*key).to_owned(), BOLD));
            spans.push(Span::styled(format!(" {what}  "), DIM));
        }
        let keys = spread(spans, Vec::new(), usize::from(area.width));
        paint::line(buffer, area, row, &keys);
    }

    /// How the last step went, or why nothing can be seen.
    fn notice_lines(&self, width: usize) -> Vec<Line<'static>> {
        let (sort, text, hint) = match (&self.notice, &self.trouble) {
            (Some(notice), _) => (notice.sort, &notice.text, &notice.hint),
            (None, Some(refusal)) => (Told::Refused, &refusal.message, &refusal.hint),
            (None, None) => return Vec::new(),
        };
        let (mark, style) = match sort {
            Told::Word => (" · ", PLAIN),
            Told::Done => (" ✓ ", GOOD),
            Told::Refused => (" ✕ ", ALARM),
        };
        let mut lines = Vec::new();
        for (index, line) in wrapped(&safe(text), width.saturating_sub(4))
            .into_iter()
            .take(2)
            .enumerate()
        {
            let mark = if index == 0 { mark } else { "   " };
            lines.push(Line::styled(format!("{mark}{line}"), style));
        }
        if !hint.is_empty() {
            let hint = wrapped(&safe(hint), width.saturating_sub(4));
            let hint = hint.into_iter().take(2);
            lines.extend(hint.map(|line| Line::styled(format!("   {line}"), PLAIN)));
        }
        lines
    }

    fn draw_main(&mut self, buffer: &mut Buffer, area: Rect) {
        if !self.shows_thread() {
            self.draw_list(buffer, area);
            return;
        }
        if !self.is_wide() {
            let inner = Rect::new(
                area.x + 1,
                area.y,
                area.width.saturating_sub(2),
                area.height,
            );
            self.draw_thread(buffer, inner);
            return;
        }
        let left = area.width * 9 / 20;
        self.draw_list(
            buffer,
            Rect {
                width: left,
                ..area
            },
        );
        let is_here = self.is_in_thread || self.draft.is_some();
        let (bar, style) = if is_here {
            ("┃", HEADING)
        } else {
            ("│", DIM)
        };
        for row in 0..area.height {
            let at = Rect::new(left, area.y, 1, area.height);
            paint::line(buffer, at, row, &Line::styled(bar, style));
        }
        let right = Rect::new(
            left + 2,
            area.y,
            area.width.saturating_sub(left + 3),
            area.height,
        );
        match self.chosen() {
            Some(ItemKey::Agent(name)) if !is_here => self.draw_agent(buffer, right, &name),
            _ => self.draw_thread(buffer, right),
        }
    }

    fn draw_list(&mut self, buffer: &mut Buffer, area: Rect) {
        let mut area = area;
        if self.tab == Tab::Threads {
            let line = self.filter_line(usize::from(area.width));
            paint::line(buffer, area, 0, &line);
            area = Rect::new(
                area.x,
                area.y + 1,
                area.width,
                area.height.saturating_sub(1),
            );
        }
        let width = usize::from(area.width.saturating_sub(3));
        let rows = self.rows(width);
        let keys = self.items();
        let chosen = self.cursors[self.tab as usize].settled(&keys);
        let mut lines: Vec<(bool, Line<'static>)> = Vec::new();
        let (mut first, mut last) = (0, 0);
        for row in rows {
            match row {
                Row::Text(line) => lines.push((false, line)),
                Row::Item(key, item) => {
                    let is_chosen = Some(&key) == chosen.as_ref();
                    if is_chosen {
                        (first, last) = (lines.len(), lines.len() + item.len());
                    }
                    lines.extend(item.into_iter().map(|line| (is_chosen, line)));
                }
            }
        }
        let height = usize::from(area.height);
        let is_here = !self.is_in_thread && self.draft.is_none();
        let total = lines.len();
        let cursor = self.cursor();
        cursor.settle(&keys);
        // The heading above the first one is seen with it.
        let wanted = if first <= 1 { 0 } else { first };
        cursor.top = cursor.top.min(wanted).max(last.saturating_sub(height));
        cursor.top = cursor.top.min(total.saturating_sub(height));
        let seen = lines.into_iter().skip(cursor.top).take(height);
        for (row, (is_chosen, line)) in (0..).zip(seen) {
            let mark = match (is_chosen, is_here) {
                (true, true) => Span::styled("▌", HEADING),
                (true, false) => Span::styled("│", DIM),
                (false, _) => Span::raw(" "),
            };
            paint::line(buffer, area, row, &Line::from(mark));
            let mut at = area;
            at.x += 2;
            at.width = at.width.saturating_sub(3);
            let line = if is_chosen && is_here {
                line.patch_style(BOLD)
            } else {
                line
            };
            paint::line(buffer, at, row, &line);
        }
    }

    fn filter_line(&self, width: usize) -> Line<'static> {
        let filter = &self.filter;
        let mut left = vec![
            Span::styled("  ", DIM),
            Span::styled(filter.which.word(), BOLD),
            Span::styled(" threads", DIM),
        ];
        if let Some(agent) = &filter.agent {
            left.push(Span::styled(" of ", DIM));
            left.push(Span::styled(agent.to_string(), NAME));
        }
        if !filter.query.is_empty() {
            left.push(Span::styled(" with ", DIM));
            left.push(span(&filter.query, BOLD));
        }
        if *filter != super::clerk::Filter::default() {
            left.push(Span::styled("  Esc shows all", DIM));
        }
        spread(left, Vec::new(), width)
    }
}
