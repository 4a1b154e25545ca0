// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Debug information of this very program: functions, types, lines; and of files that are none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lang/type/debug_type.h"
#include "lang/type/uargs.h"
#include "elf/dwarf_file.h"

struct sample {
	int number;
	unsigned low : 3, high : 7;
	union {
		long deep;
		char text[8];
	};
	struct sample *next;
	short grid[2][3];
};

enum sample_kind { SAMPLE_NONE, SAMPLE_SOME = 40 };

#define KEEP __attribute__((noinline, noclone, used))

static volatile long sink;

KEEP long dwarf_sample(struct sample *s, enum sample_kind kind, double d, struct sample whole)
{
	sink += s->number + kind + (long)d + whole.number;
	const int line = __LINE__;
	return line;
}

static struct dwarf_file *own(struct elf **elf)
{
	struct err e = { 0 };
	struct dwarf_file *d;

	*elf = elf_open("/proc/self/exe", &e);
	assert_non_null(*elf);
	assert_true(dwarf_file_in(*elf));
	d = dwarf_file_open("/proc/self/exe", &e);
	if (!d)
		print_message("%s\n", e.text);
	assert_non_null(d);
	return d;
}

static void find_sample(struct dwarf_file *d, struct elf *elf, struct arena *a,
                        struct dwarf_func *f, u64 *vaddr)
{
	struct elf_sym sym;

	assert_true(elf_find(elf, "dwarf_sample", &sym));
	*vaddr = sym.value;
	assert_true(dwarf_func_at(d, a, sym.value, f));
}

static void test_function(void **state)
{
	struct arena a = { 0 };
	struct dwarf_func f;
	struct dwarf_type t;
	struct elf *elf;
	struct dwarf_file *d = own(&elf);
	u64 vaddr;

	(void)state;
	find_sample(d, elf, &a, &f, &vaddr);
	assert_string_equal(f.name, "dwarf_sample");
	assert_int_equal(f.args.n, 4);
	assert_string_equal(f.args.v[0].name, "s");
	assert_string_equal(f.args.v[3].name, "whole");
	assert_false(f.is_go);
	assert_true(dwarf_type_read(d, f.returns, &t));
	assert_int_equal(t.kind, DWARF_INT);
	assert_int_equal(t.size, 8);
	assert_true(t.is_signed);
	/* The middle of a function is no function. */
	assert_false(dwarf_func_at(d, &a, vaddr + 1, &f));
	assert_false(dwarf_func_at(d, &a, 1, &f));
	arena_free(&a);
	dwarf_file_close(d);
	elf_close(elf);
}

#if defined(__x86_64__)
static const char *const regs[] = { "di", "si" };

static void is_in_memory(const struct calls_place *p)
{
	assert_int_equal(p->form, CALLS_STACK);
	assert_int_equal(p->stack, 8);
}
#else
static const char *const regs[] = { "x0", "x1" };

static void is_in_memory(const struct calls_place *p)
{
	assert_int_equal(p->form, CALLS_POINTED);
	assert_string_equal(p->pieces[0].reg, "x2");
}
#endif

static void test_places(void **state)
{
	struct arena a = { 0 };
	struct script s = { .arena = &a };
	struct dwarf_func f;
	struct elf *elf;
	struct dwarf_file *d = own(&elf);
	struct uargs *u;
	u64 vaddr;

	(void)state;
	find_sample(d, elf, &a, &f, &vaddr);
	u = uargs_of(&s, d, &f);
	assert_int_equal(u->n, 4);
	assert_int_equal(u->v[0].at.form, CALLS_REGISTERS);
	assert_string_equal(u->v[0].at.pieces[0].reg, regs[0]);
	assert_string_equal(u->v[1].at.pieces[0].reg, regs[1]);
	assert_int_equal(u->v[2].at.form, CALLS_NOWHERE);
	is_in_memory(&u->v[3].at);
	assert_string_equal(type_name(&a, u->v[0].type), "struct sample *");
	assert_string_equal(type_name(&a, u->v[1].type), "enum sample_kind");
	assert_true(uargs_eq(u, uargs_of(&s, d, &f)));
	arena_free(&a);
	dwarf_file_close(d);
	elf_close(elf);
}

static void test_members(void **state)
{
	struct arena a = { 0 };
	struct script s = { .arena = &a };
	struct elf *elf;
	struct dwarf_file *d = own(&elf);
	const struct type *t;
	struct field f;

	(void)state;
	t = debug_type(&s, d, dwarf_type_find(d, STR("struct sample")));
	assert_int_equal(t->kind, TYPE_STRUCT);
	assert_int_equal(t->size, sizeof(struct sample));
	assert_true(debug_type_member(&s, t, "number", &f));
	assert_int_equal(f.off, 0);
	assert_true(debug_type_member(&s, t, "high", &f));
	assert_int_equal(f.off * 8 + f.bit_off, 35);
	assert_int_equal(f.bit_size, 7);
	assert_true(debug_type_member(&s, t, "text", &f));
	assert_int_equal(f.off, offsetof(struct sample, text));
	assert_int_equal(f.type->kind, TYPE_STR);
	assert_int_equal(f.type->count, 8);
	assert_true(debug_type_member(&s, t, "next", &f));
	assert_true(type_eq(f.type->elem, t));
	assert_true(debug_type_member(&s, t, "grid", &f));
	assert_string_equal(type_name(&a, f.type), "int16[3][2]");
	assert_false(debug_type_member(&s, t, "absent", &f));
	arena_free(&a);
	dwarf_file_close(d);
	elf_close(elf);
}

static void test_names(void **state)
{
	struct elf *elf;
	struct dwarf_file *d = own(&elf);
	s64 value;
	u32 die;

	(void)state;
	assert_true(dwarf_type_find(d, STR("enum sample_kind")));
	assert_false(dwarf_type_find(d, STR("struct sample_kind")));
	assert_false(dwarf_type_find(d, STR("struct absent_from_here")));
	assert_false(dwarf_type_find(d, STR("struct absent_from_here"))); /* remembered */
	assert_true(dwarf_type_find(d, STR("int")));
	assert_false(dwarf_type_find(d, STR("")));
	assert_true(dwarf_type_constant(d, STR("SAMPLE_SOME"), &value, &die));
	assert_int_equal(value, 40);
	assert_false(dwarf_type_constant(d, STR("SAMPLE_ABSENT"), &value, &die));
	dwarf_file_close(d);
	elf_close(elf);
}

struct hits {
	u32 n;
	u64 vaddr;
};

static bool on_line(void *ctx, const struct dwarf_line *l)
{
	struct hits *h = ctx;

	h->vaddr = h->n++ ? MIN(h->vaddr, l->vaddr) : l->vaddr;
	return true;
}

static void test_lines(void **state)
{
	struct sample s = { 0 };
	struct arena a = { 0 };
	struct hits h = { 0 };
	struct elf_sym sym;
	struct dwarf_func f;
	struct elf *elf;
	struct dwarf_file *d = own(&elf);
	u64 vaddr;
	u32 near, line = (u32)dwarf_sample(&s, SAMPLE_NONE, 0, s);

	(void)state;
	find_sample(d, elf, &a, &f, &vaddr);
	assert_true(elf_find(elf, "dwarf_sample", &sym));
	dwarf_line_each(d, "test_dwarf_file.c", line, 0, on_line, &h, &near);
	assert_true(h.n > 0);
	assert_true(h.vaddr >= vaddr && h.vaddr < vaddr + sym.size);
	assert_true(near > line);
	h.n = 0;
	dwarf_line_each(d, "unit/test_dwarf_file.c", 1, 0, on_line, &h, &near);
	assert_int_equal(h.n, 0);
	assert_true(near > 1);
	assert_true(dwarf_line_known(d, "test_dwarf_file.c"));
	assert_false(dwarf_line_known(d, "est_dwarf_file.c"));
	arena_free(&a);
	dwarf_file_close(d);
	elf_close(elf);
}

static void test_not_there(void **state)
{
	struct err e = { 0 };
	struct dwarf_type t;
	struct elf *elf;
	struct dwarf_file *d = own(&elf);

	(void)state;
	assert_null(dwarf_file_open("/nonexistent", &e));
	assert_non_null(strstr(e.text, "/nonexistent"));
	assert_null(dwarf_file_open("/dev/null", &e));
	assert_false(dwarf_type_read(d, 0, &t));
	assert_false(dwarf_type_read(d, 999999, &t));
	dwarf_file_close(d);
	elf_close(elf);
	dwarf_file_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_function), cmocka_unit_test(test_places),
		cmocka_unit_test(test_members),  cmocka_unit_test(test_names),
		cmocka_unit_test(test_lines),    cmocka_unit_test(test_not_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
