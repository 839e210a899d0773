# Everything is set up on demand, so any target works in a fresh checkout and may be run again at any time.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OLMC := $(BIN)/olmc

# Touched after each installation: olmc alone, and olmc with the development tools.
INSTALLED := $(VENV)/.installed
INSTALLED_DEV := $(VENV)/.installed-dev

.DEFAULT_GOAL := help
.PHONY: help venv demo test lint conformance bench clean

help:  ## print this list
	@echo "olmc: what OLM would leave in the cluster, without a cluster"
	@echo
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo "PYTHON=... chooses the interpreter for $(VENV) (now: $(PYTHON), 3.11 or newer is needed)."

venv: $(INSTALLED_DEV)  ## create .venv with olmc and the development tools
	@echo "ready: $(OLMC), $(BIN)/pytest"

demo: $(INSTALLED)  ## install olmc into .venv and render a small workspace
	@echo '$$ olmc render fixtures/own-namespace -o name'
	@$(OLMC) render fixtures/own-namespace -o name
	@echo
	@echo '$$ olmc render fixtures/own-namespace --include Deployment'
	@$(OLMC) render fixtures/own-namespace --include Deployment
	@echo
	@echo "All of it: $(OLMC) render fixtures/own-namespace. More workspaces: fixtures/README.md."

test: $(INSTALLED_DEV)  ## run the tests
	@$(BIN)/pytest

lint: $(INSTALLED_DEV)  ## run ruff, mypy, import-linter and pylint's search for copies
	$(BIN)/ruff check
	$(BIN)/ruff format --check --quiet || { $(BIN)/ruff format --diff; exit 1; }
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pylint olmc

conformance: $(INSTALLED_DEV)  ## compare with what a real OLM did (needs OLMC_SHARED or ../shared)
	@$(BIN)/python tests/conformance/score.py --olmc $(OLMC)

bench: $(INSTALLED)  ## measure the CPU time of the commands (some figures need OLMC_SHARED or ../shared)
	@$(BIN)/python bench/render.py --olmc $(OLMC)
	@$(BIN)/python bench/diff.py --olmc $(OLMC)
	@$(BIN)/python bench/graph.py --olmc $(OLMC)
	@$(BIN)/python bench/plan.py --olmc $(OLMC)
	@$(BIN)/python bench/growth.py --olmc $(OLMC)
	@$(BIN)/python bench/resolve.py
	@$(BIN)/python bench/catalog.py --olmc $(OLMC)

clean:  ## remove .venv and everything that can be made again
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "olmc needs Python 3.11 or newer: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -m venv --clear $(VENV) || { rm -rf $(VENV); exit 1; }

$(INSTALLED): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(INSTALLED_DEV): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $(INSTALLED) $@
