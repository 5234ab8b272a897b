/* block_scales.h - what stands once in a block of a GGUF file and is read by both twins of decode_blocks. */
#ifndef QKV_KERNELS_BLOCK_SCALES_H
#define QKV_KERNELS_BLOCK_SCALES_H

#include <stdint.h>

#include "half_f32.h"

#define BLOCK_SMALL 32  /* values of a block of the older formats */
#define BLOCK_LARGE 256 /* of the "K" formats */
#define BLOCK_FORMATS 8

/* A half at any address. */
static inline float half_at(const uint8_t *x) {
    return float_of_half((uint32_t)x[0] | (uint32_t)x[1] << 8);
}

/* Eight scales and eight minima of six bits in twelve bytes. The first four of each are the low six bits of bytes 0-3 and
 * 4-7, whose upper two bits are the upper bits of the last four; bytes 8-11 hold the lower four bits of those. */
static inline void six_bits(const uint8_t *x, int i, float *scale, float *min) {
    if (i < 4) {
        *scale = (float)(x[i] & 63);
        *min = (float)(x[4 + i] & 63);
    } else {
        *scale = (float)((x[4 + i] & 15) | (x[i - 4] >> 6) << 4);
        *min = (float)((x[4 + i] >> 4) | (x[i] >> 6) << 4);
    }
}

typedef void decode_block(float *y, const uint8_t *x);

/* In the order of their numbers. */
static const struct {
    int values, bytes;
} block_sizes[BLOCK_FORMATS] = {{BLOCK_SMALL, 18}, {BLOCK_SMALL, 20},  {BLOCK_SMALL, 22},  {BLOCK_SMALL, 24},
                                {BLOCK_SMALL, 34}, {BLOCK_LARGE, 144}, {BLOCK_LARGE, 176}, {BLOCK_LARGE, 210}};

#endif
