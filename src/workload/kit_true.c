/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "workload/kit.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U /* since Linux 6.3; memfd_create(2) */
#endif

/* The bytes of the program, from src/workloads/true/image.S. */
extern const char kit_true_image[], kit_true_image_end[];

pid_t kit_spawn(struct run *run, int exe_fd)
{
	char name[] = "true", *const argv[] = { name, NULL }, *const env[] = { NULL };
	pid_t pid = fork();

	if (pid < 0)
		return run_fail(run, errno, "fork: %s", strerror(errno));
	if (pid == 0) {
		syscall(SYS_execveat, exe_fd, "", argv, env, AT_EMPTY_PATH);
		_exit(errno);
	}
	return pid;
}

pid_t kit_spawn_path(struct run *run, const char *path, char *const argv[])
{
	char *const env[] = { NULL };
	pid_t pid = fork();

	if (pid < 0)
		return run_fail(run, errno, "fork: %s", strerror(errno));
	if (pid == 0) {
		syscall(SYS_execve, path, argv, env);
		_exit(errno);
	}
	return pid;
}

/* What stopped the program from being executed: an errno value, 0 if nothing did. */
static int see_end(struct run *run, pid_t pid, int *ret_why)
{
	int status;

	if (pid < 0)
		return pid;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return run_fail(run, errno, "waitpid: %s", strerror(errno));
	if (WIFSIGNALED(status))
		return run_fail(run, ECHILD, "the embedded program was killed by signal %d",
				WTERMSIG(status));
	*ret_why = WEXITSTATUS(status);
	return 0;
}

int kit_true(struct run *run, int *ret_fd)
{
	size_t len = (size_t)(kit_true_image_end - kit_true_image);
	int why = 0, r;
	int fd = memfd_create("kdelta-true", MFD_CLOEXEC | MFD_EXEC);

	if (fd < 0 && errno == EINVAL) /* before 6.3 all of them were executable */
		fd = memfd_create("kdelta-true", MFD_CLOEXEC);
	if (fd < 0)
		return run_skip(run, "no executable memory file: memfd_create: %s",
				strerror(errno));
	r = kit_write_all(run, fd, kit_true_image, len);
	if (r == 0)
		r = see_end(run, kit_spawn(run, fd), &why);
	if (r == 0 && why)
		r = run_skip(run, "a memory file cannot be executed: execveat: %s", strerror(why));
	if (r < 0) {
		kit_close(&fd);
		return r;
	}
	*ret_fd = fd;
	return 0;
}

static int program_write(struct run *run, const char *dir, const char *path)
{
	int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0700), r;

	if (fd < 0)
		return run_fail(run, errno, "create %s in %s: %s", path, dir, strerror(errno));
	r = kit_write_all(run, fd, kit_true_image, (size_t)(kit_true_image_end - kit_true_image));
	if (close(fd) < 0 && r == 0)
		r = run_fail(run, errno, "close %s in %s: %s", path, dir, strerror(errno));
	return r;
}

int kit_true_file(struct run *run, const char **ret_path)
{
	static const char path[] = "./true";
	char name[] = "true", *const argv[] = { name, NULL };
	const char *dir;
	struct statvfs fs;
	int why = 0, r = kit_tmpdir(run, &dir);

	if (r < 0)
		return r;
	if (chdir(dir) < 0)
		return run_fail(run, errno, "chdir %s: %s", dir, strerror(errno));
	r = program_write(run, dir, path);
	if (r == 0)
		r = see_end(run, kit_spawn_path(run, path, argv), &why);
	if (r == 0 && why) {
		bool noexec = statvfs(dir, &fs) == 0 && (fs.f_flag & ST_NOEXEC);

		dir = strndupa(dir, (size_t)(strrchr(dir, '/') - dir));
		return run_skip(run,
				"a program in %s cannot be executed%s (%s): set TMPDIR to a "
				"folder where it can",
				*dir ? dir : "/", noexec ? ", it is mounted noexec" : "",
				strerror(why));
	}
	*ret_path = path;
	return r;
}
