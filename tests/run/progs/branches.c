/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A tree of calls that is known: touch() is reached 3 times through left(), twice through right()
 * and 5 times through right() and inner().
 */
#include <unistd.h>

#define KEEP __attribute__((noinline, noclone))

static volatile long sink;

KEEP void touch(void)
{
	sink += getppid();
}

KEEP void left(void)
{
	touch();
	sink++;
}

KEEP void inner(void)
{
	touch();
	sink++;
}

KEEP void right(int deep)
{
	if (deep)
		inner();
	else
		touch();
	sink++;
}

int main(void)
{
	for (int i = 0; i < 3; i++)
		left();
	for (int i = 0; i < 7; i++)
		right(i < 5);
	return 0;
}
