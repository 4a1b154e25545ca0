/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Names every file uses: fixed-width integers and a few macros. Nothing here
 * allocates, fails or knows about tracing.
 */
#ifndef BASE_BASE_H
#define BASE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b)     ((a) < (b) ? (a) : (b))
#define MAX(a, b)     ((a) > (b) ? (a) : (b))
/* Rounds up to a power of two `to`. */
#define ROUND_UP(n, to) (((n) + (to)-1) & ~((to)-1))

#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))
#define RETURNS_NONNULL        __attribute__((returns_nonnull))

/* For calls of libraries that take a plain pointer and do not write through it. No other place
 * gives up const. */
static inline void *base_plain(const void *p)
{
	void *plain;

	memcpy(&plain, &p, sizeof(plain));
	return plain;
}

/* Says that memory has run out and ends the program, from any thread, with status 1. */
void base_no_memory(void) __attribute__((noreturn));

/* For the default of a switch over an enum that lists every value. */
#define unreachable() __builtin_trap()

#endif
