/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A name that BTF does not have: damaged bytes are told first, then another kind of that name, then
 * the name that is spelled nearest.
 */
#include "cmd/btf/cmd_btf_near.h"

#include <string.h>

#include "base/str.h"

u32 cmd_btf_split(const char *what, const char **name)
{
	static const char *const words[] = { "struct",  "union",  "enum", "func",
		                             "typedef", "var",    "int",  "float",
		                             "datasec", "enum64", "fwd" };

	for (u32 i = 0; i < ARRAY_SIZE(words); i++) {
		size_t n = strlen(words[i]);

		if (strncmp(what, words[i], n) == 0 && what[n] == ' ') {
			*name = what + n + 1;
			return cmd_btf_kind_of(words[i]);
		}
	}
	*name = what;
	return 0;
}

static bool same_kind(u32 a, u32 b)
{
	if (a == BTF_KIND_ENUM64)
		a = BTF_KIND_ENUM;
	return a == (b == BTF_KIND_ENUM64 ? BTF_KIND_ENUM : b);
}

static bool is_wanted(u32 kind, u32 wanted)
{
	if (wanted)
		return same_kind(kind, wanted);
	return kind != BTF_KIND_DECL_TAG && kind != BTF_KIND_TYPE_TAG;
}

bool cmd_btf_missing(struct btf_job *j, const char *what, struct err *e)
{
	struct near near;
	struct btf_iter it;
	const char *name;
	u32 kind = cmd_btf_split(what, &name), other;

	if (!cmd_btf_check(j->btf, j->where, e))
		return false;
	other = kind ? btf_find(j->btf, 0, name) : 0;
	err_set(e, "there is no %s%s in %s", kind ? "" : "type or function ", what, j->where);
	if (other && btf_info(j->btf, other, &it.t))
		return err_hint(e, "there is %s %s", cmd_btf_kind(it.t.kind), name);
	near_init(&near, name);
	btf_iter_init(&it, j->btf, 1);
	while (btf_next(&it))
		if (*it.t.name && is_wanted(it.t.kind, kind))
			near_offer(&near, it.t.name);
	if (near_best(&near))
		err_hint(e, "did you mean '%s'?", near.best);
	return false;
}

bool cmd_btf_each_name(struct btf_job *j, u32 from,
                       bool (*cb)(void *ctx, struct btf_job *j, const char *what, struct err *e),
                       void *ctx, struct err *e)
{
	const char *word = NULL;

	for (u32 i = from; i < j->n_args; i++) {
		const char *what = j->args[i], *name;

		if (i + 1 < j->n_args && cmd_btf_kind_of(what)) {
			word = what;
			continue;
		}
		if (word && !cmd_btf_split(what, &name))
			what = arena_printf(j->arena, "%s %s", word, what);
		if (!cb(ctx, j, what, e))
			return false;
	}
	return true;
}
