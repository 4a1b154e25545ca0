/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the kernel's verifier says about a program, in words of the script. Its log lists
 * the instructions it walked ("12: (79) r1 = *(u64 *)(r6 +8)"), then one line with the reason,
 * then "processed N insns ...". The last instruction listed is the one it stopped at; the
 * compiler kept the source position of every instruction, so that gives the line.
 * Common reasons get a sentence from the table; others are quoted as they are.
 */
#include "kern/kern.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/caps.h"

#define N_TOO_LARGE 3u /* the first ones say that a program is more than the verifier walks */

static const struct {
	const char *reason; /* part of the verifier's line */
	const char *text, *hint;
} known[] = {
	{ "program is too large", "the script is too big for the kernel's verifier",
	  "split it into more probes, or lower the counts of unroll and while loops" },
	{ "too many states", "the script has too many branches for the kernel's verifier",
	  "split it into more probes" },
	{ "jumps is too complex", "the script has too many branches for the kernel's verifier",
	  "split it into more probes" },
	{ "bpf_override_return", "this kernel lets no function be overridden",
	  "it has to be built with CONFIG_BPF_KPROBE_OVERRIDE" },
	{ "back-edge", "a loop has no end that the kernel's verifier can see",
	  "use unroll(n), or a while loop with a constant bound" },
	{ "infinite loop", "a loop has no end that the kernel's verifier can see",
	  "use unroll(n), or a while loop with a constant bound" },
	{ "invalid bpf_context access", "this probe has no such argument on this kernel",
	  "memtap -lv shows a probe's arguments" },
	{ "invalid mem access", "an address is used in a way the kernel's verifier does not accept",
	  NULL },
	{ "invalid func unknown", "this kernel does not have a function that the script needs",
	  "docs/kernels.md says what came with which Linux" },
	{ "unknown func", "this kernel does not have a function that the script needs", NULL },
	{ "cannot use helper", "a function of the script is not allowed in this kind of probe",
	  NULL },
	{ "program of this type", "a function of the script is not allowed in this kind of probe",
	  NULL },
	{ "stack size", "the script needs more stack than the kernel allows (512 bytes)", NULL },
	{ "is not allowed", "this kernel does not allow what the script does here", NULL },
	{ "recursively attach", "this kernel traces no tracing programs (fentry, fexit, iter)",
	  NULL },
	{ "only JITed", "the BPF program to trace is interpreted, not compiled to machine code",
	  "sysctl net.core.bpf_jit_enable=1, and load it anew" },
	{ "missing btf", "this kernel has no type information (CONFIG_DEBUG_INFO_BTF)", NULL },
	{ "not found in kernel", "this kernel does not have what the probe needs", NULL },
};

/* The reason is the last line that is neither an instruction nor the closing statistics. */
struct complaint {
	s64 insn; /* -1 unknown */
	char reason[256];
};

/* "12: (79) ..." or "12: R1=..." */
static bool reads_insn(const char *line, s64 *insn)
{
	char *end;
	long n;

	if (!isdigit((unsigned char)*line))
		return false;
	n = strtol(line, &end, 10);
	if (*end != ':')
		return false;
	*insn = n;
	return true;
}

static bool is_noise(const char *line, size_t n)
{
	static const char *const starts[] = {
		"processed ", "verification time", "stack depth", "from ",        "; ",      "R0",
		"frame",      "last_idx",          "regs=",       "mark_precise", "parent ", "arg#",
		"func#",      "cur state",         "old state"
	};

	if (n == 0)
		return true;
	for (u32 i = 0; i < ARRAY_SIZE(starts); i++)
		if (strncmp(line, starts[i], strlen(starts[i])) == 0 &&
		    !memmem(line, n, "!read_ok", strlen("!read_ok")))
			return true;
	return false;
}

static void read_complaint(const char *log, struct complaint *c)
{
	*c = (struct complaint){ .insn = -1 };
	while (*log) {
		size_t n = strcspn(log, "\n");

		if (!reads_insn(log, &c->insn) && !is_noise(log, n)) {
			size_t kept = MIN(n, sizeof(c->reason) - 1);

			memcpy(c->reason, log, kept);
			c->reason[kept] = 0;
		}
		log += n + (log[n] == '\n');
	}
}

/* The word at an offset of the source, at least one byte: instructions know where they start. */
static u32 word_length(const char *text)
{
	u32 n = 0;

	while (isalnum((unsigned char)text[n]) || (text[n] && strchr("_@$", text[n])))
		n++;
	return MAX(n, 1u);
}

static void say(struct err *e, const struct unit *u, const struct uprog *p,
                const struct complaint *c, const char *text)
{
	int code = e->code;
	u32 off = p->loc.off, len = p->loc.len;

	if (c->insn >= 0 && (u64)c->insn < p->n_insns && p->locs) {
		off = MIN(p->locs[c->insn], u->source_n);
		len = word_length(u->source + off);
	}
	if (c->reason[0])
		err_set(e, "the kernel refused the program for %s: %s (\"%s\")", p->name, text,
		        c->reason);
	else
		err_sys(e, code, "the kernel refused the program for %s", p->name);
	err_at(e, off, len);
	e->code = code;
}

bool verifier_walked_all(const char *reasons)
{
	for (u32 i = 0; i < N_TOO_LARGE; i++)
		if (strstr(reasons, known[i].reason))
			return true;
	return false;
}

void verifier_explain(const struct unit *u, const struct uprog *p, const char *log, struct err *e)
{
	struct complaint c;

	read_complaint(log, &c);
	if (strstr(c.reason, "bpf_override_return")) /* which kernels word in several ways */
		snprintf(c.reason, sizeof(c.reason), "bpf_override_return");
	for (u32 i = 0; i < ARRAY_SIZE(known); i++) {
		if (!strstr(c.reason, known[i].reason))
			continue;
		say(e, u, p, &c, known[i].text);
		if (known[i].hint)
			err_hint(e, "%s", known[i].hint);
		else if (strstr(c.reason, "probe_write_user") && caps_missing(CAPS_ADMIN))
			err_hint(e, "write_user() takes CAP_SYS_ADMIN, which is missing");
		return;
	}
	say(e, u, p, &c, "the verifier says");
	err_hint(e, "-v shows the verifier's whole log");
}
