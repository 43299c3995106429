//! `make bench`: the goals of speed, measured beside their peers in one run.

mod bridge;
mod commands;
mod console;
mod cycle;
mod depth;
mod devnet;
mod lab;
mod peers;
mod postgres;
mod report;
mod server;
mod size;
mod stats;
mod wake;
mod writers;

use std::path::PathBuf;
use std::process::ExitCode;

use lab::Lab;
use report::{Report, say};

/// What a measurement gives; the bench ends with the first that cannot be made.
pub(crate) type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().collect();
    let words: Vec<&str> = args.iter().skip(1).map(String::as_str).collect();
    let outcome = match words.as_slice() {
        // The bench runs itself for writers that live long.
        ["writer", db, name] => writers::write_until_told(db, name),
        _ => run(&words),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("the bench failed: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// Runs the parts whose names are given, or all of them. Only a whole run writes the page. With
/// `quick`, PostgreSQL is measured in less time, and no page is written.
fn run(words: &[&str]) -> Outcome<()> {
    let is_quick = words.contains(&"quick");
    let parts: Vec<&str> = words
        .iter()
        .copied()
        .filter(|&word| word != "quick")
        .collect();
    let is_wanted = |part: &str| parts.is_empty() || parts.contains(&part);
    let lab = Lab::new()?;
    let mut report = Report::default();
    let peers = if is_wanted("commands") || is_wanted("wake") {
        peers::install(&lab, &mut report)
    } else {
        peers::Peers::default()
    };
    if is_wanted("commands") {
        commands::measure(&lab, &peers, &mut report)?;
    }
    if is_wanted("wake") {
        wake::measure_processes(&lab, &peers, &mut report)?;
        wake::measure_waiters(&lab, &mut report)?;
    }
    if is_wanted("idle") {
        wake::measure_idle(&lab, &mut report)?;
    }
    if is_wanted("writers") {
        writers::measure(&lab, &mut report)?;
    }
    if is_wanted("depth") {
        depth::measure(&lab, &mut report)?;
    }
    if is_wanted("size") {
        size::measure(&lab, &mut report)?;
    }
    let extent = if is_quick {
        postgres::QUICK
    } else {
        postgres::WHOLE
    };
    if is_wanted("server") {
        server::measure(&lab, extent, &mut report)?;
    }
    if is_wanted("console") {
        console::measure(&lab, &mut report)?;
    }
    if is_wanted("devnet") {
        devnet::measure(&lab, &mut report)?;
    }
    if is_wanted("bridge") {
        bridge::measure(&lab, &mut report)?;
    }
    if is_wanted("postgres") {
        postgres::measure(&lab, extent, &mut report)?;
    }
    if is_wanted("postgres-wake") {
        postgres::measure_wakes(&lab, &mut report)?;
    }
    if words.is_empty() {
        let page = PathBuf::from("docs/reference/benchmarks.md");
        report.publish(&page, &lab.versions(&peers))?;
    }
    Ok(())
}
