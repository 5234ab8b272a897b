#include "kernels.h"

void qkv_add_f32_scalar(float *y, const float *x, int n) {
    for (int i = 0; i < n; i++) y[i] = y[i] + x[i];
}

void qkv_mul_f32_scalar(float *y, const float *x, int n, float factor) {
    for (int i = 0; i < n; i++) y[i] = x[i] * factor;
}

void qkv_max_f32_scalar(float *y, const float *x, int n) {
    for (int i = 0; i < n; i++) y[i] = y[i] < x[i] ? x[i] : y[i];
}

float qkv_dot_f32_scalar(const float *x, const float *y, int n) {
    float lane[4] = {0.0f, 0.0f, 0.0f, 0.0f};

    for (int i = 0; i < n; i++) lane[i % 4] = lane[i % 4] + x[i] * y[i];
    return (lane[0] + lane[2]) + (lane[1] + lane[3]);
}
