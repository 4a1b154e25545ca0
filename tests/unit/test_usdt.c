/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * usdt.c: the operand grammar as a table, and the probes of this test's own file.
 *
 * Only on x86_64: its operands.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#define SDT_USE_VARIADIC    1
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

#include "base/file.h"
#include "elf/usdt.h"

__extension__ unsigned short memtap_test_pair_semaphore __attribute__((unused, section(".probes")));
__extension__ unsigned short memtap_test_none_semaphore __attribute__((unused, section(".probes")));

static __attribute__((noinline, used)) void test_usdt_fire(int a, unsigned char b)
{
	STAP_PROBE3(memtap_test, pair, a, b, -7);
	STAP_PROBE(memtap_test, none);
}

struct good {
	const char *spec;
	struct usdt_arg arg;
};

#define PLACE(f, bytes, sig, r, i, sc, v)                                                          \
	{                                                                                          \
		.size = (bytes), .is_signed = (sig),                                               \
		.at = {.form = (f),                                                                \
		       .reg = (r),                                                                 \
		       .index = (i),                                                               \
		       .scale = (sc),                                                              \
		       .value = (v) }                                                              \
	}

static const struct good goods[] = {
	{ "-4@-20(%rbp)", PLACE(OPERAND_MEM, 4, true, 32, -1, 0, -20) },
	{ "8@%rax", PLACE(OPERAND_REG, 8, false, 80, -1, 0, 0) },
	{ "1@%cl", PLACE(OPERAND_REG, 1, false, 88, -1, 0, 0) },
	{ "-4@$-1", PLACE(OPERAND_CONST, 4, true, -1, -1, 0, -1) },
	{ "8@$0x10", PLACE(OPERAND_CONST, 8, false, -1, -1, 0, 16) },
	{ "8@$18446744073709551615", PLACE(OPERAND_CONST, 8, false, -1, -1, 0, -1) },
	{ "8@(%rax,%rbx,8)", PLACE(OPERAND_MEM, 8, false, 80, 40, 8, 0) },
	{ "8@-8(%rax,%rbx)", PLACE(OPERAND_MEM, 8, false, 80, 40, 1, -8) },
	{ "4@(,%rcx,4)", PLACE(OPERAND_MEM, 4, false, -1, 88, 4, 0) },
	{ "4@64(,%rcx,4)", PLACE(OPERAND_MEM, 4, false, -1, 88, 4, 64) },
	{ "2@(%rsp)", PLACE(OPERAND_MEM, 2, false, 152, -1, 0, 0) },
	{ "8@16+8(%rsp)", PLACE(OPERAND_MEM, 8, false, 152, -1, 0, 24) },
	{ "8@+4(%rsp)", PLACE(OPERAND_MEM, 8, false, 152, -1, 0, 4) },
	{ "4@0x601040", PLACE(OPERAND_MEM, 4, false, -1, -1, 0, 0x601040) },
	{ "-2@%r10w", PLACE(OPERAND_REG, 2, true, 56, -1, 0, 0) },
	{ "-1@%r15b", PLACE(OPERAND_REG, 1, true, 0, -1, 0, 0) },
	{ "4@%r9d", PLACE(OPERAND_REG, 4, false, 64, -1, 0, 0) },
	{ "1@%sil", PLACE(OPERAND_REG, 1, false, 104, -1, 0, 0) },
	{ "2@%di", PLACE(OPERAND_REG, 2, false, 112, -1, 0, 0) },
	{ "4@%edx", PLACE(OPERAND_REG, 4, false, 96, -1, 0, 0) },
};

static void understands_operands(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(goods); i++) {
		const struct usdt_arg *want = &goods[i].arg, *have;
		struct usdt_site s;

		if (!usdt_parse(goods[i].spec, &s))
			fail_msg("%s: %s", goods[i].spec, s.bad);
		have = &s.args[0];
		if (s.n_args != 1 || have->at.form != want->at.form || have->size != want->size ||
		    have->is_signed != want->is_signed || have->at.reg != want->at.reg ||
		    have->at.index != want->at.index || have->at.scale != want->at.scale ||
		    have->at.value != want->at.value || have->at.high_byte)
			fail_msg("%s is understood wrongly", goods[i].spec);
	}
}

static void knows_high_bytes(void **state)
{
	struct usdt_site s;

	(void)state;
	assert_true(usdt_parse("1@%ah 1@%dh", &s));
	assert_int_equal(s.n_args, 2);
	assert_true(s.args[0].at.high_byte);
	assert_int_equal(s.args[0].at.reg, 80);
	assert_int_equal(s.args[1].at.reg, 96);
}

static void takes_many_arguments_and_none(void **state)
{
	struct usdt_site s;

	(void)state;
	assert_true(usdt_parse("", &s));
	assert_int_equal(s.n_args, 0);
	assert_true(usdt_parse(" 8@%rax  -4@$3\t1@%cl ", &s));
	assert_int_equal(s.n_args, 3);
	assert_true(
		usdt_parse("1@$1 1@$2 1@$3 1@$4 1@$5 1@$6 1@$7 1@$8 1@$9 1@$10 1@$11 1@$12", &s));
	assert_int_equal(s.n_args, 12);
	assert_int_equal(s.args[11].at.value, 12);
	assert_false(
		usdt_parse("1@$1 1@$2 1@$3 1@$4 1@$5 1@$6 1@$7 1@$8 1@$9 1@$0 1@$1 1@$2 1@$3", &s));
}

static void marks_what_it_can_not_read(void **state)
{
	static const struct {
		const char *spec, *why;
	} bads[] = {
		{ "8@foo(%rip)", "a variable that is not in the symbol table" },
		{ "8@8(%rip)", "an address relative to the instruction pointer" },
		{ "8@.LC0(%rip)", "a label of the compiler's, which the file does not keep" },
		{ "8@foo+4(%rip)", "a variable that is not in the symbol table" },
		{ "8@foo", "a symbol whose address depends on where the file is loaded" },
		{ "8@$foo", "an operand that names a symbol" },
		{ "8@%fs:-8", "thread-local memory" },
		{ "8f@%xmm0", "a floating point argument" },
		{ "8@%xmm0", "a floating point register" },
		{ "8@%zzz", "an unknown register" },
		{ "3@%rax", "an argument without a size of 1, 2, 4 or 8" },
		{ "%rax", "an argument without a size of 1, 2, 4 or 8" },
		{ "-@%rax", "an argument without a size of 1, 2, 4 or 8" },
		{ "8%rax", "a size without '@'" },
		{ "8@", "an operand that names a symbol" },
		{ "8@(%rax", "a missing ')'" },
		{ "8@(%rax,%rbx,3)", "a scale other than 1, 2, 4 or 8" },
		{ "8@(%rax,%rbx,", "a scale other than 1, 2, 4 or 8" },
		{ "8@(rax)", "a register was expected" },
		{ "1@(%ah)", "an 8-bit register in an address" },
		{ "8@%ah", "a high byte register with a size other than 1" },
		{ "8@%rax,", "text after an operand" },
		{ "8@$99999999999999999999", "a number that is too large" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bads); i++) {
		struct usdt_site s;

		if (usdt_parse(bads[i].spec, &s) || !s.bad_args)
			fail_msg("%s was accepted", bads[i].spec);
		assert_string_equal(s.bad, bads[i].why);
	}
}

struct seen {
	u32 pairs, nones;
	struct usdt_site pair, none;
};

static bool keep(void *ctx, const struct usdt_site *s)
{
	struct seen *seen = ctx;

	if (strcmp(s->provider, "memtap_test") != 0)
		return true;
	if (strcmp(s->name, "pair") == 0) {
		seen->pair = *s;
		seen->pairs++;
	} else if (strcmp(s->name, "none") == 0) {
		seen->none = *s;
		seen->nones++;
	}
	return true;
}

static void finds_the_probes_of_a_program(void **state)
{
	struct seen seen = { 0 };
	struct file_map m;
	struct elf_sym s;
	struct elf *f;
	struct err e;

	(void)state;
	test_usdt_fire(1, 2);
	f = elf_open("/proc/self/exe", &e);
	assert_non_null(f);
	assert_true(usdt_each(f, keep, &seen, &e));
	assert_true(seen.pairs >= 1 && seen.nones >= 1);
	assert_false(seen.pair.bad_args);
	assert_int_equal(seen.pair.n_args, 3);
	assert_int_equal(seen.pair.args[0].size, 4);
	assert_true(seen.pair.args[0].is_signed);
	assert_int_equal(seen.pair.args[1].size, 1);
	assert_false(seen.pair.args[1].is_signed);
	assert_int_equal(seen.pair.args[2].at.form, OPERAND_CONST);
	assert_int_equal(seen.pair.args[2].at.value, -7);
	assert_int_equal(seen.none.n_args, 0);
	/* The site is a nop inside the function; the semaphore is the variable. */
	assert_true(elf_find(f, "memtap_test_pair_semaphore", &s));
	assert_int_equal(seen.pair.ref_ctr, s.offset);
	assert_true(elf_find(f, "test_usdt_fire", &s));
	assert_in_range(seen.pair.offset, s.offset, s.offset + s.size - 1);
	assert_true(file_map("/proc/self/exe", &m, &e));
	assert_int_equal(m.p[seen.pair.offset], 0x90);
	file_unmap(&m);
	elf_close(f);
}

static bool stop_at_once(void *ctx, const struct usdt_site *s)
{
	(void)s;
	++*(u32 *)ctx;
	return false;
}

/* The bytes of this program with its USDT note section changed by `damage`. */
static bool usdt_of_damaged(void (*damage)(u8 *note), struct err *e)
{
	struct file_map m;
	struct elf *f;
	const u8 *p;
	size_t n;
	u64 vaddr;
	u32 calls = 0;
	u8 *copy;
	bool ok;

	assert_true(file_map("/proc/self/exe", &m, e));
	copy = malloc(m.n);
	memcpy(copy, m.p, m.n);
	f = elf_open_memory(copy, m.n, "self", e);
	assert_true(elf_section(f, ".note.stapsdt", &p, &n, &vaddr));
	/* The section is read over the memory itself. */
	assert_true(p >= copy && p + n <= copy + m.n);
	damage(copy + (p - copy));
	ok = usdt_each(f, stop_at_once, &calls, e);
	elf_close(f);
	free(copy);
	file_unmap(&m);
	return ok;
}

static void damage_nothing(u8 *note)
{
	(void)note;
}

static void damage_pc(u8 *note)
{
	memset(note + 20, 0xff, 8);
}

static void damage_size(u8 *note)
{
	memset(note + 4, 0xff, 4);
}

static void damage_names(u8 *note)
{
	u32 n;

	memcpy(&n, note + 4, 4);
	memset(note + 20 + 24, 'x', n - 24);
}

static void reports_damaged_notes(void **state)
{
	struct err e;

	(void)state;
	assert_true(usdt_of_damaged(damage_nothing, &e));
	assert_false(usdt_of_damaged(damage_pc, &e));
	assert_non_null(strstr(e.text, "its address is outside the file"));
	assert_false(usdt_of_damaged(damage_size, &e));
	assert_non_null(strstr(e.text, "are cut off at byte 0"));
	assert_false(usdt_of_damaged(damage_names, &e));
	assert_non_null(strstr(e.text, "its names do not end"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(understands_operands),
		cmocka_unit_test(knows_high_bytes),
		cmocka_unit_test(takes_many_arguments_and_none),
		cmocka_unit_test(marks_what_it_can_not_read),
		cmocka_unit_test(finds_the_probes_of_a_program),
		cmocka_unit_test(reports_damaged_notes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
