/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The subcommands: each takes its own argv (argv[0] is skipped) and returns the exit code.
 */
#ifndef CMD_CMD_H
#define CMD_CMD_H

#define MEMTAP_VERSION "0.1"

/* Runs, lists or dumps a script. */
int cmd_run(int argc, char **argv);
/* Compiles scripts and reports their errors. */
int cmd_check(int argc, char **argv);
/* Says what functions and variables scripts have. */
int cmd_help(int argc, char **argv);
/* Lists the tools, prints their scripts and manual pages. */
int cmd_tools(int argc, char **argv);
/* Which tools run on this machine, from which events, and what the others lack. */
int cmd_doctor(int argc, char **argv);
/* Shows, searches, dumps and compares the kernel's types. */
int cmd_btf(int argc, char **argv);
/* Shows what /proc says about memory, and which tool to run next. */
int cmd_memstat(int argc, char **argv);
/* Runs scripts all the time and hands their maps to Prometheus. */
int cmd_serve(int argc, char **argv);
/* Says how large a cache should be. */
int cmd_cachesize(int argc, char **argv);

#endif
