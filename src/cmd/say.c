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

#include "base/file.h"
#include "ui/term.h"

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

static void put(struct buf *b)
{
	fflush(stdout);
	fwrite(buf_text(b), 1, b->n, stderr);
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
	struct buf b = { 0 };

	labelled(&b, "33", "WARNING", text);
	put(&b);
}

void say_note(const char *text)
{
	struct buf b = { 0 };
	size_t n = strlen(text);

	buf_puts(&b, text);
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

	if (level == DIAG_ERROR)
		diag_error(&d, loc, "%s", text);
	else
		diag_warn(&d, loc, "%s", text);
	if (hint)
		diag_hint(&d, "%s", hint);
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

bool say_output(const struct buf *b)
{
	if (ferror(stdout))
		return false;
	if (fwrite(buf_text(b), 1, b->n, stdout) == b->n && fflush(stdout) == 0)
		return true;
	say_lost(errno);
	return false;
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

/* What was read instead are zeros. */
static void say_holes(void)
{
	char text[160];

	if (!file_holes())
		return;
	snprintf(text, sizeof(text),
	         "a program, library or debug file was cut short while it was read (%u pages): "
	         "names "
	         "from it may be missing",
	         file_holes());
	say_warning(text);
}

/* Some file systems say only now that there is no room. */
int say_end(int code)
{
	say_holes();
	if (ferror(stdout))
		return 1;
	if (close(STDOUT_FILENO) == 0)
		return code;
	say_lost(errno);
	return 1;
}
