/* kernels_module.c - the kernels by themselves, and probes of what the machine gives: a wasm module for bench/kernels.js
 * that is never shipped. Every function repeats its work `times` times, so that the call from JavaScript does not count.
 *
 * The peaks come from loops that touch registers only. How many chains hide the latency without spilling depends on the
 * processor and the engine, so there are several, and the best counts. No chain equals another, and no product is the
 * same twice: a compiler could do such work once. */
#include "kernels.h"
#include "simd.h"

#define EXPORT(name) __attribute__((export_name("bench_" #name))) bench_##name
#pragma clang diagnostic ignored "-Wmissing-prototypes" /* nothing in C calls an export */

extern unsigned char __heap_base; /* set by the linker: first byte behind stack and data */

unsigned char *EXPORT(heap)(void) {
    return &__heap_base;
}

/* ---- peaks: `times` steps of every chain, one vector operation (two with plain mul and add) a step --------------------- */

#define CHAINS_MAX 13

/* Starts N different chains, repeats STEP for each, and returns a sum that needs all of them. */
#define PROBE(name, N, STEP)                                                              \
    float EXPORT(name)(float x, float y, int times) {                                     \
        const v128_t a = wasm_f32x4_splat(x), b = wasm_f32x4_splat(y);                    \
        v128_t acc[CHAINS_MAX], sum = wasm_f32x4_splat(0.0f);                             \
        for (int i = 0; i < N; i++) acc[i] = wasm_f32x4_splat(x + (float)i);              \
        for (int t = 0; t < times; t++) {                                                 \
            _Pragma("clang loop unroll(full)") for (int i = 0; i < N; i++) acc[i] = STEP; \
        }                                                                                 \
        for (int i = 0; i < N; i++) sum = wasm_f32x4_add(sum, acc[i]);                    \
        return sum_lanes(sum);                                                            \
    }

#define MUL_ADD wasm_f32x4_add(wasm_f32x4_mul(acc[i], a), b)
#define DOT_ADD wasm_i32x4_add(wasm_i32x4_dot_i16x8(acc[i], a), b)

PROBE(mul_add_8, 8, MUL_ADD)
PROBE(mul_add_10, 10, MUL_ADD)
PROBE(mul_add_12, 12, MUL_ADD)
PROBE(dot_add_8, 8, DOT_ADD)
PROBE(dot_add_10, 10, DOT_ADD)
PROBE(dot_add_12, 12, DOT_ADD)
#ifdef __wasm_relaxed_simd__
#define FMA wasm_f32x4_relaxed_madd(a, b, acc[i])
PROBE(fma_8, 8, FMA)
PROBE(fma_10, 10, FMA)
PROBE(fma_12, 12, FMA)
#endif

/* Reads memory in S streams at once; bytes is a multiple of 64 S. How many a processor's prefetchers like best differs too. */
#define READ(S)                                                                                               \
    int EXPORT(read_##S)(const uint8_t *from, size_t bytes) {                                                 \
        v128_t acc[4], sum = wasm_i32x4_splat(0);                                                             \
        for (int i = 0; i < 4; i++) acc[i] = sum;                                                             \
        for (const uint8_t *p = from, *end = from + bytes / S; p != end; p += 64) {                           \
            for (size_t i = 0; i < 4 * S; i++) {                                                              \
                acc[i % 4] = wasm_v128_xor(acc[i % 4], wasm_v128_load(p + i / 4 * (bytes / S) + i % 4 * 16)); \
            }                                                                                                 \
        }                                                                                                     \
        for (int i = 0; i < 4; i++) sum = wasm_v128_xor(sum, acc[i]);                                         \
        return wasm_i32x4_extract_lane(sum, 0);                                                               \
    }

READ(1)
READ(2)
READ(4)
READ(8)

/* ---- kernels -------------------------------------------------------------------------------------------------------- */

/* Weights of 4 (f32), 2 (q10) or 1 (q8) bytes; the next repetition takes the matrix `stride` bytes behind this one. */
void EXPORT(gemm)(int weight_bytes, int rows, int k, int cols, const void *a, const float *a_scales, const uint8_t *w,
                  const float *w_scales, float *out, size_t stride, int times) {
    qkv_gemm g = {.out = out, .out_stride = (size_t)cols, .rows = rows, .k = k, .cols = cols};
    g.panel_stride = (size_t)k * QKV_PANEL;
    for (int t = 0; t < times; t++, w += stride) {
        if (weight_bytes == 4) qkv_gemm_f32(&g, a, (const float *)(const void *)w);
        if (weight_bytes == 2) qkv_gemm_q10(&g, a, a_scales, (const int16_t *)(const void *)w, w_scales);
        if (weight_bytes == 1) qkv_gemm_q8(&g, a, a_scales, (const int8_t *)w, w_scales);
    }
}

void EXPORT(pack_f32)(float *panels, const float *x, int rows, int k, int times) {
    for (int t = 0; t < times; t++) qkv_pack_f32(panels, x, (size_t)k, rows, k);
}

void EXPORT(pack_i16)(int16_t *panels, float *scales, const float *x, int rows, int k, int times) {
    for (int t = 0; t < times; t++) qkv_pack_i16(panels, scales, x, (size_t)k, rows, k, QKV_Q10_MAX);
}

/* Softmax of a row: range, exp and sum, times 1 / sum. */
void EXPORT(softmax)(float *y, const float *x, int rows, int n, int times) {
    for (int t = 0; t < times; t++) {
        for (int r = 0; r < rows; r++) {
            float least;
            float *row = y + (size_t)r * (size_t)n;
            const float *from = x + (size_t)r * (size_t)n;
            const float max = qkv_range_f32(&least, from, n, 1.0f);
            qkv_mul_f32(row, row, n, 1.0f / qkv_sum_exp_scaled_f32(row, from, n, 1.0f, max, least));
        }
    }
}

void EXPORT(exp)(float *y, const float *x, int n, float max, int times) {
    for (int t = 0; t < times; t++) qkv_sum_exp_f32(y, x, n, max);
}

void EXPORT(layer_norm)(float *y, const float *x, int rows, int n, const float *weight, int times) {
    for (int t = 0; t < times; t++) {
        for (int r = 0; r < rows; r++) qkv_layer_norm_f32(y + r * n, x + r * n, n, weight, weight, 1e-5f);
    }
}

void EXPORT(rms_norm)(float *y, const float *x, int rows, int n, const float *weight, int times) {
    for (int t = 0; t < times; t++) {
        for (int r = 0; r < rows; r++) qkv_rms_norm_f32(y + r * n, x + r * n, n, weight, 1e-5f);
    }
}

void EXPORT(activate)(float *y, const float *x, int n, int activation, int times) {
    for (int t = 0; t < times; t++) qkv_activate_f32(y, x, n, activation);
}

void EXPORT(softcap)(float *y, const float *x, int n, float cap, int times) {
    for (int t = 0; t < times; t++) qkv_softcap_f32(y, x, n, cap);
}
