/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Asks a cache server, and keeps count of what it asked and was told, key by key.
 *
 *   cacheload -p PORT [-P text|meta|binary|resp] [-c CONNECTIONS] [-n REQUESTS | -d SECONDS]
 *             [-k KEYS] [-v VALUE_BYTES] [-w PERCENT_SETS] [-m KEYS_PER_GET] [-D PIPELINE]
 *             [-x REQUESTS_PER_CONNECTION] [-r REQUESTS_PER_SECOND] [-s SEED] [-q]
 *
 * Key i of KEYS is asked with a weight of 1 / (i + 1) (Zipf 1.0), the same sequence for the same
 * seed. Each connection has PIPELINE requests under way. At the end, a line for each key with
 * requests: key gets hits misses sets; and a last line: "total REQUESTS SECONDS PER_SECOND".
 * -q leaves the lines of keys out.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { TEXT, META, BINARY, RESP };

struct asked {
	int key; /* -1: after the last key of a command */
	bool set;
};

struct conn {
	int fd;
	char *in;
	size_t n, done, cap; /* of `in`: bytes there, bytes looked at */
	struct asked *asked; /* in order, what waits for an answer */
	int n_asked, next;
	long requests;
};

static int port, protocol, conns = 4, keys = 100, value_size = 100, sets = 10, multi = 1, depth = 1;
static long requests = 10000, reconnect, rate;
static double seconds;
static unsigned seed = 1;
static double *weights;   /* cumulated */
static long (*counts)[4]; /* gets, hits, misses, sets */
static long sent;
static char *value;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint64_t state;

static uint64_t number(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static int pick(void)
{
	double x = (double)(number() >> 11) / 9007199254740992.0 * weights[keys - 1];
	int low = 0, high = keys - 1;

	while (low < high) {
		int middle = (low + high) / 2;

		if (weights[middle] > x)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static void open_conn(struct conn *c)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
		                 .sin_port = htons((uint16_t)port),
		                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int one = 1;

	c->fd = socket(AF_INET, SOCK_STREAM, 0);
	if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		die("connect");
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	c->n = c->done = 0;
	c->requests = 0;
}

/* ---- asking --------------------------------------------------------------------------------- */

struct text {
	char *p;
	size_t n, cap;
};

static void add(struct text *t, const void *p, size_t n)
{
	if (t->n + n > t->cap) {
		t->cap = (t->n + n) * 2;
		t->p = realloc(t->p, t->cap);
		if (!t->p)
			die("realloc");
	}
	memcpy(t->p + t->n, p, n);
	t->n += n;
}

static void addf(struct text *t, const char *format, int a, int b)
{
	char line[200];

	add(t, line, (size_t)snprintf(line, sizeof(line), format, a, b));
}

static void binary(struct text *t, int opcode, int key, bool set)
{
	unsigned char h[32] = { 0x80, (unsigned char)opcode };
	char name[20];
	int n = snprintf(name, sizeof(name), "key:%d", key), extra = set ? 8 : 0;
	uint32_t body = htonl((uint32_t)(n + extra + (set ? value_size : 0)));

	h[3] = (unsigned char)n;
	h[4] = (unsigned char)extra;
	memcpy(h + 8, &body, 4);
	add(t, h, 24 + (size_t)extra);
	add(t, name, (size_t)n);
	if (set)
		add(t, value, (size_t)value_size);
}

static void ask_set(struct text *t, int key)
{
	char name[20];
	int n = snprintf(name, sizeof(name), "key:%d", key);

	switch (protocol) {
	case TEXT:
		addf(t, "set key:%d 0 0 %d\r\n", key, value_size);
		break;
	case META:
		addf(t, "ms key:%d %d\r\n", key, value_size);
		break;
	case BINARY:
		binary(t, 1, key, true);
		return;
	case RESP:
		addf(t, "*3\r\n$3\r\nSET\r\n$%d\r\nkey:%d\r\n", n, key);
		addf(t, "$%d\r\n", value_size, 0);
		break;
	}
	add(t, value, (size_t)value_size);
	add(t, "\r\n", 2);
}

static void ask_get(struct text *t, const int *k, int n)
{
	char name[20];

	if (protocol == TEXT)
		add(t, "get", 3);
	else if (protocol == RESP && n > 1)
		addf(t, "*%d\r\n$4\r\nMGET\r\n", n + 1, 0);
	else if (protocol == RESP)
		add(t, "*2\r\n$3\r\nGET\r\n", 13);
	for (int i = 0; i < n; i++) {
		if (protocol == TEXT)
			addf(t, " key:%d", k[i], 0);
		else if (protocol == META)
			addf(t, "mg key:%d v\r\n", k[i], 0);
		else if (protocol == BINARY)
			binary(t, 0, k[i], false);
		else
			addf(t, "$%d\r\nkey:%d\r\n", snprintf(name, sizeof(name), "key:%d", k[i]),
			     k[i]);
	}
	if (protocol == TEXT)
		add(t, "\r\n", 2);
}

/* A request for each place in the pipeline. */
static void ask(struct conn *c, struct text *t)
{
	c->n_asked = c->next = 0;
	t->n = 0;
	for (int i = 0; i < depth; i++) {
		bool set = number() % 100 < (unsigned)sets;
		int n = set ? 1 : multi, k[64];

		for (int j = 0; j < n; j++) {
			k[j] = pick();
			counts[k[j]][set ? 3 : 0]++;
			c->asked[c->n_asked++] = (struct asked){ k[j], set };
		}
		if (!set)
			c->asked[c->n_asked++] = (struct asked){ -1, false };
		if (set)
			ask_set(t, k[0]);
		else
			ask_get(t, k, n);
		sent++;
		c->requests++;
	}
	for (size_t done = 0; done < t->n;) {
		ssize_t n = write(c->fd, t->p + done, t->n - done);

		if (n <= 0)
			die("write");
		done += (size_t)n;
	}
}

/* ---- answers -------------------------------------------------------------------------------- */

static void fill(struct conn *c)
{
	ssize_t n;

	if (c->done && c->done == c->n)
		c->done = c->n = 0;
	if (c->cap - c->n < 4096) {
		memmove(c->in, c->in + c->done, c->n - c->done);
		c->n -= c->done;
		c->done = 0;
		if (c->cap - c->n < 4096) {
			c->cap = c->cap * 2 + 8192;
			c->in = realloc(c->in, c->cap);
			if (!c->in)
				die("realloc");
		}
	}
	n = read(c->fd, c->in + c->n, c->cap - c->n);
	if (n <= 0)
		die("read");
	c->n += (size_t)n;
}

static void need(struct conn *c, size_t n)
{
	while (c->n - c->done < n)
		fill(c);
}

static char *line(struct conn *c, size_t *n)
{
	size_t seen = 0;

	for (;;) {
		char *end = c->n - c->done > seen
		                    ? memchr(c->in + c->done + seen, '\n', c->n - c->done - seen)
		                    : NULL;

		if (end) {
			char *start = c->in + c->done;

			*n = (size_t)(end - start) + 1;
			c->done += *n;
			return start;
		}
		seen = c->n - c->done;
		fill(c);
	}
}

static void skip(struct conn *c, size_t n)
{
	need(c, n);
	c->done += n;
}

static void wrong(const char *l, size_t n)
{
	fprintf(stderr, "cacheload: unexpected answer: %.*s\n", (int)n, l);
	exit(1);
}

static void is_hit(struct asked *a, bool hit)
{
	counts[a->key][hit ? 1 : 2]++;
}

/* text: hits come in the order asked, misses are left out. */
static void text_get(struct conn *c)
{
	for (;;) {
		size_t n;
		char *l = line(c, &n);
		int key, size;

		if (n == 5 && memcmp(l, "END\r\n", 5) == 0)
			break;
		if (sscanf(l, "VALUE key:%d %*d %d", &key, &size) != 2)
			wrong(l, n);
		skip(c, (size_t)size + 2);
		while (c->asked[c->next].key != key)
			is_hit(&c->asked[c->next++], false);
		is_hit(&c->asked[c->next++], true);
	}
	while (c->asked[c->next].key >= 0)
		is_hit(&c->asked[c->next++], false);
	c->next++;
}

static void meta_get(struct conn *c)
{
	for (; c->asked[c->next].key >= 0; c->next++) {
		size_t n;
		char *l = line(c, &n);
		int size;

		if (sscanf(l, "VA %d", &size) == 1)
			skip(c, (size_t)size + 2);
		else if (memcmp(l, "EN", 2) != 0)
			wrong(l, n);
		is_hit(&c->asked[c->next], l[0] == 'V');
	}
	c->next++;
}

static bool binary_answer(struct conn *c)
{
	uint32_t body;
	bool ok;

	need(c, 24);
	memcpy(&body, c->in + c->done + 8, 4);
	ok = !c->in[c->done + 6] && !c->in[c->done + 7];
	skip(c, 24 + ntohl(body));
	return ok;
}

static void binary_get(struct conn *c)
{
	for (; c->asked[c->next].key >= 0; c->next++)
		is_hit(&c->asked[c->next], binary_answer(c));
	c->next++;
}

static void resp_get(struct conn *c)
{
	size_t n;

	if (multi > 1)
		line(c, &n);
	for (; c->asked[c->next].key >= 0; c->next++) {
		char *l = line(c, &n);
		int size = atoi(l + 1);

		if (l[0] != '$')
			wrong(l, n);
		is_hit(&c->asked[c->next], size >= 0);
		if (size >= 0)
			skip(c, (size_t)size + 2);
	}
	c->next++;
}

static void set_answer(struct conn *c)
{
	size_t n;
	char *l;

	c->next++;
	if (protocol == BINARY) {
		binary_answer(c);
		return;
	}
	l = line(c, &n);
	if (l[0] != 'S' && l[0] != 'H' && l[0] != '+')
		wrong(l, n);
}

static void answers(struct conn *c)
{
	static void (*const get[])(struct conn * c) = { text_get, meta_get, binary_get, resp_get };

	while (c->next < c->n_asked) {
		if (c->asked[c->next].set)
			set_answer(c);
		else
			get[protocol](c);
	}
}

/* ---- all of it ------------------------------------------------------------------------------ */

static void options(int argc, char **argv)
{
	static const char *const names[] = { "text", "meta", "binary", "resp" };
	int o;

	while ((o = getopt(argc, argv, "p:P:c:n:d:k:v:w:m:D:x:r:s:q")) > 0) {
		long n = optarg ? atol(optarg) : 0;

		switch (o) {
		case 'p':
			port = (int)n;
			break;
		case 'P':
			while (protocol < 4 && strcmp(names[protocol], optarg) != 0)
				protocol++;
			break;
		case 'c':
			conns = (int)n;
			break;
		case 'n':
			requests = n;
			break;
		case 'd':
			seconds = atof(optarg);
			break;
		case 'k':
			keys = (int)n;
			break;
		case 'v':
			value_size = (int)n;
			break;
		case 'w':
			sets = (int)n;
			break;
		case 'm':
			multi = (int)n;
			break;
		case 'D':
			depth = (int)n;
			break;
		case 'x':
			reconnect = n;
			break;
		case 'r':
			rate = n;
			break;
		case 's':
			seed = (unsigned)n;
			break;
		case 'q':
			break;
		default:
			exit(2);
		}
	}
	if (!port || protocol > RESP || conns < 1 || keys < 1 || multi < 1 || multi > 64 ||
	    depth < 1 || value_size < 0) {
		fprintf(stderr, "cacheload: see the head of cacheload.c\n");
		exit(2);
	}
}

static void prepare(struct conn **c)
{
	double sum = 0;

	state = 88172645463325252ull + seed;
	weights = calloc((size_t)keys, sizeof(*weights));
	counts = calloc((size_t)keys, sizeof(*counts));
	value = malloc((size_t)value_size + 1);
	*c = calloc((size_t)conns, sizeof(**c));
	if (!weights || !counts || !value || !*c)
		die("memory");
	memset(value, 'v', (size_t)value_size);
	for (int i = 0; i < keys; i++)
		weights[i] = sum += 1.0 / (i + 1);
	for (int i = 0; i < conns; i++) {
		(*c)[i].asked = calloc((size_t)depth * (size_t)(multi + 1), sizeof(struct asked));
		if (!(*c)[i].asked)
			die("memory");
		open_conn(&(*c)[i]);
	}
}

static bool goes_on(double start)
{
	return seconds > 0 ? now() - start < seconds : sent < requests;
}

/* Not faster than asked for. */
static void hold_back(double start)
{
	while (rate && (double)sent / (double)rate > now() - start)
		usleep(200);
}

int main(int argc, char **argv)
{
	struct text out = { 0 };
	struct conn *c;
	double start, took;
	bool quiet = false;

	options(argc, argv);
	for (int i = 1; i < argc; i++)
		quiet |= strcmp(argv[i], "-q") == 0;
	prepare(&c);
	start = now();
	while (goes_on(start)) {
		for (int i = 0; i < conns; i++)
			ask(&c[i], &out);
		for (int i = 0; i < conns; i++) {
			answers(&c[i]);
			if (reconnect && c[i].requests >= reconnect) {
				close(c[i].fd);
				open_conn(&c[i]);
			}
		}
		hold_back(start);
	}
	took = now() - start;
	for (int i = 0; i < keys && !quiet; i++)
		if (counts[i][0] + counts[i][3])
			printf("key:%d %ld %ld %ld %ld\n", i, counts[i][0], counts[i][1],
			       counts[i][2], counts[i][3]);
	printf("total %ld %.3f %.0f\n", sent, took, (double)sent / took);
	return 0;
}
