/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Settings of a script: defaults, then the config block, then the environment (MEMTAP_X over
 * BPFTRACE_X), which is the user's and wins. A setting is a row with a function that takes its
 * value; names are the same in the block and, in upper case, in the environment.
 */
#include "lang/parse/lang.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A value from either source: a number, or text. */
struct value {
	bool is_number;
	u64 number;
	const char *text; /* lives as long as the script */
};

struct setting {
	const char *name;
	/* NULL when the value was taken, else what is expected instead. */
	const char *(*set)(struct config *c, const struct value *v);
	const char *usual, *help; /* what it is when nothing is set */
};

static const char *set_number(u32 *to, const struct value *v, u64 min, u64 max,
                              const char *expected)
{
	if (!v->is_number || v->number < min || v->number > max)
		return expected;
	*to = (u32)v->number;
	return NULL;
}

static const char *set_flag(bool *to, const struct value *v)
{
	if (v->is_number ? v->number > 1 : strcmp(v->text, "true") && strcmp(v->text, "false"))
		return "true or false";
	*to = v->is_number ? v->number : strcmp(v->text, "true") == 0;
	return NULL;
}

static const char *set_max_strlen(struct config *c, const struct value *v)
{
	return set_number(&c->max_strlen, v, 1, 65536, "a number from 1 to 65536");
}

static const char *set_max_map_keys(struct config *c, const struct value *v)
{
	const char *wrong = set_number(&c->max_map_keys, v, 1, 1u << 28,
	                               "a number from 1 to 268435456");

	c->max_map_keys_set |= !wrong;
	return wrong;
}

static const char *set_max_cat_bytes(struct config *c, const struct value *v)
{
	return set_number(&c->max_cat_bytes, v, 1, 1u << 24, "a number from 1 to 16777216");
}

/* The kernel gives the functions that scripts need to programs under the GPL only. */
static const char *set_license(struct config *c, const struct value *v)
{
	static const char *const gpl[] = {
		"GPL",          "GPL v2",       "GPL and additional rights",
		"Dual BSD/GPL", "Dual MIT/GPL", "Dual MPL/GPL"
	};

	(void)c;
	for (size_t i = 0; !v->is_number && i < ARRAY_SIZE(gpl); i++)
		if (strcmp(v->text, gpl[i]) == 0)
			return NULL;
	return "\"GPL\" or another one that the kernel takes for it";
}

static const char *set_max_probes(struct config *c, const struct value *v)
{
	return set_number(&c->max_probes, v, 1, CONFIG_PROBES_MAX, "a number from 1 to 1048576");
}

/* The kernel wants a power of two; other numbers are rounded up. */
static const char *set_ring_pages(struct config *c, const struct value *v)
{
	u32 wanted, pages = 1;
	const char *wrong = set_number(&wanted, v, 1, 1u << 16, "a number from 1 to 65536");

	while (!wrong && pages < wanted)
		pages *= 2;
	if (!wrong)
		c->ring_pages = pages;
	return wrong;
}

/* Which ones there are is cmd/'s to say. */
static const char *set_view(struct config *c, const struct value *v)
{
	if (v->is_number)
		return "a string";
	c->view = v->text;
	return NULL;
}

static const char *set_poll_ms(struct config *c, const struct value *v)
{
	return set_number(&c->poll_ms, v, 0, 1000, "a number from 0 to 1000");
}

static const char *set_map_memory(struct config *c, const struct value *v)
{
	const char *wrong = set_number(&c->map_memory, v, 1, 65536,
	                               "a number of MiB from 1 to 65536");

	c->map_memory_set |= !wrong;
	return wrong;
}

static const char *set_stack_memory(struct config *c, const struct value *v)
{
	return set_number(&c->stack_memory, v, 1, 65536, "a number of MiB from 1 to 65536");
}

static const char *set_unwind_memory(struct config *c, const struct value *v)
{
	return set_number(&c->unwind_memory, v, 1, 65536, "a number of MiB from 1 to 65536");
}

static const char *set_only_lines(struct config *c, const struct value *v)
{
	c->only_lines = v->text && *v->text ? v->text : NULL;
	return v->text ? NULL : "a string";
}

static const char *set_max_lines(struct config *c, const struct value *v)
{
	return set_number(&c->max_lines, v, 0, UINT32_MAX, "a number from 0 to 4294967295");
}

static const char *set_print_maps(struct config *c, const struct value *v)
{
	return set_flag(&c->print_maps_on_exit, v);
}

static const char *const missing_words[] = {
	[MISSING_ERROR] = "error",
	[MISSING_WARN] = "warn",
	[MISSING_IGNORE] = "ignore",
};

static const char *const stack_words[] = {
	[STACK_BPFTRACE] = "bpftrace",
	[STACK_PERF] = "perf",
	[STACK_RAW] = "raw",
	[STACK_BUILD_ID] = "build_id",
};

static const char *set_missing_probes(struct config *c, const struct value *v)
{
	for (u32 i = 0; !v->is_number && i < ARRAY_SIZE(missing_words); i++)
		if (strcmp(v->text, missing_words[i]) == 0) {
			c->missing_probes = i;
			return NULL;
		}
	return "error, warn or ignore";
}

static const char *set_stack_mode(struct config *c, const struct value *v)
{
	for (u32 i = 0; !v->is_number && i < ARRAY_SIZE(stack_words); i++)
		if (strcmp(v->text, stack_words[i]) == 0) {
			c->stack_mode = i;
			return NULL;
		}
	return "bpftrace, perf, raw or build_id";
}

static const char *set_demangle(struct config *c, const struct value *v)
{
	return set_flag(&c->demangle, v);
}

static const char *set_debug_info(struct config *c, const struct value *v)
{
	return set_flag(&c->show_debug_info, v);
}

static const char *set_cut_mark(struct config *c, const struct value *v)
{
	if (v->is_number)
		return "a string";
	c->cut_mark = v->text;
	return NULL;
}

static const char *set_follow(struct config *c, const struct value *v)
{
	return set_flag(&c->follow_at_once, v);
}

static const struct setting settings[] = {
	{ "max_strlen", set_max_strlen, "1024", "bytes of a string, its end mark included" },
	{ "max_map_keys", set_max_map_keys, "4096",
	  "elements of a map that is declared without a number" },
	{ "max_probes", set_max_probes, "1024", "attach points of a script, wildcards expanded" },
	{ "str_trunc_trailer", set_cut_mark, "\"..\"",
	  "what is printed after a string that was cut" },
	{ "print_maps_on_exit", set_print_maps, "true", "whether maps are printed at the end" },
	{ "missing_probes", set_missing_probes, "error",
	  "what to do about a probe that is not there: error, warn, ignore" },
	{ "stack_mode", set_stack_mode, "bpftrace",
	  "how stacks are printed: bpftrace, perf, raw, build_id" },
	{ "ring_pages", set_ring_pages, "64",
	  "pages of 4 KiB for what is on its way from the kernel" },
	{ "perf_rb_pages", set_ring_pages, "64", "bpftrace's name of ring_pages" },
	{ "poll_ms", set_poll_ms, "0",
	  "above 0, memtap looks for output that often and is not woken" },
	{ "map_memory", set_map_memory, "64", "MiB for all maps that count by key" },
	{ "stack_memory", set_stack_memory, "64", "MiB for the stacks that are kept" },
	{ "unwind_memory", set_unwind_memory, "128",
	  "MiB for the tables by which stacks are walked" },
	{ "only_lines", set_only_lines, "\"\"",
	  "of what printf prints, only lines with this text" },
	{ "max_lines", set_max_lines, "0",
	  "above 0, the script ends after so many lines of printf" },
	{ "view", set_view, "\"\"",
	  "the part of memtap that shows what the script sends: hot, commands" },
	{ "follow_at_once", set_follow, "false",
	  "whether followed processes are seen from their first instruction" },
	{ "max_cat_bytes", set_max_cat_bytes, "10240", "bytes of a file that cat() prints" },
	{ "license", set_license, "\"GPL\"",
	  "the licence of the script's programs, for the kernel" },
	{ "show_debug_info", set_debug_info, "true",
	  "source lines and inlined functions in user stacks" },
	{ "cpp_demangle", set_demangle, "true",
	  "whether names of C++ and Rust are shown as they were written" },
};

/* Settings of bpftrace that have nothing to set here. */
static const char *const ignored[] = {
	"cache_user_symbols", "lazy_symbolication", "log_size",
	"max_ast_nodes",      "max_bpf_progs",      "max_type_res_iterations",
	"on_stack_limit",     "symbol_source",      "unstable_addr",
	"unstable_dw_ustack", "unstable_import",    "unstable_import_statement",
	"unstable_macro",     "unstable_map_decl",  "unstable_tseries",
	"unstable_typeinfo",  "use_blazesym",
};

static const struct {
	const char *old, *now;
} renamed[] = {
	{ "strlen", "max_strlen" },
	{ "map_keys_max", "max_map_keys" },
	{ "cat_bytes_max", "max_cat_bytes" },
	{ "no_cpp_demangle", "cpp_demangle" },
};

static const struct setting *find_setting(const char *name)
{
	for (u32 i = 0; i < ARRAY_SIZE(settings); i++)
		if (strcmp(settings[i].name, name) == 0)
			return &settings[i];
	return NULL;
}

static bool is_ignored(const char *name)
{
	for (u32 i = 0; i < ARRAY_SIZE(ignored); i++)
		if (strcmp(ignored[i], name) == 0)
			return true;
	return false;
}

/* ---- the environment ------------------------------------------------------------------------ */

static struct value value_of_text(const char *text)
{
	struct value v = { .text = text };
	char *end;

	if (isdigit((unsigned char)*text)) {
		v.number = strtoull(text, &end, 0);
		v.is_number = *end == 0;
	}
	return v;
}

/* The environment's value of "PREFIX_NAME"; its name as written there goes into `name`. */
static const char *variable(char name[64], const char *prefix, const char *setting)
{
	snprintf(name, 64, "%s%s", prefix, setting);
	for (char *p = name; *p; p++)
		*p = (char)toupper((unsigned char)*p);
	return getenv(name);
}

/* Hardly ever: that spares a start to make and look for some fifty names. */
static bool environment_has(const char *prefix)
{
	for (char **v = environ; *v; v++)
		if (strncmp(*v, prefix, strlen(prefix)) == 0)
			return true;
	return false;
}

/* A name of old that is set would have no effect, unsaid. */
static void old_variable(const char *prefix, const char *old, const char *now, struct diags *d)
{
	char name[64], new_name[64];

	if (!variable(name, prefix, old))
		return;
	variable(new_name, prefix, now);
	diag_error(d, (struct loc){ 0, 0 }, "environment variable %s is not there any more", name);
	diag_hint(d, "it is called %s", new_name);
}

static void read_variable(struct config *c, const char *prefix, const struct setting *s,
                          struct diags *d)
{
	char name[64];
	const char *text = variable(name, prefix, s->name), *expected;
	struct value v;

	if (!text)
		return;
	v = value_of_text(arena_strdup(d->arena, text));
	expected = s->set(c, &v);
	if (expected)
		diag_error(d, (struct loc){ 0, 0 }, "environment variable %s must be %s, not '%s'",
		           name, expected, text);
}

static void read_variables(struct config *c, struct diags *d)
{
	for (u32 i = 0; i < ARRAY_SIZE(settings); i++) {
		read_variable(c, "bpftrace_", &settings[i], d);
		read_variable(c, "memtap_", &settings[i], d);
	}
	for (u32 i = 0; i < ARRAY_SIZE(renamed); i++)
		old_variable("bpftrace_", renamed[i].old, renamed[i].now, d);
}

void config_without_effect(struct buf *b)
{
	static const char *const others[] = { "debug_output", "kernel_build", "kernel_source",
		                              "verify_llvm_ir", "vmlinux" };
	char name[64];

	for (u32 i = 0; i < ARRAY_SIZE(ignored) + ARRAY_SIZE(others); i++)
		if (variable(name, "bpftrace_",
		             i < ARRAY_SIZE(ignored) ? ignored[i]
		                                     : others[i - ARRAY_SIZE(ignored)]))
			buf_printf(b, "%s: without effect, there is nothing to set here\n", name);
}

/* ---- the config block ----------------------------------------------------------------------- */

/* "BPFTRACE_MAX_STRLEN" and "max_strlen" are the same key. */
static const char *plain_key(struct arena *a, struct str name)
{
	char *key = arena_strndup(a, name.p, name.n);

	for (char *p = key; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	if (strncmp(key, "bpftrace_", 9) == 0)
		return key + 9;
	return strncmp(key, "memtap_", 7) == 0 ? key + 7 : key;
}

static bool unknown_key(const struct config_item *item, const char *key, struct diags *d)
{
	struct near n;

	diag_error(d, item->loc, "unknown config key '%s'", key);
	for (u32 i = 0; i < ARRAY_SIZE(renamed); i++)
		if (strcmp(renamed[i].old, key) == 0) {
			diag_hint(d, "'%s' is called '%s'", key, renamed[i].now);
			return false;
		}
	near_init(&n, key);
	for (u32 i = 0; i < ARRAY_SIZE(settings); i++)
		near_offer(&n, settings[i].name);
	if (near_best(&n))
		diag_hint(d, "did you mean '%s'?", near_best(&n));
	return false;
}

static struct value value_of_node(struct arena *a, const struct node *n)
{
	struct str text = n->kind == NODE_BUILTIN ? n->builtin.name : n->string;

	if (n->kind == NODE_INT)
		return (struct value){ .is_number = true, .number = n->integer.value, .text = "" };
	return (struct value){ .text = arena_strndup(a, text.p, text.n) };
}

static bool read_item(struct config *c, const struct config_item *item, struct diags *d)
{
	const char *key = plain_key(d->arena, item->name), *expected;
	const struct setting *s = find_setting(key);
	struct value v;

	if (!s && !is_ignored(key))
		return unknown_key(item, key, d);
	if (item->value->kind == NODE_CALL)
		return true; /* config_options() */
	if (!s) {
		diag_warn(d, item->loc, "config key '%s' has no effect here", key);
		return true;
	}
	v = value_of_node(d->arena, item->value);
	expected = s->set(c, &v);
	if (expected)
		return diag_error(d, item->value->loc, "config key '%s' must be %s", key, expected);
	return true;
}

bool config_read(struct config *c, const struct script *s, struct diags *d)
{
	u32 errors = d->n_errors;

	*c = (struct config){
		.max_strlen = 1024,
		.max_map_keys = 4096,
		.max_probes = 1024,
		.max_cat_bytes = 10240,
		.cut_mark = "..",
		.print_maps_on_exit = true,
		.demangle = true,
		.show_debug_info = true,
		.missing_probes = MISSING_ERROR,
		.stack_mode = STACK_BPFTRACE,
		.ring_pages = 64,
		.map_memory = 64,
		.stack_memory = 64,
		.unwind_memory = 128,
	};
	for (const struct config_item *item = s->config; item; item = item->next)
		read_item(c, item, d);
	if (environment_has("BPFTRACE_") || environment_has("MEMTAP_"))
		read_variables(c, d);
	return d->n_errors == errors;
}

static bool read_option(struct config *c, const struct config_item *item, const struct request *r,
                        struct diags *d)
{
	struct str letter, name = str_cut(item->value->call.args->string, '|', &letter);
	const struct setting *s = find_setting(plain_key(d->arena, item->name));
	const char *expected;
	struct value v;

	for (u32 i = 0; s && i < r->n_options; i++) {
		if (!str_is(name, r->options[i].name) || !r->options[i].value)
			continue;
		v = value_of_text(r->options[i].value);
		expected = s->set(c, &v);
		if (!expected)
			continue;
		diag_error(d, item->value->loc, "option --%s must be %s, not '%s'",
		           r->options[i].name, expected, v.text);
		diag_cause(d);
		return false;
	}
	return true;
}

bool config_options(struct config *c, const struct script *s, struct diags *d)
{
	u32 errors = d->n_errors;

	for (const struct config_item *item = s->config; item; item = item->next)
		if (item->value->kind == NODE_CALL)
			read_option(c, item, &s->request, d);
	return d->n_errors == errors;
}

/* ---- reading them --------------------------------------------------------------------------- */

/* The settings that are numbers. */
static const struct {
	const char *name;
	size_t at; /* a u32 of struct config */
} numbers[] = {
	{ "max_strlen", offsetof(struct config, max_strlen) },
	{ "max_map_keys", offsetof(struct config, max_map_keys) },
	{ "max_probes", offsetof(struct config, max_probes) },
	{ "max_cat_bytes", offsetof(struct config, max_cat_bytes) },
	{ "ring_pages", offsetof(struct config, ring_pages) },
	{ "perf_rb_pages", offsetof(struct config, ring_pages) },
	{ "poll_ms", offsetof(struct config, poll_ms) },
	{ "map_memory", offsetof(struct config, map_memory) },
	{ "stack_memory", offsetof(struct config, stack_memory) },
	{ "unwind_memory", offsetof(struct config, unwind_memory) },
};

static const struct {
	const char *name;
	size_t at; /* a bool of struct config */
} flags[] = {
	{ "print_maps_on_exit", offsetof(struct config, print_maps_on_exit) },
	{ "show_debug_info", offsetof(struct config, show_debug_info) },
	{ "cpp_demangle", offsetof(struct config, demangle) },
	{ "follow_at_once", offsetof(struct config, follow_at_once) },
};

static bool is_text(struct config_value *v, const char *text)
{
	*v = (struct config_value){ .kind = CONFIG_TEXT, .text = text };
	return true;
}

bool config_get(const struct config *c, struct str name, struct config_value *v)
{
	u32 number;

	for (u32 i = 0; i < ARRAY_SIZE(numbers); i++)
		if (str_is(name, numbers[i].name)) {
			memcpy(&number, (const char *)c + numbers[i].at, sizeof(number));
			*v = (struct config_value){ .kind = CONFIG_NUMBER, .number = number };
			return true;
		}
	for (u32 i = 0; i < ARRAY_SIZE(flags); i++)
		if (str_is(name, flags[i].name)) {
			*v = (struct config_value){
				.kind = CONFIG_FLAG,
				.number = *((const bool *)c + flags[i].at),
			};
			return true;
		}
	if (str_is(name, "str_trunc_trailer"))
		return is_text(v, c->cut_mark);
	if (str_is(name, "missing_probes"))
		return is_text(v, missing_words[c->missing_probes]);
	if (str_is(name, "stack_mode"))
		return is_text(v, stack_words[c->stack_mode]);
	return str_is(name, "license") && is_text(v, "GPL");
}

const struct str *config_names(u32 *n)
{
	static const struct str names[] = {
		{ "max_strlen", 10 },         { "max_map_keys", 12 },    { "max_probes", 10 },
		{ "max_cat_bytes", 13 },      { "ring_pages", 10 },      { "poll_ms", 7 },
		{ "map_memory", 10 },         { "stack_memory", 12 },    { "unwind_memory", 13 },
		{ "print_maps_on_exit", 18 }, { "stack_mode", 10 },      { "missing_probes", 14 },
		{ "str_trunc_trailer", 17 },  { "show_debug_info", 15 }, { "cpp_demangle", 12 },
	};

	*n = ARRAY_SIZE(names);
	return names;
}

bool config_row(u32 i, struct help_row *r)
{
	if (i < ARRAY_SIZE(settings))
		*r = (struct help_row){ settings[i].name, settings[i].usual, settings[i].help };
	return i < ARRAY_SIZE(settings);
}

void config_offer(struct near *n)
{
	for (u32 i = 0; i < ARRAY_SIZE(settings); i++)
		near_offer(n, settings[i].name);
}
