/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * btf_core.c against libbpf, relocation by relocation: the objects of tests/core with the running
 * kernel's BTF, the other kernel's, and one made up for them.
 *
 * Needs the machine itself: bpf().
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <memtap/btf.h>

#include "btf_build.h"
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
	compare_kernels("twenty.bpf.o", 20);
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

/* ---- what libbpf is not asked ---------------------------------------------------------------- */

static struct btf *open_named(const char *name)
{
	struct btf_error e = { 0 };
	char path[1100];
	struct btf *b = btf_open(oracle_path(path, sizeof(path), name), &e);

	if (!b)
		fail_msg("%s", e.text);
	return b;
}

/* A root that comes up on its own is searched for then, with the same outcome. */
static void test_one_by_one(void **state)
{
	struct btf *local = open_named("made.bpf.o"), *target = open_named("target.o");
	struct btf_core *once, *each;
	struct btf_error e = { 0 };
	struct btf_relo_iter it;
	struct btf_ext x;

	(void)state;
	assert_true(btf_ext_of(local, &x, &e));
	once = btf_core_new(local, &x, target, NULL, 0, &e);
	each = btf_core_new(local, NULL, target, NULL, 0, &e);
	btf_relo_iter_init(&it, &x);
	while (btf_relo_next(&it)) {
		struct btf_core_result a = { 0 }, b = { 0 };

		assert_int_equal(btf_core_eval(once, &it.r, &a, &e),
		                 btf_core_eval(each, &it.r, &b, &e));
		assert_int_equal(a.value, b.value);
		assert_int_equal(a.matches, b.matches);
		assert_int_equal(a.poison, b.poison);
		assert_true(!a.poison || a.why);
	}
	btf_core_free(once);
	btf_core_free(each);
	btf_unref(local);
	btf_unref(target);
}

/* Modules answer for what the kernel has not got, and for nothing else. */
static void test_modules(void **state)
{
	struct btf *local = open_named("module.bpf.o"), *base = open_named("target.o"), *module;
	struct btf_core_result r[4] = { 0 };
	const struct btf *modules[1];
	struct buf bytes = { 0 };
	struct btf_error e = { 0 };
	struct btf_relo_iter it;
	struct btf_core *c;
	struct btf_ext x;
	u32 n = 0;

	(void)state;
	oracle_split(&bytes);
	module = btf_open_memory_split(bytes.p, bytes.n, base, &e);
	assert_non_null(module);
	modules[0] = module;
	assert_true(btf_ext_of(local, &x, &e));
	c = btf_core_new(local, &x, base, modules, 1, &e);
	assert_non_null(c);
	btf_relo_iter_init(&it, &x);
	for (; btf_relo_next(&it) && n < 4; n++)
		if (!btf_core_eval(c, &it.r, &r[n], &e))
			fail_msg("%s", e.text);
	assert_int_equal(n, 3);
	/* split_only.x, split_only.no_such, twin.a */
	assert_ptr_equal(r[0].in, module);
	assert_int_equal(r[0].value, 4);
	assert_int_equal(r[0].type, btf_find(module, BTF_KIND_STRUCT, "split_only"));
	assert_true(r[1].poison);
	assert_ptr_equal(r[2].in, base);
	assert_int_equal(r[2].value, 0);
	btf_core_free(c);
	btf_unref(module);
	btf_unref(base);
	btf_unref(local);
	buf_free(&bytes);
}

static void test_wide_local_enum(void **state)
{
	struct btf_relo r = { .section = "", .kind = BTF_CORE_ENUM_VALUE };
	struct buf bytes = { 0 };
	struct btf_error e = { 0 };
	struct btf_core_result out;
	struct btf *local, *target;
	struct btf_core *c;
	char path[64];
	u32 access[2];

	(void)state;
	oracle_wide_local(&bytes, &r.type, access);
	oracle_wide_target(path, sizeof(path));
	local = btf_open_memory(bytes.p, bytes.n, &e);
	target = btf_open(path, &e);
	c = btf_core_new(local, NULL, target, NULL, 0, &e);
	r.access_off = access[0];
	assert_true(btf_core_eval(c, &r, &out, &e));
	assert_true(out.value == 0x1122334455667788 && out.local == 1 && !out.poison);
	r.access_off = access[1];
	assert_true(btf_core_eval(c, &r, &out, &e));
	assert_true(out.value == 5 && out.local == (u64)1 << 40 && !out.poison);
	btf_core_free(c);
	btf_unref(local);
	btf_unref(target);
	unlink(path);
	buf_free(&bytes);
}

/* Records that are wrong in themselves. */
static void test_damaged(void **state)
{
	struct btf *local = open_named("made.bpf.o"), *target = open_named("target.o");
	struct btf_core *c = btf_core_new(local, NULL, target, NULL, 0, NULL);
	struct btf_relo_iter it;
	struct btf_core_result out;
	struct btf_error e = { 0 };
	struct btf_relo r;
	struct btf_ext x;

	(void)state;
	assert_true(btf_ext_of(local, &x, &e));
	btf_relo_iter_init(&it, &x);
	assert_true(btf_relo_next(&it));
	r = it.r;
	r.type = 100000;
	assert_false(btf_core_eval(c, &r, &out, &e));
	assert_non_null(strstr(e.text, "100000"));
	r = it.r;
	r.kind = 99;
	assert_false(btf_core_eval(c, &r, &out, &e));
	assert_non_null(strstr(e.text, "99"));
	r = it.r;
	r.access_off = 0;
	assert_false(btf_core_eval(c, &r, &out, &e));
	r.access_off = 1u << 30;
	assert_false(btf_core_eval(c, &r, &out, &e));
	assert_true(btf_core_eval(c, &it.r, &out, &e));
	btf_core_free(c);
	btf_unref(local);
	btf_unref(target);
}

/* struct s of one int "m", or of unions in each other which have none. */
static struct btf *built(struct btf_build *w, u32 levels)
{
	const void *p;
	size_t n;

	btf_build_type(w, "int", BTF_KIND_INT, 0, 4);
	btf_build_word(w, 1u << 24 | 32);
	for (u32 level = 0; level < levels; level++) {
		btf_build_type(w, "", BTF_KIND_UNION, 4, 4);
		for (u32 i = 0; i < 4; i++)
			btf_build_three(w, 0, 1 + level, 0);
	}
	btf_build_type(w, "s", BTF_KIND_STRUCT, 1, 4);
	btf_build_three(w, levels ? 0 : btf_build_name(w, "m"), 1 + levels, 0);
	btf_build_name(w, "0:0");
	p = btf_build_file(w, &n);
	return btf_open_memory(p, n, NULL);
}

/* Each takes 87,382 steps, fewer than one may; all of an object may take ten millions, and 128 for
 * each byte of its relocations. When these are gone nothing more is looked at. */
static void steps_of(struct btf_ext x)
{
	struct btf_build a = { 0 }, b = { 0 };
	struct btf *local = built(&a, 0), *target = built(&b, 8);
	struct btf_core *c = btf_core_new(local, &x, target, NULL, 0, NULL);
	struct btf_relo r = { .type = 2, .kind = BTF_CORE_FIELD_EXISTS };
	struct btf_core_result out;
	struct btf_error e = { 0 };
	u32 n = 0;

	while (strcmp(btf_string(local, r.access_off), "0:0") != 0)
		r.access_off++;
	while (n < 1000 && btf_core_eval(c, &r, &out, &e)) {
		assert_int_equal(out.value, 0);
		n++;
	}
	assert_int_equal(n, (10000000 + 128 * x.n) / 87382);
	for (n = 0; n < 3; n++)
		assert_false(btf_core_eval(c, &r, &out, &e));
	btf_core_free(c);
	btf_unref(local);
	btf_unref(target);
	btf_build_free(&a);
	btf_build_free(&b);
}

static void test_steps_of_all(void **state)
{
	struct btf_build a = { 0 };
	struct btf *local = built(&a, 0);
	struct buf relos = { 0 };
	const u32 section[] = { 0, 4096 }, one[] = { 0, 1, 0, BTF_CORE_ID_LOCAL };

	(void)state;
	steps_of((struct btf_ext){ .btf = local });
	buf_add(&relos, section, sizeof(section));
	for (u32 i = 0; i < section[1]; i++)
		buf_add(&relos, one, sizeof(one));
	steps_of((struct btf_ext){ .btf = local,
	                           .relos = (const u8 *)relos.p,
	                           .n = (u32)relos.n,
	                           .record = sizeof(one) });
	buf_free(&relos);
	btf_unref(local);
	btf_build_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),    cmocka_unit_test(test_types),
		cmocka_unit_test(test_made),      cmocka_unit_test(test_wide_enum),
		cmocka_unit_test(test_ambiguous), cmocka_unit_test(test_one_by_one),
		cmocka_unit_test(test_modules),   cmocka_unit_test(test_wide_local_enum),
		cmocka_unit_test(test_damaged),   cmocka_unit_test(test_steps_of_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
