/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Who may ask, and TLS: a file of the form that Prometheus' exporters share, its keys
 * tls_server_config and basic_auth_users, and bearer_tokens beside them. docs/serve.md shows it.
 */
#ifndef CMD_SERVE_WEBFILE_H
#define CMD_SERVE_WEBFILE_H

#include "cmd/serve/yamlkeys.h"
#include "web/guard.h"

/* All of it is in the arena, but for what guard_close() forgets. False: there are mistakes, or
 * *e. */
bool webfile_read(struct guard *g, struct arena *a, const char *path, err_list *mistakes,
                  struct err *e);

#endif
