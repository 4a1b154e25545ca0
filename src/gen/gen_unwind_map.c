/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The mapping of an address and what is known of its file, found by the program alone: so the first
 * stack of a process that began a moment ago is as good as its thousandth. The kernel keeps the
 * mappings of a process in a tree (lib/maple_tree.c, since 6.1); it is read with checked reads and
 * without its lock, which the code that is being looked at may hold. An inode and when it changed
 * say which file it is, and the map of files which rows it has:
 *
 *     mm --> node --> node --> mapping --> file --> inode --> struct unwind_file --> its spans
 *
 * Of a node up to 15 ascending bounds are used, 9 in nodes of the type with gaps, then zeros; below
 * the two types of leaves are mappings. The vdso is in no file: it is known by where it starts.
 */
#include "gen/gen_unwind.h"

#include "arch/arch.h"

#define TREE_DEPTH 6 /* 15 ways: more mappings than a process may have */
/* Of struct maple_node, by type (include/linux/maple_tree.h). */
#define ROOT_IS_NODE     2
#define NODE_TYPE_SHIFT  3
#define NODE_LEAVES      1 /* types up to this */
#define NODE_GAPS        3
#define NODE_BOUNDS      15
#define NODE_BOUNDS_GAPS 9
#define NANOSECONDS_MASK 0x7fffffff /* above: a flag of the kernel's */

/* Offsets in the kernel's structs. What is read at once starts at `from`. */
struct places {
	s32 root;              /* in mm_struct: mm_mt.ma_root */
	s32 bounds;            /* in a node */
	s32 slots, slots_gaps; /* ... of both sorts */
	s32 vma_from, vma_size, start, end, page, file;
	s32 inode; /* in struct file */
	s32 inode_from, inode_size, number, block, length, seconds, nanoseconds;
	s32 device; /* in super_block */
	s32 vdso;   /* in mm_struct; -1 not known */
};

struct wanted {
	const char *type, *name;
	s32 *off;
};

static bool find_all(const struct gen *g, const struct wanted *w, u32 n)
{
	for (u32 i = 0; i < n; i++)
		if (!gen_unwind_member(g, w[i].type, w[i].name, w[i].off))
			return false;
	return true;
}

/* The inode's time of change: two words since 6.11, a struct timespec64 before. */
static bool find_changed(const struct gen *g, struct places *p)
{
	if (gen_unwind_member(g, "struct inode", "i_ctime_sec", &p->seconds) &&
	    gen_unwind_member(g, "struct inode", "i_ctime_nsec", &p->nanoseconds))
		return true;
	if (!gen_unwind_member(g, "struct inode", "i_ctime", &p->seconds) &&
	    !gen_unwind_member(g, "struct inode", "__i_ctime", &p->seconds))
		return false;
	p->nanoseconds = p->seconds + 8;
	return true;
}

/* Offsets become relative to the first of them; how many bytes that is. */
static s32 gather(s32 *const offs[], u32 n, s32 *from)
{
	s32 end = 0;

	*from = *offs[0];
	for (u32 i = 0; i < n; i++) {
		*from = MIN(*from, *offs[i]);
		end = MAX(end, *offs[i] + 8);
	}
	for (u32 i = 0; i < n; i++)
		*offs[i] -= *from;
	return end - *from;
}

static bool find_places(const struct gen *g, struct places *p)
{
	s32 tree = 0, context;
	const struct wanted all[] = {
		{ "struct mm_struct", "mm_mt", &tree },
		{ "struct maple_tree", "ma_root", &p->root },
		{ "struct maple_range_64", "pivot", &p->bounds },
		{ "struct maple_range_64", "slot", &p->slots },
		{ "struct maple_arange_64", "slot", &p->slots_gaps },
		{ "struct vm_area_struct", "vm_start", &p->start },
		{ "struct vm_area_struct", "vm_end", &p->end },
		{ "struct vm_area_struct", "vm_pgoff", &p->page },
		{ "struct vm_area_struct", "vm_file", &p->file },
		{ "struct file", "f_inode", &p->inode },
		{ "struct inode", "i_ino", &p->number },
		{ "struct inode", "i_sb", &p->block },
		{ "struct inode", "i_size", &p->length },
		{ "struct super_block", "s_dev", &p->device },
	};
	s32 *const vma[] = { &p->start, &p->end, &p->page, &p->file };
	s32 *const inode[] = { &p->number, &p->block, &p->length, &p->seconds, &p->nanoseconds };

	if (!find_all(g, all, ARRAY_SIZE(all)) || !find_changed(g, p))
		return false;
	p->root += tree;
	p->vma_size = gather(vma, ARRAY_SIZE(vma), &p->vma_from);
	p->inode_size = gather(inode, ARRAY_SIZE(inode), &p->inode_from);
	p->vdso = -1;
	if (gen_unwind_member(g, "struct mm_struct", "context", &context) &&
	    gen_unwind_member(g, "mm_context_t", "vdso", &p->vdso))
		p->vdso += context;
	return p->vma_size <= UNWIND_NODE && p->inode_size <= UNWIND_NODE;
}

/* Every type of the kernel's that the walk looks into, found in one search: each one takes as long
 * as all of them, and the answers are remembered. */
static void find_types(const struct gen *g)
{
	struct btf_query q[] = {
		{ "task_struct", BTF_KIND_STRUCT, 0 },
		{ "mm_struct", BTF_KIND_STRUCT, 0 },
		{ "maple_tree", BTF_KIND_STRUCT, 0 },
		{ "maple_range_64", BTF_KIND_STRUCT, 0 },
		{ "maple_arange_64", BTF_KIND_STRUCT, 0 },
		{ "vm_area_struct", BTF_KIND_STRUCT, 0 },
		{ "file", BTF_KIND_STRUCT, 0 },
		{ "inode", BTF_KIND_STRUCT, 0 },
		{ "super_block", BTF_KIND_STRUCT, 0 },
		{ "mm_context_t", BTF_KIND_TYPEDEF, 0 },
		{ "uprobe_task", BTF_KIND_STRUCT, 0 },
		{ "return_instance", BTF_KIND_STRUCT, 0 },
	};
	struct world *w = g->w;
	struct err e;
	const struct btf *b = w->ops->btf ? w->ops->btf(w, &e) : NULL;

	if (b)
		btf_find_many(b, q, ARRAY_SIZE(q), 0);
}

/* Looked for once. */
static const struct places *places(struct gen *g)
{
	struct places *p;

	if (!g->mappings_sought) {
		p = arena_new(&g->u->arena, struct places);
		g->mappings_sought = true;
		find_types(g);
		g->mappings = find_places(g, p) ? p : NULL;
	}
	return g->mappings;
}

bool gen_unwind_maps(struct gen *g)
{
	return gen_has_calls(g) && places(g) != NULL; /* it goes down the tree by callbacks */
}

/* ---- pieces ---- */

/* Reads `size` bytes of the kernel's memory at r3 to the state; leaves to `fail`. */
static void read_kernel(struct step *s, s32 to, s32 size, u32 fail)
{
	code_mov(s->c, R1, ST);
	code_alu_imm(s->c, BPF_ADD, R1, to);
	code_const(s->c, R2, (u64)size);
	code_call(s->c, BPF_FUNC_probe_read_kernel);
	code_if_imm(s->c, BPF_JNE, R0, 0, fail);
}

/* r3 = a word of the state + off. */
static void base_of(struct step *s, s32 word, s32 off)
{
	code_load(s->c, 8, R3, ST, word);
	code_alu_imm(s->c, BPF_ADD, R3, off);
}

/* The verifier would go on with every number that the register can have. */
static void forget(struct step *s, enum reg r)
{
	code_store(s->c, 8, ST, ST_KEYS, r);
	code_load(s->c, 8, r, ST, ST_KEYS);
}

/* From the state's node to the entry for the address in r7; its type in r9. */
static void choose_entry(struct step *s, const struct places *p)
{
	struct code *c = s->c;
	u32 gaps = code_label(c), got = code_label(c);

	code_const(c, R6, 0);
	for (s32 by = 8; by; by /= 2) {
		u32 stay = code_label(c);

		code_mov(c, R1, R6);
		code_alu_imm(c, BPF_ADD, R1, by);
		code_load(c, 8, R2, ST, ST_LAST);
		code_if(c, BPF_JGT, R1, R2, stay);
		code_alu_imm(c, BPF_SUB, R1, 1);
		code_alu_imm(c, BPF_AND, R1, 15);
		code_alu_imm(c, BPF_LSH, R1, 3);
		code_alu(c, BPF_ADD, R1, ST);
		code_load(c, 8, R2, R1, ST_NODE + p->bounds);
		code_if_imm(c, BPF_JEQ, R2, 0, stay);
		code_if(c, BPF_JGE, R2, R7, stay);
		code_alu_imm(c, BPF_ADD, R6, by);
		code_bind(c, stay);
		forget(s, R6);
	}
	code_alu_imm(c, BPF_AND, R6, 15);
	code_alu_imm(c, BPF_LSH, R6, 3);
	code_alu(c, BPF_ADD, R6, ST);
	code_if_imm(c, BPF_JEQ, R9, NODE_GAPS, gaps);
	code_load(c, 8, R1, R6, ST_NODE + p->slots);
	code_goto(c, got);
	code_bind(c, gaps);
	code_alu_imm(c, BPF_ADD, R6, p->slots_gaps);
	code_load(c, 8, R1, R6, ST_NODE);
	code_bind(c, got);
	code_store(c, 8, ST, ST_ENTRY, R1);
}

void gen_unwind_map_step(struct gen *g)
{
	struct step s = { .g = g, .c = &g->c };
	struct code *c = &g->c;
	u32 stop = code_label(c), nothing = code_label(c), few = code_label(c);
	const struct places *p = places(g);

	code_func_start(c, g->unwind.map_step);
	code_load(c, 8, ST, R2, SCRATCH_HOME);
	code_alu_imm(c, BPF_ADD, ST, g->unwind.state.off);
	code_load(c, 8, R3, ST, ST_ENTRY);
	code_mov(c, R9, R3);
	code_alu_imm(c, BPF_RSH, R9, NODE_TYPE_SHIFT);
	code_alu_imm(c, BPF_AND, R9, 15);
	code_const(c, R1, NODE_BOUNDS);
	code_if_imm(c, BPF_JNE, R9, NODE_GAPS, few);
	code_const(c, R1, NODE_BOUNDS_GAPS);
	code_bind(c, few);
	code_store(c, 8, ST, ST_LAST, R1);
	forget(&s, R9);
	code_alu_imm(c, BPF_AND, R3, -UNWIND_NODE);
	read_kernel(&s, ST_NODE, UNWIND_NODE, nothing);
	code_load(c, 8, R7, ST, ST_ADDRESS);
	choose_entry(&s, p);
	code_if_imm(c, BPF_JLE, R9, NODE_LEAVES, stop);
	code_const(c, R0, 0);
	code_exit(c);
	code_bind(c, nothing);
	code_store_imm(c, 8, ST, ST_ENTRY, 0);
	code_bind(c, stop);
	code_const(c, R0, 1);
	code_exit(c);
}

/* The mapping of r7 becomes the state's span, without rows; its offset in ST_BASE; r3 = its
 * file. */
static void find_mapping(struct step *s, const struct places *p)
{
	struct code *c = s->c;
	u32 fits = code_label(c);

	base_of(s, ST_MM, p->root);
	code_load(c, 8, R1, ST, ST_MM);
	code_if_imm(c, BPF_JEQ, R1, 0, s->unknown);
	code_store(c, 8, ST, ST_ADDRESS, R7);
	read_kernel(s, ST_ENTRY, 8, s->unknown);
	code_load(c, 8, R1, ST, ST_ENTRY);
	code_alu_imm(c, BPF_AND, R1, 3);
	code_if_imm(c, BPF_JNE, R1, ROOT_IS_NODE, s->unknown);
	code_const(c, R1, TREE_DEPTH);
	code_func(c, R2, s->g->unwind.map_step);
	code_mov(c, R3, CTX_OF_STEP);
	code_const(c, R4, 0);
	code_call(c, BPF_FUNC_loop);
	base_of(s, ST_ENTRY, p->vma_from);
	code_load(c, 8, R1, ST, ST_ENTRY);
	code_if_imm(c, BPF_JEQ, R1, 0, s->unknown);
	code_alu_imm(c, BPF_AND, R1, 3);
	code_if_imm(c, BPF_JNE, R1, 0, s->unknown);
	read_kernel(s, ST_NODE, p->vma_size, s->unknown);
	code_load(c, 8, R1, ST, ST_NODE + p->start);
	code_load(c, 8, R2, ST, ST_NODE + p->end);
	code_alu(c, BPF_SUB, R2, R1);
	code_mov(c, R3, R7);
	code_alu(c, BPF_SUB, R3, R1);
	code_if(c, BPF_JGE, R3, R2, s->unknown);
	code_mov(c, R3, R2);
	code_alu_imm(c, BPF_RSH, R3, 32);
	code_if_imm(c, BPF_JEQ, R3, 0, fits);
	code_const(c, R2, UINT32_MAX);
	code_bind(c, fits);
	code_store(c, 8, ST, ST_SPAN, R1);
	code_store(c, 8, ST, ST_SIZE, R2); /* and no bias */
	code_store_imm(c, 8, ST, ST_ROWS, 0);
	code_store_imm(c, 8, ST, ST_FILE, 0);
	code_load(c, 8, R2, ST, ST_NODE + p->page);
	code_alu_imm(c, BPF_LSH, R2, __builtin_ctz(arch_page()));
	code_alu(c, BPF_SUB, R1, R2);
	code_store(c, 8, ST, ST_BASE, R1);
	code_load(c, 8, R3, ST, ST_NODE + p->file);
}

/* Without a file: the vdso, whose key is all zero, or memory in no file. */
static void find_vdso(struct step *s, const struct places *p)
{
	struct code *c = s->c;

	if (p->vdso < 0) {
		code_goto(c, s->have_span);
		return;
	}
	base_of(s, ST_MM, p->vdso);
	read_kernel(s, ST_PAIR, 8, s->have_span);
	code_load(c, 8, R1, ST, ST_PAIR);
	code_load(c, 8, R2, ST, ST_SPAN);
	code_if(c, BPF_JNE, R1, R2, s->have_span);
	code_store(c, 8, ST, ST_BASE, R2);
	for (s32 off = 0; off < (s32)sizeof(struct unwind_key); off += 8)
		code_store_imm(c, 8, ST, ST_ID + off, 0);
}

/* The key of the file in r3. */
static void make_key(struct step *s, const struct places *p)
{
	struct code *c = s->c;
	static const s32 to[] = { offsetof(struct unwind_key, inode),
		                  offsetof(struct unwind_key, seconds) };
	const s32 from[] = { p->number, p->seconds };

	code_alu_imm(c, BPF_ADD, R3, p->inode);
	read_kernel(s, ST_PAIR, 8, s->have_span);
	base_of(s, ST_PAIR, p->inode_from);
	read_kernel(s, ST_NODE, p->inode_size, s->have_span);
	for (u32 i = 0; i < ARRAY_SIZE(to); i++) {
		code_load(c, 8, R1, ST, ST_NODE + from[i]);
		code_store(c, 8, ST, ST_ID + to[i], R1);
	}
	code_load(c, 4, R1, ST, ST_NODE + p->nanoseconds);
	code_alu_imm(c, BPF_AND, R1, NANOSECONDS_MASK);
	code_store(c, 8, ST, ST_ID + (s32)offsetof(struct unwind_key, nanoseconds), R1);
	base_of(s, ST_NODE + p->block, p->device);
	read_kernel(s, ST_PAIR, 4, s->have_span);
	code_load(c, 4, R1, ST, ST_PAIR);
	code_store(c, 8, ST, ST_ID + (s32)offsetof(struct unwind_key, device), R1);
}

/* r0 = the element of the state's key. */
static void look_up(struct step *s)
{
	code_map(s->c, R1, gen_map_of(s->g, UMAP_FILES));
	code_mov(s->c, R2, ST);
	code_alu_imm(s->c, BPF_ADD, R2, ST_ID);
	code_call(s->c, BPF_FUNC_map_lookup_elem);
}

/* The same without the device, whose number stays in ST_PAIR. */
static void look_up_size(struct step *s, const struct places *p, u32 known)
{
	struct code *c = s->c;
	const s32 device = ST_ID + (s32)offsetof(struct unwind_key, device);

	code_load(c, 8, R1, ST, ST_NODE + p->length);
	code_const(c, R2, UNWIND_SIZE);
	code_alu(c, BPF_OR, R1, R2);
	code_store(c, 8, ST, device, R1);
	look_up(s);
	code_if_imm(c, BPF_JNE, R0, 0, known);
	code_load(c, 4, R1, ST, ST_PAIR);
	code_store(c, 8, ST, device, R1);
}

/* The file's element; one that is not known is reported, with the address. */
static void find_file(struct step *s, const struct places *p)
{
	struct code *c = s->c;
	u32 known = code_label(c), unknown = code_label(c);

	look_up(s);
	code_if_imm(c, BPF_JNE, R0, 0, known);
	code_load(c, 8, R1, ST, ST_ID + (s32)offsetof(struct unwind_key, inode));
	code_if_imm(c, BPF_JEQ, R1, 0, unknown); /* the vdso */
	look_up_size(s, p, known);
	code_bind(c, unknown);
	code_store(c, 8, ST, ST_MEET + (s32)offsetof(struct unit_meet, address), R7);
	for (s32 off = 0; off < (s32)sizeof(struct unwind_key); off += 8) {
		code_load(c, 8, R1, ST, ST_ID + off);
		code_store(c, 8, ST, ST_MEET + (s32)offsetof(struct unit_meet, key) + off, R1);
	}
	gen_unwind_flag(s, FLAG_UNKNOWN);
	code_goto(c, s->have_span);
	code_bind(c, known);
	code_store_imm(c, 4, R0, offsetof(struct unwind_file, used), 1);
	code_load(c, 4, R1, R0, offsetof(struct unwind_file, number));
	code_store(c, 4, ST, ST_FILE, R1);
	code_load(c, 8, R1, ST, ST_BASE);
	code_store(c, 4, ST, ST_DELTA, R1);
	code_load(c, 8, R1, R0, offsetof(struct unwind_file, spans));
	code_if_imm(c, BPF_JEQ, R1, 0, s->have_span);
	code_store(c, 8, ST, ST_LIST, R1);
}

/* From the span of the file's list at r2 to one of the process, no longer than the mapping. */
static void take_span(struct step *s)
{
	struct code *c = s->c;
	u32 below = code_label(c), above = code_label(c);

	code_load(c, 8, R1, R2, offsetof(struct unwind_span, start));
	code_load(c, 4, R3, R2, offsetof(struct unwind_span, size));
	code_mov(c, R4, R7);
	code_alu(c, BPF_SUB, R4, R1);
	code_load(c, 8, R7, ST, ST_ADDRESS);
	code_if(c, BPF_JGE, R4, R3, s->have_span);
	code_load(c, 8, R4, R2, offsetof(struct unwind_span, rows));
	code_store(c, 8, ST, ST_ROWS, R4);
	code_load(c, 8, R5, ST, ST_BASE);
	code_load(c, 4, R4, R2, offsetof(struct unwind_span, bias));
	code_alu(c, BPF_ADD, R4, R5);
	code_store(c, 4, ST, ST_BIAS, R4);
	code_alu(c, BPF_ADD, R1, R5);
	code_alu(c, BPF_ADD, R3, R1);
	code_load(c, 8, R4, ST, ST_SPAN);
	code_load(c, 4, R5, ST, ST_SIZE);
	code_alu(c, BPF_ADD, R5, R4);
	code_if(c, BPF_JGE, R1, R4, below);
	code_mov(c, R1, R4);
	code_bind(c, below);
	code_if(c, BPF_JLE, R3, R5, above);
	code_mov(c, R3, R5);
	code_bind(c, above);
	code_alu(c, BPF_SUB, R3, R1);
	code_store(c, 8, ST, ST_SPAN, R1);
	code_store(c, 4, ST, ST_SIZE, R3);
	code_goto(c, s->have_span);
}

void gen_unwind_mapping(struct step *s)
{
	struct code *c = s->c;
	u32 file = code_label(c), look = code_label(c);
	const struct places *p = places(s->g);

	gen_unwind_flag(s, FLAG_FOUND);
	find_mapping(s, p);
	code_if_imm(c, BPF_JNE, R3, 0, file);
	find_vdso(s, p);
	code_goto(c, look);
	code_bind(c, file);
	make_key(s, p);
	code_bind(c, look);
	find_file(s, p);
	gen_unwind_chunk(s, s->cut);
	code_mov(c, R6, R0);
	code_load(c, 8, R1, ST, ST_BASE);
	code_alu(c, BPF_SUB, R7, R1);
	code_load(c, 8, R1, ST, ST_LIST);
	gen_unwind_search(s, UNWIND_CHUNK_SPANS, sizeof(struct unwind_span), 8);
	take_span(s);
}
