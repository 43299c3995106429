-- differs: PostgreSQL has rights to take back.

-- What lets a program in over the network, as one agent, which need not have appeared yet: a hash of its
-- secret, which is kept nowhere. `scopes` is a set of bits.
CREATE TABLE tokens (
    token_id   TEXT NOT NULL PRIMARY KEY,
    hash       TEXT NOT NULL UNIQUE,
    agent      TEXT NOT NULL,
    scopes     BIGINT NOT NULL,
    label      TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    revoked_at BIGINT,
    seen_at    BIGINT
);

DO $$ BEGIN PERFORM inbox_private('tokens'); END $$;
