/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * BTF as libbpf reads it from an object (Documentation/bpf/btf.rst, and "BTF-defined maps" in
 * libbpf's own documentation). A map is a variable of a structure without contents: each member is
 * a pointer to an array, and the number is the array's length. Keys and values are given by their
 * sizes only: what is in them stays between memtap's compiler and its printer.
 */
#include "unit/object_types.h"

#include <linux/btf.h>
#include <string.h>

/* The types that all others are made of, in this order. */
enum { ID_INT = 1, ID_BYTE, ID_WORD, ID_PROTO };

static u32 add(struct object_types *t, const char *name, u32 info, u32 size_or_type)
{
	struct btf_type type = { .name_off = name ? object_types_string(t, name) : 0,
		                 .info = info,
		                 .size = size_or_type };

	buf_add(&t->types, &type, sizeof(type));
	return ++t->n;
}

static void add_word(struct object_types *t, u32 word)
{
	buf_add(&t->types, &word, sizeof(word));
}

static void add_int(struct object_types *t, const char *name, u32 bytes, u32 encoding)
{
	add(t, name, BTF_KIND_INT << 24, bytes);
	add_word(t, encoding << 24 | bytes * 8);
}

void object_types_init(struct object_types *t)
{
	*t = (struct object_types){ 0 };
	buf_putc(&t->strings, 0);
	add_int(t, "int", 4, BTF_INT_SIGNED);
	add_int(t, "char", 1, BTF_INT_CHAR);
	add_int(t, "unsigned long", 8, 0);
	add(t, NULL, BTF_KIND_FUNC_PROTO << 24, ID_INT);
}

void object_types_free(struct object_types *t)
{
	buf_free(&t->types);
	buf_free(&t->strings);
}

u32 object_types_string(struct object_types *t, const char *name)
{
	u32 off = (u32)t->strings.n;

	buf_add(&t->strings, name, strlen(name) + 1);
	return off;
}

/* Static, though their symbols are global: the kernel takes a callback in no other way. */
u32 object_types_func(struct object_types *t, const char *name)
{
	return add(t, name, BTF_KIND_FUNC << 24 | BTF_FUNC_STATIC, ID_PROTO);
}

static u32 add_array(struct object_types *t, u32 of, u32 n)
{
	struct btf_array array = { .type = of, .index_type = ID_INT, .nelems = n };
	u32 id = add(t, NULL, BTF_KIND_ARRAY << 24, 0);

	buf_add(&t->types, &array, sizeof(array));
	return id;
}

static u32 add_var(struct object_types *t, const char *name, u32 type)
{
	u32 id = add(t, name, BTF_KIND_VAR << 24, type);

	add_word(t, BTF_VAR_GLOBAL_ALLOCATED);
	return id;
}

struct object_var object_types_map(struct object_types *t, const char *name, const struct umap *m,
                                   u32 off)
{
	const struct {
		const char *name;
		u32 value;
	} all[] = { { "type", m->bpf_type },
		    { "key_size", m->key_size },
		    { "value_size", m->value_size },
		    { "max_entries", m->max_entries },
		    { "map_flags", m->flags } };
	struct btf_member members[ARRAY_SIZE(all)];
	u32 n = 0, id;

	for (u32 i = 0; i < ARRAY_SIZE(all); i++) {
		if (!all[i].value) /* a ring has neither keys nor values */
			continue;
		/* Arrays of bytes: the kernel wants their sizes to be less than 4 GiB. */
		id = add_array(t, ID_BYTE, all[i].value);
		members[n] = (struct btf_member){ .name_off = object_types_string(t, all[i].name),
			                          .type = add(t, NULL, BTF_KIND_PTR << 24, id),
			                          .offset = n * 64 };
		n++;
	}
	id = add(t, NULL, BTF_KIND_STRUCT << 24 | n, n * 8);
	buf_add(&t->types, members, n * sizeof(members[0]));
	return (struct object_var){ add_var(t, name, id), off, n * 8 };
}

struct object_var object_types_data(struct object_types *t, const char *name, u32 size)
{
	u32 id = add_array(t, ID_WORD, size / 8);

	return (struct object_var){ add_var(t, name, id), 0, size };
}

void object_types_section(struct object_types *t, const char *name, u32 size,
                          const struct object_var *vars, u32 n)
{
	add(t, name, BTF_KIND_DATASEC << 24 | n, size);
	for (u32 i = 0; i < n; i++) {
		struct btf_var_secinfo info = { vars[i].type, vars[i].off, vars[i].size };

		buf_add(&t->types, &info, sizeof(info));
	}
}

void object_types_write(const struct object_types *t, struct buf *b)
{
	struct btf_header head = { .magic = BTF_MAGIC,
		                   .version = BTF_VERSION,
		                   .hdr_len = sizeof(head),
		                   .type_len = (u32)t->types.n,
		                   .str_off = (u32)t->types.n,
		                   .str_len = (u32)t->strings.n };

	buf_add(b, &head, sizeof(head));
	buf_add(b, t->types.p, t->types.n);
	buf_add(b, t->strings.p, t->strings.n);
}
