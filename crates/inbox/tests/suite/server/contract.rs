//! The contract of every store, through a server.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use inbox_core::{AgentName, Refusal, Scope};
use inbox_ops::{Caller, Inbox, Operation, TokenCreate};
use inbox_surfaces::far::Far;
use inbox_surfaces::http::{Options, Running};
use inbox_testkit::world::World;

/// A server on a free port of this machine.
pub(super) fn options() -> Options {
    Options {
        listen: "127.0.0.1:0".parse().expect("an address"),
        tls: None,
        is_insecure: false,
        names: Vec::new(),
        version: "test".to_owned(),
    }
}

/// A server, and a token for everybody who calls that allows everything.
struct Doors {
    here: Inbox,
    server: Running,
    known: RefCell<HashMap<(AgentName, bool), Rc<Far>>>,
}

impl Doors {
    fn of(&self, agent: AgentName, may_override: bool) -> Result<Rc<Far>, Refusal> {
        let key = (agent.clone(), may_override);
        if let Some(far) = self.known.borrow().get(&key) {
            return Ok(Rc::clone(far));
        }
        let allowed = |scope: &&Scope| may_override || **scope != Scope::Override;
        let create = TokenCreate {
            agent,
            scope: Scope::ALL.iter().filter(allowed).copied().collect(),
            label: None,
            ttl_hours: None,
        };
        let made = create.run(&self.here, &Caller::local(None))?;
        let url = format!("http://{}", self.server.address);
        let far = Rc::new(Far::new(&url, made.secret.expect("a secret"), None)?);
        let known = &mut self.known.borrow_mut();
        known.insert(key, Rc::clone(&far));
        Ok(far)
    }

    /// Who calls without a name: whose claim a lease proves, or whose session it is.
    fn named(&self, caller: &Caller) -> Option<AgentName> {
        let found = self.here.store().read(|tx| {
            if let Some(lease) = &caller.lease {
                return Ok(tx.agent_of_token(lease)?);
            }
            let session = match &caller.session {
                Some(id) => tx.session(id)?,
                None => None,
            };
            Ok(session.map(|row| row.session.agent_id))
        });
        found.expect("the store reads")
    }
}

fn world() -> World {
    World::behind(|open| {
        let doors = Doors {
            here: open(),
            server: Running::start(options(), move || Ok(open())).expect("the server starts"),
            known: RefCell::default(),
        };
        Box::new(move |name, request, caller| {
            let nobody = || "observer".parse().expect("a name");
            let agent = caller.agent.clone().or_else(|| doors.named(caller));
            let far = doors.of(agent.unwrap_or_else(nobody), caller.may_override)?;
            // What is called here looks once.
            let waits = matches!(name, "watch" | "wait-reply");
            let request = if waits && !request.contains("timeout_seconds") {
                request
                    .replacen('{', "{\"timeout_seconds\":0,", 1)
                    .replace(",}", "}")
            } else {
                request
            };
            far.call_by_name(name, request, caller)
        })
    })
}

inbox_testkit::every_rule!(contract_in crate::server::contract::world:);
