# One verb a task. PYTHON names the interpreter the virtual environment is made from.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

# Without it, each of the hundreds of processes of the tests would compile what it imports.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: serve test test-all chaos check coverage bench release clean help

help:            ## list the verbs
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

serve: $(VENV)/.run   ## run the service on http://127.0.0.1:8360, or PORT=9000, with a private Redis
	@exec $(BIN)/footfall serve

test: $(VENV)/.test   ## every tier of tests, each test once; what is left out says so at the end
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder $(ARGS)

test-all: $(VENV)/.test ## the same on every server, with every client, with every fault; CI runs it weekly
	@TEST_ALL=1 $(MAKE) --no-print-directory test ARGS='$(ARGS)'

chaos: $(VENV)/.test  ## break everything that can break, under load; writes docs/faults.md
	$(BIN)/python -m tests.chaos $(ARGS)

check: $(VENV)/.check ## ruff and mypy --strict
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

coverage: $(VENV)/.check ## make test, and which lines and branches no test came to
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -n auto --dist loadfile --no-loadscope-reorder $(ARGS)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

bench: $(VENV)/.bench ## measure this service and its peers side by side; bench/README.md
	@bench/install.sh
	$(BIN)/python -m bench.run $(ARGS)

release: $(VENV)/.release ## build a clean checkout, try it in environments of its own, list what is in it, tag it
	@PATH="$(abspath $(BIN)):$$PATH" .ci/release

clean:           ## remove what the verbs above made, but never the data
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .cache dist

say = { echo $(1) >&2; exit 1; }

# Without ensurepip Debian's Python would leave an environment that has no pip.
$(BIN)/python:
	@command -v $(PYTHON) >/dev/null || $(call say,"There is no $(PYTHON): name a Python from 3.11 on with PYTHON=")
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  $(call say,"Footfall needs Python 3.11 or newer: name one with PYTHON=")
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  $(call say,"$(PYTHON) cannot make virtual environments. On Debian: apt install python3-venv")
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
