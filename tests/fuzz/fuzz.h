/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a fuzzer file provides, for libFuzzer (clang -fsanitize=fuzzer) and for replay.c, which
 * feeds it a stored corpus in ordinary builds. Returns 0; a defect is a crash or a sanitizer's
 * report.
 */
#ifndef KDELTA_TESTS_FUZZ_H
#define KDELTA_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
