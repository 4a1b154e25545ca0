/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The front of sym/: kernel and user names as text. Finding them is ksym.c and usym.c.
 */
#include "sym/sym.h"

#include <inttypes.h>
#include <stdlib.h>

#include "sym/ksym.h"
#include "sym/usym.h"

struct sym {
	struct ksym kernel;
	struct usym *user;
};

struct sym *sym_new(void)
{
	struct sym *s = calloc(1, sizeof(*s));

	if (s)
		s->user = usym_new();
	if (!s || !s->user)
		abort(); /* out of memory, see base/arena.h */
	return s;
}

void sym_free(struct sym *s)
{
	if (!s)
		return;
	ksym_free(&s->kernel);
	usym_free(s->user);
	free(s);
}

static void print_name(struct buf *b, const char *name, u64 off, bool with_off, u64 addr)
{
	if (!name)
		buf_printf(b, "0x%" PRIx64, addr);
	else if (with_off)
		buf_printf(b, "%s+%" PRIu64, name, off);
	else
		buf_puts(b, name);
}

void sym_kernel(struct sym *s, struct buf *b, u64 addr)
{
	u64 off = 0;
	const char *name = ksym_name(&s->kernel, addr, &off);

	print_name(b, name, off, true, addr);
}

void sym_kernel_name(struct sym *s, struct buf *b, u64 addr)
{
	u64 off;

	print_name(b, ksym_name(&s->kernel, addr, &off), 0, false, addr);
}

void sym_user(struct sym *s, struct buf *b, u32 pid, u64 addr, const char **module)
{
	struct usym_place place = usym_find(s->user, pid, addr);

	print_name(b, place.name, place.off, true, addr);
	if (module)
		*module = place.module;
}

void sym_user_name(struct sym *s, struct buf *b, u32 pid, u64 addr)
{
	print_name(b, usym_find(s->user, pid, addr).name, 0, false, addr);
}

void sym_note_process(struct sym *s, u32 pid)
{
	usym_note(s->user, pid);
}
