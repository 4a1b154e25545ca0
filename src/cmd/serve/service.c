/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cmd/serve/service.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"

#define FIRST_FD 3 /* of those handed over */

/* A number of the environment, 0 none. */
static u64 number(const char *name)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 10) : 0;
}

/* Is what the environment says meant for this process? */
static bool is_for_us(const char *name)
{
	return number(name) == (u64)getpid();
}

static bool take_socket(struct service *s, struct err *e)
{
	struct sockaddr_storage own = { 0 };
	socklen_t n = sizeof(own), size = sizeof(int);
	int listens = 0;

	s->listening = FIRST_FD;
	if (getsockopt(FIRST_FD, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) < 0 || !listens ||
	    getsockname(FIRST_FD, (struct sockaddr *)&own, &n) < 0 ||
	    (own.ss_family != AF_INET && own.ss_family != AF_INET6))
		return err_set(e, "what was handed over is no TCP socket that listens");
	fcntl(FIRST_FD, F_SETFD, FD_CLOEXEC);
	fcntl(FIRST_FD, F_SETFL, fcntl(FIRST_FD, F_GETFL) | O_NONBLOCK);
	return true;
}

bool service_open(struct service *s, struct err *e)
{
	static const char *const names[] = { "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID",
		                             "LISTEN_PID",    "LISTEN_FDS",    "LISTEN_FDNAMES" };
	const char *path = getenv(names[0]);
	size_t n = path ? strlen(path) + 1 : 0;
	bool ok;

	*s = (struct service){ .listening = -1 };
	if (path && n <= sizeof(s->path))
		memcpy(s->path, path, n);
	if (!getenv("WATCHDOG_PID") || is_for_us("WATCHDOG_PID"))
		s->watchdog_ms = (u32)(number("WATCHDOG_USEC") / 1000);
	ok = !is_for_us("LISTEN_PID") || !number("LISTEN_FDS") || take_socket(s, e);
	for (u32 i = 0; i < ARRAY_SIZE(names); i++)
		unsetenv(names[i]);
	return ok;
}

void service_tell(const struct service *s, const char *state)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t n = strlen(s->path);
	int fd;

	if (!n)
		return;
	memcpy(to.sun_path, s->path, sizeof(to.sun_path));
	if (s->path[0] == '@')
		to.sun_path[0] = 0;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&to,
	       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n));
	close(fd);
}

void service_tell_reloading(const struct service *s)
{
	char text[64];

	snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%" PRIu64,
	         clock_ns(CLOCK_MONOTONIC) / 1000);
	service_tell(s, text);
}

int service_live(struct service *s)
{
	u64 now = clock_ms();

	if (!s->watchdog_ms)
		return -1;
	if (now >= s->next) {
		service_tell(s, "WATCHDOG=1");
		s->next = now + s->watchdog_ms / 2;
	}
	return (int)(s->next - now);
}
