/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Names for a test to make odd ones of, of the same length, in a copy of this program: of a
 * function, of the provider of a USDT probe, and in a string, which is also what the process calls
 * itself, and what /tmp/perf-PID.map calls the code that calls the function. It runs until somebody
 * ends it.
 */
#include <sys/sdt.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

static char text[] = "odd_text_01234";

/* push rbp; mov rbp, rsp; call rsi; pop rbp; ret */
static const unsigned char code[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd6, 0x5d, 0xc3 };

static char path[64];

static void end(int number)
{
	unlink(path);
	_exit(128 + number);
}

__attribute__((noipa, used)) static int odd_name_01234(const char *what, const void *self,
                                                       const void *caller)
{
	DTRACE_PROBE3(odd_prov_01234, called, what, self, caller);
	return what[0];
}

/* A map is read line by line. */
static void write_map(const void *at)
{
	FILE *map = fopen(path, "we");

	if (!map)
		return;
	fprintf(map, "%lx %zx jit", (unsigned long)at, sizeof(code));
	for (const char *p = text; *p; p++)
		fputc(*p == '\n' ? ' ' : *p, map);
	fputc('\n', map);
	fclose(map);
}

int main(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int (*call)(const char *, const void *, const void *);
	const void *called;
	int (*function)(const char *, const void *, const void *) = odd_name_01234;

	if (p == MAP_FAILED)
		return 1;
	memcpy(p, code, sizeof(code));
	memcpy(&call, &p, sizeof(p));
	memcpy(&called, &function, sizeof(called));
	if (mprotect(p, 4096, PROT_READ | PROT_EXEC) != 0)
		return 1;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	signal(SIGTERM, end);
	write_map(p);
	prctl(PR_SET_NAME, text);
	for (;;) {
		call(text, called, p);
		usleep(1000);
	}
}
