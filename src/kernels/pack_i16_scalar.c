#include <stdbool.h>

#include "kernels.h"
#include "quantize_row.h"

static int32_t largest_bits(const float *x, int k) {
    int32_t largest = 0;

    for (int i = 0; i < k; i++) {
        int32_t bits;
        __builtin_memcpy(&bits, x + i, sizeof bits);
        bits &= INT32_MAX;
        if (bits > largest) largest = bits;
    }
    return largest;
}

static int16_t quantize(float x, float factor) {
    const float shifted = x * factor + ROUND_MAGIC;
    int32_t bits;

    __builtin_memcpy(&bits, &shifted, sizeof bits);
    return (int16_t)(bits - ROUND_MAGIC_BITS);
}

void qkv_pack_i16_scalar(int16_t *panels, float *scales, const float *x, size_t x_stride, int rows, int k, int most) {
    const float amax = quantized_max(k, most);
    const size_t row_size = ((size_t)k + 1) / 2 * 2;
    int block;

    for (int m = 0; m < rows; m += block, panels += row_size * (size_t)block) {
        block = qkv_pair_block(rows - m);
        for (int r = 0; r < block; r++) {
            const float *row = x + (size_t)(m + r) * x_stride;
            const float factor = row_factor(largest_bits(row, k), amax, &scales[m + r]);

            for (size_t i = 0; i < row_size; i++) {
                const bool zero = factor == 0.0f || i >= (size_t)k;
                panels[i / 2 * 2 * (size_t)block + (size_t)r * 2 + i % 2] = zero ? 0 : quantize(row[i], factor);
            }
        }
    }
}
