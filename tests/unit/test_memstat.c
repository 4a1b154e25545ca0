/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* memstat over files made up: what is read, the differences, and what looks bad. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memstat/memstat.h"

static char root[] = "/tmp/memtap-memstat.XXXXXX";

static void put(const char *path, const char *text)
{
	char full[300];
	FILE *f;

	snprintf(full, sizeof(full), "%s%s", root, path);
	for (char *slash = strchr(full + sizeof(root), '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = 0;
		mkdir(full, 0755);
		*slash = '/';
	}
	f = fopen(full, "w");
	assert_non_null(f);
	assert_int_equal(fputs(text, f) < 0, 0);
	fclose(f);
}

static int make_root(void **state)
{
	(void)state;
	return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
	char command[300];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

/* A machine that is well. */
static void put_all(const char *vmstat)
{
	put("/proc/meminfo", "MemTotal:        1000000 kB\nMemFree:          100000 kB\n"
	                     "MemAvailable:     500000 kB\nBuffers:           1000 kB\n"
	                     "Cached:           300000 kB\nSwapCached:           10 kB\n"
	                     "SwapTotal:        200000 kB\nSwapFree:         150000 kB\n"
	                     "HugePages_Total:       4\nHugePages_Free:        3\n"
	                     "HugePages_Rsvd:        1\nHugepagesize:       2048 kB\n");
	put("/proc/vmstat", vmstat);
	put("/proc/swaps", "Filename\tType\tSize\tUsed\tPriority\n"
	                   "/dev/zram0    partition\t100000\t50000\t\t100\n"
	                   "/swap\\040file file\t100000\t0\t\t-2\n");
	put("/proc/pressure/memory", "some avg10=0.50 avg60=12.34 avg300=100.00 total=676754\n"
	                             "full avg10=0.09 avg60=1.00 avg300=0.00 total=195951\n");
	put("/proc/self/cgroup", "0::/a/b\n");
	put("/sys/fs/cgroup/a/b/memory.max", "max\n");
	put("/sys/fs/cgroup/a/memory.max", "1048576\n");
	put("/sys/fs/cgroup/a/memory.current", "524288\n");
	put("/sys/fs/cgroup/a/memory.events", "low 0\nmax 17\noom 3\noom_kill 2\n");
	put("/dev/kmsg", "6,1,100,-;nothing\n");
}

static const char quiet[] = "pgfault 1000\npgmajfault 10\n";

static void test_read(void **state)
{
	struct memstat m;

	(void)state;
	put_all("pgfault 1000\npgmajfault 10\npswpin 5\nzswpin 7\nallocstall_dma 1\n"
	        "allocstall_normal 2\npgscan_direct 4\npgscan_direct_throttle 900\n"
	        "pgscan_anon 30\npgscan_file 12\npgscan_kswapd 8\noom_kill 1\n");
	memstat_read(&m, root);
	assert_int_equal(m.mem[MEM_TOTAL], 1000000ull * 1024);
	assert_int_equal(m.mem[MEM_CACHED], 300000ull * 1024);
	assert_int_equal(m.mem[MEM_HUGE_TOTAL], 4);
	assert_int_equal(m.mem[MEM_HUGE_SIZE], 2048 * 1024);
	assert_int_equal(m.events[EVENT_SWAP_IN], 12);
	assert_int_equal(m.events[EVENT_STALL], 3);
	assert_int_equal(m.events[EVENT_SCAN_DIRECT], 4);
	assert_int_equal(m.events[EVENT_SCAN_ALL], 42);
	assert_int_equal(m.swaps.n, 2);
	assert_string_equal(m.swaps.v[0].name, "/dev/zram0");
	assert_int_equal(m.swaps.v[0].used, 50000 * 1024);
	assert_int_equal(m.swaps.v[1].priority, -2);
	assert_true(m.pressure.known);
	assert_int_equal(m.pressure.some10, 50);
	assert_int_equal(m.pressure.some300, 10000);
	assert_int_equal(m.pressure.full10, 9);
	assert_int_equal(m.pressure.full60, 100);
	assert_string_equal(m.group.path, "/a");
	assert_int_equal(m.group.used, 524288);
	assert_int_equal(m.group.oom_kills, 2);
	assert_int_equal(m.n_kills, 0);
	memstat_free(&m);
}

/* Version 1 of control groups, where no limit is a number too. */
static void test_old_groups(void **state)
{
	struct memstat m;

	(void)state;
	put_all(quiet);
	put("/proc/self/cgroup", "4:memory:/x/y\n1:cpu:/\n0::/\n");
	put("/sys/fs/cgroup/memory/x/y/memory.limit_in_bytes", "9223372036854771712\n");
	put("/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "4096\n");
	put("/sys/fs/cgroup/memory/x/memory.usage_in_bytes", "4000\n");
	put("/sys/fs/cgroup/memory/x/memory.oom_control", "under_oom 0\noom_kill 9\n");
	memstat_read(&m, root);
	assert_string_equal(m.group.path, "/x");
	assert_int_equal(m.group.limit, 4096);
	assert_int_equal(m.group.used, 4000);
	assert_int_equal(m.group.oom_kills, 9);
	memstat_free(&m);
}

static void test_nothing_there(void **state)
{
	struct memstat m;
	struct memstat_view v = { .now = &m, .before = &m, .seconds = 1, .root = "/nonexistent" };
	struct memstat_advice advice[MEMSTAT_ADVICE];
	struct buf b = { 0 };

	(void)state;
	memstat_read(&m, "/nonexistent");
	memstat_top(&v, &m, 5);
	assert_int_equal(m.mem[MEM_TOTAL], 0);
	assert_int_equal(m.log_error, 2);
	assert_int_equal(memstat_advise(&v, advice), 0);
	memstat_text(&b, &v);
	assert_non_null(strstr(b.p, "no device"));
	assert_non_null(strstr(b.p, "pressure  not measured"));
	assert_non_null(strstr(b.p, "log can not be read: No such file"));
	memstat_tree(&(struct tree){ .b = &b, .ops = &tree_json }, &v);
	assert_non_null(strstr(b.p, "\"oom_log\": null"));
	buf_free(&b);
	memstat_free(&m);
}

#define STAT(minor, major, start, pages)                                                           \
	" S 1 1 1 0 -1 4194560 " #minor " 0 " #major " 0 1 2 3 4 20 0 1 0 " #start                 \
	" 1000000 " #pages " 18446744073709551615\n"

static void test_processes(void **state)
{
	struct memstat before, now;
	struct memstat_view v = {
		.now = &now, .before = &before, .seconds = 2, .root = root, .pss = true
	};
	u64 page = (u64)sysconf(_SC_PAGESIZE);

	(void)state;
	put_all(quiet);
	put("/proc/7/stat", "7 (a) b (c\x1b[2J))" STAT(100, 1, 50, 300));
	put("/proc/9/stat", "9 (big)" STAT(100, 1, 50, 900));
	put("/proc/11/stat", "11 (broken S 1");
	put("/proc/12/stat", "12 (new)" STAT(7, 0, 60, 1));
	put("/proc/9/status", "Name:\tbig\nVmSwap:\t     40 kB\n");
	put("/proc/9/smaps_rollup", "00400000-7fff [rollup]\nRss:  3600 kB\nPss:  1800 kB\n");
	memstat_read(&before, root);
	put("/proc/7/stat", "7 (a) b (c\x1b[2J))" STAT(150, 3, 50, 300));
	put("/proc/9/stat", "9 (big)" STAT(100, 1, 50, 900));
	put("/proc/12/stat", "12 (other)" STAT(9, 0, 61, 1)); /* the number was used again */
	memstat_read(&now, root);
	assert_int_equal(now.processes.n, 3);
	memstat_top(&v, &now, 5);
	assert_int_equal(v.n_top, 3);
	assert_int_equal(v.top[0].pid, 9);
	assert_int_equal(v.top[0].rss, 900 * page);
	assert_int_equal(v.top[0].swap, 40 * 1024);
	assert_true(v.top[0].has_pss);
	assert_int_equal(v.top[0].pss, 1800 * 1024);
	assert_int_equal(v.top[0].minor, 0);
	assert_string_equal(v.top[1].comm, "a) b (c\\x1b[2J)");
	assert_int_equal(v.top[1].minor, 50);
	assert_int_equal(v.top[1].major, 2);
	assert_false(v.top[1].has_pss);
	assert_int_equal(v.top[2].minor, 9);
	memstat_free(&before);
	memstat_free(&now);
}

/* A file gives all its records at once, so one of them is tried at a time. */
static void check_kill(const char *record, u32 pid, const char *comm, bool by_limit)
{
	struct memstat m;

	put("/dev/kmsg", record);
	memstat_read(&m, root);
	assert_int_equal(m.n_kills, pid ? 1 : 0);
	if (pid) {
		assert_int_equal(m.kills[0].pid, pid);
		assert_string_equal(m.kills[0].comm, comm);
		assert_int_equal(m.kills[0].by_limit, by_limit);
		assert_int_equal(m.kills[0].usec, 98765);
	}
	memstat_free(&m);
}

static void test_log(void **state)
{
	(void)state;
	put_all(quiet);
	check_kill("3,42,98765,-;Out of memory: Killed process 123 (redis-server) total-vm:1kB\n",
	           123, "redis-server", false);
	check_kill("3,42,98765,-;Memory cgroup out of memory: Killed process 5 (a) (b) "
	           "total-vm:1kB, anon-rss:3kB\n",
	           5, "a) (b", true);
	check_kill("3,42,98765,-;Out of memory (oom_kill_allocating_task): Killed process 6 (x", 6,
	           "", false);
	check_kill("6,42,98765,-;process 5 said: Killed process 9 (z)\n", 0, NULL, false);
	check_kill("6,42,98765,-", 0, NULL, false);
}

static bool has_advice(const struct memstat_view *v, const char *command, const char *text)
{
	struct memstat_advice advice[MEMSTAT_ADVICE];
	u32 n = memstat_advise(v, advice);

	for (u32 i = 0; i < n; i++)
		if (strcmp(advice[i].command, command) == 0 && strstr(advice[i].text, text))
			return true;
	return false;
}

static void test_well(void **state)
{
	struct memstat before, now;
	struct memstat_view v = { .now = &now, .before = &before, .seconds = 2, .root = root };
	struct memstat_advice advice[MEMSTAT_ADVICE];
	struct buf b = { 0 };

	(void)state;
	put_all(quiet);
	memstat_read(&before, root);
	put_all("pgfault 40999\npgmajfault 29\n");
	memstat_read(&now, root);
	assert_int_equal(memstat_advise(&v, advice), 0);
	assert_true(memstat_rate(&v, EVENT_FAULT) == 19999.5);
	memstat_text(&b, &v);
	assert_non_null(strstr(b.p, "Nothing here asks for a closer look."));
	assert_non_null(strstr(b.p, "/dev/zram0, partition, priority 100  size 98M  used 49M"));
	buf_free(&b);
	memstat_free(&before);
	memstat_free(&now);
}

static void test_all_bad(void **state)
{
	struct memstat before, now;
	struct memstat_view v = { .now = &now, .before = &before, .seconds = 2, .root = root };
	struct memstat_advice advice[MEMSTAT_ADVICE];

	(void)state;
	put_all(quiet);
	memstat_read(&before, root);
	put_all("pgfault 99000\npgmajfault 50\npswpin 2400\npswpout 20\npgscan_kswapd 200\n"
	        "pgscan_direct 100\npgscan_anon 400\npgscan_file 100\nallocstall_normal 4\n"
	        "workingset_refault_file 1000\ncompact_stall 4\nthp_fault_fallback 6\noom_kill "
	        "1\n");
	put("/proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 99 kB\nSwapTotal: 100 kB\n"
	                     "SwapFree: 20 kB\nHugePages_Total: 4\nHugePages_Free: 1\n"
	                     "HugePages_Rsvd: 1\n");
	put("/proc/pressure/memory", "some avg10=3.07 avg60=0.00 avg300=0.00 total=1\n");
	put("/sys/fs/cgroup/a/memory.current", "1000000\n");
	memstat_read(&now, root);
	memstat_top(&v, &now, 1);
	assert_true(has_advice(&v, "memtap oomkill", "1 process was killed"));
	assert_true(has_advice(&v, "memtap swapin", "swapping in 1200 pages/s"));
	assert_true(has_advice(&v, "memtap swapin", "swap is 80 % full"));
	assert_true(has_advice(&v, "memtap vmscan", "swapping out 10 pages/s"));
	assert_true(has_advice(&v, "memtap drsnoop", "50 pages/s scanned, 2 stalls/s"));
	assert_true(
		has_advice(&v, "memtap drsnoop", "limits of control groups cost reclaim: 100 "));
	assert_true(has_advice(&v, "memtap drsnoop", "control group /a uses 95 % of its limit"));
	assert_true(has_advice(&v, "memtap drsnoop", "waited for memory 3.07 %"));
	assert_true(has_advice(&v, "memtap vmscan", "kswapd scans 100 pages/s"));
	assert_true(has_advice(&v, "memtap memleak -p 9", "only 9 % of the memory"));
	assert_true(has_advice(&v, "memtap ffaults", "500 pages/s are read again"));
	assert_true(has_advice(&v, "memtap ffaults", "20 major faults/s"));
	assert_true(has_advice(&v, "memtap faults", "49000 page faults/s"));
	assert_true(has_advice(&v, "memtap vmscan", "2 allocations/s wait for compaction"));
	assert_true(has_advice(&v, "memtap hfaults", "3 huge page faults/s got small pages"));
	assert_true(has_advice(&v, "memtap hfaults", "all 4 huge pages"));
	assert_int_equal(memstat_advise(&v, advice), 16);
	memstat_free(&before);
	memstat_free(&now);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read),          cmocka_unit_test(test_old_groups),
		cmocka_unit_test(test_nothing_there), cmocka_unit_test(test_processes),
		cmocka_unit_test(test_log),           cmocka_unit_test(test_well),
		cmocka_unit_test(test_all_bad),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
