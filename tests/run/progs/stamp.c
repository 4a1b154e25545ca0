/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Tells when a probe is there.
 *   stamp         calls a function to be probed and ends
 *   stamp watch   says "ready", looks at that function's first byte until it is a breakpoint, says
 *                 "stamp NS" (CLOCK_MONOTONIC) and ends
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "kept.h"

#define INT3 0xcc

struct slice {
	uint8_t *data;
	size_t len;
};

__attribute__((noinline, noclone)) int cache_insert(const uint8_t *key, struct slice value)
{
	__asm__ volatile("" : : "r"(key), "r"(value.data) : KEPT, "memory");
	return (int)value.len;
}

static void watch(void)
{
	const volatile uint8_t *first = (const volatile uint8_t *)(uintptr_t)cache_insert;
	struct timespec t;

	printf("ready\n");
	fflush(stdout);
	while (*first != INT3)
		usleep(20);
	clock_gettime(CLOCK_MONOTONIC, &t);
	printf("stamp %llu\n",
	       (unsigned long long)t.tv_sec * 1000000000u + (unsigned long long)t.tv_nsec);
}

int main(int argc, char **argv)
{
	struct slice value = { NULL, 100 };

	if (argc > 1 && argv[1][0] == 'w')
		watch();
	else
		return cache_insert(NULL, value) != 100;
	return 0;
}
