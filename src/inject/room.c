/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The process's own code is not written to. A page of it that is to be another gets a stand-in, a
 * page of the file with the changed bytes, at its address, and lies aside until it is put back, as
 * it was: nothing of it was copied, whoever else has something to do with the file (uprobes above
 * all, which write a byte into the page and later write one back) finds it, and afterwards the
 * process's mappings are what they were.
 *
 * All threads stand still while pages move; a child that is forked later has copies of all of it,
 * but zeros for the data.
 */
#include "inject/room.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/buf.h"
#include "base/file.h"
#include "read/procmaps.h"

#define REACH     ((u64)7 << 28)  /* of a jump, with an eighth to spare */
#define ASIDE     ((u64)64 << 10) /* bytes left free between it and what is mapped already */
#define STACK_GAP ((u64)128 << 20)
#define LOWEST    ((u64)1 << 20)
#define SPARE     128u /* mappings: far more than are made */
#define NAME      "memtap"
#define PART      ((u64)1 << 20) /* bytes of code that are looked through for a call */
#ifndef MFD_EXEC
#define MFD_EXEC 0x10u
#endif

u64 room_size(const struct room *r)
{
	return r->code_size + (u64)r->n_pages * arch_page() + r->data_size;
}

static u64 kept_at(const struct room *r, u32 page)
{
	return r->at + r->code_size + (u64)page * arch_page();
}

static u64 data_at(const struct room *r)
{
	return kept_at(r, r->n_pages);
}

/* ---- where ---------------------------------------------------------------------------------- */

static u64 distance(u64 a, u64 b)
{
	return a > b ? a - b : b - a;
}

/*
 * The top of the gap between two mappings; 0 where the lower one, the heap, grows into it. Of the
 * stack's the bottom: the kernel leaves more free there than the stack may take.
 */
static u64 place_in(const struct room *r, const struct procmap *low, const struct procmap *high)
{
	u64 start = low ? low->end : LOWEST, need = room_size(r) + 2 * ASIDE;
	u64 gap = high->start > start ? high->start - start : 0;

	if (strcmp(high->path, "[stack]") == 0)
		return gap < STACK_GAP ? 0 : start + ASIDE;
	if (gap < need || (low && strcmp(low->path, "[heap]") == 0))
		return 0;
	return high->start - ASIDE - room_size(r);
}

bool room_find(struct room *r, struct hold *h, struct err *e)
{
	const struct procmaps *m = hold_maps(h, e);

	r->at = 0;
	for (u32 i = 0; m && i < m->n; i++) {
		u64 at = place_in(r, i ? &m->v[i - 1] : NULL, &m->v[i]);

		if (at &&
		    MAX(distance(at, r->near), distance(at + room_size(r), r->near)) < REACH &&
		    (!r->at || distance(at, r->near) < distance(r->at, r->near)))
			r->at = at;
	}
	return m && (r->at || err_set(e, "process %d has no room within 2 GiB of %#llx", h->pid,
	                              (unsigned long long)r->near));
}

/* ---- calls ---------------------------------------------------------------------------------- */

/* True of code that comes, goes or moves. */
static bool is_ours(const struct room *r, u64 at)
{
	bool found = at - r->at < room_size(r);

	for (u32 i = 0; i < r->n_pages; i++)
		found |= at - r->pages[i].at < arch_page();
	return found;
}

/* The call instruction in the n bytes at `at`, that are in `p`; 0: there is none. */
static u64 call_in(const struct room *r, const u8 *p, size_t n, u64 at)
{
	const u8 *found, *from = p;

	while ((found = memmem(from, n - (size_t)(from - p), thread_machine.call,
	                       thread_machine.call_length))) {
		if (!is_ours(r, at + (u64)(found - p)))
			return at + (u64)(found - p);
		from = found + 1;
	}
	return 0;
}

/* An executable mapping's call instruction; the last one of all is the kernel's own. */
bool room_look(struct room *r, struct hold *h, struct err *e)
{
	const struct procmaps *m = hold_maps(h, e);
	u8 *part = malloc(PART);

	if (!part)
		base_no_memory();
	r->call_at = 0;
	r->n_maps = m ? m->n : 0;
	for (u32 i = m ? m->n : 0; !r->call_at && i--;) {
		const struct procmap *p = &m->v[i];
		struct iovec here = { part, MIN(p->end - p->start, PART) };
		struct iovec there = { (void *)(uintptr_t)p->start, here.iov_len };
		ssize_t n = p->exec ? process_vm_readv(h->pid, &here, 1, &there, 1, 0) : 0;

		if (n > 0)
			r->call_at = call_in(r, part, (size_t)n, p->start);
	}
	free(part);
	return m &&
	       (r->call_at || err_set(e, "process %d has no instruction for system calls", h->pid));
}

/* What was seen while it ran, if that is still there. */
static bool find_call(const struct room *r, struct hold *h, struct err *e)
{
	struct room now = *r;
	u8 insn[8];
	struct iovec here = { insn, thread_machine.call_length };
	struct iovec there = { (void *)(uintptr_t)r->call_at, here.iov_len };

	h->call_at = r->call_at;
	if (r->call_at &&
	    process_vm_readv(h->pid, &here, 1, &there, 1, 0) == (ssize_t)here.iov_len &&
	    memcmp(insn, thread_machine.call, here.iov_len) == 0)
		return true;
	if (!room_look(&now, h, e))
		return false;
	h->call_at = now.call_at;
	return true;
}

/* A call whose result is no error; *result may be NULL. */
static bool call(struct hold *h, const char *what, u64 number, const u64 args[6], s64 *result,
                 struct err *e)
{
	s64 got;

	if (!hold_call(h, number, args, &got, e))
		return false;
	if (result)
		*result = got;
	return got >= 0 || err_sys(e, (int)-got, "process %d: %s", h->pid, what);
}

static bool map(struct hold *h, u64 at, u64 size, int prot, int flags, s64 fd, u64 offset,
                struct err *e)
{
	const u64 args[6] = { at, size, (u64)prot, (u64)flags, (u64)fd, offset };
	s64 got;

	return call(h, "mmap", SYS_mmap, args, &got, e) &&
	       ((u64)got == at || err_set(e, "process %d: mmap gives %#llx instead of %#llx",
	                                  h->pid, (unsigned long long)got, (unsigned long long)at));
}

static bool unmap(struct hold *h, u64 at, u64 size, struct err *e)
{
	return call(h, "munmap", SYS_munmap, (const u64[6]){ at, size }, NULL, e);
}

static bool move(struct hold *h, u64 from, u64 to, u64 size, s64 *result, struct err *e)
{
	const u64 args[6] = { from, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, to };

	return hold_call(h, SYS_mremap, args, result, e);
}

/* Pages that follow one another in one call; one by one where the kernel has them as several
 * mappings. */
static bool move_pages(struct hold *h, u64 from, u64 to, u32 n, struct err *e)
{
	u64 page = arch_page();
	u32 done = 0, each = n;
	s64 got;

	while (done < n) {
		if (!move(h, from + done * page, to + done * page, each * page, &got, e))
			return false;
		if (got >= 0)
			done += each;
		else if (got == -EFAULT && each > 1)
			each = 1;
		else
			return err_sys(e, (int)-got, "process %d: mremap", h->pid);
	}
	return true;
}

/* How many pages from page i on follow one another. */
static u32 run_from(const struct room *r, u32 i)
{
	u32 n = 1;

	while (i + n < r->n_pages && r->pages[i + n].at == r->pages[i].at + n * (u64)arch_page())
		n++;
	return n;
}

/* Filters of calls are asked about all kinds of them before the first one is made, those to get out
 * again too. */
static bool may_call(const struct room *r, struct hold *h, struct err *e)
{
	const struct {
		u64 number, args[6];
	} calls[] = {
		{ SYS_mmap,
		  { r->at, r->code_size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED_NOREPLACE,
		    3 } },
		{ SYS_memfd_create, { r->at, MFD_CLOEXEC | MFD_EXEC } },
		{ SYS_madvise, { data_at(r), r->data_size, MADV_WIPEONFORK } },
		{ SYS_mremap,
		  { r->near, arch_page(), arch_page(), MREMAP_MAYMOVE | MREMAP_FIXED, r->at } },
		{ SYS_close, { 3 } },
		{ SYS_munmap, { r->at, room_size(r) } },
	};

	for (u32 i = 0; i < ARRAY_SIZE(calls); i++)
		if (!hold_may_call(h, calls[i].number, calls[i].args, e))
			return false;
	return true;
}

/* The kernel limits how many mappings a process has, and none may be missing half-way. */
static bool has_mappings_left(const struct room *r, struct hold *h, struct err *e)
{
	const struct procmaps *m = r->n_maps ? NULL : hold_maps(h, e);
	u32 n = m ? m->n : r->n_maps;
	struct buf b = { 0 };
	bool ok = n && file_read("/proc/sys/vm/max_map_count", &b, 64, e);

	if (ok && n + SPARE > strtoul(buf_text(&b), NULL, 10))
		ok = err_set(e, "process %d has %u mappings, as many as it may have", h->pid, n);
	buf_free(&b);
	return ok;
}

/* ---- in ------------------------------------------------------------------------------------- */

/* The file, open in the process as *fd; its name lies at r->at for the time. */
static bool make_file(const struct room *r, struct hold *h, s64 *fd, struct err *e)
{
	char name[] = NAME;
	struct iovec here = { name, sizeof(name) };
	struct iovec there = { (void *)(uintptr_t)r->at, sizeof(name) };
	u64 args[6] = { r->at, MFD_CLOEXEC | MFD_EXEC };

	if (process_vm_writev(h->pid, &here, 1, &there, 1, 0) != (ssize_t)sizeof(name))
		return err_sys(e, errno, "process %d: its memory can not be written", h->pid);
	if (!hold_call(h, SYS_memfd_create, args, fd, e))
		return false;
	args[1] = MFD_CLOEXEC;
	if (*fd == -EINVAL) /* before Linux 6.3 */
		return call(h, "memfd_create", SYS_memfd_create, args, fd, e);
	return *fd >= 0 || err_sys(e, (int)-*fd, "process %d: memfd_create", h->pid);
}

static bool put(int fd, const u8 *p, u64 n, u64 at)
{
	while (n) {
		ssize_t done = pwrite(fd, p, n, (off_t)at);

		if (done <= 0)
			return false;
		p += done;
		at += (u64)done;
		n -= (u64)done;
	}
	return true;
}

/* Code first, then the stand-ins. */
static bool fill_file(const struct room *r, pid_t pid, s64 remote, struct err *e)
{
	char path[64];
	bool ok;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, (int)remote);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return err_sys(e, errno, "%s", path);
	ok = put(fd, r->code, r->code_size, 0);
	for (u32 i = 0; ok && i < r->n_pages; i++)
		ok = put(fd, r->pages[i].bytes, arch_page(), r->code_size + (u64)i * arch_page());
	if (!ok)
		err_sys(e, errno, "%s", path);
	close(fd);
	return ok;
}

/* Puts the stand-ins of n pages that follow one another in their places. */
static bool replace(const struct room *r, u32 i, u32 n, struct hold *h, s64 fd, struct err *e)
{
	u64 page = arch_page();
	struct err other;

	if (!move_pages(h, r->pages[i].at, kept_at(r, i), n, e))
		return false;
	if (map(h, r->pages[i].at, n * page, PROT_READ | PROT_EXEC,
	        MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd, r->code_size + i * page, e))
		return true;
	move_pages(h, kept_at(r, i), r->pages[i].at, n, &other);
	return false;
}

static bool fill(const struct room *r, struct hold *h, s64 fd, u32 *replaced, struct err *e)
{
	const u64 wipe[6] = { data_at(r), r->data_size, MADV_WIPEONFORK };

	if (!fill_file(r, h->pid, fd, e) ||
	    !map(h, r->at, r->code_size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0,
	         e) ||
	    (r->data_size && !call(h, "madvise", SYS_madvise, wipe, NULL, e)))
		return false;
	for (u32 n; *replaced < r->n_pages; *replaced += n) {
		n = run_from(r, *replaced);
		if (!replace(r, *replaced, n, h, fd, e))
			return false;
	}
	return true;
}

static bool put_back(const struct room *r, u32 n, struct hold *h, struct err *e)
{
	for (u32 i = 0, k; i < n; i += k) {
		k = run_from(r, i);
		if (!move_pages(h, kept_at(r, i), r->pages[i].at, k, e))
			return false;
	}
	return unmap(h, r->at, room_size(r), e);
}

bool room_enter(struct room *r, struct hold *h, struct err *e)
{
	struct err other;
	s64 fd = -1;
	u32 replaced = 0;
	bool ok;

	if (!find_call(r, h, e) || !may_call(r, h, e) || !has_mappings_left(r, h, e) ||
	    !map(h, r->at, room_size(r), PROT_READ | PROT_WRITE,
	         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0, e))
		return false;
	ok = make_file(r, h, &fd, e) && fill(r, h, fd, &replaced, e);
	if (fd >= 0)
		ok = call(h, "close", SYS_close, (const u64[6]){ (u64)fd }, NULL,
		          ok ? e : &other) &&
		     ok;
	if (!ok)
		put_back(r, replaced, h, &other);
	return ok;
}

bool room_leave(const struct room *r, struct hold *h, struct err *e)
{
	return find_call(r, h, e) && put_back(r, r->n_pages, h, e);
}
