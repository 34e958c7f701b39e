// ggml's gguf.h on libztensor. Replace ggml/src/gguf.cpp by it and link libztensor. Programs on ggml, such as
// llama.cpp, then open .zt files that were converted from GGUF like GGUF: with gguf_init_from_file, and with
// mapped tensors. examples/gguf/README.md lists the differences to ggml's own reader.
//
// For every untrusted file, errors are a message and NULL. The program only ends where ggml's header says so
// and a file cannot cause it: an invalid id, or a name that a program adds twice.

#include "gguf.h"

#include "ggml-backend.h"
#include "ggml-impl.h"
#include "ggml.h"

#include <ztensor_advanced.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

// ---------------------------------------------------------------------------------------------------------------------
// Types

namespace {

struct value_type {
    const char *name;
    size_t size; // of one element; 0 if it varies
    zt_dtype dtype;
};

constexpr value_type value_types[GGUF_TYPE_COUNT] = {
    {"u8", 1, ZT_DTYPE_U8},     {"i8", 1, ZT_DTYPE_I8},     {"u16", 2, ZT_DTYPE_U16},
    {"i16", 2, ZT_DTYPE_I16},   {"u32", 4, ZT_DTYPE_U32},   {"i32", 4, ZT_DTYPE_I32},
    {"f32", 4, ZT_DTYPE_F32},   {"bool", 1, ZT_DTYPE_BOOL}, {"str", 0, ZT_DTYPE_OTHER},
    {"arr", 0, ZT_DTYPE_OTHER}, {"u64", 8, ZT_DTYPE_U64},   {"i64", 8, ZT_DTYPE_I64},
    {"f64", 8, ZT_DTYPE_F64},
};

bool is_value_type(gguf_type type) { return type >= 0 && type < GGUF_TYPE_COUNT; }

// The type of a key's value, or of the elements of an array, for a dtype.
gguf_type value_type_of(zt_dtype dtype)
{
    for (int i = 0; i < GGUF_TYPE_COUNT; i++)
        if (dtype != ZT_DTYPE_OTHER && value_types[i].dtype == dtype)
            return static_cast<gguf_type>(i);
    return GGUF_TYPE_COUNT;
}

// ggml's type of an object's elements; GGML_TYPE_COUNT if ggml, or this version of it, does not have it.
ggml_type tensor_type_of(const zt_object_info &info)
{
    int32_t number = GGML_TYPE_COUNT;
    if ((info.format != ZT_FORMAT_DENSE && info.format != ZT_FORMAT_BLOCKS) ||
        zt_type_ggml(info.dtype, info.type, &number) != ZT_OK || number >= GGML_TYPE_COUNT)
        return GGML_TYPE_COUNT;
    const ggml_type type = static_cast<ggml_type>(number);
    return ggml_type_size(type) > 0 ? type : GGML_TYPE_COUNT;
}

// ---------------------------------------------------------------------------------------------------------------------
// State

// A key with its value: one element, or an array of count elements.
struct key_value {
    std::string key;
    gguf_type type = GGUF_TYPE_UINT8; // of the elements
    bool is_array = false;
    size_t count = 0;
    std::vector<char> numbers;       // contiguous; a bool is one byte
    std::vector<const char *> texts; // each NUL-terminated, in memory of keeper
    std::vector<size_t> sizes;       // of the texts, without the NUL
    std::shared_ptr<const void> keeper;
};

struct tensor_info {
    ggml_tensor tensor; // its name, shape and type, and the data that a program set
    uint64_t offset;    // from the start of all data
};

} // namespace

struct gguf_context {
    uint32_t version = GGUF_VERSION;
    std::vector<key_value> keys;
    std::vector<tensor_info> tensors;
    std::unordered_map<std::string, int64_t> tensor_ids;
    uint64_t data_offset = 0; // the start of the data in the file that it was read from
};

namespace {

uint64_t metadata_size(const gguf_context *ctx);

constexpr size_t largest_alignment = size_t(1) << 20;

const key_value &key_at(const gguf_context *ctx, int64_t id)
{
    GGML_ASSERT(id >= 0 && id < gguf_get_n_kv(ctx));
    return ctx->keys[static_cast<size_t>(id)];
}

const tensor_info &tensor_at(const gguf_context *ctx, int64_t id)
{
    GGML_ASSERT(id >= 0 && id < gguf_get_n_tensors(ctx));
    return ctx->tensors[static_cast<size_t>(id)];
}

uint64_t padded(uint64_t size, uint64_t alignment) { return (size + alignment - 1) / alignment * alignment; }

// Puts the tensors from first on after those before them.
void place_tensors(gguf_context *ctx, size_t first)
{
    const uint64_t alignment = gguf_get_alignment(ctx);
    for (size_t i = first; i < ctx->tensors.size(); i++) {
        const tensor_info *before = i == 0 ? nullptr : &ctx->tensors[i - 1];
        ctx->tensors[i].offset = before ? before->offset + padded(ggml_nbytes(&before->tensor), alignment) : 0;
    }
}

// ---------------------------------------------------------------------------------------------------------------------
// Bytes of a file, from any source

struct byte_source {
    // returns how many bytes it could read
    std::function<size_t(uint64_t offset, void *dst, size_t size)> read;
    uint64_t size = 0;
    const char *path = nullptr; // of a file that starts with the first byte of the source
    // The size is an upper limit. Missing bytes are read as 0xff, which is rejected as a length, a count, a
    // type or an offset.
    bool may_be_shorter = false;
    uint64_t end = UINT64_MAX; // where a read found the end

    size_t get(uint64_t offset, void *dst, size_t wanted)
    {
        const uint64_t left = offset < end ? end - offset : 0;
        const size_t here = static_cast<size_t>(std::min<uint64_t>(wanted, left));
        const size_t got = here > 0 ? read(offset, dst, here) : 0;
        if (got < here)
            end = offset + got;
        return got;
    }

    bool has(uint64_t offset, void *dst, size_t wanted) { return get(offset, dst, wanted) == wanted; }
};

zt_status source_size(void *context, uint64_t *size)
{
    *size = static_cast<byte_source *>(context)->size;
    return ZT_OK;
}

zt_status source_read(void *context, uint64_t offset, void *dst, size_t size)
{
    byte_source *source = static_cast<byte_source *>(context);
    const size_t got = source->get(offset, dst, size);
    if (got < size && !source->may_be_shorter)
        return ZT_ERROR_IO;
    memset(static_cast<char *>(dst) + got, 0xff, size - got);
    return ZT_OK;
}

struct open_file {
    explicit open_file(byte_source source) : bytes(std::move(source)) {}
    open_file(const open_file &) = delete;
    ~open_file() { zt_close(handle); }

    // Whether it can be opened; otherwise zt_last_error has the reason.
    bool open(const char *name);

    byte_source bytes;
    zt_file *handle = nullptr;
};

bool open_file::open(const char *name)
{
    zt_open_options options = {};
    options.struct_size = sizeof options;
    // Containers whose numbers are little-endian, or that declare the byte order.
    options.containers =
        1u << ZT_CONTAINER_GGUF | 1u << ZT_CONTAINER_ZT_1_1 | 1u << ZT_CONTAINER_ZT_1_2 | 1u << ZT_CONTAINER_ZT_2;
    if (bytes.path && !bytes.may_be_shorter) {
        options.mode = ZT_MODE_AUTO; // mapped if possible, so that its metadata is not copied
        return zt_open(bytes.path, &options, &handle) == ZT_OK;
    }
    zt_source source = {};
    source.struct_size = sizeof source;
    source.context = &bytes;
    source.size = source_size;
    source.read_at = source_read;
    source.name = name;
    source.callers_thread = 1;
    return zt_open_source(&source, &options, &handle) == ZT_OK;
}

// ---------------------------------------------------------------------------------------------------------------------
// Reading

// The reason to reject a file.
struct refusal : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct text_span {
    const char *data;
    size_t size;
};

// A string, UTF-8 or not, with a NUL after it.
text_span text_of(const zt_value *value, const std::string &key)
{
    text_span span = {"", 0};
    const void *bytes = nullptr;
    if (zt_value_get_string(value, &span.data, &span.size) == ZT_OK)
        return span;
    if (zt_value_get_bytes(value, &bytes, &span.size) != ZT_OK)
        throw refusal("key '" + key + "' has a value or an element without a type in GGUF");
    span.data = static_cast<const char *>(bytes);
    return span;
}

std::string string_of(const zt_value *value)
{
    const text_span text = text_of(value, "");
    return std::string(text.data, text.size);
}

void read_texts(const zt_value *value, key_value &to)
{
    to.texts.resize(to.count);
    to.sizes.resize(to.count);
    // All at once, unless it is not an array or has elements of another kind.
    if (to.is_array && zt_value_read_strings(value, to.texts.data(), to.sizes.data(), to.count) == ZT_OK)
        return;
    for (size_t i = 0; i < to.count; i++) {
        const text_span text = text_of(to.is_array ? zt_value_at(value, i) : value, to.key);
        to.texts[i] = text.data;
        to.sizes[i] = text.size;
    }
}

struct stated_type {
    gguf_type element;
    bool is_array;
};

// As declared in a GGUF file.
stated_type type_of(const zt_value *value)
{
    const zt_dtype dtype = zt_value_dtype(value);
    const gguf_type element = dtype == ZT_DTYPE_OTHER ? GGUF_TYPE_STRING : value_type_of(dtype);
    return {element, zt_value_get_kind(value) == ZT_VALUE_KIND_ARRAY};
}

// As recorded in a .zt file that was converted from GGUF: "u32", "string", "f32[]".
stated_type type_noted(const zt_value *noted)
{
    const char *text = "";
    (void)zt_value_get_string(noted, &text, nullptr); // an array of arrays does not have such a name
    std::string name = text;
    const bool is_array = name.size() > 2 && name.compare(name.size() - 2, 2, "[]") == 0;
    if (is_array)
        name.resize(name.size() - 2);
    zt_dtype dtype = ZT_DTYPE_OTHER;
    (void)zt_dtype_from_name(name.c_str(), &dtype);
    return {name == "string" ? GGUF_TYPE_STRING : value_type_of(dtype), is_array};
}

key_value read_key(const zt_value *key, const zt_value *value, stated_type type)
{
    key_value to;
    to.key = string_of(key);
    to.type = type.element;
    to.is_array = type.is_array;
    to.count = to.is_array ? zt_value_count(value) : 1;
    if (to.type == GGUF_TYPE_COUNT)
        throw refusal("key '" + to.key + "' has a type that ggml does not have, such as arrays in an array");
    if (to.type == GGUF_TYPE_STRING) {
        read_texts(value, to);
        return to;
    }
    to.numbers.resize(to.count * value_types[to.type].size);
    if (zt_value_read_numbers(value, value_types[to.type].dtype, to.numbers.data(), to.count) != ZT_OK)
        throw refusal("key '" + to.key + "': " + zt_last_error());
    return to;
}

// CBOR could lose bits of NaNs, so they are recorded: those of all f32 of a key, least significant byte
// first.
void restore_nans(key_value &to, const zt_value *noted)
{
    const void *bits = nullptr;
    size_t size = 0;
    if (to.type != GGUF_TYPE_FLOAT32 || zt_value_get_bytes(noted, &bits, &size) != ZT_OK || size != to.numbers.size())
        return;
    for (size_t i = 0; i < to.count; i++) {
        float was, is;
        memcpy(&was, static_cast<const char *>(bits) + i * sizeof was, sizeof was);
        memcpy(&is, to.numbers.data() + i * sizeof is, sizeof is);
        if (was != was && is != is)
            memcpy(to.numbers.data() + i * sizeof was, &was, sizeof was);
    }
}

void read_keys(const zt_file *file, gguf_context *ctx)
{
    const zt_value *all = zt_file_attributes(file);
    zt_part_info part = ZT_INIT(zt_part_info);
    if (zt_part_get_info(file, 0, &part) == ZT_OK && part.container == ZT_CONTAINER_GGUF) {
        for (size_t i = 0; i < zt_value_count(all); i++) {
            const zt_value *value = zt_value_at(all, i);
            ctx->keys.push_back(read_key(zt_value_key_at(all, i), value, type_of(value)));
        }
        return;
    }
    // What zt convert records beside the attributes: docs/gguf.md.
    const zt_value *origin = zt_value_find(all, "ztensor.origin");
    const zt_value *notes = zt_value_find(origin, "keys");
    uint64_t version = 0;
    if (!notes || zt_value_get_u64(zt_value_find(origin, "version"), &version) != ZT_OK)
        throw refusal("the file was not converted from GGUF, so the types of its keys are unknown");
    ctx->version = version == 2 ? 2 : GGUF_VERSION;
    std::unordered_map<std::string, const zt_value *> values;
    for (size_t i = 0; i < zt_value_count(all); i++) {
        const zt_value *key = zt_value_key_at(all, i);
        if (zt_value_get_kind(key) == ZT_VALUE_KIND_STRING || zt_value_get_kind(key) == ZT_VALUE_KIND_BYTES)
            values.emplace(string_of(key), zt_value_at(all, i));
    }
    for (size_t i = 0; i < zt_value_count(notes); i++) {
        const zt_value *note = zt_value_at(notes, i), *key = zt_value_at(note, 0);
        const auto found = values.find(string_of(key));
        if (found == values.end())
            continue; // it was removed since
        ctx->keys.push_back(read_key(key, found->second, type_noted(zt_value_at(note, 1))));
        values.erase(found); // a key that is recorded twice is read once
        restore_nans(ctx->keys.back(), zt_value_at(note, 2));
    }
}

ggml_tensor describe(const zt_object_info &info)
{
    const std::string name(info.name, info.name_length);
    const std::string called = "tensor '" + name + "' ";
    if (name.size() >= GGML_MAX_NAME || name.find('\0') != std::string::npos)
        throw refusal(called + "has a name that ggml cannot hold");
    if (info.rank > GGML_MAX_DIMS)
        throw refusal(called + "has " + std::to_string(info.rank) + " dimensions, more than ggml's");
    ggml_tensor tensor = {};
    ggml_set_name(&tensor, name.c_str());
    tensor.type = tensor_type_of(info);
    if (tensor.type == GGML_TYPE_COUNT)
        throw refusal(called + "has a type that ggml does not have");
    if (info.encoding != ZT_ENCODING_RAW)
        throw refusal(called + "is compressed, so it cannot be mapped; convert it with zt convert --raw");
    uint64_t count = 1;
    for (size_t i = 0; i < GGML_MAX_DIMS; i++) {
        const uint64_t n = i < info.rank ? info.shape[info.rank - 1 - i] : 1;
        if (n > 0 && count > INT64_MAX / n)
            throw refusal(called + "has more elements than ggml can count");
        count *= n > 0 ? n : 1;
        tensor.ne[i] = static_cast<int64_t>(n);
    }
    const uint64_t row = static_cast<uint64_t>(tensor.ne[0]);
    const uint64_t block = static_cast<uint64_t>(ggml_blck_size(tensor.type));
    if (block == 0 || row % block != 0 || count / block > SIZE_MAX / 2 / ggml_type_size(tensor.type))
        throw refusal(called + "has a type or a size that this ggml does not have");
    tensor.nb[0] = ggml_type_size(tensor.type);
    tensor.nb[1] = tensor.nb[0] * (row / block);
    for (int i = 2; i < GGML_MAX_DIMS; i++)
        tensor.nb[i] = tensor.nb[i - 1] * static_cast<uint64_t>(tensor.ne[i - 1]);
    if (ggml_nbytes(&tensor) != info.size)
        throw refusal(called + "has blocks of a different size in this ggml");
    return tensor;
}

// The metadata of an open file.
void read_metadata(const zt_file *file, gguf_context *ctx)
{
    read_keys(file, ctx);
    const size_t tensors = zt_object_count(file);
    ctx->tensors.reserve(tensors);
    ctx->tensor_ids.reserve(tensors);
    ctx->data_offset = tensors > 0 ? UINT64_MAX : metadata_size(ctx);
    zt_object_info infos[32];
    infos[0].struct_size = sizeof infos[0];
    for (size_t first = 0, filled = 0; first < tensors; first += filled) {
        if (zt_object_list(file, first, infos, 32, &filled) != ZT_OK || filled == 0)
            throw refusal(zt_last_error());
        for (size_t i = 0; i < filled; i++) {
            ctx->tensor_ids.emplace(std::string(infos[i].name, infos[i].name_length), first + i);
            ctx->tensors.push_back({describe(infos[i]), infos[i].offset});
            ctx->data_offset = std::min(ctx->data_offset, infos[i].offset);
        }
    }
    for (tensor_info &info : ctx->tensors)
        info.offset -= ctx->data_offset;
}

// The tensors as ggml's, in their own ggml_context; with their data, unless no_alloc is set.
ggml_context *make_tensors(byte_source &bytes, const gguf_context &ctx, bool with_data)
{
    uint64_t size = 0;
    for (const tensor_info &info : ctx.tensors)
        size = std::max<uint64_t>(size, info.offset + ggml_nbytes(&info.tensor));
    size = padded(size, gguf_get_alignment(&ctx));
    char last;
    if (with_data && size > 0 && !bytes.has(ctx.data_offset + size - 1, &last, 1))
        throw refusal("the file ends before the padding after its last tensor");

    const size_t objects = (ctx.tensors.size() + 1) * ggml_tensor_overhead();
    const size_t all = objects + (with_data ? static_cast<size_t>(padded(size, GGML_MEM_ALIGN)) : 0);
    // ggml_init ends the program if memory is short.
    void *memory = malloc(all);
    free(memory);
    if (!memory)
        throw std::bad_alloc();
    struct freer {
        void operator()(ggml_context *context) const { ggml_free(context); }
    };
    std::unique_ptr<ggml_context, freer> made(ggml_init({all, nullptr, !with_data}));
    if (!made)
        throw std::bad_alloc();

    ggml_tensor *blob = nullptr;
    if (with_data) {
        blob = ggml_new_tensor_1d(made.get(), GGML_TYPE_I8, static_cast<int64_t>(size));
        ggml_set_name(blob, "GGUF tensor data binary blob");
        if (!bytes.has(ctx.data_offset, blob->data, static_cast<size_t>(size)))
            throw refusal("cannot read the data of the tensors");
    }
    ggml_set_no_alloc(made.get(), true);
    for (const tensor_info &info : ctx.tensors) {
        ggml_tensor *tensor = ggml_new_tensor(made.get(), info.tensor.type, GGML_MAX_DIMS, info.tensor.ne);
        ggml_set_name(tensor, info.tensor.name);
        if (blob)
            tensor->data = static_cast<char *>(blob->data) + info.offset;
    }
    ggml_set_no_alloc(made.get(), !with_data);
    return made.release();
}

std::unique_ptr<gguf_context> read_context(byte_source source, const char *name, gguf_init_params params)
{
    auto file = std::make_shared<open_file>(std::move(source));
    byte_source &bytes = file->bytes;
    auto ctx = std::make_unique<gguf_context>();
    char magic[4] = {};
    const bool is_gguf = bytes.has(0, magic, 4) && memcmp(magic, GGUF_MAGIC, 4) == 0;
    if (is_gguf) {
        if (!bytes.has(4, &ctx->version, 4) || (ctx->version & 0xffff) == 0)
            throw refusal("the file has the other byte order, or ends in its header");
        if (ctx->version == 1)
            throw refusal("ggml no longer supports GGUF version 1; zt convert writes a newer version");
    }
    const bool with_data = params.ctx && !params.no_alloc;
    bool is_open = file->open(name);
    if (!is_open && is_gguf && !with_data && strcmp(zt_last_error_rule(), "range-eof") == 0) {
        // Only metadata, of a file whose data was not written yet.
        bytes.size = INT64_MAX / 2; // so that adding a position in the stream does not overflow
        bytes.may_be_shorter = true;
        is_open = file->open(name);
    }
    if (!is_open)
        throw refusal(zt_last_error());
    read_metadata(file->handle, ctx.get());
    for (key_value &kv : ctx->keys)
        kv.keeper = file; // its texts are in the file
    if (bytes.end < ctx->data_offset && ctx->tensors.empty())
        throw refusal("the file ends in its metadata");
    if (params.ctx)
        *params.ctx = make_tensors(bytes, *ctx, with_data);
    return ctx;
}

// The source's first byte is at start.
gguf_context *read_or_say_why(byte_source bytes, uint64_t start, const char *name, gguf_init_params params)
{
    if (params.ctx)
        *params.ctx = nullptr;
    try {
        std::unique_ptr<gguf_context> ctx = read_context(std::move(bytes), name, params);
        ctx->data_offset += start;
        return ctx.release();
    } catch (const std::bad_alloc &) {
        GGML_LOG_ERROR("gguf: %s: not enough memory\n", name);
    } catch (const std::exception &e) {
        const bool has_name = strncmp(e.what(), name, strlen(name)) == 0; // a message of libztensor
        GGML_LOG_ERROR("gguf: %s%s%s\n", has_name ? "" : name, has_name ? "" : ": ", e.what());
    }
    return nullptr;
}

int64_t file_tell(FILE *file)
{
#ifdef _WIN32
    return _ftelli64(file);
#else
    return ftello(file);
#endif
}

int file_seek(FILE *file, int64_t offset, int origin)
{
#ifdef _WIN32
    return _fseeki64(file, offset, origin);
#else
    return fseeko(file, offset, origin);
#endif
}

gguf_context *read_stream(FILE *file, const char *name, const char *path, gguf_init_params params)
{
    const int64_t start = file ? file_tell(file) : -1;
    if (start < 0 || file_seek(file, 0, SEEK_END) != 0)
        return nullptr;
    byte_source bytes;
    bytes.path = path;
    bytes.size = static_cast<uint64_t>(std::max(file_tell(file) - start, int64_t(0)));
    int64_t place = -1; // the position in the stream
    bytes.read = [=](uint64_t offset, void *dst, size_t size) mutable -> size_t {
        const int64_t wanted = start + static_cast<int64_t>(offset);
        if (wanted != place && file_seek(file, wanted, SEEK_SET) != 0)
            return 0;
        const size_t got = fread(dst, 1, size, file);
        place = wanted + static_cast<int64_t>(got);
        return got;
    };
    return read_or_say_why(std::move(bytes), static_cast<uint64_t>(start), name, params);
}

} // namespace

gguf_context *gguf_init_empty(void) { return new gguf_context; }

gguf_context *gguf_init_from_file(const char *fname, gguf_init_params params)
{
    FILE *file = ggml_fopen(fname, "rb");
    if (!file) {
        GGML_LOG_ERROR("gguf: %s cannot be opened: %s\n", fname, strerror(errno));
        return nullptr;
    }
    gguf_context *ctx = read_stream(file, fname, fname, params);
    fclose(file);
    return ctx;
}

gguf_context *gguf_init_from_file_ptr(FILE *file, gguf_init_params params)
{
    return read_stream(file, "the stream", nullptr, params);
}

gguf_context *gguf_init_from_buffer(const void *data, size_t size, gguf_init_params params)
{
    if (!data || size == 0)
        return nullptr;
    byte_source bytes;
    bytes.size = size;
    bytes.read = [=](uint64_t offset, void *dst, size_t wanted) {
        const size_t got = offset < size ? std::min(wanted, size - static_cast<size_t>(offset)) : 0;
        memcpy(dst, static_cast<const char *>(data) + (got > 0 ? offset : 0), got);
        return got;
    };
    return read_or_say_why(std::move(bytes), 0, "the buffer", params);
}

gguf_context *gguf_init_from_callback(gguf_reader_callback_t callback, void *userdata, size_t max_chunk_read,
                                      uint64_t max_expected_size, gguf_init_params params)
{
    if (!callback)
        return nullptr;
    byte_source bytes;
    bytes.size = std::min<uint64_t>(max_expected_size, INT64_MAX);
    bytes.may_be_shorter = true;
    bytes.read = [=](uint64_t offset, void *dst, size_t size) {
        size_t got = 0, chunk = max_chunk_read > 0 ? max_chunk_read : size;
        while (got < size) {
            const size_t wanted = std::min(chunk, size - got);
            char *place = static_cast<char *>(dst) + got;
            const size_t more = std::min(callback(userdata, place, offset + got, wanted), wanted);
            got += more;
            if (more == wanted)
                continue;
            if (more > 0 || wanted == 1)
                break;
            chunk = wanted / 2; // it may return nothing if not all remaining bytes fit
        }
        return got;
    };
    return read_or_say_why(std::move(bytes), 0, "the callback", params);
}

void gguf_free(gguf_context *ctx) { delete ctx; }

// ---------------------------------------------------------------------------------------------------------------------
// Contents of a context

const char *gguf_type_name(gguf_type type) { return is_value_type(type) ? value_types[type].name : nullptr; }
size_t gguf_type_size(gguf_type type) { return is_value_type(type) ? value_types[type].size : 0; }
uint32_t gguf_get_version(const gguf_context *ctx) { return ctx->version; }

size_t gguf_get_alignment(const gguf_context *ctx)
{
    const int64_t id = gguf_find_key(ctx, GGUF_KEY_GENERAL_ALIGNMENT);
    const uint32_t alignment = id < 0 ? 0 : gguf_get_val_u32(ctx, id);
    const bool is_fine = alignment > 0 && alignment <= largest_alignment && (alignment & (alignment - 1)) == 0;
    return is_fine ? alignment : GGUF_DEFAULT_ALIGNMENT;
}

size_t gguf_get_data_offset(const gguf_context *ctx) { return static_cast<size_t>(ctx->data_offset); }
int64_t gguf_get_n_kv(const gguf_context *ctx) { return static_cast<int64_t>(ctx->keys.size()); }

int64_t gguf_find_key(const gguf_context *ctx, const char *key)
{
    auto found = std::find_if(ctx->keys.begin(), ctx->keys.end(), [=](const key_value &kv) { return kv.key == key; });
    return found == ctx->keys.end() ? -1 : found - ctx->keys.begin();
}

const char *gguf_get_key(const gguf_context *ctx, int64_t key_id) { return key_at(ctx, key_id).key.c_str(); }

gguf_type gguf_get_kv_type(const gguf_context *ctx, int64_t key_id)
{
    const key_value &kv = key_at(ctx, key_id);
    return kv.is_array ? GGUF_TYPE_ARRAY : kv.type;
}

gguf_type gguf_get_arr_type(const gguf_context *ctx, int64_t key_id)
{
    const key_value &kv = key_at(ctx, key_id);
    return kv.is_array ? kv.type : GGUF_TYPE_COUNT;
}

namespace {

// Whether the value is one element of a type. A wrong type in a file must not end the program.
bool is_one(const key_value &kv, gguf_type type)
{
    if (kv.type == type && kv.count == 1)
        return true;
    GGML_LOG_ERROR("gguf: key '%s' does not have a value of type %s\n", kv.key.c_str(), gguf_type_name(type));
    return false;
}

template <typename T> T number(const gguf_context *ctx, int64_t key_id, gguf_type type)
{
    const key_value &kv = key_at(ctx, key_id);
    T value = T();
    if (is_one(kv, type))
        memcpy(&value, kv.numbers.data(), sizeof value);
    return value;
}

} // namespace

// gguf_get_val_u8 and similar functions.
#define GET_NUMBER(name, c_type, type)                                                                                 \
    c_type gguf_get_val_##name(const gguf_context *ctx, int64_t key_id) { return number<c_type>(ctx, key_id, type); }
GET_NUMBER(u8, uint8_t, GGUF_TYPE_UINT8)
GET_NUMBER(i8, int8_t, GGUF_TYPE_INT8)
GET_NUMBER(u16, uint16_t, GGUF_TYPE_UINT16)
GET_NUMBER(i16, int16_t, GGUF_TYPE_INT16)
GET_NUMBER(u32, uint32_t, GGUF_TYPE_UINT32)
GET_NUMBER(i32, int32_t, GGUF_TYPE_INT32)
GET_NUMBER(f32, float, GGUF_TYPE_FLOAT32)
GET_NUMBER(u64, uint64_t, GGUF_TYPE_UINT64)
GET_NUMBER(i64, int64_t, GGUF_TYPE_INT64)
GET_NUMBER(f64, double, GGUF_TYPE_FLOAT64)
#undef GET_NUMBER

bool gguf_get_val_bool(const gguf_context *ctx, int64_t key_id)
{
    return number<int8_t>(ctx, key_id, GGUF_TYPE_BOOL) != 0;
}

const char *gguf_get_val_str(const gguf_context *ctx, int64_t key_id)
{
    const key_value &kv = key_at(ctx, key_id);
    return is_one(kv, GGUF_TYPE_STRING) ? kv.texts[0] : "";
}

const void *gguf_get_val_data(const gguf_context *ctx, int64_t key_id)
{
    const key_value &kv = key_at(ctx, key_id);
    GGML_ASSERT(kv.type != GGUF_TYPE_STRING && kv.count == 1);
    return kv.numbers.data();
}

size_t gguf_get_arr_n(const gguf_context *ctx, int64_t key_id) { return key_at(ctx, key_id).count; }

const void *gguf_get_arr_data(const gguf_context *ctx, int64_t key_id)
{
    const key_value &kv = key_at(ctx, key_id);
    GGML_ASSERT(kv.type != GGUF_TYPE_STRING);
    return kv.numbers.data();
}

const char *gguf_get_arr_str(const gguf_context *ctx, int64_t key_id, size_t i)
{
    const key_value &kv = key_at(ctx, key_id);
    return kv.type == GGUF_TYPE_STRING && i < kv.count ? kv.texts[i] : "";
}

int64_t gguf_get_n_tensors(const gguf_context *ctx) { return static_cast<int64_t>(ctx->tensors.size()); }

int64_t gguf_find_tensor(const gguf_context *ctx, const char *name)
{
    auto found = ctx->tensor_ids.find(name);
    return found == ctx->tensor_ids.end() ? -1 : found->second;
}

size_t gguf_get_tensor_offset(const gguf_context *ctx, int64_t tensor_id)
{
    return static_cast<size_t>(tensor_at(ctx, tensor_id).offset);
}

const char *gguf_get_tensor_name(const gguf_context *ctx, int64_t tensor_id)
{
    return tensor_at(ctx, tensor_id).tensor.name;
}

const int64_t *gguf_get_tensor_ne(const gguf_context *ctx, int64_t tensor_id)
{
    return tensor_at(ctx, tensor_id).tensor.ne;
}

ggml_type gguf_get_tensor_type(const gguf_context *ctx, int64_t tensor_id)
{
    return tensor_at(ctx, tensor_id).tensor.type;
}

size_t gguf_get_tensor_size(const gguf_context *ctx, int64_t tensor_id)
{
    return ggml_nbytes(&tensor_at(ctx, tensor_id).tensor);
}

// ---------------------------------------------------------------------------------------------------------------------
// Changing a context

int64_t gguf_remove_key(gguf_context *ctx, const char *key)
{
    const int64_t id = gguf_find_key(ctx, key);
    if (id >= 0)
        ctx->keys.erase(ctx->keys.begin() + id);
    return id;
}

namespace {

void set_key(gguf_context *ctx, key_value kv)
{
    GGML_ASSERT(!kv.key.empty());
    const bool is_alignment = kv.key == GGUF_KEY_GENERAL_ALIGNMENT;
    GGML_ASSERT((!is_alignment || (kv.type == GGUF_TYPE_UINT32 && !kv.is_array)) && "the alignment must be a u32");
    gguf_remove_key(ctx, kv.key.c_str());
    ctx->keys.push_back(std::move(kv));
    if (!is_alignment)
        return;
    uint32_t alignment;
    memcpy(&alignment, ctx->keys.back().numbers.data(), sizeof alignment);
    GGML_ASSERT(gguf_get_alignment(ctx) == alignment && "the alignment must be a power of 2, at most 2^20");
    if (ctx->data_offset == 0)
        place_tensors(ctx, 0);
}

void set_numbers(gguf_context *ctx, const char *key, gguf_type type, bool is_array, const void *data, size_t n)
{
    GGML_ASSERT(gguf_type_size(type) > 0);
    key_value kv;
    kv.key = key;
    kv.type = type;
    kv.is_array = is_array;
    kv.count = n;
    kv.numbers.resize(n * gguf_type_size(type));
    if (!kv.numbers.empty())
        memcpy(kv.numbers.data(), data, kv.numbers.size());
    if (type == GGUF_TYPE_BOOL)
        for (char &byte : kv.numbers)
            byte = byte != 0;
    set_key(ctx, std::move(kv));
}

void set_texts(gguf_context *ctx, const char *key, bool is_array, const char *const *texts, size_t n)
{
    key_value kv;
    kv.key = key;
    kv.type = GGUF_TYPE_STRING;
    kv.is_array = is_array;
    kv.count = n;
    auto copy = std::make_shared<std::vector<char>>();
    for (size_t i = 0; i < n; i++) {
        kv.sizes.push_back(strlen(texts[i]));
        copy->insert(copy->end(), texts[i], texts[i] + kv.sizes[i] + 1);
    }
    const char *place = copy->data();
    for (size_t i = 0; i < n; place += kv.sizes[i++] + 1)
        kv.texts.push_back(place);
    kv.keeper = std::move(copy);
    set_key(ctx, std::move(kv));
}

} // namespace

// gguf_set_val_u8 and similar functions.
#define SET_NUMBER(name, c_type, type)                                                                                 \
    void gguf_set_val_##name(gguf_context *ctx, const char *key, c_type val)                                           \
    {                                                                                                                  \
        set_numbers(ctx, key, type, false, &val, 1);                                                                   \
    }
SET_NUMBER(u8, uint8_t, GGUF_TYPE_UINT8)
SET_NUMBER(i8, int8_t, GGUF_TYPE_INT8)
SET_NUMBER(u16, uint16_t, GGUF_TYPE_UINT16)
SET_NUMBER(i16, int16_t, GGUF_TYPE_INT16)
SET_NUMBER(u32, uint32_t, GGUF_TYPE_UINT32)
SET_NUMBER(i32, int32_t, GGUF_TYPE_INT32)
SET_NUMBER(f32, float, GGUF_TYPE_FLOAT32)
SET_NUMBER(u64, uint64_t, GGUF_TYPE_UINT64)
SET_NUMBER(i64, int64_t, GGUF_TYPE_INT64)
SET_NUMBER(f64, double, GGUF_TYPE_FLOAT64)
#undef SET_NUMBER

void gguf_set_val_bool(gguf_context *ctx, const char *key, bool val)
{
    const int8_t byte = val;
    set_numbers(ctx, key, GGUF_TYPE_BOOL, false, &byte, 1);
}

void gguf_set_val_str(gguf_context *ctx, const char *key, const char *val) { set_texts(ctx, key, false, &val, 1); }

void gguf_set_arr_data(gguf_context *ctx, const char *key, gguf_type type, const void *data, size_t n)
{
    set_numbers(ctx, key, type, true, data, n);
}

void gguf_set_arr_str(gguf_context *ctx, const char *key, const char **data, size_t n)
{
    set_texts(ctx, key, true, data, n);
}

void gguf_set_kv(gguf_context *ctx, const gguf_context *src)
{
    const std::vector<key_value> copies = src->keys; // src may be ctx
    for (const key_value &kv : copies)
        set_key(ctx, kv);
}

void gguf_add_tensor(gguf_context *ctx, const ggml_tensor *tensor)
{
    GGML_ASSERT(tensor);
    const int64_t id = gguf_get_n_tensors(ctx);
    const bool is_new = ctx->tensor_ids.emplace(tensor->name, id).second;
    GGML_ASSERT(is_new && "a tensor with that name exists");
    ctx->tensors.push_back({*tensor, 0});
    place_tensors(ctx, static_cast<size_t>(id));
}

void gguf_set_tensor_type(gguf_context *ctx, const char *name, ggml_type type)
{
    const int64_t id = gguf_find_tensor(ctx, name);
    GGML_ASSERT(id >= 0 && "no tensor has that name");
    ggml_tensor &tensor = ctx->tensors[static_cast<size_t>(id)].tensor;
    const int64_t block = ggml_blck_size(type);
    GGML_ASSERT(block > 0 && tensor.ne[0] % block == 0 && "rows are not whole blocks of the new type");
    tensor.type = type;
    tensor.nb[0] = ggml_type_size(type);
    tensor.nb[1] = tensor.nb[0] * static_cast<size_t>(tensor.ne[0] / block);
    for (int i = 2; i < GGML_MAX_DIMS; i++)
        tensor.nb[i] = tensor.nb[i - 1] * static_cast<size_t>(tensor.ne[i - 1]);
    place_tensors(ctx, static_cast<size_t>(id) + 1);
}

void gguf_set_tensor_data(gguf_context *ctx, const char *name, const void *data)
{
    const int64_t id = gguf_find_tensor(ctx, name);
    GGML_ASSERT(id >= 0 && "no tensor has that name");
    ctx->tensors[static_cast<size_t>(id)].tensor.data = const_cast<void *>(data);
}

// ---------------------------------------------------------------------------------------------------------------------
// Writing a context as GGUF

namespace {

struct byte_sink {
    std::function<bool(const void *data, size_t size)> write;
    uint64_t written = 0;
    bool is_fine = true;

    void put(const void *data, size_t size)
    {
        is_fine = is_fine && (size == 0 || write(data, size));
        written += size;
    }

    template <typename T> void number(T value) { put(&value, sizeof value); }

    void text(const char *text, size_t size)
    {
        number(static_cast<uint64_t>(size));
        put(text, size);
    }

    void pad(uint64_t alignment)
    {
        static const char zeros[4096] = {};
        for (uint64_t left = padded(written, alignment) - written; left > 0;) {
            const size_t some = static_cast<size_t>(std::min<uint64_t>(left, sizeof zeros));
            put(zeros, some);
            left -= some;
        }
    }
};

void write_key(byte_sink &to, const key_value &kv)
{
    to.text(kv.key.data(), kv.key.size());
    if (kv.is_array)
        to.number(static_cast<int32_t>(GGUF_TYPE_ARRAY));
    to.number(static_cast<int32_t>(kv.type));
    if (kv.is_array)
        to.number(static_cast<uint64_t>(kv.count));
    if (kv.type != GGUF_TYPE_STRING)
        return to.put(kv.numbers.data(), kv.numbers.size());
    for (size_t i = 0; i < kv.count; i++)
        to.text(kv.texts[i], kv.sizes[i]);
}

// Offsets are computed again, because those of a file may have gaps.
void write_metadata(byte_sink &to, const gguf_context *ctx)
{
    to.put(GGUF_MAGIC, 4);
    to.number(ctx->version);
    to.number(gguf_get_n_tensors(ctx));
    to.number(gguf_get_n_kv(ctx));
    for (const key_value &kv : ctx->keys)
        write_key(to, kv);
    const uint64_t alignment = gguf_get_alignment(ctx);
    uint64_t offset = 0;
    for (const tensor_info &info : ctx->tensors) {
        const int rank = ggml_n_dims(&info.tensor);
        to.text(info.tensor.name, strlen(info.tensor.name));
        to.number(static_cast<uint32_t>(rank));
        for (int i = 0; i < rank; i++)
            to.number(info.tensor.ne[i]);
        to.number(static_cast<int32_t>(info.tensor.type));
        to.number(offset);
        offset += padded(ggml_nbytes(&info.tensor), alignment);
    }
}

uint64_t metadata_size(const gguf_context *ctx)
{
    byte_sink to;
    to.write = [](const void *, size_t) { return true; };
    write_metadata(to, ctx);
    return to.written;
}

void write_data(byte_sink &to, const gguf_context *ctx)
{
    std::vector<char> copy;
    for (const tensor_info &info : ctx->tensors) {
        const ggml_tensor &tensor = info.tensor;
        const size_t size = ggml_nbytes(&tensor);
        const void *data = tensor.data;
        if (tensor.buffer) { // the bytes may be on a device
            copy.resize(size);
            ggml_backend_tensor_get(&tensor, copy.data(), 0, size);
            data = copy.data();
        }
        if (!ggml_is_contiguous(&tensor) || (!data && size > 0)) {
            GGML_LOG_ERROR("gguf: tensor '%s' has no data, or it is not contiguous\n", tensor.name);
            to.is_fine = false;
            return;
        }
        to.put(data, size);
        to.pad(gguf_get_alignment(ctx));
    }
}

bool write_all(byte_sink &to, const gguf_context *ctx, bool only_meta)
{
    write_metadata(to, ctx);
    to.pad(gguf_get_alignment(ctx));
    if (!only_meta && to.is_fine)
        write_data(to, ctx);
    return to.is_fine;
}

} // namespace

bool gguf_write_to_file_ptr(const gguf_context *ctx, FILE *file, bool only_meta)
{
    GGML_ASSERT(file);
    byte_sink to;
    to.write = [=](const void *data, size_t size) { return fwrite(data, 1, size, file) == size; };
    const bool is_fine = write_all(to, ctx, only_meta) && fflush(file) == 0;
    if (!is_fine)
        GGML_LOG_ERROR("gguf: the file could not be written completely\n");
    return is_fine;
}

bool gguf_write_to_file(const gguf_context *ctx, const char *fname, bool only_meta)
{
    FILE *file = ggml_fopen(fname, "wb");
    if (!file) {
        GGML_LOG_ERROR("gguf: %s cannot be written: %s\n", fname, strerror(errno));
        return false;
    }
    const bool is_written = gguf_write_to_file_ptr(ctx, file, only_meta);
    return fclose(file) == 0 && is_written;
}

// Declared in ggml-impl.h, for ggml's tests.
void gguf_write_to_buf(const gguf_context *ctx, std::vector<int8_t> &buf, bool only_meta)
{
    byte_sink to;
    to.write = [&](const void *data, size_t size) {
        const int8_t *bytes = static_cast<const int8_t *>(data);
        buf.insert(buf.end(), bytes, bytes + size);
        return true;
    };
    write_all(to, ctx, only_meta);
}

size_t gguf_get_meta_size(const gguf_context *ctx)
{
    return static_cast<size_t>(padded(metadata_size(ctx), gguf_get_alignment(ctx)));
}

void gguf_get_meta_data(const gguf_context *ctx, void *data)
{
    byte_sink to;
    to.write = [&](const void *bytes, size_t size) {
        memcpy(static_cast<char *>(data) + to.written, bytes, size);
        return true;
    };
    write_metadata(to, ctx);
    to.pad(gguf_get_alignment(ctx));
}
