/* gemm_finish.h - the last step of both GEMMs, one output or four at a time: the scales of q10, then what qkv_gemm asks
 * for. Multiplications and additions stay apart even in the relaxed build: there is nothing to gain here, and every step
 * of a run that is shown keeps its own rounding. */
#ifndef QKV_KERNELS_GEMM_FINISH_H
#define QKV_KERNELS_GEMM_FINISH_H

#include "gelu_f32.h"
#include "kernels.h"
#include "simd.h"

/* Scales of q10: one a row, one a column. NULL in f32. */
typedef struct gemm_scales {
    const float *a; /* [rows] */
    const float *w; /* [cols rounded up to 8] */
} gemm_scales;

static inline void finish_one(const qkv_gemm *g, float v, int m, int n) {
    if (g->row_scale) v *= g->row_scale[m];
    if (g->bias) v += g->bias[n];
    if (g->gelu) v = gelu_one(v);
    if (g->residual) v += g->residual[(size_t)m * g->residual_stride + (size_t)n];
    g->out[(size_t)m * g->out_stride + (size_t)n] = v;
}

/* The first `left` (1 to 4) of the outputs that begin at row m, column n. */
static inline void finish_four(const qkv_gemm *g, const gemm_scales *s, v128_t v, int m, int n, int left) {
    float *out = g->out + (size_t)m * g->out_stride + n;

    if (s) v = wasm_f32x4_mul(wasm_f32x4_mul(v, wasm_f32x4_splat(s->a[m])), wasm_v128_load(s->w + n));
    if (g->row_scale) v = wasm_f32x4_mul(v, wasm_f32x4_splat(g->row_scale[m]));
    if (g->bias) v = wasm_f32x4_add(v, wasm_v128_load(g->bias + n));
    if (g->gelu) v = gelu_four(v);
    if (g->residual) {
        const float *residual = g->residual + (size_t)m * g->residual_stride + n;
        v = wasm_f32x4_add(v, left == 4 ? wasm_v128_load(residual) : load_part(residual, left, 0.0f));
    }
    if (left == 4)
        wasm_v128_store(out, v);
    else
        store_part(out, v, left);
}

/* A finished tile [rows, stride], `cols` columns of it, that belongs at row m, column n. */
static inline void finish_tile(const qkv_gemm *g, const gemm_scales *s, const float *tile, int stride, int m, int rows,
                               int n, int cols) {
    for (int r = 0; r < rows; r++) {
        for (int c = 0; c < cols; c += 4) {
            const int left = cols - c < 4 ? cols - c : 4;
            finish_four(g, s, wasm_v128_load(tile + r * stride + c), m + r, n + c, left);
        }
    }
}

#endif
