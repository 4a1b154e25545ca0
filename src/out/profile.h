/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Stacks with all their numbers, by the places in files that they are of: what profiles are
 * written from (pprof.h, otlp_profile.h). Tables that name each other by number, as in both
 * formats; number 0 of each is nothing.
 */
#ifndef OUT_PROFILE_H
#define OUT_PROFILE_H

#include "base/hmap.h"
#include "out/out.h"

#define PROFILE_VALUES   16u
#define PROFILE_COMMENTS 4u
#define PROFILE_FRAMES   (8u << 20) /* in all stacks; those beyond are "[others]" */

struct profile_mapping {
	u32 file, build_id;       /* texts */
	u64 start, limit, offset; /* of a segment as its file's headers count; 0: not known */
	bool unnamed;             /* of one of its places no function is known */
};

struct profile_function {
	u32 name, file; /* texts */
};

struct profile_location {
	u32 mapping;
	enum frame_kind kind;
	u64 address;          /* as the file's headers count; 0: not known */
	const u32 *functions; /* the innermost first, those that were inlined */
	u32 n;
};

struct profile_sample {
	const u32 *locations; /* the innermost first */
	u32 n;
	s64 *values;
};

/* A number that each sample has. */
struct profile_value {
	const char *name; /* "inuse_space" */
	const char *unit; /* "bytes", "count" */
	u32 part;         /* of the map's values */
	bool only_grows;  /* less than in the past is a row that began anew */
};

/* What a map had at a time. */
struct profile_past {
	struct arena arena;
	struct hmap rows; /* keys to s64 of each value */
	u64 realtime_ns, monotonic_ns;
};

struct profile {
	const struct umap *map;
	struct profile_value values[PROFILE_VALUES];
	u32 n_values, chosen;    /* which one is shown first */
	const char *title;       /* "" none */
	u64 start_ns, length_ns; /* CLOCK_REALTIME; how long it is of */
	const char *event;       /* what the samples are of, NULL: not by the number of one */
	u64 period;              /* of so many events each is one */
	u64 others;              /* stacks that are in "[others]" */
	u64 lost;                /* events that are in none, since the start */

	struct arena arena;
	VEC(const char *) texts;
	VEC(struct profile_mapping) mappings;
	VEC(struct profile_function) functions;
	VEC(struct profile_location) locations;
	VEC(struct profile_sample) samples;
	/* To their numbers, samples to themselves. */
	struct hmap text_numbers, mapping_numbers, function_numbers, location_numbers, sample_of;
	struct buf stack, lines, scratch; /* of what is being added */
	u32 place;                        /* the location to which lines belong, 0 none */
	u64 frames;
};

/*
 * Of a map for which flame_fits() is true. Its values are all numbers of the map's, PROFILE_VALUES
 * at most; the one called `part`, or if that is NULL the first one, is the chosen one. With
 * `differs` only those that add up. The map is borrowed.
 */
void profile_init(struct profile *p, const struct unit *u, const struct umap *m, const char *part,
                  bool differs);
/* Adds the rows of the map, or what they have more than in the past; of these the `most` that are
 * heaviest, 0: all, the others as "[others]". */
void profile_add_table(struct profile *p, const struct out *o, const struct table *t, u32 most,
                       const struct profile_past *past);
/* Says when it began and how long it is of: from `past` until now. */
void profile_set_times(struct profile *p, const struct profile_past *past);
/* The number of a text of its own: texts are the same when their numbers are. */
u32 profile_text(struct profile *p, const char *text);
/* For people: the title, how it was sampled, what is not in it stack by stack. How many there are.
 */
u32 profile_comments(struct profile *p, const char *to[static PROFILE_COMMENTS]);
void profile_free(struct profile *p);

/* The times alone. */
void profile_past_begin(struct profile_past *past);
/* Takes in what the map has now, of which the values are p's. */
void profile_past_take(struct profile_past *past, const struct profile *p, const struct table *t);
void profile_past_free(struct profile_past *past);

#endif
