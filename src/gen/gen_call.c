/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Functions with a value: one row each, scalar results in r0 or larger ones into memory.
 * Functions that send a record to user space are in gen_record.c.
 */
#include "gen/emit.h"

#include <arpa/inet.h>
#include <string.h>

#include "arch/arch.h"

#define AF_INET_NUMBER  2
#define AF_INET6_NUMBER 10

static struct node *arg(const struct node *n, u32 i)
{
	struct node *a = n->call.args;

	while (a && i--)
		a = a->next;
	return a;
}

/* ---- scalar results ------------------------------------------------------------------------- */

static void call_first(struct gen *g, const struct node *n)
{
	gen_value(g, n->call.args);
}

static void call_reg(struct gen *g, const struct node *n)
{
	code_load(&g->c, 8, R0, CTX, arch_reg(n->call.args->string)->at);
}

static void call_nsecs(struct gen *g, const struct node *n)
{
	const struct node *mode = n->call.args;
	u32 helper = BPF_FUNC_ktime_get_boot_ns;

	if (mode && str_is(mode->string, "monotonic"))
		helper = BPF_FUNC_ktime_get_ns;
	else if (mode && (str_is(mode->string, "tai") || str_is(mode->string, "sw_tai")))
		helper = BPF_FUNC_ktime_get_tai_ns;
	code_call(&g->c, helper);
}

static void call_bswap(struct gen *g, const struct node *n)
{
	u32 size = n->type->size;

	gen_value(g, n->call.args);
	if (size > 1)
		code_bswap(&g->c, R0, size * 8);
}

static void call_signal(struct gen *g, const struct node *n)
{
	gen_value(g, n->call.args);
	code_mov(&g->c, R1, R0);
	code_call(&g->c, n->call.f->id == FUNC_SIGNAL ? BPF_FUNC_send_signal
	                                              : BPF_FUNC_send_signal_thread);
}

/* Copying a string counts it: the helper returns the length with its NUL. */
static void call_strlen(struct gen *g, const struct node *n)
{
	const struct node *s = n->call.args;
	struct mem text = gen_place(g, s), copy = frame_alloc(g, type_slot(s->type));
	u32 empty = code_label(&g->c);

	mem_zero(g, copy, 0, copy.base == MEM_STACK ? type_slot(s->type) : 0);
	mem_addr(g, copy, R1);
	code_const(&g->c, R2, type_slot(s->type));
	mem_addr(g, text, R3);
	code_call(&g->c, BPF_FUNC_probe_read_kernel_str);
	code_if_imm(&g->c, BPF_JSLE, R0, 0, empty);
	code_alu_imm(&g->c, BPF_SUB, R0, 1);
	code_bind(&g->c, empty);
}

/* 0 when the first n bytes are equal, as in C. */
static void call_strncmp(struct gen *g, const struct node *n)
{
	gen_string_eq(g, arg(n, 0), arg(n, 1), (u32)arg(n, 2)->integer.value);
	code_alu_imm(&g->c, BPF_XOR, R0, 1);
}

static void call_strstr(struct gen *g, const struct node *n)
{
	gen_text_find(g, arg(n, 0), arg(n, 1));
}

static void call_first_of(struct gen *g, const struct node *n)
{
	gen_text_first_of(g, arg(n, 0), arg(n, 1), arg(n, 2)->string);
}

static void call_strcontains(struct gen *g, const struct node *n)
{
	gen_text_find(g, arg(n, 0), arg(n, 1));
	code_alu_imm(&g->c, BPF_RSH, R0, 63); /* of -1 only */
	code_alu_imm(&g->c, BPF_XOR, R0, 1);
}

static void call_memcmp(struct gen *g, const struct node *n)
{
	gen_text_compare(g, arg(n, 0), arg(n, 1), (u32)arg(n, 2)->integer.value);
}

static void call_write_user(struct gen *g, const struct node *n)
{
	gen_text_write_user(g, arg(n, 0), arg(n, 1), (u32)arg(n, 2)->integer.value);
}

static void call_override(struct gen *g, const struct node *n)
{
	gen_value(g, n->call.args);
	code_mov(&g->c, R2, R0);
	code_mov(&g->c, R1, CTX);
	code_call(&g->c, BPF_FUNC_override_return);
}

/* The kernel formats it into its own trace; of a string it gets the address. */
static void call_debugf(struct gen *g, const struct node *n)
{
	const struct node *format = n->call.args;
	u32 size = ROUND_UP(format->string.n + 1, 8u), i = 0;
	struct mem text = frame_alloc(g, size);
	struct temp values[3];

	for (const struct node *a = format->next; a && i < ARRAY_SIZE(values); a = a->next) {
		if (a->type->kind == TYPE_STR)
			mem_addr(g, gen_place(g, a), R0);
		else
			gen_value(g, a);
		values[i++] = temp_save(g, R0);
	}
	gen_literal(g, format->string, size, text, true);
	while (i-- > 0)
		temp_load(g, values[i], R3 + i);
	mem_addr(g, text, R1);
	code_const(&g->c, R2, format->string.n + 1);
	code_call(&g->c, BPF_FUNC_trace_printk);
}

/* A record is sent by a helper, whose result is 0 or an error, and nothing follows that changes
 * r0. */
static void call_sent(struct gen *g, const struct node *n)
{
	u32 sent = code_label(&g->c), end = code_label(&g->c);

	gen_record(g, n);
	code_if_imm(&g->c, BPF_JEQ, R0, 0, sent);
	code_const(&g->c, R0, 0);
	code_goto(&g->c, end);
	code_bind(&g->c, sent);
	code_const(&g->c, R0, 1);
	code_bind(&g->c, end);
}

static void call_delete(struct gen *g, const struct node *n)
{
	gen_map_delete(g, arg(n, 0), arg(n, 1));
}

static void call_has_key(struct gen *g, const struct node *n)
{
	gen_map_has(g, arg(n, 0), arg(n, 1));
}

/* A stack was stored with the number of its frames. */
static void call_len(struct gen *g, const struct node *n)
{
	const struct node *a = n->call.args;

	if (a->kind == NODE_MAP && !a->map.n_keys && a->map.sym->key)
		gen_each_count(g, a);
	else
		gen_stack_len(g, a->type, gen_place(g, a));
}

/* r0 = address of the bytes that a is or points to; returns their space. */
static enum space source_address(struct gen *g, const struct node *a)
{
	if (type_is_scalar(a->type)) {
		gen_value(g, a);
		return gen_space(g, a);
	}
	if (gen_is_foreign(a))
		return gen_address(g, a);
	mem_addr(g, gen_part(g, a), R0);
	return SPACE_KERNEL;
}

/* Six bytes in memory order in the low bytes of r0. */
static void call_macaddr(struct gen *g, const struct node *n)
{
	struct mem slot = frame_alloc(g, 8);
	enum space space = source_address(g, n->call.args);

	code_mov(&g->c, R3, R0);
	mem_store_imm(g, 8, slot, 0);
	gen_probe_read(g, space, 6, slot, n->loc);
	mem_load(g, 8, R0, slot);
}

static void call_strftime(struct gen *g, const struct node *n)
{
	gen_value(g, arg(n, 1));
}

/* The value is read when it is printed. */
static void call_loadavg(struct gen *g, const struct node *n)
{
	(void)n;
	code_const(&g->c, R0, 0);
}

/* ---- results in memory ---------------------------------------------------------------------- */

/* The length argument, at most `max`, kept in a temp. */
static struct temp clamped_length(struct gen *g, const struct node *len, u32 max)
{
	u32 ok = code_label(&g->c);

	gen_value(g, len);
	code_if_imm(&g->c, BPF_JLE, R0, (s32)max, ok);
	code_const(&g->c, R0, max);
	code_bind(&g->c, ok);
	return temp_save(g, R0);
}

bool gen_leaves_length(const struct node *n)
{
	const struct node *from = n->kind == NODE_CALL ? arg(n, 0) : NULL;

	return from && n->call.f->id == FUNC_STR &&
	       (arg(n, 1) || from->type->kind != TYPE_STR || gen_is_foreign(from));
}

/* str(p), str(p, n): n bytes at most, and the NUL. */
static void store_str(struct gen *g, const struct node *n, const struct type *t, struct mem dst,
                      bool pad)
{
	const struct node *from = arg(n, 0), *len = arg(n, 1);
	/* An array ends where it ends, with or without a NUL. */
	u32 most = from->type->kind == TYPE_ARRAY ? n->type->count : gen_room(n->type);
	u32 size = MIN(gen_room(t), most);
	bool own = from->type->kind == TYPE_STR && !gen_is_foreign(from);
	struct temp length = { 0 }, address;
	enum space space;

	if (own && !len) {
		gen_store(g, from, t, dst, pad);
		return;
	}
	if (len && len->kind != NODE_INT)
		length = clamped_length(g, len, size - 1);
	space = source_address(g, from);
	if (pad || dst.base == MEM_STACK) {
		address = temp_save(g, R0);
		mem_zero(g, dst, 0, type_slot(t));
		temp_load(g, address, R3);
	} else {
		code_mov(&g->c, R3, R0);
	}
	if (len && len->kind == NODE_INT)
		size = MIN(size, (u32)MIN(len->integer.value, 1u << 20) + 1);
	gen_probe_read_str(g, space, dst, size, len && len->kind != NODE_INT ? &length : NULL,
	                   !n->type->bounded, n->loc);
}

/* Bytes there are: after a value of ours lies something else. */
static u32 source_bytes(const struct node *a)
{
	if (type_is_scalar(a->type) || gen_is_foreign(a))
		return UINT32_MAX;
	return a->type->kind == TYPE_STR && a->type->count ? a->type->count : a->type->size;
}

u32 gen_buf_max(const struct node *n, const struct type *t)
{
	return MIN(MIN(t->count, n->type->count), source_bytes(arg(n, 0)));
}

enum space gen_buf_source(struct gen *g, const struct node *n, u32 max, struct temp *length,
                          struct temp *address)
{
	const struct node *len = arg(n, 1);
	enum space space;

	if (len) {
		*length = clamped_length(g, len, max);
	} else {
		code_const(&g->c, R0, max);
		*length = temp_save(g, R0);
	}
	space = source_address(g, arg(n, 0));
	*address = temp_save(g, R0);
	return space;
}

void gen_buf(struct gen *g, const struct node *n, const struct type *t, struct mem dst, bool pad)
{
	u32 max = gen_buf_max(n, t);
	struct temp length, address;
	enum space space = gen_buf_source(g, n, max, &length, &address);

	if (pad || dst.base == MEM_STACK)
		mem_zero(g, dst, 8, type_slot(t));
	temp_load(g, length, R0);
	mem_store(g, 8, dst, R0);
	temp_load(g, address, R3);
	gen_probe_read_part(g, space, max, &length, mem_at(dst, 8), n->loc);
}

static void store_usym(struct gen *g, const struct node *n, const struct type *t, struct mem dst,
                       bool pad)
{
	(void)t;
	(void)pad;
	gen_value(g, n->call.args);
	mem_store(g, 8, dst, R0);
	gen_pid_tgid(g);
	code_alu_imm(&g->c, BPF_RSH, R0, 32);
	mem_store(g, 8, mem_at(dst, 8), R0);
	gen_seen(g);
}

/* pton("..."): the bytes of the address; infer has checked the text. */
static void store_address(struct gen *g, const struct node *n, const struct type *t, struct mem dst,
                          bool pad)
{
	struct str text = n->call.args->string;
	u8 bytes[16] = { 0 };

	(void)pad;
	inet_pton(t->count == 16 ? AF_INET6 : AF_INET, arena_strndup(&g->u->arena, text.p, text.n),
	          bytes);
	for (u32 i = 0; i < type_slot(t); i += 4) {
		s32 word;

		memcpy(&word, bytes + i, sizeof(word));
		mem_store_imm(g, 4, mem_at(dst, (s32)i), word);
	}
}

/* ntop([af,] address): an integer is IPv4, arrays of 4 or 16 bytes are themselves. */
static void store_inet(struct gen *g, const struct node *n, const struct type *t, struct mem dst,
                       bool pad)
{
	const struct node *a = n->call.args, *family = NULL;
	u32 size = 4;

	(void)t;
	(void)pad;
	if (n->call.n_args == 2) {
		family = a;
		a = a->next;
	}
	mem_zero(g, dst, 0, 24);
	if (type_is_scalar(a->type) && a->type->kind != TYPE_PTR) {
		gen_value(g, a);
		mem_store(g, 4, mem_at(dst, 8), R0);
	} else if (a->type->kind == TYPE_ARRAY && !gen_is_foreign(a)) {
		size = a->type->size >= 16 ? 16 : 4;
		mem_copy(g, mem_at(dst, 8), gen_place(g, a), ROUND_UP(size, 8u));
	} else {
		enum space space = source_address(g, a);

		size = a->type->kind == TYPE_PTR || a->type->size >= 16 ? 16 : 4;
		code_mov(&g->c, R3, R0);
		gen_probe_read(g, space, size, mem_at(dst, 8), n->loc);
	}
	if (family) {
		gen_value(g, family);
		mem_store(g, 8, dst, R0);
	} else {
		mem_store_imm(g, 8, dst, size == 4 ? AF_INET_NUMBER : AF_INET6_NUMBER);
	}
}

/* ---- the rows ------------------------------------------------------------------------------- */

static void store_buf(struct gen *g, const struct node *n, const struct type *t, struct mem dst,
                      bool pad)
{
	(void)pad;
	gen_buf(g, n, t, dst, true);
}

static void store_iovec(struct gen *g, const struct node *n, const struct type *t, struct mem dst,
                        bool pad)
{
	(void)pad;
	gen_iovec(g, n, t, dst, true);
}

static void store_stack(struct gen *g, const struct node *n, const struct type *t, struct mem dst,
                        bool pad)
{
	(void)pad;
	gen_stack(g, t, dst, n->loc);
}

#define AS_CONSTANT             NULL
#define AS_RECORD(action, emit) NULL

static void (*const values[])(struct gen *g, const struct node *n) = {
#define AS_VALUE(emit)                                  emit
#define AS_SENT(action, emit, value)                    value
#define AS_STORED(emit)                                 NULL
#define F(id, name, least, most, what, rule, emit, ...) [FUNC_##id] = emit,
	FUNCTIONS(F)
#undef AS_VALUE
#undef AS_SENT
#undef AS_STORED
};

static void (*const stores[])(struct gen *g, const struct node *n, const struct type *t,
                              struct mem dst, bool pad) = {
#define AS_VALUE(emit)               NULL
#define AS_SENT(action, emit, value) NULL
#define AS_STORED(emit)              emit
	FUNCTIONS(F)
};

void gen_call(struct gen *g, const struct node *n)
{
	enum func_id id = n->call.f->id;

	if (id < ARRAY_SIZE(values) && values[id])
		values[id](g, n);
	else
		gen_error(g, n->loc, "%s() can not be used here", n->call.f->name);
}

void gen_call_store(struct gen *g, const struct node *n, const struct type *t, struct mem dst,
                    bool pad)
{
	enum func_id id = n->call.f->id;

	if (id < ARRAY_SIZE(stores) && stores[id])
		stores[id](g, n, t, dst, pad);
	else
		gen_error(g, n->loc, "the value of %s() can not be stored", n->call.f->name);
}
