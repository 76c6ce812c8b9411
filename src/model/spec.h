/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What to run, as people write it: NAME[:PARAM=VALUE[+VALUE...][,PARAM=...]].
 *
 *	ctx:procs=2+8+16,size=0+16KiB     six points
 *	pipe                              the default point, and what its parameters sweep
 *	cmd:run="make -j2, twice"         a value in quotes may hold , + = and \" \\
 *
 * A parameter that is not named takes its default. Where a spec names none (`place` aside), and for
 * `place` always, the other values of the sweep that the workload declares are added; those points
 * are `implied`: a skip of one of them is no loss.
 */
#ifndef KDELTA_MODEL_SPEC_H
#define KDELTA_MODEL_SPEC_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "model/info.h"

struct spec_point {
	const struct workload_info *workload;
	const char *params; /* canonical text */
	bool headline;	    /* all parameters at their defaults; without one: the first given */
	bool implied;
};

struct spec_points {
	struct spec_point *items;
	size_t n, cap;
};

#define SPEC_POINTS_MAX 10000u

/*
 * Adds the points of one spec. A point that is there already is not added again (but an implied
 * one that is now asked for is no longer implied). Memory from the arena. -EINVAL / -ENOENT:
 * unknown workload (naming close ones), unknown parameter, bad value.
 */
int spec_expand(const char *text, const struct workload_list *known, struct arena *a,
		struct spec_points *points, struct error *e);

#endif
