/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A program that samples its heap by itself, by OpenTelemetry's contract
 * (opentelemetry-ebpf-profiler #1672): wrappers of malloc and free, the probes
 * otel_memory:alloc(ptr, size, weighted_bytes) and otel_memory:free(ptr), one sample for EVERY
 * bytes on average.
 *
 * Says "ready"; after a line on standard input keeps KEPT blocks of SIZE bytes and frees as many
 * others, and says "done"; ends after another line.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sdt.h>

#define EVERY 4096.0
#define SIZE  500.0
#define KEPT  20000
#define TABLE 65536

/* With gaps that are exponential a block is sampled with this chance, whatever came before. */
#define CHANCE (-__builtin_expm1(-SIZE / EVERY))

static void *sampled[TABLE];
static void *kept[KEPT];

static void **place(const void *p)
{
	size_t i = (uintptr_t)p / 16 * 2654435761u % TABLE;

	while (sampled[i] && sampled[i] != p)
		i = (i + 1) % TABLE;
	return &sampled[i];
}

static void *allocate(void)
{
	void *p = malloc((size_t)SIZE);

	if ((double)random() < CHANCE * 2147483648.0) {
		*place(p) = p;
		DTRACE_PROBE3(otel_memory, alloc, p, (uint64_t)SIZE,
		              (uint64_t)(SIZE / CHANCE + 0.5));
	}
	return p;
}

/* The place stays taken: what comes back there is the same block again. */
static void release(void *p)
{
	if (*place(p) == p)
		DTRACE_PROBE1(otel_memory, free, p);
	free(p);
}

/* One call in each, so that there is one stack of each. */
__attribute__((noinline)) static void keeps(void)
{
#pragma GCC unroll 1
	for (int i = 0; i < KEPT; i++)
		kept[i] = allocate();
}

__attribute__((noinline)) static void drops(void)
{
#pragma GCC unroll 1
	for (int i = 0; i < KEPT; i++)
		release(allocate());
}

int main(void)
{
	puts("ready");
	fflush(stdout);
	if (getchar() == EOF)
		return 2;
	keeps();
	drops();
	puts("done");
	fflush(stdout);
	return getchar() == EOF;
}
