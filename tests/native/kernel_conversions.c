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
