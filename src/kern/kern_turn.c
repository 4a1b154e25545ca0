/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Maps of two generations (unit/unit.h): taken whole, while programs go on counting.
 *
 *      turn       programs count in        we
 *       0           A                       -
 *       1           B, late ones in A       turn over, wait until nobody is late
 *       1           B                       read A, empty it
 *
 * A program that looked up an element of A before the turn may add to it until it ends. Ordinary
 * ones run in a critical section of RCU, for whose end the kernel waits when an element of a map of
 * maps is replaced; those that may sleep are counted in cells, which we watch. So what is read of A
 * is all that was ever counted in it, and not one event is in neither table or in both.
 *
 * What was turned over and could not be read stays, and is read before the map is turned over
 * again. Such a map is late when a program that may sleep had not ended for long: one that lost its
 * processor gets it back when those before it have had theirs.
 *
 * Maps of a group have one word and are turned over at one instant. One of them alone, for it is
 * full: its two maps change places in the map of maps, and the word stays. The kernel waits for
 * programs at each of the two updates, and the map fills meanwhile; where the word does not point
 * nobody looks, so that place is put right when the group is turned over.
 */
#include "kern/kern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define LATE_NS    1000000000ull /* a program that may sleep is waited for so long */
#define LATE_ALONE 50000000ull   /* ... to make room: nobody waits for what is in the map */
#define LATE_AGAIN 10000000ull   /* ... and after that so long each time */
#define LATE_NAP   50000l        /* ns between two looks */

static const struct umap *map_at(const struct live *l, u32 map)
{
	return &l->unit->maps.v[map];
}

/* ---- made, mapped, closed ------------------------------------------------------------------- */

int kern_turn_create(struct live *l, u32 map, const char *name)
{
	struct umap m = *map_at(l, map);
	struct umap outer = { .bpf_type = BPF_MAP_TYPE_ARRAY_OF_MAPS,
		              .key_size = 4,
		              .value_size = 4,
		              .max_entries = 2 };
	struct pair *p = &l->pairs[map];
	int fd;

	m.max_entries = live_map_room(l, map);
	for (u32 i = 0; i < 2; i++) {
		p->fds[i] = sys_map_create(&m, name, -1);
		if (p->fds[i] < 0)
			return p->fds[i];
	}
	fd = sys_map_create(&outer, name, p->fds[0]);
	for (u32 i = 0; fd >= 0 && i < 2; i++) {
		int r = sys_map_update(fd, &i, &p->fds[i], BPF_ANY);

		if (r < 0) {
			close(fd);
			fd = r;
		}
	}
	return fd;
}

/* A map of maps for the sake of the wait when it is written to. */
static bool open_gate(struct live *l, struct err *e)
{
	struct umap inner = { .bpf_type = BPF_MAP_TYPE_ARRAY,
		              .key_size = 4,
		              .value_size = 8,
		              .max_entries = 1 },
		    outer = { .bpf_type = BPF_MAP_TYPE_ARRAY_OF_MAPS,
		              .key_size = 4,
		              .value_size = 4,
		              .max_entries = 1 };

	l->gate.fds[0] = sys_map_create(&inner, "gate", -1);
	l->gate.fds[1] = l->gate.fds[0] < 0 ? l->gate.fds[0]
	                                    : sys_map_create(&outer, "gate", l->gate.fds[0]);
	return l->gate.fds[1] >= 0 || err_sys(e, -l->gate.fds[1], "can not make a map of maps");
}

bool kern_turn_open(struct live *l, struct err *e)
{
	s32 turns = unit_map(l->unit, UMAP_TURNS);
	void *p;

	if (turns < 0)
		return true;
	l->turns_size = map_at(l, (u32)turns)->value_size;
	p = mmap(NULL, l->turns_size, PROT_READ | PROT_WRITE, MAP_SHARED, l->maps[turns], 0);
	if (p == MAP_FAILED)
		return err_sys(e, errno, "can not map the turns of maps");
	l->turns = p;
	for (u32 i = 0; i < l->unit->maps.n; i++)
		if (live_map_drains(l, i))
			l->turns[map_at(l, i)->turn + UTURN_TELL] = MAX(live_map_room(l, i) / 2,
			                                                1u);
	return open_gate(l, e);
}

static void close_pair(const struct pair *p)
{
	for (u32 i = 0; i < 2; i++)
		if (p->fds[i] >= 0)
			close(p->fds[i]);
}

void kern_turn_close(struct live *l)
{
	if (l->turns)
		munmap(l->turns, l->turns_size);
	for (u32 i = 0; i < l->unit->maps.n; i++)
		close_pair(&l->pairs[i]);
	close_pair(&l->gate);
}

/* ---- turned over ---------------------------------------------------------------------------- */

const void *kern_turn_key(const struct live *l, u32 map, const void *key)
{
	static const u32 indices[] = { 0, 1 };

	return map_at(l, map)->turn && !map_at(l, map)->key ? &indices[kern_turn_now(l, map)] : key;
}

u32 kern_turn_now(const struct live *l, u32 map)
{
	u32 word = map_at(l, map)->now;

	return word ? (u32)__atomic_load_n(&l->turns[word], __ATOMIC_RELAXED) & 1 : 0;
}

static void before_turn(struct live *l, u32 map)
{
	__atomic_add_fetch(&l->turns[map_at(l, map)->turn + UTURN_DONE], 1, __ATOMIC_SEQ_CST);
}

static void after_turn(struct live *l, u32 map)
{
	__atomic_store_n(&l->turns[map_at(l, map)->turn + UTURN_KEYS], 0, __ATOMIC_SEQ_CST);
	l->pairs[map].unread = l->asleep = true;
	l->turned = clock_ns(CLOCK_MONOTONIC);
}

static bool are_together(const struct live *l, u32 a, u32 b)
{
	return map_at(l, a)->turn && map_at(l, a)->now == map_at(l, b)->now;
}

static bool set_place(struct live *l, u32 map, u32 place, int fd, struct err *e)
{
	int r = sys_map_update(l->maps[map], &place, &fd, BPF_ANY);

	return r >= 0 || err_sys(e, -r, "can not turn map %s over", map_at(l, map)->name);
}

static bool catch_up(struct live *l, u32 map, struct err *e)
{
	struct pair *p = &l->pairs[map];
	u32 other = !kern_turn_now(l, map);

	p->behind = p->behind && !set_place(l, map, other, p->fds[other], e);
	return !p->behind;
}

static bool turn_group(struct live *l, u32 map, struct err *e)
{
	for (u32 i = 0; i < l->unit->maps.n; i++)
		if (are_together(l, i, map) && !catch_up(l, i, e))
			return false;
	for (u32 i = 0; i < l->unit->maps.n; i++)
		if (are_together(l, i, map))
			before_turn(l, i);
	__atomic_xor_fetch(&l->turns[map_at(l, map)->now], 1, __ATOMIC_SEQ_CST);
	for (u32 i = 0; i < l->unit->maps.n; i++)
		if (are_together(l, i, map))
			after_turn(l, i);
	l->late = true;
	return true;
}

/* The kernel waits for programs that found the one that was there. */
static bool change_places(struct live *l, u32 map, struct err *e)
{
	struct pair *p = &l->pairs[map];
	u32 now = kern_turn_now(l, map), other = !now;
	int used = p->fds[now];

	before_turn(l, map);
	if (!set_place(l, map, now, p->fds[other], e))
		return false;
	p->fds[now] = p->fds[other];
	p->fds[other] = used;
	p->behind = true;
	after_turn(l, map);
	return true;
}

/* A group waits for those of it that were not read yet. */
static bool turn_over(struct live *l, u32 map, bool alone, struct err *e)
{
	bool is_one = true, is_read = true;

	for (u32 i = 0; i < l->unit->maps.n; i++)
		if (are_together(l, i, map)) {
			is_one &= i == map;
			is_read &= !l->pairs[i].unread;
		}
	if (is_one || (!alone && is_read))
		return turn_group(l, map, e);
	return !map_at(l, map)->key || change_places(l, map, e);
}

/* Each cell of the epoch was 0 at some moment. */
static bool wait_cells(const struct live *l, u64 epoch, u64 until)
{
	const u64 *cell = l->turns + UTURN_CELLS + (epoch & 1);

	for (u32 cpu = 0; cpu < UTURN_CPUS; cpu++) {
		while (__atomic_load_n(&cell[(size_t)cpu * 8], __ATOMIC_SEQ_CST)) {
			if (clock_ns(CLOCK_MONOTONIC) > until)
				return false;
			nanosleep(&(struct timespec){ .tv_nsec = LATE_NAP }, NULL);
		}
	}
	return true;
}

/* Cells of the other epoch may still be used by who read the epoch before it was last changed. */
static bool wait_sleepers(struct live *l, u32 how)
{
	u64 epoch = __atomic_load_n(&l->turns[UTURN_EPOCH], __ATOMIC_RELAXED);
	u64 least = l->turned + (how & TURN_ALONE ? LATE_ALONE : LATE_NS);
	u64 until = MAX(least, clock_ns(CLOCK_MONOTONIC) + LATE_AGAIN);

	if (!wait_cells(l, epoch + 1, until))
		return false;
	__atomic_store_n(&l->turns[UTURN_EPOCH], epoch + 1, __ATOMIC_SEQ_CST);
	return wait_cells(l, epoch, until);
}

/* When nothing is attached no program is late. One that sleeps may be when this returns. */
static bool wait_late(struct live *l, u32 how, struct err *e)
{
	u32 zero = 0;
	int r = 0;

	if (l->late && l->handles.n)
		r = sys_map_update(l->gate.fds[1], &zero, &l->gate.fds[0], BPF_ANY);
	if (r < 0)
		return err_sys(e, -r, "can not wait for programs that run");
	l->late = false;
	l->asleep = l->asleep && l->handles.n && !wait_sleepers(l, how);
	return true;
}

/* ---- taken ---------------------------------------------------------------------------------- */

struct taking {
	struct live *l;
	u32 map;
	live_row_fn *cb;
	void *ctx;
	const void *zeros; /* NULL: keys go */
};

/* A key that programs have put in again stays as it is. */
static bool take_row(void *ctx, const void *key, const void *cells)
{
	const struct taking *t = ctx;

	if (t->zeros)
		sys_map_update(kern_map_fd(t->l, t->map), key, t->zeros, BPF_NOEXIST);
	if (t->cb)
		t->cb(t->ctx, key, cells);
	return true;
}

/* The elements of an array stay. */
static bool take_element(struct taking *t, u32 old, struct err *e)
{
	void *cells = calloc(1, kern_map_element(t->l, t->map));
	int fd = t->l->maps[t->map], r = cells ? sys_map_lookup(fd, &old, cells) : -ENOMEM;

	if (r >= 0) {
		if (t->cb)
			t->cb(t->ctx, &old, cells);
		memset(cells, 0, kern_map_element(t->l, t->map));
		r = sys_map_update(fd, &old, cells, BPF_ANY);
	}
	free(cells);
	return r >= 0 || err_sys(e, -r, "can not read map %s", map_at(t->l, t->map)->name);
}

static bool take_one(struct taking *t, u32 which, struct err *e)
{
	const struct pair *p = &t->l->pairs[t->map];

	return map_at(t->l, t->map)->key
	               ? kern_map_empty(t->l, t->map, p->fds[which], take_row, t, e)
	               : take_element(t, which, e);
}

static bool take_old(struct taking *t, struct err *e)
{
	struct pair *p = &t->l->pairs[t->map];

	t->cb = p->forget ? NULL : t->cb;
	p->unread = !take_one(t, !kern_turn_now(t->l, t->map), e);
	p->late &= p->unread;
	p->forget &= p->unread;
	return !p->unread;
}

/* A program may add to the other one yet. To clear the map: what it has now goes at once, keys too:
 * they can not be put in again while they are taken out. */
static bool take_later(struct taking *t, u32 how, struct err *e)
{
	struct pair *p = &t->l->pairs[t->map];

	p->late = true;
	p->how = how;
	p->forget |= !t->cb;
	t->zeros = NULL;
	return t->cb || take_one(t, kern_turn_now(t->l, t->map), e);
}

/* A map without key that its group keeps from being turned over: cleared, it is emptied where it
 * is, else taken when programs count no more. */
static bool take(struct taking *t, u32 how, struct err *e)
{
	struct live *l = t->l;

	if (l->pairs[t->map].unread)
		return wait_late(l, how, e) && (l->asleep ? take_later(t, how, e) : take_old(t, e));
	return (!(how & TURN_ALONE) && l->handles.n) ||
	       take_element(t, kern_turn_now(l, t->map), e);
}

u64 live_map_turned(const struct live *l, u32 map)
{
	u32 word = map_at(l, map)->turn;

	return word ? __atomic_load_n(&l->turns[word + UTURN_DONE], __ATOMIC_RELAXED) : 0;
}

bool live_map_drains(const struct live *l, u32 map)
{
	return map_at(l, map)->spills && !map_at(l, map)->is_read;
}

bool live_map_fills(const struct live *l, u32 map)
{
	const u64 *words = live_map_drains(l, map) ? &l->turns[map_at(l, map)->turn] : NULL;

	return words && __atomic_load_n(&words[UTURN_KEYS], __ATOMIC_RELAXED) >= words[UTURN_TELL];
}

bool live_map_unread(const struct live *l, u32 map)
{
	return l->pairs[map].unread;
}

bool live_map_late(const struct live *l, u32 map)
{
	return l->pairs[map].late;
}

bool live_map_turn(struct live *l, u32 map, u32 how, live_row_fn *cb, void *ctx, struct err *e)
{
	struct taking t = { .l = l, .map = map, .cb = cb, .ctx = ctx };
	void *zeros = NULL;
	bool ok;

	if (l->pairs[map].late)
		how = (how & TURN_ALONE) | (l->pairs[map].how & TURN_KEEPS_KEYS);
	if (how & TURN_KEEPS_KEYS && map_at(l, map)->key) {
		zeros = calloc(1, kern_map_element(l, map));
		if (!zeros)
			return err_set(e, "no memory to zero map %s", map_at(l, map)->name);
		t.zeros = zeros;
	}
	ok = (l->pairs[map].unread || turn_over(l, map, how & TURN_ALONE, e)) && take(&t, how, e);
	free(zeros);
	return ok;
}
