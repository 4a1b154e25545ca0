/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The script of memtap cachesize, from the probes and expressions of its command line. */
#include "view/cachesize.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agg/shards.h"
#include "base/str.h"

/* Does the expression begin with a name that only a function's parameter can have? */
static bool begins_with_parameter(struct str s)
{
	static const char *const others[] = { "args", "retval", "curtask", "ctx",    "pid",
		                              "tid",  "uid",    "gid",     "cpu",    "nsecs",
		                              "rand", "comm",   "elapsed", "cgroup", "sizeof",
		                              "true", "false" };
	struct str name = { s.p, 0 };

	while (name.n < s.n && (isalnum((u8)s.p[name.n]) || s.p[name.n] == '_'))
		name.n++;
	if (!name.n || isdigit((u8)s.p[0]) || (name.n < s.n && s.p[name.n] == '('))
		return false;
	if (str_starts(name, "arg") && name.n > 3 && isdigit((u8)name.p[3]))
		return false;
	for (u32 i = 0; i < ARRAY_SIZE(others); i++)
		if (str_is(name, others[i]))
			return false;
	return true;
}

static void put_expression(struct buf *b, struct str s)
{
	s = str_trim(s, STR_BLANKS);
	if (begins_with_parameter(s))
		buf_puts(b, "args.");
	buf_add(b, s.p, s.n);
}

/* Cuts at the last comma that stands in no brackets. False without one. */
static bool cut_length(struct str s, struct str *expression, struct str *length)
{
	int depth = 0;

	for (u32 i = s.n; i-- > 0;) {
		depth += (s.p[i] == ')' || s.p[i] == ']') - (s.p[i] == '(' || s.p[i] == '[');
		if (s.p[i] == ',' && depth == 0) {
			*expression = (struct str){ s.p, i };
			*length = str_trim((struct str){ s.p + i + 1, s.n - i - 1 }, STR_BLANKS);
			return true;
		}
	}
	return false;
}

/* With a length: the text there, to its NUL or to that length. */
static void put_hash(struct buf *b, const char *key)
{
	struct str all = str_of(key), expression, length;
	struct buf e = { 0 };

	if (cut_length(all, &expression, &length)) {
		buf_puts(b, "\t$hash = hash(str(");
		put_expression(b, expression);
		buf_puts(b, ", ");
		put_expression(b, length);
		buf_puts(b, "));\n");
		return;
	}
	put_expression(&e, all);
	buf_printf(b,
	           "\tlet $hash = (uint64)0;\n"
	           "\tif (comptime is_ptr(%s)) {\n\t\t$hash = hash(str(%s));\n"
	           "\t} else {\n\t\t$hash = hash(%s);\n\t}\n",
	           buf_text(&e), buf_text(&e), buf_text(&e));
	buf_free(&e);
}

static void put_use(struct buf *b, const char *key, enum shards_use use, const char *size)
{
	put_hash(b, key);
	buf_printf(b,
	           "\tif (@threshold == 0 || $hash < @threshold) {\n"
	           "\t\tprintf(\"%%d %%d %%d\\n\", (uint64)%d, $hash, %s);\n\t}\n",
	           use, size);
}

static void put_insert(struct buf *b, const struct cachesize_options *o)
{
	buf_printf(b, "%s {\n\t$size = (uint64)(", o->put);
	put_expression(b, str_of(o->size));
	buf_puts(b, ");\n\t@bytes = stats($size);\n\t@least = min($size);\n\t@most = max($size);\n"
	            "\t@sizes[coarse($size)] = count();\n");
	if (o->key)
		put_use(b, o->key, o->get ? SHARDS_PUT : SHARDS_GET, "$size");
	buf_puts(b, "}\n");
}

void cachesize_script(struct buf *b, const struct cachesize_options *o)
{
	buf_puts(b, "config = { max_map_keys = 8192; }\n\n"
	            "/* n with all but its eight highest binary digits zero. */\n"
	            "macro coarse(n) {\n\tlet $left = n >> 8;\n\tlet $by = (uint64)0;\n");
	for (u32 step = 32; step > 1; step /= 2)
		buf_printf(b, "\tif ($left >> %u) {\n\t\t$left >>= %u;\n\t\t$by += %u;\n\t}\n",
		           step, step, step);
	buf_puts(b,
	         "\tif ($left >> 1) {\n\t\t$by += 2;\n\t} else if ($left) {\n\t\t$by += 1;\n\t}\n"
	         "\tn >> $by << $by\n}\n\n");
	if (o->key)
		buf_puts(b, "/* Keys whose hash is not below this are left out; 0: none is. */\n"
		            "BEGIN {\n\t@threshold = (uint64)0;\n}\n\n");
	put_insert(b, o);
	if (o->get) {
		buf_printf(b, "\n%s {\n\t@gets = count();\n", o->get);
		put_use(b, o->get_key ? o->get_key : o->key, SHARDS_GET, "(uint64)0");
		buf_puts(b, "}\n");
	}
	if (o->evict)
		buf_printf(b, "\n%s {\n\t@evicted = count();\n}\n", o->evict);
	if (o->duration)
		buf_printf(b, "\ninterval:s:%u {\n\texit();\n}\n", o->duration);
}

bool cachesize_bytes(const char *text, const char *option, u64 *bytes, struct err *e)
{
	static const char units[] = "KMGT";
	char *end, *unit;
	u32 shift = 0;

	errno = 0;
	*bytes = strtoull(text, &end, 10);
	unit = *end ? strchr(units, toupper((u8)*end)) : NULL;
	if (unit) {
		shift = 10 * (u32)(unit - units + 1);
		end++;
	}
	if (isdigit((u8)text[0]) && !errno && !*end && *bytes <= UINT64_MAX >> shift) {
		*bytes <<= shift;
		return true;
	}
	err_set(e, "--%s: '%s' is no number of bytes", option, text);
	return err_hint(e, "digits, then K, M, G or T: 64M");
}
