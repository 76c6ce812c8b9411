/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "vm/vm.h"

/* What stands behind "NAME=", NULL if there is no such line. */
static const char *config_value(const char *config, const char *name)
{
	size_t n = strlen(name);
	const char *s;

	for (s = config; (s = strstr(s, name)); s += n)
		if ((s == config || s[-1] == '\n') && s[n] == '=')
			return s + n + 1;
	return NULL;
}

static bool config_is(const char *config, const char *name, char want)
{
	const char *v = config_value(config, name);

	return v && v[0] == want && (v[1] == '\n' || v[1] == '\r' || !v[1]);
}

/* File names have either sign in the place of the other. */
static bool same_module(const char *a, const char *b)
{
	for (; *a && *b; a++, b++)
		if (*a != *b && !((*a == '-' || *a == '_') && (*b == '-' || *b == '_')))
			return false;
	return *a == *b;
}

static bool has_driver(const char *config, const char *name, const struct vm_module *modules,
		       size_t n, const char *module)
{
	size_t i;

	if (config_is(config, name, 'y'))
		return true;
	for (i = 0; config_is(config, name, 'm') && i < n; i++)
		if (same_module(modules[i].name, module))
			return true;
	return false;
}

static void missing(struct str *out, const char *config, const char *name, const char *module)
{
	str_printf(out, "%s%s (%s)", out->len ? ", " : "", name,
		   module && config_is(config, name, 'm') ? "a module, which is not there"
							  : "not set");
}

/* ttyS1 is the second of the ports that are there from the beginning. */
static bool has_ttyS1(const char *config)
{
	const char *ports = config_value(config, "CONFIG_SERIAL_8250_RUNTIME_UARTS");

	return config_is(config, "CONFIG_SERIAL_8250", 'y') && (!ports || atoi(ports) >= 2);
}

static int no_channel(const char *config, const struct vm_module *modules, size_t n,
		      const struct vm_ability *a, struct error *e)
{
	struct str words = STR_INIT;
	int r;

	if (!a->console)
		missing(&words, config, "CONFIG_SERIAL_8250_CONSOLE", NULL);
	if (!config_is(config, "CONFIG_SERIAL_8250", 'y'))
		missing(&words, config, "CONFIG_SERIAL_8250", NULL);
	else
		str_printf(&words, "%sCONFIG_SERIAL_8250_RUNTIME_UARTS (below 2)",
			   words.len ? ", " : "");
	if (!has_driver(config, "CONFIG_VIRTIO_PCI", modules, n, "virtio_pci"))
		missing(&words, config, "CONFIG_VIRTIO_PCI", "virtio_pci");
	if (!has_driver(config, "CONFIG_VIRTIO_CONSOLE", modules, n, "virtio_console"))
		missing(&words, config, "CONFIG_VIRTIO_CONSOLE", "virtio_console");
	r = error_set(e, ENOTSUP,
		      "has neither a second serial port nor virtio-serial to send results "
		      "through: %s",
		      str_get(&words));
	str_done(&words);
	return r;
}

int vm_check_basics(const char *config, struct error *e)
{
	static const char *const needed[][2] = {
		{ "CONFIG_64BIT", "runs no 64-bit programs" },
		{ "CONFIG_BINFMT_ELF", "runs no ELF programs" },
		{ "CONFIG_BLK_DEV_INITRD", "takes no initramfs" },
	};
	size_t i;

	for (i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (!config_is(config, needed[i][0], 'y'))
			return error_set(e, ENOTSUP, "%s: %s (not set)", needed[i][1],
					 needed[i][0]);
	return 0;
}

int vm_check_config(const char *config, const struct vm_module *modules, size_t n_modules,
		    struct vm_ability *ret, struct error *e)
{
	ret->console = config_is(config, "CONFIG_SERIAL_8250_CONSOLE", 'y');
	ret->serial = has_ttyS1(config);
	ret->virtio =
		has_driver(config, "CONFIG_VIRTIO_PCI", modules, n_modules, "virtio_pci") &&
		has_driver(config, "CONFIG_VIRTIO_CONSOLE", modules, n_modules, "virtio_console");
	if (vm_check_basics(config, e) < 0)
		return -ENOTSUP;
	if (!ret->serial && !ret->virtio)
		return no_channel(config, modules, n_modules, ret, e);
	return 0;
}
