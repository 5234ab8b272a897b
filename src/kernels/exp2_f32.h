/* exp2_f32.h - 2^y for -126 <= y <= 128, below 1.5 ulp: what the activations need. Infinity at 128; any number beyond the range
 * and for NaN.
 *
 * y = n + r with n an integer and |r| <= 1/2. n is found as in exp_f32.h, but nothing is rounded in y - n. 2^r is
 * 1 + c1 r + ... + c6 r^6, fitted for the smallest relative error (2e-9); the 1 comes last, so that only one rounding is as large
 * as an ulp. Terms go in pairs and by r^4: a processor works on a limited number of steps at a time, and the shorter the
 * chain of steps that wait for each other, the sooner it begins with the next elements. */
#ifndef QKV_KERNELS_EXP2_F32_H
#define QKV_KERNELS_EXP2_F32_H

#include "power_of_two.h"
#include "simd.h"

#define EXP2_MAGIC 12582912.0f
#define EXP2_C6 0x1.41fbbcp-13f
#define EXP2_C5 0x1.5f3e54p-10f
#define EXP2_C4 0x1.3b2d4cp-7f
#define EXP2_C3 0x1.c6aee8p-5f
#define EXP2_C2 0x1.ebfbdcp-3f
#define EXP2_C1 0x1.62e430p-1f

static inline float exp2_one(float y) {
    const float shifted = y + EXP2_MAGIC;
    const float r = y - (shifted - EXP2_MAGIC);
    const float square = r * r;
    const float high = EXP2_C6 * square + (EXP2_C5 * r + EXP2_C4);
    const float low = (EXP2_C3 * r + EXP2_C2) * square + EXP2_C1 * r;
    return times_power_of_two((high * (square * square) + low) + 1.0f, shifted);
}

/* scale * 2^r as a table: the magic number, c6 to c1, c0. */
#define EXP2_TABLE(scale)                                                                                   \
    {                                                                                                       \
        FOUR(EXP2_MAGIC),        FOUR(EXP2_C6 * (scale)), FOUR(EXP2_C5 * (scale)), FOUR(EXP2_C4 * (scale)), \
        FOUR(EXP2_C3 * (scale)), FOUR(EXP2_C2 * (scale)), FOUR(EXP2_C1 * (scale)), FOUR(scale),             \
    }

static const float exp2_table[][4] = EXP2_TABLE(1.0f);

/* The first step, four at a time: r in place of y, returns n << 23. That added to the bits of a number multiplies it by 2^n. */
ALWAYS_INLINE v128_t exp2_reduce(v128_t *y, v128_t magic) {
    const v128_t shifted = wasm_f32x4_add(*y, magic);

    *y = wasm_f32x4_sub(*y, wasm_f32x4_sub(shifted, magic));
    return wasm_i32x4_shl(shifted, 23);
}

/* The second one: scale * 2^r of two vectors, step by step, with each constant loaded once. */
ALWAYS_INLINE void exp2_expand(v128_t r[2], const float (*c)[4]) {
    v128_t square[2], high[2], low[2];

    HIDE(c);
    for (int i = 0; i < 2; i++) square[i] = wasm_f32x4_mul(r[i], r[i]);
    const v128_t c6 = wasm_v128_load(c[1]), c5 = wasm_v128_load(c[2]), c4 = wasm_v128_load(c[3]);
    for (int i = 0; i < 2; i++) high[i] = madd(c6, square[i], madd(c5, r[i], c4));
    const v128_t c3 = wasm_v128_load(c[4]), c2 = wasm_v128_load(c[5]), c1 = wasm_v128_load(c[6]);
    for (int i = 0; i < 2; i++) low[i] = madd(madd(c3, r[i], c2), square[i], wasm_f32x4_mul(c1, r[i]));
    for (int i = 0; i < 2; i++) r[i] = madd(high[i], wasm_f32x4_mul(square[i], square[i]), low[i]);
    const v128_t c0 = wasm_v128_load(c[7]);
    for (int i = 0; i < 2; i++) r[i] = wasm_f32x4_add(r[i], c0);
}

#endif
