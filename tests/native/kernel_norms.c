/* Tests of the two norms and of the rotation. */
#include "kernel_tests.h"

#include <math.h>
#include <string.h>

/* ---- layer_norm_f32 ------------------------------------------------------------------------------------------- */

/* No bias is what a bias of -0 gives, which changes no number. */
static void check_without_bias(const arrays *a, int n, const float *weight, float eps) {
    for (int i = 0; i < n; i++) a->b[i] = -0.0f;
    qkv_layer_norm_f32_simd(a->simd, a->x, n, weight, a->b, eps);
    qkv_layer_norm_f32_scalar(a->scalar, a->x, n, weight, NULL, eps);
    check_in_place(a, a->scalar, n, "layer_norm_f32 without bias, scalar, against a bias of 0:");
    qkv_layer_norm_f32_simd(a->scalar, a->x, n, weight, NULL, eps);
    check_in_place(a, a->scalar, n, "layer_norm_f32 without bias, against a bias of 0:");
}

static void check_layer_norm(int n, int shift, filling how) {
    const arrays a = make_arrays(n, shift, how);
    float *weight = guarded((size_t)n, 4, 3 - shift);
    const float eps = 1e-12f, offset = shift == 3 && how == FILL_NORMAL ? 100.0f : 0.0f;
    double mean = 0.0, var = 0.0;

    fill(weight, (size_t)n, how);
    for (int i = 0; i < n; i++) a.x[i] += offset;
    qkv_layer_norm_f32_scalar(a.scalar, a.x, n, weight, a.b, eps);
    qkv_layer_norm_f32_simd(a.simd, a.x, n, weight, a.b, eps);
    check_twins(&a, n, how, "layer_norm_f32");
    for (int i = 0; i < n; i++) mean += (double)a.x[i] / n;
    for (int i = 0; i < n; i++) var += ((double)a.x[i] - mean) * ((double)a.x[i] - mean) / n;
    /* Below 4 elements the deviations may cancel to nothing; the mean, off by its rounding, moves all of a row. */
    for (int i = 0; how == FILL_NORMAL && n >= 4 && i < n; i++) {
        const double inverse = 1.0 / sqrt(var + (double)eps), w = (double)weight[i], b = (double)a.b[i];
        const double z = ((double)a.x[i] - mean) * inverse, truth = z * w + b;
        const double spread = 3.0 + fabs((double)offset);
        const double bound = EPSILON * (fabs(w) * (n / 4 + 8) * (fabs(z) + spread * inverse) + fabs(truth) + fabs(b));
        CHECK(fabs((double)a.simd[i] - truth) <= bound, "layer_norm_f32: y[%d] of %d = %g, want %g within %g", i, n,
              (double)a.simd[i], truth, bound);
    }
    memcpy(a.scalar, a.x, (size_t)n * sizeof(float));
    qkv_layer_norm_f32_simd(a.scalar, a.scalar, n, weight, a.b, eps);
    check_in_place(&a, a.scalar, n, "layer_norm_f32");
    check_without_bias(&a, n, weight, eps);
    release(weight, "layer_norm_f32");
    release_arrays(&a, "layer_norm_f32");
}

void test_layer_norm_f32(void) {
    const float x[4] = {5.0f, 5.0f, 5.0f, 5.0f}, w[4] = {1.0f, 2.0f, 3.0f, 4.0f}, b[4] = {0.5f, -1.0f, 0.0f, 2.0f};
    float y[4];

    for_all_lengths(check_layer_norm);
    qkv_layer_norm_f32_simd(y, x, 4, w, b, 1e-12f);
    CHECK(memcmp(y, b, sizeof y) == 0, "a constant row gives the bias");
}

/* ---- rms_norm_f32 --------------------------------------------------------------------------------------------- */

static void check_rms_norm(int n, int shift, filling how) {
    const arrays a = make_arrays(n, shift, how);
    const float eps = 1e-6f;
    double square = 0.0;

    qkv_rms_norm_f32_scalar(a.scalar, a.x, n, a.b, eps);
    qkv_rms_norm_f32_simd(a.simd, a.x, n, a.b, eps);
    check_twins(&a, n, how, "rms_norm_f32");
    for (int i = 0; i < n; i++) square += (double)a.x[i] * (double)a.x[i] / n;
    for (int i = 0; how == FILL_NORMAL && i < n; i++) {
        const double truth = (double)a.x[i] / sqrt(square + (double)eps) * (double)a.b[i];
        /* Half of what the sum of squares is off by, and the roundings of the mean, the root and the products. */
        const double bound = EPSILON * (n / 8 + 8) * fabs(truth) + 1e-44;
        CHECK(fabs((double)a.simd[i] - truth) <= bound, "rms_norm_f32: y[%d] of %d = %g, want %g within %g", i, n,
              (double)a.simd[i], truth, bound);
    }
    qkv_rms_norm_f32_simd(a.x, a.x, n, a.b, eps);
    check_in_place(&a, a.x, n, "rms_norm_f32");
    release_arrays(&a, "rms_norm_f32");
}

void test_rms_norm_f32(void) {
    const float x[5] = {-3.0f, 3.0f, 3.0f, -3.0f, 3.0f}, w[5] = {1.0f, 2.0f, 3.0f, 4.0f, 5.0f};
    const float want[5] = {-0.75f, 1.5f, 2.25f, -3.0f, 3.75f}, zero[5] = {0.0f};
    float y[5];

    for_all_lengths(check_rms_norm);
    qkv_rms_norm_f32_simd(y, x, 5, w, 7.0f);
    CHECK(memcmp(y, want, sizeof y) == 0, "rms_norm_f32: 3 / sqrt(9 + 7) is 3/4, not %g", (double)y[1]);
    qkv_rms_norm_f32_simd(y, zero, 5, w, 1e-6f);
    CHECK(memcmp(y, zero, sizeof y) == 0, "rms_norm_f32: zeros stay");
}

/* ---- rotary_f32 ----------------------------------------------------------------------------------------------- */

/* The rotation of x = (a, b), n of each. */
static void check_rotary(int n, int shift, filling how) {
    const arrays a = make_arrays(2 * n, shift, how);
    const float *cosines = a.b, *sines = a.b + n;

    for (int i = 0; how == FILL_NORMAL && i < n; i++) { /* true angles, as only they keep lengths */
        const double angle = (double)random_float() * 100.0;
        a.b[i] = (float)cos(angle);
        a.b[n + i] = (float)sin(angle);
    }
    memcpy(a.scalar, a.x, (size_t)n * 8);
    memcpy(a.simd, a.x, (size_t)n * 8);
    qkv_rotary_f32_scalar(a.scalar, n, cosines, sines);
    qkv_rotary_f32_simd(a.simd, n, cosines, sines);
    check_twins(&a, 2 * n, how, "rotary_f32");
    for (int i = 0; how == FILL_NORMAL && i < n; i++) {
        const double u = (double)a.x[i], v = (double)a.x[n + i], c = (double)cosines[i], s = (double)sines[i];
        const double left = u * c - v * s, right = v * c + u * s, got[2] = {(double)a.simd[i], (double)a.simd[n + i]};
        const double error = 2.0 * EPSILON * (fabs(u) + fabs(v));
        CHECK(fabs(got[0] - left) <= error && fabs(got[1] - right) <= error, "rotary_f32: pair %d of %d", i, n);
        CHECK(fabs(hypot(got[0], got[1]) - hypot(u, v)) <= 2.0 * error, "rotary_f32: length of pair %d of %d", i, n);
    }
    release_arrays(&a, "rotary_f32");
}

void test_rotary_f32(void) {
    float x[4] = {1.0f, 2.0f, 3.0f, 4.0f};
    const float cosines[2] = {0.0f, -1.0f}, sines[2] = {1.0f, 0.0f}, want[4] = {-3.0f, -2.0f, 1.0f, -4.0f};

    for_all_lengths(check_rotary);
    qkv_rotary_f32_simd(x, 2, cosines, sines);
    CHECK(memcmp(x, want, sizeof x) == 0, "rotary_f32: a quarter turn and a half one");
}
