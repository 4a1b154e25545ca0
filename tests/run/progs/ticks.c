/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Events of a known number, as fast as threads can make them.
 *   ./ticks call THREADS N KEYS     tick(key, name) is called N times by each thread
 *   ./ticks system THREADS N KEYS   getpriority(99, key), which fails at once, is called so often
 *   ./ticks ... N KEYS NAP_US       each thread naps after every 100th
 * Keys are 0 to KEYS - 1, each as often as the others when KEYS divides N; name is "key" and the
 * number.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kept.h"

#define THREADS 64

static unsigned long n, n_keys, nap_us;
static int by_system;

__attribute__((noinline, noclone)) void tick(unsigned long key, const char *name)
{
	__asm__ volatile("" : : "r"(key), "r"(name) : KEPT, "memory");
}

static void *run(void *start)
{
	unsigned long key = *(unsigned long *)start;
	char name[24] = "key";

	for (unsigned long i = 0; i < n; i++, key = key + 1 < n_keys ? key + 1 : 0) {
		if (nap_us && i % 100 == 99)
			usleep(nap_us);
		if (by_system) {
			syscall(SYS_getpriority, 99, key);
			continue;
		}
		snprintf(name + 3, sizeof(name) - 3, "%lu", key);
		tick(key, name);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	unsigned long starts[THREADS], n_threads;

	if (argc != 5 && argc != 6)
		return 2;
	by_system = strcmp(argv[1], "system") == 0;
	n_threads = strtoul(argv[2], NULL, 10) % (THREADS + 1);
	n = strtoul(argv[3], NULL, 10);
	n_keys = strtoul(argv[4], NULL, 10);
	nap_us = argc == 6 ? strtoul(argv[5], NULL, 10) : 0;
	for (unsigned long i = 0; i < n_threads; i++) {
		starts[i] = n_keys * i / n_threads;
		if (pthread_create(&threads[i], NULL, run, &starts[i]) != 0)
			return 1;
	}
	for (unsigned long i = 0; i < n_threads; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
