/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The shape of unwind tables, shared by all who make them, load them and walk them. A caller is
 * found from three registers: where its instruction was, its stack pointer, its frame pointer
 * (arch/arch.h says which these are). A row says how, from its address on up to the next row's:
 *
 *      CFA (the stack pointer the caller had before its call)  by kind and offset
 *      return address                                          below the CFA, where a call puts it;
 *                                                              or by the row (UNWIND_LINK_*)
 *      frame pointer                                           unchanged, or saved at CFA - 8 * n
 *
 * What does not fit this is UNWIND_RICH: there is a rule, the table has no room for it.
 *
 * Tables lie in chunks of memory that programs read and we write. A process has a list of spans,
 * in address order: which addresses are described by which rows of which chunk. A table of many
 * rows is several spans.
 *
 *      pid --> struct unwind_proc --> [ span span span ... ]   (a chunk)
 *                                        |
 *                                        +--> [ row row row ... ]   (a chunk)
 *
 * A file has such a list too, by offsets in the file: programs find the mapping of an address in
 * the kernel's own tree and its file by struct unwind_key, so the first stack of a new process
 * needs nobody to look at it, when its files are known from others.
 *
 *      mapping --> struct unwind_key --> struct unwind_file --> [ span span ... ]
 */
#ifndef BASE_UNWIND_H
#define BASE_UNWIND_H

#include "base/base.h"

enum unwind_kind {
	UNWIND_GAP,    /* no function is known here */
	UNWIND_END,    /* the outermost frame: it has no caller */
	UNWIND_SP,     /* CFA = stack pointer + offset */
	UNWIND_FP,     /* CFA = frame pointer + offset */
	UNWIND_PLT,    /* CFA as at an entry, and 8 more from byte `offset` of the slot on */
	UNWIND_SIGNAL, /* the kernel's signal frame: registers at the stack pointer */
	UNWIND_RICH,
	UNWIND_DEREF_SP, /* CFA = the word at (stack pointer + offset), + add */
	UNWIND_DEREF_FP,
	/* As SP and FP, where a call leaves the return address in a register: it is still there, or
	 * saved at CFA - 8 * n. */
	UNWIND_LINK_SP,
	UNWIND_LINK_FP,
};

struct unwind_row {
	u32 pc;   /* from the table's base on */
	u32 rule; /* packed as below */
};

/*
 * bits 0-3 kind, 4-10 frame pointer, 11-31 offset. Offsets count words of 8 bytes and are signed;
 * the DEREF kinds use bits 11-18 for `add` and 19-31 for the offset; the LINK kinds bits 11-17 for
 * the return address, as for the frame pointer, and 18-31; a PLT's offset is plain.
 */
#define UNWIND_KIND_MASK    15u
#define UNWIND_FP_SHIFT     4
#define UNWIND_FP_MASK      127u
#define UNWIND_FP_SAME      0u
#define UNWIND_FP_MAX       126u /* saved at CFA - 8 * n */
#define UNWIND_FP_AT_FP     127u /* saved where the frame pointer points (DEREF_FP) */
#define UNWIND_OFFSET_SHIFT 11
#define UNWIND_ADD_MASK     255u
#define UNWIND_DEREF_SHIFT  19
#define UNWIND_LINK_SAME    0u /* in its register */
#define UNWIND_LINK_MASK    127u
#define UNWIND_LINK_SHIFT   18

/* A frame pointer points to the caller's, and the return address is after it. */
#define UNWIND_PAIR 16u

#define UNWIND_CHUNK (128u << 10) /* bytes */

/* A run of rows or of spans in a chunk. Shelf 0 is the map made at the start, others came later. */
typedef u64 unwind_ref;
#define UNWIND_REF(shelf, chunk, first, n)                                                         \
	((u64)(shelf) | (u64)(chunk) << 16 | (u64)(first) << 32 | (u64)(n) << 48)
#define UNWIND_REF_CHUNK 16 /* bits to shift by; each part has 16 bits */
#define UNWIND_REF_FIRST 32
#define UNWIND_REF_N     48

struct unwind_span {
	u64 start;       /* address in the process; in a file's list offset in the file */
	u32 size;        /* bytes */
	u32 bias;        /* address - bias, cut to 32 bits, is a row's pc */
	unwind_ref rows; /* n 0: code without a table (JIT) */
	u32 file;        /* the file's number, UNWIND_NUMBER set; 0: in no file */
	u32 delta;       /* address - delta, cut to 32 bits, is the offset in the file */
};

/* A frame that is no address but a place in a file: the number above, with bit 63 set, below it the
 * offset in the file. It says the same in all processes and when these have ended. */
#define UNWIND_NUMBER      (1u << 31)
#define UNWIND_FRAME       (1ull << 63)
#define UNWIND_FRAME_SHIFT 32

#define UNWIND_CHUNK_ROWS  (UNWIND_CHUNK / sizeof(struct unwind_row))
#define UNWIND_CHUNK_SPANS (UNWIND_CHUNK / sizeof(struct unwind_span))

/* Value of the map of processes. */
struct unwind_proc {
	unwind_ref spans; /* n 0: not known yet */
	u64 used;         /* set by programs at every stack */
	u64 asked;        /* set by programs when they meet an address in no span */
	u64 mm;    /* whose spans they are; 0: not known, set by the first program that uses them */
	u64 found; /* stacks walked by the kernel's tree of mappings, for want of spans */
	u64 raw;   /* set by programs when user space was informed that its addresses are kept */
};

/* Of a key without a device: the file's size is in its place. */
#define UNWIND_SIZE (1ull << 63)

/*
 * How programs know a file: all zero is the vdso. ctime changes when an inode is used again. What
 * is mapped of a file on overlayfs is one of a layer's, whose device user space does not get to
 * know: such a file is known by its size instead.
 */
struct unwind_key {
	u64 inode;
	u64 device; /* major << 20 | minor, as the kernel has it, or UNWIND_SIZE | size */
	u64 seconds, nanoseconds;
};

/* Value of the map of files. */
struct unwind_file {
	unwind_ref spans; /* n 0: it has no tables */
	u32 number;       /* UNWIND_NUMBER set */
	u32 used;         /* set by programs */
};

static inline enum unwind_kind unwind_kind(u32 rule)
{
	return (enum unwind_kind)(rule & UNWIND_KIND_MASK);
}

static inline u32 unwind_fp(u32 rule)
{
	return rule >> UNWIND_FP_SHIFT & UNWIND_FP_MASK;
}

/* Bytes. */
static inline s64 unwind_offset(u32 rule)
{
	return (s64)((s32)rule >> UNWIND_OFFSET_SHIFT) * 8;
}

static inline s64 unwind_link_offset(u32 rule)
{
	return (s64)((s32)rule >> UNWIND_LINK_SHIFT) * 8;
}

/* Words below the CFA, 0: in its register. */
static inline u32 unwind_link(u32 rule)
{
	return rule >> UNWIND_OFFSET_SHIFT & UNWIND_LINK_MASK;
}

/* Packs all of that in words, when there is room; else what has none. */
static inline u32 unwind_link_rule(bool by_fp, s64 off, s64 fp, s64 link)
{
	if (off < -(1 << 13) || off >= 1 << 13 || fp < 0 || fp > UNWIND_FP_MAX || link < 0 ||
	    link > UNWIND_LINK_MASK)
		return UNWIND_RICH;
	return (by_fp ? UNWIND_LINK_FP : UNWIND_LINK_SP) | (u32)fp << UNWIND_FP_SHIFT |
	       (u32)link << UNWIND_OFFSET_SHIFT | (u32)off << UNWIND_LINK_SHIFT;
}

static inline s64 unwind_deref_offset(u32 rule)
{
	return (s64)((s32)rule >> UNWIND_DEREF_SHIFT) * 8;
}

static inline u64 unwind_deref_add(u32 rule)
{
	return (u64)(rule >> UNWIND_OFFSET_SHIFT & UNWIND_ADD_MASK) * 8;
}

#endif
