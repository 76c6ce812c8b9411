/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The wire form: what is written is read again, what is wrong is refused, what is new is kept. */
#include "model/record.h"

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

static struct error err;

static int decode(const char *line, struct record *ret)
{
	error_clear(&err);
	return record_decode(line, strlen(line), ret, &err);
}

/* Encodes, decodes, encodes: both lines must be equal. The caller ends the record. */
static void round_trip(const struct record *r, struct record *ret)
{
	CLEANUP_FREE char *line = record_encode(r), *again = NULL;

	assert_null(strchr(line, '\n'));
	if (decode(line, ret) < 0)
		fail_msg("%s: %s", line, err.text);
	again = record_encode(ret);
	assert_string_equal(again, line);
	assert_int_equal(ret->kind, r->kind);
}

static void hello_and_facts_come_back(void **state)
{
	struct record r = { .kind = RECORD_HELLO }, q;

	(void)state;
	r.hello = (struct record_hello){ RECORD_PROTOCOL,
					 "0.1.0",
					 "ab",
					 "6.1\"\n",
					 "#1 SMP",
					 "x86_64",
					 "cd",
					 NULL,
					 "a=b c",
					 true,
					 1764518340123456789ull };
	round_trip(&r, &q);
	assert_string_equal(q.hello.release, "6.1\"\n");
	assert_null(q.hello.boot_id);
	assert_true(q.hello.init);
	assert_true(q.hello.time_ns == 1764518340123456789ull);
	assert_null(q.inv);
	record_done(&q);

	memset(&r, 0, sizeof(r));
	r.kind = RECORD_FACT;
	r.fact = (struct record_fact){ FACT_AFTER, FACT_STATE, "swap", NULL, "no such file" };
	round_trip(&r, &q);
	assert_int_equal(q.fact.when, FACT_AFTER);
	assert_int_equal(q.fact.class, FACT_STATE);
	assert_null(q.fact.value); /* unknown is not "" */
	record_done(&q);
	r.inv = "7";
	r.fact.value = "";
	r.fact.why = NULL;
	round_trip(&r, &q);
	assert_string_equal(q.fact.value, "");
	assert_string_equal(q.inv, "7");
	record_done(&q);
}

static void invocations_come_back(void **state)
{
	CLEANUP_JSON json_t *context = json_pack("{s:s,s:i}", "cpu", "x", "mem", 512);
	CLEANUP_JSON json_t *metrics = json_pack("[{s:s}]", "name", "time");
	CLEANUP_JSON json_t *values = json_pack("{s:f,s:n}", "user_ns", 12.5, "steal_ns");
	CLEANUP_JSON json_t *hist = json_pack("{s:i}", "bits", 8);
	struct record r = { .kind = RECORD_INVOCATION, .inv = "1" }, q;

	(void)state;
	r.invocation = (struct record_invocation){ "ctx", "hand-over", "ctx",	4,    "procs=2",
						   "kvm", context,     metrics, true, 99 };
	round_trip(&r, &q);
	assert_int_equal(q.invocation.workload_version, 4);
	assert_string_equal(json_opt_str(q.invocation.context, "cpu", ""), "x");
	assert_true(q.invocation.headline);
	record_done(&q);

	r.kind = RECORD_SAMPLE;
	r.sample = (struct record_sample){ .part = "", .ops = 1ull << 60, .ns = 3 };
	round_trip(&r, &q);
	assert_true(q.sample.ops == 1ull << 60);
	assert_false(q.sample.has_overhead);
	assert_null(q.sample.metric);
	record_done(&q);
	r.sample = (struct record_sample){
		.part = "64KiB", .ops = 8, .ns = 9, .has_overhead = true, .over_ops = 8
	};
	round_trip(&r, &q);
	assert_string_equal(q.sample.part, "64KiB");
	assert_true(q.sample.has_overhead); /* an overhead of 0 ns is one */
	assert_int_equal(q.sample.over_ns, 0);
	record_done(&q);
	r.sample = (struct record_sample){ .part = "", .metric = "temp", .value = 0.1 };
	round_trip(&r, &q);
	assert_true(q.sample.value == 0.1);
	record_done(&q);

	r.kind = RECORD_HIST;
	r.hist = (struct record_hist){ "p", "latency", hist };
	round_trip(&r, &q);
	assert_string_equal(q.hist.name, "latency");
	record_done(&q);

	r.kind = RECORD_USAGE;
	r.usage.values = values;
	round_trip(&r, &q);
	assert_true(json_is_null(json_object_get(q.usage.values, "steal_ns")));
	record_done(&q);
}

static void ends_come_back(void **state)
{
	struct record r = { .kind = RECORD_SKIP, .inv = "1" }, q;

	(void)state;
	r.skip = (struct record_skip){ "ctx", "procs=2", "no room", true };
	round_trip(&r, &q);
	assert_true(q.skip.implied);
	record_done(&q);
	r.kind = RECORD_FAIL;
	r.fail = (struct record_fail){ "ctx", NULL, "it died\xff" };
	round_trip(&r, &q);
	assert_null(q.fail.params);
	assert_string_equal(q.fail.reason, "it died\xef\xbf\xbd");
	record_done(&q);
	r.kind = RECORD_LOG;
	r.log = (struct record_log){ "warning", "kernel", "BUG: x" };
	round_trip(&r, &q);
	record_done(&q);
	r.kind = RECORD_DONE;
	r.inv = NULL;
	r.done = (struct record_done){ 3, 2, 1 };
	round_trip(&r, &q);
	assert_int_equal(q.done.skipped, 1);
	record_done(&q);
	record_done(NULL);
}

/* A value that is no number never gets out, and is not taken for 0 on the way in. */
static void no_number_no_sample(void **state)
{
	struct record r = { .kind = RECORD_SAMPLE, .inv = "1" }, q;
	CLEANUP_FREE char *line = NULL;

	(void)state;
	r.sample = (struct record_sample){ .part = "", .metric = "temp", .value = (double)NAN };
	line = record_encode(&r);
	assert_string_equal(line, "{\"k\":\"sample\",\"inv\":\"1\",\"metric\":\"temp\","
				  "\"value\":null}");
	assert_int_equal(decode(line, &q), -EINVAL);
	assert_string_equal(err.text, "record sample: \"value\": is not a number");
}

#define SAMPLE "{\"k\":\"sample\",\"inv\":\"1\","
#define INVOCATION                                                                                 \
	"{\"k\":\"invocation\",\"inv\":\"1\",\"workload\":\"x\",\"workload_version\":1,"           \
	"\"params\":\"\",\"class\":\"native\","
#define HELLO "{\"k\":\"hello\",\"agent\":\"1\",\"release\":\"r\",\"version\":\"v\","

static void wrong_records_are_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"garbage",
		"\x01\x02\xff",
		"[]",
		"5",
		"null",
		"{}",
		"{\"k\":5}",
		"{\"k\":\"done\",\"invocations\":1,\"failed\":0}",
		"{\"k\":\"done\",\"invocations\":1,\"failed\":0,\"skipped\":-1}",
		"{\"k\":\"done\",\"invocations\":1.0,\"failed\":0,\"skipped\":0}",
		"{\"k\":\"done\",\"invocations\":1,\"failed\":0,\"skipped\":0} x",
		"{\"k\":\"done\",\"k\":\"done\",\"invocations\":1,\"failed\":0,\"skipped\":0}",
		HELLO "\"protocol\":2}",
		HELLO "\"protocol\":1,\"build_id\":5}",
		HELLO "\"init\":true}",
		"{\"k\":\"fact\",\"when\":\"later\",\"class\":\"state\",\"name\":\"x\"}",
		"{\"k\":\"fact\",\"when\":\"after\",\"class\":\"mood\",\"name\":\"x\"}",
		"{\"k\":\"fact\",\"when\":\"after\",\"class\":\"state\"}",
		"{\"k\":\"fact\",\"when\":\"after\",\"class\":\"state\",\"name\":\"x\",\"value\":1}",
		INVOCATION "\"metrics\":[]}",
		INVOCATION "\"context\":{}}",
		INVOCATION "\"context\":[],\"metrics\":[]}",
		INVOCATION "\"context\":{},\"metrics\":{}}",
		INVOCATION "\"context\":{},\"metrics\":[],\"op\":1}",
		SAMPLE "\"ops\":1,\"ns\":0}",
		SAMPLE "\"ops\":0,\"ns\":1}",
		SAMPLE "\"ops\":1}",
		SAMPLE "\"ns\":1}",
		SAMPLE "\"ops\":-1,\"ns\":1}",
		SAMPLE "\"ops\":\"1\",\"ns\":1}",
		SAMPLE "\"ops\":1.5,\"ns\":1}",
		SAMPLE "\"ops\":1,\"ns\":9223372036854775808}",
		SAMPLE "\"ops\":1,\"ns\":1,\"part\":5}",
		SAMPLE "\"ops\":1,\"ns\":1,\"metric\":5}",
		SAMPLE "\"ops\":1,\"ns\":1,\"over_ops\":0,\"over_ns\":1}",
		SAMPLE "\"ops\":1,\"ns\":1,\"over_ops\":1}",
		SAMPLE "\"metric\":\"m\"}",
		SAMPLE "\"metric\":\"m\",\"value\":\"1\"}",
		"{\"k\":\"sample\",\"ops\":1,\"ns\":1}",
		"{\"k\":\"sample\",\"inv\":7,\"ops\":1,\"ns\":1}",
		"{\"k\":\"sample\",\"inv\":\"\",\"ops\":1,\"ns\":1}",
		"{\"k\":\"hist\",\"inv\":\"1\",\"name\":\"x\"}",
		"{\"k\":\"hist\",\"inv\":\"1\",\"name\":\"x\",\"hist\":[]}",
		"{\"k\":\"hist\",\"inv\":\"1\",\"hist\":{}}",
		"{\"k\":\"usage\",\"inv\":\"1\"}",
		"{\"k\":\"usage\",\"inv\":\"1\",\"values\":[]}",
		"{\"k\":\"usage\",\"inv\":\"1\",\"values\":{\"n\":\"1\"}}",
		"{\"k\":\"usage\",\"inv\":\"1\",\"values\":{\"n\":1,\"m\":[]}}",
		"{\"k\":\"skip\",\"inv\":\"1\"}",
		"{\"k\":\"skip\",\"inv\":\"1\",\"reason\":null}",
		"{\"k\":\"fail\",\"inv\":5,\"reason\":\"x\"}",
		"{\"k\":\"fail\"}",
		"{\"k\":\"log\"}",
	};
	struct record r;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		if (decode(bad[i], &r) >= 0)
			fail_msg("taken: %s", bad[i]);
		assert_true(str_starts(err.text, "record"));
		assert_null(r.raw);
		/* A caller that wants no words gets the same answer. */
		assert_true(record_decode(bad[i], strlen(bad[i]), &r, NULL) < 0);
	}
}

static void a_line_has_a_length(void **state)
{
	size_t len = RECORD_LINE_MAX + 1;
	CLEANUP_FREE char *line = mem_alloc(len + 1);
	struct record r;

	(void)state;
	memset(line, ' ', len);
	memcpy(line, "{\"k\":\"log\",\"text\":\"\"", 20);
	line[len - 1] = '}';
	assert_int_equal(decode(line, &r), -EFBIG);
	line[len - 2] = '}';
	line[len - 1] = '\0';
	assert_int_equal(decode(line, &r), 0);
	record_done(&r);
}

/* Cut at any byte: never taken (a number cut short would be a wrong number). Case C02. */
static void a_cut_line_is_no_line(void **state)
{
	static const char line[] =
		SAMPLE "\"part\":\"x\",\"ops\":123456,\"ns\":9876,\"over_ops\":5,\"over_ns\":77}";
	struct record r;
	size_t n;

	(void)state;
	for (n = 0; n < sizeof(line) - 1; n++)
		assert_true(record_decode(line, n, &r, NULL) < 0);
	assert_int_equal(record_decode(line, sizeof(line) - 1, &r, NULL), 0);
	record_done(&r);
}

static void what_is_new_is_kept(void **state)
{
	static const char line[] = "{\"k\":\"dream\",\"inv\":\"1\",\"of\":{\"electric\":[1,2.5]}}";
	struct record r;
	CLEANUP_FREE char *raw = NULL;

	(void)state;
	assert_int_equal(decode(line, &r), 0);
	assert_int_equal(r.kind, RECORD_UNKNOWN);
	assert_string_equal(r.inv, "1");
	raw = json_line(r.raw);
	assert_string_equal(raw, line);
	record_done(&r);
	/* A kind that only looks like one of ours, and unknown fields of a known kind. */
	assert_int_equal(decode("{\"k\":\"unknown\"}", &r), 0);
	assert_int_equal(r.kind, RECORD_UNKNOWN);
	record_done(&r);
	assert_int_equal(decode("{\"k\":\"\"}", &r), 0);
	assert_int_equal(r.kind, RECORD_UNKNOWN);
	record_done(&r);
	assert_int_equal(decode(SAMPLE "\"ops\":1,\"ns\":1,\"mood\":\"blue\"}", &r), 0);
	assert_int_equal(r.kind, RECORD_SAMPLE);
	record_done(&r);
	assert_int_equal(decode("{\"k\":\"profile\",\"inv\":\"1\",\"x\":1}", &r), 0);
	assert_int_equal(r.kind, RECORD_PROFILE);
	record_done(&r);
	assert_string_equal(record_kind_name(RECORD_WINDOW), "window");
	assert_string_equal(record_kind_name((enum record_kind)99), "unknown");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(hello_and_facts_come_back),
		cmocka_unit_test(invocations_come_back),
		cmocka_unit_test(ends_come_back),
		cmocka_unit_test(no_number_no_sample),
		cmocka_unit_test(wrong_records_are_refused),
		cmocka_unit_test(a_line_has_a_length),
		cmocka_unit_test(a_cut_line_is_no_line),
		cmocka_unit_test(what_is_new_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
