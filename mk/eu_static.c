/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The archives of elfutils from 0.191 on call functions that their shared libraries have inside and
 * that no archive brings along: binary trees, those of <search.h> with the root in a struct. There
 * is no lock in it as Debian builds them. Newer ones also compress with zstd, half a MiB of code:
 * memtap never does, so that fails here. So do the formats that zstd had until 2016, 100 KB:
 * sections of ELF files are compressed with it since 2022.
 */
#include <search.h>
#include <stddef.h>

struct tree {
	void *root;
};

typedef int compare_fn(const void *a, const void *b);
typedef void free_fn(void *node);

void *eu_tsearch(const void *key, struct tree *t, compare_fn *compare);
void *eu_tfind(const void *key, struct tree *t, compare_fn *compare);
void *eu_tdelete(const void *key, struct tree *t, compare_fn *compare);
void eu_tdestroy(struct tree *t, free_fn *fn);
void eu_search_tree_init(struct tree *t);
void eu_search_tree_fini(struct tree *t, free_fn *fn);

void *eu_tsearch(const void *key, struct tree *t, compare_fn *compare)
{
	return tsearch(key, &t->root, compare);
}

void *eu_tfind(const void *key, struct tree *t, compare_fn *compare)
{
	return tfind(key, &t->root, compare);
}

void *eu_tdelete(const void *key, struct tree *t, compare_fn *compare)
{
	return tdelete(key, &t->root, compare);
}

void eu_tdestroy(struct tree *t, free_fn *fn)
{
	tdestroy(t->root, fn);
	t->root = NULL;
}

void eu_search_tree_init(struct tree *t)
{
	t->root = NULL;
}

void eu_search_tree_fini(struct tree *t, free_fn *fn)
{
	eu_tdestroy(t, fn);
}

void *ZSTD_createCCtx(void);
size_t ZSTD_freeCCtx(void *context);
size_t ZSTD_compressStream2(void *context, void *out, void *in, int end);

void *ZSTD_createCCtx(void)
{
	return NULL;
}

size_t ZSTD_freeCCtx(void *context)
{
	(void)context;
	return 0;
}

size_t ZSTD_compressStream2(void *context, void *out, void *in, int end)
{
	(void)context, (void)out, (void)in, (void)end;
	return (size_t)-1;
}

/* The other functions of these formats only have to fail (mk/static.mk). */
#define OLD_FORMAT(name)                                                                           \
	void name(const void *in, size_t n, size_t *packed, unsigned long long *bound);            \
	void name(const void *in, size_t n, size_t *packed, unsigned long long *bound)             \
	{                                                                                          \
		(void)in, (void)n;                                                                 \
		*packed = (size_t)-1;                                                              \
		*bound = 0;                                                                        \
	}

OLD_FORMAT(ZSTDv05_findFrameSizeInfoLegacy)
OLD_FORMAT(ZSTDv06_findFrameSizeInfoLegacy)
OLD_FORMAT(ZSTDv07_findFrameSizeInfoLegacy)
