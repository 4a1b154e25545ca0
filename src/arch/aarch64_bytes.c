/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * With NEON, which every arm64 processor has. There is no instruction that makes a bit of each
 * byte: bytes of 0 and 255 are reduced to their bit and added in pairs, three times.
 */
#include "arch/bytes.h"

#if defined(__aarch64__)

#include <arm_neon.h>

/* A bit for each of 64 bytes, which are 0 or 255. */
static inline u64 bits(const uint8x16_t v[4])
{
	const uint8x16_t each = { 1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128 };
	uint8x16_t low = vpaddq_u8(vandq_u8(v[0], each), vandq_u8(v[1], each));
	uint8x16_t high = vpaddq_u8(vandq_u8(v[2], each), vandq_u8(v[3], each));

	low = vpaddq_u8(low, high);
	low = vpaddq_u8(low, low);
	return vgetq_lane_u64(vreinterpretq_u64_u8(low), 0);
}

static inline uint8x16_t load(const char *p)
{
	return vld1q_u8((const u8 *)p);
}

bool bytes_zero(const char *p, u32 n, u64 *masks)
{
	for (u32 k = 0; k < n; k++, p += 64) {
		uint8x16_t v[4];

		for (u32 i = 0; i < 4; i++)
			v[i] = vceqzq_u8(load(p + i * 16));
		masks[k] = bits(v);
	}
	return true;
}

/* For each letter the groups that have one like it there: its halves are looked up. */
static inline uint8x16_t groups(const char *p, const u8 set[2][16])
{
	uint8x16_t c = load(p);
	uint8x16_t low = vqtbl1q_u8(vld1q_u8(set[0]), vandq_u8(c, vdupq_n_u8(0x8f)));

	return vandq_u8(low, vqtbl1q_u8(vld1q_u8(set[1]), vshrq_n_u8(c, 4)));
}

bool bytes_zero_after(const char *p, u32 n, const u8 sets[3][2][16], u64 *masks)
{
	for (u32 k = 0; k < n; k++, p += 64) {
		uint8x16_t v[4];

		for (u32 i = 0; i < 4; i++) {
			const char *at = p + i * 16;
			uint8x16_t in = vandq_u8(groups(at - 1, sets[0]), groups(at - 2, sets[1]));

			in = vandq_u8(in, groups(at - 3, sets[2]));
			v[i] = vandq_u8(vtstq_u8(in, in), vceqzq_u8(load(at)));
		}
		masks[k] = bits(v);
	}
	return true;
}

bool bytes_three(const char *p, u32 n, char c, u64 *masks)
{
	const uint8x16_t all = vdupq_n_u8((u8)c);

	for (u32 k = 0; k < n; k++, p += 64) {
		uint8x16_t v[4];

		for (u32 i = 0; i < 4; i++) {
			const char *at = p + i * 16;
			uint8x16_t in = vandq_u8(vandq_u8(load(at), load(at + 1)), load(at + 2));

			v[i] = vceqq_u8(in, all);
		}
		masks[k] = bits(v);
	}
	return true;
}

bool bytes_pair(const char *p, u32 n, char first, char last, u32 distance, u64 *masks)
{
	const uint8x16_t a = vdupq_n_u8((u8)first), b = vdupq_n_u8((u8)last);

	for (u32 k = 0; k < n; k++, p += 64) {
		uint8x16_t v[4];

		for (u32 i = 0; i < 4; i++) {
			const char *at = p + i * 16;

			v[i] = vandq_u8(vceqq_u8(load(at), a), vceqq_u8(load(at + distance), b));
		}
		masks[k] = bits(v);
	}
	return true;
}

#endif
