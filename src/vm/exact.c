/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vm/exact.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/proc.h"
#include "model/exact.h"
#include "vm/boot.h"
#include "vm/exact_loop.h"

#define COUNTS_MAX	(256u << 20) /* bytes from a plugin */
#define HELP_TIMEOUT_NS (10 * NSEC_PER_SEC)
/* Of a bzImage: where its set-up code's length is, in sectors, and what it is known by. */
#define SETUP_SECTS  0x1f1
#define HEADER_MAGIC 0x202
#define HEAD_MORE    4096u		     /* bytes behind the set-up code */
#define HEAD_MAX     (256 * 512 + HEAD_MORE) /* the longest */
#define SMP_MAJOR    9u

static int lifted_memfd(const char *name, const void *data, size_t len, int *ret_fd,
			struct error *e)
{
	CLEANUP_CLOSE int fd = -1;
	int r = file_memfd(name, data, len, &fd, e);

	if (r < 0)
		return r;
	r = boot_fd_lift(fd, ret_fd);
	return r < 0 ? error_errno(e, -r, "%s", name) : 0;
}

static int lifted(int fd, const char *name, int *ret_fd, struct error *e)
{
	int r = boot_fd_lift(fd, ret_fd);

	return r < 0 ? error_errno(e, -r, "%s", name) : 0;
}

static int exact_ram(struct exact *x, struct error *e)
{
	unsigned mib = x->cfg->mem_mib ? x->cfg->mem_mib : EXACT_MEM_MIB;
	CLEANUP_CLOSE int fd = memfd_create("guest memory", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, (off_t)mib << 20) < 0)
		return error_errno(e, errno, "guest memory of %u MiB", mib);
	return lifted(fd, "guest memory", &x->fds[EXACT_FD_RAM], e);
}

/* The pipe is filled before QEMU starts: mostly all of the state fits. */
static int exact_state(struct exact *x, struct error *e)
{
	int p[2], r;

	if (pipe2(p, O_CLOEXEC) < 0)
		return error_errno(e, errno, "pipe");
	x->stream = p[1];
	r = lifted(p[0], "pipe", &x->fds[EXACT_FD_STATE], e);
	close(p[0]);
	if (r < 0)
		return r;
	if (fcntl(x->stream, F_SETFL, O_NONBLOCK) < 0)
		return error_errno(e, errno, "pipe");
	fcntl(x->stream, F_SETPIPE_SZ, EXACT_PIPE_BYTES);
	exact_feed(x);
	return 0;
}

/* Always as long, so that only its bytes differ. */
static int exact_plan(struct exact *x, const char *plan, struct error *e)
{
	CLEANUP_FREE char *padded = mem_alloc(EXACT_RUN_BYTES);
	size_t len = strlen(plan);

	if (len >= EXACT_RUN_BYTES)
		return error_set(e, EINVAL,
				 "a run's plan of %zu bytes: at most %u fit; give the workload "
				 "shorter parameters",
				 len, EXACT_RUN_BYTES);
	memset(padded, ' ', EXACT_RUN_BYTES);
	memcpy(padded, plan, len);
	padded[len] = '\n';
	return lifted_memfd("plan", padded, EXACT_RUN_BYTES, &x->fds[EXACT_FD_PLAN], e);
}

static int exact_open(struct exact *x, struct error *e)
{
	int r = lifted_memfd("console", "", 0, &x->fds[EXACT_FD_CONSOLE], e);

	if (!r)
		r = lifted_memfd("channel", "", 0, &x->fds[EXACT_FD_CHANNEL], e);
	x->console_tap.fd = x->fds[EXACT_FD_CONSOLE];
	x->channel_tap.fd = x->fds[EXACT_FD_CHANNEL];
	if (!r)
		r = boot_socket(&x->control, &x->fds[EXACT_FD_CONTROL], e);
	if (!r)
		r = boot_socket(&x->output, &x->output_peer, e);
	qmp_init(&x->qmp, x->control);
	return r;
}

static int exact_start(struct exact *x, unsigned smp, const char *plugin, struct error *e)
{
	CLEANUP_FREE char *path = NULL;
	CLEANUP_FREE char *append = NULL;
	int keep[EXACT_N_FDS];
	size_t i, n = 0;
	char **argv;
	int r;

	append = x->cfg->append && *x->cfg->append
			 ? mem_printf("%s %s", VM_EXACT_CMDLINE, x->cfg->append)
			 : mem_strdup(VM_EXACT_CMDLINE);
	r = qemu_find(x->cfg->qemu, &path, e);
	if (!r)
		r = qemu_cmdline(append, &x->ret->cmdline, e);
	if (r < 0)
		return r;
	for (i = 0; i < EXACT_N_FDS; i++)
		if (x->fds[i] >= 0)
			keep[n++] = x->fds[i];
	argv = exact_argv(x->cfg, smp, path, x->ret->cmdline, plugin, x->fds);
	x->start = x->last = clock_mono_ns();
	r = qemu_spawn(argv, keep, n, x->output_peer, &x->proc, e);
	qemu_argv_free(argv);
	boot_fd_drop(&x->output_peer);
	boot_fd_drop(&x->fds[EXACT_FD_CONTROL]);
	/* Else a QEMU that is gone would still be the pipe's reader. */
	x->state_number = x->fds[EXACT_FD_STATE];
	boot_fd_drop(&x->fds[EXACT_FD_STATE]);
	return r;
}

static struct exact *exact_new(const struct vm_config *cfg, bool run, VM_LINE_CALLBACK(line),
			       void *arg, struct vm_result *ret)
{
	struct exact *x = mem_alloc(sizeof(*x));
	size_t i;

	memset(ret, 0, sizeof(*ret));
	x->cfg = cfg;
	x->run = run;
	x->line = line;
	x->arg = arg;
	x->ret = ret;
	for (i = 0; i < EXACT_N_FDS; i++)
		x->fds[i] = -1;
	x->control = x->output = x->output_peer = x->stream = -1;
	x->proc = (struct qemu_proc)QEMU_PROC_INIT;
	x->phase = run ? EXACT_PHASE_START : EXACT_PHASE_GUEST;
	console_init(&x->console);
	console_init(&x->said);
	channel_init(&x->channel, VM_LINE_MAX);
	return x;
}

static void exact_free(struct exact *x)
{
	size_t i;

	for (i = 0; i < EXACT_N_FDS; i++)
		boot_fd_drop(&x->fds[i]);
	boot_fd_drop(&x->control);
	boot_fd_drop(&x->output);
	boot_fd_drop(&x->output_peer);
	boot_fd_drop(&x->stream);
	channel_done(&x->channel);
	qmp_done(&x->qmp);
	str_done(&x->state);
	free(x);
}

static int exact_go(struct exact *x, unsigned smp, const char *plugin, struct error *e)
{
	int r = exact_start(x, smp, plugin, e);

	if (r < 0)
		return r;
	exact_loop(x);
	x->ret->console_tail = boot_tail(x->ret, &x->console, &x->said);
	return 0;
}

/*
 * A run's QEMU must be given a kernel, so that its fw_cfg is laid out as the boot's, but what it
 * reads of it nobody wants: the guest's memory is there. Of a bzImage its set-up code will do;
 * reading all took 10 ms a run. Source: Documentation/x86/boot.rst.
 */
static int exact_kernel_head(int kernel_fd, int *ret_fd, struct error *e)
{
	unsigned char head[HEAD_MAX];
	ssize_t n = pread(kernel_fd, head, sizeof(head), 0);
	size_t len;

	if (n < 0)
		return error_errno(e, errno, "kernel");
	len = ((size_t)(head[SETUP_SECTS] ? head[SETUP_SECTS] : 4) + 1) * 512 + HEAD_MORE;
	if (len > (size_t)n || memcmp(head + HEADER_MAGIC, "HdrS", 4) != 0)
		return lifted(kernel_fd, "kernel", ret_fd, e);
	return lifted_memfd("kernel", head, len, ret_fd, e);
}

static int exact_snapshot(struct exact *x, struct vm_snapshot *ret, struct error *e)
{
	int r = exact_kernel_head(x->cfg->kernel_fd, &ret->kernel_fd, e);
	struct stat st;

	if (r < 0)
		return r;
	ret->ram_fd = x->fds[EXACT_FD_RAM];
	ret->initrd_fd = x->fds[EXACT_FD_INITRD];
	x->fds[EXACT_FD_RAM] = x->fds[EXACT_FD_INITRD] = -1;
	/* No run can write it, whatever its QEMU does. Should it fail, they still map it privately.
	 */
	fcntl(ret->ram_fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK);
	ret->state_len = ret->bytes = x->state.len;
	ret->state = str_take(&x->state);
	if (!fstat(ret->ram_fd, &st))
		ret->bytes += (uint64_t)st.st_blocks * 512;
	ret->boot_ns = x->quiet_ns;
	ret->save_ns = x->save_ns;
	return 0;
}

int vm_exact_boot(const struct vm_config *cfg, unsigned smp, VM_LINE_CALLBACK(line), void *arg,
		  struct vm_result *ret_result, struct vm_snapshot *ret_snapshot, struct error *e)
{
	struct exact *x = exact_new(cfg, false, line, arg, ret_result);
	int r = exact_open(x, e);

	*ret_snapshot = (struct vm_snapshot)VM_SNAPSHOT_INIT;
	if (!r)
		r = exact_plan(x, "", e);
	if (!r)
		r = boot_initrd(cfg, &x->fds[EXACT_FD_INITRD], e);
	if (!r)
		r = lifted(cfg->kernel_fd, "kernel", &x->fds[EXACT_FD_KERNEL], e);
	if (!r)
		r = exact_ram(x, e);
	if (!r)
		r = exact_go(x, smp, cfg->exact_plugin, e);
	if (!r && ret_result->end == VM_DONE)
		r = exact_snapshot(x, ret_snapshot, e);
	if (r < 0)
		vm_result_done(ret_result);
	exact_free(x);
	return r;
}

static int exact_plugin_files(struct exact *x, const struct vm_exact_run *run, struct error *e)
{
	int r = lifted_memfd("counts", "", 0, &x->fds[EXACT_FD_COUNTS], e);

	if (!r && run->contexts && *run->contexts)
		r = lifted_memfd("contexts", run->contexts, strlen(run->contexts),
				 &x->fds[EXACT_FD_CONTEXTS], e);
	return r;
}

int vm_exact_run(const struct vm_config *cfg, unsigned smp, const struct vm_exact_run *run,
		 VM_LINE_CALLBACK(line), void *arg, struct vm_result *ret_result, char **ret_counts,
		 size_t *ret_len, struct error *e)
{
	struct exact *x = exact_new(cfg, true, line, arg, ret_result);
	int r = exact_plan(x, run->plan_json, e);

	*ret_counts = NULL;
	*ret_len = 0;
	x->from = run->snapshot;
	if (!r)
		r = exact_open(x, e);
	if (!r)
		r = lifted(run->snapshot->ram_fd, "guest memory", &x->fds[EXACT_FD_RAM], e);
	if (!r)
		r = lifted(run->snapshot->kernel_fd, "kernel", &x->fds[EXACT_FD_KERNEL], e);
	if (!r)
		r = lifted(run->snapshot->initrd_fd, "initramfs", &x->fds[EXACT_FD_INITRD], e);
	if (!r)
		r = exact_state(x, e);
	if (!r && run->plugin)
		r = exact_plugin_files(x, run, e);
	if (!r)
		r = exact_go(x, smp, run->plugin, e);
	if (!r && run->plugin && ret_result->end == VM_DONE)
		r = file_read_fd(x->fds[EXACT_FD_COUNTS], "the plugin's counts", COUNTS_MAX,
				 ret_counts, ret_len, e);
	if (!r && !*ret_len) {
		free(*ret_counts);
		*ret_counts = NULL;
	}
	if (r < 0)
		vm_result_done(ret_result);
	exact_free(x);
	return r;
}

void vm_snapshot_done(struct vm_snapshot *s)
{
	if (!s)
		return;
	boot_fd_drop(&s->ram_fd);
	boot_fd_drop(&s->kernel_fd);
	boot_fd_drop(&s->initrd_fd);
	free(s->state);
	*s = (struct vm_snapshot)VM_SNAPSHOT_INIT;
}

int vm_exact_check(const char *qemu, const char *version, unsigned smp, struct error *e)
{
	const struct proc_opts opts = { .timeout_ns = HELP_TIMEOUT_NS };
	CLEANUP_FREE char *path = NULL;
	struct proc_result out;
	int r;

	if (smp > 1 && !qemu_at_least(version, SMP_MAJOR, 0))
		return error_set(e, ENOTSUP,
				 "%u CPUs in exact mode: QEMU %.60s hangs with more than one; %u.0 "
				 "or newer is needed",
				 smp, version, SMP_MAJOR);
	r = qemu_find(qemu, &path, e);
	if (r < 0)
		return r;
	r = proc_run_ok((const char *const[]){ path, "--help", NULL }, &opts, &out, e);
	if (!r && !strstr(out.out, "\n-plugin "))
		r = error_set(e, ENOTSUP,
			      "%s (QEMU %.60s) was built without plugins, which count instructions "
			      "in exact mode: take another one, such as that of Debian or Ubuntu",
			      path, version);
	proc_result_done(&out);
	return r;
}
