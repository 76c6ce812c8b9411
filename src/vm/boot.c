/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vm/boot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "vm/initramfs.h"

uint64_t boot_or_default(uint64_t value, uint64_t def)
{
	return value ? value : def;
}

int boot_fd_lift(int fd, int *ret_fd)
{
	*ret_fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	return *ret_fd < 0 ? -errno : 0;
}

void boot_fd_drop(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

int boot_socket(int *ret_ours, int *ret_theirs, struct error *e)
{
	int p[2], r;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, p) < 0)
		return error_errno(e, errno, "socketpair");
	*ret_ours = p[0];
	r = boot_fd_lift(p[1], ret_theirs);
	close(p[1]);
	if (r < 0)
		return error_errno(e, -r, "socketpair");
	/* Ours only: QEMU sets its own ends as it likes. */
	if (fcntl(*ret_ours, F_SETFL, O_NONBLOCK) < 0)
		return error_errno(e, errno, "socketpair");
	return 0;
}

int boot_initrd(const struct vm_config *cfg, int *ret_fd, struct error *e)
{
	CLEANUP_FREE void *more = NULL;
	CLEANUP_CLOSE int memfd = -1;
	size_t more_len = 0;
	int r;

	r = initramfs_boot(cfg, &more, &more_len, e);
	if (r < 0)
		return r;
	r = file_memfd("initramfs", cfg->initrd_base, cfg->initrd_base_len, &memfd, e);
	if (r < 0)
		return r;
	if (lseek(memfd, 0, SEEK_END) < 0)
		return error_errno(e, errno, "initramfs");
	r = file_write_fd(memfd, more, more_len, e);
	if (r < 0)
		return error_prefix(e, "initramfs");
	r = boot_fd_lift(memfd, ret_fd);
	return r < 0 ? error_errno(e, -r, "initramfs") : 0;
}

void boot_reason(struct vm_result *ret, const char *fmt, ...)
{
	char *s = ret->reason;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(s, sizeof(ret->reason), fmt, ap);
	va_end(ap);
	for (; *s; s++)
		if (*s < ' ' || *s == 0x7f)
			*s = '?';
}

void boot_seen(const struct console *console, const char *noise, bool spoke, char *buf, size_t size)
{
	const char *last = console_last(console);

	if (*console->agent)
		snprintf(buf, size, "; init said: %.150s", console->agent);
	else if (*noise)
		snprintf(buf, size, "; the channel carried no record: %.79s", noise);
	else if (*last)
		snprintf(buf, size, "; last on the console: %.150s", console_message(last));
	else if (spoke)
		snprintf(buf, size, "; the console is empty");
	else
		snprintf(buf, size,
			 "; the console is empty: does the kernel have CONFIG_SERIAL_8250_CONSOLE, "
			 "and CONFIG_SERIAL_8250 or CONFIG_VIRTIO_CONSOLE for its records?");
}

char *boot_tail(const struct vm_result *ret, const struct console *console,
		const struct console *output)
{
	char *tail = console_tail(console);
	CLEANUP_FREE char *said = NULL;
	char *both;

	if (ret->end != VM_QEMU_FAILED)
		return tail;
	said = console_tail(output);
	if (!*said)
		return tail;
	both = mem_printf("%s--- QEMU:\n%s", tail, said);
	free(tail);
	return both;
}
