/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An output over an empty unit and a namer with fixed answers, for the tests of src/out.
 */
#ifndef OUT_FIXTURE_H
#define OUT_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "out/out.h"

static void fixture_stack(void *ctx, struct buf *b, const struct type *t, const u64 *words)
{
	(void)ctx;
	(void)words;
	buf_printf(b, "\n        %s+1\n        main+2\n",
	           t->kind == TYPE_USTACK ? "user" : "kernel");
}

static void fixture_frames(void *ctx, const struct type *t, const u64 *words, frame_fn *fn,
                           void *fn_ctx)
{
	struct frame_name frames[] = { { .name = "main", .module = "", .kind = FRAME_PROGRAM },
		                       { .name = "kernel", .module = "", .kind = FRAME_KERNEL } };

	(void)ctx;
	(void)words;
	if (t->kind == TYPE_USTACK)
		frames[1] = (struct frame_name){ .name = "user",
			                         .module = "/lib/x.so",
			                         .kind = FRAME_LIBRARY };
	fn(fn_ctx, &frames[0]);
	fn(fn_ctx, &frames[1]);
}

static void fixture_ksym(void *ctx, struct buf *b, u64 addr)
{
	(void)ctx;
	buf_printf(b, "ksym_%u", (u32)addr);
}

static void fixture_usym(void *ctx, struct buf *b, u64 addr, u32 pid)
{
	(void)ctx;
	buf_printf(b, "usym_%u_%u", (u32)addr, pid);
}

static void fixture_username(void *ctx, struct buf *b, u64 uid)
{
	(void)ctx;
	buf_puts(b, uid ? "nobody" : "root");
}

static void fixture_cgroup(void *ctx, struct buf *b, u64 id, const char *filter)
{
	(void)ctx;
	buf_printf(b, "%s:/%u", filter ? filter : "unified", (u32)id);
}

static void fixture_loadavg(void *ctx, struct buf *b)
{
	(void)ctx;
	buf_puts(b, "0.10 0.20 0.30");
}

static const struct namer fixture_namer = {
	.stack = fixture_stack,
	.frames = fixture_frames,
	.ksym = fixture_ksym,
	.usym = fixture_usym,
	.func = fixture_usym,
	.username = fixture_username,
	.cgroup_path = fixture_cgroup,
	.loadavg = fixture_loadavg,
	.boot_to_real = 1000000000000000000ull,
};

static const char *fixture_names[] = { "BEGIN", "uprobe:/bin/x:main" };
static u32 fixture_lines[] = { 0, 8, 23 };
static const struct unit fixture_unit = {
	.source_name = "stdin",
	.source = "BEGIN {\n  errorf(\"x\");\n}",
	.source_n = 24,
	.lines = { fixture_lines, 3, 3 },
	.cut_mark = "..",
	.probe_names = { fixture_names, 2, 2 },
};
static const struct out fixture_out = { .unit = &fixture_unit, .namer = &fixture_namer };

static struct buf fixture_buf;
static struct arena fixture_arena;

/* The text so far; the buffer starts anew with the next call of fixture_start. */
static inline struct buf *fixture_start(void)
{
	buf_reset(&fixture_buf);
	return &fixture_buf;
}

#define fixture_is(expected) assert_string_equal(buf_text(&fixture_buf), expected)

static inline void fixture_free(void)
{
	buf_free(&fixture_buf);
	arena_free(&fixture_arena);
}

#endif
