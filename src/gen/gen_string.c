/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Comparing strings. With a literal the words of the literal are compared; two strings of
 * unknown content are walked word by word in a bounded loop. Other values are compared word by
 * word, which is right because equal values have equal bytes; tuples part by part, because the
 * strings in them may be of different sizes and hold anything after their NUL.
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

/* r4 and r5, words of both strings: jumps when they differ before a NUL or there is one; goes on
 * when all their bytes are the same and none is 0. r0 gets 0x80 in the place of the first NUL of
 * r4: others after it may be wrong. */
static void match_word(struct gen *g, u32 equal, u32 differ)
{
	struct code *c = &g->c;
	u32 same = code_label(c);

	code_const(c, R0, ~0x0101010101010101ull + 1);
	code_alu(c, BPF_ADD, R0, R4);
	code_alu(c, BPF_XOR, R5, R4);
	code_alu_imm(c, BPF_XOR, R4, -1);
	code_alu(c, BPF_AND, R0, R4);
	code_const(c, R4, 0x8080808080808080ull);
	code_alu(c, BPF_AND, R0, R4);
	code_if_imm(c, BPF_JEQ, R5, 0, same);
	code_mov(c, R4, R0); /* the lowest bit of each: which one comes first? */
	code_alu_imm(c, BPF_NEG, R4, 0);
	code_alu(c, BPF_AND, R4, R0);
	code_if_imm(c, BPF_JEQ, R4, 0, differ);
	code_mov(c, R0, R5);
	code_alu_imm(c, BPF_NEG, R0, 0);
	code_alu(c, BPF_AND, R0, R5);
	code_if(c, BPF_JGE, R4, R0, differ);
	code_goto(c, equal);
	code_bind(c, same);
	code_if_imm(c, BPF_JNE, R0, 0, equal);
}

/* Walks both strings to their NUL, to `n` bytes at most. A word at a time: the kernel follows each
 * round, and what it does not know of each. */
static void match_text(struct gen *g, struct mem a, struct mem b, u32 n, u32 differ)
{
	struct code *c = &g->c;
	u32 top = code_label(c), equal = code_label(c);
	u32 words = n / 8, rest = n % 8, first;

	mem_addr(g, a, R1);
	mem_addr(g, b, R2);
	code_const(c, R3, 0);
	code_bind(c, top);
	first = c->insns.n;
	code_load(c, 8, R4, R1, 0);
	code_load(c, 8, R5, R2, 0);
	if (words) {
		match_word(g, equal, differ);
		code_alu_imm(c, BPF_ADD, R1, 8);
		code_alu_imm(c, BPF_ADD, R2, 8);
		code_alu_imm(c, BPF_ADD, R3, 1);
		code_if_imm(c, BPF_JLT, R3, (s32)words, top);
		gen_repeat(g, first, words);
	}
	if (words && rest) {
		code_load(c, 8, R4, R1, 0);
		code_load(c, 8, R5, R2, 0);
	}
	if (rest) {
		code_alu(c, BPF_XOR, R5,
		         R4); /* what is not asked for does not differ, and ends it */
		code_alu_imm(c, BPF_LSH, R4, (s32)(64 - rest * 8));
		code_alu_imm(c, BPF_RSH, R4, (s32)(64 - rest * 8));
		code_alu_imm(c, BPF_LSH, R5, (s32)(64 - rest * 8));
		code_alu_imm(c, BPF_RSH, R5, (s32)(64 - rest * 8));
		code_alu(c, BPF_XOR, R5, R4);
		match_word(g, equal, differ);
	}
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
		match_text(g, a, b, limit ? MIN(limit, n) : n, differ);
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
