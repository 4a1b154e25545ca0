/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Kernel symbols from /proc/kallsyms.
 *
 * The one idea: the text is kept as it was read, with the ends of names and modules turned into
 * NULs, and beside it lies an array of (address, place in the text) for the text symbols,
 * sorted by address. Making the text costs the kernel ten times what parsing it costs us, so
 * it is read once, in large reads into one block.
 *
 *     ffffffff81000000 T _stext\n           text symbol of the kernel
 *     ffffffffc0201000 t f\t[module]\n      text symbol of a module
 *
 * It does not know sizes: a function reaches to the next symbol.
 */
#include "read/kallsyms.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/glob.h"
#include "base/sorted.h"

struct ksym {
	u64 addr;
	u32 name;   /* offset in text */
	u32 module; /* offset in text, 0: the kernel itself */
};

struct kallsyms {
	char *text; /* n bytes, and a NUL after them */
	u32 n;
	struct ksym *v; /* text symbols by address, then by place in the file */
	u32 n_syms;
};

#define TEXT_FIRST (8u << 20) /* most kernels' table fits */
#define TEXT_MAX   (256u << 20)
#define LINE_MIN   20u        /* address, type and a name of one letter */
#define FUNC_MAX   (1u << 20) /* no function is longer; beyond is a hole in the table */

/* ---- reading -------------------------------------------------------------------------------- */

/* Doubles the text's memory; NULL and *e when that can not be. */
static char *grow(struct kallsyms *k, u32 *cap, struct err *e)
{
	u32 want = *cap ? *cap * 2 : TEXT_FIRST;
	char *p = want <= TEXT_MAX ? realloc(k->text, (size_t)want + 1) : NULL;

	if (!p) {
		err_set(e, "the kernel symbol table does not fit into %u MiB", want >> 20);
		return NULL;
	}
	k->text = p;
	*cap = want;
	return p;
}

static bool read_text(struct kallsyms *k, int fd, const char *path, struct err *e)
{
	u32 cap = 0;
	ssize_t n;

	if (!grow(k, &cap, e))
		return false;
	while ((n = read(fd, k->text + k->n, cap - k->n)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(e, errno, "can not read %s", path);
		k->n += (u32)n;
		if (k->n == cap && !grow(k, &cap, e))
			return false;
	}
	k->text[k->n] = 0;
	return true;
}

/* ---- parsing -------------------------------------------------------------------------------- */

/* Reads hexadecimal digits at *p, stops at the first other byte. */
static u64 hex(const char **p)
{
	u64 v = 0;

	for (;; (*p)++) {
		char c = **p;

		if (c >= '0' && c <= '9')
			v = v << 4 | (u64)(c - '0');
		else if (c >= 'a' && c <= 'f')
			v = v << 4 | (u64)(c - 'a' + 10);
		else
			return v;
	}
}

static bool is_text(char type)
{
	return type == 't' || type == 'T' || type == 'w' || type == 'W';
}

/* Ends the name (and module) of the line [p, end) with NULs; false for a line of another form. */
static bool parse_line(struct kallsyms *k, const char *p, char *end, struct ksym *s, char *type)
{
	char *tab, *close;

	s->addr = hex(&p);
	if (end - p < 4 || p[0] != ' ' || p[2] != ' ')
		return false;
	*type = p[1];
	s->name = (u32)(p + 3 - k->text);
	s->module = 0;
	*end = 0;
	tab = memchr(p + 3, '\t', (size_t)(end - p - 3));
	if (!tab)
		return true;
	*tab = 0;
	close = memchr(tab, ']', (size_t)(end - tab));
	if (!close || tab[1] != '[')
		return true;
	*close = 0;
	s->module = (u32)(tab + 2 - k->text);
	return true;
}

static int by_address(const void *a, const void *b)
{
	const struct ksym *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

static bool parse_text(struct kallsyms *k, struct err *e)
{
	char *p = k->text, *end = k->text + k->n, *eol;
	bool sorted = true;

	k->v = malloc(((size_t)k->n / LINE_MIN + 1) * sizeof(*k->v));
	if (!k->v)
		return err_sys(e, ENOMEM, "can not hold the kernel symbol table");
	for (; (eol = memchr(p, '\n', (size_t)(end - p))); p = eol + 1) {
		struct ksym *s = &k->v[k->n_syms];
		char type;

		if (eol - p < (ptrdiff_t)LINE_MIN - 1 || !parse_line(k, p, eol, s, &type) ||
		    !is_text(type))
			continue;
		sorted &= !k->n_syms || s[-1].addr <= s->addr;
		k->n_syms++;
	}
	if (!sorted)
		qsort(k->v, k->n_syms, sizeof(*k->v), by_address);
	return true;
}

struct kallsyms *kallsyms_open(const char *path, struct err *e)
{
	struct kallsyms *k = calloc(1, sizeof(*k));
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool ok;

	if (!k)
		base_no_memory();
	if (fd < 0)
		ok = err_sys(e, errno, "can not open %s", path);
	else
		ok = read_text(k, fd, path, e) && parse_text(k, e);
	if (fd >= 0)
		close(fd);
	if (ok)
		return k;
	kallsyms_close(k);
	return NULL;
}

void kallsyms_close(struct kallsyms *k)
{
	if (!k)
		return;
	free(k->text);
	free(k->v);
	free(k);
}

/* ---- asking --------------------------------------------------------------------------------- */

const char *kallsyms_name(const struct kallsyms *k, u64 addr, u64 *off, const char **module)
{
	u32 n = SORTED_NOT_ABOVE(k->v, k->n_syms, addr, addr);

	if (!n || !k->v[n - 1].addr || addr - k->v[n - 1].addr >= FUNC_MAX)
		return NULL;
	/* Of several names for one address the kernel's own printing takes the first. */
	for (n--; n && k->v[n - 1].addr == k->v[n].addr;)
		n--;
	*off = addr - k->v[n].addr;
	*module = k->v[n].module ? k->text + k->v[n].module : "";
	return k->text + k->v[n].name;
}

/* The start of the line before the one that starts at `line`; NULL for the first. Ends of lines are
 * NULs as are the ends of names before a module and of modules: "addr t name\0[module\0\0". */
static const char *line_before(const struct kallsyms *k, const char *line)
{
	const char *p = line - 1, *start; /* the NUL that ends the line before */

	if (line == k->text)
		return NULL;
	if (p > k->text && !p[-1]) /* a module's line: to the NUL after its name */
		p = memrchr(k->text, 0, (size_t)(p - 1 - k->text));
	start = p ? memrchr(k->text, 0, (size_t)(p - k->text)) : NULL;
	return start ? start + 1 : k->text;
}

/* The symbol before, past the room that the kernel leaves before functions and calls __pfx_name. */
static const char *name_before(const struct kallsyms *k, const char *line)
{
	while ((line = line_before(k, line))) {
		const char *p = line;

		hex(&p);
		if (strlen(p) > 3 && strncmp(p + 3, "__pfx_", 6) != 0)
			return p + 3;
	}
	return "";
}

/* The place of the symbol whose name is at `name` in the text, n bytes long. */
static struct kallsyms_place place_at(const struct kallsyms *k, const char *name, size_t n)
{
	const char *before = memrchr(k->text, 0, (size_t)(name - k->text));
	const char *line = before ? before + 1 : k->text, *p = line;
	struct kallsyms_place place = { .module = "", .is_text = is_text(name[-2]) };

	place.addr = hex(&p);
	place.before = name_before(k, line);
	if (name[n + 1] == '[')
		place.module = name + n + 2;
	return place;
}

void kallsyms_named(const struct kallsyms *k, const char *name, kallsyms_place_cb *cb, void *ctx)
{
	size_t n = strlen(name);
	const char *p = k->text, *end = k->text + k->n;

	if (!n)
		return;
	/* Rare, and the table is not sorted by name: look for the name's bytes, then check. */
	while ((p = memmem(p, (size_t)(end - p), name, n + 1))) {
		struct kallsyms_place place;

		if (p - k->text >= 4 && p[-1] == ' ' && p[-3] == ' ') {
			place = place_at(k, p, n);
			if (!cb(ctx, &place))
				return;
		}
		p += n + 1;
	}
}

static bool take_address(void *ctx, const struct kallsyms_place *p)
{
	*(u64 *)ctx = p->addr;
	return false;
}

u64 kallsyms_addr(const struct kallsyms *k, const char *name)
{
	u64 addr = 0;

	kallsyms_named(k, name, take_address, &addr);
	return addr;
}

void kallsyms_each(const struct kallsyms *k, struct str glob, kallsyms_cb *cb, void *ctx)
{
	for (u32 i = 0; i < k->n_syms; i++) {
		const struct ksym *s = &k->v[i];
		const char *name = k->text + s->name;

		if (glob_match(glob, str_of(name)) &&
		    !cb(ctx, name, s->module ? k->text + s->module : "", s->addr))
			return;
	}
}
