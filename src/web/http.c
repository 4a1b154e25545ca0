/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "web/http.h"

#include <errno.h>
#include <fcntl.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/host.h"
#include "web/address.h"
#include "web/http_lib.h"
#include "web/accept.h"
#include "web/stream.h"

#define CONNECTIONS    64u
#define OF_AN_ADDRESS  24u /* three pages in a browser */
#define REQUEST_BYTES  32768
#define SILENT_SECONDS 10u
#define REQUEST_MS     15000 /* from its first byte to the last one of the answer */
#define BACKLOG        64

#define POINTER(name) __typeof__(name) *name;

/* A connection, from when it began or its last answer was whole. */
struct client {
	struct MHD_Connection *c; /* NULL: the place is free */
	u64 since;                /* ms */
	u64 later;                /* the number of the answer that it waits for; 0 none */
	bool has_answer;          /* it has come, or the end: `answer`, whose status is 0 */
	struct http_reply answer;
};

struct http {
	struct {
		HTTP_LIB(POINTER)
	} lib;
	void *so;
	struct MHD_Daemon *daemon;
	int listening;
	char address[ADDRESS_TEXT];
	struct guard *guard;
	__typeof__(gnutls_certificate_verify_peers2)
		*verify; /* NULL: clients need no certificate */
	struct client clients[CONNECTIONS];
	http_fn *fn;
	void *ctx;
	struct streams streams;
	u64 number;   /* of the last answer that comes later */
	bool resumed; /* the library has to be run for it, which it does not say itself */
	u64 refused;
};

/* A request while it is answered. */
struct call {
	struct http *h;
	struct MHD_Connection *c;
	u64 *later;
};

static bool load(struct http *h, struct err *e)
{
	bool ok;

	h->so = host_library("libmicrohttpd.so.12");
	ok = h->so != NULL;
#define FIND(name) ok = ok && (h->lib.name = (__typeof__(name) *)host_symbol(h->so, #name));
	HTTP_LIB(FIND)
#define COPY(name) h->streams.lib.name = h->lib.name;
	STREAM_FUNCTIONS(COPY)
	if (ok)
		return true;
	err_set(e, "listening needs libmicrohttpd, which is not installed (libmicrohttpd.so.12)");
	return err_hint(e, "its package is libmicrohttpd12 on Debian");
}

static bool listen_on(struct http *h, const char *text, int fd, struct err *e)
{
	struct sockaddr_storage a;
	socklen_t n;
	int on = 1;

	h->listening = fd;
	if (fd < 0) {
		n = address_parse(text, &a, e);
		if (!n)
			return false;
		h->listening = socket(a.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		if (h->listening < 0 ||
		    setsockopt(h->listening, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
		    bind(h->listening, (struct sockaddr *)&a, n) < 0 ||
		    listen(h->listening, BACKLOG) < 0)
			return err_sys(e, errno, "can not listen on %s", text);
	}
	address_name(h->listening, h->address);
	return true;
}

/* ---- requests ---- */

static enum MHD_Result reply(struct http *h, struct MHD_Connection *c, struct http_reply *r)
{
	struct MHD_Response *m;
	enum MHD_Result ok;

	m = r->goes_on ? streams_add(&h->streams, c, &r->body)
	               : h->lib.MHD_create_response_from_buffer(r->body.n, r->body.p,
	                                                        MHD_RESPMEM_MUST_FREE);
	if (!m) {
		buf_free(&r->body);
		return MHD_NO;
	}
	h->lib.MHD_add_response_header(m, "Content-Security-Policy",
	                               r->policy ? r->policy : "default-src 'none'");
	if (r->gzip)
		h->lib.MHD_add_response_header(m, MHD_HTTP_HEADER_CONTENT_ENCODING, "gzip");
	h->lib.MHD_add_response_header(m, MHD_HTTP_HEADER_CONTENT_TYPE, r->type);
	h->lib.MHD_add_response_header(m, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	h->lib.MHD_add_response_header(m, "X-Content-Type-Options", "nosniff");
	if (r->status == MHD_HTTP_UNAUTHORIZED)
		h->lib.MHD_add_response_header(m, MHD_HTTP_HEADER_WWW_AUTHENTICATE,
		                               "Basic realm=\"memtap\"");
	ok = h->lib.MHD_queue_response(c, r->status, m);
	h->lib.MHD_destroy_response(m);
	return ok;
}

static bool is_verified(struct http *h, struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *info = h->lib.MHD_get_connection_info(
		c, MHD_CONNECTION_INFO_GNUTLS_SESSION);
	unsigned int wrong = 1;

	return info && h->verify(info->tls_session, &wrong) == GNUTLS_E_SUCCESS && !wrong;
}

/* False: the reply says why not. */
static bool is_allowed(struct http *h, struct MHD_Connection *c, struct http_reply *r)
{
	enum guard_says says = GUARD_PASS;

	if (h->verify && !is_verified(h, c)) {
		r->status = MHD_HTTP_FORBIDDEN;
		buf_puts(&r->body, "a certificate is wanted\n");
		return false;
	}
	if (h->guard)
		says = guard_ask(h->guard,
		                 h->lib.MHD_lookup_connection_value(c, MHD_HEADER_KIND,
		                                                    MHD_HTTP_HEADER_AUTHORIZATION));
	if (says == GUARD_WHO) {
		r->status = MHD_HTTP_UNAUTHORIZED;
		buf_puts(&r->body, "Unauthorized\n");
	} else if (says == GUARD_LATER) {
		r->status = MHD_HTTP_TOO_MANY_REQUESTS;
		buf_puts(&r->body, "too many wrong passwords\n");
	}
	return says == GUARD_PASS;
}

static struct client *client_of(struct http *h, struct MHD_Connection *c)
{
	for (u32 i = 0; i < CONNECTIONS; i++)
		if (h->clients[i].c == c)
			return &h->clients[i];
	return NULL;
}

/* An answer that came later. */
static enum MHD_Result reply_late(struct http *h, struct client *one)
{
	struct http_reply r = one->answer;

	one->answer = (struct http_reply){ 0 };
	one->later = 0;
	one->has_answer = false;
	one->since = clock_ms();
	return r.status ? reply(h, one->c, &r) : MHD_NO;
}

static enum MHD_Result wait_for(struct http *h, struct MHD_Connection *c, struct http_reply *r,
                                u64 later)
{
	struct client *one = client_of(h, c);

	buf_free(&r->body);
	if (!one)
		return MHD_NO;
	one->later = later;
	h->lib.MHD_suspend_connection(c);
	return MHD_YES;
}

/* Called for the headers first, and when all was read: then it is answered; once more when its
 * answer came later. */
static enum MHD_Result on_request(void *ctx, struct MHD_Connection *c, const char *path,
                                  const char *method, const char *version, const char *body,
                                  size_t *body_bytes, void **seen)
{
	struct http *h = ctx;
	struct http_reply r = { .status = MHD_HTTP_OK, .type = "text/plain; charset=utf-8" };
	struct client *one = client_of(h, c);
	const char *accept;
	u64 later = 0;

	(void)version;
	(void)body;
	if (*body_bytes)
		return MHD_NO;
	if (!*seen) {
		*seen = h;
		return MHD_YES;
	}
	if (one && one->later)
		return one->has_answer ? reply_late(h, one) : MHD_YES;
	if (!is_allowed(h, c, &r))
		return reply(h, c, &r);
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0) {
		r.status = MHD_HTTP_METHOD_NOT_ALLOWED;
		buf_puts(&r.body, "only GET and HEAD\n");
		return reply(h, c, &r);
	}
	accept = h->lib.MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
	h->fn(h->ctx,
	      &(struct http_ask){ path, accept ? accept : "", &(struct call){ h, c, &later } }, &r);
	if (later)
		return wait_for(h, c, &r, later);
	if (r.goes_on && *method == 'H')
		r.goes_on = false;
	return reply(h, c, &r);
}

const char *http_argument(const struct http_ask *ask, const char *name)
{
	const struct call *call = ask->call;
	const char *value = call->h->lib.MHD_lookup_connection_value(call->c, MHD_GET_ARGUMENT_KIND,
	                                                             name);

	return value ? value : "";
}

bool http_takes_gzip(const struct http_ask *ask)
{
	const struct call *call = ask->call;
	const char *header = call->h->lib.MHD_lookup_connection_value(
		call->c, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT_ENCODING);

	return header && accept_quality(header, "gzip") > 0;
}

void http_tell(struct http *h, struct str text)
{
	streams_tell(&h->streams, text);
	h->resumed = true;
}

u32 http_listeners(const struct http *h)
{
	return h->streams.n;
}

/* ---- answers that come later ---- */

u64 http_later(const struct http_ask *ask)
{
	const struct call *call = ask->call;

	*call->later = ++call->h->number;
	return *call->later;
}

static struct client *who_waits(const struct http *h, u64 number)
{
	for (u32 i = 0; i < CONNECTIONS; i++)
		if (h->clients[i].c && h->clients[i].later == number)
			return base_plain(&h->clients[i]);
	return NULL;
}

/* The library does not look at a connection meanwhile. */
bool http_waits(const struct http *h, u64 number)
{
	const struct client *one = who_waits(h, number);
	const union MHD_ConnectionInfo *info = one ? h->lib.MHD_get_connection_info(
							     one->c,
							     MHD_CONNECTION_INFO_CONNECTION_FD)
	                                           : NULL;
	struct pollfd p = { info ? info->connect_fd : -1, POLLRDHUP, 0 };

	return info && poll(&p, 1, 0) == 0;
}

void http_answer(struct http *h, u64 number, const struct http_reply *r)
{
	struct client *one = who_waits(h, number);
	struct buf body = r ? r->body : (struct buf){ 0 };

	if (!one || one->has_answer) {
		buf_free(&body);
		return;
	}
	one->has_answer = true;
	one->answer = r ? *r : (struct http_reply){ 0 };
	h->lib.MHD_resume_connection(one->c);
	h->resumed = true;
}

static void end_waiting(struct http *h)
{
	for (u32 i = 0; i < CONNECTIONS; i++)
		if (h->clients[i].c && h->clients[i].later)
			http_answer(h, h->clients[i].later, NULL);
}

/* ---- connections ---- */

static struct str bytes_of(const struct sockaddr *a)
{
	if (a->sa_family == AF_INET6)
		return (struct str){
			(const char *)&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr, 16
		};
	return (struct str){ (const char *)&((const struct sockaddr_in *)(const void *)a)->sin_addr,
		             4 };
}

/* The library has such a limit of its own, of which it tells nobody. */
static enum MHD_Result on_address(void *ctx, const struct sockaddr *a, socklen_t n)
{
	struct http *h = ctx;
	u32 has = 0;

	(void)n;
	for (u32 i = 0; i < CONNECTIONS; i++) {
		const union MHD_ConnectionInfo *info =
			h->clients[i].c
				? h->lib.MHD_get_connection_info(h->clients[i].c,
		                                                 MHD_CONNECTION_INFO_CLIENT_ADDRESS)
				: NULL;

		has += info && str_eq(bytes_of(info->client_addr), bytes_of(a));
	}
	h->refused += has >= OF_AN_ADDRESS;
	return has < OF_AN_ADDRESS ? MHD_YES : MHD_NO;
}

u64 http_refused(const struct http *h)
{
	return h->refused;
}

/* ---- slow clients ---- */

static void on_connection(void *ctx, struct MHD_Connection *c, void **own,
                          enum MHD_ConnectionNotificationCode what)
{
	bool begins = what == MHD_CONNECTION_NOTIFY_STARTED;
	struct client *place = client_of(ctx, begins ? NULL : c);

	(void)own;
	if (!place)
		return;
	buf_free(&place->answer.body);
	*place = (struct client){ .c = begins ? c : NULL, .since = clock_ms() };
}

static void on_answered(void *ctx, struct MHD_Connection *c, void **seen,
                        enum MHD_RequestTerminationCode how)
{
	struct client *one = client_of(ctx, c);

	(void)seen;
	(void)how;
	if (one)
		one->since = clock_ms();
}

/* The library itself ends those that are silent. */
static void drop_slow(struct http *h)
{
	u64 now = clock_ms();

	for (u32 i = 0; i < CONNECTIONS; i++) {
		struct client *one = &h->clients[i];
		const union MHD_ConnectionInfo *info;

		if (!one->c || one->later || now - one->since < REQUEST_MS ||
		    streams_has(&h->streams, one->c))
			continue;
		one->since = now;
		info = h->lib.MHD_get_connection_info(one->c, MHD_CONNECTION_INFO_CONNECTION_FD);
		if (info)
			shutdown(info->connect_fd, SHUT_RDWR);
	}
}

/* ---- */

#define OPTIONS 12

static void add(struct MHD_OptionItem *all, u32 *n, enum MHD_OPTION option, intptr_t number,
                const void *p)
{
	all[(*n)++] = (struct MHD_OptionItem){ option, number, base_plain(p) };
}

static void add_tls(struct MHD_OptionItem *all, u32 *n, const struct guard *g)
{
	add(all, n, MHD_OPTION_HTTPS_MEM_CERT, 0, g->cert);
	add(all, n, MHD_OPTION_HTTPS_MEM_KEY, 0, g->key);
	if (g->client_ca)
		add(all, n, MHD_OPTION_HTTPS_MEM_TRUST, 0, g->client_ca);
	add(all, n, MHD_OPTION_HTTPS_PRIORITIES, 0,
	    g->tls13 ? "NORMAL:-VERS-ALL:+VERS-TLS1.3"
	             : "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2");
}

static bool begin(struct http *h, struct err *e)
{
	const struct guard *g = h->guard;
	bool tls = g && g->cert;
	struct MHD_OptionItem all[OPTIONS];
	u32 n = 0;

	add(all, &n, MHD_OPTION_LISTEN_SOCKET, h->listening, NULL);
	add(all, &n, MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS, NULL);
	add(all, &n, MHD_OPTION_CONNECTION_MEMORY_LIMIT, REQUEST_BYTES, NULL);
	add(all, &n, MHD_OPTION_CONNECTION_TIMEOUT, SILENT_SECONDS, NULL);
	add(all, &n, MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)on_connection, h);
	add(all, &n, MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)on_answered, h);
	if (tls)
		add_tls(all, &n, g);
	add(all, &n, MHD_OPTION_END, 0, NULL);
	h->daemon = h->lib.MHD_start_daemon(
		MHD_USE_EPOLL | MHD_USE_ITC | MHD_ALLOW_SUSPEND_RESUME | (tls ? MHD_USE_TLS : 0), 0,
		on_address, h, on_request, h, MHD_OPTION_ARRAY, all, MHD_OPTION_END);
	return h->daemon || err_set(e, "libmicrohttpd can not start on %s%s", h->address,
	                            tls ? ": is the key that of the certificate?" : "");
}

static bool load_verify(struct http *h, struct err *e)
{
	void *so;

	if (!h->guard || !h->guard->client_must)
		return true;
	so = host_library("libgnutls.so.30");
	if (so)
		h->verify = (__typeof__(h->verify))host_symbol(so,
		                                               "gnutls_certificate_verify_peers2");
	return h->verify || err_set(e, "certificates of clients need libgnutls (libgnutls.so.30)");
}

struct http *http_open(const char *address, int fd, struct guard *guard, http_fn *fn, void *ctx,
                       struct err *e)
{
	struct http *h = calloc(1, sizeof(*h));

	if (!h)
		base_no_memory();
	h->listening = -1;
	h->guard = guard;
	h->fn = fn;
	h->ctx = ctx;
	h->number = clock_ns(CLOCK_MONOTONIC); /* another one's numbers are not ours */
	if (guard && guard->cert && host_is_static())
		err_set(e, "this memtap, one file, has no TLS in it; the one of the package has");
	else if (load(h, e) && load_verify(h, e) && listen_on(h, address, fd, e) && begin(h, e))
		return h;
	http_close(h);
	return NULL;
}

void http_close(struct http *h)
{
	if (h->daemon) {
		streams_end(&h->streams);
		end_waiting(h);
		h->lib.MHD_run(h->daemon);
		h->lib.MHD_stop_daemon(h->daemon); /* closes the socket */
	} else if (h->listening >= 0) {
		close(h->listening);
	}
	free(h);
}

void http_guard(struct http *h, struct guard *guard)
{
	h->guard = guard;
}

int http_copy(const struct http *h)
{
	return fcntl(h->listening, F_DUPFD_CLOEXEC, 0);
}

const char *http_address(const struct http *h)
{
	return h->address;
}

int http_fd(const struct http *h)
{
	return h->lib.MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
}

int http_wait(const struct http *h)
{
	MHD_UNSIGNED_LONG_LONG ms;

	if (h->resumed)
		return 0;
	if (h->lib.MHD_get_timeout(h->daemon, &ms) != MHD_YES)
		return -1;
	return ms < 10000 ? (int)ms : 10000; /* with a connection there is a timeout */
}

void http_run(struct http *h)
{
	drop_slow(h);
	h->resumed = false;
	h->lib.MHD_run(h->daemon);
}
