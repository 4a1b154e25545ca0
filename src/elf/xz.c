/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Unpacking .xz data by liblzma, which is loaded on first use: few binaries have such data, and
 * linking it would cost each of memtap's starts. It is left loaded.
 */
#include "elf/xz.h"

#include <lzma.h>
#include <stdlib.h>

#include "base/host.h"

#define MEMORY_MAX (256u << 20)
#define STEP       (256u << 10)

typedef lzma_ret decoder_fn(lzma_stream *s, uint64_t memory, uint32_t flags);
typedef lzma_ret code_fn(lzma_stream *s, lzma_action action);
typedef void end_fn(lzma_stream *s);

struct library {
	decoder_fn *decoder;
	code_fn *code;
	end_fn *end;
};

static bool load(struct library *l, struct err *e)
{
	void *so = host_library("liblzma.so.5");

	if (!so) {
		err_set(e, "xz data can not be read: liblzma.so.5 is not installed");
		err_hint(e, "its package is liblzma5 on Debian");
		return false;
	}
	l->decoder = (decoder_fn *)host_symbol(so, "lzma_stream_decoder");
	l->code = (code_fn *)host_symbol(so, "lzma_code");
	l->end = (end_fn *)host_symbol(so, "lzma_end");
	if (l->decoder && l->code && l->end)
		return true;
	err_set(e, "this machine's liblzma is not one memtap knows");
	return false;
}

static bool run(const struct library *l, lzma_stream *s, size_t limit, struct buf *out,
                struct err *e)
{
	u8 *step = malloc(STEP);
	lzma_ret r = LZMA_OK;
	bool fits = true;

	if (!step)
		base_no_memory();
	while (r == LZMA_OK && fits) {
		s->next_out = step;
		s->avail_out = STEP;
		r = l->code(s, LZMA_FINISH);
		fits = STEP - s->avail_out <= limit - out->n;
		if (fits)
			buf_add(out, step, STEP - s->avail_out);
	}
	free(step);
	if (!fits)
		return err_set(e, "xz data unpacks to more than %zu MiB", limit >> 20);
	return r == LZMA_STREAM_END || err_set(e, "xz data is damaged");
}

bool xz_unpack(const u8 *p, size_t n, size_t limit, struct buf *out, struct err *e)
{
	lzma_stream s = LZMA_STREAM_INIT;
	struct library l = { 0 };
	bool ok;

	if (!load(&l, e))
		return false;
	if (out->n > limit || l.decoder(&s, MEMORY_MAX, 0) != LZMA_OK)
		return err_set(e, "xz data can not be unpacked");
	s.next_in = p;
	s.avail_in = n;
	ok = run(&l, &s, limit, out, e);
	l.end(&s);
	return ok;
}
