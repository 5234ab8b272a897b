/* One function for all GEMMs: inlined into each it would take twice the bytes and no less time. */
#include "gemm_finish.h"
#include "simd.h"

/* tile: [rows, stride] sums of one panel, 8 columns each, for the outputs from row m, column n on. */
static void scale_and_shift(const qkv_gemm *g, const gemm_scales *s, float *tile, int stride, int m, int rows, int n) {
    const float *const a_scales = s ? s->a + m : NULL, *const row_scale = g->row_scale ? g->row_scale + m : NULL;
    const float *const w_scales = s ? s->w + n : NULL, *const bias = g->bias ? g->bias + n : NULL;

    for (int r = 0; r < rows; r++, tile += stride) {
        v128_t low = wasm_v128_load(tile), high = wasm_v128_load(tile + 4);
        if (a_scales) {
            const v128_t scale = wasm_f32x4_splat(a_scales[r]);
            low = wasm_f32x4_mul(wasm_f32x4_mul(low, scale), wasm_v128_load(w_scales));
            high = wasm_f32x4_mul(wasm_f32x4_mul(high, scale), wasm_v128_load(w_scales + 4));
        }
        if (row_scale) {
            const v128_t scale = wasm_f32x4_splat(row_scale[r]);
            low = wasm_f32x4_mul(low, scale);
            high = wasm_f32x4_mul(high, scale);
        }
        if (bias) {
            low = wasm_f32x4_add(low, wasm_v128_load(bias));
            high = wasm_f32x4_add(high, wasm_v128_load(bias + 4));
        }
        wasm_v128_store(tile, low);
        wasm_v128_store(tile + 4, high);
    }
}

/* One row of the finished tile, `cols` columns of it. */
static void store_tile_row(float *out, const float *tile, const float *residual, int cols) {
    if (cols == QKV_PANEL) {
        v128_t low = wasm_v128_load(tile), high = wasm_v128_load(tile + 4);
        if (residual) {
            low = wasm_f32x4_add(low, wasm_v128_load(residual));
            high = wasm_f32x4_add(high, wasm_v128_load(residual + 4));
        }
        wasm_v128_store(out, low);
        wasm_v128_store(out + 4, high);
        return;
    }
    for (int c = 0; c < cols; c++) out[c] = residual ? tile[c] + residual[c] : tile[c];
}

/* One panel of the finished tile, of which `cols` columns exist. */
static void store_panel(const qkv_gemm *g, const float *tile, int stride, int m, int rows, int n, int cols) {
    for (int r = 0; r < rows; r++) {
        const size_t row = (size_t)(m + r), column = (size_t)n;
        const float *residual = g->residual ? g->residual + row * g->residual_stride + column : NULL;
        store_tile_row(g->out + row * g->out_stride + column, tile + r * stride, residual, cols);
    }
}

/* The tile stays in the first cache; of all its columns only those that exist are written. */
void qkv_finish_tile(const qkv_gemm *g, const gemm_scales *s, float *tile, int panels, int m, int rows, int n) {
    const int width = panels * QKV_PANEL;

    for (int c = 0; c < width; c += QKV_PANEL) scale_and_shift(g, s, tile + c, width, m, rows, n + c);
    if (g->activation) qkv_activate_f32_simd(tile, tile, rows * width, g->activation);
    for (int c = 0; c < width; c += QKV_PANEL) {
        const int left = g->cols - n - c;
        store_panel(g, tile + c, width, m, rows, n + c, left < QKV_PANEL ? left : QKV_PANEL);
    }
}
