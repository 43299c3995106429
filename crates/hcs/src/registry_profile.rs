//! What a registry of agents says of itself, in a file that its topic's memo names. Newer than the standard's first text.

use serde_json::Value;

use crate::fields::{Object, Report, document, filled, parsed, text, texts};
use crate::form::Form;
use crate::id::AccountId;
use crate::report::{Deviation, Refused};

/// The largest, in bytes.
const MAX_BYTES: usize = 1 << 20;

/// A registry's own description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistryProfile {
    /// The version of the description.
    pub version: String,
    /// Its name.
    pub name: String,
    /// What it lists.
    pub description: String,
    /// Who runs it.
    pub operator: RegistryOperator,
    /// What sorts of agents it lists.
    pub categories: Vec<String>,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// Where to read more.
    pub links: Links,
}

/// Who runs a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistryOperator {
    /// The account.
    pub account: AccountId,
    /// The name.
    pub name: Option<String>,
    /// How to reach them.
    pub contact: Option<String>,
}

/// Where to read more of a registry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Links {
    /// Its documents.
    pub documentation: Option<String>,
    /// Its website.
    pub website: Option<String>,
    /// Where its people meet.
    pub community: Option<String>,
}

impl RegistryOperator {
    fn read(value: &Value, report: &mut Report) -> Option<Self> {
        let mut object = Object::open(value, report)?;
        let account = object.required("account", parsed);
        let name = object.optional("name", text);
        let contact = object.optional("contact", text);
        object.close();
        Some(RegistryOperator {
            account: account?,
            name: name?,
            contact: contact?,
        })
    }

    fn value(&self) -> Value {
        Form::default()
            .text("account", self.account)
            .maybe("name", self.name.clone())
            .maybe("contact", self.contact.clone())
            .value()
    }
}

impl Links {
    fn read(value: &Value, report: &mut Report) -> Option<Self> {
        let mut object = Object::open(value, report)?;
        let documentation = object.optional("documentation", text);
        let website = object.optional("website", text);
        let community = object.optional("community", text);
        object.close();
        Some(Links {
            documentation: documentation?,
            website: website?,
            community: community?,
        })
    }

    fn value(&self) -> Option<Value> {
        (*self != Links::default()).then(|| {
            Form::default()
                .maybe("documentation", self.documentation.clone())
                .maybe("website", self.website.clone())
                .maybe("community", self.community.clone())
                .value()
        })
    }
}

impl RegistryProfile {
    /// Reads what somebody wrote, with what was forgiven.
    pub fn read(bytes: &[u8]) -> Result<(Self, Vec<Deviation>), Refused> {
        let value = document(bytes, "the description of a registry", MAX_BYTES)?;
        let mut report = Report::default();
        let profile = RegistryProfile::read_value(&value, &mut report);
        report.finish(profile)
    }

    fn read_value(value: &Value, report: &mut Report) -> Option<Self> {
        let mut object = Object::open(value, report)?;
        let version = object.required("version", filled);
        let name = object.required("name", filled);
        let description = object.required("description", text);
        let operator = object.required("operator", RegistryOperator::read);
        let categories = object.optional("categories", texts);
        let tags = object.optional("tags", texts);
        let links = object.optional("links", Links::read);
        object.close();
        Some(RegistryProfile {
            version: version?,
            name: name?,
            description: description?,
            operator: operator?,
            categories: categories?.unwrap_or_default(),
            tags: tags?.unwrap_or_default(),
            links: links?.unwrap_or_default(),
        })
    }

    /// The document to put into a file.
    pub fn write(&self) -> Result<String, Refused> {
        for (key, text) in [("version", &self.version), ("name", &self.name)] {
            if text.trim().is_empty() {
                return Err(Refused::Incomplete(key));
            }
        }
        Form::default()
            .set("version", self.version.as_str())
            .set("name", self.name.as_str())
            .set("description", self.description.as_str())
            .set("operator", self.operator.value())
            .some("categories", self.categories.iter().cloned())
            .some("tags", self.tags.iter().cloned())
            .maybe("links", self.links.value())
            .fit("the description of a registry", MAX_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registry_says_what_it_is() {
        let text = r#"{"version":"1.0","name":"Agents","description":"All of them","operator":{"account":"0.0.4","name":"n","contact":"c"},"categories":["a"],"tags":["t"],"links":{"documentation":"d","website":"w","community":"m"}}"#;
        let (profile, deviations) = RegistryProfile::read(text.as_bytes()).unwrap();
        assert_eq!(
            (profile.write().unwrap().as_str(), deviations),
            (text, Vec::new())
        );

        let short =
            r#"{"version":"1.0","name":"Agents","description":"","operator":{"account":"0.0.4"}}"#;
        let (profile, _) = RegistryProfile::read(short.as_bytes()).unwrap();
        assert_eq!(profile.write().unwrap(), short);
        for wrong in [
            "{}",
            r#"{"version":"1.0","name":"A","description":"","operator":{"account":"0.0.0"}}"#,
        ] {
            assert!(RegistryProfile::read(wrong.as_bytes()).is_err());
        }
        let nameless = RegistryProfile {
            name: String::new(),
            ..profile
        };
        assert!(nameless.write().is_err());
    }
}
