/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * `memtap btf`: questions about the kernel's types. Reads the command line by two tables (commands,
 * and the options of each), opens the BTF that is asked about, and says what went wrong. What a
 * command does is in cmd_btf_<command>.c. Options may stand before the command too: the first word
 * that is neither an option of any command nor the value of one is the command.
 */
#include "cmd/btf/cmd_btf.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/near.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/say.h"

#define USAGE_COL  54u /* where the help of a command starts */
#define TO(member) offsetof(struct btf_options, member)
#define ROWS_MAX   16u /* of all options together */

static const struct opt common[] = {
	{ 'b', "btf", "FILE", OPT_TEXT, TO(btf),
	  "BTF or an ELF file with BTF, instead of the running kernel's" },
	{ 0, "base", "FILE", OPT_TEXT, TO(base), "what the BTF of --btf continues (a module's)" },
	{ 'm', "module", "NAME", OPT_TEXT, TO(module), "a module of the running kernel" },
	{ 'h', "help", NULL, OPT_FLAG, TO(help), "print this" },
};

static const struct opt find_rows[] = {
	{ 'k', "kind", "KIND", OPT_TEXT, TO(kind), "only this kind: func, struct, typedef, ..." },
};

static const struct opt dump_rows[] = {
	{ 'c', "c", NULL, OPT_FLAG, TO(c), "as C that compiles" },
	{ 'j', "json", NULL, OPT_FLAG, TO(json), "as JSON, one type a line" },
};

static const struct opt filter_rows[] = {
	{ 0, "objects", NULL, OPT_FLAG, TO(objects),
	  "the arguments are BPF objects (they always are)" },
	{ 't', "type", "LIST", OPT_TEXT, TO(types), "also types, whole: 'struct page,gfp_t'" },
	{ 'p', "path", "LIST", OPT_TEXT, TO(paths),
	  "also members: 'struct oom_control.chosen->pid'" },
	{ 'o', "output", "FILE", OPT_TEXT, TO(output), "where to put it; - for standard output" },
};

static const struct command {
	const char *name, *args, *help;
	const struct opt *rows;
	u32 n_rows;
	u32 min, max; /* arguments */
	bool opens;   /* files of its own */
	bool (*run)(struct btf_job *j, struct err *e);
} commands[] = {
	{ "show", "[KIND] NAME", "a type as C with offsets and holes, or a function's prototype",
	  NULL, 0, 1, 64, false, cmd_btf_show },
	{ "path", "TYPE MEMBERS", "where a member lies, through pointers and arrays", NULL, 0, 2, 3,
	  false, cmd_btf_path },
	{ "find", "GLOB", "names of functions and types that match", find_rows,
	  ARRAY_SIZE(find_rows), 1, 1, false, cmd_btf_find },
	{ "dump", "", "everything, as bpftool's raw dump, C or JSON", dump_rows,
	  ARRAY_SIZE(dump_rows), 0, 0, false, cmd_btf_dump },
	{ "diff", "A B [TYPE...]", "what changed from one file to another", NULL, 0, 2, UINT32_MAX,
	  true, cmd_btf_diff },
	{ "filter", "[--objects] FILE... -o MIN.btf", "the part that BPF objects and names need",
	  filter_rows, ARRAY_SIZE(filter_rows), 0, UINT32_MAX, false, cmd_btf_filter },
	{ "stat", "", "what the file is made of", NULL, 0, 0, 0, false, cmd_btf_stat },
};

static const char examples[] =
	"\n"
	"Examples:\n"
	"  memtap btf show struct vm_area_struct\n"
	"      members with offset and size, cachelines, holes\n"
	"  memtap btf show func handle_mm_fault\n"
	"      what an fentry probe can name\n"
	"  memtap btf path vm_area_struct 'vm_file->f_path.dentry'\n"
	"      the offset of each step\n"
	"  memtap btf find --kind func 'vfs_*'\n"
	"      functions by name\n"
	"  memtap btf dump --c > vmlinux.h\n"
	"      all types as a header\n"
	"  memtap btf diff old.btf /sys/kernel/btf/vmlinux 'struct mm_struct'\n"
	"      what a tool that reads mm_struct has to know about another kernel\n";

/* ---- shared by the commands ----------------------------------------------------------------- */

static const char *const kinds[] = {
	"void", "int",     "ptr",      "array",    "struct",   "union",  "enum",
	"fwd",  "typedef", "volatile", "const",    "restrict", "func",   "func_proto",
	"var",  "datasec", "float",    "decl_tag", "type_tag", "enum64",
};

const char *cmd_btf_kind(u32 kind)
{
	return kind < ARRAY_SIZE(kinds) ? kinds[kind] : "unknown";
}

u32 cmd_btf_kind_of(const char *word)
{
	for (u32 i = 1; i < ARRAY_SIZE(kinds); i++)
		if (strcmp(kinds[i], word) == 0)
			return i;
	return 0;
}

bool cmd_btf_fail(struct err *e, const struct btf_error *be)
{
	static const char kernel[] = "/sys/kernel/btf/vmlinux:";

	if (be->code == ENOENT && strncmp(be->text, kernel, strlen(kernel)) == 0) {
		err_set(e, "this kernel has no type information (BTF): "
		           "/sys/kernel/btf/vmlinux is missing");
		return err_hint(e, "kernels built with CONFIG_DEBUG_INFO_BTF=y have it; -b names "
		                   "another file");
	}
	err_set(e, "%s", be->text);
	e->code = be->code;
	return false;
}

struct btf *cmd_btf_open(const char *path, struct err *e)
{
	struct btf_error be;
	struct btf *b = path ? btf_open(path, &be) : btf_open_kernel(&be);

	if (!b)
		cmd_btf_fail(e, &be);
	return b;
}

bool cmd_btf_check(const struct btf *b, const char *where, struct err *e)
{
	struct btf_error be;

	if (btf_check(b, &be))
		return true;
	cmd_btf_fail(e, &be);
	return err_wrap(e, "%s", where);
}

/* C needs sound types throughout; the other forms show what there is up to a damaged one. */
bool cmd_btf_dump(struct btf_job *j, struct err *e)
{
	if (j->o->c && j->o->json)
		return err_set(e, "--c and --json are two forms; choose one");
	if (j->o->c) {
		btf_index(j->btf); /* ids are asked for in no order; all works without, slower */
		return cmd_btf_check(j->btf, j->where, e) && cmd_btf_c(&j->out, j->btf, e);
	}
	if (j->o->json ? cmd_btf_json(&j->out, j->btf) : cmd_btf_raw(&j->out, j->btf))
		return true;
	return cmd_btf_check(j->btf, j->where, e) &&
	       err_set(e, "%s: the types end before their section does", j->where);
}

bool cmd_btf_is_whole(const struct c_work *w, struct err *e)
{
	return !w->out || err_set(e, "the types are in each other so often that writing them all "
	                             "has no end");
}

/* ---- the command line ----------------------------------------------------------------------- */

static int fail(const struct err *e)
{
	say_error(e);
	return 1;
}

static int print_usage(void)
{
	struct buf b = { 0 };

	buf_puts(&b, "memtap btf reads the kernel's type information (BTF) in place.\n\n");
	for (u32 i = 0; i < ARRAY_SIZE(commands); i++) {
		size_t start = b.n;

		buf_printf(&b, "  memtap btf %s %s", commands[i].name, commands[i].args);
		buf_fill(&b, ' ', start + USAGE_COL > b.n ? start + USAGE_COL - b.n : 2);
		buf_printf(&b, "%s\n", commands[i].help);
	}
	buf_puts(&b, "\nOptions:\n");
	opt_usage(&b, common, ARRAY_SIZE(common));
	for (u32 i = 0; i < ARRAY_SIZE(commands); i++) {
		if (!commands[i].n_rows)
			continue;
		buf_printf(&b, "\nOptions of %s:\n", commands[i].name);
		opt_usage(&b, commands[i].rows, commands[i].n_rows);
	}
	buf_puts(&b, examples);
	say_output(&b);
	buf_free(&b);
	return 0;
}

static const struct command *find_command(const char *name, struct err *e)
{
	struct near near;

	near_init(&near, name);
	for (u32 i = 0; i < ARRAY_SIZE(commands); i++) {
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
		near_offer(&near, commands[i].name);
	}
	err_set(e, "memtap btf has no command '%s'", name);
	if (near_best(&near))
		err_hint(e, "did you mean '%s'?", near.best);
	else
		err_hint(e, "the commands are shown by memtap btf --help");
	return NULL;
}

static void add_rows(struct opt *rows, u32 *n, const struct opt *more, u32 n_more)
{
	for (u32 i = 0; i < n_more; i++)
		rows[(*n)++] = more[i];
}

/* Reads the options that all commands have and those of `only` (NULL: of every one). */
static bool parse(const struct command *only, struct btf_options *o, struct arena *a, int argc,
                  char **argv, struct opt_rest *rest, struct err *e)
{
	struct opt rows[ROWS_MAX];
	u32 n = 0;

	add_rows(rows, &n, common, ARRAY_SIZE(common));
	for (u32 i = 0; i < ARRAY_SIZE(commands); i++)
		if (!only || only == &commands[i])
			add_rows(rows, &n, commands[i].rows, commands[i].n_rows);
	return opt_parse(rows, n, o, a, argc, argv, rest, e);
}

static bool check_args(const struct command *c, const struct btf_options *o,
                       const struct opt_rest *rest, struct err *e)
{
	if (rest->n < c->min || rest->n > c->max) {
		err_set(e, "%s '%s'",
		        rest->n < c->min ? "too few arguments for" : "too many arguments for",
		        c->name);
		return err_hint(e, "memtap btf %s%s%s", c->name, *c->args ? " " : "", c->args);
	}
	if (o->base && !o->btf)
		return err_set(e, "--base needs --btf: the BTF that continues it");
	if (c->opens && (o->btf || o->module))
		return err_set(e, "'%s' takes its files as arguments, without --%s", c->name,
		               o->btf ? "btf" : "module");
	if (o->btf && o->module)
		return err_set(e, "--btf and --module name two different things; choose one");
	return true;
}

static bool open_module(struct btf_job *j, struct err *e)
{
	struct btf_error be;

	j->where = j->o->module;
	j->btf = btf_open_module(j->o->module, NULL, &be);
	return j->btf || cmd_btf_fail(e, &be);
}

static bool open_split(struct btf_job *j, struct err *e)
{
	struct btf *base = cmd_btf_open(j->o->base, e);
	struct btf_error be;

	if (!base)
		return false;
	j->btf = btf_open_split(j->o->btf, base, &be);
	btf_unref(base);
	return j->btf || cmd_btf_fail(e, &be);
}

static bool open_btf(struct btf_job *j, struct err *e)
{
	if (j->o->module)
		return open_module(j, e);
	j->where = j->o->btf ? j->o->btf : "/sys/kernel/btf/vmlinux";
	if (j->o->base)
		return open_split(j, e);
	j->btf = cmd_btf_open(j->o->btf, e);
	return j->btf != NULL;
}

static int run(const struct command *c, const struct btf_options *o, const struct opt_rest *rest,
               struct arena *a)
{
	struct btf_job j = { .o = o, .args = rest->v, .n_args = rest->n, .arena = a };
	struct err e = { 0 };
	bool ok;

	if (!c->opens && !open_btf(&j, &e))
		return fail(&e);
	if (j.btf)
		c_work_add(&j.work, j.btf);
	sink_open(&j.out, STDOUT_FILENO);
	ok = c->run(&j, &e) && cmd_btf_is_whole(&j.work, &e);
	ok &= sink_close(&j.out, ok ? &e : &(struct err){ 0 });
	btf_unref(j.btf);
	return ok ? 0 : fail(&e);
}

/* The command line as a whole: which command, its options, what else there is. */
static const struct command *read_line(struct btf_options *o, struct arena *a, int argc,
                                       char **argv, struct opt_rest *rest, struct err *e)
{
	const struct command *c;

	if (!parse(NULL, o, a, argc, argv, rest, e) || o->help)
		return NULL;
	if (!rest->n) {
		err_set(e, "memtap btf needs a command");
		err_hint(e, "memtap btf show page, or memtap btf --help");
		return NULL;
	}
	c = find_command(rest->v[0], e);
	*o = (struct btf_options){ 0 };
	if (!c)
		return NULL;
	if (!parse(c, o, a, argc, argv, rest, e)) {
		err_wrap(e, "memtap btf %s", c->name);
		return NULL;
	}
	rest->v++; /* the command */
	rest->n--;
	return check_args(c, o, rest, e) ? c : NULL;
}

int cmd_btf(int argc, char **argv)
{
	struct btf_options o = { 0 };
	const struct command *c;
	struct arena a = { 0 };
	struct opt_rest rest;
	struct err e = { 0 };
	int code;

	c = read_line(&o, &a, argc, argv, &rest, &e);
	if (o.help)
		code = print_usage();
	else
		code = c ? run(c, &o, &rest, &a) : fail(&e);
	arena_free(&a);
	return code;
}
