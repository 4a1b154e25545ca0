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

/* False when the descriptor takes no more, ever. */
static bool wait_or_give_up(struct output *o)
{
	struct pollfd p = { .fd = o->fd, .events = POLLOUT };

	if (errno == EINTR)
		return true;
	if (errno == EAGAIN)
		return poll(&p, 1, -1) >= 0 || errno == EINTR;
	if (errno == EPIPE)
		o->closed = true;
	else
		err_sys(&o->error, errno, "can not write the output");
	return false;
}

bool output_flush(struct output *o)
{
	size_t done = 0;

	if (o->held)
		return true;
	while (!o->closed && !o->error.text[0] && done < o->text.n) {
		ssize_t n = write(o->fd, o->text.p + done, o->text.n - done);

		if (n >= 0)
			done += (size_t)n;
		else if (!wait_or_give_up(o))
			break;
	}
	buf_reset(&o->text);
	return !o->closed && !o->error.text[0];
}

void output_close(struct output *o)
{
	output_flush(o);
	if (o->owned)
		close(o->fd);
	buf_free(&o->text);
}
