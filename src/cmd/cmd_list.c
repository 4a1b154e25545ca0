/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Listing probes. The one idea: a pattern is compiled as the head of a script and expanded by
 * the code that expands scripts, so that what is listed is what can be attached, by the same
 * name. Only the perf counters, which scripts name one by one, have a list of their own.
 */
#include "cmd/cmd_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/glob.h"
#include "ctext/c_type.h"
#include "cmd/say.h"
#include "lang/type/debug_type.h"
#include "elf/elf.h"
#include "lang/type/uargs.h"

struct list {
	struct world *w;
	struct request request; /* pid, unsafe, lists */
	struct buf out;
	const char *filter; /* glob over whole names, NULL none */
	bool verbose;
	bool found; /* anything was printed */
	bool told;  /* why nothing can be */
};

/* A kind of probe that can be listed. */
struct kind {
	const char *name, *short_name;
	enum attach_kind kind;
	u32 parts;      /* fewer are filled up with '*' */
	bool searched;  /* by patterns without a kind */
	bool any_group; /* one part that is a pattern is complete: "tracepoint:*name*" */
};

static const struct kind kinds[] = {
	{ "software", "s", ATTACH_SOFTWARE, 1, true, false },
	{ "hardware", "h", ATTACH_HARDWARE, 1, true, false },
	{ "tracepoint", "t", ATTACH_TRACEPOINT, 2, true, true },
	{ "rawtracepoint", "rt", ATTACH_RAWTP, 1, true, false },
	{ "btftracepoint", "tp_btf", ATTACH_TPBTF, 1, false, false },
	{ "kprobe", "k", ATTACH_KPROBE, 1, true, false },
	{ "kretprobe", "kr", ATTACH_KRETPROBE, 1, false, false },
	{ "fentry", "f", ATTACH_FENTRY, 1, true, false },
	{ "kfunc", "kfunc", ATTACH_FENTRY, 1, false, false },
	{ "fexit", "fr", ATTACH_FEXIT, 1, false, false },
	{ "kretfunc", "kretfunc", ATTACH_FEXIT, 1, false, false },
	{ "uprobe", "u", ATTACH_UPROBE, 2, false, false },
	{ "uretprobe", "ur", ATTACH_URETPROBE, 2, false, false },
	{ "usdt", "U", ATTACH_USDT, 2, false, false },
	{ "iter", "it", ATTACH_ITER, 1, true, false },
	{ "interval", "i", ATTACH_INTERVAL, 1, false, false },
	{ "profile", "p", ATTACH_PROFILE, 1, false, false },
};

static const struct kind *kind_find(struct str name)
{
	for (u32 i = 0; i < ARRAY_SIZE(kinds); i++)
		if (str_is_any_case(name, kinds[i].name) || str_is(name, kinds[i].short_name))
			return &kinds[i];
	return NULL;
}

/* ---- one probe ------------------------------------------------------------------------------ */

static void print_format(struct list *l, const struct tpformat *format)
{
	for (u32 i = 0; i < format->n_fields; i++) {
		const struct tpfield *f = &format->fields[i];

		if (f->common)
			continue;
		buf_printf(&l->out, "    %s %s", f->type, f->name);
		if (f->data_loc || f->rel_loc)
			buf_puts(&l->out, "[]");
		else if (f->count)
			buf_printf(&l->out, "[%u]", f->count);
		buf_putc(&l->out, '\n');
	}
}

static void print_proto(struct list *l, const struct variant *v)
{
	struct btf_info proto;
	struct btf_arg arg;
	bool variadic;
	u32 n;
	struct err e = { 0 };
	struct btf *btf = v->proto_btf ? v->proto_btf : l->w->ops->btf(l->w, &e);

	if (!btf || !btf_proto(btf, v->proto, &proto, &n, &variadic))
		return;
	for (u32 i = v->proto_skip; i < n; i++) {
		if (!btf_arg(btf, &proto, i, &arg))
			return;
		buf_puts(&l->out, "    ");
		c_type_print(&l->out, btf, arg.type);
		buf_printf(&l->out, " %s\n", arg.name);
	}
	/* bpftrace lists it for fentry, too. */
	if ((attach_kind_has(v->kind, KIND_RETURN) || v->kind == ATTACH_FENTRY) && proto.type) {
		buf_puts(&l->out, "    ");
		c_type_print(&l->out, btf, proto.type);
		buf_puts(&l->out, " retval\n");
	}
}

/* A line: of the debug information of any program. */
static void declare(struct list *l, struct dwarf_file *dwarf, u32 type, const char *name)
{
	size_t from = l->out.n;

	buf_puts(&l->out, "    ");
	debug_type_declare(&l->out, dwarf, type, name);
	escape_from(&l->out, from, ESCAPE_LINES);
	buf_putc(&l->out, '\n');
}

static void print_uargs(struct list *l, const struct variant *v)
{
	const struct uargs *all = v->uargs;
	bool on_return = attach_kind_has(v->kind, KIND_RETURN);

	for (u32 i = 0; !on_return && i < all->n; i++) {
		if (!all->v[i].name[0])
			continue;
		declare(l, all->dwarf, all->v[i].die, all->v[i].name);
	}
	if (on_return && all->returns) {
		declare(l, all->dwarf, all->returns, "retval");
	}
}

static void print_arguments(struct list *l, const struct variant *v)
{
	if (v->format)
		print_format(l, v->format);
	if (v->proto)
		print_proto(l, v);
	if (v->uargs)
		print_uargs(l, v);
	for (u32 i = 0; i < v->n_usdt; i++)
		buf_printf(&l->out, "    %sint%u arg%u\n", v->usdt[i].is_signed ? "" : "u",
		           v->usdt[i].size * 8u, i);
}

/* A probe and the variant that knows its arguments. */
struct entry {
	const char *name;
	const struct variant *v;
};

static int by_name(const void *x, const void *y)
{
	const struct entry *a = x, *b = y;

	return strcmp(a->name, b->name);
}

static void flush(struct list *l)
{
	l->found |= l->out.n > 0;
	say_output(&l->out);
	buf_reset(&l->out);
}

/* All sites of the script by name, each name once. */
static void print_sites(struct list *l, const struct script *s)
{
	VEC(struct entry) all = { 0 };

	for (const struct probe *p = s->probes; p; p = p->next)
		for (u32 i = 0; i < p->variants.n; i++) {
			const struct variant *v = p->variants.v[i];

			for (u32 k = 0; k < v->sites.n; k++) {
				struct entry e = { v->sites.v[k].name, v };

				if (!l->filter || glob_match(str_of(l->filter), str_of(e.name)))
					vec_add(s->arena, &all, e);
			}
		}
	if (all.n)
		qsort(all.v, all.n, sizeof(*all.v), by_name);
	for (u32 i = 0; i < all.n; i++) {
		if (i && strcmp(all.v[i].name, all.v[i - 1].name) == 0)
			continue;
		escape_add(&l->out, str_of(all.v[i].name), ESCAPE_LINES);
		buf_putc(&l->out, '\n');
		if (l->verbose)
			print_arguments(l, all.v[i].v);
	}
	flush(l);
}

/* ---- a pattern ------------------------------------------------------------------------------ */

/* Events of counters and units of clocks. */
static void list_names(struct list *l, const struct kind *k, const char *glob)
{
	const char *event;

	for (u32 i = 0; (event = targets_event_name(k->kind, i)); i++) {
		struct buf name = { 0 };

		buf_printf(&name, "%s:%s:", k->name, event);
		if (glob_match(str_of(glob), str_of(event)) &&
		    (!l->filter || glob_match(str_of(l->filter), str_of(buf_text(&name)))))
			buf_printf(&l->out, "%s\n", buf_text(&name));
		buf_free(&name);
	}
}

/* Nothing found is an empty list; anything else wrong is an error beside that one. */
static bool only_missing(const struct diags *d)
{
	for (u32 i = 0; i < d->list.n; i++)
		if (d->list.v[i].level == DIAG_ERROR &&
		    strcmp(d->list.v[i].text, "No probes to attach") != 0)
			return false;
	return true;
}

/* Why there are no probes of that kind, without the script that was made of the pattern. */
static void tell_why(struct list *l, const struct diags *d)
{
	for (u32 i = 0; !l->found && i < d->list.n; i++)
		if (d->list.v[i].level == DIAG_WARNING) {
			say_warning(d->list.v[i].text);
			l->told = true;
		}
}

/* Expands "PATTERN { body }". The body only says how much to find out about each probe: one that
 * uses arguments keeps those of every probe apart. */
static bool expand(struct list *l, const char *pattern, bool complain)
{
	struct job j;
	bool ok;

	job_init(&j, l->w);
	j.source.name = "-l";
	j.source.text = arena_printf(&j.arena, "%s %s", pattern,
	                             l->verbose ? "{ args; arg255 }" : "{ }");
	j.source.n = (u32)strlen(j.source.text);
	j.script.request = l->request;
	ok = parse_script(&j.script, &j.diags) && config_read(&j.config, &j.script, &j.diags);
	j.config.missing_probes = MISSING_WARN;
	j.config.max_probes = CONFIG_PROBES_MAX;
	if (ok && !targets_expand(&j.script, &j.config, l->w, &j.diags))
		ok = only_missing(&j.diags);
	print_sites(l, &j.script);
	if (complain && ok)
		tell_why(l, &j.diags);
	else if (complain)
		say_diags(&j.diags, true);
	job_free(&j);
	return ok;
}

/* "kind" or "kind:parts" with missing parts filled up. */
static bool list_kind(struct list *l, const struct kind *k, const char *rest, bool complain)
{
	struct buf pattern = { 0 };
	u32 parts = 0;
	bool ok = true;

	if (targets_event_name(k->kind, 0)) {
		struct str after, event = str_cut(str_of(rest), ':', &after);
		struct buf glob = { 0 };

		buf_add(&glob, event.p, event.n);
		list_names(l, k, *buf_text(&glob) ? buf_text(&glob) : "*");
		buf_free(&glob);
		flush(l);
		return true;
	}
	buf_puts(&pattern, k->name);
	if (*rest) {
		buf_printf(&pattern, ":%s", rest);
		parts = 1;
	}
	for (const char *p = rest; *p; p++)
		parts += *p == ':';
	if (parts && rest[strlen(rest) - 1] == ':')
		buf_putc(&pattern, '*');
	if (k->any_group && glob_is(str_of(rest)))
		parts = k->parts;
	for (; parts < k->parts; parts++)
		buf_puts(&pattern, ":*");
	ok = expand(l, buf_text(&pattern), complain);
	buf_free(&pattern);
	return ok;
}

/* All kinds that can be listed without naming a file, by a glob over whole names. */
static void search(struct list *l, const char *pattern)
{
	struct buf filter = { 0 };

	if (glob_is(str_of(pattern)) || strchr(pattern, ':'))
		buf_puts(&filter, pattern);
	else
		buf_printf(&filter, "*%s*", pattern);
	l->filter = buf_text(&filter);
	for (u32 i = 0; i < ARRAY_SIZE(kinds); i++)
		if (kinds[i].searched)
			list_kind(l, &kinds[i], "", false);
	buf_free(&filter);
}

static bool is_type(const char *pattern)
{
	return strncmp(pattern, "struct ", 7) == 0 || strncmp(pattern, "union ", 6) == 0 ||
	       strncmp(pattern, "enum ", 5) == 0;
}

struct types {
	struct list *l;
	struct btf *btf;
	const char *word; /* "struct" */
};

static bool type_found(void *ctx, u32 id, const char *name)
{
	struct types *t = ctx;
	struct buf full = { 0 };

	(void)id;
	buf_printf(&full, "%s %s", t->word, name);
	if (t->l->verbose)
		c_type_define(&t->l->out, t->btf, buf_text(&full));
	else
		buf_printf(&t->l->out, "%s\n", buf_text(&full));
	buf_free(&full);
	return true;
}

/* "struct NAME" is its definition, "struct PATTERN" the names. */
static bool list_type(struct list *l, const char *name)
{
	static const struct {
		const char *word;
		u32 kinds[2]; /* 0 no more */
	} words[] = {
		{ "struct", { BTF_KIND_STRUCT } },
		{ "union", { BTF_KIND_UNION } },
		{ "enum", { BTF_KIND_ENUM, BTF_KIND_ENUM64 } },
	};
	struct str glob, word = str_cut(str_of(name), ' ', &glob);
	struct err e = { 0 };
	struct types t = { .l = l, .btf = l->w->ops->btf(l->w, &e) };

	if (!t.btf) {
		say_error(&e);
		return false;
	}
	if (!glob_is(glob))
		c_type_define(&l->out, t.btf, name);
	for (u32 i = 0; glob_is(glob) && i < ARRAY_SIZE(words); i++)
		for (u32 k = 0; str_is(word, words[i].word) && k < 2 && words[i].kinds[k]; k++) {
			t.word = words[i].word;
			btf_each(t.btf, words[i].kinds[k], glob.p, type_found, &t);
		}
	flush(l);
	return true;
}

/* ---- a program ------------------------------------------------------------------------------ */

bool cmd_list_is_program(const char *path)
{
	struct err e;
	struct elf *f = strchr(path, '/') ? elf_open(path, &e) : NULL;

	elf_close(f);
	return f;
}

/* Functions and static probes of a program, of kinds whose names match. */
static void list_program(struct list *l, struct str kinds_glob, const char *path, const char *rest)
{
	static const char *const kinds_of_files[] = { "uprobe", "usdt" };
	struct buf pattern = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(kinds_of_files); i++) {
		buf_reset(&pattern);
		buf_printf(&pattern, "%s:\"%s\":%s", kinds_of_files[i], path, rest);
		if (glob_match(kinds_glob, str_of(kinds_of_files[i])))
			expand(l, buf_text(&pattern), false);
	}
	buf_free(&pattern);
}

/* "*:PATH:*": true when what stands after a pattern for kinds is about a file. */
static bool list_in_file(struct list *l, struct str kinds_glob, struct str rest)
{
	struct str name, path = str_cut(rest, ':', &name);
	struct buf file = { 0 }, names = { 0 };
	bool found = memchr(path.p, '/', path.n) != NULL;

	buf_add(&file, path.p, path.n);
	if (name.p)
		buf_add(&names, name.p, name.n);
	if (found)
		list_program(l, kinds_glob, buf_text(&file), names.n ? buf_text(&names) : "*");
	buf_free(&file);
	buf_free(&names);
	return found;
}

/* All there is; of a process its functions and static probes too. */
static void list_all(struct list *l)
{
	search(l, "*");
	l->filter = NULL;
	if (l->request.pid)
		list_program(l, STR("*"), "*", "*");
}

static bool list_one(struct list *l, const char *pattern)
{
	struct str rest, head = str_cut(str_of(pattern), ':', &rest);
	const struct kind *k = kind_find(head);

	if (is_type(pattern))
		return list_type(l, pattern);
	if (k)
		return list_kind(l, k, rest.p ? rest.p : "", true);
	if (rest.p && !glob_is(head))
		return expand(l, pattern, true);
	if (!rest.p || !list_in_file(l, head, rest))
		search(l, pattern);
	return true;
}

/* The first of several with ',' between them; quotes and brackets keep one. */
static size_t first_pattern(const char *text)
{
	bool quoted = false;
	u32 open = 0;
	size_t n = 0;

	for (; text[n] && (text[n] != ',' || quoted || open); n++) {
		quoted ^= text[n] == '"';
		open += text[n] == '(' || text[n] == '[';
		open -= (text[n] == ')' || text[n] == ']') && open;
	}
	return n;
}

static bool list_each(struct list *l, const char *patterns)
{
	bool ok = true;

	while (*patterns) {
		size_t n = first_pattern(patterns);
		struct buf one = { 0 };

		buf_add(&one, patterns, n);
		if (n)
			ok &= list_one(l, buf_text(&one));
		l->filter = NULL;
		buf_free(&one);
		patterns += n + (patterns[n] == ',');
		patterns += strspn(patterns, " ");
	}
	return ok;
}

int cmd_list_pattern(struct world *w, const char *pattern, const struct request *r, bool verbose)
{
	struct list l = { .w = w, .request = *r, .verbose = verbose };
	bool ok = true;

	if (!pattern)
		list_all(&l);
	else if (cmd_list_is_program(pattern))
		list_program(&l, STR("*"), pattern, "*");
	else
		ok = list_each(&l, pattern);
	if (ok && !l.found && !l.told)
		say_warning("no probes match");
	buf_free(&l.out);
	return ok ? 0 : 1;
}

void cmd_list_script(const struct job *j, bool verbose)
{
	struct list l = { .w = j->world, .verbose = verbose };

	print_sites(&l, &j->script);
	buf_free(&l.out);
}
