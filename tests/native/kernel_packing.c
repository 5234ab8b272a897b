/* Tests of packing activations and weights. */
#include "kernel_tests.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int find_block(int block_of(int left), int rows, int m, int *size) {
    int start = 0;

    for (*size = block_of(rows); m >= start + *size; *size = block_of(rows - start)) start += *size;
    return start;
}

size_t round_up(int n, int to) {
    return (size_t)((n + to - 1) / to * to);
}

void test_pack_f32(void) {
    static const int ks[] = {0, 1, 3, 4, 5, 8, 31, 64, 67};

    for (int rows = 0; rows <= 40; rows++) {
        for (size_t c = 0; c < COUNT(ks); c++) {
            const int k = ks[c];
            const size_t stride = (size_t)(k + rows % 3), count = (size_t)(rows * k);
            float *x = guarded((size_t)rows * stride, 4, rows % 4);
            float *scalar = guarded(count, 4, 1), *simd = guarded(count, 4, (rows + 2) % 4);
            bool right = true;
            int size;

            fill(x, (size_t)rows * stride, FILL_HOSTILE);
            qkv_pack_f32_scalar(scalar, x, stride, rows, k);
            qkv_pack_f32_simd(simd, x, stride, rows, k);
            CHECK(count == 0 || memcmp(scalar, simd, count * 4) == 0, "pack_f32: twins differ, %d x %d", rows, k);
            for (int m = 0; m < rows; m++) {
                const int start = find_block(qkv_row_block, rows, m, &size);
                for (int i = 0; i < k; i++) {
                    const float *at = simd + start * k + i * size + m - start;
                    right = right && memcmp(at, x + (size_t)m * stride + i, 4) == 0;
                }
            }
            CHECK(right, "pack_f32: an element is out of place, %d x %d", rows, k);
            release(x, "pack_f32");
            release(scalar, "pack_f32");
            release(simd, "pack_f32");
        }
    }
}

static void check_weights(int row0, int rows, int k) {
    const size_t count = round_up(row0 + rows, QKV_PANEL) * (size_t)k, stride = (size_t)k + 1;
    float *x = guarded((size_t)rows * stride, 4, row0 % 4);
    float *scalar = guarded(count, 4, 2), *simd = guarded(count, 4, 3), *want = guarded(count, 4, 0);

    fill(x, (size_t)rows * stride, FILL_HOSTILE);
    fill(want, count, FILL_NORMAL); /* what lies there already; columns that are not ours keep it */
    if (count > 0) memcpy(scalar, want, count * 4);
    if (count > 0) memcpy(simd, want, count * 4);
    qkv_weights_f32_scalar(scalar, row0, x, stride, rows, k);
    qkv_weights_f32_simd(simd, row0, x, stride, rows, k);
    for (int n = row0; n < row0 + rows; n++) {
        for (int i = 0; i < k; i++) want[n / 8 * k * 8 + i * 8 + n % 8] = x[(size_t)(n - row0) * stride + (size_t)i];
    }
    CHECK(check_same_bits(want, scalar, count), "weights_f32_scalar: rows %d + %d, k %d", row0, rows, k);
    CHECK(check_same_bits(want, simd, count), "weights_f32_simd: rows %d + %d, k %d", row0, rows, k);
    release(x, "weights_f32");
    release(scalar, "weights_f32");
    release(simd, "weights_f32");
    release(want, "weights_f32");
}

void test_weights_f32(void) {
    static const int ks[] = {0, 1, 3, 4, 7, 33, 64};

    for (int row0 = 0; row0 < 11; row0++) {
        for (int rows = 0; rows < 22; rows++) {
            for (size_t c = 0; c < COUNT(ks); c++) check_weights(row0, rows, ks[c]);
        }
    }
}

/* Eight rows of integers, those of both calls added up. value: what lies in the panel for column i of row r. */
typedef struct panel_case {
    int k;
    size_t stride;
    int16_t *q;
} panel_case;

static panel_case make_panel_case(int k, int most) {
    const panel_case c = {k, (size_t)k + 3, guarded(((size_t)k + 3) * QKV_PANEL, 2, k / 8 % 8)};

    for (size_t i = 0; i < c.stride * QKV_PANEL; i++)
        c.q[i] = (int16_t)((int)(random_bits() % (2u * (unsigned)most + 1)) - most);
    return c;
}

static size_t pair_place(int i, int r) {
    return (size_t)(i / 2 * QKV_PANEL + r) * 2 + (size_t)(i % 2);
}

void test_panel_q10(void) {
    for (int k = 0; k <= 72; k += QKV_PANEL_STEP) {
        const panel_case c = make_panel_case(k, 255);
        const size_t count = (size_t)k * QKV_PANEL;
        int16_t *scalar = guarded(count, 2, 2), *simd = guarded(count, 2, 3);

        for (size_t i = 0; i < count; i++) scalar[i] = simd[i] = 0;
        for (int call = 0; call < 2; call++) {
            qkv_panel_q10_scalar(scalar, c.q, c.stride, k);
            qkv_panel_q10_simd(simd, c.q, c.stride, k);
        }
        for (int i = 0; i < k; i++) {
            for (int r = 0; r < QKV_PANEL; r++) {
                const int want = 2 * c.q[(size_t)r * c.stride + (size_t)i];
                CHECK(scalar[pair_place(i, r)] == want && simd[pair_place(i, r)] == want, "panel_q10: row %d, k %d", r,
                      i);
            }
        }
        release(c.q, "panel_q10");
        release(scalar, "panel_q10");
        release(simd, "panel_q10");
    }
}

void test_panel_q8(void) {
    for (int k = 0; k <= 72; k += QKV_PANEL_STEP) {
        const panel_case c = make_panel_case(k, 128);
        const size_t count = (size_t)k * QKV_PANEL;
        int8_t *scalar = guarded(count, 1, 2), *simd = guarded(count, 1, 3);

        for (size_t i = 0; i < c.stride * QKV_PANEL; i++) c.q[i] = c.q[i] == 128 ? -128 : c.q[i];
        for (size_t i = 0; i < count; i++) scalar[i] = simd[i] = 0;
        qkv_panel_q8_scalar(scalar, c.q, c.stride, k);
        qkv_panel_q8_simd(simd, c.q, c.stride, k);
        for (int i = 0; i < k; i++) {
            for (int r = 0; r < QKV_PANEL; r++) {
                const int want = c.q[(size_t)r * c.stride + (size_t)i];
                CHECK(scalar[pair_place(i, r)] == want && simd[pair_place(i, r)] == want, "panel_q8: row %d, k %d", r,
                      i);
            }
        }
        release(c.q, "panel_q8");
        release(scalar, "panel_q8");
        release(simd, "panel_q8");
    }
}

void test_panel_f32(void) {
    for (int k = 0; k <= 72; k += QKV_PANEL_STEP) {
        const panel_case c = make_panel_case(k, 511);
        const size_t count = (size_t)k * QKV_PANEL;
        float *scalar = guarded(count, 4, 2), *simd = guarded(count, 4, 3);

        for (size_t i = 0; i < count; i++) scalar[i] = simd[i] = 1.0f;
        qkv_panel_f32_scalar(scalar, c.q, c.stride, k);
        qkv_panel_f32_simd(simd, c.q, c.stride, k);
        CHECK(check_same_bits(scalar, simd, count), "panel_f32: twins differ, k %d", k);
        for (int i = 0; i < k; i++) {
            for (int r = 0; r < QKV_PANEL; r++) {
                const float want = 1.0f + (float)c.q[(size_t)r * c.stride + (size_t)i];
                CHECK(simd[i * QKV_PANEL + r] == want, "panel_f32: row %d, k %d", r, i);
            }
        }
        release(c.q, "panel_f32");
        release(scalar, "panel_f32");
        release(simd, "panel_f32");
    }
}

/* Row m of a packed block, as integers, against the row it came from. */
static void check_integer_row(const int16_t *block, int size, int r, float scale, const float *x, int k, int amax) {
    float largest = 0.0f;
    bool wild = false;

    for (int i = 0; i < k; i++) {
        wild = wild || !isfinite(x[i]);
        largest = fmaxf(largest, fabsf(x[i]));
    }
    const bool zero = wild || largest < 0x1p-100f;
    for (int i = 0; i < k + k % 2; i++) {
        const int q = block[i / 2 * 2 * size + r * 2 + i % 2];
        if (zero || i >= k) CHECK(q == 0, "pack_i16: q[%d] = %d, want 0", i, q);
        else
            CHECK(fabs((double)x[i] / (double)scale - q) <= 0.5 + amax * 3 * EPSILON && abs(q) <= amax,
                  "pack_i16: %g at scale %g became %d", (double)x[i], (double)scale, q);
        if (!zero && i < k && fabsf(x[i]) == largest) CHECK(abs(q) == amax, "pack_i16: the largest is %d", q);
    }
    if (wild) CHECK(isnan(scale), "pack_i16: a row with NaN or infinity has scale %g", (double)scale);
    else CHECK(zero ? scale == 0.0f : scale == largest / (float)amax, "pack_i16: scale %g", (double)scale);
}

static void check_pack_i16(int rows, int k, int most) {
    const int weight = most == QKV_Q8_MAX ? 128 : 511;
    const size_t stride = (size_t)(k + rows % 3), row_size = round_up(k, 2), count = (size_t)rows * row_size;
    const long bound = k == 0 ? INT16_MAX : (long)(INT32_MAX / ((long long)weight * (k < 1536 ? k : 1536)));
    const int amax = bound < INT16_MAX ? (int)bound : INT16_MAX;
    float *x = guarded((size_t)rows * stride, 4, rows % 4);
    float *scales = guarded((size_t)rows, 4, 1), *simd_scales = guarded((size_t)rows, 4, 2);
    int16_t *scalar = guarded(count / 2, 4, 1), *simd = guarded(count / 2, 4, rows % 4);
    int size;

    fill(x, (size_t)rows * stride, FILL_NORMAL);
    for (int m = 0; m < rows; m++) { /* rows of every kind: tiny, huge, just too small, spoiled */
        static const float factors[] = {1.0f, 1e-20f, 1e37f, 1e-31f, 1e-44f};
        float *row = x + (size_t)m * stride;
        for (int i = 0; i < k; i++) row[i] *= factors[m % 5];
        if (k > 0 && m % 7 == 3) row[(m * 5) % k] = m % 2 ? NAN : -INFINITY;
        if (k > 0 && m % 11 == 5) row[k - 1] = 1e-42f;
    }
    qkv_pack_i16_scalar(scalar, scales, x, stride, rows, k, most);
    qkv_pack_i16_simd(simd, simd_scales, x, stride, rows, k, most);
    CHECK(count == 0 || memcmp(scalar, simd, count * 2) == 0, "pack_i16: twins differ, %d x %d", rows, k);
    CHECK(check_same_bits(scales, simd_scales, (size_t)rows), "pack_i16: scales differ, %d x %d", rows, k);
    for (int m = 0; m < rows; m++) {
        const int start = find_block(qkv_pair_block, rows, m, &size);
        check_integer_row(simd + (size_t)start * row_size, size, m - start, scales[m], x + (size_t)m * stride, k, amax);
    }
    release(x, "pack_i16");
    release(scales, "pack_i16");
    release(simd_scales, "pack_i16");
    release(scalar, "pack_i16");
    release(simd, "pack_i16");
}

void test_pack_i16(void) {
    static const int ks[] = {0, 1, 2, 7, 8, 9, 15, 16, 67, 384};
    const float ties[8] = {32767.0f, 0.5f, 1.5f, 2.5f, -0.5f, -1.5f, -2.5f, -0.0f};
    const int16_t even[8] = {32767, 0, 2, 2, 0, -2, -2, 0};
    _Alignas(4) int16_t q[8];
    float scale;

    for (int rows = 0; rows <= 40; rows++) {
        for (size_t c = 0; c < COUNT(ks); c++) check_pack_i16(rows, ks[c], rows % 2 ? QKV_Q10_MAX : QKV_Q8_MAX);
    }
    for (int most = QKV_Q8_MAX; most <= QKV_Q10_MAX; most += QKV_Q10_MAX - QKV_Q8_MAX) {
        check_pack_i16(3, 1537, most);
        check_pack_i16(6, 3101, most);
        check_pack_i16(2, 384, most);
    }
    qkv_pack_i16_simd(q, &scale, ties, 8, 1, 8, QKV_Q10_MAX);
    CHECK(memcmp(q, even, sizeof q) == 0 && scale == 1.0f, "pack_i16: ties go to even");
}
