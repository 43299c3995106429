//! `inbox mcp`: the server on standard input and output, a line each message.
//!
//! The reading is our own, so that every line gets an answer: what is not JSON, what is no request, and what
//! has wrong parameters is told so with its id, where the library would stay silent and a client wait.

use std::io::{BufRead, BufReader, IsTerminal, Read};
use std::sync::Arc;
use std::time::Duration;

use clap::{Arg, ArgMatches, Command};
use inbox_core::{Code, LeaseToken, Refusal, limit};
use inbox_ops::Caller;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorData, RequestId, ServerJsonRpcMessage,
};
use rmcp::service::ServerInitializeError;
use rmcp::transport::Transport;
use rmcp::{RoleServer, ServiceExt};
use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::sync::{Mutex, mpsc, watch};
use tokio::task::JoinHandle;

use super::desk::{Desk, Leases, Who};
use super::local::Local;
use super::server::Server;
use super::there::There;
use super::{MOST_PATIENCE, PATIENCE};
use crate::cli::print::complain;
use crate::cli::{Context, Ended, find};

/// The longest line, in bytes: some times the largest message.
const LINE: u64 = 16 << 20;

pub(crate) fn describe(command: Command) -> Command {
    command
        .about("Serve MCP on standard input and output, for an agent's client to start")
        .long_about(
            "Serve MCP on standard input and output, for an agent's client to start\n\n\
             Who calls is --agent, INBOX_AGENT, or whose session it is: INBOX_SESSION, or the one that the \
             client names. It ends with its input.",
        )
        .arg(
            Arg::new("patience")
                .long("patience")
                .value_name("SECONDS")
                .help("Let a tool that waits answer after so many seconds, 1 to 600, unless the call says otherwise; 45 unless told otherwise"),
        )
}

pub(crate) fn run(matches: &ArgMatches, context: &Context) -> Result<Ended, Refusal> {
    let patience = match matches.get_one::<String>("patience") {
        None => PATIENCE,
        Some(text) => {
            let number: i64 = text.parse().map_err(|_| {
                Refusal::input(format!(
                    "--patience is {text:?}, which is not a whole number"
                ))
            })?;
            let number = limit::in_range("--patience", number, 1, i64::from(MOST_PATIENCE))?;
            Duration::from_secs(number.unsigned_abs())
        }
    };
    // Clients keep what is said here, and show it.
    crate::http::log_without_values();
    let (who, leases) = (who(context)?, Leases::kept());
    let desk = match There::named(context.db.as_deref()) {
        Some(there) => Desk::at(there, who, leases),
        None => Desk::new(Arc::new(Local::new(context.db.clone())), who, leases),
    };
    let desk = desk.with_patience(patience);
    if std::io::stdin().is_terminal() {
        complain(
            "inbox mcp speaks MCP, line by line; an agent's client starts it. Ctrl-D ends it.",
        );
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .map_err(|error| Refusal::new(Code::Internal, format!("no runtime: {error}")))?;
    let outcome = runtime.block_on(serve(desk));
    // A wait that nobody wants any more may still be listening for a moment.
    runtime.shutdown_background();
    outcome.map(|()| Ended::Something)
}

fn who(context: &Context) -> Result<Who, Refusal> {
    let mut caller = Caller::local(context.agent.clone());
    caller.lease = find::from_environment::<LeaseToken>("INBOX_LEASE")?;
    caller.session.clone_from(&context.session);
    Ok(Who {
        caller,
        is_clients_session: context.is_clients_session,
        is_agent_named: context.agent_flag.is_some(),
    })
}

async fn serve(desk: Desk) -> Result<(), Refusal> {
    let (tell_gone, gone) = watch::channel(false);
    let transport = Lines::open(tell_gone);
    match Box::pin(Server::new(desk, gone).serve(transport)).await {
        Ok(running) => {
            let ended = running.waiting().await;
            ended.map(drop).map_err(|error| {
                Refusal::new(Code::Internal, format!("the server stopped: {error}"))
            })
        }
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(Refusal::new(
            Code::Internal,
            format!("no session could begin: {error}"),
        )),
    }
}

/// One line of input.
enum Line {
    Text(Vec<u8>),
    TooLong,
}

/// What a line says.
enum Said {
    Message(Box<ClientJsonRpcMessage>),
    Nothing,
    Wrong(Box<ServerJsonRpcMessage>),
}

impl Said {
    fn wrong(error: ErrorData, id: Option<RequestId>) -> Self {
        Said::Wrong(Box::new(ServerJsonRpcMessage::error(error, id)))
    }
}

/// Messages as lines.
struct Lines {
    input: mpsc::Receiver<Line>,
    out: Arc<Mutex<tokio::io::Stdout>>,
    tell_gone: watch::Sender<bool>,
    /// Whether a request has begun the session; before it, a notice means nothing.
    has_begun: bool,
    /// An answer to a bad line that is being written. What is read next waits for it.
    owed: Option<JoinHandle<()>>,
}

impl Lines {
    fn open(tell_gone: watch::Sender<bool>) -> Self {
        let (send, input) = mpsc::channel(64);
        // A thread of its own: nothing can be done about a read that blocks, and the process ends without it.
        std::thread::spawn(move || {
            let mut stdin = BufReader::new(std::io::stdin());
            while let Some(line) = next_line(&mut stdin) {
                if send.blocking_send(line).is_err() {
                    return;
                }
            }
        });
        Lines {
            input,
            out: Arc::new(Mutex::new(tokio::io::stdout())),
            tell_gone,
            has_begun: false,
            owed: None,
        }
    }

    /// What a line says, or the answer that tells what is wrong with it.
    fn read(&mut self, line: &[u8]) -> Said {
        let text = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        if text.iter().all(u8::is_ascii_whitespace) {
            return Said::Nothing;
        }
        let value: Value = match serde_json::from_slice(text) {
            Ok(value) => value,
            Err(error) => {
                let error = ErrorData::parse_error(format!("not JSON: {error}"), None);
                return Said::wrong(error, None);
            }
        };
        let is_request = value.get("method").is_some_and(Value::is_string);
        let id = value.get("id").cloned();
        let id = id.and_then(|id| serde_json::from_value::<RequestId>(id).ok());
        match serde_json::from_value::<ClientJsonRpcMessage>(value) {
            Ok(message) if self.is_wanted(&message) => Said::Message(Box::new(message)),
            Ok(_) => Said::Nothing,
            Err(error) if is_request && id.is_some() => {
                let problem = format!("the parameters do not fit: {error}");
                Said::wrong(ErrorData::invalid_params(problem, None), id)
            }
            Err(error) => {
                let problem = format!("no JSON-RPC message: {error}");
                Said::wrong(ErrorData::invalid_request(problem, None), id)
            }
        }
    }

    /// The library gives up on a notice before the first request.
    fn is_wanted(&mut self, message: &ClientJsonRpcMessage) -> bool {
        if let ClientJsonRpcMessage::Request(request) = message {
            self.has_begun |= !matches!(
                request.request,
                ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_)
            );
            return true;
        }
        self.has_begun
    }
}

fn next_line(input: &mut impl BufRead) -> Option<Line> {
    let mut line = Vec::new();
    let read = input.by_ref().take(LINE).read_until(b'\n', &mut line);
    if !read.is_ok_and(|read| read > 0) {
        return None;
    }
    if line.ends_with(b"\n") || (line.len() as u64) < LINE {
        return Some(Line::Text(line));
    }
    // The rest of it, without keeping it.
    loop {
        let (used, is_end) = match input.fill_buf() {
            Ok([]) | Err(_) => return Some(Line::TooLong),
            Ok(part) => match part.iter().position(|byte| *byte == b'\n') {
                Some(at) => (at + 1, true),
                None => (part.len(), false),
            },
        };
        input.consume(used);
        if is_end {
            return Some(Line::TooLong);
        }
    }
}

impl Transport<RoleServer> for Lines {
    type Error = std::io::Error;

    fn send(
        &mut self,
        item: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let out = self.out.clone();
        async move {
            let mut line = serde_json::to_vec(&item)?;
            line.push(b'\n');
            let mut out = out.lock().await;
            out.write_all(&line).await?;
            out.flush().await
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if let Some(owed) = &mut self.owed {
                let _ = owed.await;
                self.owed = None;
            }
            let said = match self.input.recv().await {
                Some(Line::Text(line)) => self.read(&line),
                Some(Line::TooLong) => {
                    let problem = format!("a line has more than {LINE} bytes");
                    Said::wrong(ErrorData::invalid_request(problem, None), None)
                }
                None => {
                    let _ = self.tell_gone.send(true);
                    return None;
                }
            };
            match said {
                Said::Message(message) => return Some(*message),
                Said::Nothing => {}
                Said::Wrong(answer) => {
                    // A task of its own: this future may be dropped, and half a line with it.
                    let send = self.send(*answer);
                    self.owed = Some(tokio::spawn(async move {
                        let _ = send.await;
                    }));
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.out.lock().await.flush().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &[&str] = &[
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"x\",\"version\":\"1\"}}}\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n",
        "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"tools/call\",\"params\":{\"name\":\"inbox_fetch\",\"arguments\":{}}}\r\n",
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"resources/read\",\"params\":{\"uri\":\"inbox://thread/thr_1\"}}\n[]\n",
    ];

    proptest::proptest! {
        #![proptest_config(crate::damage::cases(400))]

        #[test]
        fn whatever_a_client_says_is_a_message_or_answered(bytes in crate::damage::damaged(LINES.to_vec())) {
            let mut input = bytes.as_slice();
            let (tell_gone, _gone) = watch::channel(false);
            let (_send, lines) = mpsc::channel(1);
            let mut reader = Lines {
                input: lines,
                out: Arc::new(Mutex::new(tokio::io::stdout())),
                tell_gone,
                has_begun: false,
                owed: None,
            };
            let mut count = 0;
            while let Some(line) = next_line(&mut input) {
                count += 1;
                if let Line::Text(line) = line
                    && let Said::Wrong(answer) = reader.read(&line)
                {
                    let text = serde_json::to_string(&answer).expect("it can be written");
                    proptest::prop_assert!(text.contains("error") && !text.contains('\n'));
                }
            }
            proptest::prop_assert!(count <= bytes.len());
        }
    }
}
