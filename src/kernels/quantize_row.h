/* quantize_row.h - what pack_i16 decides once a row: the two factors that follow from its largest magnitude. */
#ifndef QKV_KERNELS_QUANTIZE_ROW_H
#define QKV_KERNELS_QUANTIZE_ROW_H

#include <stdint.h>

#include "kernels.h"

#define FLOAT_INFINITY_BITS 0x7f800000
#define ROW_LEAST 0x1p-100f /* below it the factor could overflow */

/* Adding 1.5 * 2^23 rounds to the nearest integer, ties to even, and leaves it in the low bits. */
#define ROUND_MAGIC 12582912.0f
#define ROUND_MAGIC_BITS 0x4b400000

/* The largest integer an activation may become: a whole chunk of such products still fits 32 bits. Weights of 8 bits
 * count as 128, since products take -128 as well. */
static inline float quantized_max(int k, int most) {
    const int64_t terms = k < 1 ? 1 : k < QKV_CHUNK ? k : QKV_CHUNK;
    const int64_t bound = INT32_MAX / ((most == QKV_Q8_MAX ? most + 1 : most) * terms);

    return (float)(bound < INT16_MAX ? bound : INT16_MAX);
}

/* From the bits of the largest |x|: sets the scale of the row and returns the factor for x, 0 when all become 0. The
 * integer order of the bits is that of magnitudes, with infinity and NaN on top. */
static inline float row_factor(int32_t largest_bits, float amax, float *scale) {
    float largest;

    if (largest_bits >= FLOAT_INFINITY_BITS) {
        *scale = __builtin_nanf("");
        return 0.0f;
    }
    __builtin_memcpy(&largest, &largest_bits, sizeof largest);
    *scale = largest < ROW_LEAST ? 0.0f : largest / amax;
    return largest < ROW_LEAST ? 0.0f : amax / largest;
}

#endif
