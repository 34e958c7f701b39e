/* zt_object_read_as: every dtype as every other, compared with arithmetic that does not use the library. */
#include <math.h>

#include "support.h"

/* The value of an element: an exact integer, or a real number. */
typedef struct number { int is_real, negative; uint64_t magnitude; double real; } number;

static number of_real(double x)
{
    number n = {1, 0, 0, 0};
    n.real = x;
    return n;
}

static number of_int(int64_t x)
{
    number n = {0, 0, 0, 0};
    n.negative = x < 0;
    n.magnitude = x < 0 ? (uint64_t)0 - (uint64_t)x : (uint64_t)x;
    return n;
}

static number of_uint(uint64_t x)
{
    number n = {0, 0, 0, 0};
    n.magnitude = x;
    return n;
}

/* A float of 1 sign bit, `e` exponent bits and `m` fraction bits, as IEEE 754 reads it. */
static double small_float(unsigned bits, int e, int m)
{
    int exponent = (int)(bits >> m & ((1u << e) - 1)), fraction = (int)(bits & ((1u << m) - 1));
    int bias = (1 << (e - 1)) - 1, top = (1 << e) - 1;
    double sign = bits >> (e + m) & 1 ? -1.0 : 1.0;
    if (exponent == top)
        return fraction ? (double)NAN : sign * (double)INFINITY;
    return exponent ? sign * ldexp((double)((1 << m) + fraction), exponent - bias - m)
                    : sign * ldexp((double)fraction, 1 - bias - m);
}

/* 8-bit floats: fn has no infinity and one NaN of either sign; fnuz has bias + 1 and one NaN in place of
 * -0. */
static double float8(unsigned bits, zt_type type)
{
    switch (type) {
    case ZT_TYPE_F8_E5M2:
        return small_float(bits, 5, 2);
    case ZT_TYPE_F8_E4M3FN:
        if ((bits & 0x7f) == 0x7f)
            return (double)NAN;
        if ((bits & 0x78) == 0x78)
            return (bits & 0x80 ? -1.0 : 1.0) * ldexp((double)(8 + (bits & 7)), 5);
        return small_float(bits, 4, 3);
    default: {
        int e = type == ZT_TYPE_F8_E4M3FNUZ ? 4 : 5, m = 7 - e, exponent = (int)(bits >> m & ((1u << e) - 1));
        int fraction = (int)(bits & ((1u << m) - 1)), bias = 1 << (e - 1);
        double sign = bits & 0x80 ? -1.0 : 1.0;
        if (bits == 0x80)
            return (double)NAN;
        return exponent ? sign * ldexp((double)((1 << m) + fraction), exponent - bias - m)
                        : sign * ldexp((double)fraction, 1 - bias - m);
    }
    }
}

static number element(zt_dtype dtype, zt_type type, const void *at)
{
    union { double f64; float f32; int64_t i64; int32_t i32; int16_t i16; int8_t i8; uint64_t u64; uint32_t u32; uint16_t u16; uint8_t u8; } u;
    memcpy(&u, at, zt_dtype_size(dtype));
    if (dtype == ZT_DTYPE_U8 && type != ZT_TYPE_NONE)
        return of_real(float8(u.u8, type));
    switch (dtype) {
    case ZT_DTYPE_F64: return of_real(u.f64);
    case ZT_DTYPE_F32: return of_real((double)u.f32);
    case ZT_DTYPE_F16: return of_real(small_float(u.u16, 5, 10));
    case ZT_DTYPE_BF16: return of_real(small_float(u.u16, 8, 7));
    case ZT_DTYPE_I64: return of_int(u.i64);
    case ZT_DTYPE_I32: return of_int(u.i32);
    case ZT_DTYPE_I16: return of_int(u.i16);
    case ZT_DTYPE_I8: return of_int(u.i8);
    case ZT_DTYPE_U64: return of_uint(u.u64);
    case ZT_DTYPE_U32: return of_uint(u.u32);
    case ZT_DTYPE_U16: return of_uint(u.u16);
    case ZT_DTYPE_U8: return of_uint(u.u8);
    default: return of_uint(u.u8 != 0);
    }
}

/* Rounds to `digits` binary digits, none below 2^lowest, ties to even. Results above `most` become
 * infinite. */
static double rounded(double x, int digits, int lowest, double most)
{
    int e, place;
    if (isnan(x) || isinf(x) || x == 0)
        return x;
    (void)frexp(x, &e);
    place = e - digits > lowest ? e - digits : lowest;
    x = copysign(ldexp(nearbyint(ldexp(x, -place)), place), x);
    return fabs(x) > most ? copysign((double)INFINITY, x) : x;
}

static double rounded_int(number n, int digits, double most)
{
    uint64_t m = n.magnitude;
    int place = 0;
    double x;
    while (m >> place >= UINT64_C(1) << digits)
        place++;
    if (place) {
        uint64_t rest = m & ((UINT64_C(1) << place) - 1), half = UINT64_C(1) << (place - 1);
        m >>= place;
        m += rest > half || (rest == half && (m & 1));
    }
    x = ldexp((double)m, place);
    if (x > most)
        x = (double)INFINITY;
    return n.negative ? -x : x;
}

static number to_real(number n, int digits, int lowest, double most)
{
    if (n.is_real)
        return of_real(digits == 53 ? n.real : rounded(n.real, digits, lowest, most));
    return of_real(rounded_int(n, digits, most));
}

/* Rounds to an integer from -below to above. */
static number to_int(number n, uint64_t below, uint64_t above)
{
    if (n.is_real) {
        double x = nearbyint(n.real);
        n = of_uint(0);
        if (x < 0) {
            n.negative = 1;
            n.magnitude = x <= -18446744073709551616.0 ? UINT64_MAX : (uint64_t)-x;
        } else if (x > 0) {
            n.magnitude = x >= 18446744073709551616.0 ? UINT64_MAX : (uint64_t)x;
        }
    }
    if (n.negative ? n.magnitude > below : n.magnitude > above)
        n.magnitude = n.negative ? below : above;
    if (n.magnitude == 0)
        n.negative = 0;
    return n;
}

static number converted(number n, zt_dtype to)
{
    switch (to) {
    case ZT_DTYPE_F64: return to_real(n, 53, -1074, 1.7976931348623157e308);
    case ZT_DTYPE_F32: return to_real(n, 24, -149, 3.4028234663852886e38);
    case ZT_DTYPE_F16: return to_real(n, 11, -24, 65504.0);
    case ZT_DTYPE_BF16: return to_real(n, 8, -133, 3.3895313892515355e38);
    case ZT_DTYPE_I64: return to_int(n, UINT64_C(1) << 63, INT64_MAX);
    case ZT_DTYPE_I32: return to_int(n, UINT64_C(1) << 31, INT32_MAX);
    case ZT_DTYPE_I16: return to_int(n, 32768, 32767);
    case ZT_DTYPE_I8: return to_int(n, 128, 127);
    case ZT_DTYPE_U64: return to_int(n, 0, UINT64_MAX);
    case ZT_DTYPE_U32: return to_int(n, 0, UINT32_MAX);
    case ZT_DTYPE_U16: return to_int(n, 0, 65535);
    case ZT_DTYPE_U8: return to_int(n, 0, 255);
    default: return of_uint(n.is_real ? !(n.real == 0) : n.magnitude != 0);
    }
}

static int same(number a, number b)
{
    if (a.is_real != b.is_real)
        return 0;
    if (!a.is_real)
        return a.magnitude == b.magnitude && a.negative == b.negative;
    return isnan(a.real) ? isnan(b.real) : a.real == b.real && !signbit(a.real) == !signbit(b.real);
}

/* Whether an integer type has no value for a number, or a finite number becomes infinite. */
static int is_lost(number n, zt_dtype to)
{
    number want = converted(n, to);
    if (to == ZT_DTYPE_BOOL)
        return 0;
    if (want.is_real)
        return isinf(want.real) && (!n.is_real || isfinite(n.real));
    if (n.is_real)
        return !(fabs(n.real) < 18446744073709551616.0) || (uint64_t)fabs(nearbyint(n.real)) != want.magnitude;
    return n.magnitude != want.magnitude;
}

/* Writes `count` elements of `data` (pairs count as two) to a file, and reads them as each dtype. */
static void every_conversion(zt_dtype dtype, zt_type type, const void *data, size_t count, zt_encoding encoding)
{
    const char *path = scratch_path("convert.zt");
    size_t width = zt_dtype_size(dtype), i;
    int pair = type == ZT_TYPE_COMPLEX64 || type == ZT_TYPE_COMPLEX128;
    uint64_t shape = pair ? count / 2 : count;
    zt_write_options options;
    zt_writer *writer = NULL;
    zt_file *file;
    const zt_object *object;
    unsigned char *got = (unsigned char *)malloc(count * 8 + 8);
    zt_dtype to;
    REQUIRE(got != NULL);
    INIT(options);
    options.encoding = encoding;
    CHECK_STATUS(zt_write_create(path, &options, &writer), ZT_OK);
    CHECK_STATUS(zt_write_dense(writer, "x", 0, dtype, type, &shape, 1, data, count * width), ZT_OK);
    CHECK_STATUS(zt_write_finish(writer, NULL), ZT_OK);
    file = open_path(path);
    object = zt_object_find(file, "x");
    for (to = ZT_DTYPE_F64; to <= ZT_DTYPE_BOOL; to++) {
        size_t wide = zt_dtype_size(to), wrong = 0, first = 0, lost = 0, written = 0;
        uint64_t needed = 0;
        zt_read_request request;
        zt_status expected;
        memset(got, 0xa5, count * 8 + 8);
        INIT(request);
        request.component = component_of(file, "x", "data");
        request.length = ZT_WHOLE, request.convert = to, request.dst = got + 1, request.dst_size = count * wide;
        for (i = 0; i < count; i++)
            lost += (size_t)is_lost(element(dtype, pair ? ZT_TYPE_NONE : type, (const unsigned char *)data + i * width), to);
        expected = lost ? ZT_ERROR_LIMIT : ZT_OK;
        CHECK_STATUS(zt_object_size_as(object, to, &needed), ZT_OK);
        CHECK(needed == count * wide);
        CHECK_STATUS(zt_read_batch(file, &request, 1, NULL, NULL), expected);
        CHECK_STATUS(zt_object_read_as(object, to, got + 1, count * wide + 6, &written), expected);
        CHECK(written == (lost ? 0 : count * wide));
        request.lossy = 1;
        CHECK_STATUS(zt_read_batch(file, &request, 1, NULL, NULL), ZT_OK);
        for (i = 0; i < count; i++) {
            number want = converted(element(dtype, pair ? ZT_TYPE_NONE : type, (const unsigned char *)data + i * width), to);
            if (!same(element(to, ZT_TYPE_NONE, got + 1 + i * wide), want) && wrong++ == 0)
                first = i;
        }
        if (!CHECK(wrong == 0)) {
            number from = element(dtype, pair ? ZT_TYPE_NONE : type, (const unsigned char *)data + first * width);
            fprintf(stderr, "    %s (type %d) as %s: %zu wrong, the first at %zu: %.17g / %s%llu\n", zt_dtype_name(dtype),
                    (int)type, zt_dtype_name(to), wrong, first, from.real, from.negative ? "-" : "",
                    (unsigned long long)from.magnitude);
        }
        CHECK(got[0] == 0xa5 && got[1 + count * wide] == 0xa5);
        written = 7;
        CHECK_STATUS(zt_object_read_as(object, to, got, count * wide - 1, &written), ZT_ERROR_BUFFER_SIZE);
        CHECK(written == 7 && got[0] == 0xa5);
    }
    CHECK_STATUS(zt_object_read_as(object, ZT_DTYPE_OTHER, got, 8, NULL), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zt_object_read_as(object, 14, got, 8, NULL), ZT_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zt_object_read_as(object, -1, got, 8, NULL), ZT_ERROR_INVALID_ARGUMENT);
    zt_close(file);
    CHECK(remove(path) == 0);
    free(got);
}

static void short_elements(void)
{
    static uint16_t words[65536];
    static uint8_t bytes[256];
    static const zt_dtype two[] = {ZT_DTYPE_F16, ZT_DTYPE_BF16, ZT_DTYPE_I16, ZT_DTYPE_U16};
    static const zt_dtype one[] = {ZT_DTYPE_I8, ZT_DTYPE_U8, ZT_DTYPE_BOOL};
    zt_type type;
    size_t i;
    for (i = 0; i < 65536; i++)
        words[i] = (uint16_t)i;
    for (i = 0; i < 256; i++)
        bytes[i] = (uint8_t)i;
    for (i = 0; i < COUNT(two); i++)
        every_conversion(two[i], ZT_TYPE_NONE, words, 65536, i % 2 ? ZT_ENCODING_ZSTD : ZT_ENCODING_RAW);
    for (i = 0; i < COUNT(one); i++)
        every_conversion(one[i], ZT_TYPE_NONE, bytes, one[i] == ZT_DTYPE_BOOL ? 2 : 256,
                         i % 2 ? ZT_ENCODING_ZSTD : ZT_ENCODING_RAW);
    for (type = ZT_TYPE_F8_E4M3FN; type <= ZT_TYPE_F8_E5M2FNUZ; type++)
        every_conversion(ZT_DTYPE_U8, type, bytes, 256, ZT_ENCODING_RAW);
}

static void long_elements(void)
{
    static const double reals[] = {
        0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 0.1, -0.4, 127.5, 128.0, -128.5, -129.0, 255.5, 256.0, 32767.5, 65504.0,
        65519.99, 65520.0, 65535.5, 1e5, -1e5, 16777217.0, 2147483647.5, 2147483648.0, -2147483648.5, 4294967295.5,
        9007199254740993.0, 9.2233720368547748e18, 9.2233720368547758e18, -9.2233720368547758e18, 1.8446744073709550e19,
        1.8446744073709552e19, 3.38953138925153547e38, 3.3961775292304957e38, 3.4028234663852886e38, 3.4028235677973366e38,
        1e39, 1e300, -1e300, 1.1754943508222875e-38, 1e-45, 1.4012984643248171e-45, 7.0064923216240854e-46, 9.2e-41,
        4.5918e-41, 5.9604644775390625e-08, 2.9802322387695312e-08, 2.98023223876953163e-08, 6.0975551605224609e-05, 5e-324,
        1.00048828125, 1.0004882812509095, /* halfway between two f16, and slightly above: rounded once */
        1.00390625, 1.0039062509313226, (double)INFINITY, -(double)INFINITY, (double)NAN, -3.7};
    static const int64_t ints[] = {0, 1, -1, 127, 128, -128, -129, 255, 256, 2049, 2050, 2051, 32767, 32768, 65519, 65520, -65520,
        16777215, 16777217, 16777219, INT32_MAX, INT64_C(2147483648), INT32_MIN, INT64_C(4294967295), INT64_C(4294967296),
        INT64_C(9007199254740993), -INT64_C(9007199254740995), INT64_C(36028797018963969), INT64_C(4647714815446351872),
        INT64_C(4647714815446351873), INT64_MAX, INT64_MAX - 511, INT64_MAX - 512, INT64_MIN, INT64_MIN + 1};
    double f64[COUNT(reals)];
    float f32[COUNT(reals)];
    int32_t i32[COUNT(ints)];
    uint32_t u32[COUNT(ints)];
    uint64_t u64[COUNT(ints)];
    size_t i;
    for (i = 0; i < COUNT(reals); i++) {
        f64[i] = reals[i];
        f32[i] = isfinite(reals[i]) && fabs(reals[i]) > 3.4028234663852886e38 ? 7.0f : (float)reals[i];
    }
    for (i = 0; i < COUNT(ints); i++) {
        u64[i] = (uint64_t)ints[i];
        u32[i] = (uint32_t)(u64[i] & UINT32_MAX);
        memcpy(&i32[i], &u32[i], 4);
    }
    every_conversion(ZT_DTYPE_F64, ZT_TYPE_NONE, f64, COUNT(reals), ZT_ENCODING_RAW);
    every_conversion(ZT_DTYPE_F32, ZT_TYPE_NONE, f32, COUNT(reals), ZT_ENCODING_ZSTD);
    every_conversion(ZT_DTYPE_F64, ZT_TYPE_COMPLEX128, f64, COUNT(reals) / 2 * 2, ZT_ENCODING_RAW);
    every_conversion(ZT_DTYPE_F32, ZT_TYPE_COMPLEX64, f32, COUNT(reals) / 2 * 2, ZT_ENCODING_RAW);
    every_conversion(ZT_DTYPE_I64, ZT_TYPE_NONE, ints, COUNT(ints), ZT_ENCODING_RAW);
    every_conversion(ZT_DTYPE_U64, ZT_TYPE_NONE, u64, COUNT(ints), ZT_ENCODING_ZSTD);
    every_conversion(ZT_DTYPE_I32, ZT_TYPE_NONE, i32, COUNT(ints), ZT_ENCODING_RAW);
    every_conversion(ZT_DTYPE_U32, ZT_TYPE_NONE, u32, COUNT(ints), ZT_ENCODING_RAW);
}

static void files_of_others(void)
{
    zt_file *file = open_data("v0.1/rs-0.1.0-big-endian.zt");
    zt_read_request request;
    int16_t whole[10];
    double as[10];
    size_t i;
    CHECK_STATUS(zt_component_read(component_of(file, "i16", "data"), whole, sizeof whole), ZT_OK);
    CHECK_STATUS(zt_object_read_as(zt_object_find(file, "i16"), ZT_DTYPE_F64, as, sizeof as, NULL), ZT_OK);
    for (i = 0; i < 10; i++)
        CHECK(as[i] == (double)whole[i]);
    zt_close(file);
    file = open_data("v1.2/py-1.2.3-shapes.zt");
    CHECK_STATUS(zt_object_read_as(zt_object_find(file, "s2"), ZT_DTYPE_F64, NULL, 0, NULL), ZT_OK);
    zt_close(file);
    file = open_data("invalid/csr-values-odd-bytes.zt"); /* 11 bytes are not a multiple of the f32 size */
    INIT(request);
    request.component = component_of(file, "s", "values"), request.length = ZT_WHOLE;
    request.convert = ZT_DTYPE_F64, request.dst = as, request.dst_size = sizeof as;
    CHECK_STATUS(zt_read_batch(file, &request, 1, NULL, NULL), ZT_ERROR_CORRUPT);
    zt_close(file);
}

int main(void)
{
    short_elements();
    long_elements();
    files_of_others();
    return check_done("convert");
}
