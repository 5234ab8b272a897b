/* Tests of the kernels that take a block of logits to weights and context. */
#include "kernel_tests.h"

#include <math.h>
#include <string.h>

/* Lengths: all tails, and rows that go through the parts of sum_exp_scaled_f32. */
static const int lengths[] = {0,  1,  2,  3,  4,  5,  7,  8,  9,  11, 12, 13,  15,  16,  17,  23,
                              24, 31, 32, 33, 63, 64, 67, 72, 96, 97, 99, 255, 256, 257, 264, 1000};

/* ---- range_f32 ------------------------------------------------------------------------------------------------ */

static void check_range(int n, int shift, filling how, float scale) {
    float *x = guarded((size_t)n, 4, shift);
    float largest = -INFINITY, smallest = INFINITY, least[2];
    bool spoiled = false;

    fill(x, (size_t)n, how);
    if (how == FILL_HOSTILE && shift % 2) { /* rows without what spoils them, for the zeros and the -infinities */
        for (int i = 0; i < n; i++) x[i] = isnan(x[i]) || x[i] == INFINITY ? -INFINITY : x[i];
    }
    for (int i = 0; i < n; i++) {
        const float v = x[i] * scale;
        spoiled = spoiled || isnan(v) || v == INFINITY;
        largest = v > largest ? v : largest;
        smallest = v < smallest ? v : smallest;
    }
    const float top = qkv_range_f32_scalar(least, x, n, scale), simd = qkv_range_f32_simd(least + 1, x, n, scale);
    CHECK(check_same_bits(&top, &simd, 1), "range_f32: twins return %g and %g, n %d", (double)top, (double)simd, n);
    CHECK(spoiled ? isnan(top) : top == largest, "range_f32: returned %g, want %g, n %d", (double)top, (double)largest,
          n);
    CHECK(check_same_bits(least, least + 1, 1) && least[0] == smallest, "range_f32: least %g and %g, want %g, n %d",
          (double)least[0], (double)least[1], (double)smallest, n);
    digest(&simd, 1);
    release(x, "range_f32");
}

void test_range_f32(void) {
    const float zeros[9] = {-0.0f, -0.0f, -0.0f, -0.0f, -0.0f, -0.0f, -0.0f, -0.0f, -0.0f};
    float least;

    for (size_t i = 0; i < COUNT(lengths); i++) {
        for (int shift = 0; shift < 4; shift++) {
            check_range(lengths[i], shift, FILL_NORMAL, 0.17677669f);
            check_range(lengths[i], shift, FILL_HOSTILE, 0.17677669f);
            check_range(lengths[i], shift, FILL_NORMAL, -2.0f);
        }
    }
    for (int at = 0; at < 13; at++) { /* one NaN at any place is noticed */
        float x[13] = {0.0f};
        x[at] = NAN;
        CHECK(isnan(qkv_range_f32_simd(&least, x, 13, 1.0f)), "range_f32: a NaN at %d is lost", at);
        x[at] = INFINITY;
        CHECK(isnan(qkv_range_f32_simd(&least, x, 13, 1.0f)), "range_f32: an infinity at %d is lost", at);
        x[at] = -INFINITY;
        CHECK(qkv_range_f32_simd(&least, x, 13, 1.0f) == 0.0f && least == -INFINITY, "range_f32: -infinity at %d", at);
    }
    CHECK(!signbit(qkv_range_f32_simd(&least, zeros, 9, 1.0f)) && !signbit(least), "range_f32: -0 becomes +0");
    CHECK(qkv_range_f32_simd(&least, zeros, 0, 1.0f) == -INFINITY && least == INFINITY, "range_f32: an empty row");
}

/* ---- sum_exp_scaled_f32 --------------------------------------------------------------------------------------- */

/* spread: how far the least logit lies below the largest. The bits are those of sum_exp_f32 of the products. */
static void check_sum_exp_scaled(int n, int shift, float spread) {
    float *x = guarded((size_t)n, 4, shift), *products = guarded((size_t)n, 4, 0);
    float *want = guarded((size_t)n, 4, 1), *got = guarded((size_t)n, 4, (shift + 2) % 4);
    const float scale = 0.35355338f;
    float least = INFINITY, max = -INFINITY;

    for (int i = 0; i < n; i++) {
        x[i] = (0.5f * random_float() - 0.5f) * spread / scale;
        if (i == n / 2) x[i] = spread > 60.0f && shift % 2 ? -INFINITY : -spread / scale;
        products[i] = x[i] * scale;
        max = fmaxf(max, products[i]);
        least = fminf(least, products[i]);
    }
    const float sum = qkv_sum_exp_f32_scalar(want, products, n, max);
    const float scalar = qkv_sum_exp_scaled_f32_scalar(got, x, n, scale, max, least);
    CHECK(check_same_bits(&sum, &scalar, 1) && check_same_bits(want, got, (size_t)n),
          "sum_exp_scaled_f32_scalar: n %d, spread %g", n, (double)spread);
    for (int known = 0; known < 2; known++) {
        memset(got, 0, (size_t)n * 4);
        const float simd = qkv_sum_exp_scaled_f32_simd(got, x, n, scale, max, known ? least : -INFINITY);
        CHECK(check_same_bits(&sum, &simd, 1) && check_same_bits(want, got, (size_t)n),
              "sum_exp_scaled_f32_simd: n %d, spread %g, least %s", n, (double)spread, known ? "known" : "unknown");
    }
    const float in_place = qkv_sum_exp_scaled_f32_simd(x, x, n, scale, max, least);
    CHECK(check_same_bits(&sum, &in_place, 1) && check_same_bits(want, x, (size_t)n), "sum_exp_scaled_f32: in place");
    digest(x, (size_t)n);
    release(x, "sum_exp_scaled_f32");
    release(products, "sum_exp_scaled_f32");
    release(want, "sum_exp_scaled_f32");
    release(got, "sum_exp_scaled_f32");
}

void test_sum_exp_scaled_f32(void) {
    static const float spreads[] = {0.0f, 1e-30f, 1.0f, 10.0f, 59.0f, 60.0f, 61.0f, 87.0f, 90.0f, 1e4f};

    for (size_t i = 0; i < COUNT(lengths); i++) {
        for (size_t s = 0; s < COUNT(spreads); s++) {
            for (int shift = 0; shift < 4; shift++) check_sum_exp_scaled(lengths[i], shift, spreads[s]);
        }
    }
}

/* ---- mul_rows_f32 --------------------------------------------------------------------------------------------- */

/* odd: what stands at place `at` of the last row, if it exists. */
static void check_mul_rows(int rows, int n, int at, float odd) {
    const size_t stride = (size_t)(n + rows % 3), count = (size_t)rows * stride;
    float *scalar = guarded(count, 4, n % 4), *simd = guarded(count, 4, 1), *factors = guarded((size_t)rows, 4, 2);
    bool finite = true;

    fill(scalar, count, FILL_NORMAL);
    fill(factors, (size_t)rows, FILL_NORMAL);
    if (rows > 0 && n > 0) scalar[(size_t)(rows - 1) * stride + (size_t)(at % n)] = odd;
    if (count > 0) memcpy(simd, scalar, count * 4);
    for (int m = 0; m < rows; m++) {
        for (int i = 0; i < n; i++) finite = finite && isfinite(scalar[(size_t)m * stride + (size_t)i] * factors[m]);
    }
    const int scalar_says = qkv_mul_rows_f32_scalar(scalar, stride, factors, rows, n);
    const int simd_says = qkv_mul_rows_f32_simd(simd, stride, factors, rows, n);
    CHECK(scalar_says == finite && simd_says == finite, "mul_rows_f32: says %d and %d, %d x %d, %g at %d", scalar_says,
          simd_says, rows, n, (double)odd, at);
    CHECK(check_same_bits(scalar, simd, count), "mul_rows_f32: twins differ, %d x %d", rows, n);
    digest(simd, count);
    release(scalar, "mul_rows_f32");
    release(simd, "mul_rows_f32");
    release(factors, "mul_rows_f32");
}

void test_mul_rows_f32(void) {
    static const float odd[] = {0.0f, -0.0f, 1e-44f, 1e38f, NAN, INFINITY, -INFINITY, 3.4e38f};
    static const int widths[] = {0, 1, 3, 4, 6, 8, 32, 35, 64};
    float rows[3][4] = {{1.0f, 2.0f, 3.0f, 4.0f}, {5.0f, 6.0f, 7.0f, 8.0f}, {-1.0f, 0.0f, 1.0f, 0.5f}};
    const float factors[3] = {2.0f, 0.5f, -4.0f};

    for (int n = 0; n < (int)COUNT(widths); n++) {
        for (int count = 0; count <= QKV_ROWS_MAX; count++) {
            for (int i = 0; i < 32; i++) check_mul_rows(count, widths[n], 5 * i + i / 8, odd[i % 8]);
        }
    }
    CHECK(qkv_mul_rows_f32_simd(rows[0], 4, factors, 3, 4) == 1, "finite rows are said to be so");
    CHECK(rows[0][3] == 8.0f && rows[1][0] == 2.5f && rows[2][2] == -4.0f, "every row has its factor");
}
