/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parameters, specs, plans and listings: what both sides must read in the same way. */
#include "model/param.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "model/info.h"
#include "model/plan.h"
#include "model/record.h"
#include "model/spec.h"

static const struct param params[] = {
	{ .name = "procs",
	  .type = PARAM_UINT,
	  .def = "2",
	  .min = 2,
	  .max = 96,
	  .sweep = "2+16",
	  .help = "processes" },
	{ .name = "size",
	  .type = PARAM_BYTES,
	  .def = "0",
	  .max = 1 << 20,
	  .sweep = "0+64KiB",
	  .help = "array" },
	{ .name = "wait", .type = PARAM_TIME, .def = "10ms", .help = "pause" },
	{ .name = "place",
	  .type = PARAM_CHOICE,
	  .def = "same",
	  .choices = "same|spread|free",
	  .help = "where" },
	{ .name = "run", .type = PARAM_TEXT, .def = "make -j2, twice", .help = "what" },
	{ .name = NULL },
};
static const struct param no_params[] = { { .name = NULL } };
static const struct metric metrics[] = {
	{ "time", UNIT_NS, "op", METRIC_LESS, METRIC_MEASURE, true, METRIC_FROM_TIME, NULL, 0, 0,
	  "a time" },
	{ .name = NULL },
};

#define DEFAULTS "procs=2,size=0,wait=10ms,place=same,run=\"make -j2, twice\""

static struct arena arena;
static struct error err;

static int clear(void **state)
{
	(void)state;
	arena_done(&arena);
	error_clear(&err);
	return 0;
}

/* ---- parameters ---- */

static const char *canonical(const char *text)
{
	struct args args;

	error_clear(&err);
	if (args_parse(params, text, &arena, &args, &err) < 0)
		return err.text;
	return args_canonical(&args, &arena);
}

static void canonical_is(const char *text, const char *want)
{
	char *got = arena_strdup(&arena, canonical(text));

	assert_string_equal(got, want);
	/* The canonical text is its own canonical text. */
	assert_string_equal(canonical(got), want);
}

static void one_text_for_one_meaning(void **state)
{
	(void)state;
	canonical_is(NULL, DEFAULTS);
	canonical_is("", DEFAULTS);
	canonical_is("run=x,place=free,wait=1500000us,size=4096B,procs=007",
		     "procs=7,size=4KiB,wait=1500ms,place=free,run=x");
	canonical_is("size=65536,run=x", "procs=2,size=64KiB,wait=10ms,place=same,run=x");
	canonical_is("size=1000,wait=0,run=x", "procs=2,size=1000,wait=0s,place=same,run=x");
	canonical_is("wait=1ns,run=x", "procs=2,size=0,wait=1ns,place=same,run=x");
	/* Whole numbers beyond the 53 bits of a double. */
	canonical_is("wait=9007199254740993ns,run=x",
		     "procs=2,size=0,wait=9007199254740993ns,place=same,run=x");
}

static void a_multiple_is_asked_for(void **state)
{
	static const struct param own[] = {
		{ .name = "size", .type = PARAM_BYTES, .def = "0", .multiple = 8, .help = "" },
		{ .name = NULL },
	};
	CLEANUP_JSON json_t *j = param_encode_all(own);
	struct param *back = NULL;
	struct args args;

	(void)state;
	assert_int_equal(param_decode_all(j, &arena, &back, &err), 0);
	assert_int_equal(args_parse(back, "size=4KiB", &arena, &args, &err), 0);
	assert_int_equal(args_u64(&args, "size"), 4096);
	assert_int_equal(args_parse(back, "size=1001", &arena, &args, &err), -EINVAL);
	assert_string_equal(err.text, "size=1001: must be a multiple of 8");
}

static void texts_survive_quoting(void **state)
{
	static const char *const texts[] = { "",	 "a b",	  "a,b",  "a+b",
					     "a=b",	 "\"",	  "\\",	  "a\\\"b",
					     "\"a\"",	 " lead", "a\nb", "100%s",
					     "\xc3\xbc", ",,,",	  "x\"",  "place=free,procs=9" };
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(texts); i++) {
		struct args in, out;
		char *text;

		assert_int_equal(args_parse(params, "", &arena, &in, &err), 0);
		in.value[4] = texts[i];
		text = args_canonical(&in, &arena);
		if (args_parse(params, text, &arena, &out, &err) < 0)
			fail_msg("%s: %s", text, err.text);
		assert_string_equal(args_text(&out, "run"), texts[i]);
		assert_int_equal(args_u64(&out, "procs"), 2);
	}
}

static void bad_parameters_are_named(void **state)
{
	(void)state;
	assert_string_equal(canonical("proc=2"),
			    "unknown parameter 'proc' (known: procs, size, wait, place, run)");
	assert_string_equal(canonical("procs=1"), "procs=1: allowed are 2 to 96");
	assert_string_equal(canonical("procs=97"), "procs=97: allowed are 2 to 96");
	assert_string_equal(canonical("procs=2,procs=2"), "parameter 'procs' is given twice");
	assert_string_equal(canonical("procs"), "'procs': wanted PARAM=VALUE");
	assert_string_equal(canonical("=2"), "'=2': wanted PARAM=VALUE");
	assert_string_equal(canonical("procs=2,"), "nothing behind the last comma");
	assert_string_equal(canonical("procs=two"), "procs: 'two' is not a whole number");
	assert_true(str_starts(canonical("size=64K"), "size: '64K': unknown unit 'K'"));
	assert_string_equal(canonical("run=\"x"), "run: the quote does not end");
	assert_true(str_starts(canonical("run=\"x\"y"), "run: "));
	/* A choice is one of them, not a piece or several. */
	assert_string_equal(canonical("place=sam"), "place=sam: choose one of same|spread|free");
	assert_string_equal(canonical("place=same|spread"),
			    "place=same|spread: choose one of same|spread|free");
	assert_string_equal(canonical("place="), "place=: choose one of same|spread|free");
	assert_string_equal(canonical("place=spread|free"),
			    "place=spread|free: choose one of same|spread|free");
	{
		struct args args;

		error_clear(&err);
		assert_int_equal(args_parse(no_params, "x=1", &arena, &args, &err), -EINVAL);
		assert_string_equal(err.text, "unknown parameter 'x' (known: none)");
		assert_int_equal(args_parse(no_params, "", &arena, &args, NULL), 0);
		assert_string_equal(args_canonical(&args, &arena), "");
	}
}

/* ---- listings ---- */

static struct workload_info infos[] = {
	{ "ctx", "ctx", "hand-over", "A ring.", 3, SHAPE_COUNTED, true, params, metrics, 0 },
	{ "nop", "harness", "pass", "Nothing.", 1, SHAPE_ONCE, false, no_params, metrics,
	  NEED_LOOPBACK | NEED_SHELL },
};
static struct workload_list known = { .items = infos, .n = 2 };

static char *listing(void)
{
	CLEANUP_JSON json_t *j = json_object();
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < known.n; i++)
		json_array_append_new(list, workload_info_encode(&infos[i]));
	json_object_set_new(j, "protocol", json_u64(RECORD_PROTOCOL));
	json_object_set_new(j, "agent", json_str("1"));
	json_object_set_new(j, "workloads", list);
	return json_line(j);
}

static int decode_listing(const char *text, struct workload_list *ret)
{
	CLEANUP_JSON json_t *j = NULL;

	error_clear(&err);
	assert_int_equal(json_parse(text, strlen(text), "list", &j, &err), 0);
	return workload_list_decode(j, ret, &err);
}

#define OTHER_NEEDS(more)                                                                          \
	"{\"protocol\":1,\"workloads\":[{\"name\":\"x\",\"op\":\"x\",\"version\":1,"               \
	"\"shape\":\"once\",\"params\":[],\"metrics\":[]" more "}]}"

static void listings_come_back(void **state)
{
	static const char *const bad[] = {
		"[]",
		"{}",
		"{\"protocol\":1}",
		"{\"protocol\":2,\"workloads\":[]}",
		"{\"protocol\":1,\"workloads\":{}}",
		"{\"protocol\":1,\"workloads\":[5]}",
		"{\"protocol\":1,\"workloads\":[{\"name\":\"x\",\"op\":\"x\",\"version\":1,"
		"\"shape\":\"round\",\"params\":[],\"metrics\":[]}]}",
		"{\"protocol\":1,\"workloads\":[{\"name\":\"x\",\"op\":\"x\",\"version\":1,"
		"\"shape\":\"once\",\"params\":[{\"name\":\"p\",\"type\":\"choice\","
		"\"default\":\"\"}],\"metrics\":[]}]}",
		"{\"protocol\":1,\"workloads\":[{\"name\":\"x\",\"op\":\"x\",\"version\":1,"
		"\"shape\":\"once\",\"params\":[]}]}",
		"{\"protocol\":1,\"workloads\":[{\"name\":\"x\",\"op\":\"x\",\"version\":1,"
		"\"shape\":\"once\",\"params\":[],\"metrics\":[],\"needs\":\"shell\"}]}",
		"{\"protocol\":1,\"workloads\":[{\"name\":\"x\",\"op\":\"x\",\"version\":1,"
		"\"shape\":\"once\",\"params\":[],\"metrics\":[],\"needs\":[2]}]}",
	};
	CLEANUP_FREE char *text = listing();
	const struct workload_info *w;
	struct workload_list l;
	struct args args;
	size_t i;

	(void)state;
	assert_int_equal(decode_listing(text, &l), 0);
	assert_int_equal(l.n, 2);
	w = workload_list_find(&l, "ctx");
	assert_non_null(w);
	assert_int_equal(w->version, 3);
	assert_int_equal(w->shape, SHAPE_COUNTED);
	assert_true(w->placed);
	assert_int_equal(args_parse(w->params, "", &arena, &args, &err), 0);
	assert_string_equal(args_canonical(&args, &arena), DEFAULTS);
	assert_int_equal(w->params[0].max, 96);
	assert_string_equal(w->params[0].sweep, "2+16");
	assert_string_equal(w->metrics[0].name, "time");
	assert_null(w->metrics[1].name);
	assert_int_equal(w->needs, 0);
	assert_int_equal(workload_list_find(&l, "nop")->needs, NEED_LOOPBACK | NEED_SHELL);
	assert_non_null(strstr(text, "\"needs\":[\"loopback\",\"shell\"]"));
	assert_null(workload_list_find(&l, "ct"));
	workload_list_done(&l);
	/* An older agent says nothing of needs, a newer one may have words that are not known. */
	assert_int_equal(decode_listing(OTHER_NEEDS(""), &l), 0);
	assert_int_equal(l.items[0].needs, 0);
	workload_list_done(&l);
	assert_int_equal(decode_listing(OTHER_NEEDS(",\"needs\":[\"moon\",\"root\"]"), &l), 0);
	assert_int_equal(l.items[0].needs, NEED_ROOT);
	workload_list_done(&l);
	assert_string_equal(need_name(NEED_TMPDIR), "tmpdir");
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		if (decode_listing(bad[i], &l) >= 0)
			fail_msg("%s was taken", bad[i]);
		assert_true(error_is_set(&err));
	}
	workload_list_done(NULL);
}

/* ---- specs ---- */

static struct spec_points points;

static int expand(const char *text)
{
	error_clear(&err);
	return spec_expand(text, &known, &arena, &points, &err);
}

static void start_points(void)
{
	memset(&points, 0, sizeof(points));
}

#define TAIL ",wait=10ms,place=same,run=\"make -j2, twice\""

static void point_is(size_t i, const char *want, bool headline, bool implied)
{
	assert_true(i < points.n);
	assert_string_equal(points.items[i].params, want);
	assert_int_equal(points.items[i].headline, headline);
	assert_int_equal(points.items[i].implied, implied);
}

static void specs_become_points(void **state)
{
	(void)state;
	start_points();
	assert_int_equal(expand("ctx"), 0);
	assert_int_equal(points.n, 4);
	point_is(0, "procs=2,size=0" TAIL, true, false);
	point_is(1, "procs=2,size=64KiB" TAIL, false, true);
	point_is(2, "procs=16,size=0" TAIL, false, true);
	point_is(3, "procs=16,size=64KiB" TAIL, false, true);

	start_points();
	assert_int_equal(expand("ctx:procs=2+8+16,size=0+16KiB"), 0);
	assert_int_equal(points.n, 6);
	point_is(0, "procs=2,size=0" TAIL, true, false);
	point_is(5, "procs=16,size=16KiB" TAIL, false, false);

	/* One that is named ends the sweeps of the others. */
	start_points();
	assert_int_equal(expand("ctx:procs=8"), 0);
	assert_int_equal(points.n, 1);
	point_is(0, "procs=8,size=0" TAIL, false, false);

	start_points();
	assert_int_equal(expand("nop"), 0);
	assert_int_equal(points.n, 1);
	point_is(0, "", true, false);
}

/* But `place` is swept whatever else is named, unless it is named itself. */
static void place_is_always_swept(void **state)
{
	static const struct param own[] = {
		{ .name = "procs",
		  .type = PARAM_UINT,
		  .def = "2",
		  .min = 2,
		  .max = 96,
		  .sweep = "2+16",
		  .help = "processes" },
		{ .name = "place",
		  .type = PARAM_CHOICE,
		  .def = "same",
		  .choices = "same|spread|free",
		  .sweep = "same+spread",
		  .help = "where" },
		{ .name = NULL },
	};
	struct workload_info info = infos[0];
	struct workload_list one = { .items = &info, .n = 1 };

	(void)state;
	info.params = own;
	start_points();
	assert_int_equal(spec_expand("ctx:procs=8", &one, &arena, &points, &err), 0);
	assert_int_equal(points.n, 2);
	point_is(0, "procs=8,place=same", false, false);
	point_is(1, "procs=8,place=spread", false, true);
	start_points();
	assert_int_equal(spec_expand("ctx:place=free", &one, &arena, &points, &err), 0);
	assert_int_equal(points.n, 2);
	point_is(0, "procs=2,place=free", false, false);
	point_is(1, "procs=16,place=free", false, true);
}

/* A text with min 1 has no default; the first that is given is the headline's. */
static void what_must_be_given(void **state)
{
	static const struct param own[] = {
		{ "run", PARAM_TEXT, "", 1, 0, NULL, NULL, "what", 0 },
		{ "samples", PARAM_UINT, "5", 1, 9, NULL, NULL, "how many", 0 },
		{ .name = NULL },
	};
	struct workload_info info = infos[0];
	struct workload_list one = { .items = &info, .n = 1 };
	struct args args;

	(void)state;
	info.params = own;
	start_points();
	assert_int_equal(spec_expand("ctx", &one, &arena, &points, &err), -EINVAL);
	assert_string_equal(err.text, "ctx: the parameter 'run' must be given");
	error_clear(&err);
	assert_int_equal(spec_expand("ctx:run=\"\"", &one, &arena, &points, &err), -EINVAL);
	error_clear(&err);
	assert_int_equal(args_parse(own, "samples=3", &arena, &args, &err), -EINVAL);
	assert_string_equal(err.text, "the parameter 'run' must be given");
	error_clear(&err);
	assert_int_equal(args_parse(own, "samples=3,run=x", &arena, &args, &err), 0);
	assert_string_equal(args_canonical(&args, &arena), "run=x,samples=3");
	assert_int_equal(points.n, 0);
	assert_int_equal(spec_expand("ctx:run=a+b", &one, &arena, &points, &err), 0);
	assert_int_equal(spec_expand("ctx:run=a,samples=2", &one, &arena, &points, &err), 0);
	assert_int_equal(points.n, 3);
	point_is(0, "run=a,samples=5", true, false);
	point_is(1, "run=b,samples=5", false, false);
	point_is(2, "run=a,samples=2", false, false);
}

static void a_point_is_there_once(void **state)
{
	(void)state;
	start_points();
	assert_int_equal(expand("ctx"), 0);
	assert_int_equal(expand("ctx"), 0);
	assert_int_equal(points.n, 4);
	point_is(3, "procs=16,size=64KiB" TAIL, false, true);
	/* Asked for now: a skip of it is a loss. */
	assert_int_equal(expand("ctx:size=65536+64KiB,procs=16+016"), 0);
	assert_int_equal(points.n, 4);
	point_is(3, "procs=16,size=64KiB" TAIL, false, false);
	assert_int_equal(expand("ctx"), 0);
	point_is(3, "procs=16,size=64KiB" TAIL, false, false);
}

static void spec_values_may_be_quoted(void **state)
{
	(void)state;
	start_points();
	assert_int_equal(expand("ctx:procs=2,size=0,run=\"a,b+c=\\\"d\\\\\"+plain+\"\",place=free"),
			 0);
	assert_int_equal(points.n, 3);
	point_is(0, "procs=2,size=0,wait=10ms,place=free,run=\"a,b+c=\\\"d\\\\\"", false, false);
	point_is(1, "procs=2,size=0,wait=10ms,place=free,run=plain", false, false);
	point_is(2, "procs=2,size=0,wait=10ms,place=free,run=\"\"", false, false);
}

static void bad_specs_are_refused(void **state)
{
	static const char *const bad[][2] = {
		{ "ctxx", "unknown workload 'ctxx' (known: ctx, nop)" },
		{ "", "unknown workload '' (known: ctx, nop)" },
		{ ":procs=2", "unknown workload '' (known: ctx, nop)" },
		{ "ctx:", "ctx: nothing behind ':'" },
		{ "ctx:procs", "ctx: 'procs': wanted PARAM=VALUE" },
		{ "ctx:procs=", "ctx: procs: an empty value" },
		{ "ctx:procs=2++8", "ctx: procs: an empty value" },
		{ "ctx:procs=2+", "ctx: procs: an empty value" },
		{ "ctx:procs=2,", "ctx: nothing behind the last comma" },
		{ "ctx:procs=2,,size=0", "ctx: ',size=0': wanted PARAM=VALUE" },
		{ "ctx:procs=2,procs=8", "ctx: parameter 'procs' is given twice" },
		{ "ctx:run=\"x", "ctx: run: the quote does not end" },
		{ "ctx:run=\"x\"y", "ctx: run: 'y' behind the value" },
		{ "ctx:procs=1", "ctx: procs=1: allowed are 2 to 96" },
		{ "ctx:x=1", "ctx: unknown parameter 'x' (known: procs, size, wait, place, run)" },
		{ "nop:x=1", "nop: unknown parameter 'x' (known: none)" },
	};
	size_t i;

	(void)state;
	start_points();
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_true(expand(bad[i][0]) < 0);
		assert_string_equal(err.text, bad[i][1]);
	}
	assert_int_equal(points.n, 0);
}

static void points_have_a_limit(void **state)
{
	struct str s = STR_INIT;
	unsigned i;

	(void)state;
	start_points();
	str_add(&s, "ctx:procs=2");
	for (i = 3; i <= 96; i++)
		str_printf(&s, "+%u", i);
	str_add(&s, ",size=0");
	for (i = 1; i < 106; i++)
		str_printf(&s, "+%u", i);
	/* 95 x 106; what fits was added, the rest was said, not dropped. */
	assert_int_equal(expand(s.s), -E2BIG);
	assert_string_equal(err.text, "ctx: more than 10000 points");
	assert_int_equal(points.n, SPEC_POINTS_MAX);
	str_done(&s);
}

/* ---- plans ---- */

static void plans_come_back(void **state)
{
	struct plan_item items[2] = {
		{ "id-1",
		  "ctx",
		  "procs=2",
		  true,
		  false,
		  250000000,
		  NULL,
		  0,
		  32,
		  { 3, 7121000, 15, 640, 24 } },
		{ "id-2", "x\"y", "run=\"a,b\"", false, true, 1, NULL, 0, 0, { 0 } },
	};
	CLEANUP_JSON json_t *context = json_pack("{s:s}", "cpu", "this one");
	struct plan p = { .boot = "b",
			  .class = "exact",
			  .context = context,
			  .warmup_ns = 1,
			  .batch_ns = 2,
			  .heartbeat_ns = 3,
			  .items = items,
			  .n = 2 };
	CLEANUP_FREE char *text = plan_encode(&p), *again = NULL;
	struct plan q;

	(void)state;
	assert_null(strchr(text, '\n'));
	assert_int_equal(plan_decode(text, strlen(text), &q, &err), 0);
	again = plan_encode(&q);
	assert_string_equal(again, text);
	assert_int_equal(q.n, 2);
	assert_string_equal(q.items[1].params, "run=\"a,b\"");
	assert_int_equal(q.items[0].n, 32);
	assert_int_equal(q.items[0].perturb.idle_ns, 7121000);
	assert_int_equal(q.items[0].perturb.slab, 24);
	plan_done(&q);
	plan_done(NULL);
}

static void bad_plans_are_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"[]",
		"{\"protocol\":1}",
		"{\"protocol\":2,\"items\":[]}",
		"{\"items\":[]}",
		"{\"protocol\":1,\"items\":{}}",
		"{\"protocol\":1,\"items\":[5]}",
		"{\"protocol\":1,\"items\":[{\"id\":\"1\"}]}",
		"{\"protocol\":1,\"items\":[{\"id\":1,\"workload\":\"x\"}]}",
		"{\"protocol\":1,\"items\":[],\"context\":\"x\"}",
		"{\"protocol\":1,\"items\":[]}{}",
	};
	static const char least[] = "{\"protocol\":1,\"items\":[]}";
	struct plan p;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		error_clear(&err);
		if (plan_decode(bad[i], strlen(bad[i]), &p, &err) >= 0)
			fail_msg("%s was taken", bad[i]);
		assert_true(str_starts(err.text, "plan: "));
	}
	error_clear(&err);
	assert_int_equal(plan_decode(least, strlen(least), &p, &err), 0);
	assert_string_equal(p.class, "native");
	assert_true(p.heartbeat_ns == PLAN_HEARTBEAT_NS);
	plan_done(&p);
}

#define TEST(f) cmocka_unit_test_teardown(f, clear)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(one_text_for_one_meaning), TEST(a_multiple_is_asked_for),
		TEST(texts_survive_quoting),	TEST(bad_parameters_are_named),
		TEST(listings_come_back),	TEST(specs_become_points),
		TEST(what_must_be_given),	TEST(place_is_always_swept),
		TEST(a_point_is_there_once),	TEST(spec_values_may_be_quoted),
		TEST(bad_specs_are_refused),	TEST(points_have_a_limit),
		TEST(plans_come_back),		TEST(bad_plans_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
