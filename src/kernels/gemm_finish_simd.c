/* One function for all GEMMs: inlined into each it would take twice the bytes and no less time. */
#include <stdbool.h>

#include "gemm_finish.h"
#include "simd.h"

/* Eight columns of one row. */
typedef struct eight {
    v128_t low, high;
} eight;

static inline eight load_eight(const float *x) {
    return (eight){wasm_v128_load(x), wasm_v128_load(x + 4)};
}

static inline void store_eight(float *y, eight v) {
    wasm_v128_store(y, v.low);
    wasm_v128_store(y + 4, v.high);
}

static inline eight add_eight(eight v, eight w) {
    return (eight){wasm_f32x4_add(v.low, w.low), wasm_f32x4_add(v.high, w.high)};
}

static inline eight mul_eight(eight v, eight w) {
    return (eight){wasm_f32x4_mul(v.low, w.low), wasm_f32x4_mul(v.high, w.high)};
}

static inline eight scale_eight(eight v, float factor) {
    const v128_t factors = wasm_f32x4_splat(factor);
    return mul_eight(v, (eight){factors, factors});
}

/* The last step for the first `cols` of eight columns of a row. */
static void store_part_row(float *out, const float *row, const float *residual, int cols) {
    for (int c = 0; c < cols; c++) out[c] = residual ? row[c] + residual[c] : row[c];
}

/* The tile stays in the first cache; of its columns only those that exist are written. */
void qkv_finish_tile(const qkv_gemm *g, const gemm_scales *s, float *tile, int m, int rows, int n) {
    const int left = g->cols - n, cols = left < QKV_PANEL ? left : QKV_PANEL;
    const bool is_last = !g->activation && cols == QKV_PANEL;
    float *out = g->out + (size_t)m * g->out_stride + (size_t)n;
    const float *residual = g->residual ? g->residual + (size_t)m * g->residual_stride + (size_t)n : NULL;

    for (int r = 0; r < rows; r++) {
        eight v = load_eight(tile + r * QKV_PANEL);
        if (s) v = mul_eight(scale_eight(v, s->a[m + r]), load_eight(s->w + n));
        if (g->row_scale) v = scale_eight(v, g->row_scale[m + r]);
        if (g->bias) v = add_eight(v, load_eight(g->bias + n));
        if (is_last && residual) v = add_eight(v, load_eight(residual + (size_t)r * g->residual_stride));
        store_eight(is_last ? out + (size_t)r * g->out_stride : tile + r * QKV_PANEL, v);
    }
    if (is_last) return;
    if (g->activation) qkv_activate_f32_simd(tile, tile, rows * QKV_PANEL, g->activation);
    for (int r = 0; r < rows; r++, tile += QKV_PANEL, out += g->out_stride) {
        if (cols == QKV_PANEL && !residual) {
            store_eight(out, load_eight(tile));
        } else {
            store_part_row(out, tile, residual ? residual + (size_t)r * g->residual_stride : NULL, cols);
        }
    }
}
