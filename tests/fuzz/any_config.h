/* any_config.h - a config out of bytes: most are small and whole, some hold whatever numbers the bytes mean. */
#ifndef QKV_TESTS_ANY_CONFIG_H
#define QKV_TESTS_ANY_CONFIG_H

#include "byte_source.h"
#include "qkv.h"

/* The lists have exactly the length that the other numbers give them. */
qkv_config any_config(byte_source *from);
void any_config_free(qkv_config *config);

#endif
