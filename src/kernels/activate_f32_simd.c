/* Both kernels: y = activation(x) * up, without up when it is NULL. A part of the row at a time, in three passes over
 * it: one chain of some forty dependent steps would leave most of the processor idle. y may be either input, since an
 * element is written last. */
#include "activation_f32.h"
#include "kernels.h"
#include "simd.h"

#define PART 64

ALWAYS_INLINE void sigmoid_exponents(float *e, const float *x, int n, const int activation) {
    for (int i = 0; i < n; i += 4) wasm_v128_store(e + i, sigmoid_exponent(wasm_v128_load(x + i), activation));
}

static void gelu_exponents(float *e, const float *x, int n) {
    int i = 0;

    for (; i + 8 <= n; i += 8) {
        v128_t v[2] = {wasm_v128_load(x + i), wasm_v128_load(x + i + 4)};
        gelu_log_tails(v, 2);
        wasm_v128_store(e + i, v[0]);
        wasm_v128_store(e + i + 4, v[1]);
    }
    if (i < n) {
        v128_t v = wasm_v128_load(x + i);
        gelu_log_tails(&v, 1);
        wasm_v128_store(e + i, v);
    }
}

static void exponentials(float *e, int n) {
    int i = 0;

    for (; i + 16 <= n; i += 16) {
        v128_t v[4];
        for (int j = 0; j < 4; j++) v[j] = wasm_v128_load(e + i + 4 * j);
        exp_vectors(v, 4);
        for (int j = 0; j < 4; j++) wasm_v128_store(e + i + 4 * j, v[j]);
    }
    for (; i < n; i += 4) wasm_v128_store(e + i, exp_four(wasm_v128_load(e + i)));
}

/* The last pass. `activation` is a constant once inlined; e: what the passes before it left. */
ALWAYS_INLINE void finish(float *y, const float *x, const float *e, const float *up, int n, const int activation) {
    for (int i = 0; i < n; i += 4) {
        v128_t v = wasm_v128_load(x + i);
        if (activation == ACTIVATION_GELU) v = gelu_from_tail(v, wasm_v128_load(e + i));
        if (activation == ACTIVATION_RELU) v = relu_four(v);
        if (activation == ACTIVATION_SILU) v = times_sigmoid_four(v, wasm_v128_load(e + i));
        if (up) v = wasm_f32x4_mul(v, wasm_v128_load(up + i));
        wasm_v128_store(y + i, v);
    }
}

/* n: a multiple of 4, up to PART. */
static void activate_part(float *y, const float *x, const float *up, int n, int activation) {
    float e[PART];

    switch (activation) {
    case ACTIVATION_NONE: finish(y, x, NULL, up, n, ACTIVATION_NONE); return;
    case ACTIVATION_RELU: finish(y, x, NULL, up, n, ACTIVATION_RELU); return;
    case ACTIVATION_GELU: gelu_exponents(e, x, n); break;
    case ACTIVATION_GELU_TANH: sigmoid_exponents(e, x, n, ACTIVATION_GELU_TANH); break;
    case ACTIVATION_SILU: sigmoid_exponents(e, x, n, ACTIVATION_SILU); break;
    default: sigmoid_exponents(e, x, n, ACTIVATION_QUICK_GELU); break;
    }
    exponentials(e, n);
    if (activation == ACTIVATION_GELU) finish(y, x, e, up, n, ACTIVATION_GELU);
    else finish(y, x, e, up, n, ACTIVATION_SILU); /* all that are x * sigmoid */
}

static void activate(float *y, const float *x, const float *up, int n, int activation) {
    int i = 0, count;

    for (; i + 4 <= n; i += count) {
        count = n - i < PART ? (n - i) / 4 * 4 : PART;
        activate_part(y + i, x + i, up ? up + i : NULL, count, activation);
    }
    if (i < n) {
        float last[4], factor[4];
        wasm_v128_store(last, load_part(x + i, n - i, 0.0f));
        if (up) wasm_v128_store(factor, load_part(up + i, n - i, 0.0f));
        activate_part(last, last, up ? factor : NULL, 4, activation);
        store_part(y + i, wasm_v128_load(last), n - i);
    }
}

void qkv_activate_f32_simd(float *y, const float *x, int n, int activation) {
    activate(y, x, NULL, n, activation);
}

void qkv_gate_f32_simd(float *y, const float *gate, const float *up, int n, int activation) {
    activate(y, gate, up, n, activation);
}
