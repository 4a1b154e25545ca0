/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Definitions of macros. The body is read as any block; what its parameters mean is found out
 * where the macro is used (macro.c).
 */
#include "lang/parse/parse.h"

/* param: $var | @map | name */
static struct node *parse_param_name(struct parser *p)
{
	struct node *n = parse_node(p, NODE_IDENT, p->tok.loc);

	switch (p->tok.kind) {
	case TOKEN_VAR:
		n->kind = NODE_VAR;
		n->var.name = p->tok.text;
		break;
	case TOKEN_MAP:
		n->kind = NODE_MAP;
		n->map.name = p->tok.text;
		break;
	case TOKEN_NAME:
		n->string = p->tok.text;
		break;
	default:
		parse_error(p, "expected the name of a parameter");
		return NULL;
	}
	parse_advance(p);
	return n;
}

/* params: '(' [param (',' param)* [',']] ')' */
static bool parse_params(struct parser *p, struct macro *m)
{
	struct node **tail = &m->params;

	if (!parse_expect(p, TOKEN_LPAREN))
		return false;
	while (p->tok.kind != TOKEN_RPAREN) {
		struct node *n = parse_param_name(p);

		if (!n)
			return false;
		parse_append(&tail, n);
		m->n_params++;
		if (p->tok.kind != TOKEN_RPAREN && !parse_expect(p, TOKEN_COMMA))
			return false;
	}
	parse_advance(p);
	return true;
}

/* macro: 'macro' name params block */
bool parse_macro(struct parser *p, struct macro **out)
{
	struct macro *m = arena_new(p->script->arena, struct macro);

	parse_advance(p); /* to 'macro' */
	parse_advance(p);
	m->name = p->tok.text;
	m->loc = p->tok.loc;
	if (!parse_expect(p, TOKEN_NAME) || !parse_params(p, m))
		return false;
	m->body = parse_body(p);
	if (!m->body)
		return false;
	parse_set_result(p, m->body);
	*out = m;
	return true;
}
