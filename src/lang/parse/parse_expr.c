/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Expressions: precedence climbing over the table of operators (op.c), and a function for each form
 * of operand.
 *
 * Three places need more than one token of look-ahead: "(name *)" is a cast and "(name)" may be
 * one, '/' before '{' ends a predicate, and a name is a call only with its bracket.
 */
#include "lang/parse/parse.h"

#include <string.h>

static struct node *parse_unary(struct parser *p);

/* One more operator in this statement; false when there are too many. */
static bool count_operator(struct parser *p)
{
	if (p->operators++ < PARSE_OPERATORS_MAX)
		return true;
	return diag_error(p->d, p->tok.loc, "syntax: more than %u operators in one statement",
	                  PARSE_OPERATORS_MAX);
}

/* ---- types ---------------------------------------------------------------------------------- */

static bool is_one_of(struct str name, const char *const *words, u32 n)
{
	for (u32 i = 0; i < n; i++)
		if (str_is(name, words[i]))
			return true;
	return false;
}

static bool is_tag_word(struct str name)
{
	static const char *const words[] = { "struct", "union", "enum" };

	return is_one_of(name, words, ARRAY_SIZE(words));
}

/* Words that C combines to a type: "unsigned long". */
static bool is_base_word(struct str name)
{
	static const char *const words[] = { "unsigned", "signed", "long", "short", "int", "char" };

	return is_one_of(name, words, ARRAY_SIZE(words));
}

static bool is_qualifier(struct str name)
{
	return str_is(name, "const") || str_is(name, "volatile");
}

/* Names that are types wherever they stand in brackets. */
static bool is_type_word(struct str name)
{
	static const char *const words[] = {
		"bool",     "int8",     "int16",    "int32",     "int64",     "uint8",   "uint16",
		"uint32",   "uint64",   "int8_t",   "int16_t",   "int32_t",   "int64_t", "uint8_t",
		"uint16_t", "uint32_t", "uint64_t", "u8",        "u16",       "u32",     "u64",
		"s8",       "s16",      "s32",      "s64",       "__u8",      "__u16",   "__u32",
		"__u64",    "__s8",     "__s16",    "__s32",     "__s64",     "size_t",  "ssize_t",
		"intptr_t", "void",     "string",   "uintptr_t", "ptrdiff_t",
	};

	return is_tag_word(name) || is_base_word(name) || is_qualifier(name) ||
	       is_one_of(name, words, ARRAY_SIZE(words));
}

/* Adds a word to the text of a type, with one blank between words. */
static void add_word(struct parser *p, struct type_name *t, struct str word)
{
	struct str had = t->text;
	char *text = arena_alloc(p->script->arena, had.n + word.n + 2);
	u32 n = 0;

	if (had.n) {
		memcpy(text, had.p, had.n);
		n = had.n;
		text[n++] = ' ';
	}
	memcpy(text + n, word.p, word.n);
	t->text = (struct str){ text, n + word.n };
}

/* The words of a type: a tag and its name, C's base words, or one name. Qualifiers are dropped. */
static bool parse_type_words(struct parser *p, struct type_name *t)
{
	bool more = true;

	while (more && p->tok.kind == TOKEN_NAME) {
		struct str word = p->tok.text;

		more = is_qualifier(word) || is_tag_word(word);
		if (is_base_word(word)) {
			struct token next = parse_peek(p);

			more = next.kind == TOKEN_NAME &&
			       (is_base_word(next.text) || is_qualifier(next.text));
		}
		if (!is_qualifier(word))
			add_word(p, t, word);
		parse_advance(p);
	}
	if (t->text.n && !is_tag_word(t->text))
		return true;
	return parse_error(p, "expected the name of a type");
}

/* After '[': [number] ']' */
static bool parse_type_array(struct parser *p, struct type_name *t)
{
	t->array = 0;
	if (p->tok.kind == TOKEN_INT) {
		if (p->tok.value > UINT32_MAX)
			return parse_error(p, "this array is too large");
		t->array = (s64)p->tok.value;
		parse_advance(p);
	}
	return parse_expect(p, TOKEN_RBRACKET);
}

static bool type_follows(struct lexer ahead, enum token_kind closer, bool take_bare);

/* 'typeof' '(' (type | expr) ')' */
static bool parse_typeof(struct parser *p, struct type_name *t)
{
	bool is_type, good;

	parse_advance(p);
	is_type = type_follows(p->lex, TOKEN_RPAREN, false);
	if (!parse_expect(p, TOKEN_LPAREN) || !parse_enter(p))
		return false;
	good = is_type ? parse_type(p, t) : (t->e = parse_expr(p)) != NULL;
	p->depth--;
	if (!is_type)
		t->text = STR("typeof");
	if (!good || !parse_expect(p, TOKEN_RPAREN))
		return false;
	if (t->array >= 0 && (p->tok.kind == TOKEN_MUL || p->tok.kind == TOKEN_LBRACKET))
		return parse_error(p, "a type has one array, outermost");
	return true;
}

/* type: (words | typeof) '*'* ['[' [number] ']'] */
bool parse_type(struct parser *p, struct type_name *t)
{
	struct loc start = p->tok.loc;

	*t = (struct type_name){ .array = -1 };
	if (parse_at_word(p, "typeof") ? !parse_typeof(p, t) : !parse_type_words(p, t))
		return false;
	for (;;) {
		if (parse_accept(p, TOKEN_MUL))
			t->pointers++;
		else if (p->tok.kind == TOKEN_NAME && is_qualifier(p->tok.text))
			parse_advance(p);
		else
			break;
	}
	if (parse_accept(p, TOKEN_LBRACKET) && !parse_type_array(p, t))
		return false;
	t->loc = parse_span(start, p->last);
	return true;
}

/* True when an operand starts at t, so that what stood before it in brackets is a type. */
static bool starts_operand(const struct token *t)
{
	return !t->on_new_line &&
	       (t->kind == TOKEN_NAME || t->kind == TOKEN_VAR || t->kind == TOKEN_MAP ||
	        t->kind == TOKEN_INT || t->kind == TOKEN_STRING || t->kind == TOKEN_PARAM ||
	        t->kind == TOKEN_LPAREN);
}

/*
 * Does a type follow, up to the token `closer`? For a name that is not known to be one: with '*'
 * before the closer it is; else only where a bare name is taken for a type (sizeof) or an
 * operand stands after the closer (a cast).
 */
static bool type_follows(struct lexer ahead, enum token_kind closer, bool take_bare)
{
	struct token t = lex_next(&ahead);
	bool pointer = false, is_value;

	if (t.kind != TOKEN_NAME)
		return false;
	is_value = builtin_find(t.text) || func_find(t.text) || str_is(t.text, "true") ||
	           str_is(t.text, "false");
	if (is_type_word(t.text) || str_is(t.text, "typeof"))
		return true;
	t = lex_next(&ahead);
	for (; t.kind == TOKEN_MUL; t = lex_next(&ahead))
		pointer = true;
	if (t.kind == TOKEN_LBRACKET) {
		t = lex_next(&ahead);
		if (t.kind == TOKEN_INT)
			t = lex_next(&ahead);
		if (t.kind != TOKEN_RBRACKET)
			return false;
		t = lex_next(&ahead);
	}
	if (t.kind != closer)
		return false;
	if (pointer || take_bare)
		return pointer || !is_value;
	t = lex_next(&ahead);
	return starts_operand(&t);
}

/* ---- operands ------------------------------------------------------------------------------- */

/* list: [expr (',' expr)* [',']] closer; the closer is consumed. */
static bool parse_list(struct parser *p, enum token_kind closer, struct node **list, u32 *n)
{
	struct node **tail = list;

	*n = 0;
	while (p->tok.kind != closer) {
		struct node *e = parse_expr(p);

		if (!e)
			return false;
		parse_append(&tail, e);
		++*n;
		if (p->tok.kind != closer && !parse_accept(p, TOKEN_COMMA))
			return parse_error(p, "expected ',' or %s", lex_token_name(closer));
	}
	parse_advance(p);
	return true;
}

static struct node *int_node(struct parser *p, u64 value, bool is_unsigned)
{
	struct node *n = parse_node(p, NODE_INT, p->tok.loc);

	n->integer.value = value;
	n->integer.is_unsigned = is_unsigned;
	n->integer.is_bare = !is_unsigned;
	n->integer.is_typed = is_unsigned;
	parse_advance(p);
	return n;
}

struct node *parse_var(struct parser *p)
{
	struct node *n = parse_node(p, NODE_VAR, p->tok.loc);

	n->var.name = p->tok.text;
	return parse_expect(p, TOKEN_VAR) ? n : NULL;
}

/* map: @name ['[' list ']'] */
static struct node *parse_map(struct parser *p)
{
	struct node *n = parse_node(p, NODE_MAP, p->tok.loc);

	n->map.name = p->tok.text;
	parse_advance(p);
	if (!parse_accept(p, TOKEN_LBRACKET))
		return n;
	if (p->tok.kind == TOKEN_RBRACKET) {
		parse_error(p, "expected a key");
		return NULL;
	}
	if (!parse_list(p, TOKEN_RBRACKET, &n->map.keys, &n->map.n_keys))
		return NULL;
	n->loc = parse_span(n->loc, p->last);
	return n;
}

static struct node *builtin_node(struct parser *p, struct str name, struct loc loc)
{
	struct node *n = parse_node(p, NODE_BUILTIN, loc);

	ast_set_builtin(n, name);
	return n;
}

/* dw_ustack(...) is ustack(dwarf, ...). */
static void set_dw_ustack(struct parser *p, struct node *n)
{
	struct node *mode = parse_node(p, NODE_IDENT, n->loc);

	mode->string = STR("dwarf");
	mode->next = n->call.args;
	n->call.name = STR("ustack");
	n->call.f = func_find(n->call.name);
	n->call.args = mode;
	n->call.n_args++;
}

/* call: name '(' list ')'; pid() is the builtin pid */
static struct node *parse_call(struct parser *p)
{
	struct node *n = parse_node(p, NODE_CALL, p->tok.loc);

	n->call.name = p->tok.text;
	n->call.f = func_find(n->call.name);
	parse_advance(p);
	parse_advance(p);
	if (!parse_list(p, TOKEN_RPAREN, &n->call.args, &n->call.n_args))
		return NULL;
	n->loc = parse_span(n->loc, p->last);
	if (str_is(n->call.name, "dw_ustack"))
		set_dw_ustack(p, n);
	if (!n->call.n_args && builtin_find(n->call.name))
		return builtin_node(p, n->call.name, n->loc);
	return n;
}

/* ',' name ('.' name)* */
static bool parse_size_path(struct parser *p, struct node *n)
{
	struct loc start;

	if (!parse_expect(p, TOKEN_COMMA))
		return false;
	start = p->tok.loc;
	do {
		if (!parse_expect(p, TOKEN_NAME))
			return false;
	} while (parse_accept(p, TOKEN_DOT));
	start = parse_span(start, p->last);
	n->size.path = (struct str){ p->lex.source->text + start.off, start.len };
	return true;
}

/* sizeof: 'sizeof' '(' (type | expr) ')'
 * offsetof: 'offsetof' '(' (type | expr) ',' name ('.' name)* ')' */
static struct node *parse_size(struct parser *p, enum node_kind kind, enum token_kind closer)
{
	struct node *n = parse_node(p, kind, p->tok.loc);
	bool is_type;

	parse_advance(p); /* to '(' */
	is_type = type_follows(p->lex, closer, true);
	parse_advance(p);
	if (is_type ? !parse_type(p, &n->size.of) : !(n->size.e = parse_expr(p)))
		return NULL;
	if (kind == NODE_OFFSETOF && !parse_size_path(p, n))
		return NULL;
	if (!parse_expect(p, TOKEN_RPAREN))
		return NULL;
	n->loc = parse_span(n->loc, p->last);
	return n;
}

/* One part of what is known of a type. */
static struct node *typeinfo_part(struct parser *p, const struct node *whole, struct str part)
{
	struct node *n = ast_copy(ast_arena(p->script), whole);

	n->size.path = part;
	return n;
}

/* typeinfo: 'typeinfo' '(' (type | expr) ')' ['.' part]
 * Without a part it is a record of all three. */
static struct node *parse_typeinfo(struct parser *p)
{
	static const struct str parts[] = { { "btf_id", 6 },
		                            { "base_type", 9 },
		                            { "full_type", 9 } };
	struct node *whole = parse_size(p, NODE_TYPEINFO, TOKEN_RPAREN), *n, **end;

	if (!whole)
		return NULL;
	if (parse_accept(p, TOKEN_DOT)) {
		whole->size.path = p->tok.text;
		whole->loc = parse_span(whole->loc, p->tok.loc);
		return parse_expect(p, TOKEN_NAME) ? whole : NULL;
	}
	n = parse_node(p, NODE_TUPLE, whole->loc);
	n->tuple.names = parts;
	n->tuple.n = ARRAY_SIZE(parts);
	end = &n->tuple.items;
	for (u32 i = 0; i < ARRAY_SIZE(parts); i++) {
		*end = typeinfo_part(p, whole, parts[i]);
		end = &(*end)->next;
	}
	return n;
}

static struct node *cast_node(struct parser *p, struct type_name to, struct node *e, struct loc loc)
{
	struct node *n = parse_node(p, NODE_CAST, loc);

	to.loc = loc;
	n->cast.to = to;
	n->cast.e = e;
	return n;
}

/* container_of: 'container_of' '(' expr ',' type ',' name ('.' name)* ')'
 * It is (type *)((int8 *)expr - offsetof(type, name)): the pointer keeps its address space. */
static struct node *parse_container_of(struct parser *p)
{
	struct loc loc = p->tok.loc;
	struct node *off = parse_node(p, NODE_OFFSETOF, loc), *n, *e;
	struct type_name to;

	parse_advance(p);
	parse_advance(p);
	e = parse_expr(p);
	if (!e || !parse_expect(p, TOKEN_COMMA) || !parse_type(p, &off->size.of) ||
	    !parse_size_path(p, off) || !parse_expect(p, TOKEN_RPAREN))
		return NULL;
	loc = parse_span(loc, p->last);
	off->loc = loc;
	n = parse_node(p, NODE_BINARY, loc);
	n->binary.op = OP_SUB;
	n->binary.left = cast_node(
		p, (struct type_name){ .text = STR("int8"), .pointers = 1, .array = -1 }, e, loc);
	n->binary.right = off;
	to = off->size.of;
	to.pointers++;
	if (to.e)
		to.e = ast_copy(ast_arena(p->script), to.e);
	return cast_node(p, to, n, loc);
}

static struct node *setting_node(struct parser *p, const struct token *config, struct str name)
{
	struct node *n = parse_node(p, NODE_FIELD, config->loc);

	n->field.e = parse_node(p, NODE_IDENT, config->loc);
	n->field.e->string = config->text;
	n->field.name = name;
	return n;
}

static struct node *all_settings(struct parser *p, const struct token *config)
{
	struct node *n = parse_node(p, NODE_TUPLE, config->loc), **end = &n->tuple.items;

	n->tuple.names = config_names(&n->tuple.n);
	for (u32 i = 0; i < n->tuple.n; i++) {
		*end = setting_node(p, config, n->tuple.names[i]);
		end = &(*end)->next;
	}
	return n;
}

/* setting: 'config' ['(' ')'] ['.' name], of the settings that hold while the script runs; without
 * a name it is a record of all. */
static struct node *parse_setting(struct parser *p)
{
	struct token config = p->tok;
	struct node *n;

	parse_advance(p);
	if (parse_accept(p, TOKEN_LPAREN) && !parse_expect(p, TOKEN_RPAREN))
		return NULL;
	if (!parse_accept(p, TOKEN_DOT))
		return all_settings(p, &config);
	n = setting_node(p, &config, p->tok.text);
	if (!parse_expect(p, TOKEN_NAME))
		return NULL;
	n->loc = parse_span(n->loc, p->last);
	return n;
}

static struct node *bool_node(struct parser *p, bool value)
{
	struct node *n = int_node(p, value, false);

	n->type = &type_bool;
	n->integer.is_bare = false;
	return n;
}

/* comptime: 'comptime' unary */
static struct node *parse_comptime(struct parser *p)
{
	struct node *n = parse_node(p, NODE_UNARY, p->tok.loc);

	parse_advance(p);
	n->unary.op = OP_COMPTIME;
	n->unary.e = parse_unary(p);
	n->loc = parse_span(n->loc, p->last);
	return n->unary.e ? n : NULL;
}

static bool is_keyword(struct str name)
{
	static const char *const words[] = { "break",  "config", "continue", "else",   "for",  "if",
		                             "import", "let",    "return",   "unroll", "while" };

	return is_one_of(name, words, ARRAY_SIZE(words));
}

/* name: call | sizeof | offsetof | container_of | setting | if | 'true' | 'false' | builtin |
 * identifier */
static struct node *parse_name(struct parser *p)
{
	struct token name = p->tok, next = parse_peek(p);
	const struct builtin *b = builtin_find(name.text);
	struct node *n;

	if (next.kind == TOKEN_LPAREN && parse_at_word(p, "sizeof"))
		return parse_size(p, NODE_SIZEOF, TOKEN_RPAREN);
	if (next.kind == TOKEN_LPAREN && parse_at_word(p, "offsetof"))
		return parse_size(p, NODE_OFFSETOF, TOKEN_COMMA);
	if (next.kind == TOKEN_LPAREN && parse_at_word(p, "typeinfo"))
		return parse_typeinfo(p);
	if (next.kind == TOKEN_LPAREN && parse_at_word(p, "container_of"))
		return parse_container_of(p);
	if (parse_at_word(p, "config"))
		return parse_setting(p);
	if (parse_at_word(p, "if"))
		return parse_if_value(p);
	if (parse_at_word(p, "comptime"))
		return parse_comptime(p);
	if (is_keyword(name.text)) {
		parse_error(p, "expected an expression");
		return NULL;
	}
	if (next.kind == TOKEN_LPAREN && !(b && next.on_new_line))
		return parse_call(p);
	if (parse_at_word(p, "true") || parse_at_word(p, "false"))
		return bool_node(p, parse_at_word(p, "true"));
	if (b) {
		n = builtin_node(p, name.text, name.loc);
	} else {
		n = parse_node(p, NODE_IDENT, name.loc);
		n->string = name.text;
	}
	parse_advance(p);
	return n;
}

static bool at_record(struct parser *p)
{
	return p->tok.kind == TOKEN_NAME && parse_peek(p).kind == TOKEN_SET;
}

typedef VEC(struct str) names_of_record;

static bool is_repeated(const names_of_record *names, struct str name)
{
	for (u32 i = 0; i < names->n; i++)
		if (str_eq(names->v[i], name))
			return true;
	return false;
}

/* record: name '=' expr (',' name '=' expr)* [','] ')' */
static struct node *parse_record(struct parser *p, struct loc start)
{
	struct node *n = parse_node(p, NODE_TUPLE, start), **tail = &n->tuple.items;
	names_of_record names = { 0 };

	do {
		struct node *e;

		if (!at_record(p)) {
			parse_error(p, "expected a name and '=': each part of a record has a name");
			return NULL;
		}
		if (is_repeated(&names, p->tok.text)) {
			parse_error(p, "this name is used twice in the record");
			return NULL;
		}
		vec_add(p->script->arena, &names, p->tok.text);
		parse_advance(p);
		parse_advance(p);
		e = parse_expr(p);
		if (!e)
			return NULL;
		parse_append(&tail, e);
	} while (parse_accept(p, TOKEN_COMMA) && p->tok.kind != TOKEN_RPAREN);
	if (!parse_expect(p, TOKEN_RPAREN))
		return NULL;
	n->tuple.n = names.n;
	n->tuple.names = names.v;
	n->loc = parse_span(start, p->last);
	return n;
}

/* group: '(' expr ')' | '(' ')' | '(' expr ',' list ')' | '(' record */
static struct node *parse_group(struct parser *p)
{
	struct loc start = p->tok.loc;
	struct node *first = NULL, *n;
	u32 rest = 0;

	parse_advance(p);
	if (at_record(p))
		return parse_record(p, start);
	if (p->tok.kind != TOKEN_RPAREN) {
		first = parse_expr(p);
		if (!first)
			return NULL;
		if (parse_accept(p, TOKEN_RPAREN))
			return first;
		if (!parse_accept(p, TOKEN_COMMA)) {
			parse_error(p, "expected ',' or ')'");
			return NULL;
		}
	}
	n = parse_node(p, NODE_TUPLE, start);
	n->tuple.items = first;
	if (!parse_list(p, TOKEN_RPAREN, first ? &first->next : &n->tuple.items, &rest))
		return NULL;
	n->tuple.n = rest + (first != NULL);
	n->loc = parse_span(start, p->last);
	return n;
}

/* string+: as in C, texts that follow each other are one. */
static struct node *parse_string(struct parser *p)
{
	struct node *n = parse_node(p, NODE_STRING, p->tok.loc);

	n->string = p->tok.text;
	parse_advance(p);
	while (p->tok.kind == TOKEN_STRING) {
		struct str more = p->tok.text;
		char *whole = arena_alloc(p->script->arena, n->string.n + more.n + 1);

		memcpy(whole, n->string.p, n->string.n);
		memcpy(whole + n->string.n, more.p, more.n);
		whole[n->string.n + more.n] = 0;
		n->string = (struct str){ whole, n->string.n + more.n };
		n->loc = parse_span(n->loc, p->tok.loc);
		parse_advance(p);
	}
	return n;
}

static struct node *parse_param(struct parser *p)
{
	bool count = p->tok.kind == TOKEN_PARAM_COUNT;
	struct node *n = parse_node(p, count ? NODE_PARAM_COUNT : NODE_PARAM, p->tok.loc);

	if (!count)
		n->param = (u32)p->tok.value;
	parse_advance(p);
	return n;
}

/* primary: number | string | $param | $var | map | name | group | block */
static struct node *parse_primary(struct parser *p)
{
	switch (p->tok.kind) {
	case TOKEN_INT:
		return int_node(p, p->tok.value, p->tok.is_unsigned);
	case TOKEN_STRING:
		return parse_string(p);
	case TOKEN_PARAM:
	case TOKEN_PARAM_COUNT:
		return parse_param(p);
	case TOKEN_VAR:
		return parse_var(p);
	case TOKEN_MAP:
		return parse_map(p);
	case TOKEN_NAME:
		return parse_name(p);
	case TOKEN_LPAREN:
		return parse_group(p);
	case TOKEN_LBRACE:
		return parse_block_value(p);
	default:
		parse_error(p, "expected an expression");
		return NULL;
	}
}

/* ---- operators ------------------------------------------------------------------------------ */

/* member: ('.' | '->') (name | number) */
static struct node *parse_member(struct parser *p, struct node *e)
{
	struct node *n;

	parse_advance(p);
	if (p->tok.kind == TOKEN_INT) {
		n = parse_node(p, NODE_TUPLE_AT, parse_span(e->loc, p->tok.loc));
		n->tuple_at.e = e;
		n->tuple_at.i = (u32)MIN(p->tok.value, UINT32_MAX);
	} else {
		n = parse_node(p, NODE_FIELD, parse_span(e->loc, p->tok.loc));
		n->field.e = e;
		n->field.name = p->tok.text;
		if (p->tok.kind != TOKEN_NAME) {
			parse_error(p, "expected the name of a field");
			return NULL;
		}
	}
	parse_advance(p);
	return n;
}

/* index: '[' expr ']' */
static struct node *parse_index(struct parser *p, struct node *e)
{
	struct node *n = parse_node(p, NODE_INDEX, e->loc);

	parse_advance(p);
	n->index.e = e;
	n->index.i = parse_expr(p);
	if (!n->index.i || !parse_expect(p, TOKEN_RBRACKET))
		return NULL;
	n->loc = parse_span(e->loc, p->last);
	return n;
}

static struct node *unary_node(struct parser *p, enum op op, struct node *e, struct loc loc)
{
	struct node *n;

	if ((op == OP_PREINC || op == OP_PREDEC || op == OP_POSTINC || op == OP_POSTDEC) &&
	    e->kind != NODE_MAP && e->kind != NODE_VAR) {
		diag_error(p->d, e->loc,
		           "syntax: only a map or a scratch variable can be counted with %s",
		           op_text(op));
		return NULL;
	}
	n = parse_node(p, NODE_UNARY, loc);
	n->unary.op = op;
	n->unary.e = e;
	return n;
}

/* postfix: primary (member | index | '++' | '--')* ; ++ and -- on the operand's line */
static struct node *parse_postfix(struct parser *p)
{
	struct node *e = parse_primary(p);

	while (e) {
		enum token_kind kind = p->tok.kind;
		bool counts = kind == TOKEN_INC || kind == TOKEN_DEC;

		if (kind != TOKEN_DOT && kind != TOKEN_ARROW && kind != TOKEN_LBRACKET &&
		    !(counts && !p->tok.on_new_line))
			break;
		if (!count_operator(p))
			return NULL;
		if (counts) {
			struct loc loc = parse_span(e->loc, p->tok.loc);

			parse_advance(p);
			e = unary_node(p, kind == TOKEN_INC ? OP_POSTINC : OP_POSTDEC, e, loc);
		} else if (kind == TOKEN_LBRACKET) {
			e = parse_index(p, e);
		} else {
			e = parse_member(p, e);
		}
	}
	return e;
}

/* cast: '(' type ')' unary */
static struct node *parse_cast(struct parser *p)
{
	struct node *n = parse_node(p, NODE_CAST, p->tok.loc);

	parse_advance(p);
	if (!parse_type(p, &n->cast.to) || !parse_expect(p, TOKEN_RPAREN))
		return NULL;
	n->cast.e = parse_unary(p);
	if (!n->cast.e)
		return NULL;
	n->loc = parse_span(n->loc, p->last);
	return n;
}

static struct node *parse_prefixed(struct parser *p, enum op op)
{
	struct loc start = p->tok.loc;
	struct node *e;

	parse_advance(p);
	e = parse_unary(p);
	return e ? unary_node(p, op, e, parse_span(start, p->last)) : NULL;
}

/* unary: ('-' | '!' | '~' | '*' | '&' | '++' | '--') unary | cast | postfix */
static struct node *parse_unary(struct parser *p)
{
	enum op op = op_prefix(p->tok.kind);
	struct node *n;

	if (!parse_enter(p))
		return NULL;
	if (op != OP_NONE)
		n = parse_prefixed(p, op);
	else if (p->tok.kind == TOKEN_LPAREN && type_follows(p->lex, TOKEN_RPAREN, false))
		n = parse_cast(p);
	else
		n = parse_postfix(p);
	p->depth--;
	return n;
}

/* The binary operator that the current token is; OP_NONE for none and for the end of a
 * predicate. */
static enum op binary_op(struct parser *p, u32 *precedence)
{
	if (p->in_predicate && p->tok.kind == TOKEN_DIV) {
		enum token_kind next = parse_peek(p).kind;

		if (next == TOKEN_LBRACE || next == TOKEN_END)
			return OP_NONE;
	}
	return op_binary(p->tok.kind, precedence);
}

/* binary: unary (op binary)*, operators of at least this precedence; all group to the left */
static struct node *parse_binary(struct parser *p, u32 precedence)
{
	struct node *left = parse_unary(p);

	while (left) {
		u32 own;
		enum op op = binary_op(p, &own);
		struct node *right, *n;

		if (op == OP_NONE || own < precedence)
			break;
		if (!count_operator(p))
			return NULL;
		parse_advance(p);
		right = parse_binary(p, own + 1);
		if (!right)
			return NULL;
		n = parse_node(p, NODE_BINARY, parse_span(left->loc, right->loc));
		n->binary.op = op;
		n->binary.left = left;
		n->binary.right = right;
		left = n;
	}
	return left;
}

/* ternary: binary ['?' [expr] ':' expr] */
static struct node *parse_ternary(struct parser *p)
{
	struct node *cond = parse_binary(p, 0), *n;

	if (!cond || !parse_accept(p, TOKEN_QUESTION))
		return cond;
	n = parse_node(p, NODE_TERNARY, cond->loc);
	n->ternary.cond = cond;
	if (p->tok.kind != TOKEN_COLON) {
		n->ternary.yes = parse_expr(p);
		if (!n->ternary.yes)
			return NULL;
	}
	if (!parse_expect(p, TOKEN_COLON))
		return NULL;
	n->ternary.no = parse_expr(p);
	if (!n->ternary.no)
		return NULL;
	n->loc = parse_span(cond->loc, p->last);
	return n;
}

/* expr: ternary */
struct node *parse_expr(struct parser *p)
{
	struct node *n;

	if (!parse_enter(p))
		return NULL;
	n = parse_ternary(p);
	p->depth--;
	return n;
}
