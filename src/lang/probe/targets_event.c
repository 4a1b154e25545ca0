/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * event:$1, event:$@, event:$name: probes that the user names when the script is run, by a
 * parameter, by each of them, or by each value of an option. The text may be spelled as BCC's
 * tools do, or as in scripts:
 *
 *     vfs_read   p::vfs_read   r::vfs_read     functions of the kernel
 *     c:malloc   p:c:malloc    r:c:malloc      of a program or library (c is libc)
 *     t:vmscan:*               u:pthread:*     tracepoints, static probes of programs
 *     uprobe:/bin/bash:main    software:...    any probe type by its long name
 *     /^tcp_/    /t:vmscan:^mm_/               regular expressions
 *
 * The one idea: a given text becomes ordinary attach points, tried in an order; it is put after
 * the script's own text, so that what is wrong with it is shown at its place in it.
 */
#include "lang/probe/targets.h"

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "lang/parse/event_body.h"

struct event {
	struct targets *t;
	struct event_text text;
	struct loc loc;   /* of the probe in the source */
	const char *what; /* "a" of 'what:a:b': as the user says it, for messages */
	u32 n_added;
};

static const char forms[] = "write FUNCTION, PATH:FUNCTION, r:PATH:FUNCTION, t:GROUP:EVENT, "
			    "u:PATH:[PROVIDER:]PROBE, or a probe as in scripts";

static const char *copy(const struct event *e, struct str s)
{
	return arena_strndup(e->t->arena, s.p, s.n);
}

/* Part i of the text, counted from the end. */
static struct str last(const struct event *e, u32 i)
{
	return e->text.part[e->text.n_parts - 1 - i];
}

/* ---- attach points of it -------------------------------------------------------------------- */

static struct loc loc_of(const struct event *e, struct str s)
{
	const char *text = e->t->script->source->text;

	if (s.p < text || s.p + s.n > text + e->t->script->source->n)
		return e->loc;
	return (struct loc){ (u32)(s.p - text), s.n };
}

/* PROVIDER:a[:b[:c]]; where a part is not the user's own text, the whole is its place. */
static struct attach *attach_new(struct event *e, const char *provider, const struct str *parts,
                                 u32 n)
{
	struct attach *a = arena_new(e->t->arena, struct attach);

	a->loc = e->loc;
	a->provider = str_of(provider);
	for (u32 i = 0; i < n; i++) {
		vec_add(e->t->arena, &a->parts, parts[i]);
		vec_add(e->t->arena, &a->part_locs, loc_of(e, parts[i]));
	}
	return a;
}

static bool try(struct event *e, const char *provider, const struct str *parts, u32 n,
                bool stand_in)
{
	const char *why;

	if (!targets_try(e->t, attach_new(e, provider, parts, n), stand_in, &why))
		return false;
	e->n_added += e->t->n_added;
	return true;
}

/* The last attempt: what is wrong with it is reported. */
static void attach(struct event *e, const char *provider, const struct str *parts, u32 n)
{
	targets_attach(e->t, attach_new(e, provider, parts, n));
	e->n_added += e->t->n_added;
}

/* What is looked through for a regular expression. */
static struct str name_of(const struct event *e)
{
	return e->text.regex ? STR("*") : last(e, 0);
}

/* ---- functions of the kernel ---------------------------------------------------------------- */

static bool note_function(void *ctx, const char *name, const char *module)
{
	(void)name;
	(void)module;
	*(bool *)ctx = true;
	return false;
}

/* fentry gives arguments by name. Its trampoline would be in the kernel's stacks, and each function
 * is a link of its own. */
static bool wants_fentry(const struct event *e, struct str name)
{
	struct targets *t = e->t;
	struct err ignored = { 0 };
	bool known = false;

	if (t->uses_kstack || glob_is(name) || memchr(name.p, '+', name.n) ||
	    targets_lacks(t, ATTACH_FENTRY))
		return false;
	return t->world->ops->functions(t->world, name, note_function, &known, &ignored) && known;
}

static void kernel_function(struct event *e, bool on_return)
{
	const char *kprobe = on_return ? "kretprobe" : "kprobe";
	struct str name = name_of(e), event[] = { STR("*"), name };

	if (wants_fentry(e, name) && try(e, on_return ? "fexit" : "fentry", &name, 1, false))
		return;
	if (try(e, kprobe, &name, 1, true))
		return;
	if (!on_return && !glob_is(name) && try(e, "tracepoint", event, 2, false))
		return;
	attach(e, kprobe, &name, 1);
}

/* ---- programs, tracepoints ------------------------------------------------------------------ */

/* "c" is libc, and what has no library of that name is a program or a path. */
static struct str file_of(const struct event *e, struct str lib)
{
	struct world *w = e->t->world;
	struct err ignored = { 0 };
	const char *name;

	if (!lib.n || memchr(lib.p, '/', lib.n) || glob_is(lib))
		return lib;
	name = arena_printf(e->t->arena, "lib%.*s", STR_ARG(lib));
	return w->ops->resolve(w, e->t->script->request.pid, name, &ignored) ? str_of(name) : lib;
}

static void user_function(struct event *e, struct str lib, bool on_return)
{
	struct str parts[] = { file_of(e, lib), name_of(e) };

	attach(e, on_return ? "uretprobe" : "uprobe", parts, 2);
}

/* p:lib:func, r:lib:func; without lib of the kernel */
static void function(struct event *e)
{
	bool on_return = str_is(e->text.part[0], "r");

	if (e->text.n_parts == 2 || !e->text.part[1].n)
		kernel_function(e, on_return);
	else
		user_function(e, e->text.part[1], on_return);
}

/* t:group:event, t::event, t:event */
static void tracepoint(struct event *e)
{
	struct str parts[] = { STR("*"), name_of(e) };

	if (e->text.n_parts == 3 && e->text.part[1].n)
		parts[0] = e->text.part[1];
	attach(e, "tracepoint", parts, 2);
}

/* u:lib:probe, u:lib:provider:probe: a static probe; in scripts, u is a function's */
static void user_probe(struct event *e)
{
	struct str parts[] = { file_of(e, e->text.part[1]), e->text.part[2], name_of(e) };
	u32 n = e->text.n_parts - 1;

	parts[n - 1] = name_of(e);
	if (try(e, "usdt", parts, n, false) || (n == 2 && try(e, "uprobe", parts, n, false)))
		return;
	attach(e, "usdt", parts, n);
}

/* ---- which of them -------------------------------------------------------------------------- */

/* Spelled otherwise than in scripts. */
static const struct form {
	const char *word;
	u32 min, max; /* parts, the word included */
	void (*expand)(struct event *e);
} rows[] = {
	{ "t", 2, 3, tracepoint }, { "p", 2, 3, function },   { "r", 2, 3, function },
	{ "u", 3, 4, user_probe }, { "U", 3, 4, user_probe },
};

static const struct form *form_find(struct str word)
{
	for (u32 i = 0; i < ARRAY_SIZE(rows); i++)
		if (str_is(word, rows[i].word))
			return &rows[i];
	return NULL;
}

static void unknown(struct event *e)
{
	diag_error(e->t->diags, e->loc, "'%.*s' is no event", STR_ARG(e->text.head));
	diag_hint(e->t->diags, "%s", forms);
}

/* PROVIDER:... as in scripts */
static void as_in_scripts(struct event *e)
{
	const char *provider = copy(e, e->text.part[0]);
	struct str parts[EVENT_PARTS_MAX];
	u32 n = e->text.n_parts - 1;

	for (u32 i = 0; i < n; i++)
		parts[i] = e->text.part[i + 1];
	parts[n - 1] = name_of(e);
	attach(e, provider, parts, n);
}

static void expand(struct event *e)
{
	const struct event_text *text = &e->text;
	const struct form *form = form_find(text->part[0]);

	if (text->n_parts == 1)
		kernel_function(e, false);
	else if (form && text->n_parts >= form->min && text->n_parts <= form->max)
		form->expand(e);
	else if (targets_is_kind(text->part[0]))
		as_in_scripts(e);
	else if (text->n_parts == 2)
		user_function(e, text->part[0], false);
	else
		unknown(e);
}

/* Trying is silent, so that what is wrong is said of the expression and not of "*". */
static void expand_regex(struct event *e)
{
	struct diags trial = { .arena = e->t->arena, .source = e->t->diags->source };
	struct str name = last(e, 0);
	struct event_given given;
	struct diags *diags = e->t->diags;
	regex_t regex;
	char why[200];
	int code = regcomp(&regex, copy(e, name), REG_EXTENDED | REG_NOSUB);

	if (code) {
		regerror(code, &regex, why, sizeof(why));
		diag_error(diags, loc_of(e, name), "not a regular expression: %s", why);
		return;
	}
	given.filter = &regex;
	e->t->event = &given;
	e->t->diags = &trial;
	expand(e);
	e->t->event = NULL;
	e->t->diags = diags;
	regfree(&regex);
	if (e->n_added)
		return;
	diag_error(diags, loc_of(e, name), "nothing matches the regular expression '%.*s'",
	           STR_ARG(name));
	if (trial.list.n && strncmp(trial.list.v[0].text, "No matches", 10) != 0)
		diag_hint(diags, "%s", trial.list.v[0].text);
}

/* ---- where the text comes from -------------------------------------------------------------- */

/* The body compiled for this event, NULL when it is the same for all, and that of a probe at the
 * entry of its function, NULL when none is wanted. False after an error. */
static bool make_body(struct event *e, struct probe **made, struct probe **at_entry)
{
	struct targets *t = e->t;
	const struct probe *p = t->probe;
	u32 off = p->loc.off + p->loc.len, end = event_body_end(t->script, off);
	struct event_spec spec;

	if (!event_body_wants(t->script, off, end)) {
		if (!e->text.rest.n)
			return true;
		return diag_error(t->diags, loc_of(e, e->text.rest),
		                  "nothing can follow the event here");
	}
	if (!event_body_spec(t->script, &e->text, &spec, t->diags))
		return false;
	*made = event_body_make(t->script, off, end, &spec, t->diags);
	if (*made)
		targets_note_uses(t, *made);
	if (*made && spec.keep) {
		*at_entry = event_body_entry(t->script, &spec, t->diags);
		return *at_entry != NULL;
	}
	return *made != NULL;
}

/* The new variants are compiled from it. */
static void take_body(struct targets *t, struct probe *made)
{
	for (u32 i = t->first_variant; made && i < t->probe->variants.n; i++) {
		struct variant *v = t->probe->variants.v[i];

		v->pred = made->pred ? ast_copy(ast_arena(t->script), made->pred) : NULL;
		v->body = ast_copy(ast_arena(t->script), made->body);
	}
	if (made)
		targets_note_uses(t, t->probe);
	t->first_variant = made ? t->probe->variants.n : 0;
}

/* The attach point's text around the parameter, with `value` in its place; `name` is how the user
 * knows it. */
static void expand_value(struct targets *t, const char *form, const char *value, const char *name,
                         u32 number)
{
	const char *dollar = strchr(form, '$');
	struct event e = { .t = t };
	struct attach *own = t->attach;
	const struct provider *provider = t->provider;
	struct probe *own_body = NULL, *at_entry = NULL;
	const char *text, *problem;
	u32 off;

	text = dollar ? arena_printf(t->arena, "%.*s%s%s", (int)(dollar - form), form, value,
	                             dollar + 1 + strcspn(dollar + 1, "/:"))
	              : form;
	off = source_append_typed(t->script->source, t->arena, name, str_of(text));
	e.loc = (struct loc){ off, (u32)strlen(text) };
	problem = event_text_read(&e.text, str_of(t->script->source->text + off));
	if (problem) {
		diag_error(t->diags, e.loc, "this is no event: %s", problem);
		diag_hint(t->diags, "%s", forms);
		return;
	}
	e.loc.len = (u32)(e.text.head.p + e.text.head.n - t->script->source->text) - off;
	e.text.number = number;
	if (!make_body(&e, &own_body, &at_entry))
		return;
	t->first_variant = t->probe->variants.n;
	if (at_entry) {
		e.text.part[0] = STR("p");
		expand(&e);
		take_body(t, at_entry);
		e.text.part[0] = STR("r");
		t->first_variant = t->probe->variants.n;
	}
	if (e.text.regex)
		expand_regex(&e);
	else
		expand(&e);
	take_body(t, own_body);
	t->attach = own;
	t->provider = provider;
	t->n_added = e.n_added;
}

static u32 expand_options(struct targets *t, const char *form, const char *name)
{
	u32 n = 0;

	for (u32 i = 0; i < t->script->request.n_options; i++) {
		const struct request_option *o = &t->script->request.options[i];

		if (strcmp(o->name, name) != 0 || !o->value)
			continue;
		expand_value(t, form, o->value, arena_printf(t->arena, "--%s", name),
		             event_of_option(&t->script->request, i));
		n++;
	}
	return n;
}

static void expand_params(struct targets *t, const char *form, u32 from, u32 to)
{
	for (u32 i = from; i < to; i++)
		expand_value(t, form, t->script->request.params[i],
		             arena_printf(t->arena, "$%u", i + 1), i + 1);
}

/* All parts together, as they are written. */
static const char *whole(const struct targets *t)
{
	struct buf b = { 0 };
	const char *text;

	for (u32 i = 0; i < t->attach->parts.n; i++)
		buf_printf(&b, "%s%.*s", i ? ":" : "", STR_ARG(t->attach->parts.v[i]));
	text = arena_strdup(t->arena, buf_text(&b));
	buf_free(&b);
	return text;
}

void targets_event(struct targets *t)
{
	const char *form = whole(t), *dollar = strchr(form, '$'), *name;
	char *end;
	unsigned long n;

	if (!dollar) {
		expand_value(t, form, form, "event", 1);
		return;
	}
	name = arena_strndup(t->arena, dollar + 1, strcspn(dollar + 1, "/:"));
	n = strtoul(name, &end, 10);
	if (strcmp(name, "@") == 0)
		expand_params(t, form, 0, t->script->request.n_params);
	else if (*end)
		expand_options(t, form, name);
	else if (n && n <= t->script->request.n_params)
		expand_params(t, form, (u32)n - 1, (u32)n);
	else
		diag_error(t->diags, t->attach->loc,
		           "positional parameter $%lu, an event, is not given on the command line",
		           n);
}
