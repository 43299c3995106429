//! The clients: what each says to its hooks, and in which form it takes an answer.
//!
//! Text that a client gives to its model as context may have the headers of mail. Where a client takes an answer
//! for a person's word, it gets a pointer and no word of the mail.

use inbox_core::{Door, Refusal, SessionId};
use serde::Deserialize;
use serde_json::{Value, json};

/// A client that agents run in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Client {
    Claude,
    Codex,
    Gemini,
    Opencode,
    Cursor,
    Agy,
}

/// Every client.
pub(super) const CLIENTS: [Client; 6] = [
    Client::Claude,
    Client::Codex,
    Client::Gemini,
    Client::Opencode,
    Client::Cursor,
    Client::Agy,
];

/// A moment in a client's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    /// A session begins, or goes on.
    SessionStart,
    /// A person said something.
    Prompt,
    /// A tool has run, in the midst of a turn.
    AfterTool,
    /// The agent would end its turn.
    Stop,
    /// The session ends.
    End,
    /// The conversation is about to be summarised.
    Compact,
}

/// Every event.
pub(super) const EVENTS: [Event; 6] = [
    Event::SessionStart,
    Event::Prompt,
    Event::AfterTool,
    Event::Stop,
    Event::End,
    Event::Compact,
];

/// What becomes of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    /// The model reads it as context.
    Context,
    /// The model must go on with it, as if a person had said it.
    Order,
    /// Whoever summarises the conversation is told to keep it.
    Summary,
    /// The person sees it.
    Person,
    /// Nobody reads it.
    Not,
}

impl Event {
    pub(super) fn name(self) -> &'static str {
        match self {
            Event::SessionStart => "session-start",
            Event::Prompt => "prompt",
            Event::AfterTool => "after-tool",
            Event::Stop => "stop",
            Event::End => "end",
            Event::Compact => "compact",
        }
    }

    /// The door by which a session is told of mail at it.
    pub(super) fn door(self) -> Option<Door> {
        match self {
            Event::SessionStart => Some(Door::HookStart),
            Event::Prompt => Some(Door::HookPrompt),
            Event::AfterTool => Some(Door::HookTool),
            Event::Stop => Some(Door::HookStop),
            Event::Compact => Some(Door::HookCompact),
            Event::End => None,
        }
    }

    pub(super) fn named(name: &str) -> Result<Self, Refusal> {
        let found = EVENTS.into_iter().find(|event| event.name() == name);
        found.ok_or_else(|| Refusal::input(format!("no event is called {name:?}")))
    }
}

impl Client {
    pub(super) fn name(self) -> &'static str {
        match self {
            Client::Claude => "claude",
            Client::Codex => "codex",
            Client::Gemini => "gemini",
            Client::Opencode => "opencode",
            Client::Cursor => "cursor",
            Client::Agy => "agy",
        }
    }

    pub(super) fn named(name: &str) -> Result<Self, Refusal> {
        let found = CLIENTS.into_iter().find(|client| client.name() == name);
        found.ok_or_else(|| Refusal::input(format!("no client is called {name:?}")))
    }

    /// The variable in which it tells its hooks which project it is in.
    pub(super) fn project_variable(self) -> &'static str {
        match self {
            Client::Claude => "CLAUDE_PROJECT_DIR",
            Client::Gemini => "GEMINI_PROJECT_DIR",
            Client::Cursor => "CURSOR_PROJECT_DIR",
            Client::Codex | Client::Opencode | Client::Agy => "",
        }
    }

    /// The variable in which it tells its hooks which session they are of.
    pub(super) fn session_variable(self) -> &'static str {
        match self {
            Client::Claude => "CLAUDE_CODE_SESSION_ID",
            Client::Codex => "CODEX_THREAD_ID",
            Client::Gemini => "GEMINI_SESSION_ID",
            Client::Opencode | Client::Cursor | Client::Agy => "",
        }
    }

    /// Whether the commands that its agent runs know which session they are of. opencode's plugin tells them.
    pub(super) fn tells_its_shell(self) -> bool {
        matches!(self, Client::Claude | Client::Codex | Client::Opencode)
    }

    /// What it does with an answer to an event.
    pub(super) fn takes(self, event: Event) -> Taken {
        match (self, event) {
            (Client::Gemini, Event::End) => Taken::Person,
            (_, Event::End) => Taken::Not,
            (_, Event::Stop) => Taken::Order,
            (Client::Claude, Event::Compact) => Taken::Summary,
            (Client::Opencode, Event::Compact) => Taken::Context,
            (_, Event::Compact) => Taken::Not,
            // Its hook before a prompt can stop the prompt, and say nothing to the model.
            (Client::Cursor, Event::Prompt) => Taken::Not,
            // Its hook before every call of the model comes right after.
            (Client::Agy, Event::AfterTool) => Taken::Not,
            (_, Event::SessionStart | Event::Prompt | Event::AfterTool) => Taken::Context,
        }
    }

    /// What the client calls the event, where it wants to hear it again.
    fn event_name(self, event: Event) -> &'static str {
        match (self, event) {
            (_, Event::SessionStart) => "SessionStart",
            (Client::Gemini, Event::Prompt) => "BeforeAgent",
            (Client::Gemini, Event::AfterTool) => "AfterTool",
            (_, Event::Prompt) => "UserPromptSubmit",
            (_, Event::AfterTool) => "PostToolUse",
            (_, Event::Stop) => "Stop",
            (_, Event::End) => "SessionEnd",
            (_, Event::Compact) => "PreCompact",
        }
    }

    /// The answer in the client's own form; nothing where it takes none.
    pub(super) fn answer(self, event: Event, input: &Input, text: &str) -> Option<String> {
        let value = match (self, self.takes(event)) {
            (_, Taken::Not) => return None,
            // Plain text is what is put before the one who summarises.
            (_, Taken::Summary) => return Some(format!("{text}\n")),
            (Client::Claude | Client::Codex | Client::Gemini, Taken::Context) => {
                let own = self.event_name(event);
                let said = input.hook_event_name.as_deref();
                // One event of ours may be several of the client's, and it wants its own name.
                let name = said.filter(|name| is_word(name)).unwrap_or(own);
                json!({ "hookSpecificOutput": { "hookEventName": name, "additionalContext": text } })
            }
            (Client::Claude | Client::Codex, Taken::Order) => {
                json!({ "decision": "block", "reason": text })
            }
            (Client::Gemini, Taken::Order) => json!({ "decision": "deny", "reason": text }),
            (Client::Opencode, Taken::Context) => json!({ "context": text }),
            (Client::Opencode, Taken::Order) => json!({ "reason": text }),
            (Client::Cursor, Taken::Context) => json!({ "additional_context": text }),
            (Client::Cursor, Taken::Order) => json!({ "followup_message": text }),
            (Client::Agy, Taken::Context) => {
                json!({ "injectSteps": [{ "ephemeralMessage": text }] })
            }
            (Client::Agy, Taken::Order) => json!({ "decision": "continue", "reason": text }),
            (_, Taken::Person) => json!({ "systemMessage": text }),
        };
        Some(format!("{value}\n"))
    }
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.len() <= 40 && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// What a client says to its hooks. What is not here is passed over.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Input {
    session_id: Option<Value>,
    #[serde(alias = "conversationId")]
    conversation_id: Option<Value>,
    #[serde(alias = "sessionID")]
    session: Option<Value>,
    cwd: Option<String>,
    #[serde(alias = "workspacePaths")]
    workspace_roots: Vec<String>,
    hook_event_name: Option<String>,
    /// Why a session begins.
    source: Option<String>,
    /// A subagent's name, where the event is a subagent's.
    agent_id: Option<Value>,
    /// Whether the agent goes on because of a hook already.
    stop_hook_active: bool,
    /// How often it does.
    loop_count: i64,
    /// How a turn ended.
    status: Option<String>,
}

impl Input {
    pub(super) fn parse(text: &[u8]) -> Result<Self, Refusal> {
        if text.iter().all(u8::is_ascii_whitespace) {
            return Ok(Input::default());
        }
        // A list would be taken for the fields in their order.
        if !text.trim_ascii_start().starts_with(b"{") {
            return Err(Refusal::input("the client's input is no JSON object"));
        }
        serde_json::from_slice(text).map_err(|error| {
            Refusal::input(format!("the client's input is no JSON object: {error}"))
        })
    }

    /// The session, if the client names one.
    pub(super) fn session(&self) -> Option<SessionId> {
        let named = [&self.session_id, &self.conversation_id, &self.session];
        let texts = named.into_iter().flatten().filter_map(Value::as_str);
        texts.flat_map(str::parse).next()
    }

    /// The folder that the client works in.
    pub(super) fn folder(&self) -> Option<&str> {
        let first = self.workspace_roots.first();
        self.cwd.as_ref().or(first).map(String::as_str)
    }

    /// Whether the session goes on after its conversation was summarised.
    pub(super) fn is_after_compaction(&self) -> bool {
        self.source.as_deref() == Some("compact")
    }

    /// Whether the session is a new one, as far as the client says.
    pub(super) fn is_startup(&self) -> bool {
        self.source.as_deref().is_none_or(|why| why == "startup")
    }

    /// Whether it is a subagent's and not the agent's own.
    pub(super) fn is_subagents(&self) -> bool {
        self.agent_id.as_ref().is_some_and(|id| !id.is_null())
    }

    /// Whether the agent should be left to stop: it goes on because of a hook already, or its turn was ended by
    /// somebody.
    pub(super) fn must_stop(&self) -> bool {
        let is_ended = self.status.as_ref().is_some_and(|how| how != "completed");
        self.stop_hook_active || self.loop_count > 0 || is_ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #![proptest_config(crate::damage::cases(600))]

        #[test]
        fn whatever_a_client_says_to_its_hook_is_read_or_refused(bytes in crate::damage::damaged(vec![
            r#"{"session_id":"s1","cwd":"/f","hook_event_name":"Stop","source":"startup","stop_hook_active":true,"loop_count":2}"#,
            r#"{"conversationId":"c","workspacePaths":["/a","/b"],"sessionID":7,"agent_id":{},"status":"completed"}"#,
        ])) {
            let Ok(input) = Input::parse(&bytes) else { return Ok(()); };
            let _ = (input.session(), input.folder(), input.is_after_compaction(), input.is_startup());
            let _ = (input.is_subagents(), input.must_stop());
            for client in CLIENTS {
                for event in EVENTS {
                    let answer = client.answer(event, &input, "mail \" for \\ you");
                    let is_json = |text: &String| !text.starts_with('{') || serde_json::from_str::<Value>(text).is_ok();
                    proptest::prop_assert!(answer.as_ref().is_none_or(is_json), "{answer:?}");
                }
            }
        }
    }
}
