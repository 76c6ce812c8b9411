/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/hist.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"

#define VALUES 20000u

static uint64_t seed = 88172645463325252ull;

static uint64_t next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Values over many magnitudes: each quantile is off by no more than the header says. */
static void quantiles_are_within_their_bound(void **state)
{
	static const double qs[] = { 1e-6, 0.001, 0.1, 0.25, 0.5, 0.9, 0.99, 0.999, 0.999999 };
	CLEANUP_FREE struct hist *h = mem_alloc(sizeof(*h));
	CLEANUP_FREE uint64_t *v = mem_array(VALUES, sizeof(*v));
	double worst = 0, sum = 0;
	unsigned round, i;

	(void)state;
	for (round = 0; round < 4; round++) {
		memset(h, 0, sizeof(*h));
		sum = 0;
		for (i = 0; i < VALUES; i++) {
			/* All magnitudes; then ever narrower. */
			v[i] = next_random() >> (1 + next_random() % (63 >> round));
			hist_add(h, v[i]);
			sum += (double)v[i];
		}
		qsort(v, VALUES, sizeof(*v), by_value);
		assert_true(h->min == v[0] && h->max == v[VALUES - 1]);
		assert_true(h->count == VALUES);
		assert_true(fabs(h->sum - sum) <= sum * 1e-12);
		for (i = 0; i < ARRAY_SIZE(qs); i++) {
			double want = (double)v[(size_t)ceil(qs[i] * VALUES) - 1], got = -1;

			assert_int_equal(hist_quantile(h, qs[i], &got), 0);
			if (want < 1 << HIST_BITS)
				assert_true(got == want);
			else if (fabs(got - want) / want > worst)
				worst = fabs(got - want) / want;
		}
	}
	assert_true(worst > 0);
	assert_true(worst <= ldexp(1, -(int)HIST_BITS - 1));
}

static void edges_of_a_histogram(void **state)
{
	CLEANUP_FREE struct hist *h = mem_alloc(sizeof(*h)), *other = mem_alloc(sizeof(*h));
	double q = 7;

	(void)state;
	assert_int_equal(hist_quantile(h, 0.5, &q), -ENODATA);
	hist_merge(h, other);
	assert_int_equal(h->count, 0);
	assert_true(q == 7);
	hist_add(h, UINT64_MAX);
	hist_add(h, 0);
	assert_int_equal(hist_quantile(h, 0.5, &q), 0);
	assert_true(q == 0);
	assert_int_equal(hist_quantile(h, 0.51, &q), 0);
	assert_true(q > 9e18 && q <= 0x1p63);
	/* One value: every quantile is that value, whatever its bucket's middle is. */
	hist_add(other, 1000003);
	assert_int_equal(hist_quantile(other, 0.01, &q), 0);
	assert_true(q == 1000003);
	assert_int_equal(hist_quantile(other, 0.99, &q), 0);
	assert_true(q == 1000003);
	hist_merge(other, h);
	assert_int_equal(other->count, 3);
	assert_true(other->min == 0);
	assert_int_equal(hist_quantile(other, 0.5, &q), 0);
	assert_true(fabs(q / 1000003 - 1) < 0.002);
}

static void histograms_come_back(void **state)
{
	CLEANUP_FREE struct hist *h = mem_alloc(sizeof(*h)), *back = mem_alloc(sizeof(*h));
	CLEANUP_JSON json_t *j = NULL;
	unsigned i;

	(void)state;
	for (i = 0; i < 1000; i++)
		hist_add(h, next_random() >> (next_random() % 64));
	j = hist_encode(h);
	assert_int_equal(hist_decode(j, back, NULL), 0);
	assert_memory_equal(h, back, sizeof(*h));
	json_unref(&j);
	memset(h, 0, sizeof(*h));
	j = hist_encode(h);
	assert_int_equal(hist_decode(j, back, NULL), 0);
	assert_int_equal(back->count, 0);
}

static void hostile_histograms_are_refused(void **state)
{
	static const char *const bad[] = {
		"{}",
		"[]",
		"{\"bits\":8,\"min\":1,\"max\":1,\"sum\":1}",
		"{\"bits\":8,\"min\":1,\"max\":1,\"sum\":1,\"buckets\":{}}",
		"{\"bits\":7,\"min\":1,\"max\":1,\"sum\":1,\"buckets\":[[1,1]]}",
		"{\"bits\":8,\"min\":1,\"max\":1,\"sum\":null,\"buckets\":[[1,1]]}",
		"{\"bits\":8,\"min\":-1,\"max\":1,\"sum\":1,\"buckets\":[[1,1]]}",
		"{\"bits\":8,\"min\":1,\"max\":1,\"sum\":1,\"buckets\":[[1]]}",
		"{\"bits\":8,\"min\":1,\"max\":1,\"sum\":1,\"buckets\":[[1,1,1]]}",
		"{\"bits\":8,\"min\":1,\"max\":1,\"sum\":1,\"buckets\":[[1,0]]}",
		"{\"bits\":8,\"min\":1,\"max\":1,\"sum\":1,\"buckets\":[[1,-1]]}",
		"{\"bits\":8,\"min\":1,\"max\":1,\"sum\":1,\"buckets\":[[1,1.5]]}",
		"{\"bits\":8,\"min\":1,\"max\":1,\"sum\":1,\"buckets\":[[-1,1]]}",
		"{\"bits\":8,\"min\":1,\"max\":1,\"sum\":1,\"buckets\":[[14592,1]]}",
		"{\"bits\":8,\"min\":1,\"max\":1,\"sum\":1,\"buckets\":[[4294967297,1]]}",
		"{\"bits\":8,\"min\":1,\"max\":2,\"sum\":1,\"buckets\":[[2,1],[1,1]]}",
		"{\"bits\":8,\"min\":1,\"max\":1,\"sum\":1,\"buckets\":[[1,1],[1,1]]}",
		"{\"bits\":8,\"min\":2,\"max\":1,\"sum\":1,\"buckets\":[[1,1]]}",
		/* Values of 5000 that pretend to be 0: a quantile would be held to the maximum. */
		"{\"bits\":8,\"min\":0,\"max\":0,\"sum\":1,\"buckets\":[[1000,5]]}",
		"{\"bits\":8,\"min\":1,\"max\":9,\"sum\":1,\"buckets\":[[1,1]]}",
		("{\"bits\":8,\"min\":0,\"max\":2,\"sum\":1,\"buckets\":"
		 "[[0,9223372036854775807],[1,9223372036854775807],[2,9223372036854775807]]}"),
	};
	CLEANUP_FREE struct hist *h = mem_alloc(sizeof(*h));
	size_t i;

	(void)state;
	assert_int_equal(HIST_BUCKETS, 14592);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		CLEANUP_JSON json_t *j = NULL;
		struct error e = ERROR_INIT;

		assert_int_equal(json_parse(bad[i], strlen(bad[i]), "bad", &j, &e), 0);
		if (hist_decode(j, h, &e) >= 0)
			fail_msg("taken: %s", bad[i]);
		assert_true(str_starts(e.text, "histogram: "));
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(quantiles_are_within_their_bound),
		cmocka_unit_test(edges_of_a_histogram),
		cmocka_unit_test(histograms_come_back),
		cmocka_unit_test(hostile_histograms_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
