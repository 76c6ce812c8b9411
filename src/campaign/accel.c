/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "campaign/accel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "campaign/host.h"
#include "model/plan.h"

#define ANSWER_FILE "kvm.json"
#define ANSWER_MAX  65536u

enum answer { ANSWER_UNKNOWN, ANSWER_WORKS, ANSWER_DEAD };

struct memory {
	char *path;   /* NULL: there is no cache folder */
	json_t *file; /* {"boot_id":..,"release":..,"qemu":{VERSION:{"works":..,"why":..}}} */
};

static int device_open(struct error *e)
{
	const char *other = getenv("KDELTA_KVM");
	const char *path = other && *other ? other : ACCEL_DEVICE;
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return error_errno(e, errno, "%s", path);
	close(fd);
	return 0;
}

/* What is known of this boot of this machine; what is known of others is forgotten. */
static void memory_load(struct memory *m)
{
	CLEANUP_FREE char *boot_id = file_line("/proc/sys/kernel/random/boot_id"), *text = NULL;
	CLEANUP_FREE char *folder = image_cache_dir();
	struct utsname u;
	size_t len;

	*m = (struct memory){ NULL, NULL };
	if (!folder || !boot_id || uname(&u) < 0)
		return;
	m->path = mem_printf("%s/" ANSWER_FILE, folder);
	if (file_read(m->path, ANSWER_MAX, &text, &len, NULL) == 0 &&
	    json_parse(text, len, m->path, &m->file, NULL) == 0 &&
	    str_eq(json_opt_str(m->file, "boot_id", ""), boot_id) &&
	    str_eq(json_opt_str(m->file, "release", ""), u.release) &&
	    json_is_object(json_object_get(m->file, "qemu")))
		return;
	json_decref(m->file);
	m->file = json_object();
	json_object_set_new(m->file, "boot_id", json_str(boot_id));
	json_object_set_new(m->file, "release", json_str(u.release));
	json_object_set_new(m->file, "qemu", json_object());
}

static void memory_done(struct memory *m)
{
	free(m->path);
	json_decref(m->file);
}

static enum answer memory_ask(const struct memory *m, const char *qemu, const char **ret_why)
{
	const json_t *known = json_object_get(json_object_get(m->file, "qemu"), qemu);
	const json_t *works = json_object_get(known, "works");

	*ret_why = json_opt_str(known, "why", "");
	if (!json_is_boolean(works))
		return ANSWER_UNKNOWN;
	return json_is_true(works) ? ANSWER_WORKS : ANSWER_DEAD;
}

/* That it cannot be remembered is no fault: it will be tried again. */
static void memory_keep(struct memory *m, const char *qemu, enum answer answer, const char *why)
{
	CLEANUP_FREE char *folder = image_cache_dir(), *text = NULL;
	json_t *j;

	if (!m->file || !folder)
		return;
	j = json_object();
	json_object_set_new(j, "works", json_boolean(answer == ANSWER_WORKS));
	if (*why)
		json_object_set_new(j, "why", json_str(why));
	json_object_set_new(json_object_get(m->file, "qemu"), qemu, j);
	text = json_pretty(m->file);
	if (file_mkdirs(folder, NULL) == 0)
		file_replace(m->path, text, strlen(text), NULL);
}

/* Whatever it is that a guest sends, it has got as far as to send it. */
static enum vm_line on_line(void *arg, const char *line, size_t len, char *why, size_t why_size)
{
	bool *alive = arg;

	(void)line;
	(void)len;
	snprintf(why, why_size, "it answers");
	*alive = true;
	return VM_LINE_ABORT;
}

/* One boot that measures nothing. ANSWER_UNKNOWN: the kernel itself fails, with or without KVM. */
static int try_kernel(struct campaign *c, const struct campaign_vm *v,
		      const struct campaign_kernel *kernel, unsigned index,
		      const struct campaign_host *host, enum answer *ret, char *why, size_t size,
		      struct error *e)
{
	struct plan none = { .class = "kvm" };
	CLEANUP_FREE char *plan = plan_encode(&none);
	struct vm_config cfg;
	struct vm_result res;
	bool alive = false;
	int r;

	host_config(c, v, kernel, index, host, &cfg);
	cfg.kvm = true;
	cfg.plan_json = plan;
	if (!cfg.boot_timeout_ns || cfg.boot_timeout_ns > ACCEL_TIMEOUT_NS)
		cfg.boot_timeout_ns = ACCEL_TIMEOUT_NS;
	r = vm_run(&cfg, on_line, &alive, &res, e);
	if (r < 0)
		return r;
	if (res.end == VM_STOPPED)
		r = error_set(e, EINTR, "interrupted");
	snprintf(why, size, "%s: %s", vm_end_name(res.end), res.reason);
	*ret = alive						 ? ANSWER_WORKS
	       : res.end == VM_HUNG || res.end == VM_QEMU_FAILED ? ANSWER_DEAD
								 : ANSWER_UNKNOWN;
	vm_result_done(&res);
	return r;
}

/* The first kernel that can tell. */
static int try_kvm(struct campaign *c, const struct campaign_vm *v,
		   const struct campaign_kernel *kernels, unsigned n,
		   const struct campaign_host *host, enum answer *ret, char *why, size_t size,
		   struct error *e)
{
	unsigned i;
	int r = 0;

	*ret = ANSWER_UNKNOWN;
	progress_say(&c->progress,
		     "trying KVM with a boot of %s, %llu s at most; the answer is remembered",
		     kernels[0].label, ACCEL_TIMEOUT_NS / NSEC_PER_SEC);
	for (i = 0; i < n && !r && *ret == ANSWER_UNKNOWN; i++)
		r = try_kernel(c, v, &kernels[i], i, host, ret, why, size, e);
	return r;
}

static int choose_auto(struct campaign *c, const struct campaign_vm *v,
		       const struct campaign_kernel *kernels, unsigned n,
		       struct campaign_host *host, struct error *e)
{
	/* What a user made of the machine may be at fault, and KVM be well. */
	bool plain = !v->cpu_model && !(v->qemu_args && *v->qemu_args);
	enum answer answer;
	struct memory m;
	const char *known;
	char why[400];
	int r = 0;

	memory_load(&m);
	answer = memory_ask(&m, host->qemu, &known);
	snprintf(why, sizeof(why), "%s", known);
	if (answer == ANSWER_UNKNOWN) {
		r = try_kvm(c, v, kernels, n, host, &answer, why, sizeof(why), e);
		if (!r && (answer == ANSWER_WORKS || (answer == ANSWER_DEAD && plain)))
			memory_keep(&m, host->qemu, answer, answer == ANSWER_WORKS ? "" : why);
	}
	memory_done(&m);
	if (r < 0)
		return r;
	host->kvm = answer == ANSWER_WORKS;
	if (!host->kvm)
		progress_warn(
			&c->progress,
			"kdelta: emulating (TCG): " ACCEL_DEVICE
			" is there, but no guest came up with it (%.150s); --accel kvm insists",
			why);
	return 0;
}

int accel_choose(struct campaign *c, const struct campaign_vm *v,
		 const struct campaign_kernel *kernels, unsigned n, struct campaign_host *host,
		 struct error *e)
{
	struct error why = ERROR_INIT;
	int r;

	host->kvm = false;
	if (str_eq(v->accel, "tcg"))
		return 0;
	r = device_open(&why);
	if (!r && str_eq(v->accel, "kvm"))
		host->kvm = true;
	else if (!r)
		return choose_auto(c, v, kernels, n, host, e);
	else if (str_eq(v->accel, "kvm"))
		return error_set(e, -r, "--accel kvm: %s", why.text);
	else if (r != -ENOENT)
		progress_warn(&c->progress, "kdelta: emulating (TCG): %s", why.text);
	return 0;
}
