/* status.h - how the engine says no: the two control-flow macros, and nothing else that hides a return. */
#ifndef QKV_STATUS_H
#define QKV_STATUS_H

#include "qkv.h"

static inline qkv_status qkv_fail(qkv_error *err, qkv_status code, const char *what, double got, double want) {
    if (err) *err = (qkv_error){code, what, got, want};
    return code;
}

/* Leaves a function that has a `qkv_error *err` and returns qkv_status. */
#define QKV_FAIL_IF(condition, code, what, got, want)                                       \
    do {                                                                                    \
        if (condition) return qkv_fail(err, (code), (what), (double)(got), (double)(want)); \
    } while (0)

#define QKV_TRY(call)                          \
    do {                                       \
        const qkv_status status_ = (call);     \
        if (status_ != QKV_OK) return status_; \
    } while (0)

#endif
