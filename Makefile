# make demo | test | check | bench | setup. Each makes the environment in .venv first, if it is not there yet.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: setup demo test check format bench clean

setup: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "equipoise needs Python 3.11 or later; give one with: make PYTHON=/path/to/python3" >&2; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || \
		{ echo "cannot make $(VENV); on Debian: apt install python3-venv" >&2; exit 2; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

demo: setup
	@rm -rf demo && mkdir demo
	$(BIN)/equipoise solve leduc_poker --iterations 3000 --out demo/leduc
	$(BIN)/equipoise show demo/leduc --player 0 --limit 6
	$(BIN)/equipoise plot demo/leduc -o demo/leduc.png
	$(BIN)/equipoise solve leduc_poker --algorithm dncfr --set batch=2000 --iterations 100 --out demo/networks
	$(BIN)/equipoise solve leduc_poker --algorithm rs-mccfr+ --set rule=cfr_plus_quadratic --set k=max --set batch=2000 \
		--set updates=alternating --iterations 100 --out demo/table
	$(BIN)/equipoise plot demo/networks demo/table -o demo/networks-and-table.png

test: setup
	$(BIN)/python -m pytest -n 2
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -n 2 -m nojit

check: setup
	$(BIN)/ruff format --check src tests examples
	$(BIN)/ruff check src tests examples
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: setup
	$(BIN)/ruff format src tests examples
	$(BIN)/ruff check --fix src tests examples

bench: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[bench]'
	$(BIN)/equipoise bench tabular
	$(BIN)/equipoise bench sampling
	$(BIN)/equipoise bench neural

clean:
	rm -rf $(VENV) demo build dist
