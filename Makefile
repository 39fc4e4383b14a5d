# Development commands. `make up` and `make test` install everything they need on a fresh machine.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUNTIME := $(VENV)/.runtime
DEV := $(VENV)/.dev

.PHONY: help up check test deepscan lint types fmt bench docs lock clean

help:  ## list the commands
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

up: $(RUNTIME)  ## start everything on this machine and print the address
	@exec $(BIN)/assay up

# More processes than cores: many of these tests wait for the database.
check: $(DEV)  ## lint, check types, and run the tests that start no browser and no process of Assay
	@$(MAKE) --no-print-directory --jobs=3 --output-sync lint types quick

.PHONY: quick
quick: $(DEV)
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 4 -m "not process and not browser" $(ARGS)

# Bytecode is cached even if PYTHONDONTWRITEBYTECODE is set, because the tests start hundreds of processes.
test:  ## run all tests
	@$(MAKE) --no-print-directory --jobs=2 $(DEV) deepscan
	@$(BIN)/python -m tests.support.chromium
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 3 $(ARGS)

deepscan: $(RUNTIME)  ## install the external scan tools next to Assay
	$(BIN)/assay scan-node --install

lint: $(DEV)  ## run ruff and check import contracts, spelling and prose
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/codespell
	$(BIN)/python tools/check_prose.py

types: $(DEV)  ## run mypy in strict mode
	$(BIN)/mypy

fmt: $(DEV)  ## format the code and apply automatic fixes
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(DEV)  ## run the benchmarks and write benchmarks/results.json
	$(BIN)/python -m benchmarks $(ARGS)

docs: $(DEV)  ## regenerate the generated parts of docs/
	$(BIN)/python -m docs.generate

lock:  ## update the lock files (names, versions and hashes only)
	echo pip | uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate -q - -o requirements-pip.lock
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header -q --extra build pyproject.toml -o requirements.lock
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header -q --extra build --extra dev -c requirements.lock pyproject.toml -o requirements-dev.lock
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header -q src/assay/deepscan/requirements.in -o src/assay/deepscan/requirements.lock

clean:  ## remove the virtual environment
	rm -rf $(VENV)

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Assay needs Python 3.11 or newer; set PYTHON=")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements-pip.lock

$(RUNTIME): requirements.lock pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

$(DEV): requirements-dev.lock $(RUNTIME)
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	@touch $@
