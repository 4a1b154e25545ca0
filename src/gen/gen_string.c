/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Comparing strings. With a literal the words of the literal are compared; two strings of
 * unknown content are walked byte by byte in a bounded loop. Other values are compared word by
 * word, which is right because equal values have equal bytes; tuples part by part, because the
 * strings in them may be of different sizes and hold anything behind their NUL.
 */
#include "gen/emit.h"

#include <string.h>

/* Compares m with the first n bytes of text (n may include its NUL); jumps when different. */
static void match_literal(struct gen *g, struct mem m, const char *text, u32 n, u32 differ)
{
	struct code *c = &g->c;

	for (u32 i = 0; i < n;) {
		u32 left = n - i, size = left >= 8 ? 8 : left >= 4 ? 4 : left >= 2 ? 2 : 1;
		u64 want = 0;

		memcpy(&want, text + i, size);
		mem_load(g, size, R0, mem_at(m, (s32)i));
		if (want <= INT32_MAX) {
			code_if_imm(c, BPF_JNE, R0, (s32)want, differ);
		} else {
			code_const(c, R1, want);
			code_if(c, BPF_JNE, R0, R1, differ);
		}
		i += size;
	}
}

/* Walks both strings to their NUL, to `n` bytes at most. */
static void match_bytes(struct gen *g, struct mem a, struct mem b, u32 n, u32 differ)
{
	struct code *c = &g->c;
	u32 top = code_label(c), equal = code_label(c);

	mem_addr(g, a, R1);
	mem_addr(g, b, R2);
	code_const(c, R3, 0);
	code_bind(c, top);
	code_load(c, 1, R4, R1, 0);
	code_load(c, 1, R5, R2, 0);
	code_if(c, BPF_JNE, R4, R5, differ);
	code_if_imm(c, BPF_JEQ, R4, 0, equal);
	code_alu_imm(c, BPF_ADD, R1, 1);
	code_alu_imm(c, BPF_ADD, R2, 1);
	code_alu_imm(c, BPF_ADD, R3, 1);
	code_if_imm(c, BPF_JLT, R3, (s32)n, top);
	code_bind(c, equal);
}

static void match_words(struct gen *g, struct mem a, struct mem b, u32 size, u32 differ)
{
	for (u32 i = 0; i < size; i += 8) {
		mem_load(g, 8, R0, mem_at(a, (s32)i));
		mem_load(g, 8, R1, mem_at(b, (s32)i));
		code_if(&g->c, BPF_JNE, R0, R1, differ);
	}
}

static void match_literal_node(struct gen *g, const struct node *text, const struct node *other,
                               u32 limit, u32 differ)
{
	u32 n = text->string.n + 1; /* with the NUL: the other must end there too */
	char *copy = arena_strndup(&g->u->arena, text->string.p, text->string.n);

	if (limit && limit < n)
		n = limit;
	if (n > other->type->size) {
		code_goto(&g->c, differ); /* longer than the other can be */
		return;
	}
	match_literal(g, gen_place(g, other), copy, n, differ);
}

/* limit: of bytes of a string, 0 none. */
static void match_values(struct gen *g, struct mem a, const struct type *at, struct mem b,
                         const struct type *bt, u32 limit, u32 differ)
{
	u32 n = MIN(at->size, bt->size);

	if (at->kind == TYPE_TUPLE) {
		for (u32 i = 0; i < at->n_fields; i++) {
			const struct field *other = &bt->fields[type_part(bt, at, i)];

			match_values(g, mem_at(a, (s32)at->fields[i].off), at->fields[i].type,
			             mem_at(b, (s32)other->off), other->type, 0, differ);
		}
	} else if (at->kind == TYPE_STR) {
		match_bytes(g, a, b, limit ? MIN(limit, n) : n, differ);
	} else {
		match_words(g, a, b, MIN(type_slot(at), type_slot(bt)), differ);
	}
}

/* Two places that stay valid while both are computed. */
static void match_nodes(struct gen *g, const struct node *a, const struct node *b, u32 limit,
                        u32 differ)
{
	struct mem ma = gen_place(g, a), mb = gen_place(g, b);

	match_values(g, ma, a->type, mb, b->type, limit, differ);
}

void gen_string_eq(struct gen *g, const struct node *a, const struct node *b, u32 limit)
{
	struct code *c = &g->c;
	struct mark m = frame_mark(g);
	u32 differ = code_label(c), done = code_label(c);

	if (b->kind == NODE_STRING)
		match_literal_node(g, b, a, limit, differ);
	else if (a->kind == NODE_STRING)
		match_literal_node(g, a, b, limit, differ);
	else
		match_nodes(g, a, b, limit, differ);
	code_const(c, R0, 1);
	code_goto(c, done);
	code_bind(c, differ);
	code_const(c, R0, 0);
	code_bind(c, done);
	frame_release(g, m);
}
