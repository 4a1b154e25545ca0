/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Each time is a process of its own: a tracer's end is the only way to let go of a thread that does
 * not come to its stop, and somebody who kills memtap does not kill the tracer in the middle of a
 * system call that another process makes for it. It takes no signals, is in a session of its own,
 * and the kernel spares it when memory runs out.
 */
#include "inject/enter.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"

/* For all threads to stop, else they go on; each try has twice as long: threads that wait for a
 * processor have to get it first. The longest is tried however long the others took: on a slow
 * machine, where it matters most, that alone may be all the time there was. */
#define STOP_MS    8u
#define STOP_LONG  512u
#define PAUSE_MS   1u /* before the second try, then twice as long each time */
#define PAUSE_LONG 64u

/* ---- what is against it --------------------------------------------------------------------- */

/* Another process, not a thread, that runs in the same memory. */
static bool find_sharer(pid_t pid, pid_t *other, struct err *e)
{
	int fd = file_open_dir("/proc");
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	bool ok = d;

	*other = 0;
	if (!d)
		return err_sys(e, errno, "/proc can not be read");
	for (struct dirent *one; ok && !*other && (one = readdir(d));) {
		pid_t p = (pid_t)strtol(one->d_name, NULL, 10);

		if (p <= 0 || p == pid)
			continue;
		switch (syscall(SYS_kcmp, pid, p, KCMP_VM, 0, 0)) {
		case 0:
			*other = p;
			break;
		case -1:
			ok = errno != ENOSYS ||
			     err_set(e, "this kernel can not tell whether other processes run "
			                "in its memory (kcmp)");
		}
	}
	closedir(d);
	return ok;
}

/* The first word after "key:" in the text of /proc/PID/status. */
static u64 word(const char *status, const char *key)
{
	const char *at = strstr(status, key);

	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

static bool has_shadow(const char *status)
{
	const char *at = strstr(status, "_Thread_features:");
	const char *end = at ? strchr(at, '\n') : NULL;
	const char *found = at ? strstr(at, thread_machine.shadow) : NULL;

	return found && found < end;
}

static bool status_allows(pid_t pid, const char *status, struct err *e)
{
	u64 tracer = word(status, "\nTracerPid:"), tgid = word(status, "\nTgid:");

	if (tgid != (u64)pid)
		return err_set(e, "%d is a thread of process %d", pid, (int)tgid);
	if (!strstr(status, "\nVmSize:"))
		return err_set(e, "process %d has no memory of its own", pid);
	if (tracer)
		return err_set(e, "process %d is traced by process %d, a debugger or strace", pid,
		               (int)tracer);
	if (has_shadow(status))
		return err_set(e, "process %d has shadow stacks", pid);
	return true;
}

bool enter_allowed(pid_t pid, struct err *e)
{
	struct buf b = { 0 };
	char path[64];
	bool ok;

	if (!thread_machine.known)
		return err_set(e, "memtap can not put code into processes on this machine");
	if (pid == getpid())
		return err_set(e, "process %d is memtap itself", pid);
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	if (!file_read(path, &b, 65536, e))
		return err_set(e, "there is no process with pid %d", pid);
	ok = status_allows(pid, buf_text(&b), e);
	buf_free(&b);
	return ok;
}

/* Most who share it are children of vfork(), which soon run another program. */
static enum enter_end is_alone(pid_t pid, struct err *e)
{
	pid_t other;

	if (!find_sharer(pid, &other, e))
		return ENTER_REFUSED;
	if (!other)
		return ENTER_DONE;
	err_set(e, "process %d runs in the memory of process %d", other, pid);
	return ENTER_LATER;
}

/* ---- one time ------------------------------------------------------------------------------- */

struct shared {
	enum enter_end end;
	u64 stopped_ns;
	struct err e;
	char ctx[];
};

static void spare(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0) {
		(void)!write(fd, "-1000", 5);
		close(fd);
	}
	/* What stands still waits for us. */
	if (sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){ .sched_priority = 1 }) < 0)
		setpriority(PRIO_PROCESS, 0, -20);
	prctl(PR_SET_TIMERSLACK, 1);
	setsid();
}

static enum enter_end stop_and_do(const struct enter *n, u32 stop_ms, struct shared *s)
{
	struct hold h;
	struct err other;
	enum enter_end end;

	if (hold_all(&h, n->pid, stop_ms, &s->e)) {
		end = n->fn(&h, n->ctx, &s->e);
		if (!hold_let_go(&h, end == ENTER_DONE ? &s->e : &other))
			end = ENTER_REFUSED;
	} else {
		end = s->e.code ? ENTER_REFUSED : ENTER_LATER;
	}
	s->stopped_ns = h.stood_ns;
	return end;
}

static bool once(const struct enter *n, u32 stop_ms, struct shared *s, struct err *e)
{
	sigset_t all, old;
	int status;
	pid_t child;

	s->end = ENTER_REFUSED;
	err_set(&s->e, "what put code into process %d was killed", n->pid);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	child = fork();
	if (!child) {
		spare();
		if (n->before)
			n->before(n->ctx, n->pid);
		s->end = stop_and_do(n, stop_ms, s);
		memcpy(s->ctx, n->ctx, n->size);
		_exit(0);
	}
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (child < 0)
		return err_sys(e, errno, "fork");
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return true;
}

bool enter_process(struct enter *n, struct err *e)
{
	u64 until = clock_ns(CLOCK_MONOTONIC) + (u64)n->ms * 1000000;
	size_t size = sizeof(struct shared) + n->size;
	u32 pause_ms = PAUSE_MS, stop_ms = STOP_MS;
	struct shared *s;
	bool ok = true;

	if (!enter_allowed(n->pid, e))
		return false;
	s = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (s == MAP_FAILED)
		return err_sys(e, errno, "mmap");
	memcpy(s->ctx, n->ctx, n->size); /* what it stays when nobody comes so far */
	for (;;) {
		s->end = is_alone(n->pid, &s->e);
		if (s->end == ENTER_DONE) {
			ok = once(n, stop_ms, s, e);
			n->stopped_ns += s->stopped_ns;
			n->stops++;
		}
		if (!ok || s->end != ENTER_LATER ||
		    (stop_ms == STOP_LONG && clock_ns(CLOCK_MONOTONIC) > until))
			break;
		nanosleep(&(struct timespec){ .tv_nsec = (long)pause_ms * 1000000 }, NULL);
		pause_ms = MIN(2 * pause_ms, PAUSE_LONG);
		stop_ms = MIN(2 * stop_ms, STOP_LONG);
	}
	if (ok && s->end != ENTER_DONE) {
		*e = s->e;
		ok = false;
	}
	memcpy(n->ctx, s->ctx, n->size);
	munmap(s, size);
	return ok;
}
