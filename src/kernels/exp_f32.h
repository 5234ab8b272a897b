/* exp_f32.h - e^x for -60 <= x <= 0, below 1.5 ulp; exactly 1 at 0, exactly 0 below -60 (and for NaN).
 *
 * x = n ln2 + r with n an integer and |r| <= ln2 / 2, so e^x = 2^n e^r. ln2 is split in two: n * EXP_LN2_HI has few
 * bits and is exact. e^r is 1 + r + ... + c6 r^6, fitted for the smallest relative error (2e-9); one degree less would
 * miss 2 ulp. n is found by adding 1.5 * 2^23, which leaves it in the low bits of the sum: shifted up by 23 it is what
 * the exponent of e^r lacks. Small weights are cut because products with denormals are 40 to 120 times slower, and wasm
 * cannot flush them. */
#ifndef QKV_KERNELS_EXP_F32_H
#define QKV_KERNELS_EXP_F32_H

#include <stdint.h>

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
    float p = EXP_C6 * r + EXP_C5;
    p = p * r + EXP_C4;
    p = p * r + EXP_C3;
    p = p * r + EXP_C2;
    p = p * r + 1.0f;
    p = p * r + 1.0f;

    uint32_t bits, exponent;
    __builtin_memcpy(&exponent, &shifted, sizeof exponent);
    __builtin_memcpy(&bits, &p, sizeof bits);
    bits += exponent << 23;
    __builtin_memcpy(&p, &bits, sizeof p);
    return p;
}

ALWAYS_INLINE v128_t exp_four(v128_t x) {
    const v128_t magic = wasm_f32x4_splat(EXP_MAGIC);
    const v128_t shifted = madd(x, wasm_f32x4_splat(EXP_LOG2E), magic);
    const v128_t n = wasm_f32x4_sub(shifted, magic);
    const v128_t r = madd(n, wasm_f32x4_splat(EXP_LN2_LO), madd(n, wasm_f32x4_splat(EXP_LN2_HI), x));
    v128_t p = horner(wasm_f32x4_splat(EXP_C6), r, EXP_C5);
    p = horner(p, r, EXP_C4);
    p = horner(p, r, EXP_C3);
    p = horner(p, r, EXP_C2);
    p = horner(p, r, 1.0f);
    p = horner(p, r, 1.0f);
    p = wasm_i32x4_add(p, wasm_i32x4_shl(shifted, 23));
    return wasm_v128_and(p, wasm_f32x4_ge(x, wasm_f32x4_splat(EXP_LOW)));
}

#endif
