/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory that comes from the kernel without an allocator. Says "ready"; after a line on standard
 * input maps, and says "done"; after another one looks whether all is as it was: its exit status.
 *
 * keeps() keeps 40 mappings of 1 MB and two of 64 KB that are shared, drops() unmaps as many,
 * grows() makes 10 of them larger, of 256 KB then 512 KB, cuts() makes 8 of 512 KB and unmaps the
 * first quarter of each, reserves() maps what is no memory: addresses, and a file. parts() makes
 * mappings of 512 KB and unmaps parts of them, moves() moves all or parts of such, makes them
 * smaller or larger, and tries what fails.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define KB   1024ul
#define MANY 40
#define SOME 10
#define CUT  8
#define HALF (256 * KB)

static unsigned char *kept[MANY], *shared[2], *grown[SOME], *cut[CUT];
static int wrong;

static unsigned char *mapped(size_t n, int flags, int what)
{
	unsigned char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		_exit(3);
	return memset(p, what, n);
}

__attribute__((noinline)) static void keeps(void)
{
	for (int i = 0; i < MANY; i++)
		kept[i] = mapped(KB * KB, MAP_PRIVATE, i);
	for (int i = 0; i < 2; i++)
		shared[i] = mapped(64 * KB, MAP_SHARED, i);
}

__attribute__((noinline)) static void drops(void)
{
	for (int i = 0; i < MANY; i++)
		if (munmap(mapped(KB * KB, MAP_PRIVATE, i), KB * KB))
			wrong = 1;
}

__attribute__((noinline)) static void grows(void)
{
	for (int i = 0; i < SOME; i++)
		grown[i] = mapped(256 * KB, MAP_PRIVATE, i);
	for (int i = 0; i < SOME; i++) {
		grown[i] = mremap(grown[i], 256 * KB, 512 * KB, MREMAP_MAYMOVE);
		/* Too much of it: it stays as it is. */
		if (mremap(grown[i], 512 * KB, 1ul << 60, MREMAP_MAYMOVE) != MAP_FAILED)
			wrong = 1;
	}
}

__attribute__((noinline)) static void cuts(void)
{
	for (int i = 0; i < CUT; i++) {
		unsigned char *p = mapped(512 * KB, MAP_PRIVATE, i);

		cut[i] = p + 128 * KB;
		if (munmap(p, 128 * KB))
			wrong = 1;
	}
}

/* Next to one another. */
static unsigned char *row(int n)
{
	unsigned char *p = mmap(NULL, n * HALF * 2, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (int i = 0; i < n; i++)
		if (mmap(p + i * HALF * 2, HALF * 2, PROT_READ | PROT_WRITE,
		         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
			wrong = 1;
	return p;
}

static void unmap(unsigned char *p, size_t n)
{
	if (munmap(p, n))
		wrong = 1;
}

__attribute__((noinline)) static void parts(void)
{
	unsigned char *p = row(1), *q = row(4);

	unmap(p + HALF, HALF); /* the end */
	p = row(1);
	unmap(p + HALF / 2, HALF); /* the middle */
	p = row(1);
	unmap(p, HALF / 2); /* at both ends, one page more than is asked for */
	unmap(p + HALF + HALF / 2 - 4096, HALF / 2 + 1);
	unmap(q + HALF, HALF * 4); /* over several */
	if (munmap(q + 1, HALF) == 0 || munmap(q, 0) == 0 || munmap(q, -1ul << 20) == 0)
		wrong = 1;
}

__attribute__((noinline)) static void moves(void)
{
	unsigned char *p = row(1), *q;

	if (mremap(p, HALF * 2, HALF, 0) != p) /* smaller */
		wrong = 1;
	p = row(1);
	q = mremap(p + HALF / 2, HALF, HALF * 2, MREMAP_MAYMOVE); /* a part of it, becomes larger */
	if (q == MAP_FAILED)
		wrong = 1;
	p = row(1);
	/* Its first half over the other half of the last one. */
	if (mremap(p, HALF, HALF, MREMAP_MAYMOVE | MREMAP_FIXED, q + HALF) != q + HALF)
		wrong = 1;
	p = row(1);
	if (mremap(p, HALF, HALF * 2, 0) != MAP_FAILED ||
	    mremap(p + HALF / 2, HALF, 1ul << 60, MREMAP_MAYMOVE) != MAP_FAILED ||
	    mremap(p + 1, HALF, HALF * 2, MREMAP_MAYMOVE) != MAP_FAILED)
		wrong = 1;
}

/* The arguments of the file's arrive as they are: its bytes are those at 4096. */
__attribute__((noinline)) static void reserves(void)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	char there[4096];
	void *p;

	if (mmap(NULL, 256 * KB * KB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
		wrong = 1;
	for (int i = 0; i < MANY; i++) {
		p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 4096);
		if (p == MAP_FAILED || pread(fd, there, 4096, 4096) != 4096 ||
		    memcmp(p, there, 4096) != 0 || munmap(p, 4096))
			wrong = 1;
	}
	if (mmap(NULL, 1ul << 60, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
		wrong = 1;
	close(fd);
}

static void check(unsigned char *const *v, int many, size_t n)
{
	for (int i = 0; i < many; i++)
		for (size_t b = 0; b < n; b++)
			if (v[i][b] != i)
				wrong = 1;
}

static void says(const char *what)
{
	printf("%s\n", what);
	fflush(stdout);
}

int main(void)
{
	char out[64], line;

	setvbuf(stdout, out, _IOLBF, sizeof(out));
	says("ready");
	if (read(0, &line, 1) != 1)
		return 2;
	keeps();
	drops();
	grows();
	cuts();
	reserves();
	parts();
	moves();
	says("done");
	if (read(0, &line, 1) != 1)
		return 2;
	check(kept, MANY, KB * KB);
	check(shared, 2, 64 * KB);
	check(grown, SOME, 256 * KB);
	check(cut, CUT, 384 * KB);
	return wrong;
}
