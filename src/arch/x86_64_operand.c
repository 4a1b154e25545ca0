/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * x86-64's operands in AT&T syntax.
 *
 *     operand = "$" number
 *             | "%" register
 *             | [number] "(" ["%" base] ["," "%" index ["," scale]] ")"
 *             | symbol [number] "(%rip)"  a variable of the file
 *             | number                    an absolute address
 *     number  = ["-" | "+"] digits { ("-" | "+") digits }
 *
 * A variable lies at the same distance from the instruction wherever the file is loaded, so the
 * symbol table and the instruction pointer give its address. Thread-local operands (%fs:...) and
 * floating point registers are not understood.
 */
#include "arch/operand.h"

#if defined(__x86_64__)

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/str.h"

/* ---- registers ------------------------------------------------------------------------------ */

/* What the parts of a register are called in 64, 32, 16 and 8 bits. */
static const struct {
	s16 at;
	const char *names[4];
	const char *high;
} parts[] = {
	{ 0, { "r15", "r15d", "r15w", "r15b" }, NULL },
	{ 8, { "r14", "r14d", "r14w", "r14b" }, NULL },
	{ 16, { "r13", "r13d", "r13w", "r13b" }, NULL },
	{ 24, { "r12", "r12d", "r12w", "r12b" }, NULL },
	{ 32, { "rbp", "ebp", "bp", "bpl" }, NULL },
	{ 40, { "rbx", "ebx", "bx", "bl" }, "bh" },
	{ 48, { "r11", "r11d", "r11w", "r11b" }, NULL },
	{ 56, { "r10", "r10d", "r10w", "r10b" }, NULL },
	{ 64, { "r9", "r9d", "r9w", "r9b" }, NULL },
	{ 72, { "r8", "r8d", "r8w", "r8b" }, NULL },
	{ 80, { "rax", "eax", "ax", "al" }, "ah" },
	{ 88, { "rcx", "ecx", "cx", "cl" }, "ch" },
	{ 96, { "rdx", "edx", "dx", "dl" }, "dh" },
	{ 104, { "rsi", "esi", "si", "sil" }, NULL },
	{ 112, { "rdi", "edi", "di", "dil" }, NULL },
	{ 152, { "rsp", "esp", "sp", "spl" }, NULL },
};

static s32 register_at(struct str name, bool *high)
{
	*high = false;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(parts[i].names); k++)
			if (str_is(name, parts[i].names[k]))
				return parts[i].at;
		if (parts[i].high && str_is(name, parts[i].high)) {
			*high = true;
			return parts[i].at;
		}
	}
	return -1;
}

/* ---- the text ------------------------------------------------------------------------------- */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* One signed term; assemblers write constants in decimal or 0x. */
static bool term(struct operand_text *t, u64 *sum)
{
	bool minus = operand_take(t, '-');
	char *end;
	u64 v;

	if (!minus)
		operand_take(t, '+');
	if (!is_digit(*t->p))
		return operand_bad(t, "an operand that names a symbol");
	errno = 0;
	v = strtoull(t->p, &end, 0);
	if (errno == ERANGE)
		return operand_bad(t, "a number that is too large");
	t->p = end;
	*sum += minus ? 0 - v : v;
	return true;
}

static bool number(struct operand_text *t, s64 *value)
{
	u64 sum = 0;

	do {
		if (!term(t, &sum))
			return false;
	} while (*t->p == '+' || *t->p == '-');
	*value = (s64)sum;
	return true;
}

static bool is_float_reg(struct str name)
{
	return str_starts(name, "xmm") || str_starts(name, "ymm") || str_starts(name, "zmm") ||
	       str_starts(name, "st");
}

static bool reg(struct operand_text *t, s16 *off, bool *high)
{
	struct str name = { NULL, 0 };

	if (!operand_take(t, '%'))
		return operand_bad(t, "a register was expected");
	name.p = t->p;
	while ((*t->p >= 'a' && *t->p <= 'z') || is_digit(*t->p))
		t->p++;
	name.n = (u32)(t->p - name.p);
	*off = (s16)register_at(name, high);
	if (*off >= 0)
		return true;
	if (str_is(name, "rip") || str_is(name, "eip"))
		return operand_bad(t, "an address relative to the instruction pointer");
	if (str_is(name, "fs") || str_is(name, "gs"))
		return operand_bad(t, "thread-local memory");
	return operand_bad(t, is_float_reg(name) ? "a floating point register"
	                                         : "an unknown register");
}

static bool address_reg(struct operand_text *t, s16 *off)
{
	bool high;

	if (!reg(t, off, &high))
		return false;
	return high ? operand_bad(t, "an 8-bit register in an address") : true;
}

static bool scale(struct operand_text *t, u8 *out)
{
	if (!strchr("1248", *t->p) || !*t->p)
		return operand_bad(t, "a scale other than 1, 2, 4 or 8");
	*out = (u8)(*t->p++ - '0');
	return true;
}

/* What follows "(": base, index and scale. */
static bool address(struct operand_text *t, struct operand *o)
{
	if (*t->p != ',' && !address_reg(t, &o->reg))
		return false;
	if (operand_take(t, ',')) {
		if (!address_reg(t, &o->index))
			return false;
		o->scale = 1;
		if (operand_take(t, ',') && !scale(t, &o->scale))
			return false;
	}
	return operand_take(t, ')') || operand_bad(t, "a missing ')'");
}

/* symbol [number] "(%rip)" */
static bool variable(struct operand_text *t, struct operand *o)
{
	char name[OPERAND_NAME];
	s64 plus = 0;
	u64 address;

	if (!operand_name(t, name))
		return false;
	if ((*t->p == '+' || *t->p == '-') && !number(t, &plus))
		return false;
	if (strncmp(t->p, "(%rip)", 6) != 0)
		return operand_bad(t, "a symbol whose address depends on where the file is loaded");
	t->p += 6;
	if (!operand_find(t, name, &address))
		return false;
	o->reg = arch.ip;
	o->value = (s64)(address - t->pc + (u64)plus);
	return true;
}

static bool starts_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.' || c == '$';
}

bool operand_parse(struct operand_text *t, struct operand *o)
{
	*o = (struct operand){ .reg = -1, .index = -1 };
	if (operand_take(t, '$')) {
		o->form = OPERAND_CONST;
		return number(t, &o->value);
	}
	if (*t->p == '%') {
		o->form = OPERAND_REG;
		return reg(t, &o->reg, &o->high_byte);
	}
	o->form = OPERAND_MEM;
	if (starts_name(*t->p))
		return variable(t, o);
	if (*t->p != '(' && !number(t, &o->value))
		return false;
	return operand_take(t, '(') ? address(t, o) : true;
}

#endif
