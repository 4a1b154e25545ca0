/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Types of debug information, one at a time.
 *
 * The one idea: an entry is translated when it is asked for, without what it points to: a
 * program's types are a graph of hundreds of thousands, a script follows a few arrows.
 *
 * Sizes and offsets come from a file and may be nonsense; they are handed on as they are and
 * checked where values are laid out. How deep one goes is bounded.
 */
#include "elf/dwarf_impl.h"

#include <stdio.h>
#include <string.h>

#define PEEL_MAX 64u
#define NEST_MAX 8u /* of namespaces */

static bool is_qualifier(int tag)
{
	switch (tag) {
	case DW_TAG_const_type:
	case DW_TAG_volatile_type:
	case DW_TAG_restrict_type:
	case DW_TAG_atomic_type:
	case DW_TAG_immutable_type:
	case DW_TAG_packed_type:
		return true;
	default:
		return false;
	}
}

static bool step_to(const struct dwarf_file *d, Dwarf_Die *die)
{
	Dwarf_Attribute at;

	return d->lib->dwarf_attr_integrate(die, DW_AT_type, &at) &&
	       d->lib->dwarf_formref_die(&at, die);
}

/* Goes through typedefs and qualifiers; false when nothing is behind them (void). */
static bool peel(const struct dwarf_file *d, Dwarf_Die *die, struct dwarf_type *t)
{
	for (u32 i = 0; i < PEEL_MAX; i++) {
		int tag = d->lib->dwarf_tag(die);

		if (tag == DW_TAG_typedef && !t->typedef_name)
			t->typedef_name = d->lib->dwarf_diename(die);
		t->is_const |= tag == DW_TAG_const_type && !t->typedef_name;
		if (tag != DW_TAG_typedef && !is_qualifier(tag))
			return true;
		if (!step_to(d, die))
			return false;
	}
	return false;
}

/* ---- one type ------------------------------------------------------------------------------- */

static void base_type(const struct dwarf_file *d, Dwarf_Die *die, struct dwarf_type *t)
{
	u64 encoding = 0;

	dwarf_value(d, die, DW_AT_encoding, &encoding);
	switch (encoding) {
	case DW_ATE_boolean:
		t->kind = DWARF_BOOL;
		break;
	case DW_ATE_signed:
	case DW_ATE_unsigned:
	case DW_ATE_address:
		t->kind = DWARF_INT;
		break;
	case DW_ATE_signed_char:
	case DW_ATE_unsigned_char:
	case DW_ATE_UTF:
		t->kind = DWARF_CHAR;
		break;
	case DW_ATE_float:
	case DW_ATE_complex_float:
		t->kind = DWARF_FLOAT;
		break;
	default:
		break;
	}
	t->is_complex = encoding == DW_ATE_complex_float;
	t->is_signed = encoding == DW_ATE_signed || encoding == DW_ATE_signed_char;
}

static void array_type(struct dwarf_file *d, Dwarf_Die *die, struct dwarf_type *t)
{
	const struct dwarf_lib *l = d->lib;
	Dwarf_Die kid;

	t->kind = DWARF_ARRAY;
	t->target = dwarf_target(d, die);
	for (int more = l->dwarf_child(die, &kid); more == 0 && t->n_dims < DWARF_DIMS;
	     more = l->dwarf_siblingof(&kid, &kid)) {
		u64 n = 0;

		if (l->dwarf_tag(&kid) != DW_TAG_subrange_type)
			continue;
		if (!dwarf_value(d, &kid, DW_AT_count, &n) &&
		    dwarf_value(d, &kid, DW_AT_upper_bound, &n))
			n++; /* an open array of C++ has the upper bound -1 */
		t->dims[t->n_dims++] = n > UINT32_MAX ? 0 : (u32)n;
	}
	if (dwarf_flag(d, die, DW_AT_GNU_vector)) {
		struct dwarf_type elem = { 0 };

		t->kind = DWARF_FLOAT;
		t->is_vector = true;
		if (!t->size && dwarf_type_read(d, t->target, &elem))
			t->size = elem.size * t->dims[0];
	}
}

static void enum_type(struct dwarf_file *d, Dwarf_Die *die, struct dwarf_type *t)
{
	struct dwarf_type of = { 0 };
	u32 target = dwarf_target(d, die);

	t->kind = DWARF_ENUM;
	/* Without an underlying type GCC before 8 says nothing: C's int. */
	t->is_signed = !(target && dwarf_type_read(d, target, &of)) || of.is_signed;
	if (!t->size)
		t->size = of.size ? of.size : 4;
}

static void record_type(struct dwarf_file *d, Dwarf_Die *die, struct dwarf_type *t, int tag)
{
	u64 how = 0;

	t->kind = DWARF_RECORD;
	t->is_union = tag == DW_TAG_union_type;
	dwarf_value(d, die, DW_AT_calling_convention, &how);
	t->by_reference = how == DW_CC_pass_by_reference;
}

static void fill(struct dwarf_file *d, Dwarf_Die *die, struct dwarf_type *t)
{
	int tag = d->lib->dwarf_tag(die);

	switch (tag) {
	case DW_TAG_base_type:
		base_type(d, die, t);
		break;
	case DW_TAG_rvalue_reference_type:
	case DW_TAG_reference_type:
		t->is_reference = true;
		/* fall through */
	case DW_TAG_pointer_type:
	case DW_TAG_ptr_to_member_type:
		t->kind = DWARF_PTR;
		t->target = dwarf_target(d, die);
		t->size = 8;
		break;
	case DW_TAG_subroutine_type: /* a value of it is Go's: C has pointers to it */
		t->kind = DWARF_VOID;
		break;
	case DW_TAG_array_type:
		array_type(d, die, t);
		break;
	case DW_TAG_enumeration_type:
		enum_type(d, die, t);
		break;
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_interface_type:
	case DW_TAG_union_type:
		record_type(d, die, t, tag);
		break;
	default:
		break;
	}
}

/* Where a record that is only declared here is defined: the name says it. */
static bool definition(struct dwarf_file *d, Dwarf_Die *die)
{
	const char *name = d->lib->dwarf_diename(die), *word = "struct";
	char text[256];
	u32 found;

	if (!name)
		return false;
	if (d->lib->dwarf_tag(die) == DW_TAG_union_type)
		word = "union";
	if (snprintf(text, sizeof(text), "%s %s", word, name) >= (int)sizeof(text))
		return false;
	found = dwarf_type_find(d, str_of(text));
	return found && dwarf_die(d, found, die);
}

bool dwarf_type_read(struct dwarf_file *d, u32 number, struct dwarf_type *t)
{
	Dwarf_Die die;

	memset(t, 0, sizeof(*t));
	if (!dwarf_die(d, number, &die))
		return false;
	if (!peel(d, &die, t))
		return true; /* const void */
	t->die = dwarf_number(d, &die);
	t->name = d->lib->dwarf_diename(&die);
	dwarf_value(d, &die, DW_AT_byte_size, &t->size);
	fill(d, &die, t);
	return true;
}

/* ---- members -------------------------------------------------------------------------------- */

/* DWARF 2 and 3 count the bits of a bit-field from the most significant end of a unit. */
static void old_bits(struct dwarf_file *d, Dwarf_Die *die, u64 from_top, struct dwarf_field *f)
{
	struct dwarf_type t;
	u64 unit = 0;

	if (!dwarf_value(d, die, DW_AT_byte_size, &unit)) {
		if (!dwarf_type_read(d, f->type, &t))
			return;
		unit = t.size;
	}
	if (unit * 8 >= from_top + f->bit_size)
		f->bit_off = (u32)(unit * 8 - from_top - f->bit_size);
}

static bool place(struct dwarf_file *d, Dwarf_Die *die, struct dwarf_field *f)
{
	u64 bits, width;

	f->off = 0;
	if (!dwarf_value(d, die, DW_AT_data_member_location, &f->off) &&
	    d->lib->dwarf_hasattr(die, DW_AT_data_member_location))
		return false; /* computed when the program runs: a virtual base */
	if (!dwarf_value(d, die, DW_AT_bit_size, &width) || width > 64)
		return true;
	f->bit_size = (u32)width;
	if (dwarf_value(d, die, DW_AT_data_bit_offset, &bits)) {
		f->off = bits / 8;
		f->bit_off = (u32)(bits % 8);
	} else if (dwarf_value(d, die, DW_AT_bit_offset, &bits)) {
		old_bits(d, die, bits, f);
	}
	return true;
}

void dwarf_type_fields(struct dwarf_file *d, u32 number,
                       bool (*cb)(void *ctx, const struct dwarf_field *f), void *ctx)
{
	const struct dwarf_lib *l = d->lib;
	Dwarf_Die die, kid;

	if (!dwarf_die(d, number, &die))
		return;
	if (dwarf_flag(d, &die, DW_AT_declaration) && !definition(d, &die))
		return;
	for (int more = l->dwarf_child(&die, &kid); more == 0;
	     more = l->dwarf_siblingof(&kid, &kid)) {
		int tag = l->dwarf_tag(&kid);
		struct dwarf_field f = { 0 };

		if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) ||
		    dwarf_flag(d, &kid, DW_AT_external) || dwarf_flag(d, &kid, DW_AT_declaration))
			continue;
		f.type = dwarf_target(d, &kid);
		if (tag == DW_TAG_member)
			f.name = l->dwarf_diename(&kid);
		if (place(d, &kid, &f) && !cb(ctx, &f))
			return;
	}
}

void dwarf_type_enumerators(struct dwarf_file *d, u32 number,
                            bool (*cb)(void *ctx, const char *name, s64 value), void *ctx)
{
	const struct dwarf_lib *l = d->lib;
	Dwarf_Die die, kid;

	if (!dwarf_die(d, number, &die))
		return;
	for (int more = l->dwarf_child(&die, &kid); more == 0;
	     more = l->dwarf_siblingof(&kid, &kid)) {
		const char *name = l->dwarf_diename(&kid);
		Dwarf_Attribute at;
		Dwarf_Sword value;

		if (l->dwarf_tag(&kid) == DW_TAG_enumerator && name &&
		    l->dwarf_attr(&kid, DW_AT_const_value, &at) &&
		    l->dwarf_formsdata(&at, &value) == 0 && !cb(ctx, name, value))
			return;
	}
}

/* ---- searching ------------------------------------------------------------------------------ */

struct search {
	struct dwarf_file *d;
	struct str name;
	bool structs, unions, enums, plain;
	bool constant; /* name is an enumerator's */
	s64 value;
	u32 found;
};

static bool fits(const struct search *s, int tag)
{
	switch (tag) {
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
		return s->structs || s->plain;
	case DW_TAG_union_type:
		return s->unions || s->plain;
	case DW_TAG_enumeration_type:
		return s->enums || s->plain;
	case DW_TAG_typedef:
	case DW_TAG_base_type:
		return s->plain;
	default:
		return false;
	}
}

static bool is_constant(void *ctx, const char *name, s64 value)
{
	struct search *s = ctx;

	if (!str_is(s->name, name))
		return true;
	s->value = value;
	s->found = 1;
	return false;
}

static bool try(struct search *s, Dwarf_Die *die, int tag)
{
	struct dwarf_file *d = s->d;
	const char *name;

	if (s->constant) {
		if (tag != DW_TAG_enumeration_type)
			return false;
		dwarf_type_enumerators(d, dwarf_number(d, die), is_constant, s);
	} else if (fits(s, tag)) {
		name = d->lib->dwarf_diename(die);
		if (!name || !str_is(s->name, name) || dwarf_flag(d, die, DW_AT_declaration))
			return false;
	} else {
		return false;
	}
	if (!s->constant || s->found)
		s->found = dwarf_number(d, die);
	return s->found != 0;
}

static bool search_below(struct search *s, Dwarf_Die *parent, u32 depth)
{
	const struct dwarf_lib *l = s->d->lib;
	Dwarf_Die kid;

	for (int more = l->dwarf_child(parent, &kid); more == 0;
	     more = l->dwarf_siblingof(&kid, &kid)) {
		int tag = l->dwarf_tag(&kid);

		if (try(s, &kid, tag))
			return true;
		if (tag == DW_TAG_namespace && depth < NEST_MAX && search_below(s, &kid, depth + 1))
			return true;
	}
	return false;
}

static u32 search(struct search *s)
{
	struct dwarf_units u = { .d = s->d };

	while (dwarf_next_root(&u))
		if (search_below(s, &u.root, 0))
			break;
	return s->found;
}

static bool strip(struct str *name, const char *word)
{
	if (!str_starts(*name, word))
		return false;
	name->p += strlen(word);
	name->n -= (u32)strlen(word);
	return true;
}

u32 dwarf_type_find(struct dwarf_file *d, struct str name)
{
	struct search s = { .d = d, .name = name };
	void **known = hmap_find(&d->found, name.p, name.n);
	const char *key;

	if (known)
		return (u32)(uintptr_t)*known;
	s.structs = strip(&s.name, "struct ") || strip(&s.name, "class ");
	s.unions = !s.structs && strip(&s.name, "union ");
	s.enums = !s.structs && !s.unions && strip(&s.name, "enum ");
	s.plain = !s.structs && !s.unions && !s.enums;
	key = arena_strndup(&d->arena, name.p, name.n);
	/* Known as missing while it is searched for: definitions may ask again. */
	hmap_put(&d->found, key, name.n, NULL);
	search(&s);
	hmap_put(&d->found, key, name.n, (void *)(uintptr_t)s.found);
	return s.found;
}

bool dwarf_type_constant(struct dwarf_file *d, struct str name, s64 *value, u32 *die)
{
	struct search s = { .d = d, .name = name, .constant = true };

	*die = search(&s);
	*value = s.value;
	return *die != 0;
}
