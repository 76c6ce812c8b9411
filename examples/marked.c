/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program that marks what shall be measured of it. Do with this example what you like.
 *
 *	cc -O2 -o marked examples/marked.c          (kdelta is not installed: add -I include)
 *	kdelta run -w cmd:run=./marked
 *	kdelta run -w 'cmd:run="./marked 500"'
 *
 * Window 0 is 64 KiB into a pipe and out of it, window 1 a file that is made and removed; making
 * the pipe, and what else a program does at its start and end, is not measured.
 */
#include <kdelta.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char block[65536]; /* what a pipe holds */

static int through_pipe(const int fds[2])
{
	return write(fds[1], block, sizeof(block)) == (ssize_t)sizeof(block) &&
			       read(fds[0], block, sizeof(block)) == (ssize_t)sizeof(block)
		       ? 0
		       : -1;
}

static int a_file(void)
{
	FILE *f = tmpfile();

	return f ? fclose(f) : -1;
}

int main(int argc, char **argv)
{
	int fds[2], i, times = argc > 1 ? atoi(argv[1]) : 1000;

	memset(block, 'x', sizeof(block));
	if (pipe(fds) < 0) {
		perror("pipe");
		return 1;
	}
	for (i = 0; i < times; i++) {
		int r;

		KDELTA_START(0);
		r = through_pipe(fds);
		KDELTA_STOP(0);
		if (r < 0) {
			perror("pipe");
			return 1;
		}
		KDELTA_START(1);
		r = a_file();
		KDELTA_STOP(1);
		if (r < 0) {
			perror("tmpfile");
			return 1;
		}
	}
	return 0;
}
