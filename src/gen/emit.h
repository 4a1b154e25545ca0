/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the files of gen/ share: the state of one program under construction and the places
 * its values live in.
 *
 * Registers: r6 is the context for the whole program. A scalar expression leaves its value in
 * r0. r7-r9 hold values that must survive a call, taken and given back in stack order; when
 * they are taken, a word of the frame serves instead, so no expression is too deep. r1-r5 are
 * free between any two steps. A program with scratch memory has its address in r9.
 *
 * Memory: the 512-byte stack first; what does not fit lives in scratch memory, one slot of a
 * per-CPU map claimed when the program starts (several programs can be preempted on one CPU, so
 * a slot has a busy flag; its address is kept at SCRATCH_HOME, too, where callbacks need it).
 */
#ifndef GEN_EMIT_H
#define GEN_EMIT_H

#include "base/hmap.h"
#include "bpf/code.h"
#include "gen/gen.h"
#include "lang/type/uargs.h"

#define CTX            R6
#define STACK_BYTES    512u
#define SCRATCH_HOME   (-8) /* r10 offset of the scratch slot's address */
#define SCRATCH_COUNTS 8    /* enum ucount, after the slot's busy flag */
#define SCRATCH_FIRST  (SCRATCH_COUNTS + 8u * N_UCOUNT)
#define SCRATCH_NUMBER SCRATCH_FIRST /* the slot's, where functions want it (gen.listed) */
#define SCRATCH_LIMIT  32000u        /* per-CPU allocations of the kernel end at 32 KiB */

enum mem_base { MEM_STACK, MEM_SCRATCH, MEM_POINTER, MEM_OWN };

/* A piece of memory we may write: a base and an offset. */
struct mem {
	enum mem_base base;
	s32 off;
	/* MEM_POINTER: the address rests in a register or a frame word. */
	enum reg reg; /* R0 when it rests on the stack at home */
	s32 home;
};

/* A saved 64-bit value: r7-r9 or a word of the frame. */
struct temp {
	bool in_reg;
	enum reg reg;
	struct mem mem;
};

/* How much of frame and registers is taken; restoring a mark gives back all since. */
struct mark {
	u32 stack, scratch;
	u32 own; /* of a callback's stack */
	u8 regs;
};

/* What a first pass found out, assumed by the next (see gen_program). */
struct needs {
	bool scratch;
	bool unwind;       /* walks user stacks by tables: the places for that come first */
	bool scratch_home; /* a callback looks for the scratch slot's address */
	bool callbacks;    /* they want a share of the stack */
	bool may_sleep;    /* reads user memory from a user probe */
	bool takes;        /* counts in maps of two generations */
};

/* What a program that walks user stacks keeps from its start to its end (gen_unwind.c). */
struct unwind_places {
	bool made, used;
	struct mem state;
	s32 pid, proc; /* frame words */
	s32 slot;      /* ... without bpf_loop(): gen.slot; else 0 */
	u32 step;      /* labels of the callbacks */
	u32 map_step;
};

struct places; /* gen_unwind_map.c */

/* What a program that goes through maps by lists of their keys does with a map (gen_walk.c). */
struct listed {
	bool walked, filled;
};

/* What the verifier walks: instructions, and branches whose way it does not know. */
struct effort {
	u32 insns, branches;
};

struct gen {
	struct unit *u;
	const struct script *s;
	const struct config *cfg;
	struct world *w;
	struct diags *d;
	struct variant *v;

	struct code c;
	struct arena work; /* of one program, while it is made */
	u32 exit_label;
	struct mark used;
	u32 scratch_peak;          /* over all programs */
	u32 zero_size;             /* bytes wanted of the zero map */
	u32 n_turns;               /* maps of two generations */
	struct hmap probe_numbers; /* probe name -> index in unit->probe_names */
	struct needs assume, found;
	bool failed;
	bool sent; /* the program sends records */

	struct mem *vars;  /* by var_sym index */
	enum reg scratch;  /* holds the scratch slot's address; R0 in callbacks: see SCRATCH_HOME */
	enum reg frame;    /* what stack offsets count from: r10, in a callback the program's */
	struct each *each; /* callbacks still to be compiled (gen_each.c) */
	struct unwind_places unwind;
	const struct places *mappings; /* where the kernel keeps those of processes, NULL unknown */
	bool mappings_sought;
	u32 break_label, continue_label;
	s32 result; /* TEST: where on the stack its result is */
	/* By map; NULL in a program that goes through none by lists of keys. In one that does, all
	 * that functions of its own share is in scratch memory. */
	struct listed *listed;
	bool *shared;       /* variables that are in loops over maps, by index */
	u32 walk_depth;     /* loops by lists around, each the body of a function */
	s32 slot;           /* where functions have the scratch slot's number; 0: not kept */
	struct mem verdict; /* TEST: its result, of a function */
	u32 loop_depth;
	u32 searched;     /* branches of the searches so far, see gen_text.c */
	u32 n_open_loops; /* of the probe, those of which the verifier does not see the end */
	/* beyond what is written down: rounds of loops in the loop being compiled */
	struct effort repeats;
};

/* ---- frame.c ---- */
struct mark frame_mark(struct gen *g);
void frame_release(struct gen *g, struct mark m);
struct mem frame_alloc(struct gen *g, u32 size);
/* A free one of r7-r9, or R0. */
enum reg frame_reg(struct gen *g);
/* A word of the stack for a pointer, which would come back from scratch memory as a number. */
s32 frame_pointer(struct gen *g);
/* A word of the function's own stack for the rounds of a loop: in other memory, before Linux 6.7
 * also in the program's frame seen from a callback, the kernel does not follow a number and sees no
 * end. */
struct mem frame_counter(struct gen *g);
/* A word of the function's own, which the verifier follows if there is room. */
struct mem frame_word(struct gen *g);

/* ---- mem.c ---- */
/* dst = address of m. */
void mem_addr(struct gen *g, struct mem m, enum reg dst);
/* Takes from the verifier what it knows of the value at m. For what a callback changes and reads:
 * before Linux 6.7 the verifier follows a callback once, and leaves out what can not come true in
 * or after exactly one round; later it goes round after round until it finds nothing new, which
 * with a counter is never. Uses r0 to r5. */
void mem_forget(struct gen *g, struct mem m, u32 size);
struct mem mem_at(struct mem m, s32 off);
/* Load and store of 1, 2, 4, 8 bytes; the store may use r5 for the base, the load only dst. */
void mem_load(struct gen *g, u32 size, enum reg dst, struct mem m);
void mem_store(struct gen *g, u32 size, struct mem m, enum reg src);
void mem_store_imm(struct gen *g, u32 size, struct mem m, s32 imm);
/* A word that controls a loop: before Linux 6.3 the verifier forgets what an immediate store wrote
 * but follows a register's value. Uses r0. */
void mem_store_const(struct gen *g, struct mem m, u64 value);
/* Zeroes bytes [from, to) of m; uses r0-r5 when long. */
void mem_zero(struct gen *g, struct mem m, u32 from, u32 to);
/* Loads `size` bytes from any offset: the stack can only be read in aligned words. Uses r1. */
void mem_load_any(struct gen *g, u32 size, enum reg dst, struct mem m);
/* Copies that many bytes from any offset to an aligned place; uses r0-r5. */
void mem_copy_any(struct gen *g, struct mem dst, struct mem src, u32 size);
/* Copies a multiple of 8 bytes; uses r0-r5. */
void mem_copy(struct gen *g, struct mem dst, struct mem src, u32 size);
/* Memory that the pointer now in `src` leads to; the pointer is kept until the mark is released. */
struct mem mem_of_pointer(struct gen *g, enum reg src);

/* ---- temp.c ---- */
struct temp temp_save(struct gen *g, enum reg src);
/* A register that is kept until the mark is released, when one is free: else !in_reg. */
struct temp temp_of_reg(struct gen *g);
void temp_load(struct gen *g, struct temp t, enum reg dst);

/* ---- gen.c ---- */
/* Index of an internal map, added to the unit on first use. */
u32 gen_map_of(struct gen *g, enum umap_role role);
/* The map of stacks, for a program that puts some in. */
u32 gen_stacks_map(struct gen *g);
/* Emits: dst = address of the first of UERROR_ANSWERS counters of refused updates of a map. */
void gen_update_errors(struct gen *g, enum reg dst, struct loc loc, const char *map);
/* Emits: one more failure of this kind at this place. Uses r1 and r2 only. */
void gen_count_error(struct gen *g, enum uerror_kind kind, struct loc loc, const char *what);
/* Emits: data word += 1. Uses r1 and r2. */
void gen_count_data(struct gen *g, u32 word);
/* A construct we can not compile: adds the error, marks the program failed. */
void gen_error(struct gen *g, struct loc loc, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* ---- gen_expr.c ---- */
/* The scalar value of n in r0. */
void gen_value(struct gen *g, const struct node *n);
/* Jumps to label when n's truth equals `when`, else falls through. */
void gen_branch(struct gen *g, const struct node *n, bool when, u32 label);
/* For effect only. */
void gen_effect(struct gen *g, const struct node *n);
/* Cuts and extends r0 to an integer type's width and sign. */
void gen_narrow(struct gen *g, const struct type *t, enum reg r);
/* r0 = r0 op r1. */
void gen_arith(struct gen *g, enum op op, bool is_signed, struct loc loc);
/* Size of what a pointer step moves by: 1 for integers, the pointee's size for pointers. */
u32 gen_step(const struct type *t);

/* ---- gen_mem.c ---- */
/* The value of n, converted to t, into memory; every byte of the slot is written when `pad`
 * or when dst is on the stack. */
void gen_store(struct gen *g, const struct node *n, const struct type *t, struct mem dst, bool pad);
/* The same where dst is what n may read: the variable or map that has the symbol `sym`. */
void gen_store_in(struct gen *g, const struct node *n, const struct type *t, struct mem dst,
                  bool pad, const void *sym);
/* Kinds that rest in one word and are computed in r0. */
bool gen_is_word(const struct type *t);
/* Bytes of text, its NUL included, that a string of declared size keeps. */
u32 gen_room(const struct type *t);
/* True when a variable of that type is zero after the NUL of its strings, so that it can be copied
 * into a key as it is. A long string alone is not: clearing it costs more than reading it. */
bool gen_is_padded(const struct type *t);
/* Memory holding the value of n as type n->type (n's own place when it has one). */
struct mem gen_place(struct gen *g, const struct node *n);
/* Where a part of a value of ours lies: at any offset, maybe not padded after. */
struct mem gen_part(struct gen *g, const struct node *n);
/* Copies a value at rest from one type's form to another's. */
void gen_convert(struct gen *g, struct mem dst, const struct type *dt, struct mem src,
                 const struct type *st, bool pad);
void gen_literal(struct gen *g, struct str text, u32 size, struct mem dst, bool pad);

/* ---- gen_read.c ---- */
/* Reads `size` bytes of foreign memory at r3 into dst (r0: 0 or negative). Uses r0-r5. */
void gen_probe_read(struct gen *g, enum space space, u32 size, struct mem dst, struct loc loc);
/* ... `size` bytes as a number at run time, at most max. */
void gen_probe_read_part(struct gen *g, enum space space, u32 max, const struct temp *size,
                         struct mem dst, struct loc loc);
/* Reads a NUL-terminated string at r3 into dst: at most `max` bytes with the NUL, and when
 * `length` is given at most that many before the NUL. With cut_matters a full dst is counted. */
void gen_probe_read_str(struct gen *g, enum space space, struct mem dst, u32 max,
                        const struct temp *length, bool cut_matters, struct loc loc);
/* r0 = bytes copied of a string, its NUL included: `max` of them means that it may be cut, as the
 * mark in the output says; that is counted. */
void gen_count_cut(struct gen *g, u32 max, struct loc loc);
/* r0 = foreign integer of type t at r3, extended. */
void gen_read_scalar(struct gen *g, enum space space, const struct type *t, struct loc loc);
/* r0 = foreign address of n (a struct, array or char array behind a pointer); returns space. */
enum space gen_address(struct gen *g, const struct node *n);
/* True when n's bytes are foreign memory (must be read), false when they are ours. */
bool gen_is_foreign(const struct node *n);
void gen_field(struct gen *g, const struct node *n);
void gen_index(struct gen *g, const struct node *n);
void gen_deref(struct gen *g, const struct node *n);
/* The address space a pointer-like expression points into. */
enum space gen_space(const struct gen *g, const struct node *n);

/* ---- gen_iovec.c ---- */
/* iovec(p, n, length, each) into dst, likewise. */
void gen_iovec(struct gen *g, const struct node *n, const struct type *t, struct mem dst, bool pad);

/* ---- gen_ctx.c ---- */
/* r = argument i of the probe. */
void gen_arg(struct gen *g, u32 i, struct loc loc);
void gen_builtin(struct gen *g, const struct node *n);
bool gen_builtin_direct(struct gen *g, const struct node *n, enum reg dst);
/* A builtin that is no scalar (comm, ustack, func) into memory. */
void gen_builtin_store(struct gen *g, const struct node *n, const struct type *t, struct mem dst,
                       bool pad);
/* The world, with what machine() fills in. */
const struct world *gen_machine(struct gen *g);
/* r0 = pid << 32 | tid in our namespace. */
void gen_pid_tgid(struct gen *g);

/* ---- gen_uarg.c ---- */
/* The argument or result of a program's function that n is as a whole; NULL when it is none. */
const struct uarg *gen_uarg(const struct gen *g, const struct node *n);
/* r0 = a scalar one in a register. */
void gen_uarg_value(struct gen *g, const struct uarg *u, const struct type *t);
/* r0 = the address of one in memory. */
enum space gen_uarg_address(struct gen *g, const struct uarg *u);
/* One in registers into memory. */
void gen_uarg_store(struct gen *g, const struct uarg *u, const struct type *t, struct mem dst);
/* r0 = the `size` bytes, not extended, at which a part n of one in registers starts; false and
 * nothing when it has to be put together first. */
bool gen_uarg_part(struct gen *g, const struct node *n, u32 size);

/* ---- gen_map.c ---- */
/* The key of a map expression in memory; without key a zero u32. */
struct mem gen_key(struct gen *g, const struct node *map);
/* The same at a certain place, for a map with a key. */
void gen_key_at(struct gen *g, const struct node *map, struct mem key);
void gen_map_value(struct gen *g, const struct node *n);
/* r0 = address of the value, 0 when there is none. */
void gen_map_find(struct gen *g, const struct node *n);
void gen_map_store(struct gen *g, const struct node *n, const struct type *t, struct mem dst,
                   bool pad);
void gen_map_assign(struct gen *g, const struct node *n);
void gen_map_step(struct gen *g, const struct node *n);
void gen_map_delete(struct gen *g, const struct node *map, struct node *key);
void gen_map_has(struct gen *g, const struct node *map, struct node *key);
/* r0 = address of the element's value, made zero when absent; counts an error and jumps to `full`
 * when there is no room. */
void gen_map_reach(struct gen *g, const struct node *map, struct mem key, u32 full);
/* The same of a map of two generations: jumps to `have` when it has the element, else falls through
 * with the reason in r0 (unit_spill.why). */
void gen_map_try(struct gen *g, const struct node *map, struct mem key, u32 have);
/* The same for what adds one at r0 next and does not look at the sum: when there is no room, r0 is
 * the counter of that error. */
void gen_map_reach_counter(struct gen *g, const struct node *map, struct mem key, u32 full);
/* A map without key: something is put into the element at `element`. Uses r2. */
void gen_map_say_set(struct gen *g, const struct map_sym *sym, enum reg element);

/* ---- gen_turn.c ---- */
/* A map with a key, whichever of its generations is in use, as a program has it. */
struct turn {
	const struct map_sym *sym;
	bool held; /* of two generations: the map's address is at `map` */
	struct mem map;
};
/* dst = address of the word that says which generation to use. */
void gen_turn_load(struct gen *g, const struct map_sym *sym, enum reg dst);
/* dst = how often the map was turned over. */
void gen_turn_number(struct gen *g, const struct map_sym *sym, enum reg dst);
/* One more key is in; at the number that user space asks for it is informed. Uses r0-r5. */
void gen_turn_count(struct gen *g, const struct map_sym *sym);
/* A program reads of the map. */
void gen_turn_is_read(struct gen *g, const struct map_sym *sym);
/* r1 = the map. Uses r0-r5 when it has two generations. */
void gen_turn_map(struct gen *g, const struct map_sym *sym);
/* The same for several uses: the choice is kept until the mark is released. Uses r0-r5. */
struct turn gen_turn_hold(struct gen *g, const struct map_sym *sym);
/* r1 = the map. */
void gen_turn_held(struct gen *g, const struct turn *t);
/* Around what changes an element, from before the map is looked up: nothing in between may sleep or
 * jump away. Uses r0-r5. */
struct mem gen_turn_enter(struct gen *g, const struct map_sym *sym);
/* Uses r1 and r2 only. */
void gen_turn_leave(struct gen *g, const struct map_sym *sym, struct mem at);

/* What an event adds under a key: one aggregation, or several. */
struct aggregates {
	struct aggregate {
		const struct type *type;
		s32 off; /* of the cell */
		struct temp value;
	} v[UNIT_AGGS];
	u32 n;
};

/* ---- gen_spill.c ---- */
/* True when what has no room in the map is sent to user space. */
bool gen_spills(const struct map_sym *sym);
/* Room for such a record, and in it for the key, which is to be put there. */
struct mem gen_spill_alloc(struct gen *g, const struct map_sym *sym);
struct mem gen_spill_key(const struct map_sym *sym, struct mem record);
/* Sends it, while records leave half of the ring free for others, else counts it as lost; r0 is
 * what gen_map_try() left, all the operands. */
void gen_spill(struct gen *g, const struct node *map, struct mem record,
               const struct aggregates *all);

/* ---- gen_lane.c ---- */
/* A record that is put together here and ends, if has_tail, with bytes of the packet. */
struct lane_record {
	struct mem rec;
	u32 fixed, most; /* bytes at `rec`, 0: `size` of them; bytes at most */
	struct temp size;
	u32 time; /* where at `rec` it says when it is, by the monotonic clock; 0: nowhere */
	bool has_tail;
	u32 tail_max;
	struct temp tail, tail_at; /* bytes, and from where on */
	struct loc loc;
};

/* Records go into lanes: user space looks for them, and the kernel has atomics for that. */
bool gen_has_lanes(const struct gen *g);
/* r0 = 0, or negative: there is no room. */
void gen_lane_send(struct gen *g, const struct lane_record *r);

/* ---- gen_agg.c ---- */
/* @m[k] = count(), or of several. */
void gen_agg_assign(struct gen *g, const struct node *map, const struct node *e);
/* r0 = the value an aggregation reads as, its CPUs' cells added up. */
u32 gen_map_type(const struct map_sym *sym, bool per_cpu);
void gen_agg_value(struct gen *g, const struct map_sym *sym, struct mem key, struct loc loc);
/* Nothing counted under the key, on all CPUs. */
void gen_agg_clear(struct gen *g, const struct map_sym *sym, struct mem key);

/* ---- gen_stack.c ---- */
/* Wakes user space to see which maps are to be emptied. Uses r0-r5. */
void gen_drain(struct gen *g);
/* Stores the words of a stack value. */
void gen_stack(struct gen *g, const struct type *t, struct mem dst, struct loc loc);
/* r0 = number of frames of the stack value in m. */
void gen_stack_len(struct gen *g, const struct type *t, struct mem m);

/* ---- gen_unwind.c ---- */
#define UNWIND_INSTANCE_MAX 64 /* bytes read of a struct return_instance */
struct unwind_places gen_unwind_reserve(struct gen *g);
/* Whether the kernel says what the registers of the event's process are. */
bool gen_unwind_possible(const struct gen *g);
/* Where the frames go: a struct ustack_value. */
struct mem gen_unwind_frames(const struct gen *g);
/* Walks the user stack, at most `limit` frames, `raw`: all of them as addresses; jumps to `unknown`
 * where it can not: to a process without tables, or when there is no 64-bit user code. */
void gen_unwind(struct gen *g, u32 limit, bool raw, u32 unknown);
/* What the kernel's own walk has found, at most `limit` frames, is now where the frames go: it may
 * not be all. */
void gen_unwind_by_kernel(struct gen *g, u32 limit);
/* There was no room for the stack that was just walked. */
void gen_unwind_lost(struct gen *g);
/* Jumps, with r0 = 0, when no frame of the stack just walked is an address. */
void gen_unwind_is_shared(struct gen *g, u32 shared);
/* Copies the user stack's top and sends it; its id and pid to dst. Jumps like gen_unwind(). */
void gen_unwind_copy(struct gen *g, u32 limit, struct mem dst, u32 unknown);

/* ---- gen_unwind_map.c ---- */
/* True when programs can find the mapping of an address by themselves. */
bool gen_unwind_maps(struct gen *g);
/* Where a member of a type of the kernel lies; false: it is not known. */
bool gen_unwind_member(const struct gen *g, const char *type, const char *name, s32 *off);

/* ---- gen_unwind_step.c ---- */
/* The callback that makes a step, after the program. */
void gen_unwind_step(struct gen *g);

/* ---- gen_seen.c ---- */
/* To be called where an address of the running process is kept: user space reads its memory map on
 * first sight. Uses r0-r5. */
void gen_seen(struct gen *g);

/* ---- gen_string.c ---- */
/* r0 = 1 when the strings are equal in their first `limit` bytes (0: whole), else 0. */
void gen_string_eq(struct gen *g, const struct node *a, const struct node *b, u32 limit);

/* ---- gen_hash.c ---- */
/* r0 = 64 bits that follow from a value. */
void gen_hash(struct gen *g, const struct node *n);

/* ---- gen_text.c ---- */
/* r0 = where the first `part` stands in `text`, or -1. */
void gen_text_find(struct gen *g, const struct node *text, const struct node *part);
/* r0 = where the first of these bytes, or the end, is in a string, from `from` on. */
void gen_text_first_of(struct gen *g, const struct node *text, const struct node *from,
                       struct str bytes);
/* substr() into dst, likewise. */
void gen_text_part(struct gen *g, const struct node *n, const struct type *t, struct mem dst,
                   bool pad);
/* r0 = difference of the first bytes that differ among the first n, 0 when none does. */
void gen_text_compare(struct gen *g, const struct node *a, const struct node *b, u32 n);
/* r0 = 0 or a negative error. */
void gen_text_write_user(struct gen *g, const struct node *to, const struct node *what, u32 n);
void gen_text_concat(struct gen *g, const struct node *n, const struct type *t, struct mem dst,
                     bool pad);
void gen_text_decimal(struct gen *g, const struct node *n, const struct type *t, struct mem dst,
                      bool pad);

/* ---- gen_call.c, gen_record.c ---- */
void gen_call(struct gen *g, const struct node *n);
void gen_call_store(struct gen *g, const struct node *n, const struct type *t, struct mem dst,
                    bool pad);
/* buf(p, n) into dst; bytes after its end are cleared when `pad` or when dst is on the stack. */
void gen_buf(struct gen *g, const struct node *n, const struct type *t, struct mem dst, bool pad);
/* Its length, and the address of its bytes. */
enum space gen_buf_source(struct gen *g, const struct node *n, u32 max, struct temp *length,
                          struct temp *address);
/* Bytes of it at most. */
u32 gen_buf_max(const struct node *n, const struct type *t);
/* True when storing n leaves the bytes of a string that was read, its NUL included, in r0; negative
 * when that failed, and the string is empty then. */
bool gen_leaves_length(const struct node *n);
bool gen_record(struct gen *g, const struct node *n);
/* r0 = 0, or negative: there is no room in the ring for the r3 bytes at `rec`. */
void gen_ring_send(struct gen *g, struct mem rec);

/* ---- gen_iter.c ---- */
/* At the start: jumps to `out` in an iterator's call after its last object. */
void gen_iter_skip_end(struct gen *g, u32 out);
/* At the end: lets the reader see the records sent, see the file. Nothing for other kinds. */
void gen_iter_poke(struct gen *g);
/* A function that user space carries out, in a pinned iterator; false elsewhere. */
bool gen_iter_print(struct gen *g, const struct node *n);

/* ---- gen_each.c ---- */
/* A loop over a map, or one over numbers or a `while` when gen_each_takes() it. */
void gen_each(struct gen *g, const struct node *n);
/* True of a loop over so many numbers that it is to be a callback. */
bool gen_each_takes(const struct gen *g, const struct node *n);
/* r0 = number of a map's elements. */
void gen_each_count(struct gen *g, const struct node *map);
/* Label of a function that the kernel calls with the frame's address in register `frame`; its code,
 * made by `emit` after the program, ends by itself and uses r0-r5. */
u32 gen_callback(struct gen *g, void (*emit)(struct gen *g, const void *what), const void *what,
                 enum reg frame);
/* Whether the kernel has bpf_loop(), Linux 5.17. */
bool gen_has_calls(const struct gen *g);
/* Calls the function at that label, or at that of gen_callback(), r1 times at most (bpf_loop()). */
void gen_call_loop(struct gen *g, u32 callback);
/* Label of a function of the number of the scratch slot, which the program calls itself; `emit`
 * makes its code after the program. */
u32 gen_function(struct gen *g, void (*emit)(struct gen *g, const void *what), const void *what);
/* Calls it as long as r0 = 0 comes of it, `most` times at most. */
void gen_call_function(struct gen *g, u32 function, u32 most);
/* In a function: r0 = address of the scratch slot, whose number is in r1 and kept at r10 + at. */
void gen_find_slot(struct gen *g, s32 at, u32 none);
/* $kv = (key, value). */
void gen_each_pair(struct gen *g, const struct node *n, struct mem key, struct mem value);
/* A callback's end: the loop goes on, or ends. */
void gen_go_on(struct gen *g);
void gen_stop(struct gen *g);
/* The callbacks of all loops, after the program. */
void gen_each_callbacks(struct gen *g);

/* ---- gen_walk.c ---- */
/* Finds out whether the program goes through maps by lists of their keys, and through which. */
void gen_walk_find(struct gen *g);
/* The loop n through the map, or r0 = its number of elements when n is NULL. */
void gen_walk(struct gen *g, const struct map_sym *map, const struct node *n, struct loc loc);
/* Before the key is put into the map: a new one is listed. Uses r0-r5. */
void gen_walk_fills(struct gen *g, const struct map_sym *map, struct mem key);

/* ---- gen_stmt.c ---- */
/* Rounds of a loop inside another when the verifier does not see its end. */
#define LOOP_OPEN 64u
void gen_block(struct gen *g, const struct node *block);
/* Instructions from `from` on are a loop that the verifier walks that many times. */
void gen_repeat(struct gen *g, u32 from, u32 rounds);
/* Loops below n of which the verifier does not see the end. */
u32 gen_open_loops(const struct gen *g, struct node *n);

#endif
