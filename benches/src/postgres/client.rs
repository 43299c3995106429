//! Who works: `inbox` through its operations, and plain SQL in the manner of pgmq.

use inbox_core::{LeaseToken, ThreadId};
use inbox_ops::{Caller, Claim, Done, Inbox, Operation};
use inbox_store::{Location, Store};
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::{NoTls, Statement};

use crate::Outcome;
use crate::cycle::{Client, Job};
use crate::lab::{caller, send_task};

/// A program that uses the operations: one store, which is one connection.
pub(super) struct Ours {
    inbox: Inbox,
    lead: Caller,
    crew: Caller,
    /// The crew's name.
    to: &'static str,
    held: Option<(ThreadId, LeaseToken)>,
}

impl Ours {
    /// So many clients on one new store.
    pub(super) fn crew(url: &str, count: usize) -> Outcome<Vec<Box<dyn Client>>> {
        let location = Location::parse(url);
        Store::init(&location)?;
        (0..count)
            .map(|_| {
                let client: Box<dyn Client> = Box::new(Ours {
                    inbox: Inbox::new(Store::open(&location)?),
                    lead: caller("alice")?,
                    crew: caller("bob")?,
                    to: "bob",
                    held: None,
                });
                Ok(client)
            })
            .collect()
    }
}

impl Client for Ours {
    fn can(&self, job: Job) -> bool {
        job != Job::Floor
    }

    fn prepare(&mut self, job: Job) -> Outcome<()> {
        self.to = if job == Job::Cycle { "carol" } else { "bob" };
        self.crew = caller(self.to)?;
        Ok(())
    }

    fn floor(&mut self) -> Outcome<()> {
        Err("the floor is plain SQL".into())
    }

    fn send(&mut self) -> Outcome<()> {
        send_task(&self.inbox, &self.lead, self.to).map(drop)
    }

    fn claim(&mut self) -> Outcome<bool> {
        let leased = Claim::default().run(&self.inbox, &self.crew)?;
        let token = leased.lease.and_then(|lease| lease.lease_token);
        self.held = leased.thread.map(|thread| thread.thread_id).zip(token);
        Ok(self.held.is_some())
    }

    fn done(&mut self) -> Outcome<()> {
        let (thread, token) = self.held.take().ok_or("nothing was claimed")?;
        let request = Done {
            thread,
            summary: Some("reviewed, two remarks".to_owned()),
            body: None,
            payload_json: None,
            artifacts: Vec::new(),
        };
        let holder = Caller {
            lease: Some(token),
            ..self.crew.clone()
        };
        request.run(&self.inbox, &holder)?;
        Ok(())
    }
}

/// The tables of a queue in the manner of pgmq: a message is there, hidden until a time, or in the
/// archive.
pub(super) fn tables(schema: &str) -> String {
    format!(
        "CREATE SCHEMA {schema};
         CREATE TABLE {schema}.floor (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body text NOT NULL);
         CREATE TABLE {schema}.queue (
             msg_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
             read_ct integer NOT NULL DEFAULT 0,
             enqueued_at timestamptz NOT NULL DEFAULT now(),
             vt timestamptz NOT NULL,
             message jsonb
         );
         CREATE INDEX queue_vt ON {schema}.queue (vt);
         CREATE TABLE {schema}.archive (
             msg_id bigint PRIMARY KEY,
             read_ct integer NOT NULL,
             enqueued_at timestamptz NOT NULL,
             archived_at timestamptz NOT NULL DEFAULT now(),
             vt timestamptz NOT NULL,
             message jsonb
         );
         CREATE INDEX archive_at ON {schema}.archive (archived_at);"
    )
}

/// The same jobs in SQL: prepared statements, each a transaction of its own.
pub(super) struct Plain {
    runtime: Runtime,
    client: tokio_postgres::Client,
    insert: Statement,
    send: Statement,
    read: Statement,
    archive: Statement,
    held: Option<i64>,
}

impl Plain {
    /// So many clients on the tables of this schema.
    pub(super) fn crew(url: &str, schema: &str, count: usize) -> Outcome<Vec<Box<dyn Client>>> {
        // What selects a store is nothing that PostgreSQL knows.
        let url = url.split('?').next().unwrap_or_default();
        (0..count)
            .map(|_| {
                let client: Box<dyn Client> = Box::new(Plain::connect(url, schema)?);
                Ok(client)
            })
            .collect()
    }

    fn connect(url: &str, schema: &str) -> Outcome<Plain> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (client, connection) = runtime.block_on(tokio_postgres::connect(url, NoTls))?;
        runtime.spawn(async move { drop(connection.await) });
        let prepare = |sql: String| runtime.block_on(client.prepare(&sql));
        let insert = prepare(format!("INSERT INTO {schema}.floor (body) VALUES ($1)"))?;
        let send = prepare(format!(
            "INSERT INTO {schema}.queue (vt, message)
             VALUES (clock_timestamp(), jsonb_build_object('from', $1::text, 'subject', $2::text))
             RETURNING msg_id"
        ))?;
        let read = prepare(format!(
            "WITH next AS (
                 SELECT msg_id FROM {schema}.queue WHERE vt <= clock_timestamp()
                  ORDER BY msg_id LIMIT 1 FOR UPDATE SKIP LOCKED
             )
             UPDATE {schema}.queue q
                SET vt = clock_timestamp() + interval '900 seconds', read_ct = read_ct + 1
               FROM next WHERE q.msg_id = next.msg_id
             RETURNING q.msg_id, q.read_ct, q.message::text"
        ))?;
        let archive = prepare(format!(
            "WITH gone AS (
                 DELETE FROM {schema}.queue WHERE msg_id = $1
                 RETURNING msg_id, read_ct, enqueued_at, vt, message
             )
             INSERT INTO {schema}.archive (msg_id, read_ct, enqueued_at, vt, message)
             SELECT msg_id, read_ct, enqueued_at, vt, message FROM gone
             RETURNING msg_id"
        ))?;
        Ok(Plain {
            runtime,
            client,
            insert,
            send,
            read,
            archive,
            held: None,
        })
    }
}

impl Client for Plain {
    fn can(&self, _job: Job) -> bool {
        true
    }

    fn floor(&mut self) -> Outcome<()> {
        let body = "please review pull request 417";
        let insert = async { self.client.execute(&self.insert, &[&body]).await };
        self.runtime.block_on(insert)?;
        Ok(())
    }

    fn send(&mut self) -> Outcome<()> {
        let send = self
            .client
            .query_one(&self.send, &[&"alice", &"please review pull request 417"]);
        self.runtime.block_on(send)?;
        Ok(())
    }

    fn claim(&mut self) -> Outcome<bool> {
        let read = self.client.query_opt(&self.read, &[]);
        self.held = self.runtime.block_on(read)?.map(|row| row.get(0));
        Ok(self.held.is_some())
    }

    fn done(&mut self) -> Outcome<()> {
        let held = self.held.take().ok_or("nothing was claimed")?;
        let archive = async { self.client.query_one(&self.archive, &[&held]).await };
        self.runtime.block_on(archive)?;
        Ok(())
    }
}
