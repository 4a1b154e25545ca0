/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Any bytes as BTF: every question about every type, and the searches by name. */
#include <stdlib.h>
#include <string.h>

#include "read/btf.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

#define IDS_MAX 200u /* so that large inputs do not take long */

static void on_name(void *ctx, const char *name)
{
	*(size_t *)ctx += strlen(name);
}

static void ask_parts(const struct btf *b, u32 id, size_t *total)
{
	struct btf_member m;
	const char *name;
	u32 type, ret, n;
	s64 value;

	for (u32 i = 0; i < 8; i++) {
		if (btf_member_at(b, id, i, &m))
			*total += strlen(m.name);
		if (btf_param(b, id, i, &name, &type))
			*total += strlen(name) + type;
		if (btf_enum_at(b, id, i, &name, &value))
			*total += strlen(name) + (size_t)value;
	}
	if (btf_proto(b, id, &ret, &n))
		*total += n;
	if (btf_member_find(b, id, "x", &m))
		*total += m.bit_off;
}

static bool ask(const struct btf *b, u32 id, size_t *total)
{
	bool is_signed, is_bool, is_char;
	struct btf_info info;
	u32 elem, count;

	if (!btf_info(b, id, &info))
		return false;
	*total += strlen(info.name) + btf_size(b, id) + btf_skip(b, id);
	if (btf_int(b, id, &is_signed, &is_bool, &is_char))
		*total += is_signed;
	if (btf_array(b, id, &elem, &count))
		*total += count;
	if (info.name[0] && !btf_find(b, info.kind, info.name))
		abort();
	ask_parts(b, id, total);
	return true;
}

static bool on_type(void *ctx, u32 id, const char *name)
{
	*(size_t *)ctx += strlen(name) + id;
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct err e;
	struct btf *b = btf_open_memory(p, n, &e);
	size_t total = 0;
	s64 value;
	u32 id;

	if (!b)
		return 0;
	for (id = 1; id < IDS_MAX; id++)
		ask(b, id, &total);
	btf_member_each(b, 7, on_name, &total);
	btf_each(b, 0, STR("*e*"), on_type, &total);
	btf_find_c(b, STR("struct outer"));
	btf_find_c(b, STR("unsigned char"));
	btf_enum_find(b, "RED", &value, &id);
	btf_close(b);
	return 0;
}
