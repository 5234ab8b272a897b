/* gemm_i16.h - the integer GEMMs of gemm_q10_simd.c and gemm_q8_simd.c: the loops of gemm_f32_simd.c, where a step takes
 * a pair of k and i32x4.dot_i16x8_s adds both products. It is plain SIMD, ahead of the relaxed int8 dot products on most
 * machines, and leaves room for 10-bit weights. Tiles have four rows: ten sums, two vectors of weights, a splat and
 * a product before it is added would just fit the 15 registers, but V8 spills some of them (bench/LOG.md). Weights are addressed by bytes, BYTES (1 or
 * 2) each; those of one byte are widened as they come. */
#ifndef QKV_KERNELS_GEMM_I16_H
#define QKV_KERNELS_GEMM_I16_H

#include "gemm_finish.h"
#include "kernels.h"
#include "simd.h"

#define PAIR_ROWS_MAX 4
#define TILE_MAX (PAIR_ROWS_MAX * QKV_PANEL) /* elements: four panels are for one row, two for two */

ALWAYS_INLINE v128_t add_dot(v128_t acc, v128_t x, v128_t b) {
    return wasm_i32x4_add(acc, wasm_i32x4_dot_i16x8(x, b));
}

/* Half of the eight pairs of one step of a panel. */
ALWAYS_INLINE v128_t load_half(const int8_t *w, const int half, const int BYTES) {
    return BYTES == 2 ? wasm_v128_load(w + half * 16) : wasm_i16x8_load8x8(w + half * 8);
}

/* The order of loads is pinned: clang would load all splats first, more than fit the registers. */
ALWAYS_INLINE void add_pair_of_rows(v128_t acc[PAIR_ROWS_MAX][2 * PANELS_MAX], const int16_t *a,
                                    const int8_t *const *panel, const int R, const int P, const int BYTES) {
    v128_t b[2 * PANELS_MAX];

    for (int c = 0; c < 2 * P; c++) b[c] = load_half(panel[c / 2], c % 2, BYTES);
    for (int r = 0; r < R; r++) {
        KEEP_ORDER();
        const v128_t x = wasm_v128_load32_splat(a + r * 2);
        for (int c = 0; c < 2 * P; c++) acc[r][c] = add_dot(acc[r][c], x, b[c]);
    }
}

/* One row waits for memory: the fewer instructions lie between two loads, the further ahead a processor looks. Bytes are
 * loaded once and widened in halves, since engines need one more for the address of a second load that widens: q8
 * 16 -> 18 GB/s. */
ALWAYS_INLINE void add_pair_of_row(v128_t *acc, const int16_t *a, const int8_t *const *panel, const int P,
                                   const int BYTES) {
    const v128_t x = wasm_v128_load32_splat(a);

    for (int p = 0; p < P; p++) {
        KEEP_ORDER();
        const v128_t first = wasm_v128_load(panel[p]);
        const v128_t low = BYTES == 2 ? first : wasm_i16x8_extend_low_i8x16(first);
        const v128_t high = BYTES == 2 ? load_half(panel[p], 1, 2) : wasm_i16x8_extend_high_i8x16(first);
        acc[2 * p] = add_dot(acc[2 * p], x, low);
        acc[2 * p + 1] = add_dot(acc[2 * p + 1], x, high);
    }
}

/* One pair of k; the panels are moved on, the next pair of rows is returned. */
ALWAYS_INLINE const int16_t *add_pair(v128_t acc[PAIR_ROWS_MAX][2 * PANELS_MAX], const int16_t *a, const int8_t **panel,
                                      const int R, const int P, const int BYTES) {
    if (R == 1) add_pair_of_row(acc[0], a, panel, P, BYTES);
    else add_pair_of_rows(acc, a, panel, R, P, BYTES);
    for (int p = 0; p < P; p++) panel[p] += 2 * QKV_PANEL * BYTES;
    return a + R * 2;
}

/* sums[p, r, c] = sum of a[., r] . w[., c] over the pairs, for R rows and P panels that are panel_bytes apart; `more`: is
 * added to sums. R, P and BYTES are constants once inlined.
 *
 * The way out in the middle keeps V8 from mixing two pairs, which takes more registers than there are, while the checks
 * it makes in every loop are halved: 62 -> 78 GOP/s in Node 20, the same in Node 24. */
ALWAYS_INLINE void integer_tile(float *sums, const int16_t *a, const int8_t *w, size_t panel_bytes, int pairs, int more,
                                const int R, const int P, const int BYTES) {
    const int8_t *const end = w + (size_t)pairs * (size_t)(2 * QKV_PANEL * BYTES);
    v128_t acc[PAIR_ROWS_MAX][2 * PANELS_MAX];
    const int8_t *panel[PANELS_MAX];

    for (int p = 0; p < P; p++) panel[p] = w + (size_t)p * panel_bytes;
    for (int r = 0; r < R; r++) {
        for (int c = 0; c < 2 * P; c++) acc[r][c] = wasm_i32x4_splat(0);
    }
    while (panel[0] != end) {
        a = add_pair(acc, a, panel, R, P, BYTES);
        if (R <= 2) continue; /* memory is what one or two rows wait for */
        if (panel[0] == end) break;
        a = add_pair(acc, a, panel, R, P, BYTES);
    }
    for (int r = 0; r < R; r++) {
        for (int c = 0; c < 2 * P; c++) {
            float *to = sums + (c / 2 * R + r) * QKV_PANEL + c % 2 * 4;
            const v128_t sum = wasm_f32x4_convert_i32x4(acc[r][c]);
            wasm_v128_store(to, more ? wasm_f32x4_add(wasm_v128_load(to), sum) : sum);
        }
    }
}

/* Must not be inlined into its callers: see gemm_f32_simd.c for why. */
typedef void any_integer_tile(float *sums, const int16_t *a, const int8_t *w, size_t panel_bytes, int pairs, int more,
                              int rows, int panels);

ALWAYS_INLINE void choose_tile(float *sums, const int16_t *a, const int8_t *w, size_t panel_bytes, int pairs, int more,
                               int rows, int panels, const int BYTES) {
    switch (rows * 8 + panels) {
    case 1 * 8 + 1: integer_tile(sums, a, w, panel_bytes, pairs, more, 1, 1, BYTES); break;
    case 1 * 8 + 2: integer_tile(sums, a, w, panel_bytes, pairs, more, 1, 2, BYTES); break;
    case 1 * 8 + 4: integer_tile(sums, a, w, panel_bytes, pairs, more, 1, 4, BYTES); break;
    case 2 * 8 + 1: integer_tile(sums, a, w, panel_bytes, pairs, more, 2, 1, BYTES); break;
    case 2 * 8 + 2: integer_tile(sums, a, w, panel_bytes, pairs, more, 2, 2, BYTES); break;
    case 3 * 8 + 1: integer_tile(sums, a, w, panel_bytes, pairs, more, 3, 1, BYTES); break;
    default: integer_tile(sums, a, w, panel_bytes, pairs, more, 4, 1, BYTES); break;
    }
}

/* One tile over all of k: the integer sums of a chunk become floats, and those of further chunks are added. */
static inline void all_chunks(float *sums, const int16_t *a, const int8_t *w, size_t panel_bytes, int k, int rows,
                              int panels, any_integer_tile *any_tile, const int BYTES) {
    const int chunk = QKV_CHUNK / 2, pairs = (k + 1) / 2;
    int from = 0;

    do {
        const int count = pairs - from < chunk ? pairs - from : chunk;
        any_tile(sums, a + from * 2 * rows, w + from * 2 * QKV_PANEL * BYTES, panel_bytes, count, from, rows, panels);
        from += chunk;
    } while (from < pairs);
}

/* All rows of the panels first, first + apart, first + 2 apart, ... */
ALWAYS_INLINE void integer_columns(const qkv_gemm *g, const int16_t *a, const gemm_scales *scales, const int8_t *w,
                                   int first, int panels, int apart, any_integer_tile *any_tile, const int BYTES) {
    const size_t row_size = ((size_t)g->k + 1) / 2 * 2, panel_bytes = g->panel_stride * (size_t)BYTES;
    int block;

    w += (size_t)first * panel_bytes;
    for (int m = 0; m < g->rows; m += block, a += row_size * (size_t)block) {
        float sums[TILE_MAX];
        block = qkv_pair_block(g->rows - m);
        all_chunks(sums, a, w, (size_t)apart * panel_bytes, g->k, block, panels, any_tile, BYTES);
        for (int p = 0; p < panels; p++) {
            qkv_finish_tile(g, scales, sums + p * block * QKV_PANEL, m, block, (first + p * apart) * QKV_PANEL);
        }
    }
}

/* w_scales: [cols rounded up to 8]. One row takes as long as its weights take to come from memory, and processors fetch
 * ahead what is read in long runs. So panels taken at once are as far apart as they can be: each of them is followed by
 * the next in memory, all through its part of the matrix. */
ALWAYS_INLINE void integer_gemm(const qkv_gemm *g, const int16_t *a, const float *a_scales, const int8_t *w,
                                const float *w_scales, any_integer_tile *any_tile, const int BYTES) {
    const int all = (g->cols + QKV_PANEL - 1) / QKV_PANEL;
    const gemm_scales scales = {a_scales, w_scales};
    int panels, runs;

    for (int p = 0; p < all; p += panels * runs) {
        panels = panels_at_once(g->rows, all - p);
        runs = (all - p) / panels;
        for (int i = 0; i < runs; i++) {
            integer_columns(g, a, &scales, w, p + i, panels, runs, any_tile, BYTES);
        }
    }
}

#endif
