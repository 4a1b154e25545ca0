/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * `memtap check FILE...`: compiles to bytecode and reports what is wrong, for editors and CI.
 * Nothing is loaded, so no privilege is needed; what only root may look up (tracefs) is left
 * unchecked with a warning. With --btf FILE the types of another kernel are taken.
 */
#include "cmd/cmd.h"

#include "base/opt.h"
#include "cmd/job.h"
#include "cmd/say.h"
#include "out/out.h"
#include "world/world_linux.h"

struct options {
	const char *program, *btf, *format;
	struct opt_rest include_dirs, include_files;
	bool no_warnings, quiet, help;
};

#define TO(member) offsetof(struct options, member)

static const struct opt rows[] = {
	{ 'e', NULL, "PROGRAM", OPT_TEXT, TO(program), "check this script" },
	{ 0, "btf", "FILE", OPT_TEXT, TO(btf), "take the kernel's types from this file" },
	{ 'f', "format", OUT_FORMAT_NAMES, OPT_CHOICE, TO(format),
	  "errors as text on standard error, or as JSON lines on standard output" },
	{ 'q', "quiet", NULL, OPT_FLAG, TO(quiet),
	  "print nothing; the exit status says whether it compiles" },
	{ 0, "no-warnings", NULL, OPT_FLAG, TO(no_warnings), "do not print warnings" },
	{ 'I', NULL, "DIR", OPT_LIST, TO(include_dirs), "look for the files of #include here too" },
	{ 0, "include", "FILE", OPT_LIST, TO(include_files), "begin with #include \"FILE\"" },
	{ 'h', "help", NULL, OPT_FLAG, TO(help), "print this" },
};

static const char usage_head[] =
	"Reports the errors of scripts. Nothing runs, nothing is loaded, no privilege is needed.\n"
	"The exit code is 0 when no script has an error, else 1.\n"
	"\n"
	"  memtap check [options] FILE...            (FILE '-' is standard input)\n"
	"  memtap check [options] -e PROGRAM\n"
	"\n"
	"Options:\n";

static const char usage_examples[] =
	"\n"
	"Examples:\n"
	"  memtap check tools/*.bt\n"
	"      all errors and warnings\n"
	"  memtap check -f json script.bt\n"
	"      the same for an editor: file, line, col, end_line, end_col, severity, message\n"
	"  memtap check --btf vmlinux-6.1.btf script.bt\n"
	"      against the types of another kernel\n";

/* ---- for a format --------------------------------------------------------------------------- */

static const struct column type = COL_LABEL("type", NULL), file = COL_TEXT("file", NULL),
			   severity = COL_LABEL("severity", NULL),
			   message = COL_TEXT("message", NULL), hint = COL_TEXT("hint", NULL);

static void put_place(struct tree *t, const struct source *s, u32 off, const char *line_name,
                      const char *column_name)
{
	u32 line, column;

	source_line(s, off, &line, &column);
	tree_whole(t, &(struct column){ .name = line_name }, line);
	tree_whole(t, &(struct column){ .name = column_name }, column);
}

static void put_head(struct tree *t, const char *path)
{
	tree_object(t, NULL);
	tree_text(t, &type, "diagnostic");
	tree_object(t, "data");
	tree_text(t, &file, path);
}

static void put_diag(struct tree *t, const struct source *s, const struct diag *d)
{
	put_head(t, source_name(s, d->loc.off));
	put_place(t, s, d->loc.off, "line", "col");
	put_place(t, s, d->loc.off + d->loc.len, "end_line", "end_col");
	tree_text(t, &severity, d->level == DIAG_ERROR ? "error" : "warning");
	tree_text(t, &message, d->text);
	if (d->hint)
		tree_text(t, &hint, d->hint);
	tree_end(t);
	tree_end(t);
}

/* A script that can not be read has no place. */
static void put_unread(const struct tree_ops *ops, const char *path, const struct err *e)
{
	struct buf b = { 0 };
	struct tree t = { .b = &b, .ops = ops };

	put_head(&t, path);
	tree_text(&t, &severity, "error");
	tree_text(&t, &message, e->text);
	tree_end(&t);
	tree_end(&t);
	say_output(&b);
	buf_free(&b);
}

/* ---- checking ------------------------------------------------------------------------------- */

/* How to print errors; NULL: as text. */
static const struct tree_ops *tree_ops_of(const struct options *o)
{
	return out_format(o->format, false)->tree;
}

static void report(const struct options *o, const struct job *j)
{
	struct buf b = { 0 };
	struct tree t = { .b = &b, .ops = tree_ops_of(o) };

	if (!t.ops) {
		say_diags(&j->diags, !o->no_warnings);
		return;
	}
	for (u32 i = 0; i < j->diags.list.n; i++)
		if (j->diags.list.v[i].level == DIAG_ERROR || !o->no_warnings)
			put_diag(&t, &j->source, &j->diags.list.v[i]);
	say_output(&b);
	buf_free(&b);
}

/* path NULL: the script of -e. */
static bool check_one(const struct options *o, const char *path)
{
	/* What this kernel can attach is not asked: --dry-run answers that. */
	static const struct features all = {
		.asked = FEATURES_ALL,
		.btf = true,
		.kprobe = true,
		.kprobe_multi = true,
		.fentry = true,
		.uprobe_multi = true,
		.rawtp_cookie = true,
		.cookie = true,
		FEATURES_SINCE_6_0,
	};
	struct world_linux_options machine = { .btf = o->btf, .features = &all };
	struct world *w = world_linux_new(&machine);
	struct err e = { 0 };
	struct job j;
	bool ok;

	job_init(&j, w);
	j.script.request.unsafe = true; /* what a script may do is decided where it runs */
	j.script.request.only_checks = true;
	j.script.request.no_args = true;
	job_headers(&j, &o->include_dirs, &o->include_files);
	ok = path ? source_read(&j.source, &j.arena, path, &e)
	          : source_set(&j.source, &j.arena, "stdin", str_of(o->program), &e);
	if (ok) {
		ok = job_compile(&j, STAGE_UNIT, false);
		if (!o->quiet)
			report(o, &j);
	} else if (tree_ops_of(o)) {
		put_unread(tree_ops_of(o), path ? path : "stdin", &e);
	} else if (!o->quiet) {
		say_error(&e);
	}
	job_free(&j);
	world_linux_free(w);
	return ok;
}

/* A file that holds no types is one error, and not one for each name. */
static bool check_btf(const char *path, struct err *e)
{
	struct world_linux_options machine = { .btf = path };
	struct world *w;
	bool ok;

	if (!path)
		return true;
	w = world_linux_new(&machine);
	ok = w->ops->btf(w, e) != NULL;
	world_linux_free(w);
	return ok || err_wrap(e, "can not take types from %s", path);
}

static int check_all(const struct options *o, const struct opt_rest *rest)
{
	bool ok = !o->program || check_one(o, NULL);
	struct err e = { 0 };

	if (!o->program && !rest->n) {
		err_set(&e, "there is no script to check");
		err_hint(&e, "memtap check FILE..., or memtap check --help");
		say_error(&e);
		return 1;
	}
	for (u32 i = 0; i < rest->n; i++)
		ok &= check_one(o, rest->v[i]);
	return ok ? 0 : 1;
}

int cmd_check(int argc, char **argv)
{
	struct options o = { 0 };
	struct arena arena = { 0 };
	struct opt_rest rest;
	struct err e = { 0 };
	int code = 0;

	if (!opt_parse(rows, ARRAY_SIZE(rows), &o, &arena, argc, argv, &rest, &e)) {
		say_error(&e);
		code = 1;
	} else if (o.help) {
		say_usage(usage_head, rows, ARRAY_SIZE(rows), usage_examples);
	} else if (!check_btf(o.btf, &e)) {
		say_error(&e);
		code = 1;
	} else {
		code = check_all(&o, &rest);
	}
	arena_free(&arena);
	return code;
}
