#include "exp_f32.h"
#include "kernels.h"

float qkv_sum_exp_scaled_f32_scalar(float *y, const float *x, int n, float scale, float max, float least) {
    float lane[4] = {0.0f, 0.0f, 0.0f, 0.0f};

    (void)least;
    for (int i = 0; i < n; i++) {
        y[i] = exp_one(x[i] * scale - max);
        lane[i % 4] += y[i];
    }
    return (lane[0] + lane[2]) + (lane[1] + lane[3]);
}

float qkv_sum_exp_f32_scalar(float *y, const float *x, int n, float max) {
    return qkv_sum_exp_scaled_f32_scalar(y, x, n, 1.0f, max, -__builtin_inff());
}
