//! What lets programs in over the network: tokens, of which only a hash is kept.

use inbox_core::record::Millis;
use inbox_core::{AgentName, Scope, Token};

use crate::error::StoreError;
use crate::sql;
use crate::tx::Tx;
use crate::value::Row;

/// How often it is written down that a token is used.
const SEEN_EVERY_MS: i64 = 60_000;

impl Tx<'_> {
    /// Keeps a token, by the hash of its secret.
    pub fn insert_token(&mut self, token: &Token, hash: &str) -> Result<(), StoreError> {
        let scopes = token.scopes.iter().fold(0, |set, scope| set | scope.bit());
        let params = [
            token.token_id.as_str().into(),
            hash.into(),
            token.agent_id.as_str().into(),
            scopes.into(),
            token.label.as_str().into(),
            token.created_at.0.into(),
            token.expires_at.map(|time| time.0).into(),
        ];
        self.put(&sql::INSERT_TOKEN, &params)
    }

    /// The token whose secret has this hash, valid or not.
    pub fn token(&mut self, hash: &str) -> Result<Option<Token>, StoreError> {
        self.first(&sql::FIND_TOKEN, &[hash.into()])?
            .map(|mut row| read(&mut row))
            .transpose()
    }

    /// Every token, or the one with this id.
    pub fn tokens(&mut self, id: Option<&str>) -> Result<Vec<Token>, StoreError> {
        let mut rows = self.rows(&sql::LIST_TOKENS, &[id.into()])?;
        rows.iter_mut().map(read).collect()
    }

    /// Ends a token: whether it had not ended before.
    pub fn revoke_token(&mut self, id: &str) -> Result<bool, StoreError> {
        let now = self.now().0;
        let ended = self.first(&sql::REVOKE_TOKEN, &[now.into(), id.into()])?;
        Ok(ended.is_some())
    }

    /// Whether it is time to write down that a token is used: not with every call, because that takes a commit.
    pub fn is_unseen(&self, token: &Token) -> bool {
        let is_long_ago = |seen: Millis| seen.0 <= self.now().0 - SEEN_EVERY_MS;
        token.seen_at.is_none_or(is_long_ago)
    }

    /// Writes down that a token is used.
    pub fn see_token(&mut self, token: &Token) -> Result<(), StoreError> {
        let params = [self.now().0.into(), token.token_id.as_str().into()];
        self.put(&sql::SEE_TOKEN, &params)
    }
}

fn read(row: &mut Row) -> Result<Token, StoreError> {
    let (token_id, agent_id) = (row.text()?, row.parsed::<AgentName>()?);
    let set = row.int()?;
    let has = |scope: &&Scope| set & scope.bit() != 0;
    Ok(Token {
        token_id,
        agent_id,
        scopes: Scope::ALL.iter().filter(has).copied().collect(),
        label: row.text()?,
        created_at: Millis(row.int()?),
        expires_at: row.maybe_int()?.map(Millis),
        revoked_at: row.maybe_int()?.map(Millis),
        seen_at: row.maybe_int()?.map(Millis),
    })
}
