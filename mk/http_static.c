/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * web/http.h for the one file without any shared library: it does not listen, and says so. The
 * library for that is there with TLS only, which loads what it needs of the machine.
 */
#include "web/http.h"

#include <stddef.h>

struct http *http_open(const char *listen, int fd, struct guard *guard, http_fn *fn, void *ctx,
                       struct err *e)
{
	(void)listen;
	(void)fd;
	(void)guard;
	(void)fn;
	(void)ctx;
	err_set(e, "this memtap, one file, can not listen: it has no libmicrohttpd in it");
	err_hint(e, "the one of the package can, or of `make`");
	return NULL;
}

/* None can be open. */
void http_close(struct http *h)
{
	(void)h;
}

void http_guard(struct http *h, struct guard *guard)
{
	(void)h;
	(void)guard;
}

int http_copy(const struct http *h)
{
	(void)h;
	return -1;
}

const char *http_address(const struct http *h)
{
	(void)h;
	return "";
}

int http_fd(const struct http *h)
{
	(void)h;
	return -1;
}

int http_wait(const struct http *h)
{
	(void)h;
	return -1;
}

void http_run(struct http *h)
{
	(void)h;
}
