/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Unpacking the scripts that are part of the program.
 *
 * They are one gzip stream, since together they are much shorter than each alone; it is unpacked
 * from its start until the tool is there, which for all of them takes less than a millisecond.
 * Names are kept outside, so that a word that is no tool costs a comparison with each name.
 */
#include "cmd/tools.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#define ZLIB_CONST /* what is read is const */
#define ZLIB_CONST /* it does not write where it reads */
#include <zlib.h>

#include "base/buf.h"

#define GZIP  (16 + MAX_WBITS) /* what inflateInit2 calls a stream with gzip's head */
#define PIECE 16384u

/* Else a file that scripts import. */
static bool is_tool(const char *name)
{
	return !strchr(name, '/');
}

static bool is_packed(const char *name)
{
	for (const char *p = packed_names; *p; p += strlen(p) + 1)
		if (strcmp(p, name) == 0)
			return true;
	return false;
}

bool tools_has(const char *name)
{
	return is_tool(name) && is_packed(name);
}

bool tools_has_file(const char *path)
{
	return !is_tool(path) && is_packed(path);
}

void tools_offer(struct near *n)
{
	for (const char *p = packed_names; *p; p += strlen(p) + 1)
		if (is_tool(p))
			near_offer(n, p);
}

/* What has been unpacked and not been looked at begins at `at`. */
struct unpacker {
	z_stream z;
	struct buf text;
	size_t at;
};

static void open_stream(struct unpacker *u)
{
	*u = (struct unpacker){ 0 };
	u->z.next_in = packed_tools;
	u->z.avail_in = packed_tools_size;
	if (inflateInit2(&u->z, GZIP) != Z_OK)
		base_no_memory();
}

static void close_stream(struct unpacker *u)
{
	inflateEnd(&u->z);
	buf_free(&u->text);
}

/* False at the end. The stream is a part of the program: it can not be broken. */
static bool unpack_more(struct unpacker *u)
{
	char piece[PIECE];
	int code;

	u->z.next_out = (Bytef *)piece;
	u->z.avail_out = sizeof(piece);
	code = inflate(&u->z, Z_NO_FLUSH);
	assert(code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR);
	buf_add(&u->text, piece, sizeof(piece) - u->z.avail_out);
	return u->z.avail_out < sizeof(piece);
}

/* The line "NAME SIZE", without its end. */
static bool next_head(struct unpacker *u, struct str *name, u32 *size)
{
	struct str line, number;
	const char *end = NULL;

	while (!end) {
		end = u->text.n > u->at ? memchr(u->text.p + u->at, '\n', u->text.n - u->at) : NULL;
		if (!end && !unpack_more(u))
			return false;
	}
	line = (struct str){ u->text.p + u->at, (u32)(end - u->text.p - (long)u->at) };
	u->at += line.n + 1;
	*name = str_cut(line, ' ', &number);
	*size = (u32)strtoul(number.p, NULL, 10);
	return true;
}

static struct str next_text(struct unpacker *u, u32 size)
{
	struct str text;

	while (u->text.n < u->at + size && unpack_more(u))
		;
	text = (struct str){ u->text.p + u->at, size };
	u->at += size;
	return text;
}

typedef bool text_cb(void *ctx, const char *name, struct str text);

/* All that is packed, in its order. */
static void each(text_cb *cb, void *ctx)
{
	struct unpacker u;
	struct str head;
	bool more = true;
	u32 size;

	open_stream(&u);
	for (const char *p = packed_names; *p && more && next_head(&u, &head, &size);
	     p += strlen(p) + 1)
		more = cb(ctx, p, next_text(&u, size));
	close_stream(&u);
}

struct visit {
	text_cb *cb;
	void *ctx;
};

static bool visit_tool(void *ctx, const char *name, struct str text)
{
	struct visit *v = ctx;

	return !is_tool(name) || v->cb(v->ctx, name, text);
}

void tools_each(text_cb *cb, void *ctx)
{
	struct visit v = { cb, ctx };

	each(visit_tool, &v);
}

struct search {
	struct arena *arena;
	const char *name;
	struct str text;
};

static bool take(void *ctx, const char *name, struct str text)
{
	struct search *s = ctx;

	if (strcmp(name, s->name) != 0)
		return true;
	s->text = (struct str){ arena_strndup(s->arena, text.p, text.n), text.n };
	return false;
}

struct str tools_text(struct arena *a, const char *name)
{
	struct search s = { .arena = a, .name = name };

	each(take, &s);
	assert(s.text.p);
	return s.text;
}

struct str tools_library(struct arena *a, const char *path)
{
	return tools_has_file(path) ? tools_text(a, path) : (struct str){ 0 };
}
