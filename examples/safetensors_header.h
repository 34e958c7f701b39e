/*
 * The header of a safetensors file: a length of 8 bytes, then JSON
 *
 *     {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ..., "__metadata__": {...}}
 *
 * It is read in one pass, without reading past its end. It parses only the JSON that such a header has.
 */
#ifndef SAFETENSORS_HEADER_H
#define SAFETENSORS_HEADER_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ST_MAX_RANK 16
#define ST_MAX_NAME 1024

typedef struct st_tensor {
    char name[ST_MAX_NAME]; /* NUL-terminated UTF-8; may contain a NUL itself */
    size_t name_length;
    char dtype[16];
    uint64_t shape[ST_MAX_RANK];
    size_t rank;
    uint64_t begin, end; /* its range, from the end of the header */
} st_tensor;

typedef struct st_text {
    const char *at, *end;
} st_text;

/* Skips white space and then c, if it is there. */
static int st_take(st_text *t, char c)
{
    while (t->at < t->end && strchr(" \t\r\n", *t->at) && *t->at)
        t->at++;
    if (t->at == t->end || *t->at != c)
        return 0;
    t->at++;
    return 1;
}

static int st_hex4(st_text *t, uint32_t *code)
{
    *code = 0;
    for (int i = 0; i < 4; i++) {
        static const char digits[] = "0123456789abcdef0123456789ABCDEF";
        const char *digit = t->at < t->end && *t->at ? strchr(digits, *t->at++) : NULL;
        if (!digit)
            return 0;
        *code = *code * 16 + (uint32_t)(digit - digits) % 16;
    }
    return 1;
}

/* The character after "\u". Above U+FFFF it needs two of them. */
static int st_code(st_text *t, uint32_t *code)
{
    uint32_t low;

    if (!st_hex4(t, code))
        return 0;
    if (*code < 0xd800 || *code > 0xdfff)
        return 1;
    if (*code > 0xdbff || t->end - t->at < 2 || *t->at++ != '\\' || *t->at++ != 'u' || !st_hex4(t, &low) ||
        low < 0xdc00 || low > 0xdfff)
        return 0;
    *code = 0x10000 + ((*code - 0xd800) << 10) + (low - 0xdc00);
    return 1;
}

static size_t st_utf8(uint32_t code, char *out)
{
    size_t more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const unsigned char first[] = {0, 0xc0, 0xe0, 0xf0};

    out[0] = (char)(first[more] | code >> (6 * more));
    for (size_t i = 1; i <= more; i++)
        out[i] = (char)(0x80 | (code >> (6 * (more - i)) & 0x3f));
    return more + 1;
}

/* Copies a string of fewer than size bytes to out, NUL-terminated; out may be NULL. */
static int st_string(st_text *t, char *out, size_t size, size_t *length)
{
    static const char escapes[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    size_t n = 0;

    if (!st_take(t, '"'))
        return 0;
    while (t->at < t->end && *t->at != '"') {
        char bytes[4] = {*t->at++};
        size_t count = 1;
        if (bytes[0] == '\\') {
            const char *escape = t->at < t->end && *t->at ? strchr(escapes, *t->at) : NULL;
            uint32_t code;
            if (escape) {
                bytes[0] = meanings[escape - escapes];
                t->at++;
            } else if (t->at < t->end && *t->at++ == 'u' && st_code(t, &code)) {
                count = st_utf8(code, bytes);
            } else {
                return 0;
            }
        }
        if (out && n + count >= size)
            return 0;
        if (out)
            memcpy(out + n, bytes, count);
        n += count;
    }
    if (out)
        out[n] = '\0';
    if (length)
        *length = n;
    return st_take(t, '"');
}

/* [1, 2, 3]: at most max numbers. */
static int st_numbers(st_text *t, uint64_t *numbers, size_t max, size_t *n)
{
    *n = 0;
    if (!st_take(t, '['))
        return 0;
    if (st_take(t, ']'))
        return 1;
    do {
        uint64_t number = 0;
        int digits = 0;
        st_take(t, ' ');
        for (; t->at < t->end && *t->at >= '0' && *t->at <= '9'; t->at++, digits++) {
            if (number > (UINT64_MAX - 9) / 10)
                return 0;
            number = number * 10 + (uint64_t)(*t->at - '0');
        }
        if (digits == 0 || *n == max)
            return 0;
        numbers[(*n)++] = number;
    } while (st_take(t, ','));
    return st_take(t, ']');
}

/* Parses the value of "__metadata__": strings. */
static int st_skip_metadata(st_text *t)
{
    if (!st_take(t, '{'))
        return 0;
    if (st_take(t, '}'))
        return 1;
    do {
        if (!st_string(t, NULL, 0, NULL) || !st_take(t, ':') || !st_string(t, NULL, 0, NULL))
            return 0;
    } while (st_take(t, ','));
    return st_take(t, '}');
}

static int st_fields(st_text *t, st_tensor *tensor)
{
    int seen = 0;

    if (!st_take(t, '{'))
        return 0;
    do {
        char key[16];
        uint64_t offsets[2];
        size_t n;
        if (!st_string(t, key, sizeof key, NULL) || !st_take(t, ':'))
            return 0;
        if (strcmp(key, "dtype") == 0 && st_string(t, tensor->dtype, sizeof tensor->dtype, NULL)) {
            seen |= 1;
        } else if (strcmp(key, "shape") == 0 && st_numbers(t, tensor->shape, ST_MAX_RANK, &tensor->rank)) {
            seen |= 2;
        } else if (strcmp(key, "data_offsets") == 0 && st_numbers(t, offsets, 2, &n) && n == 2 &&
                   offsets[0] <= offsets[1]) {
            tensor->begin = offsets[0];
            tensor->end = offsets[1];
            seen |= 4;
        } else {
            return 0;
        }
    } while (st_take(t, ','));
    return seen == 7 && st_take(t, '}');
}

/*
 * Calls each() with every tensor of the JSON text, until it returns 0. Returns 0 if it did, or if the text is
 * not a valid header.
 */
static int st_each(const char *json, size_t size, int (*each)(void *context, const st_tensor *tensor),
                   void *context)
{
    st_text text = {json, json + size};
    st_tensor tensor;

    if (!st_take(&text, '{'))
        return 0;
    if (st_take(&text, '}'))
        return 1;
    do {
        memset(&tensor, 0, sizeof tensor);
        if (!st_string(&text, tensor.name, sizeof tensor.name, &tensor.name_length) || !st_take(&text, ':'))
            return 0;
        if (strcmp(tensor.name, "__metadata__") == 0) {
            if (!st_skip_metadata(&text))
                return 0;
        } else if (!st_fields(&text, &tensor) || !each(context, &tensor)) {
            return 0;
        }
    } while (st_take(&text, ','));
    return st_take(&text, '}');
}

#endif
