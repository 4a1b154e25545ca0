/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A name that several symbols of the kernel have. One in a module of its own is named with the
 * module; others have nothing but their address, which is given as a distance from the start of the
 * kernel, since that stays the same from boot to boot, and with the symbol before it, which tells
 * the file.
 */
#include "lang/probe/ksymbol.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"

struct search {
	const char *module;
	bool functions;
	struct ksymbols *found;
};

static const char *module_of(const struct kallsyms_place *p)
{
	return *p->module ? p->module : "vmlinux";
}

static bool note(void *ctx, const struct kallsyms_place *p)
{
	struct search *s = ctx;
	struct ksymbols *k = s->found;

	if ((s->functions && !p->is_text) || (s->module && strcmp(s->module, module_of(p)) != 0))
		return true;
	for (u32 i = 0; i < MIN(k->n, KSYMBOLS_SHOWN); i++)
		if (k->v[i].addr == p->addr)
			return true;
	if (k->n < KSYMBOLS_SHOWN)
		k->v[k->n] = *p;
	k->n++;
	return true;
}

void ksymbols_find(struct world *w, const char *name, const char *module, bool functions,
                   struct ksymbols *s)
{
	struct search search = { module, functions, s };

	s->n = 0;
	w->ops->named(w, name, note, &search);
}

static bool is_alone_in_module(const struct ksymbols *s, u32 i)
{
	for (u32 k = 0; k < MIN(s->n, KSYMBOLS_SHOWN); k++)
		if (k != i && strcmp(s->v[k].module, s->v[i].module) == 0)
			return false;
	return s->n <= KSYMBOLS_SHOWN;
}

/* A place in the kernel itself from where its code begins; of a module only the address is
 * known. */
static void address_of(struct buf *b, const struct kallsyms_place *p, u64 text, bool in_script)
{
	if (in_script && text && !*p->module && p->addr >= text)
		buf_printf(b, "kaddr(\"_text\") + 0x%" PRIx64, p->addr - text);
	else
		buf_printf(b, "0x%" PRIx64, p->addr);
}

const char *ksymbols_choices(struct world *w, struct arena *a, const struct ksymbols *s,
                             const char *name, const char *provider)
{
	u64 text = w->ops->kaddr(w, "_text");
	struct buf b = { 0 };
	const char *out;

	for (u32 i = 0; i < MIN(s->n, KSYMBOLS_SHOWN); i++) {
		const struct kallsyms_place *p = &s->v[i];
		bool alone = is_alone_in_module(s, i);

		buf_puts(&b, i ? ", " : "");
		if (provider)
			buf_printf(&b, "%s:", provider);
		if (alone && provider)
			buf_printf(&b, "%s:%s", module_of(p), name);
		else if (alone)
			buf_printf(&b, "kaddr(\"%s:%s\")", module_of(p), name);
		else
			address_of(&b, p, text, !provider);
		if (!alone)
			buf_printf(&b, " (after %s)", p->before);
	}
	if (s->n > KSYMBOLS_SHOWN)
		buf_printf(&b, " and %u more", s->n - KSYMBOLS_SHOWN);
	out = arena_strdup(a, buf_text(&b));
	buf_free(&b);
	return out;
}
