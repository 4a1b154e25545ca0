/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What to do with a record. Everything printed goes to the session's output buffer; the
 * session writes it when the batch is done. The kernel side may cut the end of a record whose
 * last argument is a string, so a record is completed with zeros before it is read.
 * A map is printed as it is when its record is read, not as it was when the probe fired.
 */
#include "run/event.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/caps.h"
#include "base/clock.h"
#include "world/shell.h"

#define SYSTEM_LIMIT    (1u << 20)     /* bytes of output that system() passes on */
#define REPORT_BYTES(n) (4 * (n) + 64) /* a text of n bytes, escaped, with its label; at most */
#define PART_ROWS       256u           /* of a table, printed at once ... */
#define PART_BYTES      65536u         /* ... and written when there are so many bytes */

typedef void event_fn(struct events *ev, const struct urecord *r, const u8 *record);

void event_report(struct events *ev, enum report kind, const struct loc *loc, const char *text)
{
	output_flush(ev->output);
	if (ev->mute)
		return;
	/* To stderr; with a line of the script where there is a place. */
	stop_wait_write(ev->stop, STDERR_FILENO, loc ? SIZE_MAX : REPORT_BYTES(strlen(text)));
	ev->options->report(ev->options->report_ctx, kind, loc, text);
	ev->mute = !stop_waited(ev->stop);
}

/* The oldest half goes when it is full. */
static struct buf *copy_of(struct event_copy *c)
{
	char *end;
	size_t n;

	if (c->text.n <= COPY_BYTES)
		return &c->text;
	end = memchr(c->text.p + COPY_BYTES / 2, '\n', c->text.n - COPY_BYTES / 2);
	n = end ? (size_t)(end + 1 - c->text.p) : c->text.n;
	memmove(c->text.p, c->text.p + n, c->text.n - n);
	c->text.n -= n;
	c->n_cut += n;
	return &c->text;
}

/* OUT() on what is printed, and on its copy. */
#define SHOW(ev, op, b, ...)                                                                       \
	do {                                                                                       \
		OUT(&(ev)->out, op, b, ##__VA_ARGS__);                                             \
		if ((ev)->copy)                                                                    \
			OUT(&(ev)->copy->out, op, copy_of((ev)->copy), ##__VA_ARGS__);             \
	} while (0)

static struct buf *text_of(struct events *ev)
{
	return &ev->output->text;
}

static void do_printf(struct events *ev, const struct urecord *r, const u8 *record)
{
	SHOW(ev, printf_, text_of(ev), r, record);
}

/* A text that nobody is shown: of a filter, of a file's name or a command, as it is. */
static void print_plain(struct events *ev, struct buf *b, const struct urecord *r, const u8 *record)
{
	struct out plain = ev->out;

	plain.escape = ESCAPE_NONE;
	format_print(b, &plain, r->text, r->args, r->n_args, record);
}

/* As text, also where JSON is printed. */
static bool holds(struct events *ev, const struct urecord *r, const u8 *record, const char *text)
{
	struct buf b = { 0 };
	bool found;

	print_plain(ev, &b, r, record);
	found = strstr(buf_text(&b), text);
	buf_free(&b);
	return found;
}

static void do_line(struct events *ev, const struct urecord *r, const u8 *record)
{
	const struct unit *u = ev->unit;

	if (u->only_lines && !holds(ev, r, record, u->only_lines))
		return;
	do_printf(ev, r, record);
	if (++ev->n_lines == u->max_lines)
		ev->exit_called = ev->exiting = true;
}

static void do_heading(struct events *ev, const struct urecord *r, const u8 *record)
{
	struct buf *to = r->map < 0 ? text_of(ev) : above_add(&ev->above, (u32)r->map);

	OUT(&ev->out, heading, to, r, record);
}

static void do_message(struct events *ev, const struct urecord *r, const u8 *record)
{
	ev->n_errors += r->action == ACTION_ERRORF;
	do_printf(ev, r, record);
}

/* ---- maps ---- */

static void sort_table(struct table *t, const struct urecord *r)
{
	if (r->text)
		table_sort_by_value(t);
	else
		table_sort(t);
}

static void print_rows(struct events *ev, const struct table *t, const struct urecord *r, u32 top,
                       struct buf *to)
{
	if (r->text)
		OUT(&ev->out, rows, to, t, top, r->text);
	else
		OUT(&ev->out, map, to, t, top, r->div);
}

static void copy_table(struct events *ev, const struct table *t, const struct urecord *r)
{
	if (ev->copy && r->text)
		OUT(&ev->copy->out, rows, copy_of(ev->copy), t, r->top, r->text);
	else if (ev->copy)
		OUT(&ev->copy->out, map, copy_of(ev->copy), t, r->top, r->div);
}

/* The text of a table may be far larger than the table: it is written while it is made, where it is
 * made row by row. What stands above it is known with the first. */
static void print_table(struct events *ev, struct table *t, const struct urecord *r)
{
	bool apart = t->map->key && (r->text || ev->out.ops->map_in_parts);
	struct table part = *t;
	struct buf first = { 0 };
	u32 i = table_first(t, r->top), n = apart ? PART_ROWS : t->rows.n;

	sort_table(t, r);
	copy_table(ev, t, r);
	part.rows.v = t->rows.v + i;
	part.rows.n = MIN(n, t->rows.n - i);
	print_rows(ev, &part, r, 0, &first);
	above_print(&ev->above, (u32)r->map, &first, text_of(ev));
	buf_free(&first);
	for (i += n; i < t->rows.n; i += n) {
		if (text_of(ev)->n >= PART_BYTES && !output_flush(ev->output))
			return;
		part.rows.v = t->rows.v + i;
		part.rows.n = MIN(n, t->rows.n - i);
		print_rows(ev, &part, r, 0, text_of(ev));
	}
}

static void say_late(struct events *ev, const char *name)
{
	char text[192];

	snprintf(text, sizeof(text),
	         "%s: a program that counts in it has not ended yet: what it holds comes with "
	         "its next table",
	         name);
	event_report(ev, REPORT_WARNING, NULL, text);
}

/* All rows of a map; r->takes: they are taken out of it. What can not be read has been said
 * then. */
static void read_table(struct events *ev, struct table *t, struct arena *a, const struct urecord *r)
{
	u32 map = (u32)r->map;
	struct err e = { 0 };
	bool ok;

	table_init(t, a, ev->unit, &ev->unit->maps.v[map]);
	ok = r->takes ? taken_take(&ev->taken, map, r->keeps_keys, t, &e)
	              : taken_look(&ev->taken, map, t, &e);
	if (!ok)
		event_report(ev, REPORT_ERROR, NULL, e.text);
	else if (live_map_late(ev->live, map))
		say_late(ev, t->map->name);
	if (r->takes && ev->graph && ev->graph->map == map)
		graph_take(ev->graph, &ev->out, t);
}

/* Prints one whole map. */
static void print_map(struct events *ev, const struct urecord *r)
{
	struct arena arena = { 0 };
	struct table t;

	read_table(ev, &t, &arena, r);
	print_table(ev, &t, r);
	arena_free(&arena);
}

void event_print_last(struct events *ev, u32 map)
{
	const struct urecord r = { .map = (s32)map };
	struct arena arena = { 0 };
	struct table t;

	read_table(ev, &t, &arena, &r);
	if (t.map->key || t.is_set)
		print_table(ev, &t, &r);
	arena_free(&arena);
}

void event_take_graph(struct events *ev)
{
	struct arena arena = { 0 };
	struct table t;

	if (!ev->graph)
		return;
	read_table(ev, &t, &arena, &(struct urecord){ .map = (s32)ev->graph->map });
	graph_take(ev->graph, &ev->out, &t);
	arena_free(&arena);
}

static void take_before(struct events *ev, const struct urecord *r)
{
	if (ev->graph && ev->graph->map == (u32)r->map)
		event_take_graph(ev);
}

static void do_print_map(struct events *ev, const struct urecord *r, const u8 *record)
{
	(void)record;
	print_map(ev, r);
}

static void do_print_cell(struct events *ev, const struct urecord *r, const u8 *record)
{
	const struct umap *m = &ev->unit->maps.v[r->map];
	struct arena arena = { 0 };
	struct table t;

	table_init(&t, &arena, ev->unit, m);
	taken_look_up(&ev->taken, (u32)r->map, record + r->args[0].off, &t);
	SHOW(ev, cell, text_of(ev), m->value, &t.rows.v[0].value);
	arena_free(&arena);
}

static void do_print_value(struct events *ev, const struct urecord *r, const u8 *record)
{
	SHOW(ev, value, text_of(ev), r->args[0].type, record + r->args[0].off);
}

static void drop(struct events *ev, const struct urecord *r, bool keeps_keys)
{
	struct err e = { 0 };

	take_before(ev, r);
	if (!taken_drop(&ev->taken, (u32)r->map, keeps_keys, &e))
		event_report(ev, REPORT_ERROR, &r->loc, e.text);
}

static void do_clear(struct events *ev, const struct urecord *r, const u8 *record)
{
	(void)record;
	drop(ev, r, false);
}

static void do_zero(struct events *ev, const struct urecord *r, const u8 *record)
{
	(void)record;
	drop(ev, r, true);
}

/* A count, wherever it comes from: it is in the tables like those in the map. */
static void do_spill(struct events *ev, const struct urecord *r, const void *record)
{
	struct err e = { 0 };

	if (!taken_spill(&ev->taken, (u32)r->map, record, &e))
		event_report(ev, REPORT_ERROR, &r->loc, e.text);
}

/* ---- the rest ---- */

static void do_time(struct events *ev, const struct urecord *r, const u8 *record)
{
	struct buf b = { 0 };

	(void)record;
	value_time(&b, r->text, clock_ns(CLOCK_REALTIME));
	SHOW(ev, time_, text_of(ev), buf_text(&b));
	buf_free(&b);
}

static bool read_start(const char *path, struct buf *b, u32 limit, struct err *e)
{
	char bytes[4096];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), error;
	ssize_t n = 1;

	if (fd < 0)
		return err_sys(e, errno, "cat: can not open %s", path);
	while (n > 0 && b->n < limit) {
		n = read(fd, bytes, MIN(sizeof(bytes), limit - b->n));
		if (n > 0)
			buf_add(b, bytes, (size_t)n);
	}
	error = errno;
	close(fd);
	return n >= 0 || err_sys(e, error, "cat: can not read %s", path);
}

static void do_cat(struct events *ev, const struct urecord *r, const u8 *record)
{
	struct buf path = { 0 }, b = { 0 };
	struct err e = { 0 };
	bool whole;

	print_plain(ev, &path, r, record);
	whole = read_start(buf_text(&path), &b, ev->unit->max_cat_bytes, &e);

	if (whole || b.n)
		SHOW(ev, text, text_of(ev), "cat", buf_text(&b));
	if (!whole)
		event_report(ev, REPORT_ERROR, &r->loc, e.text);
	buf_free(&path);
	buf_free(&b);
}

static void do_system(struct events *ev, const struct urecord *r, const u8 *record)
{
	struct buf command = { 0 }, b = { 0 };
	struct err e = { 0 };
	bool whole;

	if (stop_over(ev->stop)) {
		ev->n_dropped++;
		return;
	}
	output_flush(ev->output);
	print_plain(ev, &command, r, record);
	whole = shell_run(buf_text(&command), &b, SYSTEM_LIMIT, ev->stop, &e);
	if (whole || b.n)
		SHOW(ev, text, text_of(ev), "syscall", buf_text(&b));
	if (!whole)
		event_report(ev, REPORT_ERROR, &r->loc, e.text);
	buf_free(&command);
	buf_free(&b);
}

static void do_join(struct events *ev, const struct urecord *r, const u8 *record)
{
	SHOW(ev, join, text_of(ev), r, record);
}

static void do_exit(struct events *ev, const struct urecord *r, const u8 *record)
{
	s64 code = 0;

	if (r->n_args)
		memcpy(&code, record + r->args[0].off, sizeof(code));
	ev->exit_code = (u8)code;
	ev->exit_called = true;
	ev->exiting = !ev->is_walking;
}

static void do_unwatch(struct events *ev, const struct urecord *r, const u8 *record)
{
	u64 address;

	memcpy(&address, record + r->args[0].off, sizeof(address));
	live_unwatch(ev->live, address);
}

static void note_followed(struct events *ev, s32 pid, bool is_new, u32 files)
{
	char text[96];

	if (!ev->options->verbose)
		return;
	if (is_new)
		snprintf(text, sizeof(text), "following process %d", pid);
	else
		snprintf(text, sizeof(text), "following process %d in %u more file%s", pid, files,
		         files == 1 ? "" : "s");
	event_report(ev, REPORT_NOTE, NULL, text);
}

/* A process that has ended meanwhile needs no probes. */
static void do_follow(struct events *ev, const struct urecord *r, const u8 *record)
{
	struct followed *sum = &ev->followed;
	bool is_new = false;
	struct err e = { 0 };
	u32 files = 0, failed = 0;
	u64 pid, when, now;

	if (unit_map(ev->unit, UMAP_FAMILY) < 0)
		return; /* all processes are looked at */
	memcpy(&pid, record + r->args[0].off, sizeof(pid));
	memcpy(&when, record + r->args[1].off, sizeof(when));
	if (!live_follow(ev->live, (s32)pid, &is_new, &e)) {
		sum->failed += kill((pid_t)pid, 0) == 0;
		return;
	}
	if (ev->files)
		files = file_watch_look(ev->files, (s32)pid, &failed);
	now = clock_ns(CLOCK_BOOTTIME);
	if ((is_new && !ev->unit->follow_at_once) || files)
		sum->longest = MAX(sum->longest, now > when ? now - when : 0);
	sum->processes += is_new && !ev->unit->follow_at_once;
	sum->files += files;
	sum->failed += failed;
	if (ev->unwind)
		unwind_ask(ev->unwind, &(struct unit_meet){ .pid = pid });
	if (ev->sym)
		sym_note_process(ev->sym, (u32)pid);
	if (is_new || files)
		note_followed(ev, (s32)pid, is_new, files);
}

void event_summary(struct events *ev, u64 n, const char *text)
{
	OUT(&ev->out, runtime_error, text_of(ev), &(struct out_error){ .text = text, .n = n });
}

void event_report_followed(struct events *ev)
{
	const struct followed *sum = &ev->followed;
	struct buf b = { 0 };

	if (!sum->processes && !sum->files && !sum->failed)
		return;
	buf_printf(&b,
	           "probes of programs were attached to %" PRIu64 " more process%s and %" PRIu64
	           " more file%s, up to %.1f ms late; what ran before is not seen",
	           sum->processes, sum->processes == 1 ? "" : "es", sum->files,
	           sum->files == 1 ? "" : "s", (double)sum->longest / 1e6);
	if (sum->failed)
		buf_printf(&b, "; %" PRIu64 " could not be attached", sum->failed);
	event_summary(ev, 1, buf_text(&b));
	buf_free(&b);
}

void event_report_denied(struct events *ev)
{
	u32 n = ev->sym ? sym_denied(ev->sym) : 0;
	char missing[160], text[320];

	if (!n)
		return;
	snprintf(text, sizeof(text),
	         "%u process%s not be looked into: addresses there have no names, and stacks may "
	         "be cut (%s)",
	         n, n == 1 ? " could" : "es could",
	         caps_text(missing, sizeof(missing), CAPS_PROCESSES));
	event_summary(ev, n, text);
}

void event_report_unread(struct events *ev)
{
	const char *first = "";
	u64 n = ev->sym ? sym_unread(ev->sym, &first) : 0;
	char text[384];

	if (!n)
		return;
	snprintf(text, sizeof(text),
	         "%" PRIu64 " address%s no name: the file could not be read (the first: %s)", n,
	         n == 1 ? " has" : "es have", first);
	event_summary(ev, n, text);
}

static void do_process(struct events *ev, const struct urecord *r, const u8 *record)
{
	u64 pid;

	memcpy(&pid, record + r->args[0].off, sizeof(pid));
	if (ev->sym)
		sym_note_process(ev->sym, (u32)pid);
}

static void do_meet(struct events *ev, const struct urecord *r, const u8 *record)
{
	const struct unit_meet *met = (const struct unit_meet *)(const void *)record;

	(void)r;
	if (ev->unwind)
		unwind_ask(ev->unwind, met);
	if (ev->sym && met->raw)
		sym_note_process(ev->sym, (u32)met->pid);
}

static void do_stack(struct events *ev, const struct urecord *r, const u8 *record)
{
	const struct unit_copy *copy = (const struct unit_copy *)(const void *)record;
	struct ustack_value frames = { 0 };

	(void)r;
	if (!ev->unwind)
		return;
	unwind_copied(ev->unwind, copy, &frames);
	stackmap_put(ev->stacks, copy->id, &frames);
}

static void do_drain(struct events *ev, const struct urecord *r, const u8 *record)
{
	struct err e = { 0 };

	(void)record;
	stackmap_check(ev->stacks);
	if (!taken_check(&ev->taken, &e))
		event_report(ev, REPORT_ERROR, &r->loc, e.text);
}

static event_fn *const event_fns[] = {
	[ACTION_PRINTF] = do_line,
	[ACTION_PRINT_MAP] = do_print_map,
	[ACTION_PRINT_CELL] = do_print_cell,
	[ACTION_PRINT_VALUE] = do_print_value,
	[ACTION_CLEAR] = do_clear,
	[ACTION_ZERO] = do_zero,
	[ACTION_TIME] = do_time,
	[ACTION_CAT] = do_cat,
	[ACTION_SYSTEM] = do_system,
	[ACTION_JOIN] = do_join,
	[ACTION_EXIT] = do_exit,
	[ACTION_ERRORF] = do_message,
	[ACTION_WARNF] = do_message,
	[ACTION_HEADING] = do_heading,
	[ACTION_UNWATCH] = do_unwatch,
	[ACTION_FOLLOW] = do_follow,
	[ACTION_STACK] = do_stack,
	[ACTION_DRAIN] = do_drain,
	[ACTION_MEET] = do_meet,
	[ACTION_PROCESS] = do_process,
};

/* The record with at least the bytes its layout has. */
static const u8 *completed(struct events *ev, const struct urecord *r, const void *record, u32 size)
{
	if (size >= r->size)
		return record;
	buf_reset(&ev->scratch);
	buf_add(&ev->scratch, record, size);
	buf_fill(&ev->scratch, 0, r->size - size);
	return (const u8 *)ev->scratch.p;
}

static bool is_viewed(struct events *ev, const struct urecord *r, const u8 *bytes)
{
	const struct view *view = ev->options->view;
	struct view_of of = { ev->unit, ev->live, text_of(ev), ev };

	return view && view->record && view->record(view->ctx, &of, r, bytes);
}

void event_handle(struct events *ev, const void *record, u32 size)
{
	const struct urecord *r;
	u64 id;

	if (size < sizeof(id))
		return;
	memcpy(&id, record, sizeof(id));
	if (id >= ev->unit->records.n)
		return;
	r = &ev->unit->records.v[id];
	if (r->action == ACTION_SPILL)
		do_spill(ev, r, record);
	else if (!ev->exiting && !is_viewed(ev, r, record))
		event_fns[r->action](ev, r, completed(ev, r, record, size));
}

/* What we tell ourselves is no event. */
bool event_drop(void *ctx, const void *record, u32 size)
{
	struct events *ev = ctx;
	enum action action;
	u64 id;

	if (size < sizeof(id))
		return true;
	memcpy(&id, record, sizeof(id));
	if (id >= ev->unit->records.n)
		return true;
	action = ev->unit->records.v[id].action;
	if (action == ACTION_SPILL)
		do_spill(ev, &ev->unit->records.v[id], record);
	else
		ev->n_dropped += action != ACTION_PROCESS && action != ACTION_FOLLOW &&
		                 action != ACTION_UNWATCH;
	return true;
}

void events_free(struct events *ev)
{
	buf_free(&ev->scratch);
	taken_free(&ev->taken);
	above_free(&ev->above);
}
