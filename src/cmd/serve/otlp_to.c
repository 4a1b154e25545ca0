/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cmd/serve/otlp_to.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

/* What HTTP has as a name (RFC 9110, 5.6.2), and no line's end in the value. */
bool otlp_to_is_header(struct str name, struct str value)
{
	for (u32 i = 0; i < name.n; i++)
		if (!isalnum((u8)name.p[i]) &&
		    (!name.p[i] || !strchr("!#$%&'*+-.^_`|~", name.p[i])))
			return false;
	for (u32 i = 0; i < value.n; i++)
		if ((u8)value.p[i] < ' ' || value.p[i] == 0x7f)
			return false;
	return name.n && value.n;
}

static void add_header(struct buf *b, struct str name, struct str value)
{
	buf_printf(b, "%.*s: ", STR_ARG(name));
	buf_add(b, value.p, value.n);
	buf_putc(b, '\n');
}

/* ---- the file ---- */

/* What is wrong is said without the value. */
static bool read_headers(struct yamlkeys *r, const struct yamlnode *n, void *to)
{
	const char **headers = to;
	struct buf b = { 0 };
	bool ok = true;

	if (n->kind != YAMLNODE_MAP)
		return yamlkeys_expected(r, n, "names of headers with their values");
	for (u32 i = 0; i < n->n; i += 2) {
		const struct yamlnode *name = n->kids[i], *value = n->kids[i + 1];

		if (name->kind != YAMLNODE_TEXT || value->kind != YAMLNODE_TEXT ||
		    !otlp_to_is_header(str_of(name->text), str_of(value->text)))
			ok = yamlkeys_expected(r, name, "a header");
		else
			add_header(&b, str_of(name->text), str_of(value->text));
	}
	*headers = arena_strdup(r->arena, buf_text(&b));
	buf_free(&b);
	return ok;
}

static bool read_compression(struct yamlkeys *r, const struct yamlnode *n, void *to)
{
	const char *text = "";

	if (!yamlkeys_text(r, n, &text))
		return false;
	if (strcmp(text, "gzip") != 0 && strcmp(text, "none") != 0)
		return yamlkeys_expected(r, n, "gzip or none");
	((struct otlp_to *)to)->gzip = *text == 'g';
	((struct otlp_to *)to)->compression_said = true;
	return true;
}

#define TO(member) offsetof(struct otlp_to, member)
static const struct yamlkey keys[] = {
	{ "url", yamlkeys_text, TO(url) },        { "profiles", yamlkeys_text, TO(profiles) },
	{ "every", yamlkeys_number, TO(every) },  { "compression", read_compression, 0 },
	{ "headers", read_headers, TO(headers) },
};
#undef TO

bool otlp_to_read(struct yamlkeys *r, const struct yamlnode *n, void *to)
{
	u32 seen;

	if (n->kind != YAMLNODE_MAP)
		return yamlkeys_expected(r, n, "a map: url, profiles, every, compression, headers");
	return yamlkeys_map(r, n, keys, ARRAY_SIZE(keys), &seen, to);
}

/* ---- the environment ---- */

/* Of metrics alone, else of all that is sent. NULL: neither is set. */
static const char *variable(struct arena *a, const char *end, bool *of_metrics)
{
	const char *text = getenv(arena_printf(a, "OTEL_EXPORTER_OTLP_METRICS_%s", end));

	*of_metrics = text && *text;
	if (!*of_metrics)
		text = getenv(arena_printf(a, "OTEL_EXPORTER_OTLP_%s", end));
	return text && *text ? text : NULL;
}

static int hex(char c)
{
	return isdigit((u8)c) ? c - '0' : isxdigit((u8)c) ? tolower((u8)c) - 'a' + 10 : -1;
}

/* %20 and the like, as W3C's baggage has it, of which the variable's form is. */
static struct str decode(struct arena *a, struct str s)
{
	char *to = arena_strndup(a, s.p, s.n);
	u32 n = 0;

	for (u32 i = 0; i < s.n; i++) {
		bool coded = s.p[i] == '%' && i + 2 < s.n && hex(s.p[i + 1]) >= 0 &&
		             hex(s.p[i + 2]) >= 0;

		to[n++] = coded ? (char)(hex(s.p[i + 1]) * 16 + hex(s.p[i + 2])) : s.p[i];
		i += coded ? 2 : 0;
	}
	return (struct str){ to, n };
}

/* "api-key=secret,other=value" */
static bool headers_of(struct otlp_to *to, struct arena *a, struct str list, struct err *e)
{
	struct buf b = { 0 };
	bool ok = true;

	while (list.n && ok) {
		struct str value, one = str_cut(list, ',', &list);
		struct str name = str_trim(str_cut(one, '=', &value), " ");

		value = decode(a, str_trim(value, " "));
		ok = otlp_to_is_header(name, value);
		if (ok)
			add_header(&b, name, value);
	}
	to->headers = arena_strdup(a, buf_text(&b));
	buf_free(&b);
	return ok || err_set(e, "OTEL_EXPORTER_OTLP_HEADERS is not NAME=VALUE,NAME=VALUE");
}

static bool is_url(const char *text)
{
	return (strncmp(text, "http://", 7) == 0 || strncmp(text, "https://", 8) == 0) &&
	       otlp_to_is_header(STR("url"), str_of(text));
}

bool otlp_to_complete(struct otlp_to *to, struct arena *a, struct err *e)
{
	const char *text;
	bool whole;

	text = variable(a, "ENDPOINT", &whole);
	if (!to->url && text) {
		size_t n = strlen(text);

		to->url = whole ? text
		                : arena_printf(a, "%s%sv1/metrics", text,
		                               text[n - 1] == '/' ? "" : "/");
	}
	text = variable(a, "COMPRESSION", &whole);
	if (!to->compression_said)
		to->gzip = text && strcmp(text, "gzip") == 0;
	text = variable(a, "HEADERS", &whole);
	if ((to->url || to->profiles) && !to->headers && text &&
	    !headers_of(to, a, str_of(text), e))
		return false;
	if ((to->url && !is_url(to->url)) || (to->profiles && !is_url(to->profiles)))
		return err_set(e, "OTLP is sent to a URL that begins with http:// or https://");
	return true;
}

const char *otlp_to_text(const struct otlp_to *to, struct arena *a)
{
	return arena_printf(a, "%s\n%s\n%s\n%s", to->url ? to->url : "",
	                    to->profiles ? to->profiles : "", to->gzip ? "gzip" : "",
	                    to->headers ? to->headers : "");
}
