/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * struct, union, enum and typedef definitions in a script, for the memory of programs that no
 * BTF describes.
 *
 * The one idea: a record is read into a list of members, then laid out as the compiler of the
 * traced program does it (System V ABI), members of anonymous records moved up into their owner.
 * A definition that is not understood is left out with a warning: many scripts carry some only
 * for machines they do not run on.
 */
#include "lang/infer/infer.h"

#include <string.h>

#include "lang/parse/lex.h"

#define DEPTH_MAX       16u
#define ENUMERATORS_MAX 512u
#define SIZE_LIMIT      (1u << 30)
#define ALIGN_MOST      16u /* of any type that does not say otherwise */
#define ALIGN_LIMIT     4096u

struct cdef {
	struct infer *in;
	struct lexer lex;
	struct token tok;
	u32 end; /* where the definition ends in the text */
	u32 depth;
	const char *problem;
};

static void advance(struct cdef *c)
{
	c->tok = lex_next(&c->lex);
	if (c->tok.loc.off >= c->end)
		c->tok.kind = TOKEN_END;
}

static bool at(const struct cdef *c, enum token_kind kind)
{
	return c->tok.kind == kind;
}

static bool at_word(const struct cdef *c, const char *word)
{
	return at(c, TOKEN_NAME) && str_is(c->tok.text, word);
}

static bool accept(struct cdef *c, enum token_kind kind)
{
	if (!at(c, kind))
		return false;
	advance(c);
	return true;
}

static const struct type *fail(struct cdef *c, const char *problem)
{
	if (!c->problem)
		c->problem = problem;
	return NULL;
}

static bool expect(struct cdef *c, enum token_kind kind)
{
	return accept(c, kind) || fail(c, lex_token_name(kind));
}

static bool number(struct cdef *c, s64 *value)
{
	struct number n;

	if (!infer_cexpr(c->in, &c->lex, &c->tok, c->end, false, &n))
		return fail(c, "a number");
	*value = (s64)n.value;
	return true;
}

/* What __attribute__((...)) says; others than these mean nothing for the layout. */
struct attributes {
	bool packed;
	u32 align; /* aligned(n), 0 none */
};

/* aligned, with or without (n). */
static void aligned(struct cdef *c, struct attributes *a)
{
	s64 n = ALIGN_MOST;

	advance(c);
	if (accept(c, TOKEN_LPAREN) && (!number(c, &n) || !expect(c, TOKEN_RPAREN)))
		return;
	if (n < 1 || n > ALIGN_LIMIT || (n & (n - 1)))
		fail(c, "an alignment");
	else
		a->align = MAX(a->align, (u32)n);
}

static void attributes(struct cdef *c, struct attributes *a)
{
	while (at_word(c, "__attribute__")) {
		u32 open = 0;

		advance(c);
		do {
			if (at_word(c, "aligned") || at_word(c, "__aligned__")) {
				aligned(c, a);
				continue;
			}
			open += at(c, TOKEN_LPAREN);
			open -= at(c, TOKEN_RPAREN) && open;
			a->packed |= at_word(c, "packed") || at_word(c, "__packed__");
			advance(c);
		} while (open && !at(c, TOKEN_END));
	}
}

/* ---- layout --------------------------------------------------------------------------------- */

static u32 align_of(const struct type *t)
{
	u32 align = MAX(t->align, 1u);

	switch (t->kind) {
	case TYPE_STR:
		return 1;
	case TYPE_ARRAY:
		return align_of(t->elem);
	case TYPE_STRUCT:
		if (t->packed)
			return align;
		for (u32 i = 0; i < t->n_fields; i++)
			align = MAX(align, align_of(t->fields[i].type));
		return t->n_fields ? align : 8;
	default:
		return MAX(t->size, 1u);
	}
}

/* Bytes in memory; strings of our own are rounded up, arrays of char are not. */
static u32 size_of(const struct type *t)
{
	return t->kind == TYPE_STR ? t->count : t->size;
}

struct member {
	struct field f;
	u32 align; /* at least, 0: as its type says */
};

typedef VEC(struct member) members;
typedef VEC(struct field) fields;

static u32 member_align(const struct member *m, bool packed)
{
	return MAX(packed ? 1u : align_of(m->f.type), m->align);
}

/* Places a member at bit position *bit of a struct; moves *bit past it. */
static void place(struct member *m, u64 *bit, bool packed)
{
	struct field *f = &m->f;
	u64 unit = (u64)size_of(f->type) * 8, align = (u64)member_align(m, packed) * 8;

	if (f->bit_size) {
		if (!packed && *bit / unit != (*bit + f->bit_size - 1) / unit)
			*bit = ROUND_UP(*bit, unit);
		f->off = (u32)(packed ? *bit / 8 : *bit / unit * (unit / 8));
		f->bit_off = (u8)(*bit - (u64)f->off * 8);
		*bit += f->bit_size;
		return;
	}
	*bit = ROUND_UP(*bit, align);
	f->off = (u32)(*bit / 8);
	*bit += unit;
}

static void lift(struct arena *a, const struct field *inner, fields *out)
{
	for (u32 i = 0; i < inner->type->n_fields; i++) {
		struct field f = inner->type->fields[i];

		f.off += inner->off;
		vec_add(a, out, f);
	}
}

static void lay_out(struct cdef *c, struct type *t, members *m, bool is_union,
                    const struct attributes *said)
{
	struct arena *a = c->in->arena;
	u32 align = MAX(said->align, 1u);
	u64 bit = 0, size = 0;
	fields out = { 0 };

	for (u32 i = 0; i < m->n; i++) {
		struct field *f = &m->v[i].f;

		if (is_union)
			bit = 0;
		place(&m->v[i], &bit, said->packed);
		size = MAX(size, bit);
		align = MAX(align, member_align(&m->v[i], said->packed));
		if (f->name)
			vec_add(a, &out, *f);
		else
			lift(a, f, &out);
	}
	size = ROUND_UP((size + 7) / 8, (u64)align);
	if (size > SIZE_LIMIT) {
		fail(c, "a smaller type");
		return;
	}
	t->size = (u32)size;
	t->packed = said->packed;
	t->align = (u16)align;
	t->fields = out.v;
	t->n_fields = out.n;
}

/* ---- names ---------------------------------------------------------------------------------- */

/* A name, and the type that it is for; `made`: the same, whose members may still come. */
struct c_name {
	const struct type *type;
	struct type *made;
};

static void remember(struct infer *in, const char *name, const struct type *t, struct type *made)
{
	struct c_name *n = arena_new(in->arena, struct c_name);

	*n = (struct c_name){ t, made };
	hmap_put(&in->c_types, name, strlen(name), n);
}

static const struct c_name *find_name(struct infer *in, struct str name)
{
	void **slot = hmap_find(&in->c_types, name.p, name.n);

	return slot ? *slot : NULL;
}

const struct type *infer_cdef_type(struct infer *in, struct str name)
{
	const struct c_name *n = find_name(in, name);

	return n ? n->type : NULL;
}

bool infer_cdef_const(struct infer *in, struct str name, struct number *value)
{
	void **slot = hmap_find(&in->c_consts, name.p, name.n);

	if (slot)
		*value = *(const struct number *)*slot;
	return slot;
}

void infer_cdef_set_const(struct infer *in, struct str name, const struct number *value)
{
	struct number *n = arena_new(in->arena, struct number);

	*n = *value;
	hmap_put(&in->c_consts, infer_text(in, name), name.n, n);
}

/* ---- grammar -------------------------------------------------------------------------------- */

static const struct type *type_spec(struct cdef *c);

/* [ N ]... after a name, outermost first. One row of characters is a string. */
static const struct type *array_suffix(struct cdef *c, const struct type *t, bool outermost)
{
	bool is_char = t == &type_s8;
	s64 count = 0;

	if (!accept(c, TOKEN_LBRACKET))
		return t;
	if (!at(c, TOKEN_RBRACKET) && !number(c, &count))
		return NULL;
	if (!expect(c, TOKEN_RBRACKET))
		return NULL;
	if (c->depth++ >= DEPTH_MAX)
		return fail(c, "fewer dimensions");
	t = array_suffix(c, t, false);
	c->depth--;
	if (!t || count < 0 || count > SIZE_LIMIT || (u64)count * MAX(size_of(t), 1u) > SIZE_LIMIT)
		return fail(c, "a smaller array");
	if (is_char && outermost && t == &type_s8 && count)
		return type_chars(c->in->arena, (u32)count);
	return type_array(c->in->arena, t, (u32)count);
}

/* (*name)(...): a pointer to code. */
static bool function_pointer(struct cdef *c, struct field *f)
{
	u32 open = 1;

	advance(c);
	if (!expect(c, TOKEN_MUL) || !at(c, TOKEN_NAME))
		return fail(c, "a name") != NULL;
	f->name = infer_text(c->in, c->tok.text);
	f->type = type_ptr(c->in->arena, &type_none, SPACE_NONE);
	advance(c);
	if (!expect(c, TOKEN_RPAREN) || !expect(c, TOKEN_LPAREN))
		return false;
	for (; open && !at(c, TOKEN_END); advance(c)) {
		open += at(c, TOKEN_LPAREN);
		open -= at(c, TOKEN_RPAREN);
	}
	return true;
}

/* declarator: '*'... name ['[' n ']']... [':' bits] | function pointer */
static bool declarator(struct cdef *c, const struct type *t, struct member *m)
{
	struct attributes said = { .align = m->align };
	struct field *f = &m->f;
	u32 stars = 0;

	*f = (struct field){ .type = t };
	while (accept(c, TOKEN_MUL)) {
		if (stars++ == DEPTH_MAX)
			return fail(c, "fewer pointers") != NULL;
		f->type = type_ptr(c->in->arena, f->type, SPACE_NONE);
		while (at_word(c, "const") || at_word(c, "volatile") || at_word(c, "restrict"))
			advance(c);
	}
	if (at(c, TOKEN_LPAREN))
		return function_pointer(c, f);
	if (!at(c, TOKEN_NAME))
		return fail(c, "a name") != NULL;
	f->name = infer_text(c->in, c->tok.text);
	advance(c);
	f->type = array_suffix(c, f->type, true);
	if (f->type && accept(c, TOKEN_COLON)) {
		s64 bits;

		if (!number(c, &bits))
			return false;
		if (bits < 1 || bits > f->type->size * 8 ||
		    (f->type->kind != TYPE_INT && f->type->kind != TYPE_BOOL))
			return fail(c, "a number of bits") != NULL;
		f->bit_size = (u8)bits;
	}
	attributes(c, &said);
	m->align = said.align;
	return f->type != NULL;
}

static bool member(struct cdef *c, members *m)
{
	struct attributes said = { 0 };
	const struct type *t;

	attributes(c, &said);
	t = type_spec(c);
	if (!t)
		return false;
	attributes(c, &said);
	if (at(c, TOKEN_SEMI) && t->kind == TYPE_STRUCT) {
		struct member all = { .f.type = t, .align = said.align };

		vec_add(c->in->arena, m, all);
		return expect(c, TOKEN_SEMI);
	}
	do {
		struct member one = { .align = said.align };

		if (!declarator(c, t, &one))
			return false;
		if ((one.f.type->kind == TYPE_NONE || one.f.type->kind == TYPE_STRUCT) &&
		    !one.f.type->size)
			return fail(c, "a complete type") != NULL;
		vec_add(c->in->arena, m, one);
	} while (accept(c, TOKEN_COMMA));
	return at(c, TOKEN_RBRACE) || expect(c, TOKEN_SEMI);
}

static struct type *record_new(struct cdef *c, const char *name)
{
	struct type *t = arena_new(c->in->arena, struct type);

	t->kind = TYPE_STRUCT;
	t->name = name;
	remember(c->in, name, t, t);
	hmap_put(&c->in->script->records, name, strlen(name), t);
	return t;
}

/* The type of that name so far, or a new one without members. */
static struct type *record_named(struct cdef *c, const char *name)
{
	const struct c_name *n = find_name(c->in, str_of(name));

	return n && n->made ? n->made : record_new(c, name);
}

/* record: ('struct' | 'union') [name] ['{' member... '}'] */
static const struct type *record(struct cdef *c)
{
	bool is_union = at_word(c, "union");
	const char *word = is_union ? "union" : "struct";
	struct attributes said = { 0 };
	members m = { 0 };
	struct type *t;

	advance(c);
	attributes(c, &said);
	if (at(c, TOKEN_NAME)) {
		t = record_named(c,
		                 arena_printf(c->in->arena, "%s %.*s", word, STR_ARG(c->tok.text)));
		advance(c);
	} else {
		t = arena_new(c->in->arena, struct type);
		t->kind = TYPE_STRUCT;
		t->name = word;
	}
	if (!accept(c, TOKEN_LBRACE))
		return t;
	if (t->size) /* defined again: those who use the first keep it */
		t = record_new(c, t->name);
	if (c->depth++ >= DEPTH_MAX)
		return fail(c, "less nesting");
	while (!c->problem && !at(c, TOKEN_RBRACE) && !at(c, TOKEN_END))
		member(c, &m);
	c->depth--;
	if (c->problem || !expect(c, TOKEN_RBRACE))
		return NULL;
	attributes(c, &said);
	lay_out(c, t, &m, is_union, &said);
	return c->problem ? NULL : t;
}

/* One more name of an enum; the values decide how wide it is and whether it has a sign. */
static void enumerator(struct cdef *c, struct type *t, struct enumerator *all, struct str name,
                       s64 value)
{
	struct number n = number_plain(value);

	all[t->n_enums++] = (struct enumerator){ infer_text(c->in, name), value };
	if (!t->name) /* others without a name are other types */
		t->name = arena_printf(c->in->arena, "enum { %s }", all[0].name);
	t->is_signed |= value < 0;
	if (value > UINT32_MAX || value < INT32_MIN)
		t->size = 8;
	n.type = t;
	infer_cdef_set_const(c->in, name, &n);
}

static bool enumerators(struct cdef *c, struct type *t)
{
	struct enumerator *all = arena_array(c->in->arena, struct enumerator, ENUMERATORS_MAX);
	s64 value = 0;

	t->enums = all;
	while (at(c, TOKEN_NAME)) {
		struct str name = c->tok.text;

		advance(c);
		if (accept(c, TOKEN_SET) && !number(c, &value))
			return false;
		if (t->n_enums == ENUMERATORS_MAX)
			return fail(c, "fewer names in an enum") != NULL;
		enumerator(c, t, all, name, value++);
		if (!accept(c, TOKEN_COMMA))
			break;
	}
	return expect(c, TOKEN_RBRACE);
}

/* enumeration: 'enum' [name] ['{' name ['=' n], ... '}'] */
static const struct type *enumeration(struct cdef *c)
{
	struct type_name use = { .array = -1, .loc = c->tok.loc };
	struct type *t = arena_new(c->in->arena, struct type);

	advance(c);
	*t = (struct type){ .kind = TYPE_INT, .size = 4 };
	if (at(c, TOKEN_NAME)) {
		t->name = arena_printf(c->in->arena, "enum %.*s", STR_ARG(c->tok.text));
		advance(c);
	}
	if (!accept(c, TOKEN_LBRACE)) {
		use.text = str_of(t->name ? t->name : "");
		return t->name ? infer_type_name(c->in, &use, SPACE_NONE) : fail(c, "a name");
	}
	if (!enumerators(c, t))
		return NULL;
	if (t->name)
		remember(c->in, t->name, t, t);
	return t;
}

static bool is_integer_word(struct str s)
{
	static const char *const words[] = { "unsigned", "signed", "long", "short", "int", "char" };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (str_is(s, words[i]))
			return true;
	return false;
}

/* float, double, long double: they have their place and can not be read. */
static const struct type floats[] = { { .size = 4 }, { .size = 8 }, { .size = 16 } };

static const struct type *plain(struct cdef *c)
{
	struct str text = c->tok.text;
	struct type_name name;

	if (!at(c, TOKEN_NAME))
		return fail(c, "a type");
	if (is_integer_word(text)) {
		while (at(c, TOKEN_NAME) && is_integer_word(c->tok.text)) {
			text.n = (u32)(c->tok.text.p + c->tok.text.n - text.p);
			advance(c);
		}
		if (str_is(text, "long") && at_word(c, "double")) {
			advance(c);
			return &floats[2];
		}
		return infer_c_integer(text);
	}
	name = (struct type_name){ .text = text, .array = -1, .loc = c->tok.loc };
	advance(c);
	if (str_is(text, "void"))
		return &type_none;
	if (str_is(text, "float") || str_is(text, "double"))
		return &floats[str_is(text, "double")];
	return infer_type_name(c->in, &name, SPACE_NONE);
}

/* A reference to a record that is not defined here may be one of the kernel. */
static const struct type *complete(struct cdef *c, const struct type *t)
{
	struct err e = { 0 };
	struct btf *b;
	u32 id;

	if (!t || t->kind != TYPE_STRUCT || t->size || at(c, TOKEN_MUL))
		return t;
	b = c->in->world->ops->btf(c->in->world, &e);
	id = b ? btf_find_c(b, t->name) : 0;
	return id ? btf_type(c->in->script, b, id, SPACE_NONE) : t;
}

static const struct type *type_spec(struct cdef *c)
{
	const struct type *t;

	while (at_word(c, "const") || at_word(c, "volatile"))
		advance(c);
	if (at_word(c, "struct") || at_word(c, "union"))
		t = complete(c, record(c));
	else if (at_word(c, "enum"))
		t = enumeration(c);
	else
		t = plain(c);
	while (at_word(c, "const") || at_word(c, "volatile"))
		advance(c);
	return t ? t : fail(c, "a type");
}

void infer_cdef_read(struct infer *in, struct loc loc)
{
	struct cdef c = { .in = in, .end = loc.off + loc.len };
	const struct type *t;
	struct member name = { 0 };
	bool alias;

	c.lex = (struct lexer){ .source = in->script->source, .arena = in->arena, .pos = loc.off };
	advance(&c);
	alias = at_word(&c, "typedef");
	if (alias)
		advance(&c);
	t = type_spec(&c);
	if (alias && t && declarator(&c, t, &name))
		remember(in, name.f.name, name.f.type, NULL);
	if (c.problem)
		diag_warn(in->diags, at(&c, TOKEN_END) ? loc : c.tok.loc,
		          "this definition is left out: expected %s", c.problem);
}

/* ---- use ------------------------------------------------------------------------------------ */

/* Pointers and structs inside a struct lie where the struct lies. */
static const struct type *moved(struct arena *a, const struct type *t, enum space space)
{
	if (t->kind == TYPE_PTR)
		return type_ptr(a, moved(a, t->elem, space), space);
	if (t->kind == TYPE_ARRAY)
		return type_array(a, moved(a, t->elem, space), t->count);
	return t->kind == TYPE_STRUCT ? type_struct_in(a, t, space) : t;
}

const struct type *infer_cdef_moved(struct infer *in, const struct type *t, enum space space)
{
	return moved(in->arena, t, space);
}
