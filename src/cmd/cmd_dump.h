/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* `-d`: what a script has become after a stage of compiling, on stdout. */
#ifndef CMD_CMD_DUMP_H
#define CMD_CMD_DUMP_H

#include "cmd/job.h"

/* The words of -d in the usage text and in messages. */
#define DUMP_WORDS "ast, types, unit, bpf, time, verifier, all"

/* What the list after -d asks for. */
struct dump_request {
	u32 rows;        /* bits: rows of the table in cmd_dump.c */
	enum stage last; /* how far the script must be compiled */
	bool tree;       /* the tree as it was written, among others */
	bool loads;      /* and its programs loaded into the kernel */
};

/* Reads "ast,types". bpftrace's names of stages are known too. False and *e at a wrong word. */
bool cmd_dump_parse(struct dump_request *r, const char *words, struct err *e);
/* Prints it; programs are loaded, not attached. Returns the exit code. */
int cmd_dump_print(const struct job *j, const struct dump_request *r);

#endif
