/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The tree as text (`-d ast`, `-d types`): one node a line, two blanks a level, what a node is
 * and its name or value after it. With types, each expression's type stands after " : " and
 * each probe is shown as the variants it was expanded to.
 */
#include "lang/parse/ast.h"
#include "lang/parse/ast_slots.h"

#include <ctype.h>

static void indent(struct buf *b, u32 level)
{
	buf_fill(b, ' ', level * 2);
}

static void quoted(struct buf *b, struct str s)
{
	buf_putc(b, '"');
	for (u32 i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (c == '"' || c == '\\')
			buf_printf(b, "\\%c", c);
		else if (c == '\n')
			buf_puts(b, "\\n");
		else if (c == '\t')
			buf_puts(b, "\\t");
		else if (c < 0x20 || c == 0x7f)
			buf_printf(b, "\\x%02x", c);
		else
			buf_putc(b, (char)c);
	}
	buf_putc(b, '"');
}

static void type_written(struct buf *b, const struct type_name *t)
{
	buf_putc(b, ' ');
	buf_add(b, t->text.p, t->text.n);
	if (t->pointers)
		buf_putc(b, ' ');
	buf_fill(b, '*', t->pointers);
	if (t->array == 0)
		buf_puts(b, "[]");
	else if (t->array > 0)
		buf_printf(b, "[%lld]", (long long)t->array);
}

static void text_of(struct buf *b, struct str s)
{
	buf_putc(b, ' ');
	buf_add(b, s.p, s.n);
}

static void integer(struct buf *b, const struct node *n)
{
	if (n->integer.is_unsigned)
		buf_printf(b, " %llu", (unsigned long long)n->integer.value);
	else
		buf_printf(b, " %lld", (long long)n->integer.value);
}

static void size_of(struct buf *b, const struct node *n)
{
	if (!n->size.e)
		type_written(b, &n->size.of);
	if (n->kind != NODE_SIZEOF)
		text_of(b, n->size.path);
}

/* The name in a node, empty when it has none. */
static struct str name_of(const struct node *n)
{
	switch (n->kind) {
	case NODE_IDENT:
		return n->string;
	case NODE_BUILTIN:
		return n->builtin.name;
	case NODE_CALL:
		return n->call.name;
	case NODE_MAP:
		return n->map.name;
	case NODE_VAR:
		return n->var.name;
	case NODE_FIELD:
		return n->field.name;
	default:
		return (struct str){ "", 0 };
	}
}

/* What stands after the kind and is not a name: values, operators, written types. */
static void detail(struct buf *b, const struct node *n)
{
	switch (n->kind) {
	case NODE_INT:
		integer(b, n);
		break;
	case NODE_STRING:
		buf_putc(b, ' ');
		quoted(b, n->string);
		break;
	case NODE_PARAM:
		buf_printf(b, " $%u", n->param);
		break;
	case NODE_UNARY:
		buf_printf(b, " %s%s", op_text(n->unary.op),
		           n->unary.op >= OP_POSTINC ? " after" : "");
		break;
	case NODE_BINARY:
		buf_printf(b, " %s", op_text(n->binary.op));
		break;
	case NODE_ASSIGN:
		buf_printf(b, " %s=", op_text(n->assign.op));
		break;
	case NODE_TUPLE_AT:
		buf_printf(b, " %u", n->tuple_at.i);
		break;
	case NODE_CAST:
		type_written(b, &n->cast.to);
		break;
	case NODE_SIZEOF:
	case NODE_OFFSETOF:
	case NODE_TYPEINFO:
		size_of(b, n);
		break;
	case NODE_LET:
		if (n->let.has_type)
			type_written(b, &n->let.as);
		break;
	default: /* the kind, and a name, say all */
		break;
	}
}

static void kind_name(struct buf *b, enum node_kind kind)
{
	for (const char *p = ast_kind_name(kind); *p; p++)
		buf_putc(b, *p == '_' ? ' ' : (char)tolower((unsigned char)*p));
}

static void print_node(struct buf *b, struct node *n, u32 level, bool types)
{
	struct node **slot;

	indent(b, level);
	kind_name(b, n->kind);
	if (name_of(n).n)
		text_of(b, name_of(n));
	detail(b, n);
	if (types && n->type) {
		buf_puts(b, " : ");
		type_print(b, n->type);
	}
	buf_putc(b, '\n');
	for (u32 i = 0; (slot = ast_slot(n, i)); i++)
		for (struct node *kid = *slot; kid; kid = kid->next)
			print_node(b, kid, level + 1, types);
}

static void print_code(struct buf *b, struct node *pred, struct node *body, u32 level, bool types)
{
	if (pred) {
		indent(b, level);
		buf_puts(b, "predicate\n");
		print_node(b, pred, level + 1, types);
	}
	if (body)
		print_node(b, body, level, types);
}

static void print_attach(struct buf *b, const struct attach *a, const char *word)
{
	indent(b, 1);
	buf_printf(b, "%s ", word);
	buf_add(b, a->provider.p, a->provider.n);
	for (u32 i = 0; i < a->parts.n; i++) {
		buf_putc(b, ':');
		buf_add(b, a->parts.v[i].p, a->parts.v[i].n);
	}
	buf_putc(b, '\n');
	if (a->or_else)
		print_attach(b, a->or_else, "or else");
}

static void print_probe(struct buf *b, const struct probe *p, bool types)
{
	buf_puts(b, "probe\n");
	for (const struct attach *a = p->attaches; a; a = a->next)
		print_attach(b, a, "attach");
	if (!types || !p->variants.n) {
		print_code(b, p->pred, p->body, 1, types);
		return;
	}
	for (u32 i = 0; i < p->variants.n; i++) {
		const struct variant *v = p->variants.v[i];

		indent(b, 1);
		buf_printf(b, "variant %s, %u site%s\n", attach_kind_name(v->kind), v->sites.n,
		           v->sites.n == 1 ? "" : "s");
		print_code(b, v->pred, v->body, 2, true);
	}
}

static void print_maps(struct buf *b, const struct script *s)
{
	for (u32 i = 0; i < s->maps.n; i++) {
		const struct map_sym *m = s->maps.v[i];

		buf_printf(b, "map %s", m->name);
		if (m->key) {
			buf_putc(b, '[');
			type_print(b, m->key);
			buf_putc(b, ']');
		}
		if (m->value) {
			buf_puts(b, " : ");
			type_print(b, m->value);
		}
		buf_putc(b, '\n');
	}
}

void ast_print(struct buf *b, const struct script *s, bool types)
{
	for (const struct config_item *c = s->config; c; c = c->next) {
		buf_puts(b, "config");
		text_of(b, c->name);
		buf_putc(b, '\n');
		print_node(b, c->value, 1, types);
	}
	for (const struct map_decl *m = s->map_decls; m; m = m->next)
		buf_printf(b, "declare %.*s %.*s %llu\n", STR_ARG(m->name), STR_ARG(m->kind),
		           (unsigned long long)m->n);
	if (types)
		print_maps(b, s);
	for (const struct probe *p = s->probes; p; p = p->next)
		print_probe(b, p, types);
}
