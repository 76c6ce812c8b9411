/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "runner/init.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "model/record.h"
#include "runner/runner.h"

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
	} mounts[] = {
		{ "proc", "/proc", NULL, MS_NOSUID | MS_NODEV | MS_NOEXEC },
		{ "sysfs", "/sys", NULL, MS_NOSUID | MS_NODEV | MS_NOEXEC },
		{ "devtmpfs", "/dev", "mode=0755", MS_NOSUID },
		{ "devpts", "/dev/pts", "mode=0620,ptmxmode=0666", MS_NOSUID | MS_NOEXEC },
		{ "tmpfs", "/dev/shm", "mode=1777", MS_NOSUID | MS_NODEV },
		{ "tmpfs", "/tmp", "mode=1777", MS_NOSUID | MS_NODEV },
		{ "tmpfs", "/run", "mode=0755", MS_NOSUID | MS_NODEV },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(mounts); i++) {
		mkdir(mounts[i].where, 0755);
		if (mount(mounts[i].type, mounts[i].where, mounts[i].type, mounts[i].flags,
			  mounts[i].data) < 0 &&
		    errno != EBUSY)
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

static int open_channel(void)
{
	int fd = open(INIT_CHANNEL, O_RDWR | O_NOCTTY | O_CLOEXEC);
	struct termios t;

	if (fd < 0) {
		say(INIT_CHANNEL, errno);
		return -1;
	}
	if (tcgetattr(fd, &t) == 0) {
		cfmakeraw(&t);
		t.c_cflag |= CLOCAL;
		t.c_cflag &= ~(tcflag_t)CRTSCTS;
		cfsetspeed(&t, B115200);
		tcsetattr(fd, TCSANOW, &t);
	}
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
		say(INIT_CHANNEL, EIO);
	free(line);
}

static _Noreturn void power_off(int channel)
{
	if (channel >= 0)
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

_Noreturn void init_main(void)
{
	char reason[120];
	int channel, status = 0;
	pid_t child, pid;

	mount_all();
	loopback_up();
	channel = open_channel();
	if (channel < 0)
		power_off(-1);
	child = fork();
	if (child == 0) {
		setsid();
		_exit(runner_child(channel));
	}
	if (child < 0) {
		fail_record(channel, "init cannot fork");
		power_off(channel);
	}
	while ((pid = waitpid(-1, &status, 0)) != child)
		if (pid < 0 && errno != EINTR)
			break;
	if (pid == child && WIFSIGNALED(status)) {
		snprintf(reason, sizeof(reason), "the runner was killed by signal %d, %s",
			 WTERMSIG(status), strsignal(WTERMSIG(status)));
		fail_record(channel, reason);
	}
	power_off(channel);
}
