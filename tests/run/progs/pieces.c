/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One writev() to /dev/null of pieces of known content: a head, a long body, an empty piece, an
 * end, and, with the argument `bad`, one at an address where nothing is mapped, which ends the
 * write.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	static char body[3000];
	struct iovec v[] = {
		{ (char *)"VALUE a 0 3000", 14 },
		{ body, sizeof(body) },
		{ NULL, 0 },
		{ (char *)"END", 3 },
		{ (char *)8, 4 },
	};
	int zero = open("/dev/null", O_WRONLY);

	memset(body, 'x', sizeof(body));
	return zero < 0 || writev(zero, v, argc > 1 && strcmp(argv[1], "bad") == 0 ? 5 : 4) < 0;
}
