/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * /proc/self/fdinfo of a map says what it takes, also of one that grows with its keys (since 6.4;
 * before, what was set aside for it).
 */
#include "kern/kern.h"

#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"

/* False: the descriptor is of something else. */
static bool map_bytes(const char *name, u64 *bytes)
{
	char path[300];
	struct buf text = { 0 };
	struct err ignored = { 0 };
	const char *at;
	bool ok;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%s", name);
	ok = file_read(path, &text, 65536, &ignored) && strstr(buf_text(&text), "map_id:") &&
	     (at = strstr(buf_text(&text), "memlock:")) &&
	     sscanf(at, "memlock: %" SCNu64, bytes) == 1;
	buf_free(&text);
	return ok;
}

u32 live_maps_held(u64 *bytes)
{
	DIR *dir = opendir("/proc/self/fdinfo");
	struct dirent *d;
	u64 one;
	u32 n = 0;

	*bytes = 0;
	while (dir && (d = readdir(dir))) {
		if (!isdigit((u8)d->d_name[0]) || !map_bytes(d->d_name, &one))
			continue;
		*bytes += one;
		n++;
	}
	if (dir)
		closedir(dir);
	return n;
}
