# SPDX-License-Identifier: GPL-2.0-or-later
# A thin front: meson and ninja do the work, tools/ holds the scripts.
BUILD        ?= build
PREFIX       ?= /usr/local
FUZZ_SECONDS ?= 60
STEPS        ?=

all:
	@tools/configure $(BUILD) --prefix=$(PREFIX)
	@ninja -C $(BUILD) kdelta kdelta-agent plugin man

# Installs what is missing from Debian or Ubuntu packages; the only target that installs any.
deps:
	@tools/deps build run check

demo:
	@tools/deps build run
	@$(MAKE) --no-print-directory all
	@tools/demo $(BUILD)

check:
	@tools/deps build run check
	@tools/check $(STEPS)

acceptance:
	@tools/deps build run check kernel acceptance
	@$(MAKE) --no-print-directory all
	@ninja -C $(BUILD) --quiet all
	@tools/acceptance $(BUILD)

# Where there is a PMU: does a change in instructions agree with perf's?
agree-pmu: all
	@tools/agree-pmu $(BUILD)

fuzz:
	@tools/deps build check
	@tools/fuzz $(FUZZ_SECONDS)

docs: all
	@tools/gen-docs $(BUILD)

format:
	@tools/check-format --fix

install: all
	@meson install -C $(BUILD) --no-rebuild

clean:
	rm -rf $(BUILD)

help:
	@echo 'make             build/kdelta and build/kdelta-agent'
	@echo 'make deps        install the Debian or Ubuntu packages that are missing'
	@echo 'make demo        measure two kernels in virtual machines, show the comparison'
	@echo 'make check       all tests and checks; STEPS="unit cli" runs only these'
	@echo 'make acceptance  long checks, and those that depend on timing'
	@echo 'make agree-pmu   compare exact mode with a PMU, kernel by kernel'
	@echo 'make fuzz        each fuzz target for FUZZ_SECONDS=60'
	@echo 'make docs        write the generated pages of docs/ anew'
	@echo 'make format      clang-format everything'
	@echo 'make install     into PREFIX=/usr/local; DESTDIR is respected'
	@echo 'make clean       remove build/'

.PHONY: all deps demo check acceptance agree-pmu fuzz docs format install clean help
