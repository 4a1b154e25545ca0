/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cmd/version.h"

#include <stddef.h>

#include "arch/insn.h"
#include "base/host.h"
#include "cmd/cmd.h"
#include "cmd/say.h"
#include "elf/dwarf_lib.h"

/* The makefile gives it (scripts/commit). */
#ifndef MEMTAP_COMMIT
#define MEMTAP_COMMIT "unknown"
#endif

const char *version_commit(void)
{
	return MEMTAP_COMMIT;
}

const char *version_form(void)
{
	return host_is_static() ? "one file" : "shared libraries";
}

static bool has_library(const char *name)
{
	void *library = host_library(name);

	if (library)
		host_release(library);
	return library;
}

static bool has_decoder(void)
{
	struct err ignored;
	struct insn_decoder *d = insn_decoder_open(&ignored);

	insn_decoder_close(d);
	return d;
}

void version_features(void (*fn)(void *ctx, const char *name, bool there), void *ctx)
{
	struct err ignored;

	fn(ctx, "debug_information", dwarf_lib(&ignored) != NULL);
	fn(ctx, "decoder", has_decoder());
	fn(ctx, "screens", has_library("libncursesw.so.6"));
	fn(ctx, "xz", has_library("liblzma.so.5"));
	fn(ctx, "serve", has_library("libmicrohttpd.so.12"));
	fn(ctx, "debuginfod", has_library("libdebuginfod.so.1"));
}

static void add_feature(void *ctx, const char *name, bool there)
{
	buf_printf(ctx, " %c%s", there ? '+' : '-', name);
}

int version_print(void)
{
	struct buf b = { 0 };

	buf_printf(&b, "memtap %s\ncommit %s\nfeatures (%s):", MEMTAP_VERSION, version_commit(),
	           version_form());
	version_features(add_feature, &b);
	buf_putc(&b, '\n');
	say_output(&b);
	buf_free(&b);
	return 0;
}
