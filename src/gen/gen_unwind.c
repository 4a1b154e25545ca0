/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * User stacks, the program's side: the process's tables are found, or asked for; the registers that
 * the walk begins with are put down; the kernel calls the step (gen_unwind_step.c) as often as
 * there are frames, or the program itself where the kernel does not; what came of it is counted.
 * ustack(copy) copies the top of the stack instead, for user space to walk.
 */
#include "gen/gen_unwind.h"

#include <linux/version.h>

#include "arch/arch.h"

#define FOUND_MANY 256 /* a power of two */

/* ---- where things are ---- */

/* The maps exist from the first use on, so that their numbers can be written down. */
struct unwind_places gen_unwind_reserve(struct gen *g)
{
	struct unwind_places p = { .made = true };

	g->found.unwind = true;
	p.state = frame_alloc(g, ST_END);
	p.pid = frame_pointer(g);
	p.proc = frame_pointer(g);
	if (!gen_has_calls(g)) {
		if (!g->slot)
			g->slot = frame_pointer(g);
		p.slot = g->slot;
	}
	p.step = code_label(&g->c);
	p.map_step = code_label(&g->c);
	return p;
}

static struct mem state(const struct gen *g, s32 off)
{
	return mem_at(g->unwind.state, off);
}

struct mem gen_unwind_frames(const struct gen *g)
{
	return state(g, ST_FRAMES);
}

static bool find_member(const struct gen *g, const char *type, const char *name,
                        struct btf_field *f)
{
	struct world *w = g->w;
	struct err e;
	const struct btf *b = w->ops->btf ? w->ops->btf(w, &e) : NULL;
	u32 id = b ? btf_find_c(b, type) : 0;

	return id && btf_field_find(b, id, name, f) && f->bit_off / 8 <= INT16_MAX;
}

bool gen_unwind_member(const struct gen *g, const char *type, const char *name, s32 *off)
{
	struct btf_field f;

	if (!find_member(g, type, name, &f))
		return false;
	*off = (s32)(f.bit_off / 8);
	return true;
}

/* ---- the program's side ---- */

static void key_addr(struct gen *g, enum reg r)
{
	code_mov(&g->c, r, g->frame);
	code_alu_imm(&g->c, BPF_ADD, r, g->unwind.pid);
}

static u32 meet_record(struct gen *g)
{
	struct urecord r = { .action = ACTION_MEET, .size = sizeof(struct unit_meet), .map = -1 };

	for (u32 id = 0; id < g->u->records.n; id++)
		if (g->u->records.v[id].action == ACTION_MEET)
			return id;
	vec_add(&g->u->arena, &g->u->records, r);
	return g->u->records.n - 1;
}

static s32 meet_off(size_t member)
{
	return ST_MEET + (s32)member;
}

/* Sends what was met to user space; jumps when it was sent. */
static void send_meet(struct gen *g, u32 sent)
{
	struct code *c = &g->c;

	mem_store_imm(g, 8, state(g, ST_MEET), (s32)meet_record(g));
	code_load(c, 4, R1, g->frame, g->unwind.pid);
	mem_store(g, 8, state(g, meet_off(offsetof(struct unit_meet, pid))), R1);
	mem_load(g, 8, R1, state(g, ST_MM));
	mem_store(g, 8, state(g, meet_off(offsetof(struct unit_meet, mm))), R1);
	mem_load(g, 8, R1, state(g, ST_FLAGS));
	code_alu_imm(c, BPF_AND, R1, FLAG_ADDRESS);
	mem_store(g, 8, state(g, meet_off(offsetof(struct unit_meet, raw))), R1);
	code_map(c, R1, gen_map_of(g, UMAP_RING));
	mem_addr(g, state(g, ST_MEET), R2);
	code_const(c, R3, sizeof(struct unit_meet));
	code_const(c, R4, 0);
	code_call(c, BPF_FUNC_ringbuf_output);
	code_if_imm(c, BPF_JEQ, R0, 0, sent);
}

/* r0 = a new element for the process, from now on known; jumps when there is none. */
static void add_process(struct gen *g, u32 none)
{
	struct code *c = &g->c;

	mem_zero(g, state(g, ST_FRAMES), 0, sizeof(struct unwind_proc));
	code_map(c, R1, gen_map_of(g, UMAP_PROCS));
	key_addr(g, R2);
	mem_addr(g, state(g, ST_FRAMES), R3);
	code_const(c, R4, BPF_NOEXIST);
	code_call(c, BPF_FUNC_map_update_elem);
	code_map(c, R1, gen_map_of(g, UMAP_PROCS));
	key_addr(g, R2);
	code_call(c, BPF_FUNC_map_lookup_elem);
	code_if_imm(c, BPF_JEQ, R0, 0, none);
}

/* A kernel that has not said its version is the newest. */
static bool is_since(const struct gen *g, u32 version)
{
	return !g->w->kernel_version || g->w->kernel_version >= version;
}

/* Reads `size` bytes of the kernel's memory at r3; jumps when that can not be. */
static void read_kernel(struct gen *g, struct mem to, u32 size, u32 none)
{
	struct code *c = &g->c;

	mem_addr(g, to, R1);
	code_const(c, R2, size);
	code_call(c, BPF_FUNC_probe_read_kernel);
	code_if_imm(c, BPF_JNE, R0, 0, none);
}

/* r1 = `size` bytes of the current task; before Linux 5.11 they are read to `room`. */
static void load_of_task(struct gen *g, s32 off, u32 size, struct mem room)
{
	struct code *c = &g->c;
	u32 failed = code_label(c);

	if (is_since(g, KERNEL_VERSION(5, 11, 0))) {
		code_call(c, BPF_FUNC_get_current_task_btf);
		code_load(c, size, R1, R0, off);
		return;
	}
	mem_store_imm(g, 8, room, 0);
	code_call(c, BPF_FUNC_get_current_task);
	code_alu_imm(c, BPF_ADD, R0, off);
	code_mov(c, R3, R0);
	read_kernel(g, room, size, failed);
	code_bind(c, failed);
	mem_load(g, 8, R1, room);
}

/*
 * Before Linux 5.15 no helper says where the user's registers are: at the top of the task's kernel
 * stack, of 16 KiB or a page (Linux: task_pt_regs(), THREAD_SIZE).
 */
#define KERNEL_STACK 16384u

static bool find_registers(const struct gen *g, s32 *stack, s32 *from_stack)
{
	struct world *w = g->w;
	struct err e;
	const struct btf *b = w->ops->btf ? w->ops->btf(w, &e) : NULL;
	u32 id = b ? btf_find_c(b, "struct pt_regs") : 0;

	if (!id || !gen_unwind_member(g, "struct task_struct", "stack", stack))
		return false;
	*from_stack = (s32)MAX(KERNEL_STACK, arch_page()) - (s32)btf_size(b, id);
	return true;
}

bool gen_unwind_possible(const struct gen *g)
{
	s32 stack, from_stack;

	return attach_kind_is_user(g->v->kind) || is_since(g, KERNEL_VERSION(5, 15, 0)) ||
	       find_registers(g, &stack, &from_stack);
}

/* One of them to `to`, by the stack's address at `stack`. */
static void read_register(struct gen *g, struct mem stack, s32 off, struct mem to, u32 none)
{
	mem_load(g, 8, R3, stack);
	code_alu_imm(&g->c, BPF_ADD, R3, off);
	read_kernel(g, to, 8, none);
}

static void unless_user(struct gen *g, u32 none)
{
	if (arch.user_code_mask)
		code_alu_imm(&g->c, BPF_AND, R1, (s32)arch.user_code_mask);
	code_if_imm(&g->c, BPF_JNE, R1, arch.user_code, none);
}

/* As user_registers(). */
static void read_registers(struct gen *g, struct mem to, struct mem link, u32 none)
{
	s32 stack = 0, regs = 0;

	find_registers(g, &stack, &regs);
	load_of_task(g, stack, 8, to);
	mem_store(g, 8, to, R1);
	read_register(g, to, regs + arch.user_at, link, none);
	mem_load(g, 8, R1, link);
	unless_user(g, none);
	read_register(g, to, regs + arch.sp, mem_at(to, 8), none);
	read_register(g, to, regs + arch.fp, mem_at(to, 16), none);
	if (!arch.frames.return_below)
		read_register(g, to, regs + arch.link, link, none);
	read_register(g, to, regs + arch.ip, to, none);
	mem_load(g, 8, R1, to);
	code_if_imm(&g->c, BPF_JEQ, R1, 0, none);
}

/* From the user's registers to three words of ours, in the order of `regs`, and to `link`; jumps
 * when there is no 64-bit user code after the event. */
static void user_registers(struct gen *g, struct mem to, struct mem link, u32 none)
{
	const s32 regs[] = { arch.ip, arch.sp, arch.fp };
	struct code *c = &g->c;
	enum reg from = R0;

	if (attach_kind_is_user(g->v->kind)) {
		from = CTX;
	} else if (!is_since(g, KERNEL_VERSION(5, 15, 0))) {
		read_registers(g, to, link, none);
		return;
	} else {
		code_call(c, BPF_FUNC_get_current_task_btf);
		code_mov(c, R1, R0);
		code_call(c, BPF_FUNC_task_pt_regs);
	}
	code_load(c, 8, R1, from, arch.user_at);
	unless_user(g, none);
	for (u32 i = 0; i < ARRAY_SIZE(regs); i++) {
		code_load(c, 8, R1, from, regs[i]);
		mem_store(g, 8, mem_at(to, (s32)i * 8), R1);
	}
	if (arch.frames.return_below)
		return;
	code_load(c, 8, R1, from, arch.link);
	mem_store(g, 8, link, R1);
}

static void add_in_slot(struct gen *g, enum ucount which, s32 n)
{
	struct code *c = &g->c;

	code_load(c, 8, R1, g->frame, SCRATCH_HOME);
	code_load(c, 8, R2, R1, SCRATCH_COUNTS + 8 * (s32)which);
	code_alu_imm(c, BPF_ADD, R2, n);
	code_store(c, 8, R1, SCRATCH_COUNTS + 8 * (s32)which, R2);
}

static void count_in_slot(struct gen *g, enum ucount which)
{
	add_in_slot(g, which, 1);
}

/* Jumps to `label` when none of these flags is set; uses r1. */
static void unless_flags(struct gen *g, s32 flags, u32 label)
{
	mem_load(g, 8, R1, state(g, ST_FLAGS));
	code_alu_imm(&g->c, BPF_AND, R1, flags);
	code_if_imm(&g->c, BPF_JEQ, R1, 0, label);
}

/* The process's spans are missing or out of date: asks for them once, until user space has
 * looked. */
static void ask(struct gen *g, u32 out)
{
	struct code *c = &g->c;

	code_load(c, 8, R1, g->frame, g->unwind.proc);
	code_exchange(c, R1, offsetof(struct unwind_proc, asked), R2, 1);
	code_if_imm(c, BPF_JNE, R2, 0, out);
	send_meet(g, out);
	code_load(c, 8, R1, g->frame, g->unwind.proc);
	code_store_imm(c, 8, R1, offsetof(struct unwind_proc, asked), 0);
}

/*
 * The spans are of the address space they were read in. Another one: the process has called exec,
 * or its number has been given to a new one; they are not used.
 */
static void same_program(struct gen *g, u32 other)
{
	struct code *c = &g->c;
	u32 same = code_label(c), first = code_label(c);

	mem_load(g, 8, R3, state(g, ST_MM));
	code_if_imm(c, BPF_JEQ, R3, 0, same);
	code_load(c, 8, R1, g->frame, g->unwind.proc);
	code_load(c, 8, R2, R1, offsetof(struct unwind_proc, mm));
	code_if_imm(c, BPF_JEQ, R2, 0, first);
	code_if(c, BPF_JEQ, R2, R3, same);
	code_store_imm(c, 8, R1, offsetof(struct unwind_proc, raw), 0);
	mem_store_imm(g, 8, state(g, ST_SPANS), 0);
	if (!gen_unwind_maps(g)) {
		ask(g, other);
		code_goto(c, other);
	}
	code_goto(c, same);
	code_bind(c, first);
	code_store(c, 8, R1, offsetof(struct unwind_proc, mm), R3);
	code_bind(c, same);
}

/* Where task_struct says that execve() is going on: a byte and a bit of it. */
static bool find_exec_bit(const struct gen *g, s32 *off, s32 *mask)
{
	struct btf_field f;

	if (!find_member(g, "struct task_struct", "in_execve", &f))
		return false;
	*off = (s32)(f.bit_off / 8);
	*mask = 1 << f.bit_off % 8;
	return true;
}

/* Until execve() ends the registers are the old program's, whose memory is gone by then: what the
 * kernel does for the new one, page faults in its first pages above all, has no stack. */
static void mark_exec(struct gen *g)
{
	struct code *c = &g->c;
	u32 out = code_label(c);
	s32 off, mask;

	if (attach_kind_is_user(g->v->kind) || !find_exec_bit(g, &off, &mask))
		return;
	mem_load(g, 8, R1, state(g, ST_SPAN));
	code_if_imm(c, BPF_JNE, R1, 0, out);
	load_of_task(g, off, 1, state(g, ST_KEYS));
	code_alu_imm(c, BPF_AND, R1, mask);
	code_if_imm(c, BPF_JEQ, R1, 0, out);
	code_const(c, R1, (u64)USTACK_EXEC << USTACK_FLAGS_SHIFT);
	mem_store(g, 8, gen_unwind_frames(g), R1);
	mem_store_imm(g, 8, state(g, ST_FLAGS), FLAG_WHOLE);
	code_bind(c, out);
}

/* A stack that does not end at the outermost frame says so. */
static void mark_cut(struct gen *g)
{
	struct code *c = &g->c;

	mem_load(g, 8, R1, gen_unwind_frames(g));
	code_const(c, R2, (u64)USTACK_CUT << USTACK_FLAGS_SHIFT);
	code_alu(c, BPF_OR, R1, R2);
	mem_store(g, 8, gen_unwind_frames(g), R1);
}

static void account(struct gen *g)
{
	struct code *c = &g->c;
	u32 cut = code_label(c), counted = code_label(c), no_fp = code_label(c);

	unless_flags(g, FLAG_WHOLE, cut);
	count_in_slot(g, UCOUNT_WHOLE);
	code_goto(c, counted);
	code_bind(c, cut);
	count_in_slot(g, UCOUNT_CUT);
	mark_cut(g);
	code_bind(c, counted);
	unless_flags(g, FLAG_FP, no_fp);
	count_in_slot(g, UCOUNT_FP);
	code_bind(c, no_fp);
}

/* Once in a process whose addresses are kept, user space is to read its memory map. */
static void ask_for_names(struct gen *g, u32 wanted, u32 none)
{
	struct code *c = &g->c;

	unless_flags(g, FLAG_ADDRESS, none);
	code_load(c, 8, R1, g->frame, g->unwind.proc);
	code_load(c, 8, R2, R1, offsetof(struct unwind_proc, raw));
	code_if_imm(c, BPF_JNE, R2, 0, none);
	code_store_imm(c, 8, R1, offsetof(struct unwind_proc, raw), 1);
	code_goto(c, wanted);
}

/* Whether user space is to look at the process. Finding mappings in the kernel's tree costs more
 * than a list of them, so a process with many stacks gets one. */
static void ask_if_wanted(struct gen *g)
{
	struct code *c = &g->c;
	u32 wanted = code_label(c), out = code_label(c), known = code_label(c),
	    named = code_label(c);

	unless_flags(g, FLAG_UNKNOWN, known);
	code_goto(c, wanted);
	code_bind(c, known);
	ask_for_names(g, wanted, named);
	code_bind(c, named);
	unless_flags(g, FLAG_FOUND, out);
	code_load(c, 8, R1, g->frame, g->unwind.proc);
	code_load(c, 8, R2, R1, offsetof(struct unwind_proc, found));
	code_alu_imm(c, BPF_ADD, R2, 1);
	code_store(c, 8, R1, offsetof(struct unwind_proc, found), R2);
	code_alu_imm(c, BPF_AND, R2, FOUND_MANY - 1);
	code_if_imm(c, BPF_JNE, R2, 0, out);
	code_bind(c, wanted);
	ask(g, out);
	code_bind(c, out);
}

/* The address space, 0 when it can not be known. */
static void note_space(struct gen *g)
{
	s32 mm;

	code_const(&g->c, R1, 0);
	if (gen_unwind_member(g, "struct task_struct", "mm", &mm))
		load_of_task(g, mm, 8, state(g, ST_MM));
	mem_store(g, 8, state(g, ST_MM), R1);
}

/* The process's element, its list of spans in the state; jumps when there is none. */
static void find_process(struct gen *g, u32 none)
{
	struct code *c = &g->c;
	u32 known = code_label(c), marked = code_label(c), listed = code_label(c);

	gen_pid_tgid(g);
	code_alu_imm(c, BPF_RSH, R0, 32);
	code_store(c, 4, g->frame, g->unwind.pid, R0);
	code_map(c, R1, gen_map_of(g, UMAP_PROCS));
	key_addr(g, R2);
	code_call(c, BPF_FUNC_map_lookup_elem);
	code_if_imm(c, BPF_JNE, R0, 0, known);
	add_process(g, none);
	code_bind(c, known);
	code_store(c, 8, g->frame, g->unwind.proc, R0);
	code_load(c, 8, R1, R0, offsetof(struct unwind_proc, spans));
	mem_store(g, 8, state(g, ST_SPANS), R1);
	code_if_imm(c, BPF_JNE, R1, 0, listed);
	if (!gen_unwind_maps(g)) {
		ask(g, none);
		code_goto(c, none);
	}
	code_goto(c, marked);
	code_bind(c, listed);
	same_program(g, none);
	code_load(c, 8, R0, g->frame, g->unwind.proc);
	code_load(c, 8, R1, R0, offsetof(struct unwind_proc, used));
	code_if_imm(c, BPF_JNE, R1, 0, marked);
	code_store_imm(c, 8, R0, offsetof(struct unwind_proc, used), 1);
	code_bind(c, marked);
}

static void walk_frames(struct gen *g, u32 limit)
{
	u32 most = limit + MOST_RETURNS; /* a replaced return address takes a step */

	if (g->unwind.slot) {
		gen_call_function(g, g->unwind.step, most);
		return;
	}
	code_const(&g->c, R1, most);
	gen_call_loop(g, g->unwind.step);
}

void gen_unwind(struct gen *g, u32 limit, bool raw, u32 unknown)
{
	static const s32 cleared[] = { ST_BACK, ST_SPAN, ST_SIZE, ST_RETURNS, ST_FRAMES };

	if (!g->unwind.made)
		g->unwind = gen_unwind_reserve(g);
	g->unwind.used = g->found.unwind = g->found.scratch_home = true;
	mem_store_imm(g, 8, state(g, ST_FLAGS), raw ? FLAG_RAW : 0);
	for (s32 off = 0; off < (s32)sizeof(struct unit_meet); off += 8)
		mem_store_imm(g, 8, state(g, ST_MEET + off), 0);
	note_space(g);
	user_registers(g, state(g, ST_PC), state(g, ST_LINK), unknown);
	find_process(g, unknown);
	for (u32 i = 0; i < ARRAY_SIZE(cleared); i++)
		mem_store_imm(g, 8, state(g, cleared[i]), 0);
	mem_store_imm(g, 8, state(g, ST_LIMIT), (s32)limit);
	walk_frames(g, limit);
	mark_exec(g);
	account(g);
	ask_if_wanted(g);
}

/* A kernel thread has no frames, and lacks none; nor does a stack of as many as are wanted. */
void gen_unwind_by_kernel(struct gen *g, u32 limit)
{
	u32 none = code_label(&g->c);

	mem_store_imm(g, 8, state(g, ST_FLAGS), FLAG_ADDRESS | FLAG_KERNEL);
	mem_load(g, 8, R1, gen_unwind_frames(g));
	mem_load(g, 8, R2, state(g, ST_MM));
	code_alu(&g->c, BPF_OR, R1, R2);
	code_if_imm(&g->c, BPF_JEQ, R1, 0, none);
	count_in_slot(g, UCOUNT_KERNEL);
	mem_load(g, 8, R1, gen_unwind_frames(g));
	if (limit < UNIT_STACK_FRAMES)
		code_if_imm(&g->c, BPF_JEQ, R1, (s32)limit, none);
	mark_cut(g);
	code_bind(&g->c, none);
}

void gen_unwind_is_shared(struct gen *g, u32 shared)
{
	mem_load(g, 8, R0, state(g, ST_FLAGS));
	code_alu_imm(&g->c, BPF_AND, R0, FLAG_ADDRESS);
	code_if_imm(&g->c, BPF_JEQ, R0, 0, shared);
}

/* Neither whole nor cut, as it was counted before. */
void gen_unwind_lost(struct gen *g)
{
	static const struct {
		s32 flag;
		enum ucount count;
	} kinds[] = { { FLAG_KERNEL, UCOUNT_KERNEL }, { FLAG_WHOLE, UCOUNT_WHOLE } };
	struct code *c = &g->c;
	u32 out = code_label(c);

	count_in_slot(g, UCOUNT_LOST);
	for (u32 i = 0; i < ARRAY_SIZE(kinds); i++) {
		u32 next = code_label(c);

		unless_flags(g, kinds[i].flag, next);
		add_in_slot(g, kinds[i].count, -1);
		code_goto(c, out);
		code_bind(c, next);
	}
	add_in_slot(g, UCOUNT_CUT, -1);
	code_bind(c, out);
}

/* ---- copies ---- */

static s32 copy_off(size_t member)
{
	return (s32)member;
}

/* Piece after piece from that of the stack pointer on, until one is not there. */
static void copy_pieces(struct gen *g, struct mem copy)
{
	struct code *c = &g->c;
	u32 end = code_label(c);

	mem_store_imm(g, 8, mem_at(copy, copy_off(offsetof(struct unit_copy, n))), 0);
	for (u32 i = 0; i < UNIT_PIECES; i++) {
		mem_addr(g,
		         mem_at(copy, (s32)(offsetof(struct unit_copy, pieces) + i * UNIT_PIECE)),
		         R1);
		code_const(c, R2, UNIT_PIECE);
		mem_load(g, 8, R3, mem_at(copy, copy_off(offsetof(struct unit_copy, sp))));
		code_alu_imm(c, BPF_AND, R3, -(s32)UNIT_PIECE);
		code_alu_imm(c, BPF_ADD, R3, (s32)(i * UNIT_PIECE));
		code_call(c, BPF_FUNC_probe_read_user);
		code_if_imm(c, BPF_JNE, R0, 0, end);
		mem_store_imm(g, 8, mem_at(copy, copy_off(offsetof(struct unit_copy, n))),
		              (s32)i + 1);
	}
	code_bind(c, end);
}

static u32 copy_record(struct gen *g)
{
	struct urecord r = { .action = ACTION_STACK,
		             .size = offsetof(struct unit_copy, pieces),
		             .map = -1 };

	gen_map_of(g, UMAP_STACKS); /* where its frames will be */
	gen_map_of(g, UMAP_CHUNKS); /* how they are found */
	gen_map_of(g, UMAP_SHELVES);
	gen_map_of(g, UMAP_PROCS);
	gen_map_of(g, UMAP_FILES);
	for (u32 id = 0; id < g->u->records.n; id++)
		if (g->u->records.v[id].action == ACTION_STACK)
			return id;
	vec_add(&g->u->arena, &g->u->records, r);
	return g->u->records.n - 1;
}

/* Every copy is a stack of its own: its id is the time and the place. */
static void copy_id(struct gen *g, struct mem copy)
{
	struct code *c = &g->c;

	code_call(c, BPF_FUNC_ktime_get_ns);
	code_const(c, R1, 0x9fb21c651e98df25ull);
	code_alu(c, BPF_MUL, R0, R1);
	mem_load(g, 8, R1, mem_at(copy, copy_off(offsetof(struct unit_copy, sp))));
	code_alu(c, BPF_XOR, R0, R1);
	mem_store(g, 8, mem_at(copy, copy_off(offsetof(struct unit_copy, id))), R0);
	gen_pid_tgid(g);
	code_alu_imm(c, BPF_RSH, R0, 32);
	mem_store(g, 8, mem_at(copy, copy_off(offsetof(struct unit_copy, pid))), R0);
}

void gen_unwind_copy(struct gen *g, u32 limit, struct mem dst, u32 unknown)
{
	struct code *c = &g->c;
	struct mem copy = frame_alloc(g, sizeof(struct unit_copy));
	u32 sent = code_label(c);

	user_registers(g, mem_at(copy, copy_off(offsetof(struct unit_copy, pc))),
	               mem_at(copy, copy_off(offsetof(struct unit_copy, link))), unknown);
	copy_id(g, copy);
	copy_pieces(g, copy);
	mem_store_imm(g, 8, copy, (s32)copy_record(g));
	mem_store_imm(g, 8, mem_at(copy, copy_off(offsetof(struct unit_copy, limit))), (s32)limit);
	mem_copy(g, dst, mem_at(copy, copy_off(offsetof(struct unit_copy, id))), 16);
	code_map(c, R1, gen_map_of(g, UMAP_RING));
	mem_addr(g, copy, R2);
	mem_load(g, 8, R3, mem_at(copy, copy_off(offsetof(struct unit_copy, n))));
	code_alu_imm(c, BPF_AND, R3, 7);
	code_alu_imm(c, BPF_LSH, R3, __builtin_ctz(UNIT_PIECE));
	code_alu_imm(c, BPF_ADD, R3, offsetof(struct unit_copy, pieces));
	code_if_imm(c, BPF_JGT, R3, sizeof(struct unit_copy), sent);
	code_const(c, R4, 0);
	code_call(c, BPF_FUNC_ringbuf_output);
	code_if_imm(c, BPF_JEQ, R0, 0, sent);
	gen_count_data(g, UDATA_LOST);
	code_bind(c, sent);
}
