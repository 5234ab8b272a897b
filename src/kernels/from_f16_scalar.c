#include "kernels.h"

/* A half has the exponent bias 15, a float 127: its exponent and fraction, moved into place, are 2^112 too small. The
 * product restores that exactly, denormals included; an exponent of all ones (infinity, NaN) is set by hand. */
void qkv_from_f16_scalar(float *y, const uint16_t *x, int n) {
    for (int i = 0; i < n; i++) {
        const uint32_t magnitude = x[i] & 0x7fffu, sign = (uint32_t)(x[i] & 0x8000u) << 16;
        uint32_t bits = magnitude << 13;
        float value;

        __builtin_memcpy(&value, &bits, sizeof value);
        value *= 0x1p112f;
        __builtin_memcpy(&bits, &value, sizeof bits);
        if (magnitude >= 0x7c00u) bits |= 0x7f800000u;
        bits |= sign;
        __builtin_memcpy(y + i, &bits, sizeof bits);
    }
}

void qkv_from_bf16_scalar(float *y, const uint16_t *x, int n) {
    for (int i = 0; i < n; i++) {
        const uint32_t bits = (uint32_t)x[i] << 16;
        __builtin_memcpy(y + i, &bits, sizeof bits);
    }
}
