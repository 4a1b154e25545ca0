/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Every type of the running kernel (or of the file in MEMTAP_TEST_BTF) as libbpf reads it: names,
 * kinds, sizes, members and their places, arguments, enumerators, variables. And the pages of a file
 * that is not mapped give the same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/btf.h>
#include <cmocka.h>

#include "read/btf.h"
#include "read/btf_impl.h"

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

static void same_file(const char *path, bool window)
{
	struct btf *theirs = btf__parse(path, NULL), *ours;
	struct btf_error e;
	struct btf_iter it;
	u32 n = 1;

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
	assert_true(btf_index(ours));
	for (btf_iter_init(&it, ours, 1); btf_next(&it); n++) {
		assert_int_equal(it.t.id, n);
		same_type(ours, theirs, &it.t);
		same_entries(ours, theirs, &it.t);
	}
	assert_int_equal(n, btf__type_cnt(theirs));
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_as_libbpf_does),
		cmocka_unit_test(reads_pages_as_libbpf_does),
		cmocka_unit_test(finds_what_libbpf_finds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
