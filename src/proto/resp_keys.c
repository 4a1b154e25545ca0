// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Which arguments of a command are keys, as they come in: by the server's own specifications.
 *
 * The idea: a specification becomes a span, of the numbers of arguments, as soon as what it depends
 * on has come: nothing, a number of keys, or a keyword. What all of them need is the number of
 * arguments, which RESP says first.
 */
#include <string.h>

#include "proto/resp.h"

/* As memcmp() would of a name in capitals, which ends with NUL. */
static s32 compare(const char *name, struct str word)
{
	for (u32 i = 0; i < word.n; i++) {
		char c = word.p[i] >= 'a' && word.p[i] <= 'z' ? (char)(word.p[i] - 32) : word.p[i];

		if (name[i] != c || !c)
			return (u8)name[i] < (u8)c || !name[i] ? -1 : 1;
	}
	return name[word.n] ? 1 : 0;
}

bool resp_is(const struct resp_row *row, struct str name)
{
	return compare(row->verb.name, name) == 0;
}

const struct resp_row *resp_find(struct str name)
{
	u32 from = 0, to = RESP_COMMANDS;

	while (from < to) {
		u32 i = (from + to) / 2;
		s32 order = compare(resp_rows[i].verb.name, name);

		if (!order)
			return &resp_rows[i];
		if (order < 0)
			from = i + 1;
		else
			to = i;
	}
	return RESP_OTHER;
}

const struct resp_row *resp_find_sub(const struct resp_row *container, struct str name)
{
	size_t n = strlen(container->verb.name);
	char both[2 * RESP_NAME_MAX];
	const struct resp_row *row;

	if (n + 1 + name.n > sizeof(both))
		return container;
	memcpy(both, container->verb.name, n);
	both[n] = ' ';
	memcpy(both + n + 1, name.p, name.n);
	row = resp_find((struct str){ both, (u32)(n + 1 + name.n) });
	return row == RESP_OTHER ? container : row;
}

static const struct resp_keys *specification(const struct resp_request *r, u32 i)
{
	return &resp_keys[r->row->keys + i];
}

/* The keys are known to begin at `first`. */
static void set_span(struct resp_request *r, u32 i, u64 first)
{
	const struct resp_keys *k = specification(r, i);
	s64 last = (s64)first + k->last;

	if (k->last < 0 && k->limit > 1)
		last = (s64)first + (s64)((r->n - MIN(r->n, first)) / k->limit) + k->last;
	else if (k->last < 0)
		last = (s64)r->n + k->last;
	if (first >= r->n || last < (s64)first)
		return;
	r->spans[i].first = first;
	r->spans[i].last = MIN((u64)last, r->n - 1);
}

void resp_keys_begin(struct resp_request *r, const struct resp_row *row)
{
	r->row = row;
	for (u32 i = 0; i < row->n_keys; i++) {
		const struct resp_keys *k = specification(r, i);

		r->spans[i].first = r->spans[i].last = 0;
		if (!k->keyword[0] && !k->counted)
			set_span(r, i, k->at);
	}
}

static bool may_be_keyword(const struct resp_request *r, u32 s, u64 i, u64 size)
{
	const struct resp_keys *k = specification(r, s);

	return k->keyword[0] && !r->spans[s].first && i >= k->at && size == strlen(k->keyword);
}

bool resp_keys_wanted(const struct resp_request *r, u64 i, u64 size)
{
	for (u32 s = 0; s < r->row->n_keys; s++) {
		if (may_be_keyword(r, s, i, size) ||
		    (specification(r, s)->counted && i == specification(r, s)->at))
			return true;
	}
	return false;
}

void resp_keys_look(struct resp_request *r, u64 i, struct str p, u64 size)
{
	for (u32 s = 0; s < r->row->n_keys; s++) {
		const struct resp_keys *k = specification(r, s);
		u64 number;

		if (may_be_keyword(r, s, i, size) && !strncasecmp(p.p, k->keyword, p.n)) {
			set_span(r, s, i + 1);
		} else if (k->counted && i == k->at && conn_number(p, &number) && number &&
		           number < r->n) {
			r->spans[s].first = i + 1;
			r->spans[s].last = MIN(i + 1 + (number - 1) * k->step, r->n - 1);
		}
	}
}

const struct resp_keys *resp_keys_at(const struct resp_request *r, u64 i)
{
	for (u32 s = 0; s < r->row->n_keys; s++) {
		const struct resp_keys *k = specification(r, s);
		u64 first = r->spans[s].first;

		if (first && i >= first && i <= r->spans[s].last && (i - first) % k->step == 0)
			return k;
	}
	return NULL;
}
