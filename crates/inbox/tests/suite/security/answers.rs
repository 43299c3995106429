//! A PostgreSQL server that answers with anything: the program says that the store cannot be used, or goes on, and neither panics
//! nor waits for what never comes.
//!
//! What the real server said in one session is recorded, and said again to each new session with damage in it.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use inbox_ops::{Caller, Inbox, List, Operation};
use inbox_store::{Location, Store};
use inbox_testkit::cluster::shared;
use inbox_torture::Dice;

/// How many sessions with damaged answers there are.
const ANSWERS: usize = 500;

/// When a session counts as one that hangs; no test passes or fails by how long it took.
const HANGS: Duration = Duration::from_secs(100);

/// What a program does with a store: it opens it, and asks for something.
fn used(url: &str) -> Result<usize, String> {
    let store =
        Store::open(&Location::Postgres(url.to_owned())).map_err(|error| error.to_string())?;
    let listed = List::default().run(&Inbox::new(store), &Caller::local(None));
    listed
        .map(|listed| listed.threads.len())
        .map_err(|refusal| format!("{refusal:?}"))
}

/// The URL with another port.
fn at(url: &str, port: u16) -> String {
    url.replace(&format!(":{}/", shared().port()), &format!(":{port}/")) + "&sslmode=disable"
}

/// What the server says while a program uses the store.
fn recorded(url: &str) -> Vec<u8> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = std::thread::spawn(move || {
        let (client, _) = listener.accept().unwrap();
        let server = TcpStream::connect(("127.0.0.1", shared().port())).unwrap();
        let (mut from_client, mut to_server) =
            (client.try_clone().unwrap(), server.try_clone().unwrap());
        let up = std::thread::spawn(move || {
            let _ = std::io::copy(&mut from_client, &mut to_server);
            let _ = to_server.shutdown(Shutdown::Write);
        });
        let (mut said, mut piece) = (Vec::new(), [0; 4096]);
        let (mut server, mut client) = (server, client);
        while let Ok(count @ 1..) = server.read(&mut piece) {
            said.extend_from_slice(&piece[..count]);
            let _ = client.write_all(&piece[..count]);
        }
        let _ = client.shutdown(Shutdown::Both);
        up.join().unwrap();
        said
    });
    used(&at(url, port)).unwrap();
    heard.join().unwrap()
}

/// Says the same to whoever comes, and hears nothing.
fn repeater(words: Arc<Mutex<Vec<u8>>>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let words = words.lock().unwrap().clone();
            std::thread::spawn(move || {
                let mut stream = stream;
                let _ = stream.write_all(&words);
                let _ = stream.shutdown(Shutdown::Write);
                // Until the other side is done, so that nothing of it is lost on the way.
                let _ = std::io::copy(&mut stream, &mut std::io::sink());
            });
        }
    });
    port
}

/// One damage at a place of its own: a bit, a length, a cut, a doubled piece, noise.
fn damaged(said: &[u8], number: usize, dice: &mut Dice) -> Vec<u8> {
    let mut bytes = said.to_vec();
    let at = dice.place(bytes.len());
    match number % 5 {
        0 => bytes[at] ^= 1 << dice.place(8),
        1 => {
            let end = (at + 4).min(bytes.len());
            bytes[at..end].fill([0x00, 0x7f, 0x80, 0xff][dice.place(4)]);
        }
        2 => bytes.truncate(at),
        3 => {
            let end = (at + 1 + dice.place(64)).min(bytes.len());
            let copy = bytes[at..end].to_vec();
            drop(bytes.splice(at..at, copy));
        }
        _ => {
            let end = (at + 1 + dice.place(32)).min(bytes.len());
            for byte in &mut bytes[at..end] {
                *byte = u8::try_from(dice.place(256)).expect("a byte");
            }
        }
    }
    bytes
}

#[test]
fn a_server_that_answers_with_anything_is_refused_or_understood() {
    let url = shared().fresh_url();
    Store::init(&Location::Postgres(url.clone())).unwrap();
    let said = recorded(&url);
    assert!(said.len() > 500, "{}", said.len());
    let words = Arc::new(Mutex::new(said.clone()));
    let url = at(&url, repeater(Arc::clone(&words)));
    used(&url).expect("what was recorded is understood");
    let (say, told) = channel();
    std::thread::spawn(move || {
        let mut dice = Dice::new(0x5eed_0031);
        for number in 0..ANSWERS {
            *words.lock().unwrap() = damaged(&said, number, &mut dice);
            let outcome = catch_unwind(AssertUnwindSafe(|| used(&url)));
            let _ = say.send((number, outcome.map_err(|_| "it panicked")));
        }
    });
    let (mut seen, mut refused, mut last) = (0, 0, 0);
    loop {
        match told.recv_timeout(HANGS) {
            Ok((number, outcome)) => {
                let outcome =
                    outcome.unwrap_or_else(|problem| panic!("number {number}: {problem}"));
                refused += usize::from(outcome.is_err());
                seen += 1;
                last = number;
            }
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => panic!("it hangs after number {last}"),
        }
    }
    assert_eq!(seen, ANSWERS);
    assert!(refused > ANSWERS / 2, "{refused} were refused");
}
