/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The bytes of a BTF file.
 *
 * The one idea: to everybody else the file is one stretch of memory. Where the kernel's can be
 * mapped, it is. Where not (before 6.16, modules; reads of those give 4 KiB at most), as much
 * address space is set aside and a page is read when it is first asked about, so that pointers into
 * it stay good and only what was looked at costs memory. Passes over everything borrow a buffer
 * instead, and leave no page behind.
 *
 * A file of others may be cut short or written to at any time. It is copied, before any of it is
 * checked: all of it, or what of an ELF file has to do with BTF.
 */
#include "btf/btf_impl.h"

#include <errno.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/file.h"

void btf_source_borrow(struct btf_source *s, const void *p, u64 n)
{
	*s = (struct btf_source){ .p = p, .n = n, .fd = -1 };
	pthread_mutex_init(&s->lock, NULL);
}

/* Takes fd over on success. The bits that note pages lie after the room for the bytes. */
static bool open_window(struct btf_source *s, int fd, u64 n)
{
	size_t room = (size_t)ROUND_UP(n, (u64)BTF_PAGE), words = room / BTF_PAGE / 64 + 1;

	s->map_n = room + words * sizeof(*s->pages);
	s->map = mmap(NULL, s->map_n, PROT_READ | PROT_WRITE,
	              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (s->map == MAP_FAILED) {
		s->map = NULL;
		return false;
	}
	s->pages = (void *)((u8 *)s->map + room);
	s->fd = fd;
	return true;
}

static bool open_fd(struct btf_source *s, int fd, u64 n, bool window)
{
	struct statfs fs;

	s->n = n;
	s->is_copy = !window && (fstatfs(fd, &fs) != 0 || fs.f_type != SYSFS_MAGIC);
	if (!window && !s->is_copy) {
		s->map_n = (size_t)n;
		s->map = mmap(NULL, s->map_n, PROT_READ, MAP_PRIVATE, fd, 0);
		if (s->map != MAP_FAILED)
			close(fd);
		else
			s->map = NULL;
	}
	if (!s->map && !open_window(s, fd, n))
		return false;
	s->p = s->map;
	return true;
}

bool btf_source_open(struct btf_source *s, const char *path, bool window, struct btf_error *e)
{
	struct err trouble;
	struct stat st;
	int fd;

	btf_source_borrow(s, NULL, 0);
	fd = file_open(path, &trouble);
	if (fd < 0)
		return trouble.code ? btf_fail_sys(e, trouble.code, "%s", path)
		                    : btf_fail(e, "%s", trouble.text);
	if (fstat(fd, &st) != 0) {
		btf_fail_sys(e, errno, "%s", path);
	} else if (st.st_size <= 0 || st.st_size > (off_t)BTF_FILE_MAX * 8) {
		btf_fail(e, "%s: %lld bytes are no size for BTF", path, (long long)st.st_size);
	} else if (!open_fd(s, fd, (u64)st.st_size, window)) {
		btf_fail_sys(e, errno, "%s: neither mapping nor reading works", path);
	} else {
		return true;
	}
	close(fd);
	return false;
}

void btf_source_close(struct btf_source *s)
{
	if (s->map)
		munmap(s->map, s->map_n);
	if (s->fd >= 0)
		close(s->fd);
	pthread_mutex_destroy(&s->lock);
}

/* Reads the bytes; sysfs gives 4 KiB at a time. */
static bool read_all(int fd, u8 *to, u64 at, u64 n)
{
	while (n) {
		ssize_t got = pread(fd, to, (size_t)n, (off_t)at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		to += got;
		at += (u64)got;
		n -= (u64)got;
	}
	return true;
}

static bool page_is_here(struct btf_source *s, u64 page)
{
	u64 word = atomic_load_explicit(&s->pages[page / 64], memory_order_acquire);

	return word >> page % 64 & 1;
}

static bool page_fill(struct btf_source *s, u64 page)
{
	u64 at = page * BTF_PAGE;
	bool ok = true;

	pthread_mutex_lock(&s->lock);
	if (!page_is_here(s, page)) {
		ok = read_all(s->fd, (u8 *)s->map + at, at, MIN(BTF_PAGE, s->n - at));
		if (ok)
			atomic_fetch_or_explicit(&s->pages[page / 64], 1ull << page % 64,
			                         memory_order_release);
	}
	pthread_mutex_unlock(&s->lock);
	return ok;
}

bool btf_source_fill(struct btf_source *s, u64 at, u64 n)
{
	if (!n)
		return true;
	for (u64 page = at / BTF_PAGE; page <= (at + n - 1) / BTF_PAGE; page++)
		if (!page_is_here(s, page) && !page_fill(s, page))
			return false;
	return true;
}

void btf_source_settle(struct btf_source *s)
{
	if (!s->is_copy)
		return;
	close(s->fd);
	s->fd = -1;
}

const u8 *btf_source_view(struct btf_source *s, u64 at, u64 n, u8 *scratch)
{
	if (s->fd < 0)
		return s->p + at;
	return read_all(s->fd, scratch, at, n) ? scratch : NULL;
}
