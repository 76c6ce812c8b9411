/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "runner/port.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/io.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "model/exact.h"

#define FW_SELECT	 0x510u
#define FW_DATA		 0x511u
#define FW_DIR		 0x19u
#define FW_ENTRIES	 256u /* more is no directory */
#define LINE_STEP	 256u /* divides EXACT_RUN_BYTES */
#define WATCHDOG_2S	 14u
#define WATCHDOG_SECONDS 2
#define CHILD_NO_PORTS	 2

struct fw_entry { /* big-endian */
	uint32_t size;
	uint16_t select, reserved;
	char name[56];
} __attribute__((packed));

/* The child's way to the ports. */
static int dev_port = -1;

static void ports_open(unsigned first, unsigned n)
{
	if (ioperm(first, n, 1) == 0)
		return;
	dev_port = open("/dev/port", O_RDWR | O_CLOEXEC);
	if (dev_port < 0)
		_exit(CHILD_NO_PORTS);
}

static void dev_byte(unsigned port, void *byte, bool write)
{
	ssize_t n = write ? pwrite(dev_port, byte, 1, port) : pread(dev_port, byte, 1, port);

	if (n != 1)
		_exit(CHILD_NO_PORTS);
}

static void out_bytes(unsigned port, const uint8_t *data, size_t len)
{
	size_t i;

	if (dev_port < 0) {
		__asm__ volatile("rep outsb"
				 : "+S"(data), "+c"(len)
				 : "d"((uint16_t)port)
				 : "memory");
		return;
	}
	for (i = 0; i < len; i++)
		dev_byte(port, (void *)(uintptr_t)(data + i), true);
}

static void in_bytes(unsigned port, uint8_t *data, size_t len)
{
	size_t i;

	if (dev_port < 0) {
		__asm__ volatile("rep insb"
				 : "+D"(data), "+c"(len)
				 : "d"((uint16_t)port)
				 : "memory");
		return;
	}
	for (i = 0; i < len; i++)
		dev_byte(port, data + i, false);
}

/* Runs `act` in a child; it ends by _exit(0), or what it returned. */
static int in_child(int (*act)(void *), void *arg, const char *what, struct error *e)
{
	int status = 0;
	pid_t pid = fork(), got;

	if (pid < 0)
		return error_errno(e, errno, "%s: fork", what);
	if (!pid)
		_exit(act(arg));
	do {
		got = waitpid(pid, &status, 0);
	} while (got < 0 && errno == EINTR);
	if (got != pid || !WIFEXITED(status))
		return error_set(e, EIO, "%s: the child that used the port died", what);
	if (WEXITSTATUS(status) == CHILD_NO_PORTS)
		return error_set(e, ENOTSUP,
				 "%s: no way to QEMU's ports: the kernel has neither "
				 "CONFIG_X86_IOPL_IOPERM nor CONFIG_DEVPORT",
				 what);
	return WEXITSTATUS(status) ? error_set(e, ENOENT, "%s: nothing there", what) : 0;
}

struct bytes {
	uint8_t *data;
	size_t len;
};

static int send_bytes(void *arg)
{
	const struct bytes *b = arg;

	ports_open(EXACT_PORT_CHANNEL, 1);
	out_bytes(EXACT_PORT_CHANNEL, b->data, b->len);
	return 0;
}

int port_flush(int fd, struct error *e)
{
	struct stat st;
	struct bytes b;
	int r;

	if (fstat(fd, &st) < 0)
		return error_errno(e, errno, "channel");
	b.len = (size_t)st.st_size;
	if (!b.len)
		return 0;
	b.data = mmap(NULL, b.len, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (b.data == MAP_FAILED)
		return error_errno(e, errno, "channel");
	r = in_child(send_bytes, &b, "channel", e);
	munmap(b.data, b.len);
	if (!r && (ftruncate(fd, 0) < 0 || lseek(fd, 0, SEEK_SET) < 0))
		r = error_errno(e, errno, "channel");
	return r;
}

static int start_watchdog(void *arg)
{
	const uint8_t two_seconds = WATCHDOG_2S;

	(void)arg;
	ports_open(EXACT_PORT_WATCHDOG, 1);
	out_bytes(EXACT_PORT_WATCHDOG, &two_seconds, 1);
	return 0;
}

void port_send(const char *text, size_t len)
{
	struct bytes b = { (uint8_t *)(uintptr_t)text, len };

	send_bytes(&b);
}

int port_stop(struct error *e)
{
	struct timespec until;
	int r;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += WATCHDOG_SECONDS;
	until.tv_nsec += (long)(NSEC_PER_SEC / 10);
	if (until.tv_nsec >= (long)NSEC_PER_SEC) {
		until.tv_sec++;
		until.tv_nsec -= (long)NSEC_PER_SEC;
	}
	r = in_child(start_watchdog, NULL, "quiet point", e);
	while (!r && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
	return r;
}

static void fw_choose(uint16_t key)
{
	if (dev_port < 0) {
		outw(key, FW_SELECT);
		return;
	}
	/* A 16-bit register: /dev/port has bytes only. */
	_exit(CHILD_NO_PORTS);
}

static int read_plan(void *arg)
{
	struct bytes *b = arg;
	struct fw_entry entry;
	uint32_t n, i;

	ports_open(FW_SELECT, 2);
	fw_choose(FW_DIR);
	in_bytes(FW_DATA, (uint8_t *)&n, sizeof(n));
	n = be32toh(n);
	for (i = 0; i < n && i < FW_ENTRIES; i++) {
		in_bytes(FW_DATA, (uint8_t *)&entry, sizeof(entry));
		entry.name[sizeof(entry.name) - 1] = '\0';
		if (strcmp(entry.name, EXACT_FW_CFG) != 0 || be32toh(entry.size) != b->len)
			continue;
		fw_choose(be16toh(entry.select));
		/* Each byte is a way into QEMU and back, so not all of the padding is read. */
		for (i = 0; i < b->len; i += LINE_STEP) {
			in_bytes(FW_DATA, b->data + i, LINE_STEP);
			if (memchr(b->data + i, '\n', LINE_STEP))
				return 0;
		}
		return 1;
	}
	return 1;
}

/* Since Linux 5.5 who gives all ports back is as if it had never had any. */
static bool gives_back(void)
{
	unsigned major = 0, minor = 0;
	struct utsname u;

	if (uname(&u) < 0 || sscanf(u.release, "%u.%u", &major, &minor) != 2)
		return false;
	return major > 5 || (major == 5 && minor >= 5);
}

int port_read_plan(char **ret_text, size_t *ret_len, struct error *e)
{
	struct bytes b = { .len = EXACT_RUN_BYTES };
	const uint8_t *end;
	int r;

	b.data = mmap(NULL, b.len, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (b.data == MAP_FAILED)
		return error_errno(e, errno, "plan");
	if (gives_back() && ioperm(FW_SELECT, 2, 1) == 0) {
		r = read_plan(&b) ? error_set(e, ENOENT, "%s: nothing there", EXACT_FW_CFG) : 0;
		ioperm(FW_SELECT, 2, 0);
	} else {
		r = in_child(read_plan, &b, EXACT_FW_CFG, e);
	}
	if (!r) {
		end = memchr(b.data, '\n', b.len);
		*ret_len = end ? (size_t)(end - b.data) : 0;
		*ret_text = mem_strndup((const char *)b.data, *ret_len);
	}
	munmap(b.data, b.len);
	return r;
}
