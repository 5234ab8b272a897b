#include <stdbool.h>

#include "kernels.h"

static float larger(float a, float b) {
    return a < b ? b : a;
}

float qkv_scale_f32_scalar(float *y, const float *x, int n, float scale, const float *bias) {
    const float infinity = __builtin_inff();
    float lane[4] = {-infinity, -infinity, -infinity, -infinity};
    bool finite = true;

    for (int i = 0; i < n; i++) {
        float v = x[i] * scale;
        if (bias) v = bias[i] == -infinity ? -infinity : v + bias[i];
        if (!(v < infinity)) finite = false;
        lane[i % 4] = larger(lane[i % 4], v);
        y[i] = v;
    }
    if (!finite) return __builtin_nanf("");
    return larger(larger(lane[0], lane[2]), larger(lane[1], lane[3]));
}
