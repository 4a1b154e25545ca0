/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * BTF as C text. Only for people to read: function pointers of arguments are written short, and
 * nested anonymous members are opened in place.
 */
#include "ctext/c_type.h"

#include "ctext/c_decl.h"

#define DEPTH_MAX 16u

static const char *tag_of(u32 kind)
{
	switch (kind) {
	case BTF_KIND_STRUCT:
	case BTF_KIND_FWD:
		return "struct";
	case BTF_KIND_UNION:
		return "union";
	default:
		return "enum";
	}
}

static void print_type(struct buf *b, const struct btf *btf, u32 id, u32 depth)
{
	struct btf_info info;
	u32 elem, index, count;

	if (!id || !btf_info(btf, id, &info) || depth > DEPTH_MAX) {
		buf_puts(b, id ? "?" : "void");
		return;
	}
	switch (info.kind) {
	case BTF_KIND_PTR:
		print_type(b, btf, info.type, depth + 1);
		buf_puts(b, b->n && b->p[b->n - 1] == '*' ? "*" : " *");
		break;
	case BTF_KIND_ARRAY:
		if (btf_array_of(btf, &info, &elem, &index, &count)) {
			print_type(b, btf, elem, depth + 1);
			buf_printf(b, " [%u]", count);
		}
		break;
	case BTF_KIND_CONST:
	case BTF_KIND_VOLATILE:
		buf_puts(b, info.kind == BTF_KIND_CONST ? "const " : "volatile ");
		print_type(b, btf, info.type, depth + 1);
		break;
	case BTF_KIND_RESTRICT:
	case BTF_KIND_TYPE_TAG:
		print_type(b, btf, info.type, depth + 1);
		break;
	case BTF_KIND_FUNC_PROTO:
		buf_puts(b, "function");
		break;
	case BTF_KIND_INT:
	case BTF_KIND_FLOAT:
	case BTF_KIND_TYPEDEF:
		buf_puts(b, info.name);
		break;
	default:
		buf_printf(b, "%s%s%s", tag_of(info.kind), *info.name ? " " : "", info.name);
		break;
	}
}

void c_type_print(struct buf *b, const struct btf *btf, u32 id)
{
	print_type(b, btf, id, 0);
}

static void print_members(struct buf *b, const struct btf *btf, u32 id, u32 depth,
                          struct c_work *w);

static void print_member(struct buf *b, const struct btf *btf, const struct btf_field *m, u32 depth,
                         struct c_work *w)
{
	const struct c_style as_named = { .work = w };
	u32 type = btf_skip(btf, m->type);
	struct btf_info info;

	buf_fill(b, '\t', depth);
	if (btf_info(btf, type, &info) && !*info.name && depth < DEPTH_MAX &&
	    (info.kind == BTF_KIND_STRUCT || info.kind == BTF_KIND_UNION)) {
		buf_printf(b, "%s {\n", tag_of(info.kind));
		print_members(b, btf, type, depth + 1, w);
		buf_fill(b, '\t', depth);
		buf_printf(b, "}%s%s;\n", *m->name ? " " : "", m->name);
		return;
	}
	c_decl(b, btf, &as_named, m->type, m->name);
	if (m->bit_size)
		buf_printf(b, ": %u", m->bit_size);
	buf_puts(b, ";\n");
}

static void print_members(struct buf *b, const struct btf *btf, u32 id, u32 depth, struct c_work *w)
{
	struct btf_info info;
	struct btf_field m;

	if (!btf_info(btf, id, &info))
		return;
	c_work_take(w, info.vlen);
	for (u32 i = 0; !w->out && btf_field(btf, &info, i, &m); i++)
		print_member(b, btf, &m, depth, w);
}

bool c_type_define(struct buf *b, const struct btf *btf, const char *name)
{
	u32 id = btf_find_c(btf, name);
	struct btf_info info;
	struct btf_enumerator v;
	struct c_work w = { 0 };

	if (!id || !btf_info(btf, id, &info))
		return false;
	c_work_add(&w, btf);
	buf_printf(b, "%s {\n", name);
	if (info.kind == BTF_KIND_STRUCT || info.kind == BTF_KIND_UNION)
		print_members(b, btf, id, 1, &w);
	else
		for (u32 i = 0; btf_enumerator(btf, &info, i, &v); i++)
			buf_printf(b, "\t%s = %lld,\n", v.name, (long long)v.value);
	buf_puts(b, w.out ? "\t/* and more than is looked at */\n};\n" : "};\n");
	return true;
}
