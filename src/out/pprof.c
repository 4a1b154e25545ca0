/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A node of the tree where stacks end is a sample. A function is one location however often it
 * stands in the tree: of its address and its line nothing is known here any more.
 */
#include "out/pprof.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "out/protobuf.h"

/* Numbers of fields in profile.proto. */
enum { PROFILE_SAMPLE_TYPE = 1, PROFILE_SAMPLE, PROFILE_MAPPING, PROFILE_LOCATION };
enum { PROFILE_FUNCTION = 5, PROFILE_STRING, PROFILE_TIME = 9, PROFILE_DURATION };
enum { PROFILE_COMMENT = 13, PROFILE_DEFAULT_TYPE };
enum { TYPE_NAME = 1, TYPE_UNIT };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE };
enum { MAPPING_ID = 1, MAPPING_FILE = 5, MAPPING_HAS_FUNCTIONS = 7 };
enum { LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_LINE = 4 };
enum { LINE_FUNCTION = 1 };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_SYSTEM_NAME, FUNCTION_FILE };

struct profile {
	struct buf *to;
	const struct flame *flame;
	struct hmap texts, mappings, locations; /* what is named once, to its number from 1 on */
	struct arena arena;                     /* of their keys */
	struct buf part, line, scratch;
	struct buf path; /* u64 of each location from the root to the node that is looked at */
};

/* Its number; *is_new where it had none. `key` must live as long as the profile. */
static u64 number_of(struct hmap *numbers, const void *key, size_t size, bool *is_new)
{
	void **found = hmap_find(numbers, key, size);

	*is_new = !found;
	if (found)
		return (uintptr_t)*found;
	hmap_put(numbers, key, size, (void *)(uintptr_t)(numbers->n + 1));
	return numbers->n;
}

/* Its place in the table of strings, whose first is the empty one. */
static u64 text(struct profile *p, const char *z)
{
	bool is_new;
	u64 n;

	if (!z[0])
		return 0;
	n = number_of(&p->texts, z, strlen(z), &is_new);
	if (is_new)
		protobuf_text(p->to, PROFILE_STRING, str_of(z));
	return n;
}

static const char *file_of(const struct flame_node *n)
{
	return n->module[0] || n->kind != FRAME_KERNEL ? n->module : "[kernel.kallsyms]";
}

static u64 mapping(struct profile *p, const char *file)
{
	bool is_new;
	u64 id;

	if (!file[0])
		return 0;
	id = number_of(&p->mappings, file, strlen(file), &is_new);
	if (!is_new)
		return id;
	protobuf_int(&p->part, MAPPING_ID, id);
	protobuf_int(&p->part, MAPPING_FILE, text(p, file));
	protobuf_int(&p->part, MAPPING_HAS_FUNCTIONS, 1);
	protobuf_message(p->to, PROFILE_MAPPING, &p->part);
	return id;
}

static void add_function(struct profile *p, u64 id, const struct flame_node *n)
{
	u64 name = text(p, n->name);

	protobuf_int(&p->part, FUNCTION_ID, id);
	protobuf_int(&p->part, FUNCTION_NAME, name);
	protobuf_int(&p->part, FUNCTION_SYSTEM_NAME, name);
	protobuf_int(&p->part, FUNCTION_FILE, text(p, file_of(n)));
	protobuf_message(p->to, PROFILE_FUNCTION, &p->part);
}

/* Name and file make a location, which is its function's number too. */
static u64 location(struct profile *p, const struct flame_node *n)
{
	const char *file = file_of(n), *key;
	u64 id, in_file;
	bool is_new;

	buf_reset(&p->scratch);
	buf_add(&p->scratch, n->name, strlen(n->name) + 1);
	buf_puts(&p->scratch, file);
	key = buf_text(&p->scratch);
	if (!hmap_find(&p->locations, key, p->scratch.n))
		key = arena_strndup(&p->arena, key, p->scratch.n);
	id = number_of(&p->locations, key, p->scratch.n, &is_new);
	if (!is_new)
		return id;
	in_file = mapping(p, file);
	add_function(p, id, n);
	protobuf_int(&p->part, LOCATION_ID, id);
	protobuf_int(&p->part, LOCATION_MAPPING, in_file);
	protobuf_int(&p->line, LINE_FUNCTION, id);
	protobuf_message(&p->part, LOCATION_LINE, &p->line);
	protobuf_message(p->to, PROFILE_LOCATION, &p->part);
	return id;
}

/* Locations go from the innermost out. */
static void add_sample(struct profile *p, const struct flame_node *n)
{
	const u64 *path = (const u64 *)(const void *)p->path.p;
	u32 depth = (u32)(p->path.n / sizeof(u64));
	u64 values[FLAME_PARTS];

	buf_reset(&p->scratch);
	for (u32 i = depth; i-- > 0;)
		buf_add(&p->scratch, &path[i], sizeof(u64));
	for (u32 i = 0; i < p->flame->n_parts; i++)
		values[i] = (u64)n->parts[i];
	protobuf_packed(&p->part, SAMPLE_LOCATION, (const u64 *)(const void *)p->scratch.p, depth);
	protobuf_packed(&p->part, SAMPLE_VALUE, values, p->flame->n_parts);
	protobuf_message(p->to, PROFILE_SAMPLE, &p->part);
}

static void add_node(struct profile *p, const struct flame_node *n)
{
	size_t above = p->path.n;
	u64 id = location(p, n);

	buf_add(&p->path, &id, sizeof(id));
	if (n->parts)
		add_sample(p, n);
	for (const struct flame_node *kid = n->kids; kid; kid = kid->next)
		add_node(p, kid);
	p->path.n = above;
}

/* What a part of that name is counted in. */
static const char *unit_of(const char *name)
{
	static const struct {
		const char *ending, *unit;
	} units[] = {
		{ "bytes", "bytes" },     { "space", "bytes" },
		{ "ns", "nanoseconds" },  { "nsecs", "nanoseconds" },
		{ "us", "microseconds" }, { "usecs", "microseconds" },
		{ "ms", "milliseconds" }, { "msecs", "milliseconds" },
	};
	const char *word = strrchr(name, '_');

	word = word ? word + 1 : name;
	for (u32 i = 0; i < ARRAY_SIZE(units); i++)
		if (strcmp(word, units[i].ending) == 0)
			return units[i].unit;
	return "count";
}

static void add_types(struct profile *p, const struct pprof *o)
{
	for (u32 i = 0; i < p->flame->n_parts; i++) {
		protobuf_int(&p->part, TYPE_NAME, text(p, o->names[i]));
		protobuf_int(&p->part, TYPE_UNIT, text(p, unit_of(o->names[i])));
		protobuf_message(p->to, PROFILE_SAMPLE_TYPE, &p->part);
	}
}

/* As gzip does it: windowBits above 15 ask for its header (zlib.h). */
static void compress_into(struct buf *b, const struct buf *from)
{
	z_stream z = { .next_in = (Bytef *)from->p };
	size_t left = from->n;
	u8 chunk[16384];
	int status = Z_OK;

	if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY))
		base_no_memory();
	do {
		uInt take = (uInt)MIN(left, (size_t)1 << 30);

		left -= take;
		z.avail_in = take;
		do {
			z.next_out = chunk;
			z.avail_out = sizeof(chunk);
			status = deflate(&z, left ? Z_NO_FLUSH : Z_FINISH);
			buf_add(b, chunk, sizeof(chunk) - z.avail_out);
		} while (!z.avail_out);
	} while (status != Z_STREAM_END);
	deflateEnd(&z);
}

void pprof_write(struct buf *b, const struct flame *f, const struct pprof *o)
{
	struct buf whole = { 0 };
	struct profile p = { .to = &whole, .flame = f };
	u64 comment;

	protobuf_text(&whole, PROFILE_STRING, STR(""));
	add_types(&p, o);
	for (const struct flame_node *kid = f->root.kids; kid; kid = kid->next)
		add_node(&p, kid);
	protobuf_int(&whole, PROFILE_TIME, o->start_ns);
	protobuf_int(&whole, PROFILE_DURATION, o->duration_ns);
	comment = text(&p, o->title);
	protobuf_packed(&whole, PROFILE_COMMENT, &comment, 1);
	protobuf_int(&whole, PROFILE_DEFAULT_TYPE, text(&p, o->names[o->chosen]));
	compress_into(b, &whole);
	hmap_free(&p.texts);
	hmap_free(&p.mappings);
	hmap_free(&p.locations);
	arena_free(&p.arena);
	buf_free(&p.part);
	buf_free(&p.line);
	buf_free(&p.scratch);
	buf_free(&p.path);
	buf_free(&whole);
}
