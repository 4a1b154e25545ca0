/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Predicates that the command line decides, before anything is looked up or typed: by the options
 * of the script, and by whether a process is looked at. A probe that is switched off need not
 * exist, and the files of all processes are not searched for it. What else stands in a predicate is
 * for later.
 */
#include "lang/parse/lang.h"

#include <string.h>

enum answer { ANSWER_NO, ANSWER_YES, ANSWER_LATER };

static enum answer answer_not(enum answer a)
{
	return a == ANSWER_LATER ? a : a == ANSWER_YES ? ANSWER_NO : ANSWER_YES;
}

/* A macro that is one expression is a block with nothing but a value. */
static const struct node *without_macro(const struct node *n)
{
	while (n->kind == NODE_BLOCK && !n->stmts && n->result)
		n = n->result;
	return n;
}

static bool is_getopt(const struct node *n)
{
	return n->kind == NODE_CALL && n->call.f && n->call.f->id == FUNC_GETOPT && n->call.args &&
	       n->call.args->kind == NODE_STRING;
}

/* The option that a call of getopt() is about; NULL when it is not given. */
static const struct request_option *given(const struct request *r, const struct node *n)
{
	struct str letter, name = str_cut(n->call.args->string, '|', &letter);

	for (u32 i = 0; i < r->n_options; i++)
		if (str_is(name, r->options[i].name))
			return &r->options[i];
	return NULL;
}

/* getopt("name"), false without the option */
static enum answer answer_call(const struct request *r, const struct node *n)
{
	const struct request_option *o;
	const struct node *standard;

	if (!is_getopt(n))
		return ANSWER_LATER;
	standard = n->call.args->next;
	if (standard && (standard->kind != NODE_INT || !standard->type ||
	                 standard->type->kind != TYPE_BOOL || standard->integer.value))
		return ANSWER_LATER;
	o = given(r, n);
	if (!o)
		return ANSWER_NO;
	return !o->value || !strcmp(o->value, "true") || !strcmp(o->value, "1");
}

/* getopt("name", "text") == "text", and != */
static enum answer answer_compare(const struct request *r, const struct node *n)
{
	const struct node *call = without_macro(n->binary.left);
	const struct node *text = without_macro(n->binary.right), *standard;
	const struct request_option *o;
	bool same;

	if (!is_getopt(call) || text->kind != NODE_STRING)
		return ANSWER_LATER;
	standard = call->call.args->next;
	o = given(r, call);
	if (!standard || standard->kind != NODE_STRING || (o && !o->value))
		return ANSWER_LATER;
	same = o ? str_is(text->string, o->value) : str_eq(text->string, standard->string);
	return same == (n->binary.op == OP_EQ);
}

/* has_target. Where a script is only checked, its probes are too, whatever -p is going to be. */
static enum answer answer_target(const struct request *r)
{
	if (r->only_checks)
		return ANSWER_LATER;
	return r->pid || r->command ? ANSWER_YES : ANSWER_NO;
}

static enum answer answer(const struct request *r, const struct node *n)
{
	enum answer left, right, decides;

	n = without_macro(n);
	if (n->kind == NODE_BUILTIN && n->builtin.b && n->builtin.b->id == BUILTIN_HAS_TARGET)
		return answer_target(r);
	if (n->kind == NODE_CALL)
		return answer_call(r, n);
	if (n->kind == NODE_UNARY && n->unary.op == OP_NOT)
		return answer_not(answer(r, n->unary.e));
	if (n->kind == NODE_BINARY && (n->binary.op == OP_EQ || n->binary.op == OP_NE))
		return answer_compare(r, n);
	if (n->kind != NODE_BINARY || (n->binary.op != OP_LAND && n->binary.op != OP_LOR))
		return ANSWER_LATER;
	left = answer(r, n->binary.left);
	right = answer(r, n->binary.right);
	decides = n->binary.op == OP_LAND ? ANSWER_NO : ANSWER_YES;
	if (left == decides || right == decides)
		return decides;
	return left == ANSWER_LATER ? left : right;
}

bool predicate_rules_out(const struct request *r, const struct node *pred)
{
	return answer(r, pred) == ANSWER_NO;
}
