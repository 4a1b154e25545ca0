/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The C views that scripts name by `config = { view = "..." }`: a row in a table each.
 */
#ifndef VIEW_VIEWS_H
#define VIEW_VIEWS_H

#include "base/arena.h"
#include "base/str.h"
#include "out/out.h"
#include "run/view.h"

struct view_kind {
	const char *name;
	/* The process that a tool is about when the user named none by its option `pid`. False and
	 * *e: there is none, or more than one. NULL: the option may be left out. */
	bool (*find_pid)(struct arena *a, u32 *pid, struct err *e);
	/* The way, as the tool's option `via` names it, that takes least of that process, when the
	 * user has named none; NULL: the usual one. NULL: there is one way. */
	const char *(*find_way)(struct arena *a, u32 pid);
	const char *way_note; /* what is different there, for who wonders */
	/* A view for a session that prints in this format. NULL: there is none. */
	struct view *(*open)(const struct out_ops *format);
	void (*close)(struct view *v);
};

/* The view of that name. NULL and *e: there is none. */
const struct view_kind *views_find(struct str name, struct err *e);

extern const struct view_kind view_hot, view_commands, view_heap;

#endif
