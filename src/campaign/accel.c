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

enum answer {
	ANSWER_UNKNOWN, /* the kernel fails by itself, with or without KVM */
	ANSWER_WORKS,
	ANSWER_HUNG,
	ANSWER_DEAD, /* of one boot: QEMU failed */
};

struct memory {
	char *path; /* NULL: there is no cache folder */
	char *key;  /* QEMU's version and the device */
	/* {"boot_id":..,"release":..,"qemu":{KEY:{"works":..,"why":..,"time":seconds}}} */
	json_t *file;
};

static const char *device(void)
{
	const char *other = getenv("KDELTA_KVM");

	return other && *other ? other : ACCEL_DEVICE;
}

static int device_open(struct error *e)
{
	int fd = open(device(), O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return error_errno(e, errno, "%s", device());
	close(fd);
	return 0;
}

static uint64_t timeout_ns(void)
{
	const char *ms = getenv("KDELTA_KVM_TIMEOUT");
	unsigned long n = ms ? strtoul(ms, NULL, 10) : 0;

	return n ? n * NSEC_PER_MSEC : ACCEL_TIMEOUT_NS;
}

static uint64_t now_s(void)
{
	return clock_real_ns() / NSEC_PER_SEC;
}

/* What is known of this boot of this machine; what is known of others is forgotten. */
static void memory_load(struct memory *m, const char *qemu)
{
	CLEANUP_FREE char *boot_id = file_line("/proc/sys/kernel/random/boot_id"), *text = NULL;
	CLEANUP_FREE char *folder = image_cache_dir();
	struct utsname u;
	size_t len;

	*m = (struct memory){ .key = mem_printf("%s, %s", qemu, device()) };
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
	free(m->key);
	json_decref(m->file);
}

static enum answer memory_ask(const struct memory *m, const char **ret_why)
{
	const json_t *known = json_object_get(json_object_get(m->file, "qemu"), m->key);
	const json_t *works = json_object_get(known, "works");
	json_int_t since = json_integer_value(json_object_get(known, "time"));
	uint64_t now = now_s();

	*ret_why = json_opt_str(known, "why", "");
	if (json_is_true(works))
		return ANSWER_WORKS;
	/* One of the future: the clock was set, and how old it is cannot be told. */
	return json_is_false(works) && since > 0 && (uint64_t)since <= now &&
			       now - (uint64_t)since < ACCEL_DEAD_S
		       ? ANSWER_DEAD
		       : ANSWER_UNKNOWN;
}

/* That it cannot be remembered is no fault: it will be tried again. */
static void memory_keep(struct memory *m, enum answer answer, const char *why)
{
	CLEANUP_FREE char *folder = image_cache_dir(), *text = NULL;
	json_t *j;

	if (!m->file || !folder)
		return;
	j = json_object();
	json_object_set_new(j, "works", json_boolean(answer == ANSWER_WORKS));
	if (*why)
		json_object_set_new(j, "why", json_str(why));
	json_object_set_new(j, "time", json_u64(now_s()));
	json_object_set_new(json_object_get(m->file, "qemu"), m->key, j);
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

/* One boot that measures nothing. */
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
	/* Not the user's, which may be too short for any kernel. */
	cfg.boot_timeout_ns = timeout_ns();
	r = vm_run(&cfg, on_line, &alive, &res, e);
	if (r < 0)
		return r;
	if (res.end == VM_STOPPED)
		r = error_set(e, EINTR, "interrupted");
	snprintf(why, size, "%s: %s", vm_end_name(res.end), res.reason);
	/* Not a QEMU that does not answer: the machine may be busy. */
	if (alive)
		*ret = ANSWER_WORKS;
	else if (res.end == VM_QEMU_FAILED && str_starts(res.reason, "QEMU ended with"))
		*ret = ANSWER_DEAD;
	else
		*ret = res.end == VM_HUNG ? ANSWER_HUNG : ANSWER_UNKNOWN;
	vm_result_done(&res);
	return r;
}

/* The first kernel that can tell. ANSWER_HUNG: all hung, and all as they are. */
static int try_kvm(struct campaign *c, const struct campaign_vm *v,
		   const struct campaign_kernel *kernels, unsigned n,
		   const struct campaign_host *host, enum answer *ret, char *why, size_t size,
		   struct error *e)
{
	bool all_hung = true;
	unsigned i;
	int r = 0;

	*ret = ANSWER_UNKNOWN;
	progress_say(&c->progress,
		     "trying KVM with a boot of %s, %llu s at most; the answer is remembered",
		     kernels[0].label, ACCEL_TIMEOUT_NS / NSEC_PER_SEC);
	for (i = 0; i < n && !r && *ret != ANSWER_WORKS && *ret != ANSWER_DEAD; i++) {
		r = try_kernel(c, v, &kernels[i], i, host, ret, why, size, e);
		all_hung = all_hung && *ret == ANSWER_HUNG && !kernels[i].append;
	}
	if (*ret == ANSWER_HUNG && !all_hung)
		*ret = ANSWER_UNKNOWN;
	return r;
}

static int choose_auto(struct campaign *c, const struct campaign_vm *v,
		       const struct campaign_kernel *kernels, unsigned n,
		       struct campaign_host *host, struct error *e)
{
	/* What a user made of the machine may be at fault, and KVM be well. */
	bool plain = !v->cpu_model && !(v->qemu_args && *v->qemu_args) &&
		     v->cpus == ACCEL_PLAIN_CPUS && v->mem_mib == ACCEL_PLAIN_MEM_MIB;
	enum answer answer;
	struct memory m;
	const char *known;
	char why[400];
	int r = 0;

	memory_load(&m, host->qemu);
	answer = memory_ask(&m, &known);
	snprintf(why, sizeof(why), "%s", known);
	if (answer == ANSWER_UNKNOWN) {
		r = try_kvm(c, v, kernels, n, host, &answer, why, sizeof(why), e);
		if (!r && answer == ANSWER_WORKS)
			memory_keep(&m, answer, "");
		else if (!r && answer != ANSWER_UNKNOWN && plain)
			memory_keep(&m, answer, why);
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

void accel_worked(const struct campaign_host *host)
{
	struct memory m;
	const char *why;

	memory_load(&m, host->qemu);
	if (memory_ask(&m, &why) != ANSWER_WORKS)
		memory_keep(&m, ANSWER_WORKS, "");
	memory_done(&m);
}
