#include "exp_f32.h"
#include "kernels.h"

float qkv_sum_exp_f32_scalar(float *y, const float *x, int n, float max) {
    float lane[4] = {0.0f, 0.0f, 0.0f, 0.0f};

    for (int i = 0; i < n; i++) {
        y[i] = exp_one(x[i] - max);
        lane[i % 4] += y[i];
    }
    return (lane[0] + lane[2]) + (lane[1] + lane[3]);
}
