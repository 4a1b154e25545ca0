/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Where a Go function begins once it has its stack: x86_64_go.c says why a probe on the entry
 * counts a call twice.
 *
 *      ldr x16, [x28, 16]      the limit; x28 is the goroutine
 *      sub x17, sp, SIZE       of a large frame; or mov x27, SIZE and subs x17, sp, x27
 *      b.lo MORE               of one so large that this may wrap around
 *      cmp sp, x16             or cmp x17, x16
 *      b.ls MORE
 *      ...                     here every call comes by once; x16, x17 and x27 have changed
 *
 * At MORE the runtime is called, and control goes back to the entry.
 */
#include "arch/aarch64_code.h"

#if defined(__aarch64__)

#define LIMIT     0xf9400b90u
#define COMPARE   0xeb3063ffu /* cmp sp, x16 */
#define COMPARE17 0xeb10023fu /* cmp x17, x16 */
#define LOOK      8u          /* instructions up to it, at most */

#define SUB17   0xff8003ffu, 0xd10003f1u /* sub x17, sp, ... */
#define SUBS17  0xfffffc1fu, 0xeb3b6011u /* subs x17, ..., x27 */
#define MOVE27  0x7f80001fu, 0x5280001bu /* movz x27 or w27 */
#define MORE27  0x7f80001fu, 0x7280001bu /* movk */
#define OR27    0xff80001fu, 0xb200001bu /* orr x27, xzr, ... */
#define IF_LESS 0xff00001fu, 0x54000003u /* b.lo */
#define IF_LOW  0xff00001fu, 0x54000009u /* b.ls */

static bool makes_frame(u32 w)
{
	return code_is(w, SUB17) || code_is(w, SUBS17) || code_is(w, MOVE27) ||
	       code_is(w, MORE27) || code_is(w, OR27) || code_is(w, IF_LESS);
}

/* Is there a jump to the entry in [from, n)? */
static bool jumps_back(const u8 *p, u64 from, size_t n)
{
	for (u64 at = from; at + CODE_BYTES <= n; at += CODE_BYTES) {
		u32 w = code_word(p + at);

		if (code_is(w, CODE_B) && code_distance(w) == -(s64)at)
			return true;
	}
	return false;
}

u32 insn_go_start(const u8 *p, size_t n)
{
	u32 at = CODE_BYTES, w;
	s64 more;

	if (n < (LOOK + 2) * CODE_BYTES || code_word(p) != LIMIT)
		return 0;
	while (at < LOOK * CODE_BYTES && makes_frame(code_word(p + at)))
		at += CODE_BYTES;
	w = code_word(p + at);
	at += CODE_BYTES;
	if ((w != COMPARE && w != COMPARE17) || !code_is(code_word(p + at), IF_LOW))
		return 0;
	more = (s64)at + code_distance(code_word(p + at));
	at += CODE_BYTES;
	return more > (s64)at && (u64)more < n && jumps_back(p, (u64)more, n) ? at : 0;
}

#endif
