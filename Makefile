# What can be done with this folder. Python 3.11 or newer with venv and pip is all it needs: each target
# sets up .venv by itself, from the lock files alone, and again whenever they change.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test lint format bench lock clean force

# No setting of one's own shell or pip sends packages, or Python's eyes, elsewhere than to .venv.
unexport PYTHONHOME PYTHONPATH PYTHONSAFEPATH PIP_CONSTRAINT PIP_PREFIX PIP_ROOT PIP_TARGET
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_DEPS := 0
export PIP_NO_INPUT := 1
export PIP_REQUIRE_HASHES := 0
export PIP_REQUIRE_VIRTUALENV := 0
export PIP_USER := 0

PYTHON := python3.13 python3.12 python3.11 python3 python
VENV_PYTHON := .venv/bin/python
INSTALL := $(VENV_PYTHON) -m pip install --quiet
COMPILE := .venv/bin/uv pip compile --quiet --upgrade --universal --fork-strategy fewest \
	--python-version 3.11 --generate-hashes --no-header --annotation-style line

help: ## print this list
	@sed -n 's/^\([a-z]*\):.*## /  make \1	/p' Makefile | expand -t 16

demo: .venv/runtime ## run the trace of a real GPU cluster, and ask why a gang had to wait
	@$(VENV_PYTHON) -m examples.demo

test: lint ## check everything: style, types, imports, tests; ARGS=-x goes to pytest
	$(VENV_PYTHON) -m pytest --numprocesses=auto --dist=worksteal $(ARGS)

lint: .venv/dev ## check style, types and imports only
	$(VENV_PYTHON) -m ruff check .
	$(VENV_PYTHON) -m ruff format --check .
	$(VENV_PYTHON) -m mypy
	.venv/bin/lint-imports --no-logo

format: .venv/dev ## rewrite the code in the style that lint checks
	$(VENV_PYTHON) -m ruff check --fix .
	$(VENV_PYTHON) -m ruff format .

bench: .venv/dev ## measure; ONLY=fold measures one thing
	@$(VENV_PYTHON) -m benchmarks $(ONLY)

lock: .venv/lock ## move the lock files to the newest that pyproject.toml allows
	$(COMPILE) pyproject.toml --group dev --output-file requirements/dev.lock
	$(COMPILE) pyproject.toml --group build --constraint requirements/dev.lock \
		--output-file requirements/runtime.lock
	$(COMPILE) --group pyproject.toml:lock --output-file requirements/lock.lock

clean: ## remove what set-up and tools have made
	rm -rf .venv build dist *.egg-info
	rm -rf .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A .venv that was copied here, or whose Python is gone, is made anew.
PLACE := $(shell $(VENV_PYTHON) -c 'import sys' 2>/dev/null && cat .venv/place 2>/dev/null)
ifneq "$(PLACE)" "$(CURDIR)"
.venv/place: force
endif
.venv/place:
	@for python in $(PYTHON); do \
	  "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && found="$$python" && break; \
	done; \
	test -n "$$found" || { \
	  echo 'ganger needs Python 3.11 or newer: none of "$(PYTHON)" is. make PYTHON=... names another.' >&2; exit 1; }; \
	"$$found" -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "ganger needs venv and pip: $$found lacks them. On Debian and Ubuntu, install python3-venv." >&2; exit 1; }; \
	echo "Setting up .venv with $$("$$found" --version); once, for about a minute" >&2; \
	"$$found" -m venv --clear .venv
	@pwd -P > $@

.venv/runtime: .venv/place requirements/runtime.lock pyproject.toml
	@$(INSTALL) --require-hashes --requirement requirements/runtime.lock
	@PYTHONWARNINGS=ignore $(INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

.venv/dev: .venv/runtime requirements/dev.lock
	@$(INSTALL) --require-hashes --requirement requirements/dev.lock
	@touch $@

.venv/lock: .venv/place requirements/lock.lock
	@$(INSTALL) --require-hashes --requirement requirements/lock.lock
	@touch $@
