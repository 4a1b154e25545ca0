/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef BASE_UNPACK_H
#define BASE_UNPACK_H

/*
 * A gzip stream (RFC 1952) of `size` bytes that is a part of the program, as scripts/pack makes
 * them: its `text` bytes, for free(). One that is broken, or not as long, ends the program.
 */
void *unpack(const unsigned char *packed, unsigned size, unsigned text);

#endif
