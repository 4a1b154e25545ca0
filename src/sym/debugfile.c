/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Separate debug files, found as gdb finds them (gdb manual, "Separate Debug Files"):
 *
 *     /usr/lib/debug/.build-id/ab/cdef.debug      build id abcdef
 *     DIR/LINK, DIR/.debug/LINK, /usr/lib/debug/DIR/LINK   .gnu_debuglink of DIR/FILE
 *
 * A file found by its link must have the build id of the one it is for or, when that has none,
 * the checksum the link gives.
 */
#include "sym/debugfile.h"

#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "base/file.h"
#include "read/elf.h"

#define DEBUG_DIR "/usr/lib/debug"

struct want {
	char id[64]; /* "" when the file has none */
	const char *link;
	u32 crc;
};

static bool checksum_is(const char *path, u32 crc)
{
	struct file_map m = { 0 };
	struct err e;
	bool same;

	if (!file_map(path, &m, &e))
		return false;
	same = crc32_z(0, m.p, m.n) == crc;
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

static bool by_build_id(const char *root, const struct want *w, struct buf *path)
{
	if (strlen(w->id) < 4)
		return false;
	buf_reset(path);
	buf_printf(path, "%s" DEBUG_DIR "/.build-id/%.2s/%s.debug", root, w->id, w->id + 2);
	return try_path(path, w);
}

static bool by_link(const char *root, const char *name, const struct want *w, struct buf *path)
{
	static const char *const forms[][2] = { { "", "/" },
		                                { "", "/.debug/" },
		                                { DEBUG_DIR, "/" } };
	const char *slash = strrchr(name, '/');

	if (!w->link || !slash)
		return false;
	for (u32 i = 0; i < ARRAY_SIZE(forms); i++) {
		buf_reset(path);
		buf_printf(path, "%s%s%.*s%s%s", root, forms[i][0], (int)(slash - name), name,
		           forms[i][1], w->link);
		if (try_path(path, w))
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

static bool below(const char *root, const char *name, const struct want *w, struct buf *path)
{
	return by_build_id(root, w, path) || by_link(root, name, w, path);
}

bool debugfile_find(struct elf *f, const struct debugfile_place *where, struct buf *path)
{
	struct want w = { 0 };

	if (!elf_build_id(f, w.id))
		w.id[0] = 0;
	read_link(f, &w);
	if (where->root[0] && below(where->root, where->name, &w, path))
		return true;
	return below("", where->name, &w, path);
}
