/* Common code of the C tests: paths, reading and writing files, and structs with defaults. */
#ifndef SUPPORT_H
#define SUPPORT_H

#include <dirent.h>
#include <unistd.h>

#include "check.h"

/* The defaults: zeros except struct_size. */
#define INIT(x) (memset(&(x), 0, sizeof(x)), (void)((x).struct_size = sizeof(x)))
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static inline const char *folder_of(const char *variable, const char *otherwise)
{
    const char *set = getenv(variable);
    return set && *set ? set : otherwise;
}

#ifndef ZT_TEST_DATA
#define ZT_TEST_DATA "tests/data"
#endif
#ifndef ZT_TEST_TMP
#define ZT_TEST_TMP "."
#endif

/* Compares two structs from their first 64-bit number on. They must have only 64-bit fields from there. Bytes
 * before it may differ. */
#define SAME_FROM(first, a, b) \
    (memcmp(&(a).first, &(b).first, sizeof(a) - (size_t)((const char *)&(a).first - (const char *)&(a))) == 0)

/* The path of a file in the corpus. The last eight results stay valid. */
static inline const char *data_path(const char *name)
{
    static char paths[8][4096];
    static unsigned turn;
    char *path = paths[turn++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder_of("ZT_TEST_DATA", ZT_TEST_DATA), name);
    return path;
}

/* The path of a file for this process, to be removed with remove(). The last eight results stay valid. */
static inline const char *scratch_path(const char *name)
{
    static char paths[8][4096];
    static unsigned turn;
    char *path = paths[turn++ % 8];
    snprintf(path, sizeof paths[0], "%s/zt-%ld-%s", folder_of("ZT_TEST_TMP", ZT_TEST_TMP), (long)getpid(), name);
    return path;
}

static inline int file_exists(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (f)
        fclose(f);
    return f != NULL;
}

/* Reads a complete file; free() it. It has one more byte, so that an empty file is not NULL. */
static inline unsigned char *read_file(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    unsigned char *bytes;
    long end;
    if (!f)
        fprintf(stderr, "cannot open %s\n", path);
    REQUIRE(f != NULL);
    fseek(f, 0, SEEK_END);
    end = ftell(f);
    REQUIRE(end >= 0);
    rewind(f);
    bytes = (unsigned char *)malloc((size_t)end + 1);
    REQUIRE(bytes != NULL);
    *size = fread(bytes, 1, (size_t)end, f);
    fclose(f);
    REQUIRE(*size == (size_t)end);
    return bytes;
}

static inline void write_file(const char *path, const void *bytes, size_t size)
{
    FILE *f = fopen(path, "wb");
    REQUIRE(f != NULL);
    REQUIRE(fwrite(bytes, 1, size, f) == size);
    REQUIRE(fclose(f) == 0);
}

/* Whether the file at path has exactly these bytes. */
static inline int file_is(const char *path, const void *bytes, size_t size)
{
    size_t have;
    unsigned char *got = read_file(path, &have);
    int same = have == size && memcmp(got, bytes, size) == 0;
    free(got);
    return same;
}

static inline zt_file *open_path(const char *path)
{
    zt_file *file = NULL;
    if (!CHECK_STATUS(zt_open(path, NULL, &file), ZT_OK))
        fprintf(stderr, "cannot open %s\n", path);
    REQUIRE(file != NULL);
    return file;
}

static inline zt_file *open_data(const char *name)
{
    return open_path(data_path(name));
}

static inline zt_file *open_data_mode(const char *name, zt_mode mode)
{
    zt_open_options options;
    zt_file *file = NULL;
    INIT(options);
    options.mode = mode;
    CHECK_STATUS(zt_open(data_path(name), &options, &file), ZT_OK);
    REQUIRE(file != NULL);
    return file;
}

/* Calls one(path, name, good) for every .zt file of the corpus. good: the file is valid. */
static inline void each_of_corpus(void (*one)(const char *path, const char *name, int good))
{
    static const char *const folders[] = {"v0.1", "v1.0", "v1.1", "v1.2", "valid-odd", "invalid"};
    char path[4400];
    size_t i;
    for (i = 0; i < COUNT(folders); i++) {
        const struct dirent *entry;
        unsigned long files = 0;
        DIR *d = opendir(data_path(folders[i]));
        REQUIRE(d != NULL);
        while ((entry = readdir(d)) != NULL) {
            size_t n = strlen(entry->d_name);
            if (n < 3 || strcmp(entry->d_name + n - 3, ".zt") != 0)
                continue;
            snprintf(path, sizeof path, "%s/%.256s", data_path(folders[i]), entry->d_name);
            one(path, entry->d_name, strcmp(folders[i], "invalid") != 0);
            files++;
        }
        closedir(d);
        CHECK(files > 0);
    }
}

/* The library's description of an object, a component and a part. */
static inline zt_object_info object_info(const zt_object *object)
{
    zt_object_info info;
    INIT(info);
    CHECK_STATUS(zt_object_get_info(object, &info), ZT_OK);
    return info;
}

static inline zt_component_info component_info(const zt_component *component)
{
    zt_component_info info;
    INIT(info);
    CHECK_STATUS(zt_component_get_info(component, &info), ZT_OK);
    return info;
}

static inline zt_part_info part_info(const zt_file *file, size_t part)
{
    zt_part_info info;
    INIT(info);
    CHECK_STATUS(zt_part_get_info(file, part, &info), ZT_OK);
    return info;
}

/* The size of all parts. */
static inline uint64_t file_size(const zt_file *file)
{
    uint64_t size = 0;
    size_t i;
    for (i = 0; i < zt_part_count(file); i++)
        size += part_info(file, i).size;
    return size;
}

/* Names: the library's or, for unknown ones, the file's. */
static inline const char *format_name(const zt_object *object)
{
    const char *own = object_info(object).format_name;
    return own ? own : zt_format_name(zt_object_format(object));
}

static inline const char *dtype_name(const zt_component *component)
{
    const char *own = component_info(component).dtype_name;
    return own ? own : zt_dtype_name(zt_component_dtype(component));
}

static inline const char *type_name(const zt_component *component)
{
    const char *own = component_info(component).type_name;
    return own ? own : zt_type_name(zt_component_type(component));
}

static inline const char *encoding_name(const zt_component *component)
{
    const char *own = component_info(component).encoding_name;
    return own ? own : zt_encoding_name(zt_component_encoding(component));
}

/* Checks the digest, which must exist, of one component, or all digests of one object. */
static inline zt_status verify_component(const zt_file *file, const zt_component *component)
{
    zt_verify_options options;
    INIT(options);
    options.checks = ZT_VERIFY_REQUIRE_DIGESTS;
    options.component = component;
    return zt_verify(file, &options, NULL);
}

static inline zt_status verify_object(const zt_file *file, const zt_object *object)
{
    zt_verify_options options;
    INIT(options);
    options.object = object;
    return zt_verify(file, &options, NULL);
}

static inline zt_status copy_as(zt_writer *writer, const zt_object *object, const char *name, zt_encoding encoding,
                                zt_digest digest, zt_dtype dtype)
{
    zt_copy_options options;
    INIT(options);
    options.name = name;
    options.encoding = encoding;
    options.digest = digest;
    options.dtype = dtype;
    return zt_write_copy(writer, object, &options);
}

static inline zt_status copy_named(zt_writer *writer, const zt_object *object, const char *name)
{
    return copy_as(writer, object, name, ZT_ENCODING_DEFAULT, ZT_DIGEST_DEFAULT, ZT_DTYPE_OTHER);
}

static inline const zt_component *component_of(const zt_file *file, const char *object, const char *role)
{
    const zt_component *component = zt_component_find(zt_object_find(file, object), role);
    if (!component)
        fprintf(stderr, "no component %s of object %s\n", role, object);
    REQUIRE(component != NULL);
    return component;
}

/* The decoded size, computed if it is not declared; 0 on failure. */
static inline uint64_t measured_size(const zt_component *component)
{
    uint64_t size = 0;
    return zt_component_measure(component, NULL, NULL, &size) == ZT_OK ? size : 0;
}

/* The decoded bytes of a component; free() them. */
static inline unsigned char *read_component(const zt_component *component, size_t *size)
{
    unsigned char *bytes;
    uint64_t measured;
    REQUIRE(CHECK_STATUS(zt_component_measure(component, NULL, NULL, &measured), ZT_OK));
    *size = (size_t)measured;
    bytes = (unsigned char *)malloc(*size + 1);
    REQUIRE(bytes != NULL);
    REQUIRE(CHECK_STATUS(zt_component_read(component, bytes, *size), ZT_OK));
    return bytes;
}

/* Whether this machine is big-endian. */
static inline int is_big_endian(void)
{
    const uint16_t one = 1;
    return *(const unsigned char *)&one == 0;
}

/* Whether little-endian elements of this width can be borrowed. */
static inline int borrows_little_endian(size_t width)
{
    return width < 2 || !is_big_endian();
}

/* Whether elements in this machine's order equal those in little-endian order; width: the size of one. */
static inline int are_elements(const void *elements, const void *of_file, size_t size, size_t width)
{
    const unsigned char *a = (const unsigned char *)elements, *b = (const unsigned char *)of_file;
    size_t i;
    for (i = 0; i < size; i++)
        if (a[i] != b[is_big_endian() ? i / width * width + (width - 1 - i % width) : i])
            return 0;
    return 1;
}

/* Whether a mapping may be larger than 2 GiB. */
static inline int has_large_mappings(void)
{
    return sizeof(void *) > 4;
}

/* The page size of this system. */
static inline size_t page_size(void)
{
#ifdef _SC_PAGESIZE
    return (size_t)sysconf(_SC_PAGESIZE);
#else
    return 4096;
#endif
}

/* Compares values in memory, because registers of some processors have more precision than a double. */
static inline int is_double(double value, double wanted)
{
    return memcmp(&value, &wanted, sizeof value) == 0;
}

static inline int is_aligned(const void *pointer, size_t alignment)
{
    return (uintptr_t)pointer % alignment == 0;
}

/* Pseudo-random numbers, the same in every run (Marsaglia's xorshift). *state must not be 0. */
static inline uint32_t next_random(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

#endif
