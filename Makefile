# The two commands of the README, `make demo` and `make test`, set everything up by themselves.
PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt
USER := .venv/.user
READY := .venv/.ready
GOLDEN_REFERENCE := 8747d6f
REFERENCE_CHECKOUT := build/golden/$(GOLDEN_REFERENCE)
OLD ?= $(REFERENCE_CHECKOUT)

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow test-all check docs paper bench golden dist versions clean

help:  ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

$(USER): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(INSTALL) -e ".[plots]"
	touch $(USER)

$(READY): $(USER)
	$(INSTALL) -e ".[dev]"
	touch $(READY)

demo: $(USER)  ## check, fit and compare models on SUPPORT; writes a report and a calculator
	OMP_NUM_THREADS=1 $(BIN)/python examples/demo.py build/demo

test: $(READY)  ## the tests, without slow ones
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2

test-slow: $(READY)  ## tests with a browser, an engine, killed processes, all code of the pages
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 -m slow

test-all: test test-slow  ## both

check: $(READY)  ## style, types, import direction
	$(BIN)/ruff check src tests experiments benchmarks examples scripts docs/conf.py docs/_ext docs/figures
	$(BIN)/ruff format --check src tests experiments benchmarks examples scripts docs/conf.py docs/_ext docs/figures
	$(BIN)/mypy
	$(BIN)/python -m pytest tests/repository/test_layers.py

docs: $(READY)  ## the documentation site, to build/docs/index.html
	rm -rf docs/api/generated
	$(BIN)/sphinx-build -W --keep-going -q -b html docs build/docs

paper: $(READY)  ## a small version of the paper's experiment on SUPPORT
	OMP_NUM_THREADS=1 $(BIN)/python -m experiments support --quick --jobs 2 -o build/paper
	@echo "open build/paper/support-quick.html"

bench: $(READY)  ## timings as ratios, written to benchmarks/results
	$(BIN)/python -m benchmarks

$(REFERENCE_CHECKOUT):
	rm -rf $@.part && mkdir -p $@.part
	git archive $(GOLDEN_REFERENCE) src docs > $@.tar && tar -xf $@.tar -C $@.part && rm $@.tar
	mv $@.part $@

golden: $(READY) $(OLD)  ## results and public names beside those of the reference commit, or of OLD=<checkout>
	PYTHONPATH=tests $(BIN)/python -m references.golden $(OLD) . $(OPTIONS)

dist: $(READY)  ## source archive and wheel, to dist; the wheel tried in an empty environment
	rm -rf dist && $(BIN)/python -m hatchling build -d dist
	bash scripts/try_wheel.sh dist build/wheel

versions:  ## a part of the tests with the newest dependencies, and with Python 3.12 and 3.13
	bash scripts/other_versions.sh build/versions 3.12 3.13

clean:  ## remove what the other targets made
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
