//! Reading a schema: every keyword must be known and have the right shape before one is applied.

use std::collections::BTreeMap;

use regex_lite::{Regex, RegexBuilder};
use serde_json::{Map, Value};

use super::ContractSchema;
use crate::problem::{Problem, Report, quoted, sort};

/// The only dialect.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";
const TYPES: &[&str] = &[
    "null", "boolean", "number", "integer", "string", "array", "object",
];
/// The largest compiled pattern, in bytes: the time of a match grows with it.
const MAX_PATTERN: usize = 1 << 16;
/// How deep a schema may be nested.
const MAX_DEPTH: usize = 64;

/// The compiled patterns of a schema, or every reason to refuse it.
pub(super) fn read(schema: &Value) -> Result<BTreeMap<String, Regex>, Vec<Problem>> {
    let mut reader = Reader {
        root: schema,
        patterns: BTreeMap::new(),
    };
    let mut report = Report::default();
    reader.schema(schema, &mut report, 0);
    if report.count() > 0 {
        return Err(report.finish());
    }
    Ok(reader.patterns)
}

struct Reader<'s> {
    root: &'s Value,
    patterns: BTreeMap<String, Regex>,
}

impl Reader<'_> {
    fn schema(&mut self, schema: &Value, report: &mut Report, depth: usize) {
        if depth > MAX_DEPTH {
            report.say::<()>("the schema is nested too deeply");
            return;
        }
        match schema {
            Value::Bool(_) => {}
            Value::Object(keywords) => {
                for (keyword, value) in keywords {
                    report.at(keyword, |report| {
                        self.keyword(keyword, value, report, depth);
                    });
                }
            }
            other => {
                report.say::<()>(format!(
                    "a schema is an object or a boolean, not {}",
                    sort(other)
                ));
            }
        }
    }

    fn keyword(&mut self, keyword: &str, value: &Value, report: &mut Report, depth: usize) {
        match keyword {
            "title" | "description" | "$comment" | "default" | "examples" | "deprecated"
            | "readOnly" | "writeOnly" | "format" | "const" => {}
            "$id" if depth == 0 => {}
            "$schema" if depth == 0 => {
                if value.as_str().map(|text| text.trim_end_matches('#')) != Some(DIALECT) {
                    report.say::<()>(format!("the only dialect is {DIALECT}"));
                }
            }
            "$ref" => self.reference(value, report),
            "type" => types(value, report),
            "enum" => {
                if !value.is_array() {
                    report.say::<()>("must be a list");
                }
            }
            "required" => names(value, report),
            "dependentRequired" => each(value, report, |_, value, report| names(value, report)),
            "properties" | "$defs" | "definitions" => each(value, report, |_, schema, report| {
                self.schema(schema, report, depth + 1);
            }),
            "patternProperties" => each(value, report, |pattern, schema, report| {
                self.pattern(pattern, report);
                self.schema(schema, report, depth + 1);
            }),
            "additionalProperties"
            | "propertyNames"
            | "items"
            | "contains"
            | "not"
            | "if"
            | "then"
            | "else" => self.schema(value, report, depth + 1),
            "allOf" | "anyOf" | "oneOf" | "prefixItems" => match value {
                Value::Array(schemas) if !schemas.is_empty() => {
                    for (index, schema) in schemas.iter().enumerate() {
                        report.at(&index.to_string(), |report| {
                            self.schema(schema, report, depth + 1);
                        });
                    }
                }
                _ => {
                    report.say::<()>("must be a list of at least one schema");
                }
            },
            "minProperties" | "maxProperties" | "minItems" | "maxItems" | "minLength"
            | "maxLength" => {
                if value.as_u64().is_none() {
                    report.say::<()>("must be a whole number of at least 0");
                }
            }
            "uniqueItems" => {
                if !value.is_boolean() {
                    report.say::<()>("must be true or false");
                }
            }
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => {
                if value.as_f64().is_none() {
                    report.say::<()>("must be a number");
                }
            }
            "pattern" => match value {
                Value::String(pattern) => self.pattern(pattern, report),
                _ => {
                    report.say::<()>("must be a string");
                }
            },
            "$id" | "$schema" => {
                report.say::<()>("is understood at the top of a schema only");
            }
            _ => {
                report.say::<()>(format!(
                    "the keyword is not understood; known are {}",
                    ContractSchema::KEYWORDS.join(", ")
                ));
            }
        }
    }

    fn pattern(&mut self, pattern: &str, report: &mut Report) {
        let compiled = RegexBuilder::new(pattern).size_limit(MAX_PATTERN).build();
        match compiled {
            Ok(compiled) => {
                self.patterns.insert(pattern.to_owned(), compiled);
            }
            Err(_) => {
                report.say::<()>(format!(
                    "the pattern {} cannot be used here: it is malformed, too large, or has look-around or back-references",
                    quoted(pattern)
                ));
            }
        }
    }

    fn reference(&self, value: &Value, report: &mut Report) {
        let target = value.as_str().unwrap_or_default();
        let is_named = |prefix: &str| {
            target
                .strip_prefix(prefix)
                .is_some_and(|name| !name.contains('/'))
        };
        let is_local = target == "#" || is_named("#/$defs/") || is_named("#/definitions/");
        if !is_local || self.root.pointer(target.trim_start_matches('#')).is_none() {
            report.say::<()>("must be # or #/$defs/NAME with a NAME that is there");
        }
    }
}

fn each(value: &Value, report: &mut Report, mut look: impl FnMut(&str, &Value, &mut Report)) {
    let empty = Map::new();
    let map = value.as_object().unwrap_or_else(|| {
        report.say::<()>(format!("must be an object, not {}", sort(value)));
        &empty
    });
    for (key, value) in map {
        report.at(key, |report| look(key, value, report));
    }
}

fn names(value: &Value, report: &mut Report) {
    let is_names = value
        .as_array()
        .is_some_and(|names| names.iter().all(Value::is_string));
    if !is_names {
        report.say::<()>("must be a list of strings");
    }
}

fn types(value: &Value, report: &mut Report) {
    let is_type = |value: &Value| value.as_str().is_some_and(|name| TYPES.contains(&name));
    let is_right = match value {
        Value::Array(names) => !names.is_empty() && names.iter().all(is_type),
        one => is_type(one),
    };
    if !is_right {
        report.say::<()>(format!("must be one or more of {}", TYPES.join(", ")));
    }
}
