//! HCS-11: who an account is. A profile is a JSON document in a file; the account's memo says where.

mod agent;
mod flora;
mod mcp;
mod privacy;
mod word;

pub use agent::AiAgent;
pub use flora::{CustomTopic, Flora, FloraTopics, Member};
pub use mcp::{McpServer, McpTool, Resource, Verification};
pub use privacy::PrivacyCompliance;
pub use word::{AgentType, Capability, McpService, ProfileType, Transport, VerificationType};

use serde_json::{Map, Value};

use crate::fields::{Object, Report, document, filled, list, parsed, shown_value, text, whole};
use crate::form::Form;
use crate::id::{AccountId, TopicId};
use crate::report::{Deviation, DeviationKind, Refused};

/// The largest profile, in bytes.
const MAX_PROFILE: usize = 1 << 20;
/// The version of the standard.
const VERSION: &str = "1.0";
/// The platforms that the standard names.
const PLATFORMS: [&str; 6] = [
    "twitter", "github", "discord", "telegram", "linkedin", "youtube",
];

/// A profile.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// The name that people see.
    pub display_name: String,
    /// The universal agent id. The newest text requires it; many profiles are older.
    pub uaid: Option<String>,
    /// The account that stands behind this one.
    pub base_account: Option<AccountId>,
    /// Another name.
    pub alias: Option<String>,
    /// A few words.
    pub bio: Option<String>,
    /// Where else it is found.
    pub socials: Vec<Social>,
    /// Where its picture is, usually a locator.
    pub profile_image: Option<String>,
    /// Where it hears requests.
    pub inbound_topic: Option<TopicId>,
    /// Where it records what it does.
    pub outbound_topic: Option<TopicId>,
    /// Numbers of an older text, which the newest does not have.
    pub tags: Vec<u64>,
    /// What else its owner says.
    pub properties: Option<Map<String, Value>>,
    /// What it does with personal data.
    pub privacy_compliance: Option<PrivacyCompliance>,
    /// The application network that it belongs to.
    pub appnet: Option<Value>,
    /// What it is, with what such a one has.
    pub kind: ProfileKind,
}

/// What a profile is of.
#[derive(Debug, Clone, PartialEq)]
pub enum ProfileKind {
    /// A person.
    Personal,
    /// An agent.
    AiAgent(AiAgent),
    /// A server of the Model Context Protocol.
    McpServer(McpServer),
    /// A group of accounts.
    Flora(Flora),
}

impl ProfileKind {
    /// Its type.
    pub const fn profile_type(&self) -> ProfileType {
        match self {
            ProfileKind::Personal => ProfileType::Personal,
            ProfileKind::AiAgent(_) => ProfileType::AiAgent,
            ProfileKind::McpServer(_) => ProfileType::McpServer,
            ProfileKind::Flora(_) => ProfileType::Flora,
        }
    }
}

/// An account on a platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Social {
    /// The platform, such as `github`.
    pub platform: String,
    /// The name there.
    pub handle: String,
}

impl Social {
    fn read(value: &Value, report: &mut Report) -> Option<Self> {
        let mut object = Object::open(value, report)?;
        let platform = object.required("platform", platform);
        let handle = object.required("handle", text);
        object.close();
        Some(Social {
            platform: platform?,
            handle: handle?,
        })
    }

    fn value(&self) -> Value {
        Form::default()
            .set("platform", self.platform.as_str())
            .set("handle", self.handle.as_str())
            .value()
    }
}

fn platform(value: &Value, report: &mut Report) -> Option<String> {
    let platform = text(value, report)?;
    if !PLATFORMS.contains(&platform.as_str()) {
        let expected = PLATFORMS.join(", ");
        report.forgive(DeviationKind::UnknownWord, expected, shown_value(value));
    }
    Some(platform)
}

/// The field of each type's part.
const PARTS: [(&str, ProfileType); 3] = [
    ("aiAgent", ProfileType::AiAgent),
    ("mcpServer", ProfileType::McpServer),
    ("flora", ProfileType::Flora),
];

impl Profile {
    /// A profile of this kind with a name and nothing else.
    pub fn new(display_name: impl Into<String>, kind: ProfileKind) -> Self {
        Profile {
            display_name: display_name.into(),
            uaid: None,
            base_account: None,
            alias: None,
            bio: None,
            socials: Vec::new(),
            profile_image: None,
            inbound_topic: None,
            outbound_topic: None,
            tags: Vec::new(),
            properties: None,
            privacy_compliance: None,
            appnet: None,
            kind,
        }
    }

    /// Reads what somebody wrote, with what was forgiven.
    pub fn read(bytes: &[u8]) -> Result<(Self, Vec<Deviation>), Refused> {
        let value = document(bytes, "the profile", MAX_PROFILE)?;
        let mut report = Report::default();
        let profile = Profile::read_value(&value, &mut report);
        report.finish(profile)
    }

    fn read_value(value: &Value, report: &mut Report) -> Option<Self> {
        let mut object = Object::open(value, report)?;
        let version = object.wanted("version", text);
        let kind = object
            .required("type", ProfileType::read)
            .and_then(|profile_type| read_kind(&mut object, profile_type));
        let display_name = object.required("display_name", filled);
        let uaid = object.optional("uaid", filled);
        let base_account = object.optional("base_account", parsed);
        let alias = object.optional("alias", text);
        let bio = object.optional("bio", text);
        let socials = object.optional("socials", |value, report| list(value, report, Social::read));
        let profile_image = object.optional("profileImage", text);
        let inbound_topic = object.optional("inboundTopicId", parsed);
        let outbound_topic = object.optional("outboundTopicId", parsed);
        let tags = object.optional("tags", |value, report| list(value, report, whole));
        let properties = object.optional("properties", map);
        let privacy_compliance = object.optional("privacy_compliance", PrivacyCompliance::read);
        let appnet = object.optional("appnet", |value, _| Some(value.clone()));
        object.close();
        if let Some(version) = version
            && version != VERSION
        {
            let found = crate::id::shown(&version);
            report.at("version", |report| {
                report.forgive(DeviationKind::UnknownWord, VERSION, found);
            });
        }
        Some(Profile {
            display_name: display_name?,
            uaid: uaid?,
            base_account: base_account?,
            alias: alias?,
            bio: bio?,
            socials: socials?.unwrap_or_default(),
            profile_image: profile_image?,
            inbound_topic: inbound_topic?,
            outbound_topic: outbound_topic?,
            tags: tags?.unwrap_or_default(),
            properties: properties?,
            privacy_compliance: privacy_compliance?,
            appnet: appnet?,
            kind: kind?,
        })
    }

    /// The document to put into a file.
    pub fn write(&self) -> Result<String, Refused> {
        if self.display_name.trim().is_empty() {
            return Err(Refused::Incomplete("display_name"));
        }
        let form = Form::default()
            .set("version", VERSION)
            .set("type", self.kind.profile_type().code())
            .set("display_name", self.display_name.as_str())
            .maybe("uaid", self.uaid.clone())
            .maybe_text("base_account", self.base_account)
            .maybe("alias", self.alias.clone())
            .maybe("bio", self.bio.clone())
            .some("socials", self.socials.iter().map(Social::value))
            .maybe("profileImage", self.profile_image.clone())
            .maybe_text("inboundTopicId", self.inbound_topic)
            .maybe_text("outboundTopicId", self.outbound_topic)
            .some("tags", self.tags.iter().copied())
            .maybe("properties", self.properties.clone());
        let privacy = self.privacy_compliance.as_ref();
        let form = form
            .maybe("privacy_compliance", privacy.map(PrivacyCompliance::value))
            .maybe("appnet", self.appnet.clone());
        let form = match &self.kind {
            ProfileKind::Personal => form,
            ProfileKind::AiAgent(agent) => form.set("aiAgent", agent.value()?),
            ProfileKind::McpServer(server) => form.set("mcpServer", server.value()?),
            ProfileKind::Flora(flora) => flora.write(form)?,
        };
        form.fit("the profile", MAX_PROFILE)
    }
}

/// The part that belongs to the type; the parts of other types are passed over.
fn read_kind(object: &mut Object<'_, '_>, profile_type: ProfileType) -> Option<ProfileKind> {
    for (key, other) in PARTS {
        if other != profile_type && object.has(key) {
            object.known(&[key]);
            object.report().at(key, |report| {
                let expected = format!("no such field in a profile of {}", profile_type.name());
                report.forgive(DeviationKind::OtherPart, expected, key);
            });
        }
    }
    match profile_type {
        ProfileType::Personal => Some(ProfileKind::Personal),
        ProfileType::AiAgent => object
            .required("aiAgent", AiAgent::read)
            .map(ProfileKind::AiAgent),
        ProfileType::McpServer => object
            .required("mcpServer", McpServer::read)
            .map(ProfileKind::McpServer),
        ProfileType::Flora => Flora::read(object).map(ProfileKind::Flora),
    }
}

fn map(value: &Value, report: &mut Report) -> Option<Map<String, Value>> {
    match value {
        Value::Object(map) => Some(map.clone()),
        other => report.refuse(format!("must be an object, not {}", shown_value(other))),
    }
}

/// A text that must say something in what is written.
fn must_say(key: &'static str, text: &str) -> Result<(), Refused> {
    if text.trim().is_empty() {
        return Err(Refused::Incomplete(key));
    }
    Ok(())
}
