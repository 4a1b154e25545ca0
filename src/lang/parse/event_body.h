/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Bodies that are compiled for each event the user gives, with what the user said about it.
 */
#ifndef LANG_PARSE_EVENT_BODY_H
#define LANG_PARSE_EVENT_BODY_H

#include "lang/parse/event_spec.h"
#include "lang/parse/lang.h"

/* The offset after the '}' that closes the first '{' at or after `off`. */
u32 event_body_end(const struct script *s, u32 off);
/* True when the text from `off` to `end` names something of its event. */
/* The number of the event that option i of the world names: after those of parameters. */
static inline u32 event_of_option(const struct request *r, u32 i)
{
	return r->n_params + i + 1;
}
bool event_body_wants(const struct script *s, u32 off, u32 end);
/* That text with the words of the event in it, after the source's: as the body, and predicate, of a
 * probe. NULL after an error. */
struct probe *event_body_make(struct script *s, u32 off, u32 end, const struct event_spec *e,
			      struct diags *d);
/* The body of a probe at the entry of the event's function, when e->keep is not NULL. */
struct probe *event_body_entry(struct script *s, const struct event_spec *e, struct diags *d);
/* Reads what stands after the event. False after an error. */
bool event_body_spec(struct script *s, const struct event_text *text, struct event_spec *e,
		     struct diags *d);
/* Replaces `unroll (event) { ... }`, anywhere in the probe, by its body for each parameter, and
 * `unroll (event("name")) { ... }` by that for each value of the option. */
void event_body_unroll(struct script *s, struct probe *p, struct diags *d);

#endif
