/* An attribute in one call, in C99 and C++17. object: NULL for the file. */
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

#define SETTER(name, arguments, give) \
    static inline zt_status set_##name arguments \
    { \
        zt_attribute a; \
        give; \
        return zt_write_attribute(w, object, 0, key, &a); \
    }
#define OF zt_writer *w, const char *object, const char *key
SETTER(bool, (OF, int32_t v), (a = attribute(ZT_ATTRIBUTE_KIND_BOOL), a.i64 = v))
SETTER(i64, (OF, int64_t v), (a = attribute(ZT_ATTRIBUTE_KIND_I64), a.i64 = v))
SETTER(u64, (OF, uint64_t v), (a = attribute(ZT_ATTRIBUTE_KIND_U64), a.u64 = v))
SETTER(f64, (OF, double v), (a = attribute(ZT_ATTRIBUTE_KIND_F64), a.f64 = v))
SETTER(string, (OF, const char *v), (a = attribute(ZT_ATTRIBUTE_KIND_STRING), a.data = v))
SETTER(bytes, (OF, const void *v, size_t n), (a = attribute(ZT_ATTRIBUTE_KIND_BYTES), a.data = v, a.size = n))
SETTER(json, (OF, const char *v), (a = attribute(ZT_ATTRIBUTE_KIND_JSON), a.data = v))
SETTER(numbers, (OF, zt_dtype dtype, const void *v, size_t n),
       (a = attribute(ZT_ATTRIBUTE_KIND_NUMBERS), a.dtype = dtype, a.data = v, a.count = n))
SETTER(strings, (OF, const char *const *v, const size_t *lengths, size_t n),
       (a = attribute(ZT_ATTRIBUTE_KIND_STRINGS), a.data = v, a.lengths = lengths, a.count = n))
SETTER(value, (OF, const zt_value *v), (a = attribute(ZT_ATTRIBUTE_KIND_VALUE), a.data = v))
SETTER(null, (OF), (a = attribute(ZT_ATTRIBUTE_KIND_NULL)))
SETTER(remove, (OF), (a = attribute(ZT_ATTRIBUTE_KIND_REMOVE)))

#endif
