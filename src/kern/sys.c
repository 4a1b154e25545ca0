/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Numbers of the machine that loading and attaching need, and why a call was refused. */
#include "kern/kern.h"

#include <errno.h>
#include <linux/version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/caps.h"
#include "base/file.h"
#include "base/kernel.h"

#define CPUS_MAX 12288u /* kernels are built for up to 8192 */
#define CPUS_FEW 128u   /* most machines have fewer */

int sys_event_source(const char *name)
{
	char path[96];
	struct buf b = { 0 };
	struct err ignored;
	int type = 0;

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", name);
	if (file_read(path, &b, 64, &ignored))
		type = atoi(buf_text(&b));
	buf_free(&b);
	return type;
}

/* See Documentation/admin-guide/cputopology.rst. */
u32 *sys_online_cpus(struct arena *a, u32 *n)
{
	VEC(u32) cpus = { 0 };
	struct buf b = { 0 };
	struct err ignored;
	u32 first, last;

	file_read("/sys/devices/system/cpu/online", &b, 65536, &ignored);
	for (const char *p = buf_text(&b); kernel_next_range(&p, &first, &last);)
		for (u32 cpu = first; cpu <= last && cpu < 65536; cpu++)
			vec_add(a, &cpus, cpu);
	buf_free(&b);
	*n = cpus.n;
	return cpus.v;
}

/* Leading words of `words` that the kernel wrote when the element was looked up. */
static u32 cells_written(int map, u64 *words, u32 marked)
{
	u32 key = 0, n = 0;

	memset(words, 0xff, marked * sizeof(*words));
	if (sys_map_lookup(map, &key, words) < 0)
		return 0;
	while (n < marked && words[n] == 0)
		n++;
	return n;
}

/* A new element is zeros, in each of its cells. /sys is not asked: it may be missing, or another
 * one may be mounted there, and the kernel writes as many cells as there are. */
u32 sys_possible_cpus(struct err *e)
{
	static const struct umap one = { .bpf_type = BPF_MAP_TYPE_PERCPU_ARRAY,
		                         .key_size = sizeof(u32),
		                         .value_size = sizeof(u64),
		                         .max_entries = 1 };
	int map = sys_map_create(&one, "memtap_cpus", -1);
	u64 *words = map < 0 ? NULL : malloc(CPUS_MAX * sizeof(*words));
	u32 n = 0;

	if (map < 0) {
		sys_refused(e, -map, "the kernel does not let this user make BPF maps");
		return 0;
	}
	if (!words)
		base_no_memory();
	/* Pages that nobody touches cost nothing. */
	n = cells_written(map, words, CPUS_FEW);
	if (n == CPUS_FEW)
		n = cells_written(map, words, CPUS_MAX);
	free(words);
	close(map);
	if (n && n < CPUS_MAX)
		return n;
	err_set(e, "the kernel does not say how many processors its maps are for");
	return 0;
}

/* Before Linux 5.11 maps and programs count as locked memory, beyond whose limit is EPERM. */
static bool lacks_memory(void)
{
	struct rlimit r;

	return !features_sure(KERNEL_VERSION(5, 11, 0)) && getrlimit(RLIMIT_MEMLOCK, &r) == 0 &&
	       r.rlim_cur != RLIM_INFINITY && caps_missing(CAPS_LIMITS);
}

bool sys_refused(struct err *e, int code, const char *what)
{
	if (code == EPERM && !caps_missing(CAPS_TRACING) && lacks_memory()) {
		caps_refused(e, code, CAPS_LIMITS, what);
		return err_hint(e, "it is needed to raise the limit of locked memory, which maps "
		                   "are before Linux 5.11: ulimit -l unlimited, as root");
	}
	return caps_refused(e, code, CAPS_TRACING, what);
}

/* Above 2, a value that distributions have added, CAP_PERFMON does not help. */
static int paranoid(void)
{
	struct buf b = { 0 };
	struct err ignored;
	int level = 0;

	if (file_read("/proc/sys/kernel/perf_event_paranoid", &b, 64, &ignored))
		level = atoi(buf_text(&b));
	buf_free(&b);
	return level;
}

bool sys_refused_event(struct err *e, int code, const char *what)
{
	int level = paranoid();

	if (level <= 2 || caps_missing(CAPS_TRACING) || !caps_missing(CAPS_ADMIN))
		return sys_refused(e, code, what);
	err_sys(e, code, "%s: kernel.perf_event_paranoid is %d, and CAP_SYS_ADMIN is missing", what,
	        level);
	return err_hint(e, "with kernel.perf_event_paranoid=2 (sysctl) CAP_PERFMON is enough");
}
