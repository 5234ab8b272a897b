/* Windows and causal edges: keys out of reach cost nothing and change nothing. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "kernels.h"
#include "one_head.h"
#include "seeded.h"

/* Windows and causal edges leave keys out; a mask of -infinity at the same cells leaves out nothing. */
#define EDGE_KEYS 83
#define EDGE_DIM 12
#define EDGE_VALUES 20

typedef struct edges {
    int64_t from, to;
    int32_t limit;
} edges;

static const edges all_edges[] = {
    {-QKV_UNBOUNDED, 1, EDGE_KEYS},
    {-20, 21, EDGE_KEYS},
    {-9, 1, EDGE_KEYS},
    {3, 30, EDGE_KEYS},
    {-50, -19, EDGE_KEYS},
    {-20, QKV_UNBOUNDED, 70},
    {EDGE_KEYS, QKV_UNBOUNDED, EDGE_KEYS},
    {0, 1, EDGE_KEYS},
    {-8, 9, 41},
};

static void set_edges(one_head *h, const edges *e) {
    h->a.mask.from = e->from;
    h->a.mask.to = e->to;
    h->a.mask.limit = e->limit;
}

static bool is_within(const edges *e, int i, int j) {
    return j >= i + e->from && j < i + e->to && j < e->limit;
}

/* The two stages a mask shows in, the context and the weights that come with it. */
typedef struct outcome {
    float masked[EDGE_KEYS * EDGE_KEYS], map[EDGE_KEYS * EDGE_KEYS], weights[EDGE_KEYS * EDGE_KEYS];
    float context[EDGE_KEYS * EDGE_VALUES];
} outcome;

static void all_of(one_head *h, int rows, outcome *out) {
    for (int i = 0; i < h->n; i += rows) {
        const int count = rows < h->n - i ? rows : h->n - i;
        const size_t at = (size_t)i * EDGE_KEYS;
        qkv_attention_map(&h->a, QKV_STAGE_MASKED, i, count, out->masked + at, &h->scratch);
        qkv_attention_map(&h->a, QKV_STAGE_WEIGHTS, i, count, out->map + at, &h->scratch);
        qkv_attention_context(&h->a, i, count, out->context + (size_t)i * EDGE_VALUES, EDGE_VALUES, out->weights + at,
                              &h->scratch);
    }
}

static void check_edges(one_head *h, const edges *e, const char *what) {
    static outcome want, got;
    static float mask[EDGE_KEYS * EDGE_KEYS];
    const qkv_mask own = h->a.mask;

    for (int i = 0; i < EDGE_KEYS; i++) {
        for (int j = 0; j < EDGE_KEYS; j++) {
            const int at = i * EDGE_KEYS + j;
            const bool allowed = is_within(e, i, j) && (!own.flags || own.flags[at] == own.allowed);
            mask[at] = !allowed ? -INFINITY : own.add ? own.add[at] : 0.0f;
        }
    }
    h->a.mask = qkv_mask_none(EDGE_KEYS);
    h->a.mask.add = mask;
    h->a.mask.stride = EDGE_KEYS;
    all_of(h, EDGE_KEYS, &want);
    h->a.mask = own;
    set_edges(h, e);
    for (int rows = 1; rows <= EDGE_KEYS; rows = rows * 3 + 1) {
        all_of(h, rows, &got);
        CHECK(check_same_bits(got.masked, want.masked, EDGE_KEYS * EDGE_KEYS) &&
                  check_same_bits(got.map, want.map, EDGE_KEYS * EDGE_KEYS) &&
                  check_same_bits(got.weights, want.weights, EDGE_KEYS * EDGE_KEYS) &&
                  check_same_bits(got.context, want.context, EDGE_KEYS * EDGE_VALUES),
              "%s: keys from %lld to %lld, %d rows at a time: not what a mask of the same cells gives", what,
              (long long)e->from, (long long)e->to, rows);
    }
    h->a.mask = own;
}

static void test_edges_and_masks(void) {
    static uint8_t flags[EDGE_KEYS * EDGE_KEYS];
    float relative[2 * EDGE_KEYS];
    uint32_t seed = 7;
    one_head h = one_head_make(&seed, EDGE_KEYS, EDGE_KEYS, EDGE_DIM, EDGE_VALUES);

    for (size_t i = 0; i < sizeof flags; i++) flags[i] = seeded_int(&seed, 3) != 0;
    seeded_fill(&seed, relative, sizeof relative / sizeof *relative, 1.0f);
    for (size_t e = 0; e < sizeof all_edges / sizeof *all_edges; e++) {
        h.a.mask = qkv_mask_none(EDGE_KEYS);
        check_edges(&h, &all_edges[e], "edges");
        h.a.relative = relative + EDGE_KEYS;
        h.a.softcap = 1.5f;
        check_edges(&h, &all_edges[e], "edges, cap and relative biases");
        h.a.relative = NULL;
        h.a.softcap = 0.0f;
        one_head_fill_mask(&h, &seed);
        check_edges(&h, &all_edges[e], "edges and a mask");
        h.a.mask.add = NULL;
        h.a.mask.flags = flags;
        h.a.mask.allowed = 1;
        check_edges(&h, &all_edges[e], "edges and flags");
    }
    one_head_release(&h);
}

/* Nothing that lies out of a row's reach changes a bit of it, alone or in a block with rows that see it. */
static void test_garbage_beyond_edges(void) {
    static outcome clean, dirty;
    uint32_t seed = 8;

    for (size_t n = 0; n < sizeof all_edges / sizeof *all_edges; n++) {
        const edges *e = &all_edges[n];
        for (int i = 0; i < EDGE_KEYS; i += 7) {
            one_head h = one_head_make(&seed, EDGE_KEYS, EDGE_KEYS, EDGE_DIM, EDGE_VALUES);
            set_edges(&h, e);
            all_of(&h, EDGE_KEYS, &clean);
            for (int j = 0; j < EDGE_KEYS; j++) {
                if (is_within(e, i, j)) continue;
                for (int c = 0; c < EDGE_DIM; c++) h.k[j * EDGE_DIM + c] = j % 2 ? NAN : INFINITY;
                for (int c = 0; c < EDGE_VALUES; c++) h.v[j * EDGE_VALUES + c] = j % 3 ? NAN : -INFINITY;
            }
            one_head_pack(&h);
            for (int rows = 1; rows <= EDGE_KEYS; rows += EDGE_KEYS - 1) {
                all_of(&h, rows, &dirty);
                const size_t row = (size_t)i * EDGE_KEYS, context = (size_t)i * EDGE_VALUES;
                CHECK(check_same_bits(dirty.masked + row, clean.masked + row, EDGE_KEYS) &&
                          check_same_bits(dirty.map + row, clean.map + row, EDGE_KEYS) &&
                          check_same_bits(dirty.weights + row, clean.weights + row, EDGE_KEYS) &&
                          check_same_bits(dirty.context + context, clean.context + context, EDGE_VALUES),
                      "garbage beyond the edges of row %d reaches it, %d rows at a time", i, rows);
            }
            one_head_release(&h);
        }
    }
}

/* Scratch memory as a whole, with what an arena guards between its pieces. */
#define ALL_OF_SCRATCH __attribute__((no_sanitize("address")))

ALL_OF_SCRATCH static void wipe(float *x, size_t count) {
    for (size_t i = 0; i < count; i++) x[i] = NAN;
}

ALL_OF_SCRATCH static int written(const float *x, size_t count) {
    int n = 0;
    for (size_t i = 0; i < count; i++) n += !isnan(x[i]);
    return n;
}

/* Work is counted by what it leaves in the scratch memory: a score a key, then the exponentials as packed for V. */
static void test_work_within_edges(void) {
    static float context[QKV_ROWS_MAX * EDGE_VALUES];
    static const int row_counts[] = {1, 5};
    uint32_t seed = 9;
    one_head h = one_head_make(&seed, EDGE_KEYS, EDGE_KEYS, EDGE_DIM, EDGE_VALUES);
    const size_t keys = (EDGE_KEYS + 7) / 8 * 8, room = keys * QKV_ROWS_MAX;

    for (size_t n = 0; n < sizeof all_edges / sizeof *all_edges; n++) {
        const edges *e = &all_edges[n];
        set_edges(&h, e);
        for (int c = 0; c < 2; c++) {
            const int rows = row_counts[c];
            for (int i = 0; i + rows <= EDGE_KEYS; i += 3) {
                int first = EDGE_KEYS, last = 0; /* the keys that some row sees */
                for (int j = EDGE_KEYS - 1; j >= 0; j--) {
                    for (int r = i; r < i + rows; r++) {
                        if (!is_within(e, r, j)) continue;
                        first = j;
                        last = last > j + 1 ? last : j + 1;
                    }
                }
                const int most = last > first ? last - first / 8 * 8 : 7;
                wipe(h.scratch.scores, room);
                wipe(h.scratch.panels, room);
                wipe(h.scratch.bias, keys);
                qkv_attention_context(&h.a, i, rows, context, EDGE_VALUES, NULL, &h.scratch);
                const int scores = written(h.scratch.scores, room), panels = written(h.scratch.panels, room);
                CHECK(scores <= rows * most && panels <= rows * (most > EDGE_DIM ? most : EDGE_DIM) &&
                          written(h.scratch.bias, keys) == 0,
                      "keys from %lld to %lld, %d rows from %d: %d scores and %d panel elements for %d keys",
                      (long long)e->from, (long long)e->to, rows, i, scores, panels, most);
            }
        }
    }
    one_head_release(&h);
}

/* An operator packs keys and values anew in each call: those that some query sees, unless a stage shows them all. */
static void test_operator_packs_what_is_seen(void) {
    enum { KEYS = 200, DIM = 8, PLACE = 150, LEFT = 20 };
    static float key[KEYS * DIM], value[KEYS * DIM];
    float query[DIM], out[DIM], scores[KEYS], all_scores[KEYS];
    qkv_operator op = {.query = query,
                       .key = key,
                       .value = value,
                       .out = out,
                       .batch = 1,
                       .heads = 1,
                       .kv_heads = 1,
                       .queries = 1,
                       .keys = KEYS,
                       .key_dim = DIM,
                       .value_dim = DIM,
                       .key_row_stride = DIM,
                       .value_row_stride = DIM,
                       .offset = PLACE,
                       .window_left = LEFT,
                       .window_right = 0,
                       .scale = 1.0f};
    const int seen = PLACE + 1 - (PLACE - LEFT) / 8 * 8, padded = (seen + 7) / 8 * 8;
    uint32_t seed = 10;
    qkv_error err = {0};

    seeded_fill(&seed, query, DIM, 1.0f);
    seeded_fill(&seed, key, KEYS * DIM, 1.0f);
    seeded_fill(&seed, value, KEYS * DIM, 1.0f);
    const size_t bytes = qkv_attend_bytes(&op, &err);
    float *scratch = malloc(bytes);
    wipe(scratch, bytes / sizeof *scratch);
    const qkv_status status = qkv_attend(&op, scratch, bytes, &err);
    const int count = written(scratch, bytes / sizeof *scratch), most = padded * 2 * DIM + 2 * seen + QKV_ROWS_MAX;
    CHECK(status == QKV_OK && count > 0 && count <= most, "%d floats of scratch were written for %d keys, at most %d",
          count, seen, most);

    op.stage = QKV_STAGE_SCORES;
    op.stage_out = scores;
    wipe(scratch, bytes / sizeof *scratch);
    qkv_attend(&op, scratch, bytes, &err);
    op.stage_out = all_scores;
    op.window_left = op.window_right = -1;
    qkv_attend(&op, scratch, bytes, &err);
    CHECK(check_same_bits(scores, all_scores, KEYS), "a window changes the scores");
    free(scratch);
}

int main(void) {
    test_edges_and_masks();
    test_garbage_beyond_edges();
    test_work_within_edges();
    test_operator_packs_what_is_seen();
    return check_summary("edges");
}
