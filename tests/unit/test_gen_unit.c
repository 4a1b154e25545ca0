/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a unit says besides its programs: how large its maps are, what is in its records, and where
 * the limits of a program lie.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "btf_build.h"
#include "interp/lab.h"
#include "memtap/btf.h"

static void compile(struct lab *l, const char *text)
{
	if (!lab_compile(l, text))
		fail_msg("%s\n%s", text, buf_text(&l->problem));
}

static const struct umap *map_named(const struct lab *l, const char *name)
{
	for (u32 i = 0; i < l->u->maps.n; i++)
		if (strcmp(l->u->maps.v[i].name, name) == 0)
			return &l->u->maps.v[i];
	fail_msg("no map %s", name);
	return NULL;
}

/* As many keys as there is memory for, only where nobody knows the keys or said a number. */
static void test_bound_by_memory(void **state)
{
	struct lab l;

	(void)state;
	lab_init(&l);
	compile(&l, "let @sized = percpuhash(9); interval:s:1 { @counts[pid] = count(); @one = "
	            "count(); "
	            "@values[pid] = 1; @stacks[ustack] = 1; @sized[pid] = count(); }");
	assert_true(map_named(&l, "@counts")->by_memory);
	assert_true(map_named(&l, "@stacks")->by_memory);
	assert_false(map_named(&l, "@one")->by_memory);
	assert_false(map_named(&l, "@values")->by_memory);
	assert_false(map_named(&l, "@sized")->by_memory);
	compile(&l, "config = { max_map_keys = 77 } interval:s:1 { @counts[pid] = count(); "
	            "@stacks[ustack] = 1; }");
	assert_false(map_named(&l, "@counts")->by_memory);
	assert_false(map_named(&l, "@stacks")->by_memory);
	assert_int_equal(map_named(&l, "@counts")->max_entries, 77);
	lab_free(&l);
}

/* The only map there is, and the first. */
static void test_scratch_alone(void **state)
{
	struct lab l;

	(void)state;
	lab_init(&l);
	compile(&l, "BEGIN { $a = (pid, str_concat(comm, comm), str_concat(comm, comm)); $b = $a; "
	            "$c = $b; "
	            "$d = $c; $e = $d; if ($a.1 == $e.1) { return; } }");
	assert_int_equal(unit_map(l.u, UMAP_SCRATCH), 0);
	assert_true(l.u->maps.v[0].value_size > 0);
	if (!lab_fire(&l, ATTACH_BEGIN, NULL, 0))
		fail_msg("%s", buf_text(&l.problem));
	lab_free(&l);
}

/* Each is refused with one message. */
static void refused(struct lab *l, const struct buf *script, const char *why)
{
	const char *at;

	assert_false(lab_compile(l, buf_text(script)));
	at = strstr(buf_text(&l->problem), why);
	assert_non_null(at);
	assert_null(strstr(at + 1, why));
}

static void test_nested(void **state)
{
	struct buf s = { 0 };
	struct lab l;

	(void)state;
	lab_init(&l);
	buf_puts(&s, "BEGIN { @a = 1; ");
	for (u32 i = 0; i < 60; i++)
		buf_printf(&s, "for ($i%u : 0..@a) { ", i);
	buf_fill(&s, '}', 61);
	refused(&l, &s, "this is nested too deeply");
	lab_free(&l);
	buf_free(&s);
}

/* Up to the last byte that a kernel gives. */
static void test_all_of_scratch(void **state)
{
	struct buf s = { 0 };
	struct lab l;
	u32 size = 0;

	(void)state;
	lab_init(&l);
	for (u32 n = 8;; n += 8) {
		buf_reset(&s);
		buf_puts(&s, "BEGIN { ");
		for (u32 i = 0; i < 32; i++) {
			buf_printf(&s, "$v%u = \"", i);
			buf_fill(&s, 'a', i ? 960 : n);
			buf_puts(&s, "\"; ");
		}
		buf_puts(&s, "}");
		assert_true(n < 4000);
		if (!lab_compile(&l, buf_text(&s)))
			break;
		size = l.u->maps.v[unit_map(l.u, UMAP_SCRATCH)].value_size;
	}
	assert_int_equal(size, 32000);
	refused(&l, &s, "this probe needs more than 32000 bytes of memory");
	lab_free(&l);
	buf_free(&s);
}

/* The number of the process and when it was asked for. */
static void test_follow(void **state)
{
	struct lab l;
	const struct urecord *r;

	(void)state;
	lab_init(&l);
	compile(&l, "BEGIN { follow(pid); }");
	assert_int_equal(l.u->records.n, 1);
	r = &l.u->records.v[0];
	assert_int_equal(r->action, ACTION_FOLLOW);
	assert_int_equal(r->n_args, 2);
	assert_int_equal(r->args[1].off + 8, r->size);
	lab_free(&l);
}

/* ---- kprobes whose entry and return may be one program ---- */

static struct btf *session_btf;

static struct btf *btf_of_sessions(struct world *w, struct err *e)
{
	(void)w;
	(void)e;
	return session_btf;
}

static u32 session_of(struct lab *l, const char *script)
{
	compile(l, script);
	return l->u->session_kfunc;
}

static void test_session(void **state)
{
	struct btf_build w = { 0 };
	struct world_ops ops;
	struct lab l;
	size_t n;
	const void *file;

	(void)state;
	lab_init(&l);
	ops = *l.world->ops;
	ops.btf = btf_of_sessions;
	l.world->ops = &ops;
	btf_build_type(&w, "", BTF_KIND_FUNC_PROTO, 0, 0);
	btf_build_type(&w, "bpf_session_is_return", BTF_KIND_FUNC, 1, 1);
	file = btf_build_file(&w, &n);
	session_btf = btf_open_memory(file, n, NULL);
	assert_non_null(session_btf);
	assert_int_equal(session_of(&l, "kprobe:vfs_read { @a++; } kretprobe:vfs_read { @b++; }"),
	                 2);
	assert_int_equal(session_of(&l, "kprobe:vfs_read { @a++; }"), 0);
	assert_int_equal(session_of(&l, "kretprobe:vfs_read { @b++; }"), 0);
	lab_free(&l);
	btf_unref(session_btf);
	btf_build_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bound_by_memory), cmocka_unit_test(test_scratch_alone),
		cmocka_unit_test(test_nested),          cmocka_unit_test(test_all_of_scratch),
		cmocka_unit_test(test_follow),          cmocka_unit_test(test_session),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
