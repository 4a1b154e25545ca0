/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the kinds of probes are asked for: columns of their rows in kinds.h. */
#include "unit/unit.h"

static const struct {
	const char *name;
	u32 needs, uses;
	enum kind_args args;
	u32 traits;
} kinds[] = {
#define K(id, name, section, place, program, type, attacher, needs, uses, args, traits)            \
	[ATTACH_##id] = { name, needs, uses, KIND_ARGS_##args, traits },
	PROBE_KINDS(K)
#undef K
};

bool attach_kind_has(enum attach_kind kind, u32 traits)
{
	return kinds[kind].traits & traits;
}

bool attach_kind_is_user(enum attach_kind kind)
{
	return attach_kind_has(kind, KIND_USER);
}

u32 attach_kind_needs(enum attach_kind kind)
{
	return kinds[kind].needs;
}

u32 attach_kind_uses(enum attach_kind kind)
{
	return kinds[kind].uses;
}

enum kind_args attach_kind_args(enum attach_kind kind)
{
	return kinds[kind].args;
}

const char *attach_kind_name(enum attach_kind kind)
{
	return (u32)kind < ARRAY_SIZE(kinds) ? kinds[kind].name : "unknown";
}
