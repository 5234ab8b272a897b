/* drawn_config.h - models of any kind that a config can describe, drawn from a seed. */
#ifndef QKV_TESTS_DRAWN_CONFIG_H
#define QKV_TESTS_DRAWN_CONFIG_H

#include "qkv.h"

/* What is drawn besides sizes; each option has few values, so that some hundred draws bring all pairs of them together. */
#define DRAWN_OPTIONS(X) \
    X(causal, 2)         \
    X(grouped, 3)        \
    X(shared, 2)         \
    X(project, 2)        \
    X(segments, 2)       \
    X(positions, 3)      \
    X(embed_norm, 2)     \
    X(kind, 2)           \
    X(place, 5)          \
    X(norm_bias, 2)      \
    X(shift, 2)          \
    X(first_norm, 2)     \
    X(final_norm, 2)     \
    X(qkv_bias, 2)       \
    X(o_bias, 2)         \
    X(ffn_bias, 2)       \
    X(qk_norm, 2)        \
    X(activation, 5)     \
    X(gated, 2)          \
    X(softcap, 2)        \
    X(scales, 2)         \
    X(windows, 2)        \
    X(rope, 4)           \
    X(buckets, 2)        \
    X(head, 4)           \
    X(head_norm, 2)      \
    X(head_bias, 2)      \
    X(head_softcap, 2)   \
    X(table, 3)          \
    X(precision, 3)

enum {
#define QKV_X(name, values) DRAWN_##name,
    DRAWN_OPTIONS(QKV_X) DRAWN_COUNT
#undef QKV_X
};

extern const int drawn_values[DRAWN_COUNT];

typedef struct drawn_config {
    qkv_config config; /* its lists lie in this struct, which must stay where it is */
    qkv_precision precision;
    int options[DRAWN_COUNT];
    float scales[4];
    int32_t windows[4], rope_of_layer[4];
    float rope_frequencies[3 * 12];
    int32_t bucket_of[2 * 9 + 1];
} drawn_config;

void draw_config(uint32_t *seed, drawn_config *out);

#endif
