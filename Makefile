# Every target creates .venv if it is missing. A new user needs `make demo` and `make test` only.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: demo test check docs bench bench-metrics soak browser format clean

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Expected Python 3.11 or newer; choose one with PYTHON=python3.12"; exit 2; }
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt torch
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev,embedded,quantization,bench,distributed,lexical,llm,radgraph]'
	@touch $(READY)

demo: $(READY)  ## generate training data, train, evaluate, score
	$(BIN)/python experiments/demo.py

test: $(READY) browser  ## all tests and doctests
	$(BIN)/pytest -n auto --dist worksteal

check: $(READY)  ## format, lint, types, documentation
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/mkdocs build --quiet

docs: $(READY)  ## the commented reference of all settings, and the site in build/site
	COLUMNS=120 $(BIN)/python -m radreward fit --criteria radcliq --print_config=comments > docs/fit.yaml
	$(BIN)/mkdocs build --quiet

bench: $(READY)  ## speed and memory compared with what people use today
	$(BIN)/python -m benchmarks

bench-metrics: $(READY)  ## compare every offline metric with known errors, on a page
	$(BIN)/python experiments/compare_metrics.py $(if $(RADREWARD_OPENI),--csv=$(RADREWARD_OPENI)/indiana_reports.csv)

soak: $(READY)  ## random kills and hostile reports, with counts; takes about an hour
	$(BIN)/python -m soak

browser:  # for the tests of HTML pages
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null || { \
		command -v apt-get >/dev/null || { echo "Expected chromium and chromedriver: the tests of HTML pages need them"; exit 2; }; \
		root=; [ "$$(id -u)" = 0 ] || root=sudo; \
		$$root apt-get update -qq && $$root apt-get install -qq -y --no-install-recommends chromium chromium-driver; }

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf .venv runs build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
