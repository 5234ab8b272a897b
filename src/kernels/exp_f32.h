/* exp_f32.h - e^x for -60 <= x <= 0, below 1.5 ulp; exactly 1 at 0, exactly 0 below -60 (and for NaN).
 *
 * x = n ln2 + r with n an integer and |r| <= ln2 / 2, so e^x = 2^n e^r. ln2 is split in two: n * EXP_LN2_HI has
 * few bits and is exact. e^r is 1 + r + ... + c6 r^6, fitted for the smallest relative error (2e-9); one degree
 * less would miss 2 ulp. n is found by adding 1.5 * 2^23, which leaves it in the low bits of the sum: shifted up
 * by 23 it is what the exponent of e^r lacks. Small weights are cut because products with denormals are 40 to 120
 * times slower, and wasm cannot flush them. */
#ifndef QKV_KERNELS_EXP_F32_H
#define QKV_KERNELS_EXP_F32_H

#include <stdint.h>

#include "simd.h"

#define EXP_LOW (-60.0f)
#define EXP_LOG2E 1.44269504f
#define EXP_MAGIC 12582912.0f
#define EXP_LN2_HI (-0.693145752f)
#define EXP_LN2_LO (-1.42860677e-6f)
#define EXP_DEGREE 6

/* The coefficients of e^r, highest first, then what the reduction needs. */
static const float exp_table[EXP_DEGREE + 6][4] = {
    FOUR(0x1.6ae68ep-10f), FOUR(0x1.12682ep-7f), FOUR(0x1.555826p-5f), FOUR(0x1.555418p-3f),
    FOUR(0x1.fffffcp-2f),  FOUR(1.0f),           FOUR(1.0f),           FOUR(EXP_LOG2E),
    FOUR(EXP_MAGIC),       FOUR(EXP_LN2_HI),     FOUR(EXP_LN2_LO),     FOUR(EXP_LOW),
};

static inline float exp_one(float x) {
    if (!(x >= EXP_LOW)) return 0.0f;

    const float shifted = x * EXP_LOG2E + EXP_MAGIC;
    const float n = shifted - EXP_MAGIC;
    const float r = n * EXP_LN2_LO + (n * EXP_LN2_HI + x);
    float p = exp_table[0][0];
    for (int i = 1; i <= EXP_DEGREE; i++) p = p * r + exp_table[i][0];

    uint32_t bits, exponent;
    __builtin_memcpy(&exponent, &shifted, sizeof exponent);
    __builtin_memcpy(&bits, &p, sizeof bits);
    bits += exponent << 23;
    __builtin_memcpy(&p, &bits, sizeof p);
    return p;
}

ALWAYS_INLINE v128_t exp_four(v128_t x) {
    const float (*c)[4] = exp_table;

    HIDE(c);
    const v128_t magic = wasm_v128_load(c[EXP_DEGREE + 2]);
    const v128_t shifted = madd(x, wasm_v128_load(c[EXP_DEGREE + 1]), magic);
    const v128_t n = wasm_f32x4_sub(shifted, magic);
    v128_t r = madd(n, wasm_v128_load(c[EXP_DEGREE + 3]), x);
    r = madd(n, wasm_v128_load(c[EXP_DEGREE + 4]), r);
    v128_t p = wasm_v128_load(c[0]);
    for (int i = 1; i <= EXP_DEGREE; i++) p = madd(p, r, wasm_v128_load(c[i]));
    p = wasm_i32x4_add(p, wasm_i32x4_shl(shifted, 23));
    return wasm_v128_and(p, wasm_f32x4_ge(x, wasm_v128_load(c[EXP_DEGREE + 5])));
}

#endif
