/* Tests of the matrix products. */
#include "kernel_tests.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A qkv_gemm with random options and strides; out is set by the caller. */
static qkv_gemm random_gemm(int rows, int k, int cols, filling how) {
    const uint32_t options = random_bits() >> 8;
    const size_t count = (size_t)rows, padded = round_up(cols, QKV_PANEL);
    qkv_gemm g = {.rows = rows,
                  .k = k,
                  .cols = cols,
                  .out_stride = (size_t)cols + options % 3,
                  .activation = (int)(options >> 8) % 6};

    if (options & 16) g.activation = 0;

    g.residual_stride = g.out_stride;
    if (options & 32) g.row_scale = guarded(count, 4, 1);
    if (options & 64) g.bias = guarded(padded, 4, 3);
    if (options & 128) g.residual = guarded(count * g.residual_stride, 4, 2);
    if (g.row_scale) fill((float *)g.row_scale, count, how);
    if (g.bias) fill((float *)g.bias, padded, how);
    if (g.residual) fill((float *)g.residual, count * g.residual_stride, how);
    return g;
}

static void release_gemm(const qkv_gemm *g) {
    if (g->row_scale) release((float *)g->row_scale, "row_scale");
    if (g->bias) release((float *)g->bias, "bias");
    if (g->residual) release((float *)g->residual, "residual");
}

/* The true output from the true sum, and how far off a float32 result may be when the sum is off by `error`. */
static double finish(const qkv_gemm *g, double v, double *error, int m, int n) {
    if (g->row_scale) v *= (double)g->row_scale[m], *error *= fabs((double)g->row_scale[m]);
    *error += EPSILON * fabs(v);
    if (g->bias) v += (double)g->bias[n];
    *error += EPSILON * fabs(v);
    if (g->activation) { /* none is steeper than 1.13 */
        *error = *error * 1.13 + activation_error(g->activation, -1.0) + activation_error(g->activation, fabs(v));
        v = activation_of(g->activation, v);
    }
    if (g->residual) v += (double)g->residual[(size_t)m * g->residual_stride + (size_t)n];
    *error = (*error + EPSILON * fabs(v)) * 1.0001 + 1e-44;
    return v;
}

static void check_output(const qkv_gemm *g, const float *out, double truth, double error, int m, int n) {
    const float got = out[(size_t)m * g->out_stride + (size_t)n];
    CHECK(fabs((double)got - truth) <= error, "gemm %d x %d x %d: out[%d, %d] = %g, want %g within %g", g->rows, g->k,
          g->cols, m, n, (double)got, truth, error);
}

/* Outputs of both twins: equal, in place of the residual as well, and nothing beyond the columns touched. */
static void check_outputs(const qkv_gemm *g, const float *scalar, const float *simd, const float *before) {
    const size_t count = (size_t)g->rows * g->out_stride;

    CHECK(check_same_bits(scalar, simd, count), "gemm %d x %d x %d: twins differ (activation %d)", g->rows, g->k,
          g->cols, g->activation);
    for (int m = 0; m < g->rows; m++) {
        const size_t end = (size_t)m * g->out_stride + (size_t)g->cols;
        const size_t gap = g->out_stride - (size_t)g->cols;
        CHECK(memcmp(simd + end, before + end, gap * 4) == 0, "gemm: row %d was written beyond its %d columns", m,
              g->cols);
    }
    digest(simd, count);
}

typedef struct f32_case {
    float *x, *a, *w; /* x: [rows, k] */
    float *scalar, *simd, *before;
} f32_case;

static void check_f32_values(const qkv_gemm *g, const f32_case *c) {
    for (int m = 0; m < g->rows; m++) {
        for (int n = 0; n < g->cols; n++) {
            const float *column = c->w + (size_t)(n / 8) * g->panel_stride + n % 8;
            double sum = 0.0, size = 0.0;

            for (int i = 0; i < g->k; i++) {
                const double product = (double)c->x[m * g->k + i] * (double)column[i * 8];
                sum += product;
                size += fabs(product);
            }
            double error = g->k * EPSILON * size;
            const double truth = finish(g, sum, &error, m, n);
            check_output(g, c->simd, truth, error, m, n);
        }
    }
}

/* One row computed alone has the bits it has among others. */
static void check_f32_row_alone(const qkv_gemm *g, const f32_case *c, int m) {
    float *out = guarded((size_t)g->cols, 4, 1);
    qkv_gemm one = *g;

    one.rows = 1;
    one.out = out;
    if (g->row_scale) one.row_scale = g->row_scale + m;
    if (g->residual) one.residual = g->residual + (size_t)m * g->residual_stride;
    qkv_gemm_f32_simd(&one, c->x + m * g->k, c->w);
    CHECK(check_same_bits(out, c->simd + (size_t)m * g->out_stride, (size_t)g->cols),
          "gemm %d x %d x %d: row %d alone differs", g->rows, g->k, g->cols, m);
    release(out, "gemm_f32");
}

static void check_gemm_f32(int rows, int k, int cols, filling how) {
    qkv_gemm g = random_gemm(rows, k, cols, how);
    const size_t out_size = (size_t)rows * g.out_stride, x_size = (size_t)(rows * k);
    g.panel_stride = (size_t)(k + rows % 2) * QKV_PANEL;
    const size_t w_size = round_up(cols, QKV_PANEL) / QKV_PANEL * g.panel_stride;
    const f32_case c = {guarded(x_size, 4, 1),   guarded(x_size, 4, rows % 4), guarded(w_size, 4, cols % 4),
                        guarded(out_size, 4, 0), guarded(out_size, 4, k % 4),  guarded(out_size, 4, 0)};

    fill(c.x, x_size, how);
    fill(c.w, w_size, how);
    fill(c.before, out_size, FILL_NORMAL);
    memcpy(c.scalar, c.before, out_size * 4);
    memcpy(c.simd, c.before, out_size * 4);
    qkv_pack_f32_scalar(c.a, c.x, (size_t)k, rows, k);
    g.out = c.scalar;
    qkv_gemm_f32_scalar(&g, c.a, c.w);
    g.out = c.simd;
    qkv_gemm_f32_simd(&g, c.a, c.w);
    check_outputs(&g, c.scalar, c.simd, c.before);
    if (how == FILL_NORMAL) check_f32_values(&g, &c);
    check_f32_row_alone(&g, &c, (int)(random_bits() % (uint32_t)rows));
    if (g.residual) { /* the residual may be the output itself */
        memcpy(c.scalar, g.residual, out_size * 4);
        const float *residual = g.residual;
        g.out = c.scalar;
        g.residual = c.scalar;
        qkv_gemm_f32_simd(&g, c.a, c.w);
        g.residual = residual;
        for (int m = 0; m < rows; m++) {
            const size_t start = (size_t)m * g.out_stride;
            CHECK(check_same_bits(c.scalar + start, c.simd + start, (size_t)cols), "gemm: in place, row %d", m);
        }
    }
    release_gemm(&g);
    release(c.x, "gemm_f32 x");
    release(c.a, "gemm_f32 a");
    release(c.w, "gemm_f32 w");
    release(c.scalar, "gemm_f32 out");
    release(c.simd, "gemm_f32 out");
    release(c.before, "gemm_f32");
}

void test_gemm_f32(void) {
    static const int ks[] = {0, 1, 2, 5, 32, 67}, cols[] = {1, 2, 5, 7, 8, 9, 16, 23, 24, 31, 32, 33, 40, 67};
    static const int tall[] = {1, 2, 3, 5, 7, 13, 40};

    for (int rows = 1; rows <= 40; rows++) {
        for (size_t i = 0; i < COUNT(ks); i++) {
            for (size_t j = 0; j < COUNT(cols); j++) {
                check_gemm_f32(rows, ks[i], cols[j], FILL_NORMAL);
                if (j % 3 == 0) check_gemm_f32(rows, ks[i], cols[j], FILL_HOSTILE);
            }
        }
    }
    for (size_t i = 0; i < COUNT(tall); i++) {
        check_gemm_f32(tall[i], 384, 100, FILL_NORMAL);
        check_gemm_f32(tall[i], 1536, 48, FILL_NORMAL);
    }
}

/* The integer products: BYTES 2 is q10, 1 is q8. Their weights are kept as int16 for the reference. */
typedef struct integer_case {
    int most;
    float *x, *a_scales, *w_scales;
    int16_t *a, *w;
    int8_t *narrow; /* w in bytes, or NULL in q10 */
    float *scalar, *simd, *before;
} integer_case;

/* Integer sums are exact, so only their conversion and the sum of chunks round. */
static void check_integer_values(const qkv_gemm *g, const integer_case *c) {
    const int padded = g->k + g->k % 2;
    int size;

    for (int m = 0; m < g->rows; m++) {
        const int start = find_block(qkv_pair_block, g->rows, m, &size);
        const int16_t *row = c->a + start * padded + (m - start) * 2;

        for (int n = 0; n < g->cols; n++) {
            const int16_t *column = c->w + (size_t)(n / 8) * g->panel_stride + n % 8 * 2;
            double sum = 0.0, chunk = 0.0, size_of_chunks = 0.0;

            for (int i = 0; i < padded; i++) {
                chunk += row[i / 2 * 2 * size + i % 2] * column[i / 2 * 16 + i % 2];
                if (i % QKV_CHUNK < QKV_CHUNK - 1 && i < padded - 1) continue;
                sum += chunk;
                size_of_chunks += fabs(chunk);
                chunk = 0.0;
            }
            const double scale = (double)c->a_scales[m] * (double)c->w_scales[n];
            double error = EPSILON * 4.0 * size_of_chunks * fabs(scale);
            const double truth = finish(g, sum * scale, &error, m, n);
            check_output(g, c->simd, truth, error, m, n);
        }
    }
}

static void run_integer_gemms(qkv_gemm *g, const integer_case *c) {
    qkv_pack_i16_scalar(c->a, c->a_scales, c->x, (size_t)g->k, g->rows, g->k, c->most);
    g->out = c->scalar;
    if (c->narrow) qkv_gemm_q8_scalar(g, c->a, c->a_scales, c->narrow, c->w_scales);
    else qkv_gemm_q10_scalar(g, c->a, c->a_scales, c->w, c->w_scales);
    g->out = c->simd;
    if (c->narrow) qkv_gemm_q8_simd(g, c->a, c->a_scales, c->narrow, c->w_scales);
    else qkv_gemm_q10_simd(g, c->a, c->a_scales, c->w, c->w_scales);
}

static void release_case(const integer_case *c) {
    release(c->x, "integer gemm x");
    release(c->a_scales, "integer gemm scales");
    release(c->w_scales, "integer gemm scales");
    release(c->a, "integer gemm a");
    release(c->w, "integer gemm w");
    if (c->narrow) release(c->narrow, "gemm_q8 w");
    release(c->scalar, "integer gemm out");
    release(c->simd, "integer gemm out");
    release(c->before, "integer gemm");
}

/* `extreme`: all products as large as they may become, so that a sum one step longer would overflow. */
static void check_integer_gemm(int bytes, int rows, int k, int cols, bool extreme) {
    qkv_gemm g = random_gemm(rows, k, cols, FILL_NORMAL);
    const size_t row_size = round_up(k, 2), padded = round_up(cols, QKV_PANEL), out_size = (size_t)rows * g.out_stride;
    g.panel_stride = (row_size + (size_t)(rows % 2) * 2) * QKV_PANEL;
    const size_t w_size = padded / QKV_PANEL * g.panel_stride;
    const integer_case c = {.most = bytes == 1 ? QKV_Q8_MAX : QKV_Q10_MAX,
                            .x = guarded((size_t)(rows * k), 4, 1),
                            .a_scales = guarded((size_t)rows, 4, 2),
                            .w_scales = guarded(padded, 4, 3),
                            .a = guarded((size_t)rows * row_size / 2, 4, rows % 4),
                            .w = guarded(w_size, 2, cols % 8),
                            .narrow = bytes == 1 ? guarded(w_size, 1, cols % 16) : NULL,
                            .scalar = guarded(out_size, 4, 0),
                            .simd = guarded(out_size, 4, k % 4),
                            .before = guarded(out_size, 4, 0)};

    const int extreme_weight = bytes == 1 ? -128 : 511;
    fill(c.x, (size_t)(rows * k), FILL_NORMAL);
    fill(c.w_scales, padded, FILL_NORMAL);
    fill(c.before, out_size, FILL_NORMAL);
    for (int i = 0; extreme && i < rows * k; i++) c.x[i] = -2.0f;
    for (size_t i = 0; i < w_size; i++) {
        c.w[i] = (int16_t)(extreme ? extreme_weight : (int)(random_bits() % (uint32_t)(2 * c.most + 1)) - c.most);
        if (c.narrow) c.narrow[i] = (int8_t)c.w[i];
    }
    memcpy(c.scalar, c.before, out_size * 4);
    memcpy(c.simd, c.before, out_size * 4);
    run_integer_gemms(&g, &c);
    check_outputs(&g, c.scalar, c.simd, c.before);
    check_integer_values(&g, &c);
    release_gemm(&g);
    release_case(&c);
}

static void check_integer_gemms(int bytes) {
    static const int ks[] = {0, 1, 2, 5, 32, 67}, cols[] = {1, 5, 8, 9, 16, 23, 32, 33, 40, 67};
    static const int tall[] = {1, 2, 3, 5, 7, 13}, long_ks[] = {384, 1535, 1536, 1537, 1538, 3100};

    for (int rows = 1; rows <= 40; rows++) {
        for (size_t i = 0; i < COUNT(ks); i++) {
            for (size_t j = 0; j < COUNT(cols); j++) check_integer_gemm(bytes, rows, ks[i], cols[j], false);
        }
    }
    for (size_t i = 0; i < COUNT(tall); i++) {
        for (size_t j = 0; j < COUNT(long_ks); j++) {
            check_integer_gemm(bytes, tall[i], long_ks[j], 41, false);
            check_integer_gemm(bytes, tall[i], long_ks[j], 9, true);
        }
    }
}

void test_gemm_q10(void) {
    check_integer_gemms(2);
}

void test_gemm_q8(void) {
    check_integer_gemms(1);
}
