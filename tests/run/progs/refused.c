/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An allocator that says no. Says "ready"; after a line on standard input allocates, and says
 * "done"; after another one looks whether all that it kept is as it was: its exit status.
 *
 * fails() keeps 10 blocks of 80 KB, each of which it tries to make far too large, and asks for what
 * there is not, by every function; zeroes() makes as many blocks of no bytes.
 */
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEPT 10
#define SIZE (80 * 1024ul)

static unsigned char *kept[KEPT];
static volatile size_t much = SIZE_MAX / 4;
static int wrong;

static unsigned char *filled(int what)
{
	return memset(malloc(SIZE), what, SIZE);
}

__attribute__((noinline)) static void fails(void)
{
	for (int i = 0; i < KEPT; i++) {
		void *other = kept;

		kept[i] = filled(i);
		wrong |= realloc(kept[i], much) || malloc(much) || calloc(much, 8) ||
		         aligned_alloc(64, much) || memalign(64, much) ||
		         posix_memalign(&other, 64, much) != ENOMEM ||
		         posix_memalign(&other, 3, SIZE) != EINVAL || other != kept;
	}
}

__attribute__((noinline)) static void zeroes(void)
{
	for (int i = 0; i < KEPT; i++)
		free(realloc(filled(i), much - much)); /* some give one of no bytes */
}

static void says(const char *what)
{
	printf("%s\n", what);
	fflush(stdout);
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 4096);
	says("ready");
	if (getchar() == EOF)
		return 2;
	fails();
	zeroes();
	says("done");
	if (getchar() == EOF)
		return 2;
	for (int i = 0; i < KEPT; i++)
		for (size_t k = 0; k < SIZE; k++)
			wrong |= kept[i][k] != i;
	return wrong;
}
