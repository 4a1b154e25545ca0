/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Runs a command from a small process and says what it took:
 *   measure COMMAND ARGS...
 * prints, on file descriptor 3 if that is open and else on stdout,
 *   start_ns end_ns peak_kib status
 * with CLOCK_MONOTONIC times. A child starts with its parent's peak memory, so the parent must be
 * small; that is why this is not done by the scripts themselves.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int main(int argc, char **argv)
{
	int out = fcntl(3, F_GETFD) < 0 ? 1 : 3;
	struct rusage usage;
	uint64_t start, end;
	int status;
	pid_t pid;

	if (argc < 2)
		return 2;
	start = now();
	pid = fork();
	if (pid == 0) {
		execvp(argv[1], argv + 1);
		perror(argv[1]);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) < 0)
		return 1;
	end = now();
	dprintf(out, "%llu %llu %ld %d\n", (unsigned long long)start, (unsigned long long)end,
	        usage.ru_maxrss, status);
	return 0;
}
