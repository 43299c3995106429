//! A JSON Schema validator for output contracts: a subset of draft 2020-12 that is small enough to be read.
//!
//! A schema with a keyword that is not in [`ContractSchema::KEYWORDS`] is refused when it is read, so that a
//! rule is never ignored. What is not here: references but to `#` and `#/$defs/NAME`, `multipleOf`,
//! `dependentSchemas`, `unevaluated…`, dynamic references, other dialects. `format` says nothing, as the
//! draft has it. Patterns are those of the `regex-lite` crate: linear time, no look-around, and `\s` is ASCII. Whole
//! numbers are compared exactly, others as 64-bit floats.

mod number;
mod read;

use std::cell::Cell;
use std::cmp::Ordering;
use std::collections::BTreeMap;

use number::{compare, is_whole, numeric};
use regex_lite::Regex;
use serde_json::{Map, Value};

use crate::problem::{Problem, Report, quoted, sort};

/// How deep schemas and values may be followed. References that never end are met here.
const MAX_DEPTH: usize = 200;
/// How many comparisons one check may take, so that a hostile contract or output cannot hold a runner.
const MAX_STEPS: u32 = 2_000_000;

/// A JSON Schema that has been read and can be applied.
#[derive(Debug, Clone)]
pub struct ContractSchema {
    root: Value,
    patterns: BTreeMap<String, Regex>,
}

impl ContractSchema {
    /// Every keyword that is understood; those from `$schema` on only describe.
    #[rustfmt::skip]
    pub const KEYWORDS: &'static [&'static str] = &[
        "$ref", "$defs", "definitions", "type", "enum", "const", "properties", "required",
        "additionalProperties", "patternProperties", "propertyNames", "minProperties",
        "maxProperties", "dependentRequired", "items", "prefixItems", "contains", "minItems",
        "maxItems", "uniqueItems", "minLength", "maxLength", "pattern", "minimum", "maximum",
        "exclusiveMinimum", "exclusiveMaximum", "allOf", "anyOf", "oneOf", "not", "if", "then",
        "else",
        "$schema", "$id", "$comment", "title", "description", "default", "examples", "deprecated",
        "readOnly", "writeOnly", "format",
    ];

    /// Reads a schema, or names every reason why it cannot be applied, by pointers into the schema.
    pub fn new(schema: &Value) -> Result<Self, Vec<Problem>> {
        read::read(schema).map(|patterns| ContractSchema {
            root: schema.clone(),
            patterns,
        })
    }

    /// Every problem of a value, by pointers into the value.
    pub fn check(&self, value: &Value) -> Vec<Problem> {
        self.check_below("", value)
    }

    /// The same, with pointers that begin with `path`.
    pub(crate) fn check_below(&self, path: &str, value: &Value) -> Vec<Problem> {
        let mut report = Report::below(path);
        let run = Run {
            schema: self,
            steps: Cell::new(MAX_STEPS),
            is_exhausted: Cell::new(false),
        };
        run.apply(&self.root, value, &mut report, 0);
        if run.is_exhausted.get() {
            let message = "the contract is too deep or too costly to be checked";
            return vec![Problem::new(path, message)];
        }
        report.finish()
    }
}

/// One check.
struct Run<'s> {
    schema: &'s ContractSchema,
    steps: Cell<u32>,
    is_exhausted: Cell<bool>,
}

impl Run<'_> {
    /// Counts a step; false when there were too many.
    fn step(&self, depth: usize) -> bool {
        let left = self.steps.get();
        if left == 0 || depth > MAX_DEPTH {
            self.is_exhausted.set(true);
            return false;
        }
        self.steps.set(left - 1);
        !self.is_exhausted.get()
    }

    /// Whether a value keeps a schema, without saying why not.
    fn fits(&self, schema: &Value, value: &Value, depth: usize) -> bool {
        let mut report = Report::default();
        self.apply(schema, value, &mut report, depth + 1);
        report.count() == 0
    }

    fn apply(&self, schema: &Value, value: &Value, report: &mut Report, depth: usize) {
        if !self.step(depth) {
            return;
        }
        let keywords = match schema {
            Value::Object(keywords) => keywords,
            Value::Bool(true) => return,
            _ => {
                report.say::<()>("is not allowed");
                return;
            }
        };
        if let Some(target) = keywords.get("$ref").and_then(Value::as_str) {
            let target = target.trim_start_matches('#');
            if let Some(target) = self.schema.root.pointer(target) {
                self.apply(target, value, report, depth + 1);
            }
        }
        self.general(keywords, value, report);
        self.combined(keywords, value, report, depth);
        match value {
            Value::String(text) => self.text(keywords, text, report),
            Value::Number(number) => numeric(keywords, number, report),
            Value::Array(items) => self.list(keywords, items, report, depth),
            Value::Object(map) => self.object(keywords, map, report, depth),
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn general(&self, keywords: &Map<String, Value>, value: &Value, report: &mut Report) {
        if let Some(types) = keywords.get("type") {
            let names: Vec<&str> = match types {
                Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
                one => one.as_str().into_iter().collect(),
            };
            if !names.iter().any(|name| is_type(name, value)) {
                let wanted = names.join(" or ");
                report.say::<()>(format!("must be of type {wanted}, not {}", sort(value)));
            }
        }
        if let Some(constant) = keywords.get("const")
            && !self.same(constant, value)
        {
            report.say::<()>(format!("must be {}", short(constant)));
        }
        if let Some(Value::Array(allowed)) = keywords.get("enum")
            && !allowed.iter().any(|one| self.same(one, value))
        {
            let allowed: Vec<_> = allowed.iter().map(short).collect();
            report.say::<()>(format!("must be one of {}", allowed.join(", ")));
        }
    }

    fn combined(
        &self,
        keywords: &Map<String, Value>,
        value: &Value,
        report: &mut Report,
        depth: usize,
    ) {
        let each = |keyword: &str| list_of(keywords.get(keyword));
        for schema in each("allOf") {
            self.apply(schema, value, report, depth + 1);
        }
        let count = |keyword: &str| {
            each(keyword)
                .iter()
                .filter(|schema| self.fits(schema, value, depth))
                .count()
        };
        if keywords.contains_key("anyOf") && count("anyOf") == 0 {
            report.say::<()>("fits none of the alternatives (anyOf)");
        }
        if keywords.contains_key("oneOf") {
            let found = count("oneOf");
            if found != 1 {
                report.say::<()>(format!("fits {found} of the alternatives, not one (oneOf)"));
            }
        }
        if let Some(schema) = keywords.get("not")
            && self.fits(schema, value, depth)
        {
            report.say::<()>("is what the contract excludes (not)");
        }
        if let Some(condition) = keywords.get("if") {
            let branch = if self.fits(condition, value, depth) {
                "then"
            } else {
                "else"
            };
            if let Some(schema) = keywords.get(branch) {
                self.apply(schema, value, report, depth + 1);
            }
        }
    }

    fn matches(&self, pattern: &str, text: &str) -> bool {
        self.schema
            .patterns
            .get(pattern)
            .is_some_and(|pattern| pattern.is_match(text))
    }

    fn text(&self, keywords: &Map<String, Value>, text: &str, report: &mut Report) {
        size(
            keywords,
            "minLength",
            "maxLength",
            "characters",
            text.chars().count(),
            report,
        );
        if let Some(pattern) = keywords.get("pattern").and_then(Value::as_str)
            && !self.matches(pattern, text)
        {
            report.say::<()>(format!("does not match the pattern {}", quoted(pattern)));
        }
    }

    fn list(
        &self,
        keywords: &Map<String, Value>,
        items: &[Value],
        report: &mut Report,
        depth: usize,
    ) {
        size(
            keywords,
            "minItems",
            "maxItems",
            "items",
            items.len(),
            report,
        );
        let first = list_of(keywords.get("prefixItems"));
        for (index, item) in items.iter().enumerate() {
            let schema = first.get(index).or_else(|| keywords.get("items"));
            if let Some(schema) = schema {
                report.at(&index.to_string(), |report| {
                    self.apply(schema, item, report, depth + 1);
                });
            }
        }
        if let Some(schema) = keywords.get("contains")
            && !items.iter().any(|item| self.fits(schema, item, depth))
        {
            report.say::<()>("has no item of the kind that it must contain");
        }
        if keywords.get("uniqueItems") == Some(&Value::Bool(true)) {
            for (index, item) in items.iter().enumerate() {
                if items[..index].iter().any(|before| self.same(before, item)) {
                    report.at(&index.to_string(), |report| {
                        report.say::<()>("is there twice");
                    });
                }
                if self.is_exhausted.get() {
                    return;
                }
            }
        }
    }

    fn object(
        &self,
        keywords: &Map<String, Value>,
        map: &Map<String, Value>,
        report: &mut Report,
        depth: usize,
    ) {
        size(
            keywords,
            "minProperties",
            "maxProperties",
            "fields",
            map.len(),
            report,
        );
        let properties = keywords.get("properties").and_then(Value::as_object);
        let patterns = keywords.get("patternProperties").and_then(Value::as_object);
        for (key, value) in map {
            let own = properties.and_then(|properties| properties.get(key));
            let matched = patterns
                .into_iter()
                .flatten()
                .filter(|(pattern, _)| self.matches(pattern, key))
                .map(|(_, schema)| schema);
            let mut schemas: Vec<&Value> = own.into_iter().chain(matched).collect();
            if schemas.is_empty() {
                schemas.extend(keywords.get("additionalProperties"));
            }
            report.at(key, |report| {
                for schema in schemas {
                    self.apply(schema, value, report, depth + 1);
                }
                if let Some(names) = keywords.get("propertyNames")
                    && !self.fits(names, &Value::String(key.clone()), depth)
                {
                    report.say::<()>("has a name that is not allowed (propertyNames)");
                }
            });
        }
        let missing = |names: &Value, report: &mut Report| {
            for name in list_of(Some(names)).iter().filter_map(Value::as_str) {
                if !map.contains_key(name) {
                    report.at(name, |report| report.say::<()>("is required"));
                }
            }
        };
        if let Some(names) = keywords.get("required") {
            missing(names, report);
        }
        let dependent = keywords.get("dependentRequired").and_then(Value::as_object);
        for (key, names) in dependent.into_iter().flatten() {
            if map.contains_key(key) {
                missing(names, report);
            }
        }
    }

    /// Equality as JSON Schema means it: 1 and 1.0 are the same, the order of keys does not matter.
    fn same(&self, a: &Value, b: &Value) -> bool {
        if !self.step(0) {
            return false;
        }
        match (a, b) {
            (Value::Number(a), Value::Number(b)) => compare(a, b) == Some(Ordering::Equal),
            (Value::Array(a), Value::Array(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.same(a, b))
            }
            (Value::Object(a), Value::Object(b)) => {
                a.len() == b.len()
                    && a.iter()
                        .all(|(key, a)| b.get(key).is_some_and(|b| self.same(a, b)))
            }
            (a, b) => a == b,
        }
    }
}

fn list_of(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn is_type(name: &str, value: &Value) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "number" => value.is_number(),
        "integer" => matches!(value, Value::Number(number) if is_whole(number)),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    }
}

fn size(
    keywords: &Map<String, Value>,
    least: &str,
    most: &str,
    noun: &str,
    found: usize,
    report: &mut Report,
) {
    let limit = |keyword: &str| keywords.get(keyword).and_then(Value::as_u64);
    let found = found as u64;
    if let Some(least) = limit(least)
        && found < least
    {
        report.say::<()>(format!("has {found} {noun}; the least is {least}"));
    }
    if let Some(most) = limit(most)
        && found > most
    {
        report.say::<()>(format!("has {found} {noun}; the most is {most}"));
    }
}

fn short(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        other => quoted(&other.to_string()).trim_matches('"').to_owned(),
    }
}
