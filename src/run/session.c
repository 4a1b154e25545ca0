/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One session, in the order things happen:
 *
 *   load, run BEGIN, attach, write what BEGIN sent, release the child,
 *   loop: read records, write what they say, until something ends it;
 *   detach, read what is left, run END, read again, print the maps, warn.
 *
 * exit() ends it at once: records after it are dropped, as they would not exist had the script
 * ended there; what END sends is printed again. The loop sleeps in one poll().
 */
#include "run/session.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "kern/live.h"
#include "out/page.h"
#include "run/event.h"
#include "run/names.h"
#include "run/output.h"
#include "run/rights.h"
#include "world/stop.h"
#include "run/testing.h"
#include "run/failures.h"
#include "run/give_way.h"
#include "run/view.h"
#include "sym/usym.h"

#define BATCH_BYTES  65536u /* of output, then it is written */
#define BATCH_EVENTS 4096u
#define BATCH_MS     20   /* then other things get their turn */
#define CHECK_MS     1000 /* runtime warnings */
#define IDLE_POLLS   4u   /* times poll_ms, while nothing comes */
#define NOTE_MS      1    /* first look at a child's maps after exec, then ever later */
#define NOTE_SHARE   50   /* of the time at most one part in so many goes into reading maps */

/* Of the second between the wish to end and the end. */
#define STOP_EVENTS_MS 400 /* then what is left in the ring is dropped */
#define STOP_END_MS    800 /* then what END began is ended, too */
#define STOP_CHILD_MS  900 /* then the child is killed */
#define STOP_LEAST_MS  100 /* but what is left, and END, and then the child, have so long */

enum { POLL_RING, POLL_STOP, POLL_SIGNAL, POLL_TARGET, POLL_HELD, POLL_OUTPUT, POLL_VIEW, N_POLL };

/* Until when records are read: programs may go on sending them, or what there is is all. */
enum haste {
	UNTIL_ASKED,
	UNTIL_OVER,
	UNTIL_LAST, /* those of END, but no command is begun when it is over */
};

struct session {
	const struct unit *unit;
	const struct session_options *options;
	struct child *child;
	struct live *live;
	struct output output;
	struct names names;
	struct stackmap *stacks; /* NULL: the script takes none */
	struct unwind *unwind;   /* NULL: no stacks are walked by tables */
	struct events events;
	struct failures failures;
	struct graph graph;
	struct event_copy copy; /* for a report */
	struct output page;     /* the report */
	struct stop *stop;
	sigset_t old_mask;
	void (*old_pipe)(int), (*old_child)(int);
	int signal_fd; /* of the script's own signal; -1: it has none */
	int target_fd; /* pidfd of the child (borrowed) or of -p; -1 none */
	u32 batch;     /* records since the last write */
	u32 poll_ms;   /* unit->poll_ms, or more while nothing comes */
	u64 batch_end; /* in ms of the coarse clock */
	bool batch_cut;
	u64 behind; /* since when the ring has not been empty, CLOCK_MONOTONIC nanoseconds */
	u64 runs;   /* ... and since when it is read without giving way */
	u64 least;  /* until then drain() goes on even if detaching took all of the time, in ms */
	bool ended; /* the target is gone */
	int child_code; /* -1 while it has not ended by itself */
	u32 tests_failed;
	bool more; /* the last batch was cut: there are records to be read */
	enum haste haste;
	bool user_names; /* addresses of processes are printed by name */
	u64 next_check, next_note, note_every;
};

static void note(struct session *s, const char *text)
{
	if (!s->options->quiet)
		event_report(&s->events, REPORT_NOTE, NULL, text);
}

static bool has_kind(const struct unit *u, enum attach_kind kind)
{
	for (u32 i = 0; i < u->progs.n; i++)
		if (u->progs.v[i].kind == kind)
			return true;
	return false;
}

/* For a report a graph is drawn where there is something to draw. */
static bool draws(const struct session *s)
{
	const struct graph_options *o = s->options->graph;

	return graph_wanted(o) || (o && s->options->page && graph_fits(s->unit));
}

/* Before anything is traced, as those of graphs. */
static bool open_page(struct session *s, struct err *e)
{
	return !s->options->page || output_open(&s->page, s->options->page, -1, e);
}

/* ---- signals and the process looked at ---- */

/* SIGUSR1 is the script's own, see `self:signal`. */
static bool take_signals(struct session *s, struct err *e)
{
	sigset_t set;

	sigemptyset(&set);
	if (has_kind(s->unit, ATTACH_SELF))
		sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, &s->old_mask);
	s->old_pipe = signal(SIGPIPE, SIG_IGN);
	s->old_child = signal(SIGCHLD, SIG_DFL); /* ignored, it would eat the child's status */
	if (!has_kind(s->unit, ATTACH_SELF))
		return true;
	s->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->signal_fd >= 0 || err_sys(e, errno, "can not receive signals");
}

/* Who sends the script's own does not know that it has ended: one that comes late, or is there
 * already, is not to end the process. */
static void give_signals_back(struct session *s)
{
	if (s->signal_fd >= 0) {
		signal(SIGUSR1, SIG_IGN);
		close(s->signal_fd);
	}
	sigprocmask(SIG_SETMASK, &s->old_mask, NULL);
	signal(SIGPIPE, s->old_pipe);
	signal(SIGCHLD, s->old_child);
}

static bool is_quick(enum action action)
{
	return action == ACTION_PRINTF || action == ACTION_EXIT;
}

/* Only BEGIN, and what it sends is printed in no time. */
static bool is_brief(const struct session *s)
{
	const struct unit *u = s->unit;

	if (s->child || s->options->pid || s->options->view || s->options->page || s->stacks ||
	    s->user_names || draws(s))
		return false;
	for (u32 i = 0; i < u->progs.n; i++)
		if (u->progs.v[i].kind != ATTACH_BEGIN)
			return false;
	for (u32 i = 0; i < u->maps.n; i++)
		if (u->maps.v[i].role == UMAP_USER)
			return false;
	for (u32 i = 0; i < u->records.n; i++)
		if (!is_quick(u->records.v[i].action))
			return false;
	return true;
}

/* Before this a signal ends us like any program: there is nothing to be shown yet. */
static bool take_stop(struct session *s, struct err *e)
{
	s->stop = stop_open(s->child ? s->target_fd : -1, e);
	if (s->stop && !is_brief(s) && !stop_listen(s->stop, e))
		return false;
	stop_allow(s->stop, STOP_EVENTS_MS, 0);
	s->events.stop = s->output.stop = s->stop;
	unwind_set_stop(s->unwind, s->stop);
	return s->stop;
}

static bool watch_target(struct session *s, struct err *e)
{
	if (s->child) {
		s->target_fd = child_fd(s->child);
	} else if (s->options->pid) {
		s->target_fd = (int)syscall(SYS_pidfd_open, s->options->pid, 0);
		if (s->target_fd < 0)
			return err_sys(e, errno, "can not watch process %d", s->options->pid);
	}
	return true;
}

static s32 target_pid(const struct session *s)
{
	return s->child ? child_pid(s->child) : s->options->pid;
}

/* Reading the maps of a process takes from microseconds to many milliseconds, by their number. */
static void note_now(struct session *s)
{
	u64 start = clock_ms();

	if (!s->user_names || s->target_fd < 0)
		return;
	sym_note_process(s->names.sym, (u32)target_pid(s));
	s->next_note = clock_ms() + MAX(s->note_every, (clock_ms() - start) * NOTE_SHARE);
	s->note_every = MIN(s->note_every * 2, (u64)CHECK_MS);
}

/* A process's maps are read while it lives, at growing distances: it may load libraries, and be
 * gone when its addresses are printed. */
static void note_target(struct session *s)
{
	if (clock_ms() >= s->next_note)
		note_now(s);
}

/* The child reports a signal, another exec, or its end: at the last two its maps are read. */
static void on_held(struct session *s)
{
	if (!child_is_held(s->child))
		return;
	if (s->unwind)
		unwind_note(s->unwind, (u32)target_pid(s));
	note_now(s);
	child_resume(s->child);
}

static bool goes_on(const struct session *s)
{
	return !s->ended && !s->events.exiting && !stop_asked(s->stop);
}

/* ---- records ---- */

static bool has_time(const struct session *s)
{
	switch (s->haste) {
	case UNTIL_ASKED:
		return !stop_asked(s->stop);
	case UNTIL_OVER:
		return !stop_over(s->stop) || clock_ms() < s->least;
	case UNTIL_LAST:
		return true;
	}
	unreachable();
}

static void give_way(struct session *s)
{
	struct live_ring at;
	u64 now;

	if (!s->unit->poll_ms || s->haste != UNTIL_ASKED)
		return;
	now = clock_ns(CLOCK_MONOTONIC);
	if (now - s->runs < GIVE_WAY_NS)
		return;
	at = live_ring_at(s->live);
	if (!give_way_is_due(at.waiting, at.size, now - s->behind))
		return;
	sched_yield();
	s->runs = clock_ns(CLOCK_MONOTONIC);
}

/* Asked for each record. */
static u64 coarse_ms(void)
{
	return clock_ns(CLOCK_MONOTONIC_COARSE) / 1000000;
}

/* By time, too: for a table of an interval the kernel may wait (kern/kern_turn.c) until the next
 * one is due, and then the ring is never empty. */
static bool batch_is_full(const struct session *s)
{
	return s->output.text.n >= BATCH_BYTES || s->batch >= BATCH_EVENTS ||
	       coarse_ms() >= s->batch_end;
}

static bool on_record(void *ctx, const void *record, u32 size)
{
	struct session *s = ctx;

	event_handle(&s->events, record, size);
	if (s->options->buffering == BUFFERING_NONE)
		output_flush(&s->output);
	s->batch++;
	if (s->batch % GIVE_WAY_RECORDS == 0)
		give_way(s);
	s->batch_cut = batch_is_full(s);
	return !s->batch_cut && !s->events.exiting && has_time(s);
}

/* Writes what there is, unless it is to be gathered. */
static void write_batch(struct session *s)
{
	if (s->options->buffering == BUFFERING_FULL && s->output.text.n < BATCH_BYTES)
		return;
	if (output_flush(&s->output))
		return;
	stop_ask(s->stop); /* what nobody reads need not be made */
}

/* One batch; true when the ring may hold another. */
static bool read_batch(struct session *s)
{
	s->batch = 0;
	s->batch_cut = false;
	s->batch_end = coarse_ms() + BATCH_MS;
	s->runs = clock_ns(CLOCK_MONOTONIC);
	if (!s->more)
		s->behind = s->runs;
	live_ring_read(s->live, on_record, s);
	s->poll_ms = s->batch ? s->unit->poll_ms
	                      : MIN(s->poll_ms * 2, s->unit->poll_ms * IDLE_POLLS);
	write_batch(s);
	return s->batch_cut;
}

/* What the ring holds up to here, as long as there is time. */
static void drain_to(struct session *s, enum haste haste, u64 end)
{
	bool more = true;

	s->haste = haste;
	s->least = clock_ms() + STOP_LEAST_MS;
	while (more && !s->events.exiting && live_ring_at(s->live).read < end && has_time(s))
		more = read_batch(s);
	s->haste = UNTIL_ASKED;
}

static void drain(struct session *s, enum haste haste)
{
	drain_to(s, haste, UINT64_MAX);
}

static bool read_on(void *ctx, const void *record, u32 size)
{
	event_handle(ctx, record, size);
	return true;
}

/* Records that there was no time for, when no program adds to them any more. */
static void drop_rest(struct session *s)
{
	if (stop_over(s->stop))
		live_ring_read(s->live, event_drop, &s->events);
}

/* ---- the loop ---- */

/* One at a time: there may always be another. */
static bool on_signal(struct session *s, struct err *e)
{
	struct signalfd_siginfo info;

	return read(s->signal_fd, &info, sizeof(info)) != sizeof(info) ||
	       live_run(s->live, ATTACH_SELF, e);
}

static void on_target_end(struct session *s)
{
	if (s->child)
		s->child_code = child_wait(s->child);
	s->target_fd = -1;
	s->ended = true;
}

/* ---- the view ---- */

static struct view_of view_of(struct session *s)
{
	return (struct view_of){ s->unit, s->live, &s->output.text, &s->events };
}

/* Milliseconds; rounded up, so that it is time when they have passed. */
static u64 whole_ms(u64 ns)
{
	return ns / 1000000 + (ns % 1000000 != 0);
}

static u64 view_when(const struct session *s)
{
	const struct view *v = s->options->view;

	return whole_ms(v && v->when ? v->when(v->ctx) : UINT64_MAX);
}

static bool start_view(struct session *s, struct err *e)
{
	const struct view *v = s->options->view;
	struct view_of of = view_of(s);

	return !v || !v->start || s->options->dry_run || v->start(v->ctx, &of, e);
}

static void serve_view(struct session *s, bool input)
{
	const struct view *v = s->options->view;
	struct view_of of = view_of(s);

	if (!v)
		return;
	if (input)
		v->input(v->ctx, &of);
	if (v->when && clock_ns(CLOCK_MONOTONIC) >= v->when(v->ctx))
		v->tick(v->ctx, &of);
	write_batch(s);
}

static int view_fd(const struct session *s)
{
	const struct view *v = s->options->view;

	return v && v->input ? v->fd : -1;
}

static int wait_ms(const struct session *s)
{
	u64 now = clock_ms(), until = s->next_check;

	if (s->user_names && s->target_fd >= 0)
		until = MIN(until, s->next_note);
	until = MIN(MIN(until, view_when(s)), whole_ms(live_clock_next(s->live)));
	if (s->unit->poll_ms)
		until = MIN(until, now + s->poll_ms);
	return until > now ? (int)(until - now) : 0;
}

static bool loop_once(struct session *s, struct err *e)
{
	struct pollfd p[N_POLL] = {
		[POLL_RING] = { .fd = s->unit->poll_ms ? -1 : live_ring_fd(s->live),
		                .events = POLLIN },
		[POLL_STOP] = { .fd = stop_fd(s->stop), .events = POLLIN },
		[POLL_SIGNAL] = { .fd = s->signal_fd, .events = POLLIN },
		[POLL_TARGET] = { .fd = s->target_fd, .events = POLLIN },
		[POLL_HELD] = { .fd = s->child ? child_held_fd(s->child) : -1, .events = POLLIN },
		[POLL_OUTPUT] = { .fd = s->output.fd }, /* POLLERR: the reader is gone */
		[POLL_VIEW] = { .fd = view_fd(s), .events = POLLIN },
	};

	if (poll(p, N_POLL, s->more ? 0 : wait_ms(s)) < 0 && errno != EINTR)
		return err_sys(e, errno, "can not wait for events");
	stackmap_check(s->stacks);
	if (!taken_check(&s->events.taken, e) || !live_clock_run(s->live, e))
		return false;
	s->more = read_batch(s);
	serve_view(s, p[POLL_VIEW].revents);
	if (p[POLL_SIGNAL].revents && !on_signal(s, e))
		return false;
	if (p[POLL_OUTPUT].revents & POLLERR)
		stop_ask(s->stop);
	if (p[POLL_HELD].revents)
		on_held(s);
	if (p[POLL_TARGET].revents)
		on_target_end(s);
	note_target(s);
	if (clock_ms() >= s->next_check) {
		failures_check(&s->failures, &s->events);
		live_unfollow_gone(s->live);
		if (s->events.files)
			file_watch_forget_gone(s->events.files);
		s->next_check = clock_ms() + CHECK_MS;
	}
	return true;
}

/* The first look at a child is while it is held after exec. */
static bool release(struct session *s, struct err *e)
{
	if (s->child && !child_release(s->child, s->user_names, s->unwind, e))
		return false;
	s->note_every = NOTE_MS;
	if (s->unwind && s->child)
		unwind_note(s->unwind, (u32)target_pid(s));
	note_now(s);
	if (s->child)
		child_resume(s->child);
	return true;
}

static bool watch(struct session *s, struct err *e)
{
	if (!release(s, e))
		return false;
	caps_keep(rights_kept(s->unit, s->options, s->child));
	s->next_check = clock_ms() + CHECK_MS;
	while (goes_on(s))
		if (!loop_once(s, e))
			return false;
	/* One that came before the wish to stop is older. */
	return s->signal_fd < 0 || on_signal(s, e);
}

/* ---- start ---- */

static bool is_stopped(void *ctx)
{
	const struct session *s = ctx;

	return stop_asked(s->stop);
}

/* Bytes: the option, else the script's setting. */
static u64 limit_of(u64 option, u32 mib)
{
	return option ? option : (u64)mib << 20;
}

static bool load(struct session *s, struct err *e)
{
	struct buf log = { 0 };
	struct live_options o = { .features = s->options->features,
		                  .log = &log,
		                  .stopped = is_stopped,
		                  .ctx = s,
		                  .map_memory = s->options->map_limit };
	bool is_new;

	if (unwind_wanted(s->unit)) {
		s->unwind = unwind_new(s->unit,
		                       limit_of(s->options->unwind_limit, s->unit->unwind_memory));
		if (s->options->pid)
			unwind_prepare(s->unwind, (u32)s->options->pid);
		o.unwind_chunks = unwind_chunks(s->unwind);
	}
	s->live = live_load(s->unit, &o, e);
	if (!s->live && s->options->verbose && log.n)
		s->options->report(s->options->report_ctx, REPORT_NOTE, NULL, buf_text(&log));
	buf_free(&log);
	if (!s->live)
		return false;
	if (s->unwind) {
		unwind_start(s->unwind, s->live);
		unwind_note(s->unwind, (u32)s->options->pid);
		if (!s->options->pid && !s->child)
			unwind_warm(s->unwind);
	}
	live_data_set(s->live, UDATA_START, clock_ns(CLOCK_BOOTTIME));
	live_data_set(s->live, UDATA_CPID, s->child ? (u64)child_pid(s->child) : 0);
	if (unit_map(s->unit, UMAP_FAMILY) >= 0)
		return live_follow(s->live, target_pid(s), &is_new, e);
	return true;
}

/* -v: how big each program is, and how much of it the kernel's verifier had to walk. */
static void note_programs(struct session *s)
{
	struct buf b = { 0 };

	for (u32 i = 0; i < s->unit->notes.n; i++)
		note(s, s->unit->notes.v[i]);
	for (u32 i = 0; i < s->unit->progs.n; i++) {
		const struct uprog *p = &s->unit->progs.v[i];

		buf_reset(&b);
		buf_printf(&b, "%s: %u instructions", p->name, p->n_insns);
		if (live_insns(s->live, i))
			buf_printf(&b, ", %u verified", live_insns(s->live, i));
		note(s, buf_text(&b));
	}
	buf_free(&b);
}

/* -v: what the kernel made of each probe. */
static void note_attached(struct session *s)
{
	struct buf b = { 0 };

	for (u32 i = 0; i < s->unit->progs.n; i++) {
		struct live_attached a = live_attached_by(s->live, i);

		if (!a.how)
			continue;
		buf_reset(&b);
		buf_printf(&b, "%s: attached to %u place%s by %u %s%s", s->unit->progs.v[i].name,
		           a.sites, a.sites == 1 ? "" : "s", a.links, a.how,
		           a.links == 1 ? "" : "s");
		note(s, buf_text(&b));
	}
	buf_free(&b);
}

/* -v: which probes are not on the first instruction of their function, or better were not. */
static void note_sites(struct session *s)
{
	struct buf b = { 0 };

	for (u32 i = 0; i < s->unit->progs.n; i++) {
		const struct uprog *p = &s->unit->progs.v[i];

		for (u32 k = 0; k < p->n_sites; k++) {
			const struct usite *site = &p->sites[k];

			buf_reset(&b);
			if (site->moved)
				buf_printf(&b,
				           "%s: %u bytes after the function's start, where "
				           "%s",
				           site->name, site->moved,
				           site->once ? "each call of Go passes once"
				                      : "a probe costs less");
			else if (site->stays)
				buf_printf(&b,
				           "%s: on the function's start, where a probe is "
				           "expensive: %s",
				           site->name, site->stays);
			if (b.n)
				note(s, buf_text(&b));
		}
	}
	buf_free(&b);
}

/* What the number in a frame stands for. */
static bool find_file(void *unwind, u32 number, struct usym_file *f)
{
	struct unwind_where where;

	if (!unwind_file(unwind, number, &where))
		return false;
	*f = (struct usym_file){ where.path, where.fd };
	return true;
}

static void say(void *ctx, enum report kind, const struct loc *loc, const char *text)
{
	struct session *s = ctx;

	if (kind != REPORT_NOTE || !s->options->quiet)
		event_report(&s->events, kind, loc, text);
}

static bool escapes(const struct session *s)
{
	if (s->options->escape || s->options->no_escape)
		return s->options->escape;
	return isatty(s->output.fd) == 1;
}

static void init_events(struct session *s)
{
	const struct out_ops *ops = s->options->format ? s->options->format : &out_text;
	struct names_options no = { .graft = s->options->graft,
		                    .mangled = s->options->mangled || s->unit->mangled,
		                    .lines = s->options->lines   ? SYM_LINES_ALL
		                             : s->unit->no_lines ? SYM_LINES_NONE
		                                                 : SYM_LINES_FOUND };

	s->stacks = stackmap_new(s->unit, s->live,
	                         limit_of(s->options->stack_limit, s->unit->stack_memory));
	names_init(&s->names, s->unit, s->stacks, &no);
	if (s->unwind)
		sym_set_files(s->names.sym, find_file, s->unwind);
	s->user_names = names_user_wanted(s->unit);
	s->events = (struct events){
		.unit = s->unit,
		.live = s->live,
		.options = s->options,
		.output = &s->output,
		.stacks = s->stacks,
		.unwind = s->unwind,
		.graph = draws(s) ? &s->graph : NULL,
		.sym = s->names.sym,
		.files = file_watch_new(s->unit, s->live, s->options->features, s->options->expand),
		.out = { .unit = s->unit,
		         .namer = &s->names.namer,
		         .ops = ops,
		         .say = say,
		         .say_ctx = s,
		         .verbose = s->options->verbose,
		         .escape = escapes(s) && !ops->quotes ? ESCAPE_ALL : ESCAPE_NONE },
	};
	if (s->options->page)
		s->events.copy = &s->copy;
	s->copy.out = s->events.out;
	s->copy.out.ops = &out_json;
	s->copy.out.escape = ESCAPE_NONE;
	taken_init(&s->events.taken, s->unit, s->live,
	           limit_of(s->options->map_limit, s->unit->map_memory));
	stackmap_set_rows(s->stacks, &s->events.taken);
}

static void warn_skipped(void *ctx, struct loc loc, const char *text)
{
	event_report(ctx, REPORT_WARNING, &loc, text);
}

/* Those that are run by us. */
static u32 count_own(const struct unit *u)
{
	u32 n = 0;

	for (u32 i = 0; i < u->progs.n; i++)
		n += attach_kind_has(u->progs.v[i].kind, KIND_CALLED);
	return n;
}

/* Programs that something may still run once all iterators have been read. */
static bool has_events(const struct unit *u)
{
	for (u32 i = 0; i < u->progs.n; i++)
		if (!attach_kind_has(u->progs.v[i].kind, KIND_AROUND | KIND_READ))
			return true;
	return false;
}

/* Between two reads of an iterator: what is there now. */
static bool take_records(void *ctx)
{
	struct session *s = ctx;

	drain_to(s, UNTIL_OVER, live_ring_at(s->live).reserved);
	return goes_on(s);
}

/* exit(), in BEGIN or on the way, counts at the end of the walk. */
static bool walk(struct session *s, struct err *e)
{
	bool ok;

	s->events.exit_called |= s->events.exiting;
	s->events.exiting = false;
	s->events.is_walking = true;
	ok = live_iterate(s->live, take_records, s, e);
	s->events.is_walking = false;
	s->events.exiting |= s->events.exit_called;
	return ok;
}

/* For tests of scripts: a word on the output when probes are in place. */
static void tell_tests(struct session *s)
{
	static const char *const names[] = { "__BPFTRACE_NOTIFY_PROBES_ATTACHED",
		                             "MEMTAP_NOTIFY_PROBES_ATTACHED" };

	for (u32 i = 0; i < ARRAY_SIZE(names); i++)
		if (getenv(names[i]))
			buf_printf(&s->output.text, "%s\n", names[i]);
}

/* A pinned iterator, always the only program, is there for others to read: its path. */
static const char *pinned_to(const struct unit *u)
{
	const struct uprog *only = u->progs.n == 1 ? &u->progs.v[0] : NULL;

	return only && attach_kind_has(only->kind, KIND_READ) ? only->sites[0].path : NULL;
}

static bool attach(struct session *s, struct err *e)
{
	struct out to = s->events.out;
	char text[512];
	u32 n;

	if (!live_attach(s->live, &n, warn_skipped, &s->events, e))
		return false;
	if (s->options->verbose) {
		note_attached(s);
		note_sites(s);
	}
	n += count_own(s->unit);
	if (s->options->view) /* whose output has no place for it */
		to.ops = &out_text;
	if (!s->options->quiet)
		OUT(&to, attached, &s->output.text, n);
	if (pinned_to(s->unit)) {
		snprintf(text, sizeof(text), "Program pinned to %s", pinned_to(s->unit));
		note(s, text);
	}
	tell_tests(s);
	if (!output_flush(&s->output))
		stop_ask(s->stop);
	return true;
}

/* ---- end ---- */

static int by_name(const void *a, const void *b, void *unit)
{
	const struct umap *maps = ((const struct unit *)unit)->maps.v;

	return strcmp(maps[*(const u32 *)a].name, maps[*(const u32 *)b].name);
}

static void print_maps(struct session *s)
{
	const struct unit *u = s->unit;
	u32 *order = calloc(u->maps.n + 1, sizeof(*order)), n = 0;

	if (!order)
		base_no_memory();
	for (u32 i = 0; i < u->maps.n; i++)
		if (u->maps.v[i].role == UMAP_USER)
			order[n++] = i;
	qsort_r(order, n, sizeof(*order), by_name, (void *)(uintptr_t)u);
	OUT(&s->events.out, last_maps, &s->output.text);
	for (u32 i = 0; i < n && output_flush(&s->output); i++)
		event_print_last(&s->events, order[i]);
	output_flush(&s->output);
	free(order);
}

/* What the maps hold: as the view shows it, or all of them. */
static bool show_end(struct session *s, struct err *e)
{
	const struct view *view = s->options->view;
	struct view_of of = view_of(s);

	if (s->options->dry_run || pinned_to(s->unit))
		return true;
	if (view && view->end)
		return view->end(view->ctx, &of, e);
	if (s->unit->print_maps_on_exit)
		print_maps(s);
	return true;
}

/* What was sent before exit() was printed; what came after it does not count, and nothing does when
 * probes were only attached to see that they can be. */
static void detach(struct session *s)
{
	live_detach(s->live);
	if (!s->events.exiting && !s->options->dry_run) {
		drain(s, UNTIL_OVER);
		drop_rest(s);
		return;
	}
	s->events.exiting = true;
	live_ring_read(s->live, read_on, &s->events);
	s->events.exiting = false;
}

static bool run_end(struct session *s, struct err *e)
{
	if (s->options->dry_run)
		return true;
	stop_allow(s->stop, STOP_END_MS, STOP_LEAST_MS);
	if (!live_run(s->live, ATTACH_END, e))
		return false;
	drain(s, UNTIL_LAST);
	return true;
}

/* Those that the programs could not put into the map were reported when it happened. */
static void warn_lost(struct session *s, u64 n)
{
	struct buf b = { 0 };

	if (!n)
		return;
	buf_printf(&b,
	           "%" PRIu64 " stack%s no room and %s shown as [lost]; --stack-memory and the "
	           "setting stack_memory give more",
	           n, n == 1 ? " had" : "s had", n == 1 ? "is" : "are");
	event_summary(&s->events, n, buf_text(&b));
	buf_free(&b);
}

/* What became of the stacks. */
static void report_stacks(struct session *s)
{
	struct unwind_stat n = { 0 };
	struct stacks_stat kept;
	struct out_stacks o;
	u64 lost;

	if (!s->stacks)
		return;
	kept = stackmap_stat(s->stacks, &lost);
	warn_lost(s, lost);
	lost += failures_stacks(&s->events);
	if (!s->unwind && !lost)
		return;
	if (s->unwind)
		unwind_stat(s->unwind, &n);
	o = (struct out_stacks){ .walked = s->unwind ? &n : NULL,
		                 .kept = kept.stacks,
		                 .bytes = kept.bytes,
		                 .limit = kept.limit,
		                 .lost = lost };
	OUT(&s->events.out, stacks, &s->output.text, &o);
}

/* What could not be read of files of others. */
static void report_lacks(struct session *s)
{
	for (u32 i = 0; i < FILE_LACKS; i++) {
		struct buf b = { 0 };
		const char *text;
		u32 times;

		text = file_lacked(i, &times);
		if (!text)
			continue;
		buf_printf(&b, "%u %s", times, text);
		event_summary(&s->events, times, buf_text(&b));
		buf_free(&b);
	}
}

/* What maps took outside of the kernel, if anything. */
static void report_maps(struct session *s)
{
	const struct taken *t = &s->events.taken;
	u64 lost = t->n_lost + failures_spilled(&s->events);
	struct out_maps o = { t->drained, t->rows, t->most, t->limit, lost };

	if (t->overflowed || lost)
		OUT(&s->events.out, maps, &s->output.text, &o);
}

/* Where programs are not interrupted it is of no matter to most: events of what programs call. */
static void report_missed(struct session *s)
{
	bool is_loss = live_interruptible();
	struct buf b = { 0 };

	for (u32 i = 0; (is_loss || s->options->verbose) && i < s->unit->progs.n; i++) {
		u64 n = live_missed(s->live, i);

		if (!n)
			continue;
		buf_reset(&b);
		buf_printf(&b,
		           "%s: %" PRIu64 " event%s missed: another program was at work on that "
		           "processor, or a map was being changed there",
		           s->unit->progs.v[i].name, n, n == 1 ? " was" : "s were");
		if (is_loss)
			event_summary(&s->events, n, buf_text(&b));
		else
			note(s, buf_text(&b));
	}
	buf_free(&b);
}

static bool write_graph(struct session *s, struct err *e)
{
	struct buf b = { 0 };

	if (!s->events.graph || s->options->dry_run)
		return true;
	event_take_graph(&s->events);
	if (!graph_wanted(s->options->graph)) /* it is for a report only */
		return true;
	if (!graph_write(&s->graph, s->stop, e))
		return false;
	buf_printf(&b, "%s of %s: %" PRIu64 " stacks", graph_what(&s->graph),
	           s->unit->maps.v[s->graph.map].name, graph_stacks(&s->graph));
	if (s->graph.also)
		buf_printf(&b, " (--flame-map takes %s too)", s->graph.also);
	note(s, buf_text(&b));
	buf_free(&b);
	return true;
}

/* A report: what was printed, what the view shows, the flame graph. */
static bool write_page(struct session *s, struct err *e)
{
	const struct view *view = s->options->view;
	const char *slash = strrchr(s->unit->source_name, '/');
	struct view_of of = view_of(s);
	struct buf flame = { 0 }, *lines = &s->copy.text;
	struct page_report r = { .title = slash ? slash + 1 : s->unit->source_name };

	if (!s->options->page || s->options->dry_run)
		return true;
	if (view && view->report)
		view->report(view->ctx, &of, lines);
	if (s->events.graph && s->graph.flame.root.value)
		graph_picture(&s->graph, &flame);
	r.lines = (struct str){ buf_text(lines), (u32)lines->n };
	r.flame = (struct str){ buf_text(&flame), (u32)flame.n };
	page_report(&s->page.text, &r);
	buf_free(&flame);
	return output_flush(&s->page) || err_set(e, "%s: %s", s->options->page, s->page.error.text);
}

static bool finish(struct session *s, struct err *e)
{
	note_now(s);
	if (s->child)
		child_let_go(s->child);
	detach(s);
	if (!run_end(s, e))
		return false;
	stop_is_ending(s->stop);
	stackmap_end(s->stacks);
	if (!show_end(s, e))
		return false;
	failures_check(&s->failures, &s->events);
	failures_end(&s->failures, &s->events);
	event_report_followed(&s->events);
	event_report_denied(&s->events);
	event_report_unread(&s->events);
	report_stacks(s);
	report_maps(s);
	report_lacks(s);
	report_missed(s);
	output_flush(&s->output);
	return write_graph(s, e) && write_page(s, e);
}

/* ---- all of it ---- */

/* What BEGIN prints is the sign that all probes are there: until then it waits in the ring. To a
 * view it says how it is to be. What came while probes were attached has its turn in the loop. */
static bool begin(struct session *s, struct err *e)
{
	u64 begun;

	if (s->options->dry_run)
		return start_view(s, e) && attach(s, e);
	if (!live_run(s->live, ATTACH_BEGIN, e))
		return false;
	begun = live_ring_at(s->live).reserved;
	if (s->options->view)
		drain_to(s, UNTIL_OVER, begun);
	if (stop_asked(s->stop) || (s->options->view && !goes_on(s)))
		return true;
	if (!start_view(s, e) || !attach(s, e))
		return false;
	drain_to(s, UNTIL_OVER, begun);
	return true;
}

static bool run(struct session *s, struct err *e)
{
	bool tests = has_kind(s->unit, ATTACH_TEST);
	bool waits = !tests && (s->child || has_events(s->unit));

	if (!take_stop(s, e))
		return false;
	if (!begin(s, e))
		return false;
	if (!s->ended && !stop_asked(s->stop) && !s->options->dry_run && !walk(s, e))
		return false;
	if (goes_on(s)) {
		if (tests && !s->options->dry_run && !testing_run(&s->events, &s->tests_failed, e))
			return false;
		if (waits && !s->options->dry_run && !watch(s, e))
			return false;
	}
	return finish(s, e);
}

static bool open_all(struct session *s, struct err *e)
{
	const struct session_options *o = s->options;

	if (!take_signals(s, e) || !watch_target(s, e) ||
	    (draws(s) && !graph_open(&s->graph, s->unit, o->graph, o->page != NULL, e)) ||
	    !open_page(s, e) || !output_open(&s->output, o->output, o->output_fd, e) || !load(s, e))
		return false;
	failures_init(&s->failures, s->unit);
	init_events(s);
	if (o->verbose)
		note_programs(s);
	return true;
}

/* Within what is left of the second when asked. */
static void end_child(struct session *s)
{
	stop_allow(s->stop, STOP_CHILD_MS, STOP_LEAST_MS);
	child_end(s->child, stop_asked(s->stop) ? stop_left(s->stop) : CHILD_GRACE_MS);
}

static void close_all(struct session *s)
{
	if (s->child)
		end_child(s);
	events_free(&s->events);
	file_watch_free(s->events.files);
	failures_free(&s->failures);
	if (s->live)
		names_free(&s->names);
	stackmap_free(s->stacks);
	unwind_free(s->unwind);
	live_free(s->live);
	if (!s->child && s->target_fd >= 0)
		close(s->target_fd);
	graph_close(&s->graph);
	buf_free(&s->copy.text);
	output_close(&s->page);
	stop_close(s->stop);
	give_signals_back(s);
}

static int exit_code(const struct session *s)
{
	if (s->events.exit_called)
		return s->events.exit_code;
	if (s->tests_failed)
		return 1;
	return s->child_code >= 0 ? s->child_code : 0;
}

int session_run(const struct unit *u, const struct session_options *o, struct child *child,
                struct err *e)
{
	struct session s = { .unit = u,
		             .options = o,
		             .child = child,
		             .output = { .fd = -1 },
		             .page = { .fd = -1 },
		             .signal_fd = -1,
		             .target_fd = -1,
		             .poll_ms = u->poll_ms,
		             .child_code = -1 };
	bool ok = open_all(&s, e) && run(&s, e);
	int code = ok ? exit_code(&s) : -1;

	output_close(&s.output);
	if (ok && s.output.error.text[0]) {
		event_report(&s.events, REPORT_ERROR, NULL, s.output.error.text);
		code = 1;
	}
	close_all(&s);
	return code;
}
