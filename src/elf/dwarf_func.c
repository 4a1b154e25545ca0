/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Functions of debug information: what they are passed, by name and type; and lines of the
 * source.
 *
 * The one idea: functions are looked up by the address they are probed at, not by name, so what
 * the symbol table, C++ and Go call them does not matter.
 */
#include "elf/dwarf_impl.h"

#include <string.h>
#include <unistd.h>

#define NEST_MAX 16u

/* ---- functions ------------------------------------------------------------------------------ */

static bool root_of(struct dwarf_file *d, u64 vaddr, Dwarf_Die *root)
{
	struct dwarf_units u = { .d = d };
	Dwarf_Die split;
	u8 type;

	if (d->lib->dwarf_addrdie(d->dbg, vaddr, root)) {
		if (d->lib->dwarf_cu_info(root->cu, NULL, &type, NULL, &split, NULL, NULL, NULL) ==
		            0 &&
		    type == DW_UT_skeleton && split.addr)
			*root = split;
		return true;
	}
	/* Clang writes no table of addresses: ask each unit. */
	while (dwarf_next_root(&u)) {
		if (d->lib->dwarf_haspc(&u.root, vaddr) > 0) {
			*root = u.root;
			return true;
		}
	}
	return false;
}

/* What may hold the definitions of functions: C++ names nest. */
static bool holds_functions(int tag)
{
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		return true;
	default:
		return false;
	}
}

/* The function below `parent` that is entered at an address. */
static bool function_at(struct dwarf_file *d, u64 vaddr, Dwarf_Die *parent, Dwarf_Die *function,
                        u32 depth)
{
	const struct dwarf_lib *l = d->lib;
	Dwarf_Die kid;

	for (int more = l->dwarf_child(parent, &kid); more == 0;
	     more = l->dwarf_siblingof(&kid, &kid)) {
		int tag = l->dwarf_tag(&kid);
		Dwarf_Addr entry;

		if (tag == DW_TAG_subprogram && l->dwarf_entrypc(&kid, &entry) == 0 &&
		    entry == vaddr) {
			*function = kid;
			return true;
		}
		if (holds_functions(tag) && depth < NEST_MAX &&
		    function_at(d, vaddr, &kid, function, depth + 1))
			return true;
	}
	return false;
}

static void add_args(struct dwarf_file *d, struct arena *a, Dwarf_Die *function,
                     struct dwarf_func *f)
{
	const struct dwarf_lib *l = d->lib;
	Dwarf_Die kid;

	for (int more = l->dwarf_child(function, &kid); more == 0;
	     more = l->dwarf_siblingof(&kid, &kid)) {
		struct dwarf_arg arg;

		if (l->dwarf_tag(&kid) != DW_TAG_formal_parameter)
			continue;
		/* Go lists its results as parameters too. */
		if (f->is_go && dwarf_flag(d, &kid, DW_AT_variable_parameter))
			continue;
		arg.name = l->dwarf_diename(&kid);
		if (!arg.name)
			arg.name = "";
		arg.type = dwarf_target(d, &kid);
		vec_add(a, &f->args, arg);
	}
}

/* How Go passes arguments is known by the name of the compiler. */
static void language(struct dwarf_file *d, Dwarf_Die *root, struct dwarf_func *f)
{
	Dwarf_Attribute at;
	const char *producer = NULL;

	f->is_go = d->lib->dwarf_srclang(root) == DW_LANG_Go;
	if (f->is_go && d->lib->dwarf_attr(root, DW_AT_producer, &at))
		producer = d->lib->dwarf_formstring(&at);
	f->is_stack = f->is_go && producer && !strstr(producer, "regabi");
}

bool dwarf_func_at(struct dwarf_file *d, struct arena *a, u64 vaddr, struct dwarf_func *f)
{
	Dwarf_Die root, unit, function;

	memset(f, 0, sizeof(*f));
	if (!root_of(d, vaddr, &root) || !function_at(d, vaddr, &root, &function, 0))
		return false;
	if (!d->lib->dwarf_diecu(&function, &unit, NULL, NULL))
		unit = root;
	f->name = d->lib->dwarf_diename(&function);
	f->returns = dwarf_target(d, &function);
	language(d, &unit, f);
	add_args(d, a, &function, f);
	return true;
}

const char *dwarf_split_missing(struct dwarf_file *d, u64 vaddr, const char **package)
{
	const struct dwarf_lib *l = d->lib;
	Dwarf_Attribute at;
	Dwarf_Die root, split;
	u8 type;

	if (!root_of(d, vaddr, &root) ||
	    l->dwarf_cu_info(root.cu, NULL, &type, NULL, &split, NULL, NULL, NULL) != 0 ||
	    type != DW_UT_skeleton || split.addr ||
	    (!l->dwarf_attr(&root, DW_AT_dwo_name, &at) &&
	     !l->dwarf_attr(&root, DW_AT_GNU_dwo_name, &at)))
		return NULL;
	*package = arena_printf(&d->arena, "%s.dwp", d->path);
	if (access(*package, R_OK) != 0)
		*package = NULL;
	return l->dwarf_formstring(&at);
}

/* ---- lines ---------------------------------------------------------------------------------- */

static bool is_file(const char *path, const char *want)
{
	size_t n, m = strlen(want);

	if (!path)
		return false;
	n = strlen(path);
	return n >= m && strcmp(path + n - m, want) == 0 &&
	       (n == m || path[n - m - 1] == '/' || want[0] == '/');
}

struct lines {
	struct dwarf_file *d;
	const char *file;
	u32 line, column;
	bool (*cb)(void *ctx, const struct dwarf_line *l);
	void *ctx;
	u32 *near;
	bool stopped;
};

/* One row of a unit's table, when it starts a statement of the file. */
static bool read_row(const struct lines *s, Dwarf_Line *row, struct dwarf_line *out)
{
	const struct dwarf_lib *l = s->d->lib;
	int line = 0, column = 0;
	bool begins = false, ends = false;
	Dwarf_Addr addr;

	if (!row || l->dwarf_linebeginstatement(row, &begins) != 0 || !begins ||
	    l->dwarf_lineendsequence(row, &ends) != 0 || ends || l->dwarf_lineno(row, &line) != 0 ||
	    line <= 0 || l->dwarf_lineaddr(row, &addr) != 0)
		return false;
	l->dwarf_linecol(row, &column);
	*out = (struct dwarf_line){ .vaddr = addr,
		                    .file = l->dwarf_linesrc(row, NULL, NULL),
		                    .line = (u32)line,
		                    .column = (u32)MAX(column, 0) };
	return is_file(out->file, s->file);
}

static void lines_of(struct lines *s, Dwarf_Die *root)
{
	const struct dwarf_lib *l = s->d->lib;
	Dwarf_Lines *table;
	size_t n;

	if (l->dwarf_getsrclines(root, &table, &n) != 0)
		return;
	for (size_t i = 0; i < n && !s->stopped; i++) {
		struct dwarf_line row;

		if (!read_row(s, l->dwarf_onesrcline(table, i), &row))
			continue;
		if (row.line == s->line && (!s->column || s->column == row.column))
			s->stopped = !s->cb(s->ctx, &row);
		else if (row.line > s->line && (!*s->near || row.line < *s->near))
			*s->near = row.line;
	}
}

void dwarf_line_each(struct dwarf_file *d, const char *file, u32 line, u32 column,
                     bool (*cb)(void *ctx, const struct dwarf_line *l), void *ctx, u32 *near)
{
	struct lines s = { d, file, line, column, cb, ctx, near, false };
	Dwarf_CU *cu = NULL;
	Dwarf_Die root;

	*near = 0;
	/* Tables of lines belong to skeletons, not to the split units. */
	while (!s.stopped && d->lib->dwarf_get_units(d->dbg, cu, &cu, NULL, NULL, &root, NULL) == 0)
		lines_of(&s, &root);
}

static bool stop(void *ctx, const struct dwarf_line *l)
{
	(void)l;
	*(bool *)ctx = true;
	return false;
}

bool dwarf_line_known(struct dwarf_file *d, const char *file)
{
	bool found = false;
	u32 near;

	dwarf_line_each(d, file, 0, 0, stop, &found, &near);
	return found || near;
}
