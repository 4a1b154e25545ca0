// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Addresses of clients as text. */
#include "cache/client.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>

bool client_is_inet(const struct client *c)
{
	return c->family == AF_INET || c->family == AF_INET6;
}

void client_host(struct buf *b, const struct client *c)
{
	char text[INET6_ADDRSTRLEN];

	if (c->family == AF_UNIX)
		buf_printf(b, "unix:%u", c->port);
	else if (client_is_inet(c) && inet_ntop((int)c->family, c->address, text, sizeof(text)))
		buf_puts(b, text);
	else
		buf_putc(b, '?');
}

void client_print(struct buf *b, const struct client *c)
{
	bool brackets = c->family == AF_INET6;

	if (brackets)
		buf_putc(b, '[');
	client_host(b, c);
	if (brackets)
		buf_putc(b, ']');
	if (client_is_inet(c))
		buf_printf(b, ":%u", c->port);
}
