/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Finding the event directory.
 *
 * The one idea: where nobody mounted tracefs we make a mount that is attached nowhere
 * (fsopen, fsmount) and read it through /proc/self/fd/N. The system's mount table stays as it
 * was, and the mount is gone when the descriptor is closed or we end.
 */
#include "world/tracefs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/caps.h"
#include "base/glob.h"
#include "read/tpformat.h"

#define FORMAT_MAX   (1u << 20) /* bytes of one event's format */
#define FORMAT_SHORT 2048u      /* half a page: no field's line is nearly as long */

static bool no_permission(struct err *e, const char *what)
{
	char how[sizeof(e->hint)];

	caps_refused(e, EACCES, CAPS_FILES, what);
	memcpy(how, e->hint, sizeof(how));
	return err_hint(e, "%.400s; btftracepoint: and rawtracepoint: do not need these files",
	                how);
}

/* 0, or the errno of looking at dir/events. */
static int probe_dir(const char *dir)
{
	char path[128];
	struct stat st;

	snprintf(path, sizeof(path), "%s/events", dir);
	return stat(path, &st) == 0 ? 0 : errno;
}

/* A mount that was refused: what is missing, and who can help. Returns -1. */
static int not_mountable(struct err *e, int code)
{
	static const char what[] = "tracefs is not mounted and memtap can not mount it";

	if (code == ENODEV) {
		err_set(e, "this kernel has no tracefs, so it has no tracepoints (CONFIG_TRACING)");
		err_hint(e, "software:, hardware:, profile:, interval:, uprobe: and usdt: probes "
		            "do not need it");
		return -1;
	}
	if (code == EPERM || code == EACCES)
		caps_refused(e, code, CAPS_ADMIN, what);
	else
		err_sys(e, code, "%s", what);
	err_hint(e, "have root mount it: mount -t tracefs nodev /sys/kernel/tracing (for a "
	            "container: on the host, and pass it in); btftracepoint: and rawtracepoint: do "
	            "not need it");
	return -1;
}

static int mount_private(struct err *e)
{
	int fs = fsopen("tracefs", FSOPEN_CLOEXEC), fd = -1, code;

	if (fs < 0)
		return not_mountable(e, errno);
	if (fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
		fd = fsmount(fs, FSMOUNT_CLOEXEC,
		             MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	code = errno;
	close(fs);
	return fd >= 0 ? fd : not_mountable(e, code);
}

static bool take_dir(struct tracefs *t, const char *dir)
{
	snprintf(t->dir, sizeof(t->dir), "%s", dir);
	t->fd = t->events = -1;
	return true;
}

bool tracefs_open(struct tracefs *t, const char *dir, struct err *e)
{
	static const char *const usual[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };
	bool denied = false;

	if (dir) {
		if (strlen(dir) >= sizeof(t->dir))
			return err_set(e, "the path %s is too long", dir);
		return take_dir(t, dir);
	}
	for (size_t i = 0; i < ARRAY_SIZE(usual); i++) {
		int code = probe_dir(usual[i]);

		if (!code)
			return take_dir(t, usual[i]);
		denied |= code == EACCES;
	}
	if (denied && geteuid() != 0)
		return no_permission(e, "the kernel's tracing files (/sys/kernel/tracing) can not "
		                        "be read");
	t->fd = mount_private(e);
	if (t->fd < 0)
		return false;
	snprintf(t->dir, sizeof(t->dir), "/proc/self/fd/%d", t->fd);
	t->events = -1;
	return true;
}

void tracefs_close(struct tracefs *t)
{
	if (t->dir[0] && t->fd >= 0)
		close(t->fd);
	if (t->dir[0] && t->events >= 0)
		close(t->events);
	*t = (struct tracefs){ 0 };
}

/* ---- formats -------------------------------------------------------------------------------- */

/*
 * Whether more of a format is wanted when a read gave n bytes more, the last of b. The kernel gives
 * as many whole lines as fit a page, so after few bytes comes a long line, or nothing: that is the
 * print format, which nobody here wants and the kernel makes for those who ask.
 */
static bool goes_on(const struct buf *b, size_t n)
{
	return n >= FORMAT_SHORT && !memmem(b->p, b->n, TPFORMAT_END, strlen(TPFORMAT_END));
}

static bool read_format(int fd, struct buf *b)
{
	char chunk[8192];
	ssize_t n;

	while ((n = read(fd, chunk, sizeof(chunk))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		buf_add(b, chunk, (size_t)n);
		if (b->n > FORMAT_MAX) {
			errno = EFBIG;
			return false;
		}
		if (!goes_on(b, (size_t)n))
			break;
	}
	return true;
}

bool tracefs_format(struct tracefs *t, const char *event, struct buf *b, struct err *e)
{
	char path[PATH_MAX];
	int fd = -1;
	bool ok;

	snprintf(path, sizeof(path), "%s/events", t->dir);
	if (t->events < 0)
		t->events = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	snprintf(path, sizeof(path), "%s/format", event);
	if (t->events >= 0)
		fd = openat(t->events, path, O_RDONLY | O_CLOEXEC);
	ok = fd >= 0 && read_format(fd, b);
	if (!ok)
		err_sys(e, errno, "can not read %s/events/%s", t->dir, path);
	if (fd >= 0)
		close(fd);
	return ok;
}

/* ---- lists ---------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* A name without wildcards is looked up: listing the hundreds of events of a group takes long. */
static bool list_one(struct arena *a, const char *path, struct str name, const char ***names,
                     u32 *n, struct err *e)
{
	struct stat st;

	*names = arena_array(a, const char *, 1);
	(*names)[0] = arena_strndup(a, name.p, name.n);
	*n = 0;
	if (!name.n || name.p[0] == '.' || memchr(name.p, '/', name.n))
		return true;
	if (stat(arena_printf(a, "%s/%s", path, (*names)[0]), &st) == 0)
		*n = S_ISDIR(st.st_mode);
	else if (errno == EACCES || errno == EPERM)
		return no_permission(e, "the kernel's event list can not be read");
	else if (stat(path, &st) < 0)
		return err_sys(e, errno, "can not list %s", path);
	return true;
}

bool tracefs_list(struct arena *a, const char *path, struct str glob, const char ***names, u32 *n,
                  struct err *e)
{
	VEC(const char *) found = { 0 };
	struct dirent *entry;
	DIR *d;

	if (!glob_is(glob))
		return list_one(a, path, glob, names, n, e);
	d = opendir(path);
	if (!d && (errno == EACCES || errno == EPERM))
		return no_permission(e, "the kernel's event list can not be read");
	if (!d)
		return err_sys(e, errno, "can not list %s", path);
	while ((entry = readdir(d)))
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.' &&
		    glob_match(glob, str_of(entry->d_name)))
			vec_add(a, &found, arena_strdup(a, entry->d_name));
	closedir(d);
	if (found.n)
		qsort(found.v, found.n, sizeof(*found.v), by_name);
	*names = found.v;
	*n = found.n;
	return true;
}
