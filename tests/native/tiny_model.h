/* tiny_model.h - small models with seeded weights, for tests of the engine as a whole. tests/api/digest.test.js makes the same
 * ones through the wasm module, so the order in which the seed is used is part of the contract: slot by slot in the order of
 * QKV_SLOTS, layer by layer, row by row. */
#ifndef QKV_TESTS_TINY_MODEL_H
#define QKV_TESTS_TINY_MODEL_H

#include "qkv.h"

typedef struct tiny_model {
    qkv_config config;
    qkv_model *model;
    float *weights[QKV_SLOT_COUNT]; /* [stored_layers or 1, rows, cols] as given to the engine */
} tiny_model;

/* The weights of a slot and layer; *out_rows, *out_cols its shape. */
const float *tiny_weights(const tiny_model *tiny, qkv_slot slot, int layer, int *out_rows, int *out_cols);

/* Weights of the seed in float32, loaded into a model of the given precision. */
tiny_model tiny_make(qkv_config config, qkv_precision precision, uint32_t seed);
void tiny_free(tiny_model *tiny);

/* A run over the lengths, its ids and token types from the seed, computed through all layers unless layers is given. */
qkv_run *tiny_run(const tiny_model *tiny, qkv_input input, uint32_t seed, int layers);

extern const qkv_config tiny_square;   /* 2 layers, 4 heads of 8, width 32: every dimension a multiple of 8 */
extern const qkv_config tiny_odd;      /* 3 layers, 6 heads on 2 key/value heads of 5, width 25: none is */
extern const qkv_config tiny_decoder;  /* causal; RMSNorm around, rotary, windows, caps, a gate, a tied head */
extern const qkv_config tiny_relative; /* an encoder with relative biases, parallel branches, shared layers, a head */

qkv_kind tiny_kind(const qkv_config *config);
int tiny_slot_layers(const qkv_config *config, qkv_slot slot);

#endif
