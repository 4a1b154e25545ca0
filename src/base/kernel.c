/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Read by hand: the first call of sscanf() or strtoul() costs a start more than all the rest. */
#include "base/kernel.h"

#include <linux/version.h>
#include <sys/utsname.h>

/* Numbers of more than nine digits are no such numbers. */
static bool take_number(const char **p, u32 *n)
{
	u32 digits = 0;

	for (*n = 0; **p >= '0' && **p <= '9' && digits < 9; digits++)
		*n = *n * 10 + (u32)(*(*p)++ - '0');
	return digits && (**p < '0' || **p > '9');
}

static bool take(const char **p, char c)
{
	if (**p != c)
		return false;
	++*p;
	return true;
}

/* Of a release like "6.1.13-1". */
static u32 version_of(const char *p)
{
	u32 major, minor, patch;

	if (!take_number(&p, &major) || !take(&p, '.') || !take_number(&p, &minor))
		return 0;
	if (!take(&p, '.') || !take_number(&p, &patch))
		patch = 0;
	return KERNEL_VERSION(major, minor, MIN(patch, 255u));
}

u32 kernel_version(void)
{
	static u32 version;
	struct utsname u;

	/* A start asks some eight times. */
	if (!version && uname(&u) == 0)
		version = version_of(u.release);
	return version;
}

bool kernel_next_range(const char **list, u32 *first, u32 *last)
{
	if (!take_number(list, first))
		return false;
	*last = *first;
	if (take(list, '-') && !take_number(list, last))
		return false;
	take(list, ',');
	return *last >= *first;
}
