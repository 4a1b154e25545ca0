/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory to watch, at an address that scripts can name: writes the eight bytes at 0x600000000 five
 * times and reads them twice, in a second thread the eight after them three times; calls the code
 * at 0x600010000 four times. With an argument it does so only after a line on standard input, and
 * says "ready" before.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define WATCHED 0x600000000ul
#define CODE    0x600010000ul
#define PAGE    0x1000

__attribute__((noipa)) static int two(void)
{
	return 2;
}

/* Calls a copy of a function. */
static int run_code(void)
{
	char *code = mmap((void *)CODE, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
	                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	int sum = 0;

	if (code == MAP_FAILED)
		return 0;
	memcpy(code, (void *)two, 16);
	__builtin___clear_cache(code, code + 16);
	for (int i = 0; i < 4; i++)
		sum += ((int (*)(void))(void *)code)();
	return sum;
}

static void *second(void *arg)
{
	volatile long *word = arg;

	for (int i = 0; i < 3; i++)
		word[1] = i;
	return NULL;
}

int main(int argc, char **argv)
{
	volatile long *word;
	pthread_t thread;
	char line[16];
	long sum = 0;

	(void)argv;
	word = mmap((void *)WATCHED, PAGE, PROT_READ | PROT_WRITE,
	            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (word == MAP_FAILED)
		return 1;
	if (argc > 1) {
		puts("ready");
		fflush(stdout);
		if (!fgets(line, sizeof(line), stdin))
			return 1;
	}
	for (int i = 0; i < 5; i++)
		word[0] = i;
	for (int i = 0; i < 2; i++)
		sum += word[0];
	if (pthread_create(&thread, NULL, second, (void *)word))
		return 1;
	pthread_join(thread, NULL);
	return sum == 8 && run_code() == 8 ? 0 : 1;
}
