/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The screen of mctop beside a session: an epoll descriptor is what both keys and the server's end
 * make readable. */
#include "view/hot_top.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

void hot_top_watch(struct hot_top *t, int other, bool on)
{
	struct epoll_event event = { .events = EPOLLIN };

	if (t->fd >= 0 && other >= 0)
		epoll_ctl(t->fd, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, other, &event);
}

bool hot_top_open(struct hot_top *t, enum hot_sort by, int other, struct err *e)
{
	if (!term_open(&t->term, e))
		return false;
	t->fd = epoll_create1(EPOLL_CLOEXEC);
	if (t->fd < 0) {
		term_close();
		return err_sys(e, errno, "can not wait for keys");
	}
	hot_screen_init(&t->screen, by);
	t->top = top_new(&t->term, &t->screen.model);
	hot_top_watch(t, STDIN_FILENO, true);
	hot_top_watch(t, other, true);
	return true;
}

void hot_top_close(struct hot_top *t)
{
	if (!t->top)
		return;
	top_free(t->top);
	t->top = NULL;
	close(t->fd);
	t->fd = -1;
	term_close();
}

bool hot_top_tick(struct hot_top *t, const struct report_of *now)
{
	t->screen.now = *now;
	return top_tick(t->top);
}

bool hot_top_input(struct hot_top *t)
{
	return top_input(t->top);
}
