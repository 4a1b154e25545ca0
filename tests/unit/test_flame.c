/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Flame graphs: merging, folded lines, edges that add up, escaping, rows of maps. */
#include "out_fixture.h"

#include <stdio.h>
#include <stdlib.h>

#include "out/flame.h"

static struct flame flame;

static struct frame_name frame(const char *name, enum frame_kind kind)
{
	return (struct frame_name){ .name = name, .module = "", .kind = kind };
}

/* "a;b;c", all of the same kind. */
static void add(const char *stack, s64 value, enum frame_kind kind)
{
	struct str rest = str_of(stack);

	flame_begin(&flame, value);
	while (rest.p) {
		struct str part = str_cut(rest, ';', &rest);
		struct frame_name f = frame(arena_strndup(&fixture_arena, part.p, part.n), kind);

		flame_frame(&flame, &f);
	}
	flame_end(&flame);
}

static int start(void **state)
{
	(void)state;
	flame_free(&flame);
	flame = (struct flame){ 0 };
	return 0;
}

static int stop(void **state)
{
	start(state);
	fixture_free();
	return 0;
}

static void folded_is(const char *expected)
{
	flame_sort(&flame);
	flame_fold(fixture_start(), &flame);
	fixture_is(expected);
}

static const char *picture(void)
{
	static const struct flame_svg o = { "a <title> & more", "bytes", false, NULL };

	flame_sort(&flame);
	flame_svg(fixture_start(), &flame, &o);
	return buf_text(&fixture_buf);
}

/* Reads folded stacks into `old`; what is wrong with them, or NULL. */
static const char *unfold(struct flame *old, const char *text)
{
	static struct err e;

	e = (struct err){ 0 };
	return flame_unfold(old, text, strlen(text), &e) ? NULL : e.text;
}

static const struct flame_node *kid_of(const struct flame_node *n, const char *name)
{
	n = n->kids;
	while (n && strcmp(n->name, name) != 0)
		n = n->next;
	assert_non_null(n);
	return n;
}

/* ---- folding --------------------------------------------------------------------------------- */

static void test_merge(void **state)
{
	(void)state;
	add("main;work;malloc", 3, FRAME_PROGRAM);
	add("main;idle", 1, FRAME_PROGRAM);
	add("main;work;malloc", 4, FRAME_PROGRAM);
	add("main;work", 5, FRAME_PROGRAM);
	add("other", 2, FRAME_PROGRAM);
	folded_is("main;idle 1\nmain;work 5\nmain;work;malloc 7\nother 2\n");
	assert_int_equal(flame.root.value, 15);
	assert_int_equal(flame.stacks, 4);
	assert_int_equal(flame.root.n_kids, 2);
}

/* The same name in two files, or in the kernel and a program, is not the same function. */
static void test_kinds_apart(void **state)
{
	struct frame_name one = { .name = "read", .module = "/a.so", .kind = FRAME_LIBRARY },
			  two = { .name = "read", .module = "/b.so", .kind = FRAME_LIBRARY };

	(void)state;
	add("read", 1, FRAME_PROGRAM);
	add("read", 2, FRAME_KERNEL);
	flame_begin(&flame, 4);
	flame_frame(&flame, &one);
	flame_end(&flame);
	flame_begin(&flame, 8);
	flame_frame(&flame, &two);
	flame_end(&flame);
	assert_int_equal(flame.root.n_kids, 4);
	folded_is("read 2\nread 1\nread 4\nread 8\n");
}

static void test_names(void **state)
{
	(void)state;
	add("Lcom/X", 1, FRAME_JIT);
	flame_begin(&flame, 1);
	flame_frame(&flame, &(struct frame_name){
				    .name = "f(I;J)\n\x01\x7f", .module = "", .kind = FRAME_JIT });
	flame_frame(&flame, &(struct frame_name){ .name = "", .module = "", .kind = FRAME_JIT });
	flame_frame(&flame, &(struct frame_name){ .name = "\xff\xc3\xa9\xef\xbf\xbf",
	                                          .module = "",
	                                          .kind = FRAME_JIT });
	flame_end(&flame);
	folded_is("Lcom/X 1\nf(I:J)\\n\\x01\\x7f;(no name);\\xff\xc3\xa9\xef\xbf\xbd 1\n");
}

/* What was written can be read again. */
static void test_unfold(void **state)
{
	static const char text[] = "a b, 12;main;work 5\nmain 1\nmain;work;mem cpy 7\n";

	(void)state;
	assert_null(unfold(&flame, text));
	folded_is(text);
	assert_int_equal(flame.root.value, 13);
	assert_int_equal(flame.stacks, 3);
	assert_null(unfold(&flame, "\nmain 1"));
	assert_int_equal(flame.root.value, 14);
}

static void test_unfold_refuses(void **state)
{
	static const char *const wrong[] = { "main",
		                             " 5",
		                             "main ",
		                             "main x",
		                             "main 1x",
		                             "main -1",
		                             "main 9223372036854775808",
		                             "main 12345678901234567890" };
	struct buf deep = { 0 };
	struct flame large = { 0 };

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_string_equal(unfold(&flame, wrong[i]),
		                    "line 1: is no folded stack (\"outermost;...;innermost "
		                    "value\")");
	assert_string_equal(unfold(&flame, "a 1\nb 2\n\nc"),
	                    "line 4: is no folded stack (\"outermost;...;innermost value\")");
	for (u32 i = 0; i < FLAME_DEPTH; i++)
		buf_puts(&deep, "f;");
	buf_puts(&deep, "f 1");
	assert_string_equal(unfold(&flame, buf_text(&deep)), "line 1: has more than 2048 frames");
	for (u32 i = 0; i < 9; i++)
		assert_null(unfold(&flame, "a 999999999999999999"));
	assert_string_equal(unfold(&flame, "a 999999999999999999"),
	                    "line 1: makes the values add up to more than 2^63 - 1");
	buf_reset(&deep);
	buf_fill(&deep, 'x', FLAME_LINE + 1);
	assert_string_equal(unfold(&flame, buf_text(&deep)),
	                    "line 1: is longer than 1048576 bytes");
	buf_free(&deep);
	assert_null(unfold(&large, "main 9223372036854775807"));
	flame_free(&large);
}

static void test_compare(void **state)
{
	struct flame old = { 0 };
	const struct flame_node *main;

	(void)state;
	assert_null(unfold(&old, "main;gone;deep 7\nmain;work;malloc 2\nmain 4\nzzz 1\n"));
	add("main;work;malloc", 3, FRAME_PROGRAM);
	add("main;new", 1, FRAME_PROGRAM);
	flame_compare(&flame, &old);
	main = kid_of(&flame.root, "main");
	assert_int_equal(flame.root.before, 14);
	assert_int_equal(main->before, 13);
	assert_int_equal(main->before_self, 4);
	assert_int_equal(kid_of(main, "work")->before, 2);
	assert_int_equal(kid_of(kid_of(main, "work"), "malloc")->before_self, 2);
	assert_int_equal(kid_of(main, "new")->before, 0);
	assert_int_equal(flame.gone, 8);
	flame_free(&old);
}

/* With kinds and files, and back. */
static void test_fold_whole(void **state)
{
	struct frame_name one = frame("read", FRAME_LIBRARY);
	struct flame back = { 0 };
	struct buf text = { 0 };

	(void)state;
	one.module = "libc.so.6";
	add("main", 1, FRAME_PROGRAM);
	flame_begin(&flame, 5);
	flame_frame(&flame, &one);
	flame_end(&flame);
	flame_sort(&flame);
	flame_fold_whole(&text, &flame);
	assert_null(unfold(&back, buf_text(&text)));
	flame_sort(&back);
	assert_int_equal(kid_of(&back.root, "main")->kind, FRAME_PROGRAM);
	assert_string_equal(kid_of(&back.root, "read")->module, "libc.so.6");
	assert_int_equal(kid_of(&back.root, "read")->kind, FRAME_LIBRARY);
	assert_int_equal(kid_of(&back.root, "read")->self, 5);
	flame_free(&back);
	buf_free(&text);
}

/* Folded stacks do not say in which file a function is: each has its share of what was. */
static void test_compare_namesakes(void **state)
{
	struct flame old = { 0 };

	(void)state;
	assert_null(unfold(&old, "read;x 40\n"));
	add("read;x", 1, FRAME_PROGRAM);
	add("read;x", 3, FRAME_KERNEL);
	flame_compare(&flame, &old);
	for (const struct flame_node *n = flame.root.kids; n; n = n->next) {
		assert_int_equal(n->before, n->value * 10);
		assert_int_equal(kid_of(n, "x")->before_self, n->value * 10);
	}
	assert_int_equal(flame.gone, 0);
	flame_free(&old);
}

/* Each class of change, and what the picture says of it. */
static void test_picture_of_changes(void **state)
{
	static const struct flame_svg o = { "t", "bytes", true, NULL };
	static const struct {
		const char *name, *class;
	} frames[] = { { "fell", "d0" }, { "less", "d1" }, { "like", "d2" },
		       { "more", "d3" }, { "born", "d4" }, { "rose", "d4" } };
	struct flame old = { 0 };
	char text[64];

	(void)state;
	assert_null(unfold(&old, "fell 40\nless 25\nlike 20\nmore 15\nrose 10\nlost 3\n"));
	for (u32 i = 0; i < ARRAY_SIZE(frames); i++)
		add(frames[i].name, 20, FRAME_PROGRAM);
	flame_compare(&flame, &old);
	flame_svg(fixture_start(), &flame, &o);
	for (u32 i = 0; i < ARRAY_SIZE(frames); i++) {
		const char *at;

		snprintf(text, sizeof(text), "<title>%s\n", frames[i].name);
		at = strstr(buf_text(&fixture_buf), text);
		assert_non_null(at);
		while (strncmp(at, "<g class=\"", 10) != 0)
			at--;
		assert_memory_equal(at + 10, frames[i].class, 2);
	}
	assert_non_null(strstr(buf_text(&fixture_buf), ", 15 before (+33.3 %)</title>"));
	assert_non_null(strstr(buf_text(&fixture_buf), ", 0 before</title>"));
	assert_non_null(strstr(buf_text(&fixture_buf), "3 of before are in frames that are gone"));
	flame_free(&old);
}

static void test_refused(void **state)
{
	(void)state;
	add("a", 0, FRAME_PROGRAM);
	add("a;b", -5, FRAME_PROGRAM);
	add("c", 1, FRAME_PROGRAM);
	folded_is("c 1\n");
	assert_int_equal(flame.refused, 2);
	assert_int_equal(flame.root.value, 1);
	assert_non_null(strstr(picture(), "2 stacks have a value below 1 and are not counted"));
}

static void test_too_many(void **state)
{
	char name[16];

	(void)state;
	for (u32 i = 0; i < FLAME_NODES; i++) {
		snprintf(name, sizeof(name), "%u", i);
		flame_begin(&flame, 1);
		flame_frame(&flame, &(struct frame_name){
					    .name = name, .module = "", .kind = FRAME_OTHER });
		flame_end(&flame);
	}
	assert_int_equal(flame.cut, 0);
	add("7;x", 10, FRAME_OTHER);
	add("y", 100, FRAME_OTHER);
	assert_int_equal(flame.cut, 2);
	assert_int_equal(flame.nodes.n, FLAME_NODES);
	assert_int_equal(flame.stacks, FLAME_NODES + 1);
	assert_int_equal(flame.root.value, FLAME_NODES + 110);
	assert_int_equal(flame.root.self, 100);
}

/* ---- the picture ----------------------------------------------------------------------------- */

/* Of the frame with that name: edges in parts of a million, and its height in the picture. */
struct box {
	u32 left, width, y;
};

static u32 parts(const char *p, const char *attribute)
{
	u32 whole, rest;

	p = strstr(p, attribute);
	assert_non_null(p);
	assert_int_equal(sscanf(p + strlen(attribute), "%u.%4u%%", &whole, &rest), 2);
	return whole * 10000 + rest;
}

static struct box box_of(const char *svg, const char *name)
{
	char title[64];
	struct box box = { 0 };
	const char *p;

	snprintf(title, sizeof(title), "<title>%s\n", name);
	p = strstr(svg, title);
	p = p ? strstr(p, "<rect") : NULL;
	if (!p) {
		fail_msg("no frame %s", name);
		return box;
	}
	box = (struct box){ parts(p, " x=\""), parts(p, " width=\""), 0 };
	assert_int_equal(sscanf(strstr(p, " y=\""), " y=\"%u\"", &box.y), 1);
	return box;
}

static void test_edges(void **state)
{
	static const char *const names[] = { "a", "b", "c", "d", "e", "f", "g" };
	const char *svg;
	u32 at = 0;

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(names); i++)
		add(names[i], 1, FRAME_PROGRAM); /* a seventh is no whole number of parts */
	svg = picture();
	for (u32 i = 0; i < ARRAY_SIZE(names); i++) {
		struct box box = box_of(svg, names[i]);

		assert_int_equal(box.left, at);
		at += box.width;
	}
	assert_int_equal(at, 1000000);
	assert_int_equal(box_of(svg, "all").width, 1000000);
	assert_int_equal(box_of(svg, "all").y, box_of(svg, "a").y + 18);
}

/* Random trees: kids begin where their parent does, follow each other, and end inside it; what is
 * missing is the parent's own. */
static void test_edges_random(void **state)
{
	(void)state;
	srand(7);
	for (u32 round = 0; round < 20; round++) {
		struct box parent, last = { 0 };
		u64 own = (u64)rand() % 1000, total = own;
		const char *svg;

		start(state);
		for (u32 i = 0; i < 9; i++) {
			char stack[16];
			u64 value = 1 + (u64)rand() % (i % 2 ? 1000 : 4000000000u);

			snprintf(stack, sizeof(stack), "p;k%u", i);
			add(stack, (s64)value, FRAME_KERNEL);
			total += value;
		}
		if (own)
			add("p", (s64)own, FRAME_KERNEL);
		assert_int_equal(flame.root.value, total);
		svg = picture();
		parent = box_of(svg, "p");
		assert_int_equal(parent.width, 1000000);
		for (u32 i = 0; i < 9; i += 2) { /* the wide ones are always drawn */
			char name[8];
			struct box box;

			snprintf(name, sizeof(name), "k%u", i);
			box = box_of(svg, name);
			assert_true(box.left >= last.left + last.width);
			assert_true(box.left + box.width <= 1000000);
			last = box;
		}
	}
}

static void test_thin(void **state)
{
	const char *svg;

	(void)state;
	add("wide", 1180000, FRAME_PROGRAM);
	add("thin;inside", 99, FRAME_PROGRAM);
	svg = picture();
	assert_non_null(strstr(svg, "<title>wide\n"));
	assert_null(strstr(svg, "<title>thin"));
	assert_null(strstr(svg, "<title>inside"));
	assert_non_null(strstr(svg, ">2 frames thinner than 0.1 px are not drawn<"));
	assert_non_null(strstr(svg, "1,180,099 bytes (1.1 MiB) in 2 stacks"));
	add("thin;inside", 100, FRAME_PROGRAM);
	assert_non_null(strstr(picture(), "<title>inside"));
}

static void test_escaping(void **state)
{
	const char *svg;

	(void)state;
	add("std::vector<int, \"&\">::push", 1, FRAME_LIBRARY);
	svg = picture();
	assert_non_null(
		strstr(svg, "<title>std::vector&lt;int, &quot;&amp;&quot;&gt;::push\n1 bytes"));
	assert_non_null(strstr(svg, ">std::vector&lt;int, &quot;&amp;&quot;&gt;::push</text>"));
	assert_non_null(strstr(svg, ">a &lt;title&gt; &amp; more</text>"));
}

static void test_labels(void **state)
{
	char long_name[300];
	const char *svg;

	(void)state;
	for (u32 i = 0; i < 149; i++)
		memcpy(long_name + i * 2, "\xc3\xa9", 2);
	long_name[298] = 0;
	add("short", 1, FRAME_LIBRARY);
	add(long_name, 1, FRAME_JIT);
	svg = picture();
	assert_non_null(strstr(svg, ">short</text>"));
	/* 590 pixels: 80 characters, the last two ".."; no character is cut in the middle. */
	assert_non_null(strstr(svg, "\xc3\xa9..</text>"));
	assert_null(strstr(svg, "\xc3.."));
	assert_non_null(strstr(svg, ">compiled (JIT)</text>"));
	assert_null(strstr(svg, ">kernel</text>"));
}

static void test_empty(void **state)
{
	const char *svg;

	(void)state;
	folded_is("");
	svg = picture();
	assert_non_null(strstr(svg, ">0 bytes in 0 stacks<"));
	assert_null(strstr(svg, "<g class"));
}

/* ---- rows of a map --------------------------------------------------------------------------- */

static const struct type *key_type(void)
{
	const struct type *parts[] = { type_stack(&fixture_arena, TYPE_USTACK, STACK_BPFTRACE, 9),
		                       &type_u32,
		                       type_stack(&fixture_arena, TYPE_KSTACK, STACK_BPFTRACE, 9) };

	return type_tuple(&fixture_arena, parts, 3);
}

static void add_rows(const struct type *value, const u64 *cell, const char *part)
{
	const struct type *key = key_type();
	struct umap m = { .name = "@x",
		          .key = key,
		          .value = value,
		          .key_size = type_slot(key),
		          .value_size = type_cell(value) };
	u64 words[4] = { 1, 77, 42, 2 };
	struct table t;

	table_init(&t, &fixture_arena, &fixture_unit, &m);
	table_add(&t, words, cell, 1);
	flame_add_table(&flame, &fixture_out, &t, part);
}

static void test_rows(void **state)
{
	struct type count = { .kind = TYPE_COUNT, .size = 8 },
		    stats = { .kind = TYPE_STATS, .size = 16 }, hist = { .kind = TYPE_HIST };
	u64 buckets[66] = { [3] = 5, [9] = 6 };

	(void)state;
	add_rows(&count, (u64[]){ 3 }, NULL);
	folded_is("42;main;user;main;kernel 3\n");
	add_rows(&stats, (u64[]){ 2, 90 }, NULL);
	folded_is("42;main;user;main;kernel 93\n");
	add_rows(&hist, buckets, NULL);
	folded_is("42;main;user;main;kernel 104\n");
	add_rows(&type_s64, (u64[]){ (u64)-3 }, NULL);
	assert_int_equal(flame.refused, 1);
}

static void test_parts(void **state)
{
	static const char *const names[] = { "who", "bytes", "calls" };
	const struct type *types[] = { type_str(&fixture_arena, 8, true), &type_u64, &type_u64 };
	const struct type *record = type_record(&fixture_arena, types, names, 3);
	const u64 cell[] = { 0x41, 1000, 7 };
	struct umap m = { .name = "@x", .key = key_type(), .value = record };
	u32 index;

	(void)state;
	assert_true(flame_fits(&m));
	assert_true(flame_part(&m, "calls", &index));
	assert_int_equal(index, 2);
	assert_false(flame_part(&m, "who", &index));
	assert_false(flame_part(&m, "none", &index));
	add_rows(record, cell, "calls");
	folded_is("42;main;user;main;kernel 7\n");
	add_rows(record, cell, NULL);
	folded_is("42;main;user;main;kernel 1007\n");
	m.value = types[0];
	assert_false(flame_fits(&m));
	m = (struct umap){ .name = "@x", .key = &type_u64, .value = &type_u64 };
	assert_false(flame_fits(&m));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_merge, start),
		cmocka_unit_test_setup(test_kinds_apart, start),
		cmocka_unit_test_setup(test_names, start),
		cmocka_unit_test_setup(test_unfold, start),
		cmocka_unit_test_setup(test_unfold_refuses, start),
		cmocka_unit_test_setup(test_fold_whole, start),
		cmocka_unit_test_setup(test_compare, start),
		cmocka_unit_test_setup(test_compare_namesakes, start),
		cmocka_unit_test_setup(test_picture_of_changes, start),
		cmocka_unit_test_setup(test_refused, start),
		cmocka_unit_test_setup(test_too_many, start),
		cmocka_unit_test_setup(test_edges, start),
		cmocka_unit_test_setup(test_edges_random, start),
		cmocka_unit_test_setup(test_thin, start),
		cmocka_unit_test_setup(test_escaping, start),
		cmocka_unit_test_setup(test_labels, start),
		cmocka_unit_test_setup(test_empty, start),
		cmocka_unit_test_setup(test_rows, start),
		cmocka_unit_test_setup(test_parts, start),
	};

	return cmocka_run_group_tests(tests, NULL, stop);
}
