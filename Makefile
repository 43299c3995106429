.PHONY: build run story test clients interop check docs sabotage fuzz release bench

build:
	cargo build --locked

# Serves a store of its own under target/ on the embedded defaults, until it is told to stop. ARGS="--listen 127.0.0.1:0" takes a
# free port.
run:
	@echo "Building inbox; on a fresh clone this takes a few minutes, once."
	@cargo build --locked --quiet --package inbox
	@mkdir -p $(TARGET)/run && cd $(TARGET)/run && exec ../debug/inbox up $(ARGS)

TARGET = $${CARGO_TARGET_DIR:-target}

# Plays the story of one thread on a fresh store, with real processes.
story:
	@scripts/story

# One process for each test program: the private PostgreSQL cluster starts once and serves all.
test:
	@scripts/ensure-postgres
	@scripts/ensure-browser
	cargo test --locked --workspace

# The real Claude Code and Codex from npm, in a terminal and a network of their own with a stand-in for their model: what a
# session is told at its start, and how it wakes. Beside them Gemini and opencode as workers of `inbox run`. `make test` has them too.
# Needs npm, Python and user namespaces.
clients:
	cargo test --locked --package inbox --test suite -- clients:: hook::watch:: run::offline::

# Programs of others that take minutes to install, once: the official SDK of Hedera for Rust and the HCS-10 client of npm, each in a
# network of its own, before our devnet and our agent.
interop:
	@scripts/ensure-interop
	cargo test --locked --package inbox --test interop

# Format, lints, docs; the licences are a test of the house.
check:
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps --document-private-items --quiet
	cargo test --locked --package inbox --test suite --quiet -- house::

# Writes docs/reference/, definitions/wire/ and golden texts, and refreshes the transcripts of README.md and
# docs/guide/.
docs:
	INBOX_WRITE_DOCS=1 cargo test --locked --package inbox --test suite -- reference:: guide::
	INBOX_WRITE_DOCS=1 cargo test --locked --package inbox-wire --test suite -- schema:: prompt:: vectors::

# Plants each bug in a build of its own and requires its checkers to fail.
sabotage:
	@scripts/ensure-postgres
	scripts/sabotage

# Feeds hostile input to the readers of documents, each for FUZZ_SECONDS.
fuzz:
	@scripts/fuzz

# The binary that is shipped. It is linked statically, which takes a fifth off the time of a command: no
# library is looked for, mapped and relocated. Only the last crate gets the flag, because procedural
# macros cannot be built with it.
release:
	cargo rustc --locked --release --package inbox --bin inbox -- $(STATIC)

ifeq ($(shell uname -s),Linux)
STATIC = -C target-feature=+crt-static
endif

# Measures the goals of speed beside the peers, and writes docs/reference/benchmarks.md. The peers come
# from PyPI into a folder under target/; the machine should be quiet. One part: target/release/inbox-bench NAME,
# and `inbox-bench postgres quick` for a first look at PostgreSQL.
bench: release
	@scripts/ensure-postgres
	@command -v sqlite3 >/dev/null || { echo "The bench needs the sqlite3 shell: install the package 'sqlite3'." >&2; exit 1; }
	cargo build --locked --release --bin inbox-bench
	$${CARGO_TARGET_DIR:-target}/release/inbox-bench
