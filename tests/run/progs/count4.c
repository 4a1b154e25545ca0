/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* N threads (4) that each call one function M times (250,000): every call must be counted. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "kept.h"

static unsigned long calls_each = 250000;

__attribute__((noinline)) void tick(unsigned long thread, unsigned long i)
{
	/* Keeps the call and both arguments; a function that starts with push is cheap to probe. */
	__asm__ volatile("" : : "r"(thread), "r"(i) : KEPT, "memory");
}

static void *work(void *arg)
{
	for (unsigned long i = 0; i < calls_each; i++)
		tick((unsigned long)arg, i);
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned long threads = argc > 1 ? strtoul(argv[1], NULL, 10) : 4;
	pthread_t t[64];

	if (argc > 2)
		calls_each = strtoul(argv[2], NULL, 10);
	if (threads > 64)
		return 2;
	for (unsigned long i = 0; i < threads; i++)
		if (pthread_create(&t[i], NULL, work, (void *)i))
			return 1;
	for (unsigned long i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	printf("%lu calls\n", threads * calls_each);
	return 0;
}
