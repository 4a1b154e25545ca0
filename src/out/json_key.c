/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Keys of maps in JSON; see json_key.h. */
#include "out/json_key.h"

#include <string.h>

#include "out/json.h"

struct coder {
	struct buf *b;
	bool several; /* parts: a comma ends one */
	bool ascii;   /* of bytes; else text */
};

/* The character at i as it is, 0: a byte that is written as \xNN. */
static u32 plain(const struct coder *c, struct str s, u32 i)
{
	if (c->ascii)
		return s.p[i] >= ' ' && s.p[i] <= '~';
	return str_utf8(s, i);
}

/* A backslash before this would be read together with it. */
static bool completes(const struct coder *c, struct str s, u32 i)
{
	if (i == s.n)
		return c->several;
	return s.p[i] == '\\' || s.p[i] == 'x' || (s.p[i] == ',' && c->several) || !plain(c, s, i);
}

static void add_text(const struct coder *c, struct str s)
{
	for (u32 i = 0, n; i < s.n; i += MAX(n, 1u)) {
		n = plain(c, s, i);
		if (!n) {
			buf_printf(c->b, "\\x%02x", (u8)s.p[i]);
			continue;
		}
		if ((s.p[i] == ',' && c->several) || (s.p[i] == '\\' && completes(c, s, i + 1)))
			buf_putc(c->b, '\\');
		buf_add(c->b, s.p + i, n);
	}
}

static void add_value(struct coder *c, const struct out *o, const struct value *v)
{
	const struct value_kind *kind = value_kind_of(v->type);
	struct buf text = { 0 };
	size_t n = 0;

	c->ascii = kind->object == AS_BYTES;
	if (c->ascii) {
		add_text(c, value_bytes(v));
		return;
	}
	value_text(&text, o, v);
	for (size_t i = 0; i < text.n; i++)
		if (text.p[i] != ' ' || kind->blanks)
			text.p[n++] = text.p[i];
	add_text(c, (struct str){ text.p, (u32)n });
	buf_free(&text);
}

static void add_parts(struct coder *c, const struct out *o, const struct value *v, bool outer)
{
	const struct type *t = v->type;
	bool tuple = t->kind == TYPE_TUPLE && !type_is_record(t), array = t->kind == TYPE_ARRAY;

	if (value_kind_of(t)->object != AS_PARTS) {
		add_value(c, o, v);
		return;
	}
	if (!tuple || !outer)
		buf_putc(c->b, tuple ? '(' : array ? '[' : '{');
	for (u32 i = 0; i < value_parts(v); i++) {
		struct value part = value_part(v, i);

		buf_puts(c->b, i ? "," : "");
		if (!array && t->fields[i].name)
			buf_printf(c->b, ".%s=", t->fields[i].name);
		add_parts(c, o, &part, false);
	}
	if (!tuple || !outer)
		buf_putc(c->b, tuple ? ')' : array ? ']' : '}');
}

/* Different keys have different texts. */
static bool is_exact(const struct type *t)
{
	if (t->kind == TYPE_TUPLE) {
		for (u32 i = 0; i < t->n_fields; i++)
			if (!is_exact(t->fields[i].type))
				return false;
		return true;
	}
	return t->kind == TYPE_PTR || t->kind == TYPE_BOOL || (t->kind == TYPE_INT && !t->n_enums);
}

/* Makes the text differ from those before it. */
static void tell_apart(struct json_keys *k, struct buf *text)
{
	size_t n = text->n;
	void **found = hmap_find(&k->seen, buf_text(text), n);
	u32 *times = found ? *found : arena_new(&k->arena, u32);

	while (found) {
		text->n = n;
		buf_printf(text, "#%u", ++*times + 1);
		found = hmap_find(&k->seen, buf_text(text), text->n);
		if (!found)
			times = arena_new(&k->arena, u32);
	}
	hmap_put(&k->seen, arena_strndup(&k->arena, buf_text(text), text->n), text->n, times);
}

void json_key(struct buf *b, const struct out *o, const struct type *t, const void *key,
              struct json_keys *before)
{
	struct value v = value_at_rest(t, key);
	struct buf text = { 0 };
	struct coder c = { .b = &text, .several = value_kind_of(t)->object == AS_PARTS };

	add_parts(&c, o, &v, true);
	if (!is_exact(t))
		tell_apart(before, &text);
	json_string(b, (struct str){ buf_text(&text), (u32)text.n });
	buf_free(&text);
}

void json_keys_free(struct json_keys *k)
{
	arena_free(&k->arena);
	hmap_free(&k->seen);
}
