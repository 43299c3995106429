//! How a connection says who it is: by password or by SCRAM, bound to its TLS where the server can.

use fallible_iterator::FallibleIterator;
use postgres_protocol::authentication::{md5_hash, sasl};
use postgres_protocol::message::backend::Message;
use postgres_protocol::message::frontend;

use super::failure::Failure;
use super::tls::Stream;
use super::url::{Binding, Host, Target};
use super::wire::{Wire, refused};

impl Wire {
    /// Logs in over a fresh stream to this host.
    pub(super) fn log_in(stream: Stream, target: &Target, host: &Host) -> Result<Wire, Failure> {
        let mut wire = Wire::new(stream);
        let parameters = [
            ("user", target.user.as_str()),
            ("database", target.database.as_str()),
            ("client_encoding", "UTF8"),
            ("application_name", target.application_name.as_str()),
        ];
        let options = target.options.as_deref().map(|text| ("options", text));
        let parameters = parameters.into_iter().chain(options);
        frontend::startup_message(parameters, &mut wire.out)?;
        wire.send()?;
        wire.prove(target, host)?;
        loop {
            match wire.message()? {
                Message::BackendKeyData(key) => wire.process = key.process_id(),
                Message::ReadyForQuery(_) => return Ok(wire),
                Message::ErrorResponse(body) => return Err(refused(body.fields())),
                _ => {}
            }
        }
    }

    fn prove(&mut self, target: &Target, host: &Host) -> Result<(), Failure> {
        let secret = || {
            target.password_for(host).map_err(|reason| {
                Failure::Lost(format!("the server asks for a password: {reason}"))
            })
        };
        let must_bind = target.channel_binding == Binding::Require;
        let mut is_bound = false;
        loop {
            match self.message()? {
                Message::AuthenticationOk if is_bound || !must_bind => return Ok(()),
                // Any other login would tell somebody in between that we are who we say to be.
                Message::AuthenticationOk
                | Message::AuthenticationCleartextPassword
                | Message::AuthenticationMd5Password(_)
                    if must_bind =>
                {
                    return Err(unbound("the server asks for no SCRAM login"));
                }
                Message::AuthenticationCleartextPassword => {
                    frontend::password_message(secret()?.reveal().as_bytes(), &mut self.out)?;
                    self.send()?;
                }
                Message::AuthenticationMd5Password(body) => {
                    let secret = secret()?;
                    let password = secret.reveal().as_bytes();
                    let hash = md5_hash(target.user.as_bytes(), password, body.salt());
                    frontend::password_message(hash.as_bytes(), &mut self.out)?;
                    self.send()?;
                }
                Message::AuthenticationSasl(body) => {
                    let offered: Vec<String> =
                        body.mechanisms().map(|m| Ok(m.to_owned())).collect()?;
                    let password = secret()?;
                    is_bound = self.prove_by_scram(
                        &offered,
                        password.reveal().as_bytes(),
                        target.channel_binding,
                    )?;
                }
                Message::ErrorResponse(body) => return Err(refused(body.fields())),
                Message::NoticeResponse(_) | Message::ParameterStatus(_) => {}
                _ => {
                    return Err(Failure::Lost(
                        "the server asks for a kind of login that inbox does not have (SCRAM-SHA-256, md5, password and certificates are known)".into(),
                    ));
                }
            }
        }
    }

    /// Tells whether the login is bound to the TLS connection.
    fn prove_by_scram(
        &mut self,
        offered: &[String],
        password: &[u8],
        wanted: Binding,
    ) -> Result<bool, Failure> {
        let has = |name: &str| offered.iter().any(|mechanism| mechanism == name);
        let point = self.stream.binding();
        let (mechanism, binding) = match point.filter(|_| wanted != Binding::Disable) {
            Some(point) if has(sasl::SCRAM_SHA_256_PLUS) => (
                sasl::SCRAM_SHA_256_PLUS,
                sasl::ChannelBinding::tls_server_end_point(point),
            ),
            Some(_) => (sasl::SCRAM_SHA_256, sasl::ChannelBinding::unrequested()),
            None => (sasl::SCRAM_SHA_256, sasl::ChannelBinding::unsupported()),
        };
        let is_bound = mechanism == sasl::SCRAM_SHA_256_PLUS;
        if wanted == Binding::Require && !is_bound {
            let why = if self.stream.is_tls() {
                "the server or its certificate cannot do it"
            } else {
                "the connection has no TLS"
            };
            return Err(unbound(why));
        }
        if !has(mechanism) {
            return Err(Failure::Lost(format!(
                "the server offers the logins {}, and inbox knows SCRAM-SHA-256",
                offered.join(", ")
            )));
        }
        let mut scram = sasl::ScramSha256::new(password, binding);
        frontend::sasl_initial_response(mechanism, scram.message(), &mut self.out)?;
        self.send()?;
        loop {
            match self.message()? {
                Message::AuthenticationSaslContinue(body) => {
                    scram.update(body.data())?;
                    frontend::sasl_response(scram.message(), &mut self.out)?;
                    self.send()?;
                }
                Message::AuthenticationSaslFinal(body) => {
                    scram.finish(body.data())?;
                    return Ok(is_bound);
                }
                Message::ErrorResponse(body) => return Err(refused(body.fields())),
                _ => {}
            }
        }
    }
}

fn unbound(why: &str) -> Failure {
    Failure::Lost(format!(
        "channel_binding=require, and the login cannot be bound: {why}"
    ))
}
