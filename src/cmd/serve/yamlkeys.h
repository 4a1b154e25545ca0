/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Maps of known keys in a YAML file, read into a struct. A mistake is kept with its place and does
 * not end the reading: all are told at once. */
#ifndef CMD_SERVE_YAMLKEYS_H
#define CMD_SERVE_YAMLKEYS_H

#include "base/arena.h"
#include "base/err.h"
#include "cmd/serve/yamlfile.h"

#define YAMLKEYS_MISTAKES 20

typedef VEC(struct err) err_list;

struct yamlkeys {
	struct arena *arena; /* of what is kept */
	const char *path;
	const char *folder; /* of the file, "" or with a slash: where files that it names are */
	err_list *mistakes; /* each with its place; the first ones */
	void *owner;        /* of who reads */
};

/* A key of a map, and what reads its value to `off` of the caller's struct. */
struct yamlkey {
	const char *name;
	bool (*read)(struct yamlkeys *r, const struct yamlnode *n, void *to);
	size_t off;
};

/* Reads the file and has `root` read its tree; an empty one has none, which is no mistake. False:
 * there are mistakes, or it can not be read, and *e says why. `r` has its arena, mistakes and
 * owner. */
bool yamlkeys_file(struct yamlkeys *r, const char *path,
                   bool (*root)(struct yamlkeys *r, const struct yamlnode *n), struct err *e);

/* *seen: the keys that are there, a bit each. */
bool yamlkeys_map(struct yamlkeys *r, const struct yamlnode *n, const struct yamlkey *keys,
                  u32 n_keys, u32 *seen, void *to);

/* Values, to a const char *, a u32, a bool. */
bool yamlkeys_text(struct yamlkeys *r, const struct yamlnode *n, void *to);
bool yamlkeys_number(struct yamlkeys *r, const struct yamlnode *n, void *to);
bool yamlkeys_bool(struct yamlkeys *r, const struct yamlnode *n, void *to);
/* A text, of a file in the folder of this one unless it begins with a slash. */
bool yamlkeys_path(struct yamlkeys *r, const struct yamlnode *n, void *to);

/* Keep what is wrong with a node; false. */
bool yamlkeys_wrong(struct yamlkeys *r, const struct yamlnode *n, struct err *e);
bool yamlkeys_expected(struct yamlkeys *r, const struct yamlnode *n, const char *what);

#endif
