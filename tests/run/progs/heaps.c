/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Says "ready"; after a line on standard input allocates, and says "done"; after another one looks
 * whether all that it kept is as it was: its exit status.
 *
 * keeps() keeps KEPT blocks of 500 bytes, drops() frees as many, grows() keeps 2000 that were made
 * larger, of 5000 bytes, and frees half of them. The library HEAPS_LOADS is loaded first, for
 * itself. With HEAPS_SLEEPS it sleeps uninterruptibly for two seconds once it is done.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEPT  20000
#define GROWN 2000

static unsigned char *kept[KEPT], *grown[GROWN];

static void *filled(void *p, int what, size_t n)
{
	return memset(p, what, n);
}

__attribute__((noinline)) static void keeps(void)
{
	for (int i = 0; i < KEPT; i++)
		kept[i] = filled(malloc(500), i & 255, 500);
}

__attribute__((noinline)) static void drops(void)
{
	for (int i = 0; i < KEPT; i++)
		free(filled(calloc(5, 100), i & 255, 500));
}

__attribute__((noinline)) static void grows(void)
{
	for (int i = 0; i < GROWN; i++)
		grown[i] = filled(realloc(NULL, 100), i & 255, 100);
	for (int i = 0; i < GROWN; i++)
		grown[i] = realloc(grown[i], 5000);
	for (int i = 0; i < GROWN; i += 2) {
		free(grown[i]);
		grown[i] = NULL;
	}
}

static int is_wrong(const unsigned char *p, int what, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] != what)
			return 1;
	return 0;
}

static void says(const char *what)
{
	printf("%s\n", what);
	fflush(stdout);
}

/* As whoever waits for a child of vfork() does. */
static void sleeps(void)
{
	if (vfork() == 0) {
		sleep(2);
		_exit(0);
	}
}

int main(void)
{
	const char *other = getenv("HEAPS_LOADS");
	int wrong = 0;

	if (other && !dlopen(other, RTLD_NOW | RTLD_LOCAL))
		return 3;
	setvbuf(stdout, NULL, _IOLBF, 4096);
	says("ready");
	if (getchar() == EOF)
		return 2;
	keeps();
	drops();
	grows();
	says("done");
	if (getenv("HEAPS_SLEEPS"))
		sleeps();
	if (getchar() == EOF)
		return 2;
	for (int i = 0; i < KEPT; i++)
		wrong |= is_wrong(kept[i], i & 255, 500);
	for (int i = 1; i < GROWN; i += 2)
		wrong |= is_wrong(grown[i], i & 255, 100);
	return wrong;
}
