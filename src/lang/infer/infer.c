/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Names and types of a whole script.
 *
 * The one idea: types flow from where values are put to where they are used, in any order of
 * probes, so all bodies are walked again and again until a pass changes nothing. Types only ever
 * grow (integers to 64 bits, strings to the longest), so that ends; a bound makes sure. One more
 * pass reports what is wrong, and by then every rule sees final types.
 *
 * Maps belong to the script, variables to one variant of one probe.
 */
#include "lang/infer/infer.h"

#include <assert.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lang/parse/event_spec.h"

#define PASSES 64u /* enough for all but maps that have their types from each other */

static bool reported(const struct infer *in, struct loc loc, const char *text)
{
	for (u32 i = 0; i < in->diags->list.n; i++) {
		const struct diag *d = &in->diags->list.v[i];

		if (d->loc.off == loc.off && d->loc.len == loc.len && !strcmp(d->text, text))
			return true;
	}
	return false;
}

/* A body may be right in one use and wrong in another: say in which. */
static void name_expansion(const struct infer *in, char *text, size_t size)
{
	size_t n = strlen(text);
	struct loc loc;
	u32 line, column;

	if (!in->expansion || in->expansion->use->macro->library)
		return;
	loc = in->expansion->use->loc;
	if (!source_place(in->script->source, &loc))
		return;
	source_line(in->script->source, loc.off, &line, &column);
	snprintf(text + n, size - n, " (in macro '%.*s', expanded from %s:%u:%u)",
	         STR_ARG(in->expansion->use->macro->name), source_name(in->script->source, loc.off),
	         line, column);
}

/* Hints are for the diagnostic added last; after a repeated one there must be none. */
static void report(struct infer *in, enum diag_level level, struct loc loc, const char *fmt,
                   va_list ap)
{
	char text[1024];

	vsnprintf(text, sizeof(text), fmt, ap);
	name_expansion(in, text, sizeof(text));
	in->counts_from_one = source_is_typed(in->script->source, loc);
	if (in->counts_from_one)
		event_spec_numbers(text, sizeof(text));
	in->added = !reported(in, loc, text);
	if (!in->added)
		return;
	if (level == DIAG_ERROR)
		diag_error(in->diags, loc, "%s", text);
	else
		diag_warn(in->diags, loc, "%s", text);
	for (const struct expansion *x = in->expansion; x; x = x->outer)
		if (!x->use->macro->library)
			diag_use(in->diags, x->use->loc);
}

const struct type *infer_error(struct infer *in, struct loc loc, const char *fmt, ...)
{
	va_list ap;

	in->added = false;
	if (in->final) {
		va_start(ap, fmt);
		report(in, DIAG_ERROR, loc, fmt, ap);
		va_end(ap);
	}
	return NULL;
}

const struct type *infer_error_now(struct infer *in, struct loc loc, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	report(in, DIAG_ERROR, loc, fmt, ap);
	va_end(ap);
	return NULL;
}

void infer_warn(struct infer *in, struct loc loc, const char *fmt, ...)
{
	va_list ap;

	if (!in->final)
		return;
	va_start(ap, fmt);
	report(in, DIAG_WARNING, loc, fmt, ap);
	va_end(ap);
}

void infer_hint(struct infer *in, const char *fmt, ...)
{
	struct diags *d = in->diags;
	char text[512];
	va_list ap;

	if (!in->added || !d->list.n)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (in->counts_from_one)
		event_spec_numbers(text, sizeof(text));
	diag_hint(d, "%s", text);
}

const struct type *infer_cause(struct infer *in)
{
	if (in->added)
		diag_cause(in->diags);
	return NULL;
}

void infer_hint_near(struct infer *in, const struct near *n)
{
	size_t letters = strcspn(n->want, "@$") ? strlen(n->want) : strlen(n->want) - 1;

	/* A name of one letter is near to every other of one letter. */
	if (near_best(n) && letters > 1)
		infer_hint(in, "did you mean '%s'?", near_best(n));
}

const char *infer_text(struct infer *in, struct str s)
{
	return arena_strndup(in->arena, s.p, s.n);
}

const struct type *infer_failed(struct infer *in, struct loc loc, const struct err *e)
{
	infer_error(in, loc, "%s", e->text);
	if (e->hint[0])
		infer_hint(in, "%s", e->hint);
	return NULL;
}

/* ---- passes --------------------------------------------------------------------------------- */

/* Variables of a variant live across passes; they are kept beside it in one list. */
struct variant_vars {
	struct binding **v;
	u32 n, cap;
};

static void walk_variant(struct infer *in, struct variant *v, struct variant_vars *vars)
{
	in->variant = v;
	v->vars.n = 0;
	in->scope.n = 0;
	in->left.n = 0;
	in->loops = 0;
	in->implicit.v = vars->v;
	in->implicit.n = vars->n;
	in->implicit.cap = vars->cap;
	if (v->pred && !v->ruled_out) /* what was switched off has no arguments */
		infer_condition(in, v->pred, "a predicate");
	v->ruled_out |= v->pred && v->pred->kind == NODE_INT && v->pred->integer.is_answer &&
	                !v->pred->integer.value;
	if (!v->ruled_out)
		infer_block(in, v->body);
	*vars = (struct variant_vars){ in->implicit.v, in->implicit.n, in->implicit.cap };
}

static u32 count_variants(const struct script *s)
{
	u32 n = 0;

	for (const struct probe *p = s->probes; p; p = p->next)
		n += p->variants.n;
	return n;
}

static void walk_script(struct infer *in, struct variant_vars *vars)
{
	in->pass++;
	in->changed = false;
	for (in->probe = in->script->probes; in->probe; in->probe = in->probe->next)
		for (u32 i = 0; i < in->probe->variants.n; i++)
			walk_variant(in, in->probe->variants.v[i], vars++);
}

/* A pass that changes something settles a map's value or key at least, or a variable. */
static void walk_until_stable(struct infer *in, struct variant_vars *vars)
{
	for (u32 i = 0;; i++) {
		assert(i < PASSES + 2 * in->script->maps.n);
		walk_script(in, vars);
		if (!in->changed)
			return;
	}
}

/* Does the text name a map in more places than the one that declares it? */
static bool is_named_again(const struct source *s, struct str name)
{
	u32 n = 0;

	for (const char *p = s->text; n < 2 && (p = strchr(p, '@')); p++)
		if (strncmp(p, name.p, name.n) == 0 && !isalnum((u8)p[name.n]) && p[name.n] != '_')
			n++;
	return n > 1;
}

/* What only code uses that an option leaves out is no mistake. */
static void warn_unused_maps(struct infer *in)
{
	for (const struct map_decl *d = in->script->map_decls; d; d = d->next) {
		void **slot = hmap_find(&in->maps, d->name.p, d->name.n);

		if (slot && !((struct map_info *)*slot)->listed &&
		    !is_named_again(in->script->source, d->name))
			infer_warn(in, d->loc, "Unused map: %.*s", STR_ARG(d->name));
	}
}

bool infer_script(struct script *s, const struct config *c, struct world *w, struct diags *d)
{
	struct infer in = {
		.arena = s->arena,
		.script = s,
		.config = c,
		.world = w,
		.diags = d,
	};
	struct variant_vars *vars = arena_array(s->arena, struct variant_vars, count_variants(s));
	u32 errors = d->n_errors;

	infer_definitions(&in);
	infer_map_declare(&in);
	walk_until_stable(&in, vars);
	in.settled = true;
	if (in.waiting)
		walk_until_stable(&in, vars);
	/* What only reads of never assigned maps left open is settled, and may settle more. */
	infer_map_default(&in);
	walk_until_stable(&in, vars);
	in.final = true;
	walk_script(&in, vars);
	warn_unused_maps(&in);
	if (d->n_errors == errors && !s->request.alone) {
		infer_take(&in);
		if (!c->max_map_keys_set)
			infer_drain(&in);
	}
	hmap_free(&in.maps);
	hmap_free(&in.c_types);
	hmap_free(&in.c_consts);
	hmap_free(&in.c_macros);
	hmap_free(&in.c_bodies);
	hmap_free(&in.complete);
	hmap_free(&s->records);
	constants_free(&in.constants);
	/* What a header holds that is not understood matters to who misses it. */
	if (d->n_errors == errors && s->source->headers)
		diag_drop_warnings(d, s->source->headers);
	return d->n_errors == errors;
}
