#include "kernels.h"

void qkv_weights_f32_scalar(float *panels, int row0, const float *x, size_t x_stride, int rows, int k) {
    for (int r = 0; r < rows; r++) {
        const size_t n = (size_t)row0 + (size_t)r;
        float *column = panels + n / QKV_PANEL * (size_t)k * QKV_PANEL + n % QKV_PANEL;

        for (size_t i = 0; i < (size_t)k; i++) column[i * QKV_PANEL] = x[(size_t)r * x_stride + i];
    }
}
