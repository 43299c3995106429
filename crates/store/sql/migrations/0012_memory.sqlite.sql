-- differs: PostgreSQL counts keys in sequences, and has rights to take back.

-- What agents remember, each for itself. What is forgotten leaves its number alone, so that no id is used twice. `thread_no` is the thread whose result it
-- is. `vector` says where its text lies among others by the model that is named: 32-bit numbers, the lowest byte first, in base64.
CREATE TABLE memories (
    memory_no    INTEGER NOT NULL PRIMARY KEY,
    agent_no     BIGINT NOT NULL REFERENCES agents (agent_no),
    thread_no    BIGINT,
    text         TEXT NOT NULL,
    model        TEXT,
    vector       TEXT,
    created_at   BIGINT NOT NULL,
    forgotten_at BIGINT
);
CREATE INDEX memories_by_agent ON memories (agent_no, memory_no) WHERE forgotten_at IS NULL;
CREATE UNIQUE INDEX memories_by_thread ON memories (agent_no, thread_no) WHERE thread_no IS NOT NULL AND forgotten_at IS NULL;

-- The words of each, and how often it has them.
CREATE TABLE memory_words (
    agent_no  BIGINT NOT NULL,
    word      TEXT NOT NULL,
    memory_no BIGINT NOT NULL REFERENCES memories (memory_no),
    times     BIGINT NOT NULL,
    PRIMARY KEY (agent_no, word, memory_no)
) WITHOUT ROWID;
CREATE INDEX memory_words_of ON memory_words (memory_no);
