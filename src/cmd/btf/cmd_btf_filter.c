/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * `memtap btf filter`: the part of a kernel's BTF that BPF objects, types and paths need, as a file
 * that loaders take for the kernel's own where that has none. What is kept is decided by the
 * library.
 */
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "cmd/btf/cmd_btf.h"
#include "cmd/btf/cmd_btf_near.h"

static bool add_object(struct btf_subset *s, const char *path, struct err *e)
{
	struct btf *object = cmd_btf_open(path, e);
	struct btf_error be;
	bool ok;

	if (!object)
		return false;
	ok = btf_filter_object(s, object, &be);
	btf_unref(object);
	if (ok)
		return true;
	cmd_btf_fail(e, &be);
	return err_wrap(e, "%s", path);
}

/* What the library said of a type that there is not, and the nearest name. */
static bool missing(struct btf_job *j, const char *type, const struct btf_error *be, struct err *e)
{
	struct err near = { 0 };

	cmd_btf_fail(e, be);
	if (!btf_find_c(j->btf, type) && !cmd_btf_missing(j, type, &near) && near.hint[0])
		err_hint(e, "%s", near.hint);
	return false;
}

static bool add_type(struct btf_job *j, struct btf_subset *s, char *name, struct err *e)
{
	const char *type = cmd_btf_type(j, name);
	struct btf_error be;

	return btf_filter_type(s, type, &be) || missing(j, type, &be, e);
}

/* "struct oom_control.chosen->pid" */
static bool add_path(struct btf_job *j, struct btf_subset *s, char *text, struct err *e)
{
	char *dot = text + strcspn(text, ".-"), *path = dot + 1;
	struct btf_error be, ignored;
	const char *type;
	struct btf_path p;
	u32 id;

	if (!*dot || (*dot == '-' && *path++ != '>') || !*path) {
		err_set(e, "'%s' is not a type and a path of members", text);
		return err_hint(e, "write it as 'struct oom_control.chosen->pid'");
	}
	*dot = 0;
	type = cmd_btf_type(j, text);
	if (btf_filter_path(s, type, path, &be))
		return true;
	missing(j, type, &be, e);
	id = btf_find_c(j->btf, type);
	return id && !btf_path(j->btf, id, path, &p, &ignored) &&
	       cmd_btf_near_member(j->btf, id, path, &p, e);
}

/* Each of a list with commas. */
static bool add_each(struct btf_job *j, struct btf_subset *s, const char *list,
                     bool (*add)(struct btf_job *j, struct btf_subset *s, char *text,
                                 struct err *e),
                     struct err *e)
{
	struct str rest = str_of(list ? list : "");

	while (rest.n) {
		struct str one = str_cut(rest, ',', &rest);
		char *text = arena_strndup(j->arena, one.p, one.n);

		if (!add(j, s, text + strspn(text, " "), e))
			return false;
	}
	return true;
}

static bool add_all(struct btf_job *j, struct btf_subset *s, struct err *e)
{
	for (u32 i = 0; i < j->n_args; i++)
		if (!add_object(s, j->args[i], e))
			return false;
	return add_each(j, s, j->o->types, add_type, e) && add_each(j, s, j->o->paths, add_path, e);
}

static bool give_out(struct btf_job *j, struct btf_subset *s, struct err *e)
{
	struct btf_error be;
	const void *p;
	size_t n;

	if (strcmp(j->o->output, "-") != 0)
		return btf_filter_save(s, j->o->output, &be) || cmd_btf_fail(e, &be);
	if (isatty(STDOUT_FILENO))
		return err_set(e, "BTF is not for terminals; name a file with -o");
	if (!btf_filter_bytes(s, &p, &n, &be))
		return cmd_btf_fail(e, &be);
	sink_add(&j->out, p, n);
	return true;
}

bool cmd_btf_filter(struct btf_job *j, struct err *e)
{
	struct btf_subset *s;
	struct btf_error be;
	bool ok;

	if (!j->o->output)
		return err_set(e, "'filter' needs -o FILE, or -o - for standard output");
	if (!j->n_args && !j->o->types && !j->o->paths) {
		err_set(e, "nothing is asked for: name BPF objects, --type or --path");
		return err_hint(e, "memtap btf filter --objects prog.bpf.o -o min.btf");
	}
	s = btf_filter_new(j->btf, &be);
	if (!s)
		return cmd_btf_fail(e, &be);
	ok = add_all(j, s, e) && give_out(j, s, e);
	btf_filter_free(s);
	return ok;
}
