/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The BTF reader beside libbpf, in one process each: median of 31 runs from opening the file to the
 * answer, the file closed again, and the private memory one run leaves while it is open.
 *
 *     build/bench/btf [FILE]      default: the running kernel's
 *
 * Every case runs in a child of its own, so that no cache or heap is handed on.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <bpf/btf.h>

#include "read/btf_impl.h"

#define RUNS 31

static const char *file = "/sys/kernel/btf/vmlinux";
static bool window;

static const char *const twenty[] = {
	"task_struct",   "mm_struct",   "vm_area_struct", "file",        "dentry",
	"inode",         "super_block", "sk_buff",        "sock",        "net_device",
	"page",          "folio",       "zone",           "oom_control", "cred",
	"signal_struct", "nsproxy",     "request_queue",  "bio",         "kmem_cache",
};
#define VFS_PATH "vm_file->f_path.dentry->d_name.name"

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "bench: %s failed\n", what);
	exit(1);
}

/* ---- the cases ------------------------------------------------------------------------------ */

static void ours_none(struct btf *b)
{
	must(b != NULL, "open");
}

static void ours_early(struct btf *b)
{
	must(btf_find(b, BTF_KIND_STRUCT, "task_struct"), "task_struct");
}

static void ours_any(struct btf *b)
{
	must(btf_find(b, BTF_KIND_STRUCT, "oom_control"), "oom_control");
}

static void ours_absent(struct btf *b)
{
	must(!btf_find(b, BTF_KIND_STRUCT, "no_such_struct"), "absence");
}

static void fill(struct btf_query *q)
{
	for (u32 i = 0; i < ARRAY_SIZE(twenty); i++)
		q[i] = (struct btf_query){ twenty[i], BTF_KIND_STRUCT, 0 };
}

static void ours_twenty(struct btf *b)
{
	struct btf_query q[ARRAY_SIZE(twenty)];

	fill(q);
	must(btf_find_many(b, q, ARRAY_SIZE(twenty), 0) == ARRAY_SIZE(twenty), "20 structs");
}

static bool count_two(void *ctx, u32 query, u32 id)
{
	(void)query;
	(void)id;
	++*(u32 *)ctx;
	return true;
}

static void ours_candidates(struct btf *b)
{
	struct btf_query q[ARRAY_SIZE(twenty)];
	u32 n = 0;

	fill(q);
	btf_find_all(b, q, ARRAY_SIZE(twenty), BTF_FIND_FLAVORS, count_two, &n);
	must(n >= ARRAY_SIZE(twenty), "candidates");
}

static void ours_paths(struct btf *b)
{
	struct btf_query q[] = { { "oom_control", BTF_KIND_STRUCT, 0 },
		                 { "vm_area_struct", BTF_KIND_STRUCT, 0 } };
	struct btf_path p;

	must(btf_find_many(b, q, 2, 0) == 2 && btf_path(b, q[0].id, "chosen->pid", &p, NULL) &&
	             btf_path(b, q[1].id, VFS_PATH, &p, NULL),
	     "paths");
}

static bool count_one(void *ctx, u32 id, const char *name)
{
	(void)id;
	(void)name;
	++*(u32 *)ctx;
	return true;
}

static void ours_glob(struct btf *b)
{
	u32 n = 0;

	btf_each(b, BTF_KIND_FUNC, "vfs_*", count_one, &n);
	must(n, "vfs_*");
}

static void theirs_none(struct btf *b)
{
	(void)b;
}

static void theirs_early(struct btf *b)
{
	must(btf__find_by_name_kind(b, "task_struct", BTF_KIND_STRUCT) > 0, "task_struct");
}

static void theirs_any(struct btf *b)
{
	must(btf__find_by_name_kind(b, "oom_control", BTF_KIND_STRUCT) > 0, "oom_control");
}

static void theirs_absent(struct btf *b)
{
	must(btf__find_by_name_kind(b, "no_such_struct", BTF_KIND_STRUCT) < 0, "absence");
}

static void theirs_twenty(struct btf *b)
{
	for (u32 i = 0; i < ARRAY_SIZE(twenty); i++)
		must(btf__find_by_name_kind(b, twenty[i], BTF_KIND_STRUCT) > 0, twenty[i]);
}

static void theirs_glob(struct btf *b)
{
	u32 n = 0;

	for (u32 id = 1; id < btf__type_cnt(b); id++) {
		const struct btf_type *t = btf__type_by_id(b, id);

		if (btf_is_func(t))
			n += !strncmp(btf__name_by_offset(b, t->name_off), "vfs_", 4);
	}
	must(n, "vfs_*");
}

/* The object lies in the same build directory. */
static const char *twenty_relocations(char *path, size_t n)
{
	ssize_t len = readlink("/proc/self/exe", path, n);

	must(len > 0 && (size_t)len < n - 64, "the path of this program");
	path[len] = 0;
	strcpy(strrchr(path, '/'), "/../tests/core/twenty.bpf.o");
	return path;
}

static void ours_filter(struct btf *b)
{
	char path[4096];
	struct btf *object = btf_open(twenty_relocations(path, sizeof(path)), NULL);
	struct btf_subset *s = btf_filter_new(b, NULL);
	const void *p;
	size_t n;

	must(object && btf_filter_object(s, object, NULL), "the object");
	must(btf_filter_bytes(s, &p, &n, NULL), "filter");
	btf_filter_free(s);
	btf_unref(object);
}

/* ---- measuring ------------------------------------------------------------------------------ */

struct result {
	double us;
	long kib;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static long private_kib(void)
{
	FILE *f = fopen("/proc/self/smaps_rollup", "r");
	char line[128];
	long kib = 0;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Private_Dirty: %ld", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static struct btf *open_one(bool ours)
{
	struct btf_error e = { 0 };
	struct btf *b = ours ? btf_open_how(file, NULL, window, &e) : btf__parse(file, NULL);

	must(b != NULL, e.text[0] ? e.text : "libbpf");
	return b;
}

static void close_one(bool ours, struct btf *b)
{
	if (ours)
		btf_unref(b);
	else
		btf__free(b);
}

static struct result measure(void (*work)(struct btf *b), bool ours)
{
	double us[RUNS];
	struct result r;
	struct btf *b;
	long before;

	private_kib();
	before = private_kib();
	b = open_one(ours);
	work(b);
	r.kib = private_kib() - before;
	close_one(ours, b);
	for (u32 i = 0; i < RUNS; i++) {
		double start = now();

		b = open_one(ours);
		work(b);
		us[i] = now() - start;
		close_one(ours, b);
	}
	qsort(us, RUNS, sizeof(us[0]), by_size);
	r.us = us[RUNS / 2];
	return r;
}

static struct result in_child(void (*work)(struct btf *b), bool ours)
{
	struct result r = { 0 };
	int fds[2], status;
	pid_t pid;

	fflush(stdout); /* or a child that fails would print it too */
	must(pipe(fds) == 0 && (pid = fork()) >= 0, "fork");
	if (!pid) {
		r = measure(work, ours);
		_exit(write(fds[1], &r, sizeof(r)) != sizeof(r));
	}
	close(fds[1]);
	must(read(fds[0], &r, sizeof(r)) == sizeof(r), "child");
	close(fds[0]);
	waitpid(pid, &status, 0);
	return r;
}

static void row(const char *name, void (*ours)(struct btf *b), void (*theirs)(struct btf *b))
{
	struct result a = in_child(ours, true), b = { 0 };

	if (!theirs) {
		printf("%-34s %9.3f ms %6ld KiB\n", name, a.us / 1e3, a.kib);
		return;
	}
	b = in_child(theirs, false);
	printf("%-34s %9.3f ms %6ld KiB %9.3f ms %6ld KiB %7.1f\n", name, a.us / 1e3, a.kib,
	       b.us / 1e3, b.kib, b.us / a.us);
}

/* bpftool is measured as a process. */
static void row_filter(void)
{
	struct result a = in_child(ours_filter, true);
	char object[4096], command[8400];
	double us[RUNS];

	snprintf(command, sizeof(command), "exec bpftool gen min_core_btf %s /dev/null %s", file,
	         twenty_relocations(object, sizeof(object)));
	for (u32 i = 0; i < RUNS; i++) {
		double start = now();

		must(system(command) == 0, "bpftool"); /* NOLINT(cert-env33-c) */
		us[i] = now() - start;
	}
	qsort(us, RUNS, sizeof(us[0]), by_size);
	printf("%-34s %9.3f ms %6ld KiB %9.3f ms %10s %7.1f\n", "part for 20 relocations (bpftool)",
	       a.us / 1e3, a.kib, us[RUNS / 2] / 1e3, "", us[RUNS / 2] / a.us);
}

/* The second time in one process. */
static void row_again(void)
{
	struct btf *b = open_one(true);
	double us[RUNS];

	ours_paths(b);
	for (u32 i = 0; i < RUNS; i++) {
		double start = now();

		ours_paths(b);
		us[i] = (now() - start) / 2;
	}
	btf_unref(b);
	qsort(us, RUNS, sizeof(us[0]), by_size);
	printf("%-34s %9.4f ms\n", "the same path again", us[RUNS / 2] / 1e3);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		file = argv[1];
	printf("%s\n%-34s %23s %23s %7s\n", file, "", "memtap-btf", "libbpf", "times");
	row("open", ours_none, theirs_none);
	row("one struct, early", ours_early, theirs_early);
	row("one struct, any place", ours_any, theirs_any);
	row("one struct, absent", ours_absent, theirs_absent);
	row("20 structs, first of each", ours_twenty, theirs_twenty);
	row("20 structs, every candidate", ours_candidates, NULL);
	row("two paths", ours_paths, NULL);
	row_again();
	row("functions vfs_*", ours_glob, theirs_glob);
	row_filter();
	window = true;
	row("open, not mapped", ours_none, NULL);
	row("one struct, not mapped", ours_any, NULL);
	row("two paths, not mapped", ours_paths, NULL);
	row("20 structs, not mapped", ours_twenty, NULL);
	row("functions vfs_*, not mapped", ours_glob, NULL);
	row("20 structs, every candidate, not mapped", ours_candidates, NULL);
	return 0;
}
