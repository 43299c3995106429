//! The closed vocabularies of profiles: numbers for most, words for some.

use serde_json::Value;

use crate::fields::{Report, shown_value, whole};
use crate::report::DeviationKind;

macro_rules! numbered {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $code:literal $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$variant_doc])* $variant,)* }

        impl $name {
            /// Every one, in the order of its number.
            pub const ALL: &'static [$name] = &[$($name::$variant,)*];

            /// The number in profiles.
            pub const fn code(self) -> u64 { match self { $($name::$variant => $code,)* } }

            /// Its name.
            pub const fn name(self) -> &'static str { match self { $($name::$variant => $word,)* } }

            /// The one with this number.
            pub fn from_code(code: u64) -> Option<Self> {
                match code { $($code => Some($name::$variant),)* _ => None }
            }
        }
    };
}

numbered! {
    /// What a profile is of.
    ProfileType {
        /// A person.
        Personal = 0 "personal",
        /// An agent.
        AiAgent = 1 "ai_agent",
        /// A server of the Model Context Protocol.
        McpServer = 2 "mcp_server",
        /// A group of accounts.
        Flora = 3 "flora",
    }
}

numbered! {
    /// Whether an agent acts by itself.
    AgentType {
        /// It answers.
        Manual = 0 "manual",
        /// It acts by itself.
        Autonomous = 1 "autonomous",
    }
}

numbered! {
    /// What an agent can do.
    Capability {
        /// Writes text.
        TextGeneration = 0 "text_generation",
        /// Makes images.
        ImageGeneration = 1 "image_generation",
        /// Makes sound.
        AudioGeneration = 2 "audio_generation",
        /// Makes video.
        VideoGeneration = 3 "video_generation",
        /// Writes code.
        CodeGeneration = 4 "code_generation",
        /// Translates.
        LanguageTranslation = 5 "language_translation",
        /// Summarises and extracts.
        Summarization = 6 "summarization",
        /// Finds knowledge and reasons.
        KnowledgeRetrieval = 7 "knowledge_retrieval",
        /// Integrates and shows data.
        DataIntegration = 8 "data_integration",
        /// Watches markets.
        MarketIntelligence = 9 "market_intelligence",
        /// Analyses transactions.
        TransactionAnalytics = 10 "transaction_analytics",
        /// Audits contracts.
        SmartContractAudit = 11 "smart_contract_audit",
        /// Helps to govern.
        Governance = 12 "governance",
        /// Watches security.
        SecurityMonitoring = 13 "security_monitoring",
        /// Checks compliance.
        Compliance = 14 "compliance",
        /// Finds fraud.
        FraudDetection = 15 "fraud_detection",
        /// Coordinates agents.
        MultiAgent = 16 "multi_agent",
        /// Calls other programs.
        ApiIntegration = 17 "api_integration",
        /// Runs workflows.
        WorkflowAutomation = 18 "workflow_automation",
    }
}

numbered! {
    /// What a server of the Model Context Protocol offers.
    McpService {
        /// Resources.
        ResourceProvider = 0 "resource_provider",
        /// Tools.
        ToolProvider = 1 "tool_provider",
        /// Prompts.
        PromptTemplates = 2 "prompt_templates",
        /// Local files.
        LocalFiles = 3 "local_files",
        /// Databases.
        Databases = 4 "databases",
        /// Other programs.
        ApiIntegration = 5 "api_integration",
        /// The web.
        WebAccess = 6 "web_access",
        /// A knowledge base.
        KnowledgeBase = 7 "knowledge_base",
        /// Memory.
        Memory = 8 "memory",
        /// Code.
        CodeAnalysis = 9 "code_analysis",
        /// Content.
        ContentGeneration = 10 "content_generation",
        /// Communication.
        Communication = 11 "communication",
        /// Documents.
        DocumentProcessing = 12 "document_processing",
        /// Calendars.
        Calendar = 13 "calendar",
        /// Search.
        Search = 14 "search",
        /// Orchestration.
        Orchestration = 15 "orchestration",
    }
}

impl ProfileType {
    /// A number; the words of an older text are forgiven.
    pub(super) fn read(value: &Value, report: &mut Report) -> Option<Self> {
        if let Some(found) = ProfileType::ALL.iter().find(|kind| value == kind.name()) {
            let expected = found.code().to_string();
            report.forgive(DeviationKind::NumberAsText, expected, shown_value(value));
            return Some(*found);
        }
        let code = whole(value, report)?;
        match ProfileType::from_code(code) {
            Some(found) => Some(found),
            None => report.refuse(format!("must be a type from 0 to 3, not {code}")),
        }
    }
}

impl AgentType {
    pub(super) fn read(value: &Value, report: &mut Report) -> Option<Self> {
        let code = whole(value, report)?;
        match AgentType::from_code(code) {
            Some(found) => Some(found),
            None => report.refuse(format!("must be 0 (manual) or 1 (autonomous), not {code}")),
        }
    }
}

/// A number that may be newer than this program, and is left out then.
#[expect(
    clippy::option_option,
    reason = "the outer one is whether it could be read"
)]
fn known<T>(
    value: &Value,
    report: &mut Report,
    from_code: impl Fn(u64) -> Option<T>,
) -> Option<Option<T>> {
    let code = whole(value, report)?;
    let found = from_code(code);
    if found.is_none() {
        let expected = "a number that the standard names";
        report.forgive(DeviationKind::UnknownNumber, expected, code.to_string());
    }
    Some(found)
}

impl Capability {
    #[expect(
        clippy::option_option,
        reason = "the outer one is whether it could be read"
    )]
    pub(super) fn read(value: &Value, report: &mut Report) -> Option<Option<Self>> {
        known(value, report, Capability::from_code)
    }
}

impl McpService {
    #[expect(
        clippy::option_option,
        reason = "the outer one is whether it could be read"
    )]
    pub(super) fn read(value: &Value, report: &mut Report) -> Option<Option<Self>> {
        known(value, report, McpService::from_code)
    }
}

macro_rules! worded {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$variant_doc])* $variant,)* }

        impl $name {
            /// Every one.
            pub const ALL: &'static [$name] = &[$($name::$variant,)*];

            /// Its word.
            pub const fn name(self) -> &'static str { match self { $($name::$variant => $word,)* } }

            pub(super) fn read(value: &Value, report: &mut Report) -> Option<Self> {
                match $name::ALL.iter().find(|word| value == word.name()) {
                    Some(found) => Some(*found),
                    None => report.refuse(format!(
                        "must be one of {}, not {}",
                        [$($word,)*].join(", "),
                        shown_value(value)
                    )),
                }
            }
        }
    };
}

worded! {
    /// How a server of the Model Context Protocol is reached.
    Transport {
        /// Over a process's own input and output.
        Stdio "stdio",
        /// Over a stream of events.
        Sse "sse",
    }
}

worded! {
    /// How a server shows that it is the account's.
    VerificationType {
        /// By a record of its domain that names the account.
        Dns "dns",
        /// By a signature of the account's key over its address.
        Signature "signature",
        /// By an answer that the account's key signed.
        Challenge "challenge",
    }
}
