/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * For the objects here, which are compiled for their relocations and never run. Each program sums
 * up what its relocations come to, so that none is optimised away.
 */
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char s8;
typedef short s16;
typedef int s32;
typedef long long s64;

#define SEC(name) __attribute__((section(name), used))
#define CORE      __attribute__((preserve_access_index))

#define OFFSET(f) __builtin_preserve_field_info(f, 0)
#define SIZE(f)   __builtin_preserve_field_info(f, 1)
#define EXISTS(f) __builtin_preserve_field_info(f, 2)
#define SIGNED(f) __builtin_preserve_field_info(f, 3)
#define LSHIFT(f) __builtin_preserve_field_info(f, 4)
#define RSHIFT(f) __builtin_preserve_field_info(f, 5)
#define PLACE(f)  (OFFSET(f) + SIZE(f) + EXISTS(f))
#define ALL(f)    (PLACE(f) + SIGNED(f) + LSHIFT(f) + RSHIFT(f))

#define TYPE_EXISTS(t)    __builtin_preserve_type_info(*(typeof(t) *)0, 0)
#define TYPE_SIZE(t)      __builtin_preserve_type_info(*(typeof(t) *)0, 1)
#define ID_LOCAL(t)       __builtin_btf_type_id(*(typeof(t) *)0, 0)
#define ID_TARGET(t)      __builtin_btf_type_id(*(typeof(t) *)0, 1)
#define TYPE(t)           (TYPE_EXISTS(t) + TYPE_SIZE(t) + ID_TARGET(t))
#define ENUM_EXISTS(t, v) __builtin_preserve_enum_value(*(typeof(t) *)v, 0)
#define ENUM_VALUE(t, v)  __builtin_preserve_enum_value(*(typeof(t) *)v, 1)
#define ENUM(t, v)        (ENUM_EXISTS(t, v) + ENUM_VALUE(t, v))

/* A program whose argument is a pointer to a type. */
#define PROGRAM(name, type, arg) SEC("kprobe/" #name) u64 name(type *arg)
