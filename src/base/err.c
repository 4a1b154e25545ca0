/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Messages for failures of the machine: built up from the inside out, kept as
 * data until somebody with a terminal prints them.
 */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/escape.h"

bool err_set(struct err *e, const char *fmt, ...)
{
	va_list ap;

	e->code = 0;
	e->hint[0] = 0;
	e->placed = false;
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	escape_string(e->text, sizeof(e->text), ESCAPE_ALL);
	return false;
}

bool err_sys(struct err *e, int code, const char *fmt, ...)
{
	va_list ap;
	size_t n;

	e->code = code;
	e->hint[0] = 0;
	e->placed = false;
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	n = strlen(e->text);
	snprintf(e->text + n, sizeof(e->text) - n, ": %s", strerror(code));
	escape_string(e->text, sizeof(e->text), ESCAPE_ALL);
	return false;
}

bool err_wrap(struct err *e, const char *fmt, ...)
{
	char inner[sizeof(e->text)];
	va_list ap;
	size_t n;

	memcpy(inner, e->text, sizeof(inner));
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	n = strlen(e->text);
	snprintf(e->text + n, sizeof(e->text) - n, ": %s", inner);
	escape_string(e->text, sizeof(e->text), ESCAPE_ALL);
	return false;
}

bool err_at(struct err *e, u32 off, u32 len)
{
	e->placed = true;
	e->off = off;
	e->len = len;
	return false;
}

bool err_hint(struct err *e, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(e->hint, sizeof(e->hint), fmt, ap);
	va_end(ap);
	escape_string(e->hint, sizeof(e->hint), ESCAPE_TEXT); /* it may have several lines */
	return false;
}
