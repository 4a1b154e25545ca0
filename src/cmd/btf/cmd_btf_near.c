/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A name that BTF does not have: damaged bytes are reported first, then another kind of that name,
 * then the name that is spelled nearest.
 */
#include "cmd/btf/cmd_btf_near.h"

#include <string.h>

#include "base/near.h"
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

	if (!kind && cmd_btf_kind_of(what))
		return err_set(e, "the name of the %s is missing", what);
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

const char *cmd_btf_type(struct btf_job *j, const char *what)
{
	static const char *const words[] = { "struct", "union", "enum" };
	const char *name;

	if (cmd_btf_split(what, &name) == BTF_KIND_TYPEDEF)
		return name;
	if (btf_find_c(j->btf, what))
		return what;
	for (u32 i = 0; i < ARRAY_SIZE(words); i++) {
		name = arena_printf(j->arena, "%s %s", words[i], what);
		if (btf_find_c(j->btf, name))
			return name;
	}
	return what;
}

static bool offer_member(void *ctx, const struct btf_field *f)
{
	near_offer(ctx, f->name);
	return true;
}

/* What the last hop leads to, through a pointer too. */
static u32 holder(const struct btf *b, u32 id, const struct btf_path *p)
{
	struct btf_info t;

	id = btf_skip(b, p->n ? p->hop[p->n - 1].type : id);
	if (btf_info(b, id, &t) && t.kind == BTF_KIND_PTR)
		id = btf_skip(b, t.type);
	if (btf_info(b, id, &t) && t.kind == BTF_KIND_FWD)
		id = btf_find(b, t.kind_flag ? BTF_KIND_UNION : BTF_KIND_STRUCT, t.name);
	return id;
}

bool cmd_btf_near_member(const struct btf *b, u32 id, const char *text, const struct btf_path *p,
                         struct err *e)
{
	size_t n = strcspn(text + p->at, ".-[");
	struct btf_field f;
	struct near near;
	char name[256];

	if (!n || n >= sizeof(name))
		return false;
	memcpy(name, text + p->at, n);
	name[n] = 0;
	id = holder(b, id, p);
	if (btf_field_find(b, id, name, &f))
		return false; /* something else is wrong */
	near_init(&near, name);
	btf_field_each(b, id, offer_member, &near);
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
