//! One agent beside the list of them: who it is, and what it does.

use inbox_core::AgentName;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::{Line, Span};

use super::app::App;
use super::paint::{self, BOLD, DIM, PLAIN, span, spread};
use super::rows::{ago, left, status};
use crate::person;

impl App {
    pub(super) fn draw_agent(&self, buffer: &mut Buffer, area: Rect, name: &AgentName) {
        let width = usize::from(area.width);
        let Some(found) = &self.agents else { return };
        let mut both = found.agents.iter().zip(&found.work);
        let Some((agent, work)) = both.find(|(agent, _)| agent.agent_id == *name) else {
            return;
        };
        let (word, mark) = person::state_mark(agent.state);
        let title = vec![Span::styled(name.to_string(), BOLD)];
        let kind = vec![Span::styled(agent.kind.to_string(), DIM)];
        let mut lines = vec![spread(title, kind, width)];
        let seen = agent.seen_at.map(|seen| ago(seen, self.now));
        let seen = seen.map_or("never seen".to_owned(), |seen| format!("seen {seen} ago"));
        let roles: Vec<String> = agent
            .roles
            .iter()
            .map(|role| format!("role:{role}"))
            .collect();
        let unread = match work.unread {
            100.. => "99+".to_owned(),
            count => count.to_string(),
        };
        let facts = [
            ("state", format!("{mark} {word}, {seen}")),
            ("name", agent.name.clone()),
            ("roles", roles.join(" ")),
            ("tags", agent.tags.join(" ")),
            ("runs in", work.clients.join(" ")),
            ("unread", unread),
            ("account", agent.account_id.clone().unwrap_or_default()),
        ];
        lines.push(Line::default());
        for (what, value) in facts {
            let is_said = what == "name" && value == name.as_str();
            if !value.trim().is_empty() && !is_said {
                let what = Span::styled(format!("{what:<9}"), DIM);
                lines.push(spread(vec![what, span(&value, PLAIN)], Vec::new(), width));
            }
        }
        lines.push(Line::default());
        if work.holds.is_empty() {
            lines.push(Line::styled("holds nothing", DIM));
        }
        for held in &work.holds {
            let until = format!("lease {}", left(held.expires_at, self.now));
            let told = vec![
                status(held.thread.status),
                Span::raw("  "),
                span(&held.thread.subject, PLAIN),
            ];
            lines.push(spread(told, vec![Span::styled(until, DIM)], width));
        }
        lines.push(Line::default());
        lines.push(Line::styled("Enter lists its threads", DIM));
        for (row, line) in (0..).zip(&lines) {
            paint::line(buffer, area, row, line);
        }
    }
}
