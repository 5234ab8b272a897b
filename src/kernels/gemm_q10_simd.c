/* The same tiles as gemm_f32_simd.c, in int16: a step takes a pair of k, and i32x4.dot_i16x8_s adds both products.
 * It is plain SIMD, ahead of the relaxed int8 dot products on most machines, and leaves room for 10-bit weights. */
#include "gemm_finish.h"
#include "kernels.h"
#include "simd.h"

#define PANELS_MAX 4

/* sums[r, c] = sum of a[., r] . w[., c] over the pairs, for R rows and P panels. The rows of one pair lie `step`
 * pairs apart. R, P and step are constants once inlined. Nothing but stores may follow the loop: V8 orders its
 * body by what comes after, and would load all splats first, more than it has registers for. */
ALWAYS_INLINE void tile(int32_t *sums, const int16_t *a, const int16_t *w, size_t panel_stride, int pairs, const int R,
                        const int P, const int step) {
    v128_t acc[QKV_ROWS_MAX][2 * PANELS_MAX];
    const int16_t *panel[PANELS_MAX];

    for (int p = 0; p < P; p++) panel[p] = w + (size_t)p * panel_stride;
    for (int r = 0; r < R; r++) {
        for (int c = 0; c < 2 * P; c++) acc[r][c] = wasm_i32x4_splat(0);
    }
    for (const int16_t *end = w + (size_t)pairs * 2 * QKV_PANEL; panel[0] != end;) {
        v128_t b[2 * PANELS_MAX];
        for (int c = 0; c < 2 * P; c++) b[c] = wasm_v128_load(panel[c / 2] + c % 2 * 8);
        for (int r = 0; r < R; r++) {
            KEEP_ORDER();
            const v128_t x = wasm_v128_load32_splat(a + r * 2);
            for (int c = 0; c < 2 * P; c++) acc[r][c] = wasm_i32x4_add(acc[r][c], wasm_i32x4_dot_i16x8(x, b[c]));
        }
        a += step * 2;
        for (int p = 0; p < P; p++) panel[p] += 2 * QKV_PANEL;
    }
    for (int r = 0; r < R; r++) {
        for (int c = 0; c < 2 * P; c++) wasm_v128_store(sums + (r * P * 2 + c) * 4, acc[r][c]);
    }
}

static int panels_at_once(int rows, int left) {
    if (rows == 1 && left >= 4) return 4;
    return rows <= 2 && left >= 2 ? 2 : 1;
}

/* See gemm_f32_simd.c for why this is one function. A product always needs a register, so six rows go in halves. */
static __attribute__((noinline)) void any_tile(int32_t *sums, const int16_t *a, const int16_t *w, size_t panel_stride,
                                               int pairs, int rows, int panels) {
    switch (rows * 8 + panels) {
    case 1 * 8 + 1: tile(sums, a, w, panel_stride, pairs, 1, 1, 1); break;
    case 1 * 8 + 2: tile(sums, a, w, panel_stride, pairs, 1, 2, 1); break;
    case 1 * 8 + 4: tile(sums, a, w, panel_stride, pairs, 1, 4, 1); break;
    case 2 * 8 + 1: tile(sums, a, w, panel_stride, pairs, 2, 1, 2); break;
    case 2 * 8 + 2: tile(sums, a, w, panel_stride, pairs, 2, 2, 2); break;
    case 3 * 8 + 1: tile(sums, a, w, panel_stride, pairs, 3, 1, 3); break;
    case 4 * 8 + 1: tile(sums, a, w, panel_stride, pairs, 4, 1, 4); break;
    case 5 * 8 + 1: tile(sums, a, w, panel_stride, pairs, 5, 1, 5); break;
    default:
        tile(sums, a, w, panel_stride, pairs, 3, 1, 6);
        tile(sums + 3 * QKV_PANEL, a + 3 * 2, w, panel_stride, pairs, 3, 1, 6);
        break;
    }
}

/* One tile over all of k: the integer sums of a chunk become floats, and those of further chunks are added. */
static void all_chunks(float *to, const int16_t *a, const int16_t *w, size_t panel_stride, int k, int rows,
                       int panels) {
    const int chunk = QKV_Q10_CHUNK / 2, count = rows * panels * QKV_PANEL;
    int32_t sums[QKV_ROWS_MAX * QKV_PANEL];
    int left = (k + 1) / 2;

    any_tile(sums, a, w, panel_stride, left < chunk ? left : chunk, rows, panels);
    for (int i = 0; i < count; i += 4) wasm_v128_store(to + i, wasm_f32x4_convert_i32x4(wasm_v128_load(sums + i)));
    for (left -= chunk; left > 0; left -= chunk) {
        a += chunk * 2 * rows;
        w += chunk * 2 * QKV_PANEL;
        any_tile(sums, a, w, panel_stride, left < chunk ? left : chunk, rows, panels);
        for (int i = 0; i < count; i += 4) {
            const v128_t more = wasm_f32x4_convert_i32x4(wasm_v128_load(sums + i));
            wasm_v128_store(to + i, wasm_f32x4_add(wasm_v128_load(to + i), more));
        }
    }
}

void qkv_gemm_q10_simd(const qkv_gemm *g, const int16_t *a, const float *a_scales, const int16_t *w,
                       const float *w_scales) {
    const int all = (g->cols + QKV_PANEL - 1) / QKV_PANEL;
    const size_t row_size = ((size_t)g->k + 1) / 2 * 2;
    const gemm_scales scales = {a_scales, w_scales};
    int panels, block;

    for (int p = 0; p < all; p += panels) {
        panels = panels_at_once(g->rows, all - p);
        const int16_t *rows = a;

        for (int m = 0; m < g->rows; m += block, rows += row_size * (size_t)block) {
            float sums[QKV_ROWS_MAX * QKV_PANEL];
            block = qkv_row_block(g->rows - m);
            all_chunks(sums, rows, w + (size_t)p * g->panel_stride, g->panel_stride, g->k, block, panels);
            finish_tile(g, &scales, sums, panels, m, block, p * QKV_PANEL);
        }
    }
}
