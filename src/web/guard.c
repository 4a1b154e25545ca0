/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "web/guard.h"

#include <crypt.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/host.h"
#include "base/str.h"

#define HEADER_MOST 4096
#define BCRYPT_SIZE 60
#define BCRYPT_READ 72u /* of a phrase: what follows would not count */
#define COST_MOST   14
#define WRONG_MS    1000
#define WRONG_MORE  1 /* beside the one that is due */

static bool is_bcrypt(const char *hash)
{
	return hash[0] == '$' && hash[1] == '2';
}

bool guard_takes(const char *hash, struct err *e)
{
	static const char *const others[] = { "$5$", "$6$", "$y$" };

	for (u32 i = 0; i < ARRAY_SIZE(others); i++)
		if (strncmp(hash, others[i], 3) == 0 && strlen(hash) > 20)
			return true;
	if (!is_bcrypt(hash) || strlen(hash) != BCRYPT_SIZE || !strchr("aby", hash[2]) ||
	    hash[3] != '$' || hash[6] != '$') {
		err_set(e, "expected a hash of crypt(3)");
		return err_hint(e, "htpasswd -nBC 10 '' writes one of bcrypt, mkpasswd -m sha-512 "
		                   "one of a token");
	}
	return atoi(hash + 4) <= COST_MOST ||
	       err_set(e, "a hash that takes 2^%d rounds holds up all others", atoi(hash + 4));
}

bool guard_open(struct guard *g, struct err *e)
{
	static const char *const names[] = { "libcrypt.so.1", "libcrypt.so.2" };

	for (u32 i = 0; i < ARRAY_SIZE(names) && g->known.n && !g->crypt; i++) {
		void *so = host_library(names[i]);

		if (so)
			g->crypt = (__typeof__(g->crypt))host_symbol(so, "crypt_rn");
	}
	if (!g->known.n || g->crypt)
		return true;
	err_set(e, "passwords need libcrypt, which is not installed (libcrypt.so.1)");
	return err_hint(e, "its package is libcrypt1 on Debian");
}

/* In a time that does not tell where they differ. */
static bool is_same(const char *a, const char *b)
{
	size_t n = strlen(a);
	u8 differs = 0;

	if (strlen(b) != n)
		return false;
	for (size_t i = 0; i < n; i++)
		differs |= (u8)(a[i] ^ b[i]);
	return !differs;
}

static bool fits(const struct guard *g, const char *phrase, const char *hash)
{
	struct crypt_data *data;
	const char *made;
	bool same;

	if (is_bcrypt(hash) && strlen(phrase) > BCRYPT_READ)
		return false;
	data = calloc(1, sizeof(*data));
	if (!data)
		base_no_memory();
	made = g->crypt(phrase, hash, data, sizeof(*data));
	same = made && is_same(made, hash);
	explicit_bzero(data, sizeof(*data));
	free(data);
	return same;
}

/* RFC 4648. False: it is none, or has a NUL in it. */
static bool base64(const char *from, char *to, size_t room)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	u32 bits = 0, n_bits = 0;
	size_t n = 0;

	for (; *from && *from != '='; from++) {
		const char *digit = strchr(digits, *from);

		if (!digit || n + 1 >= room)
			return false;
		bits = (bits << 6 | (u32)(digit - digits)) & 0xffff;
		n_bits += 6;
		if (n_bits < 8)
			continue;
		n_bits -= 8;
		to[n] = (char)(bits >> n_bits);
		if (!to[n++])
			return false;
	}
	to[n] = 0;
	return from[strspn(from, "=")] == 0;
}

/* A name that is not known takes as long as one that is: some hash is made. */
static bool is_known(const struct guard *g, const char *name, const char *phrase)
{
	const char *any = NULL;
	bool found = false;

	for (u32 i = 0; i < g->known.n; i++) {
		const struct guard_known *k = &g->known.v[i];

		if (!k->name != !name)
			continue;
		any = k->hash;
		if (name && strcmp(k->name, name) != 0)
			continue;
		found = true;
		if (fits(g, phrase, k->hash))
			return true;
	}
	if (!found && any)
		fits(g, phrase, any);
	return false;
}

static bool is_right(const struct guard *g, const char *header)
{
	char text[HEADER_MOST], *colon;
	bool right;

	if (strncasecmp(header, "Bearer ", 7) == 0)
		return is_known(g, NULL, header + 7);
	if (strncasecmp(header, "Basic ", 6) != 0 || !base64(header + 6, text, sizeof(text)))
		return false;
	colon = strchr(text, ':');
	if (!colon)
		return false;
	*colon = 0;
	right = is_known(g, text, colon + 1);
	explicit_bzero(text, sizeof(text));
	return right;
}

static void forget(char **kept)
{
	if (*kept)
		explicit_bzero(*kept, strlen(*kept));
	free(*kept);
	*kept = NULL;
}

static void keep(struct guard *g, const char *header)
{
	char **place = &g->kept[g->n_kept++ % GUARD_KEPT];

	forget(place);
	*place = strdup(header);
	if (!*place)
		base_no_memory();
}

enum guard_says guard_ask(struct guard *g, const char *header)
{
	u64 now = clock_ms();

	if (!g->known.n)
		return GUARD_PASS;
	if (!header || strlen(header) >= HEADER_MOST)
		return GUARD_WHO;
	for (u32 i = 0; i < GUARD_KEPT; i++)
		if (g->kept[i] && is_same(g->kept[i], header))
			return GUARD_PASS;
	if (now + WRONG_MORE * WRONG_MS < g->next)
		return GUARD_LATER;
	if (is_right(g, header)) {
		keep(g, header);
		return GUARD_PASS;
	}
	g->next = MAX(g->next, now) + WRONG_MS;
	return GUARD_WHO;
}

void guard_close(struct guard *g)
{
	for (u32 i = 0; i < GUARD_KEPT; i++)
		forget(&g->kept[i]);
}
