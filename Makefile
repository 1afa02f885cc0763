# SPDX-License-Identifier: Apache-2.0
# The front door. Every target starts from a clean clone and sees to its own set-up.
BUILD := build
PREFIX ?= $(BUILD)/prefix
JOBS ?= $(shell nproc 2>/dev/null || echo 2)

# ccache helps where it happens to be; nothing needs it.
ifneq ($(shell command -v ccache 2>/dev/null),)
export CMAKE_C_COMPILER_LAUNCHER ?= ccache
export CMAKE_CXX_COMPILER_LAUNCHER ?= ccache
# Without this it leaves out what has precompiled headers.
export CCACHE_SLOPPINESS ?= pch_defines,time_macros
endif

.DEFAULT_GOAL := help
.PHONY: help prefix demo test test-all sanitize bench clean

help:
	@echo "Canopy: CANN operators on any processor."
	@echo
	@echo "  make demo             build, then show it working: examples, training on real digits, gradient checks"
	@echo "  make test             build and run the tests (15 minutes at most on 2 cores)"
	@echo "  make prefix           build and install into $(PREFIX); elsewhere with PREFIX=/some/dir"
	@echo "  make test-all         the tests, the large cases included (long)"
	@echo "  make sanitize         a reduced list of tests under the address and undefined-behaviour sanitizers"
	@echo "  make bench            time Canopy next to oneDNN and PyTorch (bench/README.md says what can be chosen)"
	@echo "  make clean            remove $(BUILD)/"
	@echo
	@echo "JOBS=n sets how many compilers run at once (now $(JOBS))."

prefix:
	@scripts/setup.sh build
	@scripts/prefix.sh "$(BUILD)/release" "$(PREFIX)" $(JOBS)

demo:
	@scripts/setup.sh demo
	@scripts/demo.sh "$(BUILD)" "$(PREFIX)" $(JOBS)

test:
	@scripts/setup.sh test
	@scripts/test.sh "$(BUILD)/test" $(JOBS)

test-all:
	@scripts/setup.sh test
	@scripts/test.sh "$(BUILD)/test" $(JOBS) all

sanitize:
	@scripts/setup.sh test
	@scripts/test.sh "$(BUILD)/sanitize" $(JOBS) sanitize

bench:
	@scripts/setup.sh $(if $(filter none,$(PEERS)),build,bench)
	@scripts/bench.sh "$(BUILD)/bench" $(JOBS)

clean:
	rm -rf $(BUILD)
