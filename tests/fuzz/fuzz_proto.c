// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Any bytes as the two directions of a cache's connection. The first byte chooses the protocol, and
 * with 64 that these are the connection's first bytes; then come pieces: a byte with the direction
 * (bit 7) and how much of the piece was not captured (bits 0 to 6), a byte with its length, its
 * bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "proto/proto.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void check(void *ctx, const struct command *c)
{
	u64 *sum = ctx;

	if (c->op >= OPS || !c->verb || c->key.n > PROTO_KEY_MAX || c->key.n > c->key_size)
		abort();
	if (c->answered && c->ended < c->started)
		abort();
	for (u32 i = 0; i < c->key.n; i++) /* read it all */
		*sum += (u8)c->key.p[i];
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	u64 sum = 0, time = 0;
	struct proto *c;

	if (!n)
		return 0;
	c = proto_new((enum protocol)(p[0] % 64 % PROTOCOLS), check, &sum);
	if (p[0] & 64)
		proto_begin(c);
	for (size_t i = 1; i + 2 <= n;) {
		size_t missing = p[i] & 0x7f, size = p[i + 1];
		void (*feed)(struct proto *, const void *, size_t, size_t,
		             u64) = !(p[i] & 0x80) ? proto_request
		                    : missing & 64 ? proto_reply_piece
		                                   : proto_reply;
		char *piece;

		i += 2;
		size = MIN(size, n - i);
		piece = malloc(size + 1);
		memcpy(piece, p + i, size);
		feed(c, piece, size, size + missing, ++time);
		free(piece);
		i += size;
	}
	proto_lose(c);
	proto_free(c);
	return 0;
}
