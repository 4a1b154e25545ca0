/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cmd/serve/webfile.h"

#include <string.h>

#include "base/file.h"

#define PEM_MOST (1u << 20)

/* ---- tls_server_config ---- */

struct tls {
	const char *cert, *key, *ca, *client, *version;
};

enum { CERT, KEY, CA, CLIENT, VERSION };

#define TO(member) offsetof(struct tls, member)
static const struct yamlkey tls_keys[] = {
	[CERT] = { "cert_file", yamlkeys_path, TO(cert) },
	[KEY] = { "key_file", yamlkeys_path, TO(key) },
	[CA] = { "client_ca_file", yamlkeys_path, TO(ca) },
	[CLIENT] = { "client_auth_type", yamlkeys_text, TO(client) },
	[VERSION] = { "min_version", yamlkeys_text, TO(version) },
};
#undef TO

/* NULL path: there is none. */
static bool load(struct yamlkeys *r, const struct yamlnode *n, const char *path, const char **to)
{
	struct buf text = { 0 };
	struct err e = { 0 };
	bool ok = !path || file_read_regular(path, &text, PEM_MOST, &e);

	if (path && ok)
		*to = arena_strndup(r->arena, text.p, text.n);
	if (text.p)
		explicit_bzero(text.p, text.n);
	buf_free(&text);
	return ok || yamlkeys_wrong(r, n, &e);
}

static bool read_tls(struct yamlkeys *r, const struct yamlnode *n, void *to)
{
	struct guard *g = to;
	struct tls t = { .client = "NoClientCert", .version = "TLS12" };
	u32 seen;

	if (n->kind != YAMLNODE_MAP)
		return yamlkeys_expected(r, n, "cert_file, key_file and others");
	if (!yamlkeys_map(r, n, tls_keys, ARRAY_SIZE(tls_keys), &seen, &t))
		return false;
	if (!t.cert || !t.key)
		return yamlkeys_expected(r, n, "the keys 'cert_file' and 'key_file'");
	g->client_must = strcmp(t.client, "RequireAndVerifyClientCert") == 0;
	if (!g->client_must && strcmp(t.client, "NoClientCert") != 0)
		return yamlkeys_expected(r, n,
		                         "of client_auth_type NoClientCert or "
		                         "RequireAndVerifyClientCert");
	if (g->client_must != !!t.ca)
		return yamlkeys_expected(r, n,
		                         "'client_ca_file' where client_auth_type is "
		                         "RequireAndVerifyClientCert, and only there");
	g->tls13 = strcmp(t.version, "TLS13") == 0;
	if (!g->tls13 && strcmp(t.version, "TLS12") != 0)
		return yamlkeys_expected(r, n, "of min_version TLS12 or TLS13");
	return load(r, n, t.cert, &g->cert) & load(r, n, t.key, &g->key) &
	       load(r, n, t.ca, &g->client_ca);
}

/* ---- who ---- */

static bool add(struct yamlkeys *r, const struct yamlnode *n, struct guard *g, const char *name)
{
	struct guard_known one = { .name = name };
	struct err e = { 0 };

	if (!yamlkeys_text(r, n, &one.hash))
		return false;
	if (!guard_takes(one.hash, &e))
		return yamlkeys_wrong(r, n, &e);
	vec_add(r->arena, &g->known, one);
	return true;
}

static bool read_users(struct yamlkeys *r, const struct yamlnode *n, void *to)
{
	bool ok = true;
	const char *name;

	if (n->kind != YAMLNODE_MAP)
		return yamlkeys_expected(r, n, "users, each with the hash of a password");
	for (u32 i = 0; i < n->n; i += 2)
		ok &= yamlkeys_text(r, n->kids[i], &name) && add(r, n->kids[i + 1], to, name);
	return ok;
}

static bool read_tokens(struct yamlkeys *r, const struct yamlnode *n, void *to)
{
	bool ok = true;

	if (n->kind != YAMLNODE_LIST)
		return yamlkeys_expected(r, n, "a list of hashes of tokens");
	for (u32 i = 0; i < n->n; i++)
		ok &= add(r, n->kids[i], to, NULL);
	return ok;
}

/* ---- the file ---- */

static const struct yamlkey keys[] = {
	{ "tls_server_config", read_tls, 0 },
	{ "basic_auth_users", read_users, 0 },
	{ "bearer_tokens", read_tokens, 0 },
};

static bool read_root(struct yamlkeys *r, const struct yamlnode *root)
{
	u32 seen;

	return root->kind == YAMLNODE_MAP
	               ? yamlkeys_map(r, root, keys, ARRAY_SIZE(keys), &seen, r->owner)
	               : yamlkeys_expected(r, root, "tls_server_config, basic_auth_users ...");
}

bool webfile_read(struct guard *g, struct arena *a, const char *path, err_list *mistakes,
                  struct err *e)
{
	struct yamlkeys r = { .arena = a, .mistakes = mistakes, .owner = g };

	return yamlkeys_file(&r, path, read_root, e) && guard_open(g, e);
}
