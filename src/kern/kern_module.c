/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A module's types as the kernel holds them: a program for one of its functions is loaded with a
 * descriptor of them. They are found by their name among all that are loaded (the kernel's,
 * modules', programs'), since nothing leads from a name to its number.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/caps.h"
#include "kern/kern.h"

static bool is_module(int fd, const char *name)
{
	char found[64] = { 0 };
	struct bpf_btf_info info = { .name = (uintptr_t)found, .name_len = sizeof(found) };

	return sys_info(fd, &info, sizeof(info)) >= 0 && info.kernel_btf &&
	       strcmp(found, name) == 0;
}

bool kern_module_types(const char *name, int *fd, struct err *e)
{
	u32 id = 0;
	int r;

	while ((r = sys_btf_next(&id)) >= 0) {
		*fd = sys_btf_open(id);
		if (*fd < 0)
			continue; /* unloaded meanwhile */
		if (is_module(*fd, name))
			return true;
		close(*fd);
	}
	if (r == -EPERM)
		return caps_refused(e, -r, CAPS_ADMIN,
		                    "the kernel does not show its types to this user");
	return err_sys(e, -r, "the kernel holds no types of the module %s", name);
}
