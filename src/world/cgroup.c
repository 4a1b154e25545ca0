/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The one idea: a process's file of groups says where it is below the hierarchy's root, and the
 * table of mounts where that root can be seen. Formats: Documentation/admin-guide/cgroup-v2.rst,
 * proc(5).
 */
#include "world/cgroup.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/buf.h"
#include "base/file.h"

#define FILE_MAX (1u << 20)

bool cgroup_id(const char *path, u64 *id, struct err *e)
{
	struct statfs fs;
	struct stat st;

	if (statfs(path, &fs) < 0 || stat(path, &st) < 0)
		return err_sys(e, errno, "can not open the cgroup %s", path);
	if (fs.f_type != CGROUP2_SUPER_MAGIC) {
		err_set(e, "%s is not a directory of the unified cgroup hierarchy", path);
		return err_hint(e, "it is usually mounted at /sys/fs/cgroup or "
		                   "/sys/fs/cgroup/unified");
	}
	*id = st.st_ino;
	return true;
}

/* What follows `start` in the first line that begins so, up to its end. */
static const char *line_after(struct arena *a, const char *text, const char *start)
{
	size_t n = strlen(start);

	while (text && strncmp(text, start, n) != 0) {
		text = strchr(text, '\n');
		text += text != NULL;
	}
	return text ? arena_strndup(a, text + n, strcspn(text + n, "\n")) : NULL;
}

/* "36 25 0:31 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw": where all of it is mounted. */
static const char *mounted_at(struct arena *a, char *text)
{
	char root[256], at[256], *save;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (strstr(line, " - cgroup2 ") &&
		    sscanf(line, "%*s %*s %*s %255s %255s", root, at) == 2 &&
		    strcmp(root, "/") == 0)
			return arena_strdup(a, at);
	return NULL;
}

static const char *hierarchy(struct arena *a, struct err *e)
{
	struct buf b = { 0 };
	const char *at = NULL;

	if (!file_read("/proc/self/mountinfo", &b, FILE_MAX, e))
		return NULL;
	buf_text(&b);
	at = mounted_at(a, b.p);
	buf_free(&b);
	if (at)
		return at;
	err_set(e, "the unified cgroup hierarchy (cgroup2) is not mounted");
	e->code = ENOENT;
	return NULL;
}

/* Below the hierarchy's root, of a file /proc/PID/cgroup. */
static const char *place_of(struct arena *a, const char *path, struct err *e)
{
	struct buf b = { 0 };
	const char *place;

	if (!file_read(path, &b, FILE_MAX, e))
		return NULL;
	place = line_after(a, buf_text(&b), "0::");
	buf_free(&b);
	if (place)
		return place;
	err_set(e, "%s names no group of the unified hierarchy (cgroup2)", path);
	e->code = ENOENT;
	return NULL;
}

const char *cgroup_dir(struct arena *a, const char *path, struct err *e)
{
	const char *place, *root;
	u64 id;

	if (strncmp(path, "/proc/", 6) == 0) {
		place = place_of(a, path, e);
		root = place ? hierarchy(a, e) : NULL;
		if (!root)
			return NULL;
		path = strcmp(place, "/") == 0 ? root : arena_printf(a, "%s%s", root, place);
	}
	return cgroup_id(path, &id, e) ? path : NULL;
}
