/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The process of -c. It is forked before the script is compiled and then waits in a read()
 * until we write one byte; if we die instead, the read ends and so does the child, and later the
 * kernel kills it (but one that gets other rights by exec, as sudo does: prctl(2)). The same
 * socket tells us about exec: it closes on success, on failure the errno comes back.
 * It is held after exec, when its program is mapped and nothing of it has run, and on request at
 * its end: there its maps can be read for sure, however short it lives (tracee.c).
 * No shell is involved: blanks, quotes and backslashes split the command, nothing else is
 * special.
 */
#include "run/child.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "base/words.h"
#include "run/tracee.h"
#include "world/stop.h"

#define KILL_MS 500 /* one that is deep in the kernel is left to init */

struct child {
	struct arena arena;
	char **argv;
	const char *program;
	pid_t pid;
	int pidfd, socket;
	bool released;
	bool stopped;         /* at its program's entry, by SIGSTOP */
	struct tracee tracee; /* knows whether it was reaped */
};

/* ---- the command line ---- */

static bool is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

static bool find_program(struct child *c, struct err *e)
{
	const char *name = c->argv[0], *path = getenv("PATH");
	struct str rest = str_of(path ? path : "/usr/local/bin:/usr/bin:/bin");

	if (strchr(name, '/')) {
		c->program = name;
		if (is_program(name))
			return true;
		return err_sys(e, access(name, X_OK) < 0 ? errno : EACCES, "can not run %s", name);
	}
	while (rest.p) {
		struct str dir = str_cut(rest, ':', &rest);

		c->program = arena_printf(&c->arena, "%.*s%s%s", STR_ARG(dir), dir.n ? "/" : "",
		                          name);
		if (is_program(c->program))
			return true;
	}
	return err_set(e, "there is no program %s in PATH", name);
}

/* ---- the process ---- */

static void run_child(struct child *c, int socket)
{
	sigset_t none;
	char go;
	int code;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (read(socket, &go, 1) != 1)
		_exit(1);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	stop_ignore_again();
	execv(c->program, c->argv);
	code = errno;
	if (write(socket, &code, sizeof(code)) < 0)
		_exit(126);
	_exit(127);
}

static bool fork_child(struct child *c, struct err *e)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return err_sys(e, errno, "can not make a socket pair");
	c->pid = fork();
	if (c->pid == 0) {
		close(ends[0]);
		run_child(c, ends[1]);
	}
	close(ends[1]);
	c->socket = ends[0];
	if (c->pid < 0)
		return err_sys(e, errno, "can not make a process for %s", c->program);
	c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
	if (c->pidfd < 0)
		return err_sys(e, errno, "can not watch the process of %s", c->program);
	return true;
}

struct child *child_start(const char *command, struct err *e)
{
	struct child *c = calloc(1, sizeof(*c));
	u32 n;

	if (!c)
		base_no_memory();
	c->pid = c->pidfd = c->socket = c->tracee.fd = -1;
	if (!words_split(&c->arena, "the command of -c", command, &c->argv, &n, e) ||
	    !find_program(c, e) || !fork_child(c, e)) {
		child_free(c);
		return NULL;
	}
	return c;
}

/* To its exec; tracee_continue() lets it run on. */
static bool let_exec(struct child *c, struct err *e)
{
	ssize_t n;
	int code;

	c->released = true;
	if (send(c->socket, "", 1, MSG_NOSIGNAL) != 1)
		return err_sys(e, errno, "the process for %s is gone", c->program);
	tracee_wait_exec(&c->tracee);
	n = read(c->socket, &code, sizeof(code));
	/* Killed before it has read what was sent, it resets the connection. */
	if ((n == 0 && c->tracee.reaped) || (n < 0 && errno == ECONNRESET))
		return err_set(e, "the process for %s was killed before it ran", c->program);
	return n == 0 || err_sys(e, n == sizeof(code) ? code : EIO, "can not run %s", c->program);
}

bool child_release(struct child *c, bool hold_end, bool hold_loader, struct err *e)
{
	/* Refused where another debugger or a policy is in the way; then it just runs on. */
	if (c->stopped) {
		tracee_attach_stopped(&c->tracee, c->pid, hold_end, hold_loader);
		return !c->tracee.reaped ||
		       err_set(e, "the process for %s was killed before it ran", c->program);
	}
	tracee_attach(&c->tracee, c->pid, hold_end, hold_loader);
	return let_exec(c, e);
}

bool child_to_entry(struct child *c, struct err *e)
{
	tracee_attach(&c->tracee, c->pid, false, false);
	if (!let_exec(c, e) || !tracee_to_entry(&c->tracee, e))
		return false;
	c->stopped = true;
	return true;
}

void child_resume(struct child *c)
{
	if (c->stopped)
		kill(c->pid, SIGCONT);
	c->stopped = false;
	tracee_continue(&c->tracee);
}

bool child_is_held(struct child *c)
{
	return tracee_next(&c->tracee);
}

void child_let_go(struct child *c)
{
	tracee_let_go(&c->tracee);
}

static bool ends_within(struct child *c, int ms)
{
	struct pollfd p = { .fd = c->pidfd, .events = POLLIN };

	return poll(&p, 1, ms) == 1;
}

void child_end(struct child *c, int ms)
{
	child_let_go(c);
	if (c->pid <= 0 || c->tracee.reaped)
		return;
	if (c->released)
		kill(c->pid, SIGTERM);
	if (!ends_within(c, c->released ? ms : 0))
		kill(c->pid, SIGKILL);
	if (ends_within(c, KILL_MS))
		child_wait(c);
}

void child_free(struct child *c)
{
	if (!c)
		return;
	child_end(c, CHILD_GRACE_MS);
	if (c->pidfd >= 0)
		close(c->pidfd);
	if (c->socket >= 0)
		close(c->socket);
	arena_free(&c->arena);
	free(c);
}

int child_wait(struct child *c)
{
	struct tracee *t = &c->tracee;

	child_let_go(c);
	while (!t->reaped && waitpid(c->pid, &t->status, 0) < 0 && errno == EINTR)
		;
	t->reaped = true;
	return WIFSIGNALED(t->status) ? 128 + WTERMSIG(t->status) : WEXITSTATUS(t->status);
}

s32 child_pid(const struct child *c)
{
	return c->pid;
}

const char *child_program(const struct child *c)
{
	return c->program;
}

int child_fd(const struct child *c)
{
	return c->pidfd;
}

int child_held_fd(const struct child *c)
{
	return c->tracee.fd;
}
