/* Two passes over a row block: factors first, then integers, some columns at a time. A pair of int16 is one element of
 * 32 bits from there on, so packing is that of f32. */
#include "kernels.h"
#include "quantize_row.h"
#include "simd.h"

#define COLUMNS 64 /* of a row that are turned into integers before they are packed */

static int32_t largest_bits(const float *x, int k) {
    const v128_t magnitude = wasm_i32x4_splat(INT32_MAX);
    v128_t largest = wasm_i32x4_splat(0);
    int32_t lane[4], top = 0;
    int i = 0;

    for (; i + 4 <= k; i += 4) {
        largest = wasm_i32x4_max(largest, wasm_v128_and(wasm_v128_load(x + i), magnitude));
    }
    if (i < k) largest = wasm_i32x4_max(largest, wasm_v128_and(load_part(x + i, k - i, 0.0f), magnitude));
    wasm_v128_store(lane, largest);
    for (int j = 0; j < 4; j++) top = lane[j] > top ? lane[j] : top;
    return top;
}

static inline v128_t quantize_four(v128_t x, v128_t factor) {
    const v128_t shifted = wasm_f32x4_add(wasm_f32x4_mul(x, factor), wasm_f32x4_splat(ROUND_MAGIC));
    return wasm_i32x4_sub(shifted, wasm_i32x4_splat(ROUND_MAGIC_BITS));
}

/* Eight elements become four pairs. A factor of 0 gives zeros whatever x is. */
static inline v128_t quantize_eight(const float *x, float factor) {
    const v128_t factors = wasm_f32x4_splat(factor);

    if (factor == 0.0f) return wasm_i32x4_splat(0);
    return wasm_i16x8_narrow_i32x4(quantize_four(wasm_v128_load(x), factors),
                                   quantize_four(wasm_v128_load(x + 4), factors));
}

/* Up to COLUMNS elements of a row as pairs; an odd last one is paired with 0. */
static void quantize_row(float *pairs, const float *x, int count, float factor) {
    int i = 0;

    for (; i + 8 <= count; i += 8) wasm_v128_store(pairs + i / 2, quantize_eight(x + i, factor));
    if (i == count) return;
    float eight[8] = {0.0f};
    for (int j = 0; i + j < count; j++) eight[j] = x[i + j];
    wasm_v128_store(pairs + i / 2, quantize_eight(eight, factor));
}

static void pack_block(float *panel, const float *x, size_t x_stride, int rows, int k, const float *factor) {
    float pairs[QKV_ROWS_MAX * COLUMNS / 2];

    for (int i = 0; i < k; i += COLUMNS) {
        const int count = k - i < COLUMNS ? k - i : COLUMNS;
        for (int r = 0; r < rows; r++) {
            quantize_row(pairs + r * COLUMNS / 2, x + (size_t)r * x_stride + i, count, factor[r]);
        }
        qkv_pack_f32_simd(panel, pairs, COLUMNS / 2, rows, (count + 1) / 2);
        panel += rows * (COLUMNS / 2);
    }
}

void qkv_pack_i16_simd(int16_t *panels, float *scales, const float *x, size_t x_stride, int rows, int k, int most) {
    const float amax = quantized_max(k, most);
    const size_t row_size = ((size_t)k + 1) / 2 * 2;
    int block;

    for (int m = 0; m < rows; m += block, x += (size_t)block * x_stride, panels += row_size * (size_t)block) {
        float factor[QKV_ROWS_MAX];
        block = qkv_pair_block(rows - m);
        for (int r = 0; r < block; r++) {
            factor[r] = row_factor(largest_bits(x + (size_t)r * x_stride, k), amax, &scales[m + r]);
        }
        pack_block((float *)(void *)panels, x, x_stride, block, k, factor);
    }
}
