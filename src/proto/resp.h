/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The commands of Redis and its relatives: where their keys are (resp_keys.c, over the table that
 * scripts/resp-commands makes of what servers say), and what an answer says of them
 * (resp_answer.c). Private to proto/.
 */
#ifndef PROTO_RESP_H
#define PROTO_RESP_H

#include "proto/conn.h"
#include "proto/resp_commands.h"

enum resp_access { KEY_READ, KEY_WRITE, KEY_DELETE };

/* One of the server's own key specifications (the page "Command key specifications" of Redis'
 * manual): from argument `at` on, or after the first `keyword` from there on. `counted`: a number
 * of keys stands there, then they. Else up to `last`, relative to the first key, or to the end if
 * negative; of what is left then, one part of `limit`. */
struct resp_keys {
	char keyword[12]; /* "": none */
	u8 at;
	u8 access; /* enum resp_access */
	s8 last;
	u8 step, limit;
	bool counted;
};

struct resp_row {
	struct verb verb; /* of a subcommand with its command in front */
	u8 keys, n_keys;  /* in resp_keys */
	bool container;   /* the next argument says which subcommand */
	bool module;
};

extern const struct resp_keys resp_keys[];
extern const struct resp_row resp_rows[RESP_COMMANDS + 1]; /* by name, then "other" */
#define RESP_OTHER (&resp_rows[RESP_COMMANDS])

#define RESP_NAME_MAX 40u

/* In any case; RESP_OTHER when there is none. */
const struct resp_row *resp_find(struct str name);
bool resp_is(const struct resp_row *row, struct str name);
const struct resp_row *resp_find_sub(const struct resp_row *container, struct str name);
static inline const struct resp_row *resp_row_of(const struct pending *p)
{
	return (const struct resp_row *)p->verb;
}

/* ---- requests: resp_keys.c ---- */

/* Argument 0, or that and 1, is known to be this command. */
void resp_keys_begin(struct resp_request *r, const struct resp_row *row);
/* Are the bytes of argument i, of that size, needed? */
bool resp_keys_wanted(const struct resp_request *r, u64 i, u64 size);
/* An argument that is no key. */
void resp_keys_look(struct resp_request *r, u64 i, struct str p, u64 size);
/* The specification by which argument i is a key; NULL when it is none. */
const struct resp_keys *resp_keys_at(const struct resp_request *r, u64 i);

/* What CLIENT REPLY chose. */
enum resp_replies { REPLIES_ON, REPLIES_SKIP, REPLIES_OFF };

/* ---- answers: resp_answer.c ---- */

/* What comes back for SUBSCRIBE and its like. */
enum resp_talk {
	TALK_NONE,
	TALK_SUBSCRIBE,   /* RESP3: a push; RESP2: from here on the server talks unasked */
	TALK_UNSUBSCRIBE, /* RESP3: a push */
	TALK_STREAM,      /* from here on the server talks unasked */
};

/* Which bytes of a string in the answer are looked at. */
enum resp_looked { LOOKED_NONE, LOOKED_NUMBER, LOOKED_CURSOR, LOOKED_FIRST_KEY, LOOKED_KEYS };

/* What a command does that its flags do not say; 0 as they say. */
struct resp_rule {
	u8 op;      /* enum op + 1 */
	u8 says;    /* what the answer says of its keys */
	u8 spread;  /* ... when there are several */
	u8 value;   /* how far after its key the value is */
	u8 step;    /* the argument by which a counter is changed */
	u8 lookups; /* how the server counts it */
	u8 talk;    /* enum resp_talk */
	bool whole; /* nothing found means that there is no such key */
};

extern const struct resp_rule resp_rules[RESP_COMMANDS + 1];
static inline const struct resp_rule *resp_rule_of(const struct resp_row *row)
{
	return &resp_rules[row - resp_rows];
}

/* How argument i of the request, a key, is pending. */
void resp_pending(const struct resp_request *r, const struct resp_keys *k, struct pending *p);

/* One value of an answer, by its first line; of strings that are looked at the bytes. */
struct resp_value {
	char type;
	bool null, many, sized, number;
	s64 n;           /* of a number */
	u64 size;        /* of a string; elements of an array, pairs of a map */
	struct str text; /* of a line after its type; the bytes of a string */
};

enum resp_looked resp_looked(const struct pending *p);
bool resp_answers_each(const struct pending *p);
/* Element `index` of the answer; `depth` 1 is the outermost array. */
void resp_see(struct proto *c, struct pending *p, u32 depth, u64 index, bool of_map,
              const struct resp_value *v);
/* All of the answer to the command whose keys start at `at` in the queue, is in: reports them. */
void resp_answer(struct proto *c, u32 at);
/* ... which has one key and means that, of which a string is `size` long. */
void resp_answer_simple(struct proto *c, enum outcome outcome, bool sized, u64 size);
/* ... of one key of it, by one element. */
void resp_answer_one(struct proto *c, u32 at, const struct resp_value *v);

#endif
