.PHONY: build run test check bench docs sabotage

build:
	cargo build --locked

# Plays the story of one thread on a fresh store, with real processes.
run:
	@scripts/story

# One process for each test program: the private PostgreSQL cluster starts once and serves all.
test:
	@scripts/ensure-postgres
	cargo test --locked --workspace

# Format, lints, docs; the licences are a test of the house.
check:
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps --document-private-items --quiet
	cargo test --locked --package inbox --test suite --quiet -- house::

# Writes docs/reference/ and refreshes the transcripts of README.md and docs/guide/.
docs:
	INBOX_WRITE_DOCS=1 cargo test --locked --package inbox --test suite -- reference:: guide::

# Plants each bug in a build of its own and requires its checkers to fail.
sabotage:
	scripts/sabotage
