/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One session, in the order things happen:
 *
 *   load, run BEGIN, attach, release the child,
 *   loop: read records, write what they say, until something ends it;
 *   detach, read what is left, run END, read again, print the maps, warn.
 *
 * exit() ends it at once: records behind it are dropped, as they would not exist had the script
 * ended there; what END sends is printed again. The loop sleeps in one poll().
 */
#include "run/session.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "kern/live.h"
#include "run/event.h"
#include "run/names.h"
#include "run/output.h"
#include "run/testing.h"
#include "run/trouble.h"
#include "run/view.h"

#define BATCH_BYTES  65536u /* of output, then it is written */
#define BATCH_EVENTS 4096u
#define CHECK_MS     1000 /* runtime warnings */
#define NOTE_MS      1    /* first look at a child's maps after exec, then ever later */
#define NOTE_SHARE   50   /* of the time at most one part in so many goes into reading maps */

enum { POLL_RING, POLL_SIGNAL, POLL_TARGET, POLL_HELD, POLL_OUTPUT, POLL_VIEW, N_POLL };

struct session {
	const struct unit *unit;
	const struct session_options *options;
	struct child *child;
	struct live *live;
	struct output output;
	struct names names;
	struct unwind *unwind; /* NULL: no stacks are walked by tables */
	struct events events;
	struct trouble trouble;
	struct graph graph;
	sigset_t old_mask;
	void (*old_pipe)(int), (*old_child)(int);
	int signal_fd, target_fd; /* target: pidfd of the child (borrowed) or of -p; -1 none */
	u32 batch;                /* records since the last write */
	bool ended;               /* by a signal or because the target or the reader is gone */
	int child_code;           /* -1 while it has not ended by itself */
	u32 tests_failed;
	bool more;       /* the last batch was cut: there are records to be read */
	bool user_names; /* addresses of processes are printed by name */
	u64 next_check, next_note, note_every;
};

static u64 now_ms(void)
{
	return clock_ns(CLOCK_MONOTONIC) / 1000000;
}

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

/* ---- signals and the process looked at ---- */

static bool take_signals(struct session *s, struct err *e)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	if (has_kind(s->unit, ATTACH_SELF))
		sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, &s->old_mask);
	s->old_pipe = signal(SIGPIPE, SIG_IGN);
	s->old_child = signal(SIGCHLD, SIG_DFL); /* ignored, it would eat the child's status */
	s->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->signal_fd < 0)
		return err_sys(e, errno, "can not receive signals");
	return true;
}

/*
 * From here on Ctrl-C ends us like any program. Until then further signals are taken for the
 * same wish: timeout(1) for one sends each signal twice, to us and to our group.
 */
static void give_signals_back(struct session *s)
{
	struct signalfd_siginfo info;

	if (s->signal_fd < 0)
		return;
	while (read(s->signal_fd, &info, sizeof(info)) > 0)
		;
	close(s->signal_fd);
	s->signal_fd = -1;
	sigprocmask(SIG_SETMASK, &s->old_mask, NULL);
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
	u64 start = now_ms();

	if (!s->user_names || s->target_fd < 0)
		return;
	sym_note_process(s->names.sym, (u32)target_pid(s));
	s->next_note = now_ms() + MAX(s->note_every, (now_ms() - start) * NOTE_SHARE);
	s->note_every = MIN(s->note_every * 2, (u64)CHECK_MS);
}

/* A process's maps are read while it lives, at growing distances: it may load libraries, and be
 * gone when its addresses are printed. */
static void note_target(struct session *s)
{
	if (now_ms() >= s->next_note)
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

/* ---- records ---- */

static bool on_record(void *ctx, const void *record, u32 size)
{
	struct session *s = ctx;

	event_handle(&s->events, record, size);
	if (s->options->buffering == BUFFERING_NONE)
		output_flush(&s->output);
	s->batch++;
	return !s->events.exiting && s->output.text.n < BATCH_BYTES && s->batch < BATCH_EVENTS;
}

/* Writes what there is, unless it is to be gathered. */
static void write_batch(struct session *s)
{
	if (s->options->buffering == BUFFERING_FULL && s->output.text.n < BATCH_BYTES)
		return;
	if (!output_flush(&s->output))
		s->ended = true;
}

/* One batch; *more when the ring may hold another. */
static bool read_batch(struct session *s, bool *more, struct err *e)
{
	s->batch = 0;
	if (!live_ring_read(s->live, on_record, s, e))
		return false;
	*more = s->batch == BATCH_EVENTS || s->output.text.n >= BATCH_BYTES;
	write_batch(s);
	return true;
}

/* All that is there, when no program adds to it any more. */
static bool drain(struct session *s, struct err *e)
{
	bool more = true;

	while (more && !s->events.exiting)
		if (!read_batch(s, &more, e))
			return false;
	return true;
}

static bool drop_record(void *ctx, const void *record, u32 size)
{
	(void)ctx;
	(void)record;
	(void)size;
	return true;
}

/* ---- the loop ---- */

/* SIGUSR1 is the script's own, see `self:signal`; the others end the session. */
static bool on_signals(struct session *s, struct err *e)
{
	struct signalfd_siginfo info;

	while (read(s->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo != SIGUSR1)
			s->ended = true;
		else if (!live_run(s->live, ATTACH_SELF, e))
			return false;
	}
	return true;
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
static u64 view_when(const struct session *s)
{
	const struct view *v = s->options->view;
	u64 ns = v && v->when ? v->when(v->ctx) : UINT64_MAX;

	return ns / 1000000 + (ns % 1000000 != 0);
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
	u64 now = now_ms(), until = s->next_check;

	if (s->user_names && s->target_fd >= 0)
		until = MIN(until, s->next_note);
	until = MIN(until, view_when(s));
	if (s->unit->poll_ms)
		until = MIN(until, now + s->unit->poll_ms);
	return until > now ? (int)(until - now) : 0;
}

static bool loop_once(struct session *s, struct err *e)
{
	struct pollfd p[N_POLL] = {
		[POLL_RING] = { .fd = s->unit->poll_ms ? -1 : live_ring_fd(s->live),
		                .events = POLLIN },
		[POLL_SIGNAL] = { .fd = s->signal_fd, .events = POLLIN },
		[POLL_TARGET] = { .fd = s->target_fd, .events = POLLIN },
		[POLL_HELD] = { .fd = s->child ? child_held_fd(s->child) : -1, .events = POLLIN },
		[POLL_OUTPUT] = { .fd = s->output.fd }, /* POLLERR: the reader is gone */
		[POLL_VIEW] = { .fd = view_fd(s), .events = POLLIN },
	};

	if (poll(p, N_POLL, s->more ? 0 : wait_ms(s)) < 0 && errno != EINTR)
		return err_sys(e, errno, "can not wait for events");
	if (!read_batch(s, &s->more, e))
		return false;
	serve_view(s, p[POLL_VIEW].revents);
	if (p[POLL_SIGNAL].revents && !on_signals(s, e))
		return false;
	if (p[POLL_OUTPUT].revents & POLLERR)
		s->ended = true;
	if (p[POLL_HELD].revents)
		on_held(s);
	if (p[POLL_TARGET].revents)
		on_target_end(s);
	note_target(s);
	if (now_ms() >= s->next_check) {
		trouble_check(&s->trouble, &s->events);
		live_unfollow_gone(s->live);
		if (s->events.late)
			late_forget_gone(s->events.late);
		s->next_check = now_ms() + CHECK_MS;
	}
	return true;
}

/* The first look at a child is while it is held behind exec. */
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

static bool loop(struct session *s, struct err *e)
{
	s->next_check = now_ms() + CHECK_MS;
	while (!s->ended && !s->events.exiting)
		if (!loop_once(s, e))
			return false;
	return true;
}

/* ---- start ---- */

static bool load(struct session *s, struct err *e)
{
	struct buf log = { 0 };
	struct live_options o = { .features = s->options->features, .log = &log };
	bool is_new;

	if (unwind_wanted(s->unit)) {
		s->unwind = unwind_new(s->unit, s->options->unwind_limit);
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
	}
	live_data_set(s->live, UDATA_START, clock_ns(CLOCK_BOOTTIME));
	live_data_set(s->live, UDATA_CPID, s->child ? (u64)child_pid(s->child) : 0);
	if (unit_map(s->unit, UMAP_FAMILY) >= 0)
		return live_follow(s->live, target_pid(s), &is_new, e);
	return true;
}

/* -v: how big each program is, and how much of it the kernel's checker had to walk. */
static void note_programs(struct session *s)
{
	struct buf b = { 0 };

	for (u32 i = 0; i < s->unit->notes.n; i++)
		note(s, s->unit->notes.v[i]);
	for (u32 i = 0; i < s->unit->progs.n; i++) {
		const struct uprog *p = &s->unit->progs.v[i];

		buf_reset(&b);
		buf_printf(&b, "%s: %u instructions, %u verified", p->name, p->n_insns,
		           live_insns(s->live, i));
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
				           "%s: %u bytes behind the function's start, where "
				           "%s",
				           site->name, site->moved,
				           site->once ? "each call of Go passes once"
				                      : "a probe costs less");
			else if (site->stays)
				buf_printf(&b,
				           "%s: on the function's start, where a probe is "
				           "dear: %s",
				           site->name, site->stays);
			if (b.n)
				note(s, buf_text(&b));
		}
	}
	buf_free(&b);
}

static void init_events(struct session *s)
{
	struct names_options no = { .mangled = s->options->mangled || s->unit->mangled,
		                    .lines = s->options->lines };

	names_init(&s->names, s->unit, s->live, &no);
	s->user_names = names_user_wanted(s->unit);
	s->events = (struct events){
		.unit = s->unit,
		.live = s->live,
		.options = s->options,
		.output = &s->output,
		.unwind = s->unwind,
		.graph = graph_wanted(s->options->graph) ? &s->graph : NULL,
		.sym = s->names.sym,
		.late = late_new(s->unit, s->live, s->options->features),
		.out = { .unit = s->unit,
		         .namer = &s->names.namer,
		         .ops = s->options->json ? &out_json : &out_text },
	};
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
		n += u->progs.v[i].kind <= ATTACH_END || u->progs.v[i].kind == ATTACH_TEST;
	return n;
}

/* Programs that something may still run once all iterators have been read. */
static bool has_events(const struct unit *u)
{
	for (u32 i = 0; i < u->progs.n; i++)
		if (u->progs.v[i].kind > ATTACH_END && u->progs.v[i].kind != ATTACH_ITER)
			return true;
	return false;
}

/* Between two reads of an iterator. */
static bool take_records(void *ctx)
{
	struct session *s = ctx;
	struct err ignored = { 0 };

	return drain(s, &ignored) && !s->ended && !s->events.exiting;
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
	return has_kind(u, ATTACH_ITER) ? u->progs.v[0].sites[0].path : NULL;
}

static bool attach(struct session *s, struct err *e)
{
	char text[512];
	u32 n;

	if (!live_attach(s->live, &n, warn_skipped, &s->events, e))
		return false;
	if (s->options->verbose) {
		note_attached(s);
		note_sites(s);
	}
	n += count_own(s->unit);
	snprintf(text, sizeof(text), "Attached %u probe%s", n, n == 1 ? "" : "s");
	if (s->options->json && !s->options->quiet && !s->options->view)
		s->events.out.ops->attached(&s->output.text, &s->events.out, n);
	else
		note(s, text);
	if (pinned_to(s->unit)) {
		snprintf(text, sizeof(text), "Program pinned to %s", pinned_to(s->unit));
		note(s, text);
	}
	tell_tests(s);
	return output_flush(&s->output) || !s->output.error.text[0];
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
		abort();
	for (u32 i = 0; i < u->maps.n; i++)
		if (u->maps.v[i].role == UMAP_USER)
			order[n++] = i;
	qsort_r(order, n, sizeof(*order), by_name, (void *)(uintptr_t)u);
	if (!s->options->json)
		buf_puts(&s->output.text, "\n\n");
	for (u32 i = 0; i < n && output_flush(&s->output); i++)
		event_print_map(&s->events, &(struct urecord){ .map = (s32)order[i] });
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
static bool detach(struct session *s, struct err *e)
{
	live_detach(s->live);
	if (!s->events.exiting && !s->options->dry_run)
		return drain(s, e);
	s->events.exiting = false;
	return live_ring_read(s->live, drop_record, NULL, e);
}

static void note_stacks(struct session *s, const struct unwind_stat *n)
{
	struct buf b = { 0 };

	buf_printf(&b,
	           "stacks: %" PRIu64 " whole, %" PRIu64 " cut, %" PRIu64 " by the kernel; %" PRIu64
	           " fell back to frame pointers\n",
	           n->counts[UCOUNT_WHOLE], n->counts[UCOUNT_CUT], n->counts[UCOUNT_KERNEL],
	           n->counts[UCOUNT_FP]);
	buf_printf(&b,
	           "unwind tables: %u processes, %u files, %u rows (%u too rich), %" PRIu64
	           " KiB, read in %" PRIu64 ".%" PRIu64 " ms",
	           n->processes, n->files, n->rows, n->rich, n->bytes / 1024, n->ns / 1000000,
	           n->ns / 100000 % 10);
	if (n->unreadable)
		buf_printf(&b, "; %u files could not be read", n->unreadable);
	if (n->no_room)
		buf_printf(&b, "; no room for %u mappings", n->no_room);
	note(s, buf_text(&b));
	buf_free(&b);
}

/* Each copy is a stack of its own, so there are soon too many. */
static void warn_unstored(struct session *s, u64 n)
{
	char text[96];

	if (!n)
		return;
	snprintf(text, sizeof(text), "%" PRIu64 " copied stack%s no room and lack frames", n,
	         n == 1 ? " had" : "s had");
	event_report(&s->events, REPORT_WARNING, NULL, text);
}

/* What became of the user stacks: in JSON, and with -v, where it also says what tables took. */
static void report_stacks(struct session *s)
{
	struct unwind_stat n;

	if (!s->unwind)
		return;
	unwind_stat(s->unwind, &n);
	warn_unstored(s, n.unstored);
	if (!s->options->verbose && !s->options->json)
		return;
	if (s->options->json)
		s->events.out.ops->stacks(&s->output.text, &s->events.out, n.counts);
	else
		note_stacks(s, &n);
}

static bool write_graph(struct session *s, struct err *e)
{
	const struct flame *f = &s->graph.flame;
	struct buf b = { 0 };

	if (!s->events.graph || s->options->dry_run)
		return true;
	event_take_graph(&s->events);
	if (!graph_write(&s->graph, e))
		return false;
	buf_printf(&b, "Flame graph of %s: %" PRIu64 " stacks", s->unit->maps.v[s->graph.map].name,
	           f->stacks);
	if (s->graph.also)
		buf_printf(&b, " (--flame-map takes %s too)", s->graph.also);
	note(s, buf_text(&b));
	buf_free(&b);
	return true;
}

static bool finish(struct session *s, struct err *e)
{
	note_now(s);
	if (s->child)
		child_let_go(s->child);
	if (!detach(s, e))
		return false;
	if (!s->options->dry_run && (!live_run(s->live, ATTACH_END, e) || !drain(s, e)))
		return false;
	give_signals_back(s);
	if (!show_end(s, e))
		return false;
	trouble_check(&s->trouble, &s->events);
	trouble_end(&s->trouble, &s->events);
	event_report_followed(&s->events);
	report_stacks(s);
	output_flush(&s->output);
	return write_graph(s, e);
}

/* ---- all of it ---- */

static bool run(struct session *s, struct err *e)
{
	bool tests = has_kind(s->unit, ATTACH_TEST);
	bool waits = !tests && (s->child || has_events(s->unit));

	if (!s->options->dry_run && (!live_run(s->live, ATTACH_BEGIN, e) || !drain(s, e)))
		return false;
	if (!s->events.exiting && !s->ended) {
		if (!start_view(s, e) || !attach(s, e))
			return false;
		if (!s->options->dry_run && !live_iterate(s->live, take_records, s, e))
			return false;
		if (tests && !s->options->dry_run && !testing_run(&s->events, &s->tests_failed, e))
			return false;
		if (waits && !s->options->dry_run && (!release(s, e) || !loop(s, e)))
			return false;
	}
	return finish(s, e);
}

static bool open_all(struct session *s, struct err *e)
{
	const struct session_options *o = s->options;

	if (!take_signals(s, e) || !watch_target(s, e) ||
	    (graph_wanted(o->graph) && !graph_open(&s->graph, s->unit, o->graph, e)) ||
	    !output_open(&s->output, o->output, o->output_fd, e) || !load(s, e))
		return false;
	trouble_init(&s->trouble, s->unit);
	init_events(s);
	if (o->verbose)
		note_programs(s);
	return true;
}

static void close_all(struct session *s)
{
	events_free(&s->events);
	late_free(s->events.late);
	trouble_free(&s->trouble);
	if (s->live)
		names_free(&s->names);
	unwind_free(s->unwind);
	live_free(s->live);
	if (!s->child && s->target_fd >= 0)
		close(s->target_fd);
	output_close(&s->output);
	graph_close(&s->graph);
	give_signals_back(s);
	signal(SIGPIPE, s->old_pipe);
	signal(SIGCHLD, s->old_child);
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
		             .signal_fd = -1,
		             .target_fd = -1,
		             .child_code = -1 };
	bool ok = open_all(&s, e) && run(&s, e);

	if (ok && s.output.error.text[0]) {
		*e = s.output.error;
		ok = false;
	}
	close_all(&s);
	return ok ? exit_code(&s) : -1;
}
