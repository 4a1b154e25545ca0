/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * base/host.h for the one file without any shared library: what would be loaded is linked in, and a
 * table of names finds it. Nothing of the machine's C library is loaded either, which may be of
 * another version: users are those of /etc/passwd, text is UTF-8 or plain.
 */
#include "base/host.h"

#include <crypt.h>
#include <lzma.h>
#include <microhttpd.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>
#define NCURSES_NOMACROS
#include <ncurses.h>

#include "elf/dwarf_lib.h"
#include "web/http_lib.h"
#if defined(__x86_64__)
#include <Zydis/Zydis.h>
#endif

/* Of <term.h>, which takes words as `lines` and `columns` for itself. */
int setupterm(const char *kind, int fd, int *error);
void *set_curterm(void *terminal);
int del_curterm(void *terminal);

struct symbol {
	const char *name;
	void *address;
};

#define X(name) { #name, (void *)(name) },
static const struct symbol libdw[] = { DWARF_LIB(X){ 0 } };

static const struct symbol liblzma[] = {
	X(lzma_stream_decoder) X(lzma_code) X(lzma_end){ 0 },
};

static const struct symbol libncursesw[] = {
	X(newterm) X(delscreen) X(endwin) X(cbreak) X(noecho) X(nonl) X(keypad) X(nodelay)
		X(curs_set) X(has_colors) X(start_color) X(use_default_colors) X(init_pair)
			X(wattr_set) X(wmove) X(waddnstr) X(werase) X(wrefresh) X(wgetch) X(getmaxx)
				X(getmaxy) X(set_escdelay) X(tigetstr) X(setupterm) X(set_curterm)
					X(del_curterm){ "stdscr", &stdscr },
	{ 0 },
};

static const struct symbol libyaml[] = {
	X(yaml_parser_initialize) X(yaml_parser_delete) X(yaml_parser_set_input_string)
		X(yaml_parser_load) X(yaml_document_delete) X(yaml_document_get_node){ 0 },
};

static const struct symbol libmicrohttpd[] = { HTTP_LIB(X){ 0 } };

static const struct symbol libcrypt[] = { X(crypt_rn){ 0 } };

#if defined(__x86_64__)
static const struct symbol libzydis[] = {
	X(ZydisDecoderInit) X(ZydisDecoderDecodeInstruction) X(ZydisDecoderDecodeOperands)
		X(ZydisRegisterGetLargestEnclosing){ 0 },
};
#endif
#undef X

static const struct {
	const char *file; /* without version */
	const struct symbol *symbols;
} libraries[] = {
	{ "libdw.so.", libdw },
	{ "liblzma.so.", liblzma },
	{ "libncursesw.so.", libncursesw },
	{ "libyaml-0.so.", libyaml },
	{ "libmicrohttpd.so.", libmicrohttpd },
	{ "libcrypt.so.", libcrypt },
#if defined(__x86_64__)
	{ "libZydis.so.", libzydis },
#endif
};

static const struct {
	const char *name, *description;
} terminals[] = {
#include "terminals.inc"
};

void *host_library(const char *name)
{
	for (u32 i = 0; i < ARRAY_SIZE(libraries); i++)
		if (strncmp(name, libraries[i].file, strlen(libraries[i].file)) == 0)
			return (void *)(uintptr_t)libraries[i].symbols;
	return NULL;
}

void *host_symbol(void *library, const char *symbol)
{
	for (const struct symbol *s = library; s->name; s++)
		if (strcmp(s->name, symbol) == 0)
			return s->address;
	return NULL;
}

void host_release(void *library)
{
	(void)library;
}

bool host_is_static(void)
{
	return true;
}

bool host_user(struct buf *b, u32 uid)
{
	struct passwd entry, *found = NULL;
	FILE *f = fopen("/etc/passwd", "re");
	char text[4096];
	bool known = false;

	while (f && !known && fgetpwent_r(f, &entry, text, sizeof(text), &found) == 0)
		known = entry.pw_uid == uid;
	if (known)
		buf_puts(b, entry.pw_name);
	if (f)
		fclose(f);
	return known;
}

/* Any other encoding would make the C library load the machine's converters. */
const char *host_locale(void)
{
	static const char *const variables[] = { "LC_ALL", "LC_CTYPE", "LANG" };
	const char *name = NULL;

	for (u32 i = 0; i < ARRAY_SIZE(variables) && (!name || !*name); i++)
		name = getenv(variables[i]);
	return name && (strcasestr(name, "utf-8") || strcasestr(name, "utf8")) ? "" : "C";
}

const char *host_terminal(const char *kind)
{
	for (u32 i = 0; kind && i < ARRAY_SIZE(terminals); i++)
		if (strcmp(kind, terminals[i].name) == 0)
			return terminals[i].description;
	return NULL;
}
