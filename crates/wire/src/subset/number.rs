//! Numbers as JSON Schema compares them: whole ones exactly, others as 64-bit floats.

use std::cmp::Ordering;

use serde_json::{Map, Number, Value};

use crate::problem::Report;

fn exact(number: &Number) -> Option<i128> {
    number
        .as_i64()
        .map(i128::from)
        .or_else(|| number.as_u64().map(i128::from))
}

/// Whether a number is an integer as JSON Schema means it: 1.0 is one.
pub(super) fn is_whole(number: &Number) -> bool {
    exact(number).is_some() || number.as_f64().is_some_and(|value| value.fract() == 0.0)
}

/// The order of two numbers; `None` where one is beyond what a float can hold.
pub(super) fn compare(a: &Number, b: &Number) -> Option<Ordering> {
    match (exact(a), exact(b)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
    }
}

/// The bounds of a number.
pub(super) fn numeric(keywords: &Map<String, Value>, number: &Number, report: &mut Report) {
    for (keyword, words) in [
        ("minimum", "at least"),
        ("maximum", "at most"),
        ("exclusiveMinimum", "more than"),
        ("exclusiveMaximum", "less than"),
    ] {
        let Some(Value::Number(limit)) = keywords.get(keyword) else {
            continue;
        };
        let holds = compare(number, limit).is_some_and(|order| match keyword {
            "minimum" => order.is_ge(),
            "maximum" => order.is_le(),
            "exclusiveMinimum" => order.is_gt(),
            _ => order.is_lt(),
        });
        if !holds {
            report.say::<()>(format!("must be {words} {limit}"));
        }
    }
}
