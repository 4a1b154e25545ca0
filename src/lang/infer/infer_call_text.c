/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Rules of functions that make text and bytes out of memory and numbers.
 */
#include "lang/infer/infer.h"
#include "unit/flags.h"

#include <arpa/inet.h>
#include <string.h>

/* str($1) is the parameter's text whatever it looks like; str($1 + n) what follows n letters. */
static bool str_of_param(struct infer *in, struct node *n)
{
	struct node *a = n->call.args, *param = a;
	u64 skip = 0;
	const char *text;

	if (a->kind == NODE_BINARY && a->binary.op == OP_ADD &&
	    a->binary.left->kind == NODE_PARAM && a->binary.right->kind == NODE_INT) {
		param = a->binary.left;
		skip = a->binary.right->integer.value;
	}
	if (param->kind != NODE_PARAM)
		return false;
	text = infer_param_text(in, param);
	if (!text)
		text = "";
	text += MIN(skip, (u64)strlen(text));
	if (n->call.n_args == 2 && a->next->kind == NODE_INT)
		text = arena_strndup(in->arena, text, strnlen(text, a->next->integer.value));
	infer_set_string(in, n, text);
	return true;
}

/* The size a length argument allows: N bytes and a NUL. *asked: the script wants no more. */
static u32 str_size(struct infer *in, struct node *len, bool *asked)
{
	u32 max = in->config->max_strlen;

	*asked = false;
	if (!len || !infer_integer(in, len, "the length of str()") || len->kind != NODE_INT)
		return max;
	if ((s64)len->integer.value < 0) {
		infer_error(in, len->loc, "the length of str() is negative");
		return max;
	}
	if (len->integer.value >= max) {
		infer_warn(in, len->loc, "str() reads at most max_strlen - 1 = %u bytes", max - 1);
		return max;
	}
	*asked = true;
	return (u32)len->integer.value + 1;
}

const struct type *infer_call_str(struct infer *in, struct node *n)
{
	const struct type *t;
	u32 size, natural;
	bool asked;

	if (str_of_param(in, n))
		return n->type;
	t = infer_value(in, n->call.args);
	size = str_size(in, n->call.args->next, &asked);
	if (!t)
		return type_str(in->arena, size, asked);
	if (t->kind == TYPE_STR) {
		natural = t->count ? t->count : t->size;
		return type_str(in->arena, MIN(size, natural), size < natural ? asked : t->bounded);
	}
	if (t->kind == TYPE_ARRAY && t->elem->size == 1) {
		natural = t->count ? t->count + 1 : size;
		return type_str(in->arena, MIN(size, natural),
		                size < natural ? asked : t->count > 0);
	}
	if (t->kind != TYPE_PTR && t->kind != TYPE_INT)
		return infer_error(in, n->call.args->loc, "str() needs a pointer to text, not '%s'",
		                   type_name(in->arena, t));
	return type_str(in->arena, size, asked);
}

/* Bytes of buf() when no length says so; 0 when it must. */
static u32 buf_natural(const struct type *t)
{
	if (t->kind == TYPE_ARRAY)
		return t->size;
	if (t->kind == TYPE_STR)
		return t->count ? t->count : t->size;
	return t->kind == TYPE_STRUCT ? t->size : 0;
}

const struct type *infer_call_buf(struct infer *in, struct node *n)
{
	struct node *a = n->call.args, *len = a->next;
	const struct type *t = infer_value(in, a);
	u32 max = in->config->max_strlen, count;

	if (len && !infer_integer(in, len, "the length of buf()"))
		return NULL;
	if (!t)
		return NULL;
	count = buf_natural(t);
	if (!count && t->kind != TYPE_PTR && t->kind != TYPE_INT && t->kind != TYPE_ARRAY)
		return infer_error(in, a->loc, "buf() can not read '%s'", type_name(in->arena, t));
	if (!count && !len)
		return infer_error(in, n->loc, "buf() of a %s needs a length",
		                   t->kind == TYPE_ARRAY ? "flexible array" : "pointer");
	if (len && len->kind == NODE_INT) {
		if ((s64)len->integer.value < 1)
			return infer_error(in, len->loc, "the length of buf() must be above 0");
		count = (u32)MIN(len->integer.value, (u64)max);
	} else if (!count || count > max) {
		count = max;
	}
	return type_buf(in->arena, count);
}

/* Each piece has 8 bytes before it; the places of pieces are multiples of 8. */
#define PIECE_HEAD 8u

const struct type *infer_call_iovec(struct infer *in, struct node *n)
{
	static const char *const what[] = { "the address of iovec()", "the count of iovec()",
		                            "the length of iovec()" };
	u32 max = MAX(in->config->max_strlen / 8 * 8, 2 * PIECE_HEAD);
	struct node *bytes = infer_arg(n, 3);

	for (u32 i = 0; i < ARRAY_SIZE(what); i++) {
		struct node *a = infer_arg(n, i);
		const struct type *t = infer_value(in, a);

		if (t && t->kind != TYPE_INT && (i || t->kind != TYPE_PTR))
			infer_error(in, a->loc, "%s can not be '%s'", what[i],
			            type_name(in->arena, t));
	}
	if (!infer_integer(in, bytes, "the size of a piece"))
		return NULL;
	if (bytes->kind != NODE_INT || (s64)bytes->integer.value < 1 ||
	    (s64)bytes->integer.value > max - PIECE_HEAD)
		return infer_error(in, bytes->loc,
		                   "iovec() needs a number from 1 to %u: bytes of each piece",
		                   max - PIECE_HEAD);
	return type_buf(in->arena, max);
}

static bool string_arg(struct infer *in, struct node *n, u32 i)
{
	struct node *a = infer_arg(n, i);
	const struct type *t = infer_value(in, a);

	if (t && t->kind != TYPE_STR) {
		infer_error(in, a->loc, "%s() needs a string, not '%s'", n->call.f->name,
		            type_name(in->arena, t));
		if (t->kind == TYPE_PTR || t->kind == TYPE_INT)
			infer_hint(in, "str() reads the string a pointer points to");
		return false;
	}
	return t != NULL;
}

/* A pointer or bytes stand for the text there. */
static void read_text(struct infer *in, struct node *n)
{
	struct node *a = n->call.args, *inner;
	const struct type *t = infer_value(in, a);

	if (!t || (t->kind != TYPE_PTR && (t->kind != TYPE_ARRAY || t->elem->size != 1)))
		return;
	inner = arena_new(in->arena, struct node);
	*inner = *a;
	inner->next = NULL;
	a->kind = NODE_CALL;
	a->call.name = STR("str");
	a->call.f = func_find(a->call.name);
	a->call.args = inner;
	a->call.n_args = 1;
}

const struct type *infer_call_hash(struct infer *in, struct node *n)
{
	const struct type *t = infer_value(in, n->call.args);

	if (t && !type_is_scalar(t) && t->kind != TYPE_STR && t->kind != TYPE_BUF)
		infer_error(in, n->call.args->loc, "hash() takes a number, a string or a buf()");
	return &type_u64;
}

const struct type *infer_call_strlen(struct infer *in, struct node *n)
{
	read_text(in, n);
	string_arg(in, n, 0);
	return &type_s64;
}

const struct type *infer_call_strncmp(struct infer *in, struct node *n)
{
	s64 len;

	string_arg(in, n, 0);
	string_arg(in, n, 1);
	if (infer_literal_int(in, n, 2, &len) && len < 1)
		infer_error(in, infer_arg(n, 2)->loc, "the length of strncmp() must be above 0");
	return &type_s64;
}

const struct type *infer_call_strcontains(struct infer *in, struct node *n)
{
	string_arg(in, n, 0);
	string_arg(in, n, 1);
	return &type_bool;
}

const struct type *infer_call_strftime(struct infer *in, struct node *n)
{
	const char *format = infer_literal(in, n, 0);
	struct type *t;

	infer_integer(in, infer_arg(n, 1), "the time of strftime()");
	if (!format)
		return NULL;
	t = arena_new(in->arena, struct type);
	*t = *type_plain(in->arena, TYPE_TIMESTAMP);
	t->text = format;
	return t;
}

const struct type *infer_call_strerror(struct infer *in, struct node *n)
{
	infer_integer(in, n->call.args, "the argument of strerror()");
	return type_plain(in->arena, TYPE_STRERROR);
}

const struct type *infer_call_errno_name(struct infer *in, struct node *n)
{
	infer_integer(in, n->call.args, "the argument of errno_name()");
	return type_plain(in->arena, TYPE_ERRNO);
}

const struct type *infer_call_flag_names(struct infer *in, struct node *n)
{
	const char *words = infer_literal(in, n, 1), *problem;
	struct type *t;

	infer_integer(in, n->call.args, "the first argument of flag_names()");
	if (!words)
		return NULL;
	problem = flags_check(words);
	if (problem)
		return infer_error(in, infer_arg(n, 1)->loc, "flag_names(): %s", problem);
	t = arena_new(in->arena, struct type);
	*t = *type_plain(in->arena, TYPE_FLAGS);
	t->text = words;
	return t;
}

const struct type *infer_call_loadavg(struct infer *in, struct node *n)
{
	(void)n;
	return type_plain(in->arena, TYPE_LOADAVG);
}

const struct type *infer_call_ntop(struct infer *in, struct node *n)
{
	struct node *a = n->call.args;
	const struct type *t;

	if (n->call.n_args == 2) {
		infer_integer(in, a, "the address family of ntop()");
		a = a->next;
	}
	t = infer_value(in, a);
	if (!t)
		return NULL;
	if (t->kind == TYPE_INT || t->kind == TYPE_PTR)
		return type_plain(in->arena, TYPE_INET);
	if ((t->kind == TYPE_ARRAY || t->kind == TYPE_STRUCT ||
	     (t->kind == TYPE_STR && !t->bounded)) &&
	    (t->size == 4 || t->size == 16))
		return type_plain(in->arena, TYPE_INET);
	return infer_error(in, a->loc, "ntop() needs an IPv4 integer or 4 or 16 bytes, not '%s'",
	                   type_name(in->arena, t));
}

const struct type *infer_call_macaddr(struct infer *in, struct node *n)
{
	struct node *a = n->call.args;
	const struct type *t = infer_value(in, a);

	if (!t)
		return NULL;
	if (t->kind == TYPE_PTR || (t->kind == TYPE_ARRAY && t->size >= 6) ||
	    (t->kind == TYPE_STR && t->count >= 6))
		return type_plain(in->arena, TYPE_MAC);
	return infer_error(in, a->loc, "macaddr() needs 6 bytes, not '%s'",
	                   type_name(in->arena, t));
}

const struct type *infer_call_bswap(struct infer *in, struct node *n)
{
	struct node *a = n->call.args;
	const struct type *t = infer_integer(in, a, "the argument of bswap()");

	if (t && a->kind != NODE_INT)
		t = infer_own(in, a); /* of a variable: as wide as what it was given */
	return t ? type_int(t->size, false) : NULL;
}

static const struct type *mark_space(struct infer *in, struct node *n, enum space space)
{
	struct node *a = n->call.args;
	const struct type *t = infer_value(in, a);

	if (!t)
		return NULL;
	if (t->kind != TYPE_PTR && t->kind != TYPE_INT)
		return infer_error(in, a->loc, "%s() needs a pointer, not '%s'", n->call.f->name,
		                   type_name(in->arena, t));
	return type_ptr(in->arena, t->kind == TYPE_PTR ? t->elem : &type_none, space);
}

const struct type *infer_call_kptr(struct infer *in, struct node *n)
{
	return mark_space(in, n, SPACE_KERNEL);
}

const struct type *infer_call_uptr(struct infer *in, struct node *n)
{
	return mark_space(in, n, SPACE_USER);
}

const struct type *infer_call_packet(struct infer *in, struct node *n)
{
	if (!attach_kind_has(in->variant->kind, KIND_PACKET))
		return infer_error(in, n->loc, "packet() is not available in %s probes",
		                   attach_kind_name(in->variant->kind));
	return mark_space(in, n, SPACE_PACKET);
}

/* Numbers that are shown by name. */
const struct type *infer_call_signal_name(struct infer *in, struct node *n)
{
	bool is_signal = n->call.f->id == FUNC_SIGNAL_NAME;

	infer_integer(in, n->call.args,
	              is_signal ? "the argument of signal_name()"
	                        : "the argument of syscall_name()");
	return type_plain(in->arena, is_signal ? TYPE_SIGNAL : TYPE_SYSCALL);
}

/* ---- strings and bytes ---------------------------------------------------------------------- */

const struct type *infer_call_strstr(struct infer *in, struct node *n)
{
	string_arg(in, n, 0);
	string_arg(in, n, 1);
	return &type_s64;
}

#define BYTES_MAX 8u /* of a set: each is compared with */

const struct type *infer_call_first_of(struct infer *in, struct node *n)
{
	const char *bytes;

	string_arg(in, n, 0);
	infer_integer(in, infer_arg(n, 1), "the start of first_of()");
	bytes = infer_literal(in, n, 2);
	if (bytes && (!*bytes || strlen(bytes) > BYTES_MAX))
		return infer_error(in, infer_arg(n, 2)->loc,
		                   "first_of() looks for 1 to %u bytes, not %zu", BYTES_MAX,
		                   strlen(bytes));
	return &type_s64;
}

/* A part has room for no more than the whole. */
const struct type *infer_call_substr(struct infer *in, struct node *n)
{
	const struct node *len = infer_arg(n, 2);
	const struct type *t;
	u32 size;

	infer_integer(in, infer_arg(n, 1), "the start of substr()");
	infer_integer(in, infer_arg(n, 2), "the length of substr()");
	if (!string_arg(in, n, 0))
		return NULL;
	t = n->call.args->type;
	size = t->count ? t->count : t->size;
	if (len->kind == NODE_INT && len->integer.value < size)
		size = (u32)len->integer.value + 1;
	return type_str(in->arena, size, true);
}

/* The bytes there is room for. */
const struct type *infer_call_strcap(struct infer *in, struct node *n)
{
	const struct type *t = infer_value(in, n->call.args);

	if (!t)
		return NULL;
	if (t->kind == TYPE_STR || t->kind == TYPE_ARRAY)
		return infer_set_int(n, t->count ? t->count : t->size, &type_s64);
	if (t->kind == TYPE_PTR)
		return infer_set_int(n, in->config->max_strlen, &type_s64);
	return infer_error(in, n->call.args->loc, "strcap() needs a string, not '%s'",
	                   type_name(in->arena, t));
}

const struct type *infer_call_str_concat(struct infer *in, struct node *n)
{
	const struct type *a, *b;
	u32 size;

	if (!string_arg(in, n, 0) || !string_arg(in, n, 1))
		return NULL;
	a = n->call.args->type;
	b = n->call.args->next->type;
	size = (a->count ? a->count : a->size) + (b->count ? b->count : b->size) - 1;
	return type_str(in->arena, MIN(size, in->config->max_strlen),
	                a->bounded && b->bounded && size <= in->config->max_strlen);
}

#define DECIMAL_SIZE 22u /* a sign, 20 digits, NUL */

/* decimal(n): the number as text. */
const struct type *infer_call_decimal(struct infer *in, struct node *n)
{
	const struct node *a = n->call.args;

	if (!infer_integer_arg(in, n->call.args, "decimal"))
		return NULL;
	if (a->kind == NODE_INT && a->type->is_signed)
		return infer_set_string(
			in, n, arena_printf(in->arena, "%lld", (long long)a->integer.value));
	if (a->kind == NODE_INT)
		return infer_set_string(
			in, n,
			arena_printf(in->arena, "%llu", (unsigned long long)a->integer.value));
	return type_str(in->arena, DECIMAL_SIZE, true);
}

#define MEMCMP_MAX 1024

/* How many bytes of a value memcmp() can look at; 0: of this type none. */
static u32 comparable_bytes(const struct type *t)
{
	switch (t->kind) {
	case TYPE_PTR:
		return MEMCMP_MAX;
	case TYPE_STR:
		return t->count ? t->count : t->size;
	case TYPE_ARRAY:
		return t->size;
	case TYPE_BUF:
		return t->count;
	default:
		return 0;
	}
}

const struct type *infer_call_memcmp(struct infer *in, struct node *n)
{
	s64 count = 0;
	bool known = infer_literal_int(in, n, 2, &count);

	for (u32 i = 0; i < 2; i++) {
		struct node *a = infer_arg(n, i);
		const struct type *t = infer_value(in, a);

		if (!t)
			continue;
		if (!comparable_bytes(t))
			infer_error(in, a->loc, "memcmp() can not look into '%s'",
			            type_name(in->arena, t));
		else if (known && (count < 1 || count > comparable_bytes(t)))
			infer_error(in, infer_arg(n, 2)->loc,
			            "memcmp() can compare 1 to %u bytes of '%s', not %lld",
			            comparable_bytes(t), type_name(in->arena, t), (long long)count);
	}
	return &type_s64;
}

/* The bytes of an address, as an array. */
const struct type *infer_call_pton(struct infer *in, struct node *n)
{
	const char *text = infer_literal(in, n, 0);
	bool six = text && strchr(text, ':');
	u8 bytes[16];

	if (!text)
		return NULL;
	if (inet_pton(six ? AF_INET6 : AF_INET, text, bytes) != 1)
		return infer_error(in, n->call.args->loc, "'%s' is no IPv4 or IPv6 address", text);
	return type_array(in->arena, &type_u8, six ? 16 : 4);
}
