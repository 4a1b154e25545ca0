/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the subcommands of `memtap btf` share: each is one function that gets a job (options,
 * arguments, the opened BTF, where to print) and returns false with *e set when it can not do it.
 */
#ifndef CMD_BTF_CMD_BTF_H
#define CMD_BTF_CMD_BTF_H

#include <memtap/btf.h>

#include "base/opt.h"
#include "cmd/sink.h"
#include "ctext/c_work.h"

struct btf_options {
	const char *btf, *base, *module; /* which BTF */
	const char *kind;                /* find */
	bool c, json;                    /* dump */
	const char *output;              /* filter */
	const char *types, *paths;
	bool objects;
	bool help;
};

struct btf_job {
	const struct btf_options *o;
	const char *const *args; /* what is neither option nor the subcommand */
	u32 n_args;
	struct btf *btf;   /* NULL for commands that open files of their own */
	const char *where; /* what was opened, for messages */
	struct arena *arena;
	struct sink out;
	struct c_work work; /* for what was opened */
};

bool cmd_btf_show(struct btf_job *j, struct err *e);
bool cmd_btf_path(struct btf_job *j, struct err *e);
bool cmd_btf_find(struct btf_job *j, struct err *e);
bool cmd_btf_stat(struct btf_job *j, struct err *e);
bool cmd_btf_dump(struct btf_job *j, struct err *e);
bool cmd_btf_diff(struct btf_job *j, struct err *e);
bool cmd_btf_filter(struct btf_job *j, struct err *e);

/* The forms of `dump`. The raw and the JSON one return false when they met a damaged type. */
bool cmd_btf_raw(struct sink *out, const struct btf *b);
bool cmd_btf_c(struct sink *out, const struct btf *b, struct err *e);
bool cmd_btf_json(struct sink *out, const struct btf *b);

/* Opens a file or, with NULL, the running kernel's. */
struct btf *cmd_btf_open(const char *path, struct err *e);
/* Moves the library's message into *e; always false. */
bool cmd_btf_fail(struct err *e, const struct btf_error *be);
/* False, with the first damaged place, when the BTF is damaged. */
bool cmd_btf_check(const struct btf *b, const char *where, struct err *e);

/* False, with a message, when types were left out because they took too many steps. */
bool cmd_btf_is_whole(const struct c_work *w, struct err *e);

/* The word of a kind in lower case, "struct"; "unknown" for a new one. */
const char *cmd_btf_kind(u32 kind);
/* The kind of a word, 0 for none. */
u32 cmd_btf_kind_of(const char *word);

#endif
