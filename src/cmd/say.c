/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The only place that writes to stderr. Messages are built whole and written in one go, so that
 * they do not mix with those of the traced program.
 */
#include "cmd/say.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/file.h"
#include "ui/term.h"

static bool output_failed; /* said once, and nothing is written any more */

static bool use_color(void)
{
	const char *mode = getenv("MEMTAP_COLOR");

	if (!mode)
		mode = getenv("BPFTRACE_COLOR");
	if (mode && strcmp(mode, "always") == 0)
		return true;
	if (mode && strcmp(mode, "never") == 0)
		return false;
	return isatty(STDERR_FILENO) == 1 && !term_no_color() && !term_is_dumb();
}

/* One that is interrupted is given up: nobody reads it, and memtap is to end (world/stop.h). */
static bool write_out(int fd, const struct buf *b)
{
	size_t done = 0;
	ssize_t n;

	for (; done < b->n; done += (size_t)n) {
		n = write(fd, b->p + done, b->n - done);
		if (n <= 0)
			return false;
	}
	return true;
}

/* Who reads no messages goes without. */
static void put(struct buf *b)
{
	(void)write_out(STDERR_FILENO, b);
	buf_free(b);
}

static void labelled(struct buf *b, const char *color, const char *label, const char *text)
{
	if (use_color())
		buf_printf(b, "\033[%sm%s\033[0m: %s\n", color, label, text);
	else
		buf_printf(b, "%s: %s\n", label, text);
}

void say_error(const struct err *e)
{
	struct buf b = { 0 };

	labelled(&b, "31", "ERROR", e->text);
	if (e->hint[0])
		labelled(&b, "36", "HINT", e->hint);
	put(&b);
}

void say_warning(const char *text)
{
	struct buf b = { 0 }, shown = { 0 };

	escape_add(&shown, str_of(text), ESCAPE_TEXT);
	labelled(&b, "33", "WARNING", buf_text(&shown));
	buf_free(&shown);
	put(&b);
}

void say_note(const char *text)
{
	struct buf b = { 0 };
	size_t n = strlen(text);

	escape_add(&b, str_of(text), ESCAPE_TEXT);
	if (n && text[n - 1] != '\n')
		buf_putc(&b, '\n');
	put(&b);
}

void say_diags(const struct diags *d, bool warnings)
{
	struct diags shown = *d;
	struct buf b = { 0 };

	memset(&shown.list, 0, sizeof(shown.list));
	for (u32 i = 0; i < d->list.n; i++)
		if (warnings || d->list.v[i].level == DIAG_ERROR)
			vec_add(d->arena, &shown.list, d->list.v[i]);
	diag_print(&b, &shown, use_color());
	put(&b);
}

void say_at(const struct source *s, enum diag_level level, struct loc loc, const char *text,
            const char *hint)
{
	struct arena arena = { 0 };
	struct diags d = { .arena = &arena, .source = s };

	vec_add(&arena, &d.list,
	        ((struct diag){ .level = level, .loc = loc, .text = text, .hint = hint }));
	say_diags(&d, true);
	arena_free(&arena);
}

void say_failure(const struct source *s, const struct err *e)
{
	if (e->placed)
		say_at(s, DIAG_ERROR, (struct loc){ e->off, e->len }, e->text,
		       e->hint[0] ? e->hint : NULL);
	else
		say_error(e);
}

static void say_lost(int code)
{
	struct err e = { 0 };

	err_sys(&e, code, "can not write the output");
	say_error(&e);
}

static bool put_output(const struct buf *b)
{
	if (output_failed)
		return false;
	if (write_out(STDOUT_FILENO, b))
		return true;
	output_failed = true;
	say_lost(errno);
	return false;
}

bool say_screen(const char *clear, const struct buf *text)
{
	struct buf shown = { 0 };
	bool ok;

	buf_puts(&shown, clear);
	escape_add(&shown, (struct str){ buf_text(text), (u32)text->n },
	           isatty(STDOUT_FILENO) == 1 ? ESCAPE_TEXT : ESCAPE_NONE);
	ok = put_output(&shown);
	buf_free(&shown);
	return ok;
}

bool say_output(const struct buf *b)
{
	return isatty(STDOUT_FILENO) == 1 ? say_screen("", b) : put_output(b);
}

int say_usage(const char *head, const struct opt *rows, u32 n, const char *tail)
{
	struct buf b = { 0 };

	buf_puts(&b, head);
	opt_usage(&b, rows, n);
	if (tail)
		buf_puts(&b, tail);
	say_output(&b);
	buf_free(&b);
	return 0;
}

/* open() takes the lowest number. Neither can be used: reading and writing fail as before. */
void say_begin(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			return;
}

/* What no session has said. */
static void say_lacks(void)
{
	for (u32 i = 0; i < FILE_LACKS; i++) {
		const char *text;
		char line[256];
		u32 times;

		text = file_lacked(i, &times);
		if (!text)
			continue;
		snprintf(line, sizeof(line), "%u %s", times, text);
		say_warning(line);
	}
}

/* Some file systems say only now that there is no room. */
int say_end(int code)
{
	say_lacks();
	if (output_failed)
		return 1;
	if (close(STDOUT_FILENO) == 0)
		return code;
	say_lost(errno);
	return 1;
}
