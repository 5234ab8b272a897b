/* tanh_f32.h - tanh on all floats, below 2 ulp: x + x^3 P(x^2) below 0.625, P of degree 4 fitted for the smallest relative
 * error; from there on (1 - e) / (1 + e) with e = exp(-2 |x|), where nothing cancels any more. NaN gives NaN. */
#ifndef QKV_KERNELS_TANH_F32_H
#define QKV_KERNELS_TANH_F32_H

#include "exp_f32.h"
#include "simd.h"

#define TANH_SMALL 0.625f
#define TANH_P4 (-0x1.75e194p-8f)
#define TANH_P3 0x1.52268ep-6f
#define TANH_P2 (-0x1.b83c58p-5f)
#define TANH_P1 0x1.110726p-3f
#define TANH_P0 (-0x1.555532p-2f)

static inline float tanh_one(float x) {
    const float t = __builtin_fabsf(x);
    if (t >= TANH_SMALL) {
        const float e = exp_one(t * -2.0f);
        return __builtin_copysignf((1.0f - e) / (1.0f + e), x);
    }

    const float square = x * x;
    float p = TANH_P4 * square + TANH_P3;
    p = p * square + TANH_P2;
    p = p * square + TANH_P1;
    p = p * square + TANH_P0;
    return (p * square) * x + x;
}

ALWAYS_INLINE v128_t tanh_four(v128_t x) {
    const v128_t t = wasm_f32x4_abs(x), one = wasm_f32x4_splat(1.0f), sign = wasm_f32x4_splat(-0.0f);
    const v128_t e = exp_four(wasm_f32x4_mul(t, wasm_f32x4_splat(-2.0f)));
    const v128_t ratio = wasm_f32x4_div(wasm_f32x4_sub(one, e), wasm_f32x4_add(one, e));
    const v128_t square = wasm_f32x4_mul(x, x);
    v128_t p = horner(wasm_f32x4_splat(TANH_P4), square, TANH_P3);
    p = horner(p, square, TANH_P2);
    p = horner(p, square, TANH_P1);
    p = horner(p, square, TANH_P0);
    p = madd(wasm_f32x4_mul(p, square), x, x);
    return wasm_v128_bitselect(wasm_v128_bitselect(x, ratio, sign), p, wasm_f32x4_ge(t, wasm_f32x4_splat(TANH_SMALL)));
}

#endif
