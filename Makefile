# Two commands do everything: `make demo` and `make test`. Both set up first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# uv itself, in a small environment of its own when it is not on the PATH.
UV := $(shell command -v uv 2>/dev/null || echo .uv/bin/uv)
UV_PYTHON := $(shell for v in 3.11 3.12; do command -v python$$v >/dev/null 2>&1 && python$$v -c '' 2>/dev/null && echo $$v && break; done)

.PHONY: setup demo sets test lint types check format lock clean

setup: $(VENV)/.ready

$(VENV)/.ready: requirements.lock pyproject.toml | $(if $(filter .uv/bin/uv,$(UV)),.uv/bin/uv)
	$(UV) venv --quiet --allow-existing --python $(or $(UV_PYTHON),3.11) $(VENV)
	$(UV) pip sync --quiet --require-hashes --python $(BIN)/python requirements.lock
	$(UV) pip install --quiet --no-deps --python $(BIN)/python --editable .
	@touch $@

.uv/bin/uv:
	$(PYTHON) -m venv .uv
	.uv/bin/python -m pip install --quiet --disable-pip-version-check 'uv>=0.9'

demo: setup
	$(BIN)/deixis demo --out runs/demo

# The clips that the README's tables are about: one half to tune on, one to report on.
SETS ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/deixis/sets
sets: setup
	$(BIN)/deixis synth --out $(SETS)/tune --clips 60 --seed 1 --difficulty easy,real,hard
	$(BIN)/deixis synth --out $(SETS)/report --clips 60 --seed 2 --difficulty easy,real,hard

# Tests that need real media beside the checkout, or Chromium, skip with the reason without them.
# Those that stream at their true pace come last, with the machine to themselves.
test: setup
	$(BIN)/python -m pytest -q -rs -n 2 --dist loadfile -m 'not realtime'
	$(BIN)/python -m pytest -q -rs -m realtime

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup
	$(BIN)/mypy

check: lint types test

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The lock names versions and hashes, and no server.
lock: | $(if $(filter .uv/bin/uv,$(UV)),.uv/bin/uv)
	$(UV) pip compile --quiet --universal --generate-hashes --no-annotate --no-header \
		--python-version 3.11 --group dev pyproject.toml --output-file requirements.lock

clean:
	rm -rf $(VENV) .uv .mypy_cache .ruff_cache .pytest_cache .hypothesis
