/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * libmemtap-btf: BTF, the kernel's type information, read in place.
 *
 * The format is that of Documentation/bpf/btf.rst in the kernel tree. The kinds are the constants
 * of <linux/btf.h>, which is included where there is one. <bpf/btf.h> may be included too, before
 * or after; but a struct btf and a struct btf_ext of libbpf's are other things than those of this
 * library.
 *
 *     struct btf_error e;
 *     struct btf *b = btf_open_kernel(&e);
 *     uint32_t id = btf_find(b, BTF_KIND_STRUCT, "vm_area_struct");
 *     struct btf_path p;
 *
 *     if (btf_path(b, id, "vm_file->f_path.dentry", &p, &e))
 *         printf("%u\n", p.hop[p.n - 1].bit_off / 8);
 *     btf_unref(b);
 *
 * Rules for everything here:
 *
 * Bytes.   Any bytes may be given. Opening checks the header only; every offset is checked when it
 *          is used. A question about damaged bytes is answered with "no" (false, 0, NULL), and
 *          btf_check names the first damaged place.
 * Ids.     As in the file: 0 is void, the first type is 1. Split BTF (a module's) continues where
 *          its base ends, and answers for the base's ids too.
 * Names.   Texts are the file's own, NUL-terminated, "" for anonymous; they live as long as the
 *          object (for a split one, also its base, to which it holds a reference). Nobody frees
 *          them.
 * Memory.  Answers are put into structs of the caller. An object keeps an index of at most 64 KiB
 *          (made when first needed), and, where the kernel's file could not be mapped, the pages
 *          that were asked about; of any other file a copy, for others may write to it. Nothing
 *          else is allocated, but by btf_index.
 * Threads. One object may be used by any number of threads at once. There is no global state.
 * Errors.  Functions with a struct btf_error fill it when they fail; NULL may be passed instead.
 */
#ifndef MEMTAP_BTF_H
#define MEMTAP_BTF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __has_include
#if __has_include(<linux/btf.h>)
#include <linux/btf.h>
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

struct btf;

struct btf_error {
	int code;       /* errno of a failed system call, else 0 */
	char text[256]; /* one sentence that names the file or the place; no newline */
};

#ifndef __LINUX_BTF_H__
enum {
	BTF_KIND_UNKN,
	BTF_KIND_INT,
	BTF_KIND_PTR,
	BTF_KIND_ARRAY,
	BTF_KIND_STRUCT,
	BTF_KIND_UNION,
	BTF_KIND_ENUM,
	BTF_KIND_FWD,
	BTF_KIND_TYPEDEF,
	BTF_KIND_VOLATILE,
	BTF_KIND_CONST,
	BTF_KIND_RESTRICT,
	BTF_KIND_FUNC,
	BTF_KIND_FUNC_PROTO,
	BTF_KIND_VAR,
	BTF_KIND_DATASEC,
	BTF_KIND_FLOAT,
	BTF_KIND_DECL_TAG,
	BTF_KIND_TYPE_TAG,
	BTF_KIND_ENUM64,
};
#endif

/* ---- opening -------------------------------------------------------------------------------- */

/* The running kernel's, /sys/kernel/btf/vmlinux. */
struct btf *btf_open_kernel(struct btf_error *e);
/* A module of the running kernel by its name, "ext4". `base` is the kernel's and may be NULL: then
 * it is opened too. The object takes a reference of its own to it. */
struct btf *btf_open_module(const char *name, struct btf *base, struct btf_error *e);
/* A file: raw BTF, or an ELF file with a .BTF section (kernel image, module, BPF object). An ELF
 * file that brings the base of its split BTF along (.BTF.base) is opened on that. */
struct btf *btf_open(const char *path, struct btf_error *e);
/* The same for split BTF on `base` (NULL: none), which must be the one it was made with; but an ELF
 * file that brings its base along is put onto `base` as btf_relocate does. */
struct btf *btf_open_split(const char *path, struct btf *base, struct btf_error *e);
/* n bytes at p, raw or ELF. They are borrowed and must stay unchanged until the last btf_unref. */
struct btf *btf_open_memory(const void *p, size_t n, struct btf_error *e);
struct btf *btf_open_memory_split(const void *p, size_t n, struct btf *base, struct btf_error *e);

/* Split BTF that was made with a small base (names, kinds and sizes of what it needs, as
 * .BTF.base has them) as if it had been made with `base`: a new object, which needs `split` no
 * longer. Fails when `base` has not got one of those types, or several for one. */
struct btf *btf_relocate(const struct btf *split, struct btf *base, struct btf_error *e);

/* One more owner; returns b. */
struct btf *btf_ref(struct btf *b);
/* One owner less; the last one closes. NULL is fine. */
void btf_unref(struct btf *b);

/* ---- the file ------------------------------------------------------------------------------- */

struct btf_file {
	const void *bytes;   /* the BTF from its header on; NULL where it could not be mapped */
	uint64_t n;          /* length of header and sections together */
	uint32_t header_len; /* 24, 32 from Linux 7.1 on, or more */
	uint32_t types_off, types_len; /* sections: bytes from the start of the header */
	uint32_t strings_off, strings_len;
	uint32_t layout_off, layout_len; /* 0 and 0 when there is none */
	bool big_endian;
	bool mapped; /* no private memory is used for the bytes */
};
void btf_file(const struct btf *b, struct btf_file *f);

/* The base of split BTF, borrowed; NULL when it is whole. */
struct btf *btf_base(const struct btf *b);
/* The first id of this file's own types: 1, or the base's btf_count. */
uint32_t btf_first(const struct btf *b);
/* One more than the last usable id, base included, as in `for (id = 1; id < btf_count(b); id++)`.
 * The first call walks over all types. Types after a damaged one are not counted. */
uint32_t btf_count(const struct btf *b);
/* Bytes of a pointer: 4 or 8, after the ELF file's class, the running kernel, or the file's
 * `long`. */
uint32_t btf_pointer_size(const struct btf *b);
/* The text at an offset into the strings, base included; NULL when it lies outside. */
const char *btf_string(const struct btf *b, uint32_t off);
/* Notes where every type starts (4 bytes each, the only allocation of this size), so that an id is
 * found in one step instead of a short walk: for those who ask about most ids, in no order. False
 * when memory has run out; all works without. */
bool btf_index(const struct btf *b);
/* Looks at every byte: ids in range and no loops, strings in range and ended, members inside
 * their types, known kinds. False and the place in *e at the first thing that is wrong. Makes what
 * btf_index makes. */
bool btf_check(const struct btf *b, struct btf_error *e);

/* ---- one type ------------------------------------------------------------------------------- */

/* A type's record, numbers in the machine's order. */
struct btf_info {
	uint32_t id;
	uint32_t kind;     /* BTF_KIND_..., or a newer one that the file's layout describes */
	uint32_t vlen;     /* entries after the record; the linkage of a FUNC */
	bool kind_flag;    /* bit-fields in STRUCT and UNION; a union's FWD; a signed ENUM; ... */
	uint32_t size;     /* bytes: INT, ENUM, ENUM64, STRUCT, UNION, FLOAT, DATASEC; else 0 */
	uint32_t type;     /* the id referred to, for the other kinds, 0 for ARRAY and FWD */
	uint32_t name_off; /* offset of the name in the strings */
	const char *name;
	const void *raw;  /* the record as in the file, in its byte order */
	uint32_t raw_len; /* with all entries; a multiple of 4, at least 12 */
};
/* False when id is 0 or out of range, or the bytes there are damaged. */
bool btf_info(const struct btf *b, uint32_t id, struct btf_info *t);

/* Types in the order of the file, much faster than asking id by id. */
struct btf_iter {
	struct btf_info t; /* the type arrived at */
	const struct btf *_btf;
	uint32_t _off;
};
/* Before the first type with an id of at least `from`. */
void btf_iter_init(struct btf_iter *it, const struct btf *b, uint32_t from);
bool btf_next(struct btf_iter *it);

/* Follows typedef, const, volatile, restrict and type tags (at most 32 steps); 0 when that leads to
 * void or the bytes are damaged. */
uint32_t btf_skip(const struct btf *b, uint32_t id);
/* Bytes, through modifiers, variables and arrays; 0 for void, functions, forward declarations. */
uint32_t btf_size(const struct btf *b, uint32_t id);
/* Alignment in bytes as far as sizes and members tell; 0 as above. Packing is not looked for. */
uint32_t btf_align(const struct btf *b, uint32_t id);

/* What lies after the record of one kind. All return false when t is of another kind. */
struct btf_int {
	bool is_signed, is_char, is_bool;
	uint32_t bit_off, bits; /* in its bytes; bits is 8 * size but for old bit-fields */
};
bool btf_int(const struct btf *b, const struct btf_info *t, struct btf_int *i);
bool btf_array_of(const struct btf *b, const struct btf_info *t, uint32_t *elem, uint32_t *index,
                  uint32_t *count);
/* 0 static, 1 global, 2 extern (enum btf_func_linkage; VAR: 0 static, 1 allocated, 2 extern). */
bool btf_linkage(const struct btf *b, const struct btf_info *t, uint32_t *linkage);
/* DECL_TAG: the parameter or member it marks, -1 the type itself. t->type is what is marked. */
bool btf_component(const struct btf *b, const struct btf_info *t, int32_t *component);

/* Entry i (from 0) of those after the record; false when i is too high or t of another kind. */
struct btf_field { /* STRUCT, UNION */
	const char *name;
	uint32_t type;
	uint32_t bit_off;  /* from the start of the type asked about */
	uint32_t bit_size; /* of a bit-field; 0 for an ordinary member */
	uint32_t name_off;
};
bool btf_field(const struct btf *b, const struct btf_info *t, uint32_t i, struct btf_field *f);
struct btf_arg { /* FUNC_PROTO; the last one has no name and type 0 for "..." */
	const char *name;
	uint32_t type;
	uint32_t name_off;
};
bool btf_arg(const struct btf *b, const struct btf_info *t, uint32_t i, struct btf_arg *a);
struct btf_enumerator { /* ENUM, ENUM64 */
	const char *name;
	int64_t value; /* sign-extended when the kind flag is set; an unsigned 64-bit one as bits */
	uint32_t name_off;
};
bool btf_enumerator(const struct btf *b, const struct btf_info *t, uint32_t i,
                    struct btf_enumerator *v);
struct btf_place {    /* DATASEC */
	uint32_t var; /* id of a VAR or FUNC */
	uint32_t off, size;
};
bool btf_place(const struct btf *b, const struct btf_info *t, uint32_t i, struct btf_place *p);

/* ---- finding by name ------------------------------------------------------------------------ */

/* The first type of that kind (0: any) and name, the base's before this file's own; 0 when there is
 * none. An early answer ends the search early; the same question again takes no search. */
uint32_t btf_find(const struct btf *b, uint32_t kind, const char *name);
/* A type as written in C without "*": "struct x", "union x", "enum x", a typedef, "unsigned
 * int". */
uint32_t btf_find_c(const struct btf *b, const char *name);

/* Several names in one search. */
struct btf_query {
	const char *name;
	uint32_t kind; /* 0: any */
	uint32_t id;   /* the answer of btf_find_many: the first, 0 for none */
};
#define BTF_FIND_OWN     1u /* only this file's own types, not its base's */
#define BTF_FIND_FLAVORS 2u /* "x" also finds "x___old", as in CO-RE */
/* How many of the n have been found. */
uint32_t btf_find_many(const struct btf *b, struct btf_query *q, uint32_t n, unsigned flags);
/* Every type with one of the names, in the order of ids: duplicates, other kinds, flavours. cb gets
 * the number of the query (the first that fits) and returns false to stop. */
void btf_find_all(const struct btf *b, const struct btf_query *q, uint32_t n, unsigned flags,
                  bool (*cb)(void *ctx, uint32_t query, uint32_t id), void *ctx);

/* All types of one kind (0: any) whose name matches the glob ("*", "?", "[a-z]", "[!a]"), in the
 * order of ids. cb returns false to stop. Anonymous types are left out. */
void btf_each(const struct btf *b, uint32_t kind, const char *glob,
              bool (*cb)(void *ctx, uint32_t id, const char *name), void *ctx);

/* ---- members -------------------------------------------------------------------------------- */

/* A member of a STRUCT or UNION by its name, searching anonymous ones too; bit_off counts from the
 * start of `id`. Work is bounded: hostile nesting ends in "no". */
bool btf_field_find(const struct btf *b, uint32_t id, const char *name, struct btf_field *f);
/* Calls back for each named member, anonymous ones opened. cb returns false to stop. */
void btf_field_each(const struct btf *b, uint32_t id,
                    bool (*cb)(void *ctx, const struct btf_field *f), void *ctx);

/*
 * A path as in C from a value of type `id`: "f_path.dentry->d_name.name", "chosen->pid",
 * "uid_map.extent[2].first". "->" and an index on a pointer follow it; the last step may end at
 * anything. A pointer to a forward declaration leads to the definition of that name.
 */
#define BTF_PATH_MAX 32u
struct btf_hop {
	const char *name;  /* the member; "" for an index */
	uint32_t in;       /* the struct, union, array or pointer in which the hop was made */
	uint32_t type;     /* the type arrived at, as declared */
	uint32_t index;    /* for an index */
	uint32_t step_off; /* bits from the start of `in` (of the pointed-at, for a pointer) */
	uint32_t bit_off;  /* bits from where the last pointer led, or from the value's start */
	uint32_t bit_size; /* of a bit-field, else 0 */
	bool deref;        /* the pointer before this hop is followed first */
};
struct btf_path {
	struct btf_hop hop[BTF_PATH_MAX];
	uint32_t n; /* hops */
	/* Of the value at the end: */
	uint32_t type;  /* without modifiers; 0 for void */
	uint32_t size;  /* bytes; of a bit-field its declared type's */
	bool is_signed; /* INT and ENUM */
	uint32_t at;    /* byte of the text where it ended, or went wrong */
};
bool btf_path(const struct btf *b, uint32_t id, const char *text, struct btf_path *p,
              struct btf_error *e);

/* ---- functions, enums, tags ----------------------------------------------------------------- */

/* The FUNC_PROTO of a FUNC, of a pointer or typedef to one, or itself. False when there is none.
 * t->type is the return type; *n_args leaves a final "..." out, *variadic says if there is one. */
bool btf_proto(const struct btf *b, uint32_t id, struct btf_info *t, uint32_t *n_args,
               bool *variadic);
/* An enumerator of any enum by its name: its value and the enum's id. */
bool btf_enum_find(const struct btf *b, const char *name, int64_t *value, uint32_t *id);
/* The name of a value of the ENUM or ENUM64 `id` (the first one with it); NULL when it has none. */
const char *btf_enum_name(const struct btf *b, uint32_t id, int64_t value);
/* The DECL_TAGs of a type; cb gets the tag's own id and record, and returns false to stop. */
void btf_tags(const struct btf *b, uint32_t id, bool (*cb)(void *ctx, const struct btf_info *tag),
              void *ctx);

/* ---- relocations of BPF objects ------------------------------------------------------------- */

/*
 * A compiler notes in .BTF.ext where a BPF object's instructions depend on the layout of types
 * ("compile once, run everywhere"). The kinds are those of <linux/bpf.h>, enum bpf_core_relo_kind.
 */
enum btf_core_kind {
	BTF_CORE_FIELD_OFFSET,
	BTF_CORE_FIELD_SIZE,
	BTF_CORE_FIELD_EXISTS,
	BTF_CORE_FIELD_SIGNED,
	BTF_CORE_FIELD_LSHIFT, /* of a 64-bit load, to get rid of what is left of a bit-field ... */
	BTF_CORE_FIELD_RSHIFT, /* ... and right of it */
	BTF_CORE_ID_LOCAL,
	BTF_CORE_ID_TARGET,
	BTF_CORE_TYPE_EXISTS,
	BTF_CORE_TYPE_SIZE,
	BTF_CORE_ENUM_EXISTS,
	BTF_CORE_ENUM_VALUE,
	BTF_CORE_TYPE_MATCHES,
	BTF_CORE_KINDS,
};

/* One relocation, numbers in the machine's order. */
struct btf_relo {
	const char *section; /* of the instructions */
	uint32_t insn_off;   /* bytes into that section */
	uint32_t type;       /* id in the object's BTF */
	uint32_t access_off; /* string: "0:1:2", from a pointer to the type to a member; ... */
	uint32_t kind;       /* enum btf_core_kind */
	uint32_t number;     /* from 0 in each section */
};

/* A .BTF.ext section; it lives as long as the bytes and the BTF do. Whoever reads one makes room
 * for it; nothing in it is to be touched. */
struct btf_ext {
	const struct btf *btf;
	const uint8_t *relos; /* NULL when there are none */
	uint32_t n, record;   /* bytes of all, bytes of one */
	bool swap;
};
/* That of the object file `object` was opened from. A file without one has no relocations. */
bool btf_ext_of(const struct btf *object, struct btf_ext *x, struct btf_error *e);
/* n bytes of such a section that belong to the BTF `object`. All of it is checked here. */
bool btf_ext_read(const struct btf *object, const void *p, size_t n, struct btf_ext *x,
                  struct btf_error *e);

/* All relocations in the order of the file. */
struct btf_relo_iter {
	struct btf_relo r; /* the one arrived at */
	const struct btf_ext *_ext;
	uint32_t _at, _left;
};
void btf_relo_iter_init(struct btf_relo_iter *it, const struct btf_ext *x);
bool btf_relo_next(struct btf_relo_iter *it);

/*
 * What relocations come to on a kernel. Targets are searched for in `target`, then, for types it
 * has not got, in `modules` (n of them, split BTF on it). All are borrowed until btf_core_free.
 * One search serves all relocations of `x`; with NULL each type is searched for when it comes up.
 * An object is for one thread at a time.
 */
struct btf_core;
struct btf_core *btf_core_new(const struct btf *local, const struct btf_ext *x,
                              const struct btf *target, const struct btf *const *modules,
                              uint32_t n, struct btf_error *e);
void btf_core_free(struct btf_core *c);

struct btf_core_result {
	bool poison;    /* there is nothing of that kind: the instruction must not be executed */
	uint64_t value; /* to go into the instruction; 0 when poisoned */
	uint64_t local; /* what the compiler has put there */
	bool check; /* whether it must be there still (shifts of bit-fields may differ, ids too) */
	/* BTF_CORE_FIELD_OFFSET of no bit-field: bytes that are loaded or stored there. When they
	 * differ, `resize` tells if the instruction's width may be changed; else it is poison
	 * too. */
	uint32_t size, local_size;
	bool resize;
	const struct btf *in; /* where the type was found; NULL when it was not */
	uint32_t type;        /* its id there */
	uint32_t matches;     /* types that fit, and agree: duplicates and flavours */
	const char *why;      /* for `poison`: what is missing; a constant text */
};
/*
 * Evaluates one. False when the relocation itself is wrong, or types that fit disagree on where
 * the member is: whoever loads programs must refuse this one. The outcome depends on those asked
 * before: a type that did not fit once is out for all relocations of the same local type.
 */
bool btf_core_eval(struct btf_core *c, const struct btf_relo *r, struct btf_core_result *out,
                   struct btf_error *e);

/* ---- reducing ------------------------------------------------------------------------------- */

/*
 * The part of `target` that some programs need, as BTF of its own (not split), in its byte order,
 * each type and text once. Of structs and unions only members asked for are kept, at their
 * offsets, and no pointer is followed unless that was asked for: it points to void then.
 */
struct btf_subset;
/* `target` is borrowed. */
struct btf_subset *btf_filter_new(const struct btf *target, struct btf_error *e);
void btf_filter_free(struct btf_subset *s);
/* All of a type, as in btf_find_c, or a function; embedded types too. */
bool btf_filter_type(struct btf_subset *s, const char *name, struct btf_error *e);
/* The members of a path, as in btf_path, and what its pointers lead to. */
bool btf_filter_path(struct btf_subset *s, const char *type, const char *path, struct btf_error *e);
/* What the relocations of an object file come to; those without a target need nothing. */
bool btf_filter_object(struct btf_subset *s, const struct btf *object, struct btf_error *e);
/* What has been asked for so far; *p is valid until the next call. */
bool btf_filter_bytes(struct btf_subset *s, const void **p, size_t *n, struct btf_error *e);
/* The same into a file, which is replaced only by a whole one. */
bool btf_filter_save(struct btf_subset *s, const char *path, struct btf_error *e);

#ifdef __cplusplus
}
#endif

#endif
