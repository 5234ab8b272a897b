/* No way of asking changes a bit, whatever the model: windows of rows, batches; and what must be refused. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "drawn_config.h"
#include "seeded.h"
#include "tiny_model.h"

#define TOKENS_MOST 70
#define FLOATS_MOST (TOKENS_MOST * 200)
#define SEQUENCES 4

static float a[FLOATS_MOST], b[FLOATS_MOST];

/* ---- windows ------------------------------------------------------------------------------------------------ */

static void check_windows(const qkv_config *c, qkv_run *run, int n, uint32_t *seed) {
    for (int l = 0; l < c->layers; l++) {
        const int head = seeded_int(seed, c->heads);
        for (int s = QKV_STAGE_SCORES; s <= QKV_STAGE_WEIGHTS; s++) {
            const qkv_stage stage = (qkv_stage)s;
            qkv_get_stage(run, tiny_kind(c), l, head, stage, 0, a, NULL);
            for (int i = 0; i < 5; i++) {
                const int row0 = seeded_int(seed, n + 1), rows = seeded_int(seed, n - row0 + 1);
                const qkv_status status = qkv_get_weights(run, tiny_kind(c), l, head, stage, 0, row0, rows, b, NULL);
                CHECK(status == QKV_OK && check_same_bits(a + row0 * n, b, (size_t)(rows * n)),
                      "rows %d..%d of stage %d, layer %d, head %d differ from the whole", row0, row0 + rows, s, l,
                      head);
            }
        }
    }
}

static void test_windows(qkv_config config, qkv_precision precision, uint32_t seed) {
    static float mask[9 * TOKENS_MOST * TOKENS_MOST];
    const int32_t n = 1 + seeded_int(&seed, TOKENS_MOST);
    qkv_input input = {.lengths = &n, .sequences = 1};
    tiny_model t = tiny_make(config, precision, seed);

    if (seeded_int(&seed, 2)) {
        input.mask = mask;
        input.mask_rows = n;
        input.mask_heads = config.heads;
        for (int i = 0; i < config.heads * n * n; i++) mask[i] = seeded_int(&seed, 3) ? seeded_float(&seed) : -INFINITY;
    }
    qkv_run *run = tiny_run(&t, input, seed, config.layers);
    check_windows(&config, run, n, &seed);
    free(run);
    tiny_free(&t);
}

/* ---- batches ------------------------------------------------------------------------------------------------ */

static int columns(const qkv_config *c, int stage, int n) {
    if (stage >= QKV_STAGE_SCORES && stage <= QKV_STAGE_WEIGHTS) return n;
    if (stage == QKV_STAGE_CONCAT) return c->heads * c->head_dim;
    return stage == QKV_STAGE_X || stage == QKV_STAGE_OUTPUT || stage == QKV_STAGE_HIDDEN ? c->width : c->head_dim;
}

static void compare_sequence(const qkv_config *c, qkv_run *batch, int sequence, qkv_run *alone, int n) {
    int stages = 1, logits = 1;

    for (int l = 0; l < c->layers; l++) {
        for (int s = 0; s < QKV_STAGE_COUNT; s++) {
            const int head = (l + s) % c->heads;
            qkv_get_stage(batch, tiny_kind(c), l, head, (qkv_stage)s, sequence, a, NULL);
            qkv_get_stage(alone, tiny_kind(c), l, head, (qkv_stage)s, 0, b, NULL);
            stages &= check_same_bits(a, b, (size_t)(n * columns(c, s, n)));
        }
    }
    CHECK(stages, "a stage of sequence %d of %d tokens differs in a batch", sequence, n);
    for (int i = -1; i < n && c->head_rows > 0; i++) {
        logits &= qkv_logits(batch, sequence, i, a, NULL) == QKV_OK && qkv_logits(alone, 0, i, b, NULL) == QKV_OK;
        logits &= check_same_bits(a, b, (size_t)c->head_rows);
        if (i < n - 1) continue;
        qkv_logits(batch, sequence, -1, b, NULL);
        logits &= check_same_bits(a, b, (size_t)c->head_rows); /* -1 is the last */
    }
    CHECK(logits, "logits of sequence %d of %d tokens differ in a batch", sequence, n);
    for (int pooling = QKV_POOL_MEAN; pooling < QKV_POOL_COUNT; pooling++) {
        qkv_embedding(batch, sequence, (qkv_pooling)pooling, 0, 0, a, NULL);
        qkv_embedding(alone, 0, (qkv_pooling)pooling, 0, 0, b, NULL);
        CHECK(check_same_bits(a, b, (size_t)c->width), "pooling %d of sequence %d differs in a batch", pooling,
              sequence);
    }
}

static void test_batches(qkv_config config, qkv_precision precision, uint32_t seed) {
    int32_t lengths[SEQUENCES];
    tiny_model t = tiny_make(config, precision, seed);

    for (int s = 0; s < SEQUENCES; s++) lengths[s] = 1 + seeded_int(&seed, TOKENS_MOST - 1);
    qkv_run *batch = tiny_run(&t, (qkv_input){.lengths = lengths, .sequences = SEQUENCES}, seed, config.layers);
    for (int s = 0; s < SEQUENCES; s++) {
        qkv_run *alone = tiny_run(&t, (qkv_input){.lengths = lengths + s, .sequences = 1}, seed, config.layers);
        for (int i = 0; i < 2 * lengths[s]; i++) seeded_next(&seed); /* where the batch took the next sequence's ids */
        compare_sequence(&config, batch, s, alone, lengths[s]);
        free(alone);
    }
    free(batch);
    tiny_free(&t);
}

/* ---- refusals ----------------------------------------------------------------------------------------------- */

static void refused(qkv_status got, qkv_status want, const char *what) {
    CHECK(got == want, "%s: status %d, want %d", what, (int)got, (int)want);
}

static void test_kinds(qkv_config config) {
    const int32_t length = 9;
    const qkv_kind wrong = config.causal ? QKV_KIND_ENCODER : QKV_KIND_DECODER;
    static float thumbnails[4 * 6 * 81];
    tiny_model t = tiny_make(config, QKV_PRECISION_F32, 1);
    qkv_run *run = tiny_run(&t, (qkv_input){.lengths = &length, .sequences = 1}, 2, config.layers);

    for (int kind = 0; kind <= QKV_KIND_COUNT; kind++) {
        const qkv_status want = kind == (int)tiny_kind(&config) ? QKV_OK : QKV_ARGUMENT;
        refused(qkv_get_weights(run, (qkv_kind)kind, 0, 0, QKV_STAGE_WEIGHTS, 0, 0, 9, a, NULL), want,
                "weights of a kind");
        refused(qkv_get_stage(run, (qkv_kind)kind, 0, 0, QKV_STAGE_Q, 0, a, NULL), want, "stage of a kind");
        refused(qkv_overview(run, (qkv_kind)kind, 0, 9, NULL, thumbnails, b, NULL), want, "overview of a kind");
    }
    refused(qkv_get_stage(run, wrong, config.layers, 0, QKV_STAGE_X, 0, a, NULL), QKV_ARGUMENT,
            "x behind all, wrong kind");
    free(run);
    tiny_free(&t);
}

static void test_places(void) {
    const int32_t lengths[] = {9, 5}, layers = tiny_relative.layers, heads = tiny_relative.heads;
    tiny_model t = tiny_make(tiny_relative, QKV_PRECISION_F32, 1);
    qkv_run *run = tiny_run(&t, (qkv_input){.lengths = lengths, .sequences = 2}, 2, layers);
    const qkv_kind kind = QKV_KIND_ENCODER;

    for (int s = 0; s < QKV_STAGE_COUNT; s++) {
        const qkv_stage stage = (qkv_stage)s;
        const int wide = stage == QKV_STAGE_X || stage >= QKV_STAGE_CONCAT;
        refused(qkv_get_stage(run, kind, -1, 0, stage, 0, a, NULL), s == QKV_STAGE_HIDDEN ? QKV_OK : QKV_RANGE,
                "layer -1");
        refused(qkv_get_stage(run, kind, layers, 0, stage, 0, a, NULL), s == QKV_STAGE_X ? QKV_OK : QKV_RANGE,
                "layer L");
        refused(qkv_get_stage(run, kind, layers + 1, 0, stage, 0, a, NULL), QKV_RANGE, "layer L + 1");
        refused(qkv_get_stage(run, kind, INT32_MAX, 0, stage, 0, a, NULL), QKV_RANGE, "layer 2^31 - 1");
        refused(qkv_get_stage(run, kind, INT32_MIN, 0, stage, 0, a, NULL), QKV_RANGE, "layer -2^31");
        refused(qkv_get_stage(run, kind, 0, 0, stage, 2, a, NULL), QKV_RANGE, "sequence 2 of 2");
        refused(qkv_get_stage(run, kind, 0, 0, stage, -1, a, NULL), QKV_RANGE, "sequence -1");
        refused(qkv_get_stage(run, kind, 0, heads, stage, 0, a, NULL), wide ? QKV_OK : QKV_RANGE, "head H");
        refused(qkv_get_stage(run, kind, 0, -1, stage, 0, a, NULL), wide ? QKV_OK : QKV_RANGE, "head -1");
        const int map = stage >= QKV_STAGE_SCORES && stage <= QKV_STAGE_WEIGHTS;
        refused(qkv_get_weights(run, kind, 0, 0, stage, 0, 0, 9, a, NULL), map ? QKV_OK : QKV_ARGUMENT,
                "rows of a stage");
    }
    refused(qkv_get_stage(run, kind, 0, 0, QKV_STAGE_COUNT, 0, a, NULL), QKV_ARGUMENT, "no stage");
    refused(qkv_get_weights(run, kind, 0, 0, QKV_STAGE_WEIGHTS, 1, 5, 1, a, NULL), QKV_RANGE, "row 5 of 5");
    refused(qkv_get_weights(run, kind, 0, 0, QKV_STAGE_WEIGHTS, 1, 5, 0, a, NULL), QKV_OK, "no row at the end");
    refused(qkv_get_weights(run, kind, 0, 0, QKV_STAGE_WEIGHTS, 1, 6, 0, a, NULL), QKV_RANGE, "no row behind the end");
    refused(qkv_get_weights(run, kind, 0, 0, QKV_STAGE_WEIGHTS, 0, -1, 1, a, NULL), QKV_RANGE, "row -1");
    refused(qkv_get_weights(run, kind, 0, 0, QKV_STAGE_WEIGHTS, 0, 0, -1, a, NULL), QKV_RANGE, "-1 rows");
    refused(qkv_get_weights(run, kind, 0, 0, QKV_STAGE_WEIGHTS, 0, 1, INT32_MAX, a, NULL), QKV_RANGE, "2^31 - 1 rows");
    refused(qkv_embedding(run, 2, QKV_POOL_MEAN, 0, 0, a, NULL), QKV_RANGE, "embedding of sequence 2");
    refused(qkv_embedding(run, 0, QKV_POOL_COUNT, 0, 0, a, NULL), QKV_ARGUMENT, "pooling 6");
    refused(qkv_embedding(run, 1, QKV_POOL_MAX, 6, 0, a, NULL), QKV_RANGE, "no row behind the first 6 of 6");
    refused(qkv_embedding(run, 1, QKV_POOL_MAX, -1, 0, a, NULL), QKV_RANGE, "rows from -1 on");
    free(run);
    tiny_free(&t);
}

static void test_logits(void) {
    const int32_t lengths[] = {9, 5};
    tiny_model t = tiny_make(tiny_decoder, QKV_PRECISION_F32, 1), headless = tiny_make(tiny_odd, QKV_PRECISION_F32, 1);
    const qkv_input input = {.lengths = lengths, .sequences = 2};
    qkv_run *half = tiny_run(&t, input, 2, 2), *run = tiny_run(&t, input, 2, 3);
    qkv_run *none = tiny_run(&headless, input, 2, 3);

    refused(qkv_logits(none, 0, 0, a, NULL), QKV_STATE, "logits without a head");
    refused(qkv_logits(half, 0, 0, a, NULL), QKV_STATE, "logits before the last layer");
    refused(qkv_logits(run, 2, 0, a, NULL), QKV_RANGE, "logits of sequence 2");
    refused(qkv_logits(run, -1, 0, a, NULL), QKV_RANGE, "logits of sequence -1");
    refused(qkv_logits(run, 1, 5, a, NULL), QKV_RANGE, "logits of position 5 of 5");
    refused(qkv_logits(run, 1, -2, a, NULL), QKV_RANGE, "logits of position -2");
    refused(qkv_logits(run, 1, 4, a, NULL), QKV_OK, "logits of position 4 of 5");
    free(half);
    free(run);
    free(none);
    tiny_free(&t);
    tiny_free(&headless);
}

/* Numbers that leave the range of float where they meet. */
static void test_temperatures(void) {
    static const float scales[] = {1.0f, 1e30f, 1e-30f}, temperatures[] = {1e-39f, 1e-20f, 1e20f};
    static const int fine[3][3] = {{0, 1, 1}, {0, 0, 1}, {0, 1, 1}}; /* tiny_decoder has a cap of 3 */
    const int32_t ids[4] = {0}, length = 4;
    tiny_model t = tiny_make(tiny_decoder, QKV_PRECISION_F32, 1);

    for (int i = 0; i < 9; i++) {
        const qkv_input input = {.ids = ids,
                                 .lengths = &length,
                                 .sequences = 1,
                                 .has_scale = 1,
                                 .scale = scales[i / 3],
                                 .temperature = temperatures[i % 3]};
        CHECK((qkv_run_bytes(t.model, &input, NULL) > 0) == fine[i / 3][i % 3], "scale %g, temperature %g",
              (double)input.scale, (double)input.temperature);
    }
    tiny_free(&t);
}

/* ---- memory ------------------------------------------------------------------------------------------------- */

/* tiny_make and tiny_run take exactly what is asked for, so that the sanitizer sees a byte too few; a byte less is refused. */
static void test_exact_memory(qkv_config config, qkv_precision precision) {
    static const int32_t ids[11] = {0}, lengths[] = {7, 4};
    const qkv_input input = {.ids = ids, .lengths = lengths, .sequences = 2, .temperature = 1};
    tiny_model t = tiny_make(config, precision, 3);
    qkv_model *model = NULL;
    qkv_run *run = NULL;
    qkv_error err = {QKV_OK, "", 0, 0};

    size_t bytes = qkv_model_bytes(&config, precision, &err);
    void *memory = malloc(bytes - 1);
    refused(qkv_model_create(&model, memory, bytes - 1, &config, precision, &err), QKV_MEMORY,
            "a model, a byte too few");
    CHECK(err.want == (double)bytes && err.got == (double)(bytes - 1), "wants %g bytes, got %g", err.want, err.got);
    free(memory);
    bytes = qkv_run_bytes(t.model, &input, &err);
    memory = malloc(bytes - 1);
    refused(qkv_run_create(&run, memory, bytes - 1, t.model, &input, &err), QKV_MEMORY, "a run, a byte too few");
    free(memory);
    tiny_free(&t);
}

int main(void) {
    static const qkv_config *configs[] = {&tiny_square, &tiny_odd, &tiny_decoder, &tiny_relative};
    uint32_t seed = 4711;

    for (int i = 0; i < 4; i++) {
        test_kinds(*configs[i]);
        for (int p = 0; p < QKV_PRECISION_COUNT; p++) {
            test_windows(*configs[i], (qkv_precision)p, seeded_next(&seed));
            test_batches(*configs[i], (qkv_precision)p, seeded_next(&seed));
        }
    }
    for (int i = 0; i < 60; i++) {
        static drawn_config drawn;
        draw_config(&seed, &drawn);
        test_windows(drawn.config, drawn.precision, seeded_next(&seed));
        test_batches(drawn.config, drawn.precision, seeded_next(&seed));
        test_exact_memory(drawn.config, drawn.precision);
    }
    test_places();
    test_logits();
    test_temperatures();
    return check_summary("inspect");
}
