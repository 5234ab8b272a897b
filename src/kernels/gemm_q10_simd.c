/* The same tiles as gemm_f32_simd.c, in int16: a step takes a pair of k, and i32x4.dot_i16x8_s adds both products. It is
 * plain SIMD, ahead of the relaxed int8 dot products on most machines, and leaves room for 10-bit weights. */
#include <stdbool.h>

#include "gemm_finish.h"
#include "kernels.h"
#include "simd.h"

#define PANELS_MAX 4

/* to[r, c] = float(sum over the pairs), added to what is there when `more`; R and P are constants once inlined. */
ALWAYS_INLINE void tile(float *to, const int16_t *a, const int16_t *w, size_t panel_stride, int pairs, bool more,
                        const int R, const int P) {
    v128_t acc[QKV_ROWS_MAX][2 * PANELS_MAX];
    const int16_t *panel[PANELS_MAX];

    for (int p = 0; p < P; p++) panel[p] = w + (size_t)p * panel_stride;
    for (int r = 0; r < R; r++) {
        for (int c = 0; c < 2 * P; c++) acc[r][c] = wasm_i32x4_splat(0);
    }
    for (int left = pairs; left > 0; left--) {
        v128_t b[2 * PANELS_MAX];
        for (int c = 0; c < 2 * P; c++) b[c] = wasm_v128_load(panel[c / 2] + c % 2 * 8);
        for (int r = 0; r < R; r++) {
            KEEP_ORDER();
            const v128_t x = wasm_v128_load32_splat(a + r * 2);
            for (int c = 0; c < 2 * P; c++) acc[r][c] = wasm_i32x4_add(acc[r][c], wasm_i32x4_dot_i16x8(x, b[c]));
        }
        a += R * 2;
        for (int p = 0; p < P; p++) panel[p] += 2 * QKV_PANEL;
    }
    for (int r = 0; r < R; r++) {
        for (int c = 0; c < 2 * P; c++) {
            float *four = to + (r * P * 2 + c) * 4;
            const v128_t sum = wasm_f32x4_convert_i32x4(acc[r][c]);
            wasm_v128_store(four, more ? wasm_f32x4_add(wasm_v128_load(four), sum) : sum);
        }
    }
}

static int panels_at_once(int rows, int left) {
    if (rows == 1 && left >= 4) return 4;
    return rows <= 2 && left >= 2 ? 2 : 1;
}

static void any_tile(float *to, const int16_t *a, const int16_t *w, size_t panel_stride, int pairs, bool more, int rows,
                     int panels) {
    switch (rows * 8 + panels) {
    case 1 * 8 + 4: tile(to, a, w, panel_stride, pairs, more, 1, 4); break;
    case 1 * 8 + 2: tile(to, a, w, panel_stride, pairs, more, 1, 2); break;
    case 1 * 8 + 1: tile(to, a, w, panel_stride, pairs, more, 1, 1); break;
    case 2 * 8 + 2: tile(to, a, w, panel_stride, pairs, more, 2, 2); break;
    case 2 * 8 + 1: tile(to, a, w, panel_stride, pairs, more, 2, 1); break;
    case 3 * 8 + 1: tile(to, a, w, panel_stride, pairs, more, 3, 1); break;
    case 4 * 8 + 1: tile(to, a, w, panel_stride, pairs, more, 4, 1); break;
    case 5 * 8 + 1: tile(to, a, w, panel_stride, pairs, more, 5, 1); break;
    case 6 * 8 + 1: tile(to, a, w, panel_stride, pairs, more, 6, 1); break;
    default: __builtin_unreachable();
    }
}

/* One tile over all of k, chunk by chunk. */
static void all_chunks(float *to, const int16_t *a, const int16_t *w, size_t panel_stride, int k, int rows,
                       int panels) {
    const int pairs = (k + 1) / 2;
    int done = 0;

    do {
        const int count = pairs - done < QKV_Q10_CHUNK / 2 ? pairs - done : QKV_Q10_CHUNK / 2;
        any_tile(to, a + (size_t)done * 2 * (size_t)rows, w + (size_t)done * 2 * QKV_PANEL, panel_stride, count,
                 done > 0, rows, panels);
        done += count;
    } while (done < pairs);
}

void qkv_gemm_q10_simd(const qkv_gemm *g, const int16_t *a, const float *a_scales, const int16_t *w,
                       const float *w_scales) {
    const int all = (g->cols + QKV_PANEL - 1) / QKV_PANEL;
    const size_t row_size = ((size_t)g->k + 1) / 2 * 2;
    const gemm_scales scales = {a_scales, w_scales};
    int panels, block;

    for (int p = 0; p < all; p += panels) {
        panels = panels_at_once(g->rows, all - p);
        const int width = panels * QKV_PANEL, n = p * QKV_PANEL;
        const int16_t *rows = a;

        for (int m = 0; m < g->rows; m += block, rows += row_size * (size_t)block) {
            float sums[QKV_ROWS_MAX * QKV_PANEL];
            block = qkv_row_block(g->rows - m);
            all_chunks(sums, rows, w + (size_t)p * g->panel_stride, g->panel_stride, g->k, block, panels);
            finish_tile(g, &scales, sums, width, m, block, n, g->cols - n < width ? g->cols - n : width);
        }
    }
}
