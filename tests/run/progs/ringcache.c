/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A small cache that reads and writes its sockets by io_uring alone: memcached's text protocol, get
 * of any number of keys, and set; pipelines too.
 *
 *   ringcache -l ADDRESS -p PORT      status 2: the kernel has no io_uring
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/io_uring.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CONNECTIONS 64
#define ENTRIES     128
#define ITEMS       4096
#define ROOM        (1 << 20)

struct conn {
	int fd;
	char *in, *out;
	size_t n_in, n_out, sent;
};

struct item {
	char key[251];
	char *value;
	size_t n;
};

static struct conn conns[CONNECTIONS];
static struct item items[ITEMS];
static int listener, ring;
static unsigned queued, *sq_tail, *sq_mask, *sq_array, *cq_head, *cq_tail, *cq_mask;
static struct io_uring_sqe *sqes;
static struct io_uring_cqe *cqes;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* ---- the rings ------------------------------------------------------------------------------ */

static void *map(size_t n, off_t what)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, what);

	if (p == MAP_FAILED)
		die("mmap");
	return p;
}

static void set_up(void)
{
	struct io_uring_params p = { 0 };
	char *sq, *cq;

	ring = (int)syscall(__NR_io_uring_setup, ENTRIES, &p);
	if (ring < 0) {
		perror("io_uring_setup");
		exit(2);
	}
	sq = map(p.sq_off.array + p.sq_entries * sizeof(unsigned), IORING_OFF_SQ_RING);
	cq = map(p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe), IORING_OFF_CQ_RING);
	sqes = map(p.sq_entries * sizeof(struct io_uring_sqe), IORING_OFF_SQES);
	sq_tail = (unsigned *)(sq + p.sq_off.tail);
	sq_mask = (unsigned *)(sq + p.sq_off.ring_mask);
	sq_array = (unsigned *)(sq + p.sq_off.array);
	cq_head = (unsigned *)(cq + p.cq_off.head);
	cq_tail = (unsigned *)(cq + p.cq_off.tail);
	cq_mask = (unsigned *)(cq + p.cq_off.ring_mask);
	cqes = (struct io_uring_cqe *)(cq + p.cq_off.cqes);
}

/* A connection has one request under way, so the ring is never full. */
static void queue(int op, int fd, void *p, size_t n, uint64_t who)
{
	unsigned tail = *sq_tail, i = tail & *sq_mask;

	sqes[i] = (struct io_uring_sqe){ .opcode = (uint8_t)op,
		                         .fd = fd,
		                         .addr = (uintptr_t)p,
		                         .len = (uint32_t)n,
		                         .user_data = who };
	if (op == IORING_OP_SEND)
		sqes[i].msg_flags = MSG_NOSIGNAL;
	sq_array[i] = i;
	__atomic_store_n(sq_tail, tail + 1, __ATOMIC_RELEASE);
	queued++;
}

static void wait_for_one(void)
{
	long n = syscall(__NR_io_uring_enter, ring, queued, 1, IORING_ENTER_GETEVENTS, NULL, 0);

	if (n < 0 && errno != EINTR)
		die("io_uring_enter");
	queued -= n > 0 ? (unsigned)n : 0;
}

/* ---- the cache ------------------------------------------------------------------------------ */

/* The item of that key, or the free place for it. */
static struct item *find(const char *key)
{
	unsigned h = 5381;

	for (const char *p = key; *p; p++)
		h = h * 33 + (unsigned char)*p;
	for (unsigned i = 0; i < ITEMS; i++) {
		struct item *it = &items[(h + i) % ITEMS];

		if (!it->key[0] || strcmp(it->key, key) == 0)
			return it;
	}
	fprintf(stderr, "ringcache: too many keys\n");
	exit(1);
}

static void put(struct conn *c, const void *p, size_t n)
{
	if (n > ROOM - c->n_out) {
		fprintf(stderr, "ringcache: the answer is too long\n");
		exit(1);
	}
	memcpy(c->out + c->n_out, p, n);
	c->n_out += n;
}

static void get(struct conn *c, char *keys)
{
	char *save, head[300];

	for (char *k = strtok_r(keys, " ", &save); k; k = strtok_r(NULL, " ", &save)) {
		struct item *it = find(k);

		if (!it->value)
			continue;
		put(c, head, (size_t)snprintf(head, sizeof(head), "VALUE %s 0 %zu\r\n", k, it->n));
		put(c, it->value, it->n);
		put(c, "\r\n", 2);
	}
	put(c, "END\r\n", 5);
}

static void set(const char *key, const char *value, size_t n)
{
	struct item *it = find(key);

	snprintf(it->key, sizeof(it->key), "%s", key);
	free(it->value);
	it->value = malloc(n + 1);
	if (!it->value)
		die("malloc");
	memcpy(it->value, value, n);
	it->n = n;
}

/* One request; the bytes that it took, 0 when not all of it is there. */
static size_t answer(struct conn *c, char *p, size_t n)
{
	char *end = memmem(p, n, "\r\n", 2), key[251];
	size_t line = end ? (size_t)(end - p) + 2 : 0, size;

	if (!end)
		return 0;
	*end = 0;
	if (strncmp(p, "get ", 4) == 0) {
		get(c, p + 4);
		return line;
	}
	if (sscanf(p, "set %250s 0 0 %zu", key, &size) != 2 || size > ROOM) {
		put(c, "ERROR\r\n", 7);
		return line;
	}
	*end = '\r';
	if (n - line < size + 2)
		return 0;
	set(key, p + line, size);
	put(c, "STORED\r\n", 8);
	return line + size + 2;
}

static void answer_all(struct conn *c)
{
	size_t done = 0, one;

	while (done < c->n_in && (one = answer(c, c->in + done, c->n_in - done)))
		done += one;
	memmove(c->in, c->in + done, c->n_in - done);
	c->n_in -= done;
}

/* ---- connections ---------------------------------------------------------------------------- */

static void go_on(struct conn *c)
{
	uint64_t who = (uint64_t)(c - conns) * 2;

	if (c->sent < c->n_out)
		queue(IORING_OP_SEND, c->fd, c->out + c->sent, c->n_out - c->sent, who + 1);
	else
		queue(IORING_OP_RECV, c->fd, c->in + c->n_in, ROOM - c->n_in, who);
}

static void opened(int fd)
{
	struct conn *c = conns;

	while (c < conns + CONNECTIONS && c->in)
		c++;
	if (c == conns + CONNECTIONS) {
		close(fd);
		return;
	}
	*c = (struct conn){ .fd = fd, .in = malloc(ROOM), .out = malloc(ROOM) };
	if (!c->in || !c->out)
		die("malloc");
	go_on(c);
}

static void closed(struct conn *c)
{
	close(c->fd);
	free(c->in);
	free(c->out);
	*c = (struct conn){ 0 };
}

static void done(uint64_t who, int result)
{
	struct conn *c = &conns[who / 2];

	if (who == UINT64_MAX) {
		if (result >= 0)
			opened(result);
		queue(IORING_OP_ACCEPT, listener, NULL, 0, UINT64_MAX);
	} else if (result <= 0) {
		closed(c);
	} else if (who & 1) {
		c->sent += (size_t)result;
		go_on(c);
	} else {
		c->n_in += (size_t)result;
		c->n_out = c->sent = 0;
		answer_all(c);
		go_on(c);
	}
}

static void listen_on(const char *address, const char *port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port)) };
	int one = 1;

	listener = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (inet_pton(AF_INET, address, &a.sin_addr) != 1 ||
	    bind(listener, (struct sockaddr *)&a, sizeof(a)) || listen(listener, 64))
		die("listen");
}

int main(int argc, char **argv)
{
	if (argc != 5 || strcmp(argv[1], "-l") || strcmp(argv[3], "-p")) {
		fprintf(stderr, "usage: ringcache -l ADDRESS -p PORT\n");
		return 1;
	}
	set_up();
	listen_on(argv[2], argv[4]);
	queue(IORING_OP_ACCEPT, listener, NULL, 0, UINT64_MAX);
	for (;;) {
		wait_for_one();
		for (unsigned head = *cq_head;
		     head != __atomic_load_n(cq_tail, __ATOMIC_ACQUIRE);) {
			struct io_uring_cqe e = cqes[head & *cq_mask];

			__atomic_store_n(cq_head, ++head, __ATOMIC_RELEASE);
			done(e.user_data, e.res);
		}
	}
}
