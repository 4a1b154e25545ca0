/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The compiler's world (lang/parse/world.h) over the running machine, or over a directory that
 * looks like one.
 */
#ifndef WORLD_WORLD_LINUX_H
#define WORLD_WORLD_LINUX_H

#include "lang/parse/world.h"

/* All zero is the running machine. The strings have to live as long as the world. */
struct world_linux_options {
	const char *root;    /* put before PATH and library directories, /sys and /etc; NULL: "" */
	const char *path;    /* instead of $PATH */
	const char *tracefs; /* directory that holds events/; NULL: found or mounted privately */
	const char *btf;     /* NULL: /sys/kernel/btf/vmlinux */
	/* directory of their BTF; NULL: /sys/kernel/btf, but none with `btf` */
	const char *modules;
	const char *functions;           /* what can be traced; NULL: what the kernel lists */
	const char *kallsyms;            /* NULL: /proc/kallsyms */
	const struct features *features; /* what is known of the kernel; the rest is asked */
};

/*
 * Opens nothing yet. Never NULL.
 */
struct world *world_linux_new(const struct world_linux_options *o);
void world_linux_free(struct world *w);
/* What is known of the kernel so far. */
const struct features *world_linux_features(const struct world *w);

#endif
