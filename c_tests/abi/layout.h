/* Macros for the tests of the binary layout. Compiling them is the test. */
#ifndef LAYOUT_H
#define LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "ztensor_advanced.h"

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#define STATIC_CHECK(condition) typedef char JOIN(static_check_, __LINE__)[(condition) ? 1 : -1]
#define SIZE(type, size) STATIC_CHECK(sizeof(type) == (size))
#define AT(type, field, offset) STATIC_CHECK(offsetof(type, field) == (offset))

#endif
