/* exp_f32.h - e^x for -60 <= x <= 0, below 1.2 ulp (every float tried); exactly 1 at 0, exactly 0 below -60 (and for
 * NaN).
 *
 * x = n ln2 + r with n an integer and |r| <= ln2 / 2, so e^x = 2^n e^r. ln2 is split in two: n * EXP_LN2_HI has
 * few bits and is exact. e^r is 1 + r + c2 r^2 + ... + c6 r^6, fitted for the smallest relative error (2e-9); one
 * degree less would miss 2 ulp. n is found by adding 1.5 * 2^23, which leaves it in the low bits of the sum:
 * shifted up by 23 it is what the exponent of e^r lacks. Terms go in pairs: half the latency. Small weights are
 * cut because products with denormals are 40 to 120 times slower, and wasm cannot flush them. */
#ifndef QKV_KERNELS_EXP_F32_H
#define QKV_KERNELS_EXP_F32_H

#include "power_of_two.h"
#include "simd.h"

#define EXP_LOW (-60.0f)
#define EXP_LOG2E 1.44269504f
#define EXP_MAGIC 12582912.0f
#define EXP_LN2_HI (-0.693145752f)
#define EXP_LN2_LO (-1.42860677e-6f)
#define EXP_C6 0x1.6ae68ep-10f
#define EXP_C5 0x1.12682ep-7f
#define EXP_C4 0x1.555826p-5f
#define EXP_C3 0x1.555418p-3f
#define EXP_C2 0x1.fffffcp-2f

static inline float exp_one(float x) {
    if (!(x >= EXP_LOW)) return 0.0f;

    const float shifted = x * EXP_LOG2E + EXP_MAGIC;
    const float n = shifted - EXP_MAGIC;
    const float r = n * EXP_LN2_LO + (n * EXP_LN2_HI + x);
    const float square = r * r;
    float p = EXP_C6 * square + (EXP_C5 * r + EXP_C4);
    p = p * square + (EXP_C3 * r + EXP_C2);
    return times_power_of_two((p * square + r) + 1.0f, shifted);
}

static const float exp_table[][4] = {
    FOUR(EXP_LOW), FOUR(EXP_LOG2E), FOUR(EXP_MAGIC), FOUR(EXP_LN2_HI), FOUR(EXP_LN2_LO), FOUR(EXP_C6),
    FOUR(EXP_C5),  FOUR(EXP_C4),    FOUR(EXP_C3),    FOUR(EXP_C2),     FOUR(1.0f),
};

/* V vectors (1 to 4), step by step, with each constant loaded once. V is a constant once inlined. */
ALWAYS_INLINE void exp_vectors(v128_t *x, const int V) {
    const float (*c)[4] = exp_table;
    v128_t shifted[4], n[4], r[4], square[4], p[4];

    HIDE(c);
    const v128_t log2e = wasm_v128_load(c[1]), magic = wasm_v128_load(c[2]);
    for (int i = 0; i < V; i++) shifted[i] = madd(x[i], log2e, magic);
    for (int i = 0; i < V; i++) n[i] = wasm_f32x4_sub(shifted[i], magic);
    const v128_t high = wasm_v128_load(c[3]), low = wasm_v128_load(c[4]);
    for (int i = 0; i < V; i++) r[i] = madd(n[i], low, madd(n[i], high, x[i]));
    const v128_t c6 = wasm_v128_load(c[5]), c5 = wasm_v128_load(c[6]), c4 = wasm_v128_load(c[7]);
    for (int i = 0; i < V; i++) square[i] = wasm_f32x4_mul(r[i], r[i]);
    for (int i = 0; i < V; i++) p[i] = madd(c6, square[i], madd(c5, r[i], c4));
    const v128_t c3 = wasm_v128_load(c[8]), c2 = wasm_v128_load(c[9]), one = wasm_v128_load(c[10]);
    for (int i = 0; i < V; i++) p[i] = madd(p[i], square[i], madd(c3, r[i], c2));
    for (int i = 0; i < V; i++) p[i] = wasm_f32x4_add(madd(p[i], square[i], r[i]), one);
    for (int i = 0; i < V; i++) p[i] = wasm_i32x4_add(p[i], wasm_i32x4_shl(shifted[i], 23));
    const v128_t least = wasm_v128_load(c[0]);
    for (int i = 0; i < V; i++) x[i] = wasm_v128_and(p[i], wasm_f32x4_ge(x[i], least));
}

ALWAYS_INLINE v128_t exp_four(v128_t x) {
    exp_vectors(&x, 1);
    return x;
}

#endif
