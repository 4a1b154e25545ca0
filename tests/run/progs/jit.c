/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A just-in-time compiler of one function, "jit::probe", which asks the kernel for its parent's
 * pid. The function is named in /tmp/perf-PID.map and called until somebody ends the program.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
/* push rbp; mov rbp, rsp; mov eax, 110 (getppid); syscall; pop rbp; ret */
static const unsigned char code[] = { 0x55, 0x48, 0x89, 0xe5, 0xb8, 110, 0,
	                              0,    0,    0x0f, 0x05, 0x5d, 0xc3 };
#else
/* stp x29, x30, [sp, -16]!; mov x29, sp; mov x8, 173 (getppid); svc 0; ldp x29, x30, [sp], 16;
 * ret */
static const unsigned int code[] = { 0xa9bf7bfd, 0x910003fd, 0xd28015a8,
	                             0xd4000001, 0xa8c17bfd, 0xd65f03c0 };
#endif

static char path[64];

/* The map would be taken for that of another process with this number. */
static void end(int number)
{
	unlink(path);
	_exit(128 + number);
}

int main(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long (*probe)(void);
	FILE *map;

	if (p == MAP_FAILED)
		return 1;
	memcpy(p, code, sizeof(code));
	memcpy(&probe, &p, sizeof(p));
	if (mprotect(p, 4096, PROT_READ | PROT_EXEC) != 0)
		return 1;
	__builtin___clear_cache(p, (char *)p + sizeof(code));
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	signal(SIGTERM, end);
	map = fopen(path, "we");
	if (!map)
		return 1;
	fprintf(map, "%lx %zx jit::probe\n", (unsigned long)p, sizeof(code));
	fclose(map);
	for (;;) {
		probe();
		usleep(1000);
	}
}
