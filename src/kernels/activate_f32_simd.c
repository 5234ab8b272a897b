/* Every pass takes eight elements a turn, two vectors with each constant loaded once. y may be an input of either kernel: an
 * element is read for the last time before it is written. */
#include "activation_f32.h"
#include "kernels.h"
#include "simd.h"

#define PART 256 /* elements of a row that go through all passes at a time; a multiple of 8 */

/* GELU takes two passes, since one chain of some forty dependent steps would leave most of the processor idle; functions
 * of their own, so that each loop has all registers. n is a multiple of 8 in all. */
static __attribute__((noinline)) void gelu_first(float *r, float *s, const float *x, int n) {
    for (const float *end = x + n; x != end; x += 8, r += 8, s += 8) {
        v128_t v[2] = {wasm_v128_load(x), wasm_v128_load(x + 4)}, scaled[2];
        gelu_prepare(v, scaled);
        for (int i = 0; i < 2; i++) wasm_v128_store(s + 4 * i, scaled[i]);
        for (int i = 0; i < 2; i++) wasm_v128_store(r + 4 * i, v[i]);
    }
}

static __attribute__((noinline)) void gelu_second(float *y, const float *x, const float *r, const float *s, int n) {
    for (const float *end = x + n; x != end; x += 8, y += 8, r += 8, s += 8) {
        v128_t v[2] = {wasm_v128_load(r), wasm_v128_load(r + 4)};
        exp2_expand(v, gelu_exp2_table);
        for (int i = 0; i < 2; i++) {
            v[i] = gelu_from_half(wasm_v128_load(x + 4 * i), wasm_v128_load(s + 4 * i), v[i]);
        }
        for (int i = 0; i < 2; i++) wasm_v128_store(y + 4 * i, v[i]);
    }
}

static void gelu(float *y, const float *x, int n) {
    float r[PART], s[PART];

    gelu_first(r, s, x, n);
    gelu_second(y, x, r, s, n);
}

/* `activation` is a constant once inlined. */
ALWAYS_INLINE void times_sigmoid(float *y, const float *x, int n, const int activation) {
    for (const float *end = x + n; x != end; x += 8, y += 8) {
        v128_t v[2] = {wasm_v128_load(x), wasm_v128_load(x + 4)};
        times_sigmoid_two(v, activation);
        for (int i = 0; i < 2; i++) wasm_v128_store(y + 4 * i, v[i]);
    }
}

static void relu(float *y, const float *x, int n) {
    for (int i = 0; i < n; i += 4) wasm_v128_store(y + i, relu_four(wasm_v128_load(x + i)));
}

/* n: a multiple of 8, up to PART. */
static void activate_part(float *y, const float *x, int n, int activation) {
    switch (activation) {
    case ACTIVATION_GELU: gelu(y, x, n); break;
    case ACTIVATION_GELU_TANH: times_sigmoid(y, x, n, ACTIVATION_GELU_TANH); break;
    case ACTIVATION_RELU: relu(y, x, n); break;
    case ACTIVATION_SILU: times_sigmoid(y, x, n, ACTIVATION_SILU); break;
    case ACTIVATION_QUICK_GELU: times_sigmoid(y, x, n, ACTIVATION_QUICK_GELU); break;
    default: __builtin_memmove(y, x, (size_t)n * sizeof *y);
    }
}

/* The elements behind the last eight. */
static void activate_rest(float *y, const float *x, int n, int activation) {
    float part[8] = {0.0f};

    for (int i = 0; i < n; i++) part[i] = x[i];
    activate_part(part, part, 8, activation);
    for (int i = 0; i < n; i++) y[i] = part[i];
}

static int part_of(int left) {
    return left < PART ? left / 8 * 8 : PART;
}

void qkv_activate_f32_simd(float *y, const float *x, int n, int activation) {
    int i = 0;

    for (int count; i + 8 <= n; i += count) {
        count = part_of(n - i);
        activate_part(y + i, x + i, count, activation);
    }
    if (i < n) activate_rest(y + i, x + i, n - i, activation);
}

void qkv_gate_f32_simd(float *y, const float *gate, const float *up, int n, int activation) {
    float part[PART];
    int i = 0;

    for (int count; i < n; i += count) {
        count = n - i < PART ? n - i : PART;
        qkv_activate_f32_simd(part, gate + i, count, activation);
        int j = 0;
        for (; j + 4 <= count; j += 4) {
            wasm_v128_store(y + i + j, wasm_f32x4_mul(wasm_v128_load(part + j), wasm_v128_load(up + i + j)));
        }
        for (; j < count; j++) y[i + j] = part[j] * up[i + j];
    }
}
