//! Flow: what happens, drawn, with the numbers beside it.

use std::collections::BTreeSet;
use std::fmt::Write;

use askama::Template;
use inbox_core::record::Millis;
use inbox_core::{Refusal, Status};
use inbox_ops::{Bar, BarStep, Flow, Flowed, Operation, Part, Spread, Talk};

use super::html::{Html, escape, line, short, span};
use super::{Visit, written};

/// The drawings' width and height in their own units; a page scales them.
const WIDE: f64 = 960.0;
const HIGH: f64 = 180.0;

/// The height of a thread's bar, with its gap, and the room for its name.
const ROW: f64 = 18.0;
const NAMES: f64 = 240.0;

/// How many of those who talk are drawn.
const NODES: usize = 24;

/// How many of a thread's steps are drawn: the last.
const STEPS: usize = 12;

struct Row {
    by: String,
    name: String,
    threads: i64,
    to_claim: String,
    blocked: String,
    to_done: String,
}

#[derive(Template)]
#[template(path = "flow.html")]
struct Page<'a> {
    since: &'a str,
    choices: Vec<(&'static str, &'static str, bool)>,
    /// Whether it looks back otherwise than is offered.
    other: bool,
    run: &'a str,
    totals: Vec<(&'static str, i64)>,
    queued: i64,
    chart: Html,
    parts: Vec<(String, i64, i64, i64, i64)>,
    rows: Vec<Row>,
    timeline: Html,
    bars: Vec<(String, String, String)>,
    graph: Html,
    talk: Vec<(String, String, i64)>,
    is_cut: bool,
    is_empty: bool,
}

pub(super) fn page(visit: &Visit<'_>) -> Result<(String, Html), Refusal> {
    let since = visit.fields.get("since").unwrap_or("1h");
    let request = Flow {
        since: Some(since.parse()?),
        run: visit.fields.parsed("run")?,
    };
    let found = request.run(visit.inbox, visit.caller)?;
    let choices = [
        ("15m", "15 minutes"),
        ("1h", "an hour"),
        ("6h", "6 hours"),
        ("1d", "a day"),
        ("7d", "a week"),
    ];
    let totals = found.totals;
    let shown = |spread: Option<Spread>| {
        let text = spread.map(|it| format!("{} / {}", exact(it.p50), exact(it.p90)));
        text.unwrap_or_default()
    };
    let main = written(&Page {
        since,
        choices: choices.map(|(it, name)| (it, name, it == since)).to_vec(),
        other: choices.iter().all(|(it, _)| *it != since),
        run: visit.fields.get("run").unwrap_or_default(),
        totals: vec![
            ("opened", totals.opened),
            ("claimed", totals.claimed),
            ("done", totals.done),
            ("failed", totals.failed),
            ("called off", totals.cancelled),
        ],
        queued: found.parts.last().map_or(0, |part| part.queued),
        chart: chart(&found),
        parts: found
            .parts
            .iter()
            .map(|it| {
                (
                    it.from.to_string(),
                    it.opened,
                    it.done,
                    it.failed,
                    it.queued,
                )
            })
            .collect(),
        rows: found
            .groups
            .iter()
            .take(50)
            .map(|group| Row {
                by: group.by.clone(),
                name: short(&group.name),
                threads: group.threads,
                to_claim: shown(group.to_claim),
                blocked: shown(group.blocked),
                to_done: shown(group.to_done),
            })
            .collect(),
        timeline: timeline(&found),
        bars: found
            .bars
            .iter()
            .map(|bar| (bar.thread_id.to_string(), short(&bar.subject), told(bar)))
            .collect(),
        graph: graph(&found.talk),
        talk: found
            .talk
            .iter()
            .map(|it| (short(&it.from), short(&it.to), it.messages))
            .collect(),
        is_cut: found.truncated,
        is_empty: found.bars.is_empty() && found.talk.is_empty(),
    })?;
    Ok(("Flow".to_owned(), main))
}

fn exact(millis: i64) -> String {
    if millis < 10_000 {
        format!("{}.{}s", millis / 1000, millis % 1000 / 100)
    } else {
        span(millis)
    }
}

/// A whole number as a coordinate.
fn number(value: i64) -> f64 {
    f64::from(i32::try_from(value).unwrap_or(i32::MAX))
}

fn count(value: usize) -> f64 {
    f64::from(u32::try_from(value).unwrap_or(u32::MAX))
}

/// Where a drawing's own area begins, above which row of times it ends, and how much air is over its highest column.
const LEFT: f64 = 28.0;
const FOOT: f64 = 22.0;
const AIR: f64 = 12.0;

/// The times under a drawing: its beginning, its middle, now.
fn times(svg: &mut String, found: &Flowed, left: f64, y: f64) {
    let whole = found.until.0 - found.from.0;
    let ticks = [
        (left, "start", format!("{} ago", span(whole))),
        (
            left.midpoint(WIDE),
            "middle",
            format!("{} ago", span(whole / 2)),
        ),
        (WIDE - 6.0, "end", "now".to_owned()),
    ];
    for (x, anchor, text) in ticks {
        let _ = write!(
            svg,
            "<text class=\"tick\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>"
        );
    }
}

/// What was opened and finished as columns, what waits as a line, on one scale.
fn chart(found: &Flowed) -> Html {
    let of = |part: &Part| part.opened.max(part.done + part.failed).max(part.queued);
    let most = found.parts.iter().map(of).max().unwrap_or(0).max(1);
    let wide = (WIDE - LEFT) / count(found.parts.len().max(1));
    let floor = HIGH - FOOT;
    let tall = |value: i64| number(value) / number(most) * (floor - AIR);
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDE} {HIGH}\" role=\"img\" aria-label=\"Work opened, finished and waiting over time\" class=\"chart\">"
    );
    for value in [0, most / 2, most] {
        let y = floor - tall(value);
        let _ = write!(
            svg,
            "<line x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{WIDE}\" y2=\"{y:.1}\"/><text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{value}</text>",
            LEFT - 6.0,
            y + 4.0
        );
    }
    let mut depth = String::new();
    for (index, part) in found.parts.iter().enumerate() {
        let x = LEFT + count(index) * wide;
        let mut column = |class: &str, offset: f64, base: i64, value: i64| {
            let high = tall(value);
            let top = floor - high - tall(base);
            if value > 0 {
                let _ = write!(
                    svg,
                    "<rect class=\"{class}\" x=\"{:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{high:.1}\"><title>{value} {class}</title></rect>",
                    x + offset * wide,
                    wide * 0.4
                );
            }
        };
        column("opened", 0.05, 0, part.opened);
        column("done", 0.5, 0, part.done);
        column("failed", 0.5, part.done, part.failed);
        let y = floor - tall(part.queued);
        let _ = write!(depth, "{:.1},{y:.1} ", x + wide / 2.0);
    }
    let _ = write!(svg, "<polyline class=\"queued\" points=\"{depth}\"/>");
    times(&mut svg, found, LEFT, HIGH - 4.0);
    svg.push_str("</svg>");
    Html::new(svg)
}

/// Each thread as a bar, by its status.
fn timeline(found: &Flowed) -> Html {
    if found.bars.is_empty() {
        return Html::default();
    }
    // In tenths of a second, of which a drawing has room for years.
    let whole = number((found.until.0 - found.from.0) / 100).max(1.0);
    let at = |time: Millis| {
        let part = number((time.0 - found.from.0) / 100) / whole;
        NAMES + part.clamp(0.0, 1.0) * (WIDE - NAMES)
    };
    let high = count(found.bars.len()) * ROW;
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDE} {:.1}\" role=\"group\" aria-label=\"Threads over time, by status\" class=\"timeline\">",
        high + FOOT
    );
    for (index, bar) in found.bars.iter().enumerate() {
        let y = count(index) * ROW;
        let name: String = line(&bar.subject).chars().take(34).collect();
        let _ = write!(
            svg,
            "<a href=\"/threads/{}\"><text x=\"0\" y=\"{:.1}\">{}</text></a>",
            bar.thread_id,
            y + 12.5,
            escape(&name)
        );
        let steps = last(bar);
        for (step, next) in steps.iter().zip(
            steps
                .iter()
                .skip(1)
                .map(|step| step.from)
                .chain([found.until]),
        ) {
            let (left, right) = (at(step.from), at(next));
            // What is over has an end, and nothing after it.
            let wide = if step.status.is_final() {
                3.0
            } else {
                (right - left).max(1.0)
            };
            let _ = write!(
                svg,
                "<rect class=\"{}\" x=\"{left:.1}\" y=\"{:.1}\" width=\"{wide:.1}\" height=\"{:.1}\"><title>{}</title></rect>",
                step.status,
                y + 3.0,
                ROW - 6.0,
                step.status
            );
        }
    }
    times(&mut svg, found, NAMES, high + FOOT - 6.0);
    svg.push_str("</svg>");
    Html::new(svg)
}

fn last(bar: &Bar) -> &[BarStep] {
    &bar.steps[bar.steps.len().saturating_sub(STEPS)..]
}

/// The same in words: each status with how long it lasted.
fn told(bar: &Bar) -> String {
    let mut words = Vec::new();
    let steps = last(bar);
    for (step, next) in steps.iter().zip(steps.iter().skip(1)) {
        let lasted = exact(next.from.0 - step.from.0);
        words.push(format!("{} {lasted}", word(step.status)));
    }
    if let Some(last) = steps.last() {
        words.push(word(last.status));
    }
    words.join(", ")
}

fn word(status: Status) -> String {
    status.to_string().replace('_', " ")
}

/// Who talks to whom, in a circle.
fn graph(talk: &[Talk]) -> Html {
    let mut names: Vec<&str> = Vec::new();
    let mut known = BTreeSet::new();
    for name in talk
        .iter()
        .flat_map(|it| [it.from.as_str(), it.to.as_str()])
    {
        if names.len() < NODES && known.insert(name) {
            names.push(name);
        }
    }
    if names.is_empty() {
        return Html::default();
    }
    let (middle, radius) = (240.0, 180.0);
    let place = |name: &str| {
        let index = names.iter().position(|other| *other == name)?;
        let angle = count(index) / count(names.len()) * std::f64::consts::TAU - 1.57;
        Some((
            WIDE / 2.0 + angle.cos() * radius * 1.6,
            middle + angle.sin() * radius,
        ))
    };
    let most = number(talk.iter().map(|it| it.messages).max().unwrap_or(1).max(1));
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDE} {}\" role=\"img\" aria-label=\"Who writes to whom\" class=\"graph\">",
        middle * 2.0
    );
    for it in talk {
        let (Some((x1, y1)), Some((x2, y2))) = (place(&it.from), place(&it.to)) else {
            continue;
        };
        let wide = 1.0 + number(it.messages) / most * 5.0;
        // Bent towards the middle, so that both directions are seen.
        let (cx, cy) = (
            (WIDE / 2.0).midpoint(x1.midpoint(x2)) - (y2 - y1) * 0.12,
            middle.midpoint(y1.midpoint(y2)) + (x2 - x1) * 0.12,
        );
        let _ = write!(
            svg,
            "<path d=\"M{x1:.1} {y1:.1} Q{cx:.1} {cy:.1} {x2:.1} {y2:.1}\" stroke-width=\"{wide:.1}\"><title>{} to {}: {}</title></path>",
            escape(&short(&it.from)),
            escape(&short(&it.to)),
            it.messages
        );
    }
    for name in &names {
        if let Some((x, y)) = place(name) {
            let shown: String = line(name).chars().take(24).collect();
            let _ = write!(
                svg,
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"6\"/><text x=\"{x:.1}\" y=\"{:.1}\">{}</text>",
                y - 10.0,
                escape(&shown)
            );
        }
    }
    svg.push_str("</svg>");
    Html::new(svg)
}
