/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Functions with arguments and results of known values, for cases that check what a probe reads.
 *   ./sizes        calls each once
 *   ./sizes wait   first prints its pid, then waits for a line on stdin
 *   ./sizes loop   calls them every 10 ms until it is killed
 *   ./sizes exit N ends with status N
 *   ./sizes abort  ends by a signal
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEEP __attribute__((noinline, noclone, used))

struct point {
	int32_t x, y;
	const char *name;
};

KEEP long six(long a, long b, long c, long d, long e, long f)
{
	__asm__ volatile("" ::: "memory");
	return a + b * 10 + c * 100 + d * 1000 + e * 10000 + f * 100000;
}

KEEP int negative(int a)
{
	__asm__ volatile("" ::: "memory");
	return -a;
}

KEEP size_t word(const char *s, size_t n)
{
	__asm__ volatile("" : : "r"(s), "r"(n) : "memory");
	return n;
}

KEEP int point_sum(const struct point *p)
{
	__asm__ volatile("" : : "r"(p) : "memory");
	return p->x + p->y;
}

KEEP void inner_leaf(void)
{
	__asm__ volatile("" ::: "memory");
}

KEEP void outer_call(void)
{
	inner_leaf();
	__asm__ volatile("" ::: "memory");
}

KEEP void multi_a(int i)
{
	__asm__ volatile("" : : "r"(i) : "memory");
}

KEEP void multi_b(int i)
{
	__asm__ volatile("" : : "r"(i) : "memory");
}

KEEP void multi_c(int i)
{
	__asm__ volatile("" : : "r"(i) : "memory");
}

/* Reads the string, so that its page is present when a probe reads it. */
static size_t touched(const char *s)
{
	size_t n = 0;

	while (*(volatile const char *)(s + n))
		n++;
	return n;
}

static void all(void)
{
	static struct point p = { 3, -4, "corner" };
	static const char *words[] = { "one", "two", "three", "two" };

	six(1, 2, 3, 4, 5, 6);
	negative(42);
	for (int i = 0; i < 4; i++)
		word(words[i], touched(words[i]));
	touched(p.name);
	point_sum(&p);
	outer_call();
	for (int i = 0; i < 3; i++)
		multi_a(i);
	for (int i = 0; i < 2; i++)
		multi_b(i);
	multi_c(0);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (!strcmp(mode, "exit"))
		return argc > 2 ? atoi(argv[2]) : 0;
	if (!strcmp(mode, "abort"))
		abort();
	if (!strcmp(mode, "wait")) {
		printf("%d\n", getpid());
		fflush(stdout);
		getchar();
	}
	all();
	while (!strcmp(mode, "loop")) {
		usleep(10000);
		all();
	}
	return 0;
}
