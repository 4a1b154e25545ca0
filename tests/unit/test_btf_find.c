/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The BTF reader against types written out here by hand and against bpftool's reading of the
 * kernel. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "btf/btf.h"
#include "btf_build.h"

#define KERNEL "/sys/kernel/btf/vmlinux"

/* ---- writing BTF ---------------------------------------------------------------------------- */

/* The first word of a header: a magic number of 16 bits, version 1, no flags. */
#define MAGIC (BIG_ENDIAN_HOST ? 0xeb9f0100 : 0x0001eb9f)

struct writer {
	struct buf types, strs, layout, file;
};

static void word(struct writer *w, u32 v)
{
	buf_add(&w->types, &v, sizeof(v));
}

static u32 name(struct writer *w, const char *z)
{
	u32 off = (u32)w->strs.n;

	if (!*z)
		return 0;
	buf_add(&w->strs, z, strlen(z) + 1);
	return off;
}

static void type(struct writer *w, const char *z, u32 kind, u32 vlen, u32 size)
{
	word(w, name(w, z));
	word(w, kind << 24 | vlen);
	word(w, size);
}

static void three(struct writer *w, u32 a, u32 b, u32 c)
{
	word(w, a);
	word(w, b);
	word(w, c);
}

static void begin(struct writer *w)
{
	*w = (struct writer){ 0 };
	buf_putc(&w->strs, 0);
}

static const void *finish(struct writer *w, bool with_layout, size_t *n)
{
	u32 hdr = with_layout ? 32 : 24, t = (u32)w->types.n, l = (u32)w->layout.n;
	u32 head[8] = { MAGIC, hdr, 0, t, t + l, (u32)w->strs.n, t, l };

	buf_reset(&w->file);
	buf_add(&w->file, head, hdr);
	buf_add(&w->file, w->types.p, t);
	if (l)
		buf_add(&w->file, w->layout.p, l);
	buf_add(&w->file, w->strs.p, w->strs.n);
	*n = w->file.n;
	return w->file.p;
}

static void end(struct writer *w)
{
	buf_free(&w->types);
	buf_free(&w->strs);
	buf_free(&w->layout);
	buf_free(&w->file);
}

/*
 *  1 int                       6 struct { union 5; int far; } anon, bit-fields
 *  2 unsigned char             7 struct outer { int a; anon 6; int bits:3, more:5; char *p }
 *  3 ptr to 2                  8 typedef outer_t = const outer     9 const
 *  4 array of 10 int          10 enum   11 enum64   12 proto   13 func
 *  5 union { int u1; long u2 } 14 old style bit-field int  15 struct with it
 */
static void write_sample(struct writer *w)
{
	begin(w);
	type(w, "int", BTF_KIND_INT, 0, 4);
	word(w, 1u << 24 | 32);
	type(w, "unsigned char", BTF_KIND_INT, 0, 1);
	word(w, 2u << 24 | 8);
	type(w, "", BTF_KIND_PTR, 0, 2);
	type(w, "", BTF_KIND_ARRAY, 0, 0);
	three(w, 1, 1, 10);
	type(w, "", BTF_KIND_UNION, 2, 8);
	three(w, name(w, "u1"), 1, 0);
	three(w, name(w, "u2"), 3, 0);
	type(w, "", BTF_KIND_STRUCT, 2, 16);
	three(w, 0, 5, 0);
	three(w, name(w, "far"), 1, 64);
	type(w, "outer", BTF_KIND_STRUCT | KIND_FLAG, 5, 40);
	three(w, name(w, "a"), 1, 0);
	three(w, 0, 6, 64);
	three(w, name(w, "bits"), 1, 3u << 24 | 192);
	three(w, name(w, "more"), 1, 5u << 24 | 195);
	three(w, name(w, "p"), 3, 256);
	type(w, "outer_t", BTF_KIND_TYPEDEF, 0, 9);
	type(w, "", BTF_KIND_CONST, 0, 7);
	type(w, "color", BTF_KIND_ENUM | KIND_FLAG, 2, 4);
	word(w, name(w, "RED"));
	word(w, 1);
	word(w, name(w, "NONE"));
	word(w, (u32)-1);
	type(w, "big", BTF_KIND_ENUM64, 1, 8);
	three(w, name(w, "BIG"), 2, 1);
	type(w, "", BTF_KIND_FUNC_PROTO, 3, 1);
	word(w, name(w, "x"));
	word(w, 1);
	word(w, 0);
	word(w, 3);
	word(w, 0);
	word(w, 0);
	type(w, "func", BTF_KIND_FUNC, 1, 12);
	type(w, "int", BTF_KIND_INT, 0, 4);
	word(w, 1u << 24 | 2u << 16 | 5);
	type(w, "old", BTF_KIND_STRUCT, 1, 4);
	three(w, name(w, "narrow"), 14, 8);
}

static struct btf *must_open(struct writer *w, bool with_layout)
{
	struct btf *b;
	struct btf_error e;
	size_t n;
	const void *p = finish(w, with_layout, &n);

	b = btf_open_memory(p, n, &e);
	if (!b)
		fail_msg("%s", e.text);
	return b;
}

/* ---- the sample ----------------------------------------------------------------------------- */

static void reads_types(void **state)
{
	struct btf_info info = { 0 };
	struct btf_int i = { 0 };
	struct writer w;
	struct btf *b;
	u32 elem = 0, index = 0, count = 0;

	(void)state;
	write_sample(&w);
	b = must_open(&w, false);
	assert_true(btf_info(b, 7, &info));
	assert_int_equal(info.kind, BTF_KIND_STRUCT);
	assert_int_equal(info.size, 40);
	assert_int_equal(info.vlen, 5);
	assert_true(info.kind_flag);
	assert_string_equal(info.name, "outer");
	assert_false(btf_info(b, 0, &info));
	assert_false(btf_info(b, 16, &info));
	assert_true(btf_info(b, 1, &info) && btf_int(b, &info, &i));
	assert_true(i.is_signed && !i.is_bool && !i.is_char && i.bits == 32);
	assert_true(btf_info(b, 2, &info) && btf_int(b, &info, &i));
	assert_true(!i.is_signed && !i.is_bool && i.is_char);
	assert_true(btf_info(b, 3, &info));
	assert_false(btf_int(b, &info, &i));
	assert_true(btf_info(b, 4, &info) && btf_array_of(b, &info, &elem, &index, &count));
	assert_int_equal(elem, 1);
	assert_int_equal(count, 10);
	assert_int_equal(btf_size(b, 4), 40);
	assert_int_equal(btf_size(b, 3), 8);
	assert_int_equal(btf_size(b, 8), 40);
	assert_int_equal(btf_size(b, 13), 0);
	assert_int_equal(btf_skip(b, 8), 7);
	assert_int_equal(btf_skip(b, 0), 0);
	btf_unref(b);
	end(&w);
}

static void finds_by_name_and_kind(void **state)
{
	struct writer w;
	struct btf *b;

	(void)state;
	write_sample(&w);
	b = must_open(&w, false);
	assert_int_equal(btf_find(b, BTF_KIND_STRUCT, "outer"), 7);
	assert_int_equal(btf_find(b, 0, "outer_t"), 8);
	assert_int_equal(btf_find(b, BTF_KIND_FUNC, "func"), 13);
	assert_int_equal(btf_find(b, BTF_KIND_UNION, "outer"), 0);
	assert_int_equal(btf_find(b, BTF_KIND_STRUCT, "oute"), 0);
	assert_int_equal(btf_find(b, BTF_KIND_STRUCT, "uter"), 0);
	assert_int_equal(btf_find(b, BTF_KIND_STRUCT, ""), 0);
	assert_int_equal(btf_find_c(b, "struct outer"), 7);
	assert_int_equal(btf_find_c(b, "const  struct outer"), 7);
	assert_int_equal(btf_find_c(b, "enum color"), 10);
	assert_int_equal(btf_find_c(b, "enum big"), 11);
	assert_int_equal(btf_find_c(b, "outer_t"), 8);
	assert_int_equal(btf_find_c(b, "signed"), 1);
	assert_int_equal(btf_find_c(b, "char unsigned"), 2);
	assert_int_equal(btf_find_c(b, "unsigned outer"), 0);
	assert_int_equal(btf_find_c(b, ""), 0);
	btf_unref(b);
	end(&w);
}

/* A name may be the tail of another string, or be written twice. */
static void finds_names_that_share_strings(void **state)
{
	struct writer w;
	struct btf *b;

	(void)state;
	begin(&w);
	type(&w, "struct_page", BTF_KIND_TYPEDEF, 0, 0);
	word(&w, 1 + 7); /* "page" inside "struct_page" */
	word(&w, BTF_KIND_STRUCT << 24);
	word(&w, 64);
	type(&w, "twice", BTF_KIND_FWD, 0, 0);
	type(&w, "twice", BTF_KIND_STRUCT, 0, 8);
	b = must_open(&w, false);
	assert_int_equal(btf_find(b, BTF_KIND_STRUCT, "page"), 2);
	assert_int_equal(btf_find(b, BTF_KIND_STRUCT, "twice"), 4);
	btf_unref(b);
	end(&w);
}

static void finds_members(void **state)
{
	struct btf_field m;
	struct btf_info t = { 0 };
	struct writer w;
	struct btf *b;

	(void)state;
	write_sample(&w);
	b = must_open(&w, false);
	assert_true(btf_field_find(b, 7, "far", &m));
	assert_int_equal(m.bit_off, 128);
	assert_int_equal(m.type, 1);
	assert_true(btf_field_find(b, 7, "u2", &m));
	assert_int_equal(m.bit_off, 64);
	assert_true(btf_field_find(b, 7, "more", &m));
	assert_int_equal(m.bit_off, 195);
	assert_int_equal(m.bit_size, 5);
	assert_false(btf_field_find(b, 7, "none", &m));
	assert_false(btf_field_find(b, 1, "a", &m));
	assert_true(btf_info(b, 7, &t) && btf_field(b, &t, 1, &m));
	assert_string_equal(m.name, "");
	assert_int_equal(m.type, 6);
	assert_false(btf_field(b, &t, 5, &m));
	assert_true(btf_field_find(b, 15, "narrow", &m));
	assert_int_equal(m.bit_off, 10);
	assert_int_equal(m.bit_size, 5);
	btf_unref(b);
	end(&w);
}

static bool add_name(void *ctx, const struct btf_field *f)
{
	buf_printf(ctx, "%s ", f->name);
	return true;
}

static void lists_member_names(void **state)
{
	struct buf names = { 0 };
	struct writer w;
	struct btf *b;

	(void)state;
	write_sample(&w);
	b = must_open(&w, false);
	btf_field_each(b, 7, add_name, &names);
	assert_string_equal(buf_text(&names), "a u1 u2 far bits more p ");
	buf_free(&names);
	btf_unref(b);
	end(&w);
}

static void reads_functions_and_enums(void **state)
{
	struct btf_enumerator v = { 0 };
	struct btf_info t = { 0 };
	struct btf_arg arg = { 0 };
	struct writer w;
	struct btf *b;
	bool variadic;
	s64 value;
	u32 n, id;

	(void)state;
	write_sample(&w);
	b = must_open(&w, false);
	assert_true(btf_proto(b, 13, &t, &n, &variadic));
	assert_int_equal(t.type, 1);
	assert_int_equal(n, 2);
	assert_true(variadic);
	assert_true(btf_arg(b, &t, 0, &arg));
	assert_string_equal(arg.name, "x");
	assert_int_equal(arg.type, 1);
	assert_true(btf_arg(b, &t, 1, &arg));
	assert_string_equal(arg.name, "");
	assert_false(btf_arg(b, &t, 3, &arg));
	assert_false(btf_proto(b, 7, &t, &n, &variadic));
	assert_true(btf_info(b, 10, &t) && btf_enumerator(b, &t, 1, &v));
	assert_string_equal(v.name, "NONE");
	assert_int_equal(v.value, -1);
	assert_false(btf_enumerator(b, &t, 2, &v));
	assert_true(btf_info(b, 11, &t) && btf_enumerator(b, &t, 0, &v));
	assert_true(v.value == (s64)(1ull << 32 | 2));
	assert_true(btf_enum_find(b, "RED", &value, &id));
	assert_int_equal(value, 1);
	assert_int_equal(id, 10);
	assert_false(btf_enum_find(b, "outer", &value, &id));
	assert_string_equal(btf_enum_name(b, 10, -1), "NONE");
	assert_null(btf_enum_name(b, 10, 7));
	btf_unref(b);
	end(&w);
}

/* ---- headers and damage --------------------------------------------------------------------- */

static void skips_unknown_kinds_by_layout(void **state)
{
	struct writer w;
	struct btf *b;

	(void)state;
	begin(&w);
	type(&w, "strange", 25, 2, 0);
	three(&w, 1, 2, 3);
	word(&w, 4);
	word(&w, 5);
	type(&w, "after", BTF_KIND_STRUCT, 0, 4);
	b = must_open(&w, true);
	assert_int_equal(btf_find(b, BTF_KIND_STRUCT, "after"), 0);
	btf_unref(b);
	buf_fill(&w.layout, 0, 25 * 4);
	buf_add(&w.layout, "\4\10\0\0", 4); /* 4 bytes, and 8 for each of vlen */
	b = must_open(&w, true);
	assert_int_equal(btf_find(b, BTF_KIND_STRUCT, "after"), 2);
	btf_unref(b);
	end(&w);
}

static void refuses_what_is_not_btf(void **state)
{
	static const struct {
		u32 at;
		u8 byte;
		const char *text;
	} cases[] = {
		{ 0, 0, "the data is not BTF" },
		{ 2, 2, "the BTF data has version 2; only version 1 is supported" },
		{ 7, 1, "the BTF header is damaged" },
		{ 15, 1, "the BTF type section" },
		{ 19, 1, "the BTF string section" },
	};
	struct writer w;
	struct btf_error e;
	size_t n;

	(void)state;
	write_sample(&w);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		/* The highest byte of a word is its first in the other order. */
		u32 at = BIG_ENDIAN_HOST && cases[i].at > 3 ? cases[i].at - 3 : cases[i].at;

		finish(&w, false, &n);
		w.file.p[at] = (char)cases[i].byte;
		assert_null(btf_open_memory(w.file.p, n, &e));
		assert_memory_equal(e.text, cases[i].text, strlen(cases[i].text));
	}
	finish(&w, false, &n);
	assert_null(btf_open_memory(w.file.p, 23, &e));
	end(&w);
}

static void bounds_work_on_hostile_types(void **state)
{
	struct btf_field m;
	struct writer w;
	struct btf *b;

	(void)state;
	begin(&w);
	type(&w, "loop", BTF_KIND_TYPEDEF, 0, 1);
	type(&w, "nest", BTF_KIND_STRUCT, 100, 4);
	for (u32 i = 0; i < 100; i++)
		three(&w, 0, 2, 0);
	type(&w, "", BTF_KIND_ARRAY, 0, 0);
	three(&w, 3, 3, 0xffffffff);
	type(&w, "cut", BTF_KIND_STRUCT, 1000, 4);
	b = must_open(&w, false);
	assert_int_equal(btf_skip(b, 1), 0);
	assert_false(btf_field_find(b, 2, "x", &m));
	assert_int_equal(btf_size(b, 3), 0);
	assert_int_equal(btf_find(b, 0, "cut"), 0);
	btf_unref(b);
	end(&w);
}

/* ---- the kernel's own ----------------------------------------------------------------------- */

/* What bpftool says: "[id] KIND 'name' size=N vlen=M". */
static bool bpftool_says(const char *what, const char *z, u32 *id, u32 *size)
{
	char command[256], line[512] = "";
	const char *at;
	FILE *p;

	snprintf(command, sizeof(command),
	         "bpftool btf dump file " KERNEL " 2>/dev/null | grep -m1 \"%s '%s'\"", what, z);
	p = popen(command, "r");
	if (!p || !fgets(line, sizeof(line), p))
		line[0] = 0;
	if (p)
		pclose(p);
	at = strstr(line, "size=");
	*size = at ? (u32)strtoul(at + 5, NULL, 10) : 0;
	*id = (u32)strtoul(line + (line[0] == '['), NULL, 10);
	return line[0] == '[';
}

static void agrees_with_bpftool(void **state)
{
	static const struct {
		u32 kind;
		const char *what, *name;
	} cases[] = {
		{ BTF_KIND_STRUCT, "STRUCT", "task_struct" },
		{ BTF_KIND_STRUCT, "STRUCT", "page" },
		{ BTF_KIND_UNION, "UNION", "bpf_attr" },
		{ BTF_KIND_TYPEDEF, "TYPEDEF", "gfp_t" },
		{ BTF_KIND_FUNC, "FUNC", "vfs_read" },
	};
	struct btf_error e;
	struct btf *b;

	(void)state;
	if (access(KERNEL, R_OK) != 0)
		skip();
	b = btf_open(KERNEL, &e);
	if (!b)
		fail_msg("%s", e.text);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct btf_info info;
		u32 id, size;

		if (!bpftool_says(cases[i].what, cases[i].name, &id, &size))
			continue;
		assert_int_equal(btf_find(b, cases[i].kind, cases[i].name), id);
		assert_true(btf_info(b, id, &info));
		assert_int_equal(info.size, size);
	}
	btf_unref(b);
}

static bool count_cb(void *ctx, u32 id, const char *z)
{
	(void)id;
	assert_memory_equal(z, "vfs_", 4);
	++*(u32 *)ctx;
	return true;
}

static void walks_through_kernel_types(void **state)
{
	struct btf_field m;
	struct btf_error e;
	struct btf *b;
	u32 id, n = 0;

	(void)state;
	if (access(KERNEL, R_OK) != 0)
		skip();
	b = btf_open(KERNEL, &e);
	assert_non_null(b);
	id = btf_find_c(b, "struct vm_area_struct");
	assert_true(btf_field_find(b, id, "vm_start", &m)); /* inside an anonymous union */
	assert_int_equal(btf_size(b, m.type), 8);
	assert_true(btf_field_find(b, id, "vm_file", &m));
	assert_true(btf_find_c(b, "unsigned long") > 0);
	btf_each(b, BTF_KIND_FUNC, "vfs_*", count_cb, &n);
	assert_true(n > 20);
	btf_unref(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_types),
		cmocka_unit_test(finds_by_name_and_kind),
		cmocka_unit_test(finds_names_that_share_strings),
		cmocka_unit_test(finds_members),
		cmocka_unit_test(lists_member_names),
		cmocka_unit_test(reads_functions_and_enums),
		cmocka_unit_test(skips_unknown_kinds_by_layout),
		cmocka_unit_test(refuses_what_is_not_btf),
		cmocka_unit_test(bounds_work_on_hostile_types),
		cmocka_unit_test(agrees_with_bpftool),
		cmocka_unit_test(walks_through_kernel_types),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
