//! The part of the profile of a server of the Model Context Protocol.

use serde_json::Value;

use super::must_say;
use super::word::{McpService, Transport, VerificationType};
use crate::fields::{Object, Report, filled, list, text, texts};
use crate::form::Form;
use crate::report::Refused;

/// What a server is, offers, and how it is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServer {
    /// Its version.
    pub version: String,
    /// Where it is.
    pub url: String,
    /// How it is reached.
    pub transport: Transport,
    /// What it offers.
    pub services: Vec<McpService>,
    /// What it is for.
    pub description: String,
    /// How it shows that it is the account's.
    pub verification: Option<Verification>,
    /// The oldest host that it works with.
    pub host_min_version: Option<String>,
    /// What it can do, in words.
    pub capabilities: Vec<String>,
    /// Its resources.
    pub resources: Vec<Resource>,
    /// Its tools.
    pub tools: Vec<McpTool>,
    /// Who maintains it.
    pub maintainer: Option<String>,
    /// Where its source is.
    pub repository: Option<String>,
    /// Where its documents are.
    pub docs: Option<String>,
}

/// How a server shows that it is the account's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verification {
    /// The method.
    pub verification_type: VerificationType,
    /// What is checked: a domain or a signature. A challenge has none.
    pub value: Option<String>,
    /// The name of the record, where it is not `hedera`.
    pub dns_field: Option<String>,
    /// The path of the challenge, where it is not `hedera-verification`.
    pub challenge_path: Option<String>,
}

/// A resource of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// Its name.
    pub name: String,
    /// What it is.
    pub description: String,
}

/// A tool of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpTool {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
}

impl Verification {
    fn read(value: &Value, report: &mut Report) -> Option<Self> {
        let mut object = Object::open(value, report)?;
        let verification_type = object.required("type", VerificationType::read);
        let value = if verification_type == Some(VerificationType::Challenge) {
            object.required("value", text_or_null)
        } else {
            object.required("value", text).map(Some)
        };
        let dns_field = object.optional("dns_field", text);
        let challenge_path = object.optional("challenge_path", text);
        object.close();
        Some(Verification {
            verification_type: verification_type?,
            value: value?,
            dns_field: dns_field?,
            challenge_path: challenge_path?,
        })
    }

    fn value(&self) -> Result<Value, Refused> {
        if self.value.is_none() && self.verification_type != VerificationType::Challenge {
            return Err(Refused::Incomplete("value"));
        }
        let form = Form::default()
            .set("type", self.verification_type.name())
            .set("value", self.value.clone())
            .maybe("dns_field", self.dns_field.clone())
            .maybe("challenge_path", self.challenge_path.clone());
        Ok(form.value())
    }
}

#[expect(
    clippy::option_option,
    reason = "the outer one is whether it could be read"
)]
fn text_or_null(value: &Value, report: &mut Report) -> Option<Option<String>> {
    match value {
        Value::Null => Some(None),
        value => text(value, report).map(Some),
    }
}

/// A name and what it is.
fn described(value: &Value, report: &mut Report) -> Option<(String, String)> {
    let mut object = Object::open(value, report)?;
    let name = object.required("name", filled);
    let description = object.required("description", text);
    object.close();
    Some((name?, description?))
}

fn description(name: &str, description: &str) -> Value {
    Form::default()
        .set("name", name)
        .set("description", description)
        .value()
}

fn connection(value: &Value, report: &mut Report) -> Option<(String, Transport)> {
    let mut object = Object::open(value, report)?;
    let url = object.required("url", filled);
    let transport = object.required("transport", Transport::read);
    object.close();
    Some((url?, transport?))
}

#[expect(
    clippy::option_option,
    reason = "the outer one is whether it could be read"
)]
fn host(value: &Value, report: &mut Report) -> Option<Option<String>> {
    let mut object = Object::open(value, report)?;
    let version = object.optional("minVersion", text);
    object.close();
    version
}

impl McpServer {
    pub(super) fn read(value: &Value, report: &mut Report) -> Option<Self> {
        let mut object = Object::open(value, report)?;
        let version = object.required("version", filled);
        let connection = object.required("connectionInfo", connection);
        let services = object.required("services", |value, report| {
            list(value, report, McpService::read)
        });
        let about = object.required("description", text);
        let verification = object.optional("verification", Verification::read);
        let host = object.optional("host", host);
        let capabilities = object.optional("capabilities", texts);
        let resources =
            object.optional("resources", |value, report| list(value, report, described));
        let tools = object.optional("tools", |value, report| list(value, report, described));
        let maintainer = object.optional("maintainer", text);
        let repository = object.optional("repository", text);
        let docs = object.optional("docs", text);
        object.close();
        let (url, transport) = connection?;
        let resource = |(name, description)| Resource { name, description };
        let tool = |(name, description)| McpTool { name, description };
        Some(McpServer {
            version: version?,
            url,
            transport,
            services: services?.into_iter().flatten().collect(),
            description: about?,
            verification: verification?,
            host_min_version: host?.flatten(),
            capabilities: capabilities?.unwrap_or_default(),
            resources: resources?.into_iter().flatten().map(resource).collect(),
            tools: tools?.into_iter().flatten().map(tool).collect(),
            maintainer: maintainer?,
            repository: repository?,
            docs: docs?,
        })
    }

    pub(super) fn value(&self) -> Result<Value, Refused> {
        must_say("version", &self.version)?;
        must_say("url", &self.url)?;
        let connection = Form::default()
            .set("url", self.url.as_str())
            .set("transport", self.transport.name());
        let codes: Vec<_> = self.services.iter().map(|s| s.code()).collect();
        let host = self.host_min_version.as_deref();
        let host = host.map(|version| Form::default().set("minVersion", version).value());
        let resource = |item: &Resource| description(&item.name, &item.description);
        let tool = |item: &McpTool| description(&item.name, &item.description);
        let verification = self.verification.as_ref();
        let verification = verification.map(Verification::value).transpose()?;
        let form = Form::default()
            .set("version", self.version.as_str())
            .set("connectionInfo", connection.value())
            .set("services", codes)
            .set("description", self.description.as_str())
            .maybe("verification", verification)
            .maybe("host", host)
            .some("capabilities", self.capabilities.iter().cloned())
            .some("resources", self.resources.iter().map(resource))
            .some("tools", self.tools.iter().map(tool))
            .maybe("maintainer", self.maintainer.clone())
            .maybe("repository", self.repository.clone())
            .maybe("docs", self.docs.clone());
        Ok(form.value())
    }
}
