/* Fails every system call for writing, appending, copying and repairing in turn, in every way; see
 * fault_loop.h. The destination is unchanged or complete. No file that can be removed is left beside it. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "check.h"
#ifndef __linux__
int main(void)
{
    printf("fault_write: skipped: only on Linux can a program replace libc's functions\n");
    CHECK(zt_abi_version() == ZT_ABI_VERSION);
    return check_done("fault_write");
}
#else
#include "fault_loop.h"

#define LARGE 1200000u /* larger than the buffer */
#define SMALL 3000u
static unsigned char data[LARGE];
static const uint64_t shape_large = LARGE, shape_small = SMALL;
static unsigned char *old, *whole, *torn;
static size_t old_size, whole_size, torn_size;
#define LARGER 2200000u /* larger than one direct write through a bounce buffer */
static unsigned char larger[LARGER + 4096];
static const uint64_t shape_larger = LARGER;
#define MANY 1100u /* enough small objects that another thread writes them */
static uint32_t durable, threads = 1;
static int existing; /* whether the destination exists before */

static const char *target(void)
{
    return in_folder("out.zt");
}

static void put_old(void)
{
    remove(target());
    if (existing) {
        write_file(target(), old, old_size);
        REQUIRE(chmod(target(), 0640) == 0);
    }
}

static void put_torn(void)
{
    write_file(target(), torn, torn_size);
}

/* More than the buffer, with a compressed component between others. */
static void add_batch(struct outcome *out, zt_writer *w)
{
    static const uint64_t middle = 40000;
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"};
    zt_write_request requests[12];
    size_t i;
    for (i = 0; i < 12; i++) {
        INIT(requests[i]);
        requests[i].name = names[i];
        requests[i].dtype = ZT_DTYPE_U8;
        requests[i].shape = i < 10 ? &middle : &shape_small;
        requests[i].rank = 1;
        requests[i].data = data + i;
        requests[i].size = (size_t)*requests[i].shape;
        requests[i].encoding = i == 10 ? ZT_ENCODING_ZSTD : ZT_ENCODING_DEFAULT;
        requests[i].digest = i % 2 ? ZT_DIGEST_SHA256 : ZT_DIGEST_DEFAULT;
    }
    TRY(zt_write_batch(w, requests, 12));
done:
    return;
}

static void add(struct outcome *out, zt_writer *w)
{
    zt_object_desc object;
    zt_component_desc component;
    size_t at;
    TRY(zt_write_dense(w, "large", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, &shape_large, 1, data, LARGE));
    TRY(zt_write_dense(w, "small", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, &shape_small, 1, data, SMALL));
    add_batch(out, w);
    if (out->status != ZT_OK)
        return;
    INIT(object);
    INIT(component);
    object.name = "streamed";
    object.format = ZT_FORMAT_DENSE;
    object.shape = &shape_small;
    object.rank = 1;
    TRY(zt_write_begin(w, &object));
    component.role = "data";
    component.dtype = ZT_DTYPE_U8;
    component.encoding = ZT_ENCODING_ZSTD;
    component.digest = ZT_DIGEST_SHA256;
    TRY(zt_write_component(w, &component));
    for (at = 0; at < SMALL; at += 1000)
        TRY(zt_write_data(w, data + at, 1000));
    TRY(zt_write_end(w));
done:
    return;
}

static zt_write_options options(void)
{
    zt_write_options o;
    INIT(o);
    o.threads = threads;
    o.digest = ZT_DIGEST_CRC32C;
    o.durable = durable;
    return o;
}

static void finishing(struct outcome *out, zt_writer *w)
{
    if (out->status != ZT_OK) {
        CHECK_STATUS(zt_write_finish(w, NULL), ZT_ERROR_STATE);
        return;
    }
    TRY(zt_write_finish(w, NULL));
done:
    return;
}

static void creating(struct outcome *out)
{
    zt_write_options o = options();
    zt_writer *w = NULL;
    TRY(zt_write_create(target(), &o, &w));
    add(out, w);
    finishing(out, w);
done:
    return;
}

static void creating_2(struct outcome *out)
{
    zt_write_options o = options();
    zt_writer *w = NULL;
    o.spec = ZT_SPEC_2;
    o.digest = ZT_DIGEST_XXH3;
    TRY(zt_write_create(target(), &o, &w));
    add(out, w);
    finishing(out, w);
done:
    return;
}

/* From memory that is aligned like the file's blocks, and from other memory. */
static void creating_large(struct outcome *out)
{
    const unsigned char *page = larger + (4096 - (uintptr_t)larger % 4096) % 4096;
    zt_write_options o = options();
    zt_writer *w = NULL;
    o.large_alignment = 4096;
    TRY(zt_write_create(target(), &o, &w));
    out->status = zt_write_dense(w, "as blocks", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, &shape_larger, 1, page, LARGER);
    if (out->status == ZT_OK)
        out->status = zt_write_dense(w, "unaligned", 0, ZT_DTYPE_U8, ZT_TYPE_NONE, &shape_larger, 1, larger + 1, LARGER);
    snprintf(out->message, sizeof out->message, "%s", out->status == ZT_OK ? "" : zt_last_error());
    finishing(out, w);
done:
    return;
}

/* Many objects in one call, written by another thread while this one buffers them. */
static void creating_many(struct outcome *out)
{
    static zt_write_request requests[MANY];
    static char names[MANY][8];
    static const uint64_t shape = 4000;
    zt_write_options o = options();
    zt_writer *w = NULL;
    size_t i;
    for (i = 0; i < MANY; i++) {
        INIT(requests[i]);
        snprintf(names[i], sizeof names[i], "%u", (unsigned)i);
        requests[i].name = names[i];
        requests[i].dtype = ZT_DTYPE_U8;
        requests[i].shape = &shape;
        requests[i].rank = 1;
        requests[i].data = data + i;
        requests[i].size = (size_t)shape;
    }
    TRY(zt_write_create(target(), &o, &w));
    out->status = zt_write_batch(w, requests, MANY);
    snprintf(out->message, sizeof out->message, "%s", out->status == ZT_OK ? "" : zt_last_error());
    finishing(out, w);
done:
    return;
}

static void appending(struct outcome *out)
{
    zt_write_options o = options();
    zt_writer *w = NULL;
    TRY(zt_write_append(target(), &o, &w));
    add(out, w);
    finishing(out, w);
done:
    return;
}

static void editing(struct outcome *out)
{
    zt_write_options o = options();
    zt_attribute a;
    zt_writer *w = NULL;
    INIT(a);
    TRY(zt_write_append(target(), &o, &w));
    TRY(zt_write_remove(w, "u8", 0));
    TRY(zt_write_rename(w, "f32", 0, "u8", 0));
    TRY(zt_write_attribute(w, "u8", 0, "null", &a));
    add(out, w);
    finishing(out, w);
done:
    return;
}

static void copying(struct outcome *out)
{
    zt_write_options o = options();
    zt_open_options read;
    zt_writer *w = NULL;
    zt_file *file = NULL;
    size_t i;
    INIT(read);
    read.mode = ZT_MODE_READ;
    TRY(zt_open(data_path("v1.2/py-1.2.3-zstd.zt"), &read, &file));
    TRY(zt_write_create(target(), &o, &w));
    for (i = 0; i < zt_object_count(file); i++)
        TRY(zt_write_copy(w, zt_object_at(file, i), NULL));
    finishing(out, w);
    w = NULL;
done:
    zt_write_abort(w);
    zt_close(file);
}

static void repairing(struct outcome *out)
{
    TRY(zt_repair(target(), NULL, NULL));
done:
    return;
}

/* The library remembers a few hundred ended writers to detect their use. After that the heap must not
 * grow. */
static void fill_memory_of_writers(void)
{
    zt_writer *w = NULL;
    size_t i;
    for (i = 0; i < 600; i++) {
        CHECK_STATUS(zt_write_create(target(), NULL, &w), ZT_OK);
        zt_write_abort(w);
    }
}

/* The destination is the file of the undisturbed run, the old file, or the file that the message
 * describes. */
static void replaced(const struct outcome *got, const struct outcome *undisturbed)
{
    struct stat st;
    (void)undisturbed;
    if (got->status == ZT_OK || strstr(got->message, "in place")) {
        if (!whole)
            whole = read_file(target(), &whole_size);
        CHECK(file_is(target(), whole, whole_size));
        CHECK(!existing || (stat(target(), &st) == 0 && (st.st_mode & 0777) == 0640));
    } else {
        CHECK(existing ? file_is(target(), old, old_size) : !file_exists(target()));
    }
}

/* An append that could not be undone can be repaired, and no byte of the old file is lost. */
static void appended(const struct outcome *got, const struct outcome *undisturbed)
{
    zt_file *file = NULL;
    (void)undisturbed;
    if (got->status == ZT_OK) {
        if (!whole)
            whole = read_file(target(), &whole_size);
        CHECK(file_is(target(), whole, whole_size));
    } else if (strstr(got->message, "in place")) {
        file = open_path(target());
        CHECK_STATUS(zt_verify(file, NULL, NULL), ZT_OK);
        CHECK(zt_object_find(file, "streamed") != NULL);
        zt_close(file);
    } else if (!file_is(target(), old, old_size)) {
        /* The message says what could not be undone, unless the writer was rejected at the start. */
        CHECK(strstr(got->message, "; the file ") != NULL);
        CHECK_STATUS(zt_repair(target(), NULL, NULL), ZT_OK);
        /* it was not truncated: the old end was written again, or the new end was complete */
        if (!file_is(target(), old, old_size)) {
            const int is_new = strstr(got->message, "it has its new objects") != NULL;
            CHECK(is_new || strstr(got->message, "it has its old objects") != NULL);
            file = open_path(target());
            CHECK_STATUS(zt_verify(file, NULL, NULL), ZT_OK);
            CHECK((zt_object_count(file) > 13) == is_new && (zt_object_find(file, "streamed") != NULL) == is_new);
            zt_close(file);
        }
    }
}

static void repaired(const struct outcome *got, const struct outcome *undisturbed)
{
    (void)undisturbed;
    if (got->status == ZT_OK || strstr(got->message, "is cut back"))
        CHECK(file_is(target(), old, old_size));
    else
        CHECK(file_is(target(), torn, torn_size));
}

static void scenario(const char *name, void (*prepare)(void), void (*run)(struct outcome *),
                     void (*check)(const struct outcome *, const struct outcome *))
{
    struct scenario s;
    memset(&s, 0, sizeof s);
    s.name = name;
    s.prepare = prepare;
    s.run = run;
    s.check = check;
    s.files = 1;
    s.must_fail = 1;
    every_fault(&s);
    free(whole);
    whole = NULL;
}

int main(void)
{
    faults_begin("fault-write");
    fill_any(data, sizeof data, 77);
    fill_any(larger, sizeof larger, 78);
    old = read_file(data_path("v1.2/py-1.2.3-all-dtypes.zt"), &old_size);
    torn_size = old_size + 5000;
    torn = (unsigned char *)calloc(1, torn_size);
    REQUIRE(torn != NULL);
    memcpy(torn, old, old_size);
    memcpy(torn + old_size, data, 4000);
    fill_memory_of_writers();
    for (durable = 0; durable < 2; durable++) {
        printf("%s:\n", durable ? "durable" : "not durable");
        existing = 0;
        scenario("create a new file", put_old, creating, replaced);
        existing = 1;
        scenario("replace a file", put_old, creating, replaced);
        scenario("replace a file by one of zTensor 2", put_old, creating_2, replaced);
        if (durable)
            scenario("replace a file by a large one", put_old, creating_large, replaced);
        threads = 2;
        scenario("replace a file by one of many", put_old, creating_many, replaced);
        threads = 1;
        scenario("append", put_old, appending, appended);
        scenario("edit", put_old, editing, appended);
        scenario("copy", put_old, copying, replaced);
    }
    scenario("repair", put_torn, repairing, repaired);
    CHECK(fault.met[CALL_OPEN] && fault.met[CALL_WRITE] && fault.met[CALL_FSYNC] && fault.met[CALL_FTRUNCATE]);
    CHECK(fault.met[CALL_RENAME] && fault.met[CALL_UNLINK] && fault.met[CALL_CHMOD] && fault.met[CALL_REALPATH]);
    CHECK(remove(target()) == 0);
    free(old);
    free(torn);
    return faults_done("fault_write");
}
#endif
