/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * First sight of processes. Addresses of a process can be named as long as its memory map can be
 * read, so at the first event in which a process leaves one, user space is sent its number and
 * reads the map at once, not when the address is printed.
 *
 * What counts as the same process is its number and its command name: the latter is another one
 * after exec. A process that ends within the microseconds until it is looked at stays nameless.
 */
#include "gen/emit.h"

#define KEY_SIZE 24 /* u32 pid, 16 bytes of name, 4 of zero */

/* With -p and -c the session reads the map of the process, and that is the only one unless others
 * are followed. */
static bool is_wanted(const struct gen *g)
{
	return (!g->s->request.pid || g->s->follows) && !attach_kind_has(g->v->kind, KIND_AROUND);
}

static u32 record_number(struct gen *g)
{
	struct urecord r = { .action = ACTION_PROCESS, .size = 16, .map = -1, .n_args = 1 };
	struct field *arg;
	u32 id = 0;

	while (id < g->u->records.n && g->u->records.v[id].action != ACTION_PROCESS)
		id++;
	if (id == g->u->records.n) {
		arg = arena_new(&g->u->arena, struct field);
		*arg = (struct field){ .type = &type_u64, .off = 8 };
		r.args = arg;
		vec_add(&g->u->arena, &g->u->records, r);
	}
	return id;
}

/* Sends the number; when the ring is full the process is forgotten, and sent next time. */
static void tell(struct gen *g, struct mem key, u32 out)
{
	struct code *c = &g->c;
	struct mem record = frame_alloc(g, 16);

	mem_store_imm(g, 8, record, (s32)record_number(g));
	mem_load(g, 4, R1, key);
	mem_store(g, 8, mem_at(record, 8), R1);
	code_map(c, R1, gen_map_of(g, UMAP_RING));
	mem_addr(g, record, R2);
	code_const(c, R3, 16);
	code_const(c, R4, 0);
	code_call(c, BPF_FUNC_ringbuf_output);
	code_if_imm(c, BPF_JEQ, R0, 0, out);
	code_map(c, R1, gen_map_of(g, UMAP_SEEN));
	mem_addr(g, key, R2);
	code_call(c, BPF_FUNC_map_delete_elem);
}

void gen_seen(struct gen *g)
{
	struct code *c = &g->c;
	struct mark m = frame_mark(g);
	u32 out = code_label(c);
	struct mem key;

	if (!is_wanted(g))
		return;
	key = frame_alloc(g, KEY_SIZE);
	mem_zero(g, key, 0, KEY_SIZE); /* kernels before 6.4 leave the end of a name as it was */
	gen_pid_tgid(g);
	code_alu_imm(c, BPF_RSH, R0, 32);
	mem_store(g, 4, key, R0);
	mem_addr(g, mem_at(key, 4), R1);
	code_const(c, R2, 16);
	code_call(c, BPF_FUNC_get_current_comm);
	code_map(c, R1, gen_map_of(g, UMAP_SEEN));
	mem_addr(g, key, R2);
	code_call(c, BPF_FUNC_map_lookup_elem);
	code_if_imm(c, BPF_JNE, R0, 0, out);
	code_map(c, R1, gen_map_of(g, UMAP_SEEN));
	mem_addr(g, key, R2);
	mem_addr(g, key, R3); /* the value is of no interest */
	code_const(c, R4, 0);
	code_call(c, BPF_FUNC_map_update_elem);
	code_if_imm(c, BPF_JNE, R0, 0, out);
	tell(g, key, out);
	code_bind(c, out);
	frame_release(g, m);
}
