/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The kinds of values: one row for each, from which every table about kinds is made. How one is
 * printed is a row in out/value.c; what cells of an aggregation mean one in agg/cell.c.
 *
 *   V(id, name, words, equality, traits)
 *
 * The name is how the user writes the type, NULL: made of parts by type_print(). Words are those
 * that a value rests in, of an aggregation its cell; 0: as the type says. Two types of a kind are
 * equal when their size is and what a function of type.c, named without its same_, compares; NULL:
 * nothing more. Traits are a sum of enum value_trait.
 */
#ifndef UNIT_VALUES_H
#define UNIT_VALUES_H

/* clang-format off */
#define VALUE_KINDS(V)                                                                            \
	/* no value: a statement-like call */                                                     \
	V(NONE, "none", 0, size, 0)                                                               \
	/* 0 or 1; prints true/false */                                                           \
	V(BOOL, "bool", 1, size, VALUE_SCALAR | VALUE_WORD)                                       \
	/* size 1, 2, 4, 8; is_signed; prints in decimal, or as enum name if `enums` */           \
	V(INT, NULL, 1, size, VALUE_SCALAR | VALUE_WORD)                                          \
	/* elem = pointee (TYPE_NONE for void *), space; prints 0x... */                          \
	V(PTR, NULL, 1, pointee, VALUE_SCALAR | VALUE_WORD)                                       \
	/* size bytes incl. NUL (rounded up to 8); bytes after the NUL are 0 in keys */           \
	V(STR, NULL, 0, text, 0)                                                                  \
	/* u64 length, then count bytes of content */                                             \
	V(BUF, NULL, 0, size, VALUE_COMPARED)                                                     \
	/* count elements of elem, at the foreign width elem->size */                             \
	V(ARRAY, NULL, 0, elements, 0)                                                            \
	/* a C struct or union: size bytes, foreign layout */                                     \
	V(STRUCT, NULL, 0, record, 0)                                                             \
	/* fields[], each in its slot */                                                          \
	V(TUPLE, NULL, 0, fields, 0)                                                              \
	/* the record `args`: only its fields can be used */                                      \
	V(ARGS, "args", 0, size, 0)                                                               \
	/* stack id */                                                                            \
	V(KSTACK, "kstack", 1, stack, VALUE_STACK | VALUE_COMPARED)                               \
	/* stack id, pid */                                                                       \
	V(USTACK, "ustack", 2, stack, VALUE_STACK | VALUE_COMPARED)                               \
	/* both: a USTACK's words, then a KSTACK's */                                             \
	V(STACK, "stack", 3, stack, VALUE_STACK | VALUE_COMPARED)                                 \
	/* address */                                                                             \
	V(KSYM, "ksym_t", 1, size, VALUE_WORD | VALUE_COMPARED)                                   \
	/* address, pid */                                                                        \
	V(USYM, "usym_t", 2, size, VALUE_COMPARED)                                                \
	/* index into unit->probe_names */                                                        \
	V(PROBE, "probe", 1, size, VALUE_WORD | VALUE_COMPARED)                                   \
	/* uid */                                                                                 \
	V(USERNAME, "username_t", 1, size, VALUE_WORD | VALUE_COMPARED)                           \
	/* cgroup id; text = filter glob */                                                       \
	V(CGROUP_PATH, "cgroup_path_t", 1, name, VALUE_WORD | VALUE_COMPARED)                     \
	/* errno value */                                                                         \
	V(STRERROR, "strerror_t", 1, size, VALUE_WORD | VALUE_COMPARED)                           \
	/* number of a signal */                                                                  \
	V(SIGNAL, "signal_name_t", 1, size, VALUE_WORD | VALUE_COMPARED)                          \
	/* number of a system call */                                                             \
	V(SYSCALL, "syscall_name_t", 1, size, VALUE_WORD | VALUE_COMPARED)                        \
	/* errno value, shown as ENOMEM */                                                        \
	V(ERRNO, "errno_name_t", 1, size, VALUE_WORD | VALUE_COMPARED)                            \
	/* bits by name; text: unit/flags.h */                                                    \
	V(FLAGS, "flag_names_t", 1, name, VALUE_WORD)                                             \
	/* 0; the load averages when it is printed */                                             \
	V(LOADAVG, "loadavg_t", 1, size, VALUE_WORD)                                              \
	/* nanoseconds since boot; text = strftime format */                                      \
	V(TIMESTAMP, "timestamp", 1, name, VALUE_WORD)                                            \
	/* AF_INET (2) or AF_INET6 (10), then 16 bytes */                                         \
	V(INET, "inet", 3, size, VALUE_COMPARED)                                                  \
	/* 6 bytes in memory order */                                                             \
	V(MAC, "macaddr", 1, size, VALUE_WORD | VALUE_COMPARED)                                   \
	/* Aggregations: only as the value of a map. Here are the words of a cell. */             \
	/* count */                                                                               \
	V(COUNT, "count_t", 1, size, VALUE_AGG | VALUE_WORD)                                      \
	/* sum */                                                                                 \
	V(SUM, "sum_t", 1, size, VALUE_AGG | VALUE_WORD)                                          \
	/* value, 1 once set */                                                                   \
	V(MIN, "min_t", 2, size, VALUE_AGG | VALUE_WORD)                                          \
	V(MAX, "max_t", 2, size, VALUE_AGG | VALUE_WORD)                                          \
	/* count, sum */                                                                          \
	V(AVG, "avg_t", 2, size, VALUE_AGG | VALUE_WORD)                                          \
	V(STATS, "stats_t", 2, size, VALUE_AGG | VALUE_WORD)                                      \
	/* one count for each bucket of bucket_hist_count(bits) */                                \
	V(HIST, "hist_t", 0, hist, VALUE_AGG | VALUE_WORD)                                        \
	/* one count for each bucket of bucket_lhist_count(min, max, step) */                     \
	V(LHIST, "lhist_t", 0, lhist, VALUE_AGG | VALUE_WORD)                                     \
	/* step: nanoseconds of an interval; max: how many; bits: enum series_kind. For each      \
	 * interval modulo their number: 1 + its number since boot (0: none), the value or total, \
	 * how many values (of the last one: its time) */                                         \
	V(TSERIES, "tseries_t", 0, series, VALUE_AGG | VALUE_WORD)                                \
	/* fields: several of COUNT, SUM, MIN, MAX, AVG under one key, all with names: their cells,\
	 * one after the other */                                                                 \
	V(AGGS, NULL, 0, fields, VALUE_AGG | VALUE_WORD)
/* clang-format on */

enum type_kind {
#define V(id, ...) TYPE_##id,
	VALUE_KINDS(V)
#undef V
};

enum value_trait {
	VALUE_SCALAR = 1 << 0,   /* a number: bool, integer, pointer */
	VALUE_WORD = 1 << 1,     /* one word stands for it where it is computed */
	VALUE_COMPARED = 1 << 2, /* == compares its bytes; not so where one looks like several */
	VALUE_STACK = 1 << 3,    /* frames are kept under its number */
	VALUE_AGG = 1 << 4,      /* only as the value of a map, in a cell */
};

#endif
