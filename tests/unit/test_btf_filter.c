/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * btf_filter.c: what is left serves the objects as the whole does (libbpf relocates them alike),
 * bpftool reads it, and it is no larger than what bpftool makes. And by names and paths, by hand.
 *
 * Needs the machine itself: bpf().
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <memtap/btf.h>

#include "base/file.h"
#include "core_oracle.h"

#define KERNEL "/sys/kernel/btf/vmlinux"

/* A directory for one test's files. */
struct place {
	char dir[64], object[96], ours[96], theirs[96];
};

static void place_make(struct place *p)
{
	snprintf(p->dir, sizeof(p->dir), "/tmp/test_btf_filter.XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	snprintf(p->object, sizeof(p->object), "%s/object.o", p->dir);
	snprintf(p->ours, sizeof(p->ours), "%s/ours.btf", p->dir);
	snprintf(p->theirs, sizeof(p->theirs), "%s/theirs.btf", p->dir);
}

static void place_remove(const struct place *p)
{
	unlink(p->object);
	unlink(p->ours);
	unlink(p->theirs);
	rmdir(p->dir);
}

static void write_file(const char *path, const void *p, size_t n)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_int_equal(fwrite(p, 1, n, f), n);
	fclose(f);
}

static long size_of(const char *path)
{
	struct stat s;

	return stat(path, &s) == 0 ? (long)s.st_size : -1;
}

static bool run(const char *fmt, ...)
{
	char command[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	return system(command) == 0; /* NOLINT(cert-env33-c) */
}

static void filter(const struct place *p, const char *target)
{
	struct btf_error e = { 0 };
	struct btf *kernel = btf_open(target, &e), *object = btf_open(p->object, &e);
	struct btf_subset *s;
	struct btf *again;

	assert_non_null(kernel);
	assert_non_null(object);
	s = btf_filter_new(kernel, &e);
	if (!btf_filter_object(s, object, &e) || !btf_filter_save(s, p->ours, &e))
		fail_msg("%s", e.text);
	again = btf_open(p->ours, &e);
	assert_non_null(again);
	if (!btf_check(again, &e))
		fail_msg("the result is damaged: %s", e.text);
	btf_unref(again);
	btf_filter_free(s);
	btf_unref(object);
	btf_unref(kernel);
}

/* libbpf makes the same of the object with both. */
static void same_outcome(const struct buf *object, const char *whole, const char *part)
{
	struct oracle a, b;

	assert_true(oracle_run(&a, object->p, object->n, whole));
	assert_true(oracle_run(&b, object->p, object->n, part));
	assert_int_equal(a.n, b.n);
	for (u32 i = 0; i < a.n; i++) {
		bool id = strncmp(a.v[i].text, "<target_type_id>", 16) == 0;

		assert_string_equal(a.v[i].text, b.v[i].text);
		if (a.v[i].error != b.v[i].error || a.v[i].poison != b.v[i].poison ||
		    !a.v[i].value != !b.v[i].value || (!id && a.v[i].value != b.v[i].value))
			fail_msg("%s: %llu in all of %s, %llu in a part", a.v[i].text,
			         (unsigned long long)a.v[i].value, whole,
			         (unsigned long long)b.v[i].value);
	}
	oracle_free(&a);
	oracle_free(&b);
}

static void check(const char *object, const char *target)
{
	struct buf bytes = { 0 };
	struct place p;

	place_make(&p);
	oracle_object(&bytes, object);
	assert_true(bytes.n > 0);
	write_file(p.object, bytes.p, bytes.n);
	filter(&p, target);
	assert_true(run("bpftool btf dump file %s >/dev/null", p.ours));
	if (geteuid() == 0)
		same_outcome(&bytes, target, p.ours);
	/* bpftool reads no ELF here. */
	if (run("bpftool gen min_core_btf %s %s %s 2>/dev/null", target, p.theirs, p.object) &&
	    size_of(p.ours) > size_of(p.theirs))
		fail_msg("%s with %s: %ld bytes, bpftool has %ld", object, target, size_of(p.ours),
		         size_of(p.theirs));
	place_remove(&p);
	buf_free(&bytes);
}

static void check_kernels(const char *object)
{
	char other[600];

	if (access(KERNEL, R_OK) != 0)
		skip();
	check(object, KERNEL);
	if (oracle_other_kernel(other, sizeof(other)))
		check(object, other);
}

static void test_fields(void **state)
{
	(void)state;
	check_kernels("fields.bpf.o");
	check_kernels("twenty.bpf.o");
}

static void test_types(void **state)
{
	(void)state;
	check_kernels("types.bpf.o");
}

static void test_made(void **state)
{
	char path[1100];

	(void)state;
	check("made.bpf.o", oracle_path(path, sizeof(path), "target.o"));
	oracle_wide_target(path, sizeof(path));
	check("made.bpf.o", path);
	unlink(path);
}

static void test_ambiguous(void **state)
{
	struct btf_error e = { 0 };
	struct btf *kernel, *object;
	struct btf_subset *s;
	char path[1100];

	(void)state;
	kernel = btf_open(oracle_path(path, sizeof(path), "target.o"), &e);
	object = btf_open(oracle_path(path, sizeof(path), "ambiguous.bpf.o"), &e);
	s = btf_filter_new(kernel, &e);
	assert_false(btf_filter_object(s, object, &e));
	assert_non_null(strstr(e.text, "kprobe/both"));
	assert_non_null(strstr(e.text, "ambiguous"));
	btf_filter_free(s);
	btf_unref(object);
	btf_unref(kernel);
}

/* ---- names and paths ------------------------------------------------------------------------- */

/* What the reduced BTF answers to a path, as in the whole. */
static void same_path(const struct btf *whole, const struct btf *part, const char *type,
                      const char *path)
{
	struct btf_path a, b;
	struct btf_error e = { 0 };

	if (!btf_path(part, btf_find_c(part, type), path, &b, &e))
		fail_msg("%s: %s", path, e.text);
	assert_true(btf_path(whole, btf_find_c(whole, type), path, &a, &e));
	assert_int_equal(a.n, b.n);
	for (u32 i = 0; i < a.n; i++)
		assert_int_equal(a.hop[i].bit_off, b.hop[i].bit_off);
	assert_int_equal(a.size, b.size);
}

static struct btf *reopen(struct btf_subset *s)
{
	struct btf_error e = { 0 };
	struct btf *b;
	const void *p;
	size_t n;

	assert_true(btf_filter_bytes(s, &p, &n, &e));
	b = btf_open_memory(p, n, &e);
	assert_non_null(b);
	if (!btf_check(b, &e))
		fail_msg("%s", e.text);
	return b;
}

static void test_paths(void **state)
{
	static const char *const paths[] = { "vm_file->f_path.dentry->d_name.name", "vm_start",
		                             "vm_mm->owner->pid" };
	struct btf_error e = { 0 };
	struct btf *kernel = btf_open(KERNEL, &e), *part;
	struct btf_subset *s;
	struct btf_info t;

	(void)state;
	if (!kernel)
		skip();
	s = btf_filter_new(kernel, &e);
	for (u32 i = 0; i < ARRAY_SIZE(paths); i++)
		if (!btf_filter_path(s, "struct vm_area_struct", paths[i], &e))
			fail_msg("%s", e.text);
	assert_false(btf_filter_path(s, "struct vm_area_struct", "no_such", &e));
	assert_false(btf_filter_path(s, "struct no_such", "x", &e));
	part = reopen(s);
	for (u32 i = 0; i < ARRAY_SIZE(paths); i++)
		same_path(kernel, part, "struct vm_area_struct", paths[i]);
	assert_true(btf_info(part, btf_find_c(part, "struct task_struct"), &t));
	assert_int_equal(t.vlen, 1);
	assert_in_range(btf_count(part), 5, 60);
	btf_unref(part);
	btf_filter_free(s);
	btf_unref(kernel);
}

static void test_names(void **state)
{
	struct btf_error e = { 0 };
	struct btf *kernel, *part;
	struct btf_subset *s;
	struct btf_info t;
	char path[1100];
	u32 id;

	(void)state;
	kernel = btf_open(oracle_path(path, sizeof(path), "target.o"), &e);
	assert_non_null(kernel);
	s = btf_filter_new(kernel, &e);
	assert_true(btf_filter_type(s, "struct outer", &e));
	assert_false(btf_filter_type(s, "struct no_such", &e));
	part = reopen(s);
	same_path(kernel, part, "struct outer", "deep[3].y");
	same_path(kernel, part, "struct outer", "grid[2][4]");
	same_path(kernel, part, "struct outer", "over");
	assert_int_equal(btf_find(part, 0, "bits"), 0);
	/* The pointer leads to a struct that is there for other reasons. */
	id = btf_find_c(part, "struct inner");
	assert_true(btf_info(part, id, &t));
	assert_int_equal(t.vlen, 2);
	btf_unref(part);
	btf_filter_free(s);
	btf_unref(kernel);
}

static void test_nothing(void **state)
{
	struct btf_error e = { 0 };
	struct btf *kernel, *part;
	struct btf_subset *s;
	char path[1100];

	(void)state;
	kernel = btf_open(oracle_path(path, sizeof(path), "target.o"), &e);
	s = btf_filter_new(kernel, &e);
	part = reopen(s);
	assert_int_equal(btf_count(part), 1);
	btf_unref(part);
	assert_false(btf_filter_save(s, "/no/such/directory/x", &e));
	assert_non_null(strstr(e.text, "/no/such/directory/x"));
	btf_filter_free(s);
	btf_unref(kernel);
}

/* Split BTF comes out whole, with what it needs of its base. */
static void test_split(void **state)
{
	struct btf_error e = { 0 };
	struct btf *base, *module, *part;
	struct buf bytes = { 0 };
	struct btf_subset *s;
	char path[1100];

	(void)state;
	base = btf_open(oracle_path(path, sizeof(path), "target.o"), &e);
	oracle_split(&bytes);
	module = btf_open_memory_split(bytes.p, bytes.n, base, &e);
	assert_non_null(module);
	s = btf_filter_new(module, &e);
	assert_true(btf_filter_path(s, "struct split_only", "x", &e));
	part = reopen(s);
	same_path(module, part, "struct split_only", "x");
	assert_null(btf_base(part));
	btf_unref(part);
	/* What is asked for later comes on top. */
	assert_true(btf_filter_type(s, "struct inner", &e));
	part = reopen(s);
	same_path(module, part, "struct split_only", "x");
	same_path(module, part, "struct inner", "y");
	btf_unref(part);
	btf_filter_free(s);
	btf_unref(module);
	btf_unref(base);
	buf_free(&bytes);
}

static u32 count_reduced(const char *target, const char *object, bool big_endian)
{
	struct btf_error e = { 0 };
	char a[1100], b[1100];
	struct btf *t = btf_open(oracle_path(a, sizeof(a), target), &e);
	struct btf *o = btf_open(oracle_path(b, sizeof(b), object), &e), *part;
	struct btf_subset *s = btf_filter_new(t, &e);
	struct btf_file f;
	u32 n;

	assert_true(btf_filter_object(s, o, &e));
	part = reopen(s);
	btf_file(part, &f);
	assert_int_equal(f.big_endian, big_endian);
	n = btf_count(part);
	btf_unref(part);
	btf_filter_free(s);
	btf_unref(o);
	btf_unref(t);
	return n;
}

static void test_orders(void **state)
{
	(void)state;
	assert_int_equal(count_reduced("target.o", "made.bpf.o", false),
	                 count_reduced("target.eb.o", "made.bpf.eb.o", true));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),  cmocka_unit_test(test_types),
		cmocka_unit_test(test_made),    cmocka_unit_test(test_ambiguous),
		cmocka_unit_test(test_paths),   cmocka_unit_test(test_names),
		cmocka_unit_test(test_nothing), cmocka_unit_test(test_split),
		cmocka_unit_test(test_orders),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
