/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Known numbers of calls, for the tools that count them: alpha 3, beta 5, and grow 7, each of which
 * moves the end of the heap once; take() with sizes 16 ten times and 100 five times, and the names
 * "small" and "large", returning the size twice.
 */
#include <stddef.h>
#include <unistd.h>

#define KEEP __attribute__((noinline))

KEEP void alpha(int i)
{
	__asm__ volatile("" : : "r"(i) : "memory");
}

KEEP void beta(int i)
{
	__asm__ volatile("" : : "r"(i) : "memory");
}

KEEP int grow(void)
{
	return sbrk(4096) == (void *)-1;
}

KEEP size_t take(size_t size, const char *name)
{
	__asm__ volatile("" : : "r"(name) : "memory");
	return size * 2;
}

int main(void)
{
	volatile int threes = 3, fives = 5, sevens = 7; /* so that no loop is unrolled */
	int failed = 0;

	for (int i = 0; i < threes; i++)
		alpha(i);
	for (int i = 0; i < fives; i++)
		beta(i);
	for (int i = 0; i < sevens; i++)
		failed |= grow();
	for (int i = 0; i < 2 * fives; i++)
		take(16, "small");
	for (int i = 0; i < fives; i++)
		take(100, "large");
	return failed;
}
