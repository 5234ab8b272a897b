/* Tests of the kernels that walk along rows. */
#include "kernel_tests.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- scale_f32 ------------------------------------------------------------------------------------------------ */

static void check_scale(int n, int shift, filling how) {
    const arrays a = make_arrays(n, shift, how);
    const float scale = 0.17677669f;

    for (int with_bias = 0; with_bias < 2; with_bias++) {
        const float *bias = with_bias ? a.b : NULL;
        const float top = qkv_scale_f32_scalar(a.scalar, a.x, n, scale, bias);
        float largest = -INFINITY;
        bool spoiled = false;

        check_result(top, qkv_scale_f32_simd(a.simd, a.x, n, scale, bias), n, "scale_f32");
        check_twins(&a, n, how, "scale_f32");
        for (int i = 0; i < n; i++) {
            float want = a.x[i] * scale;
            if (bias) want = bias[i] == -INFINITY ? -INFINITY : want + bias[i];
            spoiled = spoiled || isnan(want) || want == INFINITY;
            largest = want > largest ? want : largest;
            CHECK(check_same_bits(&want, a.simd + i, 1), "scale_f32: y[%d] of %d", i, n);
        }
        CHECK(spoiled ? isnan(top) : top == largest, "scale_f32: returned %g, n %d", (double)top, n);
    }
    qkv_scale_f32_simd(a.x, a.x, n, scale, a.b);
    check_in_place(&a, a.x, n, "scale_f32");
    release_arrays(&a, "scale_f32");
}

void test_scale_f32(void) {
    const float x[5] = {1.0f, NAN, INFINITY, -1.0f, 2.0f};
    const float masked[5] = {0.0f, -INFINITY, -INFINITY, 0.0f, -INFINITY};
    float y[5];

    for_all_lengths(check_scale);
    CHECK(qkv_scale_f32_simd(y, x, 5, 2.0f, masked) == 2.0f, "a masked NaN or infinity does not spoil the row");
    CHECK(y[1] == -INFINITY && y[2] == -INFINITY && y[4] == -INFINITY, "-infinity in the bias wins");
    CHECK(isnan(qkv_scale_f32_simd(y, x, 2, 1.0f, NULL)), "NaN is reported");
    CHECK(isnan(qkv_scale_f32_simd(y, x + 2, 2, 1.0f, NULL)), "infinity is reported as NaN");
    CHECK(qkv_scale_f32_simd(y, x + 1, 2, 1.0f, masked + 1) == -INFINITY, "a fully masked row gives -infinity");
    CHECK(qkv_scale_f32_simd(y, x, 0, 1.0f, NULL) == -INFINITY, "an empty row gives -infinity");
}

/* ---- sum_exp_f32 ---------------------------------------------------------------------------------------------- */

static void check_sum_exp(int n, int shift, filling how) {
    const arrays a = make_arrays(n, shift, how);
    const float max = how == FILL_HOSTILE ? 1e38f : 3.0f;
    double sum = 0.0;

    for (int i = 0; i < n; i++) {
        if (isnan(a.x[i]) || a.x[i] == INFINITY) a.x[i] = -INFINITY;
    }
    const float total = qkv_sum_exp_f32_scalar(a.scalar, a.x, n, max);
    check_result(total, qkv_sum_exp_f32_simd(a.simd, a.x, n, max), n, "sum_exp_f32");
    check_twins(&a, n, how, "sum_exp_f32");
    for (int i = 0; i < n; i++) {
        const float d = a.x[i] - max;
        const double truth = d < -60.0f ? 0.0 : exp((double)d);
        sum += truth;
        CHECK(ulps(a.simd[i], truth) < 1.2, "exp(%a) = %a", (double)d, (double)a.simd[i]);
    }
    /* Two roundings of each exp, and one for each addition of a lane. */
    CHECK(fabs((double)total - sum) <= (n / 4 + 6) * EPSILON * sum, "sum_exp_f32: sum %g, want %g", (double)total, sum);
    qkv_sum_exp_f32_simd(a.x, a.x, n, max);
    check_in_place(&a, a.x, n, "sum_exp_f32");
    release_arrays(&a, "sum_exp_f32");
}

static void sweep_exp(void) {
    static float x[SWEEP_BATCH], y[SWEEP_BATCH], twin[SWEEP_BATCH];
    uint32_t bits = bits_of(0x1p-30f);
    double worst = 0.0;
    float where = 0.0f;

    while (sweep_batch(x, &bits, bits_of(60.0f), 0x80000000u)) {
        qkv_sum_exp_f32_simd(y, x, SWEEP_BATCH, 0.0f);
        qkv_sum_exp_f32_scalar(twin, x, SWEEP_BATCH, 0.0f);
        CHECK(check_same_bits(y, twin, SWEEP_BATCH), "exp: twins differ near %a", (double)x[0]);
        for (int i = 0; i < SWEEP_BATCH; i++) {
            const double error = ulps(y[i], exp((double)x[i]));
            if (error > worst) where = x[i];
            worst = fmax(worst, error);
        }
        digest(y, SWEEP_BATCH);
    }
    printf("exp: worst error %.3f ulp, at %a\n", worst, (double)where);
    CHECK(worst < 1.2, "exp: %g ulp at %a", worst, (double)where);
}

void test_sum_exp_f32(void) {
    const float x[5] = {0.0f, -0.0f, -60.0f, nextafterf(-60.0f, -61.0f), -INFINITY};
    float y[5];

    for_all_lengths(check_sum_exp);
    sweep_exp();
    qkv_sum_exp_f32_simd(y, x, 5, 0.0f);
    CHECK(y[0] == 1.0f && y[1] == 1.0f, "exp(0) is exactly 1, not %a", (double)y[0]);
    CHECK(y[2] > 0.0f && y[3] == 0.0f && y[4] == 0.0f, "exp ends at -60: %g %g", (double)y[2], (double)y[3]);
}

/* ---- rows_f32 ------------------------------------------------------------------------------------------------- */

/* One correctly rounded operation: float64 holds the exact product, and rounds a sum of two floats harmlessly. */
static void check_add(int n, int shift, filling how) {
    const arrays a = make_arrays(n, shift, how);

    memcpy(a.b, a.simd, (size_t)n * 4);
    qkv_add_f32_scalar(a.scalar, a.x, n);
    qkv_add_f32_simd(a.simd, a.x, n);
    check_twins(&a, n, how, "add_f32");
    for (int i = 0; i < n; i++) {
        const float want = (float)((double)a.b[i] + (double)a.x[i]);
        CHECK(check_same_bits(&want, a.simd + i, 1), "add_f32: y[%d] of %d", i, n);
    }
    release_arrays(&a, "add_f32");
}

void test_add_f32(void) {
    for_all_lengths(check_add);
}

static void check_mul(int n, int shift, filling how) {
    const arrays a = make_arrays(n, shift, how);
    const float factor = 1.0f / 3.0f;

    qkv_mul_f32_scalar(a.scalar, a.x, n, factor);
    qkv_mul_f32_simd(a.simd, a.x, n, factor);
    check_twins(&a, n, how, "mul_f32");
    for (int i = 0; i < n; i++) {
        const float want = (float)((double)a.x[i] * (double)factor);
        CHECK(check_same_bits(&want, a.simd + i, 1), "mul_f32: y[%d] of %d", i, n);
    }
    qkv_mul_f32_simd(a.x, a.x, n, factor);
    check_in_place(&a, a.x, n, "mul_f32");
    release_arrays(&a, "mul_f32");
}

void test_mul_f32(void) {
    for_all_lengths(check_mul);
}

static void check_max(int n, int shift, filling how) {
    const arrays a = make_arrays(n, shift, how);

    memcpy(a.b, a.simd, (size_t)n * 4);
    qkv_max_f32_scalar(a.scalar, a.x, n);
    qkv_max_f32_simd(a.simd, a.x, n);
    check_twins(&a, n, how, "max_f32");
    for (int i = 0; i < n; i++) {
        const float want = a.b[i] < a.x[i] ? a.x[i] : a.b[i];
        CHECK(check_same_bits(&want, a.simd + i, 1), "max_f32: y[%d] of %d", i, n);
    }
    release_arrays(&a, "max_f32");
}

void test_max_f32(void) {
    for_all_lengths(check_max);
}

static void check_dot(int n, int shift, filling how) {
    const arrays a = make_arrays(n, shift, how);
    const float got = qkv_dot_f32_scalar(a.x, a.b, n);
    double truth = 0.0, size = 0.0;

    check_result(got, qkv_dot_f32_simd(a.x, a.b, n), n, "dot_f32");
    for (int i = 0; i < n; i++) {
        truth += (double)a.x[i] * (double)a.b[i];
        size += fabs((double)a.x[i] * (double)a.b[i]);
    }
    if (how == FILL_NORMAL) {
        CHECK(fabs((double)got - truth) <= (n / 4 + 4) * EPSILON * size, "dot_f32: %g, want %g", (double)got, truth);
    }
    release_arrays(&a, "dot_f32");
}

void test_dot_f32(void) {
    for_all_lengths(check_dot);
}

static void check_entropy(int n, int shift, filling how) {
    const arrays a = make_arrays(n, shift, FILL_NORMAL);
    double truth = 0.0, size = 0.0;

    for (int i = 0; i < n; i++) {
        a.x[i] = fabsf(a.x[i]) * 0.3f + 1e-30f;
        if (how == FILL_HOSTILE) a.x[i] = i % 3 == 0 ? 0.0f : i % 3 == 1 ? 1.0f : a.x[i] * 1e-6f;
        const double term = a.x[i] > 0.0f ? (double)a.x[i] * log((double)a.x[i]) : 0.0;
        truth -= term;
        size += fabs(term);
    }
    const float got = qkv_entropy_f32_scalar(a.x, n);
    check_result(got, qkv_entropy_f32_simd(a.x, n), n, "entropy_f32");
    CHECK(fabs((double)got - truth) <= (n / 4 + 8) * EPSILON * size, "entropy_f32: %g, want %g", (double)got, truth);
    release_arrays(&a, "entropy_f32");
}

void test_entropy_f32(void) {
    const float spoiled[5] = {0.5f, 0.25f, 0.25f, 0.0f, NAN};

    for_all_lengths(check_entropy);
    CHECK(isnan(qkv_entropy_f32_simd(spoiled, 5)), "entropy_f32: NaN gives NaN");
}
