/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * USDT probe sites: the notes that <sys/sdt.h> leaves in .note.stapsdt, and the operand
 * language in which they say where arguments lie.
 *
 * The one idea: a note is the compiler's own assembler operand, so most of the language is the
 * machine's (arch/operand.h):
 *
 *     arg     = size "@" operand         size: 1 2 4 8, "-" before it means signed
 *
 * and its result is a place a program can read from struct pt_regs and user memory. Sites whose
 * operands can not be read are marked, with the reason.
 */
#include "elf/usdt.h"

#include <string.h>

/* ---- arguments ------------------------------------------------------------------------------ */

/* Each takes a walk through the symbol table. Files have one or two. */
#define VARIABLES_MAX 1024u

/* Where variables are looked up. */
struct variables {
	struct elf *elf;
	u32 *looked_up; /* how many were */
};

static const char *variable(void *ctx, const char *name, u64 *address)
{
	const struct variables *v = ctx;
	struct elf_sym sym;

	if (++*v->looked_up > VARIABLES_MAX)
		return "a variable, after very many others";
	if (!elf_find(v->elf, name, &sym))
		return "a variable that is not in the symbol table";
	*address = sym.value;
	return NULL;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool size(struct operand_text *t, struct usdt_arg *a)
{
	a->is_signed = operand_take(t, '-');
	if (!*t->p || !strchr("1248", *t->p))
		return operand_bad(t, "an argument without a size of 1, 2, 4 or 8");
	a->size = (u8)(*t->p++ - '0');
	if (*t->p == 'f')
		return operand_bad(t, "a floating point argument");
	return operand_take(t, '@') || operand_bad(t, "a size without '@'");
}

static bool argument(struct operand_text *t, struct usdt_arg *a)
{
	if (!size(t, a) || !operand_parse(t, &a->at))
		return false;
	if (*t->p && !is_blank(*t->p))
		return operand_bad(t, "text after an operand");
	if (a->at.high_byte && a->size != 1)
		return operand_bad(t, "a high byte register with a size other than 1");
	return true;
}

static bool parse(struct operand_text t, struct usdt_site *out)
{
	out->spec = t.p;
	out->n_args = 0;
	out->bad = NULL;
	for (;;) {
		while (is_blank(*t.p))
			t.p++;
		if (!*t.p)
			break;
		if (out->n_args == USDT_ARGS_MAX)
			operand_bad(&t, "more than 12 arguments");
		if (t.why || !argument(&t, &out->args[out->n_args]))
			break;
		out->n_args++;
	}
	out->bad = t.why;
	out->bad_args = t.why != NULL;
	return !out->bad_args;
}

bool usdt_parse(const char *spec, struct usdt_site *out)
{
	return parse((struct operand_text){ .p = spec }, out);
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
	struct variables v = { .elf = w->elf, .looked_up = &w->looked_up };
	struct operand_text t = { .variable = variable, .ctx = &v };
	struct note_head h;

	if (note->n < sizeof(h))
		return "it is too short";
	memcpy(&h, note->desc, sizeof(h));
	s->provider = next_string(&p, end);
	s->name = s->provider ? next_string(&p, end) : NULL;
	spec = s->name ? next_string(&p, end) : NULL;
	if (!spec)
		return "its names do not end";
	t.p = spec;
	if (!site_place(w, &h, s))
		return "its address is outside the file";
	elf_vaddr(w->elf, s->offset, &t.pc);
	parse(t, s);
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
