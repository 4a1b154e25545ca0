/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cmd/serve/families.h"

#include <string.h>

struct family {
	struct str type;         /* the line "# TYPE NAME KIND" */
	struct str head;         /* the other lines with '#' */
	VEC(struct str) samples; /* of each page */
};

/* The line at the front, with its end. */
static struct str take_line(struct str *page)
{
	const char *end = memchr(page->p, '\n', page->n);
	struct str line = { page->p, end ? (u32)(end - page->p) + 1 : page->n };

	page->p += line.n;
	page->n -= line.n;
	return line;
}

static struct str copy(struct arena *a, struct str s)
{
	return (struct str){ arena_strndup(a, s.p, s.n), s.n };
}

/* NULL: there is one of that name that is of another kind. */
static struct family *family_of(struct families *f, struct str type, struct str head)
{
	struct str rest, name = type;
	struct family *one;
	void **old;

	str_cut(name, ' ', &rest); /* # */
	str_cut(rest, ' ', &rest); /* TYPE */
	name = str_cut(rest, ' ', &rest);
	old = hmap_find(&f->by_name, name.p, name.n);
	if (old) {
		one = *old;
		return str_eq(one->type, type) ? one : NULL;
	}
	one = arena_new(&f->arena, struct family);
	one->type = copy(&f->arena, type);
	one->head = copy(&f->arena, head);
	name = copy(&f->arena, name);
	hmap_put(&f->by_name, name.p, name.n, one);
	vec_add(&f->arena, &f->all, one);
	return one;
}

void families_add(struct families *f, struct str page)
{
	while (page.n) {
		struct str type = take_line(&page), head = { page.p, 0 }, samples;
		struct family *one;

		while (page.n && page.p[0] == '#' && !str_starts(page, "# TYPE "))
			head.n += take_line(&page).n;
		samples = (struct str){ page.p, 0 };
		while (page.n && page.p[0] != '#')
			samples.n += take_line(&page).n;
		one = family_of(f, type, head);
		if (one)
			vec_add(&f->arena, &one->samples, samples);
		else
			f->conflicts++;
	}
}

const struct str *families_pieces(struct families *f, u32 *n)
{
	VEC(struct str) all = { 0 };

	for (u32 i = 0; i < f->all.n; i++) {
		const struct family *one = f->all.v[i];

		vec_add(&f->arena, &all, one->type);
		vec_add(&f->arena, &all, one->head);
		for (u32 k = 0; k < one->samples.n; k++)
			vec_add(&f->arena, &all, one->samples.v[k]);
	}
	*n = all.n;
	return all.v;
}

void families_print(const struct families *f, struct buf *b)
{
	for (u32 i = 0; i < f->all.n; i++) {
		const struct family *one = f->all.v[i];

		buf_add(b, one->type.p, one->type.n);
		buf_add(b, one->head.p, one->head.n);
		for (u32 k = 0; k < one->samples.n; k++)
			buf_add(b, one->samples.v[k].p, one->samples.v[k].n);
	}
}

void families_free(struct families *f)
{
	hmap_free(&f->by_name);
	arena_free(&f->arena);
}
