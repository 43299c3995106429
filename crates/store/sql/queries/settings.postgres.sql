-- differs: settings are PostgreSQL's. They are the transaction's own, since behind a pooler the next one has
-- another server process, and this one's next user is somebody else. Row security hides every row from who was granted a
-- table and is not its owner: switched off, that is an error and no empty answer. Every statement has an index to walk, and
-- a plan that is kept must not be one for tables that were small: rows are looked up by their keys and never by reading a table for it.
-- Compiling a plan takes longer than any of them runs.
SELECT set_config('search_path', $1, true), set_config('statement_timeout', '30s', true), set_config('lock_timeout', '10s', true),
       set_config('idle_in_transaction_session_timeout', '60s', true), set_config('synchronous_commit', 'on', true),
       set_config('row_security', 'off', true), set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
       set_config('enable_mergejoin', 'off', true), set_config('random_page_cost', '1.1', true), set_config('jit', 'off', true)
