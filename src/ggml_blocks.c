/* ggml_blocks.c - one function a format; how the integers lie in a block is told above each. */
#include "ggml_blocks.h"

#define SMALL 32  /* values of a block of the older formats */
#define LARGE 256 /* of the "K" formats */

/* A half at any address. As in from_f16_scalar.c: moved into a float's place it is 2^112 too small. */
static float half_at(const uint8_t *x) {
    const uint32_t half = (uint32_t)x[0] | (uint32_t)x[1] << 8, magnitude = half & 0x7fffu;
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

/* ---- blocks of 32: value i is the low nibble of byte i, value i + 16 its high nibble ----------------------------- */

/* d, nibbles[16] */
static void q4_0(float *y, const uint8_t *x) {
    const float d = half_at(x);

    for (int i = 0; i < SMALL / 2; i++) {
        y[i] = d * (float)((x[2 + i] & 15) - 8);
        y[i + SMALL / 2] = d * (float)((x[2 + i] >> 4) - 8);
    }
}

/* d, m, nibbles[16] */
static void q4_1(float *y, const uint8_t *x) {
    const float d = half_at(x), m = half_at(x + 2);

    for (int i = 0; i < SMALL / 2; i++) {
        y[i] = d * (float)(x[4 + i] & 15) + m;
        y[i + SMALL / 2] = d * (float)(x[4 + i] >> 4) + m;
    }
}

/* Five bits: the fifth of value i is bit i of the four bytes `high`. */
static int five_bits(const uint8_t *high, const uint8_t *nibbles, int i) {
    const int low = i < SMALL / 2 ? nibbles[i] & 15 : nibbles[i - SMALL / 2] >> 4;
    return low | (high[i / 8] >> i % 8 & 1) << 4;
}

/* d, high[4], nibbles[16] */
static void q5_0(float *y, const uint8_t *x) {
    const float d = half_at(x);

    for (int i = 0; i < SMALL; i++) y[i] = d * (float)(five_bits(x + 2, x + 6, i) - 16);
}

/* d, m, high[4], nibbles[16] */
static void q5_1(float *y, const uint8_t *x) {
    const float d = half_at(x), m = half_at(x + 2);

    for (int i = 0; i < SMALL; i++) y[i] = d * (float)five_bits(x + 4, x + 8, i) + m;
}

/* d, int8[32] */
static void q8_0(float *y, const uint8_t *x) {
    const float d = half_at(x);

    for (int i = 0; i < SMALL; i++) y[i] = d * (float)(int8_t)x[2 + i];
}

/* ---- blocks of 256 ---------------------------------------------------------------------------------------------- */

/* Eight scales and eight minima of six bits in twelve bytes. The first four of each are the low six bits of bytes 0-3 and
 * 4-7, whose upper two bits are the upper bits of the last four; bytes 8-11 hold the lower four bits of those. */
static void six_bits(const uint8_t *x, int i, float *scale, float *min) {
    if (i < 4) {
        *scale = (float)(x[i] & 63);
        *min = (float)(x[4 + i] & 63);
    } else {
        *scale = (float)((x[4 + i] & 15) | (x[i - 4] >> 6) << 4);
        *min = (float)((x[4 + i] >> 4) | (x[i] >> 6) << 4);
    }
}

/* d, dmin, scales[12], then nibbles[128]: of each 32 bytes the low nibbles are 32 values, the high ones the next 32.
 * high: NULL, or 32 bytes, where bit g of byte i is the fifth bit of value i of group g. */
static void groups_of_32(float *y, const uint8_t *x, const uint8_t *high, const uint8_t *nibbles) {
    const float d = half_at(x), dmin = half_at(x + 2);

    for (int g = 0; g < LARGE / 32; g++, y += 32) {
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

    for (int i = 0; i < LARGE; i++) {
        const int half = i / 128, place = i % 128;
        const int low = nibbles[half * 64 + place % 64] >> place / 64 * 4 & 15;
        const int upper = high[half * 32 + place % 32] >> place / 32 * 2 & 3;
        const float scale = d * (float)(int8_t)scales[i / 16];
        y[i] = scale * (float)((low | upper << 4) - 32);
    }
}

/* ---- all of them ------------------------------------------------------------------------------------------------ */

typedef struct block_format {
    int32_t values;
    int32_t bytes;
    void (*decode)(float *y, const uint8_t *x);
} block_format;

static const block_format formats[QKV_PLANE_COUNT] = {
    [QKV_PLANE_Q4_0] = {SMALL, 18, q4_0},  [QKV_PLANE_Q4_1] = {SMALL, 20, q4_1},  [QKV_PLANE_Q5_0] = {SMALL, 22, q5_0},
    [QKV_PLANE_Q5_1] = {SMALL, 24, q5_1},  [QKV_PLANE_Q8_0] = {SMALL, 34, q8_0},  [QKV_PLANE_Q4_K] = {LARGE, 144, q4_k},
    [QKV_PLANE_Q5_K] = {LARGE, 176, q5_k}, [QKV_PLANE_Q6_K] = {LARGE, 210, q6_k},
};

int32_t qkv_block_values(qkv_plane plane) {
    return formats[plane].values;
}

size_t qkv_block_bytes(qkv_plane plane) {
    return (size_t)formats[plane].bytes;
}

void qkv_from_blocks(float *y, qkv_plane plane, const void *data, int32_t n) {
    const block_format *format = &formats[plane];
    const uint8_t *x = data;

    for (int32_t i = 0; i < n; i += format->values, x += format->bytes) format->decode(y + i, x);
}
