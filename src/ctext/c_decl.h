/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* BTF types as C declarations: "const char *const names[4]", "int (*fn)(void *)". */
#ifndef CTEXT_C_DECL_H
#define CTEXT_C_DECL_H

#include <memtap/btf.h>

#include "base/buf.h"
#include "ctext/c_work.h"

/* How types are called. With `work` alone: as the BTF says, "struct {...}" for anonymous ones. */
struct c_style {
	struct c_work *work; /* a step for each argument */
	/* The name of a named type; NULL: its own. */
	const char *(*name)(void *ctx, const struct btf_info *t);
	/* The braces of an anonymous struct, union or enum. */
	void (*body)(void *ctx, struct buf *b, const struct btf_info *t);
	void *ctx;
	bool tags;     /* print type tags */
	bool flexible; /* arrays of no elements as [] */
};

/* Declares `name` ("" for the type alone) as of type `id`. */
void c_decl(struct buf *b, const struct btf *btf, const struct c_style *style, u32 id,
            const char *name);
/* "struct", "union" or "enum"; "" for other kinds. */
const char *c_decl_tag(const struct btf_info *t);
/* A number in decimal; printf is too slow for whole dumps. */
void c_decl_number(struct buf *b, u64 n);

#endif
