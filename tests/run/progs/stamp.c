/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Says on stdout when it got to run (CLOCK_MONOTONIC, ns), then calls a function to be probed: as
 * the command of a tracer it tells how long the tracer took to attach. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

struct slice {
	uint8_t *data;
	size_t len;
};

__attribute__((noinline, noclone)) int cache_insert(const uint8_t *key, struct slice value)
{
	__asm__ volatile("" : : "r"(key), "r"(value.data) : "rbx", "memory");
	return (int)value.len;
}

int main(void)
{
	struct slice value = {NULL, 100};
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	printf("stamp %llu\n",
	       (unsigned long long)t.tv_sec * 1000000000u + (unsigned long long)t.tv_nsec);
	return cache_insert(NULL, value) != 100;
}
