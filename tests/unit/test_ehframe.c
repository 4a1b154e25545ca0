/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The reader of call frame information on sections written here byte by byte.
 *
 * Only on x86_64: its registers, and where a call puts the return address.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "elf/ehframe.h"
#include "unit/ehframe_rule.h"

#define VADDR 0x1000u /* of the section */
#define TEXT  0x8000u

#define BYTES(...) (const u8[]){ __VA_ARGS__ }, sizeof((const u8[]){ __VA_ARGS__ })

static void word(struct buf *b, u32 v)
{
	buf_add(b, &v, sizeof(v));
}

static void entry(struct buf *b, const void *p, size_t n, const void *more, size_t more_n)
{
	word(b, (u32)(4 + n + more_n));
	word(b, 0);
	buf_add(b, p, n);
	buf_add(b, more, more_n);
}

/* "zR": pc-relative addresses of four bytes; CFA = rsp + 8, return address at CFA - 8. */
static void plain_cie(struct buf *b)
{
	entry(b, BYTES(1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b), BYTES(0x0c, 7, 8, 0x90, 1));
}

/* A function [start, start + size) of the CIE at offset cie. */
static void fde(struct buf *b, u32 cie, u32 start, u32 size, const void *p, size_t n)
{
	word(b, (u32)(4 + 4 + 4 + 1 + n));
	word(b, (u32)b->n - cie);
	word(b, start - (VADDR + (u32)b->n));
	word(b, size);
	buf_putc(b, 0);
	buf_add(b, p, n);
}

static struct ehframe_rows read_rows(const struct buf *b, u64 base)
{
	struct ehframe_section s = { .p = (const u8 *)b->p, .n = b->n, .vaddr = VADDR };
	struct ehframe_rows rows;

	ehframe_read(&s, base, &rows);
	return rows;
}

static u32 plain(enum unwind_kind kind, s32 off, u32 fp)
{
	return (u32)kind | fp << UNWIND_FP_SHIFT | (u32)(off / 8) << UNWIND_OFFSET_SHIFT;
}

static void check_row(const struct ehframe_rows *rows, u32 i, u32 pc, u32 rule)
{
	assert_true(i < rows->n);
	assert_int_equal(rows->v[i].pc, pc);
	assert_int_equal(rows->v[i].rule, rule);
}

static void test_frame_pointer(void **state)
{
	struct buf b = { 0 };
	struct ehframe_rows rows;

	(void)state;
	plain_cie(&b);
	/* push %rbp; mov %rsp,%rbp; ... pop: remembered before, recalled after */
	fde(&b, 0, TEXT, 64,
	    BYTES(0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x44, 0x0a, 0x0c, 7, 8, 0xc6, 0x41,
	          0x0b));
	rows = read_rows(&b, TEXT);
	assert_int_equal(rows.n_functions, 1);
	assert_int_equal(rows.n_damaged, 0);
	assert_int_equal(rows.n, 6);
	check_row(&rows, 0, 0, plain(UNWIND_SP, 8, 0));
	check_row(&rows, 1, 1, plain(UNWIND_SP, 16, 2));
	check_row(&rows, 2, 4, plain(UNWIND_FP, 16, 2));
	check_row(&rows, 3, 8, plain(UNWIND_SP, 8, 0));
	check_row(&rows, 4, 9, plain(UNWIND_FP, 16, 2));
	check_row(&rows, 5, 64, UNWIND_GAP);
	assert_int_equal(ehframe_rule(&rows, 3), plain(UNWIND_SP, 16, 2));
	assert_int_equal(ehframe_rule(&rows, 200), UNWIND_GAP);
	ehframe_free(&rows);
	buf_free(&b);
}

/* Functions out of order are sorted; padding is no gap, more is; equal neighbours are one row. */
static void test_order(void **state)
{
	struct buf b = { 0 };
	struct ehframe_rows rows;

	(void)state;
	plain_cie(&b);
	fde(&b, 0, TEXT + 0x100, 16, BYTES(0x44, 0x0e, 24));
	fde(&b, 0, TEXT, 10, BYTES(0));
	fde(&b, 0, TEXT + 16, 16, BYTES(0x42, 0x0e, 32, 0x42, 0x0e, 8));
	rows = read_rows(&b, 0);
	assert_int_equal(rows.n_functions, 3);
	assert_int_equal(rows.n, 7);
	check_row(&rows, 0, TEXT, plain(UNWIND_SP, 8, 0));
	check_row(&rows, 1, TEXT + 18, plain(UNWIND_SP, 32, 0));
	check_row(&rows, 2, TEXT + 20, plain(UNWIND_SP, 8, 0));
	check_row(&rows, 3, TEXT + 32, UNWIND_GAP);
	check_row(&rows, 4, TEXT + 0x100, plain(UNWIND_SP, 8, 0));
	check_row(&rows, 5, TEXT + 0x104, plain(UNWIND_SP, 24, 0));
	check_row(&rows, 6, TEXT + 0x110, UNWIND_GAP);
	assert_int_equal(ehframe_rule(&rows, TEXT - 1), UNWIND_GAP);
	ehframe_free(&rows);
	buf_free(&b);
}

static u32 rule_of(const void *p, size_t n)
{
	struct buf b = { 0 };
	struct ehframe_rows rows;
	u32 rule;

	plain_cie(&b);
	fde(&b, 0, TEXT, 32, p, n);
	rows = read_rows(&b, 0);
	rule = ehframe_rule(&rows, TEXT + 31);
	assert_int_equal(rows.n_rich, unwind_kind(rule) == UNWIND_RICH);
	ehframe_free(&rows);
	buf_free(&b);
	return rule;
}

static void test_expressions(void **state)
{
	u32 rule;

	(void)state;
	/* PLT */
	rule = rule_of(BYTES(0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22));
	assert_int_equal(rule, (u32)UNWIND_PLT | 11u << UNWIND_OFFSET_SHIFT);
	/* *(rbp - 40), rbp saved at (rbp) */
	rule = rule_of(BYTES(0x0f, 3, 0x76, 0x58, 0x06, 0x10, 6, 2, 0x76, 0));
	assert_int_equal(unwind_kind(rule), UNWIND_DEREF_FP);
	assert_int_equal(unwind_fp(rule), UNWIND_FP_AT_FP);
	assert_int_equal(unwind_deref_offset(rule), -40);
	assert_int_equal(unwind_deref_add(rule), 0);
	/* *(rsp + 128) + 8 */
	rule = rule_of(BYTES(0x0f, 6, 0x77, 0x80, 0x01, 0x06, 0x23, 8));
	assert_int_equal(unwind_kind(rule), UNWIND_DEREF_SP);
	assert_int_equal(unwind_deref_offset(rule), 128);
	assert_int_equal(unwind_deref_add(rule), 8);
	/* Any other one. */
	assert_int_equal(rule_of(BYTES(0x0f, 3, 0x73, 0, 0x06)), UNWIND_RICH);
	assert_int_equal(rule_of(BYTES(0x10, 16, 2, 0x77, 0)), UNWIND_RICH);
	assert_int_equal(rule_of(BYTES(0x16, 6, 2, 0x77, 0)), UNWIND_RICH);
}

static void test_limits(void **state)
{
	(void)state;
	assert_int_equal(rule_of(BYTES(0x07, 16)), UNWIND_END);
	assert_int_equal(rule_of(BYTES(0x0c, 10, 0)), UNWIND_RICH); /* CFA from r10 */
	assert_int_equal(rule_of(BYTES(0x0e, 12)), UNWIND_RICH);    /* not whole words */
	assert_int_equal(rule_of(BYTES(0x86, 126)), plain(UNWIND_SP, 8, 126));
	assert_int_equal(rule_of(BYTES(0x86, 127)), UNWIND_RICH);
	assert_int_equal(rule_of(BYTES(0x09, 16, 5)), UNWIND_RICH); /* vfork */
	assert_int_equal(rule_of(BYTES(0x13, 0x7c, 0x86, 3)), plain(UNWIND_SP, 32, 3));
	assert_int_equal(rule_of(BYTES(0x0e, 0xf8, 0xff, 0xff, 0x03)),
	                 plain(UNWIND_SP, 0x7ffff8, 0));
	assert_int_equal(rule_of(BYTES(0x0e, 0x80, 0x80, 0x80, 0x04)), UNWIND_RICH);
}

static void test_signal(void **state)
{
	struct buf b = { 0 };
	struct ehframe_rows rows;

	(void)state;
	entry(&b, BYTES(1, 'z', 'R', 'S', 0, 1, 0x78, 16, 1, 0x1b), BYTES(0));
	fde(&b, 0, TEXT, 16, BYTES(0x0f, 4, 0x77, 0xa0, 0x01, 0x06));
	rows = read_rows(&b, 0);
	check_row(&rows, 0, TEXT, UNWIND_SIGNAL);
	ehframe_free(&rows);
	buf_free(&b);
}

/* What can not be read is left out and counted; the rest is there. */
static void test_damage(void **state)
{
	struct buf b = { 0 };
	struct ehframe_rows rows;

	(void)state;
	plain_cie(&b);
	fde(&b, 4, TEXT, 16, BYTES(0));                  /* no CIE there */
	fde(&b, 0, TEXT + 0x100, 16, BYTES(0x0b));       /* nothing remembered */
	fde(&b, 0, TEXT + 0x200, 16, BYTES(0x44, 0x3f)); /* no such operation */
	fde(&b, 0, TEXT + 0x300, 16, BYTES(0));
	word(&b, 1000); /* longer than the section */
	rows = read_rows(&b, 0);
	assert_int_equal(rows.n_functions, 3);
	assert_int_equal(rows.n_damaged, 4);
	assert_int_equal(ehframe_rule(&rows, TEXT), UNWIND_GAP);
	assert_int_equal(ehframe_rule(&rows, TEXT + 0x100), UNWIND_RICH);
	assert_int_equal(ehframe_rule(&rows, TEXT + 0x203), plain(UNWIND_SP, 8, 0));
	assert_int_equal(ehframe_rule(&rows, TEXT + 0x204), UNWIND_RICH);
	assert_int_equal(ehframe_rule(&rows, TEXT + 0x300), plain(UNWIND_SP, 8, 0));
	for (size_t n = 0; n < b.n; n++) {
		struct ehframe_section cut = { .p = (const u8 *)b.p, .n = n, .vaddr = VADDR };

		ehframe_free(&rows);
		ehframe_read(&cut, 0, &rows);
	}
	ehframe_free(&rows);
	buf_free(&b);
}

/* .debug_frame: CIEs are marked by all ones and named by their offset, addresses are whole. */
static void test_debug_frame(void **state)
{
	struct ehframe_section s = { .vaddr = 0, .debug = true };
	struct ehframe_rows rows;
	struct buf b = { 0 };
	u64 start = TEXT, size = 32;

	(void)state;
	buf_add(&b, BYTES(17, 0, 0, 0, 0xff, 0xff, 0xff, 0xff));
	buf_add(&b, BYTES(4, 0, 8, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1, 0));
	word(&b, 4 + 16 + 3);
	word(&b, 0);
	buf_add(&b, &start, 8);
	buf_add(&b, &size, 8);
	buf_add(&b, BYTES(0x44, 0x0e, 16));
	s.p = (const u8 *)b.p;
	s.n = b.n;
	ehframe_read(&s, 0, &rows);
	assert_int_equal(rows.n_damaged, 0);
	assert_int_equal(rows.n, 3);
	check_row(&rows, 0, TEXT, plain(UNWIND_SP, 8, 0));
	check_row(&rows, 1, TEXT + 4, plain(UNWIND_SP, 16, 0));
	check_row(&rows, 2, TEXT + 32, UNWIND_GAP);
	ehframe_free(&rows);
	buf_free(&b);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frame_pointer), cmocka_unit_test(test_order),
		cmocka_unit_test(test_expressions),   cmocka_unit_test(test_limits),
		cmocka_unit_test(test_signal),        cmocka_unit_test(test_damage),
		cmocka_unit_test(test_debug_frame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
