/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Rules of functions that change what happens, and of debugf(), which writes to the kernel's own
 * trace.
 */
#include "lang/infer/infer.h"

#include "unit/format.h"

#define WRITE_MAX  1024
#define DEBUGF_MAX 3u

/* Error injection: the probed function is not run and returns the value. */
const struct type *infer_call_override(struct infer *in, struct node *n)
{
	infer_integer(in, n->call.args, "the value of override()");
	if (in->variant->kind != ATTACH_KPROBE)
		return infer_error(in, n->loc,
		                   "override() is only available in kprobe probes, "
		                   "not in %s",
		                   attach_kind_name(in->variant->kind));
	return &type_none;
}

static bool is_writable(const struct type *t)
{
	return type_is_scalar(t) || t->kind == TYPE_STR || t->kind == TYPE_ARRAY ||
	       t->kind == TYPE_BUF;
}

/* write_user(to, what, bytes): a pointer's target, or the bytes of another value. */
const struct type *infer_call_write_user(struct infer *in, struct node *n)
{
	const struct type *to = infer_value(in, infer_arg(n, 0));
	const struct type *what = infer_value(in, infer_arg(n, 1));
	s64 count;

	if (to && to->kind != TYPE_PTR && to->kind != TYPE_INT)
		infer_error(in, infer_arg(n, 0)->loc, "write_user() needs an address, not '%s'",
		            type_name(in->arena, to));
	if (what && !is_writable(what))
		infer_error(in, infer_arg(n, 1)->loc, "write_user() can not write '%s'",
		            type_name(in->arena, what));
	if (!infer_literal_int(in, n, 2, &count))
		return &type_s64;
	if (count < 1 || count > WRITE_MAX ||
	    (what && what->kind != TYPE_PTR && count > (s64)type_slot(what)))
		infer_error(in, infer_arg(n, 2)->loc, "%lld bytes can not be written from this",
		            (long long)count);
	return &type_s64;
}

/* The kernel formats: integers, pointers and strings only, at most three. */
const struct type *infer_call_debugf(struct infer *in, struct node *n)
{
	infer_call_format(in, n);
	for (struct node *a = n->call.args->next; a; a = a->next)
		if (a->type && !type_is_scalar(a->type) && a->type->kind != TYPE_STR)
			infer_error(in, a->loc, "debugf() shows numbers and strings only, not '%s'",
			            type_name(in->arena, a->type));
	if (n->call.n_args > DEBUGF_MAX + 1)
		infer_error(in, n->loc, "debugf() shows up to %u values", DEBUGF_MAX);
	return &type_none;
}
