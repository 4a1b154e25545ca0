/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What went wrong when the machine says no. A function that can fail returns
 * bool or NULL and takes a struct err last; the deepest frame says what, each
 * caller may put before it what it was doing. Nothing here prints. What is quoted is escaped
 * (escape.h).
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include "base/base.h"

struct err {
	int code;       /* errno at the failure, 0 when it was not a system call */
	char text[768]; /* one sentence, no newline; longer texts are cut */
	char hint[512]; /* what the user can do, or empty */
	bool placed;    /* off and len are the bytes of the script that it is about */
	u32 off, len;
};

/* Records a message; always returns false, so that `return err_set(...)` reads well. */
bool err_set(struct err *e, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* As err_set, and appends ": " and the text of errno value `code`. */
bool err_sys(struct err *e, int code, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Puts "what: " before the recorded message; returns false. */
bool err_wrap(struct err *e, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Says which bytes of the script it is about; returns false. */
bool err_at(struct err *e, u32 off, u32 len);
/* Sets the hint; returns false. */
bool err_hint(struct err *e, const char *fmt, ...) PRINTF_LIKE(2, 3);

#endif
