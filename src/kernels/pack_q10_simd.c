/* Two passes over a row block: factors first, then integers. A pair of int16 is one element of 32 bits from there
 * on, so packing is that of f32. */
#include "kernels.h"
#include "pack_columns.h"
#include "quantize_row.h"

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

/* The last 1 to 7 elements of a row, as pairs padded with 0. */
static void quantize_tail(int16_t *to, const float *x, int left, float factor, int block) {
    float eight[8] = {0.0f};
    int16_t q[8];

    for (int i = 0; i < left; i++) eight[i] = x[i];
    wasm_v128_store(q, quantize_eight(eight, factor));
    for (int i = 0; i < (left + 1) / 2 * 2; i++) to[i / 2 * 2 * block + i % 2] = q[i];
}

ALWAYS_INLINE void pack_block(int16_t *panel, const float *x, size_t x_stride, int k, const float *factor,
                              const int R) {
    int i = 0;

    for (; i + 8 <= k; i += 8, panel += 8 * R) {
        v128_t v[QKV_ROWS_MAX];
        for (int r = 0; r < R; r++) v[r] = quantize_eight(x + (size_t)r * x_stride + i, factor[r]);
        store_columns(panel, v, R);
    }
    for (int r = 0; i < k && r < R; r++) {
        quantize_tail(panel + r * 2, x + (size_t)r * x_stride + i, k - i, factor[r], R);
    }
}

void qkv_pack_q10_simd(int16_t *panels, float *scales, const float *x, size_t x_stride, int rows, int k) {
    const float amax = quantized_max(k);
    const size_t row_size = ((size_t)k + 1) / 2 * 2;
    int block;

    for (int m = 0; m < rows; m += block, x += (size_t)block * x_stride, panels += row_size * (size_t)block) {
        float factor[QKV_ROWS_MAX];
        block = qkv_row_block(rows - m);
        for (int r = 0; r < block; r++) {
            factor[r] = row_factor(largest_bits(x + (size_t)r * x_stride, k), amax, &scales[m + r]);
        }
        switch (block) {
        case 1: pack_block(panels, x, x_stride, k, factor, 1); break;
        case 2: pack_block(panels, x, x_stride, k, factor, 2); break;
        case 3: pack_block(panels, x, x_stride, k, factor, 3); break;
        case 4: pack_block(panels, x, x_stride, k, factor, 4); break;
        case 5: pack_block(panels, x, x_stride, k, factor, 5); break;
        default: pack_block(panels, x, x_stride, k, factor, 6); break;
        }
    }
}
