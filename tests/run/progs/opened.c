/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Opens one of each: pipe, sockets, descriptors without a file, namespaces, deleted and other
 * files; says what /proc calls each, as descriptor 200 and following, and closes them.
 *   ./opened DIRECTORY
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#define FIRST 200

static int fds[32], n;

static void add(int fd)
{
	if (fd >= 0)
		fds[n++] = fd;
}

static void add_deleted(const char *directory)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/gone", directory);
	add(open(path, O_CREAT | O_RDWR, 0600));
	unlink(path);
	add(open(directory, O_TMPFILE | O_RDWR, 0600));
	snprintf(path, sizeof(path), "%s/folder", directory);
	mkdir(path, 0700);
	add(open(path, O_RDONLY | O_DIRECTORY));
	rmdir(path);
	add(open(directory, O_RDONLY | O_DIRECTORY));
}

int main(int argc, char **argv)
{
	char link[64], name[4096];
	int pair[2];

	if (argc != 2)
		return 1;
	if (pipe(pair) == 0) {
		add(pair[0]);
		add(pair[1]);
	}
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0)
		add(pair[0]);
	add(socket(AF_INET, SOCK_DGRAM, 0));
	add(eventfd(0, 0));
	add(epoll_create1(0));
	add(inotify_init1(0));
	add(memfd_create("made", 0));
	add((int)syscall(SYS_pidfd_open, getpid(), 0));
	add(open("/proc/self/ns/net", O_RDONLY));
	add(open("/proc/self/ns/mnt", O_RDONLY));
	add(open("/proc/self/status", O_RDONLY));
	add(open("/dev/null", O_RDONLY));
	add(open("/", O_RDONLY | O_DIRECTORY));
	add_deleted(argv[1]);
	for (int i = 0; i < n; i++) {
		ssize_t length;

		dup2(fds[i], FIRST + i);
		snprintf(link, sizeof(link), "/proc/self/fd/%d", FIRST + i);
		length = readlink(link, name, sizeof(name));
		printf("%d %.*s\n", FIRST + i, length > 0 ? (int)length : 0, name);
	}
	fflush(stdout);
	for (int i = 0; i < n; i++)
		close(FIRST + i);
	return 0;
}
