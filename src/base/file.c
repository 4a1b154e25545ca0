/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reading and mapping whole files; see file.h. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

bool file_read(const char *path, struct buf *b, size_t limit, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char chunk[16384];
	ssize_t n;

	if (fd < 0)
		return err_sys(e, errno, "can not open %s", path);
	while ((n = read(fd, chunk, sizeof(chunk))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 || b->n + (size_t)n > limit) {
			int code = n < 0 ? errno : EFBIG;

			close(fd);
			return err_sys(e, code, "can not read %s", path);
		}
		buf_add(b, chunk, (size_t)n);
	}
	close(fd);
	return true;
}

static bool map_fd(int fd, const char *path, struct file_map *m, struct err *e)
{
	struct stat st;
	void *p;

	if (fstat(fd, &st) < 0)
		return err_sys(e, errno, "can not stat %s", path);
	if (S_ISDIR(st.st_mode))
		return err_sys(e, EISDIR, "can not read %s", path);
	m->p = (const u8 *)"";
	m->n = (size_t)st.st_size;
	if (!m->n)
		return true;
	p = mmap(NULL, m->n, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return err_sys(e, errno, "can not map %s", path);
	m->p = p;
	return true;
}

bool file_map(const char *path, struct file_map *m, struct err *e)
{
	/* Not to wait for the other end of a pipe that lies where a file was expected. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool ok;

	if (fd < 0)
		return err_sys(e, errno, "can not open %s", path);
	ok = map_fd(fd, path, m, e);
	close(fd);
	return ok;
}

void file_unmap(struct file_map *m)
{
	if (m->n)
		munmap(base_plain(m->p), m->n);
	*m = (struct file_map){ 0 };
}

bool file_write_all(int fd, const void *p, size_t n)
{
	const char *at = p;

	while (n) {
		ssize_t done = write(fd, at, n);

		if (done < 0 && errno != EINTR)
			return false;
		if (done > 0) {
			at += done;
			n -= (size_t)done;
		}
	}
	return true;
}
