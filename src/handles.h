/* handles.h - the numbers by which JavaScript knows models, runs and maps.
 *
 * A handle is no address: it is looked up in a table, so that one that was freed, is of another kind or was never given out
 * is found out before any memory is read. It is the place in the table and how often the place was used before; no number
 * is given out twice, because a place whose count is used up is not used again.
 *
 *   handle = uses << 20 | (place ^ salt)          uses: 1 .. 4095; salt: 20 bits
 *
 * Where instances have different salts, a handle of another one leads to a place that was never used, unless by a chance of
 * one in 2^20 for each object there is. */
#ifndef QKV_HANDLES_H
#define QKV_HANDLES_H

#include <stdint.h>

#include "heap.h"

typedef uint32_t qkv_handle; /* 0 is none */

typedef enum qkv_handle_kind { QKV_HANDLE_FREE, QKV_HANDLE_MODEL, QKV_HANDLE_RUN, QKV_HANDLE_MAP } qkv_handle_kind;

#define QKV_HANDLES_AT_FIRST 256

typedef struct qkv_handle_entry {
    void *object;   /* a block of the heap, given out to the owner `kind` */
    uint32_t other; /* of a run: the place of its model; of a free entry: 1 + the next free place, or 0 */
    uint16_t uses;
    uint16_t kind; /* qkv_handle_kind */
} qkv_handle_entry;

/* All zeros is an empty table, but for heap. */
typedef struct qkv_handles {
    qkv_heap *heap;
    qkv_handle_entry first[QKV_HANDLES_AT_FIRST];
    qkv_handle_entry *more; /* [room], from the heap, instead of `first` */
    uint32_t room, count;   /* places there are room for, places used so far */
    uint32_t free;          /* 1 + the first free place, or 0 */
    uint32_t salt;          /* 20 bits; set before the first handle */
} qkv_handles;

/* Bytes for an object of the heap, and its handle; 0 when there is no memory for it, or for the table. parent: the model of a
 * run, which must be there; else 0. */
qkv_handle qkv_handle_new(qkv_handles *handles, qkv_handle_kind kind, qkv_handle parent, size_t bytes,
                          void **out_object);

/* The object; NULL when the handle is not one of that kind. */
void *qkv_handle_object(const qkv_handles *handles, qkv_handle handle, qkv_handle_kind kind);

/* Gives the object's memory back, with a model that of its runs. Returns 0 when the handle is not one of that kind. */
int qkv_handle_free(qkv_handles *handles, qkv_handle handle, qkv_handle_kind kind);

#endif
