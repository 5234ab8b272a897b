/* Rows that fill half a panel go through 4 x 4 transposes, the few before and after one by one. */
#include "kernels.h"
#include "simd.h"

static void one_row(float *column, const float *x, int k) {
    for (int i = 0; i < k; i++, column += QKV_PANEL) *column = x[i];
}

static void four_rows(float *columns, const float *x, size_t x_stride, int k) {
    int i = 0;

    for (; i + 4 <= k; i += 4, columns += 4 * QKV_PANEL) {
        v128_t v[4];
        for (int r = 0; r < 4; r++) v[r] = wasm_v128_load(x + (size_t)r * x_stride + i);
        transpose4(v);
        for (int j = 0; j < 4; j++) wasm_v128_store(columns + j * QKV_PANEL, v[j]);
    }
    for (; i < k; i++, columns += QKV_PANEL) {
        for (int r = 0; r < 4; r++) columns[r] = x[(size_t)r * x_stride + (size_t)i];
    }
}

void qkv_weights_f32_simd(float *panels, int row0, const float *x, size_t x_stride, int rows, int k) {
    int taken;

    for (int r = 0; r < rows; r += taken, x += (size_t)taken * x_stride) {
        const size_t n = (size_t)row0 + (size_t)r;
        float *column = panels + n / QKV_PANEL * (size_t)k * QKV_PANEL + n % QKV_PANEL;

        taken = n % 4 == 0 && rows - r >= 4 ? 4 : 1;
        if (taken == 4) four_rows(column, x, x_stride, k);
        else one_row(column, x, k);
    }
}
