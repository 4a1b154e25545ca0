/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* libcurl sends, loaded for it. What is tried again: https://opentelemetry.io/docs/specs/otlp/ */
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/caps.h"
#include "base/clock.h"
#include "base/host.h"
#include "cmd/cmd.h"
#include "cmd/say.h"
#include "cmd/serve/otlp.h"
#include "out/gzip.h"
#include "out/metrics_otlp.h"

#define QUEUE_MOST   64u
#define QUEUE_BYTES  (16u << 20)
#define REQUEST_MS   10000L
#define PAUSE_MOST   60u /* seconds */
#define ANSWER_BYTES (64u << 10)

/* clang-format off */
#define FUNCTIONS(F) /* of the library */                                                          \
	F(curl_easy_init) F(curl_easy_setopt) F(curl_easy_perform) F(curl_easy_getinfo)            \
	F(curl_slist_append)
/* clang-format on */

#define POINTER(name) __typeof__(name) *name;

/* What is sent to one endpoint. */
struct line {
	struct buf url;               /* empty: nothing is */
	struct buf queue[QUEUE_MOST]; /* requests, the oldest first */
	u32 n;
	size_t bytes;
	u32 pause; /* seconds */
	u64 next;  /* ms: when to try again */
	bool warned;
};

struct sender {
	struct {
		FUNCTIONS(POINTER)
	} lib;
	CURL *curl;
	int fd;
	char host[256];
	u64 began;
	struct buf in; /* of the message that is coming */
	struct line lines[OTLP_KINDS];
	struct otlp_told told[OTLP_KINDS];
	bool gzip, is_set;
};

static size_t ignore(char *p, size_t size, size_t n, void *got)
{
	size_t *bytes = got;

	(void)p;
	*bytes += size * n;
	return *bytes > ANSWER_BYTES ? 0 : size * n;
}

static bool load(struct sender *s)
{
	static const char *const names[] = { "libcurl.so.4", "libcurl-gnutls.so.4" };
	void *so = NULL;
	bool ok;

	for (u32 i = 0; i < ARRAY_SIZE(names) && !so; i++)
		so = host_library(names[i]);
	ok = so != NULL;
#undef curl_easy_setopt
#undef curl_easy_getinfo
#define FIND(name) ok = ok && (s->lib.name = (__typeof__(name) *)host_symbol(so, #name));
	FUNCTIONS(FIND)
	if (!ok || !(s->curl = s->lib.curl_easy_init()))
		return false;
	s->lib.curl_easy_setopt(s->curl, CURLOPT_TIMEOUT_MS, REQUEST_MS);
	s->lib.curl_easy_setopt(s->curl, CURLOPT_NOSIGNAL, 1L);
	s->lib.curl_easy_setopt(s->curl, CURLOPT_PROTOCOLS_STR, "http,https");
	s->lib.curl_easy_setopt(s->curl, CURLOPT_USERAGENT, "memtap/" MEMTAP_VERSION);
	s->lib.curl_easy_setopt(s->curl, CURLOPT_WRITEFUNCTION, ignore);
	return true;
}

/* What otlp_to_text() says. */
static void set_up(struct sender *s, struct str text)
{
	struct curl_slist *headers;
	struct buf line = { 0 };

	for (u32 i = 0; i < OTLP_KINDS; i++) {
		struct str url = str_cut(text, '\n', &text);

		buf_add(&s->lines[i].url, url.p, url.n);
	}
	s->gzip = str_is(str_cut(text, '\n', &text), "gzip");
	headers = s->lib.curl_slist_append(NULL, "Content-Type: application/x-protobuf");
	headers = s->lib.curl_slist_append(headers, "Expect:");
	if (s->gzip)
		headers = s->lib.curl_slist_append(headers, "Content-Encoding: gzip");
	while (text.n) {
		struct str one = str_cut(text, '\n', &text);

		buf_reset(&line);
		buf_add(&line, one.p, one.n);
		headers = s->lib.curl_slist_append(headers, buf_text(&line));
	}
	s->lib.curl_easy_setopt(s->curl, CURLOPT_HTTPHEADER, headers);
	buf_free(&line);
	s->is_set = true;
}

static void tell(struct sender *s)
{
	for (u32 i = 0; i < OTLP_KINDS; i++)
		s->told[i].queued = s->lines[i].n;
	send(s->fd, s->told, sizeof(s->told), MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void pop(struct line *l)
{
	l->bytes -= l->queue[0].n;
	buf_free(&l->queue[0]);
	memmove(&l->queue[0], &l->queue[1], --l->n * sizeof(*l->queue));
}

static void push(struct sender *s, enum otlp_kind kind, struct str message)
{
	struct otlp_about about = { "memtap", MEMTAP_VERSION, s->host, s->began,
		                    clock_ns(CLOCK_REALTIME) };
	struct buf request = { 0 }, packed = { 0 };
	struct line *l = &s->lines[kind];

	if (kind == OTLP_METRICS)
		metrics_otlp(&request, message, &about);
	else
		buf_add(&request, message.p, message.n);
	if (s->gzip) {
		gzip_add(&packed, &request);
		buf_free(&request);
		request = packed;
	}
	while (l->n && (l->n == QUEUE_MOST || l->bytes + request.n > QUEUE_BYTES)) {
		pop(l);
		s->told[kind].dropped++;
	}
	l->bytes += request.n;
	l->queue[l->n++] = request;
}

/* The status of the answer, 0 when there was none. */
static long post(struct sender *s, const struct line *l)
{
	size_t got = 0;
	long status = 0;

	s->lib.curl_easy_setopt(s->curl, CURLOPT_URL, buf_text(&l->url));
	s->lib.curl_easy_setopt(s->curl, CURLOPT_POSTFIELDS, l->queue[0].p);
	s->lib.curl_easy_setopt(s->curl, CURLOPT_POSTFIELDSIZE, (long)l->queue[0].n);
	s->lib.curl_easy_setopt(s->curl, CURLOPT_WRITEDATA, &got);
	if (s->lib.curl_easy_perform(s->curl) == CURLE_OK)
		s->lib.curl_easy_getinfo(s->curl, CURLINFO_RESPONSE_CODE, &status);
	return status;
}

static void try(struct sender *s, enum otlp_kind kind)
{
	struct line *l = &s->lines[kind];
	long status = post(s, l);
	bool again = status == 0 || status == 429 || (status >= 502 && status <= 504);

	if (again) {
		l->pause = l->pause ? MIN(l->pause * 2, PAUSE_MOST) : 1;
		l->next = clock_ms() + l->pause * 1000ull;
		return;
	}
	if (status / 100 == 2)
		s->told[kind].sent++;
	else
		s->told[kind].dropped++;
	if (status / 100 != 2 && !l->warned)
		say_warning(kind == OTLP_METRICS
		                    ? "the OTLP endpoint does not take what it is sent"
		                    : "the OTLP endpoint does not take profiles of this version");
	l->warned = status / 100 != 2;
	l->pause = 0;
	pop(l);
}

/* False: the other side is gone. */
static bool receive(struct sender *s)
{
	char piece[65536];
	ssize_t n = recv(s->fd, piece, sizeof(piece), MSG_DONTWAIT);
	u32 word, size;

	if (n <= 0)
		return n < 0 && errno == EAGAIN;
	buf_add(&s->in, piece, (size_t)n);
	while (s->in.n >= sizeof(word)) {
		struct str message;

		memcpy(&word, s->in.p, sizeof(word));
		size = word & ~(1u << OTLP_KIND_SHIFT);
		if (s->in.n < sizeof(word) + size)
			break;
		message = (struct str){ s->in.p + sizeof(word), size };
		if (s->is_set)
			push(s, (enum otlp_kind)(word >> OTLP_KIND_SHIFT), message);
		else
			set_up(s, message);
		s->in.n -= sizeof(word) + size;
		memmove(s->in.p, s->in.p + sizeof(word) + size, s->in.n);
	}
	return true;
}

/* Milliseconds until there is something to send, -1 there is nothing. */
static int wait_for(const struct sender *s)
{
	u64 now = clock_ms(), until = ~0ull;

	for (u32 i = 0; i < OTLP_KINDS; i++)
		if (s->lines[i].n)
			until = MIN(until, MAX(s->lines[i].next, now));
	return until == ~0ull ? -1 : (int)(until - now);
}

int otlp_send(int fd)
{
	struct sender s = { .fd = fd, .began = clock_ns(CLOCK_REALTIME) };
	bool goes_on = true;

	caps_keep(0);
	gethostname(s.host, sizeof(s.host) - 1);
	if (!load(&s)) {
		say_warning(
			host_is_static()
				? "--otlp needs libcurl, which is not in this memtap, one file"
				: "--otlp needs libcurl, which is not installed (libcurl.so.4)");
		return 1;
	}
	while (goes_on) {
		struct pollfd p = { fd, POLLIN, 0 };

		if (poll(&p, 1, wait_for(&s)) < 0)
			break;
		if (p.revents)
			goes_on = receive(&s);
		for (u32 i = 0; i < OTLP_KINDS; i++)
			if (s.lines[i].n && clock_ms() >= s.lines[i].next)
				try(&s, (enum otlp_kind)i);
		tell(&s);
	}
	return 0;
}
