/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Who may lead into the bytes that a jump lies on, is the question that elf/site.c answers for
 * probes: the function itself, other code of the file, a symbol. Who is there already, when the
 * jump is put in, is seen in the process (inject/there.h).
 */
#include "inject/hook.h"

#include <stdlib.h>

#include "arch/arch.h"
#include "arch/move.h"
#include "elf/site.h"

#define CODE_MAX (64u << 20) /* bytes of a file's code that are looked through */

struct sites {
	struct site *v;
	u32 n;
};

static bool strike_symbol(void *ctx, const struct elf_sym *s)
{
	const struct sites *all = ctx;

	sites_strike(all->v, all->n, s->value, "another function starts in its start");
	return true;
}

/* Everything in the file that leads into one of them. */
static const char *strike(struct elf *f, const struct insn_decoder *d, struct sites *all)
{
	struct site_code c;
	size_t total = 0;

	for (u32 i = 0; elf_code(f, i, &c.p, &c.n, &c.vaddr); i++)
		total += c.n;
	if (total > CODE_MAX)
		return "its file has too much code to look through";
	for (u32 i = 0; elf_code(f, i, &c.p, &c.n, &c.vaddr); i++)
		sites_strike_code(all->v, all->n, &c, d);
	elf_each(f, strike_symbol, all);
	return NULL;
}

static void look_at_file(const struct insn_decoder *d, struct hook *v, u32 n)
{
	struct elf *f = v->f;
	struct sites all = { calloc(n + 1, sizeof(struct site)), n };
	const char *why;

	if (!all.v)
		base_no_memory();
	for (u32 i = 0; i < n; i++) {
		struct site *s = &all.v[i];
		struct site_code c;

		*s = (struct site){ .entry = v[i].entry, .size = v[i].size, .user = &v[i] };
		if (site_code_at(f, v[i].entry, &c))
			site_cover(s, &c, d, MOVE_JUMP);
		else
			s->why = "its code is not in the file";
	}
	sites_sort(all.v, n);
	why = strike(f, d, &all);
	for (u32 i = 0; i < n; i++) {
		struct hook *h = all.v[i].user;

		h->length = why ? 0 : all.v[i].moved;
		h->why = why ? why : all.v[i].why;
	}
	free(all.v);
}

void hook_look(const struct insn_decoder *d, struct hook *v, u32 n)
{
	for (u32 i = 0, k; i < n; i += k) {
		for (k = 1; i + k < n && v[i + k].f == v[i].f;)
			k++;
		look_at_file(d, v + i, k);
	}
}

static void add_step(struct hook_steps *s, u32 from, u32 to)
{
	s->from[s->n] = (u8)from;
	s->to[s->n++] = (u8)to;
}

u32 hook_move(const struct insn_decoder *d, const struct hook *h, u64 at, u8 out[HOOK_MOVED],
              struct hook_steps *steps, const char **why)
{
	struct site_code c;
	struct move m = { 0 };
	u32 done = 0;

	steps->n = 0;
	*why = "its code is not in the file";
	if (!h->length || !site_code_at(h->f, h->entry, &c))
		return 0;
	for (u32 from = 0; from < h->length; from += m.taken) {
		u64 off = h->entry - c.vaddr + from;

		if (done + MOVE_LONGEST + MOVE_JUMP > HOOK_MOVED || steps->n == HOOK_STEPS - 1)
			return 0;
		add_step(steps, from, done);
		*why = move_insn(d, c.p + off, c.n - off, h->bias + h->entry + from, at + done,
		                 out + done, &m);
		if (*why)
			return 0;
		done += m.length;
	}
	add_step(steps, h->length, done);
	if (m.ends)
		return done;
	*why = "it is too far away";
	return move_jump(at + done, h->bias + h->entry + h->length, out + done) ? done + MOVE_JUMP
	                                                                        : 0;
}

/* Of a page that only begins or ends with the file's code the rest is whatever lies beside it. */
bool hook_page_is_intact(const struct hook *h, u64 at, const u8 *bytes, const char **why)
{
	u64 vaddr = at - h->bias, end = vaddr + arch_page();
	struct site_code c;
	bool found = false, same = true;

	for (u32 i = 0; elf_code(h->f, i, &c.p, &c.n, &c.vaddr); i++) {
		u64 from = MAX(vaddr, c.vaddr), to = MIN(end, c.vaddr + c.n);

		if (from >= to)
			continue;
		found = true;
		same &= memcmp(c.p + (from - c.vaddr), bytes + (from - vaddr), to - from) == 0;
	}
	*why = found ? "its page was changed: a breakpoint or a uprobe is in it"
	             : "its page is not in the file";
	return found && same;
}

bool hook_jump(const struct hook *h, u64 to, u64 at, u8 *bytes)
{
	u8 jump[MOVE_JUMP];

	if (!move_jump(h->bias + h->entry, to, jump))
		return false;
	for (u32 i = 0; i < MOVE_JUMP; i++) {
		u64 off = h->bias + h->entry + i - at;

		if (off < arch_page())
			bytes[off] = jump[i];
	}
	return true;
}
