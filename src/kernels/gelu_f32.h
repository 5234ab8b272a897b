/* gelu_f32.h - GELU(x) = x (1 + erf(x / sqrt 2)) / 2, the exact form (arXiv 1606.08415), not the tanh one.
 *
 * With Q(t) = erfc(t / sqrt 2) / 2, the upper tail of the normal distribution, GELU(x) = max(x, 0) - |x| Q(|x|):
 * nothing cancels for x < 0, and what is subtracted for x > 0 is at most 0.17. Q(t) = e^L(t), L of degree 9 fitted on
 * [0, 6] for the smallest absolute error of t Q(t) (1.6e-9), with L(0) = -ln 2. From 6 on t Q(t) is below 6e-9 and
 * left out.
 *
 * Error: absolute below 6e-8 for x < 0, below 2.5 ulp of the result for x > 0. NaN gives NaN, +-infinity its
 * limit, -0 gives 0: LLVM 14 makes a maximum of x < 0 ? 0 : x, which loses the sign of 0, so + 0 drops it
 * everywhere. */
#ifndef QKV_KERNELS_GELU_F32_H
#define QKV_KERNELS_GELU_F32_H

#include "exp_f32.h"
#include "simd.h"

#define GELU_END 6.0f
#define GELU_DEGREE 9

/* The coefficients of L, highest first; evaluated in pairs, which halves the latency. */
static const float gelu_table[GELU_DEGREE + 1][4] = {
    FOUR(0x1.246354p-22f),  FOUR(-0x1.6ae2eep-18f), FOUR(0x1.7685a2p-15f), FOUR(-0x1.6c61dcp-13f),
    FOUR(-0x1.0fec16p-15f), FOUR(0x1.3dd886p-8f),   FOUR(-0x1.29f610p-5f), FOUR(-0x1.45f06cp-2f),
    FOUR(-0x1.988476p-1f),  FOUR(-0x1.62e430p-1f),
};

static inline float gelu_one(float x) {
    const float t = __builtin_fabsf(x);
    const float positive = (x < 0.0f ? 0.0f : x) + 0.0f;
    if (!(t < GELU_END)) return positive;

    const float square = t * t;
    float l = gelu_table[0][0] * t + gelu_table[1][0];
    for (int i = 2; i <= GELU_DEGREE; i += 2) l = l * square + (gelu_table[i][0] * t + gelu_table[i + 1][0]);
    return positive - t * exp_one(l);
}

/* L(|x|) of V vectors (1 or 2), with each coefficient loaded once. V is a constant once inlined. */
ALWAYS_INLINE void gelu_log_tails(v128_t *x, const int V) {
    const float (*c)[4] = gelu_table;
    v128_t t[2], square[2];

    HIDE(c);
    const v128_t c0 = wasm_v128_load(c[0]), c1 = wasm_v128_load(c[1]);
    for (int j = 0; j < V; j++) t[j] = wasm_f32x4_abs(x[j]);
    for (int j = 0; j < V; j++) square[j] = wasm_f32x4_mul(t[j], t[j]);
    for (int j = 0; j < V; j++) x[j] = madd(c0, t[j], c1);
    for (int i = 2; i <= GELU_DEGREE; i += 2) {
        const v128_t odd = wasm_v128_load(c[i]), even = wasm_v128_load(c[i + 1]);
        for (int j = 0; j < V; j++) x[j] = madd(x[j], square[j], madd(odd, t[j], even));
    }
}

/* From x and e^L(|x|), as in gelu_one. Beyond the end L and what follows may be anything, NaN included: the mask
 * drops it. */
ALWAYS_INLINE v128_t gelu_from_tail(v128_t x, v128_t tail) {
    const v128_t zero = wasm_f32x4_splat(0.0f);
    const v128_t t = wasm_f32x4_abs(x);
    const v128_t positive = wasm_v128_andnot(x, wasm_f32x4_lt(x, zero));
    const v128_t part = wasm_f32x4_mul(t, tail);
    return wasm_f32x4_sub(wasm_f32x4_add(positive, zero),
                          wasm_v128_and(part, wasm_f32x4_lt(t, wasm_f32x4_splat(GELU_END))));
}

#endif
