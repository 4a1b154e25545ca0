/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Call frame information to rows, in two steps: find all functions (FDEs) and sort them by
 * address, then run each one's little program and write a row wherever the rule changes.
 *
 * Of the registers such a program describes three are followed: the CFA, the frame pointer and the
 * return address. DWARF expressions are not evaluated but recognised: the linker's for slots of a
 * PLT, the C library's for signal frames, and the compiler's for functions that align their stack;
 * every other one makes a rich row. Short gaps between functions are padding and get no row.
 *
 * Everything is read through a cursor that can not leave its entry. Formats: DWARF 5, 6.4; Linux
 * Standard Base 5.0, "Exception Frames".
 */
#include "elf/ehframe.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"

#define PADDING      16u /* a shorter gap between two functions is alignment */
#define REMEMBER_MAX 16u
#define CIE_CACHE    64u /* a power of two */

/* ---- reading ---- */

struct cursor {
	const u8 *p, *end;
	bool bad; /* something ended too early */
};

static u64 fixed(struct cursor *c, u32 size)
{
	u64 v = 0;

	if ((size_t)(c->end - c->p) < size) {
		c->bad = true;
		c->p = c->end;
		return 0;
	}
	memcpy(&v, c->p, size);
	c->p += size;
	return v;
}

static u64 uleb(struct cursor *c)
{
	u64 v = 0;

	for (u32 shift = 0; c->p < c->end; shift += 7) {
		u8 byte = *c->p++;

		if (shift < 64)
			v |= (u64)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return v;
	}
	c->bad = true;
	return 0;
}

static s64 sleb(struct cursor *c)
{
	u64 v = 0;

	for (u32 shift = 0; c->p < c->end; shift += 7) {
		u8 byte = *c->p++;

		if (shift < 64)
			v |= (u64)(byte & 0x7f) << shift;
		if (byte & 0x80)
			continue;
		if ((byte & 0x40) && shift + 7 < 64)
			v |= ~0ull << (shift + 7);
		return (s64)v;
	}
	c->bad = true;
	return 0;
}

/* The next n bytes as a cursor of their own. */
static struct cursor part(struct cursor *c, u64 n)
{
	struct cursor sub = { c->p, c->p, false };

	if ((u64)(c->end - c->p) < n) {
		c->bad = sub.bad = true;
		c->p = c->end;
		return sub;
	}
	sub.end = c->p + n;
	c->p += n;
	return sub;
}

/* ---- rules ---- */

enum save {
	SAVE_SAME,
	SAVE_UNDEFINED,
	SAVE_AT_CFA, /* at CFA + off */
	SAVE_AT_FP,  /* at the place the frame pointer points to */
	SAVE_OTHER,
};

struct saved {
	enum save how;
	s64 off;
};

/* What is known at one address. */
struct rules {
	enum unwind_kind cfa; /* SP, FP, PLT, DEREF_*, or RICH */
	u32 reg;              /* of the last def_cfa */
	s64 off, add;
	struct saved fp, ra;
};

static bool words(s64 bytes, s64 low, s64 high, s64 *out)
{
	*out = bytes / 8;
	return bytes % 8 == 0 && *out >= low && *out <= high;
}

/* The frame pointer's part of the rule, or -1 when it has no room. */
static s64 pack_fp(const struct rules *r)
{
	s64 n;

	switch (r->fp.how) {
	case SAVE_SAME:
		return UNWIND_FP_SAME;
	case SAVE_AT_CFA:
		return words(r->fp.off, -(s64)UNWIND_FP_MAX, -1, &n) ? -n : -1;
	case SAVE_AT_FP:
		return r->cfa == UNWIND_DEREF_FP ? (s64)UNWIND_FP_AT_FP : -1;
	case SAVE_UNDEFINED:
	case SAVE_OTHER:
		return -1;
	}
	unreachable();
}

static bool pack_offset(const struct rules *r, u32 *bits)
{
	s64 off, add;

	switch (r->cfa) {
	case UNWIND_SP:
	case UNWIND_FP:
		if (!words(r->off, -(1 << 20), (1 << 20) - 1, &off))
			return false;
		*bits = (u32)off << UNWIND_OFFSET_SHIFT;
		return true;
	case UNWIND_PLT:
		*bits = (u32)r->off << UNWIND_OFFSET_SHIFT;
		return true;
	case UNWIND_DEREF_SP:
	case UNWIND_DEREF_FP:
		if (!words(r->off, -(1 << 12), (1 << 12) - 1, &off) ||
		    !words(r->add, 0, UNWIND_ADD_MASK, &add))
			return false;
		*bits = (u32)off << UNWIND_DEREF_SHIFT | (u32)add << UNWIND_OFFSET_SHIFT;
		return true;
	default:
		return false;
	}
}

/* Where a call leaves the return address in a register. */
static u32 pack_link(const struct rules *r)
{
	s64 off, fp = pack_fp(r), link = 0;

	if ((r->cfa != UNWIND_SP && r->cfa != UNWIND_FP) || r->off % 8 ||
	    (r->ra.how != SAVE_SAME && r->ra.how != SAVE_AT_CFA))
		return UNWIND_RICH;
	if (r->ra.how == SAVE_AT_CFA && !words(r->ra.off, -(s64)UNWIND_LINK_MASK, -1, &link))
		return UNWIND_RICH;
	off = r->off / 8;
	return unwind_link_rule(r->cfa == UNWIND_FP, off, fp, -link);
}

static u32 pack(const struct rules *r, bool signal)
{
	s64 fp = pack_fp(r);
	u32 bits;

	if (r->ra.how == SAVE_UNDEFINED)
		return UNWIND_END;
	if (signal)
		return r->cfa == UNWIND_DEREF_SP && r->off == arch.frames.signal_sp && !r->add
		               ? UNWIND_SIGNAL
		               : UNWIND_RICH;
	if (!arch.frames.return_below)
		return pack_link(r);
	if (r->ra.how != SAVE_AT_CFA || r->ra.off != -arch.frames.return_below || fp < 0 ||
	    !pack_offset(r, &bits))
		return UNWIND_RICH;
	return (u32)r->cfa | (u32)fp << UNWIND_FP_SHIFT | bits;
}

/* ---- expressions ---- */

static bool plt_expression(const struct cursor *e, struct rules *r)
{
	s32 byte = arch_plt_cfa(e->p, (size_t)(e->end - e->p));

	if (byte < 0)
		return false;
	r->cfa = UNWIND_PLT;
	r->off = byte;
	return true;
}

/* "*(fp + n)" and "*(sp + n) + m" */
static bool deref_expression(struct cursor e, struct rules *r)
{
	u32 reg = (u32)fixed(&e, 1) - DW_OP_breg0;
	s64 off, add = 0;

	if (reg != arch.frames.sp && reg != arch.frames.fp)
		return false;
	off = sleb(&e);
	if (fixed(&e, 1) != DW_OP_deref || e.bad)
		return false;
	if (e.p < e.end) {
		if (fixed(&e, 1) != DW_OP_plus_uconst)
			return false;
		add = (s64)uleb(&e);
	}
	if (e.bad || e.p != e.end)
		return false;
	r->cfa = reg == arch.frames.sp ? UNWIND_DEREF_SP : UNWIND_DEREF_FP;
	r->off = off;
	r->add = add;
	return true;
}

static void cfa_expression(struct cursor e, struct rules *r)
{
	if (!plt_expression(&e, r) && !deref_expression(e, r))
		r->cfa = UNWIND_RICH;
}

/* Of a saved register only "where the frame pointer points" is known. */
static struct saved save_expression(struct cursor e)
{
	const u8 at_fp[] = { (u8)(DW_OP_breg0 + arch.frames.fp), 0 };
	bool known = (size_t)(e.end - e.p) == sizeof(at_fp) &&
	             memcmp(e.p, at_fp, sizeof(at_fp)) == 0;

	return (struct saved){ known ? SAVE_AT_FP : SAVE_OTHER, 0 };
}

/* ---- entries ---- */

/* What the functions of one CIE share. */
struct cie {
	u64 at; /* offset in the section, plus 1; 0: the slot is free */
	bool ok;
	bool sized; /* functions carry a length of augmentation data */
	bool signal;
	u8 encoding; /* of addresses: DW_EH_PE_* */
	u64 code_align;
	s64 data_align;
	struct rules start;
};

struct fde {
	u32 start, end; /* from base */
	u32 cie;        /* offset in the section */
	u32 code, code_end;
};

struct reader {
	const struct ehframe_section *s;
	u64 base;
	struct ehframe_rows *out;
	u32 cap;
	struct fde *fdes;
	u32 n_fdes, fdes_cap;
	struct cie cies[CIE_CACHE];
};

/* One entry: its contents after the length, at the id. False at the end of the section. */
static bool next_entry(struct reader *rd, struct cursor *c, struct cursor *entry, bool *wide)
{
	u64 n;

	if (c->end - c->p < 4)
		return false;
	n = fixed(c, 4);
	*wide = n == 0xffffffff;
	if (*wide)
		n = fixed(c, 8);
	*entry = part(c, n);
	if (entry->bad)
		rd->out->n_damaged++;
	/* A length of 0 ends the section of a linked file; what the linker left behind it is
	 * read on all the same: it joined the files one after the other. */
	return !entry->bad && !c->bad;
}

#define PE_FORMAT   0x0f
#define PE_RELATION 0xf0 /* with the bit for "indirect" */

/* A number in the format of a DW_EH_PE_ encoding. */
static u64 formatted(struct cursor *c, u8 format)
{
	switch (format) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return fixed(c, 8);
	case DW_EH_PE_uleb128:
		return uleb(c);
	case DW_EH_PE_udata2:
		return fixed(c, 2);
	case DW_EH_PE_udata4:
		return fixed(c, 4);
	case DW_EH_PE_sleb128:
		return (u64)sleb(c);
	case DW_EH_PE_sdata2:
		return (u64)(s64)(s16)fixed(c, 2);
	case DW_EH_PE_sdata4:
		return (u64)(s64)(s32)fixed(c, 4);
	default:
		c->bad = true;
		return 0;
	}
}

/* An address in such an encoding. */
static u64 encoded(struct reader *rd, struct cursor *c, u8 encoding)
{
	u64 here = rd->s->vaddr + (u64)(c->p - rd->s->p);
	u64 v = formatted(c, encoding & PE_FORMAT);

	switch (encoding & PE_RELATION) {
	case 0:
		return v;
	case DW_EH_PE_pcrel:
		return v + here;
	default:
		c->bad = true;
		return 0;
	}
}

/* "zPLRS": what the entries after it carry. */
static void augmentation(struct reader *rd, struct cursor *c, const char *text, struct cie *cie)
{
	struct cursor data;

	if (!*text)
		return;
	if (*text++ != 'z') {
		c->bad = true;
		return;
	}
	cie->sized = true;
	data = part(c, uleb(c));
	for (; *text && !data.bad; text++) {
		if (*text == 'R') {
			cie->encoding = (u8)fixed(&data, 1);
		} else if (*text == 'P') {
			/* The personality may be indirect: only its size matters. */
			encoded(rd, &data, (u8)fixed(&data, 1) & PE_FORMAT);
		} else if (*text == 'L') {
			fixed(&data, 1);
		} else if (*text == 'S') {
			cie->signal = true;
		} else if (*text == 'B' || *text == 'G') {
			continue; /* arm64: the key of signatures, memory with tags */
		} else {
			break;
		}
	}
	c->bad |= data.bad;
}

static void run(struct reader *rd, const struct cie *cie, struct cursor c, struct rules *r,
                const struct fde *fde);

static bool read_cie(struct reader *rd, struct cursor c, bool wide, struct cie *cie)
{
	const char *text;
	u32 version, ra;

	fixed(&c, wide ? 8 : 4);
	version = (u32)fixed(&c, 1);
	if (version != 1 && version != 3 && version != 4)
		return false;
	text = (const char *)c.p;
	while (c.p < c.end && *c.p)
		c.p++;
	fixed(&c, 1);
	if (version == 4) {
		u64 address_size = fixed(&c, 1), segment_size = fixed(&c, 1);

		if (address_size != 8 || segment_size)
			return false;
	}
	if (c.bad)
		return false;
	cie->code_align = uleb(&c);
	cie->data_align = sleb(&c);
	ra = version == 1 ? (u32)fixed(&c, 1) : (u32)uleb(&c);
	augmentation(rd, &c, text, cie);
	if (c.bad || ra != arch.frames.ra)
		return false;
	cie->start = (struct rules){ .cfa = UNWIND_RICH };
	run(rd, cie, c, &cie->start, NULL);
	return true;
}

/* The CIE at an offset, from a small cache: neighbours share theirs. */
static const struct cie *cie_at(struct reader *rd, u64 at)
{
	struct cie *cie = &rd->cies[(at * 0x9e3779b1u >> 16) % CIE_CACHE];
	struct cursor c = { rd->s->p + at, rd->s->p + rd->s->n, false }, entry;
	bool wide;

	if (cie->at == at + 1)
		return cie->ok ? cie : NULL;
	*cie = (struct cie){ .at = at + 1 };
	cie->ok = next_entry(rd, &c, &entry, &wide) && read_cie(rd, entry, wide, cie);
	return cie->ok ? cie : NULL;
}

static void add_fde(struct reader *rd, struct fde fde)
{
	if (rd->n_fdes == rd->fdes_cap) {
		rd->fdes_cap = rd->fdes_cap ? rd->fdes_cap * 2 : 1024;
		rd->fdes = realloc(rd->fdes, rd->fdes_cap * sizeof(*rd->fdes));
		if (!rd->fdes)
			base_no_memory();
	}
	rd->fdes[rd->n_fdes++] = fde;
}

/* Reads the head of an FDE whose CIE is at cie_off; false when it is damaged. */
static bool read_fde(struct reader *rd, struct cursor c, u64 cie_off)
{
	const struct cie *cie = cie_off < rd->s->n ? cie_at(rd, cie_off) : NULL;
	u64 start, size;

	if (!cie)
		return false;
	start = encoded(rd, &c, cie->encoding);
	size = encoded(rd, &c, cie->encoding & PE_FORMAT);
	if (cie->sized)
		part(&c, uleb(&c));
	if (c.bad)
		return false;
	/* Functions the linker dropped stay behind at address 0. */
	if (!start || !size || start < rd->base)
		return true;
	start -= rd->base;
	if (start < UINT32_MAX && size <= UINT32_MAX - start)
		add_fde(rd, (struct fde){ (u32)start, (u32)(start + size), (u32)cie_off,
		                          (u32)(c.p - rd->s->p), (u32)(c.end - rd->s->p) });
	return true;
}

static bool given_up(const struct ehframe_section *s)
{
	return s->given_up && s->given_up(s->ctx);
}

static void find_functions(struct reader *rd)
{
	const struct ehframe_section *s = rd->s;
	struct cursor c = { s->p, s->p + s->n, false }, entry;
	bool wide;

	while (!given_up(s) && next_entry(rd, &c, &entry, &wide)) {
		u64 at = (u64)(entry.p - s->p), id;

		if (entry.p == entry.end)
			continue;
		id = fixed(&entry, wide ? 8 : 4);
		if (s->debug && id == (wide ? UINT64_MAX : UINT32_MAX))
			continue;
		if (!s->debug && id == 0)
			continue;
		/* In .eh_frame the id is the distance back to the CIE. */
		if (entry.bad || (!s->debug && id > at) ||
		    !read_fde(rd, entry, s->debug ? id : at - id))
			rd->out->n_damaged++;
	}
}

/* ---- sorting ---- */

#define RADIX_BITS 11
#define RADIX      (1u << RADIX_BITS)

static void sort_pass(const struct fde *from, struct fde *to, u32 n, u32 shift)
{
	u32 count[RADIX] = { 0 }, sum = 0;

	for (u32 i = 0; i < n; i++)
		count[from[i].start >> shift & (RADIX - 1)]++;
	for (u32 i = 0; i < RADIX; i++) {
		u32 c = count[i];

		count[i] = sum;
		sum += c;
	}
	for (u32 i = 0; i < n; i++)
		to[count[from[i].start >> shift & (RADIX - 1)]++] = from[i];
}

static void sort_functions(struct reader *rd)
{
	bool sorted = true;
	struct fde *other;

	for (u32 i = 1; i < rd->n_fdes; i++)
		sorted &= rd->fdes[i - 1].start <= rd->fdes[i].start;
	if (sorted)
		return;
	other = malloc(rd->n_fdes * sizeof(*other));
	if (!other)
		base_no_memory();
	for (u32 shift = 0; shift < 32; shift += RADIX_BITS) {
		struct fde *swap = rd->fdes;

		sort_pass(rd->fdes, other, rd->n_fdes, shift);
		rd->fdes = other;
		other = swap;
	}
	rd->fdes_cap = rd->n_fdes;
	free(other);
}

/* ---- rows ---- */

static void add_row(struct reader *rd, u32 pc, u32 rule)
{
	struct ehframe_rows *out = rd->out;

	/* Overlapping functions: the later start has the word. */
	while (out->n && out->v[out->n - 1].pc >= pc)
		out->n--;
	if (out->n && out->v[out->n - 1].rule == rule)
		return;
	if (out->n == rd->cap) {
		rd->cap = rd->cap ? rd->cap * 2 : 4096;
		out->v = realloc(out->v, rd->cap * sizeof(*out->v));
		if (!out->v)
			base_no_memory();
	}
	out->v[out->n++] = (struct unwind_row){ pc, rule };
}

/* ---- the programs ---- */

struct machine {
	struct reader *rd;
	const struct cie *cie;
	struct rules *r;
	const struct fde *fde; /* NULL: the start that a CIE gives its functions */
	u64 pc;
	struct rules kept[REMEMBER_MAX];
	u32 n_kept;
	bool stop;
};

static void emit(struct machine *m, u64 until)
{
	if (!m->fde || m->pc >= until || m->pc >= m->fde->end)
		return;
	add_row(m->rd, (u32)m->pc, pack(m->r, m->cie->signal));
}

static void advance(struct machine *m, u64 delta)
{
	u64 to = m->pc + delta * m->cie->code_align;

	if (to < m->pc || to > UINT32_MAX) {
		m->stop = true;
		return;
	}
	emit(m, to);
	m->pc = to;
}

static struct saved *saved_of(struct machine *m, u64 reg)
{
	return reg == arch.frames.fp ? &m->r->fp : reg == arch.frames.ra ? &m->r->ra : NULL;
}

static void save(struct machine *m, u64 reg, enum save how, s64 off)
{
	struct saved *s = saved_of(m, reg);

	if (s)
		*s = (struct saved){ how, off };
}

static s64 factored(const struct machine *m, s64 n)
{
	s64 v;

	return __builtin_mul_overflow(n, m->cie->data_align, &v) ? INT32_MIN : v;
}

static void restore(struct machine *m, u64 reg)
{
	struct saved *s = saved_of(m, reg);

	if (s)
		*s = reg == arch.frames.fp ? m->cie->start.fp : m->cie->start.ra;
}

static void define_cfa(struct machine *m, u64 reg, s64 off)
{
	m->r->reg = (u32)MIN(reg, (u64)UINT32_MAX);
	m->r->cfa = reg == arch.frames.sp   ? UNWIND_SP
	            : reg == arch.frames.fp ? UNWIND_FP
	                                    : UNWIND_RICH;
	m->r->off = off;
	m->r->add = 0;
}

static void remember(struct machine *m)
{
	if (m->n_kept == REMEMBER_MAX)
		m->stop = true;
	else
		m->kept[m->n_kept++] = *m->r;
}

static void recall(struct machine *m)
{
	if (m->n_kept)
		*m->r = m->kept[--m->n_kept];
	else
		m->stop = true;
}

/* The operations with an operand or two, DW_CFA_*; false for one that is not known. */
static bool step_long(struct machine *m, struct cursor *c, u8 op)
{
	u64 reg;

	switch (op) {
	case DW_CFA_nop:
	case DW_CFA_GNU_window_save: /* arm64: from here on the return address is signed, or not */
		return true;
	case DW_CFA_set_loc: {
		u64 to = encoded(m->rd, c, m->cie->encoding) - m->rd->base;

		if (!m->cie->code_align || to < m->pc || to > UINT32_MAX)
			return false;
		emit(m, to);
		m->pc = to;
		return true;
	}
	case DW_CFA_advance_loc1:
	case DW_CFA_advance_loc2:
	case DW_CFA_advance_loc4:
		advance(m, fixed(c, 1u << (op - DW_CFA_advance_loc1)));
		return true;
	case DW_CFA_offset_extended:
		reg = uleb(c);
		save(m, reg, SAVE_AT_CFA, factored(m, (s64)uleb(c)));
		return true;
	case DW_CFA_restore_extended:
		restore(m, uleb(c));
		return true;
	case DW_CFA_undefined:
		save(m, uleb(c), SAVE_UNDEFINED, 0);
		return true;
	case DW_CFA_same_value:
		save(m, uleb(c), SAVE_SAME, 0);
		return true;
	case DW_CFA_register:
		save(m, uleb(c), SAVE_OTHER, 0);
		uleb(c);
		return true;
	case DW_CFA_remember_state:
		remember(m);
		return true;
	case DW_CFA_restore_state:
		recall(m);
		return true;
	case DW_CFA_GNU_args_size:
		uleb(c);
		return true;
	case DW_CFA_GNU_negative_offset_extended:
		reg = uleb(c);
		save(m, reg, SAVE_AT_CFA, factored(m, (s64)(0 - uleb(c))));
		return true;
	default:
		return false;
	}
}

/* The operations about the CFA and those with expressions. */
static bool step_cfa(struct machine *m, struct cursor *c, u8 op)
{
	u64 reg;

	switch (op) {
	case DW_CFA_def_cfa:
		reg = uleb(c);
		define_cfa(m, reg, (s64)uleb(c));
		return true;
	case DW_CFA_def_cfa_register:
		define_cfa(m, uleb(c), m->r->off);
		return true;
	case DW_CFA_def_cfa_offset:
		define_cfa(m, m->r->reg, (s64)uleb(c));
		return true;
	case DW_CFA_def_cfa_expression:
		cfa_expression(part(c, uleb(c)), m->r);
		return true;
	case DW_CFA_expression: {
		struct saved *s = saved_of(m, uleb(c));
		struct cursor e = part(c, uleb(c));

		if (s)
			*s = save_expression(e);
		return true;
	}
	case DW_CFA_offset_extended_sf:
		reg = uleb(c);
		save(m, reg, SAVE_AT_CFA, factored(m, sleb(c)));
		return true;
	case DW_CFA_def_cfa_sf:
		reg = uleb(c);
		define_cfa(m, reg, factored(m, sleb(c)));
		return true;
	case DW_CFA_def_cfa_offset_sf:
		define_cfa(m, m->r->reg, factored(m, sleb(c)));
		return true;
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf:
		save(m, uleb(c), SAVE_OTHER, 0);
		uleb(c);
		return true;
	case DW_CFA_val_expression:
		save(m, uleb(c), SAVE_OTHER, 0);
		part(c, uleb(c));
		return true;
	default:
		return false;
	}
}

static void step(struct machine *m, struct cursor *c)
{
	u8 op = (u8)fixed(c, 1), low = op & 0x3f;

	switch (op & ~0x3f) {
	case DW_CFA_advance_loc:
		advance(m, low);
		break;
	case DW_CFA_offset:
		save(m, low, SAVE_AT_CFA, factored(m, (s64)uleb(c)));
		break;
	case DW_CFA_restore:
		restore(m, low);
		break;
	default:
		if (!step_long(m, c, op) && !step_cfa(m, c, op))
			m->stop = true;
		break;
	}
}

/* Runs a program from rules r on; for a function writes its rows. */
static void run(struct reader *rd, const struct cie *cie, struct cursor c, struct rules *r,
                const struct fde *fde)
{
	struct machine m;

	m.rd = rd;
	m.cie = cie;
	m.r = r;
	m.fde = fde;
	m.pc = fde ? fde->start : 0;
	m.n_kept = 0;
	m.stop = false;
	while (c.p < c.end && !m.stop && !c.bad)
		step(&m, &c);
	if (m.stop || c.bad) {
		/* From here on nothing is known. */
		rd->out->n_damaged++;
		r->cfa = UNWIND_RICH;
		r->ra.how = SAVE_OTHER;
	}
	emit(&m, UINT64_MAX);
}

static void run_all(struct reader *rd)
{
	u32 end = 0;

	for (u32 i = 0; i < rd->n_fdes && !given_up(rd->s); i++) {
		const struct fde *fde = &rd->fdes[i];
		const struct cie *cie = cie_at(rd, fde->cie);
		struct cursor c = { rd->s->p + fde->code, rd->s->p + fde->code_end, false };
		struct rules r;

		if (!cie)
			continue;
		if (end && fde->start > end && fde->start - end >= PADDING)
			add_row(rd, end, UNWIND_GAP);
		r = cie->start;
		run(rd, cie, c, &r, fde);
		end = MAX(end, fde->end);
	}
	if (end)
		add_row(rd, end, UNWIND_GAP);
}

void ehframe_read(const struct ehframe_section *s, u64 base, struct ehframe_rows *out)
{
	struct reader *rd = calloc(1, sizeof(*rd));

	if (!rd)
		base_no_memory();
	*out = (struct ehframe_rows){ 0 };
	rd->s = s;
	rd->base = base;
	rd->out = out;
	if (s->n < UINT32_MAX)
		find_functions(rd);
	sort_functions(rd);
	run_all(rd);
	out->n_functions = rd->n_fdes;
	for (u32 i = 0; i < out->n; i++)
		out->n_rich += unwind_kind(out->v[i].rule) == UNWIND_RICH;
	free(rd->fdes);
	free(rd);
}

void ehframe_free(struct ehframe_rows *rows)
{
	free(rows->v);
	*rows = (struct ehframe_rows){ 0 };
}
