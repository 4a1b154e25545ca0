/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The page that people look at in a browser, src/web/page/: its files as `memtap serve` hands them
 * out, and all of it as one file with the figures inside (--report).
 */
#ifndef OUT_PAGE_H
#define OUT_PAGE_H

#include "base/buf.h"
#include "base/str.h"

/* What scripts/pack-page wrote, the last with name NULL. */
struct page_file {
	const char *name; /* "page.js" */
	const unsigned char *gzip;
	u32 packed, size; /* bytes of gzip, and unpacked */
};
extern const struct page_file page_files[];

/* NULL: none of that name. */
const struct page_file *page_find(const char *name);
/* Appends what is packed in it. */
void page_unpack(struct buf *b, const struct page_file *f);

/* What a report shows. */
struct page_report {
	const char *title;
	struct str lines; /* of JSON, as --json prints them */
	struct str flame; /* an SVG; .n 0: none */
};
/* A file that needs no other. */
void page_report(struct buf *b, const struct page_report *r);

#endif
