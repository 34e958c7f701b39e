/*
 * The first layer of BERT up to the end of its attention, in plain C, from the bytes of a .zt file, to
 * compare with the ggml graph. Sums are in double.
 */
#ifndef BERT_REFERENCE_H
#define BERT_REFERENCE_H

#include <stddef.h>
#include <stdint.h>
#include <ztensor_advanced.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BERT_HEAD 32 /* elements of one head of MiniLM */
#define BERT_EPSILON 1e-12f

/* out: count * hidden floats. Returns 0, or 1 if a tensor is missing, is not f32, or has a wrong shape. */
int bert_reference(const zt_file *file, const int32_t *tokens, size_t count, size_t hidden, float *out);

#ifdef __cplusplus
}
#endif

#endif
