/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Who may ask: users with a password and bearers of a token, each known by a hash of crypt(3),
 * whose library is loaded when it is asked for; and what TLS needs. A hash takes a twentieth of a
 * second or more, so a header that was right is kept and not hashed again, and of those that are
 * wrong two are looked at, and one each second then.
 */
#ifndef WEB_GUARD_H
#define WEB_GUARD_H

#include "base/arena.h"
#include "base/err.h"

#define GUARD_KEPT 16

enum guard_says { GUARD_PASS, GUARD_WHO, GUARD_LATER };

struct guard_known {
	const char *name; /* of a user; NULL: who has the token */
	const char *hash;
};

struct guard {
	/* Text in PEM, NULL none: without a certificate there is no TLS. */
	const char *cert, *key, *client_ca;
	bool client_must;              /* show a certificate that client_ca signed */
	bool tls13;                    /* and no older version; else from 1.2 on */
	VEC(struct guard_known) known; /* none: everybody may ask */
	/* What follows is its own. */
	const char *(*crypt)(const char *phrase, const char *setting, void *data, int size);
	char *kept[GUARD_KEPT]; /* headers that were right */
	u32 n_kept;
	u64 next; /* ms of CLOCK_MONOTONIC, from when on a wrong one is looked at */
};

/* False and *e: it is no hash that is taken: bcrypt of at most 2^14 rounds, SHA-256, SHA-512,
 * yescrypt. */
bool guard_takes(const char *hash, struct err *e);
/* Loads the library, when there is somebody known. */
bool guard_open(struct guard *g, struct err *e);
/* Of a request with that header Authorization, NULL none. */
enum guard_says guard_ask(struct guard *g, const char *authorization);
/* Forgets the headers. */
void guard_close(struct guard *g);

#endif
