//! What a profile says about personal data.

use serde_json::Value;

use crate::fields::{Object, Report, parsed, text, texts};
use crate::form::Form;
use crate::id::TopicId;

/// Rules that are kept, and where consent and requests are recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PrivacyCompliance {
    /// Standards, such as `GDPR`.
    pub standards: Vec<String>,
    /// Jurisdictions, such as `EU`.
    pub jurisdictions: Vec<String>,
    /// Where consent is recorded.
    pub consent_topic: Option<TopicId>,
    /// Where processing is recorded.
    pub processing_topic: Option<TopicId>,
    /// Where people ask for their rights.
    pub rights_topic: Option<TopicId>,
    /// Where audits are recorded.
    pub audit_topic: Option<TopicId>,
    /// Who is responsible.
    pub dpo_contact: Option<String>,
    /// The policy.
    pub privacy_policy_url: Option<String>,
    /// How long data is kept.
    pub retention_policy: Option<String>,
}

impl PrivacyCompliance {
    pub(super) fn read(value: &Value, report: &mut Report) -> Option<Self> {
        let mut object = Object::open(value, report)?;
        let standards = object.optional("standards", texts);
        let jurisdictions = object.optional("jurisdictions", texts);
        let consent_topic = object.optional("consent_topic_id", parsed);
        let processing_topic = object.optional("processing_topic_id", parsed);
        let rights_topic = object.optional("rights_topic_id", parsed);
        let audit_topic = object.optional("audit_topic_id", parsed);
        let dpo_contact = object.optional("dpo_contact", text);
        let privacy_policy_url = object.optional("privacy_policy_url", text);
        let retention_policy = object.optional("retention_policy", text);
        object.close();
        Some(PrivacyCompliance {
            standards: standards?.unwrap_or_default(),
            jurisdictions: jurisdictions?.unwrap_or_default(),
            consent_topic: consent_topic?,
            processing_topic: processing_topic?,
            rights_topic: rights_topic?,
            audit_topic: audit_topic?,
            dpo_contact: dpo_contact?,
            privacy_policy_url: privacy_policy_url?,
            retention_policy: retention_policy?,
        })
    }

    pub(super) fn value(&self) -> Value {
        Form::default()
            .some("standards", self.standards.iter().cloned())
            .some("jurisdictions", self.jurisdictions.iter().cloned())
            .maybe_text("consent_topic_id", self.consent_topic)
            .maybe_text("processing_topic_id", self.processing_topic)
            .maybe_text("rights_topic_id", self.rights_topic)
            .maybe_text("audit_topic_id", self.audit_topic)
            .maybe("dpo_contact", self.dpo_contact.clone())
            .maybe("privacy_policy_url", self.privacy_policy_url.clone())
            .maybe("retention_policy", self.retention_policy.clone())
            .value()
    }
}
