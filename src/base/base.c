/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The end where there is no memory: no caller could do anything about it, so none has to ask. */
#include "base/base.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

void base_no_memory(void)
{
	static const char text[] = "ERROR: out of memory\n";
	struct sigaction now;
	ssize_t n = write(STDERR_FILENO, text, sizeof(text) - 1);

	(void)n;
	/* A screen has to be given back first. */
	if (sigaction(SIGABRT, NULL, &now) == 0 && now.sa_handler != SIG_DFL)
		abort();
	_exit(1);
}
