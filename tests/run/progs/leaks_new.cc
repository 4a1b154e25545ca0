/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Leaks known bytes by operator new, as leaks.c does by malloc. */
#include <cstddef>
#include <new>
#include <unistd.h>

#define LEAK   static __attribute__((noinline)) void
#define USE(p) __asm__ volatile("" : : "r"(p) : "memory")

LEAK leak_new()
{
	for (int i = 0; i < 50; i++)
		USE(new char[200]);
	for (int i = 0; i < 20; i++)
		USE(::operator new(48));
	for (int i = 0; i < 200; i++) {
		char *p = new char[333];

		USE(p);
		delete[] p;
	}
}

LEAK leak_nothrow()
{
	USE(new (std::nothrow) char[4000]);
	USE(::operator new(640, std::align_val_t(64)));
}

static void line()
{
	char c = 0;

	while (read(STDIN_FILENO, &c, 1) == 1 && c != '\n')
		;
}

int main()
{
	line();
	leak_new();
	leak_nothrow();
	if (write(STDOUT_FILENO, "done\n", 5) == 5)
		line();
	return 0;
}
