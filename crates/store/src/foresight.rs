//! What a transaction will ask for, said ahead, so that a database at the end of a wire answers it in one
//! round trip. Only a hint: what was not foreseen is asked for when it is needed, and what is not needed is
//! dropped. SQLite takes no notice.

use inbox_core::{Address, AgentName, SessionId, ThreadId};

use crate::driver::Driver;
use crate::query::Labels;
use crate::sql;

/// Where hints go.
pub struct Foresight<'a> {
    driver: &'a mut dyn Driver,
    is_database_time: bool,
}

impl<'a> Foresight<'a> {
    pub(crate) fn new(driver: &'a mut dyn Driver, is_database_time: bool) -> Self {
        Foresight {
            driver,
            is_database_time,
        }
    }

    /// Whether something waits to be taken in.
    pub fn intake(&mut self) {
        self.driver.foresee(&sql::INTAKE_WAITS, &[]);
    }

    /// An agent.
    pub fn agent(&mut self, name: &AgentName) {
        self.driver
            .foresee(&sql::FIND_AGENT, &[name.as_str().into()]);
    }

    /// A session.
    pub fn session(&mut self, id: &SessionId) {
        let address = Address::session(id);
        self.driver
            .foresee(&sql::FIND_SESSION, &[address.stored().as_ref().into()]);
    }

    /// An address.
    pub fn address(&mut self, address: &Address) {
        self.driver
            .foresee(&sql::FIND_ADDRESS, &[address.stored().as_ref().into()]);
    }

    /// How an address that a sender wrote is read.
    pub fn reading(&mut self, address: &Address) {
        let Some(name) = address.bare_name() else {
            return self.address(address);
        };
        let (session, role) = (format!("@{name}"), format!("role:{name}"));
        let params = [
            session.as_str().into(),
            name.as_str().into(),
            role.as_str().into(),
        ];
        self.driver.foresee(&sql::RESOLVE, &params);
        self.agent(&name);
    }

    /// That an agent will claim work by its name and by what else reaches it.
    pub fn claim(&mut self, agent: &AgentName, labels: &Labels) {
        let own = Address::from(agent);
        self.address(&own);
        self.driver
            .foresee(&sql::REACH_OF_AGENT, &[agent.as_str().into()]);
        // Whoever sets the clock says the time, which is not known yet.
        if self.is_database_time && self.driver.is_served() {
            let stored = own.stored();
            let params = labels.candidates(&stored, None, 1);
            self.driver.foresee(&sql::TAKE_QUEUED, &params);
            self.driver.foresee(&sql::LAPSED, &params);
        }
    }

    /// That a thread will be opened.
    pub fn opening(&mut self) {
        self.driver.foresee(&sql::NEXT_THREAD, &[]);
        self.driver.foresee(&sql::NEXT_ENTRY, &[]);
    }

    /// A step on a thread.
    pub fn step(&mut self, thread: ThreadId) {
        self.thread(thread);
        self.driver
            .foresee(&sql::SPOKEN_LAST, &[thread.key().into()]);
    }

    /// A step that ends or blocks work.
    pub fn typed_step(&mut self, thread: ThreadId) {
        self.step(thread);
        for statement in [&sql::OPENING_PAYLOAD, &sql::OPENER_ADDRESS] {
            self.driver.foresee(statement, &[thread.key().into()]);
        }
    }

    /// A thread.
    pub fn thread(&mut self, thread: ThreadId) {
        self.driver
            .foresee(&sql::LOAD_THREAD, &[thread.key().into()]);
    }
}
