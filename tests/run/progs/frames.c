/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Stacks of every sort, in a program built without frame pointers: each ends in leaf(). With
 * "fork", "exec" and "loop" they go on until nothing has the name any more that the program was run
 * by.
 */
#include <alloca.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEEP __attribute__((noinline, noclone))

int leaf(int n);
int deep(int n);
int moving(size_t n);
int aligned(int n);
int by_library(void);
int by_signal(void);
int by_other_stack(void);
int replaced(int n);
int by_thread(void);

static volatile int sink;
static int (*volatile next_deep)(int) = deep, (*volatile next_replaced)(int) = replaced;

KEEP int leaf(int n)
{
	sink += n;
	return n + 1;
}

KEEP int deep(int n)
{
	return (n ? next_deep(n - 1) : leaf(n)) + 1;
}

/* A stack that moves: the function needs a frame pointer. */
KEEP int moving(size_t n)
{
	volatile char *p = alloca(n);

	p[0] = (char)n;
	return leaf(p[0]) + p[n - 1] * 0;
}

/* A stack that is aligned: its CFA is an expression. */
KEEP int aligned(int n)
{
	volatile char block[64] __attribute__((aligned(64)));
	volatile char *p = alloca((size_t)n + 1);

	block[0] = p[0] = 1;
	return leaf(n) + block[0] + p[0];
}

static KEEP int compare(const void *a, const void *b)
{
	sink = leaf(1);
	return *(const int *)a - *(const int *)b;
}

KEEP int by_library(void)
{
	int v[2] = { 2, 1 };

	qsort(v, 2, sizeof(v[0]), compare);
	return v[0];
}

static KEEP void on_signal(int number)
{
	sink = leaf(number);
}

KEEP int by_signal(void)
{
	signal(SIGUSR1, on_signal);
	return raise(SIGUSR1) + 1;
}

KEEP int by_other_stack(void)
{
	static char room[65536];
	stack_t other = { .ss_sp = room, .ss_size = sizeof(room) };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };

	sigaltstack(&other, NULL);
	sigaction(SIGUSR2, &action, NULL);
	return raise(SIGUSR2) + 1;
}

/* Looked at by a uretprobe: its return address is another one meanwhile. */
KEEP int replaced(int n)
{
	return (n ? next_replaced(n - 1) : leaf(n)) + 1;
}

static KEEP void *in_thread(void *arg)
{
	sink = leaf(*(int *)arg);
	return NULL;
}

KEEP int by_thread(void)
{
	int n = 1;
	pthread_t t;

	if (pthread_create(&t, NULL, in_thread, &n) != 0 || pthread_join(t, NULL) != 0)
		return 1;
	return n;
}

static KEEP int on_frame(void *context, void *ctx)
{
	(void)context;
	(void)ctx;
	sink = leaf(1);
	return 5; /* _URC_END_OF_STACK */
}

/* A library that was not there at the start calls back. */
static KEEP int by_dlopen(void)
{
	void *lib = dlopen("libgcc_s.so.1", RTLD_NOW);
	int (*walk)(int (*)(void *, void *), void *) = NULL;

	if (lib)
		*(void **)&walk = dlsym(lib, "_Unwind_Backtrace");
	for (int i = 0; walk && i < 3000; i++) {
		walk(on_frame, NULL);
		usleep(1000);
	}
	return walk != NULL;
}

static KEEP int by_fork(const char *name)
{
	int status = 1;
	pid_t pid = fork();

	if (pid == 0) {
		while (access(name, F_OK) == 0) {
			deep(3);
			usleep(1000);
		}
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return status;
}

/* The same process becomes another program. */
static KEEP void by_exec(char **argv)
{
	char loop[] = "loop", *args[] = { argv[0], loop, NULL };

	for (int i = 0; i < 300; i++) {
		moving(10);
		usleep(1000);
	}
	execv("/proc/self/exe", args);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "fork") == 0)
		return by_fork(argv[0]);
	if (strcmp(what, "dlopen") == 0)
		return by_dlopen() ? 0 : 1;
	if (strcmp(what, "exec") == 0)
		by_exec(argv);
	if (strcmp(what, "loop") == 0)
		while (access(argv[0], F_OK) == 0) {
			deep(10);
			usleep(1000);
		}
	deep(argc > 1 ? atoi(what) : 10);
	moving(100);
	aligned(3);
	by_library();
	by_signal();
	by_other_stack();
	replaced(2);
	return by_thread() ? 0 : 1;
}
