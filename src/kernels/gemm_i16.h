/* gemm_i16.h - the integer GEMMs of gemm_q10_simd.c and gemm_q8_simd.c: the same tiles as gemm_f32_simd.c, where a step
 * takes a pair of k and i32x4.dot_i16x8_s adds both products. It is plain SIMD, ahead of the relaxed int8 dot products
 * on most machines, and leaves room for 10-bit weights. Weights are addressed by bytes, BYTES (1 or 2) each; those of
 * one byte are widened as they come. */
#ifndef QKV_KERNELS_GEMM_I16_H
#define QKV_KERNELS_GEMM_I16_H

#include "gemm_finish.h"
#include "kernels.h"
#include "simd.h"

#define PANELS_MAX 4

/* Four pairs. */
ALWAYS_INLINE v128_t load_weights(const int8_t *w, const int BYTES) {
    return BYTES == 2 ? wasm_v128_load(w) : wasm_i16x8_load8x8(w);
}

/* sums[r, c] = sum of a[., r] . w[., c] over the pairs, for R rows and P panels. The rows of one pair lie `step`
 * pairs apart. R, P and BYTES are constants once inlined. Nothing but stores may follow the loop: V8 orders its
 * body by what comes after, and would load all splats first, more than it has registers for. */
ALWAYS_INLINE void integer_tile(int32_t *sums, const int16_t *a, const int8_t *w, size_t panel_bytes, int pairs,
                                const int R, const int P, int step, const int BYTES) {
    v128_t acc[QKV_ROWS_MAX][2 * PANELS_MAX];
    const int8_t *panel[PANELS_MAX];

    for (int p = 0; p < P; p++) panel[p] = w + (size_t)p * panel_bytes;
    for (int r = 0; r < R; r++) {
        for (int c = 0; c < 2 * P; c++) acc[r][c] = wasm_i32x4_splat(0);
    }
    for (const int8_t *end = w + (size_t)pairs * (size_t)(2 * QKV_PANEL * BYTES); panel[0] != end;) {
        v128_t b[2 * PANELS_MAX];
        for (int c = 0; c < 2 * P; c++) b[c] = load_weights(panel[c / 2] + c % 2 * 8 * BYTES, BYTES);
        for (int r = 0; r < R; r++) {
            KEEP_ORDER();
            const v128_t x = wasm_v128_load32_splat(a + r * 2);
            for (int c = 0; c < 2 * P; c++) acc[r][c] = wasm_i32x4_add(acc[r][c], wasm_i32x4_dot_i16x8(x, b[c]));
        }
        a += step * 2;
        for (int p = 0; p < P; p++) panel[p] += 2 * QKV_PANEL * BYTES;
    }
    for (int r = 0; r < R; r++) {
        for (int c = 0; c < 2 * P; c++) wasm_v128_store(sums + (r * P * 2 + c) * 4, acc[r][c]);
    }
}

/* To be one function, called from several places; see gemm_f32_simd.c for why. */
typedef void any_integer_tile(int32_t *sums, const int16_t *a, const int8_t *w, size_t panel_bytes, int pairs, int rows,
                              int panels, int step);

ALWAYS_INLINE void choose_tile(int32_t *sums, const int16_t *a, const int8_t *w, size_t panel_bytes, int pairs,
                               int rows, int panels, int step, const int BYTES) {
    switch (rows * 8 + panels) {
    case 1 * 8 + 1: integer_tile(sums, a, w, panel_bytes, pairs, 1, 1, step, BYTES); break;
    case 1 * 8 + 2: integer_tile(sums, a, w, panel_bytes, pairs, 1, 2, step, BYTES); break;
    case 1 * 8 + 4: integer_tile(sums, a, w, panel_bytes, pairs, 1, 4, step, BYTES); break;
    case 2 * 8 + 1: integer_tile(sums, a, w, panel_bytes, pairs, 2, 1, step, BYTES); break;
    case 2 * 8 + 2: integer_tile(sums, a, w, panel_bytes, pairs, 2, 2, step, BYTES); break;
    case 3 * 8 + 1: integer_tile(sums, a, w, panel_bytes, pairs, 3, 1, step, BYTES); break;
    default: integer_tile(sums, a, w, panel_bytes, pairs, 4, 1, step, BYTES); break;
    }
}

/* A product always needs a register, so blocks of five and six rows go in two: 18 % faster in Node 20, the same in a
 * later V8. */
ALWAYS_INLINE void block_tile(int32_t *sums, const int16_t *a, const int8_t *w, size_t panel_bytes, int pairs, int rows,
                              int panels, any_integer_tile *any_tile) {
    const int first = rows > 4 ? 3 : rows;

    any_tile(sums, a, w, panel_bytes, pairs, first, panels, rows);
    if (rows > first) {
        any_tile(sums + first * QKV_PANEL, a + first * 2, w, panel_bytes, pairs, rows - first, panels, rows);
    }
}

static inline int integer_panels_at_once(int rows, int left) {
    if (rows == 1 && left >= 4) return 4;
    return rows <= 2 && left >= 2 ? 2 : 1;
}

/* One tile over all of k: the integer sums of a chunk become floats, and those of further chunks are added. */
ALWAYS_INLINE void all_chunks(float *to, const int16_t *a, const int8_t *w, size_t panel_bytes, int k, int rows,
                              int panels, any_integer_tile *any_tile, const int BYTES) {
    const int chunk = QKV_CHUNK / 2, count = rows * panels * QKV_PANEL;
    int32_t sums[QKV_ROWS_MAX * QKV_PANEL];
    int left = (k + 1) / 2;

    block_tile(sums, a, w, panel_bytes, left < chunk ? left : chunk, rows, panels, any_tile);
    for (int i = 0; i < count; i += 4) wasm_v128_store(to + i, wasm_f32x4_convert_i32x4(wasm_v128_load(sums + i)));
    for (left -= chunk; left > 0; left -= chunk) {
        a += chunk * 2 * rows;
        w += chunk * 2 * QKV_PANEL * BYTES;
        block_tile(sums, a, w, panel_bytes, left < chunk ? left : chunk, rows, panels, any_tile);
        for (int i = 0; i < count; i += 4) {
            const v128_t more = wasm_f32x4_convert_i32x4(wasm_v128_load(sums + i));
            wasm_v128_store(to + i, wasm_f32x4_add(wasm_v128_load(to + i), more));
        }
    }
}

/* w_scales: [cols rounded up to 8]. */
ALWAYS_INLINE void integer_gemm(const qkv_gemm *g, const int16_t *a, const float *a_scales, const int8_t *w,
                                const float *w_scales, any_integer_tile *any_tile, const int BYTES) {
    const int all = (g->cols + QKV_PANEL - 1) / QKV_PANEL;
    const size_t row_size = ((size_t)g->k + 1) / 2 * 2, panel_bytes = g->panel_stride * (size_t)BYTES;
    const gemm_scales scales = {a_scales, w_scales};
    int panels, block;

    for (int p = 0; p < all; p += panels) {
        panels = integer_panels_at_once(g->rows, all - p);
        const int16_t *rows = a;

        for (int m = 0; m < g->rows; m += block, rows += row_size * (size_t)block) {
            float sums[QKV_ROWS_MAX * QKV_PANEL];
            block = qkv_row_block(g->rows - m);
            all_chunks(sums, rows, w + (size_t)p * panel_bytes, panel_bytes, g->k, block, panels, any_tile, BYTES);
            qkv_finish_tile(g, &scales, sums, panels, m, block, p * QKV_PANEL);
        }
    }
}

#endif
