/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a workload says of itself, as `kdelta-agent list --format json` prints it and the host
 * reads it: the host knows workloads only through this, so an agent and its host never disagree.
 */
#ifndef KDELTA_MODEL_INFO_H
#define KDELTA_MODEL_INFO_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "model/metric.h"
#include "model/param.h"
#include "model/setting.h"

enum shape {
	SHAPE_COUNTED = 1, /* does n operations */
	SHAPE_TIMED,	   /* works until told to stop, counts its operations */
	SHAPE_ONCE,	   /* one whole run is the sample */
};

/* What must be there before an invocation starts; unmet: skipped with the reason. */
enum need {
	NEED_LOOPBACK = 1u << 0, /* 127.0.0.1 or ::1 is up */
	NEED_TMPDIR = 1u << 1,	 /* a folder to write in ($TMPDIR or /tmp) */
	NEED_SHELL = 1u << 2,	 /* /bin/sh */
	NEED_ROOT = 1u << 3,
};

struct workload_info {
	const char *name, *family, *op, *doc;
	unsigned version;
	enum shape shape;
	bool placed;		    /* two or more parties: has the parameter `place` */
	const struct param *params; /* with `place` where placed; ends with a NULL name */
	const struct metric *metrics;
	unsigned needs; /* NEED_ bits; in JSON their words: ["loopback", "shell"] */
};

struct workload_list {
	struct arena arena;
	char *agent_version, *agent_build_id;
	struct workload_info *items;
	size_t n;
	struct setting_info *settings; /* kinds of settings that it can change */
	size_t n_settings;
};

const char *shape_name(enum shape s); /* "counted", "timed", "once" */
const char *need_name(enum need n);   /* "loopback", "tmpdir", "shell", "root" */
json_t *workload_info_encode(const struct workload_info *w);
/* Decodes the whole listing:
 * {"protocol":1,"agent":..,"agent_build_id":..,"workloads":[..],"settings":[..]}. */
int workload_list_decode(const json_t *j, struct workload_list *ret, struct error *e);
const struct workload_info *workload_list_find(const struct workload_list *l, const char *name);
void workload_list_done(struct workload_list *l);

#endif
