/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the agent is asked to do in one boot. JSON, the same codec on both sides; docs/records.md.
 * The host makes the ids (UUIDs); an agent started by hand numbers its invocations 1, 2, ...
 */
#ifndef KDELTA_MODEL_PLAN_H
#define KDELTA_MODEL_PLAN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "model/setting.h"

/* What is varied around one workload in exact mode: harmless, recorded, the same for all kernels.
 */
struct plan_perturb {
	unsigned index;	     /* 0: nothing is varied */
	uint64_t idle_ns;    /* slept before the warm-up */
	unsigned sixteenths; /* of n in a batch; 0 is 16 */
	unsigned env_bytes;  /* more environment, so another place of the stack */
	unsigned slab;	     /* so many pipes, files and children made and given back before */
};

struct plan_item {
	const char *id;
	const char *workload;
	const char *params; /* as args_parse() takes them */
	bool headline;	    /* the workload's default point */
	bool implied;	    /* asked for by a default: a skip of it does not count as partial */
	uint64_t time_ns;   /* for measuring; warm-up comes on top */
	struct setting *settings; /* the machine has while it runs; normal form, by name */
	size_t n_settings;
	/* class "exact" alone */
	uint64_t n; /* operations of a batch, before sixteenths; 0: to be found out */
	struct plan_perturb perturb;
};

struct plan {
	struct arena arena;
	const char *boot;      /* id of the boot, NULL for an agent started by hand */
	const char *class;     /* "native", "kvm", "emulated", "exact" */
	const json_t *context; /* object, owned by `raw` */
	uint64_t warmup_ns, batch_ns, heartbeat_ns;
	struct plan_item *items;
	size_t n;
	json_t *raw; /* of a decoded plan */
};

#define PLAN_EXACT	  "exact"	 /* the class of exact mode: model/exact.h */
#define PLAN_WARMUP_NS	  50000000ull	 /* 50 ms */
#define PLAN_BATCH_NS	  1000000ull	 /* 1 ms: batches are at least this long */
#define PLAN_HEARTBEAT_NS 60000000000ull /* silence of a minute: failed */
#define PLAN_TIME_NS	  1000000000ull	 /* of one invocation */

int plan_decode(const char *text, size_t len, struct plan *ret, struct error *e);
char *plan_encode(const struct plan *p); /* one line; caller frees */
void plan_done(struct plan *p);

#endif
