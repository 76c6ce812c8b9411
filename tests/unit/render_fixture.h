/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Comparisons against goldens, for the tests of render. Include cmocka.h first. */
#ifndef KDELTA_TESTS_RENDER_FIXTURE_H
#define KDELTA_TESTS_RENDER_FIXTURE_H

#include <stdlib.h>

#include <jansson.h>

#include "base/file.h"
#include "base/mem.h"
#include "compare_fixture.h"
#include "render/render.h"

static const struct render_options render_options = RENDER_OPTIONS_INIT;

static inline void golden(const char *name, const struct str *out)
{
	char *path = mem_printf("%s/golden/%s", TEST_SOURCE_DIR, name), *want = NULL;
	struct error e = ERROR_INIT;
	size_t len;

	if (getenv("UPDATE_GOLDEN")) {
		if (file_replace(path, str_get(out), out->len, &e))
			fail_msg("%s", e.text);
	} else if (file_read(path, 1u << 20, &want, &len, &e) || len != out->len ||
		   memcmp(want, str_get(out), len) != 0) {
		fprintf(stderr, "%s\n%s", e.text, str_get(out));
		fail_msg("%s differs from the above. If that is right: UPDATE_GOLDEN=1 meson test "
			 "-C build test_render test_render_exact",
			 path);
	}
	free(want);
	free(path);
}

/* Of a mail, all but commands fits in 80 columns, and no line ends in blanks. */
static inline void check_width(const struct str *out)
{
	const char *s = str_get(out);
	size_t n;

	for (; *s; s += n + (s[n] == '\n')) {
		n = strcspn(s, "\n");
		if (n > 80 && strncmp(s, "Reproduce: ", 11) != 0 && strncmp(s, "Next: ", 6) != 0)
			fail_msg("%zu columns: %.*s", n, (int)n, s);
		assert_true(!n || s[n - 1] != ' ');
	}
}

static inline void check_json(const struct str *out)
{
	static const char *const top[] = { "kernels", "rows", "differences", "summary" };
	static const char *const kernel[] = { "label",	  "release", "version",
					      "build_id", "boots",   "failed" };
	static const char *const row[] = { "workload", "params", "part",     "metric", "unit",
					   "better",   "class",	 "headline", "values", "pairs" };
	static const char *const pair[] = {
		"base",	 "new", "ratio",      "ci",	 "level",
		"flags", "p",	"p_adjusted", "verdict", "boots_needed"
	};
	json_t *j = json_loads(str_get(out), JSON_REJECT_DUPLICATES, NULL), *r, *p;
	size_t i, k, m;

	assert_non_null(j);
	for (i = 0; i < ARRAY_SIZE(top); i++)
		assert_non_null(json_object_get(j, top[i]));
	json_array_foreach (json_object_get(j, "kernels"), i, r)
		for (k = 0; k < ARRAY_SIZE(kernel); k++)
			assert_non_null(json_object_get(r, kernel[k]));
	json_array_foreach (json_object_get(j, "rows"), i, r) {
		for (k = 0; k < ARRAY_SIZE(row); k++)
			assert_non_null(json_object_get(r, row[k]));
		json_array_foreach (json_object_get(r, "pairs"), m, p)
			for (k = 0; k < ARRAY_SIZE(pair); k++)
				assert_non_null(json_object_get(p, pair[k]));
	}
	assert_null(strstr(str_get(out), "nan"));
	assert_null(strstr(str_get(out), "inf"));
	json_decref(j);
}

/* Fields of each line of a CSV: as many as its header has. */
static inline void check_csv(const struct str *out)
{
	size_t fields = 1, want = 0;
	bool quoted = false;
	const char *s;

	for (s = str_get(out); *s; s++) {
		quoted ^= *s == '"';
		fields += !quoted && *s == ',';
		if (quoted || *s != '\n')
			continue;
		assert_int_equal(s[-1], '\r');
		if (!want)
			want = fields;
		assert_int_equal(fields, want);
		fields = 1;
	}
	assert_false(quoted);
}

/* Renders and checks all forms; `forms` of them are goldens: t, m, c, j. */
static inline void check(struct fx *f, const struct compare_options *o, const char *name,
			 const char *forms)
{
	static const struct compare_options defaults = COMPARE_OPTIONS_INIT;
	struct comparison c;
	struct error e = ERROR_INIT;
	const char *form;

	dataset_finish(&f->d);
	if (compare_make(&f->d, o ? o : &defaults, &c, &e))
		fail_msg("%s", e.text);
	dataset_done(&f->d);
	for (form = "tmcj"; *form; form++) {
		struct str out = STR_INIT;
		char *file = mem_printf("compare_%s.%s", name,
					*form == 't'   ? "txt"
					: *form == 'm' ? "md"
					: *form == 'c' ? "csv"
						       : "json");

		if (*form == 't') {
			render_text(&c, &render_options, &out);
			check_width(&out);
		} else if (*form == 'm') {
			render_md(&c, &render_options, &out);
		} else if (*form == 'c') {
			render_csv(&c, &out);
			check_csv(&out);
		} else {
			render_json(&c, &out);
			check_json(&out);
		}
		if (strchr(forms, *form))
			golden(file, &out);
		str_done(&out);
		free(file);
	}
	compare_done(&c);
}

#endif
