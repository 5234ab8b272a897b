/* power_of_two.h - the last step of both exponentials, one element at a time. */
#ifndef QKV_KERNELS_POWER_OF_TWO_H
#define QKV_KERNELS_POWER_OF_TWO_H

#include <stdint.h>

/* p * 2^n, where n is the integer that adding a magic number left in the low bits of `shifted`. */
static inline float times_power_of_two(float p, float shifted) {
    uint32_t bits, exponent;

    __builtin_memcpy(&exponent, &shifted, sizeof exponent);
    __builtin_memcpy(&bits, &p, sizeof bits);
    bits += exponent << 23;
    __builtin_memcpy(&p, &bits, sizeof p);
    return p;
}

#endif
