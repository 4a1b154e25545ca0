/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * btf_core.c against libbpf, relocation by relocation: the objects of tests/core with the running
 * kernel's BTF, the other kernel's, and one made up for them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <memtap/btf.h>

#include "core_oracle.h"

#define KERNEL "/sys/kernel/btf/vmlinux"

static void fail_relo(const struct btf_relo *r, const struct oracle_relo *want,
                      const struct btf_core_result *got, const char *target)
{
	fail_msg("%s insn %u of %s, libbpf says %s: %s%s %llu type %u (%u fit); "
	         "here %s %llu type %u (%u fit)",
	         r->section, r->insn_off / 8, target, want->text, want->poison ? "poison" : "value",
	         want->bad_width ? " for its width" : "", (unsigned long long)want->value,
	         want->type, want->matches, got->poison ? "poison" : "value",
	         (unsigned long long)got->value, got->type, got->matches);
}

/* What an instruction would be made of, libbpf's way of saying it. */
static bool same(const struct oracle_relo *want, const struct btf_core_result *got)
{
	bool bad_width = got->local_size != got->size && !got->resize;

	if (want->matches != got->matches || want->type != got->type)
		return false;
	if (want->bad_width)
		return bad_width;
	return want->poison == got->poison &&
	       (want->poison || !want->patched || want->value == got->value);
}

/* How many were compared. */
static u32 compare(const char *object, const char *target)
{
	struct btf_error e = { 0 };
	struct btf_relo_iter it;
	struct buf bytes = { 0 };
	struct btf *local, *kernel;
	struct btf_core *core;
	struct btf_ext x;
	struct oracle o;
	u32 n = 0;

	oracle_object(&bytes, object);
	if (!oracle_run(&o, bytes.p, bytes.n, target))
		fail_msg("%s with %s: libbpf relocates nothing:\n%s", object, target, o.log);
	local = btf_open_memory(bytes.p, bytes.n, &e);
	assert_non_null(local);
	kernel = btf_open(target, &e);
	assert_non_null(kernel);
	assert_true(btf_ext_of(local, &x, &e));
	core = btf_core_new(local, &x, kernel, NULL, 0, &e);
	assert_non_null(core);
	btf_relo_iter_init(&it, &x);
	for (; btf_relo_next(&it) && n < o.n; n++) {
		struct btf_core_result got = { 0 };
		bool ok = btf_core_eval(core, &it.r, &got, &e);

		if (ok == o.v[n].error)
			fail_msg("%s insn %u of %s: libbpf says %s, here '%s'\n%s", it.r.section,
			         it.r.insn_off / 8, target, o.v[n].text, ok ? "fine" : e.text,
			         o.log + strlen(o.log) - MIN(strlen(o.log), 600));
		if (ok && !same(&o.v[n], &got))
			fail_relo(&it.r, &o.v[n], &got, target);
	}
	assert_int_equal(n, o.n);
	btf_core_free(core);
	btf_unref(kernel);
	btf_unref(local);
	oracle_free(&o);
	buf_free(&bytes);
	return n;
}

static void compare_kernels(const char *object, u32 at_least)
{
	char other[600];

	if (geteuid() != 0 || access(KERNEL, R_OK) != 0)
		skip();
	assert_in_range(compare(object, KERNEL), at_least, 1000);
	if (oracle_other_kernel(other, sizeof(other)))
		assert_in_range(compare(object, other), at_least, 1000);
}

static void test_fields(void **state)
{
	(void)state;
	compare_kernels("fields.bpf.o", 150);
}

static void test_types(void **state)
{
	(void)state;
	compare_kernels("types.bpf.o", 60);
}

static void test_made(void **state)
{
	char path[1100];

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_in_range(compare("made.bpf.o", oracle_path(path, sizeof(path), "target.o")), 150,
	                1000);
}

static void test_wide_enum(void **state)
{
	char path[64];

	(void)state;
	if (geteuid() != 0)
		skip();
	oracle_wide_target(path, sizeof(path));
	compare("made.bpf.o", path);
	unlink(path);
}

static void test_ambiguous(void **state)
{
	char path[1100];

	(void)state;
	if (geteuid() != 0)
		skip();
	/* The first one fits only one layout, and so do all after it: the other is out. */
	compare("ambiguous.bpf.o", oracle_path(path, sizeof(path), "target.o"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),    cmocka_unit_test(test_types),
		cmocka_unit_test(test_made),      cmocka_unit_test(test_wide_enum),
		cmocka_unit_test(test_ambiguous),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
