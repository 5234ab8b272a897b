/* Models of every kind that a config can describe, drawn from a seed, against the float64 reference: each stage of each
 * head, hidden states, logits. In q10 and q8 the reference gets the weights that the integers stand for, so what is left is
 * the rounding of the activations to int16. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "drawn_config.h"
#include "model_f64.h"
#include "seeded.h"
#include "slots.h"
#include "tiny_model.h"

#define MODELS 400
#define TOKENS_MOST 40
#define FLOATS_MOST (TOKENS_MOST * 200)

/* Largest |difference| / (1 + largest |reference| of the tensor), by precision. Sums of some fifty float32 products lose about
 * 1e-6, which passes through up to four blocks. In q10 and q8 activations are rounded to one part in 2^16; where logits
 * of some hundreds follow, an exponential makes a hundred times that out of it. */
static const double bounds[QKV_PRECISION_COUNT] = {1e-5, 5e-3, 1e-2};
static double worst[QKV_PRECISION_COUNT];

/* ---- weights as the engine holds them ----------------------------------------------------------------------- */

/* The most a weight of this slot is rounded to, 0: kept as it came. */
static int levels(const drawn_config *d, qkv_slot slot) {
    static const int of_precision[QKV_PRECISION_COUNT] = {0, 511, 127};
    const qkv_config *c = &d->config;

    if (slot == QKV_SLOT_TOKENS && !(c->head_tied && c->head_rows > 0)) {
        return c->table == QKV_PLANE_Q10_HIGH ? 511 : c->table == QKV_PLANE_Q8 ? 127 : 0;
    }
    const int is_matrix = qkv_slot_kinds[slot].role == QKV_ROLE_matrix || slot == QKV_SLOT_TOKENS;
    return is_matrix ? of_precision[d->precision] : 0;
}

static float *rounded(const tiny_model *t, qkv_slot slot, int most) {
    int rows, cols;
    const float *w = tiny_weights(t, slot, 0, &rows, &cols);
    const size_t all = (size_t)tiny_slot_layers(&t->config, slot) * (size_t)rows;
    float *out = malloc((all * (size_t)cols + 1) * sizeof *out);

    memcpy(out, w, all * (size_t)cols * sizeof *out);
    for (size_t r = 0; r < all && most > 0; r++) {
        float *row = out + r * (size_t)cols, largest = 0;
        for (int i = 0; i < cols; i++) largest = fmaxf(largest, fabsf(row[i]));
        const float scale = largest / (float)most;
        for (int i = 0; i < cols; i++) row[i] = rintf(row[i] / scale) * scale;
    }
    return out;
}

/* ---- one model ---------------------------------------------------------------------------------------------- */

typedef struct session {
    const drawn_config *drawn;
    qkv_run *run;
    reference_run reference;
    int n;
    uint32_t seed; /* to draw the same model again */
} session;

static double largest_of(const double *x, int n) {
    double largest = 0;
    for (int i = 0; i < n; i++) largest = isinf(x[i]) ? largest : fmax(largest, fabs(x[i]));
    return largest;
}

/* scale: what an error is relative to, besides the tensor itself. */
static void compare(const session *s, const float *got, const double *want, int count, double scale, const char *what,
                    int layer, int head) {
    const double largest = fmax(scale, largest_of(want, count));
    double error = 0;

    for (int i = 0; i < count; i++) {
        if (isinf(want[i])) {
            error = (double)got[i] == want[i] ? error : (double)INFINITY;
            continue;
        }
        const double off = fabs((double)got[i] - want[i]);
        error = off <= error ? error : off; /* a NaN stays */
    }
    error /= 1 + largest;
    worst[s->drawn->precision] = fmax(worst[s->drawn->precision], error);
    CHECK(error <= bounds[s->drawn->precision], "%s of layer %d, head %d is off by %g (seed %u, precision %d)", what,
          layer, head, error, s->seed, (int)s->drawn->precision);
}

static void compare_stage(const session *s, int layer, qkv_stage stage) {
    static const char *names[] = {
#define QKV_X(NAME, name, columns) #name,
        QKV_STAGES(QKV_X)
#undef QKV_X
    };
    static float out[FLOATS_MOST];
    const qkv_config *c = &s->drawn->config;
    const int heads = stage == QKV_STAGE_X || stage >= QKV_STAGE_CONCAT ? 1 : c->heads;
    const int count = reference_size(c, stage, s->n);
    qkv_error err = {QKV_OK, "", 0, 0};

    for (int h = 0; h < heads; h++) {
        const qkv_status status = qkv_get_stage(s->run, tiny_kind(c), layer, h, stage, 0, out, &err);
        CHECK(status == QKV_OK, "%s: %s", names[stage], err.what);
        /* caps, exponentials and what follows pass on an error of the logits as it is, though they may be smaller */
        const int behind = stage > QKV_STAGE_SCALED && stage <= QKV_STAGE_WEIGHTS;
        const double scale = behind ? largest_of(s->reference.stages[layer][QKV_STAGE_SCALED] + h * count, count) : 0;
        compare(s, out, s->reference.stages[layer][stage] + h * count, count, scale, names[stage], layer, h);
    }
}

static void compare_ends(const session *s) {
    static float out[FLOATS_MOST];
    const qkv_config *c = &s->drawn->config;
    const int count = s->n * c->width;

    qkv_get_stage(s->run, tiny_kind(c), -1, 0, QKV_STAGE_HIDDEN, 0, out, NULL);
    compare(s, out, s->reference.embeddings, count, 0, "embeddings", -1, 0);
    qkv_get_stage(s->run, tiny_kind(c), c->layers, 0, QKV_STAGE_X, 0, out, NULL);
    compare(s, out, s->reference.final, count, 0, "final", c->layers, 0);
    for (int i = 0; i < s->n && c->head_rows > 0; i++) {
        CHECK(qkv_logits(s->run, 0, i, out, NULL) == QKV_OK, "logits of position %d", i);
        compare(s, out, s->reference.logits + i * c->head_rows, c->head_rows, 0, "logits", c->layers, i);
    }
}

/* ---- what is asked of it ------------------------------------------------------------------------------------ */

typedef struct drawn_input {
    qkv_input input;
    int32_t length;
    float mask[9 * TOKENS_MOST * TOKENS_MOST];
    uint8_t mask_layers[4], ablate[4 * 9];
} drawn_input;

static void draw_input(uint32_t *seed, const qkv_config *c, drawn_input *d) {
    const int how = seeded_int(seed, 4), n = 1 + seeded_int(seed, TOKENS_MOST);

    d->length = n;
    d->input = (qkv_input){.lengths = &d->length, .sequences = 1, .temperature = 1};
    if (seeded_int(seed, 4) == 0) d->input.temperature = 1.5f;
    d->input.has_scale = seeded_int(seed, 6) == 0;
    d->input.scale = 0.35f;
    for (int i = 0; i < c->layers * c->heads; i++) d->ablate[i] = seeded_int(seed, 3) == 0;
    if (seeded_int(seed, 3) == 0) d->input.ablate = d->ablate;
    if (how == 0) return;
    d->input.mask = d->mask;
    d->input.mask_rows = how & 1 ? n : 1;
    d->input.mask_heads = how & 2 ? c->heads : 1;
    for (int i = 0; i < d->input.mask_rows * d->input.mask_heads * n; i++) {
        d->mask[i] = seeded_int(seed, 4) == 0 ? -INFINITY : seeded_float(seed);
    }
    for (int l = 0; l < c->layers; l++) d->mask_layers[l] = seeded_int(seed, 2) == 0;
    if (seeded_int(seed, 2)) d->input.mask_layers = d->mask_layers;
}

/* Ids and token types as tiny_run draws them. */
static reference_input same_input(const drawn_input *d, const qkv_config *c, uint32_t seed, int32_t *ids,
                                  int32_t *types) {
    const qkv_input *in = &d->input;

    for (int i = 0; i < d->length; i++) {
        ids[i] = seeded_int(&seed, c->vocab);
        types[i] = seeded_int(&seed, 2);
    }
    return (reference_input){.n = d->length,
                             .ids = ids,
                             .types = types,
                             .mask = in->mask,
                             .mask_rows = in->mask_rows,
                             .mask_heads = in->mask_heads,
                             .mask_layers = in->mask_layers,
                             .ablate = in->ablate,
                             .has_scale = in->has_scale,
                             .scale = (double)in->scale,
                             .temperature = (double)in->temperature};
}

static void test_model(uint32_t seed, drawn_config *drawn) {
    static drawn_input input;
    int32_t ids[TOKENS_MOST], types[TOKENS_MOST];
    session s = {.drawn = drawn, .seed = seed};
    const qkv_config *c = &drawn->config;
    float *weights[QKV_SLOT_COUNT];
    reference_model model = {.config = c};

    draw_config(&seed, drawn);
    draw_input(&seed, c, &input);
    tiny_model t = tiny_make(*c, drawn->precision, seed);
    s.run = tiny_run(&t, input.input, seed, c->layers);
    s.n = input.length;
    for (int slot = 0; slot < QKV_SLOT_COUNT; slot++) {
        weights[slot] = rounded(&t, (qkv_slot)slot, levels(drawn, (qkv_slot)slot));
        model.weights[slot] = weights[slot];
    }
    const reference_input same = same_input(&input, c, seed, ids, types);
    s.reference = reference_forward(&model, &same);
    for (int l = 0; l < c->layers; l++) {
        for (int stage = 0; stage < QKV_STAGE_COUNT; stage++) compare_stage(&s, l, (qkv_stage)stage);
    }
    compare_ends(&s);
    reference_free(&s.reference);
    for (int slot = 0; slot < QKV_SLOT_COUNT; slot++) free(weights[slot]);
    free(s.run);
    tiny_free(&t);
}

/* All values of all options must have met those of all others. */
static uint8_t met[DRAWN_COUNT][8][DRAWN_COUNT][8];

static void note_pairs(const int *options) {
    for (int a = 0; a < DRAWN_COUNT; a++) {
        for (int b = 0; b < DRAWN_COUNT; b++) met[a][options[a]][b][options[b]] = 1;
    }
}

static void check_pairs(void) {
    for (int a = 0; a < DRAWN_COUNT; a++) {
        for (int b = 0; b < a; b++) {
            int pairs = 0;
            for (int i = 0; i < drawn_values[a] * drawn_values[b]; i++) {
                pairs += met[a][i % drawn_values[a]][b][i / drawn_values[a]];
            }
            CHECK(pairs == drawn_values[a] * drawn_values[b], "options %d and %d met in %d ways", a, b, pairs);
        }
    }
}

/* ---- every field of the config is drawn --------------------------------------------------------------------- */

/* context only bounds the length; no number depends on it. */
static const char *const not_drawn[] = {"context"};

#define VALUES_MOST 8

/* The values that a field had, as far as they are to be told apart; a pointer has two, absent and there. */
typedef struct field_values {
    const char *name;
    size_t offset;
    int is_pointer, wanted, count; /* wanted: how many different ones at least */
    uint32_t values[VALUES_MOST];
} field_values;

/* Of the numbers that have names, all; of the others, two. An activation of the feed-forward layer is never `none`. */
#define WANTED_i32 2
#define WANTED_f32 2
#define WANTED_ptr_i32 2
#define WANTED_ptr_f32 2
#define WANTED_norm_kind QKV_NORM_KIND_COUNT
#define WANTED_norm_place QKV_NORM_PLACE_COUNT
#define WANTED_branches QKV_BRANCHES_COUNT
#define WANTED_activation (QKV_ACTIVATION_COUNT - 1)
#define WANTED_plane 3
#define IS_POINTER(type) (sizeof(type) == sizeof(void *))

static field_values fields[] = {
#define QKV_X(type, name) {#name, offsetof(qkv_config, name), IS_POINTER(QKV_TYPE_##type), WANTED_##type, 0, {0}},
    QKV_CONFIG_FIELDS(QKV_X)
#undef QKV_X
};

static void note_fields(const qkv_config *config) {
    for (size_t f = 0; f < sizeof fields / sizeof *fields; f++) {
        field_values *field = &fields[f];
        uint32_t value = 0;
        const void *pointer = NULL;
        int known = 0;
        if (field->is_pointer) {
            memcpy(&pointer, (const char *)config + field->offset, sizeof pointer);
            value = pointer != NULL;
        } else {
            memcpy(&value, (const char *)config + field->offset, sizeof value);
        }
        for (int i = 0; i < field->count; i++) known |= field->values[i] == value;
        if (!known && field->count < VALUES_MOST) field->values[field->count++] = value;
    }
}

/* A field that is always the same is one that the comparison with float64 says nothing about. */
static void check_fields(void) {
    for (size_t f = 0; f < sizeof fields / sizeof *fields; f++) {
        int is_named = 0;
        for (size_t i = 0; i < sizeof not_drawn / sizeof *not_drawn; i++) {
            is_named |= strcmp(not_drawn[i], fields[f].name) == 0;
        }
        CHECK(is_named || fields[f].count >= fields[f].wanted,
              "the config's %s had %d values, not %d: draw it in drawn_config.c and teach it to model_f64.c",
              fields[f].name, fields[f].count, fields[f].wanted);
    }
}

int main(void) {
    uint32_t seed = 20261129;

    for (int i = 0; i < MODELS; i++) {
        static drawn_config drawn;
        test_model(seeded_next(&seed), &drawn);
        note_pairs(drawn.options);
        note_fields(&drawn.config);
    }
    check_pairs();
    check_fields();
    printf("%d models against float64: off by at most %.2g in f32, %.2g in q10, %.2g in q8\n", MODELS, worst[0],
           worst[1], worst[2]);
    return check_summary("reference");
}
