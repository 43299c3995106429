//! A receiver of webhooks on this machine.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// How long something that must come may take: not a measure of anything.
const PATIENCE: Duration = Duration::from_mins(1);

/// What was posted.
pub(super) struct Posted {
    pub(super) head: String,
    pub(super) body: String,
}

impl Posted {
    pub(super) fn header(&self, name: &str) -> &str {
        let found = self.head.lines().find_map(|line| {
            let (other, value) = line.split_once(':')?;
            other.eq_ignore_ascii_case(name).then(|| value.trim())
        });
        found.unwrap_or_else(|| panic!("no {name} in {}", self.head))
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// Checks the signature as a receiver does, by another implementation than ours.
    pub(super) fn must_be_signed(&self, secret: &str) {
        let (id, time) = (self.header("webhook-id"), self.header("webhook-timestamp"));
        let content = format!("{id}.{time}.{}", self.body);
        let wanted = hmac(&STANDARD.decode(secret).unwrap(), content.as_bytes());
        let wanted = format!("v1,{}", STANDARD.encode(wanted));
        assert_eq!(self.header("webhook-signature"), wanted);
    }
}

/// HMAC-SHA256 as RFC 2104 writes it.
fn hmac(key: &[u8], text: &[u8]) -> Vec<u8> {
    use sha2::{Digest, Sha256};
    let mut block = [0_u8; 64];
    block[..key.len()].copy_from_slice(key);
    let pad = |with: u8| block.map(|byte| byte ^ with);
    let inner = Sha256::new()
        .chain_update(pad(0x36))
        .chain_update(text)
        .finalize();
    let outer = Sha256::new()
        .chain_update(pad(0x5c))
        .chain_update(inner)
        .finalize();
    outer.to_vec()
}

/// Takes what is posted to it.
pub(super) struct Receiver {
    url: String,
    posts: mpsc::Receiver<Posted>,
}

impl Receiver {
    /// Answers each post with a status, by the number of those before it.
    pub(super) fn start(answer: impl Fn(usize) -> u16 + Send + 'static) -> Self {
        Receiver::answering(move |count| {
            format!(
                "HTTP/1.1 {} said\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
                answer(count)
            )
        })
    }

    /// Sends everybody elsewhere.
    pub(super) fn redirecting(to: &str) -> Self {
        let answer = format!(
            "HTTP/1.1 307 there\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        );
        Receiver::answering(move |_| answer.clone())
    }

    fn answering(answer: impl Fn(usize) -> String + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (send, posts) = mpsc::channel();
        std::thread::spawn(move || {
            for (count, stream) in listener.incoming().enumerate() {
                let mut stream = stream.unwrap();
                let Some(posted) = read(&mut stream) else {
                    continue;
                };
                let answer = answer(count);
                if send.send(posted).is_err() {
                    return;
                }
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        Receiver { url, posts }
    }

    pub(super) fn url(&self) -> String {
        self.url.clone()
    }

    #[track_caller]
    pub(super) fn next(&self) -> Posted {
        self.posts
            .recv_timeout(PATIENCE)
            .expect("something is posted")
    }

    /// Nothing more was posted by those that have ended.
    #[track_caller]
    pub(super) fn must_be_silent(&self) {
        match self.posts.recv_timeout(Duration::ZERO) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(posted) => panic!("posted once more: {}", posted.body),
            Err(error) => panic!("{error}"),
        }
    }
}

fn read(stream: &mut TcpStream) -> Option<Posted> {
    let mut bytes = Vec::new();
    let mut part = [0; 4096];
    loop {
        let count = stream.read(&mut part).ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&part[..count]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            let is_length = name.eq_ignore_ascii_case("content-length");
            is_length
                .then(|| value.trim().parse::<usize>().ok())
                .flatten()
        });
        if body.len() >= length.unwrap_or(0) {
            return Some(Posted {
                head: head.to_owned(),
                body: body.to_owned(),
            });
        }
    }
}
