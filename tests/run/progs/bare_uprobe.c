/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How long the kernel takes to register one user probe and nothing else: what every tool that
 * places one waits for. Prints milliseconds.
 *
 *     bare_uprobe FILE OFFSET
 */
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static unsigned int event_source(void)
{
	FILE *f = fopen("/sys/bus/event_source/devices/uprobe/type", "r");
	unsigned int type = 0;

	if (!f || fscanf(f, "%u", &type) != 1)
		perror("no user probes");
	if (f)
		fclose(f);
	return type;
}

int main(int argc, char **argv)
{
	struct perf_event_attr attr = { .size = sizeof(attr), .type = event_source() };
	double start, end;
	long fd;

	if (argc != 3 || !attr.type)
		return 2;
	attr.uprobe_path = (uintptr_t)argv[1];
	attr.probe_offset = strtoull(argv[2], NULL, 0);
	start = now_ms();
	fd = syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	end = now_ms();
	if (fd < 0) {
		perror("perf_event_open");
		return 1;
	}
	printf("%.3f\n", end - start);
	return 0;
}
