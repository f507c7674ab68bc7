# Every command of this project; `make help` lists them. Hooks and CI call these targets too.

# The first Python that is new enough; PYTHON=... chooses another.
ifndef PYTHON
PYTHON := $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& echo $$python && exit; done; echo python3)
endif
VENV := .venv
BIN := $(VENV)/bin
# Stamps live in the environment: what goes with it is made anew with it.
STAMPS := $(VENV)/stamps
RUST_SOURCES := $(shell find rust -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock
STUBTEST_MODULES := toolbudget._core._native
COVERAGE := build/coverage
BENCH_RESULTS := build/bench.json
TOKEN_ERROR := build/token-error
# The whole suite runs on all processors; a single test is run with `.venv/bin/pytest PATH`.
PYTEST_ALL := -n auto
# Cargo tools that are built once are kept where cargo keeps its own.
CARGO_DENY_VERSION := 0.20.2
# 64-bit ARM on a machine of another kind: what links, and what runs the outcome.
ARM_TARGET := aarch64-unknown-linux-gnu
ARM_LINKER := aarch64-linux-gnu-gcc
ARM_RUNNER := qemu-aarch64 -L /usr/aarch64-linux-gnu

export VIRTUAL_ENV := $(CURDIR)/$(VENV)
# One interpreter for every cargo command, so that none rebuilds what another one built.
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_QUIET := 1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:

##@ Start here

.PHONY: help
help: ## List the targets
	@awk 'BEGIN { FS = ":.*## " } \
		/^##@ / { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z-]+:.*## / { printf "  %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: require-cargo $(STAMPS)/native-dev ## Make the environment: tools, dependencies, the package itself

.PHONY: demo
demo: setup ## Store and replace the large results of an example session
	rm -rf build/demo
	$(BIN)/toolbudget apply examples/session.jsonl --root build/demo

.PHONY: demo-agent
demo-agent: setup ## Run an agent offline for 30 turns over this repository, killed and resumed in the middle
	$(BIN)/python examples/agent.py

.PHONY: test
test: test-rust test-python ## Run every test, on both cores

##@ Tests

.PHONY: test-rust
test-rust: require-cargo ## Run the tests and examples of the Rust core
	@if cargo nextest --version >/dev/null 2>&1; \
	then cargo nextest run --locked; \
	else echo "cargo-nextest is not installed: running cargo test"; cargo test --locked --lib; fi
	cargo test --locked --doc

.PHONY: test-neon
test-neon: export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER = $(ARM_LINKER)
test-neon: export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER = $(ARM_RUNNER)
test-neon: require-cargo require-arm ## Lint and test the Rust core for 64-bit ARM, under an emulator (see CONTRIBUTING.md)
	cargo clippy --locked --package toolbudget-core --all-targets --target $(ARM_TARGET) -- --deny warnings
	cargo test --locked --package toolbudget-core --target $(ARM_TARGET)

.PHONY: test-python
test-python: test-native-core test-pure-core ## Run the whole Python suite, once with each core

.PHONY: test-native-core
test-native-core: setup ## Run the Python suite with the native core; no silent fall-back
	TOOLBUDGET_CORE=native $(BIN)/pytest $(PYTEST_ALL)

.PHONY: test-pure-core
test-pure-core: setup ## Run the Python suite with the pure core; tests/core takes both, and ran before
	TOOLBUDGET_CORE=python $(BIN)/pytest $(PYTEST_ALL) --ignore=tests/core

.PHONY: coverage
coverage: setup ## Measure the branches that the Python suite runs; fail below the bound
	rm -rf $(COVERAGE)
	TOOLBUDGET_CORE=native $(BIN)/coverage run -m pytest $(PYTEST_ALL)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

.PHONY: faults
faults: setup ## Break what it stands on: kills, full disks, power cuts (minutes)
	$(BIN)/python -m tests.faults

.PHONY: soak
soak: setup ## The same for a release (an hour; see CONTRIBUTING.md)
	$(BIN)/python -m tests.faults --scale soak

.PHONY: docs-test
docs-test: setup ## Run the examples of the docstrings, the README and the other documents
	$(BIN)/pytest --doctest-modules -p tests.doctest_sandbox python
	$(BIN)/pytest tests/meta/test_documents.py

.PHONY: bench
bench: $(STAMPS)/native-release ## Measure the release build beside the pure core; write benches/RESULTS.md
	mkdir -p build
	$(BIN)/pytest benches --benchmark-json=$(BENCH_RESULTS) \
		--benchmark-group-by=group --benchmark-columns=min,median,stddev,rounds
	$(BIN)/python -m benches.report $(BENCH_RESULTS) benches/RESULTS.md

.PHONY: bench-peers
bench-peers: $(STAMPS)/native-release ## Measure other libraries on the same work; write benches/RESULTS-peers.md
	$(BIN)/python -m benches.peers benches/RESULTS-peers.md

.PHONY: token-error
token-error: $(STAMPS)/native-release $(TOKEN_ERROR)/bin/python ## Measure estimates of tokens on TOOLBUDGET_CORPUS; write docs/tokens.md
	PYTHONPATH=python $(TOKEN_ERROR)/bin/python -m benches.token_error docs/tokens.md

$(TOKEN_ERROR)/bin/python: pyproject.toml
	$(PYTHON) -m venv --clear $(TOKEN_ERROR)
	$@ -m pip install 'pip>=25.1'
	$@ -m pip install --group token-error
	touch $@

.PHONY: instructions
instructions: $(STAMPS)/native-release ## Count the instructions of fixed calls under valgrind, against bounds
	$(BIN)/python -m benches.instructions
	$(BIN)/python -m benches.growth

##@ Checks

.PHONY: check
check: lint types layers test docs-test deny ## Run all that a change must pass

.PHONY: format
format: $(STAMPS)/tools ## Format the Python and Rust sources
	$(BIN)/ruff check --fix --exit-zero --quiet
	$(BIN)/ruff format
	cargo fmt --all

.PHONY: lint
lint: setup ## Check format and lints of the Python and Rust sources
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets --all-features -- --deny warnings

.PHONY: types
types: setup ## Check the types, and the stub of the native core against the binary
	$(BIN)/mypy
	$(BIN)/stubtest $(STUBTEST_MODULES)

.PHONY: layers
layers: $(STAMPS)/tools ## Check that upper layers import lower ones only
	$(BIN)/lint-imports

.PHONY: deny
deny: require-cargo ## Check licences, bans and sources of the Rust dependencies (installs cargo-deny)
	@cargo deny --version >/dev/null 2>&1 \
		|| cargo install --locked cargo-deny --version $(CARGO_DENY_VERSION)
	cargo deny --locked --workspace --all-features check licenses bans sources

##@ Packaging

.PHONY: wheel
wheel: $(STAMPS)/tools ## Build the wheel, assert its tag, install it in a clean environment, use it
	rm -rf build/wheel
	$(BIN)/maturin build --release --locked --out build/wheel
	$(BIN)/python tests/meta/check_wheel.py build/wheel

.PHONY: clean
clean: ## Remove everything that was built, the environment too
	rm -rf $(VENV) build dist target .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find python -name '*.so' -delete

# The tools and dependencies; the newer pip is the first that knows dependency groups.
$(STAMPS)/tools: pyproject.toml | require-python
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install 'pip==26.3'
	$(BIN)/python -m pip install --group dev
	mkdir -p $(STAMPS)
	touch $@

# Tests run on a build that is made quickly, benches on the one that is shipped. Both have the same
# place in the source tree, so each undoes the other's stamp.
$(STAMPS)/native-dev: $(STAMPS)/tools $(RUST_SOURCES) | require-cargo
	rm -f $(STAMPS)/native-release
	$(BIN)/maturin develop --locked --quiet
	touch $@

$(STAMPS)/native-release: $(STAMPS)/tools $(RUST_SOURCES) | require-cargo
	rm -f $(STAMPS)/native-dev
	$(BIN)/maturin develop --locked --quiet --release
	touch $@

.PHONY: require-python
require-python:
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "Python 3.11 or newer is needed; \"$(PYTHON)\" is not." \
		"PYTHON=/path/to/python3 chooses another." >&2; exit 1; }

.PHONY: require-cargo
require-cargo:
	@command -v cargo >/dev/null || { echo "cargo is needed: install Rust 1.91 or newer" \
		"(https://rustup.rs); if it is installed, open a new shell or run: . ~/.cargo/env" >&2; exit 1; }

# All that is missing is said at once.
.PHONY: require-arm
require-arm:
	@missing=; \
	set -- "$$(rustc --print target-libdir --target $(ARM_TARGET))"/libstd-*.rlib; \
	test -e "$$1" || missing="$$missing\n- the standard library of $(ARM_TARGET): rustup target add $(ARM_TARGET)"; \
	command -v $(firstword $(ARM_LINKER)) >/dev/null || missing="$$missing\n- $(firstword $(ARM_LINKER)): Debian has\
 it in gcc-aarch64-linux-gnu, and its C library in libc6-dev-arm64-cross; ARM_LINKER=... names another linker"; \
	command -v $(firstword $(ARM_RUNNER)) >/dev/null || missing="$$missing\n- $(firstword $(ARM_RUNNER)): Debian has\
 it in qemu-user; ARM_RUNNER=... names another emulator"; \
	test -z "$$missing" || { printf "64-bit ARM cannot be tested here; missing:%b\n" "$$missing" >&2; exit 1; }
