/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Naming addresses, from nothing to the first name: milliseconds and KiB that the process grew by.
 *
 *     build/bench/names kernel            by asking the kernel
 *     build/bench/names kallsyms          by reading /proc/kallsyms
 *     build/bench/names user PID ADDRESS  an address of a process
 *
 * Prints "NAME MS KIB".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kern/symbolize.h"
#include "sym/sym.h"

static struct symbolize *kernel;

static bool ask(void *ctx, u64 addr, char text[KSYM_TEXT])
{
	struct err e;

	(void)ctx;
	if (!kernel)
		kernel = symbolize_open(&e);
	return kernel && symbolize_name(kernel, addr, text);
}

/* Of /proc/self/status: the most that was ever resident, and what is now. */
static long status_kib(const char *key)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[256];
	long kib = 0;

	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, key, strlen(key)) == 0)
			kib = strtol(line + strlen(key), NULL, 10);
	if (f)
		fclose(f);
	return kib;
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* An address of the kernel's code: of the first text symbol of a child's look at kallsyms. */
static u64 kernel_address(void)
{
	FILE *p = popen("grep -m1 ' [tT] vfs_read$' /proc/kallsyms", "re");
	unsigned long long addr = 0;

	if (p && fscanf(p, "%llx", &addr) != 1)
		addr = 0;
	if (p)
		pclose(p);
	return addr;
}

int main(int argc, char **argv)
{
	struct sym_options o = { .ask = argc > 1 && strcmp(argv[1], "kernel") == 0 ? ask : NULL };
	bool user = argc == 4 && strcmp(argv[1], "user") == 0;
	u64 addr = user ? strtoull(argv[3], NULL, 16) : kernel_address();
	struct buf b = { 0 };
	struct sym *s;
	long before;
	double start;

	if (argc < 2 || !addr)
		return 2;
	before = status_kib("VmRSS:");
	start = now_ms();
	s = sym_new(&o);
	if (user)
		sym_user(s, &b, SYM_EXACT, (u32)atoi(argv[2]), addr, NULL);
	else
		sym_kernel(s, &b, SYM_EXACT, addr + 2, NULL);
	start = now_ms() - start;
	printf("%s %.3f %ld\n", buf_text(&b), start, status_kib("VmHWM:") - before);
	sym_free(s);
	symbolize_close(kernel);
	buf_free(&b);
	return 0;
}
