//! The Agent Card: who an agent is, what it may do, what it never does, and whom it asks.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::problem::{Object, Problem, Report, quoted};
use crate::rule::{self, LABEL, PHRASE, closed, filled, line, list, phrase, prose, slug, some};
use crate::wire::{unknown_version, version};
use crate::word::Via;

/// The version of the card format that this crate speaks.
pub const CARD_VERSION: &str = "1.0";

/// The beginning of every constraint.
const NEVER: &str = "I never ";

/// An Agent Card. `card_version`, `identity`, `scope` and `capabilities` are required.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(transform = closed)]
pub struct Card {
    /// The version of the format.
    #[schemars(extend("const" = CARD_VERSION))]
    pub card_version: String,
    /// Who the agent is.
    pub identity: Identity,
    /// What the agent owns and what it does not: one sentence.
    #[schemars(schema_with = "rule::line_schema::<PHRASE>")]
    pub scope: String,
    /// What the agent can do, one phrase each; at least one.
    #[schemars(schema_with = "rule::phrases_schema", extend("minItems" = 1))]
    pub capabilities: Vec<String>,
    /// What the agent never does, each beginning with "I never ".
    #[schemars(schema_with = "constraints_schema", default)]
    pub constraints: Vec<String>,
    /// When the agent asks, whom, and how.
    #[schemars(default)]
    pub escalation_rules: Vec<EscalationRule>,
    /// The slugs of the output contracts that the agent can keep.
    #[schemars(schema_with = "rule::slugs_schema", default)]
    pub output_types: Vec<String>,
    /// How the agent approaches problems: at most three sentences.
    #[schemars(schema_with = "rule::filled_or_null_schema", default)]
    pub working_style: Option<String>,
    /// How the agent writes.
    #[schemars(default)]
    pub voice: Option<Voice>,
    /// What the agent optimises for, one phrase each.
    #[schemars(schema_with = "rule::phrases_schema", default)]
    pub values: Vec<String>,
}

/// Who an agent is. `slug`, `name` and `reports_to` are required.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(transform = closed)]
pub struct Identity {
    /// The name that programs use.
    #[schemars(schema_with = "rule::slug_schema")]
    pub slug: String,
    /// The name that people use.
    #[schemars(schema_with = "rule::line_schema::<LABEL>")]
    pub name: String,
    /// Where it works.
    #[schemars(schema_with = "rule::line_or_null_schema::<LABEL>", default)]
    pub department: Option<String>,
    /// The slug of the agent that it reports to, or `human`.
    #[schemars(schema_with = "rule::slug_schema")]
    pub reports_to: String,
    /// The model that it runs on.
    #[schemars(schema_with = "rule::line_or_null_schema::<LABEL>", default)]
    pub model: Option<String>,
}

/// When an agent asks, whom, and how. Every field is required.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(transform = closed)]
pub struct EscalationRule {
    /// The condition.
    #[schemars(schema_with = "rule::line_schema::<PHRASE>")]
    pub trigger: String,
    /// Whom it goes to: a role (`roles.ba`, or `ba` where no agent is called so), an agent, or `exec` and
    /// `human` for the human.
    #[schemars(schema_with = "rule::slug_schema")]
    pub route_to: String,
    /// How it goes there.
    pub via: Via,
}

/// How an agent writes. Both fields are required.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(transform = closed)]
pub struct Voice {
    /// The style, in at most two sentences.
    #[schemars(schema_with = "rule::filled_schema")]
    pub description: String,
    /// One example.
    #[schemars(schema_with = "rule::filled_schema")]
    pub example: String,
}

/// What there is to refer to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Known {
    /// The slugs of the agents.
    pub agents: BTreeSet<String>,
    /// The slugs of the roles.
    pub roles: BTreeSet<String>,
    /// The slugs of the output contracts.
    pub contracts: BTreeSet<String>,
}

fn constraints_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "type": "array",
        "items": { "type": "string", "pattern": "^I never \\S", "maxLength": PHRASE },
    })
}

/// Reads a card, or names every problem of its form. What it refers to is not looked at.
pub fn parse_card(json: &Value) -> Result<Card, Vec<Problem>> {
    if let Some(problem) = unknown_version(json, "card_version", CARD_VERSION) {
        return Err(vec![problem]);
    }
    let mut report = Report::default();
    let card = card(json, &mut report);
    match card {
        Some(card) if report.count() == 0 => Ok(card),
        _ => Err(report.finish()),
    }
}

/// Every problem of a would-be card: its form, and what it refers to that does not exist. An unknown version
/// is the only problem then.
pub fn validate_card(json: &Value, known: &Known) -> Vec<Problem> {
    let mut problems = parse_card(json).err().unwrap_or_default();
    if !crate::problem::is_unknown_version(&problems) {
        let mut report = Report::default();
        references(json, known, &mut report);
        problems.extend(report.finish());
    }
    problems
}

/// The address that an escalation goes to: `human`, `role:NAME`, or an agent's slug. `None` when it names
/// nothing that is known.
pub fn route_address(route_to: &str, known: &Known) -> Option<String> {
    if is_human(route_to) {
        return Some("human".to_owned());
    }
    if let Some(role) = route_to.strip_prefix("roles.") {
        return known.roles.contains(role).then(|| format!("role:{role}"));
    }
    if known.agents.contains(route_to) {
        return Some(route_to.to_owned());
    }
    known
        .roles
        .contains(route_to)
        .then(|| format!("role:{route_to}"))
}

fn is_human(slug: &str) -> bool {
    matches!(slug, "human" | "exec")
}

/// Looks up each reference that has the form of one; the form of the others is a problem already.
fn references(json: &Value, known: &Known, report: &mut Report) {
    let is_slug = |value: &&str| rule::is_slug(value);
    let reports_to = json.pointer("/identity/reports_to").and_then(Value::as_str);
    if let Some(name) = reports_to.filter(is_slug)
        && name != "human"
        && !known.agents.contains(name)
    {
        report.at("identity", |report| {
            report.at("reports_to", |report| {
                report.say::<()>(format!(
                    "there is no agent {}, and it is not human",
                    quoted(name)
                ))
            })
        });
    }
    let items = |key: &str| {
        json.get(key)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .enumerate()
    };
    for (index, rule) in items("escalation_rules") {
        let route = rule.get("route_to").and_then(Value::as_str).filter(is_slug);
        if let Some(route) = route.filter(|route| route_address(route, known).is_none()) {
            report.at("escalation_rules", |report| {
                report.at(&index.to_string(), |report| {
                    report.at("route_to", |report| {
                        report.say::<()>(format!(
                            "there is no agent and no role {}, and it is not exec or human",
                            quoted(route)
                        ))
                    })
                })
            });
        }
    }
    for (index, output) in items("output_types") {
        let slug = output.as_str().filter(is_slug);
        if let Some(slug) = slug.filter(|slug| !known.contracts.contains(*slug)) {
            report.at("output_types", |report| {
                report.at(&index.to_string(), |report| {
                    report.say::<()>(format!("there is no output contract {}", quoted(slug)))
                })
            });
        }
    }
}

fn card(json: &Value, report: &mut Report) -> Option<Card> {
    let mut object = Object::open(json, report)?;
    let version = object.required("card_version", version);
    let identity = object.required("identity", identity);
    let scope = object.required("scope", phrase);
    let capabilities = object.required("capabilities", some(phrase));
    let constraints = object.or("constraints", Vec::new(), list(constraint));
    let escalation_rules = object.or("escalation_rules", Vec::new(), list(escalation_rule));
    let output_types = object.or("output_types", Vec::new(), list(slug));
    let working_style = object.nullable("working_style", prose::<3>);
    let voice = object.nullable("voice", voice);
    let values = object.or("values", Vec::new(), list(phrase));
    object.close();
    version?;
    Some(Card {
        card_version: CARD_VERSION.to_owned(),
        identity: identity?,
        scope: scope?,
        capabilities: capabilities?,
        constraints: constraints?,
        escalation_rules: escalation_rules?,
        output_types: output_types?,
        working_style: working_style?,
        voice: voice?,
        values: values?,
    })
}

fn identity(value: &Value, report: &mut Report) -> Option<Identity> {
    let mut object = Object::open(value, report)?;
    let slug_read = object.required("slug", slug);
    let name = object.required("name", line::<LABEL>);
    let department = object.nullable("department", line::<LABEL>);
    let reports_to = object.required("reports_to", slug);
    let model = object.nullable("model", line::<LABEL>);
    object.close();
    Some(Identity {
        slug: slug_read?,
        name: name?,
        department: department?,
        reports_to: reports_to?,
        model: model?,
    })
}

fn constraint(value: &Value, report: &mut Report) -> Option<String> {
    let text = phrase(value, report)?;
    let rest = text.strip_prefix(NEVER).unwrap_or_default();
    if rest.trim_start() != rest || rest.is_empty() {
        return report.say("must begin with \"I never \" and go on: a prohibition, not advice");
    }
    Some(text)
}

fn escalation_rule(value: &Value, report: &mut Report) -> Option<EscalationRule> {
    let mut object = Object::open(value, report)?;
    let trigger = object.required("trigger", phrase);
    let route_to = object.required("route_to", slug);
    let via = object.required("via", via);
    object.close();
    Some(EscalationRule {
        trigger: trigger?,
        route_to: route_to?,
        via: via?,
    })
}

fn via(value: &Value, report: &mut Report) -> Option<Via> {
    rule::word::<Via>(value, report)
}

fn voice(value: &Value, report: &mut Report) -> Option<Voice> {
    let mut object = Object::open(value, report)?;
    let description = object.required("description", prose::<2>);
    let example = object.required("example", filled);
    object.close();
    Some(Voice {
        description: description?,
        example: example?,
    })
}
