/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory that is freed all at once. A script, a session and a batch each own
 * one. Allocation never fails: running out of memory ends the program.
 * Nothing allocated here is freed singly, and nothing may outlive its arena.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/base.h"

struct arena_chunk;

/* All zero is a valid, empty arena. */
struct arena {
	struct arena_chunk *head;
};

/* Zeroed, 16-byte aligned memory; size 0 gives a distinct pointer. */
void *arena_alloc(struct arena *a, size_t size) RETURNS_NONNULL;
/* Copies n bytes and adds a NUL. */
char *arena_strndup(struct arena *a, const char *p, size_t n) RETURNS_NONNULL;
char *arena_strdup(struct arena *a, const char *p) RETURNS_NONNULL;
/* "a", sep, "b": names in great numbers, which formatting would take longer for than what is done
 * with them. */
char *arena_join(struct arena *arena, const char *a, char sep, const char *b) RETURNS_NONNULL;
char *arena_printf(struct arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Frees what was allocated, but keeps some of the memory for what comes next. */
void arena_reset(struct arena *a);
/* Frees everything; the arena is empty and usable afterwards. */
void arena_free(struct arena *a);

#define arena_new(a, T)      ((T *)arena_alloc((a), sizeof(T)))
#define arena_array(a, T, n) ((T *)arena_alloc((a), sizeof(T) * (size_t)(n)))

/*
 * A growable array whose memory comes from an arena: VEC(struct node *) kids;
 * vec_add(arena, &kids, node); for (u32 i = 0; i < kids.n; i++) kids.v[i] ...
 * Pointers into it are valid until the next vec_add.
 */
#define VEC(T)                                                                                     \
	struct {                                                                                   \
		T *v;                                                                              \
		u32 n, cap;                                                                        \
	}
#define vec_add(a, vec, value)                                                                     \
	do {                                                                                       \
		if ((vec)->n == (vec)->cap)                                                        \
			(vec)->v = arena_grow((a), (vec)->v, sizeof(*(vec)->v), (vec)->n,          \
			                      &(vec)->cap);                                        \
		(vec)->v[(vec)->n++] = (value);                                                    \
	} while (0)

/* For vec_add: a copy of `n` elements with room for more; sets *cap. */
void *arena_grow(struct arena *a, const void *old, size_t elem, u32 n, u32 *cap) RETURNS_NONNULL;

#endif
