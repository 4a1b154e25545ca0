/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Attach points -> the places a program is attached to.
 *
 * The one idea: a probe type is a row of a table with a function that turns the parts of an
 * attach point into sites, and sites go into variants. A variant is one way to compile the body,
 * so sites share one as long as the body can not tell them apart; how many programs a script
 * becomes is decided here and nowhere else.
 *
 * Nothing is attached here, and what the body means is not looked at beyond which arguments it
 * mentions.
 */
#include "lang/probe/targets.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "lang/parse/event_body.h"

#define COUNTED_MAX 100000u /* probes over the limit are counted so far */

#define ROWS(full, short_name, kind, min, max, form, expand, help)                                 \
	{ full, full, kind, min, max, form, expand, help },                                        \
	{                                                                                          \
		short_name, full, kind, min, max, form, expand, NULL                               \
	}
#define ALIAS(name, full, kind, min, max, form, expand)                                            \
	{                                                                                          \
		name, full, kind, min, max, form, expand, NULL                                     \
	}
#define NAMED(name, full, kind, min, max, form, expand, help)                                      \
	{                                                                                          \
		name, full, kind, min, max, form, expand, help                                     \
	}
#define MISSING(name, short_name)                                                                  \
	ALIAS(name, name, ATTACH_BEGIN, 0, 255, NULL, NULL),                                       \
		ALIAS(short_name, name, ATTACH_BEGIN, 0, 255, NULL, NULL)

static const struct provider providers[] = {
	NAMED("BEGIN", "BEGIN", ATTACH_BEGIN, 0, 1, "BEGIN", targets_block,
	      "once, before the first event"),
	NAMED("END", "END", ATTACH_END, 0, 1, "END", targets_block, "once, after the last event"),
	ROWS("uprobe", "u", ATTACH_UPROBE, 2, 3, "uprobe:PATH:FUNCTION[+OFFSET]", targets_uprobe,
	     "a function of a program or library is entered"),
	ROWS("uretprobe", "ur", ATTACH_URETPROBE, 2, 3, "uretprobe:PATH:FUNCTION", targets_uprobe,
	     "a function of a program or library returns"),
	ROWS("usdt", "U", ATTACH_USDT, 1, 3, "usdt:PATH:[PROVIDER:]NAME", targets_usdt,
	     "a static probe in a program"),
	ROWS("tracepoint", "t", ATTACH_TRACEPOINT, 2, 2, "tracepoint:GROUP:EVENT",
	     targets_tracepoint, "an event of the kernel, with its fields in args"),
	ROWS("rawtracepoint", "rt", ATTACH_RAWTP, 1, 2, "rawtracepoint:EVENT", targets_rawtp,
	     "the same events with what the kernel passes to them"),
	ROWS("btftracepoint", "tp_btf", ATTACH_TPBTF, 1, 2, "btftracepoint:EVENT", targets_rawtp,
	     "the same, with the names and types of the kernel's BTF"),
	ROWS("kprobe", "k", ATTACH_KPROBE, 1, 2, "kprobe:[MODULE:]FUNCTION[+OFFSET]",
	     targets_kprobe, "a function of the kernel is entered"),
	ROWS("kretprobe", "kr", ATTACH_KRETPROBE, 1, 2, "kretprobe:[MODULE:]FUNCTION",
	     targets_kprobe, "a function of the kernel returns"),
	ROWS("fentry", "f", ATTACH_FENTRY, 1, 3, "fentry:[MODULE:]FUNCTION", targets_fentry,
	     "a function of the kernel is entered, with typed arguments"),
	ALIAS("kfunc", "fentry", ATTACH_FENTRY, 1, 3, "fentry:[MODULE:]FUNCTION", targets_fentry),
	ROWS("fexit", "fr", ATTACH_FEXIT, 1, 3, "fexit:[MODULE:]FUNCTION", targets_fentry,
	     "a function of the kernel returns, with arguments and result"),
	ALIAS("kretfunc", "fexit", ATTACH_FEXIT, 1, 3, "fexit:[MODULE:]FUNCTION", targets_fentry),
	ROWS("software", "s", ATTACH_SOFTWARE, 1, 2, "software:EVENT:[COUNT]", targets_counter,
	     "each COUNT-th event of a counter that the kernel keeps"),
	ROWS("hardware", "h", ATTACH_HARDWARE, 1, 2, "hardware:EVENT:[COUNT]", targets_counter,
	     "each COUNT-th event of a counter of the processor"),
	ROWS("interval", "i", ATTACH_INTERVAL, 1, 2, "interval:s:N", targets_clock,
	     "every so often, on one processor"),
	ROWS("profile", "p", ATTACH_PROFILE, 1, 2, "profile:hz:N", targets_clock,
	     "so many times a second, on every processor"),
	ROWS("watchpoint", "w", ATTACH_WATCHPOINT, 3, 3, "watchpoint:ADDRESS:LENGTH:MODE",
	     targets_watchpoint, "memory at an address is read, written or executed"),
	ALIAS("asyncwatchpoint", "watchpoint", ATTACH_WATCHPOINT, 3, 3,
	      "watchpoint:ADDRESS:LENGTH:MODE", targets_watchpoint),
	ALIAS("aw", "watchpoint", ATTACH_WATCHPOINT, 3, 3, "watchpoint:ADDRESS:LENGTH:MODE",
	      targets_watchpoint),
	ROWS("iter", "it", ATTACH_ITER, 1, 2, "iter:OBJECT[:PIN]", targets_iter,
	     "once for each object of a kind that the kernel has"),
	NAMED("ingress", "ingress", ATTACH_INGRESS, 1, 1, "ingress:CGROUP", targets_packets,
	      "a packet comes in for a process of a control group"),
	NAMED("egress", "egress", ATTACH_EGRESS, 1, 1, "egress:CGROUP", targets_packets,
	      "a process of a control group sends a packet"),
	NAMED("self", "self", ATTACH_SELF, 2, 2, "self:signal:SIGUSR1", targets_self,
	      "memtap itself gets a signal"),
	NAMED("event", "event", ATTACH_BEGIN, 1, 255, "event:$1", targets_event,
	      "the probe that the user names after the script"),
	MISSING("bench", "bench"),
	NAMED("test", "test", ATTACH_TEST, 1, 1, "test:NAME", targets_test, "run by --test alone"),
};

bool probe_row(u32 i, struct help_row *r)
{
	if (i < ARRAY_SIZE(providers))
		*r = (struct help_row){ providers[i].name, providers[i].form, providers[i].help };
	return i < ARRAY_SIZE(providers);
}

static bool provider_is(const struct provider *p, struct str name)
{
	if (p->name == p->full && strlen(p->name) > 1)
		return str_is_any_case(name, p->name);
	return str_is(name, p->name);
}

static const struct provider *provider_find(struct str name)
{
	for (size_t i = 0; i < ARRAY_SIZE(providers); i++)
		if (provider_is(&providers[i], name))
			return &providers[i];
	return NULL;
}

static void provider_unknown(struct targets *t)
{
	struct str name = t->attach->provider;
	struct loc loc = { t->attach->loc.off, MIN(name.n, t->attach->loc.len) };
	struct near near;

	near_init(&near, arena_strndup(t->arena, name.p, name.n));
	for (size_t i = 0; i < ARRAY_SIZE(providers); i++)
		if (providers[i].expand && strlen(providers[i].name) > 2)
			near_offer(&near, providers[i].name);
	diag_error(t->diags, loc, "Unknown probe type: '%.*s'", STR_ARG(name));
	if (near_best(&near))
		diag_hint(t->diags, "did you mean '%s'?", near_best(&near));
}

struct loc targets_loc(const struct targets *t, u32 i)
{
	return i < t->attach->part_locs.n ? t->attach->part_locs.v[i] : t->attach->loc;
}

void targets_failed(struct targets *t, u32 i, const struct err *e)
{
	if (t->script->request.only_checks && (e->code == EACCES || e->code == EPERM)) {
		t->n_unchecked++;
		diag_warn(t->diags, targets_loc(t, i), "this probe is not checked: %s", e->text);
		return;
	}
	diag_error(t->diags, targets_loc(t, i), "%s", e->text);
	if (e->hint[0])
		diag_hint(t->diags, "%s", e->hint);
}

void targets_no_file(struct targets *t, const struct err *e)
{
	if (e->code == ENOENT)
		targets_absent(t, 0, e->hint[0] ? e->hint : NULL, "%s", e->text);
	else
		targets_failed(t, 0, e);
}

void targets_absent(struct targets *t, u32 i, const char *hint, const char *fmt, ...)
{
	struct loc loc = targets_loc(t, i);
	char text[1024];
	va_list ap;

	if (t->config->missing_probes == MISSING_IGNORE && !t->is_trial)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (!t->is_trial && t->config->missing_probes == MISSING_WARN)
		diag_warn(t->diags, loc, "%s", text);
	else
		diag_error(t->diags, loc, "%s", text);
	if (hint)
		diag_hint(t->diags, "%s", hint);
}

u32 targets_lacks(struct targets *t, enum attach_kind kind)
{
	u32 needs = attach_kind_needs(kind);
	const struct features *f = t->world->ops->features(t->world, needs);
	u32 has = (f->btf ? FEATURE_BTF : 0u) | (f->kprobe ? FEATURE_KPROBE : 0u) |
	          (f->fentry ? FEATURE_FENTRY : 0u);

	return needs & ~has;
}

/* A script that wants to hear nothing about single probes still hears about a whole kind. */
void targets_unsupported(struct targets *t, const char *hint, const char *text)
{
	if (t->config->missing_probes != MISSING_ERROR && !t->is_trial)
		diag_warn(t->diags, t->attach->loc, "%s", text);
	else
		diag_error(t->diags, t->attach->loc, "%s", text);
	diag_hint(t->diags, "%s", hint);
}

void targets_missing(struct targets *t, u32 i, const char *best, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	targets_absent(t, i, best ? arena_printf(t->arena, "did you mean %s?", best) : NULL, "%s",
	               text);
}

bool targets_room(const struct targets *t)
{
	return t->n_sites < t->config->max_probes;
}

bool targets_full(const struct targets *t)
{
	return t->n_sites > MAX(t->config->max_probes, COUNTED_MAX);
}

s32 targets_pid(const struct targets *t)
{
	return t->config->follow_at_once ? 0 : t->script->request.pid;
}

struct variant *targets_alone(struct targets *t)
{
	struct variant *v = arena_new(t->arena, struct variant);

	v->kind = t->provider->kind;
	vec_add(t->arena, &t->probe->variants, v);
	return v;
}

struct variant *targets_shared(struct targets *t)
{
	for (u32 i = t->first_variant; i < t->probe->variants.n; i++)
		if (t->probe->variants.v[i]->kind == t->provider->kind)
			return t->probe->variants.v[i];
	return targets_alone(t);
}

static bool is_pattern(const struct targets *t)
{
	for (u32 i = 0; i < t->n_parts; i++)
		if (glob_is(str_of(t->parts[i])))
			return true;
	return false;
}

/* What a regular expression of the user's is about: the last part. */
static bool is_unwanted(const struct targets *t, const char *rest)
{
	const char *colon = strrchr(rest, ':');

	return t->event && t->event->filter &&
	       regexec(t->event->filter, colon ? colon + 1 : rest, 0, NULL, 0) != 0;
}

/* --probe-filter leaves BEGIN and END. */
static bool is_filtered(const struct targets *t, const char *name)
{
	return t->script->request.probe_filter &&
	       !attach_kind_has(t->provider->kind, KIND_AROUND) &&
	       regexec(t->script->request.probe_filter, name, 0, NULL, 0) != 0;
}

/* "PROVIDER:rest"; BEGIN and END as the script writes them. */
static const char *whole_name(struct targets *t, const char *rest)
{
	struct str written = t->attach->provider;
	const char *full = t->provider->full;

	if (attach_kind_has(t->provider->kind, KIND_AROUND))
		return arena_strndup(t->arena, written.p, written.n);
	return *rest ? arena_join(t->arena, full, ':', rest) : full;
}

void targets_add(struct targets *t, struct variant *v, struct usite site, const char *rest)
{
	if (is_unwanted(t, rest))
		return;
	t->n_added++;
	if (!targets_room(t)) {
		t->n_sites++;
		return;
	}
	site.name = whole_name(t, rest);
	if (is_filtered(t, site.name))
		return;
	t->n_sites++;
	site.loc = t->attach->loc;
	site.optional = is_pattern(t);
	vec_add(t->arena, &v->sites, site);
}

bool targets_offset(struct targets *t, const char *text, const char **name, u64 *offset)
{
	const char *plus = strrchr(text, '+');
	char *end;

	*name = text;
	*offset = 0;
	if (!plus || plus == text)
		return true;
	*name = arena_strndup(t->arena, text, (size_t)(plus - text));
	errno = 0;
	*offset = strtoull(plus + 1, &end, 0);
	return plus[1] && !*end && !errno;
}

static const char *attach_text(const struct targets *t, const struct attach *a)
{
	return arena_strndup(t->arena, t->diags->source->text + a->loc.off, a->loc.len);
}

/* ---- parts with positional parameters and options ----------------------------------------- */

/* Appends the parameter at p ("$1..."); returns what follows it, NULL after an error or when it is
 * not given to a script that has options. */
static const char *put_param(struct targets *t, u32 i, struct buf *b, const char *p)
{
	char *end;
	unsigned long n = strtoul(p + 1, &end, 10);

	if (n > t->script->request.n_params && t->script->options.n) {
		/* Such a script has a command line; what it does not ask for is left out. */
		if (t->script->request.no_args) {
			buf_puts(b, "1");
			return end;
		}
		vec_add(t->arena, &t->script->notes,
		        arena_printf(t->arena, "%s: left out, $%lu is not given",
		                     attach_text(t, t->attach), n));
		return NULL;
	}
	if (n == 0 || n > t->script->request.n_params) {
		diag_error(t->diags, targets_loc(t, i),
		           "positional parameter $%lu is not given on the command line", n);
		return NULL;
	}
	buf_puts(b, t->script->request.params[n - 1]);
	return end;
}

/* "$name", when the script has such an option: its value, or its default. Anything else is part of
 * a path or of a symbol. */
static const char *put_option(struct targets *t, struct buf *b, const char *p)
{
	size_t n = 1;
	struct str name;
	const char *value = NULL;

	while (isalnum((unsigned char)p[n]) || p[n] == '_')
		n++;
	name = (struct str){ p + 1, (u32)n - 1 };
	for (u32 i = 0; i < t->script->options.n; i++)
		if (str_is(name, t->script->options.v[i].name))
			value = t->script->options.v[i].standard;
	for (u32 i = 0; value && i < t->script->request.n_options; i++)
		if (str_is(name, t->script->request.options[i].name) &&
		    t->script->request.options[i].value)
			value = t->script->request.options[i].value;
	if (value)
		buf_puts(b, value);
	else
		buf_add(b, p, n);
	return p + n;
}

/* `raw`, the i-th part, with what its "$" stand for; NULL after an error. */
static const char *expand_part(struct targets *t, struct str raw, u32 i)
{
	const char *p = arena_strndup(t->arena, raw.p, raw.n), *done = NULL;
	struct buf b = { 0 };

	if (!strchr(p, '$'))
		return p;
	while (p && *p) {
		if (p[0] == '$' && p[1] >= '0' && p[1] <= '9')
			p = put_param(t, i, &b, p);
		else if (p[0] == '$')
			p = put_option(t, &b, p);
		else
			buf_putc(&b, *p++);
	}
	if (p)
		done = arena_strdup(t->arena, buf_text(&b));
	buf_free(&b);
	return done;
}

static bool expand_parts(struct targets *t)
{
	t->n_parts = t->attach->parts.n;
	t->parts = arena_array(t->arena, const char *, t->n_parts + 1); /* any_group adds one */
	for (u32 i = 0; i < t->n_parts; i++) {
		t->parts[i] = expand_part(t, t->attach->parts.v[i], i);
		if (!t->parts[i])
			return false;
	}
	return true;
}

/* ---- one attach point ----------------------------------------------------------------------- */

static void wrong_parts(struct targets *t)
{
	const struct provider *p = t->provider;

	if (p->min_parts == p->max_parts)
		diag_error(t->diags, t->attach->loc, "%s takes %u part%s, not %u", p->full,
		           p->min_parts, p->min_parts == 1 ? "" : "s", t->n_parts);
	else
		diag_error(t->diags, t->attach->loc, "%s takes %u to %u parts, not %u", p->full,
		           p->min_parts, p->max_parts, t->n_parts);
	diag_hint(t->diags, "write it as %s", p->form);
}

bool targets_is_kind(struct str name)
{
	const struct provider *p = provider_find(name);

	return p && !attach_kind_has(p->kind, KIND_OWN | KIND_READ);
}

/* tracepoint:*name* is one of any group. */
static void any_group(struct targets *t)
{
	if (t->provider->kind != ATTACH_TRACEPOINT || t->n_parts != 1 ||
	    !glob_is(str_of(t->parts[0])))
		return;
	t->parts[1] = t->parts[0];
	t->parts[0] = "*";
	t->n_parts = 2;
}

/* A parameter may also be the start of an attach point, or all of it. */
static void take_parts(struct targets *t, struct attach *a, struct str text)
{
	struct attach whole = { .loc = a->loc };
	struct str rest, part = str_cut(text, ':', &rest);

	whole.provider = part;
	while (part.p + part.n < text.p + text.n) {
		part = str_cut(rest, ':', &rest);
		vec_add(t->arena, &whole.parts, part);
		vec_add(t->arena, &whole.part_locs, a->loc);
	}
	for (u32 i = 0; i < a->parts.n; i++) {
		vec_add(t->arena, &whole.parts, a->parts.v[i]);
		vec_add(t->arena, &whole.part_locs, a->part_locs.v[i]);
	}
	whole.next = a->next;
	whole.or_else = a->or_else;
	*a = whole;
}

/* The kind of probe may be a parameter too. */
static const struct provider *expand_provider(struct targets *t)
{
	struct attach *a = t->attach;
	const char *name;

	if (a->provider.n && a->provider.p[0] == '$') {
		name = expand_part(t, a->provider, a->parts.n);
		if (!name)
			return NULL;
		take_parts(t, a, str_of(name));
	}
	return provider_find(a->provider);
}

static void expand_attach(struct targets *t)
{
	u32 errors = t->diags->n_errors;
	const struct provider *p = expand_provider(t);

	t->provider = p;
	t->n_added = 0;
	if (t->diags->n_errors > errors)
		return;
	if (!p) {
		provider_unknown(t);
		return;
	}
	if (!p->expand) {
		diag_error(t->diags, t->attach->loc, "memtap has no '%s' probes", p->full);
		diag_hint(t->diags, "time a body with its probe: print(elapsed) in it, or memtap's "
		                    "-v and perf stat");
		return;
	}
	if (!expand_parts(t))
		return;
	/* A trailing ':' as in "software:faults:" gives an empty last part. */
	if (t->n_parts > p->min_parts && !t->parts[t->n_parts - 1][0])
		t->n_parts--;
	any_group(t);
	if (t->n_parts < p->min_parts || t->n_parts > p->max_parts) {
		wrong_parts(t);
		return;
	}
	p->expand(t);
}

/* ---- one of several: a || b || c ------------------------------------------------------------ */

/* What a trial may have to take back. */
struct before {
	u32 n_sites, n_variants;
	u32 *variant_sites;
};

static struct before trial_begin(struct targets *t)
{
	struct before b = { t->n_sites, t->probe->variants.n, NULL };

	b.variant_sites = arena_array(t->arena, u32, b.n_variants + 1);
	for (u32 i = 0; i < b.n_variants; i++)
		b.variant_sites[i] = t->probe->variants.v[i]->sites.n;
	return b;
}

static void trial_undo(struct targets *t, const struct before *b)
{
	t->n_sites = b->n_sites;
	t->probe->variants.n = b->n_variants;
	for (u32 i = 0; i < b->n_variants; i++)
		t->probe->variants.v[i]->sites.n = b->variant_sites[i];
}

void targets_attach(struct targets *t, struct attach *a)
{
	t->attach = a;
	expand_attach(t);
}

bool targets_try(struct targets *t, struct attach *a, bool stand_in, const char **why)
{
	struct diags trial = { .arena = t->arena, .source = t->diags->source };
	struct diags *diags = t->diags;
	struct before before = trial_begin(t);
	bool was_trial = t->is_trial, ok;

	t->attach = a;
	t->diags = &trial;
	t->is_trial = was_trial || !stand_in;
	expand_attach(t);
	t->is_trial = was_trial;
	t->diags = diags;
	ok = !trial.n_errors && t->n_added;
	for (u32 i = 0; ok && i < trial.list.n; i++)
		vec_add(diags->arena, &diags->list, trial.list.v[i]);
	if (!ok) {
		trial_undo(t, &before);
		*why = trial.list.n ? trial.list.v[0].text : "it has no places";
	}
	return ok;
}

/* "a || none": without a, the block is left out. */
static bool is_none(const struct attach *a)
{
	return !a->or_else && !a->parts.n && str_is(a->provider, "none");
}

static void expand_choice(struct targets *t, struct attach *first)
{
	struct buf reasons = { 0 };
	const char *why = NULL;
	struct attach *a;

	for (a = first; a && !is_none(a) && !targets_try(t, a, false, &why); a = a->or_else) {
		const char *note = arena_printf(t->arena, "%s: %s", attach_text(t, a), why);

		vec_add(t->arena, &t->script->notes, note);
		buf_printf(&reasons, "%s%s", reasons.n ? "; " : "", note);
	}
	if (a) {
		const char *note = arena_printf(t->arena, "%s: %s", attach_text(t, a),
		                                is_none(a) ? "the block is left out" : "taken");

		vec_add(t->arena, &t->script->notes, note);
	} else {
		struct attach *all = arena_new(t->arena, struct attach);

		*all = *first;
		for (a = first; a->or_else;)
			a = a->or_else;
		all->loc.len = a->loc.off + a->loc.len - all->loc.off;
		t->attach = all;
		targets_absent(t, UINT32_MAX, buf_text(&reasons),
		               "none of these probes is available");
	}
	buf_free(&reasons);
}

/* ---- one probe, the script ------------------------------------------------------------------ */

/* The value whose part or target n is, NULL when n is neither. */
static const struct node *part_of(const struct node *n)
{
	switch (n->kind) {
	case NODE_FIELD:
		return n->field.e;
	case NODE_INDEX:
		return n->index.e;
	case NODE_UNARY:
		return n->unary.op == OP_DEREF ? n->unary.e : NULL;
	default:
		return NULL;
	}
}

static bool note_use(void *ctx, struct node *n)
{
	struct targets *t = ctx;
	const struct node *whole = part_of(n);

	if (whole && whole->kind == NODE_BUILTIN && whole->builtin.b &&
	    whole->builtin.b->id == BUILTIN_RETVAL)
		t->uses_result = true;

	if (n->kind == NODE_CALL && n->call.f)
		t->uses_kstack |= n->call.f->id == FUNC_KSTACK || n->call.f->id == FUNC_STACK;
	if (n->kind != NODE_BUILTIN || !n->builtin.b)
		return true;
	t->uses_kstack |= n->builtin.b->id == BUILTIN_KSTACK || n->builtin.b->id == BUILTIN_STACK;
	t->uses_probe |= n->builtin.b->id == BUILTIN_PROBE;
	if (n->builtin.b->id == BUILTIN_ARGS)
		t->uses_args = true;
	if (n->builtin.b->id == BUILTIN_ARG)
		t->n_args_used = MAX(t->n_args_used, n->builtin.n + 1);
	return true;
}

void targets_note_uses(struct targets *t, struct probe *p)
{
	t->uses_args = t->uses_result = t->uses_kstack = t->uses_probe = false;
	t->n_args_used = 0;
	if (p->pred)
		ast_walk(p->pred, note_use, t);
	ast_walk(p->body, note_use, t);
}

/* A program for each place, whose name is a constant there. */
static void split_sites(struct targets *t, struct probe *p)
{
	for (u32 i = 0, n = p->variants.n; i < n; i++) {
		struct variant *v = p->variants.v[i];

		for (u32 k = 1; k < v->sites.n; k++) {
			struct variant *one = arena_new(t->arena, struct variant);

			*one = *v;
			memset(&one->sites, 0, sizeof(one->sites));
			vec_add(t->arena, &one->sites, v->sites.v[k]);
			vec_add(t->arena, &p->variants, one);
		}
		v->sites.n = MIN(v->sites.n, 1u);
	}
}

/* Each variant is typed by itself and so needs a body of its own. The first takes the probe's,
 * which nobody asks for any more, but for who prints the tree as it was written. */
static void give_bodies(struct targets *t, const struct probe *p)
{
	bool taken = t->script->keeps_trees;

	for (u32 i = 0; i < p->variants.n; i++) {
		struct variant *v = p->variants.v[i];

		if (v->body)
			continue;
		v->pred = taken ? ast_copy(ast_arena(t->script), p->pred) : p->pred;
		v->body = taken ? ast_copy(ast_arena(t->script), p->body) : p->body;
		taken = true;
	}
}

static void expand_probe(struct targets *t, struct probe *p)
{
	struct attach *attaches = p->attaches;

	t->probe = p;
	t->first_variant = 0;
	event_body_unroll(t->script, p, t->diags);
	targets_note_uses(t, p);
	if (p->pred && predicate_rules_out(&t->script->request, p->pred)) {
		struct variant *off = arena_new(t->arena, struct variant);

		off->ruled_out = true;
		vec_add(t->arena, &p->variants, off);
		attaches = NULL;
	}
	for (struct attach *a = attaches; a; a = a->next) {
		t->attach = a;
		if (a->or_else)
			expand_choice(t, a);
		else
			expand_attach(t);
	}
	if (t->script->probe_is_text && t->uses_probe)
		split_sites(t, p);
	give_bodies(t, p);
}

static void check_limit(struct targets *t, struct loc where)
{
	if (t->n_sites <= t->config->max_probes)
		return;
	diag_error(t->diags, where, "the script has %s%u probes, more than the limit of %u",
	           targets_full(t) ? "at least " : "", t->n_sites, t->config->max_probes);
	if (targets_full(t))
		diag_hint(t->diags, "narrow the wildcards");
	else
		diag_hint(t->diags, "narrow the wildcards, or write config = { max_probes = %u; }",
		          t->n_sites);
}

bool targets_expand(struct script *s, const struct config *c, struct world *w, struct diags *d)
{
	struct targets t = {
		.arena = s->arena,
		.script = s,
		.config = c,
		.world = w,
		.diags = d,
	};
	u32 errors = d->n_errors;
	struct loc over = { 0, 0 };
	bool found = false;

	s->probe_is_text = targets_probe_is_text(s);
	for (struct probe *p = s->probes; p; p = p->next) {
		bool had_room = t.n_sites <= c->max_probes;

		expand_probe(&t, p);
		if (had_room && t.n_sites > c->max_probes)
			over = p->loc;
	}
	check_limit(&t, over);
	if (d->n_errors == errors && !s->request.exact_sites && !s->request.only_checks)
		targets_site(&t);
	if (d->n_errors == errors && !s->request.unsafe && !s->request.only_checks)
		targets_refuse(&t);
	targets_archives(&t);
	found = t.n_sites > 0 || t.n_unchecked > 0;
	if (!found && d->n_errors == errors)
		diag_error(d, s->probes ? s->probes->loc : (struct loc){ 0, 0 },
		           "No probes to attach");
	return d->n_errors == errors;
}

bool targets_has(struct script *in, const struct config *c, struct world *w, const char *text,
                 const char **problem)
{
	struct arena *a = in->arena;
	struct source source = { .name = "has_probe", .text = arena_printf(a, "%s { }", text) };
	struct script s = { .arena = a, .source = &source, .request = in->request };
	struct diags d = { .arena = a, .source = &source };
	struct targets t = {
		.arena = a, .script = &s, .config = c, .world = w, .diags = &d, .is_trial = true
	};

	source.n = (u32)strlen(source.text);
	if (!parse_script(&s, &d)) {
		*problem = d.list.v[0].text;
		return false;
	}
	s.options.v = in->options.v;
	s.options.n = in->options.n;
	t.probe = s.probes;
	t.attach = s.probes->attaches;
	if (t.attach->or_else || t.attach->next || s.probes->next) {
		*problem = "only one";
		return false;
	}
	expand_attach(&t);
	return !d.n_errors && t.n_added;
}
