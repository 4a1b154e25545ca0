/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A program with an allocator of its own, which gives out a piece of memory from its beginning to
 * its end; aligned_alloc() is nothing but a jump to memalign(), as in some libraries. Only on
 * x86-64, elsewhere it is a call. The compiler knows which registers malloc() leaves alone, and
 * cuts() counts in one of these.
 *
 * Says "ready"; after a line on standard input keeps(), grows(), drops() and cuts() take KEPT
 * blocks of SIZE bytes each, and it says "done"; ends after another line.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEPT 20000
#define SIZE 500ul
#define ROOM (64ul << 20)

#define ALONE __attribute__((noinline))

void *memalign(size_t alignment, size_t size);

static _Alignas(64) unsigned char room[ROOM];
static size_t used;
static volatile size_t freed;
static void *volatile none; /* the compiler does not know */

ALONE static void *take(size_t alignment, size_t size)
{
	size_t at = __atomic_fetch_add(&used, size + alignment + 64, __ATOMIC_RELAXED) + 16;

	at = (at + alignment - 1) & ~(alignment - 1);
	if (size > ROOM || at + size > ROOM)
		return NULL;
	memcpy(&room[at - 16], &size, sizeof(size));
	return &room[at];
}

ALONE void *malloc(size_t size)
{
	return take(16, size);
}

ALONE void free(void *p)
{
	freed += p != NULL; /* as many bytes of code as a jump needs */
}

ALONE void *calloc(size_t n, size_t size)
{
	void *p;

	freed = 0;            /* no call within the bytes of a jump */
	p = malloc(n * size); /* but one here, for it goes on */
	freed = 0;
	return p;
}

ALONE void *realloc(void *p, size_t size)
{
	size_t old;
	void *q;

	if (!p)
		return malloc(size); /* a jump */
	q = take(16, size);
	memcpy(&old, (unsigned char *)p - 16, sizeof(old));
	return q ? memcpy(q, p, old < size ? old : size) : q;
}

ALONE void *memalign(size_t alignment, size_t size)
{
	return alignment > 16 ? take(alignment, size) : malloc(size);
}

#ifdef __x86_64__
__asm__(".pushsection .text\n"
        ".globl aligned_alloc\n"
        ".type aligned_alloc, @function\n"
        "aligned_alloc: jmp memalign\n"
        ".size aligned_alloc, . - aligned_alloc\n"
        ".popsection\n");
#else
void *aligned_alloc(size_t alignment, size_t size)
{
	return memalign(alignment, size);
}
#endif

ALONE static void keeps(void)
{
	for (int i = 0; i < KEPT; i++)
		if (!aligned_alloc(64, SIZE))
			_exit(3);
}

ALONE static void grows(void)
{
	for (int i = 0; i < KEPT; i++)
		if (!realloc(none, SIZE))
			_exit(3);
}

ALONE static void drops(void)
{
	for (int i = 0; i < KEPT; i++)
		if (!calloc(1, SIZE))
			_exit(3);
}

ALONE static void cuts(void)
{
	for (int i = 0; i < KEPT; i++)
		if (!memalign(8, SIZE))
			_exit(3);
}

static int says(const char *what)
{
	char line;

	return write(1, what, strlen(what)) < 0 || read(0, &line, 1) != 1;
}

int main(void)
{
	if (says("ready\n"))
		return 2;
	keeps();
	grows();
	drops();
	cuts();
	return says("done\n");
}
