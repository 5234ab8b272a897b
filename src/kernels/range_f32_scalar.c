#include <stdbool.h>

#include "kernels.h"

float qkv_range_f32_scalar(float *least, const float *x, int n, float scale) {
    const float infinity = __builtin_inff();
    float top = -infinity, bottom = infinity;
    bool finite = true;

    for (int i = 0; i < n; i++) {
        const float v = x[i] * scale;
        if (!(v < infinity)) finite = false;
        top = top < v ? v : top;
        bottom = v < bottom ? v : bottom;
    }
    *least = bottom + 0.0f;
    return finite ? top + 0.0f : __builtin_nanf("");
}
