/* The first block's input is LayerNorm(token + token type + position), of the very rows the ids name. */
#include <math.h>
#include <stdlib.h>

#include "check.h"
#include "seeded.h"
#include "tiny_model.h"

#define TOKENS 19
#define WIDTH_MOST 32
#define BOUND 1e-5 /* a LayerNorm of sums of three values below 1, float32 against float64 */

static const float *row_of(const tiny_model *tiny, qkv_slot slot, int row) {
    int rows, cols;
    const float *table = tiny_weights(tiny, slot, 0, &rows, &cols);
    return table + (size_t)row * (size_t)cols;
}

static void embed64(const tiny_model *tiny, int id, int type, int position, double *x) {
    const int width = tiny->config.width;
    const float *weight = row_of(tiny, QKV_SLOT_EMBED_NORM_WEIGHT, 0),
                *bias = row_of(tiny, QKV_SLOT_EMBED_NORM_BIAS, 0);
    double mean = 0, variance = 0;

    for (int i = 0; i < width; i++) {
        x[i] = (double)row_of(tiny, QKV_SLOT_TOKENS, id)[i] + (double)row_of(tiny, QKV_SLOT_POSITIONS, position)[i];
        if (tiny->config.segments > 0) x[i] += (double)row_of(tiny, QKV_SLOT_SEGMENTS, type)[i];
        mean += x[i] / width;
    }
    for (int i = 0; i < width; i++) variance += (x[i] - mean) * (x[i] - mean) / width;
    for (int i = 0; i < width; i++) {
        x[i] = (x[i] - mean) / sqrt(variance + (double)tiny->config.norm_eps) * (double)weight[i] + (double)bias[i];
    }
}

static void test_embeddings(qkv_config config) {
    const int32_t lengths[] = {TOKENS, 1, TOKENS};
    uint32_t seed = 11; /* tiny_run draws id and type of each token from it */
    tiny_model tiny = tiny_make(config, QKV_PRECISION_F32, 9);
    qkv_run *run = tiny_run(&tiny, (qkv_input){.lengths = lengths, .sequences = 3}, seed, 0);

    for (int s = 0; s < 3; s++) {
        static float x[TOKENS * WIDTH_MOST];
        qkv_error err = {QKV_OK, "", 0, 0};
        const qkv_status status = qkv_get_stage(run, QKV_KIND_ENCODER, 0, 0, QKV_STAGE_X, s, x, &err);
        CHECK(status == QKV_OK, "x of sequence %d: %s", s, err.what);
        for (int i = 0; i < lengths[s]; i++) {
            double want[WIDTH_MOST], worst = 0;
            const int id = seeded_int(&seed, config.vocab), type = seeded_int(&seed, 2);
            embed64(&tiny, id, type, i, want);
            for (int d = 0; d < config.width; d++) worst = fmax(worst, fabs((double)x[i * config.width + d] - want[d]));
            CHECK(worst <= BOUND, "token %d of sequence %d is off by %g", i, s, worst);
        }
    }
    free(run);
    tiny_free(&tiny);
}

int main(void) {
    test_embeddings(tiny_square);
    test_embeddings(tiny_odd);
    return check_summary("embed");
}
