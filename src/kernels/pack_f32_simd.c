#include "kernels.h"
#include "pack_columns.h"

ALWAYS_INLINE void pack_block(float *panel, const float *x, size_t x_stride, int k, const int R) {
    int i = 0;

    for (; i + 4 <= k; i += 4, panel += 4 * R) {
        v128_t v[QKV_ROWS_MAX];
        for (int r = 0; r < R; r++) v[r] = wasm_v128_load(x + (size_t)r * x_stride + i);
        store_columns(panel, v, R);
    }
    for (; i < k; i++) {
        for (int r = 0; r < R; r++) *panel++ = x[(size_t)r * x_stride + (size_t)i];
    }
}

void qkv_pack_f32_simd(float *panels, const float *x, size_t x_stride, int rows, int k) {
    int block;

    for (int m = 0; m < rows; m += block, x += (size_t)block * x_stride, panels += (size_t)block * (size_t)k) {
        block = qkv_row_block(rows - m);
        switch (block) {
        case 1: pack_block(panels, x, x_stride, k, 1); break;
        case 2: pack_block(panels, x, x_stride, k, 2); break;
        case 3: pack_block(panels, x, x_stride, k, 3); break;
        case 4: pack_block(panels, x, x_stride, k, 4); break;
        case 5: pack_block(panels, x, x_stride, k, 5); break;
        default: pack_block(panels, x, x_stride, k, 6); break;
        }
    }
}
