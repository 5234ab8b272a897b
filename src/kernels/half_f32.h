/* half_f32.h - the float that a half is. */
#ifndef QKV_KERNELS_HALF_F32_H
#define QKV_KERNELS_HALF_F32_H

#include <stdint.h>

/* A half has the exponent bias 15, a float 127: its exponent and fraction, moved into place, are 2^112 too small. The
 * product restores that exactly, denormals included; an exponent of all ones (infinity, NaN) is set by hand. */
static inline float float_of_half(uint32_t half) {
    const uint32_t magnitude = half & 0x7fffu;
    uint32_t bits = magnitude << 13;
    float value;

    __builtin_memcpy(&value, &bits, sizeof value);
    value *= 0x1p112f;
    __builtin_memcpy(&bits, &value, sizeof bits);
    if (magnitude >= 0x7c00u) bits |= 0x7f800000u;
    bits |= (half & 0x8000u) << 16;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}

#endif
