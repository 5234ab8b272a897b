/* tanh_f32.h - cap tanh(x / cap) on all floats, below 3.5 ulp for a cap below 2^122, tanh itself (cap 1) below 2 ulp. NaN
 * gives NaN.
 *
 * tanh t = (1 - e) / (1 + e) for t >= 0, e = exp(-2t) = 2^n (1 + q): n and r as in exp_f32.h, q = r + c2 r^2 + ... + c6 r^6
 * fitted for the smallest relative error of q itself (1e-8). cap (1 - e) is (cap - cap 2^n) - 2^n cap q, where the parenthesis
 * is 0 for n = 0, so that no digits are lost at small t. cap q begins with cap r, which comes from -2 |x| as r would
 * from -2t, with ln 2 times the cap: at small t that is -2 |x| itself, and no quotient is rounded. From t = 20 on tanh
 * is 1. */
#ifndef QKV_KERNELS_TANH_F32_H
#define QKV_KERNELS_TANH_F32_H

#include <stdint.h>

#include "exp_f32.h"
#include "simd.h"

#define TANH_LN2 0.693147180559945309
#define TANH_C6 0x1.68178ep-10f
#define TANH_C5 0x1.12039ep-7f
#define TANH_C4 0x1.555952p-5f
#define TANH_C3 0x1.5554ecp-3f
#define TANH_C2 0x1p-1f

/* What depends on the cap. */
typedef struct tanh_cap {
    float cap, inverse;
    float end;       /* -|x| beyond which tanh is 1; cut so that its double is finite */
    float log2e;     /* 2 / ln 2 / cap */
    float high, low; /* -ln 2 cap, split so that n * high is exact */
} tanh_cap;

static inline tanh_cap tanh_cap_of(float cap) {
    tanh_cap c = {.cap = cap, .inverse = 1.0f / cap};
    uint32_t bits;

    c.end = cap < 0x1p122f ? -20.0f * cap : -0x1p126f;
    c.log2e = 2.0f * EXP_LOG2E / cap;
    c.high = (float)-TANH_LN2 * cap;
    __builtin_memcpy(&bits, &c.high, sizeof bits);
    bits &= 0xffffff00u; /* 16 bits of 24; n takes 6 */
    __builtin_memcpy(&c.high, &bits, sizeof bits);
    c.low = (float)(-TANH_LN2 * (double)cap - (double)c.high);
    return c;
}

/* -2^n; n is in the low bits of `shifted`. */
static inline float tanh_minus(float shifted) {
    uint32_t bits;
    float minus;

    __builtin_memcpy(&bits, &shifted, sizeof bits);
    bits = (bits << 23) + 0xbf800000u; /* of -1 */
    __builtin_memcpy(&minus, &bits, sizeof minus);
    return minus;
}

static inline float softcap_one(float x, const tanh_cap *c) {
    float s = -__builtin_fabsf(x);
    if (s < c->end) s = c->end;

    const float shifted = s * c->log2e + EXP_MAGIC;
    const float n = shifted - EXP_MAGIC, minus = tanh_minus(shifted);
    const float scaled = n * c->low + (n * c->high + (s + s));
    const float r = scaled * c->inverse, square = r * r;
    float p = TANH_C6 * square + (TANH_C5 * r + TANH_C4);
    p = p * square + (TANH_C3 * r + TANH_C2);
    const float part = ((p * r) * scaled + scaled) * minus; /* -2^n cap q */
    const float numerator = (c->cap * minus + c->cap) + part;
    const float denominator = (1.0f - minus) - part * c->inverse;
    return __builtin_copysignf(numerator / denominator, x);
}

static const float tanh_table[][4] = {
    FOUR(-0.0f),   FOUR(EXP_MAGIC), FOUR(-1.0f),   FOUR(TANH_C6), FOUR(TANH_C5),
    FOUR(TANH_C4), FOUR(TANH_C3),   FOUR(TANH_C2), FOUR(1.0f),
};

/* The first step, for two vectors of x with each constant loaded once: x becomes cap r, minus -2^n. */
ALWAYS_INLINE void tanh_prepare(v128_t x[2], v128_t minus[2], const tanh_cap *of) {
    const float (*c)[4] = tanh_table;
    v128_t shifted[2], n[2];

    HIDE(c);
    const v128_t sign = wasm_v128_load(c[0]), magic = wasm_v128_load(c[1]), one = wasm_v128_load(c[2]);
    const v128_t end = wasm_f32x4_splat(of->end), log2e = wasm_f32x4_splat(of->log2e);
    const v128_t high = wasm_f32x4_splat(of->high), low = wasm_f32x4_splat(of->low);
    for (int i = 0; i < 2; i++) x[i] = wasm_f32x4_pmax(wasm_v128_or(x[i], sign), end);
    for (int i = 0; i < 2; i++) shifted[i] = madd(x[i], log2e, magic);
    for (int i = 0; i < 2; i++) n[i] = wasm_f32x4_sub(shifted[i], magic);
    for (int i = 0; i < 2; i++) x[i] = madd(n[i], low, madd(n[i], high, wasm_f32x4_add(x[i], x[i])));
    for (int i = 0; i < 2; i++) minus[i] = wasm_i32x4_add(one, wasm_i32x4_shl(shifted[i], 23));
}

/* The second one: cap r becomes cap |tanh(x / cap)|. */
ALWAYS_INLINE void tanh_finish(v128_t scaled[2], const v128_t minus[2], const tanh_cap *of) {
    const float (*c)[4] = tanh_table;
    const v128_t cap = wasm_f32x4_splat(of->cap), inverse = wasm_f32x4_splat(of->inverse);
    v128_t r[2], square[2], p[2];

    HIDE(c);
    for (int i = 0; i < 2; i++) r[i] = wasm_f32x4_mul(scaled[i], inverse);
    for (int i = 0; i < 2; i++) square[i] = wasm_f32x4_mul(r[i], r[i]);
    const v128_t c6 = wasm_v128_load(c[3]), c5 = wasm_v128_load(c[4]), c4 = wasm_v128_load(c[5]);
    for (int i = 0; i < 2; i++) p[i] = madd(c6, square[i], madd(c5, r[i], c4));
    const v128_t c3 = wasm_v128_load(c[6]), c2 = wasm_v128_load(c[7]);
    for (int i = 0; i < 2; i++) p[i] = madd(p[i], square[i], madd(c3, r[i], c2));
    const v128_t one = wasm_v128_load(c[8]);
    for (int i = 0; i < 2; i++) {
        const v128_t part = wasm_f32x4_mul(madd(wasm_f32x4_mul(p[i], r[i]), scaled[i], scaled[i]), minus[i]);
        const v128_t numerator = wasm_f32x4_add(madd(cap, minus[i], cap), part);
        const v128_t denominator = wasm_f32x4_sub(wasm_f32x4_sub(one, minus[i]), wasm_f32x4_mul(part, inverse));
        scaled[i] = wasm_f32x4_div(numerator, denominator);
    }
}

#endif
