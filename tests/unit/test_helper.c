/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The kernel's helpers: their names, and every row of the table of shapes beside the prototype that
 * the comment of linux/bpf.h has for it:
 *
 *    * long bpf_trace_printk(const char *fmt, u32 fmt_size, ...)
 */
#include "bpf/helper.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HEADER "/usr/include/linux/bpf.h"

struct proto {
	u32 id, n_args;
	bool is_variadic;
};

/* The number for a name without "bpf_", 0 (unspec) when there is none. */
static u32 helper_of(const char *name)
{
	for (u32 id = 1; helper_name(id); id++)
		if (strcmp(helper_name(id), name) == 0)
			return id;
	return BPF_FUNC_unspec;
}

/* "(a, b, ...)" */
static void read_args(struct proto *p, const char *args)
{
	p->is_variadic = strstr(args, "...)") != NULL;
	p->n_args = strncmp(args, "(void)", 6) != 0;
	for (; *args; args++)
		p->n_args += *args == ',';
	p->n_args -= p->is_variadic;
}

/* False: the line is no prototype. */
static bool read_proto(char *line, struct proto *p)
{
	char *name = strstr(line, "bpf_"), *args = name ? strchr(name, '(') : NULL;

	if (strncmp(line, " * ", 3) != 0 || line[3] == '\t' || !args || !strstr(args, ")\n"))
		return false;
	read_args(p, args);
	*args = '\0';
	p->id = helper_of(name + 4);
	return p->id != BPF_FUNC_unspec;
}

/* 1 when the row is another one than the header's. */
static u32 compare(const struct proto *p)
{
	const struct helper *h = helper_get(p->id);

	if (h->n_args == p->n_args && h->is_variadic == p->is_variadic)
		return 0;
	print_error("%s has %u arguments%s, the table %u%s\n", helper_name(p->id), p->n_args,
	            p->is_variadic ? " and more" : "", h->n_args,
	            h->is_variadic ? " and more" : "");
	return 1;
}

static void test_every_shape(void **state)
{
	FILE *f = fopen(HEADER, "re");
	bool seen[__BPF_FUNC_MAX_ID] = { false };
	u32 wrong = 0, missing = 0;
	char *line = NULL;
	size_t room = 0;
	struct proto p;

	(void)state;
	assert_non_null(f);
	while (getline(&line, &room, f) > 0) {
		if (!read_proto(line, &p) || helper_get(p.id)->n_args == HELPER_ARGS_UNKNOWN)
			continue;
		wrong += compare(&p);
		seen[p.id] = true;
	}
	free(line);
	fclose(f);
	for (u32 id = 1; id < __BPF_FUNC_MAX_ID; id++)
		if (!seen[id] && helper_get(id)->n_args != HELPER_ARGS_UNKNOWN) {
			print_error("%s: no prototype in %s\n", helper_name(id), HEADER);
			missing++;
		}
	assert_int_equal(wrong, 0);
	assert_int_equal(missing, 0);
}

static void test_names(void **state)
{
	(void)state;
	assert_string_equal(helper_name(BPF_FUNC_map_lookup_elem), "map_lookup_elem");
	assert_string_equal(helper_name(174), "get_attach_cookie");
	assert_null(helper_name(1u << 20));
	assert_int_equal(helper_get(1u << 20)->n_args, HELPER_ARGS_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_shape),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
