/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which functions of which file.
 *
 * Every allocation is to be counted once, and allocators call themselves: calloc calls malloc in
 * one, realloc goes on there in another. A call that comes back is known by where it comes from
 * (`inside`). One that does not, a jump, is not seen from malloc: where a function begins with one
 * it is left alone, and where realloc or memalign have one for some arguments these are skipped.
 */
#include "inject/heap_files.h"

#include <string.h>
#include <sys/uio.h>

#include "arch/stub.h"
#include "elf/plt.h"
#include "elf/site.h"
#include "elf/usdt.h"
#include "read/procmaps.h"

#define SWEEP 1024u /* bytes of a function without a size */

static const struct heap_function functions[] = {
	{ "malloc", SAMPLER_SIZE_1, true },
	{ "calloc", SAMPLER_PRODUCT, true },
	{ "realloc", SAMPLER_REALLOC, true },
	{ "free", SAMPLER_FREE, true },
	{ "cfree", SAMPLER_FREE, true },
	{ "free_sized", SAMPLER_FREE, true },
	{ "free_aligned_sized", SAMPLER_FREE, true },
	{ "aligned_alloc", SAMPLER_SIZE_2, false },
	{ "memalign", SAMPLER_SIZE_2, false },
	{ "posix_memalign", SAMPLER_SIZE_3, false },
	{ "valloc", SAMPLER_SIZE_1, false },
	{ "pvalloc", SAMPLER_SIZE_1, false },
	/* jemalloc's own */
	{ "mallocx", SAMPLER_SIZE_1, false },
	{ "rallocx", SAMPLER_REALLOC, true },
	{ "dallocx", SAMPLER_FREE, true },
	{ "sdallocx", SAMPLER_FREE, true },
	/* operator new and delete, where they are no callers of malloc and free */
	{ "_Znwm", SAMPLER_NEW, false },
	{ "_Znam", SAMPLER_NEW, false },
	{ "_ZnwmSt11align_val_t", SAMPLER_NEW_ALIGNED, false },
	{ "_ZnamSt11align_val_t", SAMPLER_NEW_ALIGNED, false },
	{ "_ZnwmRKSt9nothrow_t", SAMPLER_SIZE_1, false },
	{ "_ZnamRKSt9nothrow_t", SAMPLER_SIZE_1, false },
	{ "_ZnwmSt11align_val_tRKSt9nothrow_t", SAMPLER_SIZE_1, false },
	{ "_ZnamSt11align_val_tRKSt9nothrow_t", SAMPLER_SIZE_1, false },
	{ "_ZdlPv", SAMPLER_FREE, true },
	{ "_ZdaPv", SAMPLER_FREE, true },
	{ "_ZdlPvm", SAMPLER_FREE, true },
	{ "_ZdaPvm", SAMPLER_FREE, true },
	{ "_ZdlPvRKSt9nothrow_t", SAMPLER_FREE, true },
	{ "_ZdaPvRKSt9nothrow_t", SAMPLER_FREE, true },
	{ "_ZdlPvSt11align_val_t", SAMPLER_FREE, true },
	{ "_ZdaPvSt11align_val_t", SAMPLER_FREE, true },
	{ "_ZdlPvmSt11align_val_t", SAMPLER_FREE, true },
	{ "_ZdaPvmSt11align_val_t", SAMPLER_FREE, true },
	{ "_ZdlPvSt11align_val_tRKSt9nothrow_t", SAMPLER_FREE, true },
	{ "_ZdaPvSt11align_val_tRKSt9nothrow_t", SAMPLER_FREE, true },
};

_Static_assert(ARRAY_SIZE(functions) + HEAP_MAPPINGS <= HEAP_FUNCTIONS, "there is room");

/* ---- files ---------------------------------------------------------------------------------- */

/*
 * Several files may have a malloc: the C library and one that takes its place, or one that the
 * program loads for a purpose of its own. The one that is called by name everywhere is where the
 * dynamic linker has let the C library's own calls lead. Without such a word, as in a static
 * program: a library made to take malloc's place comes before the C library; so does the program.
 */
enum { NO_MALLOC, OF_LIBC, OF_A_LIBRARY, OF_THE_PROGRAM, CALLED_BY_NAME };

struct choice {
	struct heap_allocator *a;
	pid_t pid;
	u64 called; /* address of malloc as it is called by name; 0: not known */
	u32 rank, many;
};

static bool find_called(void *ctx, struct elf *f, const struct procmap *m)
{
	struct choice *c = ctx;
	u64 word = heap_is_libc(f) ? plt_word(f, "malloc") : 0, vaddr;
	struct iovec to = { &c->called, sizeof(c->called) }, from = { 0 };

	if (word && elf_vaddr(f, m->offset, &vaddr)) {
		from = (struct iovec){ (void *)(uintptr_t)(m->start - vaddr + word),
			               sizeof(c->called) };
		if (process_vm_readv(c->pid, &to, 1, &from, 1, 0) != sizeof(c->called))
			c->called = 0;
	}
	elf_close(f);
	return !word;
}

static u32 rank(const struct choice *c, struct elf *f, const struct procmap *m)
{
	struct elf_sym s, other;
	u64 vaddr;

	if (!elf_find(f, "malloc", &s) || !s.is_func || !elf_find(f, "free", &other) ||
	    !other.is_func)
		return NO_MALLOC;
	if (elf_vaddr(f, m->offset, &vaddr) && c->called == m->start - vaddr + s.value)
		return CALLED_BY_NAME;
	if (heap_is_libc(f))
		return OF_LIBC;
	return elf_is_program(f) ? OF_THE_PROGRAM : OF_A_LIBRARY;
}

/* A library's that is not the chosen one. */
static void say_another(struct heap_allocator *a, const char *path)
{
	if (!a->left)
		a->left = arena_printf(&a->arena,
		                       "malloc of %s is not counted, calls lead to another", path);
}

static bool choose(void *ctx, struct elf *f, const struct procmap *m)
{
	struct choice *c = ctx;
	u32 r = rank(c, f, m);
	const char *other = r == OF_A_LIBRARY ? m->path : NULL;
	u64 vaddr;

	c->many += r == OF_A_LIBRARY && c->rank == OF_A_LIBRARY;
	if (r > c->rank && elf_vaddr(f, m->offset, &vaddr)) {
		other = c->rank == OF_A_LIBRARY ? c->a->path : NULL;
		elf_close(c->a->f);
		c->rank = r;
		c->a->f = f;
		c->a->bias = m->start - vaddr;
		c->a->path = m->path;
	} else {
		elf_close(f);
	}
	if (other)
		say_another(c->a, other);
	return true;
}

/* ---- functions ------------------------------------------------------------------------------ */

static bool is_free(const struct heap_function *fn)
{
	return fn->kind == SAMPLER_FREE;
}

static bool is_mapping(const struct heap_function *fn)
{
	return fn->kind >= SAMPLER_MAP;
}

static bool is_new(const struct heap_function *fn)
{
	return strncmp(fn->name, "_Zn", 3) == 0;
}

static void collect(struct heap_allocator *a)
{
	for (u32 i = 0; i < ARRAY_SIZE(functions); i++) {
		struct elf_sym s;
		bool known = false;

		if (!elf_find(a->f, functions[i].name, &s) || !s.is_func)
			continue;
		for (u32 k = 0; k < a->n; k++)
			known |= a->hooks[k].entry == s.value;
		if (known)
			continue;
		a->functions[a->n] = functions[i];
		a->hooks[a->n++] = (struct hook){
			.f = a->f, .bias = a->bias, .entry = s.value, .size = s.size
		};
	}
}

static void leave_out(struct heap_allocator *a, u32 i)
{
	a->n--;
	memmove(&a->functions[i], &a->functions[i + 1], (a->n - i) * sizeof(a->functions[0]));
	memmove(&a->hooks[i], &a->hooks[i + 1], (a->n - i) * sizeof(a->hooks[0]));
	memmove(&a->skips[i], &a->skips[i + 1], (a->n - i) * sizeof(a->skips[0]));
}

/* They come last, and one alone would say little. */
static void leave_out_mappings(struct heap_allocator *a)
{
	while (a->n && is_mapping(&a->functions[a->n - 1]))
		a->n--;
}

/* What a function leads to. */
struct leads {
	bool begins;       /* its first instruction is a jump to one of the set */
	bool jumps, calls; /* to malloc and its like */
	u64 others[8];     /* jumps and calls out of it to anything else */
	u32 n_others;
	u64 end; /* of what was looked at */
};

/* The function of the same sort at that address. */
static bool is_one(const struct heap_allocator *a, u64 at, u64 self, bool frees)
{
	for (u32 i = 0; i < a->n; i++)
		if (a->hooks[i].entry == at && at != self && is_free(&a->functions[i]) == frees)
			return true;
	return false;
}

static void lead(struct leads *l, const struct heap_allocator *a, const struct insn *one, u64 self,
                 u64 size, bool frees)
{
	bool jump = one->flow == INSN_JUMP || one->flow == INSN_BRANCH;

	if (!jump && one->flow != INSN_CALL)
		return;
	if (is_one(a, one->target, self, frees)) {
		*(jump ? &l->jumps : &l->calls) = true;
	} else if (one->target - self >= size && l->n_others < ARRAY_SIZE(l->others)) {
		l->others[l->n_others++] = one->target;
	}
}

static void look(struct leads *l, const struct heap_allocator *a, const struct insn_decoder *d,
                 u64 at, u64 size, bool frees)
{
	struct site_code c;
	struct insn one;
	u64 n, off = 0;

	*l = (struct leads){ .end = at };
	if (!site_code_at(a->f, at, &c))
		return;
	n = MIN(c.n - (at - c.vaddr), size);
	while (off < n && insn_read(d, c.p + (at - c.vaddr) + off, n - off, at + off, &one)) {
		lead(l, a, &one, at, size, frees);
		if (!off)
			l->begins = one.flow == INSN_JUMP && l->jumps;
		off += one.length;
	}
	l->end = at + off;
}

static void add_inside(struct heap_allocator *a, u64 start, u64 end)
{
	if (a->n_inside < SAMPLER_INSIDE - 1)
		a->inside[a->n_inside++] = (struct sampler_inside){ start, end };
}

struct sized {
	u64 at, size;
};

static bool find_size(void *ctx, const struct elf_sym *s)
{
	struct sized *z = ctx;

	if (s->value == z->at && s->size)
		z->size = s->size;
	return !z->size;
}

/* Functions without a name in between: _mid_memalign of the GNU C library. */
static bool passes_on(struct heap_allocator *a, const struct insn_decoder *d,
                      const struct leads *from)
{
	bool jumps = false;

	for (u32 i = 0; i < from->n_others; i++) {
		struct sized z = { .at = from->others[i] };
		struct leads l;

		elf_each(a->f, find_size, &z);
		look(&l, a, d, z.at, z.size ? z.size : SWEEP, false);
		jumps |= l.jumps;
		if (l.calls && z.size)
			add_inside(a, z.at, z.at + z.size);
	}
	return jumps;
}

/* False: it is left out, since what it does is counted elsewhere. */
static bool is_counted(struct heap_allocator *a, const struct insn_decoder *d, u32 i)
{
	const struct hook *h = &a->hooks[i];
	const struct heap_function *fn = &a->functions[i];
	struct leads l;

	look(&l, a, d, h->entry, h->size ? h->size : 1, is_free(fn));
	if (l.begins)
		return false;
	if (is_free(fn))
		return true;
	if (is_new(fn) && (l.jumps || l.calls))
		return false;
	if (fn->kind == SAMPLER_REALLOC) {
		a->skips[i] = l.jumps && strcmp(fn->name, "realloc") == 0;
	} else if (fn->kind == SAMPLER_SIZE_2) {
		a->skips[i] = passes_on(a, d, &l) || l.jumps;
	} else if (l.jumps) {
		return false;
	}
	if (i) /* malloc calls nobody */
		add_inside(a, h->entry, l.end);
	return true;
}

/* What can be called in place of an operator new, which throws. */
static void find_nothrow(struct heap_allocator *a)
{
	struct elf_sym s;

	if (elf_find(a->f, "_ZnwmRKSt9nothrow_t", &s) || elf_find(a->f, "malloc", &s))
		a->nothrow[0] = s.value;
	if (elf_find(a->f, "_ZnwmSt11align_val_tRKSt9nothrow_t", &s))
		a->nothrow[1] = s.value;
}

static bool refuse(const struct heap_allocator *a, const struct heap_function *fn, const char *why,
                   struct err *e)
{
	return err_set(e, "%s of %s can not be redirected: %s", fn->name, a->path, why);
}

static bool check_hooks(struct heap_allocator *a, struct err *e)
{
	for (u32 i = 0; i < a->n; i++) {
		const struct heap_function *fn = &a->functions[i];
		const char *why = a->hooks[i].length ? NULL : a->hooks[i].why;

		if (fn->kind == SAMPLER_NEW_ALIGNED && !a->nothrow[1])
			why = "there is no form of it that throws nothing";
		if (!why)
			continue;
		if (fn->must)
			return refuse(a, fn, why, e);
		a->left = arena_printf(&a->arena, "%s is not counted: %s", fn->name, why);
		if (is_mapping(fn))
			leave_out_mappings(a);
		else
			leave_out(a, i--);
	}
	return true;
}

/* Those of malloc and its relatives. */
static void find_functions(struct heap_allocator *a, const struct insn_decoder *d)
{
	collect(a);
	for (u32 i = 0; i < a->n; i++)
		if (!is_counted(a, d, i))
			leave_out(a, i--);
	find_nothrow(a);
}

bool heap_allocator_find(struct heap_allocator *a, const struct insn_decoder *d, pid_t pid,
                         struct err *e)
{
	struct choice c = { .a = a, .pid = pid };

	*a = (struct heap_allocator){ 0 };
	if (!heap_each_file(&a->arena, pid, find_called, &c, e) ||
	    !heap_each_file(&a->arena, pid, choose, &c, e))
		return false;
	if (c.many && c.rank != CALLED_BY_NAME)
		return err_set(e, "process %d has more than one library with a malloc of its own",
		               pid);
	if (a->f)
		find_functions(a, d);
	heap_mappings_add(a, pid);
	if (!a->n)
		return err_set(e, "process %d has no function malloc with a name, nor mmap", pid);
	hook_look(d, a->hooks, a->n);
	return check_hooks(a, e) &&
	       (a->n || err_set(e, "process %d has no malloc, and %s", pid, a->left));
}

void heap_allocator_close(struct heap_allocator *a)
{
	elf_close(a->f);
	elf_close(a->kernel);
	arena_free(&a->arena);
}

/* ---- producers ------------------------------------------------------------------------------ */

static bool is_alloc(void *ctx, const struct usdt_site *s)
{
	bool *found = ctx;

	*found |= strcmp(s->provider, "otel_memory") == 0 && strcmp(s->name, "alloc") == 0;
	return !*found;
}

static bool has_probe(void *ctx, struct elf *f, const struct procmap *m)
{
	bool *found = ctx;
	struct err e;

	if (strcmp(m->path, ROOM_FILE) != 0)
		usdt_each(f, is_alloc, found, &e);
	elf_close(f);
	return !*found;
}

bool heap_is_producer(pid_t pid)
{
	struct arena a = { 0 };
	struct err e;
	bool found = false;

	heap_each_file(&a, pid, has_probe, &found, &e);
	arena_free(&a);
	return found;
}
