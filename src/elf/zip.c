/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Members of a zip archive, as far as their place is concerned (PKWARE's APPNOTE.TXT, 4.3).
 *
 * The one idea: an archive is read from its end. The last record says where the directory lies, the
 * directory has a record for each member, and that one says where the member's own header lies,
 * after which are its bytes:
 *
 *     header, name, extra, BYTES  header, ...  [directory: record, name, extra, comment] ...  end
 *
 * Nothing is unpacked: what is to be probed must be in the file as it is in memory. No archives of
 * more than 4 GiB (zip64) or of several parts.
 */
#include "elf/zip.h"

#include <string.h>

#define END_SIZE     22u
#define COMMENT_MAX  65535u
#define RECORD_SIZE  46u
#define HEADER_SIZE  30u
#define METHOD_STORE 0u

struct zip {
	const u8 *p;
	size_t n;
};

static u32 u16_at(const u8 *p)
{
	return p[0] | (u32)p[1] << 8;
}

static u32 u32_at(const u8 *p)
{
	return u16_at(p) | u16_at(p + 2) << 16;
}

/* The n bytes at `off` when they begin with a record of that kind, else NULL. */
static const u8 *record(const struct zip *z, size_t off, const char *kind, size_t n)
{
	if (off > z->n || n > z->n - off || memcmp(z->p + off, kind, 4) != 0)
		return NULL;
	return z->p + off;
}

/* The last record; a comment of unknown length follows it. */
static const u8 *find_end(const struct zip *z)
{
	for (size_t comment = 0; comment <= COMMENT_MAX; comment++) {
		const u8 *end;

		if (z->n < END_SIZE + comment)
			return NULL;
		end = record(z, z->n - END_SIZE - comment, "PK\5\6", END_SIZE);
		if (end && u16_at(end + 20) == comment)
			return end;
	}
	return NULL;
}

/* The directory's record of a member. */
static const u8 *find_record(const struct zip *z, const u8 *end, struct str name)
{
	size_t off = u32_at(end + 16);
	const u8 *r;

	for (u32 left = u16_at(end + 10); left; left--) {
		u32 n;

		r = record(z, off, "PK\1\2", RECORD_SIZE);
		if (!r)
			return NULL;
		n = u16_at(r + 28);
		if (n > z->n - off - RECORD_SIZE)
			return NULL;
		if (n == name.n && memcmp(r + RECORD_SIZE, name.p, n) == 0)
			return r;
		off += RECORD_SIZE + (size_t)n + u16_at(r + 30) + u16_at(r + 32);
	}
	return NULL;
}

bool zip_find(const u8 *p, size_t n, struct str name, size_t *off, size_t *size, struct err *e)
{
	struct zip z = { p, n };
	const u8 *end = find_end(&z), *r, *header;

	if (!end)
		return err_set(e, "this is not a zip archive");
	if (u32_at(end + 16) == UINT32_MAX)
		return err_set(e, "archives of more than 4 GiB are not read");
	r = find_record(&z, end, name);
	if (!r)
		return err_set(e, "the archive has no file %.*s", STR_ARG(name));
	if (u16_at(r + 10) != METHOD_STORE) {
		err_set(e, "%.*s is packed in the archive", STR_ARG(name));
		return err_hint(e, "programs can run only what is stored as it is (zip -0, "
		                   "zipalign -p)");
	}
	header = record(&z, u32_at(r + 42), "PK\3\4", HEADER_SIZE);
	*size = u32_at(r + 24);
	if (header) {
		*off = u32_at(r + 42) + HEADER_SIZE + u16_at(header + 26) + u16_at(header + 28);
		if (*off <= n && *size <= n - *off)
			return true;
	}
	return err_set(e, "the archive is damaged: %.*s lies past its end", STR_ARG(name));
}
