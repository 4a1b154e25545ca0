/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Iterators: programs that run once for each object of a kind when somebody reads their file.
 *
 * The context is a struct bpf_iter__NAME: word 0 points to the read at work (its first word to
 * the file), word 1 to the object, NULL in a last call after the end, which scripts do not see.
 *
 * Two readers there are. memtap itself takes records from the ring as everywhere; the program
 * puts one byte into the file for each object that sent some, so that a short read returns
 * before the ring is full. Of a pinned iterator anybody reads the file, so there printf() writes
 * text into it, by the kernel's own formats (bpf_seq_printf; Linux 5.8).
 */
#include "gen/emit.h"

#include <string.h>

#include "unit/format.h"

#define META       0 /* words of the context */
#define OBJECT     8
#define SEQ_FILE   0 /* first word of struct bpf_iter_meta */
#define VALUES_MAX 12u
#define TEXT_MAX   256u

static bool is_pinned(const struct gen *g)
{
	return attach_kind_has(g->v->kind, KIND_READ) && g->v->sites.n && g->v->sites.v[0].path;
}

void gen_iter_skip_end(struct gen *g, u32 out)
{
	if (!attach_kind_has(g->v->kind, KIND_READ))
		return;
	code_load(&g->c, 8, R0, CTX, OBJECT);
	code_if_imm(&g->c, BPF_JEQ, R0, 0, out);
}

/* r1 = the file being read. */
static void load_file(struct gen *g)
{
	code_load(&g->c, 8, R1, CTX, META);
	code_load(&g->c, 8, R1, R1, SEQ_FILE);
}

void gen_iter_poke(struct gen *g)
{
	struct mark m = frame_mark(g);
	struct mem byte;

	if (!attach_kind_has(g->v->kind, KIND_READ) || !g->sent)
		return;
	byte = frame_alloc(g, 8);
	mem_store_imm(g, 8, byte, 0);
	load_file(g);
	mem_addr(g, byte, R2);
	code_const(&g->c, R3, 1);
	code_call(&g->c, BPF_FUNC_seq_write);
	frame_release(g, m);
}

/* ---- printf into the file ------------------------------------------------------------------- */

/* Our directive as the kernel writes it: integers are words there. NULL when it has no such. */
static const char *kernel_directive(struct gen *g, const struct format_part *p)
{
	struct arena *a = &g->u->arena;
	const char *flags = arena_printf(a, "%s%s%s%s%s", p->minus ? "-" : "", p->plus ? "+" : "",
	                                 p->space ? " " : "", p->hash ? "#" : "",
	                                 p->zero ? "0" : "");

	if (p->precision >= 0 || strlen(flags) > 1)
		return NULL;
	if (p->width)
		flags = arena_printf(a, "%s%u", flags, p->width);
	switch (p->conv) {
	case 'd':
	case 'i':
	case 'u':
	case 'x':
		return arena_printf(a, "%%%sll%c", flags, p->conv);
	case 'p':
		return arena_printf(a, "0x%%%sllx", flags);
	case 's':
		return arena_printf(a, "%%%ss", flags);
	default:
		return NULL;
	}
}

static const char *kernel_format(struct gen *g, const struct node *n)
{
	const char *text = arena_strndup(&g->u->arena, n->call.args->string.p,
	                                 n->call.args->string.n);
	const char *p = text, *problem, *done;
	struct buf b = { 0 };
	struct format_part part;

	while (format_next(&p, &part, &problem)) {
		const char *directive = part.has_directive ? kernel_directive(g, &part) : "";

		if (!directive) {
			gen_error(g, n->loc, "printf() of a pinned iterator has no %.*s",
			          STR_ARG(part.text));
			break;
		}
		/* A literal part may end in the one percent sign that was written as two. */
		for (u32 i = 0; i < part.literal.n; i++) {
			buf_putc(&b, part.literal.p[i]);
			if (part.literal.p[i] == '%')
				buf_putc(&b, '%');
		}
		buf_puts(&b, directive);
	}
	done = arena_strdup(&g->u->arena, buf_text(&b));
	buf_free(&b);
	return done;
}

static void put_value(struct gen *g, const struct node *a, struct mem word)
{
	struct mem place;

	switch (a->type->kind) {
	case TYPE_INT:
	case TYPE_BOOL:
	case TYPE_PTR:
		gen_value(g, a);
		mem_store(g, 8, word, R0);
		break;
	case TYPE_STR:
		place = frame_alloc(g, type_slot(a->type));
		gen_store(g, a, a->type, place, false);
		mem_addr(g, place, R0);
		mem_store(g, 8, word, R0);
		break;
	default:
		gen_error(g, a->loc, "printf() of a pinned iterator takes numbers and strings");
	}
}

/* What printf() shows: of a row the items. */
static const struct node *shown(struct gen *g, const struct node *n)
{
	const struct node *record = n->call.args->next;

	if (!n->call.row)
		return record;
	if (record->kind != NODE_TUPLE) {
		gen_error(g, record->loc,
		          "printf() of a pinned iterator takes a record that is written out there");
		return NULL;
	}
	return record->tuple.items;
}

static u32 count_list(const struct node *n)
{
	u32 count = 0;

	for (; n; n = n->next)
		count++;
	return count;
}

static void seq_printf(struct gen *g, const struct node *n)
{
	const char *text = kernel_format(g, n);
	const struct node *values = shown(g, n);
	u32 size = (u32)strlen(text) + 1, count = count_list(values), i = 0;
	struct mark m = frame_mark(g);
	struct mem format, words;

	if (size > TEXT_MAX || count > VALUES_MAX) {
		gen_error(g, n->loc,
		          "printf() of a pinned iterator takes up to %u characters and %u values",
		          TEXT_MAX - 1, VALUES_MAX);
		return;
	}
	words = frame_alloc(g, MAX(count, 1u) * 8);
	format = frame_alloc(g, ROUND_UP(size, 8u));
	for (const struct node *a = values; a; a = a->next)
		put_value(g, a, mem_at(words, (s32)(8 * i++)));
	gen_literal(g, str_of(text), size, format, false);
	load_file(g);
	mem_addr(g, format, R2);
	code_const(&g->c, R3, size);
	if (count)
		mem_addr(g, words, R4);
	else
		code_const(&g->c, R4, 0);
	code_const(&g->c, R5, count * 8);
	code_call(&g->c, BPF_FUNC_seq_printf);
	frame_release(g, m);
}

bool gen_iter_print(struct gen *g, const struct node *n)
{
	if (!is_pinned(g))
		return false;
	if (n->call.f->id == FUNC_PRINTF)
		seq_printf(g, n);
	else
		gen_error(g, n->loc,
		          "%s() is carried out by memtap, which a pinned iterator does without",
		          n->call.f->name);
	return true;
}
