/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * USDT probe sites: the notes that <sys/sdt.h> leaves in .note.stapsdt, and the operand
 * language in which they say where arguments lie.
 *
 * The one idea: a note is the compiler's own assembler operand, so the parser here is the
 * grammar of an AT&T operand of x86-64,
 *
 *     arg     = size "@" operand         size: 1 2 4 8, "-" before it means signed
 *     operand = "$" number
 *             | "%" register
 *             | [number] "(" ["%" base] ["," "%" index ["," scale]] ")"
 *             | symbol [number] "(%rip)"  a variable of the file
 *             | number                    an absolute address
 *     number  = ["-" | "+"] digits { ("-" | "+") digits }
 *
 * and its result is a place a program can read from struct pt_regs and user memory.
 *
 * A variable lies at the same distance from the probed instruction wherever the file is loaded,
 * so the symbol table and the instruction pointer give its address.
 *
 * It does not resolve thread-local operands (%fs:...) nor floating point registers; sites that
 * use them are marked, with the reason.
 */
#include "elf/usdt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"

/* ---- operands ------------------------------------------------------------------------------- */

/* Parsing position in one argument text; `why` is set at the first thing not understood. */
struct cursor {
	const char *p;
	const char *why;
	struct elf *elf; /* where symbols are looked up; NULL: nowhere */
	u32 *looked_up;  /* how many were */
	u64 pc;          /* address of the probed instruction */
};

static bool bad(struct cursor *c, const char *why)
{
	if (!c->why)
		c->why = why;
	return false;
}

static bool take(struct cursor *c, char want)
{
	if (*c->p != want)
		return false;
	c->p++;
	return true;
}

static bool at_end(const struct cursor *c)
{
	return *c->p == 0 || *c->p == ' ' || *c->p == '\t';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* One signed term; assemblers write constants in decimal or 0x. */
static bool term(struct cursor *c, u64 *sum)
{
	bool minus = take(c, '-');
	char *end;
	u64 v;

	if (!minus)
		take(c, '+');
	if (!is_digit(*c->p))
		return bad(c, "an operand that names a symbol");
	errno = 0;
	v = strtoull(c->p, &end, 0);
	if (errno == ERANGE)
		return bad(c, "a number that is too large");
	c->p = end;
	*sum += minus ? 0 - v : v;
	return true;
}

static bool number(struct cursor *c, s64 *value)
{
	u64 sum = 0;

	do {
		if (!term(c, &sum))
			return false;
	} while (*c->p == '+' || *c->p == '-');
	*value = (s64)sum;
	return true;
}

static bool is_float_reg(struct str name)
{
	return str_starts(name, "xmm") || str_starts(name, "ymm") || str_starts(name, "zmm") ||
	       str_starts(name, "st");
}

static bool reg(struct cursor *c, s16 *off, bool *high)
{
	struct str name = { NULL, 0 };

	if (!take(c, '%'))
		return bad(c, "a register was expected");
	name.p = c->p;
	while ((*c->p >= 'a' && *c->p <= 'z') || is_digit(*c->p))
		c->p++;
	name.n = (u32)(c->p - name.p);
	*off = (s16)arch_operand(name, high);
	if (*off >= 0)
		return true;
	if (str_is(name, "rip") || str_is(name, "eip"))
		return bad(c, "an address relative to the instruction pointer");
	if (str_is(name, "fs") || str_is(name, "gs"))
		return bad(c, "thread-local memory");
	return bad(c, is_float_reg(name) ? "a floating point register" : "an unknown register");
}

static bool address_reg(struct cursor *c, s16 *off)
{
	bool high;

	if (!reg(c, off, &high))
		return false;
	return high ? bad(c, "an 8-bit register in an address") : true;
}

static bool scale(struct cursor *c, u8 *out)
{
	if (!strchr("1248", *c->p) || !*c->p)
		return bad(c, "a scale other than 1, 2, 4 or 8");
	*out = (u8)(*c->p++ - '0');
	return true;
}

/* What follows "(": base, index and scale. */
static bool address(struct cursor *c, struct usdt_arg *a)
{
	if (*c->p != ',' && !address_reg(c, &a->reg))
		return false;
	if (take(c, ',')) {
		if (!address_reg(c, &a->index))
			return false;
		a->scale = 1;
		if (take(c, ',') && !scale(c, &a->scale))
			return false;
	}
	return take(c, ')') || bad(c, "a missing ')'");
}

static bool is_symbol_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' ||
	       c == '.' || c == '$';
}

/* Each takes a walk through the symbol table. Files have one or two. */
#define VARIABLES_MAX 1024u

/* symbol [number] "(%rip)" */
static bool variable(struct cursor *c, struct usdt_arg *a)
{
	char name[256];
	struct elf_sym sym;
	s64 plus = 0;
	size_t n = 0;

	while (is_symbol_char(c->p[n]))
		n++;
	if (n >= sizeof(name))
		return bad(c, "an operand with a very long name");
	memcpy(name, c->p, n);
	name[n] = 0;
	c->p += n;
	if ((*c->p == '+' || *c->p == '-') && !number(c, &plus))
		return false;
	if (strncmp(c->p, "(%rip)", 6) != 0)
		return bad(c, "a symbol whose address depends on where the file is loaded");
	c->p += 6;
	if (c->elf && ++*c->looked_up > VARIABLES_MAX)
		return bad(c, "a variable, after very many others");
	if (!c->elf || !elf_find(c->elf, name, &sym))
		return bad(c, "a variable that is not in the symbol table");
	a->reg = arch.ip;
	a->value = (s64)(sym.value + (u64)plus - c->pc);
	return true;
}

static bool operand(struct cursor *c, struct usdt_arg *a)
{
	if (take(c, '$')) {
		a->form = USDT_CONST;
		return number(c, &a->value);
	}
	if (*c->p == '%') {
		a->form = USDT_REG;
		return reg(c, &a->reg, &a->high_byte);
	}
	a->form = USDT_MEM;
	if (is_symbol_char(*c->p) && !is_digit(*c->p))
		return variable(c, a);
	if (*c->p != '(' && !number(c, &a->value))
		return false;
	return take(c, '(') ? address(c, a) : true;
}

static bool size(struct cursor *c, struct usdt_arg *a)
{
	a->is_signed = take(c, '-');
	if (!*c->p || !strchr("1248", *c->p))
		return bad(c, "an argument without a size of 1, 2, 4 or 8");
	a->size = (u8)(*c->p++ - '0');
	if (*c->p == 'f')
		return bad(c, "a floating point argument");
	return take(c, '@') || bad(c, "a size without '@'");
}

static bool argument(struct cursor *c, struct usdt_arg *a)
{
	*a = (struct usdt_arg){ .reg = -1, .index = -1 };
	if (!size(c, a) || !operand(c, a))
		return false;
	if (!at_end(c))
		return bad(c, "text after an operand");
	if (a->high_byte && a->size != 1)
		return bad(c, "a high byte register with a size other than 1");
	return true;
}

static bool parse(struct cursor c, struct usdt_site *out)
{
	out->spec = c.p;
	out->n_args = 0;
	out->bad = NULL;
	for (;;) {
		while (*c.p == ' ' || *c.p == '\t')
			c.p++;
		if (!*c.p)
			break;
		if (out->n_args == USDT_ARGS_MAX)
			bad(&c, "more than 12 arguments");
		if (c.why || !argument(&c, &out->args[out->n_args]))
			break;
		out->n_args++;
	}
	out->bad = c.why;
	out->bad_args = c.why != NULL;
	return !out->bad_args;
}

bool usdt_parse(const char *spec, struct usdt_site *out)
{
	return parse((struct cursor){ .p = spec }, out);
}

/* ---- notes ---------------------------------------------------------------------------------- */

#define NOTE_USDT 3u

/* The fixed part of a 64-bit note's content; three strings follow. */
struct note_head {
	u64 pc, base, semaphore;
};

struct notes {
	struct elf *elf;
	u32 looked_up;
	bool has_base;
	u64 base; /* address of .stapsdt.base, to undo what prelink moved */
};

/* The NUL-terminated string at *p, before end; NULL when it does not end there. */
static const char *next_string(const char **p, const char *end)
{
	const char *s = *p, *nul = s < end ? memchr(s, 0, (size_t)(end - s)) : NULL;

	if (nul)
		*p = nul + 1;
	return nul ? s : NULL;
}

/* Turns the addresses of a note into places in the file. */
static bool site_place(struct notes *w, const struct note_head *h, struct usdt_site *s)
{
	u64 moved = w->has_base && h->base ? w->base - h->base : 0;

	s->ref_ctr = 0;
	if (!elf_offset(w->elf, h->pc + moved, &s->offset))
		return false;
	return !h->semaphore || elf_offset(w->elf, h->semaphore + moved, &s->ref_ctr);
}

/* NULL, or what is wrong with the note. */
static const char *site_read(struct notes *w, const struct elf_note *note, struct usdt_site *s)
{
	const char *p = (const char *)note->desc + sizeof(struct note_head);
	const char *end = (const char *)note->desc + note->n, *spec;
	struct note_head h;
	u64 pc = 0;

	if (note->n < sizeof(h))
		return "it is too short";
	memcpy(&h, note->desc, sizeof(h));
	s->provider = next_string(&p, end);
	s->name = s->provider ? next_string(&p, end) : NULL;
	spec = s->name ? next_string(&p, end) : NULL;
	if (!spec)
		return "its names do not end";
	if (!site_place(w, &h, s))
		return "its address is outside the file";
	elf_vaddr(w->elf, s->offset, &pc);
	parse((struct cursor){ .p = spec, .elf = w->elf, .pc = pc, .looked_up = &w->looked_up }, s);
	return NULL;
}

static bool notes_walk(struct notes *w, const u8 *p, size_t n,
                       bool (*cb)(void *ctx, const struct usdt_site *s), void *ctx, struct err *e)
{
	struct elf_note note;
	size_t pos = 0, at = 0;

	for (; elf_note_next(p, n, &pos, &note); at = pos) {
		struct usdt_site s = { 0 };
		const char *wrong;

		if (note.type != NOTE_USDT || !str_eq(note.name, STR("stapsdt\0")))
			continue;
		wrong = site_read(w, &note, &s);
		if (wrong)
			return err_set(
				e,
				"the USDT note at byte %zu of .note.stapsdt in %s is damaged: %s",
				at, elf_path(w->elf), wrong);
		if (!cb(ctx, &s))
			return true;
	}
	if (pos < n)
		return err_set(e, "the USDT notes of %s are cut off at byte %zu of .note.stapsdt",
		               elf_path(w->elf), pos);
	return true;
}

bool usdt_each(struct elf *f, bool (*cb)(void *ctx, const struct usdt_site *s), void *ctx,
               struct err *e)
{
	struct notes w = { .elf = f };
	const u8 *p, *base;
	size_t n, base_n;
	u64 vaddr;

	if (!elf_section(f, ".note.stapsdt", &p, &n, &vaddr))
		return true;
	w.has_base = elf_section(f, ".stapsdt.base", &base, &base_n, &w.base);
	return notes_walk(&w, p, n, cb, ctx, e);
}
