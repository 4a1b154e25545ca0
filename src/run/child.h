/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The process of -c: made early, so that its pid is known to the compiler, and held before
 * exec until all probes are attached.
 */
#ifndef RUN_CHILD_H
#define RUN_CHILD_H

#include "base/err.h"

#define CHILD_GRACE_MS 700

struct child;

/*
 * Splits the command as a shell would for blanks, quotes and backslashes (nothing else is
 * special), finds the program through PATH and makes a process that waits before exec.
 * NULL and *e when the command is malformed or the program is not there.
 */
struct child *child_start(const char *command, struct err *e);
/* Ends it first, with CHILD_GRACE_MS. NULL is fine. */
void child_free(struct child *c);
/* A child that still waits is killed; one that runs gets SIGTERM, and SIGKILL when it is there `ms`
 * later. Reaps it. Nothing happens when it was reaped. */
void child_end(struct child *c, int ms);

s32 child_pid(const struct child *c);
/* Path of the program that will run (PATH resolved), owned by the child. */
const char *child_program(const struct child *c);
/* Lets it go as far as the first instruction of its program, which is mapped then; child_resume()
 * lets it run. With hold_end it is held again at its end, and where it calls exec again, with
 * hold_loader whenever the dynamic loader has mapped code: see child_is_held(). False and *e when
 * exec failed. */
bool child_release(struct child *c, bool hold_end, bool hold_loader, struct err *e);
void child_resume(struct child *c);
/* Before child_release(), and that goes on from there: runs to the program's entry, its libraries
 * loaded, where it stands still and others may attach to it. */
bool child_to_entry(struct child *c, struct err *e);
/* True when it stands still and its maps can be read, until child_resume(). To be called whenever
 * child_held_fd() is readable: it passes signals on too. */
bool child_is_held(struct child *c);
/* -1 when it is not held any more. */
int child_held_fd(const struct child *c);
/* Gives up holding it; it runs on. */
void child_let_go(struct child *c);
/* A pidfd, readable when the process has ended. */
int child_fd(const struct child *c);
/* Reaps an ended child: its exit code, or 128 + signal number. */
int child_wait(struct child *c);

#endif
