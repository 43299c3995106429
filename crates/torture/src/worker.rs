//! The processes that are killed: this program again, called by [`WORKER`], which does what a part wants of it on a store
//! that was made for tests.

use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use inbox_core::{Code, Refusal};
use inbox_ops::Inbox;
use inbox_store::{Location, Store};

use crate::ground::inbox;
use crate::work::Work;
use crate::zombies;

/// The name by which the program is called as a worker.
pub const WORKER: &str = "__torture-worker";

/// Does what the arguments after [`WORKER`] say, and says on `out` what is done. It ends with its standard input: nobody is left who
/// wants it.
pub fn run(args: &[String], out: &mut dyn Write) -> Result<(), Refusal> {
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let number = |text: &str| {
        let read = text.parse::<u64>();
        read.map_err(|_| Refusal::input(format!("{text:?} is no number")))
    };
    match words[..] {
        ["work", prefix, shared, steps, rest] => {
            let (over, inbox) = (end_of_input(), open()?);
            let mut work = Work::new(prefix, shared.parse()?);
            let (steps, rest) = (number(steps)?, Duration::from_millis(number(rest)?));
            while !over.load(Ordering::SeqCst) && work.step < steps {
                work.go_on(&inbox)?;
                say(out, &work.say())?;
                std::thread::sleep(rest);
            }
            Ok(())
        }
        ["look"] => {
            let inbox = open()?;
            inbox.store().read(|tx| {
                tx.newest_event()?;
                say(out, "ready\n")?;
                let _ = std::io::stdin().read_to_end(&mut Vec::new());
                Ok(())
            })
        }
        ["zombie", thread, token, sort] => {
            let inbox = open()?;
            let (thread, token, sort) = (thread.parse()?, token.parse()?, number(sort)?);
            say(out, "ready\n")?;
            if std::io::stdin().read_line(&mut String::new()).is_err() {
                return Ok(());
            }
            let said = zombies::write(&inbox, &zombies::holder(token), thread, sort);
            say(
                out,
                &said.map_or_else(
                    |refusal| format!("{}\n", refusal.code),
                    |()| "taken\n".to_owned(),
                ),
            )
        }
        _ => Err(Refusal::input(format!("no worker does {words:?}"))),
    }
}

/// Becomes true when standard input ends.
fn end_of_input() -> Arc<AtomicBool> {
    let over = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&over);
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        told.store(true, Ordering::SeqCst);
    });
    over
}

/// The store that the environment names, if it was made for tests.
fn open() -> Result<Inbox, Refusal> {
    let named = std::env::var("INBOX_DB").unwrap_or_default();
    let store = Store::open(&Location::parse(&named))?;
    if !store.is_for_tests()? {
        return Err(Refusal::new(
            Code::NotAllowed,
            "a worker of the torture works on a store that was made for it alone",
        )
        .hint("inbox torture makes one, and starts its workers itself"));
    }
    Ok(inbox(store))
}

fn say(out: &mut dyn Write, line: &str) -> Result<(), Refusal> {
    let said = out.write_all(line.as_bytes()).and_then(|()| out.flush());
    said.map_err(|error| Refusal::new(Code::Storage, format!("nobody listens: {error}")))
}
