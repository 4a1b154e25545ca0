/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reading BTF (Documentation/bpf/btf.rst in the kernel tree) in place. Opening maps the
 * file; nothing is decoded before it is asked for. Every offset is checked when it is
 * used, so any bytes may be given. Ids are those of the file; 0 is void.
 */
#ifndef READ_BTF_H
#define READ_BTF_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct btf;

/* Maps `path` ("/sys/kernel/btf/vmlinux" or a raw BTF file). NULL and *e on failure. */
struct btf *btf_open(const char *path, struct err *e);
/* Borrows the memory. */
struct btf *btf_open_memory(const void *p, size_t n, struct err *e);
void btf_close(struct btf *b);

/* The kinds of <linux/btf.h>, which can not be included beside this file: it has a struct
 * btf_member of its own, and the packaged one may lack the newest kinds. */
enum btf_kind {
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

struct btf_info {
	u32 kind; /* enum btf_kind, or a newer one */
	u32 vlen;
	bool kind_flag;
	u32 size;         /* bytes, for sized kinds */
	u32 type;         /* referenced id, for the others */
	const char *name; /* "" when anonymous */
};
/* False when id is out of range or the bytes there are damaged. */
bool btf_info(const struct btf *b, u32 id, struct btf_info *info);

/* The first type of that kind (0: any) and name, 0 when there is none. */
u32 btf_find(const struct btf *b, u32 kind, const char *name);
/* A type as written in C without "*": "struct x", "union x", "enum x", a typedef or integer name. */
u32 btf_find_c(const struct btf *b, struct str name);
/* Follows typedef, const, volatile, restrict and type tags (at most 32); 0 when void or damaged. */
u32 btf_skip(const struct btf *b, u32 id);
/* Size in bytes through modifiers and arrays; 0 for void, functions, incomplete types. */
u32 btf_size(const struct btf *b, u32 id);
/* INT: signedness, bool/char flags. */
bool btf_int(const struct btf *b, u32 id, bool *is_signed, bool *is_bool, bool *is_char);
/* ARRAY: element type and count. */
bool btf_array(const struct btf *b, u32 id, u32 *elem, u32 *count);

struct btf_member {
	const char *name; /* "" when anonymous */
	u32 type;
	u32 bit_off;  /* from the start of the struct asked about, also through anonymous members */
	u32 bit_size; /* 0 for an ordinary member */
};
/* Member by name, searching anonymous structs and unions too. Work is bounded. */
bool btf_member_find(const struct btf *b, u32 id, const char *name, struct btf_member *m);
/* Members in order, not descending; i from 0 to vlen - 1. */
bool btf_member_at(const struct btf *b, u32 id, u32 i, struct btf_member *m);
/* Calls back for each member name, anonymous ones opened (for "did you mean"). */
void btf_member_each(const struct btf *b, u32 id, void (*cb)(void *ctx, const char *name),
                     void *ctx);

/* FUNC_PROTO (or FUNC, or pointer to one): return type, parameters; a final "..." is not counted. */
bool btf_proto(const struct btf *b, u32 id, u32 *ret, u32 *n_params);
bool btf_param(const struct btf *b, u32 id, u32 i, const char **name, u32 *type);

/* ENUM, ENUM64 of id: value number i. */
bool btf_enum_at(const struct btf *b, u32 id, u32 i, const char **name, s64 *value);
/* An enumerator of any enum by its name: value and the enum's id. */
bool btf_enum_find(const struct btf *b, const char *name, s64 *value, u32 *id);

/* All types of one kind whose name matches the glob (kind 0: any); cb returns false to stop. */
void btf_each(const struct btf *b, u32 kind, struct str glob,
              bool (*cb)(void *ctx, u32 id, const char *name), void *ctx);

#endif
