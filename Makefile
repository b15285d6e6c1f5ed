# Everything here works from a fresh clone with Python 3.11 or 3.12, pip and make: targets make .venv on first use.
PYTHON ?= python3
RECIPE ?= recipes/quickstart.yaml
RUN ?= runs/$(basename $(notdir $(RECIPE)))
TO ?= megatron,parquet
OUT ?= build/export
WORKERS ?=
ENGINE ?=

VENV := .venv
TONNAGE := $(VENV)/bin/tonnage
INSTALLED := $(VENV)/installed
INSTALLED_DEV := $(VENV)/installed-dev
INSTALLED_BENCH := $(VENV)/installed-bench
INSTALLED_TRAINERS := .venv-trainers/installed

.PHONY: setup run stats export test trainers lint bench clean

setup: $(INSTALLED)

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(0 if v in ((3, 11), (3, 12)) else "Tonnage needs Python 3.11 or 3.12, $(PYTHON) is %d.%d; call make PYTHON=python3.11" % v)'
	$(PYTHON) -m venv $(VENV)

$(INSTALLED): $(VENV)/bin/python pyproject.toml requirements.lock
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@

$(INSTALLED_DEV): $(INSTALLED) requirements-dev.lock
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.lock
	@touch $@

# Raw input that a recipe of ours names, fetched once and checked; a recipe of your own needs no such step.
data/%/fetched.json: recipes/fetch.py $(INSTALLED)
	$(VENV)/bin/python recipes/fetch.py $*

FETCHED := $(if $(filter recipes/quickstart.yaml recipes/web-and-code.yaml,$(RECIPE)),data/$(basename $(notdir $(RECIPE)))/fetched.json)

run: $(INSTALLED) $(FETCHED)
	$(TONNAGE) run $(RECIPE) --out $(RUN) $(if $(WORKERS),--workers $(WORKERS)) $(if $(ENGINE),--engine $(ENGINE))

stats: $(INSTALLED)
	$(TONNAGE) stats $(RUN)

export: $(INSTALLED)
	$(TONNAGE) export $(RUN) --to $(TO) --out $(OUT)

test: $(INSTALLED_DEV)
	$(VENV)/bin/python -m pytest --quiet --ignore=tests/trainers

# Exports opened by the trainers' own code, in an environment of about 1 GB of its own.
trainers: $(INSTALLED_DEV) $(INSTALLED_TRAINERS)
	$(VENV)/bin/python -m pytest --quiet tests/trainers

$(INSTALLED_TRAINERS): tests/trainers/requirements.txt
	$(PYTHON) -m venv .venv-trainers
	.venv-trainers/bin/python -m pip install --quiet --disable-pip-version-check -r tests/trainers/requirements.txt
	@touch $@

lint: $(INSTALLED_DEV)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

# The word splitter that datatrove ships with (spaCy) belongs to the measurement, so it is installed for it.
$(INSTALLED_BENCH): $(INSTALLED_DEV) requirements-bench.lock
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-bench.lock
	@touch $@

bench: $(INSTALLED_BENCH)
	$(VENV)/bin/python -m benchmarks

clean:
	rm -rf $(VENV) .venv-trainers runs data build
