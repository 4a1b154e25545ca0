/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The steps from text to typed tree. Each takes the result of the one before; each
 * returns false after adding at least one error to the diagnostics.
 */
#ifndef LANG_PARSE_LANG_H
#define LANG_PARSE_LANG_H

#include "base/near.h"
#include "lang/parse/ast.h"
#include "lang/parse/help_row.h"
#include "lang/parse/world.h"

#define CONFIG_PROBES_MAX (1u << 20) /* max_probes at most */

struct config {
	u32 max_strlen;      /* bytes incl. NUL, default 1024 */
	u32 max_map_keys;    /* 4096 */
	u32 max_probes;      /* 1024 attach points after expansion */
	const char *cut_mark; /* ".." */
	bool print_maps_on_exit;
	u32 max_cat_bytes;   /* of a file that cat() prints, 10240 */
	bool show_debug_info; /* source lines in stacks, true */
	bool demangle; /* names of C++ and Rust functions */
	enum { MISSING_ERROR, MISSING_WARN, MISSING_IGNORE } missing_probes;
	enum stack_mode stack_mode;
	u32 ring_pages;      /* of 4 KiB, a power of two; default 64 */
	const char *view;    /* the C view of the script, NULL none */
	const char *only_lines; /* of what printf() prints, that which holds this; NULL all */
	u32 max_lines;       /* ends after so many of printf(), 0 never */
	u32 poll_ms;         /* look for records that often; 0: each wakes us */
	bool max_map_keys_set; /* given by the user */
	u32 map_memory;      /* MiB for maps that take as many keys as fit, 64 */
	bool map_memory_set; /* given by the user */
	u32 stack_memory;    /* MiB for stacks that are kept, 64 */
	u32 unwind_memory;   /* MiB for tables by which stacks are walked, 128 */
	bool follow_at_once; /* user probes are in all processes, so also in one just made */
	bool helper_errors;  /* -k */
};

/* parse.c: text -> tree. */
bool parse_script(struct script *s, struct diags *d);
/* Adds the macros of a text that is not the user's. */
bool parse_library(struct script *s, const char *text, struct diags *d);
/* The expression that is all of [from, to) of the script's text; NULL after an error. */
struct node *parse_text(struct script *s, u32 from, u32 to, struct diags *d);
/* config.c: MEMTAP_/BPFTRACE_ environment variables over the config block over the defaults. */
bool config_read(struct config *c, const struct script *s, struct diags *d);
/* Variables of the environment that bpftrace has and memtap has no use for, a line each. */
void config_without_effect(struct buf *b);
/* Then the settings whose value is an option of the script, as far as these are given. */
bool config_options(struct config *c, const struct script *s,
                    struct diags *d);
/* The value of a setting, by its name in the config block, for `config.name`. False when there is
 * none of that name. */
struct config_value {
	enum { CONFIG_NUMBER, CONFIG_FLAG, CONFIG_TEXT } kind;
	u64 number;       /* of CONFIG_NUMBER and CONFIG_FLAG */
	const char *text; /* of CONFIG_TEXT; lives as long as the script */
};
bool config_get(const struct config *c, struct str name, struct config_value *v);
/* The settings that the record `config` has; *n is their number. */
const struct str *config_names(u32 *n);
/* Offers the names of the settings that can be read. */
void config_offer(struct near *n);
/* The row at `i` of the settings, of the ways to write a probe; false after the last. */
bool config_row(u32 i, struct help_row *r);
bool probe_row(u32 i, struct help_row *r);
/* targets.c: attach points -> variants, asking the world. */
bool targets_expand(struct script *s, const struct config *c, struct world *w, struct diags *d);
/* True when a probe written as `text` can be attached as far as is known without trying; nothing
 * that would stand in for it counts. *problem is set when it is no probe at all. The options are
 * those of `in`. */
bool targets_has(struct script *in, const struct config *c, struct world *w, const char *text,
		 const char **problem);
/* What may stand after the kind, for listings: the i-th event of SOFTWARE or HARDWARE, aliases too,
 * or unit of a clock, in their order; NULL after the last. */
const char *targets_event_name(enum attach_kind kind, u32 i);
/* script_options.c: the options of a parsed script, from its getopt() calls. What is wrong with
 * them is found by infer. */
void script_options_read(struct script *s);
/* The name and letter of an option, from "name" or "name|letter". False when it is neither. */
bool script_option_name(struct arena *a, struct str text, struct script_option *o);
/* The options as text, a line each. */
void script_options_usage(struct buf *b, const struct script *s);
/* predicate.c: true when a predicate, as parsed, is false because of options alone: getopt("name"),
 * getopt("name", "text") == "other", '!', '&&' and '||' of them. Then its probes need not exist. */
bool predicate_rules_out(const struct request *r, const struct node *pred);
/* infer.c: names, types, constants. */
bool infer_script(struct script *s, const struct config *c, struct world *w, struct diags *d);

#endif
