/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ncurses behind struct term. The library is loaded when the first screen is opened: nothing else
 * needs it.
 *
 * A process that dies by a signal can not ask ncurses to clean up, which is not made for signal
 * handlers. What it takes is kept ready: the settings of the terminal as they were, and the bytes
 * that leave the alternate screen and show the cursor again. tcsetattr() and write() are safe
 * there.
 */
#include "ui/term.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#define NCURSES_NOMACROS
#include <ncurses.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <termios.h>
#include <unistd.h>

#include "base/host.h"

#define ESCAPE_MS 25 /* a byte 27 followed by nothing for so long is the key */

/* Of <term.h>, which takes words as `lines` and `columns` for itself. */
int setupterm(const char *kind, int fd, int *error);
void *set_curterm(void *terminal);
int del_curterm(void *terminal);

/* What is used of ncurses, by the names it has there. */
#define NCURSES(f)                                                                                 \
	f(newterm) f(delscreen) f(endwin) f(cbreak) f(noecho) f(nonl) f(keypad) f(nodelay)         \
		f(curs_set) f(has_colors) f(start_color) f(use_default_colors) f(init_pair)        \
			f(wattr_set) f(wmove) f(waddnstr) f(werase) f(wrefresh) f(wgetch)          \
				f(getmaxx) f(getmaxy) f(set_escdelay) f(tigetstr) f(setupterm)     \
					f(set_curterm) f(del_curterm)

#define MEMBER(name) __typeof__(name) *name;
struct curses {
	NCURSES(MEMBER)
};

static struct {
	struct curses lib;
	WINDOW **standard; /* its variable stdscr */
	SCREEN *screen;
	WINDOW *window;
	attr_t attrs[TERM_STYLES];
	short pairs[TERM_STYLES];
	int messages;   /* standard error as it was; 0, -1: it still is */
	char clear[32]; /* what term_clear() gave last */
	/* For signal handlers. */
	struct termios before;
	char leave[128];
	volatile sig_atomic_t taken;
} the;

/* ---- dying ---- */

static const int deadly[] = { SIGHUP, SIGINT, SIGQUIT, SIGILL, SIGABRT,
	                      SIGBUS, SIGFPE, SIGSEGV, SIGTERM };
static struct sigaction old_actions[ARRAY_SIZE(deadly)];

static void give_back_now(void)
{
	ssize_t n;

	if (!the.taken)
		return;
	the.taken = 0;
	n = write(STDOUT_FILENO, the.leave, strlen(the.leave));
	(void)n;
	tcsetattr(STDIN_FILENO, TCSANOW, &the.before);
}

static void release_messages(void);

/* Then as it would have been: the default action, which ends us. */
static void on_deadly(int number)
{
	give_back_now();
	release_messages();
	signal(number, SIG_DFL);
	raise(number);
}

/* What is ignored or handled by others stays so. */
static void catch_signals(void)
{
	struct sigaction action = { .sa_handler = on_deadly };

	sigfillset(&action.sa_mask);
	for (u32 i = 0; i < ARRAY_SIZE(deadly); i++)
		if (sigaction(deadly[i], NULL, &old_actions[i]) == 0 &&
		    old_actions[i].sa_handler == SIG_DFL)
			sigaction(deadly[i], &action, NULL);
}

static void release_signals(void)
{
	for (u32 i = 0; i < ARRAY_SIZE(deadly); i++)
		if (old_actions[i].sa_handler == SIG_DFL)
			sigaction(deadly[i], &old_actions[i], NULL);
}

/* ---- messages ---- */

/* What is said on standard error would be written over the screen: it is kept until it is
 * closed. */
static void hold_messages(void)
{
	int held = isatty(STDERR_FILENO) ? memfd_create("messages", MFD_CLOEXEC) : -1;

	the.messages = held >= 0 ? fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3) : -1;
	if (the.messages >= 0)
		dup2(held, STDERR_FILENO);
	if (held >= 0)
		close(held);
}

static void release_messages(void)
{
	char text[4096];
	off_t at = 0;
	ssize_t n;

	if (the.messages <= 0)
		return;
	while ((n = pread(STDERR_FILENO, text, sizeof(text), at)) > 0) {
		at += n;
		n = write(the.messages, text, (size_t)n);
		if (n < 0)
			break;
	}
	dup2(the.messages, STDERR_FILENO);
	close(the.messages);
	the.messages = -1;
}

/* ---- opening ---- */

static bool load(struct err *e)
{
	void *so = host_library("libncursesw.so.6");
	bool ok = so != NULL;

#define FIND(name) ok = ok && (the.lib.name = (__typeof__(name) *)host_symbol(so, #name));
	NCURSES(FIND)
	the.standard = ok ? (WINDOW **)host_symbol(so, "stdscr") : NULL;
	if (the.standard)
		return true;
	err_set(e, "the screen needs ncurses, which is not installed (libncursesw.so.6)");
	return err_hint(e, "its package is libncursesw6 on Debian; -C prints lines instead");
}

/* What the terminal's description has under that name, NULL nothing; none is known before
 * setupterm(). */
static const char *capability(const char *name)
{
	char copy[16];
	const char *text;

	snprintf(copy, sizeof(copy), "%s", name);
	text = the.lib.tigetstr(copy);
	return text && text != (const char *)-1 ? text : NULL;
}

/* Reads the terminal's description: the machine's, or that which memtap brings along. */
static bool describe(void)
{
	const char *text;
	int code;

	if (the.lib.setupterm(NULL, STDOUT_FILENO, &code) == OK)
		return true;
	text = host_terminal(getenv("TERM"));
	return text && setenv("TERMINFO", text, 1) == 0 &&
	       the.lib.setupterm(NULL, STDOUT_FILENO, &code) == OK;
}

/* Looks at the terminal: why it can not have a screen, NULL when it can. forget() ends it. */
static const char *look(void)
{
	if (term_is_dumb())
		return "can not move the cursor";
	if (!describe())
		return "is not known";
	return capability("cup") ? NULL : "can not move the cursor";
}

/* newterm() looks for itself, and would not release what look() has learned. */
static void forget(void)
{
	the.lib.del_curterm(the.lib.set_curterm(NULL));
}

static void keep(const char *name, size_t *n)
{
	const char *text = capability(name);

	/* No padding ("$<5>") in what is kept: terminals that need it are gone. */
	if (text && !strstr(text, "$<"))
		*n += (size_t)snprintf(the.leave + *n, sizeof(the.leave) - *n, "%s", text);
}

static void keep_way_back(void)
{
	size_t n = 0;

	the.leave[0] = 0;
	keep("sgr0", &n);
	keep("cnorm", &n);
	keep("rmkx", &n);
	keep("rmcup", &n);
}

/* Without colours, attributes that every terminal has. */
static void choose_styles(void)
{
	static const struct {
		attr_t attr;
		short front, back;
	} styles[TERM_STYLES] = {
		[TERM_PLAIN] = { A_NORMAL, -1, -1 },
		[TERM_BOLD] = { A_BOLD, -1, -1 },
		[TERM_DIM] = { A_DIM, -1, -1 },
		[TERM_HEAD] = { A_NORMAL, COLOR_BLACK, COLOR_CYAN },
		[TERM_SORTED] = { A_BOLD, COLOR_BLACK, COLOR_YELLOW },
		[TERM_CHOSEN] = { A_REVERSE, -1, -1 },
		[TERM_NOTE] = { A_BOLD, COLOR_YELLOW, -1 },
	};
	static const attr_t plain[TERM_STYLES] = {
		[TERM_BOLD] = A_BOLD,
		[TERM_HEAD] = A_UNDERLINE,
		[TERM_SORTED] = A_UNDERLINE | A_BOLD,
		[TERM_CHOSEN] = A_REVERSE,
		[TERM_NOTE] = A_BOLD,
	};
	bool colours = !term_no_color() && the.lib.has_colors() && the.lib.start_color() == OK &&
	               the.lib.use_default_colors() == OK;

	for (u32 i = 0; i < TERM_STYLES; i++) {
		bool pair = colours && (styles[i].front >= 0 || styles[i].back >= 0) &&
		            the.lib.init_pair((short)(i + 1), styles[i].front, styles[i].back) ==
		                    OK;

		the.pairs[i] = pair ? (short)(i + 1) : 0;
		the.attrs[i] = colours ? styles[i].attr : plain[i];
	}
}

static bool take(struct err *e)
{
	const char *kind = getenv("TERM"), *why = look();

	forget();
	setlocale(LC_CTYPE, host_locale());
	the.screen = why ? NULL : the.lib.newterm(NULL, stdout, stdin);
	if (!the.screen) {
		err_set(e, "the terminal '%s' %s", kind ? kind : "", why ? why : "is not known");
		return err_hint(e, "TERM=xterm, or -C for lines instead of a screen");
	}
	the.window = *the.standard;
	keep_way_back();
	the.taken = 1;
	return true;
}

static void curses_size(void *ctx, u32 *rows, u32 *columns)
{
	int y = the.lib.getmaxy(the.window), x = the.lib.getmaxx(the.window);

	(void)ctx;
	*rows = y > 0 ? (u32)y : 1;
	*columns = x > 0 ? (u32)x : 1;
}

static void curses_clear(void *ctx)
{
	(void)ctx;
	the.lib.werase(the.window);
}

static void curses_put(void *ctx, u32 row, u32 column, enum term_style style, const char *text,
                       u32 n)
{
	(void)ctx;
	the.lib.wattr_set(the.window, the.attrs[style], the.pairs[style], NULL);
	if (the.lib.wmove(the.window, (int)row, (int)column) == OK)
		the.lib.waddnstr(the.window, text, (int)n);
	the.lib.wattr_set(the.window, A_NORMAL, 0, NULL);
}

static void curses_show(void *ctx)
{
	(void)ctx;
	the.lib.wrefresh(the.window);
}

static const struct {
	int from;
	enum term_key to;
} keys[] = {
	{ ERR, TERM_NONE },
	{ KEY_UP, TERM_UP },
	{ KEY_DOWN, TERM_DOWN },
	{ KEY_LEFT, TERM_LEFT },
	{ KEY_RIGHT, TERM_RIGHT },
	{ KEY_HOME, TERM_HOME },
	{ KEY_END, TERM_END },
	{ KEY_PPAGE, TERM_PAGE_UP },
	{ KEY_NPAGE, TERM_PAGE_DOWN },
	{ KEY_ENTER, TERM_ENTER },
	{ '\r', TERM_ENTER },
	{ '\n', TERM_ENTER },
	{ 27, TERM_ESCAPE },
	{ KEY_BACKSPACE, TERM_BACKSPACE },
	{ 127, TERM_BACKSPACE },
	{ 8, TERM_BACKSPACE },
	{ KEY_RESIZE, TERM_RESIZE },
};

static int curses_key(void *ctx)
{
	int key = the.lib.wgetch(the.window);

	(void)ctx;
	for (u32 i = 0; i < ARRAY_SIZE(keys); i++)
		if (keys[i].from == key)
			return keys[i].to;
	return key;
}

static const struct term_ops curses_ops = { curses_size, curses_clear, curses_put, curses_show,
	                                    curses_key };

bool term_open(struct term *t, struct err *e)
{
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) ||
	    tcgetattr(STDIN_FILENO, &the.before) < 0) {
		err_set(e, "standard input and output are no terminal");
		return err_hint(e, "-C prints lines instead of a screen");
	}
	if (!load(e))
		return false;
	catch_signals(); /* before ncurses, which takes those that nobody has */
	if (!take(e)) {
		release_signals();
		return false;
	}
	hold_messages();
	the.lib.cbreak();
	the.lib.noecho();
	the.lib.nonl();
	the.lib.keypad(the.window, true);
	the.lib.nodelay(the.window, true);
	the.lib.set_escdelay(ESCAPE_MS);
	the.lib.curs_set(0);
	choose_styles();
	*t = (struct term){ &curses_ops, NULL };
	return true;
}

const char *term_clear(void)
{
	const char *text = NULL;
	struct err ignored;

	if (!isatty(STDOUT_FILENO) || term_is_dumb() || !load(&ignored))
		return NULL;
	if (!look())
		text = capability("clear");
	snprintf(the.clear, sizeof(the.clear), "%s", text && !strstr(text, "$<") ? text : "");
	forget();
	return the.clear[0] ? the.clear : NULL;
}

bool term_is_dumb(void)
{
	const char *kind = getenv("TERM");

	return !kind || !*kind || strcmp(kind, "dumb") == 0;
}

bool term_no_color(void)
{
	const char *no = getenv("NO_COLOR");

	return no && *no;
}

void term_close(void)
{
	if (!the.screen)
		return;
	the.lib.endwin();
	the.taken = 0;
	release_signals();
	release_messages();
	the.lib.delscreen(the.screen);
	the.screen = NULL;
}
