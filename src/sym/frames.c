/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Stacks in the shapes of bpftrace's stack modes. Where source lines are wanted and known, a
 * frame is followed by "@file:line", and the functions that were inlined into it have lines
 * of their own before it. No name breaks a line.
 */
#include "sym/frames.h"

#include <inttypes.h>
#include <string.h>

#include "base/escape.h"
#include "sym/lines.h"

#define INLINED_MAX 32u

struct frame {
	struct sym *sym;
	enum frames_mode mode;
	s64 pid;
	enum sym_kind kind;
	u64 ip;
};

/* In mode perf a frame has its module in this place. */
static void print_place(struct buf *b, const struct frame *f, const struct line_frame *l)
{
	if (l->file[0] && f->mode != FRAMES_PERF)
		buf_printf(b, "@%s:%d", l->file, l->line);
}

static void print_start(struct buf *b, const struct frame *f)
{
	if (f->mode == FRAMES_PERF)
		buf_printf(b, "\t%" PRIx64 " ", f->ip);
	else
		buf_fill(b, ' ', 8);
}

static void print_inlined(struct buf *b, const struct frame *f, const struct line_frame *l)
{
	size_t start = b->n;

	print_start(b, f);
	buf_printf(b, "[inlined] %s", l->function);
	print_place(b, f, l);
	escape_from(b, start, ESCAPE_LINES);
	buf_putc(b, '\n');
}

static void print_kernel(struct buf *b, const struct frame *f)
{
	size_t start = b->n;
	const char *module;

	print_start(b, f);
	sym_kernel(f->sym, b, f->kind, f->ip, &module);
	if (f->mode == FRAMES_PERF && module[0])
		buf_printf(b, " ([%s])", module);
	escape_from(b, start, ESCAPE_LINES);
}

static void print_user(struct buf *b, const struct frame *f)
{
	struct line_frame lines[INLINED_MAX];
	u32 n = sym_user_lines(f->sym, SYM_LINES_FOUND, f->kind, (u32)f->pid, f->ip, lines,
	                       INLINED_MAX);
	const char *module;
	size_t start;

	for (u32 i = 0; i + 1 < n; i++)
		print_inlined(b, f, &lines[i]);
	start = b->n;
	print_start(b, f);
	sym_user(f->sym, b, f->kind, (u32)f->pid, f->ip, &module);
	if (n)
		print_place(b, f, &lines[n - 1]);
	if (f->mode == FRAMES_PERF)
		buf_printf(b, " (%s)", module[0] ? module : "[unknown]");
	escape_from(b, start, ESCAPE_LINES);
}

static void print_build_id(struct buf *b, const struct frame *f)
{
	u64 off = 0;
	const char *id = f->pid == FRAMES_KERNEL
	                         ? ""
	                         : sym_user_build_id(f->sym, (u32)f->pid, f->ip, &off);

	if (id[0])
		buf_printf(b, "%s 0x%02" PRIx64, id, off);
	else
		buf_printf(b, "%" PRIx64, f->ip);
}

static void frame_print(struct buf *b, const struct frame *f)
{
	if (f->mode == FRAMES_RAW)
		buf_printf(b, "%" PRIx64, f->ip);
	else if (f->mode == FRAMES_BUILD_ID)
		print_build_id(b, f);
	else if (f->pid == FRAMES_KERNEL)
		print_kernel(b, f);
	else
		print_user(b, f);
	buf_putc(b, '\n');
}

static void print_end(struct buf *b, const struct frame *f, const char *end)
{
	if (f->mode != FRAMES_RAW && f->mode != FRAMES_BUILD_ID)
		print_start(b, f);
	buf_puts(b, end);
	if (f->mode == FRAMES_PERF)
		buf_puts(b, " ([unknown])");
	buf_putc(b, '\n');
}

/* How many of the innermost frames are memtap's own, and left out. */
static u32 count_grafted(struct sym *s, s64 pid, const struct stack_frames *from)
{
	u32 n = 0;

	while (pid != FRAMES_KERNEL && n < from->n && sym_is_grafted(s, (u32)pid, from->ips[n]))
		n++;
	return n;
}

void frames_add(struct buf *b, struct sym *s, enum frames_mode mode, s64 pid,
                const struct stack_frames *from)
{
	struct frame f = { s, mode, pid, SYM_EXACT, 0 };

	for (u32 i = count_grafted(s, pid, from); i < from->n && from->ips[i]; i++) {
		f.ip = from->ips[i];
		f.kind = i ? SYM_RETURN : SYM_EXACT;
		frame_print(b, &f);
	}
	f.ip = 0;
	if (from->end)
		print_end(b, &f, from->end);
}

/* ---- functions ---- */

/* "libc.so.6", "libc-2.36.so", "libx.so.1 (deleted)", but not "my.sort". */
static bool is_library(const char *path)
{
	const char *at = strrchr(path, '/');

	for (at = at ? at : path; (at = strstr(at, ".so")); at += 3)
		if (!at[3] || at[3] == '.' || at[3] == ' ')
			return true;
	return false;
}

/* What code of a process belongs to, by the path of its mapping. */
static enum frame_kind kind_of_path(const char *path)
{
	static const char *const made[] = { "/memfd:", "/dev/zero", "/SYSV", "/anon_hugepage",
		                            "//" };

	if (!path[0])
		return FRAME_OTHER;
	if (path[0] != '/')
		return strcmp(path, "[vdso]") == 0 ? FRAME_LIBRARY : FRAME_JIT;
	for (u32 i = 0; i < ARRAY_SIZE(made); i++)
		if (strncmp(path, made[i], strlen(made[i])) == 0)
			return FRAME_JIT;
	return is_library(path) ? FRAME_LIBRARY : FRAME_PROGRAM;
}

static void each_inlined(const struct line_frame *lines, u32 n, struct frame_name *frame,
                         frame_fn *fn, void *ctx)
{
	while (n-- > 0) {
		frame->name = lines[n].function;
		frame->inlined = true;
		fn(ctx, frame);
	}
}

static void each_function(struct sym *s, struct buf *b, const struct frame *f, frame_fn *fn,
                          void *ctx)
{
	struct frame_name frame = { .module = "" };
	struct line_frame lines[INLINED_MAX];
	struct sym_place place = { 0 };
	u32 n = 0;

	buf_reset(b);
	if (f->pid == FRAMES_KERNEL) {
		sym_kernel_function(s, b, f->kind, f->ip, &frame.module);
		frame.kind = FRAME_KERNEL;
	} else {
		sym_user_function(s, b, f->kind, (u32)f->pid, f->ip, &frame.module, &place);
		frame.place = place.is_known ? &place : NULL;
		frame.kind = kind_of_path(frame.module);
	}
	frame.name = buf_text(b);
	fn(ctx, &frame);
	if (f->pid != FRAMES_KERNEL)
		n = sym_user_lines(s, SYM_LINES_ALL, f->kind, (u32)f->pid, f->ip, lines,
		                   INLINED_MAX);
	if (n > 1)
		each_inlined(lines, n - 1, &frame, fn, ctx);
}

void frames_each(struct sym *s, s64 pid, const struct stack_frames *from, frame_fn *fn, void *ctx)
{
	struct frame_name end = { .name = from->end, .module = "" };
	struct buf b = { 0 };
	u32 found = 0, grafted = count_grafted(s, pid, from);

	while (found < from->n && from->ips[found])
		found++;
	if (from->end)
		fn(ctx, &end);
	for (u32 i = found; i-- > grafted;) {
		struct frame f = { s, FRAMES_BPFTRACE, pid, i ? SYM_RETURN : SYM_EXACT,
			           from->ips[i] };

		each_function(s, &b, &f, fn, ctx);
	}
	buf_free(&b);
}
