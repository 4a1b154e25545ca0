/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Looking for a string in another, comparing bytes, joining two strings, numbers as text.
 *
 * The verifier follows a loop round by round, so a search costs it the product of both lengths.
 * Where that is too much, and in loops, the kernel calls a function of ours for each start instead
 * (bpf_loop, Linux 5.17), which is followed once.
 */
#include "gen/emit.h"

#define SEARCHED_MAX 6144u /* branches of searches in a program, of the 8192 it may have open */

static u32 room_of(const struct type *t)
{
	return t->count ? MIN(t->count, t->size) : t->size;
}

/* ---- a short literal: its bytes in a row, at one start after the other ---------------------- */

#define LITERAL_MAX 64u /* bytes: two instructions each */
#define STARTS_FEW  64u /* tried in a loop of the program, whatever else there is */

/* To `found` when `part` is at r1, to `ended` when it is not and the text ends there; else it
 * falls through. Changes r3 only. */
static void try_literal(struct gen *g, struct str part, u32 found, u32 ended)
{
	struct code *c = &g->c;
	u32 next = code_label(c);

	for (u32 i = 0; i < part.n; i++) {
		code_load(c, 1, R3, R1, (s32)i);
		code_if_imm(c, BPF_JNE, R3, (u8)part.p[i], next);
	}
	code_goto(c, found);
	code_bind(c, next);
	code_load(c, 1, R3, R1, 0);
	code_if_imm(c, BPF_JEQ, R3, 0, ended);
}

struct literal {
	struct mem text, found; /* found: a word of the frame, the start or -1 */
	u32 starts;
	struct str part;
};

/* The callback, for start r1. */
static void try_start_of_literal(struct gen *g, const void *what)
{
	const struct literal *l = what;
	struct code *c = &g->c;
	u32 found = code_label(c), ended = code_label(c);

	code_mov(c, R2, R1);
	code_if_imm(c, BPF_JGE, R2, (s32)l->starts, ended);
	mem_addr(g, l->text, R1);
	code_alu(c, BPF_ADD, R1, R2);
	try_literal(g, l->part, found, ended);
	gen_go_on(g);
	code_bind(c, found);
	mem_store(g, 8, l->found, R2);
	code_bind(c, ended);
	gen_stop(g);
}

static void find_by_calls(struct gen *g, struct mem m, u32 starts, struct str part)
{
	struct literal *l = arena_new(&g->u->arena, struct literal);

	*l = (struct literal){ m, frame_alloc(g, 8), starts, part };
	mem_store_imm(g, 8, l->found, -1);
	code_const(&g->c, R1, starts);
	gen_call_loop(g, gen_callback(g, try_start_of_literal, l, R2));
	mem_load(g, 8, R0, l->found);
}

static u32 starts_of(u32 size, struct str part)
{
	return size > part.n ? size - part.n : 0;
}

/*
 * Whether each start of a search that makes so many branches is to be a call, which costs ten times
 * what a start does in place: in a loop, which the verifier may follow round by round, and when the
 * program has more branches by searches than it keeps open.
 */
static bool wants_calls(const struct gen *g, u32 branches)
{
	return branches && gen_has_calls(g) &&
	       (g->loop_depth || g->searched + branches > SEARCHED_MAX);
}

/* r0 = where `part` starts in the text at `m`, or -1. */
static void find_literal(struct gen *g, struct mem m, u32 starts, struct str part)
{
	struct code *c = &g->c;
	u32 top = code_label(c), no = code_label(c), done = code_label(c), first;
	u32 branches = starts > STARTS_FEW ? starts * (part.n + 1) : 0;

	if (!part.n || !starts) {
		code_const(c, R0, part.n ? (u64)-1 : 0);
		return;
	}
	if (wants_calls(g, branches)) {
		find_by_calls(g, m, starts, part);
		return;
	}
	g->searched += branches;
	mem_addr(g, m, R1);
	code_const(c, R0, 0);
	code_bind(c, top);
	first = c->insns.n;
	try_literal(g, part, done, no);
	code_alu_imm(c, BPF_ADD, R1, 1);
	code_alu_imm(c, BPF_ADD, R0, 1);
	code_if_imm(c, BPF_JLT, R0, (s32)starts, top);
	gen_repeat(g, first, starts);
	code_bind(c, no);
	code_const(c, R0, (u64)-1);
	code_bind(c, done);
}

/* ---- anything: a call for each start --------------------------------------------------------- */

/* Words of the frame: the start that is tried, what came of it, and the start that fits. */
struct search {
	struct mem text, part, start, state, found;
	u32 text_size, part_size;
};

enum state { FITS, DIFFERS, TEXT_ENDS };

/* r = the byte of m at the offset in `at`; jumps to `out` when that is not below its size. */
static void byte_at(struct gen *g, struct mem m, u32 size, enum reg at, enum reg r, u32 out)
{
	code_if_imm(&g->c, BPF_JGE, at, (s32)size, out);
	mem_addr(g, m, r);
	code_alu(&g->c, BPF_ADD, r, at);
	code_load(&g->c, 1, r, r, 0);
}

static void leave_with(struct gen *g, const struct search *s, enum state state)
{
	mem_store_imm(g, 8, s->state, (s32)state);
	gen_stop(g);
}

/* The inner callback: is byte r1 of the part the one at start + r1 of the text? */
static void compare_byte(struct gen *g, const void *what)
{
	const struct search *s = what;
	struct code *c = &g->c;
	u32 fits = code_label(c), end = code_label(c), differs = code_label(c);

	byte_at(g, s->part, s->part_size, R1, R4, fits);
	code_if_imm(c, BPF_JEQ, R4, 0, fits);
	mem_load(g, 8, R2, s->start);
	code_alu(c, BPF_ADD, R2, R1);
	byte_at(g, s->text, s->text_size, R2, R3, end);
	code_if_imm(c, BPF_JEQ, R3, 0, end);
	code_if(c, BPF_JNE, R3, R4, differs);
	gen_go_on(g);
	code_bind(c, fits);
	gen_stop(g);
	code_bind(c, end);
	leave_with(g, s, TEXT_ENDS);
	code_bind(c, differs);
	leave_with(g, s, DIFFERS);
}

/* The callback: does the part stand at start r1? */
static void try_start(struct gen *g, const void *what)
{
	const struct search *s = what;
	struct code *c = &g->c;
	u32 on = code_label(c), end = code_label(c);

	mem_store(g, 8, s->start, R1);
	mem_store_imm(g, 8, s->state, FITS);
	code_const(c, R1, s->part_size);
	gen_call_loop(g, gen_callback(g, compare_byte, s, R2));
	mem_load(g, 8, R0, s->state);
	code_if_imm(c, BPF_JEQ, R0, DIFFERS, on);
	code_if_imm(c, BPF_JEQ, R0, TEXT_ENDS, end);
	mem_load(g, 8, R0, s->start);
	mem_store(g, 8, s->found, R0);
	code_bind(c, end);
	gen_stop(g);
	code_bind(c, on);
	gen_go_on(g);
}

static void find_any(struct gen *g, const struct node *text, const struct node *part)
{
	struct search *s = arena_new(&g->u->arena, struct search);

	s->text = gen_place(g, text);
	s->part = gen_place(g, part);
	s->text_size = room_of(text->type);
	s->part_size = room_of(part->type);
	s->start = frame_alloc(g, 8);
	s->state = frame_alloc(g, 8);
	s->found = frame_alloc(g, 8);
	mem_store_imm(g, 8, s->start, 0);
	mem_store_imm(g, 8, s->state, FITS);
	mem_store_imm(g, 8, s->found, -1);
	code_const(&g->c, R1, s->text_size);
	gen_call_loop(g, gen_callback(g, try_start, s, R2));
	mem_load(g, 8, R0, s->found);
}

void gen_text_find(struct gen *g, const struct node *text, const struct node *part)
{
	struct mark m = frame_mark(g);

	if (part->kind == NODE_STRING && part->string.n <= LITERAL_MAX)
		find_literal(g, gen_place(g, text), starts_of(room_of(text->type), part->string),
		             part->string);
	else
		find_any(g, text, part);
	frame_release(g, m);
}

/* ---- one of a few bytes, from a place on; a part of a string --------------------------------- */

/* `from` and `at` are words of the frame: where the search starts, and what it has found. */
struct stops {
	struct mem text, from, at;
	u32 size;
	struct str bytes;
};

/* The callback: is byte r1 after the start one of them, or the end? */
static void try_byte(struct gen *g, const void *what)
{
	const struct stops *s = what;
	struct code *c = &g->c;
	u32 found = code_label(c), beyond = code_label(c);

	mem_load(g, 8, R2, s->from);
	code_alu(c, BPF_ADD, R2, R1);
	byte_at(g, s->text, s->size, R2, R3, beyond);
	code_if_imm(c, BPF_JEQ, R3, 0, found);
	for (u32 i = 0; i < s->bytes.n; i++)
		code_if_imm(c, BPF_JEQ, R3, (u8)s->bytes.p[i], found);
	gen_go_on(g);
	code_bind(c, found);
	mem_store(g, 8, s->at, R2);
	code_bind(c, beyond);
	gen_stop(g);
}

/* What is beyond the room of the string is its end. */
void gen_text_first_of(struct gen *g, const struct node *text, const struct node *from,
                       struct str bytes)
{
	struct mark m = frame_mark(g);
	struct stops *s = arena_new(&g->u->arena, struct stops);

	s->text = gen_place(g, text);
	s->size = room_of(text->type);
	s->bytes = bytes;
	s->from = frame_alloc(g, 8);
	s->at = frame_alloc(g, 8);
	gen_value(g, from);
	mem_store(g, 8, s->from, R0);
	mem_store_imm(g, 8, s->at, (s32)s->size - 1);
	code_const(&g->c, R1, s->size);
	gen_call_loop(g, gen_callback(g, try_byte, s, R2));
	mem_load(g, 8, R0, s->at);
	frame_release(g, m);
}

/* r3 = address of the string's byte number r0, of its last one if r0 is beyond that. */
static void address_in(struct gen *g, struct mem text, u32 size)
{
	u32 inside = code_label(&g->c);

	code_if_imm(&g->c, BPF_JLT, R0, (s32)size, inside);
	code_const(&g->c, R0, size - 1);
	code_bind(&g->c, inside);
	mem_addr(g, text, R3);
	code_alu(&g->c, BPF_ADD, R3, R0);
}

void gen_text_part(struct gen *g, const struct node *n, const struct type *t, struct mem dst,
                   bool pad)
{
	const struct node *text = n->call.args, *from = text->next, *len = from->next;
	u32 size = MIN(gen_room(t), gen_room(n->type)), ok = code_label(&g->c);
	struct mem whole = gen_place(g, text);
	struct temp start, length;

	gen_value(g, from);
	start = temp_save(g, R0);
	gen_value(g, len);
	code_if_imm(&g->c, BPF_JLT, R0, (s32)size, ok);
	code_const(&g->c, R0, size - 1);
	code_bind(&g->c, ok);
	length = temp_save(g, R0);
	if (pad || dst.base == MEM_STACK)
		mem_zero(g, dst, 0, type_slot(t));
	temp_load(g, start, R0);
	address_in(g, whole, room_of(text->type));
	gen_probe_read_str(g, SPACE_KERNEL, dst, size, &length, false, n->loc);
}

/* ---- bytes ---------------------------------------------------------------------------------- */

/* The first n bytes of a value in memory of ours: a pointer's target is read. */
static struct mem bytes_of(struct gen *g, const struct node *a, u32 n)
{
	struct mem m;
	enum space space;

	if (a->type->kind != TYPE_PTR) {
		m = gen_place(g, a);
		return a->type->kind == TYPE_BUF ? mem_at(m, 8) : m;
	}
	m = frame_alloc(g, n);
	space = gen_space(g, a);
	gen_value(g, a);
	code_mov(&g->c, R3, R0);
	gen_probe_read(g, space, n, m, a->loc);
	return m;
}

void gen_text_compare(struct gen *g, const struct node *a, const struct node *b, u32 n)
{
	struct mark m = frame_mark(g);
	struct code *c = &g->c;
	u32 top = code_label(c), done = code_label(c), first;
	struct mem left = bytes_of(g, a, n), right = bytes_of(g, b, n);

	mem_addr(g, left, R1);
	mem_addr(g, right, R2);
	code_const(c, R3, 0);
	code_bind(c, top);
	first = c->insns.n;
	code_load(c, 1, R0, R1, 0);
	code_load(c, 1, R4, R2, 0);
	code_alu(c, BPF_SUB, R0, R4);
	code_if_imm(c, BPF_JNE, R0, 0, done);
	code_alu_imm(c, BPF_ADD, R1, 1);
	code_alu_imm(c, BPF_ADD, R2, 1);
	code_alu_imm(c, BPF_ADD, R3, 1);
	code_if_imm(c, BPF_JLT, R3, (s32)n, top);
	gen_repeat(g, first, n);
	code_bind(c, done);
	frame_release(g, m);
}

void gen_text_write_user(struct gen *g, const struct node *to, const struct node *what, u32 n)
{
	struct mark m = frame_mark(g);
	struct temp address;
	struct mem bytes;

	gen_value(g, to);
	address = temp_save(g, R0);
	bytes = bytes_of(g, what, n);
	temp_load(g, address, R1);
	mem_addr(g, bytes, R2);
	code_const(&g->c, R3, n);
	code_call(&g->c, BPF_FUNC_probe_write_user);
	frame_release(g, m);
}

/* ---- joining -------------------------------------------------------------------------------- */

/*
 * Both strings are put into memory that has room for both, the second where the first one's NUL
 * was; then what fits goes to dst. The offset is shown to the verifier to be below the first's
 * size.
 */
void gen_text_concat(struct gen *g, const struct node *n, const struct type *t, struct mem dst,
                     bool pad)
{
	const struct node *a = n->call.args, *b = a->next;
	u32 first = type_slot(a->type), second = type_slot(b->type);
	struct mem left = gen_place(g, a), right = gen_place(g, b);
	struct mem both = frame_alloc(g, first + second);
	struct code *c = &g->c;
	u32 empty = code_label(c), full = code_label(c), room = MIN(gen_room(t), first + second);

	mem_zero(g, both, 0, first + second);
	mem_addr(g, both, R1);
	code_const(c, R2, first);
	mem_addr(g, left, R3);
	code_call(c, BPF_FUNC_probe_read_kernel_str);
	code_if_imm(c, BPF_JSLE, R0, 0, empty);
	code_alu_imm(c, BPF_SUB, R0, 1);
	code_bind(c, empty);
	code_if_imm(c, BPF_JGE, R0, (s32)first, full);
	mem_addr(g, both, R1);
	code_alu(c, BPF_ADD, R1, R0);
	code_const(c, R2, second);
	mem_addr(g, right, R3);
	code_call(c, BPF_FUNC_probe_read_kernel_str);
	code_bind(c, full);
	if (pad || dst.base == MEM_STACK)
		mem_zero(g, dst, 0, type_slot(t));
	mem_addr(g, dst, R1);
	code_const(c, R2, room);
	mem_addr(g, both, R3);
	code_call(c, BPF_FUNC_probe_read_kernel_str);
	if (!n->type->bounded)
		gen_count_cut(g, room, n->loc);
}

/* ---- numbers -------------------------------------------------------------------------------- */

#define DIGITS 20u /* of 2^64 - 1 */
#define ROOM   24u /* for them, a sign before and a NUL after */

/* Digits of r0 (read as unsigned) into the memory at r1, from its end on; r4 = where the first
 * is. */
static void digits(struct gen *g)
{
	struct code *c = &g->c;
	u32 top = code_label(c), done = code_label(c), first;

	code_const(c, R4, ROOM - 2);
	code_bind(c, top);
	first = c->insns.n;
	code_mov(c, R2, R0);
	code_alu_imm(c, BPF_DIV, R0, 10);
	code_mov(c, R3, R0);
	code_alu_imm(c, BPF_MUL, R3, 10);
	code_alu(c, BPF_SUB, R2, R3);
	code_alu_imm(c, BPF_ADD, R2, '0');
	code_mov(c, R3, R1);
	code_alu(c, BPF_ADD, R3, R4);
	code_store(c, 1, R3, 0, R2);
	code_if_imm(c, BPF_JEQ, R0, 0, done);
	code_alu_imm(c, BPF_SUB, R4, 1);
	code_if_imm(c, BPF_JGE, R4, ROOM - 1 - DIGITS, top);
	gen_repeat(g, first, DIGITS);
	code_bind(c, done);
}

/* The same for a signed r0, with its sign. */
static void signed_digits(struct gen *g)
{
	struct code *c = &g->c;
	u32 positive = code_label(c), done = code_label(c);

	code_mov(c, R5, R0);
	code_if_imm(c, BPF_JSGE, R0, 0, positive);
	code_alu_imm(c, BPF_NEG, R0, 0);
	code_bind(c, positive);
	digits(g);
	code_if_imm(c, BPF_JSGE, R5, 0, done);
	code_alu_imm(c, BPF_SUB, R4, 1);
	code_mov(c, R3, R1);
	code_alu(c, BPF_ADD, R3, R4);
	code_store_imm(c, 1, R3, 0, '-');
	code_bind(c, done);
}

void gen_text_decimal(struct gen *g, const struct node *n, const struct type *t, struct mem dst,
                      bool pad)
{
	const struct node *e = n->call.args;
	struct mem room = frame_alloc(g, ROOM), start = frame_alloc(g, 8);
	struct code *c = &g->c;

	gen_value(g, e);
	mem_zero(g, room, 0, ROOM);
	mem_addr(g, room, R1);
	if (e->type->is_signed)
		signed_digits(g);
	else
		digits(g);
	mem_store(g, 8, start, R4);
	if (pad || dst.base == MEM_STACK)
		mem_zero(g, dst, 0, type_slot(t));
	mem_addr(g, dst, R1);
	code_const(c, R2, MIN(type_slot(t), ROOM));
	mem_addr(g, room, R3);
	mem_load(g, 8, R4, start);
	code_alu_imm(c, BPF_AND, R4, 31); /* for the verifier, which has forgotten it */
	code_alu(c, BPF_ADD, R3, R4);
	code_call(c, BPF_FUNC_probe_read_kernel_str);
	if (type_slot(t) < ROOM)
		gen_count_cut(g, type_slot(t), n->loc);
}
