/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * printf over the arguments of a record.
 *
 * The one idea: each directive first makes plain text, then one function pads it. Integers differ
 * from bpftrace on purpose: without a length modifier an argument is printed at its own width (at
 * least 32 bits), not cut to 32 bits, "%05d" pads negative numbers as C does, and the precision
 * of %s is honoured. Of what was in a register nobody knows the width: where all above an int is 0,
 * as compilers leave it, %d takes it for one. The directives themselves are read by unit/format.c.
 */
#include "unit/format.h"

#include <string.h>

#include "out/value.h"
#include "unit/flags.h"

/* What an integer directive prints: sign or prefix, zeros, digits. */
struct number {
	const char *prefix;
	char digits[32];
	u32 n; /* digits, the last ones */
};

static void number_digits(struct number *n, u64 v, u32 base, bool upper)
{
	const char *set = upper ? "0123456789ABCDEF" : "0123456789abcdef";
	char *p = n->digits + sizeof(n->digits);

	do {
		*--p = set[v % base];
		v /= base;
		n->n++;
	} while (v);
}

/* Cuts the word to the bytes the directive prints, keeping the sign of a signed one. */
static u64 number_cut(u64 word, u32 bytes, bool is_signed)
{
	u32 unused = 64 - bytes * 8;

	return is_signed ? (u64)((s64)(word << unused) >> unused) : word << unused >> unused;
}

static u32 number_bytes(const struct format_part *part, const struct type *t, u64 word)
{
	/* "4" means that the format names no length. */
	return part->bytes == 4 && t->size > 4 && !(t->is_raw && word <= UINT32_MAX) ? 8
	                                                                             : part->bytes;
}

static void number_make(struct number *n, const struct format_part *part, u64 word, u32 bytes)
{
	bool is_signed = part->conv == 'd' || part->conv == 'i', upper = part->conv == 'X';
	u32 base = 10;

	*n = (struct number){ .prefix = "" };
	word = number_cut(word, bytes, is_signed);
	if (is_signed) {
		bool negative = (s64)word < 0;

		n->prefix = negative ? "-" : part->plus ? "+" : part->space ? " " : "";
		word = negative ? -word : word;
	} else if (part->conv == 'o') {
		base = 8;
		n->prefix = part->hash && word ? "0" : "";
	} else if (part->conv != 'u') {
		base = 16;
		n->prefix = part->conv == 'p'      ? "0x"
		            : !part->hash || !word ? ""
		            : upper                ? "0X"
		                                   : "0x";
	}
	number_digits(n, word, base, upper);
}

static void pad(struct buf *b, const struct format_part *part, struct str text)
{
	u32 blanks = part->width > text.n ? part->width - text.n : 0;

	if (!part->minus)
		buf_fill(b, ' ', blanks);
	buf_add(b, text.p, text.n);
	if (part->minus)
		buf_fill(b, ' ', blanks);
}

static void print_number(struct buf *b, const struct format_part *part, u64 word, u32 bytes)
{
	struct buf text = { 0 };
	struct number n;
	u32 zeros = 0, used;

	number_make(&n, part, word, bytes);
	used = n.n + (u32)strlen(n.prefix);
	if (part->precision >= 0)
		zeros = (u32)part->precision > n.n ? (u32)part->precision - n.n : 0;
	else if (part->zero && !part->minus)
		zeros = part->width > used ? part->width - used : 0;
	buf_puts(&text, n.prefix);
	buf_fill(&text, '0', zeros);
	buf_add(&text, n.digits + sizeof(n.digits) - n.n, n.n);
	pad(b, part, (struct str){ text.p, (u32)text.n });
	buf_free(&text);
}

static void print_char(struct buf *b, const struct out *o, const struct format_part *part, u64 word)
{
	struct buf text = { 0 };
	char c = (char)word;

	escape_add(&text, (struct str){ &c, 1 }, o->escape);
	pad(b, part, (struct str){ text.p, (u32)text.n });
	buf_free(&text);
}

static void print_hex(struct buf *b, const struct format_part *part, const struct value *v)
{
	enum hex_style style = part->sub == 'x'   ? HEX_ESCAPED
	                       : part->sub == 'h' ? HEX_SPACED
	                                          : HEX_MIXED;
	struct buf text = { 0 };

	value_hex(&text, value_bytes(v), style);
	pad(b, part, (struct str){ buf_text(&text), (u32)text.n });
	buf_free(&text);
}

static void print_string(struct buf *b, const struct out *o, const struct format_part *part,
                         const struct value *v)
{
	struct out plain = *o;
	struct buf text = { 0 };

	/* By far the most frequent directive needs no copy. */
	if (!part->width && part->precision < 0) {
		value_text(b, o, v);
		return;
	}
	plain.escape = ESCAPE_NONE; /* the precision counts the text, not its escapes */
	value_text(&text, &plain, v);
	if (part->precision >= 0)
		text.n = MIN(text.n, (size_t)part->precision);
	value_escape(&text, 0, o, v);
	pad(b, part, (struct str){ buf_text(&text), (u32)text.n });
	buf_free(&text);
}

static void print_gfp(struct buf *b, const struct format_part *part, u64 word)
{
	struct buf text = { 0 };

	flags_print(&text, flags_gfp, word);
	pad(b, part, (struct str){ buf_text(&text), (u32)text.n });
	buf_free(&text);
}

static void print_directive(struct buf *b, const struct out *o, const struct format_part *part,
                            const struct field *arg, const void *record)
{
	struct value v = value_at_rest(arg->type, (const u8 *)record + arg->off);
	u64 word;

	if (part->conv == 's') {
		print_string(b, o, part, &v);
		return;
	}
	if (part->conv == 'r') {
		print_hex(b, part, &v);
		return;
	}
	word = value_word(&v);
	if (part->conv == 'g')
		print_gfp(b, part, number_cut(word, number_bytes(part, arg->type, word), false));
	else if (part->conv == 'c')
		print_char(b, o, part, word);
	else if (part->conv == 'p')
		print_number(b, part, word, 8);
	else
		print_number(b, part, word, number_bytes(part, arg->type, word));
}

void format_print(struct buf *b, const struct out *o, const char *text, const struct field *args,
                  u32 n_args, const void *record)
{
	struct format_part part;
	const char *problem;
	u32 used = 0;

	while (format_next(&text, &part, &problem)) {
		buf_add(b, part.literal.p, part.literal.n);
		/* The compiler checked the count (format_check). */
		if (part.has_directive && used < n_args)
			print_directive(b, o, &part, &args[used++], record);
	}
}
