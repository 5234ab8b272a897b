/* One function a format; how the integers lie in a block is told above each. */
#include <stddef.h>

#include "block_scales.h"
#include "kernels.h"

/* ---- blocks of 32: value i is the low nibble of byte i, value i + 16 its high nibble ----------------------------- */

/* d, nibbles[16] */
static void q4_0(float *y, const uint8_t *x) {
    const float d = half_at(x);

    for (int i = 0; i < BLOCK_SMALL / 2; i++) {
        y[i] = d * (float)((x[2 + i] & 15) - 8);
        y[i + BLOCK_SMALL / 2] = d * (float)((x[2 + i] >> 4) - 8);
    }
}

/* d, m, nibbles[16] */
static void q4_1(float *y, const uint8_t *x) {
    const float d = half_at(x), m = half_at(x + 2);

    for (int i = 0; i < BLOCK_SMALL / 2; i++) {
        y[i] = d * (float)(x[4 + i] & 15) + m;
        y[i + BLOCK_SMALL / 2] = d * (float)(x[4 + i] >> 4) + m;
    }
}

/* Five bits: the fifth of value i is bit i of the four bytes `high`. */
static int five_bits(const uint8_t *high, const uint8_t *nibbles, int i) {
    const int low = i < BLOCK_SMALL / 2 ? nibbles[i] & 15 : nibbles[i - BLOCK_SMALL / 2] >> 4;
    return low | (high[i / 8] >> i % 8 & 1) << 4;
}

/* d, high[4], nibbles[16] */
static void q5_0(float *y, const uint8_t *x) {
    const float d = half_at(x);

    for (int i = 0; i < BLOCK_SMALL; i++) y[i] = d * (float)(five_bits(x + 2, x + 6, i) - 16);
}

/* d, m, high[4], nibbles[16] */
static void q5_1(float *y, const uint8_t *x) {
    const float d = half_at(x), m = half_at(x + 2);

    for (int i = 0; i < BLOCK_SMALL; i++) y[i] = d * (float)five_bits(x + 4, x + 8, i) + m;
}

/* d, int8[32] */
static void q8_0(float *y, const uint8_t *x) {
    const float d = half_at(x);

    for (int i = 0; i < BLOCK_SMALL; i++) y[i] = d * (float)(int8_t)x[2 + i];
}

/* ---- blocks of 256 ---------------------------------------------------------------------------------------------- */

/* d, dmin, scales[12], then nibbles[128]: of each 32 bytes the low nibbles are 32 values, the high ones the next 32.
 * high: NULL, or 32 bytes, where bit g of byte i is the fifth bit of value i of group g. */
static void groups_of_32(float *y, const uint8_t *x, const uint8_t *high, const uint8_t *nibbles) {
    const float d = half_at(x), dmin = half_at(x + 2);

    for (int g = 0; g < BLOCK_LARGE / 32; g++, y += 32) {
        float scale, min;
        six_bits(x + 4, g, &scale, &min);
        scale *= d;
        min *= dmin;
        for (int i = 0; i < 32; i++) {
            const int low = nibbles[g / 2 * 32 + i] >> g % 2 * 4 & 15;
            const int fifth = high ? high[i] >> g & 1 : 0;
            y[i] = scale * (float)(low | fifth << 4) - min;
        }
    }
}

static void q4_k(float *y, const uint8_t *x) {
    groups_of_32(y, x, NULL, x + 16);
}

static void q5_k(float *y, const uint8_t *x) {
    groups_of_32(y, x, x + 16, x + 48);
}

/* nibbles[128], high[64], int8 scales[16], d. In each half of 128 values: value i has nibble i % 64 of 64 bytes, the low ones
 * first, and two more bits from byte i % 32 of 32 bytes, from the lowest pair upwards. */
static void q6_k(float *y, const uint8_t *x) {
    const uint8_t *nibbles = x, *high = x + 128, *scales = x + 192;
    const float d = half_at(x + 208);

    for (int i = 0; i < BLOCK_LARGE; i++) {
        const int half = i / 128, place = i % 128;
        const int low = nibbles[half * 64 + place % 64] >> place / 64 * 4 & 15;
        const int upper = high[half * 32 + place % 32] >> place / 32 * 2 & 3;
        const float scale = d * (float)(int8_t)scales[i / 16];
        y[i] = scale * (float)((low | upper << 4) - 32);
    }
}

static decode_block *const decoders[BLOCK_FORMATS] = {q4_0, q4_1, q5_0, q5_1, q8_0, q4_k, q5_k, q6_k};

void qkv_decode_blocks_scalar(float *y, const uint8_t *x, int blocks, int format) {
    for (int i = 0; i < blocks; i++, y += block_sizes[format].values, x += block_sizes[format].bytes) {
        decoders[format](y, x);
    }
}
