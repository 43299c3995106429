//! The PostgreSQL server that a guide calls `db.example`: a private cluster with TLS, which asks everybody but
//! `postgres`, its administrator, for a password. The guide's text is played as it stands, because libpq's variables
//! say where that host is.

use std::path::Path;
use std::process::Command;

use inbox_testkit::certs::{Authority, Validity};
use inbox_testkit::cluster::{Cluster, Setup};
use inbox_testkit::sandbox::TempDir;

/// The server's name, in guides and in its certificate.
pub(super) const HOST: &str = "db.example";
/// The version that guides show, whichever it is here.
const SHOWN_VERSION: &str = "15.18";

pub(super) struct Server {
    cluster: Cluster,
    authority: Authority,
    version: String,
    _papers: TempDir,
}

impl Server {
    pub(super) fn start() -> Self {
        let papers = TempDir::new();
        let authority = Authority::new(papers.path(), "The team's authority");
        let own = authority.issue("server", &format!("DNS:{HOST}"), Validity::Now);
        let hba = [
            "local all all trust",
            "hostssl all postgres all trust",
            "hostssl all all all scram-sha-256",
        ];
        let cluster = Cluster::start_with(Setup::with_tls(&own, &hba));
        cluster.psql("CREATE ROLE postgres SUPERUSER LOGIN");
        cluster.psql("CREATE DATABASE team OWNER postgres");
        let version = cluster.psql("SHOW server_version");
        Server {
            cluster,
            authority,
            version,
            _papers: papers,
        }
    }

    /// Lets a shell reach the server, with PostgreSQL's own programs on its path and the authority's certificate in
    /// its folder.
    pub(super) fn introduce(&self, shell: &mut Command, folder: &Path, path: &str) {
        let psql = self.cluster.client("postgres");
        let programs = Path::new(psql.get_program()).parent();
        let programs = programs.expect("psql is in a folder").display();
        let certificate = folder.join("team-ca.crt");
        std::fs::copy(self.authority.cert(), certificate).expect("the folder can be written to");
        shell
            .env("PATH", format!("{path}:{programs}"))
            .env("PGHOSTADDR", "127.0.0.1")
            .env("PGPORT", self.cluster.port().to_string())
            .env("PGPASSFILE", folder.join(".pgpass"));
    }

    /// Output as a guide shows it.
    pub(super) fn shown(&self, output: &str) -> String {
        let port = self.cluster.port();
        output
            .replace(&format!("{HOST}:{port}"), &format!("{HOST}:5432"))
            .replace(
                &format!("PostgreSQL {}", self.version),
                &format!("PostgreSQL {SHOWN_VERSION}"),
            )
    }
}
