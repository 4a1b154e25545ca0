/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reading /proc and the kernel's log. Which line of a file becomes which number is in tables; a
 * line that this kernel does not have leaves its number 0. Everything is read as text of unknown
 * origin: tests and containers put other files there.
 */
#include "memstat/memstat.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/str.h"

#define FILE_LIMIT (1u << 20)

/* A path below the root. */
static bool read_file(const char *root, const char *path, struct buf *b)
{
	char full[4400];
	struct err ignored;

	buf_reset(b);
	snprintf(full, sizeof(full), "%s%s", root, path);
	return file_read(full, b, FILE_LIMIT, &ignored);
}

/* ---- lines of "name value" ---- */

struct line_name {
	const char *name; /* a trailing '*' stands for any end */
	u32 to;           /* values of several lines add up */
};

static const struct line_name mem_names[] = {
	{ "MemTotal:", MEM_TOTAL },
	{ "MemFree:", MEM_FREE },
	{ "MemAvailable:", MEM_AVAILABLE },
	{ "Buffers:", MEM_BUFFERS },
	{ "Cached:", MEM_CACHED },
	{ "Dirty:", MEM_DIRTY },
	{ "Writeback:", MEM_WRITEBACK },
	{ "AnonPages:", MEM_ANON },
	{ "Mapped:", MEM_MAPPED },
	{ "Shmem:", MEM_SHMEM },
	{ "Slab:", MEM_SLAB },
	{ "SUnreclaim:", MEM_SLAB_FIXED },
	{ "PageTables:", MEM_PAGE_TABLES },
	{ "KernelStack:", MEM_KERNEL_STACK },
	{ "SwapTotal:", MEM_SWAP_TOTAL },
	{ "SwapFree:", MEM_SWAP_FREE },
	{ "SwapCached:", MEM_SWAP_CACHED },
	{ "Zswapped:", MEM_ZSWAPPED },
	{ "Committed_AS:", MEM_COMMITTED },
	{ "CommitLimit:", MEM_COMMIT_LIMIT },
	{ "AnonHugePages:", MEM_THP },
	{ "HugePages_Total:", MEM_HUGE_TOTAL },
	{ "HugePages_Free:", MEM_HUGE_FREE },
	{ "HugePages_Rsvd:", MEM_HUGE_RESERVED },
	{ "Hugepagesize:", MEM_HUGE_SIZE },
};

/* pgscan_kswapd and pgscan_direct leave out what is scanned for the limits of control groups;
 * pgscan_anon and pgscan_file do not. pgscan_direct_throttle counts no pages. */
static const struct line_name event_names[] = {
	{ "pgfault", EVENT_FAULT },
	{ "pgmajfault", EVENT_MAJOR },
	{ "pswpin", EVENT_SWAP_IN },
	{ "zswpin", EVENT_SWAP_IN },
	{ "swpin_zero", EVENT_SWAP_IN },
	{ "pswpout", EVENT_SWAP_OUT },
	{ "zswpout", EVENT_SWAP_OUT },
	{ "swpout_zero", EVENT_SWAP_OUT },
	{ "pgscan_kswapd", EVENT_SCAN_KSWAPD },
	{ "pgscan_direct", EVENT_SCAN_DIRECT },
	{ "pgscan_khugepaged", EVENT_SCAN_OTHER },
	{ "pgscan_proactive", EVENT_SCAN_OTHER },
	{ "pgscan_anon", EVENT_SCAN_ALL },
	{ "pgscan_file", EVENT_SCAN_ALL },
	{ "pgsteal_anon", EVENT_STEAL_ALL },
	{ "pgsteal_file", EVENT_STEAL_ALL },
	{ "allocstall_*", EVENT_STALL },
	{ "workingset_refault_*", EVENT_REFAULT },
	{ "compact_stall", EVENT_COMPACT },
	{ "thp_fault_alloc", EVENT_THP },
	{ "thp_fault_fallback", EVENT_THP_FALLBACK },
	{ "oom_kill", EVENT_OOM_KILL },
};

static bool names_line(const char *pattern, struct str word)
{
	size_t n = strlen(pattern);

	if (pattern[n - 1] != '*')
		return str_is(word, pattern);
	return word.n >= n - 1 && memcmp(word.p, pattern, n - 1) == 0;
}

static u64 number(struct str s)
{
	u64 n = 0;

	for (; s.n && *s.p == ' '; s.n--)
		s.p++;
	for (; s.n && isdigit((u8)*s.p); s.n--)
		n = n * 10 + (u64)(*s.p++ - '0');
	return n;
}

/* Sizes of /proc/meminfo are in KiB, and say so. */
static void read_lines(const char *text, const struct line_name *names, u32 n, u64 *to)
{
	struct str rest = str_of(text);

	while (rest.p) {
		struct str line = str_cut(rest, '\n', &rest), value, word;

		word = str_cut(line, ' ', &value);
		for (u32 i = 0; i < n && value.p; i++)
			if (names_line(names[i].name, word))
				to[names[i].to] += number(value) *
				                   (value.p[value.n - 1] == 'B' ? 1024 : 1);
	}
}

/* ---- swap, pressure ---- */

static void read_swaps(struct memstat *m, const char *text)
{
	char name[512], kind[64];
	unsigned long long size, used;
	int priority;

	while ((text = strchr(text, '\n')) && *++text) {
		struct memstat_swap s;

		if (sscanf(text, "%511s %63s %llu %llu %d", name, kind, &size, &used, &priority) !=
		    5)
			continue;
		s = (struct memstat_swap){ arena_strdup(&m->arena, name),
			                   arena_strdup(&m->arena, kind), size * 1024, used * 1024,
			                   priority };
		vec_add(&m->arena, &m->swaps, s);
	}
}

/* "12.34" after a name, in hundredths. */
static u32 hundredths(const char *line, const char *name)
{
	const char *at = strstr(line, name);
	u32 whole = 0, part = 0;

	if (at)
		sscanf(at + strlen(name), "%9u.%2u", &whole, &part);
	return whole * 100 + part;
}

/* The number after the first `mark`; 0 when there is none. */
static u64 after(const char *text, const char *mark)
{
	const char *at = strstr(text, mark);

	return at ? strtoull(at + strlen(mark), NULL, 10) : 0;
}

static void read_pressure(struct memstat_pressure *p, const char *text)
{
	const char *full = strstr(text, "full ");

	p->known = strncmp(text, "some ", 5) == 0;
	p->some10 = hundredths(text, "avg10=");
	p->some60 = hundredths(text, "avg60=");
	p->some300 = hundredths(text, "avg300=");
	p->some_us = after(text, "total=");
	if (!full)
		return;
	p->full10 = hundredths(full, "avg10=");
	p->full60 = hundredths(full, "avg60=");
	p->full300 = hundredths(full, "avg300=");
	p->full_us = after(full, "total=");
}

/* ---- control groups ---- */

#define NO_LIMIT (1ull << 62) /* what version 1 has for none is about that */

static const struct {
	const char *mark; /* of the line in /proc/self/cgroup */
	const char *mount, *limit, *used, *events;
} group_kinds[] = {
	{ "0::", "/sys/fs/cgroup", "memory.max", "memory.current", "memory.events" },
	{ ":memory:", "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
	  "memory.oom_control" },
};

static bool group_file(const char *root, const char *dir, const char *name, struct buf *b)
{
	char path[4300];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return read_file(root, path, b);
}

static u64 group_kills(const char *text)
{
	static const struct line_name names[] = { { "oom_kill", 0 } };
	u64 n = 0;

	read_lines(text, names, 1, &n);
	return n;
}

/* From the group up to the mount: the smallest limit wins, as it does in the kernel. */
static void walk_groups(struct memstat *m, const char *root, u32 kind, char *dir)
{
	size_t top = strlen(group_kinds[kind].mount);
	struct buf b = { 0 };

	while (strlen(dir) >= top) {
		u64 limit;
		char *slash;

		if (group_file(root, dir, group_kinds[kind].limit, &b) && isdigit((u8)b.p[0])) {
			limit = number(str_of(buf_text(&b)));
			if (limit < NO_LIMIT && (!m->group.limit || limit < m->group.limit)) {
				m->group.limit = limit;
				m->group.path = arena_strdup(&m->arena, dir[top] ? dir + top : "/");
				group_file(root, dir, group_kinds[kind].used, &b);
				m->group.used = number(str_of(buf_text(&b)));
				group_file(root, dir, group_kinds[kind].events, &b);
				m->group.oom_kills = group_kills(buf_text(&b));
			}
		}
		slash = strrchr(dir, '/');
		if (!slash)
			break;
		*slash = 0;
	}
	buf_free(&b);
}

static void read_group(struct memstat *m, const char *root, const char *text)
{
	struct str rest = str_of(text);

	while (rest.p) {
		struct str line = str_cut(rest, '\n', &rest);

		for (u32 i = 0; i < ARRAY_SIZE(group_kinds); i++) {
			const char *mark = group_kinds[i].mark, *at;
			char dir[4200];

			at = line.n ? memmem(line.p, line.n, mark, strlen(mark)) : NULL;
			if (!at || (i == 0 && at != line.p))
				continue;
			at += strlen(mark);
			if (!m->group.path)
				m->group.path = arena_strndup(&m->arena, at,
				                              (size_t)(line.p + line.n - at));
			snprintf(dir, sizeof(dir), "%s%.*s", group_kinds[i].mount,
			         (int)MIN(line.p + line.n - at, 4000), at);
			walk_groups(m, root, i, dir);
		}
	}
}

/* ---- processes ---- */

/* Names are what a process says of itself; terminals shall not obey them. */
static void take_comm(char to[64], const char *from, int n)
{
	snprintf(to, 64, "%.*s", n, from);
	escape_string(to, 64, ESCAPE_ALL);
}

/* "PID (comm) state ...": the name may contain anything, so its end is the last ')'. */
static bool parse_stat(struct memstat_process *p, const char *text, u64 page)
{
	const char *left = strchr(text, '('), *right = strrchr(text, ')');
	unsigned long long minor, major, start;
	long long rss;

	if (!left || !right || right < left)
		return false;
	take_comm(p->comm, left + 1, (int)(right - left - 1));
	if (sscanf(right + 1,
	           " %*c %*d %*d %*d %*d %*d %*u %llu %*u %llu %*u %*u %*u %*d %*d %*d %*d %*d %*d "
	           "%llu %*u %lld",
	           &minor, &major, &start, &rss) != 4)
		return false;
	p->minor = minor;
	p->major = major;
	p->start = start;
	p->rss = rss > 0 ? (u64)rss * page : 0;
	return true;
}

static int by_pid(const void *a, const void *b)
{
	const struct memstat_process *x = a, *y = b;

	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

static void read_processes(struct memstat *m, const char *root)
{
	u64 page = (u64)sysconf(_SC_PAGESIZE);
	struct buf b = { 0 };
	struct dirent *entry;
	char path[300];
	DIR *dir;

	snprintf(path, sizeof(path), "%s/proc", root);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		struct memstat_process p = { .pid = (u32)strtoul(entry->d_name, NULL, 10) };

		snprintf(path, sizeof(path), "/proc/%u/stat", p.pid);
		if (p.pid && read_file(root, path, &b) && parse_stat(&p, buf_text(&b), page))
			vec_add(&m->arena, &m->processes, p);
	}
	if (dir)
		closedir(dir);
	if (m->processes.n)
		qsort(m->processes.v, m->processes.n, sizeof(*m->processes.v), by_pid);
	buf_free(&b);
}

/* ---- the kernel's log ---- */

/* "6,1234,567890,-;Memory cgroup out of memory: Killed process 12 (redis) total-vm:..." */
static bool parse_kill(struct memstat_kill *k, const char *record)
{
	const char *text = strchr(record, ';'), *killed, *left, *right;
	unsigned long long usec;

	killed = text ? strstr(text, "Killed process ") : NULL;
	if (!killed || !strstr(text, "ut of memory") || sscanf(record, "%*u,%*u,%llu,", &usec) != 1)
		return false;
	k->usec = usec;
	k->pid = (u32)strtoul(killed + strlen("Killed process "), NULL, 10);
	k->by_limit = strncmp(text + 1, "Memory cgroup", 13) == 0;
	left = strchr(killed, '(');
	right = left ? strstr(left, ") total-vm:") : NULL;
	right = right ? right : left ? strchr(left, ')') : NULL;
	take_comm(k->comm, right ? left + 1 : "", right ? (int)(right - left - 1) : 0);
	return true;
}

static void add_kill(struct memstat *m, const struct memstat_kill *k)
{
	if (m->n_kills == MEMSTAT_KILLS)
		memmove(m->kills, m->kills + 1, sizeof(*k) * --m->n_kills);
	m->kills[m->n_kills++] = *k;
	m->log_kills++;
}

/* A read gives one record. Those overwritten meanwhile are skipped (EPIPE). */
static void read_log(struct memstat *m, const char *root)
{
	char path[300], record[8193];
	struct memstat_kill k;
	int fd;

	snprintf(path, sizeof(path), "%s/dev/kmsg", root);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	m->log_error = fd < 0 ? errno : 0;
	while (fd >= 0) {
		ssize_t n = read(fd, record, sizeof(record) - 1);

		if (n < 0 && (errno == EPIPE || errno == EINTR))
			continue;
		if (n <= 0)
			break;
		record[n] = 0;
		if (parse_kill(&k, record))
			add_kill(m, &k);
	}
	if (fd >= 0)
		close(fd);
}

/* ---- all of it ---- */

void memstat_read_totals(struct memstat *m, const char *root)
{
	struct buf b = { 0 };

	*m = (struct memstat){ .ns = clock_ns(CLOCK_BOOTTIME) };
	if (read_file(root, "/proc/vmstat", &b))
		read_lines(buf_text(&b), event_names, ARRAY_SIZE(event_names), m->events);
	if (read_file(root, "/proc/meminfo", &b))
		read_lines(buf_text(&b), mem_names, ARRAY_SIZE(mem_names), m->mem);
	if (read_file(root, "/proc/swaps", &b))
		read_swaps(m, buf_text(&b));
	if (read_file(root, "/proc/pressure/memory", &b))
		read_pressure(&m->pressure, buf_text(&b));
	buf_free(&b);
}

void memstat_read(struct memstat *m, const char *root)
{
	struct buf b = { 0 };

	memstat_read_totals(m, root);
	if (read_file(root, "/proc/self/cgroup", &b))
		read_group(m, root, buf_text(&b));
	read_processes(m, root);
	read_log(m, root);
	buf_free(&b);
}

void memstat_free(struct memstat *m)
{
	arena_free(&m->arena);
}

/* ---- the top ---- */

static int by_rss(const void *a, const void *b)
{
	const struct memstat_process *x = a, *y = b;

	if (x->rss != y->rss)
		return x->rss > y->rss ? -1 : 1;
	return by_pid(a, b);
}

/* Faults since the look before; of a process that is new, all. */
static void since(struct memstat_process *p, const struct memstat *before)
{
	const struct memstat_process *old = before->processes.n ? bsearch(p, before->processes.v,
	                                                                  before->processes.n,
	                                                                  sizeof(*p), by_pid)
	                                                        : NULL;

	if (!old || old->start != p->start)
		return;
	p->minor -= MIN(p->minor, old->minor);
	p->major -= MIN(p->major, old->major);
}

static void read_more(struct memstat_process *p, const char *root, bool pss)
{
	static const struct line_name swap[] = { { "VmSwap:", 0 } }, share[] = { { "Pss:", 0 } };
	u64 page = (u64)sysconf(_SC_PAGESIZE);
	unsigned long long pages;
	struct buf b = { 0 };
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/statm", p->pid);
	if (read_file(root, path, &b) && sscanf(buf_text(&b), "%*u %llu", &pages) == 1)
		p->rss = pages * page; /* exact, where that of stat may be behind by CPU */
	snprintf(path, sizeof(path), "/proc/%u/status", p->pid);
	for (char *c = read_file(root, path, &b) ? b.p : NULL; c && (c = strchr(c, '\t'));)
		*c = ' ';
	read_lines(buf_text(&b), swap, 1, &p->swap);
	snprintf(path, sizeof(path), "/proc/%u/smaps_rollup", p->pid);
	p->has_pss = pss && read_file(root, path, &b);
	if (p->has_pss)
		read_lines(buf_text(&b), share, 1, &p->pss);
	buf_free(&b);
}

struct memstat_view memstat_between(const struct memstat *now, const struct memstat *before)
{
	return (struct memstat_view){
		.now = now,
		.before = before,
		.seconds = (double)(now->ns - before->ns) / 1e9,
		.root = "",
		.boot_to_real = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_BOOTTIME),
	};
}

void memstat_top(struct memstat_view *v, struct memstat *now, u32 n)
{
	u32 all = now->processes.n;

	v->top = arena_array(&now->arena, struct memstat_process, all);
	if (all)
		memcpy(v->top, now->processes.v, sizeof(*v->top) * all);
	qsort(v->top, all, sizeof(*v->top), by_rss);
	v->n_top = MIN(all, n);
	for (u32 i = 0; i < v->n_top; i++) {
		since(&v->top[i], v->before);
		read_more(&v->top[i], v->root, v->pss);
	}
	qsort(v->top, v->n_top, sizeof(*v->top), by_rss);
}

double memstat_rate(const struct memstat_view *v, enum memstat_event e)
{
	u64 now = v->now->events[e], before = v->before->events[e];

	return v->seconds > 0 && now > before ? (double)(now - before) / v->seconds : 0;
}

double memstat_limit_scan(const struct memstat_view *v)
{
	double rest = memstat_rate(v, EVENT_SCAN_ALL) - memstat_rate(v, EVENT_SCAN_KSWAPD) -
	              memstat_rate(v, EVENT_SCAN_DIRECT) - memstat_rate(v, EVENT_SCAN_OTHER);

	return rest > 0 ? rest : 0;
}
