.PHONY: run test check bench docs sabotage build

build:
	cargo build --locked

# Plays the story of one thread on a fresh store, with real processes.
run:
	@scripts/story

check:
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps --document-private-items --quiet

# nextest where it is installed: it is faster. The Rust toolchain alone is enough.
test:
	@if cargo nextest --version >/dev/null 2>&1; then \
		cargo nextest run --locked --workspace; \
	else \
		cargo test --locked --workspace; \
	fi

# Writes docs/reference/ and refreshes the transcripts of README.md and docs/guide/.
docs:
	INBOX_WRITE_DOCS=1 cargo test --locked --package inbox --test suite -- reference:: guide::
