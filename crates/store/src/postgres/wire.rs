//! One connection, spoken to without a runtime: messages are gathered, sent in one piece, and their
//! answers read in order. So a transaction of many statements is few round trips.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres_protocol::message::backend::{DataRowBody, ErrorFields, Message};
use postgres_protocol::message::frontend;
use postgres_protocol::{IsNull, Oid};

use super::failure::{Failure, ServerError};
use super::tls::Stream;
use crate::value::{Row, Value};

/// What the server is read in.
const CHUNK: usize = 16 * 1024;

/// The largest message: many times what any row has. Room for a message is made when its length is read, and anybody may say a length.
const LARGEST: u32 = 256 << 20;

/// The types of the columns that a statement gives.
pub(super) type Columns = std::sync::Arc<[Oid]>;

/// A message that came without being asked for.
#[derive(Debug)]
pub(super) struct Notice {
    pub(super) payload: String,
}

/// How a statement in a pipeline is sent.
pub(super) struct Request<'a> {
    /// Its name on the server; empty when it has none.
    pub(super) name: std::sync::Arc<str>,
    /// Its text, when the server has not parsed it yet.
    pub(super) text: Option<&'a str>,
    pub(super) params: &'a [Value],
    /// The columns, when they are known already.
    pub(super) columns: Option<Columns>,
}

/// What a statement gave.
pub(super) struct Reply {
    pub(super) rows: Vec<Row>,
    pub(super) columns: Columns,
}

/// What statements in a pipeline gave.
pub(super) struct Answered {
    /// What was answered before the failure.
    pub(super) replies: Vec<Reply>,
    /// How many texts the server has parsed.
    pub(super) parsed: usize,
    pub(super) failure: Option<Failure>,
}

/// A connection.
pub(super) struct Wire {
    pub(super) stream: Stream,
    pub(super) out: BytesMut,
    read: BytesMut,
    /// How many answers are still to come that nobody waits for.
    unheard: u32,
    /// The server process that this connection is said to have.
    pub(super) process: i32,
    pub(super) notices: Vec<Notice>,
}

impl Wire {
    /// A connection over a fresh stream, not logged in yet.
    pub(super) fn new(stream: Stream) -> Wire {
        Wire {
            stream,
            out: BytesMut::with_capacity(1024),
            read: BytesMut::with_capacity(CHUNK),
            unheard: 0,
            process: 0,
            notices: Vec::new(),
        }
    }

    pub(super) fn has_tls(&self) -> bool {
        self.stream.is_tls()
    }

    /// How long an answer may take.
    pub(super) fn set_patience(&self, limit: Option<Duration>) -> Result<(), Failure> {
        self.stream.set_write_timeout(limit)?;
        Ok(self.stream.set_read_timeout(limit)?)
    }

    /// Has the server forget a statement, with what is sent next.
    pub(super) fn forget(&mut self, name: &str) -> Result<(), Failure> {
        Ok(frontend::close(b'S', name, &mut self.out)?)
    }

    /// Runs statements in one round trip. The first that fails ends them: those behind it are not run.
    pub(super) fn pipeline(&mut self, requests: &[Request<'_>]) -> Answered {
        let mut answered = Answered {
            replies: Vec::with_capacity(requests.len()),
            parsed: 0,
            failure: None,
        };
        let done = self
            .ask(requests)
            .and_then(|()| self.answers(requests, &mut answered));
        answered.failure = done.err();
        answered
    }

    /// Sends a statement and does not wait: its answer is passed over before the next one.
    pub(super) fn send_only(&mut self, request: &Request<'_>) -> Result<(), Failure> {
        self.ask(std::slice::from_ref(request))?;
        self.unheard += 1;
        Ok(())
    }

    fn ask(&mut self, requests: &[Request<'_>]) -> Result<(), Failure> {
        for request in requests {
            self.encode(request)?;
        }
        frontend::sync(&mut self.out);
        self.send()
    }

    fn answers(
        &mut self,
        requests: &[Request<'_>],
        answered: &mut Answered,
    ) -> Result<(), Failure> {
        self.pass_over()?;
        let Answered {
            replies, parsed, ..
        } = answered;
        let mut columns: Option<Columns> = None;
        let mut rows = Vec::new();
        let mut failed = None;
        loop {
            match self.message()? {
                Message::ParseComplete => *parsed += 1,
                Message::RowDescription(body) => {
                    let types: Vec<Oid> = body.fields().map(|f| Ok(f.type_oid())).collect()?;
                    columns = Some(types.into());
                }
                Message::DataRow(body) => {
                    let known = requests.get(replies.len()).and_then(|r| r.columns.as_ref());
                    let types = columns.as_ref().or(known);
                    rows.push(row(&body, types.map_or(&[], |types| types.as_ref()))?);
                }
                Message::CommandComplete(_) | Message::EmptyQueryResponse => {
                    let known = requests.get(replies.len()).and_then(|r| r.columns.clone());
                    replies.push(Reply {
                        rows: std::mem::take(&mut rows),
                        columns: columns.take().or(known).unwrap_or_default(),
                    });
                }
                Message::ErrorResponse(body) => failed = Some(refused(body.fields())),
                Message::ReadyForQuery(_) => break,
                _ => {}
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// Reads the answers that nobody waited for.
    fn pass_over(&mut self) -> Result<(), Failure> {
        while self.unheard > 0 {
            match self.message()? {
                Message::ReadyForQuery(_) => self.unheard -= 1,
                Message::ErrorResponse(body) => {
                    let failure = refused(body.fields());
                    if failure.ends_connection() {
                        return Err(failure);
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn encode(&mut self, request: &Request<'_>) -> Result<(), Failure> {
        let out = &mut self.out;
        if let Some(text) = request.text {
            frontend::parse(&request.name, text, [], out)?;
        }
        let write = |value: &Value, out: &mut BytesMut| {
            match value {
                Value::Null => return Ok(IsNull::Yes),
                Value::Int(value) => {
                    use std::fmt::Write;
                    write!(out, "{value}")?;
                }
                Value::Text(text) => out.extend_from_slice(text.as_bytes()),
            }
            Ok(IsNull::No)
        };
        // No format codes: everything is text, whose type the server infers.
        frontend::bind("", &request.name, [], request.params, write, [], out).map_err(|error| {
            match error {
                frontend::BindError::Conversion(error) => Failure::Lost(error.to_string()),
                frontend::BindError::Serialization(error) => error.into(),
            }
        })?;
        if request.columns.is_none() {
            frontend::describe(b'P', "", out)?;
        }
        frontend::execute("", 0, out)?;
        Ok(())
    }

    /// Runs statements that have no parameters, and gives the rows of all in text.
    pub(super) fn script(&mut self, text: &str) -> Result<Vec<Vec<Option<String>>>, Failure> {
        frontend::query(text, &mut self.out)?;
        self.send()?;
        self.pass_over()?;
        let mut rows = Vec::new();
        let mut failed = None;
        loop {
            match self.message()? {
                Message::DataRow(body) => rows.push(texts(&body)?),
                Message::ErrorResponse(body) => failed = Some(refused(body.fields())),
                Message::ReadyForQuery(_) => break,
                _ => {}
            }
        }
        failed.map_or(Ok(rows), Err)
    }

    /// Asks the server for the types of a statement, which fails when the text is wrong.
    pub(super) fn parse_only(&mut self, text: &str) -> Result<(), Failure> {
        frontend::parse("", text, [], &mut self.out)?;
        frontend::describe(b'S', "", &mut self.out)?;
        frontend::sync(&mut self.out);
        self.send()?;
        self.pass_over()?;
        let mut failed = None;
        loop {
            match self.message()? {
                Message::ErrorResponse(body) => failed = Some(refused(body.fields())),
                Message::ReadyForQuery(_) => break,
                _ => {}
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// Waits for a notification; nothing when none came in time.
    pub(super) fn next_notice(&mut self, patience: Duration) -> Result<Option<Notice>, Failure> {
        if self.notices.is_empty() {
            self.set_patience(Some(patience))?;
            match self.read_more() {
                Ok(()) => self.gather_notices()?,
                Err(Failure::Late) => {}
                Err(failure) => return Err(failure),
            }
        }
        Ok((!self.notices.is_empty()).then(|| self.notices.remove(0)))
    }

    fn gather_notices(&mut self) -> Result<(), Failure> {
        while let Some(message) = parsed(&mut self.read)? {
            match message {
                Message::NotificationResponse(body) => self.note(&body)?,
                Message::ErrorResponse(body) => return Err(refused(body.fields())),
                _ => {}
            }
        }
        Ok(())
    }

    fn note(
        &mut self,
        body: &postgres_protocol::message::backend::NotificationResponseBody,
    ) -> Result<(), Failure> {
        self.notices.push(Notice {
            payload: body.message()?.to_owned(),
        });
        Ok(())
    }

    /// Takes leave of the server. It may be gone.
    pub(super) fn close(mut self) {
        frontend::terminate(&mut self.out);
        let _ = self.send();
        self.stream.shutdown();
    }

    pub(super) fn send(&mut self) -> Result<(), Failure> {
        let sent = self
            .stream
            .write_all(&self.out)
            .and_then(|()| self.stream.flush());
        self.out.clear();
        Ok(sent?)
    }

    pub(super) fn message(&mut self) -> Result<Message, Failure> {
        loop {
            match parsed(&mut self.read)? {
                Some(Message::NotificationResponse(body)) => self.note(&body)?,
                Some(message) => return Ok(message),
                None => self.read_more()?,
            }
        }
    }

    fn read_more(&mut self) -> Result<(), Failure> {
        let have = self.read.len();
        self.read.resize(have + CHUNK, 0);
        let found = loop {
            match self.stream.read(&mut self.read[have..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                found => break found,
            }
        };
        self.read
            .truncate(have + found.as_ref().copied().unwrap_or(0));
        match found {
            Ok(0) => Err(Failure::Lost("the server closed the connection".into())),
            Ok(_) => Ok(()),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
                ) =>
            {
                Err(Failure::Late)
            }
            Err(error) => Err(error.into()),
        }
    }
}

impl AsFd for Wire {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

/// The next message, once it is whole.
fn parsed(read: &mut BytesMut) -> Result<Option<Message>, Failure> {
    if let [_, a, b, c, d, ..] = read[..]
        && u32::from_be_bytes([a, b, c, d]) > LARGEST
    {
        return Err(Failure::Lost(
            "the server's answer is no message of PostgreSQL".into(),
        ));
    }
    Ok(Message::parse(read)?)
}

pub(super) fn refused(mut fields: ErrorFields<'_>) -> Failure {
    let mut error = ServerError::default();
    // A field that cannot be read ends the error that it belongs to.
    while let Ok(Some(field)) = fields.next() {
        let value = String::from_utf8_lossy(field.value_bytes()).into_owned();
        match field.type_() {
            b'V' => error.severity = value,
            b'C' => error.code = value,
            b'M' => error.message = value,
            b'D' => error.detail = Some(value),
            _ => {}
        }
    }
    Failure::Server(error)
}

fn row(body: &DataRowBody, types: &[Oid]) -> Result<Row, Failure> {
    let mut values = Vec::with_capacity(types.len());
    let mut ranges = body.ranges();
    for &ty in types {
        let Some(range) = ranges.next()? else { break };
        values.push(match range {
            None => Value::Null,
            Some(range) => value(ty, &body.buffer()[range])?,
        });
    }
    Ok(Row::new(values))
}

/// A value by the number of its type, which is fixed in every server.
fn value(ty: Oid, raw: &[u8]) -> Result<Value, Failure> {
    const BOOL: Oid = 16;
    const NAME: Oid = 19;
    const INT8: Oid = 20;
    const INT2: Oid = 21;
    const INT4: Oid = 23;
    const TEXT: Oid = 25;
    const VARCHAR: Oid = 1043;
    let unread = |what: &str| Failure::Unreadable(what.to_owned());
    let text = std::str::from_utf8(raw).map_err(|_| unread("text that is not UTF-8"))?;
    Ok(match ty {
        INT2 | INT4 | INT8 => {
            let number = text.parse();
            Value::Int(number.map_err(|_| unread(&inbox_core::text::quoted(text)))?)
        }
        BOOL => Value::Int((text == "t").into()),
        TEXT | VARCHAR | NAME => Value::Text(text.to_owned()),
        _ => return Err(unread(&format!("the type number {ty}"))),
    })
}

fn texts(body: &DataRowBody) -> Result<Vec<Option<String>>, Failure> {
    let text = |range: Option<std::ops::Range<usize>>| {
        Ok(range.map(|range| String::from_utf8_lossy(&body.buffer()[range]).into_owned()))
    };
    Ok(body.ranges().map(text).collect()?)
}
