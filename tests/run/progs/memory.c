/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Uses known amounts of memory.
 *   ./memory touch MIB         writes to each page of so much private memory
 *   ./memory hold KIB          the same, says "ready" and waits to be killed
 *   ./memory thp N             writes to each of N huge pages' worth of advised memory, prints its
 *                              address
 *   ./memory read N            has read(2) write to it
 *   ./memory populate N        has madvise(2) fill it (MADV_POPULATE_WRITE), after a page it has
 *                              touched
 *   ./memory between N      writes to N < 32 times 64 KiB of advised memory, too little for a huge
 *                           page
 *   ./memory collapse N     has so many huge pages made of small ones (MADV_COLLAPSE)
 *   ./memory hugetlb N         writes to N huge pages of the pool, prints their address
 *   ./memory noreserve N       the same without having them set aside: SIGBUS when there are fewer
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE    ((size_t)sysconf(_SC_PAGESIZE))
#define HUGE    (PAGE / 8 * PAGE) /* what one table of pages has */
#define BETWEEN (64ul << 10)
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
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

/* Without a heap, which would be a fault of its own. */
static void say(const char *p)
{
	char text[32];
	int n = snprintf(text, sizeof(text), "%#lx\n", (unsigned long)(uintptr_t)p);

	if (write(STDOUT_FILENO, text, (size_t)n) != n)
		exit(2);
}

/* Advised memory for n huge pages, whose address is told. */
static char *advised(size_t n)
{
	char *p = aligned(n);

	madvise(p, n * HUGE, MADV_HUGEPAGE);
	say(p);
	return p;
}

static void read_into(char *p, size_t n)
{
	int zeroes = open("/dev/zero", O_RDONLY);

	for (size_t i = 0; i < n; i++)
		if (read(zeroes, p + i * HUGE + PAGE, 1) != 1)
			exit(2);
}

static void populate(char *p, size_t n)
{
	touch(map(PAGE, 0), PAGE, PAGE);
	if (madvise(p, n * HUGE, MADV_POPULATE_WRITE) != 0) {
		perror("madvise");
		exit(3);
	}
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
		touch(advised(n), n * HUGE, HUGE);
	} else if (strcmp(argv[1], "read") == 0) {
		read_into(advised(n), n);
	} else if (strcmp(argv[1], "populate") == 0) {
		populate(advised(n), n);
	} else if (strcmp(argv[1], "between") == 0) {
		between(n);
	} else if (strcmp(argv[1], "collapse") == 0) {
		collapse(n);
	} else if (strcmp(argv[1], "hugetlb") == 0) {
		p = map(n * HUGE, MAP_HUGETLB);
		say(p);
		touch(p, n * HUGE, HUGE);
	} else if (strcmp(argv[1], "noreserve") == 0) {
		touch(map(n * HUGE, MAP_HUGETLB | MAP_NORESERVE), n * HUGE, HUGE);
	} else {
		return 1;
	}
	return 0;
}
