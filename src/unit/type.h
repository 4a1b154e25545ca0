/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One type describes a value in the compiler, in map memory and in the
 * printer, so that what is compiled is what is printed.
 *
 * Storage: wherever a value rests in memory we made (map key, map value, tuple
 * field, ring record, stack slot) it takes type_slot(t) bytes, a multiple of 8,
 * at an 8-byte aligned offset. Scalars (bool, int, enum, pointer) rest as one
 * 64-bit word, sign- or zero-extended by their type, so equal values have equal
 * bytes. Memory of others (kernel structs, user memory, tracepoint records) is
 * read at its own width, t->size, and widened.
 */
#ifndef UNIT_TYPE_H
#define UNIT_TYPE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "unit/values.h"

/* What of an interval's values a time series keeps. */
enum series_kind { SERIES_LAST, SERIES_AVG, SERIES_MAX, SERIES_MIN, SERIES_SUM };

/* Which memory a pointer points into. NONE: decided at run time by the address itself. */
enum space {
	SPACE_NONE,
	SPACE_USER,
	SPACE_KERNEL,
	SPACE_OWN, /* a variable of the program itself: kernel memory, gone when the program ends */
	SPACE_PACKET, /* an offset in the packet that the program looks at */
};

enum stack_mode { STACK_BPFTRACE, STACK_PERF, STACK_RAW, STACK_BUILD_ID };
/* How the frames of a user stack are found. */
enum stack_walk {
	WALK_AUTO, /* by unwind tables, what they do not know by frame pointers */
	WALK_FP,   /* by frame pointers, as the kernel does it */
	WALK_COPY, /* the top of the stack is copied and walked in user space */
};

struct type;

struct field {
	const char *name; /* NULL in tuples, not in records */
	const struct type *type;
	u32 off;       /* bytes from the start of the containing value */
	u8 bit_off;    /* bit-field: shift within the bytes at `off` ... */
	u8 bit_size;   /* ... and width in bits; 0 for an ordinary field */
	bool data_loc; /* tracepoint string: u32 at `off` is (length << 16 | offset from record) */
	bool rel_loc;  /* as data_loc, offset counts from the end of this u32 */
};

/* A name and value for TYPE_INT with enumerators. */
struct enumerator {
	const char *name;
	s64 value;
};

/* Where a struct comes from: the compiler looks its members up there (lang/parse/origins.h). */
struct origin {
	enum { ORIGIN_SCRIPT, ORIGIN_BTF, ORIGIN_DEBUG } kind;
	u32 nr; /* which BTF, which debug information */
};

struct type {
	enum type_kind kind;
	u32 size; /* bytes, see storage above */
	bool is_signed;
	bool bounded; /* STR: cut strings are impossible (literal, comm), no ".." is added */
	bool is_raw;  /* INT: all of a register, in which C may have put an int */
	bool packed;  /* STRUCT of the script: members are not aligned */
	u16 align;    /* STRUCT of the script: it is aligned by this many bytes; 0 unknown */
	enum space space;
	const struct type *elem;
	u32 count;
	const struct field *fields; /* TUPLE; STRUCT and ARGS when loaded */
	u32 n_fields;
	const char *name;     /* STRUCT: "struct task_struct"; INT with enumerators: "enum x" */
	struct origin origin; /* STRUCT */
	u32 id;               /* STRUCT: its number there: BTF id, place in the debug information */
	const struct enumerator *enums;
	u32 n_enums;
	u32 bits;             /* HIST: log2 of sub-buckets per power of two, 0..5 */
	s64 min, max, step;   /* LHIST */
	enum stack_mode mode; /* KSTACK, USTACK, STACK */
	enum stack_walk walk; /* USTACK, STACK */
	u32 limit;            /* KSTACK, USTACK: frames */
	const char *text;     /* TIMESTAMP: strftime format, CGROUP_PATH: filter glob or NULL */
};

extern const struct type type_none, type_bool, type_u8, type_u16, type_u32, type_u64, type_s8,
	type_s16, type_s32, type_s64;
/* uint64 of which only a register is known: argN, retval. Directives show an int in it as one. */
extern const struct type type_raw;

/* The shared integer type of that size (1, 2, 4, 8) and sign. */
const struct type *type_int(u32 size, bool is_signed);
/* A string of `size` bytes including its NUL; rounded up to 8. */
const struct type *type_str(struct arena *a, u32 size, bool bounded);
/* A char array of that many elements, which text may fill to the end: there is room for a NUL. */
const struct type *type_chars(struct arena *a, u32 count);
const struct type *type_buf(struct arena *a, u32 count);
const struct type *type_ptr(struct arena *a, const struct type *elem, enum space space);
/* The struct as it lies in memory of that space. */
const struct type *type_struct_in(struct arena *a, const struct type *t, enum space space);
const struct type *type_array(struct arena *a, const struct type *elem, u32 count);
/* Lays the fields out one slot after the other; sets off and size. */
const struct type *type_tuple(struct arena *a, const struct type *const *types, u32 n);
/* A tuple whose parts have names. */
const struct type *type_record(struct arena *a, const struct type *const *types,
                               const char *const *names, u32 n);
/* A tuple or record of other types with the names of `like`. */
const struct type *type_retuple(struct arena *a, const struct type *like,
                                const struct type *const *types);
bool type_is_record(const struct type *t);
#define UNIT_AGGS 8u /* at most so many aggregations under one key */
/* Several aggregations under one key: every field is one, at the offset of its cell. */
const struct type *type_aggs(struct arena *a, const struct type *const *types,
                             const char *const *names, u32 n);
/* The part of t that part i of `of` is: of records that of the same name. t->n_fields: none. */
u32 type_part(const struct type *t, const struct type *of, u32 i);
/* A USYM that is where the function of a probe starts: its `limit` is 1. */
const struct type *type_func(struct arena *a);
/* A type that needs no more than its kind (KSYM, USYM, PROBE, COUNT, ...). */
const struct type *type_plain(struct arena *a, enum type_kind kind);
const struct type *type_stack(struct arena *a, enum type_kind kind, enum stack_mode mode,
                              u32 limit);

/* Bytes a value takes at rest: size rounded up to 8, at least 8. */
u32 type_slot(const struct type *t);
/* Bytes of an aggregation's cell in a map value; for other types type_slot(). */
u32 type_cell(const struct type *t);
bool type_is_scalar(const struct type *t); /* fits one register: bool, int, pointer */
bool type_is_agg(const struct type *t);
bool type_is_stack(const struct type *t);
bool type_has(const struct type *t, enum value_trait trait);
/* Same kind, sizes, sign, elements: values are interchangeable in memory. */
bool type_eq(const struct type *a, const struct type *b);
/* As the user would write it: "uint64", "string[64]", "struct file *", "(int64,string[16])". */
void type_print(struct buf *b, const struct type *t);
const char *type_name(struct arena *a, const struct type *t);

#endif
