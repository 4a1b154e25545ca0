/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The BTF reader beside libbpf: from opening the file to the answer, and the private memory that
 * leaves behind while the file is open.
 *
 *     build/bench/btf [FILE]      default: the running kernel's
 *
 * Each run is in a child of its own, as a tracer opens BTF once in its life: no heap that was grown
 * before, nothing cached but the file and the code. Of 31 runs the medians are shown; those of both
 * libraries alternate. "unmapped" reads pages, as for modules and kernels before 6.16.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <bpf/btf.h>

#include "btf/btf_impl.h"

#define RUNS 31

static const char *file = "/sys/kernel/btf/vmlinux";

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

/* Bytes of a name without what follows its "___". */
static size_t plain_name(const char *name)
{
	const char *end = strstr(name, "___");

	return end && end != name ? (size_t)(end - name) : strlen(name);
}

/* As libbpf itself looks for what a relocation's type may be. */
static void theirs_candidates(struct btf *b)
{
	u32 found = 0;

	for (u32 i = 0; i < ARRAY_SIZE(twenty); i++)
		for (u32 id = 1; id < btf__type_cnt(b); id++) {
			const struct btf_type *t = btf__type_by_id(b, id);
			const char *name = btf_is_struct(t) ? btf__name_by_offset(b, t->name_off)
			                                    : "";
			size_t n = plain_name(name);

			found += n == strlen(twenty[i]) && strncmp(name, twenty[i], n) == 0;
		}
	must(found >= ARRAY_SIZE(twenty), "candidates");
}

/* The type of a member, through pointers and modifiers before it; 0 when there is none. */
static u32 their_member(struct btf *b, u32 id, const char *name)
{
	const struct btf_type *t = btf__type_by_id(b, id);

	while (btf_is_mod(t) || btf_is_typedef(t) || btf_is_ptr(t))
		t = btf__type_by_id(b, t->type);
	for (u32 i = 0; btf_is_composite(t) && i < btf_vlen(t); i++) {
		const struct btf_member *m = btf_members(t) + i;
		u32 inner;

		if (strcmp(btf__name_by_offset(b, m->name_off), name) == 0)
			return m->type;
		inner = m->name_off ? 0 : their_member(b, m->type, name);
		if (inner)
			return inner;
	}
	return 0;
}

static void theirs_paths(struct btf *b)
{
	static const char *const steps[] = { "vm_file", "f_path", "dentry", "d_name", "name" };
	s32 oom = btf__find_by_name_kind(b, "oom_control", BTF_KIND_STRUCT);
	s32 vma = btf__find_by_name_kind(b, "vm_area_struct", BTF_KIND_STRUCT);
	u32 at = vma > 0 ? (u32)vma : 0;

	must(oom > 0 && at, "the structs");
	must(their_member(b, their_member(b, (u32)oom, "chosen"), "pid"), "oom_control");
	for (u32 i = 0; i < ARRAY_SIZE(steps); i++)
		at = their_member(b, at, steps[i]);
	must(at, "vm_area_struct");
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
	double again; /* the same once more, in the same process */
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

static struct btf *open_one(bool ours, bool window)
{
	struct btf_error e = { 0 };
	struct btf *b = ours ? btf_open_how(file, NULL, window, &e) : btf__parse(file, NULL);

	must(b != NULL, e.text[0] ? e.text : "libbpf");
	return b;
}

/* Brings the code in: what the pages of a program just forked cost is nobody's merit. */
static void warm(bool ours)
{
	char path[4096];
	struct btf *b = ours ? btf_open(twenty_relocations(path, sizeof(path)), NULL)
	                     : btf__parse(twenty_relocations(path, sizeof(path)), NULL);

	must(b != NULL, "the object");
	if (ours) {
		btf_find(b, BTF_KIND_STRUCT, "task_struct");
		btf_unref(b);
	} else {
		btf__find_by_name_kind(b, "task_struct", BTF_KIND_STRUCT);
		btf__free(b);
	}
}

static struct result measure(void (*work)(struct btf *b), bool ours, bool window)
{
	struct result r = { 0 };
	double start;
	struct btf *b;

	warm(ours);
	start = now();
	b = open_one(ours, window);
	work(b);
	r.us = now() - start;
	start = now();
	work(b);
	r.again = now() - start;
	return r;
}

/* Nothing is warm here: the stack counts too. */
static struct result weigh(void (*work)(struct btf *b), bool ours, bool window)
{
	long before;

	private_kib();
	before = private_kib();
	work(open_one(ours, window));
	return (struct result){ .kib = private_kib() - before };
}

typedef struct result measure_fn(void (*work)(struct btf *b), bool ours, bool window);

static struct result in_child(measure_fn *how, void (*work)(struct btf *b), bool ours, bool window)
{
	struct result r = { 0 };
	int fds[2], status;
	pid_t pid;

	fflush(stdout); /* or a child that fails would print it too */
	must(pipe(fds) == 0 && (pid = fork()) >= 0, "fork");
	if (!pid) {
		r = how(work, ours, window);
		_exit(write(fds[1], &r, sizeof(r)) != sizeof(r));
	}
	close(fds[1]);
	must(read(fds[0], &r, sizeof(r)) == sizeof(r), "child");
	close(fds[0]);
	waitpid(pid, &status, 0);
	return r;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v)
{
	qsort(v, RUNS, sizeof(*v), by_size);
	return v[RUNS / 2];
}

static struct result medians(const struct result *r)
{
	double us[RUNS], again[RUNS];

	for (u32 i = 0; i < RUNS; i++) {
		us[i] = r[i].us;
		again[i] = r[i].again;
	}
	return (struct result){ .us = median(us), .again = median(again) };
}

/* ---- the table ------------------------------------------------------------------------------ */

static const struct row {
	const char *what;
	void (*ours)(struct btf *b);
	void (*theirs)(struct btf *b);
	bool window, again;
} rows[] = {
	{ "open", ours_none, theirs_none, false, false },
	{ "one struct, early", ours_early, theirs_early, false, false },
	{ "one struct, any place", ours_any, theirs_any, false, false },
	{ "one struct, absent", ours_absent, theirs_absent, false, false },
	{ "20 structs, first of each", ours_twenty, theirs_twenty, false, false },
	{ "20 structs, every candidate", ours_candidates, theirs_candidates, false, false },
	{ "two paths", ours_paths, theirs_paths, false, false },
	{ "two paths again", ours_paths, theirs_paths, false, true },
	{ "functions vfs_*", ours_glob, theirs_glob, false, false },
	{ "unmapped: open", ours_none, theirs_none, true, false },
	{ "unmapped: one struct", ours_any, theirs_any, true, false },
	{ "unmapped: two paths", ours_paths, theirs_paths, true, false },
	{ "unmapped: 20 structs", ours_twenty, theirs_twenty, true, false },
	{ "unmapped: functions vfs_*", ours_glob, theirs_glob, true, false },
};

static void row_print(const char *what, double ours, long kib, double theirs, const char *their_kib)
{
	printf("| %-30s | %8.3f ms | %6ld KiB | %9.3f ms | %8s | %6.1f |\n", what, ours / 1e3, kib,
	       theirs / 1e3, their_kib, theirs / ours);
}

static void row_run(const struct row *w)
{
	struct result ours[RUNS], theirs[RUNS], a, b;
	char kib[32];

	for (u32 i = 0; i < RUNS; i++) {
		ours[i] = in_child(measure, w->ours, true, w->window);
		theirs[i] = in_child(measure, w->theirs, false, false);
	}
	a = medians(ours);
	b = medians(theirs);
	if (w->again) {
		row_print(w->what, a.again, 0, b.again, "0 KiB");
		return;
	}
	snprintf(kib, sizeof(kib), "%ld KiB", in_child(weigh, w->theirs, false, false).kib);
	row_print(w->what, a.us, in_child(weigh, w->ours, true, w->window).kib, b.us, kib);
}

/* bpftool is measured as a process. */
static void row_filter(void)
{
	struct result ours[RUNS];
	char object[4096], command[8400];
	double us[RUNS];

	snprintf(command, sizeof(command), "exec bpftool gen min_core_btf %s /dev/null %s", file,
	         twenty_relocations(object, sizeof(object)));
	for (u32 i = 0; i < RUNS; i++) {
		double start;

		ours[i] = in_child(measure, ours_filter, true, false);
		start = now();
		must(system(command) == 0, "bpftool"); /* NOLINT(cert-env33-c) */
		us[i] = now() - start;
	}
	row_print("filter: 20 relocations, bpftool", medians(ours).us,
	          in_child(weigh, ours_filter, true, false).kib, median(us), "");
}

int main(int argc, char **argv)
{
	if (argc > 1)
		file = argv[1];
	printf("%s\n| %-30s | %11s | %10s | %12s | %8s | %6s |\n", file, "", "memtap-btf",
	       "private", "libbpf", "private", "times");
	printf("| --- | --- | --- | --- | --- | --- |\n");
	for (u32 i = 0; i < ARRAY_SIZE(rows); i++)
		row_run(&rows[i]);
	row_filter();
	return 0;
}
