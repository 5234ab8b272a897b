/* attention_f64.h - attention of one head in double precision, written from the formula of arXiv 1706.03762:
 *   weights = softmax(cap(scale Q K^T) + mask), context = weights V, cap(s) = c tanh(s / c)
 * as plain loops, one row at a time, masked keys left out altogether. The oracle for src/attention.c. */
#ifndef QKV_TESTS_ATTENTION_F64_H
#define QKV_TESTS_ATTENTION_F64_H

typedef struct reference_attention {
    const float *q, *k, *v; /* [n, dim], [m, dim], [m, value_dim], rows without gaps */
    int n, m, dim, value_dim;
    double scale;
    const float *mask; /* [n, m] added, -infinity leaves the key out; or NULL */
    double softcap;    /* c; 0: none */
    double empty;      /* weights and context of a row without allowed keys */
} reference_attention;

/* weights [n, m], context [n, value_dim]. */
void reference_attend(const reference_attention *a, double *weights, double *context);

#endif
