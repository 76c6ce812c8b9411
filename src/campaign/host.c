/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "campaign/host.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "campaign/accel.h"
#include "campaign/machine.h"

#define SHELL "/bin/sh"

struct host_kernel {
	struct image_module *list;
	struct vm_module *modules; /* the same, borrowed */
	size_t n;
	bool shared; /* another kernel's: not to be freed */
};

static void warn_of_console(struct campaign *c, const struct campaign_kernel *k,
			    const struct vm_ability *able)
{
	if (!able->console)
		progress_warn(&c->progress,
			      "kdelta: %s has no serial console (CONFIG_SERIAL_8250_CONSOLE): "
			      "should it fail, there will be no words of it",
			      k->label);
}

static int take_modules(struct campaign *c, const struct campaign_kernel *k, struct host_kernel *hk,
			struct error *e)
{
	static const char *const wanted[] = { "virtio_pci", "virtio_console", NULL };
	const char *config = k->image->config;
	struct error why = ERROR_INIT;
	struct vm_ability able = { .console = true, .serial = true };
	size_t i;
	int r = image_modules(k->image, wanted, &hk->list, &hk->n, &why);

	/* No modules, or none that work: the serial line needs none. */
	if (r < 0)
		hk->n = 0;
	hk->modules = mem_array(hk->n + 1, sizeof(*hk->modules));
	for (i = 0; i < hk->n; i++)
		hk->modules[i] =
			(struct vm_module){ hk->list[i].name, hk->list[i].data, hk->list[i].len };
	if (config && vm_check_config(config, hk->modules, hk->n, &able, e) < 0)
		return error_prefix(
			e, "the kernel of '%s'%s%s%s", k->label, r < 0 && r != -ENOENT ? " (" : "",
			r < 0 && r != -ENOENT ? why.text : "", r < 0 && r != -ENOENT ? ")" : "");
	if (r < 0 && r != -ENOENT)
		progress_warn(&c->progress, "kdelta: %s: no module is loaded: %s", k->label,
			      why.text);
	warn_of_console(c, k, &able);
	return 0;
}

static int look_at_exact(struct campaign *c, const struct campaign_kernel *k, struct error *e)
{
	struct vm_ability able = { .console = true };

	if (!k->image->config)
		return 0;
	if (vm_check_basics(k->image->config, e) < 0)
		return error_prefix(e, "the kernel of '%s'", k->label);
	vm_check_config(k->image->config, NULL, 0, &able, NULL);
	warn_of_console(c, k, &able);
	return 0;
}

/* One image with several command lines has its modules once: finding them takes a second. */
static int share_modules(struct campaign *c, const struct campaign_kernel *kernels, unsigned i,
			 struct host_kernel *all, struct error *e)
{
	unsigned k;

	for (k = 0; k < i; k++) {
		if (kernels[k].image == kernels[i].image) {
			all[i] = all[k];
			all[i].shared = true;
			return 0;
		}
	}
	return take_modules(c, &kernels[i], &all[i], e);
}

static bool needs_shell(const struct work *w)
{
	size_t i;

	for (i = 0; i < w->points.n; i++)
		if (w->points.items[i].workload->needs & NEED_SHELL ||
		    strstr(w->points.items[i].params, SHELL))
			return true;
	return false;
}

int campaign_vm_prepare(struct campaign *c, const struct campaign_vm *v,
			const struct campaign_kernel *kernels, unsigned n,
			struct campaign_host *ret, struct error *e)
{
	unsigned i;
	int r;

	memset(ret, 0, sizeof(*ret));
	r = vm_qemu_version(v->qemu, ret->qemu, sizeof(ret->qemu), e);
	if (!r && needs_shell(c->work))
		r = vm_shell_read(SHELL, &ret->shell, e);
	if (!r)
		r = vm_initrd_base(c->agent, ret->shell.files, ret->shell.n, &ret->initrd,
				   &ret->initrd_len, e);
	ret->kernels = mem_array(n, sizeof(*ret->kernels));
	ret->n = n;
	for (i = 0; i < n && !r; i++)
		r = v->exact ? look_at_exact(c, &kernels[i], e)
			     : share_modules(c, kernels, i, ret->kernels, e);
	if (!r)
		r = accel_choose(c, v, kernels, n, ret, e);
	return r;
}

void campaign_host_done(struct campaign_host *host)
{
	unsigned i;

	if (!host)
		return;
	for (i = 0; i < host->n; i++) {
		if (host->kernels[i].shared)
			continue;
		image_modules_free(host->kernels[i].list, host->kernels[i].n);
		free(host->kernels[i].modules);
	}
	free(host->kernels);
	free(host->initrd);
	vm_shell_done(&host->shell);
	memset(host, 0, sizeof(*host));
}

void host_config(const struct campaign *c, const struct campaign_vm *v,
		 const struct campaign_kernel *kernel, unsigned index,
		 const struct campaign_host *host, struct vm_config *ret)
{
	const struct host_kernel *hk = &host->kernels[index];

	*ret = (struct vm_config){
		.qemu = v->qemu,
		.kernel_fd = kernel->image->fd,
		.initrd_base = host->initrd,
		.initrd_base_len = host->initrd_len,
		.modules = hk->modules,
		.n_modules = hk->n,
		.append = kernel->append,
		.cpus = v->cpus,
		.mem_mib = v->mem_mib,
		.kvm = host->kvm,
		.cpu_model = v->cpu_model,
		.qemu_args = v->qemu_args,
		.boot_timeout_ns = v->boot_timeout_ns,
		.silence_timeout_ns = v->silence_timeout_ns,
		.stop = c->stop,
	};
}

const char *campaign_host_class(const struct campaign_host *host)
{
	return host->kvm ? "kvm" : "emulated"; /* TCG's time is no machine's */
}

json_t *host_context(const struct campaign *c, const struct campaign_vm *v,
		     const struct campaign_host *host)
{
	json_t *j = json_object();
	size_t i;

	json_object_set_new(j, "agent", json_str(c->agent_build_id));
	json_object_set_new(j, "qemu", json_str(host->qemu));
	json_object_set_new(j, "accel", json_str(host->kvm ? "kvm" : "tcg"));
	json_object_set_new(j, "cpu",
			    json_str(v->cpu_model ? v->cpu_model
				     : host->kvm  ? "host"
						  : "max"));
	if (host->kvm) {
		/* Its time is this machine's. */
		CLEANUP_FREE char *model = machine_cpu_model();

		json_object_set_new(j, "host_cpu", json_str(model));
	}
	json_object_set_new(j, "cpus", json_u64(v->cpus));
	json_object_set_new(j, "mem_mib", json_u64(v->mem_mib));
	if (v->qemu_args && *v->qemu_args) {
		json_t *args = json_array();

		for (i = 0; v->qemu_args[i]; i++)
			json_array_append_new(args, json_str(v->qemu_args[i]));
		json_object_set_new(j, "qemu_args", args);
	}
	if (host->shell.build_id)
		json_object_set_new(j, "shell_build_id", json_str(host->shell.build_id));
	return j;
}
