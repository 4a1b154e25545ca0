/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Uses known amounts of memory.
 *   ./memory touch MIB         writes to each page of so much private memory
 *   ./memory hold KIB          the same, says "ready" and waits to be killed
 *   ./memory thp N             writes to each of N huge pages' worth of advised memory
 *   ./memory between N      writes to N < 32 times 64 KiB of advised memory, too little for a huge page
 *   ./memory collapse N     has so many huge pages made of small ones (MADV_COLLAPSE)
 *   ./memory hugetlb N         writes to N huge pages of the pool
 *   ./memory noreserve N       the same without having them set aside: SIGBUS when there are fewer
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE    4096ul
#define HUGE    (2ul << 20)
#define BETWEEN (64ul << 10)
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

static char *map(size_t size, int flags)
{
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1,
	               0);

	if (p == MAP_FAILED) {
		perror("mmap");
		exit(2);
	}
	return p;
}

static void touch(char *p, size_t size, size_t step)
{
	for (size_t i = 0; i < size; i += step)
		((volatile char *)p)[i] = 1;
}

static char *aligned(size_t n_huge)
{
	char *p = map((n_huge + 1) * HUGE, 0);

	return p + (-(uintptr_t)p & (HUGE - 1));
}

static void between(size_t n)
{
	char *p = aligned(1) + BETWEEN;

	madvise(p, n * BETWEEN, MADV_HUGEPAGE);
	touch(p, n * BETWEEN, BETWEEN);
}

static void collapse(size_t n)
{
	char *p = aligned(n);

	touch(p, n * HUGE, PAGE);
	if (madvise(p, n * HUGE, MADV_COLLAPSE) != 0) {
		perror("madvise");
		exit(3);
	}
}

int main(int argc, char **argv)
{
	size_t n = argc > 2 ? strtoul(argv[2], NULL, 0) : 0;
	char *p;

	if (!n)
		return 1;
	if (strcmp(argv[1], "touch") == 0) {
		touch(map(n << 20, 0), n << 20, PAGE);
	} else if (strcmp(argv[1], "hold") == 0) {
		touch(map(n << 10, 0), n << 10, PAGE);
		puts("ready");
		fflush(stdout);
		pause();
	} else if (strcmp(argv[1], "thp") == 0) {
		p = aligned(n);
		madvise(p, n * HUGE, MADV_HUGEPAGE);
		touch(p, n * HUGE, HUGE);
	} else if (strcmp(argv[1], "between") == 0) {
		between(n);
	} else if (strcmp(argv[1], "collapse") == 0) {
		collapse(n);
	} else if (strcmp(argv[1], "hugetlb") == 0) {
		touch(map(n * HUGE, MAP_HUGETLB), n * HUGE, HUGE);
	} else if (strcmp(argv[1], "noreserve") == 0) {
		touch(map(n * HUGE, MAP_HUGETLB | MAP_NORESERVE), n * HUGE, HUGE);
	} else {
		return 1;
	}
	return 0;
}
