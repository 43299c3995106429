.PHONY: run test check bench docs sabotage build

build:
	cargo build --locked

check:
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps --document-private-items --quiet

test:
	cargo nextest run --locked --workspace

# Measures the goals of speed beside the peers, and writes docs/reference/benchmarks.md. The peers come
# from PyPI into a folder under target/; the machine should be quiet.
bench:
	cargo build --locked --release --bin inbox --bin inbox-bench
	$${CARGO_TARGET_DIR:-target}/release/inbox-bench
