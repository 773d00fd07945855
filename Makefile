# make demo | test | test-elsewhere | fuzz | faults | check | docs | wheel | bench | setup. Each makes the environment in .venv first, if it is not there yet.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: setup demo test test-elsewhere fuzz faults check format docs wheel bench clean

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
	@echo "look at all of it in the browser: $(BIN)/equipoise serve demo"

test: setup
	$(BIN)/python -m pytest -n 2
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -n 2 -m nojit

# The numeric tests as older machines compute them: each setting here makes a library choose other instructions, and so
# other last bits (docs/reliability.md says which). Kernels for these settings are compiled once and kept apart.
ELSEWHERE := NUMBA_CPU_NAME=generic ATEN_CPU_CAPABILITY=default MKL_CBWR=COMPATIBLE ONEDNN_MAX_CPU_ISA=SSE41 \
	OPENBLAS_CORETYPE=Prescott NPY_DISABLE_CPU_FEATURES=X86_V3,X86_V4,AVX512_ICL \
	GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX512F
NUMERIC := $(addprefix tests/,convergence equivalence golden property) \
	$(addprefix tests/unit/,abstraction evaluation games networks policies regret sampling solvers stores trees)

test-elsewhere: setup
	$(ELSEWHERE) $(BIN)/python -m pytest -n 2 -m 'not processes' $(NUMERIC)

# Hostile input for so many seconds: make fuzz SECONDS=7200
SECONDS ?= 60
fuzz: setup
	$(BIN)/python -m tests.fuzz --seconds $(SECONDS)

# kill -9 at random moments, full and read-only disks, two writers: make faults KILLS=100
KILLS ?= 100
faults: setup
	$(BIN)/python -m tests.faults --kills $(KILLS)

check: setup
	$(BIN)/ruff format --check src tests examples
	$(BIN)/ruff check src tests examples
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: setup
	$(BIN)/ruff format src tests examples
	$(BIN)/ruff check --fix src tests examples

# The documents as a site in build/site, to be read without a network; pages that are made from the code first.
docs: setup
	$(BIN)/python docs/build.py pages
	$(BIN)/python docs/build.py site

# A wheel, installed into an environment of its own, where it solves, draws and serves.
wheel: setup
	$(BIN)/python .ci/wheel.py

bench: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[bench]'
	$(BIN)/equipoise bench tabular
	$(BIN)/equipoise bench sampling
	$(BIN)/equipoise bench neural

clean:
	rm -rf $(VENV) demo build dist
