/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What is noted of the types some programs need (btf_filter.c) until it is written
 * (btf_filter_write.c). */
#ifndef BTF_BTF_FILTER_IMPL_H
#define BTF_BTF_FILTER_IMPL_H

#include "btf/btf_core_impl.h"

/* How much of a type; NOTED is the mark of those that will be written. */
enum btf_need {
	BTF_NEED_PLAIN,  /* itself; pointers and composites are not opened */
	BTF_NEED_DEEP,   /* pointers are followed */
	BTF_NEED_MATCH,  /* members too, and what pointers lead to as BEHIND */
	BTF_NEED_BEHIND, /* pointers are followed, composites not opened */
	BTF_NEED_WHOLE,  /* members too; pointers are not followed */
	BTF_NEED_NOTED,
	BTF_NEEDS,
};

struct btf_bits {
	u8 *v;
	u32 n; /* bytes */
};

struct btf_todo {
	u32 id;
	enum btf_need how;
};

struct btf_subset {
	const struct btf *target;
	bool out_of_memory; /* something was not noted */
	struct btf_bits known[BTF_NEEDS];
	struct btf_todo *todo;
	u32 n_todo, cap_todo;
	u32 *types; /* ids, each once */
	u32 n_types, cap_types;
	u64 *members; /* id << 32 | number, possibly more than once */
	u32 n_members, cap_members;
	u8 *out; /* the last bytes given out */
};

#endif
