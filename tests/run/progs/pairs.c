/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * pairs N: for each line on standard input, N pairs of malloc and free, and then the nanoseconds of
 * this thread's own time that one took.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double own_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static __attribute__((noinline)) void pair(void)
{
	void *p = malloc(64);

	__asm__ volatile("" : : "r"(p) : "memory");
	free(p);
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 1;
	char line[8];

	while (fgets(line, sizeof(line), stdin)) {
		double start = own_ns();

		for (long i = 0; i < n; i++)
			pair();
		printf("%.1f\n", (own_ns() - start) / (double)n);
		fflush(stdout);
	}
	return 0;
}
