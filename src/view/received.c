/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The sockets of another process, whichever network they are in: each is taken over for a moment to
 * be asked for its counts. Nothing is read from it.
 */
#include "view/received.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"

#define TCP_LISTENS 10

static u16 port_of(int fd)
{
	struct sockaddr_in6 own = { 0 };
	socklen_t n = sizeof(own);

	/* That of an IPv4 address is at the same place. */
	return getsockname(fd, (struct sockaddr *)&own, &n) < 0 ? 0 : ntohs(own.sin6_port);
}

static void add_socket(struct arena *a, int fd, received_list *list)
{
	struct tcp_info info = { 0 };
	socklen_t n = sizeof(info);
	struct stat s;

	if (fstat(fd, &s) < 0 || !S_ISSOCK(s.st_mode) ||
	    getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &n) < 0 || info.tcpi_state == TCP_LISTENS)
		return;
	vec_add(a, list, ((struct received){ s.st_ino, info.tcpi_bytes_received, port_of(fd) }));
}

void received_read(struct arena *a, u32 pid, int pidfd, received_list *list)
{
	char path[64];
	struct dirent *d;
	DIR *dir;
	int at;

	snprintf(path, sizeof(path), "/proc/%u/fd", pid);
	at = file_open_dir(path);
	dir = at < 0 ? NULL : fdopendir(at);
	while (dir && list->n < RECEIVED_MOST && (d = readdir(dir))) {
		int fd = *d->d_name == '.'
		                 ? -1
		                 : (int)syscall(SYS_pidfd_getfd, pidfd, atoi(d->d_name), 0);

		if (fd < 0)
			continue;
		add_socket(a, fd, list);
		close(fd);
	}
	if (dir)
		closedir(dir);
	else if (at >= 0)
		close(at);
}

bool received_more(const received_list *before, const received_list *now)
{
	for (u32 i = 0; i < now->n; i++) {
		u64 was = 0;

		for (u32 k = 0; k < before->n; k++)
			if (before->v[k].inode == now->v[i].inode)
				was = before->v[k].bytes;
		if (now->v[i].bytes > was)
			return true;
	}
	return false;
}
