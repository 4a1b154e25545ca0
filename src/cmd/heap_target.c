/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which process, whether something is in it already, and what is said about it.
 */
#include "cmd/heap_target.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/say.h"
#include "inject/enter.h"
#include "inject/heap.h"
#include "read/procstat.h"

#define IN_MS  5000u  /* for how long it is tried */
#define OUT_MS 20000u /* and to take it out, which matters more */

static bool read_every(const struct script_args *args, u64 *every, struct err *e)
{
	const char *text = script_args_option(args, "every");
	char *end;

	*every = HEAP_EVERY;
	if (!text)
		return true;
	errno = 0;
	*every = strtoull(text, &end, 0);
	return (*text >= '0' && *text <= '9' && !*end && !errno && *every &&
	        *every <= HEAP_EVERY_MOST) ||
	       err_set(e, "--every %s: it must be a number of bytes from 1 to %llu", text,
	               (unsigned long long)HEAP_EVERY_MOST);
}

static bool need_process(s32 pid, struct err *e)
{
	if (pid)
		return true;
	err_set(e, "to sample a heap needs a process: -p PID, or -c COMMAND");
	return err_hint(e, "it puts code into the process: some nanoseconds for each malloc and "
	                   "free, some microseconds for each sample, 1 to 2 MB of memory, and all "
	                   "threads stop for some milliseconds, twice");
}

/* What another one left, or has there. */
static bool take_out_old(struct heap_target *t, bool quiet, struct err *e)
{
	struct heap_result r;
	pid_t owner;

	if (!heap_is_in(t->pid, &owner))
		return true;
	if (owner)
		return err_set(e, "process %d is sampled by another memtap, process %d", t->pid,
		               owner);
	if (!heap_out(t->pid, OUT_MS, &r, e))
		return false;
	if (!quiet)
		say_note("took out what a memtap that was killed had left in the process");
	return true;
}

static bool remove_only(struct heap_target *t, bool quiet, struct err *e)
{
	pid_t owner;

	t->done = true;
	if (!heap_is_in(t->pid, &owner))
		return err_set(e, "there is nothing of memtap in process %d", t->pid);
	return take_out_old(t, quiet, e);
}

static void say_done(const char *what, const struct heap_result *r, const char *left)
{
	char text[512];

	snprintf(text, sizeof(text), "%s: the process stood still for %.1f ms, in %u stops%s%s",
	         what, (double)r->stopped_ns / 1e6, r->stops, *left ? "; " : "", left);
	say_note(text);
}

bool heap_target_begin(struct heap_target *t, const struct run_options *o, s32 pid,
                       const struct script_args *args, struct err *e)
{
	struct heap_result r;
	char left[256];
	u64 every;

	*t = (struct heap_target){ .pid = pid };
	if (!read_every(args, &every, e) || !need_process(pid, e))
		return false;
	if (script_args_option(args, "remove"))
		return remove_only(t, o->quiet, e);
	if (!take_out_old(t, o->quiet, e))
		return false;
	if (heap_is_producer(t->pid)) {
		if (!o->quiet)
			say_note("the process samples by itself: nothing is put in");
		return true;
	}
	if (!enter_allowed(t->pid, e) ||
	    !heap_in(t->pid, every, script_args_option(args, "every") ? 0 : HEAP_MOST, IN_MS, &r,
	             left, e))
		return false;
	t->ours = true;
	t->graft = (struct sym_graft){ r.dev, r.inode };
	if (o->verbose || *left)
		say_done("put in", &r, left);
	return true;
}

bool heap_target_end(struct heap_target *t, const struct run_options *o, struct err *e)
{
	struct heap_result r;
	char text[256];

	if (!t->ours)
		return true;
	if (!heap_out(t->pid, OUT_MS, &r, e)) {
		if (procstat_started((u32)t->pid) == 0)
			return true; /* it ended */
		err_wrap(e, "memtap's code stays in process %d, and does nothing", t->pid);
		return err_hint(e, "memtap heap --remove -p %d tries again", t->pid);
	}
	if (o->verbose && r.stops)
		say_done("taken out", &r, "");
	if (r.full && !o->quiet) {
		snprintf(text, sizeof(text),
		         "%llu samples found no room: too many blocks live for so small an --every",
		         (unsigned long long)r.full);
		say_warning(text);
	}
	return true;
}
