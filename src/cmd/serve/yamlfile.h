/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A YAML document as a tree whose nodes know their places, so that what is wrong with one can be
 * said there. A thin layer over libyaml, loaded when it is asked for. An alias is the node it
 * stands for: nothing is copied, so nothing grows by it, but a node may be found in itself.
 */
#ifndef CMD_SERVE_YAMLFILE_H
#define CMD_SERVE_YAMLFILE_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

enum yamlnode_kind { YAMLNODE_TEXT, YAMLNODE_LIST, YAMLNODE_MAP };

struct yamlnode {
	enum yamlnode_kind kind;
	u32 line, column;       /* from 1; the column in characters */
	const char *text;       /* of a YAMLNODE_TEXT */
	bool is_quoted;         /* "3" is no number */
	struct yamlnode **kids; /* of a list its items, of a map key, value, key, value ... */
	u32 n;                  /* of kids */
};

/*
 * The tree of a text, in the arena. NULL: it is empty (*e is untouched), or *e, which begins with
 * `name` and, where the text is what is wrong, LINE:COLUMN.
 */
struct yamlnode *yamlfile_parse(struct arena *a, const char *name, struct str text, struct err *e);

#endif
