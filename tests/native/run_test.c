/* A run as a whole: the stages fit together as the formulas say, and no way of asking changes a bit. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attention_f64.h"
#include "check.h"
#include "seeded.h"
#include "tiny_model.h"

#define FLOATS_MOST (300 * 300)
#define BOUND 1e-5 /* of sums of up to 83 products of values below 4, float32 against float64 */

static float a[FLOATS_MOST], b[FLOATS_MOST], c[FLOATS_MOST], d[FLOATS_MOST];

static void stage(qkv_run *run, qkv_stage which, int layer, int head, int sequence, float *out) {
    qkv_error err = {QKV_OK, "", 0, 0};
    const qkv_status status = qkv_get_stage(run, QKV_KIND_ENCODER, layer, head, which, sequence, out, &err);
    CHECK(status == QKV_OK, "stage %d of layer %d, head %d: %s", (int)which, layer, head, err.what);
}

static void weights(qkv_run *run, qkv_stage which, int layer, int head, int sequence, int row0, int rows, float *out) {
    qkv_error err = {QKV_OK, "", 0, 0};
    const qkv_status status =
        qkv_get_weights(run, QKV_KIND_ENCODER, layer, head, which, sequence, row0, rows, out, &err);
    CHECK(status == QKV_OK, "rows %d..%d of layer %d, head %d: %s", row0, row0 + rows, layer, head, err.what);
}

/* The largest |y - (x W^T + bias)| for y [n, out], recomputed in double from the weights that were loaded. */
static double linear_error(const tiny_model *t, qkv_slot weight, qkv_slot bias, int layer, const float *x, int n,
                           const float *y, int first, int count) {
    int rows, cols, one, outputs;
    const float *w = tiny_weights(t, weight, layer, &rows, &cols);
    const float *shift = tiny_weights(t, bias, layer, &one, &outputs);
    double worst = 0;

    for (int i = 0; i < n; i++) {
        for (int o = 0; o < count; o++) {
            double sum = (double)shift[first + o];
            for (int k = 0; k < cols; k++) sum += (double)x[i * cols + k] * (double)w[(first + o) * cols + k];
            worst = fmax(worst, fabs(sum - (double)y[i * count + o]));
        }
    }
    return worst;
}

static void check_head(const tiny_model *t, qkv_run *run, int n, int layer, int head) {
    const int dim = t->config.head_dim, group = head * t->config.kv_heads / t->config.heads;
    static double weights64[FLOATS_MOST], context64[FLOATS_MOST];
    double error = 0;

    stage(run, QKV_STAGE_X, layer, 0, 0, a);
    stage(run, QKV_STAGE_Q, layer, head, 0, b);
    error = linear_error(t, QKV_SLOT_Q_WEIGHT, QKV_SLOT_Q_BIAS, layer, a, n, b, head * dim, dim);
    CHECK(error <= BOUND, "q of layer %d, head %d is off by %g", layer, head, error);
    stage(run, QKV_STAGE_K, layer, head, 0, c);
    error = linear_error(t, QKV_SLOT_K_WEIGHT, QKV_SLOT_K_BIAS, layer, a, n, c, group * dim, dim);
    CHECK(error <= BOUND, "k of layer %d, head %d is off by %g", layer, head, error);
    stage(run, QKV_STAGE_V, layer, head, 0, d);
    error = linear_error(t, QKV_SLOT_V_WEIGHT, QKV_SLOT_V_BIAS, layer, a, n, d, group * dim, dim);
    CHECK(error <= BOUND, "v of layer %d, head %d is off by %g", layer, head, error);

    const reference_attention reference = {
        .q = b, .k = c, .v = d, .n = n, .m = n, .dim = dim, .value_dim = dim, .scale = 1 / sqrt(dim)};
    reference_attend(&reference, weights64, context64);
    weights(run, QKV_STAGE_WEIGHTS, layer, head, 0, 0, n, a);
    error = 0;
    for (int i = 0; i < n * n; i++) error = fmax(error, fabs((double)a[i] - weights64[i]));
    CHECK(error <= 2e-6, "weights of layer %d, head %d are off by %g", layer, head, error);
    stage(run, QKV_STAGE_CONTEXT, layer, head, 0, a);
    error = 0;
    for (int i = 0; i < n * dim; i++) error = fmax(error, fabs((double)a[i] - context64[i]));
    CHECK(error <= BOUND, "context of layer %d, head %d is off by %g", layer, head, error);
}

/* The concat holds the heads side by side; W_O makes the output. a holds the context of each head in turn. */
static void check_concat(const tiny_model *t, qkv_run *run, int n, int layer) {
    const int dim = t->config.head_dim, all = t->config.heads * dim;

    stage(run, QKV_STAGE_CONCAT, layer, 0, 0, b);
    for (int h = 0; h < t->config.heads; h++) {
        stage(run, QKV_STAGE_CONTEXT, layer, h, 0, a);
        int same = 1;
        for (int i = 0; i < n; i++) {
            same &= check_same_bits(a + i * dim, b + i * all + h * dim, (size_t)dim);
        }
        CHECK(same, "head %d is not in columns %d..%d of the concat of layer %d", h, h * dim, (h + 1) * dim, layer);
    }
    stage(run, QKV_STAGE_OUTPUT, layer, 0, 0, c);
    const double error = linear_error(t, QKV_SLOT_O_WEIGHT, QKV_SLOT_O_BIAS, layer, b, n, c, 0, t->config.width);
    CHECK(error <= BOUND, "output of layer %d is off by %g", layer, error);
}

static void layer_norm64(const tiny_model *t, qkv_slot weight, int layer, double *x) {
    int one, width;
    const float *w = tiny_weights(t, weight, layer, &one, &width);
    const float *shift = tiny_weights(t, (qkv_slot)(weight + 1), layer, &one, &width);
    double mean = 0, variance = 0;

    for (int i = 0; i < width; i++) mean += x[i] / width;
    for (int i = 0; i < width; i++) variance += (x[i] - mean) * (x[i] - mean) / width;
    for (int i = 0; i < width; i++) {
        x[i] = (x[i] - mean) / sqrt(variance + (double)t->config.norm_eps) * (double)w[i] + (double)shift[i];
    }
}

/* hidden = norm(y + W_down gelu(W_up y)), y = norm(x + output), one row in double. */
static void check_feed_forward(const tiny_model *t, qkv_run *run, int n, int layer) {
    const int width = t->config.width, ffn = t->config.ffn;
    int rows, cols;
    double y[32], wide[83], worst = 0;

    stage(run, QKV_STAGE_X, layer, 0, 0, a);
    stage(run, QKV_STAGE_OUTPUT, layer, 0, 0, b);
    stage(run, QKV_STAGE_HIDDEN, layer, 0, 0, c);
    for (int i = 0; i < n; i++) {
        for (int o = 0; o < width; o++) y[o] = (double)a[i * width + o] + (double)b[i * width + o];
        layer_norm64(t, QKV_SLOT_ATTN_NORM_WEIGHT, layer, y);
        const float *up = tiny_weights(t, QKV_SLOT_UP_WEIGHT, layer, &rows, &cols);
        const float *up_bias = tiny_weights(t, QKV_SLOT_UP_BIAS, layer, &rows, &cols);
        for (int f = 0; f < ffn; f++) {
            double sum = (double)up_bias[f];
            for (int o = 0; o < width; o++) sum += (double)up[f * width + o] * y[o];
            wide[f] = sum * 0.5 * (1 + erf(sum / sqrt(2)));
        }
        const float *down = tiny_weights(t, QKV_SLOT_DOWN_WEIGHT, layer, &rows, &cols);
        const float *down_bias = tiny_weights(t, QKV_SLOT_DOWN_BIAS, layer, &rows, &cols);
        for (int o = 0; o < width; o++) {
            double sum = (double)down_bias[o];
            for (int f = 0; f < ffn; f++) sum += (double)down[o * ffn + f] * wide[f];
            y[o] += sum;
        }
        layer_norm64(t, QKV_SLOT_FFN_NORM_WEIGHT, layer, y);
        for (int o = 0; o < width; o++) worst = fmax(worst, fabs(y[o] - (double)c[i * width + o]));
    }
    CHECK(worst <= BOUND, "hidden state of layer %d is off by %g", layer, worst);
}

static void test_formulas(qkv_config config, int n) {
    const int32_t length = n;
    tiny_model t = tiny_make(config, QKV_PRECISION_F32, 11);
    qkv_run *run = tiny_run(&t, (qkv_input){.lengths = &length, .sequences = 1}, 12, config.layers);

    for (int l = 0; l < config.layers; l++) {
        for (int h = 0; h < config.heads; h++) check_head(&t, run, n, l, h);
        check_concat(&t, run, n, l);
        check_feed_forward(&t, run, n, l);
    }
    free(run);
    tiny_free(&t);
}

/* Every sequence of a batch has the bits it has alone, windows have those of the whole. */
static void test_batches_and_windows(qkv_config config, qkv_precision precision) {
    static const int32_t lengths[] = {5, 1, 140, 24, 9};
    tiny_model t = tiny_make(config, precision, 13);
    qkv_run *batch = tiny_run(&t, (qkv_input){.lengths = lengths, .sequences = 5}, 14, config.layers);
    uint32_t seed = 14;

    for (int s = 0; s < 5; s++) {
        const int n = lengths[s];
        qkv_run *alone = tiny_run(&t, (qkv_input){.lengths = lengths + s, .sequences = 1}, seed, config.layers);
        for (int i = 0; i < 2 * n; i++) seeded_next(&seed); /* where the batch took the ids of the next sequence */
        const int last = config.layers - 1;
        stage(batch, QKV_STAGE_HIDDEN, last, 0, s, a);
        stage(alone, QKV_STAGE_HIDDEN, last, 0, 0, b);
        CHECK(check_same_bits(a, b, (size_t)(n * config.width)), "hidden states of sequence %d differ in a batch", s);
        for (int h = 0; h < config.heads; h++) {
            weights(batch, QKV_STAGE_WEIGHTS, last, h, s, 0, n, a);
            weights(alone, QKV_STAGE_WEIGHTS, last, h, 0, 0, n, b);
            CHECK(check_same_bits(a, b, (size_t)(n * n)), "weights of sequence %d, head %d differ in a batch", s, h);
            const int row0 = n / 3, rows = n - row0 - n / 5;
            weights(alone, QKV_STAGE_WEIGHTS, last, h, 0, row0, rows, b);
            CHECK(check_same_bits(a + row0 * n, b, (size_t)(rows * n)), "rows %d.. of sequence %d differ", row0, s);
        }
        free(alone);
    }
    free(batch);
    tiny_free(&t);
}

/* Layer by layer, or again from a layer, gives the bits of one go. */
static void test_slices(void) {
    const int32_t length = 21;
    tiny_model t = tiny_make(tiny_odd, QKV_PRECISION_F32, 15);
    const qkv_input input = {.lengths = &length, .sequences = 1};
    qkv_run *whole = tiny_run(&t, input, 16, 3), *sliced = tiny_run(&t, input, 16, 1);
    qkv_error err = {QKV_OK, "", 0, 0};

    CHECK(qkv_forward(sliced, 2, 3, &err) == QKV_RANGE, "layer 2 ran before layer 1");
    CHECK(qkv_get_stage(sliced, QKV_KIND_ENCODER, 1, 0, QKV_STAGE_Q, 0, a, &err) == QKV_STATE,
          "a layer not run was shown");
    qkv_forward(sliced, 1, 2, &err);
    qkv_forward(sliced, 2, 3, &err);
    qkv_forward(sliced, 1, 3, &err);
    stage(whole, QKV_STAGE_X, 3, 0, 0, a);
    stage(sliced, QKV_STAGE_X, 3, 0, 0, b);
    CHECK(check_same_bits(a, b, (size_t)(21 * tiny_odd.width)), "slices differ from one go");
    free(whole);
    free(sliced);
    tiny_free(&t);
}

static void test_interventions(void) {
    const int32_t length = 19;
    const int n = length, heads = tiny_square.heads;
    uint8_t ablate[2 * 4] = {0, 1, 0, 0, 0, 0, 0, 0}, layers[2] = {0, 1};
    float mask[19];
    tiny_model t = tiny_make(tiny_square, QKV_PRECISION_F32, 17);
    qkv_input input = {.lengths = &length, .sequences = 1, .ablate = ablate};
    qkv_run *run = tiny_run(&t, input, 18, 2);

    stage(run, QKV_STAGE_CONCAT, 0, 0, 0, a);
    int zero = 1, others = 0;
    for (int i = 0; i < n; i++) {
        for (int e = 0; e < 8; e++) {
            zero &= a[i * 32 + 8 + e] == 0.0f;
            others += a[i * 32 + 16 + e] != 0.0f;
        }
    }
    CHECK(zero && others == n * 8, "ablating head 1 gave %d zeros, %d others", zero, others);
    free(run);

    for (int j = 0; j < n; j++) mask[j] = j % 2 ? -INFINITY : 0.0f;
    input = (qkv_input){
        .lengths = &length, .sequences = 1, .mask = mask, .mask_rows = 1, .mask_heads = 1, .mask_layers = layers};
    run = tiny_run(&t, input, 18, 2);
    for (int h = 0; h < heads; h++) {
        weights(run, QKV_STAGE_WEIGHTS, 0, h, 0, 0, n, a);
        weights(run, QKV_STAGE_WEIGHTS, 1, h, 0, 0, n, b);
        int odd_zero = 1;
        for (int i = 0; i < n * n; i++) odd_zero &= i % n % 2 ? b[i] == 0.0f : b[i] > 0.0f;
        CHECK(a[1] > 0.0f && odd_zero, "a key mask for layer 1 alone: head %d", h);
    }
    free(run);

    input = (qkv_input){.lengths = &length, .sequences = 1, .has_scale = 1, .scale = 0.5f, .temperature = 4};
    run = tiny_run(&t, input, 18, 2);
    weights(run, QKV_STAGE_SCORES, 0, 2, 0, 0, n, a);
    weights(run, QKV_STAGE_SCALED, 0, 2, 0, 0, n, b);
    int scaled = 1;
    for (int i = 0; i < n * n; i++) scaled &= b[i] == a[i] * 0.125f;
    CHECK(scaled, "scale 0.5 over temperature 4 is not 0.125");
    free(run);
    tiny_free(&t);
}

/* The overview says what the weights say. */
static void test_overview(int n) {
    const int32_t length = n;
    static float thumbnails[3 * 6 * 32 * 32], stats[3 * 6 * 7];
    uint8_t *separators = calloc((size_t)n, 1);
    tiny_model t = tiny_make(tiny_odd, QKV_PRECISION_F32, 19);
    qkv_run *run = tiny_run(&t, (qkv_input){.lengths = &length, .sequences = 1}, 20, 3);
    const int s = n < 32 ? n : 32;
    qkv_error err = {QKV_OK, "", 0, 0};

    separators[n - 1] = 1;
    qkv_overview(run, QKV_KIND_ENCODER, 0, 32, separators, thumbnails, stats, &err);
    for (int head = 0; head < 18; head++) {
        double want[7] = {0};
        int pooled = 1;
        weights(run, QKV_STAGE_WEIGHTS, head / 6, head % 6, 0, 0, n, a);
        memset(b, 0, sizeof(float) * (size_t)(s * s));
        for (int i = 0; i < n; i++) {
            for (int j = 0; j < n; j++) {
                const double w = (double)a[i * n + j];
                float *cell = b + ((i + 1) * s - 1) / n * s + ((j + 1) * s - 1) / n;
                *cell = fmaxf(*cell, a[i * n + j]);
                if (w > 0) want[0] -= w * log(w) / n;
                want[1] += w * abs(i - j) / n;
                if (n > 1) want[2] += j == i - 1 ? w / (n - 1) : 0;
                if (n > 1) want[3] += j == i + 1 ? w / (n - 1) : 0;
                want[4] += j == i ? w / n : 0;
                want[5] += j == 0 ? w / n : 0;
                want[6] += j == n - 1 ? w / n : 0;
            }
        }
        for (int i = 0; i < s * s; i++) pooled &= b[i] == thumbnails[head * s * s + i];
        CHECK(pooled, "thumbnail of head %d, n %d", head, n);
        for (int i = 0; i < 7; i++) {
            const double error = fabs(want[i] - (double)stats[head * 7 + i]);
            CHECK(error <= 2e-6 * (1 + want[i]), "statistic %d of head %d, n %d: off by %g", i, head, n, error);
        }
    }
    free(separators);
    free(run);
    tiny_free(&t);
}

int main(void) {
    test_formulas(tiny_square, 23);
    test_formulas(tiny_odd, 30);
    test_formulas(tiny_odd, 1);
    for (int p = 0; p < QKV_PRECISION_COUNT; p++) {
        test_batches_and_windows(tiny_square, (qkv_precision)p);
        test_batches_and_windows(tiny_odd, (qkv_precision)p);
    }
    test_slices();
    test_interventions();
    test_overview(1);
    test_overview(17);
    test_overview(32);
    test_overview(77);
    return check_summary("run");
}
