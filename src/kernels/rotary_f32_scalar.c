#include "kernels.h"

void qkv_rotary_f32_scalar(float *x, int half, const float *cos, const float *sin) {
    for (int i = 0; i < half; i++) {
        const float a = x[i], b = x[half + i];
        x[i] = a * cos[i] - b * sin[i];
        x[half + i] = b * cos[i] + a * sin[i];
    }
}
