/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Writing a batch of output. A reader that went away (`memtap ... | head`) is no error: it sets
 * `closed`, and the session ends as if it had been asked to.
 */
#include "run/output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

bool output_open(struct output *o, const char *path, int fd, struct err *e)
{
	*o = (struct output){ .fd = fd };
	if (!path)
		return true;
	o->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (o->fd < 0)
		return err_sys(e, errno, "can not write to %s", path);
	o->owned = true;
	return true;
}

static bool is_writable(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	return poll(&p, 1, ms) > 0 && (p.revents & POLLOUT);
}

/* False when the descriptor takes no more, ever. */
static bool wait_or_give_up(struct output *o, int code)
{
	if (code == EINTR)
		return true;
	if (code == EAGAIN) {
		stop_wait(o->stop);
		is_writable(o->fd, -1);
		return stop_waited(o->stop) || is_writable(o->fd, 0);
	}
	if (code == EPIPE)
		o->closed = true;
	else
		err_sys(&o->error, code, "can not write the output");
	return false;
}

/* A write of some of it. False when there is no use in trying again. */
static bool write_some(struct output *o, size_t *done)
{
	bool in_time;
	ssize_t n;
	int code;

	stop_wait_write(o->stop, o->fd, o->text.n - *done);
	n = write(o->fd, o->text.p + *done, o->text.n - *done);
	code = errno;
	in_time = stop_waited(o->stop);
	if (n > 0)
		*done += (size_t)n;
	else if (n < 0 && !wait_or_give_up(o, code))
		return false;
	return in_time || *done == o->text.n || is_writable(o->fd, 0);
}

bool output_flush(struct output *o)
{
	size_t done = 0;

	if (o->held)
		return true;
	while (!o->closed && !o->error.text[0] && done < o->text.n)
		if (!write_some(o, &done) && !o->closed && !o->error.text[0])
			err_set(&o->error, "the end of the output is lost: nobody reads it");
	buf_reset(&o->text);
	return !o->closed && !o->error.text[0];
}

void output_close(struct output *o)
{
	output_flush(o);
	/* Some file systems say only now that there is no room. */
	if (o->owned && close(o->fd) < 0 && !o->error.text[0])
		err_sys(&o->error, errno, "can not write the output");
	o->owned = false;
	buf_free(&o->text);
}
