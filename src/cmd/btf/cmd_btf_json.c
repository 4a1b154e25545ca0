/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The whole BTF as JSON, an object on each line: id, kind, name, and what the kind has, under the
 * names of the raw dump. Values that a double can not hold are quoted.
 */
#include "ctext/c_decl.h"
#include "cmd/btf/cmd_btf.h"
#include "out/json.h"

#define FLUSH_AT (64u << 10)

struct json {
	struct buf b;
	const struct btf *btf;
	struct sink *out;
};

/* ,"key":n */
static void number(struct json *j, const char *key, u64 n)
{
	buf_puts(&j->b, ",\"");
	buf_puts(&j->b, key);
	buf_puts(&j->b, "\":");
	c_decl_number(&j->b, n);
}

static void text(struct json *j, const char *key, const char *z)
{
	buf_puts(&j->b, ",\"");
	buf_puts(&j->b, key);
	buf_puts(&j->b, "\":");
	json_string(&j->b, str_of(z));
}

/* The first of an entry: {"name":"..." */
static void entry(struct json *j, u32 i, const char *name)
{
	buf_puts(&j->b, i ? ",{\"name\":" : "{\"name\":");
	json_string(&j->b, str_of(name));
}

static void put_int(struct json *j, const struct btf_info *t)
{
	struct btf_int i;

	number(j, "size", t->size);
	if (!btf_int(j->btf, t, &i))
		return;
	number(j, "bits", i.bits);
	number(j, "bits_offset", i.bit_off);
	text(j, "encoding",
	     i.is_bool     ? "bool"
	     : i.is_char   ? "char"
	     : i.is_signed ? "signed"
	                   : "none");
}

static void put_array(struct json *j, const struct btf_info *t)
{
	u32 elem, index, count;

	if (!btf_array_of(j->btf, t, &elem, &index, &count))
		return;
	number(j, "type_id", elem);
	number(j, "index_type_id", index);
	number(j, "count", count);
}

static void put_members(struct json *j, const struct btf_info *t)
{
	struct btf_field f;

	number(j, "size", t->size);
	buf_puts(&j->b, ",\"members\":[");
	for (u32 i = 0; btf_field(j->btf, t, i, &f); i++) {
		entry(j, i, f.name);
		number(j, "type_id", f.type);
		number(j, "bits_offset", f.bit_off);
		if (f.bit_size)
			number(j, "bits", f.bit_size);
		buf_putc(&j->b, '}');
	}
	buf_putc(&j->b, ']');
}

static void put_values(struct json *j, const struct btf_info *t)
{
	struct btf_enumerator v;

	number(j, "size", t->size);
	text(j, "encoding", t->kind_flag ? "signed" : "unsigned");
	buf_puts(&j->b, ",\"values\":[");
	for (u32 i = 0; btf_enumerator(j->btf, t, i, &v); i++) {
		entry(j, i, v.name);
		buf_puts(&j->b, ",\"value\":");
		if (t->kind_flag)
			json_signed(&j->b, v.value);
		else
			json_unsigned(&j->b, (u64)v.value);
		buf_putc(&j->b, '}');
	}
	buf_putc(&j->b, ']');
}

static void put_proto(struct json *j, const struct btf_info *t)
{
	struct btf_arg a;

	number(j, "return_type_id", t->type);
	buf_puts(&j->b, ",\"arguments\":[");
	for (u32 i = 0; btf_arg(j->btf, t, i, &a); i++) {
		entry(j, i, a.name);
		number(j, "type_id", a.type);
		buf_putc(&j->b, '}');
	}
	buf_putc(&j->b, ']');
}

static void put_places(struct json *j, const struct btf_info *t)
{
	struct btf_info var;
	struct btf_place p;

	number(j, "size", t->size);
	buf_puts(&j->b, ",\"variables\":[");
	for (u32 i = 0; btf_place(j->btf, t, i, &p); i++) {
		entry(j, i, btf_info(j->btf, p.var, &var) ? var.name : "");
		number(j, "type_id", p.var);
		number(j, "offset", p.off);
		number(j, "size", p.size);
		buf_putc(&j->b, '}');
	}
	buf_putc(&j->b, ']');
}

static void put_linkage(struct json *j, const struct btf_info *t)
{
	static const char *const words[] = { "static", "global", "extern" };
	u32 n;

	number(j, "type_id", t->type);
	if (btf_linkage(j->btf, t, &n))
		text(j, "linkage", n < ARRAY_SIZE(words) ? words[n] : "unknown");
}

static void put_tag(struct json *j, const struct btf_info *t)
{
	s32 component;

	number(j, "type_id", t->type);
	if (!btf_component(j->btf, t, &component))
		return;
	buf_puts(&j->b, ",\"component\":");
	json_signed(&j->b, component);
}

static void put_rest(struct json *j, const struct btf_info *t)
{
	switch (t->kind) {
	case BTF_KIND_INT:
		put_int(j, t);
		break;
	case BTF_KIND_ARRAY:
		put_array(j, t);
		break;
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		put_members(j, t);
		break;
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
		put_values(j, t);
		break;
	case BTF_KIND_FWD:
		text(j, "of", c_decl_tag(t));
		break;
	case BTF_KIND_FUNC_PROTO:
		put_proto(j, t);
		break;
	case BTF_KIND_FUNC:
	case BTF_KIND_VAR:
		put_linkage(j, t);
		break;
	case BTF_KIND_DATASEC:
		put_places(j, t);
		break;
	case BTF_KIND_FLOAT:
		number(j, "size", t->size);
		break;
	case BTF_KIND_DECL_TAG:
		put_tag(j, t);
		break;
	default:
		number(j, "type_id", t->type);
		break;
	}
}

bool cmd_btf_json(struct sink *out, const struct btf *b)
{
	struct json j = { .btf = b, .out = out };
	struct btf_iter it;
	struct btf_file f;
	u64 seen = 0;

	btf_file(b, &f);
	btf_iter_init(&it, b, btf_first(b));
	while (btf_next(&it)) {
		buf_puts(&j.b, "{\"id\":");
		c_decl_number(&j.b, it.t.id);
		text(&j, "kind", cmd_btf_kind(it.t.kind));
		text(&j, "name", it.t.name);
		put_rest(&j, &it.t);
		buf_puts(&j.b, "}\n");
		seen += it.t.raw_len;
		if (j.b.n > FLUSH_AT)
			sink_take(out, &j.b);
	}
	sink_take(out, &j.b);
	buf_free(&j.b);
	return seen == f.types_len;
}
