//! What a message carries, the same in every command that writes one.

use inbox_core::record::ArtifactMetadata;
use inbox_core::{Code, Kind, Refusal, limit};
use inbox_store::{NewArtifact, NewMessage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::call::Caller;

/// A file reference, with what the surface found at its path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArtifactRef {
    /// The path as it was given.
    pub path: String,
    /// The size in bytes.
    #[serde(default)]
    pub size: Option<i64>,
    /// The SHA-256 of the content, in hexadecimal.
    #[serde(default)]
    pub sha256: Option<String>,
    /// The media type.
    #[serde(default)]
    pub media_type: Option<String>,
}

/// Declares a request that writes a message: its own fields, and those that every message has.
macro_rules! message_request {
    (
        $(#[$doc:meta])*
        pub struct $name:ident { $($(#[$field_doc:meta])* pub $field:ident: $type:ty,)* }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $type,)*
            /// Say it in one line
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub summary: Option<String>,
            /// Say it at length, in Markdown
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub body: Option<String>,
            /// Add structured content
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub payload_json: Option<serde_json::Value>,
            /// Attach files by reference
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            pub artifacts: Vec<$crate::content::ArtifactRef>,
        }

        impl $name {
            fn content(&self) -> $crate::content::Content<'_> {
                $crate::content::Content {
                    summary: self.summary.as_deref(),
                    body: self.body.as_deref(),
                    payload_json: self.payload_json.as_ref(),
                    artifacts: &self.artifacts,
                }
            }
        }
    };
}
pub(crate) use message_request;

/// The common part of a message request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Content<'a> {
    pub(crate) summary: Option<&'a str>,
    pub(crate) body: Option<&'a str>,
    pub(crate) payload_json: Option<&'a Value>,
    pub(crate) artifacts: &'a [ArtifactRef],
}

impl Content<'_> {
    /// Checks the content; `default_summary` stands in for a summary that was not given.
    pub(crate) fn message(
        self,
        caller: &Caller,
        kind: Kind,
        default_summary: Option<&str>,
    ) -> Result<NewMessage, Refusal> {
        let summary = match (self.summary, default_summary) {
            (Some(summary), _) => summary,
            (None, Some(default)) => default,
            (None, None) => {
                return Err(Refusal::input("a summary is required").hint(
                    "say in one line what happened, or exactly what is missing: --summary TEXT",
                ));
            }
        };
        limit::required("the summary", summary, limit::SUMMARY)?;
        let body = self.body.unwrap_or_default();
        limit::bytes("the body", body, limit::BODY)?;
        let payload_json = self.payload_json.cloned().unwrap_or_else(|| json!({}));
        json_size("the payload", &payload_json)?;
        crate::typed::wire(&payload_json)?;
        if self.artifacts.len() > limit::ARTIFACTS {
            let (found, most) = (self.artifacts.len(), limit::ARTIFACTS);
            return Err(Refusal::new(
                Code::TooLarge,
                format!("{found} artifacts are attached; the most is {most}"),
            ));
        }
        let artifacts = self
            .artifacts
            .iter()
            .map(checked)
            .collect::<Result<_, _>>()?;
        let mut message = NewMessage::saying(kind, summary, caller.auth);
        body.clone_into(&mut message.body);
        message.payload_json = payload_json;
        message.artifacts = artifacts;
        Ok(message)
    }

    /// A warning for each artifact of which nothing is known but its path, and for mail that is a document.
    pub(crate) fn warnings(self) -> Vec<String> {
        let words = self.body.unwrap_or_default().split_whitespace().count();
        let is_long = (words > limit::WORDS).then(|| {
            format!("the body has {words} words: mail is not a document; attach long texts with --artifact")
        });
        let unreadable = self
            .artifacts
            .iter()
            .filter(|artifact| artifact.sha256.is_none())
            .map(|artifact| {
                format!(
                    "{} is not a readable regular file of up to {} GiB: only its path is kept",
                    artifact.path,
                    limit::ARTIFACT >> 30
                )
            });
        unreadable.chain(is_long).collect()
    }
}

pub(crate) fn json_size(what: &str, value: &Value) -> Result<(), Refusal> {
    // What is deeper can be written and not be read again.
    if is_deeper(value, limit::DEPTH) {
        let most = limit::DEPTH;
        return Err(Refusal::new(
            Code::TooLarge,
            format!("{what} is nested more than {most} deep"),
        )
        .detail("limit", most));
    }
    let size = value.to_string().len();
    if size > limit::PAYLOAD {
        let most = limit::PAYLOAD;
        return Err(Refusal::new(
            Code::TooLarge,
            format!("{what} has {size} bytes; the most is {most}"),
        )
        .detail("size", size)
        .detail("limit", most));
    }
    Ok(())
}

fn is_deeper(value: &Value, most: usize) -> bool {
    let mut level: Vec<&Value> = vec![value];
    for _ in 0..=most {
        level = level
            .into_iter()
            .flat_map(|value| match value {
                Value::Array(items) => items.iter().collect::<Vec<_>>(),
                Value::Object(object) => object.values().collect(),
                _ => Vec::new(),
            })
            .collect();
        if level.is_empty() {
            return false;
        }
    }
    true
}

fn checked(artifact: &ArtifactRef) -> Result<NewArtifact, Refusal> {
    if artifact.path.is_empty() {
        return Err(Refusal::input("an artifact's path is empty"));
    }
    limit::bytes("an artifact's path", &artifact.path, 4096)?;
    if let Some(hash) = &artifact.sha256
        && (hash.len() != 64 || !hash.bytes().all(|byte| byte.is_ascii_hexdigit()))
    {
        return Err(Refusal::input(format!(
            "{hash:?} is not a SHA-256 in hexadecimal"
        )));
    }
    if let Some(media_type) = &artifact.media_type {
        limit::text("an artifact's media type", media_type, 255)?;
    }
    Ok(NewArtifact {
        path: artifact.path.clone(),
        kind: if artifact.sha256.is_some() {
            "file".into()
        } else {
            "reference".into()
        },
        metadata: ArtifactMetadata {
            size: artifact.size,
            sha256: artifact.sha256.clone(),
            media_type: artifact.media_type.clone(),
        },
    })
}
