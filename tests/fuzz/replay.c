/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A plain main for a fuzz target: feeds it each file named on the command line, so that every
 * test run replays the corpus without the fuzzer.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static int replay(const char *path)
{
	FILE *f = fopen(path, "rb");
	uint8_t *bytes;
	long n;

	if (!f || fseek(f, 0, SEEK_END) || (n = ftell(f)) < 0 || fseek(f, 0, SEEK_SET)) {
		perror(path);
		return 1;
	}
	/* Of exactly the input's size, for the sanitizers' sake. */
	bytes = malloc((size_t)n + !n);
	if (!bytes || fread(bytes, 1, (size_t)n, f) != (size_t)n) {
		perror(path);
		return 1;
	}
	fclose(f);
	LLVMFuzzerTestOneInput(bytes, (size_t)n);
	free(bytes);
	return 0;
}

int main(int argc, char **argv)
{
	int bad = 0;

	for (int i = 1; i < argc; i++) {
		fprintf(stderr, "%s\n", argv[i]);
		bad |= replay(argv[i]);
	}
	return bad;
}
