/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Calls look() with pointers to memory that has content but no page yet, and to none at all.
 *
 *     absent       look(text across two untouched pages, 8), look(nowhere, 8)
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE sysconf(_SC_PAGESIZE)

__attribute__((noinline, noclone, used)) void look(const char *p, long n)
{
	__asm__ volatile("" : : "r"(p), "r"(n) : "memory");
}

int main(void)
{
	int fd = memfd_create("absent", 0);
	char *p;

	if (fd < 0 || ftruncate(fd, 2 * PAGE) || pwrite(fd, "across it", 9, PAGE - 4) != 9)
		return 1;
	p = mmap(NULL, (size_t)(2 * PAGE), PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return 1;
	look(p + PAGE - 4, 8);
	look((const char *)64, 8);
	return 0;
}
