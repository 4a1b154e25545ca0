/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Makes its heap larger by known amounts from two places, asks for its end, gives some back, asks
 * for more than there can be; then maps, enlarges and unmaps memory.
 */
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define KIB   1024l
#define NOINL __attribute__((noinline))

static long end;

/* The system call itself: returns where the heap ends now. */
static long set(long to)
{
	end = syscall(SYS_brk, to);
	return end;
}

NOINL void small_steps(void)
{
	for (int i = 0; i < 5; i++)
		set(end + 8 * KIB);
}

NOINL void big_step(void)
{
	set(end + 1024 * KIB);
}

NOINL char *map_some(void)
{
	char *p = mmap(NULL, 512 * KIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	__asm__ volatile("" : "+r"(p)); /* the call is not its last instruction */
	return p;
}

NOINL char *map_more(void)
{
	char *p = mmap(NULL, 300 * KIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	__asm__ volatile("" : "+r"(p)); /* the call is not its last instruction */
	return p;
}

/* Also where its pages are large. */
NOINL void touch_stack(void)
{
	char deep[192 * KIB];

	deep[0] = 1;
	__asm__ volatile("" : : "r"(deep) : "memory");
}

int main(void)
{
	char *p, *q;

	touch_stack();
	set(0);
	small_steps();
	big_step();
	big_step();
	set(0);
	set(end - 64 * KIB);
	set(1l << 62);
	p = map_some();
	q = map_more();
	munmap(p, 128 * KIB);            /* from its start */
	munmap(p + 448 * KIB, 64 * KIB); /* from its end */
	q = mremap(q, 300 * KIB, 400 * KIB, MREMAP_MAYMOVE);
	return q == MAP_FAILED;
}
