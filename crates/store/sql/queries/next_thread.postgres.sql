-- differs: only PostgreSQL has sequences.
SELECT nextval('threads_thread_no_seq')
