/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ./swapped PAGES MS [UNREAD [GROUP]]: in the memory control group of that directory, so many pages
 * are filled and written to swap (MADV_PAGEOUT), stay there for MS milliseconds, and are read
 * again, but for the last UNREAD, which are given up; then what /proc/vmstat counted, and between
 * which numbers of milliseconds the pages were there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21
#endif

static long vmstat(const char *name)
{
	FILE *f = fopen("/proc/vmstat", "r");
	char key[64];
	long value, found = -1;

	while (f && fscanf(f, "%63s %ld", key, &value) == 2)
		if (strcmp(key, name) == 0)
			found = value;
	if (f)
		fclose(f);
	return found;
}

static long ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int join(const char *group)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/cgroup.procs", group);
	f = fopen(path, "w");
	return f && fprintf(f, "%d\n", (int)getpid()) > 0 && fclose(f) == 0;
}

int main(int argc, char **argv)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t pages = argc > 1 ? strtoul(argv[1], NULL, 10) : 256, size = pages * page;
	size_t unread = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
	long in, out, start, sum = 0;
	unsigned char *p;

	if (unread > pages || (argc > 4 && !join(argv[4])))
		return 1;
	in = vmstat("pswpin");
	out = vmstat("pswpout");
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return 1;
	madvise(p, size, MADV_NOHUGEPAGE);
	start = ms();
	for (size_t i = 0; i < size; i++)
		p[i] = (unsigned char)(i * 2654435761u >> 13);
	/* A page that somebody looks at just then is left. */
	for (int i = 0; i < 50 && vmstat("pswpout") - out < (long)pages; i++)
		madvise(p, size, MADV_PAGEOUT);
	usleep(argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) * 1000 : 0);
	for (size_t i = 0; i < size - unread * page; i += page)
		sum += p[i];
	munmap(p, size);
	printf("in %ld out %ld least %ld most %ld sum %ld\n", vmstat("pswpin") - in,
	       vmstat("pswpout") - out, argc > 2 ? atol(argv[2]) : 0, ms() - start, sum);
	return 0;
}
