//! What messages can be about, beside the thread that they are in.

use std::fmt;
use std::str::FromStr;

use crate::error::Refusal;
use crate::id::text_serde;
use crate::name::Label;
use crate::text::quoted;
use crate::word::RefType;

/// An entity: `task:T4`, `project:0.0.4711`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Entity {
    /// What sort of entity.
    pub ref_type: RefType,
    /// Which one, in the words of whoever keeps it.
    pub ref_id: Label,
}

impl Entity {
    /// Its sort and its id.
    pub fn parts(&self) -> (RefType, String) {
        (self.ref_type, self.ref_id.to_string())
    }
}

impl fmt::Display for Entity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.ref_type, self.ref_id)
    }
}

impl FromStr for Entity {
    type Err = Refusal;
    fn from_str(text: &str) -> Result<Self, Refusal> {
        let parts = text.split_once(':').and_then(|(ref_type, ref_id)| {
            Some(Entity {
                ref_type: ref_type.parse().ok()?,
                ref_id: ref_id.trim().parse().ok()?,
            })
        });
        parts.ok_or_else(|| {
            Refusal::input(format!("{} is not an entity", quoted(text)))
                .hint("write task:ID, phase:ID, stage:ID, project:ID or agent:NAME")
        })
    }
}

text_serde!(
    Entity,
    "An entity: task:ID, phase:ID, stage:ID, project:ID or agent:NAME."
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entity_has_a_sort_and_an_id_of_any_text() {
        let entity: Entity = "Task:0.0.4711".parse().unwrap();
        assert_eq!(entity.to_string(), "task:0.0.4711");
        assert_eq!(
            "project:a:b".parse::<Entity>().unwrap().ref_id.as_str(),
            "a:b"
        );
        assert_eq!(entity.parts(), (RefType::Task, "0.0.4711".to_owned()));
        for text in ["", "task", "task:", "thing:1", ":1", "task: "] {
            assert!(text.parse::<Entity>().is_err(), "{text:?}");
        }
    }
}
