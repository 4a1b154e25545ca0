/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef PROTO_RESP_INLINE_H
#define PROTO_RESP_INLINE_H

#include "proto/proto.h"

/* A word of a line. */
struct word {
	char p[PROTO_KEY_MAX];
	u32 n;      /* bytes in p */
	u64 size;   /* all of them */
	bool wrong; /* ends in the middle of a quote, or has something after it */
};

/* Cuts the next word off the line, as Redis does it. False at its end. */
bool resp_word_next(struct str *line, struct word *w);

#endif
