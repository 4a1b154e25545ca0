/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Names of kernel addresses. The kernel makes the text of /proc/kallsyms symbol by symbol, 120,000
 * of them in 40 ms, while a program asks about some hundred. So it is asked for these by themselves
 * where it can be (`ask`, see kern/symbolize.h), and answers are kept. Where it does not answer the
 * first question, kallsyms is read, once; where that fails too, addresses stay numbers.
 */
#include "sym/ksym.h"

#include <stdlib.h>
#include <string.h>

#include "read/kallsyms.h"

#define KEPT 1024u /* answers, about 64 bytes each */

struct answer {
	u64 addr; /* 0: none */
	char *name, *module;
	u64 off;
};

struct ksym {
	ksym_ask_fn *ask; /* NULL: kallsyms */
	void *ctx;
	struct answer kept[KEPT];
	struct kallsyms *table;
	bool tried;
};

struct ksym *ksym_new(ksym_ask_fn *ask, void *ctx)
{
	struct ksym *k = calloc(1, sizeof(*k));

	if (!k)
		base_no_memory();
	k->ask = ask;
	k->ctx = ctx;
	return k;
}

void ksym_free(struct ksym *k)
{
	if (!k)
		return;
	for (u32 i = 0; i < KEPT; i++)
		free(k->kept[i].name);
	kallsyms_close(k->table);
	free(k);
}

/* Takes "name+0x2/0x80 [module]" apart, and then owns it. False for an address without a name. */
static bool read_answer(struct answer *a, char *text)
{
	char *plus = strrchr(text, '+'), *open, *close, *end;

	if (!plus || strncmp(text, "0x", 2) == 0)
		return false;
	a->off = strtoull(plus + 1, &end, 16);
	if (*end != '/')
		return false;
	a->name = text;
	a->module = plus; /* "", once the name is ended there */
	open = strstr(end, " [");
	close = open ? strchr(open, ']') : NULL;
	*plus = 0;
	if (close) {
		*close = 0;
		a->module = open + 2;
	}
	return true;
}

static struct ksym_place ask(struct ksym *k, u64 addr)
{
	struct answer *a = &k->kept[(addr ^ addr >> 10) % KEPT];
	char text[KSYM_TEXT], *copy;

	if (a->addr != addr) {
		free(a->name);
		*a = (struct answer){ .addr = addr };
		copy = k->ask(k->ctx, addr, text) ? strdup(text) : NULL;
		if (copy && !read_answer(a, copy))
			free(copy);
	}
	return (struct ksym_place){ a->name, a->off, a->name ? a->module : "" };
}

/* True when the kernel can be asked: it knows where it is itself. */
static bool can_ask(struct ksym *k)
{
	char text[KSYM_TEXT];

	return k->ask && k->ask(k->ctx, 0, text);
}

struct ksym_place ksym_find(struct ksym *k, u64 addr)
{
	struct ksym_place place = { .module = "" };
	struct err e;

	if (!k->tried && !can_ask(k)) {
		k->ask = NULL;
		k->table = kallsyms_open("/proc/kallsyms", &e);
	}
	k->tried = true;
	if (k->ask)
		return addr ? ask(k, addr) : place;
	if (k->table)
		place.name = kallsyms_name(k->table, addr, &place.off, &place.module);
	return place;
}
