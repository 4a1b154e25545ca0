/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Every type of the running kernel and its modules (or of the file in MEMTAP_TEST_BTF and those in
 * the directory in MEMTAP_TEST_MODULES) as libbpf reads it: names, kinds, sizes, members and their
 * places, arguments, enumerators, variables. And the pages of a file that is not mapped give the
 * same. An argument chooses tests by their name.
 */
#include <dirent.h>
#include <fnmatch.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/btf.h>
#include <cmocka.h>

#include "btf/btf.h"
#include "btf/btf_impl.h"

static const char *file_name(void)
{
	const char *path = getenv("MEMTAP_TEST_BTF");

	return path ? path : "/sys/kernel/btf/vmlinux";
}

#define SAME(a, b)                                                                                 \
	do {                                                                                       \
		if ((a) != (b))                                                                    \
			fail_msg("type %u (%s): " #a " is not " #b, t->id, t->name);               \
	} while (0)

static void same_text(const struct btf *theirs, const struct btf_info *t, const char *ours, u32 off)
{
	const char *z = btf__name_by_offset(theirs, off);

	if (!z || strcmp(z, ours) != 0)
		fail_msg("type %u (%s): '%s' is '%s' for libbpf", t->id, t->name, ours, z);
}

static void same_members(const struct btf *ours, const struct btf *theirs, const struct btf_info *t,
                         const struct btf_type *l)
{
	for (u32 i = 0; i < t->vlen; i++) {
		const struct btf_member *m = btf_members(l) + i;
		struct btf_field f;

		SAME(btf_field(ours, t, i, &f), true);
		same_text(theirs, t, f.name, m->name_off);
		SAME(f.type, m->type);
		SAME(f.bit_off, btf_member_bit_offset(l, i));
		SAME(f.bit_size, btf_member_bitfield_size(l, i));
	}
}

static void same_args(const struct btf *ours, const struct btf *theirs, const struct btf_info *t,
                      const struct btf_type *l)
{
	for (u32 i = 0; i < t->vlen; i++) {
		const struct btf_param *p = btf_params(l) + i;
		struct btf_arg a;

		SAME(btf_arg(ours, t, i, &a), true);
		same_text(theirs, t, a.name, p->name_off);
		SAME(a.type, p->type);
	}
}

static void same_values(const struct btf *ours, const struct btf *theirs, const struct btf_info *t,
                        const struct btf_type *l)
{
	for (u32 i = 0; i < t->vlen; i++) {
		bool wide = btf_is_enum64(l);
		u32 name = wide ? btf_enum64(l)[i].name_off : btf_enum(l)[i].name_off;
		struct btf_enumerator v;

		SAME(btf_enumerator(ours, t, i, &v), true);
		same_text(theirs, t, v.name, name);
		if (wide)
			SAME((u64)v.value, btf_enum64_value(btf_enum64(l) + i));
		else
			SAME((s32)v.value, btf_enum(l)[i].val);
	}
}

static void same_places(const struct btf *ours, const struct btf_info *t, const struct btf_type *l)
{
	for (u32 i = 0; i < t->vlen; i++) {
		const struct btf_var_secinfo *v = btf_var_secinfos(l) + i;
		struct btf_place p;

		SAME(btf_place(ours, t, i, &p), true);
		SAME(p.var, v->type);
		SAME(p.off, v->offset);
		SAME(p.size, v->size);
	}
}

static void same_rest(const struct btf *ours, const struct btf_info *t, const struct btf_type *l)
{
	u32 elem, index, count, linkage;
	int32_t component;
	struct btf_int i;

	if (btf_int(ours, t, &i)) {
		SAME(i.bits, btf_int_bits(l));
		SAME(i.bit_off, btf_int_offset(l));
		SAME(i.is_signed, btf_int_encoding(l) & BTF_INT_SIGNED);
	} else if (btf_array_of(ours, t, &elem, &index, &count)) {
		SAME(elem, btf_array(l)->type);
		SAME(index, btf_array(l)->index_type);
		SAME(count, btf_array(l)->nelems);
	} else if (btf_component(ours, t, &component)) {
		SAME(component, btf_decl_tag(l)->component_idx);
	} else if (btf_linkage(ours, t, &linkage) && t->kind == BTF_KIND_VAR) {
		SAME(linkage, btf_var(l)->linkage);
	}
}

static void same_type(const struct btf *ours, const struct btf *theirs, const struct btf_info *t)
{
	const struct btf_type *l = btf__type_by_id(theirs, t->id);
	s64 size = btf__resolve_size(theirs, t->id);

	if (!l) {
		fail_msg("libbpf has no type %u", t->id);
		return;
	}
	SAME(t->kind, btf_kind(l));
	SAME(t->vlen, btf_vlen(l));
	SAME(t->kind_flag, btf_kflag(l));
	SAME(t->size + t->type, t->kind == BTF_KIND_ARRAY || t->kind == BTF_KIND_FWD ? 0 : l->size);
	same_text(theirs, t, t->name, l->name_off);
	/* libbpf gives functions and the like an error. */
	if (t->kind != BTF_KIND_VAR)
		SAME(btf_size(ours, t->id), size > 0 ? size : 0);
}

static void same_entries(const struct btf *ours, const struct btf *theirs, const struct btf_info *t)
{
	const struct btf_type *l = btf__type_by_id(theirs, t->id);

	if (!l)
		fail_msg("libbpf has no type %u", t->id);
	else if (btf_is_func_proto(l))
		same_args(ours, theirs, t, l);
	else if (btf_is_enum(l) || btf_is_enum64(l))
		same_values(ours, theirs, t, l);
	else if (btf_is_datasec(l))
		same_places(ours, t, l);
	else if (btf_is_composite(l))
		same_members(ours, theirs, t, l);
	else
		same_rest(ours, t, l);
}

/* Of split BTF its own types. */
static void same_types(const struct btf *ours, const struct btf *theirs)
{
	struct btf_iter it;
	u32 n = btf_first(ours);

	assert_true(btf_index(ours));
	for (btf_iter_init(&it, ours, n); btf_next(&it); n++) {
		assert_int_equal(it.t.id, n);
		same_type(ours, theirs, &it.t);
		same_entries(ours, theirs, &it.t);
	}
	assert_int_equal(n, btf__type_cnt(theirs));
}

static void same_file(const char *path, bool window)
{
	struct btf *theirs = btf__parse(path, NULL), *ours;
	struct btf_error e;

	if (access(path, R_OK) != 0) {
		print_message("skipped: %s can not be read\n", path);
		skip();
	}
	if (!theirs) {
		print_message("skipped: libbpf can not read %s\n", path);
		skip();
	}
	ours = btf_open_how(path, NULL, window, &e);
	if (!ours)
		fail_msg("%s", e.text);
	same_types(ours, theirs);
	btf_unref(ours);
	btf__free(theirs);
}

static void reads_as_libbpf_does(void **state)
{
	(void)state;
	same_file(file_name(), false);
}

static void reads_pages_as_libbpf_does(void **state)
{
	(void)state;
	same_file(file_name(), true);
}

static void same_module(const char *path, struct btf *base, struct btf *their_base)
{
	struct btf *theirs = btf__parse_split(path, their_base);
	struct btf_error e;

	if (!theirs)
		fail_msg("libbpf can not read %s", path);
	for (int window = 0; window < 2; window++) {
		struct btf *ours = btf_open_how(path, base, window, &e);

		if (!ours)
			fail_msg("%s", e.text);
		else
			same_types(ours, theirs);
		btf_unref(ours);
	}
	btf__free(theirs);
}

static void reads_modules_as_libbpf_does(void **state)
{
	const char *dir = getenv("MEMTAP_TEST_MODULES");
	DIR *d = opendir(dir ? dir : "/sys/kernel/btf");
	struct btf *base, *theirs;
	struct dirent *entry;
	struct btf_error e;
	u32 n = 0;

	(void)state;
	if (!d) {
		print_message("skipped: this kernel has no BTF\n");
		skip();
		return;
	}
	base = btf_open(file_name(), &e);
	theirs = btf__parse(file_name(), NULL);
	if (!base || !theirs)
		fail_msg("%s does not open", file_name());
	while ((entry = readdir(d))) {
		char path[600];

		if (entry->d_name[0] == '.' || strcmp(entry->d_name, "vmlinux") == 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir ? dir : "/sys/kernel/btf", entry->d_name);
		same_module(path, base, theirs);
		n++;
	}
	closedir(d);
	btf_unref(base);
	btf__free(theirs);
	if (!n) {
		print_message("skipped: no module with BTF is loaded\n");
		skip();
	}
	print_message("%u modules\n", n);
}

/* The first of each kind and name, for every 50th type. */
static void finds_what_libbpf_finds(void **state)
{
	struct btf *theirs = btf__parse(file_name(), NULL), *ours;
	struct btf_error e;

	(void)state;
	if (!theirs) {
		print_message("skipped: libbpf can not read %s\n", file_name());
		skip();
	}
	ours = btf_open(file_name(), &e);
	if (!ours)
		fail_msg("%s", e.text);
	for (u32 id = 1; id < btf__type_cnt(theirs); id += 50) {
		const struct btf_type *l = btf__type_by_id(theirs, id);
		const char *name = l ? btf__name_by_offset(theirs, l->name_off) : "";

		if (l && *name)
			assert_int_equal(btf_find(ours, btf_kind(l), name),
			                 btf__find_by_name_kind(theirs, name, btf_kind(l)));
	}
	btf_unref(ours);
	btf__free(theirs);
}

/* ---- searches against a plain walk ---------------------------------------------------------- */

#define FOUND_MAX 100000u
struct found {
	u64 v[FOUND_MAX]; /* query << 32 | id */
	u32 n;
};

static void found_add(struct found *f, u32 query, u32 id)
{
	assert_true(f->n < FOUND_MAX);
	f->v[f->n++] = (u64)query << 32 | id;
}

static bool add_candidate(void *ctx, u32 query, u32 id)
{
	found_add(ctx, query, id);
	return true;
}

static bool add_match(void *ctx, u32 id, const char *name)
{
	assert_true(*name);
	found_add(ctx, 0, id);
	return true;
}

static bool is_flavor(const char *text, const char *name)
{
	size_t n = strlen(name);

	/* None of the names here has a "___" of its own, and no text more than one. */
	return strncmp(text, name, n) == 0 && strncmp(text + n, "___", 3) == 0 &&
	       text[n - 1] != '_' && text[n + 3] && text[n + 3] != '_';
}

static void walk_candidates(const struct btf *b, const struct btf_query *q, u32 n, unsigned flags,
                            struct found *f)
{
	struct btf_iter it;

	for (btf_iter_init(&it, b, 1); btf_next(&it);)
		for (u32 i = 0; i < n; i++) {
			if (q[i].kind && q[i].kind != it.t.kind)
				continue;
			if (strcmp(it.t.name, q[i].name) == 0 ||
			    (flags && is_flavor(it.t.name, q[i].name))) {
				found_add(f, i, it.t.id);
				break;
			}
		}
}

static struct btf *must_open(bool window)
{
	struct btf_error e;
	struct btf *b;

	if (access(file_name(), R_OK) != 0) {
		print_message("skipped: %s can not be read\n", file_name());
		skip();
	}
	b = btf_open_how(file_name(), NULL, window, &e);
	if (!b)
		fail_msg("%s", e.text);
	return b;
}

static void same_candidates(const struct btf_query *q, u32 n, unsigned flags, u32 least)
{
	static struct found walked, found;

	for (int window = 0; window < 2; window++) {
		struct btf *b = must_open(window);

		walked.n = found.n = 0;
		btf_find_all(b, q, n, flags, add_candidate, &found);
		walk_candidates(b, q, n, flags, &walked);
		assert_int_equal(found.n, walked.n);
		assert_memory_equal(found.v, walked.v, found.n * sizeof(found.v[0]));
		assert_true(found.n >= least);
		btf_unref(b);
	}
}

/* Kinds of few types are compared as they come, others after a search of the strings. */
static void finds_every_candidate(void **state)
{
	const struct btf_query few[] = {
		{ "task_struct", BTF_KIND_STRUCT, 0 }, { "workspace", BTF_KIND_STRUCT, 0 },
		{ "u8", BTF_KIND_TYPEDEF, 0 },         { "int", BTF_KIND_INT, 0 },
		{ "bio", BTF_KIND_STRUCT, 0 },         { "nf_conn", BTF_KIND_STRUCT, 0 },
		{ "no_such_name", BTF_KIND_ENUM, 0 },  { "key", BTF_KIND_UNION, 0 },
	};
	const struct btf_query any[] = {
		{ "task_struct", 0, 0 },
		{ "u8", 0, 0 },
		{ "key", 0, 0 },
		{ "vfs_read", BTF_KIND_FUNC, 0 },
		{ "no_such_\xc3\xa9", 0, 0 }, /* beyond ASCII: another way to search */
		{ "no_such_name", 0, 0 },
	};

	(void)state;
	same_candidates(few, ARRAY_SIZE(few), 0, 5);
	same_candidates(few, ARRAY_SIZE(few), BTF_FIND_FLAVORS, 5);
	same_candidates(any, ARRAY_SIZE(any), 0, 3);
	same_candidates(any, ARRAY_SIZE(any), BTF_FIND_FLAVORS, 3);
}

static void globs_as_a_plain_walk_does(void **state)
{
	static const struct {
		const char *glob;
		u32 kind, least;
	} tests[] = {
		{ "vfs_*", BTF_KIND_FUNC, 10 },
		{ "v*", BTF_KIND_STRUCT, 10 },
		{ "*_struct", 0, 10 },
		{ "task_s?ruct", BTF_KIND_STRUCT, 1 },
		{ "sk_buff", 0, 1 },
		{ "__x[a-z]*", 0, 1 },
		{ "no_such_*", 0, 0 },
		{ "*", BTF_KIND_UNION, 10 },
	};
	static struct found walked, found;

	(void)state;
	for (u32 i = 0; i < 2 * ARRAY_SIZE(tests); i++) {
		struct btf *b = must_open(i % 2);
		const char *glob = tests[i / 2].glob;
		u32 kind = tests[i / 2].kind;
		struct btf_iter it;

		walked.n = found.n = 0;
		btf_each(b, kind, glob, add_match, &found);
		for (btf_iter_init(&it, b, 1); btf_next(&it);)
			if ((!kind || kind == it.t.kind) && *it.t.name &&
			    fnmatch(glob, it.t.name, 0) == 0)
				found_add(&walked, 0, it.t.id);
		assert_int_equal(found.n, walked.n);
		assert_memory_equal(found.v, walked.v, found.n * sizeof(found.v[0]));
		assert_true(found.n >= tests[i / 2].least);
		btf_unref(b);
	}
}

/* ---- the other byte order ------------------------------------------------------------------- */

/* All of header and types is words, but for the first four bytes; a layout is left as it is. */
static void *swapped_copy(const struct btf_file *f)
{
	u8 *p = malloc(f->n);
	u32 at[2][2] = { { 4, f->header_len }, { f->types_off, f->types_off + f->types_len } };

	assert_non_null(p);
	memcpy(p, f->bytes, f->n);
	p[0] = ((const u8 *)f->bytes)[1];
	p[1] = ((const u8 *)f->bytes)[0];
	for (u32 i = 0; i < 2; i++)
		for (u32 off = at[i][0]; off + 4 <= at[i][1]; off += 4) {
			u32 word;

			memcpy(&word, p + off, 4);
			word = __builtin_bswap32(word);
			memcpy(p + off, &word, 4);
		}
	return p;
}

static void same_searches(const struct btf *a, const struct btf *b)
{
	static struct found in_a, in_b;
	const struct btf_query q[] = { { "task_struct", BTF_KIND_STRUCT, 0 },
		                       { "workspace", BTF_KIND_STRUCT, 0 },
		                       { "vfs_read", BTF_KIND_FUNC, 0 } };
	u32 vma = btf_find(a, BTF_KIND_STRUCT, "vm_area_struct");
	struct btf_path x, y;

	in_a.n = in_b.n = 0;
	for (u32 n = 2; n <= 3; n++) {
		btf_find_all(a, q, n, BTF_FIND_FLAVORS, add_candidate, &in_a);
		btf_find_all(b, q, n, BTF_FIND_FLAVORS, add_candidate, &in_b);
	}
	btf_each(a, BTF_KIND_FUNC, "vfs_*", add_match, &in_a);
	btf_each(b, BTF_KIND_FUNC, "vfs_*", add_match, &in_b);
	assert_true(in_a.n > 20 && in_a.n == in_b.n);
	assert_memory_equal(in_a.v, in_b.v, in_a.n * sizeof(in_a.v[0]));
	assert_int_equal(btf_find(b, BTF_KIND_STRUCT, "vm_area_struct"), vma);
	assert_true(btf_path(a, vma, "vm_file->f_path.dentry->d_name.name", &x, NULL));
	assert_true(btf_path(b, vma, "vm_file->f_path.dentry->d_name.name", &y, NULL));
	for (u32 i = 0; i < x.n; i++)
		assert_true(x.hop[i].type == y.hop[i].type && x.hop[i].bit_off == y.hop[i].bit_off);
	assert_true(x.n == y.n && btf_count(a) == btf_count(b));
}

static void reads_the_other_byte_order(void **state)
{
	struct btf *native = must_open(false), *swapped, *theirs;
	struct btf_error e;
	struct btf_file f;
	void *copy;
	bool big;

	(void)state;
	btf_file(native, &f);
	big = f.big_endian;
	if (!f.bytes) {
		print_message("skipped: %s is read in pages\n", file_name());
		btf_unref(native);
		skip();
		return;
	}
	copy = swapped_copy(&f);
	swapped = btf_open_memory(copy, f.n, &e);
	theirs = btf__parse(file_name(), NULL);
	if (!swapped || !theirs)
		fail_msg("%s", e.text);
	same_searches(native, swapped);
	assert_true(btf_check(swapped, &e));
	same_types(swapped, theirs);
	btf_file(swapped, &f);
	assert_int_equal(f.big_endian, !big);
	btf_unref(swapped);
	btf_unref(native);
	btf__free(theirs);
	free(copy);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_every_candidate),
		cmocka_unit_test(globs_as_a_plain_walk_does),
		cmocka_unit_test(reads_as_libbpf_does),
		cmocka_unit_test(reads_pages_as_libbpf_does),
		cmocka_unit_test(finds_what_libbpf_finds),
		cmocka_unit_test(reads_modules_as_libbpf_does),
		cmocka_unit_test(reads_the_other_byte_order),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
