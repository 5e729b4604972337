# PYTHON is the interpreter for the virtual environment.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

# Without it, each of the hundreds of processes of the tests would compile what it imports.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: serve test test-all chaos check coverage bench release clean help

help:            ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

serve: $(VENV)/.run   ## run the service on http://127.0.0.1:8360, or PORT=9000, with a private Redis
	@exec $(BIN)/footfall serve

test: $(VENV)/.test   ## run each test once; skipped tests are listed at the end
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder $(ARGS)

test-all: $(VENV)/.test ## run all tests on every server, with every client and fault
	@TEST_ALL=1 $(MAKE) --no-print-directory test ARGS='$(ARGS)'

chaos: $(VENV)/.test  ## break what the service depends on, under load; writes docs/faults.md
	$(BIN)/python -m tests.chaos $(ARGS)

check: $(VENV)/.check ## ruff and mypy --strict
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

coverage: $(VENV)/.check ## run the tests, and list lines and branches without one
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -n auto --dist loadfile --no-loadscope-reorder $(ARGS)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

bench: $(VENV)/.bench ## measure this service and its peers side by side; bench/README.md
	@bench/install.sh
	$(BIN)/python -m bench.run $(ARGS)

release: $(VENV)/.release ## build a clean checkout, try it, list its contents, tag it
	@PATH="$(abspath $(BIN)):$$PATH" .ci/release

clean:           ## remove everything that these targets made, except the data
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .cache dist

say = { echo $(1) >&2; exit 1; }

# Without ensurepip Debian's Python would leave an environment that has no pip.
$(BIN)/python:
	@command -v $(PYTHON) >/dev/null || $(call say,"$(PYTHON) was not found: set PYTHON= to a Python 3.11 or newer")
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  $(call say,"Footfall needs Python 3.11 or newer: set PYTHON= to one")
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  $(call say,"$(PYTHON) cannot create virtual environments. On Debian: apt install python3-venv")
	$(PYTHON) -m venv $(VENV)

# Groups of dependencies are known to pip from 25.1 on; an environment may have come with an older one.
pip = $(BIN)/python -m pip install --quiet --disable-pip-version-check
install = @echo "Installing into $(VENV)" && $(pip) 'pip>=25.1' && $(pip) -e
or_say  = || $(call say,"pip says above why not. It needs a package index. If $(VENV) is broken: make clean")

$(VENV)/.run: $(BIN)/python pyproject.toml
	$(install) . $(or_say)
	@touch $@

# What checks and tests is named by version and hash, so that only a commit changes what it says.
# deploy/renew.sh renews the lock files. Our own package is built by the hatchling that they name.
locked  = @echo "Installing into $(VENV)" && $(pip) --require-hashes -r requirements/$(1).lock && \
          $(pip) --no-deps --no-build-isolation -e . $(or_say)

$(VENV)/.test: $(BIN)/python pyproject.toml requirements/test.lock
	$(call locked,test)
	@touch $@ $(VENV)/.run

$(VENV)/.check: $(BIN)/python pyproject.toml requirements/check.lock
	$(call locked,check)
	@touch $@ $(VENV)/.test $(VENV)/.run

$(VENV)/.release: $(BIN)/python pyproject.toml
	$(install) . --group release $(or_say)
	@touch $@ $(VENV)/.run

$(VENV)/.bench: $(BIN)/python pyproject.toml
	$(install) . --group bench $(or_say)
	@touch $@ $(VENV)/.run
