/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cmd/serve/yamlkeys.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/near.h"

#define MOST_BYTES (1u << 20)

bool yamlkeys_wrong(struct yamlkeys *r, const struct yamlnode *n, struct err *e)
{
	err_wrap(e, "%s:%u:%u", r->path, n->line, n->column);
	if (r->mistakes->n < YAMLKEYS_MISTAKES)
		vec_add(r->arena, r->mistakes, *e);
	return false;
}

bool yamlkeys_expected(struct yamlkeys *r, const struct yamlnode *n, const char *what)
{
	struct err e = { 0 };

	err_set(&e, "expected %s", what);
	return yamlkeys_wrong(r, n, &e);
}

/* ---- values ---- */

bool yamlkeys_text(struct yamlkeys *r, const struct yamlnode *n, void *to)
{
	const char **text = to;

	if (n->kind != YAMLNODE_TEXT || !*n->text)
		return yamlkeys_expected(r, n, "a text");
	*text = n->text;
	return true;
}

bool yamlkeys_number(struct yamlkeys *r, const struct yamlnode *n, void *to)
{
	u32 *number = to;
	char *end = NULL;
	u64 value = 0;

	if (n->kind == YAMLNODE_TEXT && !n->is_quoted && *n->text >= '0' && *n->text <= '9')
		value = strtoull(n->text, &end, 10);
	if (!end || *end || !value || value > INT32_MAX)
		return yamlkeys_expected(r, n, "a number from 1 to 2147483647");
	*number = (u32)value;
	return true;
}

bool yamlkeys_bool(struct yamlkeys *r, const struct yamlnode *n, void *to)
{
	bool *flag = to, is_plain = n->kind == YAMLNODE_TEXT && !n->is_quoted;

	if (!is_plain || (strcmp(n->text, "true") != 0 && strcmp(n->text, "false") != 0))
		return yamlkeys_expected(r, n, "true or false");
	*flag = n->text[0] == 't';
	return true;
}

/* ---- maps ---- */

static bool unknown_key(struct yamlkeys *r, const struct yamlnode *n, const struct yamlkey *keys,
                        u32 n_keys)
{
	struct near near;
	struct err e = { 0 };

	near_init(&near, n->text);
	for (u32 i = 0; i < n_keys; i++)
		near_offer(&near, keys[i].name);
	err_set(&e, "there is no key '%s' here", n->text);
	if (near_best(&near))
		err_hint(&e, "did you mean '%s'?", near_best(&near));
	return yamlkeys_wrong(r, n, &e);
}

static bool read_key(struct yamlkeys *r, const struct yamlnode *name, const struct yamlnode *value,
                     const struct yamlkey *keys, u32 n_keys, u32 *seen, void *to)
{
	struct err e = { 0 };

	if (name->kind != YAMLNODE_TEXT)
		return yamlkeys_expected(r, name, "the name of a key");
	for (u32 i = 0; i < n_keys; i++) {
		if (strcmp(name->text, keys[i].name) != 0)
			continue;
		if (*seen & 1u << i) {
			err_set(&e, "the key '%s' is there twice", name->text);
			return yamlkeys_wrong(r, name, &e);
		}
		*seen |= 1u << i;
		return keys[i].read(r, value, (char *)to + keys[i].off);
	}
	return unknown_key(r, name, keys, n_keys);
}

bool yamlkeys_map(struct yamlkeys *r, const struct yamlnode *n, const struct yamlkey *keys,
                  u32 n_keys, u32 *seen, void *to)
{
	bool ok = true;

	*seen = 0;
	for (u32 i = 0; i < n->n; i += 2)
		ok &= read_key(r, n->kids[i], n->kids[i + 1], keys, n_keys, seen, to);
	return ok;
}

bool yamlkeys_path(struct yamlkeys *r, const struct yamlnode *n, void *to)
{
	const char **path = to;

	if (!yamlkeys_text(r, n, path))
		return false;
	if (**path != '/')
		*path = arena_printf(r->arena, "%s%s", r->folder, *path);
	return true;
}

/* ---- the file ---- */

bool yamlkeys_file(struct yamlkeys *r, const char *path,
                   bool (*root)(struct yamlkeys *r, const struct yamlnode *n), struct err *e)
{
	const char *slash = strrchr(path, '/');
	struct buf text = { 0 };
	struct yamlnode *n = NULL;
	bool ok;

	r->path = path;
	r->folder = arena_strndup(r->arena, path, slash ? (size_t)(slash + 1 - path) : 0);
	ok = file_read_regular(path, &text, MOST_BYTES, e);
	if (ok)
		n = yamlfile_parse(r->arena, path, (struct str){ buf_text(&text), (u32)text.n }, e);
	buf_free(&text);
	return ok && (n ? root(r, n) : !*e->text);
}
