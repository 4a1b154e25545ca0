/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The machine as the dynamic linker and the C library find it. */
#include "base/host.h"

#include <dlfcn.h>
#include <pwd.h>

void *host_library(const char *name)
{
	return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

void *host_symbol(void *library, const char *symbol)
{
	return dlsym(library, symbol);
}

void host_release(void *library)
{
	dlclose(library);
}

bool host_is_static(void)
{
	return false;
}

bool host_user(struct buf *b, u32 uid)
{
	struct passwd entry, *found = NULL;
	char text[4096];
	bool known = getpwuid_r((uid_t)uid, &entry, text, sizeof(text), &found) == 0 && found;

	if (known)
		buf_puts(b, found->pw_name);
	return known;
}

const char *host_locale(void)
{
	return "";
}

const char *host_terminal(const char *kind)
{
	(void)kind;
	return NULL;
}
