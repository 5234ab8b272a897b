/* activation_f32.h - the activations between two matrices, one element or four at a time. The numbers are those of
 * kernels.h.
 *
 * SiLU, quick GELU and the tanh form of GELU are all x * sigmoid(z): with z = x, z = 1.702 x and, since
 * (1 + tanh u) / 2 = sigmoid(2u), z = 2 sqrt(2 / pi) (x + 0.044715 x^3) (arXiv 1606.08415). z has the sign of x. With
 * e = exp(-|z|) sigmoid(z) is 1 / (1 + e) or e / (1 + e), so nothing overflows and nothing cancels. NaN gives NaN,
 * +infinity itself; -infinity gives NaN as in PyTorch, where it is -infinity * 0 too.
 *
 * Four at a time these and the exact GELU take three steps: an exponent, e^exponent, the rest. */
#ifndef QKV_KERNELS_ACTIVATION_F32_H
#define QKV_KERNELS_ACTIVATION_F32_H

#include "exp_f32.h"
#include "gelu_f32.h"
#include "simd.h"

enum {
    ACTIVATION_NONE,
    ACTIVATION_GELU,
    ACTIVATION_GELU_TANH,
    ACTIVATION_RELU,
    ACTIVATION_SILU,
    ACTIVATION_QUICK_GELU
};

#define QUICK_GELU_FACTOR 1.702f
#define GELU_TANH_1 1.59576912f   /* 2 sqrt(2 / pi) */
#define GELU_TANH_3 0.0713548163f /* 0.044715 of it */

static inline float times_sigmoid_one(float x, float z) {
    const float e = exp_one(-__builtin_fabsf(z));
    return x * (x < 0.0f ? e : 1.0f) / (1.0f + e);
}

static inline float activate_one(float x, int activation) {
    switch (activation) {
    case ACTIVATION_GELU: return gelu_one(x);
    case ACTIVATION_GELU_TANH: return times_sigmoid_one(x, x * ((x * x) * GELU_TANH_3 + GELU_TANH_1));
    case ACTIVATION_RELU:
        return (x < 0.0f ? 0.0f : x) + 0.0f; /* a maximum may lose the sign of 0: it goes everywhere */
    case ACTIVATION_SILU: return times_sigmoid_one(x, x);
    case ACTIVATION_QUICK_GELU: return times_sigmoid_one(x, x * QUICK_GELU_FACTOR);
    default: return x;
    }
}

ALWAYS_INLINE v128_t relu_four(v128_t x) {
    const v128_t zero = wasm_f32x4_splat(0.0f);
    return wasm_f32x4_add(wasm_v128_andnot(x, wasm_f32x4_lt(x, zero)), zero);
}

/* -|z|. `activation` is a constant once inlined. */
ALWAYS_INLINE v128_t sigmoid_exponent(v128_t x, const int activation) {
    v128_t z = x;

    if (activation == ACTIVATION_QUICK_GELU) z = wasm_f32x4_mul(x, wasm_f32x4_splat(QUICK_GELU_FACTOR));
    if (activation == ACTIVATION_GELU_TANH) {
        z = wasm_f32x4_mul(x, horner(wasm_f32x4_splat(GELU_TANH_3), wasm_f32x4_mul(x, x), GELU_TANH_1));
    }
    return wasm_v128_or(z, wasm_f32x4_splat(-0.0f));
}

/* e: exp(-|z|). */
ALWAYS_INLINE v128_t times_sigmoid_four(v128_t x, v128_t e) {
    const v128_t one = wasm_f32x4_splat(1.0f);
    const v128_t part = wasm_v128_bitselect(e, one, wasm_f32x4_lt(x, wasm_f32x4_splat(0.0f)));
    return wasm_f32x4_div(wasm_f32x4_mul(x, part), wasm_f32x4_add(one, e));
}

#endif
