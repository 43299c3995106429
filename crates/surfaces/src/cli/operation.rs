//! Operations as commands: the caller is established, the request built, run and answered.

use clap::ArgMatches;
use inbox_core::{AgentName, Code, LeaseToken, Refusal};
use inbox_ops::{Answer, Caller, Effect, Identity, Inbox, Operation, Visitor, Waiting};
use inbox_store::{Location, Store};

use super::print::done_unsaid;
use super::{Context, Ended, args, config, far, find, passphrase, wait};

/// Runs the operation with this name.
pub(crate) fn run(
    name: &str,
    matches: &ArgMatches,
    fields: &[args::Field],
    context: &Context,
) -> Result<Ended, Refusal> {
    let mut runner = Runner {
        name,
        matches,
        fields,
        context,
        outcome: None,
    };
    inbox_ops::each_operation(&mut runner);
    runner.outcome.unwrap_or_else(|| {
        Err(Refusal::new(
            Code::Internal,
            format!("the command {name} is known and does nothing"),
        ))
    })
}

struct Runner<'a> {
    name: &'a str,
    matches: &'a ArgMatches,
    fields: &'a [args::Field],
    context: &'a Context,
    outcome: Option<Result<Ended, Refusal>>,
}

impl Visitor for Runner<'_> {
    fn visit<O: Operation>(&mut self) {
        if self.name == O::NAME {
            self.outcome = Some(self.answer::<O>());
        }
    }

    fn visit_waiting<O: Waiting>(&mut self) {
        if self.name == O::NAME {
            self.outcome = Some(self.wait::<O>());
        }
    }
}

impl Runner<'_> {
    fn answer<O: Operation>(&self) -> Result<Ended, Refusal> {
        let (request, caller) = self.prepare::<O>()?;
        if let Some(far) = far::server(self.context)? {
            let answer = far.call(&request, &caller)?;
            return self.print::<O>(&answer);
        }
        let inbox = open(self.context)?;
        let caller = self.introduced(&inbox, caller)?;
        let answer = passphrase::with(&inbox, &caller, |caller| request.run(&inbox, caller))?;
        let ended = self.print::<O>(&answer);
        leave(inbox);
        ended
    }

    fn print<O: Operation>(&self, answer: &O::Answer) -> Result<Ended, Refusal> {
        let printed = self.context.printer.answer(O::NAME, answer);
        printed.map_err(|refusal| match O::EFFECT {
            Effect::Write => done_unsaid(O::NAME, refusal),
            Effect::Read | Effect::Wait => refusal,
        })
    }

    fn wait<O: Waiting>(&self) -> Result<Ended, Refusal> {
        let (request, caller) = self.prepare::<O>()?;
        let mut ended = Ended::Nothing;
        let mut hand_on = |answer: &O::Answer, is_stream: bool| {
            let printed = if is_stream {
                self.context.printer.stream_item(answer)
            } else {
                self.context.printer.answer(O::NAME, answer).map(|_| true)
            };
            if answer.is_something() {
                ended = Ended::Something;
            }
            printed
        };
        if let Some(far) = far::server(self.context)? {
            far::until_over(&far, &request, &caller, hand_on)?;
            return Ok(ended);
        }
        let inbox = open(self.context)?;
        let caller = self.introduced(&inbox, caller)?;
        passphrase::with(&inbox, &caller, |caller| {
            wait::until_over(&request, &inbox, caller, &mut hand_on)
        })?;
        leave(inbox);
        Ok(ended)
    }

    /// The caller as the store knows it. A flag is stronger than the environment.
    fn introduced(&self, inbox: &Inbox, caller: Caller) -> Result<Caller, Refusal> {
        let flag = |id: &str| self.matches.try_get_one::<String>(id).ok().flatten();
        let is_named = self.context.agent_flag.is_some() || flag("from").is_some();
        let ambient = caller.agent.clone();
        let caller = if self.context.is_clients_session {
            inbox.with_known_session(caller)?
        } else {
            caller
        };
        let caller = match (is_named, flag("session").is_some()) {
            (true, false) => inbox.without_anothers_session(caller)?,
            // The session that was named says who calls, whatever the environment says.
            (false, true) => Caller {
                agent: None,
                ..caller
            },
            _ => caller,
        };
        let caller = inbox.introduce(caller)?;
        Ok(Caller {
            agent: caller.agent.or(ambient),
            ..caller
        })
    }

    fn prepare<O: Operation>(&self) -> Result<(O, Caller), Refusal> {
        let caller = self.caller::<O>()?;
        let agent_flag = self.context.agent_flag.as_ref().map(AgentName::as_str);
        Ok((
            args::request::<O>(self.matches, self.fields, agent_flag)?,
            caller,
        ))
    }

    fn caller<O: Operation>(&self) -> Result<Caller, Refusal> {
        let flag = |id: &str| self.matches.try_get_one::<String>(id).ok().flatten();
        let mut caller = Caller::local(None);
        if O::IDENTITY != Identity::Ignored {
            caller.agent.clone_from(&self.context.agent);
        }
        if let Some(from) = flag("from") {
            let from: AgentName = from.parse()?;
            if let Some(agent) = self
                .context
                .agent_flag
                .as_ref()
                .filter(|agent| **agent != from)
            {
                return Err(Refusal::input(format!(
                    "--from {from} and --agent {agent} name two callers"
                ))
                .hint("pass one of them"));
            }
            caller.agent = Some(from);
        }
        caller.session.clone_from(&self.context.session);
        caller.lease = match flag("lease") {
            Some(token) => Some(token.parse::<LeaseToken>()?),
            None => find::from_environment("INBOX_LEASE")?,
        };
        caller.key = flag("key").map(|key| key.parse()).transpose()?;
        let is_known = caller.lease.is_some() || caller.session.is_some();
        // A server knows its callers by their tokens.
        let is_far = find::server(self.context.db.as_deref()).is_some();
        if O::IDENTITY == Identity::Required && !is_known && !is_far {
            caller.agent()?;
        }
        Ok(caller)
    }
}

/// Opens the store that the context names.
pub(crate) fn open(context: &Context) -> Result<Inbox, Refusal> {
    open_at(&find::store(context.db.as_deref())?)
}

/// Opens the store that is there.
pub(crate) fn open_at(location: &Location) -> Result<Inbox, Refusal> {
    let config = config::load(location)?;
    Ok(Inbox::new(Store::open(location)?).with_config(config))
}

/// Ends the process's use of the store. What was written is on disk; closing the database would only
/// cost time, and the system takes back what it holds.
pub(crate) fn leave(inbox: Inbox) {
    if cfg!(feature = "sabotage") {
        drop(inbox);
    } else {
        std::mem::forget(inbox);
    }
}
