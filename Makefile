# Every target sets up .venv by itself when requirements.lock or pyproject.toml changed. Needs Python >= 3.11 and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test test-slow test-gpu test-browser test-all check format bench bench-gpu docs clean help

help: ## what there is to run
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

$(STAMP): requirements.lock pyproject.toml
	@echo "== setting up $(VENV) from requirements.lock (a few minutes the first time)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "orda needs Python >= 3.11; this is $$($(PYTHON) --version). Set PYTHON=/path/to/python3.11"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $@
	@echo "== $(VENV) is ready"

demo: $(STAMP) ## the main job on embedded data
	@echo "== orda demo"
	@$(BIN)/orda demo

test: $(STAMP) ## the fast tests
	@echo "== pytest (slow and GPU tests have targets of their own)"
	@$(BIN)/python -m pytest -q

test-slow: $(STAMP) ## tests that take minutes
	@$(BIN)/python -m pytest -q -m slow --timeout 3600

test-gpu: $(STAMP) ## tests that need a CUDA device
	@$(BIN)/python -m pytest -q -m gpu

test-browser: $(STAMP) ## the report in headless Chromium (Debian: apt-get install chromium)
	@$(BIN)/python -m pytest -q -m slow tests/experiments/report/test_browser.py

check: $(STAMP) ## lint, format, types, import layers
	@echo "== ruff, mypy, import layers"
	@$(BIN)/ruff check src tests benchmarks docs
	@$(BIN)/ruff format --check src tests benchmarks docs
	@$(BIN)/mypy
	@$(BIN)/python -m pytest -q tests/test_layers.py tests/test_public.py

format: $(STAMP) ## let ruff put things in order
	@$(BIN)/ruff check --fix src tests benchmarks docs
	@$(BIN)/ruff format src tests benchmarks docs

bench: $(STAMP) ## speed side by side with literal code (minutes)
	@$(BIN)/orda bench

bench-gpu: $(STAMP) ## how far a CUDA device is from where it should be
	@$(BIN)/python benchmarks/gpu.py --device cuda

docs: $(STAMP) ## the documentation site, in site/
	@$(BIN)/mkdocs build --strict

clean: ## remove what was built (not .venv)
	@rm -rf build dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
