.PHONY: run test check bench docs sabotage build

build:
	cargo build --locked

check:
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps --document-private-items --quiet

test:
	cargo nextest run --locked --workspace

sabotage:
	scripts/sabotage
