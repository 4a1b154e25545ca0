/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* windowBits above 15 ask for gzip's header (zlib.h). */
#include "out/gzip.h"

#define ZLIB_CONST
#include <zlib.h>

void gzip_add(struct buf *b, const struct buf *from)
{
	z_stream z = { .next_in = (Bytef *)from->p };
	size_t left = from->n;
	u8 chunk[16384];
	int status = Z_OK;

	if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY))
		base_no_memory();
	do {
		uInt take = (uInt)MIN(left, (size_t)1 << 30);

		left -= take;
		z.avail_in = take;
		do {
			z.next_out = chunk;
			z.avail_out = sizeof(chunk);
			status = deflate(&z, left ? Z_NO_FLUSH : Z_FINISH);
			buf_add(b, chunk, sizeof(chunk) - z.avail_out);
		} while (!z.avail_out);
	} while (status != Z_STREAM_END);
	deflateEnd(&z);
}
