/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a program will map is asked of the one that will do it: the dynamic loader the program
 * names, run with --list (the loaders of glibc and of musl have it). It follows run paths,
 * LD_PRELOAD, LD_LIBRARY_PATH and its cache as it will at the start, and does not start the
 * program. Libraries that the program opens later (dlopen) are not known to it.
 */
#include "world/program_libs.h"

#include <string.h>

#include "base/str.h"
#include "world/shell.h"

#define LIST_LIMIT (1u << 20)

/* "	libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f...)",
 * "	/lib64/ld-linux... (0x...)" */
static struct str listed_path(struct str line)
{
	const char *slash = memchr(line.p, '/', line.n), *end = NULL;

	for (u32 i = 0; i + 2 < line.n; i++)
		if (memcmp(line.p + i, " (0", 3) == 0)
			end = line.p + i;
	if (!slash || !end || end < slash)
		return (struct str){ 0 };
	return (struct str){ slash, (u32)(end - slash) };
}

static void each_listed(struct arena *a, struct str text, process_file_fn *cb, void *ctx)
{
	while (text.p && text.n) {
		struct str line = str_cut(text, '\n', &text), arrow = line, path;

		for (u32 i = 0; i + 4 <= line.n; i++)
			if (memcmp(line.p + i, " => ", 4) == 0)
				arrow = (struct str){ line.p + i + 4, line.n - i - 4 };
		path = listed_path(arrow);
		if (path.n && !cb(ctx, arena_strndup(a, path.p, path.n)))
			return;
	}
}

bool program_libs_each(struct arena *a, struct elf *program, process_file_fn *cb, void *ctx,
                       struct err *e)
{
	struct buf out = { 0 };
	const u8 *loader;
	u64 vaddr;
	size_t n;
	bool ok;

	if (!cb(ctx, elf_path(program)) || !elf_section(program, ".interp", &loader, &n, &vaddr))
		return true;
	if (!n || loader[n - 1] || loader[0] != '/')
		return true;
	ok = shell_argv(
		(const char *const[]){ (const char *)loader, "--list", elf_path(program), NULL },
		&out, LIST_LIMIT, e);
	if (ok)
		each_listed(a, (struct str){ buf_text(&out), (u32)out.n }, cb, ctx);
	buf_free(&out);
	return ok;
}
