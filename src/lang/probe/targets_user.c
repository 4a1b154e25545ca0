/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Functions of programs and libraries: uprobe and uretprobe.
 *
 * The one idea: what a probe needs is a file and an offset in it. Symbols, offsets into them and
 * addresses all become that, and two names of one offset become one probe. Also here: which
 * files a path part means, for usdt too.
 */
#include "lang/probe/targets.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "base/hmap.h"
#include "elf/site.h"
#include "lang/type/uargs.h"

/* ---- files ---------------------------------------------------------------------------------- */

struct files {
	struct targets *t;
	struct str glob;
	void (*cb)(struct targets *t, const char *path, void *ctx);
	void *ctx;
	u32 n;
};

/* What a process calls "/usr/lib/x" may be "/proc/PID/root/usr/lib/x" here; a pattern without '/'
 * is about the last part. */
static bool file_matches(const struct files *f, const char *path)
{
	const char *own = strncmp(path, "/proc/", 6) == 0 ? strstr(path, "/root/") : NULL;
	const char *slash = strrchr(path, '/');

	if (glob_match(f->glob, str_of(path)) || (own && glob_match(f->glob, str_of(own + 5))))
		return true;
	return slash && !memchr(f->glob.p, '/', f->glob.n) &&
	       glob_match(f->glob, str_of(slash + 1));
}

static bool file_found(void *ctx, const char *path)
{
	struct files *f = ctx;

	if (file_matches(f, path)) {
		f->n++;
		f->cb(f->t, arena_strdup(f->t->arena, path), f->ctx);
	}
	return !targets_full(f->t);
}

/* bpftrace names static probes of a process by its root, functions by their path where that is
 * ours as well. */
static bool file_of_process(void *ctx, const char *path)
{
	struct files *f = ctx;
	s32 pid = f->t->script->request.pid;

	if (pid && f->t->provider->kind == ATTACH_USDT && strncmp(path, "/proc/", 6) != 0)
		path = arena_printf(f->t->arena, "/proc/%d/root%s", pid, path);
	return file_found(f, path);
}

static bool file_listed(void *ctx, const char *path)
{
	struct files *f = ctx;

	f->n++;
	f->cb(f->t, arena_strdup(f->t->arena, path), f->ctx);
	return !targets_full(f->t);
}

/* Which files a pattern is about: those on disk when it is a path; those in use otherwise, by the
 * process looked at or by any. */
static bool files_of_pattern(struct files *f, const char *pattern)
{
	struct targets *t = f->t;
	const struct request *r = &t->script->request;
	struct world *w = t->world;
	struct err e = { 0 };
	bool ok;

	if (r->command && !*pattern) {
		file_found(f, r->command);
		return true;
	}
	if (r->files) {
		for (u32 i = 0; i < r->n_files; i++)
			file_found(f, r->files[i]);
		return true;
	}
	if (!r->pid && !*pattern) {
		diag_error(t->diags, targets_loc(t, 0), "%s: no path needs a process",
		           t->provider->full);
		diag_hint(t->diags,
		          "name the file, or give -p PID or -c COMMAND; '*' is every file in use");
		return false;
	}
	if (r->command)
		ok = w->ops->command_files(w, r->command, file_found, f, &e);
	else if (!r->pid && strchr(pattern, '/'))
		ok = w->ops->files(w, pattern, file_listed, f, &e);
	else
		ok = w->ops->process_files(w, r->pid, file_of_process, f, &e);
	if (!ok)
		targets_no_file(t, &e);
	return ok;
}

bool targets_files(struct targets *t, const char *path,
                   void (*cb)(struct targets *t, const char *path, void *ctx), void *ctx)
{
	struct files f = { t, str_of(*path ? path : "*"), cb, ctx, 0 };
	const char *file = path;
	struct err e = { 0 };

	if (!*path || glob_is(f.glob))
		return files_of_pattern(&f, path);
	file = t->world->ops->resolve(t->world, t->script->request.pid, path, &e);
	if (!file) {
		targets_no_file(t, &e);
		return false;
	}
	t->shown = strchr(path, '/') ? path : file;
	cb(t, file, ctx);
	t->shown = NULL;
	return true;
}

const char *targets_shown(const struct targets *t, const char *path)
{
	return t->shown ? t->shown : path;
}

/* ---- uprobe, uretprobe ---------------------------------------------------------------------- */

struct uprobe {
	const char *symbol; /* as written, without +offset; may be a glob */
	u64 plus;
	u32 part;  /* where it is written */
	bool many; /* several files: a miss in one is no miss */
	bool cpp;  /* the symbol is a C++ name, of any overload */
	struct targets *t;
	const char *path;
	struct hmap seen; /* offsets of this file */
	u32 n_symbols;
	struct near near;
};

/* Why the debug information says nothing about that place of a file that has some. */
static void say_why(struct targets *t, struct dwarf_file *d, u64 vaddr, struct variant *v)
{
	const char *package = NULL, *split = vaddr ? dwarf_split_missing(d, vaddr, &package) : NULL;

	v->uargs_why = "no function that starts here is described by the debug information";
	v->uargs_hint = "use arg0, arg1, ...";
	if (split)
		v->uargs_why = arena_printf(
			t->arena, "the debug information is split, and %s was not found", split);
	if (package)
		v->uargs_hint = arena_printf(
			t->arena, "use arg0, arg1, ..., or libdw 0.191 or later, which reads %s",
			package);
}

/* Finds out what the function at that place of the file is passed and returns. */
static void describe(struct targets *t, const char *path, u64 offset, struct variant *v)
{
	struct err e = { 0 };
	struct elf *f = t->world->ops->elf(t->world, path, &e);
	struct dwarf_file *d = t->world->ops->dwarf(t->world, path, &e);
	struct dwarf_func function;
	struct uarg *result;
	u64 vaddr = 0;

	if (!f || !d) {
		v->uargs_why = arena_strdup(t->arena, e.text);
		v->uargs_hint = arena_strdup(t->arena, e.hint);
		return;
	}
	if (!elf_vaddr(f, offset, &vaddr) || !dwarf_func_at(d, t->arena, vaddr, &function)) {
		say_why(t, d, vaddr, v);
		return;
	}
	v->uargs = uargs_of(t->script, d, &function);
	if (function.is_go || !function.returns)
		return;
	result = arena_new(t->arena, struct uarg);
	uargs_result(t->script, d, function.returns, result);
	v->result = result;
}

/* The variant for one more place: a new one when it passes its arguments in another way. */
static struct variant *variant_for(struct targets *t, const char *path, u64 offset)
{
	struct variant *v;

	if (!t->uses_args && !t->uses_result)
		return targets_shared(t);
	v = arena_new(t->arena, struct variant);
	v->kind = t->provider->kind;
	describe(t, path, offset, v);
	for (u32 i = t->first_variant; v->uargs && i < t->probe->variants.n; i++) {
		struct variant *other = t->probe->variants.v[i];

		if (other->kind == v->kind && other->uargs && uargs_eq(other->uargs, v->uargs))
			return other;
	}
	vec_add(t->arena, &t->probe->variants, v);
	return v;
}

/* A place that is no function's start. */
void targets_place(struct targets *t, const char *path, u64 offset, const char *rest)
{
	struct usite site = { .path = path, .offset = offset, .pid = targets_pid(t) };

	targets_add(t, targets_room(t) ? variant_for(t, path, offset) : NULL, site, rest);
}

/* size: of the function that is named, 0 when an address in it is */
static void uprobe_add(struct uprobe *u, const char *symbol, u64 offset, u64 plus, u64 size)
{
	struct targets *t = u->t;
	struct usite site = {
		.path = u->path, .offset = offset + plus, .pid = targets_pid(t), .size = size
	};
	u64 *key = arena_new(t->arena, u64);
	const char *rest = "";

	*key = site.offset;
	if (hmap_find(&u->seen, key, sizeof(*key)))
		return;
	hmap_put(&u->seen, key, sizeof(*key), key);
	if (targets_room(t) || t->event)
		rest = arena_printf(t->arena, "%s:%s", targets_shown(t, u->path), symbol);
	if (plus)
		rest = arena_printf(t->arena, "%s+%" PRIu64, rest, plus);
	targets_add(t, targets_room(t) ? variant_for(t, u->path, site.offset) : NULL, site, rest);
}

static bool symbol_match(void *ctx, const struct elf_sym *s)
{
	struct uprobe *u = ctx;

	if (s->is_func && s->has_offset && glob_match(str_of(u->symbol), str_of(s->name)))
		uprobe_add(u, s->name, s->offset, 0, s->is_func ? s->size : 0);
	return true;
}

/* Where the list of parameters begins in "ns::f(int) const", "(anonymous namespace)::g()". */
static size_t name_length(const char *text)
{
	const char *end = strrchr(text, ')');
	u32 open = 0;

	for (const char *p = end; p && p > text; p--) {
		open += *p == ')';
		open -= *p == '(';
		if (!open)
			return (size_t)(p - text);
	}
	return strlen(text);
}

/* After the type that instances of templates return: "void ns::f<int>". */
static struct str plain_name(struct str name)
{
	u32 open = 0;

	for (u32 i = name.n; i-- > 0;) {
		char c = name.p[i];

		open += c == '>' || c == ')';
		open -= (c == '<' || c == '(') && open;
		if (c == ' ' && !open)
			return (struct str){ name.p + i + 1, name.n - i - 1 };
	}
	return name;
}

static bool cpp_match(void *ctx, const struct elf_sym *s)
{
	struct uprobe *u = ctx;
	struct str want = str_of(u->symbol), name;
	const char *text;

	if (!s->is_func || !s->has_offset)
		return true;
	text = u->t->world->ops->demangle(u->t->world, s->name);
	if (!text)
		return true;
	name = (struct str){ text, (u32)name_length(text) };
	if (glob_match(want, str_of(text)) || glob_match(want, name) ||
	    glob_match(want, plain_name(name)))
		uprobe_add(u, arena_printf(u->t->arena, "cpp:\"%s\"", text), s->offset, u->plus,
		           u->plus ? 0 : s->size);
	return true;
}

static bool cpp_offer(void *ctx, const struct elf_sym *s)
{
	struct uprobe *u = ctx;
	const char *text = s->is_func ? u->t->world->ops->demangle(u->t->world, s->name) : NULL;

	if (text) {
		u->n_symbols++;
		near_offer(&u->near, arena_strndup(u->t->arena, text, name_length(text)));
	}
	return true;
}

static bool symbol_offer(void *ctx, const struct elf_sym *s)
{
	struct uprobe *u = ctx;

	if (s->is_func) {
		u->n_symbols++;
		near_offer(&u->near, s->name);
	}
	return true;
}

static void uprobe_missing(struct uprobe *u, struct elf *f)
{
	struct targets *t = u->t;
	const char *best = NULL;

	near_init(&u->near, u->symbol);
	elf_each(f, u->cpp ? cpp_offer : symbol_offer, u);
	if (!glob_is(str_of(u->symbol)) && near_best(&u->near))
		best = arena_printf(t->arena, "'%s'", u->near.best);
	targets_missing(t, u->part, best, "No matches for %s %s:%s%s.", t->provider->full,
	                targets_shown(t, u->path), u->symbol,
	                u->n_symbols ? "" : " (the file has no symbols)");
}

struct covered {
	u64 offset;
	u64 start; /* of the function, an offset too */
	bool is;
};

static bool symbol_covers(void *ctx, const struct elf_sym *s)
{
	struct covered *c = ctx;

	c->is = s->is_func && s->has_offset && c->offset >= s->offset &&
	        c->offset - s->offset < MAX(s->size, 1u);
	if (c->is)
		c->start = s->offset;
	return !c->is;
}

static const char breaks[] = "--unsafe allows it: a probe that is not at the start of an "
			     "instruction breaks the program";

/* An offset may be inside an instruction of the function that starts at `start`; the kernel
 * decodes what is there and does not see it. */
static bool begins(struct uprobe *u, struct elf *f, u64 start, u64 offset)
{
	struct loc loc = targets_loc(u->t, u->part);
	struct insn_decoder *d;
	struct site_code c;
	struct err e = { 0 };
	const char *place;
	u64 from, at;
	bool ok;

	if (u->t->script->request.unsafe || start == offset || !elf_vaddr(f, start, &from) ||
	    !elf_vaddr(f, offset, &at) || !site_code_at(f, from, &c) || at - c.vaddr >= c.n)
		return true;
	d = insn_decoder_open(&e);
	if (!d) {
		diag_warn(u->t->diags, loc, "whether an instruction begins there is not known: %s",
		          e.text);
		return true;
	}
	ok = site_begins(&c, d, from, at);
	insn_decoder_close(d);
	if (ok)
		return true;
	place = u->plus ? arena_printf(u->t->arena, "%s+%" PRIu64, u->symbol, u->plus) : u->symbol;
	diag_error(u->t->diags, loc, "'%s' has no instruction that begins at %s",
	           targets_shown(u->t, u->path), place);
	diag_hint(u->t->diags, "%s", breaks);
	return false;
}

/* An address in a function, at the start of an instruction. */
static bool is_place(struct uprobe *u, struct elf *f, u64 offset)
{
	struct covered c = { .offset = offset };

	if (u->t->script->request.unsafe)
		return true;
	elf_each(f, symbol_covers, &c);
	if (c.is)
		return begins(u, f, c.start, offset);
	diag_error(u->t->diags, targets_loc(u->t, u->part), "'%s' has no function at address %s",
	           targets_shown(u->t, u->path), u->symbol);
	diag_hint(u->t->diags, "%s", breaks);
	return false;
}

/* f: NULL for a file that is no program, whose addresses are offsets. */
static void uprobe_address(struct uprobe *u, struct elf *f)
{
	struct targets *t = u->t;
	struct loc loc = targets_loc(t, u->part);
	u64 vaddr, offset;
	char *end;

	errno = 0;
	vaddr = offset = strtoull(u->symbol, &end, 0);
	if (*end || errno) {
		diag_error(t->diags, loc, "'%s' is not an address", u->symbol);
	} else if (f && !elf_offset(f, vaddr, &offset)) {
		diag_error(t->diags, loc, "'%s' has nothing at address %s",
		           targets_shown(t, u->path), u->symbol);
	} else if (!f || is_place(u, f, offset + u->plus)) {
		uprobe_add(u, u->symbol, offset, u->plus, 0);
	}
}

/* Code without ELF's headers: a file that the script names, and an offset in it. */
static bool is_flat(const struct uprobe *u, struct err *e)
{
	if (u->many || e->code != ENOEXEC || !isdigit((unsigned char)u->symbol[0]))
		return false;
	if (u->t->script->request.unsafe)
		return true;
	return err_hint(e, "an offset in a file of any kind needs --unsafe");
}

static void uprobe_exact(struct uprobe *u, struct elf *f)
{
	struct elf_sym s;

	if (!elf_find(f, u->symbol, &s) || !s.has_offset)
		return;
	if (u->plus && s.size && u->plus >= s.size) {
		diag_error(u->t->diags, targets_loc(u->t, u->part),
		           "offset %" PRIu64 " is outside of '%s', which has %" PRIu64 " bytes",
		           u->plus, u->symbol, s.size);
		u->many = true;
		return;
	}
	if (!begins(u, f, s.offset, s.offset + u->plus)) {
		u->many = true;
		return;
	}
	uprobe_add(u, u->symbol, s.offset, u->plus, u->plus || !s.is_func ? 0 : s.size);
}

static void uprobe_file(struct targets *t, const char *path, void *ctx)
{
	struct uprobe *u = ctx;
	u32 before = t->n_added;
	struct err e = { 0 };
	struct elf *f = t->world->ops->elf(t->world, path, &e);

	if (!f && !is_flat(u, &e)) {
		if (!u->many)
			targets_no_file(t, &e);
		return;
	}
	u->path = path;
	memset(&u->seen, 0, sizeof(u->seen));
	if (isdigit((unsigned char)u->symbol[0])) {
		uprobe_address(u, f);
		u->many = true;
	} else if (u->cpp) {
		elf_each(f, cpp_match, u);
	} else if (glob_is(str_of(u->symbol))) {
		elf_each(f, symbol_match, u);
	} else {
		uprobe_exact(u, f);
	}
	hmap_free(&u->seen);
	if (t->n_added == before && !u->many)
		uprobe_missing(u, f);
}

/* What is wrong with the parts, or NULL; *part is where. */
static const char *uprobe_problem(struct targets *t, struct uprobe *u, u32 *part)
{
	const char *function = t->parts[u->part];

	*part = 1;
	if (t->n_parts == 3 && strcmp(t->parts[1], "cpp") != 0)
		return "the part in the middle is a language, and only 'cpp' is known";
	*part = u->part;
	if (!*function)
		return "the name of the function is missing";
	if (!targets_offset(t, function, &u->symbol, &u->plus)) {
		/* "operator+" and the like: a name, not an offset. */
		u->symbol = function;
		u->plus = 0;
	}
	if (u->plus && attach_kind_has(t->provider->kind, KIND_RETURN))
		return "a uretprobe takes no offset";
	return NULL;
}

/* Files that a followed process loads later are looked at by the attach point's own text
 * (run/file_watch.c), which is why it must stand for the same without this script's options. A site
 * that needs a program of its own can not be had later. */
static void note_late(struct targets *t, const struct uprobe *u)
{
	const char *text = t->diags->source->text + t->attach->loc.off;
	struct late_point late = { .kind = t->provider->kind };

	if (!t->script->request.pid || !*t->parts[0] || !u->many || t->uses_args ||
	    t->uses_result || (t->uses_probe && t->script->probe_is_text) || t->is_trial ||
	    t->event || t->script->request.probe_filter || memchr(text, '$', t->attach->loc.len))
		return;
	late.text = arena_strndup(t->arena, text, t->attach->loc.len);
	late.exact = targets_reads_registers(t->probe);
	vec_add(t->arena, &t->probe->late, late);
}

void targets_uprobe(struct targets *t)
{
	const char *path = t->parts[0];
	struct uprobe u = { .t = t, .symbol = "", .part = t->n_parts - 1 };
	u32 errors = t->diags->n_errors, part;
	const char *problem;

	if (targets_is_line(t)) {
		targets_line(t);
		return;
	}
	problem = uprobe_problem(t, &u, &part);
	u.cpp = t->n_parts == 3;
	if (problem) {
		diag_error(t->diags, targets_loc(t, part), "%s", problem);
		return;
	}
	u.many = !*path || glob_is(str_of(path));
	note_late(t, &u);
	if (!targets_files(t, path, uprobe_file, &u))
		return;
	if (!t->n_added && u.many && t->diags->n_errors == errors)
		targets_missing(t, u.part, NULL, "No matches for %s %s:%s.", t->provider->full,
		                path, t->parts[u.part]);
}
