/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vm/exact_argv.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "model/exact.h"
#include "vm/exact.h"
#include "vm/qemu.h"

char *vm_exact_cpu(const char *model)
{
	/* What they give is a matter of chance. */
	return model ? mem_printf("%s,-rdrand,-rdseed", model) : mem_strdup(VM_EXACT_CPU);
}

/* A comma ends a value, two are one. */
static void add_value(struct str *s, const char *value)
{
	for (; *value; value++) {
		if (*value == ',')
			str_add_c(s, ',');
		str_add_c(s, *value);
	}
}

static char *exact_plugin(const char *plugin, unsigned smp, const int fds[EXACT_N_FDS])
{
	struct str s = STR_INIT;

	str_add(&s, "file=");
	add_value(&s, plugin);
	if (fds[EXACT_FD_COUNTS] >= 0)
		str_printf(&s, ",out=/proc/self/fd/%d", fds[EXACT_FD_COUNTS]);
	/* To begin at the marker QEMU stops for a moment, and of several CPUs goes on with another.
	 */
	if (fds[EXACT_FD_COUNTS] >= 0 && smp < 2)
		str_add(&s, ",from=marker");
	if (fds[EXACT_FD_CONTEXTS] >= 0)
		str_printf(&s, ",contexts=/proc/self/fd/%d", fds[EXACT_FD_CONTEXTS]);
	return str_take(&s);
}

char **exact_argv(const struct vm_config *cfg, unsigned smp, const char *path, const char *cmdline,
		  const char *plugin, const int fds[EXACT_N_FDS])
{
	unsigned mem_mib = cfg->mem_mib ? cfg->mem_mib : EXACT_MEM_MIB;
	bool run = fds[EXACT_FD_STATE] >= 0;
	struct qemu_words w = { NULL, 0, 0 };
	size_t i;

	qemu_words_add(&w, path, NULL);
	qemu_words_add(&w, "-no-user-config", NULL);
	qemu_words_add(&w, "-nodefaults", NULL);
	qemu_words_add(&w, "-display", mem_strdup("none"));
	qemu_words_add(&w, "-no-reboot", NULL);
	qemu_words_add(&w, "-machine", mem_strdup("pc,memory-backend=ram"));
	qemu_words_add(&w, "-object",
		       mem_printf("memory-backend-file,id=ram,size=%uM,mem-path=/proc/self/fd/%d,"
				  "share=%s",
				  mem_mib, fds[EXACT_FD_RAM], run ? "off" : "on"));
	qemu_words_add(&w, "-accel", mem_strdup("tcg,thread=single"));
	qemu_words_add(&w, "-icount", mem_strdup("shift=0,sleep=off"));
	qemu_words_add(&w, "-rtc", mem_strdup("clock=vm,base=2026-01-01"));
	qemu_words_add(&w, "-cpu", vm_exact_cpu(cfg->cpu_model));
	qemu_words_add(&w, "-smp", mem_printf("%u", smp ? smp : 1));
	qemu_words_add(&w, "-m", mem_printf("%u", mem_mib));
	qemu_words_add(&w, "-kernel", mem_printf("/proc/self/fd/%d", fds[EXACT_FD_KERNEL]));
	qemu_words_add(&w, "-initrd", mem_printf("/proc/self/fd/%d", fds[EXACT_FD_INITRD]));
	qemu_words_add(&w, "-append", mem_strdup(cmdline));
	qemu_words_add(&w, "-chardev",
		       mem_printf("file,id=console,path=/proc/self/fd/%d", fds[EXACT_FD_CONSOLE]));
	qemu_words_add(&w, "-serial", mem_strdup("chardev:console"));
	qemu_words_add(&w, "-chardev",
		       mem_printf("file,id=channel,path=/proc/self/fd/%d", fds[EXACT_FD_CHANNEL]));
	qemu_words_add(&w, "-device",
		       mem_printf("isa-debugcon,iobase=0x%x,chardev=channel", EXACT_PORT_CHANNEL));
	qemu_words_add(&w, "-device", mem_strdup("ib700"));
	qemu_words_add(&w, "-device", mem_printf("pvpanic,ioport=0x%x", EXACT_PORT_PANIC));
	qemu_words_add(&w, "-action", mem_strdup("watchdog=pause,panic=pause"));
	qemu_words_add(
		&w, "-fw_cfg",
		mem_printf("name=%s,file=/proc/self/fd/%d", EXACT_FW_CFG, fds[EXACT_FD_PLAN]));
	qemu_words_add(&w, "-chardev",
		       mem_printf("socket,id=control,fd=%d", fds[EXACT_FD_CONTROL]));
	qemu_words_add(&w, "-mon", mem_strdup("chardev=control,mode=control"));
	/* The capability must be set before, hence not its descriptor here. */
	if (run)
		qemu_words_add(&w, "-incoming", mem_strdup("defer"));
	if (plugin)
		qemu_words_add(&w, "-plugin", exact_plugin(plugin, smp, fds));
	for (i = 0; cfg->qemu_args && cfg->qemu_args[i]; i++)
		qemu_words_add(&w, cfg->qemu_args[i], NULL);
	qemu_words_take(&w, NULL);
	return w.v;
}
