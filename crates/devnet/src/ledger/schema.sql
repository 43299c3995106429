-- Times are nanoseconds of consensus; keys and fees are Hedera's own messages.
CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE accounts (
    num INTEGER PRIMARY KEY, key BLOB NOT NULL, balance INTEGER NOT NULL CHECK (balance >= 0), memo TEXT NOT NULL,
    is_receiver_sig_required INTEGER NOT NULL, alias BLOB NOT NULL, created_at INTEGER NOT NULL, auto_renew INTEGER NOT NULL,
    max_associations INTEGER NOT NULL, is_reward_declined INTEGER NOT NULL) STRICT;
CREATE UNIQUE INDEX accounts_by_alias ON accounts (alias) WHERE alias <> x'';
CREATE TABLE topics (
    num INTEGER PRIMARY KEY, memo TEXT NOT NULL, admin_key BLOB, submit_key BLOB, fee_schedule_key BLOB, exempt BLOB NOT NULL,
    fees BLOB NOT NULL, sequence INTEGER NOT NULL, running_hash BLOB NOT NULL, created_at INTEGER NOT NULL,
    auto_renew INTEGER NOT NULL, auto_renew_account INTEGER, expires_at INTEGER NOT NULL, is_deleted INTEGER NOT NULL) STRICT;
CREATE TABLE messages (
    topic INTEGER NOT NULL, sequence INTEGER NOT NULL, consensus_at INTEGER NOT NULL, payer INTEGER NOT NULL,
    message BLOB NOT NULL, running_hash BLOB NOT NULL, chunk BLOB, PRIMARY KEY (topic, sequence)) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX messages_by_time ON messages (topic, consensus_at);
CREATE TABLE schedules (
    num INTEGER PRIMARY KEY, body BLOB NOT NULL, memo TEXT NOT NULL, admin_key BLOB, creator INTEGER NOT NULL,
    payer INTEGER NOT NULL, transaction_id BLOB NOT NULL, created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL,
    waits INTEGER NOT NULL, executed_at INTEGER, deleted_at INTEGER, is_over INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE INDEX schedules_open ON schedules (expires_at) WHERE executed_at IS NULL AND deleted_at IS NULL AND is_over = 0;
CREATE TABLE signers (
    schedule INTEGER NOT NULL, key BLOB NOT NULL, signed_at INTEGER NOT NULL, signature BLOB NOT NULL,
    PRIMARY KEY (schedule, key)) STRICT, WITHOUT ROWID;
CREATE TABLE transactions (
    consensus_at INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, payer INTEGER NOT NULL, kind TEXT NOT NULL, status INTEGER NOT NULL,
    record BLOB NOT NULL, entity INTEGER, max_fee INTEGER NOT NULL, valid_start INTEGER NOT NULL,
    valid_seconds INTEGER NOT NULL, node INTEGER NOT NULL, is_scheduled INTEGER NOT NULL) STRICT;
-- Who else gave or got something.
CREATE TABLE parties (account INTEGER NOT NULL, consensus_at INTEGER NOT NULL, PRIMARY KEY (account, consensus_at)) STRICT, WITHOUT ROWID;
