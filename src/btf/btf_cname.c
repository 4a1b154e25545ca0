/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Types by their names as written in C: "const struct page", "unsigned int", "gfp_t". Integer types
 * have many spellings in C and one in debug information, so their words are counted.
 */
#include "btf/btf_impl.h"

#include "base/str.h"

/* The words of an integer type, counted. */
struct int_words {
	u32 n_long, n_short, n_char, n_int, n_signed, n_unsigned, n_other;
};

static void count_word(struct int_words *c, struct str word)
{
	const struct {
		const char *word;
		u32 *n;
	} known[] = {
		{ "long", &c->n_long }, { "short", &c->n_short },   { "char", &c->n_char },
		{ "int", &c->n_int },   { "signed", &c->n_signed }, { "unsigned", &c->n_unsigned },
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (str_is(word, known[i].word)) {
			++*known[i].n;
			return;
		}
	}
	c->n_other++;
}

/* How compilers spell an integer type in debug information; NULL when it is none. */
static const char *int_name(const struct int_words *c)
{
	if (c->n_other || c->n_long > 2)
		return NULL;
	if (c->n_char)
		return c->n_unsigned ? "unsigned char" : c->n_signed ? "signed char" : "char";
	if (c->n_short)
		return c->n_unsigned ? "short unsigned int" : "short int";
	if (c->n_long == 2)
		return c->n_unsigned ? "long long unsigned int" : "long long int";
	if (c->n_long)
		return c->n_unsigned ? "long unsigned int" : "long int";
	return c->n_unsigned ? "unsigned int" : "int";
}

/* Splits at blanks, leaves out qualifiers, joins with single blanks. False when too long. */
static bool c_words(struct str s, char *out, size_t size, struct int_words *c)
{
	struct str rest = s;
	size_t n = 0;

	while (rest.p && rest.n) {
		struct str word = str_cut(rest, ' ', &rest);

		if (!word.n || str_is(word, "const") || str_is(word, "volatile"))
			continue;
		count_word(c, word);
		if (n + word.n + 2 > size)
			return false;
		if (n)
			out[n++] = ' ';
		memcpy(out + n, word.p, word.n);
		n += word.n;
	}
	out[n] = 0;
	return n > 0;
}

u32 btf_find_c(const struct btf *b, const char *name)
{
	struct int_words c = { 0 };
	const char *as_int;
	char z[256];
	u32 id;

	if (!c_words(str_of(name), z, sizeof(z), &c))
		return 0;
	if (strncmp(z, "struct ", 7) == 0)
		return btf_find(b, BTF_KIND_STRUCT, z + 7);
	if (strncmp(z, "union ", 6) == 0)
		return btf_find(b, BTF_KIND_UNION, z + 6);
	if (strncmp(z, "enum ", 5) == 0) {
		id = btf_find(b, BTF_KIND_ENUM, z + 5);
		return id ? id : btf_find(b, BTF_KIND_ENUM64, z + 5);
	}
	as_int = int_name(&c);
	if (as_int)
		return btf_find(b, BTF_KIND_INT, as_int);
	id = btf_find(b, BTF_KIND_TYPEDEF, z);
	if (!id)
		id = btf_find(b, BTF_KIND_INT, z);
	return id ? id : btf_find(b, BTF_KIND_FLOAT, z);
}
