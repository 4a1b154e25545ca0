/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * arm64 by its bytes: operands, arguments, instructions, linkage tables, Go's prologue, and the
 * walk of stacks with a link register and signed return addresses.
 *
 * Only on aarch64: its code and registers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "arch/calls.h"
#include "arch/insn.h"
#include "arch/operand.h"
#include "base/buf.h"
#include "elf/ehframe.h"
#include "sym/unwind_walk.h"
#include "unit/ehframe_rule.h"

#define CODE(...) ((const u8 *)(const u32[]){ __VA_ARGS__ }), sizeof((const u32[]){ __VA_ARGS__ })

/* ---- operands ---- */

static const char *at_12678(void *ctx, const char *name, u64 *address)
{
	(void)ctx;
	*address = 0x12678;
	return strcmp(name, "v") == 0 ? NULL : "no such variable";
}

static void test_operands(void **state)
{
	static const struct {
		const char *text;
		struct operand o;
	} rows[] = {
		{ "5", { OPERAND_CONST, false, -1, -1, 0, 5 } },
		{ "-5", { OPERAND_CONST, false, -1, -1, 0, -5 } },
		{ "#0x10", { OPERAND_CONST, false, -1, -1, 0, 16 } },
		{ "xzr", { OPERAND_CONST, false, -1, -1, 0, 0 } },
		{ "x0", { OPERAND_REG, false, 0, -1, 0, 0 } },
		{ "w1", { OPERAND_REG, false, 8, -1, 0, 0 } },
		{ "x30", { OPERAND_REG, false, 240, -1, 0, 0 } },
		{ "sp", { OPERAND_REG, false, 248, -1, 0, 0 } },
		{ "[sp, 16]", { OPERAND_MEM, false, 248, -1, 0, 16 } },
		{ "[x29, #-8]", { OPERAND_MEM, false, 232, -1, 0, -8 } },
		{ "[x2]", { OPERAND_MEM, false, 16, -1, 0, 0 } },
		{ "[x0,x1]", { OPERAND_MEM, false, 0, 8, 1, 0 } },
		{ "[x0, x1, lsl 3]", { OPERAND_MEM, false, 0, 8, 8, 0 } },
		{ "[x0, x1, lsl #2]", { OPERAND_MEM, false, 0, 8, 4, 0 } },
		{ "[x0, #:lo12:v]", { OPERAND_MEM, false, 0, -1, 0, 0x678 } },
		{ "[x0, :lo12:v+16]", { OPERAND_MEM, false, 0, -1, 0, 0x688 } },
		{ "[x0, #:lo12:v-0x680]", { OPERAND_MEM, false, 0, -1, 0, 0xff8 } },
	};
	static const char *const wrong[][2] = {
		{ "d0", "a floating point register" },
		{ "x31", "an unknown register" },
		{ "w99", "an unknown register" },
		{ "", "a register was expected" },
		{ "[w0]", "half a register in an address" },
		{ "[x0, w1, sxtw 3]", "half a register in an address" },
		{ "[x0, x1, sxtx 3]", "an index that is extended" },
		{ "[x0, x1, lsl 4]", "a shift by more than 3" },
		{ "[x0, 8", "a missing ']'" },
		{ "[x0, #:lo12:no]", "no such variable" },
		{ "[x0, #:lo12:]", "a symbol's name was expected" },
		{ "[x0, #:lo12:.LANCHOR3]",
		  "a label of the compiler's, which the file does not keep" },
		{ "[x0, #:got_lo12:v]", "an address that is not half of a symbol's" },
		{ "99999999999999999999", "a number that is too large" },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(rows); i++) {
		struct operand_text t = { .p = rows[i].text, .variable = at_12678 };
		struct operand o;

		assert_true(operand_parse(&t, &o));
		assert_int_equal(*t.p, 0);
		assert_int_equal(o.form, rows[i].o.form);
		assert_int_equal(o.reg, rows[i].o.reg);
		assert_int_equal(o.index, rows[i].o.index);
		assert_int_equal(o.scale, rows[i].o.scale);
		assert_int_equal(o.value, rows[i].o.value);
	}
	for (u32 i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct operand_text t = { .p = wrong[i][0], .variable = at_12678 };
		struct operand o;

		assert_false(operand_parse(&t, &o));
		assert_string_equal(t.why, wrong[i][1]);
	}
}

/* ---- arguments ---- */

struct made {
	u32 n;
	u64 size; /* of each part */
	enum calls_scalar what;
};

static void each_part(const struct calls_value *v, calls_scalar_fn *scalar, void *to)
{
	const struct made *m = v->ctx;

	for (u32 i = 0; i < m->n; i++)
		scalar(to, i * m->size, m->size, m->what);
}

static struct calls_place placed(struct calls_used *u, u32 n, u64 size, enum calls_scalar what)
{
	struct made m = { n, size, what };
	struct calls_value v = { .size = n * size,
		                 .is_aggregate = n > 1,
		                 .is_wide = n == 1 && size == 16,
		                 .each = each_part,
		                 .ctx = &m };
	struct calls_place p = { 0 };

	calls_place(u, &v, &p);
	return p;
}

static void test_arguments(void **state)
{
	struct calls_used u = { .ints = arch.c.ints, .n_ints = 8, .n_floats = 8 };
	struct calls_place p;

	(void)state;
	assert_string_equal(placed(&u, 1, 4, CALLS_INTEGER).pieces[0].reg, "x0");
	p = placed(&u, 4, 8, CALLS_FLOAT); /* d0 to d3 */
	assert_int_equal(p.n_pieces, 4);
	assert_null(p.pieces[0].reg);
	assert_int_equal(u.floats_used, 4);
	p = placed(&u, 5, 4, CALLS_FLOAT); /* too many, and 20 bytes: by its address */
	assert_int_equal(p.form, CALLS_POINTED);
	assert_string_equal(p.pieces[0].reg, "x1");
	p = placed(&u, 1, 16, CALLS_INTEGER); /* from an even register on */
	assert_string_equal(p.pieces[0].reg, "x2");
	assert_string_equal(p.pieces[1].reg, "x3");
	p = placed(&u, 3, 4, CALLS_INTEGER);
	assert_int_equal(p.n_pieces, 2);
	assert_string_equal(p.pieces[1].reg, "x5");
	assert_int_equal(p.pieces[1].size, 4);
	assert_string_equal(placed(&u, 1, 8, CALLS_INTEGER).pieces[0].reg, "x6");
	p = placed(&u, 2, 8, CALLS_INTEGER); /* has no room in x7 alone, and closes it */
	assert_int_equal(p.form, CALLS_STACK);
	assert_int_equal(p.stack, 0);
	assert_int_equal(placed(&u, 1, 8, CALLS_INTEGER).stack, 16);
	p = placed(&u, 2, 32, CALLS_INTEGER);
	assert_int_equal(p.form, CALLS_NOWHERE);
}

/* ---- code ---- */

#define NOP     0xd503201fu
#define BTI_C   0xd503245fu
#define PACIASP 0xd503233fu
#define RET     0xd65f03c0u
#define ENTER   0xa9be7bfdu /* stp x29, x30, [sp, -32]! */
#define TO_FP   0x910003fdu /* mov x29, sp */
#define LEAVE   0xa8c27bfdu /* ldp x29, x30, [sp], 32 */
#define LOWER   0xd10083ffu /* sub sp, sp, 32 */

static bool is_cheap(u32 w)
{
	return insn_is_cheap((const u8 *)&w, sizeof(w), false);
}

static bool is_harmless(u32 w)
{
	return insn_is_harmless(NULL, (const u8 *)&w, sizeof(w));
}

static void test_instructions(void **state)
{
	/* b, bl, b.eq, cbz, tbnz, adr, adrp, br, blr, ret, ldr literal, ldrsw literal */
	static const u32 cheap[] = { 0x14000001, 0x94000001, 0x54000020, 0xb4000020,
		                     0x37000020, 0x10000000, 0x90000000, 0xd61f0200,
		                     0xd63f0000, RET,        0x58000040, 0x98000040 };
	/* nop, stp, add, ldxr, stxr, prfm literal, retaa */
	static const u32 dear[] = { NOP,        ENTER,      0x91000400, 0xc85f7c00,
		                    0xc8017c02, 0xd8000040, 0xd65f0bff };
	/* nop, bti c, cmp x0, 0; mov x9, x0; mov x16, 5; tst x0, 7; ccmp */
	static const u32 harmless[] = { NOP,        BTI_C,      0xf100001f, 0xaa0003e9,
		                        0xd28000b0, 0xf240081f, 0xfa400804 };
	/* mov x0, x1; sub sp; paciasp; ldr x9, [x0]; str; mov x29, sp; and sp, x0, -16 */
	static const u32 harmful[] = { 0xaa0103e0, LOWER, PACIASP,   0xf9400009,
		                       0xf9000009, TO_FP, 0x927cec1f };

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(cheap); i++)
		assert_true(is_cheap(cheap[i]));
	for (u32 i = 0; i < ARRAY_SIZE(dear); i++)
		assert_false(is_cheap(dear[i]));
	for (u32 i = 0; i < ARRAY_SIZE(harmless); i++)
		assert_true(is_harmless(harmless[i]));
	for (u32 i = 0; i < ARRAY_SIZE(harmful); i++)
		assert_false(is_harmless(harmful[i]));
}

static void test_flow(void **state)
{
	static const struct {
		u32 w;
		enum insn_flow flow;
		s64 distance;
	} rows[] = {
		{ 0x17ffffff, INSN_JUMP, -4 },   { 0x94000002, INSN_CALL, 8 },
		{ 0x54ffffe1, INSN_BRANCH, -4 }, { 0x35000040, INSN_BRANCH, 8 },
		{ 0x3607ffe0, INSN_BRANCH, -4 }, { 0xd61f0220, INSN_INDIRECT, 0 },
		{ 0xd63f0220, INSN_OTHER, 0 },   { RET, INSN_OTHER, 0 },
		{ 0xd4000001, INSN_OTHER, 0 },   { NOP, INSN_NEXT, 0 },
		{ PACIASP, INSN_NEXT, 0 },       { ENTER, INSN_NEXT, 0 },
		{ 0xd53bd040, INSN_OTHER, 0 }, /* mrs */
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(rows); i++) {
		struct insn out;

		assert_true(insn_read(NULL, (const u8 *)&rows[i].w, 4, 0x1000, &out));
		assert_int_equal(out.flow, rows[i].flow);
		if (rows[i].distance)
			assert_int_equal(out.target, 0x1000 + rows[i].distance);
	}
	assert_false(insn_read(NULL, CODE(5), 0, &(struct insn){ 0 }));
}

static void noted(void *ctx, u64 by, u64 target)
{
	u64 *seen = ctx;

	seen[0]++;
	seen[1] = by;
	seen[2] = target;
}

static void test_leads(void **state)
{
	u8 bits[8] = { 0 };
	struct insn_set set = { .low = 0x2010, .span = 16, .bits = bits };
	u64 seen[3] = { 0 };

	(void)state;
	bits[0] = 1 << 4; /* 0x2014 */
	/* At 0x2000: nop; b 0x2014; adrp x1, 0x2000; add x2, x1, 0x14; adr x3, 0x2014; b 0x2010 */
	insn_leads(CODE(NOP, 0x14000004), 0x2000, &set, noted, seen);
	assert_int_equal(seen[0], 1);
	assert_int_equal(seen[1], 0x2004);
	insn_leads(CODE(0x90000001, 0x91005022), 0x2000, &set, noted, seen);
	assert_int_equal(seen[0], 2);
	assert_int_equal(seen[1], 0x2004);
	insn_leads(CODE(0x100000a3), 0x2000, &set, noted, seen);
	assert_int_equal(seen[0], 3);
	insn_leads(CODE(0x14000004), 0x2000, &set, noted, seen);
	assert_int_equal(seen[0], 3);
}

static void test_linkage(void **state)
{
	/* The head, then "adrp x16, page 1; ldr x17, [x16, 8]; add x16, x16, 8; br x17". */
	static const u32 head[] = { 0xa9bf7bf0, 0xb0000010, 0xf9400611, 0x91002210,
		                    0xd61f0220, NOP,        NOP,        NOP };
	static const u32 slot[] = { 0xb0000010, 0xf9400611, 0x91002210, 0xd61f0220 };
	u32 plain[16], wide[14];
	u32 at;

	(void)state;
	memcpy(plain, head, sizeof(head));
	memcpy(plain + 8, slot, sizeof(slot));
	memcpy(plain + 12, slot, sizeof(slot));
	assert_int_equal(insn_plt_slot(insn_plts, (u8 *)plain, sizeof(plain), &at), 16);
	assert_int_equal(at, 32);
	assert_int_equal(insn_plt_word((u8 *)slot, 16, 0x5020), 0x6008);
	/* With bti before and a nop after it. */
	memcpy(wide, head, sizeof(head));
	wide[8] = BTI_C;
	memcpy(wide + 9, slot, sizeof(slot));
	wide[13] = NOP;
	assert_int_equal(insn_plt_slot(insn_plts, (u8 *)wide, sizeof(wide), &at), 24);
	assert_int_equal(insn_plt_word((u8 *)(wide + 8), 24, 0x5020), 0x6008);
	assert_int_equal(insn_plt_word((u8 *)(wide + 9), 8, 0x5ffc), 0x6008);
}

static void test_go(void **state)
{
	/* ldr x16, [x28, 16]; cmp sp, x16; b.ls +12; str x30, [sp, -32]!; ret; [more] b entry */
	u32 small[12] = { 0xf9400b90, 0xeb3063ff, 0x54000069, 0xf81e0ffe, RET, 0x17fffffb };
	u32 large[12] = { 0xf9400b90, 0xd284d61b, 0xeb3b63f1, 0x540000c3, 0xeb10023f,
		          0x54000089, NOP,        NOP,        RET,        0x17fffff7 };

	(void)state;
	assert_int_equal(insn_go_start((u8 *)small, sizeof(small)), 12);
	assert_int_equal(insn_go_start((u8 *)large, sizeof(large)), 24);
	small[5] = NOP; /* does not come back */
	assert_int_equal(insn_go_start((u8 *)small, sizeof(small)), 0);
}

static void follow(struct insn_frame *f, u32 w)
{
	insn_follow(f, (const u8 *)&w, sizeof(w));
}

static void test_stack_pointer(void **state)
{
	struct insn_frame f = { .sp = 0 };

	(void)state;
	follow(&f, ENTER);
	assert_int_equal(f.sp, 32);
	assert_int_equal(f.save, 32);
	assert_int_equal(f.ra, 24);
	follow(&f, TO_FP);
	assert_int_equal(f.fp, 32);
	follow(&f, 0xcb2063ff); /* sub sp, sp, x0 */
	assert_int_equal(f.sp, INSN_LOST);
	follow(&f, 0x910003bf); /* mov sp, x29 */
	assert_int_equal(f.sp, 32);
	follow(&f, LEAVE);
	assert_int_equal(f.sp, 0);
	assert_int_equal(f.save, 0);
	assert_int_equal(f.ra, 0);
	follow(&f, 0xf81f0ffe); /* str x30, [sp, -16]! */
	assert_int_equal(f.sp, 16);
	assert_int_equal(f.ra, 16);
	follow(&f, 0xf84107fe); /* ldr x30, [sp], 16 */
	assert_int_equal(f.sp, 0);
	assert_int_equal(f.ra, 0);
	follow(&f, 0x6dbf27e8); /* stp d8, d9, [sp, -16]! */
	assert_int_equal(f.sp, 16);
	follow(&f, 0xa90153f3); /* stp x19, x20, [sp, 16] */
	assert_int_equal(f.sp, 16);
	assert_true(insn_ends(CODE(RET)));
	assert_true(insn_ends(CODE(0xd65f0bff))); /* retaa */
	assert_true(insn_is_sigreturn(CODE(NOP, 0xd2801168, 0xd4000001)));
	assert_true(insn_is_sigreturn(CODE(0xd2801168, 0xd4000001)));
	assert_false(insn_is_sigreturn(CODE(NOP, 0xd2801168)));
	assert_false(insn_is_padding(CODE(NOP, 0xd2801168, 0xd4000001)));
	assert_true(insn_is_padding(CODE(NOP, NOP, 0)));
}

/* ---- stacks ---- */

#define VADDR 0x1000u
#define TEXT  0x8000u

static u32 link_rule(bool by_fp, s64 off, s64 fp, s64 link)
{
	return unwind_link_rule(by_fp, off / 8, fp / 8, link / 8);
}

/* "zRB": the return address in x30, CFA = sp; a function signs it, saves x29 and x30, and has x29
 * point to them. */
static struct ehframe_rows signed_function(void)
{
	static const u8 cie[] = { 1, 'z', 'R', 'B', 0, 4, 0x78, 30, 1, 0x1b, 0x0c, 31, 0 };
	static const u8 code[] = { 0x41, 0x2d,                          /* +4: negate_ra_state */
		                   0x41, 0x0e, 32, 0x9d, 4,    0x9e, 3, /* +4: 32 bytes, saved */
		                   0x41, 0x0d, 29,                      /* +4: by x29 */
		                   0x41, 0x0c, 31, 0,    0xdd, 0xde };  /* +4: all is back */
	struct buf b = { 0 };
	struct ehframe_section s = { .vaddr = VADDR };
	struct ehframe_rows rows;
	u32 head[] = { (u32)(4 + sizeof(cie)), 0 };
	u32 fde[] = { (u32)(4 + 8 + 1 + sizeof(code)), 0, 0, 64 };

	buf_add(&b, head, sizeof(head));
	buf_add(&b, cie, sizeof(cie));
	fde[1] = (u32)b.n + 4;
	fde[2] = TEXT - (VADDR + (u32)b.n + 8);
	buf_add(&b, fde, sizeof(fde));
	buf_putc(&b, 0);
	buf_add(&b, code, sizeof(code));
	s.p = (const u8 *)b.p;
	s.n = b.n;
	ehframe_read(&s, TEXT, &rows);
	buf_free(&b);
	return rows;
}

static void test_rows(void **state)
{
	struct ehframe_rows rows = signed_function();

	(void)state;
	assert_int_equal(rows.n_functions, 1);
	assert_int_equal(rows.n_damaged, 0);
	assert_int_equal(ehframe_rule(&rows, 0), link_rule(false, 0, 0, 0));
	assert_int_equal(ehframe_rule(&rows, 4), link_rule(false, 0, 0, 0));
	assert_int_equal(ehframe_rule(&rows, 8), link_rule(false, 32, 32, 24));
	assert_int_equal(ehframe_rule(&rows, 12), link_rule(true, 32, 32, 24));
	assert_int_equal(ehframe_rule(&rows, 16), link_rule(false, 0, 0, 0));
	assert_int_equal(link_rule(false, 1 << 16, 0, 0), UNWIND_RICH); /* has no room */
	ehframe_free(&rows);
}

#define STACK 0x10000u

/* A leaf at 0x100 without a frame, called by a function at 0x200 with a frame of 32 bytes, which
 * main at 0x300 called; what is above returns to 0. */
static bool rule_at(void *ctx, u64 pc, u32 *rule)
{
	(void)ctx;
	*rule = pc < 0x200   ? link_rule(false, 0, 0, 0)
	        : pc < 0x300 ? link_rule(false, 32, 32, 24)
	                     : link_rule(true, 16, 16, 8);
	return pc < 0x400;
}

static void test_walk(void **state)
{
	const u64 mask = arch_return_mask();
	/* The return address at STACK + 8 is signed. */
	const u64 memory[] = { STACK + 32, 0x310 | (0x5aull << 56), 1, 2, 0, 0 };
	struct unwind_stack s = { .pc = 0x110,
		                  .sp = STACK,
		                  .fp = 77,
		                  .link = 0x210,
		                  .bytes = (const u8 *)memory,
		                  .start = STACK,
		                  .n = sizeof(memory),
		                  .rule = rule_at };
	u64 ips[8];
	bool whole;

	(void)state;
	assert_true(mask >= (1ull << 39) - 1 && mask < 1ull << 52);
	assert_int_equal(unwind_walk(&s, ips, 8, &whole), 3);
	assert_true(whole);
	assert_int_equal(ips[0], 0x110);
	assert_int_equal(ips[1], 0x210);
	assert_int_equal(ips[2], 0x310);
	/* At a program's first instruction the register is 0. */
	s.link = 0;
	assert_int_equal(unwind_walk(&s, ips, 8, &whole), 1);
	assert_true(whole);
	/* Of one that has called the register is another's: nobody goes round in circles. */
	s.link = 0x110;
	assert_int_equal(unwind_walk(&s, ips, 8, &whole), 2);
	assert_false(whole);
}

/* A frame pointer points to the low end of its frame: where the caller's ends is known from the
 * caller's own. */
static void test_walk_by_frame_pointer(void **state)
{
	const u64 memory[] = {
		1,          1,     STACK + 56, 0x210, 7, 7, 7, /* of code without a row, 5 words */
		STACK + 88, 0x220, 8,          8,              /* 0x210 */
		0,          0,     9,          9,              /* 0x220 */
	};
	struct unwind_stack s = { .pc = 0x500,
		                  .sp = STACK,
		                  .fp = STACK + 16,
		                  .link = 0x300,
		                  .bytes = (const u8 *)memory,
		                  .start = STACK,
		                  .n = sizeof(memory),
		                  .rule = rule_at };
	u64 ips[8];
	bool whole;

	(void)state;
	assert_int_equal(unwind_walk(&s, ips, 8, &whole), 3);
	assert_true(whole);
	assert_int_equal(ips[1], 0x210);
	assert_int_equal(ips[2], 0x220);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_operands),
		cmocka_unit_test(test_arguments),
		cmocka_unit_test(test_instructions),
		cmocka_unit_test(test_flow),
		cmocka_unit_test(test_leads),
		cmocka_unit_test(test_linkage),
		cmocka_unit_test(test_go),
		cmocka_unit_test(test_stack_pointer),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_walk),
		cmocka_unit_test(test_walk_by_frame_pointer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
