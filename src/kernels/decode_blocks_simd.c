/* Sixteen integers at a time; where they lie in a block is told in the scalar twin. Small rather than fast: the compiler
 * would make three times as much code of the scalar one. */
#include <stddef.h>

#include "block_scales.h"
#include "kernels.h"
#include "simd.h"

#define NOTHING (-0.0f) /* x + NOTHING is x, for zeros of both signs too */

/* y[16] = factor * q + offset, each rounded. */
static void sixteen(float *y, v128_t q, float factor, float offset) {
    const v128_t factors = wasm_f32x4_splat(factor), offsets = wasm_f32x4_splat(offset);
    const v128_t halves[2] = {wasm_i16x8_extend_low_i8x16(q), wasm_i16x8_extend_high_i8x16(q)};

    for (int i = 0; i < 2; i++, y += 8) {
        const v128_t first = wasm_f32x4_convert_i32x4(wasm_i32x4_extend_low_i16x8(halves[i]));
        const v128_t second = wasm_f32x4_convert_i32x4(wasm_i32x4_extend_high_i16x8(halves[i]));
        wasm_v128_store(y, wasm_f32x4_add(wasm_f32x4_mul(first, factors), offsets));
        wasm_v128_store(y + 4, wasm_f32x4_add(wasm_f32x4_mul(second, factors), offsets));
    }
}

/* `bits` of each byte, from bit `from` on, moved up by `to`. */
static v128_t some_bits(const uint8_t *bytes, int from, int bits, int to) {
    const v128_t down = wasm_u8x16_shr(wasm_v128_load(bytes), (uint32_t)from);
    return wasm_i8x16_shl(wasm_v128_and(down, wasm_i8x16_splat((int8_t)((1 << bits) - 1))), (uint32_t)to);
}

/* Sixteen bits as sixteen bytes of 0 or 16. */
static v128_t fifth_bits(const uint8_t *high) {
    const v128_t masks = wasm_i8x16_make(1, 2, 4, 8, 16, 32, 64, -128, 1, 2, 4, 8, 16, 32, 64, -128);
    const v128_t both = wasm_v128_load16_splat(high);
    const v128_t bytes = wasm_i8x16_shuffle(both, both, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
    const v128_t set = wasm_i8x16_eq(wasm_v128_and(bytes, masks), masks);
    return wasm_v128_and(set, wasm_i8x16_splat(16));
}

/* high: NULL, or four bytes of fifth bits. y = d * (q - less) + m. */
static void block_of_32(float *y, const uint8_t *high, const uint8_t *nibbles, int less, float d, float m) {
    for (int i = 0; i < 2; i++) {
        v128_t q = some_bits(nibbles, 4 * i, 4, 0);
        if (high) q = wasm_v128_or(q, fifth_bits(high + 2 * i));
        sixteen(y + 16 * i, wasm_i8x16_sub(q, wasm_i8x16_splat((int8_t)less)), d, m);
    }
}

static void q4_0(float *y, const uint8_t *x) {
    block_of_32(y, NULL, x + 2, 8, half_at(x), NOTHING);
}

static void q4_1(float *y, const uint8_t *x) {
    block_of_32(y, NULL, x + 4, 0, half_at(x), half_at(x + 2));
}

static void q5_0(float *y, const uint8_t *x) {
    block_of_32(y, x + 2, x + 6, 16, half_at(x), NOTHING);
}

static void q5_1(float *y, const uint8_t *x) {
    block_of_32(y, x + 4, x + 8, 0, half_at(x), half_at(x + 2));
}

static void q8_0(float *y, const uint8_t *x) {
    const float d = half_at(x);

    sixteen(y, wasm_v128_load(x + 2), d, NOTHING);
    sixteen(y + 16, wasm_v128_load(x + 18), d, NOTHING);
}

static void groups_of_32(float *y, const uint8_t *x, const uint8_t *high, const uint8_t *nibbles) {
    const float d = half_at(x), dmin = half_at(x + 2);

    for (int i = 0; i < BLOCK_LARGE / 16; i++, y += 16) {
        const int group = i / 2, half = i % 2 * 16;
        float scale, min;
        six_bits(x + 4, group, &scale, &min);
        v128_t q = some_bits(nibbles + group / 2 * 32 + half, group % 2 * 4, 4, 0);
        if (high) q = wasm_v128_or(q, some_bits(high + half, group, 1, 4));
        sixteen(y, q, scale * d, -(min * dmin));
    }
}

static void q4_k(float *y, const uint8_t *x) {
    groups_of_32(y, x, NULL, x + 16);
}

static void q5_k(float *y, const uint8_t *x) {
    groups_of_32(y, x, x + 16, x + 48);
}

static void q6_k(float *y, const uint8_t *x) {
    const uint8_t *nibbles = x, *high = x + 128, *scales = x + 192;
    const float d = half_at(x + 208);

    for (int i = 0; i < BLOCK_LARGE / 16; i++, y += 16) {
        const int half = i / 8, place = i % 8 * 16;
        const v128_t low = some_bits(nibbles + half * 64 + place % 64, place / 64 * 4, 4, 0);
        const v128_t upper = some_bits(high + half * 32 + place % 32, place / 32 * 2, 2, 4);
        const v128_t q = wasm_i8x16_sub(wasm_v128_or(low, upper), wasm_i8x16_splat(32));
        sixteen(y, q, d * (float)(int8_t)scales[i], NOTHING);
    }
}

static decode_block *const decoders[BLOCK_FORMATS] = {q4_0, q4_1, q5_0, q5_1, q8_0, q4_k, q5_k, q6_k};

void qkv_decode_blocks_simd(float *y, const uint8_t *x, int blocks, int format) {
    for (int i = 0; i < blocks; i++, y += block_sizes[format].values, x += block_sizes[format].bytes) {
        decoders[format](y, x);
    }
}
