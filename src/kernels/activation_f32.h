/* activation_f32.h - the activations between two matrices, one element or four at a time. The numbers are those of
 * kernels.h.
 *
 * SiLU, quick GELU and the tanh form of GELU are all x * sigmoid(z): with z = x, z = 1.702 x and, since
 * (1 + tanh u) / 2 = sigmoid(2u), z = 2 sqrt(2 / pi) (x + 0.044715 x^3) (arXiv 1606.08415). z has the sign of x.
 * x * sigmoid(z) = x / (1 + 2^y) with y = -z / ln 2, cut so that 2^y is normal, or infinity where z is very negative:
 * nothing overflows before and nothing cancels. NaN gives NaN, +infinity itself; -infinity gives NaN as in PyTorch,
 * where it is -infinity * 0 too. */
#ifndef QKV_KERNELS_ACTIVATION_F32_H
#define QKV_KERNELS_ACTIVATION_F32_H

#include "exp2_f32.h"
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

#define SILU_FACTOR (-1.44269504f)       /* -1 / ln 2 */
#define QUICK_GELU_FACTOR (-2.45546696f) /* 1.702 of it */
#define GELU_TANH_1 (-2.30220820f)       /* 2 sqrt(2 / pi) of it */
#define GELU_TANH_3 (-0.102943240f)      /* 0.044715 of that */
#define SIGMOID_MOST 128.0f
#define SIGMOID_LEAST (-126.0f)

static inline float times_sigmoid_one(float x, float y) {
    if (SIGMOID_MOST < y) y = SIGMOID_MOST;
    if (y < SIGMOID_LEAST) y = SIGMOID_LEAST;
    return x / (exp2_one(y) + 1.0f);
}

static inline float activate_one(float x, int activation) {
    switch (activation) {
    case ACTIVATION_GELU: return gelu_one(x);
    case ACTIVATION_GELU_TANH: return times_sigmoid_one(x, x * ((x * x) * GELU_TANH_3 + GELU_TANH_1));
    case ACTIVATION_RELU:
        return (x < 0.0f ? 0.0f : x) + 0.0f; /* + 0 turns -0 into +0, since a maximum may give either */
    case ACTIVATION_SILU: return times_sigmoid_one(x, x * SILU_FACTOR);
    case ACTIVATION_QUICK_GELU: return times_sigmoid_one(x, x * QUICK_GELU_FACTOR);
    default: return x;
    }
}

ALWAYS_INLINE v128_t relu_four(v128_t x) {
    const v128_t zero = wasm_f32x4_splat(0.0f);
    return wasm_f32x4_add(wasm_f32x4_pmax(x, zero), zero);
}

static const float sigmoid_table[][4] = {
    FOUR(SILU_FACTOR), FOUR(QUICK_GELU_FACTOR), FOUR(GELU_TANH_1),   FOUR(GELU_TANH_3),
    FOUR(1.0f),        FOUR(SIGMOID_MOST),      FOUR(SIGMOID_LEAST), FOUR(EXP2_MAGIC),
};

/* x * sigmoid(z) of two vectors. `activation` is a constant once inlined. */
ALWAYS_INLINE void times_sigmoid_two(v128_t x[2], const int activation) {
    const float (*c)[4] = sigmoid_table;
    v128_t y[2], shift[2];

    HIDE(c);
    if (activation == ACTIVATION_GELU_TANH) {
        const v128_t c1 = wasm_v128_load(c[2]), c3 = wasm_v128_load(c[3]);
        for (int i = 0; i < 2; i++) y[i] = wasm_f32x4_mul(x[i], madd(wasm_f32x4_mul(x[i], x[i]), c3, c1));
    } else {
        const v128_t factor = wasm_v128_load(c[activation == ACTIVATION_SILU ? 0 : 1]);
        for (int i = 0; i < 2; i++) y[i] = wasm_f32x4_mul(x[i], factor);
    }
    const v128_t most = wasm_v128_load(c[5]), least = wasm_v128_load(c[6]), magic = wasm_v128_load(c[7]);
    for (int i = 0; i < 2; i++) y[i] = wasm_f32x4_pmax(wasm_f32x4_pmin(y[i], most), least);
    for (int i = 0; i < 2; i++) shift[i] = exp2_reduce(&y[i], magic);
    exp2_expand(y, exp2_table);
    const v128_t one = wasm_v128_load(c[4]);
    for (int i = 0; i < 2; i++) x[i] = wasm_f32x4_div(x[i], wasm_f32x4_add(wasm_i32x4_add(y[i], shift[i]), one));
}

#endif
