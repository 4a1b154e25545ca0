/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A program whose first thread ends before its second, which then touches new memory and ends
 * the process with status 5.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEEP  __attribute__((noinline, noclone, used))
#define BYTES (1u << 20)

KEEP void touch_late(char *p)
{
	for (size_t i = 0; i < BYTES; i += 4096)
		((volatile char *)p)[i] = 1;
}

static void *second(void *first)
{
	char *p = malloc(BYTES);

	pthread_join(*(pthread_t *)first, NULL);
	if (!p)
		exit(1);
	touch_late(p);
	exit(5);
}

int main(void)
{
	static pthread_t first;
	pthread_t t;

	first = pthread_self();
	if (pthread_create(&t, NULL, second, &first) != 0)
		return 1;
	pthread_exit(NULL);
}
