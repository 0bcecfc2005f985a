# Two commands matter: `make run` and `make test`. Both need Python 3.11 or newer, nothing else.

PYTHON ?= python3
VENV ?= .venv
LISTEN ?=
CONFIG ?=
SEED ?= 0
SECONDS ?= 180
BIN := $(VENV)/bin

.PHONY: run test scale audit bench drill recordings pictures minimum lock format docs tools clean help

help:
	@echo "make run                        run the demo: simulated clouds and the exporter"
	@echo "make run CONFIG=my.yml          run the exporter on a configuration file"
	@echo "make run LISTEN=127.0.0.1:PORT  listen elsewhere"
	@echo "make test                       run every check and test but those of make scale"
	@echo "make scale                      run the tests that take minutes"
	@echo "make drill                      let simulated clouds fail in every way, for a few minutes"
	@echo "make audit                      ask for known vulnerabilities of what is installed"
	@echo "make bench                      measure; BENCH=--quick for a minute of it"
	@echo "make recordings                 record the input of the alerts' tests anew"
	@echo "make format                     format the code"
	@echo "make docs                       write the generated parts of docs/ anew"

run: $(VENV)/.installed
	@exec $(BIN)/gpu-cluster-exporter \
		$(if $(CONFIG),serve --config.file=$(CONFIG),demo) \
		$(if $(LISTEN),--web.listen-address=$(LISTEN))

test: $(VENV)/.installed-dev tools
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pip check --disable-pip-version-check
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not scale" --cov --cov-report=term --cov-fail-under=95

# What takes minutes: fleets of thousands, real scrapers. Not part of `make test`, but of .ci/run.
scale: $(VENV)/.installed-dev tools
	$(BIN)/python -m pytest -n 2 --dist worksteal -m scale

# Ratios on this machine, about 20 minutes; BENCH=--quick takes a minute. See docs/performance.md.
bench: $(VENV)/.installed-dev
	$(BIN)/python -m benchmarks $(BENCH)

# Asks for known vulnerabilities; fails where nobody can be asked.
audit: $(VENV)/.installed-dev
	$(BIN)/python -m pip freeze --exclude-editable > .audit.txt
	$(BIN)/pip-audit --strict --no-deps --disable-pip -r .audit.txt

# The real exporter against clouds that fail in every way; SEED and SECONDS may be given.
drill: $(VENV)/.installed-dev
	$(BIN)/python -m drill --seed $(SEED) --seconds $(SECONDS)

# The input of the alerts' unit tests, from drills on the real exporter.
recordings: $(VENV)/.installed-dev
	$(BIN)/python -m recordings

# Needs prometheus; about 4 minutes.
pictures: $(VENV)/.installed-dev
	$(BIN)/python -m boards.drawing

# The tests with the oldest dependencies that are allowed, about 5 minutes.
minimum: $(VENV)/.installed-dev
	@sh scripts/test-minimum.sh "$(PYTHON)"

# What the image installs, down to the hash of each file.
lock: $(VENV)/.installed-dev
	@sh scripts/lock.sh

format: $(VENV)/.installed-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(VENV)/.installed-dev
	$(BIN)/python -m boards
	$(BIN)/python scripts/metrics_reference.py > docs/metrics.md
	$(BIN)/python scripts/configuration_reference.py > docs/configuration.md
	$(BIN)/python scripts/deploy_files.py

# Tools that some tests need. Where they can't be installed, those tests say so and are skipped.
tools:
	@sh scripts/install-tools.sh

$(VENV)/bin/python:
	@sh scripts/make-venv.sh "$(PYTHON)" "$(VENV)"

$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@ $(VENV)/.installed

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage*
