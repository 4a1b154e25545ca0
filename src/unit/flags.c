/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Names of bits. Bits that one name has taken are not given to the next, so a name of several bits
 * stands before the names of its parts.
 */
#include "unit/flags.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

/* include/linux/gfp_types.h; those of most bits first. */
const char flags_gfp[] =
	"GFP_TRANSHUGE=0x1c24ca GFP_TRANSHUGE_LIGHT=0x1c20ca GFP_HIGHUSER_MOVABLE=0x100cca "
	"GFP_HIGHUSER=0x100cc2 GFP_KERNEL_ACCOUNT=0x400cc0 GFP_USER=0x100cc0 GFP_KERNEL=0xcc0 "
	"GFP_NOFS=0xc40 GFP_ATOMIC=0xa20 GFP_ATOMIC=0x820 GFP_NOIO=0xc00 GFP_NOWAIT=0x800 "
	"GFP_DMA=1 "
	"GFP_DMA32=4 __GFP_HIGHMEM=2 __GFP_MOVABLE=8 __GFP_RECLAIMABLE=0x10 __GFP_HIGH=0x20 "
	"__GFP_IO=0x40 __GFP_FS=0x80 __GFP_ZERO=0x100 __GFP_ATOMIC=0x200 "
	"__GFP_DIRECT_RECLAIM=0x400 __GFP_WRITE=0x1000 __GFP_NOWARN=0x2000 "
	"__GFP_RETRY_MAYFAIL=0x4000 __GFP_NOFAIL=0x8000 __GFP_NORETRY=0x10000 "
	"__GFP_MEMALLOC=0x20000 __GFP_COMP=0x40000 __GFP_NOMEMALLOC=0x80000 "
	"__GFP_HARDWALL=0x100000 "
	"__GFP_THISNODE=0x200000 __GFP_ACCOUNT=0x400000";

struct flag {
	struct str name;
	u64 value, mask;
	bool masked, octal;
};

/* A number of C at *p; moves it. */
static bool number(const char **p, u64 *n)
{
	char *end;

	if (**p < '0' || **p > '9')
		return false;
	errno = 0;
	*n = strtoull(*p, &end, 0);
	*p = end;
	return errno == 0;
}

static bool word(const char **p, struct flag *f, const char **problem)
{
	const char *start = *p;

	*f = (struct flag){ 0 };
	if (start[0] == '%' && start[1] == 'o') {
		f->octal = true;
		*p += 2;
		*problem = **p ? "%o is the last word" : NULL;
		return !**p;
	}
	while (**p && **p != '=' && **p != ' ')
		++*p;
	f->name = (struct str){ start, (u32)(*p - start) };
	*problem = "each word is NAME=VALUE or NAME=VALUE/MASK";
	if (!f->name.n || *(*p)++ != '=' || !number(p, &f->value))
		return false;
	f->mask = f->value;
	f->masked = **p == '/';
	if (f->masked && (++*p, !number(p, &f->mask)))
		return false;
	if (!f->masked && !f->value)
		*problem = "a name for 0 needs a mask: NAME=0/MASK";
	else if (f->value & ~f->mask)
		*problem = "a value has bits that its mask has not";
	else if (!**p || **p == ' ')
		*problem = NULL;
	return !*problem;
}

/* The next word; false at the end, or when it is wrong: then *problem is set. */
static bool next(const char **p, struct flag *f, const char **problem)
{
	*problem = NULL;
	while (**p == ' ')
		++*p;
	return **p && word(p, f, problem);
}

const char *flags_check(const char *words)
{
	const char *problem;
	struct flag f;

	while (next(&words, &f, &problem))
		;
	return problem;
}

void flags_print(struct buf *b, const char *words, u64 n)
{
	const char *problem, *between = "";
	bool octal = false;
	u64 rest = n;
	struct flag f;

	while (next(&words, &f, &problem)) {
		octal = f.octal;
		/* All its bits are still there, or it is a name for none of the mask's. */
		if (f.octal || (n & f.mask) != f.value || (rest & f.value) != f.value)
			continue;
		buf_printf(b, "%s%.*s", between, STR_ARG(f.name));
		between = "|";
		rest &= ~f.value;
	}
	if (rest)
		buf_printf(b, octal ? "%s0%" PRIo64 : "%s0x%" PRIx64, between, rest);
	else if (!*between)
		buf_putc(b, '0');
}
