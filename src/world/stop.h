/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The user's wish that a session ends: SIGINT, SIGTERM and, unless it is ignored (nohup), SIGHUP,
 * taken by a thread of their own, so that nothing the session is busy with keeps them from being
 * seen.
 *
 * The first one asks: what waits stops waiting, and results are printed. The second ends the
 * process at once, by the signal. One that comes within STOP_ECHO_MS of the first is the same wish:
 * timeout(1) sends each signal twice, to us and to our group.
 *
 * All functions but stop_open() and stop_listen() take NULL, which is never asked.
 */
#ifndef WORLD_STOP_H
#define WORLD_STOP_H

#include <signal.h>

#include "base/err.h"

#define STOP_ECHO_MS 250

struct stop;

/* SIGINT and SIGTERM that are ignored, as SIGINT is in what shells start in the background, end the
 * process from here on: a session takes them all the same, so that what is sent before it must not
 * be lost. For processes that we make: they are ignored there as before. */
void stop_heed(void);
void stop_ignore_again(void);

/* From here on signals come here. The second one also kills the process of the pidfd `target`, -1
 * none. The caller's thread is the one that stop_wait() is about. */
struct stop *stop_open(int target, struct err *e);
/* From here on they are seen at once; before, when the first of stop_fd(), stop_poll(), stop_wait()
 * and stop_close() comes. */
bool stop_listen(struct stop *s, struct err *e);
/* From here on signals act as before stop_open(). */
void stop_close(struct stop *s);

/* For what must not be left half done before there is a session, or after it: these signals wait,
 * for stop_open() or stop_release(). */
void stop_hold(sigset_t *before);
void stop_release(const sigset_t *before);

/* As if the first signal had come. */
void stop_ask(struct stop *s);
bool stop_asked(const struct stop *s);
/* Readable when asked. */
int stop_fd(struct stop *s);
/* The session comes to its end: also the first signal ends the process at once from here on. */
void stop_is_ending(struct stop *s);

/* What is under way when asked may go on until `ms` later, and for at least `more` ms from now. */
void stop_allow(struct stop *s, u32 ms, u32 more);
/* Asked, and that time has passed. */
bool stop_over(const struct stop *s);
/* Milliseconds until it is over; -1 when not asked. */
int stop_left(const struct stop *s);
/* Waits until `fd` is readable. False when it is over before that. */
bool stop_poll(struct stop *s, int fd);

/*
 * Around a system call that may block for as long as others like, as write() to a pipe: once asked,
 * it is interrupted (EINTR, or less was done) when it does not return in time. stop_waited() is
 * false when it had to be.
 */
void stop_wait(struct stop *s);
/* Before a write of `n` bytes to `fd`: where that can not block, nobody needs to listen for it. */
void stop_wait_write(struct stop *s, int fd, size_t n);
bool stop_waited(struct stop *s);

#endif
