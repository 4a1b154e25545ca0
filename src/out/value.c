/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One value as text: the only place that knows how each type looks.
 *
 * The one idea: `struct value` walks memory by type, so that text and JSON share the reading
 * (widths, signs, bit-fields, where a string ends) and differ only in what they write. Values
 * that mean something outside (stacks, symbols, users, cgroups) are handed to the namer.
 */
#include "out/value.h"

#include "arch/arch.h"
#include "unit/flags.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#define NS_PER_SEC 1000000000ull

struct value value_at_rest(const struct type *t, const void *bytes)
{
	return (struct value){ .type = t, .p = bytes, .room = type_slot(t) };
}

u32 value_parts(const struct value *v)
{
	switch (v->type->kind) {
	case TYPE_TUPLE:
	case TYPE_STRUCT:
		return v->type->n_fields;
	case TYPE_ARRAY:
		return v->type->count;
	default:
		return 0;
	}
}

/* The part of v that starts `off` bytes in. */
static struct value sub_value(const struct value *v, const struct type *t, u64 off)
{
	u64 room = off < v->room ? v->room - off : 0;

	return (struct value){
		.type = t, .p = v->p + (v->room - room), .room = (u32)room, .foreign = true
	};
}

struct value value_part(const struct value *v, u32 i)
{
	const struct field *f;
	struct value part;

	if (v->type->kind == TYPE_ARRAY)
		return sub_value(v, v->type->elem, (u64)i * v->type->elem->size);
	f = &v->type->fields[i];
	part = sub_value(v, f->type, f->off);
	part.foreign = v->type->kind == TYPE_STRUCT;
	part.bit_off = f->bit_off;
	part.bit_size = f->bit_size;
	return part;
}

static u64 extend(u64 word, u32 bits, bool is_signed)
{
	u32 unused = 64 - bits;

	if (bits == 0 || bits >= 64)
		return word;
	return is_signed ? (u64)((s64)(word << unused) >> unused) : word << unused >> unused;
}

u64 value_word(const struct value *v)
{
	/* 16 bytes, because a 64-bit field may start anywhere in its first word. */
	unsigned __int128 wide = 0;
	u32 n = v->foreign ? v->type->size : 8;

	if (v->bit_size)
		n = (v->bit_off + v->bit_size + 7u) / 8;
	n = MIN(MIN(n, v->room), (u32)sizeof(wide));
	memcpy(&wide, v->p, n);
	if (v->bit_size)
		return extend((u64)(wide >> v->bit_off), v->bit_size, v->type->is_signed);
	return v->foreign ? extend((u64)wide, n * 8, v->type->is_signed) : (u64)wide;
}

/* Text of a string up to its NUL; *cut says that it filled its place and was probably cut. */
static struct str string_of(const struct value *v, bool *cut)
{
	/* `count` is the size the script asked for, before it was rounded up. */
	u32 size = v->type->count ? v->type->count : v->type->size;
	struct str s = { (const char *)v->p, 0 };

	size = MIN(size, v->room);
	s.n = (u32)strnlen(s.p, size);
	*cut = !v->foreign && !v->type->bounded && s.n + 1 >= size;
	return s;
}

struct str value_bytes(const struct value *v)
{
	u64 n = 0;

	if (v->room < 8)
		return (struct str){ "", 0 };
	memcpy(&n, v->p, sizeof(n));
	n = MIN(MIN(n, (u64)v->type->count), (u64)v->room - 8);
	return (struct str){ (const char *)v->p + 8, (u32)n };
}

void value_hex(struct buf *b, struct str bytes, enum hex_style style)
{
	for (u32 i = 0; i < bytes.n; i++) {
		u8 c = (u8)bytes.p[i];

		if (style == HEX_SPACED)
			buf_printf(b, i ? " %02x" : "%02x", c);
		else if (style == HEX_MIXED && c >= ' ' && c <= '~')
			buf_putc(b, (char)c);
		else
			buf_printf(b, "\\x%02x", c);
	}
}

/* Replaces every %f, which strftime does not know, by six digits. */
static void expand_micros(struct buf *b, const char *format, u32 micros)
{
	for (; *format; format++) {
		if (format[0] != '%' || !format[1]) {
			buf_putc(b, *format);
		} else if (*++format == 'f') {
			buf_printf(b, "%06u", micros);
		} else {
			buf_putc(b, '%');
			buf_putc(b, *format);
		}
	}
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* the format is the script's */
void value_time(struct buf *b, const char *format, u64 real_ns)
{
	time_t seconds = (time_t)(real_ns / NS_PER_SEC);
	struct buf full = { 0 };
	char text[1024];
	struct tm tm;

	expand_micros(&full, format, (u32)(real_ns % NS_PER_SEC / 1000));
	if (localtime_r(&seconds, &tm))
		buf_add(b, text, strftime(text, sizeof(text), buf_text(&full), &tm));
	buf_free(&full);
}
#pragma GCC diagnostic pop

static void text_int(struct buf *b, const struct type *t, u64 word)
{
	for (u32 i = 0; i < t->n_enums; i++) {
		if (t->enums[i].value == (s64)word) {
			buf_puts(b, t->enums[i].name);
			return;
		}
	}
	if (t->is_signed && (s64)word < 0)
		buf_putc(b, '-');
	buf_decimal(b, t->is_signed && (s64)word < 0 ? -word : word);
}

static void text_str(struct buf *b, const struct out *o, const struct value *v)
{
	bool cut;
	struct str s = string_of(v, &cut);

	buf_add(b, s.p, s.n);
	if (cut)
		buf_puts(b, o->unit->cut_mark);
}

/* Of a member: from the debug information of any program. */
static void text_name(struct buf *b, const struct out *o, const char *name)
{
	buf_putc(b, '.');
	escape_add(b, str_of(name), o->escape);
	buf_puts(b, " = ");
}

static void text_parts(struct buf *b, const struct out *o, const struct value *v, const char *gap)
{
	for (u32 i = 0; i < value_parts(v); i++) {
		struct value part = value_part(v, i);

		if (i)
			buf_puts(b, gap);
		if (v->type->kind != TYPE_ARRAY && v->type->fields[i].name)
			text_name(b, o, v->type->fields[i].name);
		value_text(b, o, &part);
	}
}

static void text_inet(struct buf *b, const struct out *o, const struct value *v)
{
	char text[INET6_ADDRSTRLEN];
	u64 family = value_word(v);
	u8 address[16] = { 0 };

	(void)o;
	if (v->room > 8)
		memcpy(address, v->p + 8, MIN(v->room - 8, (u32)sizeof(address)));
	if (inet_ntop(family == AF_INET6 ? AF_INET6 : AF_INET, address, text, sizeof(text)))
		buf_puts(b, text);
}

/* A number without a name shows as itself. */
static void text_number_name(struct buf *b, const char *prefix, const char *name, u64 n)
{
	if (name)
		buf_printf(b, "%s%s", prefix, name);
	else
		buf_printf(b, "%" PRIu64, n);
}

/* EPERM, ENOENT ... of an error or of what a system call returned for it; "0" of none. */
static const char *errno_name(u64 n)
{
	s64 code = (s64)n;

	return code < -4095 || code > 4095 ? NULL : strerrorname_np((int)(code < 0 ? -code : code));
}

static void text_mac(struct buf *b, const struct out *o, const struct value *v)
{
	u64 word = value_word(v);

	(void)o;
	for (u32 i = 0; i < 6; i++)
		buf_printf(b, i ? ":%02X" : "%02X", (u8)(word >> (8 * i)));
}

static void text_probe(struct buf *b, const struct out *o, const struct value *v)
{
	u64 index = value_word(v);

	if (index < o->unit->probe_names.n)
		buf_puts(b, o->unit->probe_names.v[index]);
	else
		buf_printf(b, "probe %" PRIu64, index);
}

/* ---- from the world outside ---- */

struct words {
	u64 w[3];
};

static struct words words_of(const struct value *v)
{
	struct words words = { 0 };

	memcpy(words.w, v->p, MIN(v->room, (u32)sizeof(words)));
	return words;
}

static void text_stack(struct buf *b, const struct out *o, const struct value *v)
{
	struct words words = words_of(v);

	o->namer->stack(o->namer->ctx, b, v->type, words.w);
}

static void text_ksym(struct buf *b, const struct out *o, const struct value *v)
{
	o->namer->ksym(o->namer->ctx, b, value_word(v));
}

static void text_usym(struct buf *b, const struct out *o, const struct value *v)
{
	struct words words = words_of(v);

	(v->type->limit ? o->namer->func : o->namer->usym)(o->namer->ctx, b, words.w[0],
	                                                   (u32)words.w[1]);
}

static void text_username(struct buf *b, const struct out *o, const struct value *v)
{
	o->namer->username(o->namer->ctx, b, value_word(v));
}

static void text_cgroup(struct buf *b, const struct out *o, const struct value *v)
{
	o->namer->cgroup_path(o->namer->ctx, b, value_word(v), v->type->text);
}

static void text_loadavg(struct buf *b, const struct out *o, const struct value *v)
{
	(void)v;
	o->namer->loadavg(o->namer->ctx, b);
}

static void text_timestamp(struct buf *b, const struct out *o, const struct value *v)
{
	value_time(b, v->type->text, value_word(v) + o->namer->boot_to_real);
}

/* ---- of several parts ---- */

static void text_group(struct buf *b, const struct out *o, const struct value *v)
{
	switch (type_is_record(v->type) ? TYPE_STRUCT : v->type->kind) {
	case TYPE_TUPLE:
		buf_putc(b, '(');
		text_parts(b, o, v, ", ");
		buf_putc(b, ')');
		break;
	case TYPE_ARRAY:
		buf_putc(b, '[');
		text_parts(b, o, v, ",");
		buf_putc(b, ']');
		break;
	default:
		buf_puts(b, "{ ");
		text_parts(b, o, v, ", ");
		buf_puts(b, " }");
		break;
	}
}

/* ---- words ---- */

static void text_bool(struct buf *b, const struct out *o, const struct value *v)
{
	(void)o;
	buf_puts(b, value_word(v) ? "true" : "false");
}

static void text_number(struct buf *b, const struct out *o, const struct value *v)
{
	(void)o;
	text_int(b, v->type, value_word(v));
}

static void text_pointer(struct buf *b, const struct out *o, const struct value *v)
{
	(void)o;
	buf_printf(b, "0x%" PRIx64, value_word(v));
}

static void text_bytes(struct buf *b, const struct out *o, const struct value *v)
{
	(void)o;
	value_hex(b, value_bytes(v), HEX_MIXED);
}

static void text_strerror(struct buf *b, const struct out *o, const struct value *v)
{
	(void)o;
	buf_puts(b, strerror((int)value_word(v)));
}

/* "KILL"; NULL for a number without a name. */
static const char *signal_name(u64 n)
{
	return n < 65 ? sigabbrev_np((int)n) : NULL;
}

static void text_signal(struct buf *b, const struct out *o, const struct value *v)
{
	(void)o;
	text_number_name(b, "SIG", signal_name(value_word(v)), value_word(v));
}

static void text_syscall(struct buf *b, const struct out *o, const struct value *v)
{
	(void)o;
	text_number_name(b, "", arch_syscall_name(value_word(v)), value_word(v));
}

static void text_errno(struct buf *b, const struct out *o, const struct value *v)
{
	(void)o;
	text_number_name(b, "", errno_name(value_word(v)), value_word(v));
}

static void text_flags(struct buf *b, const struct out *o, const struct value *v)
{
	(void)o;
	flags_print(b, v->type->text, value_word(v));
}

/* A member of a struct whose type has no values here: floating point. */
static void text_none(struct buf *b, const struct out *o, const struct value *v)
{
	(void)o;
	(void)v;
	buf_puts(b, "null");
}

/* What is not here has no text: one of aggregations, which are cells. */
static const struct value_kind kinds[] = {
	[TYPE_NONE] = { text_none, AS_WORD, false },
	[TYPE_BOOL] = { text_bool, AS_WORD, false },
	[TYPE_INT] = { text_number, AS_INT, false },
	[TYPE_PTR] = { text_pointer, AS_UNSIGNED, false },
	[TYPE_STR] = { text_str, AS_STRING, true },
	[TYPE_BUF] = { text_bytes, AS_BYTES, true },
	[TYPE_ARRAY] = { text_group, AS_PARTS, false },
	[TYPE_STRUCT] = { text_group, AS_PARTS, false },
	[TYPE_TUPLE] = { text_group, AS_PARTS, false },
	[TYPE_KSTACK] = { text_stack, AS_STRING, false },
	[TYPE_USTACK] = { text_stack, AS_STRING, false },
	[TYPE_STACK] = { text_stack, AS_STRING, false },
	[TYPE_KSYM] = { text_ksym, AS_ADDRESS, false },
	[TYPE_USYM] = { text_usym, AS_ADDRESS, false },
	[TYPE_PROBE] = { text_probe, AS_STRING, true },
	[TYPE_USERNAME] = { text_username, AS_STRING, false },
	[TYPE_CGROUP_PATH] = { text_cgroup, AS_STRING, true },
	[TYPE_STRERROR] = { text_strerror, AS_STRING, true },
	[TYPE_SIGNAL] = { text_signal, AS_STRING, false },
	[TYPE_SYSCALL] = { text_syscall, AS_STRING, false },
	[TYPE_ERRNO] = { text_errno, AS_STRING, false },
	[TYPE_FLAGS] = { text_flags, AS_STRING, false },
	[TYPE_LOADAVG] = { text_loadavg, AS_STRING, false },
	[TYPE_TIMESTAMP] = { text_timestamp, AS_STRING, true },
	[TYPE_INET] = { text_inet, AS_STRING, false },
	[TYPE_MAC] = { text_mac, AS_STRING, false },
};

const struct value_kind *value_kind_of(const struct type *t)
{
	return &kinds[t->kind];
}

/* A stack has lines of its own, and no other ones (sym/frames.c); of what has parts, each was
 * escaped by itself. */
void value_escape(struct buf *b, size_t from, const struct out *o, const struct value *v)
{
	if (!type_is_stack(v->type) && kinds[v->type->kind].object != AS_PARTS)
		escape_from(b, from, o->escape);
	else if (type_is_stack(v->type) && o->escape == ESCAPE_ALL)
		escape_from(b, from, ESCAPE_TEXT);
}

void value_text(struct buf *b, const struct out *o, const struct value *v)
{
	size_t from = b->n;

	if (!kinds[v->type->kind].text)
		return;
	kinds[v->type->kind].text(b, o, v);
	value_escape(b, from, o, v);
}

void value_print(struct buf *b, const struct out *o, const struct type *t, const void *bytes)
{
	struct value v = value_at_rest(t, bytes);

	value_text(b, o, &v);
}

static s64 divide(s64 n, u32 div, bool is_signed)
{
	if (div <= 1)
		return n;
	return is_signed ? n / (s64)div : (s64)((u64)n / div);
}

s64 value_number(const struct type *t, const struct cell *c, u32 div)
{
	struct value v;

	switch (t->kind) {
	case TYPE_AVG:
	case TYPE_STATS:
		return divide(cell_average(c, t), div, t->is_signed);
	case TYPE_COUNT:
		return divide(c->n, div, false);
	case TYPE_SUM:
	case TYPE_MIN:
	case TYPE_MAX:
		return divide(c->n, div, t->is_signed);
	default:
		v = value_at_rest(t, c->bytes);
		return divide((s64)value_word(&v), div, t->is_signed);
	}
}

static void cell_parts(struct buf *b, const struct out *o, const struct type *t,
                       const struct cell *c, u32 div)
{
	for (u32 i = 0; i < t->n_fields; i++) {
		buf_printf(b, "%s.%s = ", i ? ", " : "{ ", t->fields[i].name);
		value_cell(b, o, t->fields[i].type, &c->parts[i], div);
	}
	buf_puts(b, " }");
}

static void cell_stats(struct buf *b, const struct type *t, const struct cell *c, u32 div)
{
	buf_printf(b, "{ .count = %" PRIu64 ", .average = ", (u64)c->n);
	text_int(b, t, (u64)value_number(t, c, div));
	buf_puts(b, ", .total = ");
	text_int(b, t, (u64)c->total);
	buf_puts(b, " }");
}

void value_cell(struct buf *b, const struct out *o, const struct type *t, const struct cell *c,
                u32 div)
{
	if (t->kind == TYPE_STATS)
		cell_stats(b, t, c, div);
	else if (t->kind == TYPE_AGGS)
		cell_parts(b, o, t, c, div);
	else if (type_is_agg(t) || t->kind == TYPE_INT)
		text_int(b, t, (u64)value_number(t, c, div));
	else
		value_print(b, o, t, c->bytes);
}

void value_join(struct buf *b, const struct out *o, const struct urecord *r, const void *record)
{
	for (u32 i = 0; i < r->n_args; i++) {
		struct value v = value_at_rest(r->args[i].type,
		                               (const u8 *)record + r->args[i].off);

		if (!v.p[0])
			break;
		if (i)
			buf_puts(b, r->text ? r->text : " ");
		value_text(b, o, &v);
	}
}
