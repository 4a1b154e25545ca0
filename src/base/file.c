/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reading and mapping whole files; see file.h. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Closes fd. */
static bool read_all(int fd, const char *path, struct buf *b, size_t limit, struct err *e)
{
	char chunk[16384];
	ssize_t n;

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

bool file_read(const char *path, struct buf *b, size_t limit, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return err_sys(e, errno, "can not open %s", path);
	return read_all(fd, path, b, limit, e);
}

/* ---- files of others ------------------------------------------------------------------------ */

/* A file longer than LENGTH_FREE takes at least a SPARSEST-th of its length on disk. */
#define LENGTH_FREE (64ull << 20)
#define SPARSEST    64u
#define DISK_BLOCK  512u /* what st_blocks counts, stat(2) */

/* Bytes of "/proc/PID/root" that the path begins with, 0: it does not. */
static size_t root_length(const char *path)
{
	int n = 0;

	if (sscanf(path, "/proc/%*u/root%n", &n) != 0 || !n || path[n] != '/')
		return 0;
	return (size_t)n;
}

/* Held by path, with `dir` as root: -1 with errno set. */
static int hold_below(int dir, const char *path, u32 flags)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC | flags, .resolve = RESOLVE_IN_ROOT };

	return (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
}

static int hold_in_root(const char *path, size_t n, u32 flags)
{
	char root[64];
	int dir, fd;

	if (n >= sizeof(root)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(root, path, n);
	root[n] = 0;
	dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -1;
	fd = hold_below(dir, path + n, flags);
	close(dir);
	return fd;
}

static bool is_sparse(const struct stat *st)
{
	u64 size = (u64)st->st_size, there = (u64)st->st_blocks * DISK_BLOCK;

	/* Some file systems do not say how much there is. */
	return size > LENGTH_FREE && there && there < size / SPARSEST;
}

static bool may_read(int fd, const char *path, struct err *e)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_sys(e, errno, "can not stat %s", path);
	if (S_ISDIR(st.st_mode))
		return err_sys(e, EISDIR, "can not read %s", path);
	if (!S_ISREG(st.st_mode))
		return err_set(e, "%s is not a regular file", path);
	if (is_sparse(&st))
		return err_set(e, "%s is all but empty: of its %llu bytes the disk has %llu", path,
		               (unsigned long long)st.st_size,
		               (unsigned long long)st.st_blocks * DISK_BLOCK);
	return true;
}

/* fd as it is, or -1 and *e. */
static int hold(int fd, const char *path, struct err *e)
{
	*e = (struct err){ 0 };
	if (fd < 0) {
		err_sys(e, errno, "can not open %s", path);
		return -1;
	}
	if (may_read(fd, path, e))
		return fd;
	close(fd);
	return -1;
}

static int hold_anything(const char *path)
{
	size_t root = root_length(path);

	return root ? hold_in_root(path, root, 0) : open(path, O_PATH | O_CLOEXEC);
}

int file_hold(const char *path, struct err *e)
{
	return hold(hold_anything(path), path, e);
}

int file_hold_socket(const char *path)
{
	int fd = hold_anything(path);
	struct stat st;

	if (fd < 0 || (fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode)))
		return fd;
	close(fd);
	errno = ENOTSOCK;
	return -1;
}

bool file_is_regular(const char *path)
{
	struct err ignored;
	int fd = file_hold(path, &ignored);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

bool file_is_in_root(const char *path)
{
	return root_length(path);
}

/* Closes `held`. */
static int open_held(int held, const char *path, struct err *e)
{
	char self[32];
	int fd;

	if (held < 0)
		return -1;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", held);
	fd = open(self, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		err_sys(e, errno, "can not open %s", path);
	close(held);
	return fd;
}

int file_open(const char *path, struct err *e)
{
	return open_held(file_hold(path, e), path, e);
}

int file_open_below(int root, const char *path, struct err *e)
{
	return open_held(hold(hold_below(root, path, O_NOFOLLOW), path, e), path, e);
}

int file_open_dir(const char *path)
{
	size_t root = root_length(path);
	char self[32];
	int held, fd;

	if (!root)
		return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	held = hold_in_root(path, root, O_DIRECTORY);
	if (held < 0)
		return -1;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", held);
	fd = open(self, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	close(held);
	return fd;
}

bool file_read_regular(const char *path, struct buf *b, size_t limit, struct err *e)
{
	int fd = file_open(path, e);

	return fd >= 0 && read_all(fd, path, b, limit, e);
}

/* ---- mapped --------------------------------------------------------------------------------- */

static _Atomic u32 lacks[FILE_LACKS];

void file_lack(enum file_lack what)
{
	lacks[what]++;
}

const char *file_lacked(enum file_lack what, u32 *times)
{
	static const char *const texts[FILE_LACKS] = {
		[FILE_HOLES] = "pages of programs, libraries or debug files were cut off while "
			       "they were read: names from them may be missing",
		[FILE_NAMES] = "programs, libraries or debug files have longer symbols, or more of "
			       "them, than are read: functions of theirs may be missing",
		[FILE_INLINED] = "programs, libraries or debug files took more than a second for "
				 "an address: their inlined functions may be missing",
	};

	*times = atomic_exchange(&lacks[what], 0);
	return *times ? texts[what] : NULL;
}

/* Of memory; a signal's handler may ask, too. */
static size_t page_size(void)
{
	return getauxval(AT_PAGESZ);
}

/* A page beyond the end of a mapped file was touched: it becomes one of zeros. */
static void on_bus(int sig, siginfo_t *info, void *context)
{
	size_t size = page_size();
	u8 *page = (u8 *)info->si_addr - (uintptr_t)info->si_addr % size;
	int code = errno;

	(void)context;
	if (info->si_code == BUS_ADRERR &&
	    mmap(page, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == page) {
		file_lack(FILE_HOLES);
	} else {
		signal(sig, SIG_DFL);
		raise(sig);
	}
	errno = code;
}

void file_guard(void)
{
	struct sigaction guard = { .sa_sigaction = on_bus, .sa_flags = SA_SIGINFO };

	sigaction(SIGBUS, &guard, NULL);
}

/* What is mapped of a file of n bytes, with a page of zeros after it: in the rest of its last page
 * may be what others put there. */
static size_t mapped_bytes(size_t n)
{
	return ROUND_UP(n, page_size()) + page_size();
}

static bool map_fd(int fd, const char *path, struct file_map *m, struct err *e)
{
	size_t bytes;
	struct stat st;
	u8 *p;

	if (fstat(fd, &st) < 0)
		return err_sys(e, errno, "can not stat %s", path);
	m->p = (const u8 *)"";
	m->n = (size_t)st.st_size;
	if (!m->n)
		return true;
	bytes = mapped_bytes(m->n);
	p = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return err_sys(e, errno, "can not map %s", path);
	/* Shared: into private mappings of a file the kernel puts the breakpoints of its user
	 * probes, also into those that are only read. */
	if (mmap(p, m->n, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0) != p) {
		int code = errno;

		munmap(p, bytes);
		return err_sys(e, code, "can not map %s", path);
	}
	m->p = p;
	file_guard();
	return true;
}

bool file_map(const char *path, struct file_map *m, struct err *e)
{
	int fd = file_open(path, e);
	bool ok = fd >= 0 && map_fd(fd, path, m, e);

	if (fd >= 0)
		close(fd);
	return ok;
}

void file_unmap(struct file_map *m)
{
	if (m->n)
		munmap(base_plain(m->p), mapped_bytes(m->n));
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

static int write_and_close(int fd, const void *p, size_t n)
{
	int code = file_write_all(fd, p, n) ? 0 : errno;

	return close(fd) < 0 && !code ? errno : code;
}

int file_save(const char *path, const void *p, size_t n)
{
	char whole[PATH_MAX];
	struct stat st;
	int fd, code;

	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
		fd = open(path, O_WRONLY | O_CLOEXEC);
		return fd < 0 ? errno : write_and_close(fd, p, n);
	}
	if (snprintf(whole, sizeof(whole), "%s.%d.new", path, (int)getpid()) >= (int)sizeof(whole))
		return ENAMETOOLONG;
	fd = open(whole, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return errno;
	code = write_and_close(fd, p, n);
	if (!code && rename(whole, path) < 0)
		code = errno;
	if (code)
		unlink(whole);
	return code;
}
