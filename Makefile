# contend in two commands: `make demo` runs the main job, `make test` runs every test.
# Both set up what they need first. `make help` lists the rest.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUST_SOURCES := Cargo.toml Cargo.lock $(shell find load -path load/fuzz -prune -o -type f -print 2>/dev/null)
export PATH := $(CURDIR)/$(BIN):$(PATH)
# What Python has compiled is kept: pytest rewrites every assertion, in each of its processes.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help
help: ## list the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' Makefile | expand -t 18

.PHONY: setup
setup: $(VENV)/.programs ## make .venv with both programs in it, and see that a server can be had
	@$(BIN)/contend server get mariadb --if-missing

$(VENV)/.programs: extras := [dev,docs,export,hosts,images,serve]
$(VENV)/.programs $(VENV)/.demo: pyproject.toml $(RUST_SOURCES)
	@PYTHON="$(PYTHON)" tools/prerequisites
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "contend: building contend-load and installing both programs in $(VENV) (some minutes the first time)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.$(extras)'
	@touch $@

# Without the extras the first demo comes half a minute sooner; where they are, they stay up to date.
.PHONY: demo
demo: $(or $(wildcard $(VENV)/.programs),$(VENV)/.demo) ## the main job: does splitting the key cache mutex help? (about two minutes; DEMO= for the whole default)
	@$(BIN)/contend server get mariadb --if-missing
	$(BIN)/contend run segmented-key-cache $(DEMO) --yes

DEMO ?= --quick

.PHONY: test
test: setup test-needs test-built ## set up, run all tests, say how long they took (some minutes)
	@trap 'printf "contend: the tests took %d min %d s after set-up\n" $$((SECONDS / 60)) $$((SECONDS % 60))' EXIT; \
	$(MAKE) --no-print-directory --jobs=2 test-rust-beside test-python

.PHONY: test-needs
test-needs: setup ## get what only the tests need: newer servers, sysbench, a browser
	@$(BIN)/python tools/test_needs.py

.PHONY: test-built
test-built: ## compile the tests of contend-load
	@cargo test --quiet --locked --no-run

# Most of these tests wait most of their time, so more of them run at once than there are CPUs.
.PHONY: test-rust
test-rust: ## the tests of contend-load
	cargo test --locked --no-fail-fast -- --test-threads=8

.PHONY: test-rust-beside
test-rust-beside:
	@mkdir -p build; code=0; \
	$(MAKE) --no-print-directory test-rust > build/test-rust.log 2>&1 || code=$$?; \
	cat build/test-rust.log; exit $$code

.PHONY: test-python
test-python: setup test-built ## the tests of the lab: unit, golden, repo, server
	$(BIN)/python -m pytest --numprocesses=auto --dist=loadscope || { \
	  [ $$? = 1 ] && echo "contend: what failed runs once more, alone; both outcomes are to be read" && \
	  $(BIN)/python -m pytest --last-failed --last-failed-no-failures=none; }

.PHONY: test-long
test-long: setup test-needs ## fuzzing, instruction records, a soak, trust (half an hour); keeps what it found
	@$(BIN)/python tools/test_long.py

.PHONY: trust
trust: setup ## count false claims from recorded servers and live; records what is missing (three hours)
	@$(BIN)/python bench/trust.py

.PHONY: lint
lint: setup ## formatters, linters and type checkers; changes nothing
	cargo fmt --check
	cargo clippy --locked --all-targets -- -D warnings
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy

.PHONY: format
format: setup ## format all code in place
	cargo fmt
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

.PHONY: bench
bench: setup test-needs ## contend-load against its peers and the floor; prints one table (half an hour)
	$(BIN)/python bench/peers_table.py

.PHONY: docs
docs: setup ## build the site of all pages into build/docs; a broken link stops it
	$(BIN)/python -m sphinx -W --keep-going -q -c docs . build/docs
	@echo "build/docs/index.html"

.PHONY: man
man: setup ## write the manual page, build/man/contend.1, from the help of all commands
	@mkdir -p build/man
	@$(BIN)/python tools/man_page.py build/man/contend.1
	@echo "man -l build/man/contend.1"

.PHONY: wheel
wheel: setup ## pack the contend-load of .venv into a wheel in dist, for systems as new as this one
	@$(BIN)/python tools/wheels here

.PHONY: wheels
wheels: setup ## build the wheels for x86-64 and aarch64 into dist (many minutes)
	@$(BIN)/python tools/wheels

.PHONY: clean
clean: ## remove what was built here (got servers and datasets stay in the user's cache)
	rm -rf $(VENV) target build
