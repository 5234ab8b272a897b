/* Tests of the conversions to float32. */
#include "kernel_tests.h"

#include <math.h>
#include <string.h>

static double half_value(uint16_t h) {
    const int exponent = h >> 10 & 31, fraction = h & 1023;
    const double magnitude = exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25);

    return h & 0x8000 ? -magnitude : magnitude;
}

/* All 65,536 values at once, then every length; `simd` against `scalar` strictly, payloads of NaN included. */
static void check_widening(void (*scalar)(float *, const uint16_t *, int), void (*simd)(float *, const uint16_t *, int),
                           const char *name) {
    static uint16_t x[65536];
    static float a[65536], b[65536];

    for (int i = 0; i < 65536; i++) x[i] = (uint16_t)i;
    scalar(a, x, 65536);
    simd(b, x, 65536);
    CHECK(memcmp(a, b, sizeof a) == 0, "%s: twins differ", name);
    digest(b, 65536);
    for (int n = 0; n < 68; n++) {
        uint16_t *in = guarded((size_t)n, 2, n % 8);
        float *out = guarded((size_t)n, 4, n % 4);
        for (int i = 0; i < n; i++) in[i] = (uint16_t)random_bits();
        simd(out, in, n);
        for (int i = 0; i < n; i++) CHECK(memcmp(out + i, a + in[i], 4) == 0, "%s: y[%d] of %d", name, i, n);
        release(in, name);
        release(out, name);
    }
}

void test_from_f16(void) {
    static float y[65536];
    static uint16_t x[65536];

    check_widening(qkv_from_f16_scalar, qkv_from_f16_simd, "from_f16");
    for (int i = 0; i < 65536; i++) x[i] = (uint16_t)i;
    qkv_from_f16_simd(y, x, 65536);
    for (int i = 0; i < 65536; i++) {
        const int fraction = i & 1023;
        const float want = (i & 0x7c00) != 0x7c00 ? (float)half_value(x[i]) : fraction ? NAN : INFINITY;
        const bool same = fraction && isnan(want) ? isnan(y[i]) : y[i] == (i & 0x8000 && isinf(want) ? -want : want);
        CHECK(same && !signbit(y[i]) == !(i & 0x8000), "from_f16: %04x gives %a", (unsigned)i, (double)y[i]);
    }
}

void test_from_bf16(void) {
    const uint16_t x[4] = {0x3f80, 0xc040, 0x0001, 0xff80};
    float y[4];

    check_widening(qkv_from_bf16_scalar, qkv_from_bf16_simd, "from_bf16");
    qkv_from_bf16_simd(y, x, 4);
    CHECK(y[0] == 1.0f && y[1] == -3.0f && y[2] == 0x1p-133f && y[3] == -INFINITY, "from_bf16: known values");
}

void test_from_q10(void) {
    const float scale = 0.0123f;

    for (int n = 0; n < 1100; n += n < 68 ? 1 : 101) {
        int8_t *high = guarded((size_t)n, 1, n % 16);
        uint8_t *low = guarded(((size_t)n + 3) / 4, 1, n % 5);
        float *scalar = guarded((size_t)n, 4, n % 4), *simd = guarded((size_t)n, 4, (n + 1) % 4);

        for (int i = 0; i < n; i++) high[i] = (int8_t)(i % 256 - 128);
        for (int i = 0; i < (n + 3) / 4; i++) low[i] = (uint8_t)random_bits();
        qkv_from_q10_scalar(scalar, high, low, n, scale);
        qkv_from_q10_simd(simd, high, low, n, scale);
        CHECK(check_same_bits(scalar, simd, (size_t)n), "from_q10: twins differ, n %d", n);
        digest(simd, (size_t)n);
        for (int i = 0; i < n; i++) {
            const int q = 4 * high[i] + low[i / 4] / (1 << i % 4 * 2) % 4;
            CHECK(simd[i] == (float)q * scale, "from_q10: y[%d] of %d, q %d", i, n, q);
        }
        release(high, "from_q10");
        release(low, "from_q10");
        release(scalar, "from_q10");
        release(simd, "from_q10");
    }
}

void test_from_q8(void) {
    const float scale = 0.0123f;

    for (int n = 0; n < 1100; n += n < 68 ? 1 : 101) {
        int8_t *q = guarded((size_t)n, 1, n % 16);
        float *scalar = guarded((size_t)n, 4, n % 4), *simd = guarded((size_t)n, 4, (n + 1) % 4);

        for (int i = 0; i < n; i++) q[i] = (int8_t)((i * 37 + n) % 256 - 128);
        qkv_from_q8_scalar(scalar, q, n, scale);
        qkv_from_q8_simd(simd, q, n, scale);
        CHECK(check_same_bits(scalar, simd, (size_t)n), "from_q8: twins differ, n %d", n);
        digest(simd, (size_t)n);
        for (int i = 0; i < n; i++) CHECK(simd[i] == (float)q[i] * scale, "from_q8: y[%d] of %d, q %d", i, n, q[i]);
        release(q, "from_q8");
        release(scalar, "from_q8");
        release(simd, "from_q8");
    }
}

/* Halves at the bounds of each integer, a scale that is no number, and one that is so small that quotients are clamped. */
void test_quantize_f32(void) {
    static const float scales[] = {0.0123f, 1.0f, 3e-39f, 1e30f, 0.0f, NAN};

    for (int n = 0; n < 300; n += n < 40 ? 1 : 37) {
        float *x = guarded((size_t)n, 4, n % 4);
        int16_t *scalar = guarded((size_t)n, 2, n % 8), *simd = guarded((size_t)n, 2, (n + 1) % 8);

        for (size_t s = 0; s < COUNT(scales); s++) {
            const int most = s % 2 ? QKV_Q8_MAX : QKV_Q10_MAX;
            for (int i = 0; i < n; i++) x[i] = ((float)(i % 1030 - 515) + (float)(i % 3) * 0.5f) * scales[s];
            qkv_quantize_f32_scalar(scalar, x, n, scales[s], most);
            qkv_quantize_f32_simd(simd, x, n, scales[s], most);
            CHECK(n == 0 || memcmp(scalar, simd, (size_t)n * 2) == 0, "quantize_f32: twins differ, n %d", n);
            for (int i = 0; i < n; i++) {
                const double exact = scales[s] > 0.0f ? nearbyint((double)(x[i] / scales[s])) : 0.0;
                const double want = fmax(-most, fmin(most, exact));
                CHECK(simd[i] == want, "quantize_f32: %g at scale %g became %d", (double)x[i], (double)scales[s],
                      simd[i]);
            }
        }
        release(x, "quantize_f32");
        release(scalar, "quantize_f32");
        release(simd, "quantize_f32");
    }
}

void test_split_i16(void) {
    for (int n = 0; n < 1100; n += n < 68 ? 1 : 101) {
        const size_t count = (size_t)n, lows = (count + 3) / 4;
        int16_t *q = guarded(count, 2, n % 8), *back = guarded(count, 2, n % 3), *two = guarded(count, 2, n % 5);
        int8_t *scalar = guarded(count, 1, n % 16), *simd = guarded(count, 1, n % 7);
        uint8_t *scalar_low = guarded(lows, 1, n % 3), *simd_low = guarded(lows, 1, n % 5);
        bool same = true;

        for (int i = 0; i < n; i++) q[i] = (int16_t)((i * 37 + n) % 1023 - 511);
        qkv_split_i16_scalar(scalar, scalar_low, q, n);
        qkv_split_i16_simd(simd, simd_low, q, n);
        same = n == 0 || (memcmp(scalar, simd, count) == 0 && memcmp(scalar_low, simd_low, lows) == 0);
        CHECK(same, "split_i16: twins differ, n %d", n);
        qkv_widen_i8_simd(back, simd, n, 4);
        qkv_widen_low_simd(two, simd_low, n);
        for (int i = 0; i < n; i++) CHECK(back[i] + two[i] == q[i], "split_i16: q[%d] of %d, %d", i, n, q[i]);
        if (n % 4 > 0) CHECK(simd_low[lows - 1] >> 2 * (n % 4) == 0, "split_i16: bits that belong to nothing, n %d", n);
        for (int i = 0; i < n; i++) q[i] = (int16_t)((i * 37 + n) % 255 - 127);
        qkv_split_i16_scalar(scalar, NULL, q, n);
        qkv_split_i16_simd(simd, NULL, q, n);
        for (int i = 0; i < n; i++) CHECK(simd[i] == q[i] && scalar[i] == q[i], "split_i16: q8[%d] of %d", i, n);
        release(q, "split_i16");
        release(back, "split_i16");
        release(two, "split_i16");
        release(scalar, "split_i16");
        release(simd, "split_i16");
        release(scalar_low, "split_i16");
        release(simd_low, "split_i16");
    }
}

void test_widen_i8(void) {
    for (int n = 0; n < 300; n++) {
        int8_t *x = guarded((size_t)n, 1, n % 16);
        int16_t *scalar = guarded((size_t)n, 2, n % 8), *simd = guarded((size_t)n, 2, n % 7);

        for (int i = 0; i < n; i++) x[i] = (int8_t)(i % 256 - 128);
        for (int factor = 1; factor <= 4; factor += 3) {
            qkv_widen_i8_scalar(scalar, x, n, factor);
            qkv_widen_i8_simd(simd, x, n, factor);
            for (int i = 0; i < n; i++) {
                CHECK(simd[i] == x[i] * factor && scalar[i] == simd[i], "widen_i8: %d became %d", x[i], simd[i]);
            }
        }
        release(x, "widen_i8");
        release(scalar, "widen_i8");
        release(simd, "widen_i8");
    }
}

void test_widen_low(void) {
    for (int n = 0; n < 300; n++) {
        const size_t lows = ((size_t)n + 3) / 4;
        uint8_t *low = guarded(lows, 1, n % 16);
        int16_t *scalar = guarded((size_t)n, 2, n % 8), *simd = guarded((size_t)n, 2, n % 7);

        for (size_t i = 0; i < lows; i++) low[i] = (uint8_t)random_bits();
        qkv_widen_low_scalar(scalar, low, n);
        qkv_widen_low_simd(simd, low, n);
        for (int i = 0; i < n; i++) {
            const int want = low[i / 4] / (1 << i % 4 * 2) % 4;
            CHECK(simd[i] == want && scalar[i] == want, "widen_low: q[%d] of %d is %d", i, n, simd[i]);
        }
        release(low, "widen_low");
        release(scalar, "widen_low");
        release(simd, "widen_low");
    }
}

/* Any bytes are blocks; what they stand for is checked against the reference by ggml_blocks_test. */
void test_decode_blocks(void) {
    static const int values[] = {32, 32, 32, 32, 32, 256, 256, 256}, sizes[] = {18, 20, 22, 24, 34, 144, 176, 210};

    for (int format = 0; format < 8; format++) {
        for (int blocks = 0; blocks < 20; blocks++) {
            const size_t bytes = (size_t)(blocks * sizes[format]), n = (size_t)(blocks * values[format]);
            uint8_t *x = guarded(bytes, 1, blocks % 16);
            float *scalar = guarded(n, 4, blocks % 4), *simd = guarded(n, 4, (blocks + 1) % 4);

            for (size_t i = 0; i < bytes; i++) x[i] = (uint8_t)random_bits();
            qkv_decode_blocks_scalar(scalar, x, blocks, format);
            qkv_decode_blocks_simd(simd, x, blocks, format);
            CHECK(check_same_bits(scalar, simd, n), "decode_blocks: twins differ, format %d, %d blocks", format,
                  blocks);
            digest(simd, n);
            release(x, "decode_blocks");
            release(scalar, "decode_blocks");
            release(simd, "decode_blocks");
        }
    }
}
