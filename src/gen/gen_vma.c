/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * find_vma(): which mapping of the running process an address is in. The kernel looks it up and
 * calls a function of ours with it, while it holds the lock of the process's mappings. That function
 * only notes the address: what the script reads of the mapping it reads afterwards, unlocked, by
 * checked reads. Another thread may unmap it meanwhile; then what is read is what it was.
 *
 * The lock is only tried. Where a thread is changing mappings at this moment, there is no answer.
 */
#include "gen/emit.h"

#define NO_SUCH (-2) /* -ENOENT */

/* The callback: r1 the task, r2 the mapping, r3 our frame. The pointer is added to a word that is 0,
 * because the verifier would remember what a plain store put there; it is to be a number. */
static void note_vma(struct gen *g, const void *what)
{
	const struct mem *found = what;

	mem_addr(g, *found, R1);
	code_atomic(&g->c, BPF_ADD, R1, 0, R2);
	code_const(&g->c, R0, 0);
	code_exit(&g->c);
}

void gen_find_vma(struct gen *g, struct loc loc)
{
	struct mark m = frame_mark(g);
	struct mem *found = arena_new(&g->u->arena, struct mem);
	struct temp address = temp_save(g, R0);
	struct code *c = &g->c;
	u32 out = code_label(c);

	*found = frame_alloc(g, 8);
	mem_store_imm(g, 8, *found, 0);
	code_call(c, BPF_FUNC_get_current_task_btf);
	code_mov(c, R1, R0);
	temp_load(g, address, R2);
	code_func(c, R3, gen_callback(g, note_vma, found, R3));
	code_mov(c, R4, g->frame);
	code_const(c, R5, 0);
	code_call(c, BPF_FUNC_find_vma);
	code_if_imm(c, BPF_JEQ, R0, 0, out);
	code_if_imm(c, BPF_JEQ, R0, NO_SUCH, out);
	gen_count_error(g, UERROR_READ, loc, "find_vma");
	code_bind(c, out);
	mem_load(g, 8, R0, *found);
	frame_release(g, m);
}
