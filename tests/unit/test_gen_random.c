/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Random integer expressions against C. Each expression is made together with its value; many
 * go into one script, the script runs in the interpreter, the values are compared. Divisions by
 * zero that are reached are counted on both sides.
 *
 * MEMTAP_SEED chooses other expressions, MEMTAP_EXPRESSIONS how many.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "interp/lab.h"

#define PER_SCRIPT 20u
#define N_VARS     8u

static const s64 var_values[N_VARS] = { 0,         1,           -1,
	                                7,         -123456789,  0x7fffffffffffffff,
	                                1ll << 40, -(1ll << 62) };

struct maker {
	u64 seed;
	bool is_unsigned; /* every operand is cast to uint64 */
	u64 zero_divisions;
};

static u32 roll(struct maker *m, u32 n)
{
	m->seed = m->seed * 6364136223846793005ull + 1442695040888963407ull;
	return (u32)(m->seed >> 33) % n;
}

/* ---- values, by the language's rules -------------------------------------------------------- */

static u64 divide(struct maker *m, u64 a, u64 b, bool live)
{
	if (b == 0) {
		m->zero_divisions += live;
		return 1;
	}
	if (m->is_unsigned)
		return a / b;
	return b == UINT64_MAX ? -a : (u64)((s64)a / (s64)b);
}

static u64 modulo(struct maker *m, u64 a, u64 b, bool live)
{
	if (b == 0) {
		m->zero_divisions += live;
		return 1;
	}
	if (m->is_unsigned)
		return a % b;
	return b == UINT64_MAX ? 0 : (u64)((s64)a % (s64)b);
}

static bool less(const struct maker *m, u64 a, u64 b)
{
	return m->is_unsigned ? a < b : (s64)a < (s64)b;
}

/* ---- expressions ---------------------------------------------------------------------------- */

static u64 expr(struct maker *m, struct buf *b, u32 depth, bool live);

static u64 leaf(struct maker *m, struct buf *b)
{
	u32 i = roll(m, N_VARS);
	s64 v;

	if (m->is_unsigned)
		buf_puts(b, "(uint64)");
	switch (roll(m, 3)) {
	case 0:
		buf_printf(b, "$v%u", i);
		return (u64)var_values[i];
	case 1:
		buf_printf(b, "@v[%u]", i);
		return (u64)var_values[i];
	default:
		v = (s64)roll(m, 2000) - (m->is_unsigned ? 0 : 1000);
		buf_printf(b, v < 0 ? "(%lld)" : "%lld", (long long)v);
		return (u64)v;
	}
}

static u64 binary(struct maker *m, struct buf *b, u32 depth, bool live)
{
	static const char *const ops[] = { "+", "-", "*", "/", "%", "&", "|", "^" };
	u32 op = roll(m, ARRAY_SIZE(ops));
	u64 l, r;

	/* an unsigned difference is signed in the language */
	buf_puts(b, m->is_unsigned && op == 1 ? "((uint64)(" : "(");
	l = expr(m, b, depth - 1, live);
	buf_printf(b, " %s ", ops[op]);
	r = expr(m, b, depth - 1, live);
	buf_puts(b, m->is_unsigned && op == 1 ? "))" : ")");
	switch (op) {
	case 0:
		return l + r;
	case 1:
		return l - r;
	case 2:
		return l * r;
	case 3:
		return divide(m, l, r, live);
	case 4:
		return modulo(m, l, r, live);
	case 5:
		return l & r;
	case 6:
		return l | r;
	default:
		return l ^ r;
	}
}

static u64 shift(struct maker *m, struct buf *b, u32 depth, bool live)
{
	bool left = roll(m, 2);
	u32 by = roll(m, 64);
	u64 v;

	buf_putc(b, '(');
	v = expr(m, b, depth - 1, live);
	buf_printf(b, left ? " << %u)" : " >> %u)", by);
	if (left)
		return v << by;
	return m->is_unsigned ? v >> by : (u64)((s64)v >> by);
}

/* A condition as text; returns its truth. */
static bool condition(struct maker *m, struct buf *b, u32 depth, bool live)
{
	static const char *const ops[] = { "<", "<=", ">", ">=", "==", "!=" };
	u32 op = roll(m, depth > 1 ? 9 : 6);
	bool c, d;
	u64 l, r;

	buf_putc(b, '(');
	if (op == 6) {
		buf_putc(b, '!');
		c = !condition(m, b, depth - 1, live);
		buf_putc(b, ')');
		return c;
	}
	if (op > 6) {
		c = condition(m, b, depth - 1, live);
		buf_puts(b, op == 7 ? " && " : " || ");
		d = condition(m, b, depth - 1, live && (op == 7 ? c : !c));
		buf_putc(b, ')');
		return op == 7 ? c && d : c || d;
	}
	l = expr(m, b, depth ? depth - 1 : 0, live);
	buf_printf(b, " %s ", ops[op]);
	r = expr(m, b, depth ? depth - 1 : 0, live);
	buf_putc(b, ')');
	switch (op) {
	case 0:
		return less(m, l, r);
	case 1:
		return !less(m, r, l);
	case 2:
		return less(m, r, l);
	case 3:
		return !less(m, l, r);
	case 4:
		return l == r;
	default:
		return l != r;
	}
}

static u64 ternary(struct maker *m, struct buf *b, u32 depth, bool live)
{
	struct buf cond = { 0 };
	u64 yes, no;
	bool c;

	c = condition(m, &cond, depth - 1, live);
	buf_printf(b, "(%s ? ", buf_text(&cond));
	yes = expr(m, b, depth - 1, live && c);
	buf_puts(b, " : ");
	no = expr(m, b, depth - 1, live && !c);
	buf_putc(b, ')');
	buf_free(&cond);
	return c ? yes : no;
}

/* Cut to a narrow type and widened again. */
static u64 cast(struct maker *m, struct buf *b, u32 depth, bool live)
{
	static const char *const names[] = {
		"int8", "int16", "int32", "uint8", "uint16", "uint32"
	};
	u32 to = roll(m, ARRAY_SIZE(names)), bits = 64 - (8u << to % 3);
	u64 v;

	buf_printf(b, "((%s)(%s)", m->is_unsigned ? "uint64" : "int64", names[to]);
	v = expr(m, b, depth - 1, live) << bits;
	buf_putc(b, ')');
	return to < 3 ? (u64)((s64)v >> bits) : v >> bits;
}

static u64 expr(struct maker *m, struct buf *b, u32 depth, bool live)
{
	if (!depth)
		return leaf(m, b);
	switch (roll(m, 10)) {
	case 0:
		return leaf(m, b);
	case 1:
		return shift(m, b, depth, live);
	case 2:
		return ternary(m, b, depth, live);
	case 3:
		return cast(m, b, depth, live);
	case 4:
		if (m->is_unsigned)
			return leaf(m, b);
		buf_puts(b, "(-");
		{
			u64 v = -expr(m, b, depth - 1, live);

			buf_putc(b, ')');
			return v;
		}
	default:
		return binary(m, b, depth, live);
	}
}

/* ---- scripts -------------------------------------------------------------------------------- */

struct batch {
	struct buf text[PER_SCRIPT];
	u64 want[PER_SCRIPT];
	struct buf script;
};

static void make_batch(struct maker *m, struct batch *t)
{
	buf_reset(&t->script);
	buf_puts(&t->script, "BEGIN {\n");
	for (u32 i = 0; i < N_VARS; i++)
		buf_printf(&t->script, "$v%u = %lld; @v[%u] = $v%u;\n", i, (long long)var_values[i],
		           i, i);
	for (u32 i = 0; i < PER_SCRIPT; i++) {
		buf_reset(&t->text[i]);
		t->want[i] = expr(m, &t->text[i], 1 + roll(m, 5), true);
		buf_printf(&t->script, "@%s[%u] = %s;\n", m->is_unsigned ? "u" : "s", i,
		           buf_text(&t->text[i]));
	}
	buf_puts(&t->script, "}\n");
}

static s32 map_named(const struct unit *u, const char *name)
{
	for (u32 i = 0; i < u->maps.n; i++)
		if (strcmp(u->maps.v[i].name, name) == 0)
			return (s32)i;
	return -1;
}

static void compare(struct lab *l, const struct maker *m, const struct batch *t, u64 seed)
{
	s32 map = map_named(l->u, m->is_unsigned ? "@u" : "@s");
	u64 zeros = lab_errors(l, UERROR_DIV_ZERO);

	assert_true(map >= 0);
	for (u64 i = 0; i < PER_SCRIPT; i++) {
		const u64 *got = interp_find(l->in, (u32)map, &i);

		if (!got || *got != t->want[i])
			fail_msg("seed %llu: %s\nwanted %lld, got %lld", (unsigned long long)seed,
			         buf_text(&t->text[i]), (long long)t->want[i],
			         got ? (long long)*got : 0);
	}
	if (zeros != m->zero_divisions)
		fail_msg("seed %llu: wanted %llu divisions by zero, got %llu\n%s",
		         (unsigned long long)seed, (unsigned long long)m->zero_divisions,
		         (unsigned long long)zeros, buf_text(&t->script));
}

static void run_many(bool is_unsigned)
{
	const char *seed_text = getenv("MEMTAP_SEED"), *n_text = getenv("MEMTAP_EXPRESSIONS");
	u64 seed = seed_text ? strtoull(seed_text, NULL, 0) : 20260;
	u64 n = n_text ? strtoull(n_text, NULL, 0) : 1000;
	struct batch t = { 0 };

	print_message("seed %llu, %llu expressions\n", (unsigned long long)seed,
	              (unsigned long long)n);
	for (u64 done = 0; done < n; done += PER_SCRIPT, seed++) {
		struct maker m = { .seed = seed, .is_unsigned = is_unsigned };
		struct lab l;

		make_batch(&m, &t);
		lab_init(&l);
		if (!lab_compile(&l, buf_text(&t.script)) || !lab_fire(&l, ATTACH_BEGIN, NULL, 0))
			fail_msg("seed %llu: %s\n%s", (unsigned long long)seed,
			         buf_text(&l.problem), buf_text(&t.script));
		compare(&l, &m, &t, seed);
		lab_free(&l);
	}
	for (u32 i = 0; i < PER_SCRIPT; i++)
		buf_free(&t.text[i]);
	buf_free(&t.script);
}

static void test_signed(void **state)
{
	(void)state;
	run_many(false);
}

static void test_unsigned(void **state)
{
	(void)state;
	run_many(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_signed),
		cmocka_unit_test(test_unsigned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
