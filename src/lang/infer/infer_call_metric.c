/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * metric(@map, "name", "help", "unit", "label", ...): a declaration, wherever it stands. Names are
 * as Prometheus and OpenMetrics have them. Looked at in the last pass, when the key of the map is
 * known; no code is made of it.
 */
#include "lang/infer/infer.h"

#include <ctype.h>
#include <string.h>

/* Letters, digits, underscores, no digit first; two underscores first are the readers' own. */
static bool is_name(const char *s)
{
	if (!*s || isdigit((u8)*s) || strncmp(s, "__", 2) == 0)
		return false;
	while (isalnum((u8)*s) || *s == '_')
		s++;
	return !*s;
}

/* Words with which samples of a family end, or labels that mean something here. */
static bool is_taken(const char *label)
{
	static const char *const taken[] = { "le",        "quantile", "other",     "collector",
		                             "container", "pod",      "namespace", "unit" };

	for (u32 i = 0; i < ARRAY_SIZE(taken); i++)
		if (strcmp(label, taken[i]) == 0)
			return true;
	return false;
}

static bool is_help(const char *s)
{
	while ((u8)*s >= ' ')
		s++;
	return !*s;
}

/* Argument i, a literal; "" when it is not there, NULL after an error. */
static const char *argument(struct infer *in, struct node *n, u32 i)
{
	return i < n->call.n_args ? infer_literal(in, n, i) : "";
}

static const char *name_of(struct infer *in, struct node *n)
{
	const char *name = argument(in, n, 1);

	if (name && !is_name(name)) {
		infer_error(in, infer_arg(n, 1)->loc, "'%s' is no name of a metric", name);
		infer_hint(in, "letters, digits and underscores, no digit first, as in \"reads\"");
		return NULL;
	}
	return name;
}

static const char *unit_of(struct infer *in, struct node *n)
{
	const char *unit = argument(in, n, 3);

	if (!unit || !*unit || is_name(unit))
		return unit;
	infer_error(in, infer_arg(n, 3)->loc, "'%s' is no unit", unit);
	infer_hint(in, "\"bytes\", \"seconds\"; \"ns\", \"us\" and \"ms\" become seconds");
	return NULL;
}

static void check_label(struct infer *in, struct node *n, const char *const *labels, u32 i)
{
	const struct node *a = infer_arg(n, 4 + i);

	if (!is_name(labels[i]))
		infer_error(in, a->loc, "'%s' is no name of a label", labels[i]);
	else if (is_taken(labels[i]))
		infer_error(in, a->loc, "the label '%s' means something else", labels[i]);
	else
		for (u32 k = 0; k < i; k++)
			if (strcmp(labels[k], labels[i]) == 0)
				infer_error(in, a->loc, "the label '%s' is there twice", labels[i]);
}

/* All parts of the key, or none. */
static bool read_labels(struct infer *in, struct node *n, const struct type *key,
                        struct umetric *metric)
{
	u32 n_labels = n->call.n_args > 4 ? n->call.n_args - 4 : 0;
	u32 parts = !key ? 0 : key->kind == TYPE_TUPLE ? key->n_fields : 1;
	const char **labels = arena_array(in->arena, const char *, n_labels);

	if (!n_labels)
		return true;
	if (n_labels != parts) {
		infer_error(in, infer_arg(n, 4)->loc,
		            "metric() names %u labels, and the key has %u parts", n_labels, parts);
		return false;
	}
	for (u32 i = 0; i < n_labels; i++) {
		labels[i] = infer_literal(in, n, 4 + i);
		if (!labels[i])
			return false;
		check_label(in, n, labels, i);
	}
	metric->labels = labels;
	return true;
}

static bool is_first(struct infer *in, const struct node *n, const struct map_sym *sym,
                     const char *name)
{
	if (sym->metric && sym->declared.off != n->loc.off) {
		infer_error(in, n->loc, "metric() of %s is there twice", sym->name);
		return false;
	}
	for (u32 i = 0; i < in->script->maps.n; i++) {
		const struct map_sym *other = in->script->maps.v[i];

		if (other == sym || !other->metric || strcmp(other->metric->name, name) != 0)
			continue;
		infer_error(in, n->loc, "%s is the metric '%s' already", other->name, name);
		return false;
	}
	return true;
}

static void declare(struct infer *in, struct node *n, struct map_sym *sym)
{
	struct umetric *metric = arena_new(in->arena, struct umetric);

	metric->name = name_of(in, n);
	metric->help = argument(in, n, 2);
	metric->unit = unit_of(in, n);
	if (metric->help && !is_help(metric->help))
		infer_error(in, infer_arg(n, 2)->loc, "the help of a metric is one line");
	if (!metric->name || !metric->help || !metric->unit ||
	    !is_first(in, n, sym, metric->name) || !read_labels(in, n, sym->key, metric))
		return;
	sym->metric = metric;
	sym->declared = n->loc;
}

const struct type *infer_call_metric(struct infer *in, struct node *n)
{
	struct map_info *m = infer_map_whole(in, n->call.args);

	if (!m)
		return infer_error(in, n->call.args->loc, "metric() needs a map without a key");
	if (!in->final)
		return &type_none;
	if (!m->assigned)
		return infer_undefined_map(in, n->call.args, m);
	if (!in->dead)
		declare(in, n, m->sym);
	infer_set_int(n, 0, &type_s64);
	return &type_none;
}
