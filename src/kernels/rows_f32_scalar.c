#include "kernels.h"

void qkv_add_f32_scalar(float *y, const float *x, int n) {
    for (int i = 0; i < n; i++) y[i] = y[i] + x[i];
}

void qkv_mul_f32_scalar(float *y, const float *x, int n, float factor) {
    for (int i = 0; i < n; i++) y[i] = x[i] * factor;
}

int qkv_mul_rows_f32_scalar(float *y, size_t y_stride, const float *factors, int rows, int n) {
    int finite = 1;

    for (int m = 0; m < rows; m++, y += y_stride) {
        for (int i = 0; i < n; i++) {
            y[i] = y[i] * factors[m];
            finite &= __builtin_fabsf(y[i]) < __builtin_inff();
        }
    }
    return finite;
}

void qkv_max_f32_scalar(float *y, const float *x, int n) {
    for (int i = 0; i < n; i++) y[i] = y[i] < x[i] ? x[i] : y[i];
}

float qkv_dot_f32_scalar(const float *x, const float *y, int n) {
    float lane[4] = {0.0f, 0.0f, 0.0f, 0.0f};

    for (int i = 0; i < n; i++) lane[i % 4] = lane[i % 4] + x[i] * y[i];
    return (lane[0] + lane[2]) + (lane[1] + lane[3]);
}
