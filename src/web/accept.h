/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The Accept header of a request (RFC 9110, 12.5.1). */
#ifndef WEB_ACCEPT_H
#define WEB_ACCEPT_H

#include "base/base.h"

/* The quality, from 0 to 1000, with which a header names a range ("text/plain", "text/" "*"): the
 * highest when it is there with several parameters. -1: it does not name it. */
s32 accept_quality(const char *header, const char *range);

#endif
