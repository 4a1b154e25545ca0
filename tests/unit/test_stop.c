/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The wish to end: what the first signal does to somebody who waits, and that the second one ends
 * the process whatever it does. The processes that die are children of the test.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "world/stop.h"

#define PIPE_BYTES 4096

static struct stop *open_stop(int target)
{
	struct err e = { 0 };
	struct stop *s = stop_open(target, &e);

	if (!s || !stop_listen(s, &e))
		fail_msg("%s", e.text);
	return s;
}

static void pause_ms(int ms)
{
	poll(NULL, 0, ms);
}

static void test_nobody_asked(void **state)
{
	struct stop *s = open_stop(-1);

	(void)state;
	stop_allow(s, 0, 0);
	assert_false(stop_asked(s) || stop_over(s));
	assert_int_equal(stop_left(s), -1);
	assert_false(stop_asked(NULL) || stop_over(NULL));
	assert_int_equal(stop_fd(NULL), -1);
	stop_wait(NULL);
	assert_true(stop_waited(NULL));
	stop_close(s);
	stop_close(NULL);
}

static void check_asks(int number)
{
	struct stop *s = open_stop(-1);
	struct pollfd p = { .fd = stop_fd(s), .events = POLLIN };

	stop_allow(s, 3600 * 1000, 0);
	assert_int_equal(poll(&p, 1, 0), 0);
	kill(getpid(), number);
	assert_int_equal(poll(&p, 1, -1), 1);
	assert_true(stop_asked(s));
	assert_false(stop_over(s));
	stop_allow(s, 0, 3600 * 1000);
	assert_false(stop_over(s));
	stop_allow(s, 0, 0);
	assert_true(stop_over(s));
	stop_close(s);
}

static void test_asks(void **state)
{
	(void)state;
	check_asks(SIGINT);
	check_asks(SIGTERM);
	/* As shells start what runs in the background. */
	signal(SIGINT, SIG_IGN);
	check_asks(SIGINT);
	signal(SIGINT, SIG_DFL);
	check_asks(SIGHUP);
}

/* As nohup(1) starts it. */
static void test_ignored_hang_up(void **state)
{
	struct pollfd p = { .events = POLLIN };
	struct stop *s;

	(void)state;
	signal(SIGHUP, SIG_IGN);
	s = open_stop(-1);
	p.fd = stop_fd(s);
	kill(getpid(), SIGHUP);
	assert_int_equal(poll(&p, 1, 50), 0);
	assert_false(stop_asked(s));
	stop_close(s);
	signal(SIGHUP, SIG_DFL);
}

/* A descriptor that never has anything. */
static void test_poll_ends(void **state)
{
	struct stop *s = open_stop(-1);
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	stop_allow(s, 0, 0);
	kill(getpid(), SIGINT);
	assert_false(stop_poll(s, ends[0]));
	assert_int_equal(write(ends[1], "x", 1), 1);
	assert_true(stop_poll(s, ends[0]));
	stop_close(s);
	close(ends[0]);
	close(ends[1]);
}

/* A pipe that nobody reads, asked before the write or meanwhile. */
static void test_write_ends(void **state)
{
	static const char filler[PIPE_BYTES];

	(void)state;
	for (int delay = 0; delay <= 100; delay += 100) {
		struct stop *s = open_stop(-1);
		pid_t self = getpid(), pid;
		int ends[2];

		assert_int_equal(pipe(ends), 0);
		assert_int_equal(fcntl(ends[1], F_SETPIPE_SZ, PIPE_BYTES), PIPE_BYTES);
		assert_int_equal(write(ends[1], filler, PIPE_BYTES), PIPE_BYTES);
		pid = fork();
		if (pid == 0) {
			pause_ms(delay);
			_exit(kill(self, SIGTERM));
		}
		stop_wait(s);
		assert_int_equal(write(ends[1], filler, 1), -1);
		assert_int_equal(errno, EINTR);
		assert_false(stop_waited(s));
		waitpid(pid, NULL, 0);
		stop_close(s);
		close(ends[0]);
		close(ends[1]);
	}
}

/* A signal that comes before anybody listens stays until somebody waits, or the end. */
static void test_listens_late(void **state)
{
	struct stop *s;
	struct err e;
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	for (u32 how = 0; how < 3; how++) {
		s = stop_open(-1, &e);
		kill(getpid(), SIGINT);
		kill(getpid(), SIGHUP);
		if (how == 0)
			stop_fd(s);
		else if (how == 1)
			assert_false(stop_poll(s, ends[0]));
		assert_int_equal(stop_asked(s), how < 2);
		stop_close(s);
	}
	close(ends[0]);
	close(ends[1]);
}

/* Somebody has to listen before a write that may block: not for what a pipe has room for. */
static void test_writes(void **state)
{
	static const char filler[PIPE_BYTES];
	struct stop *s;
	struct err e;
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(fcntl(ends[1], F_SETPIPE_SZ, PIPE_BYTES), PIPE_BYTES);
	for (u32 how = 0; how < 4; how++) {
		if (how == 2)
			assert_int_equal(write(ends[1], filler, PIPE_BYTES), PIPE_BYTES);
		s = stop_open(-1, &e);
		stop_wait_write(s, how == 3 ? STDIN_FILENO : ends[1],
		                how == 1 ? PIPE_BYTES + 1 : PIPE_BYTES);
		kill(getpid(), SIGINT);
		for (u32 i = 0; i < (how ? 500 : 5) && !stop_asked(s); i++)
			pause_ms(10);
		assert_int_equal(stop_asked(s), how > 0);
		assert_true(stop_waited(s));
		stop_close(s);
		if (how == 2)
			dup2(open("/dev/zero", O_RDWR), STDIN_FILENO);
	}
	close(ends[0]);
	close(ends[1]);
}

/* ---- the second one ---- */

/* Somebody who never looks; readable from when it takes signals. */
static pid_t start_deaf(int target, bool ending, int *ready)
{
	int ends[2];
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		struct err e;
		struct stop *s;

		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		signal(SIGTERM, SIG_IGN);
		s = stop_open(target, &e);
		if (!stop_listen(s, &e))
			_exit(1);
		if (ending)
			stop_is_ending(s);
		if (write(ends[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			;
	}
	close(ends[1]);
	*ready = ends[0];
	assert_int_equal(read(*ready, ends, 1), 1);
	return pid;
}

/* Until no signal waits for it: a second one of the kind would be the same one. */
static void wait_taken(pid_t pid)
{
	char path[64], text[4096];
	const char *at = NULL;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	for (u32 i = 0; i < 2000; i++, pause_ms(10)) {
		FILE *f = fopen(path, "r");
		size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

		if (f)
			fclose(f);
		text[n] = 0;
		at = strstr(text, "\nShdPnd:");
		if (at && strtoull(at + 8, NULL, 16) == 0)
			return;
	}
	fail_msg("it does not take the signal: %s", at ? at : text);
}

static int death_of(pid_t pid, int ready)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	close(ready);
	return WIFSIGNALED(status) ? WTERMSIG(status) : -1;
}

static void test_second_ends(void **state)
{
	static const int pairs[][2] = {
		{ SIGINT, SIGINT }, { SIGINT, SIGTERM }, { SIGTERM, SIGTERM }, { SIGHUP, SIGHUP }
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(pairs); i++) {
		int ready, status;
		pid_t pid = start_deaf(-1, false, &ready);

		kill(pid, pairs[i][0]);
		wait_taken(pid);
		pause_ms(2 * STOP_ECHO_MS);
		assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
		kill(pid, pairs[i][1]);
		assert_int_equal(death_of(pid, ready), pairs[i][1]);
	}
}

static void test_second_ends_target(void **state)
{
	pid_t target = fork(), pid;
	int ready, fd;

	(void)state;
	if (target == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		signal(SIGTERM, SIG_IGN);
		for (;;)
			pause();
	}
	fd = (int)syscall(SYS_pidfd_open, target, 0);
	pid = start_deaf(fd, false, &ready);
	kill(pid, SIGINT);
	pause_ms(2 * STOP_ECHO_MS);
	kill(pid, SIGINT);
	assert_int_equal(death_of(pid, ready), SIGINT);
	assert_int_equal(death_of(target, fd), SIGKILL);
}

/* When it ends by itself, the first one is enough. */
static void test_ending(void **state)
{
	int ready;
	pid_t pid = start_deaf(-1, true, &ready);

	(void)state;
	kill(pid, SIGTERM);
	assert_int_equal(death_of(pid, ready), SIGTERM);
}

/* Signals are what they were. */
static void test_close(void **state)
{
	struct timespec none = { 0 };
	struct sigaction urgent;
	sigset_t before, behind;

	(void)state;
	sigprocmask(SIG_SETMASK, NULL, &before);
	stop_close(open_stop(-1));
	sigprocmask(SIG_SETMASK, NULL, &behind);
	for (int i = 1; i < NSIG; i++)
		assert_int_equal(sigismember(&before, i), sigismember(&behind, i));
	assert_int_equal(sigtimedwait(&before, NULL, &none), -1);
	sigaction(SIGURG, NULL, &urgent);
	assert_true(urgent.sa_handler == SIG_DFL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nobody_asked),    cmocka_unit_test(test_asks),
		cmocka_unit_test(test_poll_ends),       cmocka_unit_test(test_write_ends),
		cmocka_unit_test(test_second_ends),     cmocka_unit_test(test_second_ends_target),
		cmocka_unit_test(test_ending),          cmocka_unit_test(test_close),
		cmocka_unit_test(test_ignored_hang_up), cmocka_unit_test(test_listens_late),
		cmocka_unit_test(test_writes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
