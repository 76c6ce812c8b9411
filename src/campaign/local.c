/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "campaign/campaign.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "campaign/agent.h"
#include "campaign/ingest.h"
#include "campaign/machine.h"
#include "image/kconfig.h"

static int on_line(void *arg, const char *line, size_t len, struct error *e)
{
	return ingest_line(arg, line, len, e);
}

static json_t *context_of(const struct campaign *c, const char *machine)
{
	CLEANUP_FREE char *cpu = machine_cpu_model();
	json_t *j = json_object();

	json_object_set_new(j, "agent", json_str(c->agent_build_id));
	json_object_set_new(j, "machine", json_str(machine));
	if (cpu)
		json_object_set_new(j, "cpu", json_str(cpu));
	return j;
}

/* The kernel that runs, as far as it can be told from outside the agent. */
static int running_kernel(struct campaign *c, const char *label, const struct utsname *u,
			  char ret_id[ID_UUID_SIZE], struct error *e)
{
	CLEANUP_FREE char *cmdline = file_line("/proc/cmdline");
	CLEANUP_FREE char *notes = NULL, *config = NULL, *hash = NULL;
	struct ds_kernel k = { .label = label ? label : u->release };
	char build_id[ID_BUILD_SIZE];
	size_t len;

	k.release = u->release;
	k.cmdline = cmdline;
	k.version = u->version;
	if (file_read("/sys/kernel/notes", 65536, &notes, &len, NULL) == 0 &&
	    id_build_from_notes(notes, len, build_id) == 0)
		k.build_id = build_id;
	if (kconfig_running("", u->release, &config, NULL) == 0) {
		hash = kconfig_hash(config);
		k.config = config;
		k.config_hash = hash;
	}
	return store_kernel_add(c->store, &k, ret_id, e);
}

int campaign_local(struct campaign *c, const char *label, struct campaign_tally *ret,
		   struct error *e)
{
	CLEANUP_FREE char *boot_id = file_line("/proc/sys/kernel/random/boot_id"), *text = NULL;
	char kernel[ID_UUID_SIZE], boot[ID_UUID_SIZE];
	struct store_boot b = { .experiment = c->experiment, .kernel = kernel, .boot_id = boot_id };
	struct store_boot_end end = { .state = STORE_OK };
	struct ingest in = { .c = c, .kernel = kernel };
	struct error why = ERROR_INIT;
	CLEANUP_JSON json_t *context = NULL;
	struct utsname u;
	struct plan plan = { .arena = ARENA_INIT };
	int r;

	memset(ret, 0, sizeof(*ret));
	if (uname(&u) < 0)
		return error_errno(e, errno, "uname");
	context = context_of(c, u.machine);
	text = work_plan(c->work, NULL, "native", context, &plan, e);
	r = text ? running_kernel(c, label, &u, kernel, e) : -EIO;
	if (!r)
		r = store_boot_begin(c->store, &b, &plan, boot, e);
	if (r < 0)
		goto out;
	progress_what(&c->progress, "%.40s", label ? label : u.release);
	in.sink = store_sink_new(c->store, boot, STORE_IDS_KEEP);
	r = agent_run(c->agent, text, on_line, &in, c->stop, &why);
	if (r < 0) {
		end.state = r == -EINTR ? STORE_STOPPED : STORE_FAILED;
		end.reason = why.text;
		progress_warn(&c->progress, "this boot failed: %s", why.text);
	}
	r = ingest_end(&in, boot, &end, ret, e);
out:
	plan_done(&plan);
	return r;
}
