/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Opening BTF: headers, sections, references.
 *
 *     header | types: 12-byte records, each with entries by kind | [layout] | strings
 *
 * The one idea: opening is O(1). Only the header is read; it may be longer than known (Linux 7.1
 * added 8 bytes for the layout section, which says how long records of unknown kinds are). The
 * sections' bounds are checked here once, so that the rest compares with their lengths only.
 * Numbers are in the byte order of the machine that the file was made for; the magic tells.
 */
#include "btf/btf_impl.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define KERNEL_DIR    "/sys/kernel/btf/"
#define KERNEL_FILE   KERNEL_DIR "vmlinux"
#define HEADER_OLD    24u
#define HEADER_LAYOUT 32u
#define MAGIC         0xeb9fu
#define MAGIC_SWAPPED 0x9febu
#define UNKNOWN_TAIL  0xffffffffu /* longer than any file */

/* ---- errors --------------------------------------------------------------------------------- */

bool btf_fail(struct btf_error *e, const char *fmt, ...)
{
	va_list ap;

	if (!e)
		return false;
	e->code = 0;
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	return false;
}

bool btf_fail_sys(struct btf_error *e, int code, const char *fmt, ...)
{
	va_list ap;
	size_t n;

	if (!e)
		return false;
	e->code = code;
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	n = strlen(e->text);
	snprintf(e->text + n, sizeof(e->text) - n, ": %s", strerror(code));
	return false;
}

/* Puts "path: " before the message. */
static void fail_in(struct btf_error *e, const char *path)
{
	char text[sizeof(e->text)];

	if (!e || e->code || strncmp(e->text, path, strlen(path)) == 0)
		return;
	memcpy(text, e->text, sizeof(text));
	snprintf(e->text, sizeof(e->text), "%s: %.*s", path, (int)sizeof(text) / 2, text);
}

/* ---- header and sections -------------------------------------------------------------------- */

/* Bytes after the record: `fixed` once and `each` for every entry. */
static const struct tail {
	u8 fixed, each;
} tails[] = {
	[BTF_KIND_INT] = { 4, 0 },        [BTF_KIND_PTR] = { 0, 0 },
	[BTF_KIND_ARRAY] = { 12, 0 },     [BTF_KIND_STRUCT] = { 0, 12 },
	[BTF_KIND_UNION] = { 0, 12 },     [BTF_KIND_ENUM] = { 0, 8 },
	[BTF_KIND_FWD] = { 0, 0 },        [BTF_KIND_TYPEDEF] = { 0, 0 },
	[BTF_KIND_VOLATILE] = { 0, 0 },   [BTF_KIND_CONST] = { 0, 0 },
	[BTF_KIND_RESTRICT] = { 0, 0 },   [BTF_KIND_FUNC] = { 0, 0 },
	[BTF_KIND_FUNC_PROTO] = { 0, 8 }, [BTF_KIND_VAR] = { 4, 0 },
	[BTF_KIND_DATASEC] = { 0, 12 },   [BTF_KIND_FLOAT] = { 0, 0 },
	[BTF_KIND_DECL_TAG] = { 4, 0 },   [BTF_KIND_TYPE_TAG] = { 0, 0 },
	[BTF_KIND_ENUM64] = { 0, 12 },
};

/* For newer kinds the layout has { u8 fixed; u8 each; u16 flags } per kind; split BTF may rely on
 * its base's. Sizes are multiples of 4 as all of BTF is. */
static void tails_set(struct btf *b)
{
	const u8 *layout = b->src.p + b->start + b->layout_at;

	for (u32 kind = 0; kind < BTF_KINDS; kind++) {
		struct tail t = { 255, 255 };

		if (kind && kind < ARRAY_SIZE(tails))
			t = tails[kind];
		else if (kind && kind * 4 + 4 <= b->layout_n)
			t = (struct tail){ layout[kind * 4], layout[kind * 4 + 1] };
		if (t.fixed % 4 == 0 && t.each % 4 == 0)
			b->tail[kind] = (u64)t.each << 32 | (BTF_RECORD + t.fixed);
		else
			b->tail[kind] = b->base ? b->base->tail[kind] : UNKNOWN_TAIL;
	}
}

/* A section from the header words at `at`: *off from the header's start. */
static bool section(const struct btf *b, u64 n, u32 at, const char *what, u32 *off, u32 *len,
                    struct btf_error *e)
{
	const u8 *h = b->src.p + b->start;
	u64 from = (u64)b->header_n + btf_load(b, h + at);
	u64 bytes = btf_load(b, h + at + 4);

	if (from + bytes > n)
		return btf_fail(e,
		                "the BTF %s section (byte %llu, %llu long) lies outside the data",
		                what, (unsigned long long)from, (unsigned long long)bytes);
	*off = (u32)from;
	*len = (u32)bytes;
	return true;
}

static bool header_read(struct btf *b, u64 n, struct btf_error *e)
{
	const u8 *h = b->src.p + b->start;
	u16 magic;

	if (n > BTF_FILE_MAX)
		return btf_fail(e, "the BTF data is too long");
	if (n < HEADER_OLD || !btf_need(b, h, MIN(n, HEADER_LAYOUT)))
		return btf_fail(e, "the BTF data is too short");
	memcpy(&magic, h, sizeof(magic));
	if (magic != MAGIC && magic != MAGIC_SWAPPED)
		return btf_fail(e, "the data is not BTF");
	b->swap = magic == MAGIC_SWAPPED;
	if (h[2] != 1)
		return btf_fail(e, "the BTF data has version %u; only version 1 is supported",
		                h[2]);
	b->header_n = btf_load(b, h + 4);
	if (b->header_n < HEADER_OLD || b->header_n > n || b->header_n % 4)
		return btf_fail(e, "the BTF header is damaged: it says it is %u bytes long",
		                b->header_n);
	return true;
}

static bool strings_check(const struct btf *b, struct btf_error *e)
{
	if (!b->strs_n && b->base)
		return true;
	if (!b->strs_n || !btf_need(b, b->strs, 1) || !btf_need(b, b->strs + b->strs_n - 1, 1) ||
	    b->strs[b->strs_n - 1] || (!b->base && b->strs[0]))
		return btf_fail(e, "the BTF string section is damaged");
	return true;
}

u32 btf_depth(const struct btf *b)
{
	u32 n = 0;

	for (; b->base; b = b->base)
		n++;
	return n;
}

const struct btf *btf_at_level(const struct btf *b, u32 level)
{
	for (u32 up = btf_depth(b) - level; up; up--)
		b = b->base;
	return b;
}

/* Names of split BTF count on where its base's strings end. */
static bool join_base(struct btf *b, struct btf_error *e)
{
	u64 first = (u64)b->base->strs_first + b->base->strs_n;

	b->strs_first = (u32)first;
	if (b->base->swap != b->swap)
		return btf_fail(e, "split BTF and its base differ in byte order");
	if (btf_depth(b) >= BTF_LEVELS_MAX || first + b->strs_n > UINT32_MAX)
		return btf_fail(e, "split BTF on split BTF is nested too deep");
	return true;
}

/* n bytes of BTF at b->start. */
static bool load(struct btf *b, u64 n, struct btf_error *e)
{
	if (!header_read(b, n, e) || !section(b, n, 8, "type", &b->types_at, &b->types_n, e) ||
	    !section(b, n, 16, "string", &b->strs_at, &b->strs_n, e))
		return false;
	if (b->header_n >= HEADER_LAYOUT) {
		if (!section(b, n, 24, "layout", &b->layout_at, &b->layout_n, e))
			return false;
		if (!btf_need(b, b->src.p + b->start + b->layout_at, MIN(b->layout_n, BTF_PAGE)))
			return btf_fail(e, "the BTF layout section can not be read");
	}
	if (b->types_at % 4)
		return btf_fail(e, "the BTF type section starts at byte %u, which is not aligned",
		                b->types_at);
	b->types = b->src.p + b->start + b->types_at;
	b->strs = (const char *)b->src.p + b->start + b->strs_at;
	if (!b->base)
		atomic_store(&b->first, 1);
	else if (!join_base(b, e))
		return false;
	tails_set(b);
	return strings_check(b, e);
}

/* ---- files and memory ----------------------------------------------------------------------- */

/* Not from the heap: pages of the marks are taken only as they are needed. */
static struct btf *btf_new(struct btf *base, struct btf_error *e)
{
	struct btf *b = mmap(NULL, sizeof(*b), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
	                     -1, 0);

	if (b == MAP_FAILED) {
		btf_fail_sys(e, ENOMEM, "opening BTF");
		return NULL;
	}
	atomic_store(&b->refs, 1);
	b->own = b;
	pthread_mutex_init(&b->lock, NULL);
	btf_source_borrow(&b->src, NULL, 0);
	if (base)
		b->base = btf_ref(base);
	return b;
}

/* Split BTF in an ELF file may bring a small base along, which it was made with. */
static bool load_elf_base(struct btf *b, struct btf_error *e)
{
	u64 at, n;
	bool is_64;

	if (!btf_elf_section(&b->src, ".BTF.base", &at, &n, &is_64, NULL))
		return true;
	if (!btf_source_has(&b->src, at, n))
		return btf_fail(e, "the ELF file can not be read");
	btf_unref(b->base);
	b->base = btf_open_memory(b->src.p + at, (size_t)n, e);
	return b->base != NULL;
}

static bool load_elf(struct btf *b, struct btf_error *e)
{
	bool is_64;
	u64 n;

	if (!btf_elf_section(&b->src, ".BTF", &b->start, &n, &is_64, e) || !load_elf_base(b, e))
		return false;
	atomic_store(&b->ptr_size, is_64 ? 8 : 4);
	return load(b, n, e);
}

static bool load_any(struct btf *b, struct btf_error *e)
{
	struct btf_source *s = &b->src;
	bool elf = btf_elf_is(s);

	if (s->is_copy && !elf && s->n > BTF_FILE_MAX)
		return btf_fail(e, "the BTF data is too long");
	if (s->is_copy && !(elf ? btf_elf_fill(s) : btf_source_has(s, 0, s->n)))
		return btf_fail(e, "the file can not be read, or was cut short");
	btf_source_settle(s);
	return elf ? load_elf(b, e) : load(b, s->n, e);
}

/* What was opened, on the base that was given: put there if it was made with another. */
static struct btf *on_base(struct btf *b, struct btf *base, struct btf_error *e)
{
	struct btf *moved;

	if (!base || b->base == base)
		return b;
	moved = btf_relocate(b, base, e);
	btf_unref(b);
	return moved;
}

struct btf *btf_open_how(const char *path, struct btf *base, bool window, struct btf_error *e)
{
	struct btf *b = btf_new(base, e);

	if (!b)
		return NULL;
	if (btf_source_open(&b->src, path, window, e) && load_any(b, e)) {
		if (strncmp(path, KERNEL_DIR, strlen(KERNEL_DIR)) == 0)
			atomic_store(&b->ptr_size, sizeof(void *));
		b = on_base(b, base, e);
		if (!b)
			fail_in(e, path);
		return b;
	}
	fail_in(e, path);
	btf_unref(b);
	return NULL;
}

struct btf *btf_open(const char *path, struct btf_error *e)
{
	return btf_open_how(path, NULL, false, e);
}

struct btf *btf_open_split(const char *path, struct btf *base, struct btf_error *e)
{
	return btf_open_how(path, base, false, e);
}

struct btf *btf_open_kernel(struct btf_error *e)
{
	return btf_open(KERNEL_FILE, e);
}

struct btf *btf_open_module(const char *name, struct btf *base, struct btf_error *e)
{
	char path[128];
	struct btf *b;
	int n = snprintf(path, sizeof(path), KERNEL_DIR "%s", name);

	if (n >= (int)sizeof(path) || strchr(name, '/')) {
		btf_fail(e, "'%.64s' is not the name of a module", name);
		return NULL;
	}
	base = base ? btf_ref(base) : btf_open_kernel(e);
	if (!base)
		return NULL;
	b = btf_open_split(path, base, e);
	btf_unref(base);
	return b;
}

struct btf *btf_open_memory_split(const void *p, size_t n, struct btf *base, struct btf_error *e)
{
	struct btf *b = btf_new(base, e);

	if (!b)
		return NULL;
	btf_source_borrow(&b->src, p, n);
	if (load_any(b, e))
		return on_base(b, base, e);
	btf_unref(b);
	return NULL;
}

struct btf *btf_open_mapping(void *p, size_t n, struct btf *base, struct btf_error *e)
{
	struct btf *b = btf_open_memory_split(p, n, base, e);

	if (b) {
		b->src.map = p;
		b->src.map_n = n;
	} else {
		munmap(p, n);
	}
	return b;
}

struct btf *btf_open_memory(const void *p, size_t n, struct btf_error *e)
{
	return btf_open_memory_split(p, n, NULL, e);
}

struct btf *btf_ref(struct btf *b)
{
	atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
	return b;
}

void btf_unref(struct btf *b)
{
	if (!b || atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) != 1)
		return;
	btf_unref(b->base);
	btf_source_close(&b->src);
	pthread_mutex_destroy(&b->lock);
	free(atomic_load(&b->all));
	munmap(b, sizeof(*b));
}

/* ---- the file ------------------------------------------------------------------------------- */

void btf_file(const struct btf *b, struct btf_file *f)
{
	u64 end = MAX(MAX((u64)b->types_at + b->types_n, (u64)b->strs_at + b->strs_n),
	              MAX((u64)b->layout_at + b->layout_n, b->header_n));

	*f = (struct btf_file){
		.bytes = b->src.fd < 0 ? b->src.p + b->start : NULL,
		.n = end,
		.header_len = b->header_n,
		.types_off = b->types_at,
		.types_len = b->types_n,
		.strings_off = b->strs_at,
		.strings_len = b->strs_n,
		.layout_off = b->layout_at,
		.layout_len = b->layout_n,
		.big_endian = b->swap != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__),
		.mapped = b->src.fd < 0 && !b->src.is_copy,
	};
}

struct btf *btf_base(const struct btf *b)
{
	return b->base;
}

static u32 pointer_size_ask(const struct btf *b)
{
	static const char *const names[] = { "long unsigned int", "unsigned long", "long int",
		                             "long" };
	struct btf_info t;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		u32 id = btf_find(b, BTF_KIND_INT, names[i]);

		if (id && btf_info(b, id, &t) && (t.size == 4 || t.size == 8))
			return t.size;
	}
	return 8;
}

u32 btf_pointer_size(const struct btf *b)
{
	u32 n = atomic_load_explicit(&b->ptr_size, memory_order_relaxed);

	if (!n) {
		n = b->base ? btf_pointer_size(b->base) : pointer_size_ask(b);
		atomic_store_explicit(&b->own->ptr_size, n, memory_order_relaxed);
	}
	return n;
}

const char *btf_text(const struct btf *b, u32 off, char scratch[BTF_TEXT_MAX])
{
	const char *text;
	u32 n;

	while (off < b->strs_first)
		b = b->base;
	if (b->src.fd < 0 || off - b->strs_first >= b->strs_n)
		return btf_string(b, off);
	n = MIN(b->strs_n - (off - b->strs_first), BTF_TEXT_MAX);
	text = (const char *)btf_source_view(
		&b->own->src, (u64)((const u8 *)b->strs - b->src.p) + (off - b->strs_first), n,
		(u8 *)scratch);
	return text && memchr(text, 0, n) ? text : btf_string(b, off);
}

const char *btf_string(const struct btf *b, u32 off)
{
	const char *p;
	u32 left;

	while (off < b->strs_first)
		b = b->base;
	if (off - b->strs_first >= b->strs_n) /* "" of split BTF without strings is its base's */
		return NULL;
	p = b->strs + (off - b->strs_first);
	if (b->src.fd < 0)
		return p;
	/* Page by page to the end of the text; the section ends in NUL. */
	left = b->strs_n - (off - b->strs_first);
	for (const char *at = p;; at += BTF_PAGE) {
		u32 n = MIN(left, BTF_PAGE);

		if (!btf_need(b, at, n))
			return NULL;
		if (memchr(at, 0, n))
			return p;
		left -= n;
	}
}
