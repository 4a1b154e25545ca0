/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Predicates that options of the script decide, before anything is looked up or typed: a probe
 * that an option switches off need not exist. What else stands in a predicate is for later.
 */
#include "lang/lang.h"

#include <string.h>

enum answer { ANSWER_NO, ANSWER_YES, ANSWER_LATER };

static enum answer answer_not(enum answer a)
{
	return a == ANSWER_LATER ? a : a == ANSWER_YES ? ANSWER_NO : ANSWER_YES;
}

/* getopt("name"), false without the option */
static enum answer answer_call(const struct world *w, const struct node *n)
{
	const struct node *name = n->call.args;
	struct str long_name, letter;

	if (!n->call.f || n->call.f->id != FUNC_GETOPT || !name || name->kind != NODE_STRING)
		return ANSWER_LATER;
	if (name->next && (name->next->kind != NODE_INT || !name->next->type ||
	                   name->next->type->kind != TYPE_BOOL || name->next->integer.value))
		return ANSWER_LATER;
	long_name = str_cut(name->string, '|', &letter);
	for (u32 i = 0; i < w->n_options; i++)
		if (str_is(long_name, w->options[i].name))
			return !w->options[i].value || !strcmp(w->options[i].value, "true") ||
			       !strcmp(w->options[i].value, "1");
	return ANSWER_NO;
}

static enum answer answer(const struct world *w, const struct node *n)
{
	enum answer left, right, decides;

	if (n->kind == NODE_CALL)
		return answer_call(w, n);
	if (n->kind == NODE_UNARY && n->unary.op == OP_NOT)
		return answer_not(answer(w, n->unary.e));
	if (n->kind != NODE_BINARY || (n->binary.op != OP_LAND && n->binary.op != OP_LOR))
		return ANSWER_LATER;
	left = answer(w, n->binary.left);
	right = answer(w, n->binary.right);
	decides = n->binary.op == OP_LAND ? ANSWER_NO : ANSWER_YES;
	if (left == decides || right == decides)
		return decides;
	return left == ANSWER_LATER ? left : right;
}

bool predicate_rules_out(const struct world *w, const struct node *pred)
{
	return answer(w, pred) == ANSWER_NO;
}
