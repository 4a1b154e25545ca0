/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Where in a function a probe sees the same as on its first instruction and costs less. Pure: bytes
 * in, places out. Addresses are virtual addresses of one file.
 *
 * In this order: site_propose() for each site, sites_sort(), then everything that may lead into one
 * of them from outside: sites_strike_code() for all code of the file, sites_strike() for each
 * symbol.
 */
#ifndef ELF_SITE_H
#define ELF_SITE_H

#include "arch/insn.h"
#include "elf/elf.h"

#define SITE_STEPS 8u /* at most so many instructions are passed over */

/* A piece of the file that can be executed. */
struct site_code {
	const u8 *p;
	size_t n;
	u64 vaddr;
};

struct site {
	/* In: the function. */
	u64 entry, size;
	void *user;
	/* Out: bytes from the entry to the place, 0 for the entry itself; then `why`, a fixed text,
	 * says why the probe stays there, or is NULL when the first instruction is cheap. */
	u32 moved;
	const char *why;
	/* The starts of the instructions up to and with the place, as bytes from the entry. */
	u8 n_steps;
	u8 steps[SITE_STEPS];
};

/* The piece that an address is in. */
bool site_code_at(struct elf *f, u64 vaddr, struct site_code *c);
/* False when `at` is inside an instruction, counted from one that begins at `from`; true where that
 * can not be told: not all bytes between are instructions. */
bool site_begins(const struct site_code *c, const struct insn_decoder *d, u64 from, u64 at);

/* Only looks whether the first instruction is cheap already; needs no decoder. */
bool site_is_cheap(const struct site *s, const struct site_code *c, bool nop5);
/* Looks at the function alone; `c` holds its entry. */
void site_propose(struct site *s, const struct site_code *c, const struct insn_decoder *d,
                  bool nop5);
/*
 * Instead, for who takes the first instructions elsewhere: the stretch is as many as have `bytes`
 * bytes, `moved` of them, and nothing may lead into it but to its top and its end. 0 and `why`
 * where something does, or where it can not be told.
 */
void site_cover(struct site *s, const struct site_code *c, const struct insn_decoder *d, u32 bytes);
/* By entry. */
void sites_sort(struct site *v, u32 n);
/* What runs at `addr` also comes from elsewhere: a site that is passed over there stays. */
void sites_strike(struct site *v, u32 n, u64 addr, const char *why);
/* Strikes what jumps and addresses in this code lead to. One pass over it. */
void sites_strike_code(struct site *v, u32 n, const struct site_code *c,
                       const struct insn_decoder *d);

#endif
