// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Finding the place in requests where it is not known: on a connection that was open before it was
 * looked at, and after bytes that are missing.
 *
 * The idea: what is read next is taken for the start of a request, on trial. It may as well be the
 * middle of a value, which may look like requests. So what it asks is kept, and reported only when
 * the answers agree: when all of it got one that fits. A value's commands get none, or one for
 * all of them, and a server that reads again has answered what it read before. What is refuted is
 * counted, and the next read is tried.
 *
 *     unknown --a read--> on trial --answers agree--> sure
 *        ^                   |
 *        +----refuted--------+
 *
 * Of an answer that was not captured nobody knows how many it answers; but it comes where a value
 * ends. What was read before the first such one is given up, what follows is sure once that was
 * answered, too. Where nothing is ever answered (noreply), reads that begin and end with a request
 * do, a few in a row: a value's commands end at the ends of reads by chance only.
 */
#include <string.h>

#include "proto/conn.h"

#define TRIAL_MAX   (1u << 20) /* bytes of commands kept */
#define TRIAL_READS 8u         /* without a request to answer, whole ones each: enough */

void trial_keep(struct proto *c, const struct command *command)
{
	struct trial *t = &c->trial;
	struct command kept = *command;

	kept.key.p = NULL;
	buf_add(&t->commands, &kept, sizeof(kept));
	buf_add(&t->commands, command->key.n ? command->key.p : "", command->key.n);
	t->calls += command->key.n != 0;
	t->refuted |= t->commands.n > TRIAL_MAX;
}

/* Those whose value or arguments are still coming in are not asked yet. */
static u32 asked(const struct proto *c)
{
	return c->n - MIN(c->args.keys + c->storing, c->n);
}

static bool is_waiting(const struct proto *c)
{
	for (u32 i = c->queued; i < asked(c); i++)
		if (!conn_at(c, i)->quiet)
			return true;
	return false;
}

void trial_answer(struct proto *c, enum outcome outcome)
{
	/* A request whose end has not come can be refused, not done. */
	c->trial.refuted |= !asked(c) && outcome != OUTCOME_ERROR;
	c->trial.answers++;
}

/* Does what was read end with the end of a request? */
static bool is_whole(const struct proto *c)
{
	return !c->in.held.n && !c->in.skip && !c->args.n;
}

static bool is_answered(const struct proto *c)
{
	return c->trial.answers && !is_waiting(c) && !c->out.held.n && !c->out.skip &&
	       !c->await_end && !c->reply.depth && !c->reply.unasked;
}

static void confirm(struct proto *c)
{
	struct buf commands = c->trial.commands;

	c->sure = true;
	c->known = c->protocol;
	c->unseen += c->trial.unseen;
	c->trial = (struct trial){ 0 };
	for (size_t i = 0; i < commands.n;) {
		struct command command;

		memcpy(&command, commands.p + i, sizeof(command));
		i += sizeof(command);
		command.key.p = commands.p + i;
		i += command.key.n;
		c->emit(c->ctx, &command);
	}
	buf_free(&commands);
}

void trial_begin(struct proto *c)
{
	c->trial = (struct trial){ 0 };
	c->protocol = c->known;
	c->synced = true;
}

void trial_end(struct proto *c)
{
	c->unconfirmed += c->trial.calls;
	for (u32 i = 0; i < c->n; i++)
		c->unconfirmed += conn_at(c, i)->key_size != 0;
	buf_free(&c->trial.commands);
	c->trial = (struct trial){ 0 };
	conn_forget(c);
}

/* What was read so far was answered, but how was not seen. */
static void end_round(struct proto *c)
{
	struct trial *t = &c->trial;
	u32 round = is_whole(c) ? t->rounds + 1 : 0;

	if (round > 1) {
		confirm(c);
		return;
	}
	c->unconfirmed += t->calls;
	buf_free(&t->commands);
	*t = (struct trial){ .rounds = round };
}

void trial_next_read(struct proto *c)
{
	if (is_waiting(c))
		trial_end(c);
	else if (c->trial.unheard)
		end_round(c);
}

void trial_was_asked(struct proto *c)
{
	struct trial *t = &c->trial;

	if (t->refuted) {
		trial_end(c);
		return;
	}
	t->reads = is_whole(c) ? t->reads + 1 : 0;
	if (t->reads >= TRIAL_READS && t->calls && !c->n)
		confirm(c);
}

void trial_was_answered(struct proto *c)
{
	if (c->trial.refuted)
		trial_end(c);
	else if (is_answered(c) && (c->trial.proven || (is_whole(c) && !c->trial.unheard)))
		confirm(c);
}
