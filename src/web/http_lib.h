/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What is used of libmicrohttpd, which is loaded when it is asked for. mk/host_static.c links the
 * same functions.
 */
#ifndef WEB_HTTP_LIB_H
#define WEB_HTTP_LIB_H

/* clang-format off */
#define HTTP_LIB(F)                                                                                \
	F(MHD_start_daemon) F(MHD_stop_daemon) F(MHD_run) F(MHD_get_daemon_info)                   \
	F(MHD_get_timeout) F(MHD_lookup_connection_value) F(MHD_create_response_from_buffer)       \
	F(MHD_add_response_header) F(MHD_queue_response) F(MHD_destroy_response)                   \
	F(MHD_get_connection_info) F(MHD_create_response_from_callback)                            \
	F(MHD_suspend_connection) F(MHD_resume_connection)
/* clang-format on */

#endif
