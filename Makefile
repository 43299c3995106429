.PHONY: build run story test clients interop check audit docs sabotage mutants torture fuzz release deb image bench

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

# Most tests wait for processes and for disks: twice as many run at once as there are cores.
export RUST_TEST_THREADS ?= $(shell echo $$((2 * $$(getconf _NPROCESSORS_ONLN))))

# One process for each test program: the private PostgreSQL cluster starts once and serves all.
test:
	@scripts/ensure-postgres
	@scripts/ensure-browser
	@scripts/ensure-image
	cargo test --locked --workspace

# The real Claude Code and Codex from npm, in a terminal and a network of their own with a stand-in for their model: what a
# session is told at its start, and how it wakes. Beside them Gemini and opencode as workers of `inbox run`. `make test` has them too.
# Needs npm, Python and user namespaces.
clients:
	cargo test --locked --workspace --test suite -- clients:: hook::watch:: run::offline::

# Programs of others that take minutes to install, once: the official SDK of Hedera for Rust and the HCS-10 client of npm, each in a
# network of its own, before our devnet and our agent.
interop:
	@scripts/ensure-interop
	cargo test --locked --workspace --test interop

# Format, lints, docs; the licences are a test of the house. Tests are always of the whole workspace: for one package alone cargo chooses
# other features and builds everything a second time.
check:
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps --document-private-items --quiet
	cargo test --locked --workspace --test suite --quiet -- house::

# Writes docs/reference/, definitions/wire/ and golden texts, and refreshes the transcripts of README.md and
# docs/guide/.
docs:
	INBOX_WRITE_DOCS=1 cargo test --locked --workspace --test suite -- reference:: guide:: security::threats:: schema:: prompt:: vectors::

# Plants each bug in a build of its own and requires its checkers to fail.
sabotage:
	@scripts/ensure-postgres
	scripts/sabotage

# Changes the rules of core, leases and cursors one by one and requires that the tests notice (cargo-mutants, installed under target/
# when it is missing); most of an hour on two cores, core alone (ARGS=core) ten minutes. ARGS=--write writes docs/reference/mutants.md.
mutants:
	scripts/mutants $(ARGS)

# What inbox promises at figures that take long, with the binary that is shipped: hours on two cores. TORTURE_DB names another place,
# such as a postgres:// URL; SOAK_SECONDS is how long the soak takes.
torture: release
	@mkdir -p $(TARGET)/torture
	$(TORTURE) --only kills --rounds 25000
	$(TORTURE) --only races --rounds 28600
	$(TORTURE) --only power --rounds 820
	$(TORTURE) --only disk --rounds 20000
	$(TORTURE) --only damage --rounds 10000
	$(TORTURE) --only histories --rounds 20000
	$(TORTURE) --only zombies --rounds 500
	$(TORTURE) --only points --rounds 840
	$(TORTURE) --only cursor,wakes --rounds 1000
	$(TORTURE) --only clock,server,ledger --rounds 2000
	$(TORTURE) --only crowd,throng --rounds 50
	$(TORTURE) --only recovery --rounds 10
	$(TORTURE) --only soak --seconds $(SOAK_SECONDS)

# What cannot be tried in a place is skipped there, and what comes after it is tried all the same. The place is the shell's to read: a URL
# has signs that mean something to it.
TORTURE = $(TARGET)/release/inbox torture --skip-ok --db "$${TORTURE_DB:-$(TARGET)/torture/coord.db}"
SOAK_SECONDS = 28800

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

# What is shipped around it, under target/package: a Debian package, and what a container's image is built from.
deb: release
	scripts/package $(TARGET)/release/inbox $(TARGET)/package deb

image: release
	scripts/package $(TARGET)/release/inbox $(TARGET)/package image

# Known faults of what the binary is built from, and whether it may be used: cargo deny and cargo audit, installed under target/ when
# they are missing. Says so loudly where the list of known faults cannot be had.
audit:
	@scripts/audit

# Measures the goals of speed beside the peers, and writes docs/reference/benchmarks.md. The peers come
# from PyPI into a folder under target/; the machine should be quiet. One part: target/release/inbox-bench NAME,
# and `inbox-bench postgres quick` for a first look at PostgreSQL.
bench: release
	@scripts/ensure-postgres
	@for tool in sqlite3 redis-server; do command -v $$tool >/dev/null || { echo "The bench needs $$tool: install Debian's package '$$tool'." >&2; exit 1; }; done
	cargo build --locked --release --bin inbox-bench
	$${CARGO_TARGET_DIR:-target}/release/inbox-bench
