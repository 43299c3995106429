//! The part of an agent's profile.

use serde_json::Value;

use super::must_say;
use super::word::{AgentType, Capability};
use crate::fields::{Object, Report, filled, list, text};
use crate::form::Form;
use crate::report::Refused;

/// What an agent is and can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AiAgent {
    /// Whether it acts by itself.
    pub agent_type: AgentType,
    /// What it can do.
    pub capabilities: Vec<Capability>,
    /// The model that it is.
    pub model: String,
    /// Who made it.
    pub creator: Option<String>,
}

impl AiAgent {
    pub(super) fn read(value: &Value, report: &mut Report) -> Option<Self> {
        let mut object = Object::open(value, report)?;
        let agent_type = object.required("type", AgentType::read);
        let capabilities = object.required("capabilities", |value, report| {
            list(value, report, Capability::read)
        });
        let model = object.required("model", filled);
        let creator = object.optional("creator", text);
        object.close();
        Some(AiAgent {
            agent_type: agent_type?,
            capabilities: capabilities?.into_iter().flatten().collect(),
            model: model?,
            creator: creator?,
        })
    }

    pub(super) fn value(&self) -> Result<Value, Refused> {
        must_say("model", &self.model)?;
        let codes: Vec<_> = self.capabilities.iter().map(|c| c.code()).collect();
        let form = Form::default()
            .set("type", self.agent_type.code())
            .set("capabilities", codes)
            .set("model", self.model.as_str())
            .maybe("creator", self.creator.clone());
        Ok(form.value())
    }
}
