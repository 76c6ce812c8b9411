/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs a fuzz target over its corpus without libFuzzer: each file as it is, cut off at several
 * lengths, and with single bytes changed (a fixed choice, so that a failure repeats).
 *
 *	replay_fuzz_NAME FOLDER...
 */
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CUTS	64
#define CHANGES 64

/* In memory of exactly that size, so that a sanitizer sees each byte read too far. */
static void run_copy(const uint8_t *data, size_t size, size_t change, uint8_t with)
{
	uint8_t *copy = malloc(size ? size : 1);

	if (!copy)
		abort();
	if (size)
		memcpy(copy, data, size);
	if (change < size)
		copy[change] ^= with;
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
}

static void run_variants(const uint8_t *data, size_t size)
{
	uint64_t x = 0x9e3779b97f4a7c15u;

	run_copy(data, size, SIZE_MAX, 0);
	for (size_t i = 0; size && i < CUTS; i++)
		run_copy(data, size * i / CUTS, SIZE_MAX, 0);
	for (size_t i = 0; size && i < CHANGES; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		run_copy(data, size, (size_t)(x >> 16) % size, (uint8_t)((x & 0xff) | 1));
	}
}

static int run_file(const char *path)
{
	uint8_t *data = NULL;
	size_t size = 0, room = 0, got;
	FILE *f = fopen(path, "rb");

	if (!f) {
		perror(path);
		return -1;
	}
	do {
		if (size == room) {
			room = room ? room * 2 : 65536;
			data = realloc(data, room);
			if (!data)
				abort();
		}
		got = fread(data + size, 1, room - size, f);
		size += got;
	} while (got);
	fclose(f);
	/* Shown before it runs: the last one named is the one that crashed. */
	printf("%s: %zu bytes\n", path, size);
	fflush(stdout);
	run_variants(data, size);
	free(data);
	return 0;
}

static int run_folder(const char *path, unsigned *files)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	char name[4096];
	int r = 0;

	if (!dir) {
		perror(path);
		return -1;
	}
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
		if (run_file(name))
			r = -1;
		else
			++*files;
	}
	closedir(dir);
	return r;
}

int main(int argc, char **argv)
{
	unsigned files = 0;
	int r = 0;

	for (int i = 1; i < argc; i++) {
		if (run_folder(argv[i], &files))
			r = -1;
	}
	if (!files)
		fprintf(stderr, "nothing to replay\n");
	else
		printf("[  PASSED  ] %u test(s).\n", files);
	return r || !files;
}
