# Every target creates .venv if it is missing. A new user needs `make demo` and `make test` only.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
LOWEST_TESTS := tests/cli/test_fit.py tests/scorers tests/scoring/test_file_scoring.py tests/models tests/modules/test_reward.py \
	tests/modules/test_trainer.py tests/tuning/test_tune.py tests/tuning/test_study.py tests/meta_evaluation/test_benchmark.py \
	tests/data tests/io tests/llm tests/serving/test_service.py tests/statistics tests/systems/er2score tests/systems/ratescore/test_scorer.py tests/systems/sentence_eval/test_scorer.py

.PHONY: demo test check lowest release-check docs bench bench-metrics soak browser format clean

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Expected Python 3.11 or newer; choose one with PYTHON=python3.12"; exit 2; }
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --no-compile 'pip>=25'  # older ones take twice as long below
	$(BIN)/pip install --quiet --disable-pip-version-check --no-compile --constraint constraints.txt torch
	$(BIN)/pip install --quiet --disable-pip-version-check --no-compile --constraint constraints.txt --editable '.[all,dev,bench]'
	@touch $(READY)

COMPILED := .venv/.compiled
$(COMPILED): $(READY)  # otherwise every process of the tests compiles what it imports, at the same time
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -c 'import tests.preloaded'
	@touch $(COMPILED)

demo: $(READY)  ## generate training data, train, evaluate, score
	$(BIN)/python experiments/demo.py

test: $(COMPILED) browser  ## all tests and doctests
	$(BIN)/pytest -n auto --dist worksteal

check: $(READY)  ## format, lint, types; the tests build the documentation
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

lowest:  ## tests with the lowest versions of the direct dependencies, in an environment of its own
	$(PYTHON) -m venv build/lowest
	build/lowest/bin/pip install --quiet --disable-pip-version-check --constraint constraints-lowest.txt \
		'.[train,serve,lexical,llm,testing]' polars pytest-timeout pytest-xdist
	build/lowest/bin/pytest -n auto -o filterwarnings=default $(LOWEST_TESTS)

release-check:  ## build wheel and sdist, check their metadata, install and run the wheel outside the repository
	rm -rf build/release
	$(PYTHON) -m venv build/release/env
	build/release/env/bin/pip install --quiet --disable-pip-version-check build twine
	build/release/env/bin/python -m build --outdir build/release .
	build/release/env/bin/twine check --strict build/release/radreward-*
	build/release/env/bin/pip install --quiet --disable-pip-version-check --constraint constraints.txt torch
	cd build/release && env/bin/pip install --quiet --disable-pip-version-check "$$(ls radreward-*.whl)" && env/bin/pip check
	cd build/release && printf 'reference,candidate\nLeft pleural effusion.,Clear lungs.\n' > pairs.csv && \
		env/bin/radreward score --input pairs.csv --output scores.csv && cat scores.csv

docs: $(READY)  ## the commented reference of all settings, and the site in build/site
	COLUMNS=120 $(BIN)/python -m radreward fit --criteria radcliq --print_config=comments > docs/fit.yaml
	$(BIN)/python docs/notebook_pages.py
	$(BIN)/mkdocs build --quiet

bench: $(READY)  ## speed and memory compared with what people use today
	$(BIN)/python -m benchmarks

bench-metrics: $(READY)  ## compare every offline metric with known errors, on a page
	$(BIN)/python -m experiments.compare_metrics $(if $(RADREWARD_OPENI),--csv=$(RADREWARD_OPENI)/indiana_reports.csv)

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
