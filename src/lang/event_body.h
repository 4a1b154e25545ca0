/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Bodies that are compiled for each event the user gives, with what the user said about it.
 */
#ifndef LANG_EVENT_BODY_H
#define LANG_EVENT_BODY_H

#include "lang/event_spec.h"
#include "lang/lang.h"

/* The offset behind the '}' that closes the first '{' at or behind `off`. */
u32 event_body_end(const struct script *s, u32 off);
/* True when the text from `off` to `end` names something of its event. */
bool event_body_wants(const struct script *s, u32 off, u32 end);
/* That text with the words of event number n (from 1) in it, behind the source's: as the body, and
 * predicate, of a probe. NULL after an error. */
struct probe *event_body_make(struct script *s, u32 off, u32 end, const struct event_spec *e, u32 n,
			      struct diags *d);
/* Reads what stands behind the event. False after an error. */
bool event_body_spec(struct script *s, const struct event_text *text, struct event_spec *e,
		     struct diags *d);
/* Replaces `unroll (event) { ... }`, anywhere in the probe, by its body for each parameter. */
void event_body_unroll(struct script *s, struct probe *p, const struct world *w, struct diags *d);

#endif
