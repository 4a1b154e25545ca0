/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Separate debug files, found as gdb finds them (gdb manual, "Separate Debug Files"):
 *
 *     /usr/lib/debug/.build-id/ab/cdef.debug      build id abcdef
 *     DIR/LINK, DIR/.debug/LINK, /usr/lib/debug/DIR/LINK   .gnu_debuglink of DIR/FILE
 *
 * and in the user's directories as in /usr/lib/debug, or in them alone: USER/LINK. A user's
 * directory that is no absolute path is tried below the program's own first. A file with a build id
 * but without a link has FILE.debug for one.
 *
 * A file found by its link must have the build id of the one it is for or, when that has none,
 * the checksum the link gives. Neither is a secret: what lies beside the program must have an owner
 * who may speak for it.
 */
#include "sym/debugfile.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/file.h"
#include "base/str.h"
#include "elf/elf.h"

#define DEBUG_DIR   "/usr/lib/debug"
#define CHECKED_MAX (1u << 30) /* bytes of a file whose checksum is computed: half a second */

static const char *user_dirs = ""; /* debugfile_set_dirs */

struct want {
	char id[64]; /* "" when the file has none */
	const char *link;
	char usual[256]; /* in place of a link that there is not */
	u32 crc;
};

static bool checksum_is(const char *path, u32 crc)
{
	struct file_map m = { 0 };
	struct err e;
	bool same;

	if (!file_map(path, &m, &e))
		return false;
	same = m.n <= CHECKED_MAX && crc32_z(0, m.p, m.n) == crc;
	file_unmap(&m);
	return same;
}

static bool belongs(const char *path, const struct want *w)
{
	char id[64];
	struct err e;
	struct elf *f = elf_open(path, &e);
	bool has_id = f && elf_build_id(f, id);

	elf_close(f);
	if (!f)
		return false;
	if (w->id[0])
		return has_id && strcmp(id, w->id) == 0;
	return checksum_is(path, w->crc);
}

static bool try_path(struct buf *path, const struct want *w)
{
	return path->n < 4096 && belongs(buf_text(path), w);
}

/* Below a directory of debug files: by build id, and by link with the file's own directory. */
static bool in_dir(struct str dir, const struct debugfile_place *where, const struct want *w,
                   struct buf *path)
{
	const char *slash = strrchr(where->name, '/');

	if (strlen(w->id) >= 4) {
		buf_reset(path);
		buf_printf(path, "%.*s/.build-id/%.2s/%s.debug", STR_ARG(dir), w->id, w->id + 2);
		if (try_path(path, w))
			return true;
	}
	if (!w->link || !slash)
		return false;
	buf_reset(path);
	buf_printf(path, "%.*s%.*s/%s", STR_ARG(dir), (int)(slash - where->name), where->name,
	           w->link);
	return try_path(path, w);
}

static bool owner_of(const char *path, bool is_dir, uid_t *owner)
{
	struct err ignored;
	struct stat st;
	int fd = is_dir ? file_open_dir(path) : file_hold(path, &ignored);
	bool ok = fd >= 0 && fstat(fd, &st) == 0;

	if (fd >= 0)
		close(fd);
	*owner = ok ? st.st_uid : 0;
	return ok;
}

/*
 * In /tmp anybody may put a file beside somebody's program, and make its checksum what the link
 * says. It is believed when it is root's, ours, or belongs to who may exchange the program as well.
 */
static bool is_trusted(const char *path, const char *root, const char *name)
{
	char program[4096], *slash;
	int n = snprintf(program, sizeof(program), "%s%s", root, name);
	uid_t owner, other;

	if (n >= (int)sizeof(program) || !owner_of(path, false, &owner))
		return false;
	if (owner == 0 || owner == geteuid() ||
	    (owner_of(program, false, &other) && other == owner))
		return true;
	slash = strrchr(program, '/');
	if (slash)
		slash[1] = 0;
	return slash && owner_of(program, true, &other) && other == owner;
}

static bool beside_file(const char *root, const char *name, const struct want *w, struct buf *path)
{
	static const char *const below[] = { "/", "/.debug/" };
	const char *slash = strrchr(name, '/');

	for (u32 i = 0; w->link && slash && i < ARRAY_SIZE(below); i++) {
		buf_reset(path);
		buf_printf(path, "%s%.*s%s%s", root, (int)(slash - name), name, below[i], w->link);
		if (is_trusted(buf_text(path), root, name) && try_path(path, w))
			return true;
	}
	return false;
}

/* The link is a file name, padded to 4 bytes, and a CRC-32. */
static void read_link(struct elf *f, struct want *w)
{
	const u8 *p;
	size_t n, length;
	u64 vaddr;

	if (!elf_section(f, ".gnu_debuglink", &p, &n, &vaddr))
		return;
	length = strnlen((const char *)p, n);
	if (!length || memchr(p, '/', length) || ROUND_UP(length + 1, 4) + 4 > n)
		return;
	w->link = (const char *)p;
	memcpy(&w->crc, p + ROUND_UP(length + 1, 4), sizeof(w->crc));
}

static void usual_link(struct want *w, const char *name)
{
	const char *slash = strrchr(name, '/');
	int n = snprintf(w->usual, sizeof(w->usual), "%s.debug", slash ? slash + 1 : name);

	if (w->id[0] && *name && n < (int)sizeof(w->usual))
		w->link = w->usual;
}

static bool below(const char *root, const struct debugfile_place *where, const struct want *w,
                  struct buf *path)
{
	char dir[4096];
	int n = snprintf(dir, sizeof(dir), "%s" DEBUG_DIR, root);

	return (n < (int)sizeof(dir) && in_dir(str_of(dir), where, w, path)) ||
	       beside_file(root, where->name, w, path);
}

static bool in_user_dir(struct str dir, const struct debugfile_place *where, const struct want *w,
                        struct buf *path)
{
	if (in_dir(dir, where, w, path))
		return true;
	buf_reset(path);
	buf_printf(path, "%.*s/%s", STR_ARG(dir), w->link ? w->link : "");
	return w->link && try_path(path, w);
}

/* The directory below that of the program. */
static bool beside_program(struct str dir, const struct debugfile_place *where,
                           const struct want *w, struct buf *path)
{
	const char *slash = strrchr(where->name, '/');
	char text[4096];
	int n;

	if (!slash || dir.p[0] == '/')
		return false;
	n = snprintf(text, sizeof(text), "%s%.*s/%.*s", where->root, (int)(slash - where->name),
	             where->name, STR_ARG(dir));
	return n < (int)sizeof(text) && in_user_dir(str_of(text), where, w, path) &&
	       is_trusted(buf_text(path), where->root, where->name);
}

static bool in_user_dirs(const struct debugfile_place *where, const struct want *w,
                         struct buf *path)
{
	const char *p = user_dirs;

	while (*p) {
		struct str dir = { p, (u32)strcspn(p, ",:") };

		if (dir.n &&
		    (beside_program(dir, where, w, path) || in_user_dir(dir, where, w, path)))
			return true;
		p += dir.n + (p[dir.n] != 0);
	}
	return false;
}

void debugfile_set_dirs(const char *list)
{
	user_dirs = list;
}

bool debugfile_find(struct elf *f, const struct debugfile_place *where, struct buf *path)
{
	struct want w = { 0 };

	if (!elf_build_id(f, w.id))
		w.id[0] = 0;
	read_link(f, &w);
	if (!w.link)
		usual_link(&w, where->name);
	if (in_user_dirs(where, &w, path))
		return true;
	if (where->root[0] && below(where->root, where, &w, path))
		return true;
	return below("", where, &w, path);
}
