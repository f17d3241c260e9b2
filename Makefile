# Everything that is done with this project, each from a clone and nothing else: a target installs what it needs
# into .venv, builds what changed and then runs. `make` alone lists them.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMPS := $(VENV)/stamps

# What the extension module is made of. Folders are among them, so that a deleted file is noticed too.
EXTENSION := python/ullage/_core.abi3.so
SOURCES   := $(shell find src -not -name '.*') $(wildcard Cargo.toml Cargo.lock build.rs pyproject.toml)
BENCHES   := $(sort $(wildcard benches/*.py))
PACKAGE   := $(shell find python -name '*.py' -o -name '*.pyi' -o -name py.typed) $(wildcard LICENSE* THIRD-PARTY.md README.md)

# What `make wheels` builds: the systems that zig links for. Wheels for Windows are built on Windows.
WHEEL_TARGETS ?= x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu x86_64-unknown-linux-musl aarch64-unknown-linux-musl \
	x86_64-apple-darwin aarch64-apple-darwin
# The free-threaded Python that each target gets a second wheel for, where this machine has one.
FREE_THREADED ?= $(if $(shell command -v python3.14t),python3.14t)

# Seconds that each target of `make fuzz` gets, and which targets.
FUZZ_SECONDS ?= 60
FUZZ_TARGETS ?= $(sort $(basename $(notdir $(wildcard fuzz/fuzz_targets/*.rs))))
# A kilobyte finds what a megabyte does, a thousand times as often; twenty seconds for one input is a fault.
FUZZ_OPTIONS := -max_len=4096 -len_control=20 -timeout=20 -print_final_stats=1

# On all cores, in any order.
PYTEST := $(BIN)/python -m pytest -n auto --dist worksteal
# maturin installs into the environment that is named here; a conda of the user's beside it would make it refuse.
export VIRTUAL_ENV := $(CURDIR)/$(VENV)
unexport CONDA_PREFIX
# Without bytecode on the disk, each process of the tests compiles them and the package again: 5 seconds each.
unexport PYTHONDONTWRITEBYTECODE
# Errors only, also from the pip that maturin calls: it warns of every dependency that is for another Python.
export PIP_QUIET := 2

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# cargo keeps all cores busy; two installs at once would damage the environment.
.NOTPARALLEL:

.PHONY: help
help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort \
		| while IFS="$$(printf '\t')" read -r name text; do printf '  make %-10s %s\n' "$$name" "$$text"; done

.PHONY: all
all: lint test ## Run every check: lint, then test

.PHONY: demo
demo: $(STAMPS)/extension $(STAMPS)/group-strands ## Show what the engine does for an agent
	$(BIN)/python -m demo --keep demo-output

# Drawn from a run of the demo here and now, so it changes with the project that is audited in it.
.PHONY: picture
picture: demo ## Draw the README's picture anew
	cp demo-output/context.svg docs/context.svg

.PHONY: demo-adk
demo-adk: $(STAMPS)/extension $(STAMPS)/group-adk ## Show it in Google's Agent Development Kit
	$(BIN)/python -m demo.adk

.PHONY: test
test: $(STAMPS)/extension $(STAMPS)/group-test ## Run the tests of both languages
	scripts/heartbeat.sh 'compiling the tests of the core' cargo test --no-run
	cargo test
	$(PYTEST)

.PHONY: test-hosts
test-hosts: $(STAMPS)/extension ## Test each adapter with its host, in an environment of its own (HOSTS="langchain ...")
	$(BIN)/python scripts/test_hosts.py $(HOSTS)

.PHONY: test-all
test-all: $(STAMPS)/extension $(STAMPS)/group-test ## Run the long tests too: thousands of turns, hundreds of kills
	ULLAGE_LONG_TESTS=1 cargo test
	$(PYTEST) -m 'not lint and not wheel' --hypothesis-profile=long

.PHONY: lint
lint: $(STAMPS)/extension $(STAMPS)/group-lint ## Check format, lints, types, workflows, and the stub against the module
	cargo fmt --check
	cargo clippy --all-targets -- -D warnings
	cargo clippy --all-targets --features python -- -D warnings
	cargo clippy --no-default-features -- -D warnings
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	@# How PyO3 lays out an object is no part of the stub.
	MYPYPATH=python $(BIN)/python -m mypy.stubtest --ignore-disjoint-bases ullage._core
	$(BIN)/python -m pytest -m lint
	$(BIN)/pyright --pythonpath $(BIN)/python tests/python/typed
	@# The workflows: expressions, runners and the shell in them, then their rights. shellcheck is found on the path.
	PATH="$(CURDIR)/$(BIN):$$PATH" jactionlint
	$(BIN)/zizmor --offline --quiet .github
	$(BIN)/shellcheck scripts/*.sh .ci/run

.PHONY: bench
bench: export ULLAGE_BENCH_RESULTS := $(CURDIR)/target/bench
bench: $(STAMPS)/wheel $(STAMPS)/group-bench $(STAMPS)/group-bench-hosts ## Measure the core and the package, and write docs/benchmarks.md
	@# The release profile takes the place of what `make build` has installed, which the next target installs again.
	rm -f $(STAMPS)/extension
	$(BIN)/maturin develop --release
	cargo bench --bench core
	rm -rf $(ULLAGE_BENCH_RESULTS)
	set -e; for bench in $(BENCHES); do $(BIN)/python $$bench; done
	$(BIN)/python scripts/benchmarks_page.py $(ULLAGE_BENCH_RESULTS)

.PHONY: docs
docs: $(STAMPS)/group-docs ## Build docs/ and the reference of the API as a site
	$(BIN)/zensical build --clean --strict
	@echo 'open site/index.html'

.PHONY: build
build: $(STAMPS)/extension ## Build the extension module and install it into .venv

.PHONY: wheel
wheel: $(STAMPS)/wheel ## Build a wheel and a source distribution into dist

.PHONY: test-wheel
test-wheel: $(STAMPS)/wheel $(STAMPS)/group-test ## Install the wheel in empty environments, with each extra (needs a network)
	$(BIN)/python -m pytest -m wheel
	$(BIN)/python scripts/try_wheel.py --local --extras dist/*.whl

# Everything for it lies apart, so that no other target builds again; only the extension is installed anew by the next.
.PHONY: coverage
coverage: export RUSTFLAGS := -C instrument-coverage
coverage: export CARGO_TARGET_DIR := $(CURDIR)/target/coverage
coverage: export LLVM_PROFILE_FILE := $(CURDIR)/coverage/%8m.profraw
coverage: $(STAMPS)/extension $(STAMPS)/group-coverage ## Report which lines of both languages the tests run, into coverage/
	rustup component add llvm-tools
	rm -rf coverage $(STAMPS)/extension
	mkdir coverage
	$(BIN)/maturin develop
	cargo test --test core
	$(PYTEST) --cov=ullage --cov-report=lcov:coverage/python.lcov
	$(BIN)/python scripts/coverage.py $(EXTENSION) $$(ls -t target/coverage/debug/deps/core-* | grep -v '\.d$$' | head -n 1)

.PHONY: wheels
wheels: $(STAMPS)/group-wheels ## Cross-compile the wheels of WHEEL_TARGETS with zig, check all, try those for this machine
	rustup target add $(WHEEL_TARGETS)
	rm -rf dist/wheels
	@# maturin finds zig on the path.
	set -e; for target in $(WHEEL_TARGETS); do \
		for python in '' $(FREE_THREADED); do \
			PATH="$(CURDIR)/$(BIN):$$PATH" scripts/heartbeat.sh "compiling for $$target $$python" $(BIN)/maturin build --release \
				--locked --zig --target $$target --out dist/wheels $${python:+--interpreter $$python}; \
		done; \
	done
	$(BIN)/python scripts/try_wheel.py dist/wheels/*.whl

.PHONY: fuzz
fuzz: ## Fuzz each target for FUZZ_SECONDS (needs a nightly compiler and cargo-fuzz)
	@cargo +nightly --version >/dev/null 2>&1 \
		|| { echo 'make fuzz needs a nightly compiler: rustup toolchain install nightly' >&2; exit 2; }
	@cargo fuzz --version >/dev/null 2>&1 \
		|| { echo 'make fuzz needs cargo-fuzz: cargo install cargo-fuzz --locked' >&2; exit 2; }
	cargo +nightly fuzz build
	@set -e; for target in $(FUZZ_TARGETS); do \
		seeds=fuzz/seeds/$$target; test -d $$seeds || seeds=; mkdir -p fuzz/corpus/$$target; \
		echo "fuzzing $$target for $(FUZZ_SECONDS) seconds"; \
		cargo +nightly fuzz run $$target fuzz/corpus/$$target $$seeds -- -max_total_time=$(FUZZ_SECONDS) $(FUZZ_OPTIONS); \
	done

.PHONY: api
api: $(STAMPS)/extension $(STAMPS)/group-test ## Write the snapshot of the public API anew, after a deliberate change
	$(BIN)/python -m tests.python.public_api > tests/python/public_api.new
	mv tests/python/public_api.new tests/python/public_api.txt

.PHONY: licences
licences: ## Write THIRD-PARTY.md anew, from what cargo links
	$(PYTHON) scripts/licences.py

.PHONY: fmt
fmt: $(STAMPS)/group-lint ## Format all source, sort imports
	cargo fmt
	$(BIN)/ruff check --select I --fix
	$(BIN)/ruff format

.PHONY: clean
clean: ## Remove everything that was built or installed
	rm -rf target dist coverage $(VENV) $(EXTENSION) demo-output site .cache .hypothesis .pytest_cache .mypy_cache .ruff_cache
	find python demo tests benches -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# A stamp is touched last, so what was interrupted is done again. They live inside the environment and go with it.

# pip 25.1 is the first that installs the groups of pyproject.toml.
$(STAMPS)/venv:
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 10) or sys.exit("ullage needs Python 3.10 or newer: make PYTHON=python3.x ...")'
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --upgrade 'pip>=25.1'
	@mkdir -p $(@D) && touch $@

$(STAMPS)/group-%: pyproject.toml $(STAMPS)/venv
	scripts/heartbeat.sh 'installing what `make $(or $(MAKECMDGOALS),help)` needs' $(BIN)/python -m pip install --group $*
	@touch $@

# An editable install: Python is used where it lies, and only a change in Rust builds again. Without the module
# itself the stamp means nothing, so then it is made whatever the stamp says.
$(STAMPS)/extension: $(SOURCES) $(STAMPS)/group-build $(if $(wildcard $(EXTENSION)),,missing-extension)
	scripts/heartbeat.sh 'compiling the core' $(BIN)/maturin develop
	@test -f $(EXTENSION)
	@touch $@

# What users get: the release profile, with fat LTO. Wheels of earlier versions would be tried in place of the new one.
$(STAMPS)/wheel: $(SOURCES) $(PACKAGE) $(STAMPS)/group-build
	rm -rf dist
	scripts/heartbeat.sh 'compiling the release' $(BIN)/maturin build --release --out dist
	$(BIN)/maturin sdist --out dist
	@touch $@

.PHONY: missing-extension
missing-extension:
