/* byte_source.h - what a fuzz target is given, as numbers; zeros when there is nothing left, so that every input is whole. */
#ifndef QKV_TESTS_BYTE_SOURCE_H
#define QKV_TESTS_BYTE_SOURCE_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* What libFuzzer and replay.c call. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the program where the engine broke a promise: what the fuzzer looks for besides the findings of the sanitizers. */
#define PROMISE(condition)         \
    do {                           \
        if (!(condition)) abort(); \
    } while (0)

typedef struct byte_source {
    const uint8_t *data;
    size_t left;
} byte_source;

static inline uint32_t take_byte(byte_source *from) {
    if (from->left == 0) return 0;
    from->left--;
    return *from->data++;
}

static inline uint32_t take_word(byte_source *from) {
    uint32_t word = 0;
    for (int i = 0; i < 4; i++) word = word << 8 | take_byte(from);
    return word;
}

static inline int32_t take_any(byte_source *from) {
    const uint32_t word = take_word(from);
    int32_t value;
    memcpy(&value, &word, sizeof value);
    return value;
}

static inline float take_float(byte_source *from) {
    const uint32_t word = take_word(from);
    float value;
    memcpy(&value, &word, sizeof value);
    return value;
}

/* least .. most, both included, most - least < 256. */
static inline int32_t take_number(byte_source *from, int32_t least, int32_t most) {
    return least + (int32_t)(take_byte(from) % (uint32_t)(most - least + 1));
}

/* Weights: mostly small numbers, now and then whatever four bytes can mean. */
static inline uint32_t stream_next(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state;
}

static inline float stream_float(uint32_t *state) {
    const uint32_t word = stream_next(state);
    float value = (float)(int32_t)word * 0x1p-31f;
    if (word % 61 == 0) {
        const uint32_t bits = stream_next(state);
        memcpy(&value, &bits, sizeof value);
    }
    return value;
}

/* Memory of exactly that size, so that the sanitizer sees a byte too many. */
static inline void *exactly(size_t bytes) {
    void *memory = malloc(bytes + (bytes == 0)); /* 16-byte aligned on 64-bit systems */
    if (!memory) abort();
    memset(memory, 0xff, bytes); /* NaN: what is read before it is written shows */
    return memory;
}

#endif
