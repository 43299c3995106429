.PHONY: run test check release bench docs sabotage build

build:
	cargo build --locked

check:
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps --document-private-items --quiet

test:
	cargo nextest run --locked --workspace

# The binary that is shipped. It is linked statically, which takes a fifth off the time of a command: no
# library is looked for, mapped and relocated. Only the last crate gets the flag, because procedural
# macros cannot be built with it.
release:
	cargo rustc --locked --release --package inbox --bin inbox -- $(STATIC)

ifeq ($(shell uname -s),Linux)
STATIC = -C target-feature=+crt-static
endif

# Measures the goals of speed beside the peers, and writes docs/reference/benchmarks.md. The peers come
# from PyPI into a folder under target/; the machine should be quiet.
bench: release
	cargo build --locked --release --bin inbox-bench
	$${CARGO_TARGET_DIR:-target}/release/inbox-bench
