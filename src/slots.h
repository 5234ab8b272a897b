/* slots.h - where each named weight lies in a model. */
#ifndef QKV_SLOTS_H
#define QKV_SLOTS_H

#include "model.h"

typedef enum qkv_role { QKV_ROLE_table, QKV_ROLE_matrix, QKV_ROLE_vector, QKV_ROLE_norm } qkv_role;
typedef enum qkv_scope { QKV_SCOPE_model, QKV_SCOPE_layer } qkv_scope;

typedef struct qkv_slot_kind {
    qkv_scope scope;
    qkv_role role;
    const char *name;
} qkv_slot_kind;

extern const qkv_slot_kind qkv_slot_kinds[QKV_SLOT_COUNT];

/* The rows of one slot; exactly one of the pointers is set, none where the model has no such weight. */
typedef struct qkv_target {
    qkv_table *table;
    qkv_matrix *matrix;
    float *vector;
    int32_t row; /* first row in the matrix */
    int32_t rows, cols;
} qkv_target;

/* layer: a stored layer, ignored for slots of the model. */
qkv_target qkv_find_slot(qkv_model *model, qkv_slot slot, int32_t layer);

#endif
