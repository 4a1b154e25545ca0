/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the files about relocations share.
 *
 *     btf_ext         records from an object file
 *     btf_core        targets by name, values, the decision      btf_core_spec   access strings
 *     btf_core_match  do two types fit                           btf_filter      what is needed
 */
#ifndef BTF_BTF_CORE_IMPL_H
#define BTF_BTF_CORE_IMPL_H

#include "btf/btf_impl.h"

#pragma GCC visibility push(hidden)

#define BTF_SPEC_MAX 64u /* steps of one access */

enum btf_match { BTF_MATCH_ERROR = -1, BTF_MATCH_NO, BTF_MATCH_YES };

/* A named member (its struct and number), or an array element (its type and index). */
struct btf_step {
	const char *name; /* NULL for an element */
	u32 type, index;
};

/*
 * An access as it is in one BTF: steps as the programmer means them, without anonymous members,
 * and `raw` with them, a number for each.
 */
struct btf_spec {
	const struct btf *btf;
	u32 root, kind;
	u32 n_steps, n_raw;
	u64 bit_off;
	struct btf_step step[BTF_SPEC_MAX];
	u32 raw[BTF_SPEC_MAX];
};

/* A member as the loader sees it: integers that are bit-fields of their own are not opened. */
struct btf_slot {
	const char *name;
	u32 type, bit_off, bit_size;
};

/* Work and messages of one evaluation. */
struct btf_eval {
	u32 work; /* members that may still be looked at */
	struct btf_error *e;
};

static inline bool btf_core_is_field(u32 kind)
{
	return kind <= BTF_CORE_FIELD_RSHIFT;
}

static inline bool btf_core_is_enum(u32 kind)
{
	return kind == BTF_CORE_ENUM_EXISTS || kind == BTF_CORE_ENUM_VALUE;
}

/* btf_core_spec.c */
/* Bytes of a name before its flavour. */
u32 btf_essential(const char *name);
/* As btf_info behind all modifiers; void has kind 0 and no name. False when damaged. */
bool btf_plain(const struct btf *b, u32 id, struct btf_info *t);
bool btf_slot(const struct btf *b, const struct btf_info *t, u32 i, struct btf_slot *m);
/* Bytes of a type, which may be 0; false for those that have no size. */
bool btf_extent(const struct btf *b, u32 id, u32 *bytes);
bool btf_spec_parse(struct btf_spec *s, const struct btf *b, const struct btf_relo *r,
                    struct btf_error *e);
/* The same access in a target type. */
enum btf_match btf_spec_match(const struct btf_spec *local, const struct btf *b, u32 id,
                              struct btf_spec *s, struct btf_eval *v);

/* btf_core_match.c */
/* As members that are read: any integer is as good as any other. */
enum btf_match btf_fields_fit(const struct btf *lb, u32 local, const struct btf *tb, u32 target,
                              struct btf_eval *v);
/* As types whose existence is asked for: kinds, through pointers. */
enum btf_match btf_types_fit(const struct btf *lb, u32 local, const struct btf *tb, u32 target,
                             struct btf_eval *v);
/* Whether all that the local type has is in the target, member for member. */
enum btf_match btf_types_match(const struct btf *lb, u32 local, const struct btf *tb, u32 target,
                               struct btf_eval *v);

/* btf_core.c: as btf_core_eval; `spec` is the first target that fits, with root 0 for none. */
bool btf_core_find(struct btf_core *c, const struct btf_relo *r, struct btf_core_result *out,
                   struct btf_spec *spec, struct btf_error *e);

#pragma GCC visibility pop

#endif
