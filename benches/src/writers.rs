//! Many processes that write into one file at once.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::Outcome;
use crate::lab::{Lab, caller, open, send_task};
use crate::report::{Report, say};
use crate::stats::time;

const PROCESSES: usize = 64;
const LONG: Duration = Duration::from_secs(5);

/// What one writer did.
struct Done {
    sends: u64,
    worst: Duration,
    errors: u64,
}

/// Sixty-four writers for a few seconds: the worst wait, and whether each gets its turn.
pub(crate) fn measure(lab: &Lab, report: &mut Report) -> Outcome<()> {
    let db = lab.store("writers")?;
    let mut writers = Vec::with_capacity(PROCESSES);
    for number in 0..PROCESSES {
        let mut child = Command::new(std::env::current_exe()?)
            .arg("writer")
            .arg(&db)
            .arg(format!("writer-{number}"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().ok_or("no pipe")?);
        out.read_line(&mut line)?;
        writers.push((child, out));
    }
    // Their inputs say when to begin and, by ending, when to stop.
    for (child, _) in &mut writers {
        let input = child.stdin.as_mut().ok_or("no pipe")?;
        input.write_all(b"go\n")?;
        input.flush()?;
    }
    std::thread::sleep(LONG);
    for (child, _) in &mut writers {
        drop(child.stdin.take());
    }
    let mut done = Vec::with_capacity(PROCESSES);
    for (mut child, mut out) in writers {
        done.push(result(&mut child, &mut out)?);
    }
    tell(&done, report);
    Ok(())
}

fn result(child: &mut Child, out: &mut impl Read) -> Outcome<Done> {
    let mut text = String::new();
    out.read_to_string(&mut text)?;
    child.wait()?;
    let numbers: Vec<u64> = text
        .split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect();
    let [sends, worst, errors] = numbers[..] else {
        return Err(format!("a writer said {text:?}").into());
    };
    Ok(Done {
        sends,
        worst: Duration::from_micros(worst),
        errors,
    })
}

fn tell(done: &[Done], report: &mut Report) {
    let worst = done.iter().map(|one| one.worst).max().unwrap_or_default();
    let least = done.iter().map(|one| one.sends).min().unwrap_or(0);
    let most = done.iter().map(|one| one.sends).max().unwrap_or(0);
    let errors: u64 = done.iter().map(|one| one.errors).sum();
    let sends: u64 = done.iter().map(|one| one.sends).sum();
    let per_second = sends / LONG.as_secs();
    let measured = format!(
        "worst wait {}, {least} to {most} sends each, {errors} errors, {per_second} sends/s",
        time(worst)
    );
    // Who has a tenth of the average is starving, if not starved.
    let starves = least * 10 < sends / PROCESSES as u64;
    let is_met = worst < Duration::from_millis(300) && !starves && errors == 0;
    let goal = "worst wait under 0.3 s, none starves, no error";
    let what = format!("{PROCESSES} writer processes, one file");
    report.goal(&what, measured, String::new(), goal, is_met);
}

/// One of the writers: sends until its input ends.
pub(crate) fn write_until_told(db: &str, name: &str) -> Outcome<()> {
    let inbox = open(Path::new(db))?;
    let caller = caller(name)?;
    say("ready");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line)?;
    let over = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let told = over.clone();
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_line(&mut String::new());
        told.store(true, std::sync::atomic::Ordering::SeqCst);
    });
    let mut done = Done {
        sends: 0,
        worst: Duration::ZERO,
        errors: 0,
    };
    while !over.load(std::sync::atomic::Ordering::SeqCst) {
        let start = Instant::now();
        match send_task(&inbox, &caller, "bob") {
            Ok(_) => done.sends += 1,
            Err(_) => done.errors += 1,
        }
        done.worst = done.worst.max(start.elapsed());
    }
    say(&format!(
        "{} {} {}",
        done.sends,
        done.worst.as_micros(),
        done.errors
    ));
    Ok(())
}
