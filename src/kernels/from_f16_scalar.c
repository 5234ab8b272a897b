#include "half_f32.h"
#include "kernels.h"

void qkv_from_f16_scalar(float *y, const uint16_t *x, int n) {
    for (int i = 0; i < n; i++) y[i] = float_of_half(x[i]);
}

void qkv_from_bf16_scalar(float *y, const uint16_t *x, int n) {
    for (int i = 0; i < n; i++) {
        const uint32_t bits = (uint32_t)x[i] << 16;
        __builtin_memcpy(y + i, &bits, sizeof bits);
    }
}
