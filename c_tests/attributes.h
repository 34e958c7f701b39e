/* An attribute in one call, as C99 and as C++17: set_* of the file, write_* of the object that is open. */
#ifndef ATTRIBUTES_H
#define ATTRIBUTES_H

#include "support.h"

static inline zt_attribute attribute(zt_attribute_kind kind)
{
    zt_attribute a;
    INIT(a);
    a.kind = kind;
    return a;
}

#define SETTER(name, arguments, give, call) \
    static inline zt_status name arguments \
    { \
        zt_attribute a; \
        give; \
        return call(w, key, &a); \
    }
#define SETTERS(prefix, call) \
    SETTER(prefix##_bool, (zt_writer *w, const char *key, int32_t v), (a = attribute(ZT_ATTRIBUTE_KIND_BOOL), a.i64 = v), call) \
    SETTER(prefix##_i64, (zt_writer *w, const char *key, int64_t v), (a = attribute(ZT_ATTRIBUTE_KIND_I64), a.i64 = v), call) \
    SETTER(prefix##_u64, (zt_writer *w, const char *key, uint64_t v), (a = attribute(ZT_ATTRIBUTE_KIND_U64), a.u64 = v), call) \
    SETTER(prefix##_f64, (zt_writer *w, const char *key, double v), (a = attribute(ZT_ATTRIBUTE_KIND_F64), a.f64 = v), call) \
    SETTER(prefix##_string, (zt_writer *w, const char *key, const char *v), (a = attribute(ZT_ATTRIBUTE_KIND_STRING), a.data = v), call) \
    SETTER(prefix##_bytes, (zt_writer *w, const char *key, const void *v, size_t n), (a = attribute(ZT_ATTRIBUTE_KIND_BYTES), a.data = v, a.size = n), call) \
    SETTER(prefix##_json, (zt_writer *w, const char *key, const char *v), (a = attribute(ZT_ATTRIBUTE_KIND_JSON), a.data = v), call) \
    SETTER(prefix##_numbers, (zt_writer *w, const char *key, zt_dtype dtype, const void *v, size_t n), \
           (a = attribute(ZT_ATTRIBUTE_KIND_NUMBERS), a.dtype = dtype, a.data = v, a.count = n), call) \
    SETTER(prefix##_strings, (zt_writer *w, const char *key, const char *const *v, const size_t *lengths, size_t n), \
           (a = attribute(ZT_ATTRIBUTE_KIND_STRINGS), a.data = v, a.lengths = lengths, a.count = n), call) \
    SETTER(prefix##_value, (zt_writer *w, const char *key, const zt_value *v), (a = attribute(ZT_ATTRIBUTE_KIND_VALUE), a.data = v), call) \
    SETTER(prefix##_null, (zt_writer *w, const char *key), (a = attribute(ZT_ATTRIBUTE_KIND_NULL)), call) \
    SETTER(prefix##_remove, (zt_writer *w, const char *key), (a = attribute(ZT_ATTRIBUTE_KIND_REMOVE)), call)

SETTERS(set, zt_write_set_attribute)
SETTERS(write, zt_write_set_open_object_attribute)

#endif
