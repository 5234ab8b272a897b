/* model_f64.h - a whole transformer over one sequence in double precision, written from the definitions (attention: arXiv
 * 1706.03762; post-norm blocks: 1810.04805; RMSNorm: 1910.07467; rotary positions: 2104.09864; gated feed-forward layers:
 * 2002.05202; relative buckets: 1910.10683) and from what qkv.h says about each number of the config. Plain loops, no
 * blocks, no packing, every intermediate kept: the oracle for the engine as a whole. */
#ifndef QKV_TESTS_MODEL_F64_H
#define QKV_TESTS_MODEL_F64_H

#include "qkv.h"

#define REFERENCE_LAYERS 8 /* at most */

typedef struct reference_model {
    const qkv_config *config;
    const float *weights[QKV_SLOT_COUNT]; /* [stored_layers or 1, rows, cols], norms without their shift */
} reference_model;

/* As in qkv_input, for one sequence. */
typedef struct reference_input {
    int n;
    const int32_t *ids, *types; /* types: NULL = 0 */
    const float *mask;
    int mask_rows, mask_heads;
    const uint8_t *mask_layers, *ablate;
    int has_scale;
    double scale, temperature;
} reference_input;

/* Stages that belong to heads are [H, N, E] or [H, N, N], the others [N, D] or [N, H E]. */
typedef struct reference_run {
    double *stages[REFERENCE_LAYERS][QKV_STAGE_COUNT];
    double *embeddings; /* [N, D] */
    double *final;      /* [N, D] behind the final norm */
    double *logits;     /* [N, head_rows] or NULL */
} reference_run;

reference_run reference_forward(const reference_model *model, const reference_input *input);
void reference_free(reference_run *run);

/* Elements of one head's part of a stage, or of the whole stage when it has no heads. */
int reference_size(const qkv_config *config, qkv_stage stage, int n);

#endif
