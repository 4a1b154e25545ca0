/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The words of the table of rules. What was found is "something" or "nothing"; where both look the
 * same it is not known. Private to proto/.
 */
#ifndef PROTO_RESP_RULES_H
#define PROTO_RESP_RULES_H

#include "proto/resp.h"

/* What an answer says. An error says that nothing was done, but for "no such key"; null and an
 * empty array say that nothing was found. */
enum resp_says {
	SAYS_BY_FLAGS,
	SAYS_FOUND,    /* anything else is what was asked for */
	SAYS_DONE,     /* only null says that it was not */
	SAYS_COUNT,    /* 0 is nothing: so many were found, or changed */
	SAYS_SIZE,     /* 0, -1 and "" may be of a key that is there, or not */
	SAYS_LENGTH,   /* ... and arrays are no answer to that */
	SAYS_TIME,     /* -2 is nothing */
	SAYS_ANY,      /* elements that are all null or 0 are nothing */
	SAYS_ANY_TIME, /* ... that are all -2 */
	SAYS_SCAN,     /* a cursor, and an array that may be empty before the end */
	SAYS_CHANGED,  /* the new number; if that is what it was changed by, it may have been new */
	SAYS_NOTHING,  /* nothing of the keys */
};

/* ... of several keys. Those that are written where others are read, are done when there is
 * something. */
enum resp_spread {
	SPREAD_SAME,         /* the same of all */
	SPREAD_EACH,         /* element by element */
	SPREAD_COUNT,        /* how many there are: 0, all, or nobody knows which */
	SPREAD_UNION,        /* nothing: there is none of them */
	SPREAD_INTERSECTION, /* something: there are all */
	SPREAD_DIFFERENCE,   /* something: there is the first */
	SPREAD_NAMED,        /* the first that there is, is named */
	SPREAD_STREAMS,      /* those that have something are named */
	SPREAD_SOURCE,       /* nothing: the first may be there all the same */
	SPREAD_NONE,         /* nothing is said of what was read */
};

enum resp_lookups {
	LOOKUPS_BY_ACCESS, /* one for each key that is read */
	LOOKUPS_NONE,
	LOOKUPS_ALL,   /* one for each key */
	LOOKUPS_MAYBE, /* one or none, as options and versions have it */
	LOOKUPS_MORE,  /* any number */
	LOOKUPS_RESET, /* the server begins to count anew */
};

#endif
