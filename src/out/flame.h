/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Stacks with a value, merged where they begin alike: the tree that flame graphs are drawn of and
 * folded stacks are written from.
 */
#ifndef OUT_FLAME_H
#define OUT_FLAME_H

#include "base/err.h"
#include "base/hmap.h"
#include "out/out.h"
#include "out/value.h"

#define FLAME_NODES 1048576u /* at most; what does not fit is counted where its stack ends then */
#define FLAME_NAME  1024u    /* bytes of a name, longer ones are cut */
#define FLAME_DEPTH 2048u    /* frames of a folded stack */
#define FLAME_LINE  1048576u /* bytes of a folded stack */

/* A function at one place of the tree. */
struct flame_node {
	const char *name;   /* valid UTF-8 without control characters and ';' */
	const char *module; /* the file or kernel module it is in, or "" */
	enum frame_kind kind;
	u32 n_kids;
	u64 value;               /* of all stacks through here */
	u64 self;                /* of those that end here */
	u64 before, before_self; /* the same in an earlier recording: flame_compare() */
	struct flame_node *next; /* of the same parent */
	struct flame_node *kids; /* by name, once flame_sort() was called */
};

/* All zero is an empty graph. */
struct flame {
	struct arena arena;
	struct flame_node root; /* above all stacks; name and module are NULL */
	struct hmap nodes;      /* parent, kind, name and module to node */
	u64 stacks;             /* different ones */
	u64 cut;                /* added with frames left out: there were too many nodes */
	u64 refused;            /* not added: their value was below 1 */
	u64 gone;               /* value of earlier stacks that have no frame here any more */
	/* The stack being added. */
	struct flame_node *at;
	u64 adding;
	struct buf scratch;
};

/* One stack: begin, then its frames from the outermost on. */
void flame_begin(struct flame *f, s64 value);
void flame_frame(struct flame *f, const struct frame_name *frame);
/* flame_begin() and what follows it is done; nothing is added without. */
void flame_end(struct flame *f);
void flame_free(struct flame *f);

/* True when a map's rows are stacks with a number: its key is or has a stack. */
bool flame_fits(const struct umap *m);
/*
 * Adds the rows of a map. What is in the key beside the stack comes first, outermost, as one frame.
 * `part` names the part of a record that is the value, or is NULL: then it is the first number in
 * the value.
 */
void flame_add_table(struct flame *f, const struct out *o, const struct table *t, const char *part);
/* The same with the `most` heaviest rows; the others are one frame, "[others]". Sorts the table. */
void flame_add_heaviest(struct flame *f, const struct out *o, struct table *t, u32 most);
/* Which part of a map's value that is. False when it has no such number. */
bool flame_part(const struct umap *m, const char *part, u32 *index);
/* Can a graph be drawn of a part of that type? And its number, or that of a whole value. */
bool flame_is_number(const struct type *t);
s64 flame_value(const struct type *t, const struct cell *c, u32 part);
/* What a key says one by one, the outermost first: what is in it beside stacks as one frame, then
 * theirs. */
void flame_key(const struct out *o, const struct value *key, frame_fn *fn, void *ctx);

/* What is counted, by the names of the part or map: "faults", "bytes". */
const char *flame_unit(const struct umap *m, const char *part);

/* Puts the kids of every node in the order of their names. */
void flame_sort(struct flame *f);
/* A line for each stack: "outermost;...;innermost value". */
void flame_fold(struct buf *b, const struct flame *f);

/* The same, each frame as "KMODULE\tNAME", K being its kind: 'a' for the first. */
void flame_fold_whole(struct buf *b, const struct flame *f);

/* Adds the stacks of lines of either form. False and *e, which says the line, where the text is
 * something else. */
bool flame_unfold(struct flame *f, const char *text, size_t n, struct err *e);
/* Sorts both and sets what each frame of f had in `old`. */
void flame_compare(struct flame *f, struct flame *old);

struct flame_svg {
	const char *title;
	const char *unit; /* what is counted: "bytes" */
	/* Colours for what changed since flame_compare()'s `old`. */
	bool diff;
	const char *nonce; /* of its script, for a Content-Security-Policy; NULL none */
};
/* The whole picture as a file that needs no other (flame_svg.c). */
void flame_svg(struct buf *b, const struct flame *f, const struct flame_svg *o);
/* Parts of it, what makes it answer and what it looks like (flame.js, flame.css), made by
 * scripts/pack: gzip streams, their bytes, and those of the texts. */
extern const unsigned char packed_flame_js[], packed_flame_css[];
extern const unsigned packed_flame_js_size, packed_flame_js_text;
extern const unsigned packed_flame_css_size, packed_flame_css_text;

#endif
