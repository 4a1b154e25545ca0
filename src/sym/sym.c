/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The front of sym/: kernel and user names as text. Finding them is ksym.c and usym.c.
 *
 * A return address is named by the byte before it, which belongs to the call: a call that never
 * returns may be the last instruction of its function. The distance printed is still that of the
 * return address.
 */
#include "sym/sym.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/str.h"
#include "elf/elf.h"
#include "sym/usym.h"

#define DELETED " (deleted)"

struct sym {
	struct sym_options options;
	struct ksym *kernel; /* NULL: nothing of it is wanted yet; so is the next */
	struct usym *user;
	bool (*find_file)(void *ctx, u32 number, struct usym_file *f);
	void *find_ctx;
};

struct sym *sym_new(const struct sym_options *o)
{
	static const struct sym_options none;
	struct sym *s = calloc(1, sizeof(*s));

	if (!s)
		base_no_memory();
	s->options = o ? *o : none;
	return s;
}

static struct ksym *kernel_of(struct sym *s)
{
	if (!s->kernel)
		s->kernel = ksym_new(s->options.ask, s->options.ask_ctx);
	return s->kernel;
}

static struct usym *user_of(struct sym *s)
{
	if (!s->user) {
		s->user = usym_new(!s->options.mangled, s->options.lines == SYM_LINES_ALL);
		usym_set_files(s->user, s->find_file, s->find_ctx);
	}
	return s->user;
}

void sym_free(struct sym *s)
{
	if (!s)
		return;
	ksym_free(s->kernel);
	usym_free(s->user);
	free(s);
}

void sym_set_files(struct sym *s, bool (*find)(void *ctx, u32 number, struct usym_file *f),
                   void *ctx)
{
	s->find_file = find;
	s->find_ctx = ctx;
	if (s->user)
		usym_set_files(s->user, find, ctx);
}

bool sym_is_grafted(struct sym *s, u32 pid, u64 addr)
{
	const struct sym_graft *g = &s->options.graft;

	return g->inode && usym_is_in(user_of(s), pid, addr, g->dev, g->inode);
}

/* How far before the address the named instruction ends. */
static u64 back(enum sym_kind kind, u64 addr)
{
	return kind == SYM_RETURN && addr ? 1 : 0;
}

/* ---- kernel --------------------------------------------------------------------------------- */

void sym_kernel(struct sym *s, struct buf *b, enum sym_kind kind, u64 addr, const char **module)
{
	u64 before = back(kind, addr);
	struct ksym_place place = ksym_find(kernel_of(s), addr - before);

	if (place.name)
		buf_printf(b, "%s+%" PRIu64, place.name, place.off + before);
	else
		buf_printf(b, "0x%" PRIx64, addr);
	if (module)
		*module = place.module;
}

void sym_kernel_name(struct sym *s, struct buf *b, u64 addr)
{
	struct ksym_place place = ksym_find(kernel_of(s), addr);

	if (place.name)
		buf_puts(b, place.name);
	else
		buf_printf(b, "0x%" PRIx64, addr);
}

/* ---- user ----------------------------------------------------------------------------------- */

/* The last part of a mapping's path. */
static struct str module_name(const char *module)
{
	const char *slash = strrchr(module, '/');
	struct str base = str_of(module[0] == '/' && slash ? slash + 1 : module);
	size_t tail = strlen(DELETED);

	if (base.n > tail && strcmp(base.p + base.n - tail, DELETED) == 0)
		base.n -= (u32)tail;
	return base;
}

/* "libc.so.6+0x1234", or the bare address where nothing is mapped. */
static void print_module(struct buf *b, const struct usym_place *place, u64 before, u64 addr)
{
	struct str base = module_name(place->module);

	if (base.n)
		buf_printf(b, "%.*s+0x%" PRIx64, STR_ARG(base), place->module_off + before);
	else
		buf_printf(b, "0x%" PRIx64, addr);
}

void sym_user(struct sym *s, struct buf *b, enum sym_kind kind, u32 pid, u64 addr,
              const char **module)
{
	u64 before = back(kind, addr);
	struct usym_place place = usym_find(user_of(s), pid, addr - before);

	if (place.name)
		buf_printf(b, "%s+%" PRIu64, place.name, place.off + before);
	else
		print_module(b, &place, before, addr);
	if (module)
		*module = place.module;
}

void sym_user_name(struct sym *s, struct buf *b, u32 pid, u64 addr)
{
	struct usym_place place = usym_find(user_of(s), pid, addr);

	if (place.name)
		buf_puts(b, place.name);
	else
		print_module(b, &place, 0, addr);
}

void sym_kernel_function(struct sym *s, struct buf *b, enum sym_kind kind, u64 addr,
                         const char **module)
{
	struct ksym_place place = ksym_find(kernel_of(s), addr - back(kind, addr));

	buf_puts(b, place.name ? place.name : "[unknown]");
	*module = place.name ? place.module : "";
}

static struct sym_place place_of(const struct usym_place *place)
{
	const struct elf_segment *s = place->segment;

	if (!s)
		return (struct sym_place){ .build_id = "" };
	return (struct sym_place){ .address = place->module_off,
		                   .start = s->vaddr,
		                   .limit = s->vaddr + s->size,
		                   .offset = s->offset,
		                   .build_id = place->build_id,
		                   .is_known = true,
		                   .has_name = place->name != NULL };
}

void sym_user_function(struct sym *s, struct buf *b, enum sym_kind kind, u32 pid, u64 addr,
                       const char **module, struct sym_place *at)
{
	struct usym_place place = usym_find(user_of(s), pid, addr - back(kind, addr));
	struct str base = module_name(place.module);

	*at = place_of(&place);
	if (place.name)
		buf_puts(b, place.name);
	else if (!base.n)
		buf_puts(b, "[unknown]");
	else if (base.p[0] == '[')
		buf_add(b, base.p, base.n);
	else
		buf_printf(b, "[%.*s]", STR_ARG(base));
	*module = place.module;
}

u32 sym_user_lines(struct sym *s, enum sym_lines least, enum sym_kind kind, u32 pid, u64 addr,
                   struct line_frame *out, u32 max)
{
	if (s->options.lines < least)
		return 0;
	return usym_lines(user_of(s), pid, addr - back(kind, addr), out, max);
}

const char *sym_user_build_id(struct sym *s, u32 pid, u64 addr, u64 *off)
{
	return usym_build_id(user_of(s), pid, addr, off);
}

bool sym_kernel_build_id(const char *module, char buf[64])
{
	struct buf path = { 0 }, notes = { 0 };
	struct err ignored = { 0 };
	bool ok;

	if (module[0])
		buf_printf(&path, "/sys/module/%s/notes/.note.gnu.build-id", module);
	else
		buf_puts(&path, "/sys/kernel/notes");
	ok = !strchr(module, '/') && file_read(buf_text(&path), &notes, 65536, &ignored) &&
	     elf_build_id_in((const u8 *)notes.p, notes.n, buf);
	buf_free(&path);
	buf_free(&notes);
	return ok;
}

void sym_note_process(struct sym *s, u32 pid)
{
	usym_note(user_of(s), pid);
}

u32 sym_denied(const struct sym *s)
{
	return s->user ? usym_denied(s->user) : 0;
}

void sym_rest(struct sym *s)
{
	if (s->user)
		usym_rest(s->user);
}

u64 sym_unread(const struct sym *s, const char **first)
{
	*first = "";
	return s->user ? usym_unread(s->user, first) : 0;
}
