/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Leaks known bytes, each kind in a function of its own. With "wait" it begins when a line comes on
 * standard input, says "done" on standard output and stays until the input ends.
 */
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE ((size_t)sysconf(_SC_PAGESIZE))
#define LEAK static __attribute__((noinline)) void
/* Keeps the compiler from seeing that a block is lost, and from ending in a jump. */
#define USE(p) __asm__ volatile("" : : "r"(p) : "memory")

LEAK leak_malloc(void)
{
	for (int i = 0; i < 100; i++)
		USE(malloc(1000));
	for (int i = 0; i < 300; i++) {
		char *p = malloc(64);

		USE(p);
		free(p);
	}
}

LEAK leak_calloc(void)
{
	for (int i = 0; i < 10; i++)
		USE(calloc(10, 5));
}

/* Grown three times, in place and moved; the last size counts. */
LEAK leak_realloc(void)
{
	char *p = NULL;

	for (size_t n = 100; n <= 1000000; n *= 100) {
		p = realloc(p, n);
		USE(p);
	}
}

/* What can not grow stays what it was. */
LEAK leak_failed(void)
{
	char *p = malloc(700);
	volatile size_t much = SIZE_MAX / 4;

	USE(p);
	USE(realloc(p, much));
}

LEAK leak_aligned(void)
{
	for (int i = 0; i < 3; i++) {
		void *p = NULL;

		if (posix_memalign(&p, 64, 256) == 0)
			USE(p);
	}
	for (int i = 0; i < 2; i++)
		USE(aligned_alloc(128, 128));
	for (int i = 0; i < 10; i++)
		USE(memalign(32, 96));
}

LEAK leak_string(void)
{
	USE(strdup("seventeen letters"));
}

/* Ten pages, of which three in the middle go back: two pieces. */
LEAK leak_mmap(void)
{
	char *p = mmap(NULL, 10 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(p + 4 * PAGE, 3 * PAGE);
	p = mmap(NULL, 5 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(p, 5 * PAGE);
	USE(p);
}

LEAK leak_mremap(void)
{
	char *p = mmap(NULL, 2 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	USE(mremap(p, 2 * PAGE, 9 * PAGE, MREMAP_MAYMOVE));
}

/* For estimates: 20000 blocks of 10 to 490 bytes, 5000000 bytes. */
LEAK leak_many(void)
{
	for (int i = 0; i < 20000; i++)
		USE(malloc((size_t)10 + (size_t)(i % 25) * 20));
}

/* The parent tells the child when to begin. */
LEAK leak_child(void)
{
	for (int i = 0; i < 7; i++)
		USE(malloc(500));
}

static void line(void)
{
	char c = 0;

	while (read(STDIN_FILENO, &c, 1) == 1 && c != '\n')
		;
}

static int forked(void)
{
	if (fork() == 0) {
		line();
		leak_child();
		if (write(STDOUT_FILENO, "child\n", 6) == 6)
			line();
		_exit(0);
	}
	wait(NULL);
	return 0;
}

int main(int argc, char **argv)
{
	static const char done[] = "done\n";
	int waits = argc > 1 && strcmp(argv[1], "wait") == 0;

	if (waits)
		line();
	if (argc > 2 && strcmp(argv[2], "fork") == 0)
		return forked();
	if (argc > 2 && strcmp(argv[2], "many") == 0) {
		leak_many();
	} else {
		leak_malloc();
		leak_calloc();
		leak_realloc();
		leak_failed();
		leak_aligned();
		leak_string();
		leak_mmap();
		leak_mremap();
	}
	if (waits && write(STDOUT_FILENO, done, sizeof(done) - 1) > 0)
		line();
	return 0;
}
