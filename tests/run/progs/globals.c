// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Variables of three sizes that a function changes: 1, 3, 6. puts() is a function of libc. */
#include <stdio.h>

int counter;
char flag = 3;
long big = 123456789012;

__attribute__((noinline)) void globals_add(int n)
{
	counter += n;
	puts("added");
}

int main(void)
{
	for (int i = 1; i <= 3; i++)
		globals_add(i);
	return 0;
}
