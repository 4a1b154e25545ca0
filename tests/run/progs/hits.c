/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What one event costs, said by the program it happens in.
 *   ./hits uprobe N       calls a function N times
 *   ./hits syscall N      calls getppid() N times
 *   ./hits malloc N       allocates and frees N blocks of 16 to 1039 bytes
 *   ./hits deep N         the same below 14 functions: malloc() is the twentieth frame
 *   ./hits leak N         the same, freeing only every second one
 * prints thread CPU nanoseconds per call, the median of nine parts of the loop. With a fourth
 * argument, a file name, it starts once that file exists.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "kept.h"

#define PARTS 9
#define DEPTH 14

/* Starts with push, as most functions that keep state over a call do. */
__attribute__((noinline, noclone)) void hit(unsigned long i)
{
	__asm__ volatile("" : : "r"(i) : KEPT, "memory");
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void part(const char *what, unsigned long n)
{
	static unsigned int seed = 1;
	int leak = !strcmp(what, "leak");

	if (!strcmp(what, "uprobe")) {
		for (unsigned long i = 0; i < n; i++)
			hit(i);
	} else if (!strcmp(what, "syscall")) {
		for (unsigned long i = 0; i < n; i++)
			syscall(SYS_getppid);
	} else {
		for (unsigned long i = 0; i < n; i++) {
			void *volatile p = malloc(16 + (size_t)rand_r(&seed) % 1024);

			if (!leak || i % 2)
				free(p);
		}
	}
}

static void (*volatile next)(const char *what, unsigned long n, int depth);

__attribute__((noinline, noclone)) static void descend(const char *what, unsigned long n, int depth)
{
	if (depth)
		next(what, n, depth - 1);
	else
		part(what, n);
	__asm__ volatile("" : : : "memory"); /* no jump instead of the call */
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	unsigned long n = argc > 2 ? strtoul(argv[2], NULL, 10) / PARTS : 0;
	double ns[PARTS];

	if (!n) {
		fprintf(stderr, "usage: hits uprobe|syscall|malloc|deep|leak N [FILE]\n");
		return 2;
	}
	while (argc > 3 && access(argv[3], F_OK))
		usleep(1000);
	next = descend;
	part(argv[1], n / 10 + 1);
	for (int i = 0; i < PARTS; i++) {
		uint64_t start = cpu_ns();

		if (!strcmp(argv[1], "deep"))
			next(argv[1], n, DEPTH - 1);
		else
			part(argv[1], n);
		ns[i] = (double)(cpu_ns() - start) / (double)n;
	}
	qsort(ns, PARTS, sizeof(ns[0]), by_value);
	printf("%.1f\n", ns[PARTS / 2]);
	return 0;
}
