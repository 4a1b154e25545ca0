/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Holding a process of ours where its memory maps are worth reading: after exec and, when asked
 * for, at its end.
 */
#ifndef RUN_TRACEE_H
#define RUN_TRACEE_H

#include <signal.h>
#include <sys/types.h>

#include "base/err.h"

struct tracee {
	pid_t pid;
	bool attached; /* ptrace holds between us; false: all calls but _attach do nothing */
	bool to_end;   /* stays attached after exec */
	bool stands;   /* still, until tracee_continue() */
	bool reaped;
	bool loader;    /* stands still, too, when the dynamic loader has mapped code */
	bool loading;   /* ... which it still does */
	bool maps_code; /* its present system call does */
	u64 loader_start, loader_end;
	int status; /* of waitpid(), once reaped */
	int fd;     /* readable when tracee_next() has work, -1 none */
	sigset_t old_mask;
};

/* Attaches to a child. False when that is refused, for example by another debugger. */
bool tracee_attach(struct tracee *t, pid_t pid, bool to_end, bool loader);
/* Waits until it stands still after exec. False when it ended instead, or is not attached. */
bool tracee_wait_exec(struct tracee *t);
/* Stands still after exec: runs to its program's entry, its libraries loaded, and is left there,
 * stopped by SIGSTOP and not attached any more. False and *e when it does not come there; `reaped`
 * when it has ended. */
bool tracee_to_entry(struct tracee *t, struct err *e);
/* Attaches to one that SIGSTOP has stopped, where it stands. */
bool tracee_attach_stopped(struct tracee *t, pid_t pid, bool to_end, bool loader);
/* Deals with what happened to it (signals are passed on, stops obeyed). True when it stands still
 * after another exec or at its end, its maps still there, or when the loader has mapped code. */
bool tracee_next(struct tracee *t);
/* A number of the auxiliary vector (AT_*), 0: there is none. */
u64 tracee_auxv(pid_t pid, u64 type);
/* Lets it run on; detaches where nothing more is waited for. */
void tracee_continue(struct tracee *t);
/* Detaches from it wherever it is. */
void tracee_let_go(struct tracee *t);

#endif
