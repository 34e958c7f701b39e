#include "bert_reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ATTENTION "encoder.layer.0.attention."

static int failed;

/* The f32 elements of a tensor whose last dimension is columns. */
static const float *weights(const zt_file *file, const char *name, size_t columns)
{
    zt_tensor t;

    memset(&t, 0, sizeof t);
    t.struct_size = sizeof t;
    if (zt_tensor_find(file, name, &t) != ZT_OK || t.dtype != ZT_DTYPE_F32 || t.rank == 0 ||
        t.shape[t.rank - 1] != columns) {
        failed = 1;
        return NULL;
    }
    return (const float *)t.data;
}

static void normalize(const zt_file *file, const char *weight, const char *bias, size_t count, size_t n, float *x)
{
    const float *w = weights(file, weight, n), *b = weights(file, bias, n);

    for (size_t row = 0; row < count && !failed; row++, x += n) {
        double mean = 0, variance = 0;
        for (size_t i = 0; i < n; i++)
            mean += x[i];
        mean /= (double)n;
        for (size_t i = 0; i < n; i++)
            variance += (x[i] - mean) * (x[i] - mean);
        variance /= (double)n;
        for (size_t i = 0; i < n; i++)
            x[i] = (float)((x[i] - mean) / sqrt(variance + BERT_EPSILON) * w[i] + b[i]);
    }
}

/* out = x times the transposed weight, plus bias. */
static void dense(const zt_file *file, const char *weight, const char *bias, size_t count, size_t n, const float *x,
                  float *out)
{
    const float *w = weights(file, weight, n), *b = weights(file, bias, n);

    for (size_t row = 0; row < count && !failed; row++)
        for (size_t i = 0; i < n; i++) {
            double sum = b[i];
            for (size_t j = 0; j < n; j++)
                sum += (double)x[row * n + j] * w[i * n + j];
            out[row * n + i] = (float)sum;
        }
}

static void attend(size_t count, size_t n, const float *q, const float *k, const float *v, double *score, float *out)
{
    for (size_t head = 0; head < n; head += BERT_HEAD)
        for (size_t row = 0; row < count; row++) {
            double largest = -HUGE_VAL, all = 0;
            for (size_t other = 0; other < count; other++) {
                score[other] = 0;
                for (size_t i = head; i < head + BERT_HEAD; i++)
                    score[other] += (double)q[row * n + i] * k[other * n + i];
                score[other] /= sqrt(BERT_HEAD);
                largest = score[other] > largest ? score[other] : largest;
            }
            for (size_t other = 0; other < count; other++)
                all += score[other] = exp(score[other] - largest);
            for (size_t i = head; i < head + BERT_HEAD; i++) {
                double sum = 0;
                for (size_t other = 0; other < count; other++)
                    sum += score[other] / all * v[other * n + i];
                out[row * n + i] = (float)sum;
            }
        }
}

int bert_reference(const zt_file *file, const int32_t *tokens, size_t count, size_t hidden, float *out)
{
    size_t n = hidden, block = count * n;
    float *memory = (float *)calloc(5 * block + 1, sizeof *memory);
    double *score = (double *)calloc(count + 1, sizeof *score);
    float *x = memory, *q = x + block, *k = q + block, *v = k + block, *mixed = v + block;
    const float *word, *position, *type;

    failed = !memory || !score;
    word = weights(file, "embeddings.word_embeddings.weight", n);
    position = weights(file, "embeddings.position_embeddings.weight", n);
    type = weights(file, "embeddings.token_type_embeddings.weight", n);
    for (size_t i = 0; i < block && !failed; i++)
        x[i] = word[(size_t)tokens[i / n] * n + i % n] + position[i] + type[i % n];
    if (!failed) {
        normalize(file, "embeddings.LayerNorm.weight", "embeddings.LayerNorm.bias", count, n, x);
        dense(file, ATTENTION "self.query.weight", ATTENTION "self.query.bias", count, n, x, q);
        dense(file, ATTENTION "self.key.weight", ATTENTION "self.key.bias", count, n, x, k);
        dense(file, ATTENTION "self.value.weight", ATTENTION "self.value.bias", count, n, x, v);
    }
    if (!failed) {
        attend(count, n, q, k, v, score, mixed);
        dense(file, ATTENTION "output.dense.weight", ATTENTION "output.dense.bias", count, n, mixed, out);
        for (size_t i = 0; i < block; i++)
            out[i] += x[i];
        normalize(file, ATTENTION "output.LayerNorm.weight", ATTENTION "output.LayerNorm.bias", count, n, out);
    }
    free(memory);
    free(score);
    return failed;
}
