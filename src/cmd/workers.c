/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Workers are children with a pipe each, read in their order until its end; one that has much to
 * say waits with it until it is its turn. They end with us.
 */
#include "cmd/workers.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"

struct worker {
	pid_t pid; /* 0: it was done here */
	int pipe;  /* -1 none */
	struct buf out;
	bool good;
};

struct pool {
	worker_fn *work;
	void *ctx;
	struct worker *v;
	u32 n;
};

/* In the child: never returns. */
static void work_alone(const struct pool *p, u32 i, int pipe, pid_t parent)
{
	struct buf out = { 0 };
	bool good;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	good = p->work(p->ctx, i, &out);
	if (!file_write_all(pipe, out.p, out.n))
		good = false;
	buf_free(&out);
	_exit(good ? 0 : 1);
}

static void start(const struct pool *p, u32 i)
{
	struct worker *w = &p->v[i];
	pid_t parent = getpid();
	int ends[2];

	*w = (struct worker){ .pipe = -1 };
	if (pipe2(ends, O_CLOEXEC) == 0) {
		w->pid = fork();
		if (w->pid == 0)
			work_alone(p, i, ends[1], parent);
		close(ends[1]);
		w->pipe = ends[0];
	}
	if (w->pid > 0)
		return;
	w->pid = 0;
	w->good = p->work(p->ctx, i, &w->out);
}

static void read_all(struct worker *w)
{
	char piece[4096];
	ssize_t n;

	while ((n = read(w->pipe, piece, sizeof(piece))) > 0 || (n < 0 && errno == EINTR))
		if (n > 0)
			buf_add(&w->out, piece, (size_t)n);
}

/* The signal that ended it, or 0. */
static int end(struct worker *w)
{
	int status = 0;

	if (w->pid) {
		read_all(w);
		while (waitpid(w->pid, &status, 0) < 0 && errno == EINTR)
			;
		w->good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
	}
	if (w->pipe >= 0)
		close(w->pipe);
	return w->pid && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

void workers_run(u32 n, u32 at_once, worker_fn *work, worker_done_fn *done, void *ctx)
{
	struct pool p = { work, ctx, calloc(n + 1, sizeof(*p.v)), n };
	u32 started = 0;

	if (!p.v)
		base_no_memory();
	for (u32 i = 0; i < n; i++) {
		int killed;

		for (; started < n && started - i < at_once; started++)
			start(&p, started);
		killed = end(&p.v[i]);
		done(ctx, i, &p.v[i].out, p.v[i].good, killed);
		buf_free(&p.v[i].out);
	}
	free(p.v);
}
