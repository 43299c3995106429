//! What an agent says in a turn: pieces become lines to follow it by, and its last words are the result.

/// What was said so far.
#[derive(Debug, Default)]
pub(super) struct Speech {
    /// What it says since it last used a tool.
    now: String,
    /// What it said before that.
    before: String,
    /// How much of `now` was handed on.
    told: usize,
}

impl Speech {
    /// Takes a piece; gives the lines that are whole now.
    pub(super) fn say(&mut self, piece: &str) -> Vec<String> {
        self.now.push_str(piece);
        let rest = &self.now[self.told..];
        let Some(end) = rest.rfind('\n') else {
            return Vec::new();
        };
        let lines = rest[..end].lines().map(str::to_owned).collect();
        self.told += end + 1;
        lines
    }

    /// It does something else, or is done; gives what was not handed on yet.
    pub(super) fn pause(&mut self) -> Vec<String> {
        let rest = self.now[self.told..].lines().map(str::to_owned).collect();
        let now = std::mem::take(&mut self.now);
        self.told = 0;
        if !now.trim().is_empty() {
            self.before = now;
        }
        rest
    }

    /// Its last words.
    pub(super) fn result(mut self) -> String {
        self.pause();
        self.before
    }
}
