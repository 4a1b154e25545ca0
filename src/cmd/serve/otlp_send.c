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

struct sender {
	struct {
		FUNCTIONS(POINTER)
	} lib;
	CURL *curl;
	int fd;
	char host[256];
	u64 began;
	struct buf in;                /* of the page that is coming */
	struct buf queue[QUEUE_MOST]; /* requests, the oldest first */
	u32 n;
	size_t bytes;
	u32 pause; /* seconds */
	u64 next;  /* ms: when to try again */
	struct otlp_told told;
	bool warned, gzip, is_set;
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
	struct str url = str_cut(text, '\n', &text);

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
	buf_reset(&line);
	buf_add(&line, url.p, url.n);
	s->lib.curl_easy_setopt(s->curl, CURLOPT_URL, buf_text(&line));
	s->lib.curl_easy_setopt(s->curl, CURLOPT_HTTPHEADER, headers);
	buf_free(&line);
	s->is_set = true;
}

static void tell(struct sender *s)
{
	s->told.queued = s->n;
	send(s->fd, &s->told, sizeof(s->told), MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void pop(struct sender *s)
{
	s->bytes -= s->queue[0].n;
	buf_free(&s->queue[0]);
	memmove(&s->queue[0], &s->queue[1], --s->n * sizeof(*s->queue));
}

static void push(struct sender *s, struct str page)
{
	struct otlp_about about = { "memtap", MEMTAP_VERSION, s->host, s->began,
		                    clock_ns(CLOCK_REALTIME) };
	struct buf request = { 0 }, packed = { 0 };

	metrics_otlp(&request, page, &about);
	if (s->gzip) {
		gzip_add(&packed, &request);
		buf_free(&request);
		request = packed;
	}
	while (s->n && (s->n == QUEUE_MOST || s->bytes + request.n > QUEUE_BYTES)) {
		pop(s);
		s->told.dropped++;
	}
	s->bytes += request.n;
	s->queue[s->n++] = request;
}

/* The status of the answer, 0 when there was none. */
static long post(struct sender *s)
{
	size_t got = 0;
	long status = 0;

	s->lib.curl_easy_setopt(s->curl, CURLOPT_POSTFIELDS, s->queue[0].p);
	s->lib.curl_easy_setopt(s->curl, CURLOPT_POSTFIELDSIZE, (long)s->queue[0].n);
	s->lib.curl_easy_setopt(s->curl, CURLOPT_WRITEDATA, &got);
	if (s->lib.curl_easy_perform(s->curl) == CURLE_OK)
		s->lib.curl_easy_getinfo(s->curl, CURLINFO_RESPONSE_CODE, &status);
	return status;
}

static void try(struct sender *s)
{
	long status = post(s);
	bool again = status == 0 || status == 429 || (status >= 502 && status <= 504);

	if (again) {
		s->pause = s->pause ? MIN(s->pause * 2, PAUSE_MOST) : 1;
		s->next = clock_ms() + s->pause * 1000ull;
		return;
	}
	if (status / 100 == 2)
		s->told.sent++;
	else
		s->told.dropped++;
	if (status / 100 != 2 && !s->warned)
		say_warning("the OTLP endpoint does not take what it is sent");
	s->warned = status / 100 != 2;
	s->pause = 0;
	pop(s);
}

/* False: the other side is gone. */
static bool receive(struct sender *s)
{
	char piece[65536];
	ssize_t n = recv(s->fd, piece, sizeof(piece), MSG_DONTWAIT);
	u32 size;

	if (n <= 0)
		return n < 0 && errno == EAGAIN;
	buf_add(&s->in, piece, (size_t)n);
	while (s->in.n >= sizeof(size)) {
		memcpy(&size, s->in.p, sizeof(size));
		if (s->in.n < sizeof(size) + size)
			break;
		(s->is_set ? push : set_up)(s, (struct str){ s->in.p + sizeof(size), size });
		s->in.n -= sizeof(size) + size;
		memmove(s->in.p, s->in.p + sizeof(size) + size, s->in.n);
	}
	return true;
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
		u64 now = clock_ms();

		if (poll(&p, 1, !s.n ? -1 : s.next > now ? (int)(s.next - now) : 0) < 0)
			break;
		if (p.revents)
			goes_on = receive(&s);
		if (s.n && clock_ms() >= s.next)
			try(&s);
		tell(&s);
	}
	return 0;
}
