//! Certificates for tests, made by the `openssl` program, which comes with Debian's PostgreSQL. It
//! uses the standard library alone: the tests inside `inbox-store` include this file as it is.

use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// When a certificate is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Validity {
    /// For as long as the tests are kept.
    Now,
    /// In January 2020.
    Past,
    /// From 2090 on.
    Future,
}

/// A certificate in PEM and its key.
#[derive(Debug, Clone)]
pub struct Certificate {
    /// The certificate.
    pub cert: PathBuf,
    /// Its private key, mode 0600.
    pub key: PathBuf,
}

/// One who signs certificates, in a folder of its own.
#[derive(Debug)]
pub struct Authority {
    folder: PathBuf,
}

impl Authority {
    /// Makes an authority in this folder, which is made, too.
    pub fn new(folder: &Path, name: &str) -> Authority {
        std::fs::create_dir_all(folder).expect("a folder for an authority");
        std::fs::write(folder.join("index.txt"), "").expect("an index");
        let config = format!(
            "[ca]\ndefault_ca = own\n[own]\ndir = {0}\nnew_certs_dir = {0}\ndatabase = {0}/index.txt\n\
             rand_serial = yes\ndefault_md = sha256\npolicy = any\nunique_subject = no\n\
             [any]\ncommonName = supplied\n\
             [req]\ndistinguished_name = dn\n[dn]\n",
            folder.display()
        );
        std::fs::write(folder.join("openssl.cnf"), config).expect("a configuration");
        let authority = Authority {
            folder: folder.to_owned(),
        };
        let extensions =
            "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign\n";
        authority.make("ca", name, extensions, Validity::Now, true);
        authority
    }

    /// Its own certificate.
    pub fn cert(&self) -> PathBuf {
        self.folder.join("ca.crt")
    }

    /// A certificate for these names, as `DNS:localhost,IP:127.0.0.1`; none for an empty text.
    pub fn issue(&self, file: &str, names: &str, validity: Validity) -> Certificate {
        let mut extensions = "basicConstraints=CA:FALSE\n".to_owned();
        if !names.is_empty() {
            extensions.push_str(&format!("subjectAltName={names}\n"));
        }
        self.make(file, file, &extensions, validity, false)
    }

    /// A certificate that signs itself, as PostgreSQL's manual makes one: it also calls itself an
    /// authority.
    pub fn self_signed(&self, file: &str, names: &str, validity: Validity) -> Certificate {
        let extensions = format!("basicConstraints=critical,CA:TRUE\nsubjectAltName={names}\n");
        self.make(file, file, &extensions, validity, true)
    }

    fn make(
        &self,
        file: &str,
        name: &str,
        extensions: &str,
        validity: Validity,
        signs_itself: bool,
    ) -> Certificate {
        let at = |ending: &str| self.folder.join(format!("{file}.{ending}"));
        let config = self.folder.join("openssl.cnf");
        let made = Certificate {
            cert: at("crt"),
            key: at("key"),
        };
        // Made with its mode, so that it is never anybody else's.
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        drop(options.open(&made.key).expect("a file for a key"));
        openssl(
            Command::new("openssl")
                .args(["req", "-new", "-newkey", "ec", "-nodes", "-config"])
                .arg(&config)
                .args(["-pkeyopt", "ec_paramgen_curve:P-256", "-subj"])
                .arg(format!("/CN={name}"))
                .arg("-keyout")
                .arg(&made.key)
                .arg("-out")
                .arg(at("csr")),
        );
        std::fs::write(at("ext"), extensions).expect("a file of extensions");
        let (from, until) = match validity {
            Validity::Now => ("20200101000000Z", "20491231000000Z"),
            Validity::Past => ("20200101000000Z", "20200131000000Z"),
            Validity::Future => ("20900101000000Z", "20901231000000Z"),
        };
        let mut sign = Command::new("openssl");
        sign.args(["ca", "-batch", "-notext", "-config"])
            .arg(&config)
            .args(["-startdate", from, "-enddate", until, "-extfile"])
            .arg(at("ext"))
            .arg("-in")
            .arg(at("csr"))
            .arg("-out")
            .arg(&made.cert);
        if signs_itself {
            sign.arg("-selfsign").arg("-keyfile").arg(&made.key);
        } else {
            sign.arg("-cert").arg(self.cert());
            sign.arg("-keyfile").arg(self.folder.join("ca.key"));
        }
        openssl(&mut sign);
        let mode = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(&made.key, mode).expect("the key is ours");
        made
    }
}

fn openssl(command: &mut Command) {
    let output = command
        .stdin(Stdio::null())
        .env_remove("OPENSSL_CONF")
        .output()
        .expect("openssl starts: apt-get install openssl");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "openssl failed:\n{errors}");
}
