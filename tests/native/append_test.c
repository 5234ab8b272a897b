/* Tokens that come later: a run that grows, in whatever pieces, is bit for bit the run over all of them at once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "drawn_config.h"
#include "seeded.h"
#include "tiny_model.h"

#define TOKENS_MOST 160
#define FLOATS_MOST (TOKENS_MOST * TOKENS_MOST)

static float a[FLOATS_MOST], b[FLOATS_MOST];

static const int single[TOKENS_MOST] = {0}; /* pieces of one token */

/* ---- runs --------------------------------------------------------------------------------------------------- */

static qkv_run *new_run(const tiny_model *t, const int32_t *ids, int n, int room) {
    const int32_t length = n;
    const qkv_input input = {.ids = ids, .lengths = &length, .sequences = 1, .temperature = 1, .room = room};
    qkv_error err = {QKV_OK, "", 0, 0};
    const size_t bytes = qkv_run_bytes(t->model, &input, &err);
    qkv_run *run = NULL;

    CHECK(bytes > 0, "a run of %d tokens and room for %d: %s, got %g, want %g", n, room, err.what, err.got, err.want);
    void *memory = malloc(bytes);
    memset(memory, 0xff, bytes); /* NaN: what a run reads of tokens to come would show */
    CHECK(qkv_run_create(&run, memory, bytes, t->model, &input, &err) == QKV_OK, "%s", err.what);
    return run;
}

static void forward(qkv_run *run, int from, int to) {
    qkv_error err = {QKV_OK, "", 0, 0};
    CHECK(qkv_forward(run, from, to, &err) == QKV_OK, "layers %d..%d: %s", from, to, err.what);
}

static void append(qkv_run *run, const int32_t *ids, int count) {
    qkv_error err = {QKV_OK, "", 0, 0};
    CHECK(qkv_append(run, ids, count, &err) == QKV_OK, "%d tokens: %s, got %g, want %g", count, err.what, err.got,
          err.want);
}

/* A run over ids [n] that begins with `start` of them and grows by the pieces, the last of which is cut. */
static qkv_run *grown(const tiny_model *t, const int32_t *ids, int start, int n, const int *pieces) {
    qkv_run *run = new_run(t, ids, start, n - start);
    const int layers = t->config.layers;

    forward(run, 0, layers);
    for (int at = start, i = 0, count; at < n; at += count, i++) {
        count = pieces == single ? 1 : pieces[i];
        if (count > n - at) count = n - at;
        append(run, ids + at, count);
        if (i % 3 == 1) { /* layers may come one by one */
            for (int l = 0; l < layers; l++) forward(run, l, l + 1);
        } else {
            forward(run, 0, layers);
        }
    }
    return run;
}

/* ---- the same bits ------------------------------------------------------------------------------------------ */

static int columns(const qkv_config *c, int stage, int n) {
    if (stage >= QKV_STAGE_SCORES && stage <= QKV_STAGE_WEIGHTS) return n;
    if (stage == QKV_STAGE_CONCAT) return c->heads * c->head_dim;
    return stage == QKV_STAGE_X || stage == QKV_STAGE_OUTPUT || stage == QKV_STAGE_HIDDEN ? c->width : c->head_dim;
}

static int same_stage(const qkv_config *c, qkv_run *one, qkv_run *other, int layer, int head, int stage, int n) {
    const qkv_status first = qkv_get_stage(one, QKV_KIND_DECODER, layer, head, (qkv_stage)stage, 0, a, NULL);
    const qkv_status second = qkv_get_stage(other, QKV_KIND_DECODER, layer, head, (qkv_stage)stage, 0, b, NULL);
    return first == QKV_OK && second == QKV_OK && check_same_bits(a, b, (size_t)(n * columns(c, stage, n)));
}

static void same_overview(const qkv_config *c, qkv_run *one, qkv_run *other, int n, const char *what) {
    const int side = n < 16 ? n : 16;
    const size_t heads = (size_t)(c->layers * c->heads), cells = heads * (size_t)(side * side);
    float *thumbnails[2], stats[2][4 * 9 * 7];
    qkv_run *runs[] = {one, other};

    for (int i = 0; i < 2; i++) {
        thumbnails[i] = malloc(cells * sizeof(float));
        qkv_overview(runs[i], QKV_KIND_DECODER, 0, 16, NULL, thumbnails[i], stats[i], NULL);
    }
    CHECK(check_same_bits(thumbnails[0], thumbnails[1], cells) && check_same_bits(stats[0], stats[1], heads * 7),
          "%s: the overview differs", what);
    free(thumbnails[0]);
    free(thumbnails[1]);
}

static void same_runs(const qkv_config *c, qkv_run *one, qkv_run *other, int n, const char *what) {
    int stages = 1, logits = 1;

    for (int l = 0; l < c->layers; l++) {
        for (int h = 0; h < c->heads; h++) {
            for (int s = 0; s < QKV_STAGE_COUNT; s++) stages &= same_stage(c, one, other, l, h, s, n);
        }
    }
    CHECK(stages, "%s: a stage of the grown run differs", what);
    CHECK(same_stage(c, one, other, c->layers, 0, QKV_STAGE_X, n), "%s: the last hidden state differs", what);
    same_overview(c, one, other, n, what);
    for (int i = -1; i < n && c->head_rows > 0; i++) {
        logits &= qkv_logits(one, 0, i, a, NULL) == QKV_OK && qkv_logits(other, 0, i, b, NULL) == QKV_OK;
        logits &= check_same_bits(a, b, (size_t)c->head_rows);
    }
    CHECK(logits, "%s: logits differ", what);
    for (int pooling = QKV_POOL_MEAN; pooling < QKV_POOL_COUNT; pooling++) {
        qkv_embedding(one, 0, (qkv_pooling)pooling, 0, 1, a, NULL);
        qkv_embedding(other, 0, (qkv_pooling)pooling, 0, 1, b, NULL);
        CHECK(check_same_bits(a, b, (size_t)c->width), "%s: pooling %d differs", what, pooling);
    }
}

static void draw_ids(uint32_t *seed, const qkv_config *c, int32_t *ids, int n) {
    for (int i = 0; i < n; i++) ids[i] = seeded_int(seed, c->vocab);
}

static void test_growth(qkv_config config, qkv_precision precision, int start, int n, uint32_t seed) {
    int32_t ids[TOKENS_MOST];
    int pieces[TOKENS_MOST];
    char what[80];

    tiny_model t = tiny_make(config, precision, seed);
    draw_ids(&seed, &config, ids, n);
    for (int i = 0; i < n; i++) pieces[i] = 1 + seeded_int(&seed, 9) * seeded_int(&seed, 4);
    snprintf(what, sizeof what, "precision %d, %d of %d tokens first", (int)precision, start, n);
    qkv_run *whole = new_run(&t, ids, n, 0);
    forward(whole, 0, config.layers);
    qkv_run *steps = grown(&t, ids, start, n, single), *parts = grown(&t, ids, start, n, pieces);
    same_runs(&config, whole, steps, n, what);
    same_runs(&config, whole, parts, n, what);
    forward(parts, 1, config.layers); /* layers that are run again see all tokens */
    forward(parts, 0, config.layers);
    same_runs(&config, whole, parts, n, what);
    free(whole);
    free(steps);
    free(parts);
    tiny_free(&t);
}

/* Ablation, scale and temperature hold for the tokens that come, too. */
static void test_interventions(void) {
    static const uint8_t ablate[12] = {0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1};
    int32_t ids[40], lengths[] = {40, 11};
    uint32_t seed = 5;
    tiny_model t = tiny_make(tiny_decoder, QKV_PRECISION_F32, 6);
    qkv_run *runs[2];

    draw_ids(&seed, &tiny_decoder, ids, 40);
    for (int i = 0; i < 2; i++) {
        const qkv_input input = {.ids = ids,
                                 .lengths = lengths + i,
                                 .sequences = 1,
                                 .ablate = ablate,
                                 .has_scale = 1,
                                 .scale = 0.7f,
                                 .temperature = 1.3f,
                                 .room = 40 - lengths[i]};
        const size_t bytes = qkv_run_bytes(t.model, &input, NULL);
        CHECK(qkv_run_create(&runs[i], malloc(bytes), bytes, t.model, &input, NULL) == QKV_OK, "run %d", i);
        forward(runs[i], 0, 3);
    }
    append(runs[1], ids + 11, 29);
    forward(runs[1], 0, 3);
    same_runs(&tiny_decoder, runs[0], runs[1], 40, "interventions");
    free(runs[0]);
    free(runs[1]);
    tiny_free(&t);
}

/* What is behind a token changes no bit of it. */
static void test_prefix(void) {
    int32_t ids[50];
    uint32_t seed = 8;
    tiny_model t = tiny_make(tiny_decoder, QKV_PRECISION_F32, 9);

    draw_ids(&seed, &tiny_decoder, ids, 50);
    qkv_run *whole = new_run(&t, ids, 50, 0), *prefix = new_run(&t, ids, 23, 0);
    forward(whole, 0, 3);
    forward(prefix, 0, 3);
    qkv_get_stage(whole, QKV_KIND_DECODER, 2, 0, QKV_STAGE_HIDDEN, 0, a, NULL);
    qkv_get_stage(prefix, QKV_KIND_DECODER, 2, 0, QKV_STAGE_HIDDEN, 0, b, NULL);
    CHECK(check_same_bits(a, b, 23 * (size_t)tiny_decoder.width), "later tokens change earlier ones");
    free(whole);
    free(prefix);
    tiny_free(&t);
}

/* ---- refusals ----------------------------------------------------------------------------------------------- */

static void refused(qkv_status got, qkv_status want, const char *what) {
    CHECK(got == want, "%s: status %d, want %d", what, (int)got, (int)want);
}

static void test_refused_rooms(void) {
    const int32_t ids[8] = {0}, lengths[] = {4, 4};
    float mask[16] = {0};
    tiny_model decoder = tiny_make(tiny_decoder, QKV_PRECISION_F32, 1),
               encoder = tiny_make(tiny_odd, QKV_PRECISION_F32, 1);
    const qkv_input good = {.ids = ids, .lengths = lengths, .sequences = 1, .temperature = 1, .room = 3};
    qkv_input two = good, masked = good, negative = good, long_one = good, longest = good;
    qkv_error err = {QKV_OK, "", 0, 0};

    two.sequences = 2;
    masked.mask = mask, masked.mask_rows = masked.mask_heads = 1;
    negative.room = -1;
    long_one.room = tiny_decoder.context - 3;
    longest.room = tiny_decoder.context - 4;
    CHECK(qkv_run_bytes(decoder.model, &good, &err) > 0, "room 3 is refused: %s", err.what);
    CHECK(qkv_run_bytes(decoder.model, &longest, &err) > 0, "all the context is refused: %s", err.what);
    const qkv_input *bad[] = {&two, &masked, &negative, &long_one};
    for (int i = 0; i < 4; i++) {
        CHECK(qkv_run_bytes(decoder.model, bad[i], &err) == 0 && err.code == QKV_ARGUMENT, "room %d is taken", i);
    }
    CHECK(qkv_run_bytes(encoder.model, &good, &err) == 0 && err.code == QKV_ARGUMENT, "room in an encoder");
    tiny_free(&decoder);
    tiny_free(&encoder);
}

static void test_refused_tokens(void) {
    static float thumbnails[3 * 4 * 32 * 32], stats[3 * 4 * 7];
    int32_t ids[20] = {0}, over[] = {0, 61}, under[] = {-1};
    tiny_model t = tiny_make(tiny_decoder, QKV_PRECISION_F32, 1);
    qkv_run *run = new_run(&t, ids, 10, 4);
    const qkv_kind kind = QKV_KIND_DECODER;

    refused(qkv_append(run, ids, 1, NULL), QKV_STATE, "append before forward");
    forward(run, 0, 2);
    refused(qkv_append(run, ids, 1, NULL), QKV_STATE, "append before the last layer");
    forward(run, 2, 3);
    refused(qkv_append(run, ids, 0, NULL), QKV_ARGUMENT, "no tokens");
    refused(qkv_append(run, ids, -1, NULL), QKV_ARGUMENT, "-1 tokens");
    refused(qkv_append(run, ids, 5, NULL), QKV_ARGUMENT, "5 tokens, room for 4");
    refused(qkv_append(run, over, 2, NULL), QKV_TOKEN, "id 61 of 61");
    refused(qkv_append(run, under, 1, NULL), QKV_TOKEN, "id -1");
    refused(qkv_get_stage(run, kind, 2, 0, QKV_STAGE_HIDDEN, 0, a, NULL), QKV_OK, "a refused append changes nothing");
    append(run, ids, 3);
    refused(qkv_get_stage(run, kind, 0, 0, QKV_STAGE_Q, 0, a, NULL), QKV_STATE, "a stage before forward");
    refused(qkv_get_stage(run, kind, -1, 0, QKV_STAGE_HIDDEN, 0, a, NULL), QKV_STATE, "embeddings before forward");
    refused(qkv_get_stage(run, kind, 0, 0, QKV_STAGE_X, 0, a, NULL), QKV_STATE, "x before forward");
    refused(qkv_get_weights(run, kind, 0, 0, QKV_STAGE_WEIGHTS, 0, 0, 1, a, NULL), QKV_STATE, "weights before forward");
    refused(qkv_overview(run, kind, 0, 8, NULL, thumbnails, stats, NULL), QKV_STATE, "overview before forward");
    refused(qkv_embedding(run, 0, QKV_POOL_LAST, 0, 0, a, NULL), QKV_STATE, "embedding before forward");
    refused(qkv_logits(run, 0, -1, a, NULL), QKV_STATE, "logits before forward");
    refused(qkv_append(run, ids, 1, NULL), QKV_STATE, "append twice");
    refused(qkv_forward(run, 1, 3, NULL), QKV_RANGE, "layer 1 before layer 0");
    forward(run, 0, 3);
    append(run, ids, 1);
    forward(run, 0, 3);
    refused(qkv_append(run, ids, 1, NULL), QKV_ARGUMENT, "a token beyond the room");
    free(run);
    tiny_free(&t);
}

int main(void) {
    uint32_t seed = 77;

    for (int p = 0; p < QKV_PRECISION_COUNT; p++) {
        test_growth(tiny_decoder, (qkv_precision)p, 1, 30, 3);
        test_growth(tiny_decoder, (qkv_precision)p, 131, 150, 4); /* more rows than go through a GEMM together */
    }
    for (int i = 0; i < 40; i++) {
        static drawn_config drawn;
        do draw_config(&seed, &drawn);
        while (!drawn.config.causal);
        const int n = 2 + seeded_int(&seed, 40);
        test_growth(drawn.config, drawn.precision, 1 + seeded_int(&seed, n - 1), n, seeded_next(&seed));
    }
    test_interventions();
    test_prefix();
    test_refused_rooms();
    test_refused_tokens();
    return check_summary("append");
}
