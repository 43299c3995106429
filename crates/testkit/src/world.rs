//! A store of either sort under a clock that the test sets, with the operations on it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use inbox_core::{AgentKind, Auth, Code, LeaseToken, Refusal, ThreadId};
use inbox_ops::{AgentAdd, Caller, Claim, Inbox, Leased, Operation, Posted, Send, Update};
use inbox_store::{Clock, Location, Store};

use crate::cluster;
use crate::sandbox::TempDir;

/// Where the tests' clock begins: 2027-01-15.
pub const START: i64 = 1_800_000_000_000;

/// Opens another connection to a world's store.
pub type Opens = Box<dyn Fn() -> Inbox + std::marker::Send>;

/// Calls operations somewhere else: by name, with the request and the answer as JSON.
pub type Far = Box<dyn Fn(&str, String, &Caller) -> Result<String, Refusal>>;

/// A fresh store, its clock, and whatever must outlive it.
pub struct World {
    /// Where operations are called, when that is not here.
    far: Option<Far>,
    inbox: Inbox,
    clock: Arc<AtomicI64>,
    location: Location,
    folder: Option<TempDir>,
}

impl World {
    /// A fresh SQLite file.
    pub fn sqlite() -> Self {
        let folder = TempDir::new();
        let location = Location::File(folder.path().join("coord.db"));
        World::at(location, Some(folder))
    }

    /// A fresh SQLite file in memory, for harnesses that write so often that a disk would be what they measure.
    pub fn in_memory() -> Self {
        let folder = TempDir::in_memory();
        let location = Location::File(folder.path().join("coord.db"));
        World::at(location, Some(folder))
    }

    /// A fresh schema in the private PostgreSQL cluster.
    pub fn postgres() -> Self {
        World::at(Location::Postgres(cluster::shared().fresh_url()), None)
    }

    /// A fresh SQLite file behind a server. `serve` is given what opens stores under the world's clock, and gives
    /// what calls the server.
    pub fn behind(serve: impl FnOnce(Opens) -> Far) -> Self {
        let mut world = World::sqlite();
        let (location, clock) = (world.location.clone(), Arc::clone(&world.clock));
        world.far = Some(serve(Box::new(move || Inbox::new(open(&location, &clock)))));
        world
    }

    fn at(location: Location, folder: Option<TempDir>) -> Self {
        Store::init(&location).expect("a store can be made");
        let clock = Arc::new(AtomicI64::new(START));
        let store = open(&location, &clock);
        World {
            far: None,
            inbox: Inbox::new(store),
            clock,
            location,
            folder,
        }
    }

    /// A place where there is no store yet.
    pub fn place(folder: &TempDir, name: &str, is_postgres: bool) -> Location {
        if is_postgres {
            Location::Postgres(cluster::shared().fresh_url())
        } else {
            Location::File(folder.path().join(name))
        }
    }

    /// Another store, which is there already, under the same clock.
    pub fn beside(&self, location: Location) -> World {
        World {
            far: None,
            inbox: Inbox::new(open(&location, &self.clock)),
            clock: Arc::clone(&self.clock),
            location,
            folder: None,
        }
    }

    /// Another connection to the same store, under the same clock.
    pub fn another(&self) -> Inbox {
        Inbox::new(open(&self.location, &self.clock))
    }

    /// The operations.
    pub fn inbox(&self) -> &Inbox {
        &self.inbox
    }

    /// Where the store is.
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// The folder of a SQLite store.
    pub fn folder(&self) -> Option<&std::path::Path> {
        self.folder.as_ref().map(TempDir::path)
    }

    /// How a server or the command line knows its callers.
    pub fn auth(&self) -> Auth {
        if self.far.is_some() {
            Auth::Token
        } else {
            Auth::Local
        }
    }

    /// Lets time pass.
    pub fn advance_ms(&self, millis: i64) {
        self.clock.fetch_add(millis, Ordering::SeqCst);
    }

    /// Calls an operation as this agent.
    pub fn call<O: Operation>(&self, agent: &str, request: &O) -> Result<O::Answer, Refusal> {
        self.call_as(&by(agent), request)
    }

    /// Calls an operation as this caller.
    pub fn call_as<O: Operation>(
        &self,
        caller: &Caller,
        request: &O,
    ) -> Result<O::Answer, Refusal> {
        let Some(far) = &self.far else {
            return request.run(&self.inbox, caller);
        };
        let request = serde_json::to_string(request).expect("a request is JSON");
        let answer = far(O::NAME, request, caller)?;
        Ok(serde_json::from_str(&answer).expect("an answer of this operation"))
    }

    /// Opens a thread of work and gives its id.
    pub fn send(&self, from: &str, to: &str, subject: &str) -> ThreadId {
        self.call(from, &task(to, subject))
            .expect("a send succeeds")
            .thread
            .thread_id
    }

    /// Puts a person on the roster, where the store is: over the network no agent makes one.
    pub fn person(&self, name: &str) {
        let add = AgentAdd {
            slug: name.parse().ok(),
            kind: Some(AgentKind::Human),
            ..AgentAdd::default()
        };
        add.run(&self.inbox, &Caller::local(None))
            .expect("the name is free");
    }

    /// Claims a thread for this long and gives the lease's token.
    pub fn claim(&self, agent: &str, thread: ThreadId, seconds: i64) -> LeaseToken {
        let leased = self
            .try_claim(agent, thread, seconds)
            .expect("the claim succeeds");
        token(&leased)
    }

    /// Tries to claim a thread.
    pub fn try_claim(
        &self,
        agent: &str,
        thread: ThreadId,
        seconds: i64,
    ) -> Result<Leased, Refusal> {
        self.call(
            agent,
            &Claim {
                thread: Some(thread),
                lease_seconds: Some(seconds),
                ..Claim::default()
            },
        )
    }

    /// Updates a thread as this caller.
    pub fn update(&self, caller: &Caller, thread: ThreadId) -> Result<Posted, Refusal> {
        self.call_as(caller, &update(thread))
    }
}

fn open(location: &Location, clock: &Arc<AtomicI64>) -> Store {
    Store::open(location)
        .expect("the store opens")
        .with_clock(Clock::Manual(Arc::clone(clock)))
}

/// Changes a store as plain SQL clients do, behind the program's back.
pub fn by_sql(location: &Location, sql: &str) {
    match location {
        Location::File(path) => {
            let database = rusqlite::Connection::open(path).expect("the file is there");
            let done = database.pragma_update(None, "foreign_keys", false);
            done.and_then(|()| database.execute_batch(sql))
                .expect("plain SQL");
        }
        Location::Postgres(url) => {
            let (_, schema) = url.rsplit_once("schema=").expect("it names one");
            cluster::shared().psql(&format!("SET search_path = {schema}; {sql}"));
        }
    }
}

/// A local caller with this name.
pub fn by(agent: &str) -> Caller {
    Caller::local(Some(agent.parse().expect("a good name")))
}

/// A caller that proves itself by token alone.
pub fn with_token(token: LeaseToken) -> Caller {
    Caller {
        lease: Some(token),
        ..Caller::local(None)
    }
}

/// A request for a new thread of work.
pub fn task(to: &str, subject: &str) -> Send {
    Send {
        to: vec![to.parse().expect("a good address")],
        subject: Some(subject.to_owned()),
        ..Send::default()
    }
}

/// A progress report.
pub fn update(thread: ThreadId) -> Update {
    Update {
        thread,
        status: None,
        summary: Some("going on".into()),
        body: None,
        payload_json: None,
        artifacts: Vec::new(),
    }
}

/// The token of a lease that was just taken.
pub fn token(leased: &Leased) -> LeaseToken {
    leased
        .lease
        .as_ref()
        .and_then(|lease| lease.lease_token)
        .expect("a claim gives its token")
}

/// The code of a refusal; what succeeded is a failure of the test.
#[track_caller]
pub fn code<T>(outcome: Result<T, Refusal>) -> Code {
    match outcome {
        Ok(_) => panic!("it succeeded and should have been refused"),
        Err(refusal) => refusal.code,
    }
}
