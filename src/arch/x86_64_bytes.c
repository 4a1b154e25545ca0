/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * With SSE2, which every x86-64 has, and with AVX2 where the processor has that.
 */
#include "arch/bytes.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2,bmi,popcnt")))

#define YMM_STATE 0x6u /* of XCR0: the kernel keeps these registers */

__attribute__((target("xsave"))) static u64 kept_states(void)
{
	return _xgetbv(0);
}

static bool ask_avx2(void)
{
	u32 a, b, c, d;

	return __get_cpuid(1, &a, &b, &c, &d) && c & bit_OSXSAVE && c & bit_AVX &&
	       (kept_states() & YMM_STATE) == YMM_STATE &&
	       __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & bit_AVX2;
}

/* Asked when it is first wanted. __builtin_cpu_supports() asks before main(), a dozen questions,
 * and each takes a hypervisor: of a start's time of its own they were a fifth. */
static bool has_avx2(void)
{
	static u32 answer; /* atomic; 0: not asked, 1: no, 2: yes */
	u32 known = __atomic_load_n(&answer, __ATOMIC_RELAXED);

	if (!known) {
		known = ask_avx2() ? 2 : 1;
		__atomic_store_n(&answer, known, __ATOMIC_RELAXED);
	}
	return known == 2;
}

bool bytes_zero(const char *p, u32 n, u64 *masks)
{
	const __m128i zero = _mm_setzero_si128();

	for (u32 k = 0; k < n; k++, p += 64) {
		masks[k] = 0;
		for (u32 i = 0; i < 4; i++) {
			__m128i v = _mm_loadu_si128((const __m128i *)(const void *)(p + i * 16));

			masks[k] |= (u64)(u32)_mm_movemask_epi8(_mm_cmpeq_epi8(v, zero)) << i * 16;
		}
	}
	return true;
}

AVX2 static inline __m256i load(const char *p)
{
	return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

AVX2 static inline u32 bits(__m256i v)
{
	return (u32)_mm256_movemask_epi8(v);
}

/* For each letter the groups that have one like it there: its low and high halves are looked up. */
AVX2 static inline __m256i groups(const char *p, const u8 set[2][16])
{
	const __m256i low = _mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)set[0]));
	const __m256i high = _mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)set[1]));
	__m256i c = load(p);
	__m256i upper = _mm256_and_si256(_mm256_srli_epi16(c, 4), _mm256_set1_epi8(0x0f));

	return _mm256_and_si256(_mm256_shuffle_epi8(low, c), _mm256_shuffle_epi8(high, upper));
}

AVX2 static inline u32 zero_after(const char *p, const u8 sets[3][2][16])
{
	const __m256i none = _mm256_setzero_si256();
	__m256i in = groups(p - 1, sets[0]);

	in = _mm256_and_si256(in, groups(p - 2, sets[1]));
	in = _mm256_and_si256(in, groups(p - 3, sets[2]));
	return bits(
		_mm256_andnot_si256(_mm256_cmpeq_epi8(in, none), _mm256_cmpeq_epi8(load(p), none)));
}

/* The tables stay in registers, for masks are none of them. */
AVX2 static void all_zero_after(const char *p, u32 n, const u8 sets[3][2][16], u64 *restrict masks)
{
	for (u32 k = 0; k < n; k++, p += 64)
		masks[k] = zero_after(p, sets) | (u64)zero_after(p + 32, sets) << 32;
}

bool bytes_zero_after(const char *p, u32 n, const u8 sets[3][2][16], u64 *masks)
{
	if (!has_avx2())
		return false;
	all_zero_after(p, n, sets, masks);
	return true;
}

AVX2 static inline u32 three(const char *p, __m256i c)
{
	__m256i all = _mm256_and_si256(_mm256_and_si256(load(p), load(p + 1)), load(p + 2));

	return bits(_mm256_cmpeq_epi8(all, c));
}

AVX2 static void all_three(const char *p, u32 n, char c, u64 *masks)
{
	const __m256i v = _mm256_set1_epi8(c);

	for (u32 k = 0; k < n; k++, p += 64)
		masks[k] = three(p, v) | (u64)three(p + 32, v) << 32;
}

bool bytes_three(const char *p, u32 n, char c, u64 *masks)
{
	if (!has_avx2())
		return false;
	all_three(p, n, c, masks);
	return true;
}

AVX2 static inline u32 pair(const char *p, const char *q, __m256i first, __m256i last)
{
	return bits(_mm256_and_si256(_mm256_cmpeq_epi8(load(p), first),
	                             _mm256_cmpeq_epi8(load(q), last)));
}

AVX2 static void all_pairs(const char *p, u32 n, const char both[2], u32 distance, u64 *masks)
{
	const __m256i first = _mm256_set1_epi8(both[0]), last = _mm256_set1_epi8(both[1]);

	for (u32 k = 0; k < n; k++, p += 64)
		masks[k] = pair(p, p + distance, first, last) |
		           (u64)pair(p + 32, p + 32 + distance, first, last) << 32;
}

bool bytes_pair(const char *p, u32 n, char first, char last, u32 distance, u64 *masks)
{
	if (!has_avx2())
		return false;
	all_pairs(p, n, (const char[]){ first, last }, distance, masks);
	return true;
}

#endif
