/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Maps memory of every sort once somebody looks on: opens the file it is given, says "ready", waits
 * for a line on standard input, maps, moves and unmaps, says what it got, and waits for the end of
 * its input. Lines: the call, the address it returned (-errno of a failure), the size.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define KIB 1024ul

/* The call itself: libc's mmap() would refuse some of it. */
static char *map(unsigned long size, int prot, int flags, int fd, long off)
{
	long p = syscall(SYS_mmap, NULL, size, prot, flags, fd, off);

	if (p == -1)
		p = -(long)errno;
	printf("mmap %ld %lu\n", p, size);
	return (char *)p;
}

static void change(void)
{
	char *p = map(64 * KIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *q;

	q = mremap(p, 64 * KIB, 256 * KIB, MREMAP_MAYMOVE);
	printf("mremap %ld %lu\n", (long)q, 256 * KIB);
	printf("munmap %d %lu\n", munmap(q, 128 * KIB), 128 * KIB);
	munmap(q + 128 * KIB, 128 * KIB);
	printf("munmap %ld %lu\n", munmap(q + 1, 4 * KIB) ? -(long)errno : 0, 4 * KIB);
}

int main(int argc, char **argv)
{
	int file = open(argv[1], O_RDONLY), memory = memfd_create("named", 0);
	char line[16];

	if (argc < 2 || file < 0 || memory < 0 || ftruncate(memory, 64 * (long)KIB))
		return 1;
	setvbuf(stdout, NULL, _IOFBF, 4096);
	puts("ready");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	map(12 * KIB, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
	map(4 * KIB, PROT_READ, MAP_SHARED | MAP_POPULATE, file, 4 * KIB);
	map(32 * KIB, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 8 * KIB);
	map(512 * KIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	map(256 * KIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	map(128 * KIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	map(4 * KIB, PROT_READ | PROT_WRITE, MAP_PRIVATE, 999, 0);     /* EBADF */
	map(0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);         /* EINVAL */
	map(4 * KIB, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);     /* EACCES */
	map(1ul << 60, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); /* ENOMEM */
	change();
	fflush(stdout);
	puts("done");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin))
		;
	return 0;
}
