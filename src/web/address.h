/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Addresses to listen on, as text: numbers only, so that nothing is asked of the network or of the
 * C library's services, which the one file without shared libraries has not.
 */
#ifndef WEB_ADDRESS_H
#define WEB_ADDRESS_H

#include <sys/socket.h>

#include "base/err.h"

/* "[ffff:...:255.255.255.255%interface]:65535" */
#define ADDRESS_TEXT 80

/*
 * "ADDRESS:PORT" or "PORT", which is 127.0.0.1's; ":PORT" is every address; an IPv6 address is in
 * brackets, with "%INTERFACE" where one is needed. Returns the bytes of *a in use; 0 and *e.
 */
socklen_t address_parse(const char *text, struct sockaddr_storage *a, struct err *e);
/* What the socket listens on; "" when that can not be told. */
void address_name(int fd, char text[ADDRESS_TEXT]);

#endif
