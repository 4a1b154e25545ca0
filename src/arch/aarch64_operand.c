/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * arm64's operands as gcc and clang write them for USDT.
 *
 *     operand = ["#"] number
 *             | register                          x0, w1, sp, xzr
 *             | "[" register ["," offset] "]"
 *     offset  = ["#"] number
 *             | register ["," "lsl" ["#"] number]
 *             | ["#"] ":lo12:" symbol [number]    a variable of the file
 *     number  = ["-" | "+"] digits
 *
 * Of a variable the register holds the address but for its low 12 bits. Files are loaded at
 * multiples of 4096, so the symbol table knows those. An offset in half a register (w1, sxtw) is
 * not understood.
 */
#include "arch/operand.h"

#if defined(__aarch64__)

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/str.h"

#define SCALE_BITS 3u     /* a scale is 8 at most */
#define LOW_BITS   0xfffu /* of an address, which adrp leaves out */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static void blanks(struct operand_text *t)
{
	while (operand_take(t, ' '))
		;
}

static bool number(struct operand_text *t, s64 *value)
{
	bool minus;
	char *end;
	u64 v;

	operand_take(t, '#');
	minus = operand_take(t, '-');
	if (!minus)
		operand_take(t, '+');
	if (!is_digit(*t->p))
		return operand_bad(t, "an operand that names a symbol");
	errno = 0;
	v = strtoull(t->p, &end, 0);
	if (errno == ERANGE)
		return operand_bad(t, "a number that is too large");
	t->p = end;
	*value = (s64)(minus ? 0 - v : v);
	return true;
}

/* The letters and digits that come next. */
static struct str word(struct operand_text *t)
{
	struct str s = { t->p, 0 };

	while ((*t->p >= 'a' && *t->p <= 'z') || is_digit(*t->p))
		t->p++;
	s.n = (u32)(t->p - s.p);
	return s;
}

static bool is_float_reg(struct str name)
{
	return name.n >= 2 && strchr("bhsdqv", name.p[0]) && is_digit(name.p[1]);
}

/* *half: 32 bits of it. */
static bool reg(struct operand_text *t, s16 *at, bool *half)
{
	struct str name = word(t);
	char whole[8] = "x";
	const struct arch_reg *r;

	*half = name.n >= 2 && name.n < sizeof(whole) && name.p[0] == 'w' && is_digit(name.p[1]);
	if (*half) {
		memcpy(whole + 1, name.p + 1, name.n - 1);
		name.p = whole;
	}
	r = str_is(name, "wsp") ? arch_reg((struct str){ "sp", 2 }) : arch_reg(name);
	if (r && !str_is(name, "pstate")) {
		*at = r->at;
		return true;
	}
	return operand_bad(t, is_float_reg(name) ? "a floating point register"
	                      : name.n           ? "an unknown register"
	                                         : "a register was expected");
}

/* "lsl N" */
static bool shift(struct operand_text *t, u8 *scale)
{
	s64 bits = 0;

	if (!str_is(word(t), "lsl"))
		return operand_bad(t, "an index that is extended");
	blanks(t);
	if (!number(t, &bits))
		return false;
	if (bits < 0 || bits > SCALE_BITS)
		return operand_bad(t, "a shift by more than 3");
	*scale = (u8)(1u << bits);
	return true;
}

/* ":lo12:" symbol [number] */
static bool variable(struct operand_text *t, struct operand *o)
{
	char name[OPERAND_NAME];
	s64 plus = 0;
	u64 address;

	if (strncmp(t->p, ":lo12:", 6) != 0)
		return operand_bad(t, "an address that is not half of a symbol's");
	t->p += 6;
	if (!operand_name(t, name))
		return false;
	if ((*t->p == '+' || *t->p == '-') && !number(t, &plus))
		return false;
	if (!operand_find(t, name, &address))
		return false;
	o->value = (s64)((address + (u64)plus) & LOW_BITS);
	return true;
}

/* What follows "[x0,". */
static bool offset(struct operand_text *t, struct operand *o)
{
	bool half;

	blanks(t);
	if (*t->p == ':' || (*t->p == '#' && t->p[1] == ':')) {
		operand_take(t, '#');
		return variable(t, o);
	}
	if (*t->p == '#' || *t->p == '-' || *t->p == '+' || is_digit(*t->p))
		return number(t, &o->value);
	if (!reg(t, &o->index, &half))
		return false;
	if (half)
		return operand_bad(t, "half a register in an address");
	o->scale = 1;
	if (!operand_take(t, ','))
		return true;
	blanks(t);
	return shift(t, &o->scale);
}

static bool memory(struct operand_text *t, struct operand *o)
{
	bool half;

	blanks(t);
	if (!reg(t, &o->reg, &half))
		return false;
	if (half)
		return operand_bad(t, "half a register in an address");
	if (operand_take(t, ',') && !offset(t, o))
		return false;
	blanks(t);
	return operand_take(t, ']') || operand_bad(t, "a missing ']'");
}

bool operand_parse(struct operand_text *t, struct operand *o)
{
	bool half;

	*o = (struct operand){ .reg = -1, .index = -1 };
	if (operand_take(t, '[')) {
		o->form = OPERAND_MEM;
		return memory(t, o);
	}
	if (*t->p == '#' || *t->p == '-' || *t->p == '+' || is_digit(*t->p)) {
		o->form = OPERAND_CONST;
		return number(t, &o->value);
	}
	if (strncmp(t->p + (*t->p != 0), "zr", 2) == 0 && (*t->p == 'x' || *t->p == 'w')) {
		t->p += 3;
		return true; /* the constant 0 */
	}
	o->form = OPERAND_REG;
	return reg(t, &o->reg, &half);
}

#endif
