/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "runner/init.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <linux/random.h>
#include <linux/serial.h>
#include <net/if.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "model/plan.h"
#include "model/record.h"
#include "runner/port.h"
#include "runner/runner.h"

#define PORTS	     "/sys/class/virtio-ports"
#define PORT_DRIVER  "/sys/bus/virtio/drivers/virtio_console"
#define PORT_WAIT_NS (5 * NSEC_PER_SEC)
#define PORT_POLL_NS (2 * NSEC_PER_MSEC)
#define MODULE_MAX   (64u << 20)
#define SEED_WORDS   16u

/* Init has nobody to tell but the console. */
static void say(const char *what, int code)
{
	fprintf(stderr, "kdelta-agent: %s: %s\n", what, strerror(code));
}

static void mount_all(void)
{
	static const struct {
		const char *type, *where, *data;
		unsigned long flags;
		bool maybe; /* only facts want it, and a kernel may be without */
	} mounts[] = {
		{ "proc", "/proc", NULL, MS_NOSUID | MS_NODEV | MS_NOEXEC, false },
		{ "sysfs", "/sys", NULL, MS_NOSUID | MS_NODEV | MS_NOEXEC, false },
		{ "debugfs", "/sys/kernel/debug", NULL, MS_NOSUID | MS_NODEV | MS_NOEXEC, true },
		{ "securityfs", "/sys/kernel/security", NULL, MS_NOSUID | MS_NODEV | MS_NOEXEC,
		  true },
		{ "devtmpfs", "/dev", "mode=0755", MS_NOSUID, false },
		{ "devpts", "/dev/pts", "mode=0620,ptmxmode=0666", MS_NOSUID | MS_NOEXEC, false },
		{ "tmpfs", "/dev/shm", "mode=1777", MS_NOSUID | MS_NODEV, false },
		{ "tmpfs", "/tmp", "mode=1777", MS_NOSUID | MS_NODEV, false },
		{ "tmpfs", "/run", "mode=0755", MS_NOSUID | MS_NODEV, false },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(mounts); i++) {
		mkdir(mounts[i].where, 0755);
		if (mount(mounts[i].type, mounts[i].where, mounts[i].type, mounts[i].flags,
			  mounts[i].data) < 0 &&
		    errno != EBUSY && !mounts[i].maybe)
			say(mounts[i].where, errno);
	}
}

static void loopback_up(void)
{
	CLEANUP_CLOSE int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq r = { .ifr_name = "lo" };

	if (fd < 0 || ioctl(fd, SIOCGIFFLAGS, &r) < 0) {
		say("lo", errno);
		return;
	}
	r.ifr_flags |= IFF_UP;
	if (ioctl(fd, SIOCSIFFLAGS, &r) < 0)
		say("lo", errno);
}

/* Without devtmpfs there is no node yet; sysfs knows its number. */
static int open_device(const char *class, const char *name)
{
	CLEANUP_FREE char *path = mem_printf("/dev/%s", name);
	CLEANUP_FREE char *sys = mem_printf("/sys/class/%s/%s/dev", class, name);
	CLEANUP_FREE char *number = NULL;
	unsigned major, minor;

	if (access(path, F_OK) < 0) {
		number = file_line(sys);
		if (number && sscanf(number, "%u:%u", &major, &minor) == 2)
			mknod(path, S_IFCHR | 0600, makedev(major, minor));
	}
	return open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
}

/* The name of the first entry of a folder for which `is` holds. Caller frees; NULL: none. */
static char *entry_that(const char *folder, bool (*is)(const char *name))
{
	DIR *d = opendir(folder);
	const struct dirent *entry;
	char *found = NULL;

	while (d && !found && (entry = readdir(d)))
		if (is(entry->d_name))
			found = mem_strdup(entry->d_name);
	if (d)
		closedir(d);
	return found;
}

static bool is_our_port(const char *name)
{
	CLEANUP_FREE char *path = mem_printf(PORTS "/%s/name", name);
	CLEANUP_FREE char *label = name[0] == '.' ? NULL : file_line(path);

	return str_eq(label, INIT_PORT);
}

static bool is_virtio_device(const char *name)
{
	return str_starts(name, "virtio");
}

/* A driver that has a device gets its ports from the host a little later. */
static char *find_port(void)
{
	CLEANUP_FREE char *device = entry_that(PORT_DRIVER, is_virtio_device);
	uint64_t until = clock_mono_ns() + (device ? PORT_WAIT_NS : 0);
	char *port;

	while (!(port = entry_that(PORTS, is_our_port)) && clock_mono_ns() < until)
		clock_sleep_ns(PORT_POLL_NS);
	return port;
}

static int open_serial(void)
{
	int fd = open_device("tty", INIT_SERIAL);
	struct serial_struct line;
	struct termios t;

	/* The driver has nodes for ports that are not there, too. */
	if (fd >= 0 && ioctl(fd, TIOCGSERIAL, &line) == 0 && line.type == PORT_UNKNOWN) {
		close(fd);
		errno = ENODEV;
		return -1;
	}
	if (fd >= 0 && tcgetattr(fd, &t) == 0) {
		cfmakeraw(&t);
		t.c_cflag |= CLOCAL;
		t.c_cflag &= ~(tcflag_t)CRTSCTS;
		cfsetspeed(&t, B115200);
		tcsetattr(fd, TCSANOW, &t);
	}
	return fd;
}

/* Exact mode's records stay in memory until QEMU's port takes them: port.h. */
static bool is_exact(void)
{
	CLEANUP_FREE char *text = NULL;
	struct plan plan;
	size_t len;
	bool exact;

	if (file_read(INIT_PLAN, 64 << 20, &text, &len, NULL) < 0 ||
	    plan_decode(text, len, &plan, NULL) < 0)
		return false;
	exact = str_eq(plan.class, PLAN_EXACT);
	plan_done(&plan);
	return exact;
}

static int open_channel(bool exact)
{
	CLEANUP_FREE char *port = exact ? NULL : find_port();
	int fd;

	if (exact) {
		fd = memfd_create("kdelta-channel", MFD_CLOEXEC);
		if (fd < 0)
			say("channel", errno);
		return fd;
	}
	fd = port ? open_device("virtio-ports", port) : -1;

	if (port && fd < 0)
		say(port, errno);
	if (fd < 0)
		fd = open_serial();
	if (fd < 0)
		say("no channel: no virtio-serial port (CONFIG_VIRTIO_PCI, CONFIG_VIRTIO_CONSOLE) "
		    "and no " INIT_SERIAL " (CONFIG_SERIAL_8250)",
		    errno);
	return fd;
}

static void fail_record(int channel, const char *reason)
{
	struct record r = { .kind = RECORD_FAIL };
	char *line;

	r.fail.reason = reason;
	line = record_encode(&r);
	if (file_write_fd(channel, line, strlen(line), NULL) < 0 ||
	    file_write_fd(channel, "\n", 1, NULL) < 0)
		say("channel", EIO);
	free(line);
}

static int module_number(const struct dirent **a, const struct dirent **b)
{
	return atoi((*a)->d_name) - atoi((*b)->d_name);
}

static int is_module(const struct dirent *entry)
{
	return str_ends(entry->d_name, ".ko");
}

/* Loads one and gives its memory back. */
static int load_module(const char *path)
{
	CLEANUP_FREE char *data = NULL;
	size_t len;
	int r = file_read(path, MODULE_MAX, &data, &len, NULL);

	if (!r && syscall(SYS_init_module, data, len, "") < 0 && errno != EEXIST)
		r = -errno;
	unlink(path);
	return r;
}

/* The first that could not be loaded, as a reason; NULL: all are. Caller frees. */
static char *load_modules(void)
{
	struct dirent **entries = NULL;
	int i, r, n = scandir(INIT_MODULES, &entries, is_module, module_number);
	char *reason = NULL;

	for (i = 0; i < n; i++) {
		CLEANUP_FREE char *path = mem_printf(INIT_MODULES "/%s", entries[i]->d_name);

		r = reason ? 0 : load_module(path);
		if (r < 0)
			reason = mem_printf(
				"the module %s cannot be loaded: %s (%s)", entries[i]->d_name,
				r == -ENOENT ? "it needs what is not there, see the console"
					     : strerror(-r),
				strerrorname_np(-r));
		free(entries[i]);
	}
	free(entries);
	return reason;
}

static _Noreturn void power_off(int channel, bool exact)
{
	struct error err = ERROR_INIT;

	if (exact && channel >= 0 && port_flush(channel, &err) < 0)
		say(err.text, err.code);
	else if (channel >= 0)
		tcdrain(channel);
	sync();
	reboot(RB_POWER_OFF);
	/* Without ACPI that only halts; a restart ends a QEMU that was started with -no-reboot. */
	reboot(RB_AUTOBOOT);
	for (;;)
		pause();
}

static int runner_child(int channel)
{
	CLEANUP_FREE char *text = NULL;
	struct error err = ERROR_INIT;
	struct runner_config c = { .out = channel, .init = true };
	struct plan plan;
	size_t len;
	int r;

	setenv("PATH", "/usr/local/bin:/usr/bin:/bin:/sbin", 1);
	c.self = open("/init", O_RDONLY | O_CLOEXEC);
	r = file_read(INIT_PLAN, 64 << 20, &text, &len, &err);
	if (!r)
		r = plan_decode(text, len, &plan, &err);
	if (r < 0) {
		fail_record(channel, err.text);
		return 1;
	}
	r = runner_run(&c, &plan, &err);
	if (r < 0)
		say(err.text, -r);
	plan_done(&plan);
	return r < 0;
}

/*
 * In exact mode nothing comes from outside, and a kernel that waits for entropy makes some by
 * running in a circle for a second (try_to_generate_entropy). Always the same, it is better here.
 * Source: random(4).
 */
static void seed_random(void)
{
	/* struct rand_pool_info: how much entropy in bits, its size in bytes, and itself. */
	uint32_t seed[2 + SEED_WORDS] = { 32 * SEED_WORDS, 4 * SEED_WORDS };
	int fd = open("/dev/random", O_WRONLY | O_CLOEXEC);
	unsigned i;

	for (i = 0; i < SEED_WORDS; i++)
		seed[2 + i] = i + 1;
	if (fd < 0 || ioctl(fd, RNDADDENTROPY, seed) < 0)
		fprintf(stderr, "kdelta-agent: /dev/random: %s\n", strerror(errno));
	if (fd >= 0)
		close(fd);
}

/* A kernel without a console starts init without these, and the channel must not become one. */
static void standard_streams(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

/* Has this kernel ever killed for want of memory? */
static bool out_of_memory(void)
{
	static const char key[] = "\noom_kill ";
	CLEANUP_FREE char *text = NULL;
	const char *at;

	if (file_read("/proc/vmstat", 1 << 20, &text, NULL, NULL) < 0)
		return false;
	at = strstr(text, key);
	return at && atol(at + sizeof(key) - 1) > 0;
}

static void runner_killed(int channel, int sig)
{
	char reason[160];

	snprintf(reason, sizeof(reason), "the runner was killed by signal %d, %s%s", sig,
		 strsignal(sig),
		 sig == SIGKILL && out_of_memory() ? ": the guest is out of memory" : "");
	fail_record(channel, reason);
}

_Noreturn void init_main(void)
{
	CLEANUP_FREE char *reason = NULL;
	int channel, status = 0;
	pid_t child, pid;
	bool exact;

	standard_streams();
	mount_all();
	/* Its own seed it would take from /dev/urandom, which may wait as seed_random() says. */
	json_object_seed(1);
	exact = is_exact();
	if (exact)
		seed_random();
	loopback_up();
	reason = load_modules();
	channel = open_channel(exact);
	if (reason)
		fprintf(stderr, "kdelta-agent: %s\n", reason);
	if (channel < 0)
		power_off(-1, exact);
	if (reason) {
		fail_record(channel, reason);
		power_off(channel, exact);
	}
	child = fork();
	if (child == 0) {
		setsid();
		_exit(runner_child(channel));
	}
	if (child < 0) {
		fail_record(channel, "init cannot fork");
		power_off(channel, exact);
	}
	while ((pid = waitpid(-1, &status, 0)) != child)
		if (pid < 0 && errno != EINTR)
			break;
	if (pid == child && WIFSIGNALED(status))
		runner_killed(channel, WTERMSIG(status));
	power_off(channel, exact);
}
