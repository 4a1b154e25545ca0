/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/unpack.h"

#include <assert.h>
#include <stdlib.h>
#define ZLIB_CONST /* it does not write where it reads */
#include <zlib.h>

#include "base/base.h"

#define GZIP (16 + MAX_WBITS) /* what inflateInit2 calls a stream with gzip's head */

void *unpack(const unsigned char *packed, unsigned size, unsigned text)
{
	Bytef *out = malloc(text);
	z_stream z = { .next_in = packed, .avail_in = size, .next_out = out, .avail_out = text };
	int code;

	if (!out || inflateInit2(&z, GZIP) != Z_OK)
		base_no_memory();
	code = inflate(&z, Z_FINISH);
	assert(code == Z_STREAM_END && !z.avail_out);
	(void)code;
	inflateEnd(&z);
	return out;
}
