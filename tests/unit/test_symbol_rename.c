/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions that got another name. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/str.h"
#include "symbol/rename.h"

#define MOST 8

/* Pairs as "a=b why; "; empty names end the lists. */
static void check(const struct rename_symbol *a, const struct rename_symbol *b, const char *want)
{
	struct rename_symbol turned_a[MOST], turned_b[MOST];
	struct rename_pair pairs[MOST];
	struct str got = STR_INIT;
	size_t n_a = 0, n_b = 0, n, m;

	while (a[n_a].name)
		n_a++;
	while (b[n_b].name)
		n_b++;
	n = rename_pairs(a, n_a, b, n_b, pairs);
	for (size_t i = 0; i < n; i++)
		str_printf(&got, "%s=%s %s; ", a[pairs[i].a].name, b[pairs[i].b].name,
			   pairs[i].why);
	if (strcmp(str_get(&got), want))
		fail_msg("\"%s\", not \"%s\"", str_get(&got), want);
	/* The order of the lists decides nothing, and neither does the direction. */
	for (size_t i = 0; i < n_a; i++)
		turned_a[n_a - 1 - i] = a[i];
	for (size_t i = 0; i < n_b; i++)
		turned_b[n_b - 1 - i] = b[i];
	m = rename_pairs(turned_b, n_b, turned_a, n_a, pairs);
	assert_int_equal(m, n);
	for (size_t i = 0; i < m; i++) {
		CLEANUP_FREE char *pair = mem_printf("%s=%s %s; ", turned_a[pairs[i].b].name,
						     turned_b[pairs[i].a].name, pairs[i].why);

		if (!strstr(want, pair))
			fail_msg("%sthe other way round only", pair);
	}
	str_done(&got);
}

#define LIST(...)                                                                                  \
	(const struct rename_symbol[])                                                             \
	{                                                                                          \
		__VA_ARGS__,                                                                       \
		{                                                                                  \
			NULL, 0, 0                                                                 \
		}                                                                                  \
	}

static void by_spelling(void **state)
{
	(void)state;
	check(LIST({ "do_wait.isra.0", 10, 1 }), LIST({ "do_wait.part.0", 90, 7 }),
	      "do_wait.isra.0=do_wait.part.0 suffix; ");
	check(LIST({ "do_wait", 10, 1 }), LIST({ "do_wait.constprop.0", 10, NAN }),
	      "do_wait=do_wait.constprop.0 suffix; ");
	check(LIST({ "__memcpy", 10, 1 }), LIST({ "memcpy", 10, 1 }),
	      "__memcpy=memcpy underscore; ");
	check(LIST({ "__do_fault", 10, 1 }), LIST({ "do_fault", 10, 1 }),
	      "__do_fault=do_fault underscore; ");
	check(LIST({ "__do_fault", 10, 1 }), LIST({ "fault_.isra.0", 10, 1 }),
	      "__do_fault=fault_.isra.0 underscore; ");
	/* The closer rule first, and each once. */
	check(LIST({ "memcpy", 10, 1 }, { "__memcpy", 10, 1 }),
	      LIST({ "__memcpy.isra.0", 10, 1 }, { "_memcpy", 10, 1 }),
	      "memcpy=_memcpy underscore; __memcpy=__memcpy.isra.0 suffix; ");
	/* Which of the two? Nobody knows. */
	check(LIST({ "wait.isra.0", 10, 1 }),
	      LIST({ "wait.part.0", 10, 1 }, { "wait.constprop.0", 10, 1 }), "");
	check(LIST({ "__wait", 10, 1 }), LIST({ "wait_", 10, 5 }, { "_wait", 10, 5 }), "");
	/* A cold part is no function. */
	check(LIST({ "wait.cold", 10, 1 }), LIST({ "wait.isra.0", 10, 1 }), "");
	check(LIST({ "wait.cold", 10, 1 }), LIST({ "__wait", 10, 1 }, { "wait.isra.0.cold", 9, 1 }),
	      "wait.cold=wait.isra.0.cold suffix; ");
	/* Underscores alone are no name. */
	check(LIST({ "_", 10, 1 }), LIST({ "__", 10, 1 }), "");
	check(LIST({ NULL, 0, 0 }), LIST({ "x", 10, 1 }), "");
}

static void by_calls(void **state)
{
	static const char why[] = "similar name, same calls";
	CLEANUP_FREE char *softirq = mem_printf("__do_softirq=handle_softirqs %s; ", why);
	CLEANUP_FREE char *pages = mem_printf("__alloc_pages=__alloc_pages_noprof %s; ", why);
	CLEANUP_FREE char *both = mem_printf("kmem_cache_alloc=kmem_cache_alloc_noprof %s; "
					     "kmem_cache_alloc_node=kmem_cache_alloc_node_noprof "
					     "%s; ",
					     why, why);

	(void)state;
	/* From 6.1 to 6.12. */
	check(LIST({ "__do_softirq", 120, .031 }), LIST({ "handle_softirqs", 150, .031 }), softirq);
	check(LIST({ "__alloc_pages", 400, 2 }, { "pagevec_lru_move_fn", 90, 2 }),
	      LIST({ "__alloc_pages_noprof", 380, 2 }, { "folio_batch_move_lru", 80, 2 }), pages);
	check(LIST({ "kmem_cache_alloc", 100, 1 }, { "kmem_cache_alloc_node", 100, 1 }),
	      LIST({ "kmem_cache_alloc_node_noprof", 100, 1 },
		   { "kmem_cache_alloc_noprof", 100, 1 }),
	      both);
	/* Calls differ, are not known, or none is made. */
	check(LIST({ "__do_softirq", 120, 1 }), LIST({ "handle_softirqs", 150, 1.03 }), "");
	check(LIST({ "__do_softirq", 120, NAN }), LIST({ "handle_softirqs", 150, NAN }), "");
	check(LIST({ "__do_softirq", 120, 0 }), LIST({ "handle_softirqs", 150, 0 }), "");
	/* Much longer than it was. */
	check(LIST({ "__do_softirq", 120, 1 }), LIST({ "handle_softirqs", 361, 1 }), "");
	/* Little in common, or only small words. */
	check(LIST({ "tcp_recvmsg_locked", 9, 1 }), LIST({ "tcp_recvmsg_dmabuf", 9, 1 }), "");
	check(LIST({ "tcp_send_mss", 9, 1 }), LIST({ "tcp_current_window", 9, 1 }), "");
	check(LIST({ "get_page", 9, 1 }), LIST({ "page_get", 9, 1 }), "");
	check(LIST({ "sys_class", 9, 1 }), LIST({ "sys_clas", 9, 1 }), "");
	/* Two are as much alike. */
	check(LIST({ "wakeup_preempt", 9, 1 }),
	      LIST({ "wakeup_preempt_fair", 9, 1 }, { "wakeup_preempt_idle", 9, 1 }), "");
	check(LIST({ "wakeup_preempt_fair", 9, 1 }, { "wakeup_preempt_idle", 9, 1 }),
	      LIST({ "wakeup_preempt", 9, 1 }), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_spelling),
		cmocka_unit_test(by_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
