/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * --test: probes named test:NAME are run one by one, by hand of the kernel's own way to try a
 * program out.
 *
 * The one idea: while a test runs the output is held back, so that what it printed can be shown
 * with its result, or left out. What to think of a result is out/'s business.
 */
#include "run/testing.h"

#include <string.h>

static bool on_record(void *ctx, const void *record, u32 size)
{
	event_handle(ctx, record, size);
	return true;
}

static u32 count_tests(const struct unit *u)
{
	u32 n = 0;

	for (u32 i = 0; i < u->progs.n; i++)
		n += u->progs.v[i].kind == ATTACH_TEST;
	return n;
}

/* Runs the program; what it printed is in the output, which is held. */
static bool run_one(struct events *ev, u32 prog, struct out_test *t, struct err *e)
{
	u32 result, errors = ev->n_errors;

	ev->exit_code = 0;
	if (!live_test(ev->live, prog, &result, &t->ns, e))
		return false;
	live_ring_read(ev->live, on_record, ev);
	t->name = ev->unit->progs.v[prog].name + strlen("test:");
	t->passed = !result && !ev->exit_code && ev->n_errors == errors;
	ev->exiting = ev->exit_called = false;
	return true;
}

static bool run_held(struct events *ev, u32 prog, struct out_test *t, struct err *e)
{
	bool ok;

	output_flush(ev->output);
	ev->output->held = true;
	ok = run_one(ev, prog, t, e);
	ev->output->held = false;
	return ok;
}

bool testing_run(struct events *ev, u32 *failed, struct err *e)
{
	const struct unit *u = ev->unit;
	struct arena arena = { 0 };
	u32 n = count_tests(u), done = 0;
	struct out_test *tests = arena_array(&arena, struct out_test, n + 1);
	bool ok = true;

	*failed = 0;
	for (u32 i = 0; ok && i < u->progs.n && !stop_asked(ev->stop); i++) {
		struct buf *text = &ev->output->text;
		struct out_test *t = &tests[done];

		if (u->progs.v[i].kind != ATTACH_TEST)
			continue;
		ok = run_held(ev, i, t, e);
		t->output.p = arena_strndup(&arena, buf_text(text), text->n);
		t->output.n = (u32)text->n;
		buf_reset(text);
		if (!ok)
			break;
		*failed += !t->passed;
		OUT(&ev->out, test, text, tests, done, n);
		done++;
	}
	ev->exit_code = 0;
	output_flush(ev->output);
	arena_free(&arena);
	return ok;
}
