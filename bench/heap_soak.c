/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * heap_soak ROUNDS COMMAND [ARGUMENT...]: starts the command, which says "ready" and works until
 * its standard input ends, and puts the code that samples its heap in and takes it out again, so
 * many times. After each round its mappings of code are what they were, and now and then all their
 * bytes. The command's status, that of a program that checks itself, is ours. In half of the rounds
 * nearly every call is sampled, and in some of these the command is paused (SIGSTOP) while the code
 * goes in or out, or paused and continued all the time; of the others, with the usual distance, it
 * is printed for how long the command stood still.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inject/heap.h"
#include "read/procmaps.h"

#define MS         300000u /* to put in, and to take out */
#define BYTES_EACH 64u     /* rounds between two looks at all bytes of code */
#define PART       65536u

static u64 add(u64 h, const void *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		h = (h ^ ((const u8 *)p)[i]) * 1099511628211u;
	return h;
}

static u64 add_bytes(u64 h, pid_t pid, const struct procmap *m)
{
	static u8 part[PART];

	for (u64 at = m->start; at < m->end; at += PART) {
		struct iovec here = { part, MIN(m->end - at, PART) };
		struct iovec there = { (void *)(uintptr_t)at, here.iov_len };

		if (process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)here.iov_len)
			h = add(h, part, here.iov_len);
	}
	return h;
}

/* Of all mappings of code, with their bytes or without. */
static u64 hash_code(pid_t pid, bool bytes)
{
	struct arena a = { 0 };
	struct procmaps maps;
	struct err e;
	u64 h = 14695981039346656037u;

	if (!procmaps_read(&a, pid, &maps, &e))
		return 0;
	for (u32 i = 0; i < maps.n; i++) {
		const struct procmap *m = &maps.v[i];

		/* The kernel's own of uprobes that somebody else has in all processes stays. */
		if (!m->exec || strcmp(m->path, "[uprobes]") == 0)
			continue;
		h = add(h, &m->start, sizeof(m->start));
		h = add(h, &m->end, sizeof(m->end));
		h = add(h, &m->offset, sizeof(m->offset));
		h = add(h, m->path, strlen(m->path));
		if (bytes)
			h = add_bytes(h, pid, m);
	}
	arena_free(&a);
	return h;
}

static void print_code(pid_t pid)
{
	struct arena a = { 0 };
	struct procmaps maps = { 0 };
	struct err e;

	if (!procmaps_read(&a, pid, &maps, &e))
		printf("%s\n", e.text);
	for (u32 i = 0; i < maps.n; i++)
		if (maps.v[i].exec)
			printf("%llx-%llx %llx %s\n", (unsigned long long)maps.v[i].start,
			       (unsigned long long)maps.v[i].end,
			       (unsigned long long)maps.v[i].offset, maps.v[i].path);
	arena_free(&a);
}

static pid_t start(char **argv, int *in)
{
	int to[2], from[2];
	char line[64];
	pid_t pid;

	if (pipe(to) || pipe(from))
		return -1;
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		dup2(to[0], 0);
		dup2(from[1], 1);
		for (int i = 3; i < 16; i++)
			close(i);
		execvp(argv[0], argv);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	*in = to[1];
	if (read(from[0], line, sizeof(line)) != 6 || memcmp(line, "ready\n", 6) != 0)
		return -1;
	dup2(2, 1);
	dup2(from[0], 0);
	return pid;
}

static int by_size(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

static void print_times(const char *what, u64 *v, u32 n, u32 stops)
{
	if (!n)
		return;
	qsort(v, n, sizeof(*v), by_size);
	printf("%-4s stood still: median %.2f ms, 9 of 10 below %.2f ms, most %.2f ms; %.2f stops "
	       "each\n",
	       what, (double)v[n / 2] / 1e6, (double)v[n * 9 / 10] / 1e6, (double)v[n - 1] / 1e6,
	       (double)stops / n);
}

enum pauses {
	PAUSES_IN = 1,
	PAUSES_OUT = 2,
	PAUSES_OFTEN = 4,
};

static int in_and_out(pid_t pid, u64 every, u32 pauses, struct heap_result *in,
                      struct heap_result *out)
{
	struct err e = { 0 };
	char left[256];
	bool ok = false;

	if (pauses & PAUSES_IN)
		kill(pid, SIGSTOP);
	for (u32 i = 0; i < MS / 100; i++) {
		ok = heap_in(pid, every, every >= HEAP_EVERY ? HEAP_MOST : 0, MS, in, left, &e);
		/* Somebody else's, for all processes: it goes away. */
		if (ok || !strstr(e.text, "a uprobe is in it"))
			break;
		poll(NULL, 0, 100);
	}
	if (pauses & PAUSES_IN)
		kill(pid, SIGCONT);
	if (!ok) {
		printf("in: %s\n", e.text);
		return 1;
	}
	poll(NULL, 0, (int)(every % 4));
	if (pauses & PAUSES_OUT)
		kill(pid, SIGSTOP);
	ok = heap_out(pid, MS, out, &e);
	if (pauses & PAUSES_OUT)
		kill(pid, SIGCONT);
	if (ok)
		return 0;
	printf("out: %s\n", e.text);
	return 1;
}

static pid_t pause_often(pid_t pid)
{
	pid_t other = fork();

	if (other)
		return other;
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	for (;;) {
		kill(pid, SIGSTOP);
		usleep((useconds_t)(random() % 3000));
		kill(pid, SIGCONT);
		usleep((useconds_t)(random() % 3000));
	}
}

static int round_of(u32 i, pid_t pid, struct heap_result *in, struct heap_result *out)
{
	static const u32 pauses[] = { 0, 0, 0, PAUSES_OUT, 0, PAUSES_IN, 0, PAUSES_OFTEN };
	u32 p = pauses[i % ARRAY_SIZE(pauses)];
	pid_t other = p & PAUSES_OFTEN ? pause_often(pid) : 0;
	int wrong = in_and_out(pid, i % 2 ? 1 + i % 4000 : HEAP_EVERY + i % 4, p, in, out);

	if (other > 0) {
		kill(other, SIGKILL);
		waitpid(other, NULL, 0);
		kill(pid, SIGCONT);
	}
	return wrong;
}

/* What the command says at its end. */
static void pass_on(void)
{
	char line[512];
	ssize_t n;

	while ((n = read(0, line, sizeof(line))) > 0)
		(void)!write(2, line, (size_t)n);
}

int main(int argc, char **argv)
{
	u32 rounds = argc > 2 ? (u32)strtoul(argv[1], NULL, 10) : 0, done = 0, timed = 0, ins = 0,
	    outs = 0;
	u64 *in = calloc(rounds + 1, sizeof(*in)), *both = calloc(rounds + 1, sizeof(*in)),
	    *out = calloc(rounds + 1, sizeof(*out));
	u64 maps, bytes;
	int fd, wrong = 0, status = -1;
	pid_t pid;

	if (!rounds || (pid = start(argv + 2, &fd)) < 0) {
		fprintf(stderr, "usage: heap_soak ROUNDS COMMAND [ARGUMENT...]\n");
		return 2;
	}
	maps = hash_code(pid, false);
	bytes = hash_code(pid, true);
	for (u32 i = 0; i < rounds && !wrong; i++) {
		struct heap_result r = { 0 }, s = { 0 };

		wrong = round_of(i, pid, &r, &s);
		done++;
		if (i % 2 == 0) {
			in[timed] = r.stopped_ns;
			ins += r.stops;
			out[timed] = s.stopped_ns;
			both[timed++] = r.stopped_ns + s.stopped_ns;
			outs += s.stops;
		}
		if (done % 250 == 0)
			fprintf(stderr, "%u rounds\n", done);
		if (!wrong && (hash_code(pid, false) != maps ||
		               (i % BYTES_EACH == 0 && hash_code(pid, true) != bytes))) {
			printf("round %u: its code is not what it was\n", i);
			print_code(pid);
			wrong = 1;
		}
	}
	print_times("in", in, timed, ins);
	print_times("out", out, timed, outs);
	print_times("both", both, timed, ins + outs);
	fflush(stdout);
	close(fd);
	pass_on();
	waitpid(pid, &status, 0);
	printf("%u rounds, the program's status %d\n", done, status);
	return wrong || status;
}
