/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cmd/serve/yamlfile.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/host.h"

/* clang-format off */
#define FUNCTIONS(F) /* of the library */                                                          \
	F(yaml_parser_initialize) F(yaml_parser_delete) F(yaml_parser_set_input_string)            \
	F(yaml_parser_load) F(yaml_document_delete) F(yaml_document_get_node)
/* clang-format on */

#define POINTER(name) __typeof__(name) *name;

struct library {
	FUNCTIONS(POINTER)
};

static bool load(struct library *lib, struct err *e)
{
	void *so = host_library("libyaml-0.so.2");
	bool ok = so != NULL;

#define FIND(name) ok = ok && (lib->name = (__typeof__(name) *)host_symbol(so, #name));
	FUNCTIONS(FIND)
	if (ok)
		return true;
	err_set(e, "a configuration needs libyaml, which is not installed (libyaml-0.so.2)");
	return err_hint(e, "its package is libyaml-0-2 on Debian");
}

/* ---- libyaml's nodes to ours ---- */

static enum yamlnode_kind kind_of(const yaml_node_t *from)
{
	return from->type == YAML_SCALAR_NODE     ? YAMLNODE_TEXT
	       : from->type == YAML_SEQUENCE_NODE ? YAMLNODE_LIST
	                                          : YAMLNODE_MAP;
}

static void copy_list(struct arena *a, struct yamlnode *all, const yaml_node_t *from,
                      struct yamlnode *to)
{
	const yaml_node_item_t *item = from->data.sequence.items.start;

	to->n = (u32)(from->data.sequence.items.top - item);
	to->kids = arena_array(a, struct yamlnode *, to->n);
	for (u32 i = 0; i < to->n; i++)
		to->kids[i] = &all[item[i] - 1];
}

static void copy_map(struct arena *a, struct yamlnode *all, const yaml_node_t *from,
                     struct yamlnode *to)
{
	const yaml_node_pair_t *pair = from->data.mapping.pairs.start;

	to->n = 2 * (u32)(from->data.mapping.pairs.top - pair);
	to->kids = arena_array(a, struct yamlnode *, to->n);
	for (u32 i = 0; i < to->n / 2; i++) {
		to->kids[2 * i] = &all[pair[i].key - 1];
		to->kids[2 * i + 1] = &all[pair[i].value - 1];
	}
}

static void copy_text(struct arena *a, const yaml_node_t *from, struct yamlnode *to)
{
	to->text = arena_strndup(a, (const char *)from->data.scalar.value,
	                         from->data.scalar.length);
	to->is_quoted = from->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
}

/* Nodes are numbered from 1, which is the root. */
static struct yamlnode *copy(const struct library *lib, yaml_document_t *d, struct arena *a)
{
	u32 n = (u32)(d->nodes.top - d->nodes.start);
	struct yamlnode *all = arena_array(a, struct yamlnode, n);

	for (u32 i = 0; i < n; i++) {
		const yaml_node_t *from = lib->yaml_document_get_node(d, (int)i + 1);
		struct yamlnode *to = &all[i];

		to->kind = kind_of(from);
		to->line = (u32)from->start_mark.line + 1;
		to->column = (u32)from->start_mark.column + 1;
		if (to->kind == YAMLNODE_TEXT)
			copy_text(a, from, to);
		else if (to->kind == YAMLNODE_LIST)
			copy_list(a, all, from, to);
		else
			copy_map(a, all, from, to);
	}
	return n ? all : NULL;
}

/* A reader's error has no mark but a byte's number. */
static bool explain(const yaml_parser_t *p, const char *name, struct str text, struct err *e)
{
	u32 line = (u32)p->problem_mark.line + 1, column = (u32)p->problem_mark.column + 1;

	if (p->error == YAML_MEMORY_ERROR)
		base_no_memory();
	if (p->error == YAML_READER_ERROR) {
		line = column = 1;
		for (u32 i = 0; i < p->problem_offset && i < text.n; i++) {
			column = text.p[i] == '\n' ? 1 : column + 1;
			line += text.p[i] == '\n';
		}
	}
	err_set(e, "%s:%u:%u: %s", name, line, column, p->problem ? p->problem : "no YAML");
	if (p->context) /* "while scanning a quoted scalar" */
		err_hint(e, "%s that begins at %zu:%zu", p->context, p->context_mark.line + 1,
		         p->context_mark.column + 1);
	return false;
}

/* The next document; *root is NULL at the end. */
static bool next(const struct library *lib, yaml_parser_t *p, struct arena *a,
                 struct yamlnode **root)
{
	yaml_document_t d;

	if (!lib->yaml_parser_load(p, &d))
		return false;
	*root = copy(lib, &d, a);
	lib->yaml_document_delete(&d);
	return true;
}

struct yamlnode *yamlfile_parse(struct arena *a, const char *name, struct str text, struct err *e)
{
	struct library *lib = arena_new(a, struct library);
	struct yamlnode *root = NULL, *second = NULL;
	yaml_parser_t p;

	if (!load(lib, e))
		return NULL;
	if (!lib->yaml_parser_initialize(&p))
		base_no_memory();
	lib->yaml_parser_set_input_string(&p, (const u8 *)text.p, text.n);
	if (!next(lib, &p, a, &root) || (root && !next(lib, &p, a, &second))) {
		root = NULL;
		explain(&p, name, text, e);
	} else if (second) {
		root = NULL;
		err_set(e, "%s:%u:%u: there is a second document, and one is read", name,
		        second->line, second->column);
	}
	lib->yaml_parser_delete(&p);
	return root;
}
