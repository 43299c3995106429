-- differs: the search index of SQLite is a file of its own beside the store.
-- Plans are made for the words at hand, and never read the whole table: a block is dense where it is.
SELECT set_config('plan_cache_mode', 'force_custom_plan', true), set_config('enable_seqscan', 'off', true)
