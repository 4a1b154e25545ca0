/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Touches a known number of pages of each sort of memory: says "ready", waits for a line on
 * standard input, touches them, says "done" and waits for the end of its input. Two files are
 * given: pages of the first are written to, those of the second read after they have been thrown
 * out of the page cache.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE    sysconf(_SC_PAGESIZE)
#define ANON    100 /* written */
#define THREAD  25  /* the same in a second thread */
#define ZEROS   15  /* read, then written: two faults each */
#define HEAP    7
#define MEMFD   20
#define SHARED  10 /* anonymous and shared */
#define PRIVATE 12 /* of the first file, written */
#define EVICTED 64 /* of the second, read */

struct area {
	volatile char *p;
	long pages;
};

static struct area area(long pages, int prot, int flags, int fd)
{
	char *p = mmap(NULL, (size_t)(pages * PAGE), prot, flags, fd, 0);

	if (p == MAP_FAILED)
		_exit(2);
	madvise(p, (size_t)(pages * PAGE), MADV_NOHUGEPAGE);
	return (struct area){ p, pages };
}

static struct area anonymous(long pages)
{
	return area(pages, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

static char sum;

static void read_all(struct area a)
{
	for (long i = 0; i < a.pages; i++)
		sum = (char)(sum + a.p[i * PAGE]);
}

__attribute__((noinline)) static void write_all(struct area a)
{
	for (long i = 0; i < a.pages; i++)
		a.p[i * PAGE] = 1;
}

static void *second(void *arg)
{
	write_all(*(struct area *)arg);
	return NULL;
}

int main(int argc, char **argv)
{
	int first = argc > 2 ? open(argv[1], O_RDONLY) : -1, other = open(argv[2], O_RDONLY);
	int memory = memfd_create("touched", 0);
	struct area anon = anonymous(ANON), zeros = anonymous(ZEROS), in_thread = anonymous(THREAD);
	struct area memfd = { 0 }, shared, private, evicted, heap = { 0 };
	pthread_t thread;
	char line[16];

	if (first < 0 || other < 0 || memory < 0 || ftruncate(memory, MEMFD * PAGE))
		return 1;
	memfd = area(MEMFD, PROT_READ | PROT_WRITE, MAP_SHARED, memory);
	shared = area(SHARED, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1);
	private = area(PRIVATE, PROT_READ | PROT_WRITE, MAP_PRIVATE, first);
	evicted = area(EVICTED, PROT_READ, MAP_PRIVATE, other);
	heap.p = sbrk(64 * PAGE);
	heap.p += 32 * PAGE - ((long)heap.p & (PAGE - 1)); /* far from what malloc() uses */
	heap.pages = HEAP;
	puts("ready");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	write_all(anon);
	read_all(zeros);
	write_all(zeros);
	write_all(heap);
	write_all(memfd);
	write_all(shared);
	write_all(private);
	fsync(other);
	posix_fadvise(other, 0, 0, POSIX_FADV_DONTNEED);
	read_all(evicted);
	if (pthread_create(&thread, NULL, second, &in_thread) || pthread_join(thread, NULL))
		return 1;
	puts("done");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin))
		;
	return 0;
}
