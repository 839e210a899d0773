# Everything is set up on demand, so any target works in a fresh checkout and may be run again at any time.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OLMC := $(BIN)/olmc

# Touched after each installation: olmc alone, and olmc with the development tools.
INSTALLED := $(VENV)/.installed
INSTALLED_DEV := $(VENV)/.installed-dev

# A worker a core; one that has nothing left to do takes over what another has before it.
PARALLEL := -n auto --dist worksteal
# One more where tests wait for servers, browsers and other processes.
WAITING := -n $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1) --dist worksteal
ALL_EXAMPLES := --hypothesis-profile=all

# Tests start olmc hundreds of times; without compiled modules each start takes five times as long.
test test-all test-rest: export PYTHONPYCACHEPREFIX := $(CURDIR)/build/pycache
test test-all test-rest: export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help venv demo test test-all test-rest fuzz lint lint-copies lint-types lint-imports lint-words lint-style
.PHONY: conformance bench docs pictures pins sbom clean

help:  ## print this list
	@echo "olmc: what OLM would leave in the cluster, without a cluster"
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo "PYTHON=... chooses the interpreter for $(VENV) (now: $(PYTHON), 3.11 or newer is needed)."

venv: $(INSTALLED_DEV)  ## create .venv with olmc and the development tools
	@echo "ready: $(OLMC), $(BIN)/pytest"

demo: $(INSTALLED)  ## half a minute: a workspace, an upgrade that breaks something, why, and pages to open
	@set -e; show() { printf '\n$$ olmc %s\n' "$$*"; }; mkdir -p build; cd fixtures; \
	show status port; ../$(OLMC) status port || true; \
	show plan review-upgrade/after --from review-upgrade/before; \
	{ ../$(OLMC) plan review-upgrade/after --from review-upgrade/before || true; } | sed '/^ *$$/d; /(folded/d' | head -12; \
	show why gauge port; { ../$(OLMC) why gauge port || true; } | head -5; \
	show graph tide port -o svg; ../$(OLMC) graph tide port -o svg > ../build/tide.svg; echo '... build/tide.svg'; \
	show report port --output-dir build/demo; ../$(OLMC) report port --output-dir ../build/demo | sed 's|^../||'

test: $(INSTALLED_DEV)  ## run the fast tests, two or three minutes (CONTRIBUTING.md has the tiers)
	@$(BIN)/pytest $(PARALLEL) -m fast

test-all: $(INSTALLED_DEV)  ## run all tests, property tests with all of their examples
	@$(BIN)/pytest $(PARALLEL) $(ALL_EXAMPLES)

# After make test, for .ci/run: property tests run once more, since a share of their examples was drawn.
test-rest: $(INSTALLED_DEV)  ## run what test-all has and test has not
	@$(BIN)/pytest $(WAITING) $(ALL_EXAMPLES) -m 'not fast or hypothesis'

fuzz: $(INSTALLED_DEV)  ## feed olmc with changed inputs for MINUTES=n (5), a part of a long run by atheris if there is a wheel of it
	@$(BIN)/python -m pip install --quiet --only-binary :all: 'atheris>=3,<4' 2> /dev/null || echo "no wheel of atheris"
	@$(BIN)/python tests/fuzz/fuzz.py --minutes $(or $(MINUTES),5)

# The longest first, beside each other; where make can, it prints the output of each in one piece.
LINTS := lint-copies lint-types lint-imports lint-words lint-style
TOGETHER := --no-print-directory --keep-going --jobs=2 $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)

lint: $(INSTALLED_DEV)  ## run ruff, mypy, import-linter, pylint's search for copies, and the check of plain English
	@$(MAKE) $(TOGETHER) $(LINTS)

lint-copies:
	$(BIN)/pylint olmc

lint-types:
	$(BIN)/mypy

lint-imports:
	$(BIN)/lint-imports

lint-words:
	$(BIN)/python docs/words.py

lint-style:
	$(BIN)/ruff check
	$(BIN)/ruff format --check --quiet || { $(BIN)/ruff format --diff; exit 1; }

conformance: $(INSTALLED_DEV)  ## compare with what a real OLM did (needs OLMC_SHARED or ../shared)
	@$(BIN)/python tests/conformance/score.py --forked

# Each prints its figures, also after another one that misses a target. Some start olmc in other folders.
BENCHES := cold render diff graph plan "growth --seconds" "collection --packages 33" entries catalog

bench: $(INSTALLED)  ## measure the CPU time of the commands (some figures need OLMC_SHARED or ../shared)
	@$(BIN)/python bench/table.py --olmc $(CURDIR)/$(OLMC)
	@$(BIN)/python bench/fleet_table.py --olmc $(CURDIR)/$(OLMC)
	@missed=; for bench in $(BENCHES); do \
		set -- $$bench; script=bench/$$1.py; shift; \
		$(BIN)/python "$$script" "$$@" --olmc $(CURDIR)/$(OLMC) || missed="$$missed $$script"; \
	done; \
	$(BIN)/python bench/resolve.py || missed="$$missed bench/resolve.py"; \
	[ -z "$$missed" ] || { echo "Targets are missed in$$missed"; exit 1; }

sbom: $(INSTALLED)  ## write dist/olmc.cdx.json, a bill of materials; of an image on top of BASE=NAME@sha256:…
	@mkdir -p dist
	@$(BIN)/python .ci/bill_of_materials.py templates/requirements.txt $(BASE) > dist/olmc.cdx.json
	@echo dist/olmc.cdx.json

docs: $(INSTALLED_DEV)  ## build the docs as a site, build/site/index.html
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs --quiet build --strict --clean
	@echo "built: build/site/index.html (with its search: python3 -m http.server -d build/site)"

pictures: $(INSTALLED_DEV)  ## make the pictures of the docs again (needs Chromium)
	@$(BIN)/python docs/pictures.py --olmc $(OLMC)

pins: $(INSTALLED_DEV)  ## fetch all libraries and write their hashes to constraints.txt and templates/requirements.txt
	@set -e; wheels=$$(mktemp -d); trap 'rm -rf "$$wheels"' EXIT; \
	$(BIN)/python -c 'import tomllib; project = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
		print(*project["dependencies"], *project["optional-dependencies"]["cel"], sep="\n")' \
		> "$$wheels/needs.txt"; \
	for machine in x86_64 aarch64; do \
		$(BIN)/python -m pip download --quiet --only-binary :all: --python-version 3.13 --implementation cp \
			--abi cp313 --abi abi3 --abi none --platform "manylinux_2_28_$$machine" --platform "manylinux_2_24_$$machine" \
			--platform "manylinux2014_$$machine" --platform any --dest "$$wheels" --requirement "$$wheels/needs.txt"; \
	done; \
	$(BIN)/python -m olmc.integrations.pipelines.scaffolds "$$wheels" > "$$wheels/requirements.txt"; \
	mv "$$wheels/requirements.txt" templates/requirements.txt; \
	$(BIN)/python -m pip freeze --exclude-editable --exclude pip --exclude setuptools > "$$wheels/x86_64.txt"; \
	grep -v shellcheck "$$wheels/x86_64.txt" > "$$wheels/aarch64.txt"; \
	for version in 3.11.9 3.12.9 3.13.9; do \
		minor=$${version#3.}; minor=$${minor%.*}; \
		for machine in x86_64 aarch64; do \
			$(BIN)/python -m pip download --quiet --no-deps --only-binary :all: --python-version $$version \
				--implementation cp --abi cp3$$minor --abi abi3 --abi none \
				--platform "manylinux_2_28_$$machine" --platform "manylinux_2_24_$$machine" \
				--platform "manylinux_2_17_$$machine" --platform "manylinux2014_$$machine" --platform any \
				--dest "$$wheels/all" --requirement "$$wheels/$$machine.txt"; \
		done; \
	done; \
	$(BIN)/python -m olmc.integrations.pipelines.scaffolds --development "$$wheels/all" > "$$wheels/constraints.txt"; \
	mv "$$wheels/constraints.txt" constraints.txt

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

# Where there are no wheels of what constraints.txt pins (another Python, another system), what pyproject.toml allows.
$(INSTALLED_DEV): pyproject.toml constraints.txt | $(BIN)/python
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --only-binary :all: --require-hashes \
			--requirement constraints.txt \
		&& $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable . \
		|| { echo "constraints.txt does not fit here; installing what pyproject.toml allows" >&2; \
			$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'; }
	@touch $(INSTALLED) $@
