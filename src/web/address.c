/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "web/address.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

#define HOST (INET6_ADDRSTRLEN + 1 + IF_NAMESIZE)

/* False: malformed. */
static bool cut(const char *text, char host[HOST], bool *v6, const char **port)
{
	const char *colon = strrchr(text, ':');
	const char *end = colon, *from = text;

	*v6 = *text == '[';
	*port = colon ? colon + 1 : text;
	if (!colon)
		return snprintf(host, HOST, "127.0.0.1") > 0;
	if (*v6) {
		if (colon[-1] != ']')
			return false;
		from++;
		end--;
	}
	return end >= from && snprintf(host, HOST, "%.*s", (int)(end - from), from) < HOST;
}

static bool parse_port(const char *text, in_port_t *port)
{
	unsigned long n;
	char *rest;

	if (*text < '0' || *text > '9')
		return false;
	n = strtoul(text, &rest, 10);
	*port = htons((in_port_t)n);
	return n <= 65535 && !*rest;
}

/* Of "fe80::1%eth0": to 0 when there is no such interface. */
static bool parse_v6(char *host, struct sockaddr_in6 *a)
{
	char *scope = strchr(host, '%');

	if (scope) {
		*scope++ = 0;
		a->sin6_scope_id = if_nametoindex(scope);
	}
	return inet_pton(AF_INET6, host, &a->sin6_addr) == 1 && (!scope || a->sin6_scope_id);
}

socklen_t address_parse(const char *text, struct sockaddr_storage *a, struct err *e)
{
	struct sockaddr_in *in4 = (struct sockaddr_in *)a;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)a;
	const char *port;
	char host[HOST];
	bool v6;

	*a = (struct sockaddr_storage){ 0 };
	if (cut(text, host, &v6, &port)) {
		a->ss_family = v6 ? AF_INET6 : AF_INET;
		if (v6 && parse_v6(host, in6) && parse_port(port, &in6->sin6_port))
			return sizeof(*in6);
		if (!v6 && (!*host || inet_pton(AF_INET, host, &in4->sin_addr) == 1) &&
		    parse_port(port, &in4->sin_port))
			return sizeof(*in4);
	}
	err_set(e, "'%s' is no address to listen on", text);
	err_hint(e, "127.0.0.1:9464, [::1]:9464, 0.0.0.0:9464 and 9464 are");
	return 0;
}

void address_name(int fd, char text[ADDRESS_TEXT])
{
	struct sockaddr_storage own = { 0 };
	const struct sockaddr_in *in4 = (struct sockaddr_in *)&own;
	const struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&own;
	socklen_t n = sizeof(own);
	char host[INET6_ADDRSTRLEN];

	text[0] = 0;
	if (getsockname(fd, (struct sockaddr *)&own, &n) < 0)
		return;
	if (own.ss_family == AF_INET6 && inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof(host)))
		snprintf(text, ADDRESS_TEXT, "[%s]:%u", host, ntohs(in6->sin6_port));
	else if (own.ss_family == AF_INET && inet_ntop(AF_INET, &in4->sin_addr, host, sizeof(host)))
		snprintf(text, ADDRESS_TEXT, "%s:%u", host, ntohs(in4->sin_port));
}
