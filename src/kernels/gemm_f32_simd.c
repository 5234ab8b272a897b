/* Tiles of up to 6 rows by 8 columns, 5 x 8 wherever possible: ten accumulators, two vectors of weights and one splat
 * are what the 15 registers of an engine hold. One or two rows take several W panels at once instead, so that enough
 * independent chains of additions are in flight; chains across k would change the order of the sum.
 *
 * W panels are walked outside, row blocks inside: a panel stays in the first cache while all rows pass by. */
#include <stdbool.h>

#include "gemm_finish.h"
#include "kernels.h"
#include "simd.h"

/* to[r, c] = sum of a[., r] * w[., c] over k, for R rows of one panel, which are to_stride apart; of P panels, panel_stride
 * apart, to[p, r, c] without gaps. The rows of one k lie `step` apart. R, P and step are constants once inlined. */
ALWAYS_INLINE void tile(float *to, size_t to_stride, const float *a, const float *w, size_t panel_stride, int k,
                        const int R, const int P, const int step) {
    v128_t acc[QKV_ROWS_MAX][2 * PANELS_MAX];
    const float *panel[PANELS_MAX];

    for (int p = 0; p < P; p++) panel[p] = w + (size_t)p * panel_stride;
    for (int r = 0; r < R; r++) {
        for (int c = 0; c < 2 * P; c++) acc[r][c] = wasm_f32x4_splat(0.0f);
    }
    for (const float *end = w + (size_t)k * QKV_PANEL; panel[0] != end;) {
        v128_t b[2 * PANELS_MAX];
        for (int c = 0; c < 2 * P; c++) b[c] = wasm_v128_load(panel[c / 2] + c % 2 * 4);
        for (int r = 0; r < R; r++) {
            KEEP_ORDER();
            const v128_t x = wasm_v128_load32_splat(a + r);
            for (int c = 0; c < 2 * P; c++) acc[r][c] = madd(x, b[c], acc[r][c]);
        }
        a += step;
        for (int p = 0; p < P; p++) panel[p] += QKV_PANEL;
    }
    for (int r = 0; r < R; r++) {
        for (int c = 0; c < 2 * P; c++) {
            float *row = P == 1 ? to + (size_t)r * to_stride : to + (c / 2 * R + r) * QKV_PANEL;
            wasm_v128_store(row + c % 2 * 4, acc[r][c]);
        }
    }
}

/* A function of its own, called from several places so that no optimiser inlines it: inside more loops the engine
 * would unroll the innermost one and run out of registers. Six rows fit only where a product needs no register;
 * elsewhere they go in halves. */
static __attribute__((noinline)) void any_tile(float *to, size_t to_stride, const float *a, const float *w,
                                               size_t panel_stride, int k, int rows, int panels) {
    switch (rows * 8 + panels) {
    case 1 * 8 + 1: tile(to, to_stride, a, w, panel_stride, k, 1, 1, 1); break;
    case 1 * 8 + 2: tile(to, to_stride, a, w, panel_stride, k, 1, 2, 1); break;
    case 1 * 8 + 4: tile(to, to_stride, a, w, panel_stride, k, 1, 4, 1); break;
    case 2 * 8 + 1: tile(to, to_stride, a, w, panel_stride, k, 2, 1, 2); break;
    case 2 * 8 + 2: tile(to, to_stride, a, w, panel_stride, k, 2, 2, 2); break;
    case 3 * 8 + 1: tile(to, to_stride, a, w, panel_stride, k, 3, 1, 3); break;
    case 4 * 8 + 1: tile(to, to_stride, a, w, panel_stride, k, 4, 1, 4); break;
    case 5 * 8 + 1: tile(to, to_stride, a, w, panel_stride, k, 5, 1, 5); break;
#ifdef __wasm_relaxed_simd__
    default: tile(to, to_stride, a, w, panel_stride, k, 6, 1, 6); break;
#else
    default:
        tile(to, to_stride, a, w, panel_stride, k, 3, 1, 6);
        tile(to + 3 * to_stride, to_stride, a + 3, w, panel_stride, k, 3, 1, 6);
        break;
#endif
    }
}

static bool is_plain(const qkv_gemm *g) {
    return !g->row_scale && !g->bias && !g->activation && !g->residual;
}

/* All rows of the panels first, first + apart, first + 2 apart, ... */
static void columns(const qkv_gemm *g, const float *a, const float *w, int first, int panels, int apart) {
    const bool direct = is_plain(g) && panels == 1 && (first + 1) * QKV_PANEL <= g->cols;
    const size_t w_apart = (size_t)apart * g->panel_stride;
    int block;

    w += (size_t)first * g->panel_stride;
    for (int m = 0; m < g->rows; m += block, a += (size_t)block * (size_t)g->k) {
        block = qkv_row_block(g->rows - m);
        if (direct) {
            float *out = g->out + (size_t)m * g->out_stride + first * QKV_PANEL;
            any_tile(out, g->out_stride, a, w, w_apart, g->k, block, panels);
            continue;
        }
        float sums[QKV_ROWS_MAX * QKV_PANEL];
        any_tile(sums, QKV_PANEL, a, w, w_apart, g->k, block, panels);
        for (int p = 0; p < panels; p++) {
            qkv_finish_tile(g, NULL, sums + p * block * QKV_PANEL, m, block, (first + p * apart) * QKV_PANEL);
        }
    }
}

/* The whole panels of one block of rows whose sums are the outputs, as in attention: with a short k, and k is the width
 * of a head there, what goes on around a tile counts. */
static int whole_panels(const qkv_gemm *g, const float *a, const float *w) {
    const int whole = g->cols / QKV_PANEL;

    for (int p = 0; p < whole; p++, w += g->panel_stride) {
        any_tile(g->out + p * QKV_PANEL, g->out_stride, a, w, g->panel_stride, g->k, g->rows, 1);
    }
    return whole;
}

/* Panels taken at once are as far apart as they can be, see integer_gemm in gemm_i16.h. */
void qkv_gemm_f32_simd(const qkv_gemm *g, const float *a, const float *w) {
    const int all = (g->cols + QKV_PANEL - 1) / QKV_PANEL;
    int panels, runs;

    for (int p = is_plain(g) && g->rows > 2 && g->rows <= QKV_ROWS_MAX ? whole_panels(g, a, w) : 0; p < all;
         p += panels * runs) {
        panels = panels_at_once(g->rows, all - p);
        runs = (all - p) / panels;
        for (int i = 0; i < runs; i++) columns(g, a, w, p + i, panels, runs);
    }
}
