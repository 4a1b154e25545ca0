/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * printf, print, exit and the other functions that user space carries out: the program
 * fills a record by its layout and sends it through the ring buffer.
 *
 *     u64 number of the record in unit->records | args in their slots | the longest string
 *
 * A long string or buffer is laid out last and the record is sent only up to its end: a key of
 * ten bytes in a place of 1024 does not cost 1024.
 */
#include "gen/emit.h"

#include <string.h>

#define TRIM_MIN  64u /* a shorter last string is not worth the call */
#define JOIN_MAX  16u /* words of an argument list */
#define JOIN_SIZE 256u

static const char *text_of(struct gen *g, const struct node *n)
{
	return arena_strndup(&g->u->arena, n->string.p, n->string.n);
}

static bool has_end(const struct type *t)
{
	return t->kind == TYPE_STR || t->kind == TYPE_BUF;
}

/* The index of the argument to lay out last: the widest string or buffer of TRIM_MIN or more, else
 * n. */
static u32 trimmed_arg(const struct field *args, u32 n)
{
	u32 best = n, size = TRIM_MIN - 1;

	for (u32 i = 0; i < n; i++) {
		if (has_end(args[i].type) && args[i].type->size > size) {
			best = i;
			size = args[i].type->size;
		}
	}
	return best;
}

/* Gives every argument its offset; fills size. Returns the trimmed argument or n. */
static u32 lay_out(struct urecord *r, struct field *args, u32 n)
{
	u32 last = trimmed_arg(args, n), off = 8;

	for (u32 i = 0; i < n; i++) {
		if (i == last)
			continue;
		args[i].off = off;
		off += type_slot(args[i].type);
	}
	if (last < n) {
		args[last].off = off;
		off += type_slot(args[last].type);
	}
	r->args = args;
	r->n_args = n;
	r->size = off;
	return last;
}

/* r3 = bytes of the record up to the NUL of its last string, which was read in `length` bytes; less
 * than one means that nothing was, and the string is empty. */
static void known_size(struct gen *g, struct temp length, const struct field *last)
{
	u32 ok = code_label(&g->c);

	temp_load(g, length, R3);
	code_if_imm(&g->c, BPF_JSGT, R3, 0, ok);
	code_const(&g->c, R3, 1);
	code_bind(&g->c, ok);
	code_alu_imm(&g->c, BPF_ADD, R3, (s32)last->off);
}

/* The same for a string of unknown length. */
static void trimmed_size(struct gen *g, struct mem rec, const struct field *last)
{
	u32 ok = code_label(&g->c), slot = type_slot(last->type);

	mem_addr(g, mem_at(rec, (s32)last->off), R1);
	code_const(&g->c, R2, slot);
	code_mov(&g->c, R3, R1); /* copied onto itself: what we want is the length */
	code_call(&g->c, BPF_FUNC_probe_read_kernel_str);
	code_if_imm(&g->c, BPF_JSGE, R0, 0, ok);
	code_const(&g->c, R0, slot);
	code_bind(&g->c, ok);
	code_mov(&g->c, R3, R0);
	code_alu_imm(&g->c, BPF_ADD, R3, (s32)last->off);
}

/* r3 = bytes of the record up to the end of its last buffer, whose first word says its length. */
static void buffer_size(struct gen *g, struct mem rec, const struct field *last)
{
	u32 ok = code_label(&g->c), count = last->type->count;

	mem_load(g, 8, R3, mem_at(rec, (s32)last->off));
	code_if_imm(&g->c, BPF_JLE, R3, (s32)count, ok);
	code_const(&g->c, R3, count);
	code_bind(&g->c, ok);
	code_alu_imm(&g->c, BPF_ADD, R3, (s32)last->off + 8);
}

void gen_ring_send(struct gen *g, struct mem rec)
{
	code_map(&g->c, R1, gen_map_of(g, UMAP_RING));
	mem_addr(g, rec, R2);
	code_const(&g->c, R4, g->cfg->poll_ms ? BPF_RB_NO_WAKEUP : 0);
	code_call(&g->c, BPF_FUNC_ringbuf_output);
}

/* As gen_ring_send(). */
static void send_by_lane(struct gen *g, struct lane_record *r)
{
	struct mark m = frame_mark(g);

	r->size = temp_save(g, R3);
	gen_lane_send(g, r);
	frame_release(g, m);
}

/* After sending, whose result stays in r0. */
static void count_lost(struct gen *g)
{
	u32 sent = code_label(&g->c);

	code_if_imm(&g->c, BPF_JEQ, R0, 0, sent);
	gen_count_data(g, UDATA_LOST);
	code_bind(&g->c, sent);
}

/* Sends the record; counts it as lost when the ring is full. `length`: of the last string, or
 * NULL. */
static void send(struct gen *g, const struct urecord *r, struct mem rec, u32 last,
                 const struct temp *length)
{
	bool whole = !length && (last == r->n_args || rec.base != MEM_SCRATCH);

	if (length)
		known_size(g, *length, &r->args[last]);
	else if (whole)
		code_const(&g->c, R3, r->size);
	else if (r->args[last].type->kind == TYPE_BUF)
		buffer_size(g, rec, &r->args[last]);
	else
		trimmed_size(g, rec, &r->args[last]);
	if (gen_has_lanes(g))
		send_by_lane(g, &(struct lane_record){ .rec = rec,
		                                       .fixed = whole ? r->size : 0,
		                                       .most = r->size });
	else
		gen_ring_send(g, rec);
	count_lost(g);
}

static u32 add_record(struct gen *g, const struct urecord *r)
{
	vec_add(&g->u->arena, &g->u->records, *r);
	return g->u->records.n - 1;
}

static bool gives_bytes(const struct node *n)
{
	return n->kind == NODE_CALL && (n->call.f->id == FUNC_BUF || n->call.f->id == FUNC_IOVEC);
}

static void store_bytes(struct gen *g, const struct node *n, struct mem dst)
{
	(n->call.f->id == FUNC_BUF ? gen_buf : gen_iovec)(g, n, n->type, dst, false);
}

/* True of bytes of the packet, where they go into the lane without a place of their own before. */
static bool goes_straight(const struct gen *g, const struct node *n)
{
	return gen_has_lanes(g) && n->kind == NODE_CALL && n->call.f->id == FUNC_BUF &&
	       gen_space(g, n->call.args) == SPACE_PACKET;
}

/* nsecs(monotonic) */
static bool is_moment(const struct node *n)
{
	return n->kind == NODE_CALL && n->call.f->id == FUNC_NSECS && n->call.args &&
	       str_is(n->call.args->string, "monotonic");
}

/* Of those bytes only the length is put down, at the end of what is at `rec`. */
static void find_tail(struct gen *g, const struct node *n, struct lane_record *r)
{
	r->has_tail = true;
	r->tail_max = gen_buf_max(n, n->type);
	gen_buf_source(g, n, r->tail_max, &r->tail, &r->tail_at);
	temp_load(g, r->tail, R0);
	mem_store(g, 8, mem_at(r->rec, (s32)r->fixed - 8), R0);
	r->loc = n->loc;
}

static void send_straight(struct gen *g, struct lane_record *r)
{
	temp_load(g, r->tail, R3);
	code_alu_imm(&g->c, BPF_ADD, R3, (s32)r->fixed);
	send_by_lane(g, r);
	count_lost(g);
}

static const struct node *nth(const struct node *n, u32 i)
{
	while (n && i--)
		n = n->next;
	return n;
}

static struct field *args_of(struct gen *g, const struct node *values, const struct type *row,
                             u32 *n)
{
	struct field *args;

	*n = 0;
	for (const struct node *a = values; a; a = a->next)
		++*n;
	args = arena_array(&g->u->arena, struct field, *n);
	*n = 0;
	for (const struct node *a = values; a; a = a->next, ++*n) {
		args[*n].type = a->type;
		args[*n].name = row ? row->fields[*n].name : NULL;
	}
	return args;
}

/* A record whose arguments are the values of a list of nodes, named as the fields of `row` or, when
 * that is NULL, not at all. */
static void record_of(struct gen *g, struct urecord *r, const struct node *values,
                      const struct type *row)
{
	struct mark m = frame_mark(g);
	u32 n, i = 0;
	struct field *args = args_of(g, values, row, &n);
	u32 last = lay_out(r, args, n);
	const struct node *tail = nth(values, last);
	struct lane_record lane = { .most = r->size };
	struct temp length = { 0 };
	bool known = false, blank;

	if (tail && goes_straight(g, tail))
		lane.fixed = args[last].off + 8;
	lane.rec = frame_alloc(g, lane.fixed ? lane.fixed : r->size);
	blank = lane.rec.base == MEM_SCRATCH; /* what is not sent need not be cleared */
	mem_store_imm(g, 8, lane.rec, (s32)add_record(g, r));
	for (const struct node *a = values; a; a = a->next, i++) {
		struct mem at = mem_at(lane.rec, (s32)args[i].off);

		if (is_moment(a))
			lane.time = args[i].off;
		if (a == tail && lane.fixed)
			find_tail(g, a, &lane);
		else if (a == tail && blank && gives_bytes(a))
			store_bytes(g, a, at);
		else
			gen_store(g, a, a->type, at, false);
		if (a == tail && blank && gen_leaves_length(a)) {
			length = temp_save(g, R0);
			known = true;
		}
	}
	if (lane.fixed)
		send_straight(g, &lane);
	else
		send(g, r, lane.rec, last, known ? &length : NULL);
	frame_release(g, m);
}

static void formatted(struct gen *g, const struct node *n, struct urecord *r)
{
	r->text = text_of(g, n->call.args);
	if (n->call.above)
		r->map = (s32)n->call.above->map.sym->index;
	record_of(g, r, n->call.args->next, NULL);
}

/* printf of a record that was made elsewhere: it is sent as it is, its fields are the arguments. */
static void whole_row(struct gen *g, const struct node *record, struct urecord *r)
{
	const struct type *t = record->type;
	struct field *args = arena_array(&g->u->arena, struct field, t->n_fields);
	struct mark m = frame_mark(g);
	struct mem rec;

	for (u32 i = 0; i < t->n_fields; i++) {
		args[i] = t->fields[i];
		args[i].off += 8;
	}
	r->args = args;
	r->n_args = t->n_fields;
	r->size = 8 + type_slot(t);
	rec = frame_alloc(g, r->size);
	mem_store_imm(g, 8, rec, (s32)add_record(g, r));
	gen_store(g, record, t, mem_at(rec, 8), false);
	send(g, r, rec, r->n_args, NULL);
	frame_release(g, m);
}

static void printf_(struct gen *g, const struct node *n, struct urecord *r)
{
	const struct node *record = n->call.args->next;

	r->text = text_of(g, n->call.args);
	if (!n->call.row)
		record_of(g, r, record, NULL);
	else if (record->kind == NODE_TUPLE)
		record_of(g, r, record->tuple.items, record->type);
	else
		whole_row(g, record, r);
}

static void values_(struct gen *g, const struct node *n, struct urecord *r)
{
	record_of(g, r, n->call.args, NULL);
}

/* Number and moment. What asks the family map passes from here on; what needs a link of its own,
 * from when user space has read the record. */
static void follow_(struct gen *g, const struct node *n, struct urecord *r)
{
	struct mark m = frame_mark(g);
	struct mem rec = frame_alloc(g, 24);
	struct field *args = arena_array(&g->u->arena, struct field, 2);

	args[0] = (struct field){ .type = &type_u64, .off = 8 };
	args[1] = (struct field){ .type = &type_u64, .off = 16 };
	r->args = args;
	r->n_args = 2;
	r->size = 24;
	mem_store_imm(g, 8, rec, (s32)add_record(g, r));
	gen_value(g, n->call.args);
	mem_store(g, 8, mem_at(rec, 8), R0);
	code_call(&g->c, BPF_FUNC_ktime_get_boot_ns);
	mem_store(g, 8, mem_at(rec, 16), R0);
	if (g->s->request.pid) {
		code_map(&g->c, R1, gen_map_of(g, UMAP_FAMILY));
		mem_addr(g, mem_at(rec, 8), R2);
		mem_addr(g, mem_at(rec, 8), R3); /* the value is of no interest */
		code_const(&g->c, R4, 0);
		code_call(&g->c, BPF_FUNC_map_update_elem);
	}
	send(g, r, rec, r->n_args, NULL);
	frame_release(g, m);
}

static void of_map(struct gen *g, const struct node *n, struct urecord *r)
{
	r->map = (s32)n->call.args->map.sym->index;
	record_of(g, r, NULL, NULL);
}

static void time_(struct gen *g, const struct node *n, struct urecord *r)
{
	r->text = n->call.args ? text_of(g, n->call.args) : "%H:%M:%S\n";
	record_of(g, r, NULL, NULL);
}

static void exit_(struct gen *g, const struct node *n, struct urecord *r)
{
	struct node zero = { .kind = NODE_INT, .type = &type_s64, .loc = n->loc };

	record_of(g, r, n->call.args ? n->call.args : &zero, NULL);
	code_goto(&g->c, g->exit_label);
}

static u32 literal_arg(const struct node *a)
{
	return a && a->kind == NODE_INT ? (u32)a->integer.value : 0;
}

/* print(@m[k]) of an aggregation. */
static void print_cell(struct gen *g, const struct node *map, struct urecord *r)
{
	const struct map_sym *sym = map->map.sym;
	struct mark m = frame_mark(g);
	struct field *key = arena_new(&g->u->arena, struct field);
	struct mem rec;

	*key = (struct field){ .type = sym->key, .off = 8 };
	r->action = ACTION_PRINT_CELL;
	r->map = (s32)sym->index;
	r->args = key;
	r->n_args = 1;
	r->size = 8 + type_slot(sym->key);
	rec = frame_alloc(g, r->size);
	mem_store_imm(g, 8, rec, (s32)add_record(g, r));
	gen_convert(g, mem_at(rec, 8), sym->key, gen_key(g, map), sym->key, false);
	send(g, r, rec, 1, NULL);
	frame_release(g, m);
}

static void print_(struct gen *g, const struct node *n, struct urecord *r)
{
	const struct node *what = n->call.args, *limit;
	struct node value;

	if (what->kind == NODE_MAP && what->map.n_keys && type_is_agg(what->map.sym->value)) {
		print_cell(g, what, r);
		return;
	}
	if (what->kind == NODE_MAP && !what->map.n_keys) {
		r->action = ACTION_PRINT_MAP;
		r->takes = n->call.takes;
		r->keeps_keys = n->call.keeps_keys;
		r->top = literal_arg(what->next);
		limit = what->next ? what->next->next : NULL;
		if (limit && limit->kind == NODE_STRING)
			r->text = text_of(g, limit);
		else
			r->div = literal_arg(limit);
		of_map(g, n, r);
		return;
	}
	r->action = ACTION_PRINT_VALUE;
	value = *what;
	value.next = NULL;
	record_of(g, r, &value, NULL);
}

/* One word of join(): the pointer at argv + i, then the string after it; no pointer, no word. */
static void join_word(struct gen *g, const struct node *n, struct temp argv, enum space space,
                      u32 i, struct mem word, u32 end)
{
	temp_load(g, argv, R3);
	if (i)
		code_alu_imm(&g->c, BPF_ADD, R3, (s32)i * 8);
	gen_read_scalar(g, space, &type_u64, n->loc);
	code_if_imm(&g->c, BPF_JEQ, R0, 0, end);
	code_mov(&g->c, R3, R0);
	gen_probe_read_str(g, space, word, JOIN_SIZE, NULL, true, n->loc);
}

static void join_(struct gen *g, const struct node *n, struct urecord *r)
{
	const struct node *argv = n->call.args;
	struct mark m = frame_mark(g);
	const struct type *word = type_str(&g->u->arena, JOIN_SIZE, false);
	struct field *args = arena_array(&g->u->arena, struct field, JOIN_MAX);
	u32 end = code_label(&g->c);
	enum space space = gen_space(g, argv);
	struct temp list;
	struct mem rec;

	for (u32 i = 0; i < JOIN_MAX; i++)
		args[i] = (struct field){ .type = word, .off = 8 + i * JOIN_SIZE };
	r->args = args;
	r->n_args = JOIN_MAX;
	r->size = 8 + JOIN_MAX * JOIN_SIZE;
	r->text = argv->next ? text_of(g, argv->next) : " ";
	gen_value(g, argv);
	list = temp_save(g, R0);
	rec = frame_alloc(g, r->size);
	mem_store_imm(g, 8, rec, (s32)add_record(g, r));
	for (u32 i = 0; i < JOIN_MAX; i++)
		mem_store_imm(g, 1, mem_at(rec, (s32)args[i].off), 0);
	for (u32 i = 0; i < JOIN_MAX; i++)
		join_word(g, n, list, space, i, mem_at(rec, (s32)args[i].off), end);
	code_bind(&g->c, end);
	send(g, r, rec, JOIN_MAX, NULL);
	frame_release(g, m);
}

static const struct {
	enum action action;
	void (*emit)(struct gen *g, const struct node *n, struct urecord *r); /* NULL: no record */
} actions[] = {
#define AS_CONSTANT
#define AS_VALUE(emit)
#define AS_STORED(emit)
#define AS_RECORD(action, emit)                         action, emit
#define AS_SENT(action, emit, value)                    action, emit
#define F(id, name, least, most, what, rule, emit, ...) [FUNC_##id] = { emit },
	FUNCTIONS(F)
};

bool gen_record(struct gen *g, const struct node *n)
{
	struct urecord r = { .map = -1, .loc = n->loc };
	enum func_id id = n->call.f->id;

	if (id >= ARRAY_SIZE(actions) || !actions[id].emit)
		return false;
	g->c.loc = n->loc.off;
	if (gen_iter_print(g, n))
		return true;
	g->sent = true;
	r.action = actions[id].action;
	actions[id].emit(g, n, &r);
	return true;
}
