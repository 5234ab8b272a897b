/* gelu_f32.h - GELU(x) = x (1 + erf(x / sqrt 2)) / 2, the exact form (arXiv 1606.08415), not the tanh one.
 *
 * With Q(t) = erfc(t / sqrt 2) / 2, the upper tail of the normal distribution, GELU(x) = max(x, 0) - |x| Q(|x|):
 * nothing cancels for x < 0, and what is subtracted for x > 0 is at most 0.17. In s = -|x|, from -6 on,
 * Q(-s) = 2^(s N(s) / D(s)) / 2, N and D of degree 4 and 2 fitted for the smallest absolute error of t Q(t) (4e-9). Every term of
 * N and D is positive there, so no digits are lost. Beyond -6 s becomes 0 and with it what is subtracted, which would
 * be below 6e-9.
 *
 * Error: absolute below 6e-8 for x < 0, below 2 ulp of the result for x > 0. NaN gives NaN, +-infinity its limit, a
 * zero itself. */
#ifndef QKV_KERNELS_GELU_F32_H
#define QKV_KERNELS_GELU_F32_H

#include "exp2_f32.h"
#include "simd.h"

#define GELU_END (-6.0f)
#define GELU_N4 0x1.308222p-10f
#define GELU_N3 (-0x1.64aee0p-1f)
#define GELU_N2 0x1.55e172p+2f
#define GELU_N1 (-0x1.0afd9ap+4f)
#define GELU_N0 0x1.5b3204p+4f
#define GELU_D1 (-0x1.be7256p+2f)
#define GELU_D0 0x1.2d9ea0p+4f

static inline float gelu_one(float x) {
    const float positive = x < 0.0f ? 0.0f : x;
    float s = -__builtin_fabsf(x);
    if (!(s > GELU_END)) s = 0.0f;

    const float square = s * s;
    const float high = GELU_N4 * square + (GELU_N3 * s + GELU_N2);
    const float numerator = high * square + (GELU_N1 * s + GELU_N0);
    const float denominator = (s + GELU_D1) * s + GELU_D0;
    return s * (exp2_one(s * (numerator / denominator)) * 0.5f) + positive;
}

static const float gelu_table[][4] = {
    FOUR(-0.0f),   FOUR(GELU_END), FOUR(GELU_N4), FOUR(GELU_N3), FOUR(GELU_N2),
    FOUR(GELU_N1), FOUR(GELU_N0),  FOUR(GELU_D1), FOUR(GELU_D0), FOUR(EXP2_MAGIC),
};
static const float gelu_exp2_table[][4] = EXP2_TABLE(0.5f);

/* The first step, for two vectors of x with each constant loaded once: x becomes the r of exp2_f32.h, s becomes s 2^n. s is
 * compared with the end as an integer, the larger the further from 0; clang makes a bitselect of a comparison of floats,
 * which is three instructions in V8. */
ALWAYS_INLINE void gelu_prepare(v128_t x[2], v128_t s[2]) {
    const float (*c)[4] = gelu_table;
    v128_t square[2], numerator[2], denominator[2];

    HIDE(c);
    const v128_t sign = wasm_v128_load(c[0]), end = wasm_v128_load(c[1]);
    for (int i = 0; i < 2; i++) s[i] = wasm_v128_or(x[i], sign);
    for (int i = 0; i < 2; i++) s[i] = wasm_v128_and(s[i], wasm_i32x4_shr(wasm_i32x4_sub(s[i], end), 31));
    for (int i = 0; i < 2; i++) square[i] = wasm_f32x4_mul(s[i], s[i]);
    const v128_t n4 = wasm_v128_load(c[2]), n3 = wasm_v128_load(c[3]), n2 = wasm_v128_load(c[4]);
    for (int i = 0; i < 2; i++) numerator[i] = madd(n4, square[i], madd(n3, s[i], n2));
    const v128_t n1 = wasm_v128_load(c[5]), n0 = wasm_v128_load(c[6]);
    for (int i = 0; i < 2; i++) numerator[i] = madd(numerator[i], square[i], madd(n1, s[i], n0));
    const v128_t d1 = wasm_v128_load(c[7]), d0 = wasm_v128_load(c[8]), magic = wasm_v128_load(c[9]);
    for (int i = 0; i < 2; i++) denominator[i] = madd(wasm_f32x4_add(s[i], d1), s[i], d0);
    for (int i = 0; i < 2; i++) x[i] = wasm_f32x4_mul(s[i], wasm_f32x4_div(numerator[i], denominator[i]));
    for (int i = 0; i < 2; i++) s[i] = wasm_i32x4_add(s[i], exp2_reduce(&x[i], magic));
}

/* The second one; s and r as the first one left them, half: 2^r / 2. */
ALWAYS_INLINE v128_t gelu_from_half(v128_t x, v128_t s, v128_t half) {
    return madd(s, half, wasm_f32x4_pmax(x, wasm_f32x4_splat(0.0f)));
}

#endif
