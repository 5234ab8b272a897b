#include "attention_f64.h"

#include <math.h>
#include <stdbool.h>

static bool allowed(const reference_attention *a, int i, int j) {
    return !a->mask || a->mask[i * a->m + j] > -INFINITY;
}

static double logit(const reference_attention *a, int i, int j) {
    double sum = 0;

    for (int e = 0; e < a->dim; e++) sum += (double)a->q[i * a->dim + e] * (double)a->k[j * a->dim + e];
    sum *= a->scale;
    if (a->softcap > 0) sum = a->softcap * tanh(sum / a->softcap);
    if (a->mask) sum += (double)a->mask[i * a->m + j];
    return sum;
}

/* Returns how many keys the query may see. */
static int weigh(const reference_attention *a, int i, double *row) {
    double largest = (double)-INFINITY, sum = 0;
    int seen = 0;

    for (int j = 0; j < a->m; j++) {
        row[j] = allowed(a, i, j) ? logit(a, i, j) : (double)-INFINITY;
        largest = fmax(largest, row[j]);
        seen += allowed(a, i, j);
    }
    for (int j = 0; j < a->m; j++) {
        row[j] = allowed(a, i, j) ? exp(row[j] - largest) : 0;
        sum += row[j];
    }
    for (int j = 0; j < a->m; j++) row[j] = seen > 0 ? row[j] / sum : a->empty;
    return seen;
}

void reference_attend(const reference_attention *a, double *weights, double *context) {
    for (int i = 0; i < a->n; i++) {
        double *row = weights + i * a->m;
        const int seen = weigh(a, i, row);
        for (int c = 0; c < a->value_dim; c++) {
            double sum = seen > 0 ? 0 : a->empty;
            for (int j = 0; j < a->m; j++) {
                if (allowed(a, i, j)) sum += row[j] * (double)a->v[j * a->value_dim + c];
            }
            context[i * a->value_dim + c] = sum;
        }
    }
}
