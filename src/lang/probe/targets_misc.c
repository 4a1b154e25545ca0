/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory, objects of the kernel, and memtap itself: watchpoint, iter, self, test.
 *
 * The one idea: these have no list of functions, so all there is to check is whether
 * the parts make sense; an iterator is a function of the kernel's BTF, `bpf_iter_NAME`, whose
 * argument is the context.
 */
#include "lang/probe/targets.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/glob.h"

/* ---- watchpoint ----------------------------------------------------------------------------- */

static bool watch_address(struct targets *t, u64 *address)
{
	const char *text = t->parts[0];
	char *end;

	if (strchr(text, '+') || !isdigit((unsigned char)text[0])) {
		diag_error(t->diags, targets_loc(t, 0), "'%s' is not an address", text);
		diag_hint(t->diags, "a watchpoint on an argument of a function is not possible: "
		                    "print the argument, then watch the address");
		return false;
	}
	errno = 0;
	*address = strtoull(text, &end, 0);
	if (*end || errno)
		return diag_error(t->diags, targets_loc(t, 0), "'%s' is not an address", text);
	return true;
}

/* Letters of r, w, x in any order, each once; processors differ in what they can watch. */
static bool watch_mode(struct targets *t, u32 *type)
{
	static const struct {
		char letter;
		u32 bit;
	} letters[] = { { 'r', HW_BREAKPOINT_R },
		        { 'w', HW_BREAKPOINT_W },
		        { 'x', HW_BREAKPOINT_X } };
	const char *mode = t->parts[2];

	*type = 0;
	for (const char *p = mode; *p; p++) {
		u32 bit = 0;

		for (size_t i = 0; i < ARRAY_SIZE(letters); i++)
			if (letters[i].letter == *p)
				bit = letters[i].bit;
		if (!bit || (*type & bit)) {
			diag_error(t->diags, targets_loc(t, 2), "'%s' is not a mode", mode);
			diag_hint(t->diags,
			          "use w (written), rw (read or written) or x (executed)");
			return false;
		}
		*type |= bit;
	}
	if (arch.watches >> *type & 1)
		return true;
	diag_error(t->diags, targets_loc(t, 2), "this processor has no watchpoints of mode '%s'",
	           mode);
	diag_hint(t->diags, "use w (written), rw (read or written) or x (executed)");
	return false;
}

void targets_watchpoint(struct targets *t)
{
	struct usite site = { .pid = t->script->request.pid };

	if (!watch_address(t, &site.offset) || !targets_number(t, 1, &site.period) ||
	    !watch_mode(t, &site.perf_config))
		return;
	if (site.period != 1 && site.period != 2 && site.period != 4 && site.period != 8) {
		diag_error(t->diags, targets_loc(t, 1), "a watchpoint is 1, 2, 4 or 8 bytes long");
		return;
	}
	if (site.perf_config == HW_BREAKPOINT_X && site.period != 8) {
		diag_error(t->diags, targets_loc(t, 1), "a watchpoint of mode x is 8 bytes long");
		return;
	}
	if (site.offset % site.period && site.perf_config != HW_BREAKPOINT_X) {
		diag_error(t->diags, targets_loc(t, 0), "%s is not a multiple of the length",
		           t->parts[0]);
		return;
	}
	if (!site.pid && !arch_is_kernel(site.offset)) {
		diag_error(t->diags, targets_loc(t, 0),
		           "an address of a program means nothing without its process");
		diag_hint(t->diags, "give -p PID or -c COMMAND");
		return;
	}
	targets_add(t, targets_shared(t), site,
	            arena_printf(t->arena, "%s:%s:%s", t->parts[0], t->parts[1], t->parts[2]));
}

/* ---- iter ----------------------------------------------------------------------------------- */

#define ITER_FUNC "bpf_iter_"

struct iters {
	struct targets *t;
	struct btf *btf;
	const char *pin;
	struct near near;
};

/* An iterator is known by the type of its context; other functions begin with the same word. */
static bool iter_context(struct btf *b, const char *name, struct arena *a)
{
	return btf_find(b, BTF_KIND_STRUCT, arena_printf(a, "bpf_iter__%s", name)) != 0;
}

static bool iter_found(void *ctx, u32 id, const char *func)
{
	struct iters *it = ctx;
	struct targets *t = it->t;
	const char *name = arena_strdup(t->arena, func + strlen(ITER_FUNC));
	struct usite site = {
		.event = name, .btf_id = id, .path = it->pin, .pid = t->script->request.pid
	};
	struct btf_info info;
	struct variant *v;

	if (!iter_context(it->btf, name, t->arena) || !btf_info(it->btf, id, &info))
		return true;
	v = targets_alone(t);
	v->proto = info.type;
	targets_add(t, v, site,
	            it->pin ? arena_printf(t->arena, "%s:%s", name, t->parts[1]) : name);
	return true;
}

static bool iter_offer(void *ctx, u32 id, const char *func)
{
	struct iters *it = ctx;
	const char *name = func + strlen(ITER_FUNC);

	(void)id;
	if (iter_context(it->btf, name, it->t->arena))
		near_offer(&it->near, name);
	return true;
}

static void iter_missing(struct iters *it)
{
	struct targets *t = it->t;

	near_init(&it->near, t->parts[0]);
	btf_each(it->btf, BTF_KIND_FUNC, ITER_FUNC "*", iter_offer, it);
	targets_missing(t, 0,
	                near_best(&it->near) ? arena_printf(t->arena, "'%s'", it->near.best)
	                                     : "one that memtap -l 'iter:*' lists",
	                "No matches for iter %s.", t->parts[0]);
}

/* "list" and "/sys/fs/bpf/list" mean the same; nothing outside of the BPF file system can be
 * pinned to, which the kernel checks. */
static const char *iter_pin(struct targets *t)
{
	if (t->n_parts < 2)
		return NULL;
	return t->parts[1][0] == '/' ? t->parts[1]
	                             : arena_printf(t->arena, "/sys/fs/bpf/%s", t->parts[1]);
}

void targets_iter(struct targets *t)
{
	struct iters it = { .t = t, .pin = iter_pin(t) };
	struct err e = { 0 };

	if (it.pin && (t->script->probes->next || t->script->probes->attaches->next)) {
		diag_error(t->diags, t->attach->loc,
		           "a pinned iterator must be the only probe of its script");
		return;
	}
	if (it.pin && glob_is(str_of(t->parts[0]))) {
		diag_error(t->diags, targets_loc(t, 0),
		           "one iterator can be pinned, not a pattern");
		return;
	}

	it.btf = t->world->ops->btf(t->world, &e);
	if (!it.btf) {
		targets_absent(t, 0, e.hint[0] ? arena_strdup(t->arena, e.hint) : NULL, "%s",
		               e.text);
		return;
	}
	btf_each(it.btf, BTF_KIND_FUNC, arena_printf(t->arena, ITER_FUNC "%s", t->parts[0]),
	         iter_found, &it);
	if (!t->n_added)
		iter_missing(&it);
}

/* ---- self ----------------------------------------------------------------------------------- */

void targets_self(struct targets *t)
{
	if (strcmp(t->parts[0], "signal") != 0) {
		diag_error(t->diags, targets_loc(t, 0), "Unknown event of memtap itself: '%s'",
		           t->parts[0]);
		diag_hint(t->diags, "write it as %s", t->provider->form);
		return;
	}
	if (strcmp(t->parts[1], "SIGUSR1") != 0) {
		diag_error(t->diags, targets_loc(t, 1), "memtap takes no signal '%s'", t->parts[1]);
		diag_hint(t->diags, "only SIGUSR1 is there for scripts");
		return;
	}
	targets_add(t, targets_alone(t), (struct usite){ 0 }, "signal:SIGUSR1");
}

/* ---- test ----------------------------------------------------------------------------------- */

void targets_test(struct targets *t)
{
	if (!t->script->request.tests && !t->script->request.only_checks) {
		diag_error(t->diags, t->attach->loc, "test probes run with --test only");
		return;
	}
	if (!t->parts[0][0] || glob_is(str_of(t->parts[0]))) {
		diag_error(t->diags, targets_loc(t, 0), "'%s' is not the name of a test",
		           t->parts[0]);
		return;
	}
	targets_add(t, targets_alone(t), (struct usite){ 0 }, t->parts[0]);
}
