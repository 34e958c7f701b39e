/*
 * ztensor.h: open, read, verify and write zTensor, safetensors, GGUF, npz and PyTorch files.
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 *     zt_file *file;
 *     if (zt_open_model("model.zt", NULL, &file) != ZT_OK) {
 *         fprintf(stderr, "%s\n", zt_last_error());
 *         return 1;
 *     }
 *     zt_tensor t = ZT_INIT(zt_tensor);
 *     if (zt_tensor_find(file, "layer1.weight", &t) == ZT_OK)
 *         use(t.data, t.size, t.shape, t.rank);
 *     zt_close(file);
 *
 * ztensor_advanced.h has the rest: your own sources and sinks, allocators, advice, sparse objects, a cache, editing, repair.
 * The manifest is the part of a file that lists its objects. "Spec 1.2" and "spec 2" are the texts of the zTensor
 * formats; docs/ is in the source tree.
 * These rules hold for every function, unless its own text says otherwise.
 *
 * Failure. A function that can fail returns a zt_status; ZT_OK is 0. Results come through the last pointer arguments.
 * On failure they keep their old value; only handles become NULL. zt_last_error() describes the calling thread's last
 * failure. Any function may return ZT_ERROR_INVALID_ARGUMENT and ZT_ERROR_OUT_OF_MEMORY. Functions that read or write
 * bytes may also return ZT_ERROR_CANCELLED (from a progress callback), the status of a failed zt_source, zt_sink or
 * zt_store, and, if they open a shard, what zt_open returns. The text of a function names further statuses.
 *
 * Getters return a value directly. They return 0 or NULL for NULL and for an index out of range.
 *
 * NULL. A pointer argument must not be NULL, unless its text allows it; NULL is ZT_ERROR_INVALID_ARGUMENT. An array is
 * a pointer and a count; (NULL, 0) is an empty array. The context of a callback may be NULL. Options may be NULL: that
 * means all defaults. Functions that close, free, finish or abort ignore NULL.
 *
 * Lifetime. Everything that a file returns is borrowed: objects, components, values, strings, shapes, bytes. It is
 * const and valid until zt_close, or longer if a buffer, cache or load keeps the file open. A handle that you receive
 * through a pointer argument is yours; the text names the function that ends it. Do not use a handle after its end.
 *
 * Threads. Any thread may call any function, and any number of threads may use one zt_file at once: an open file never
 * changes. One thread at a time may use a zt_writer. A forked child may use open files, but not writers: ending one
 * removes the parent's unfinished file.
 * Stack: no function needs more than 32 KiB of stack (s390x: 40), plus what your callbacks need.
 *
 * Structs. Set struct_size to sizeof the struct; ZT_INIT does. In options every other field may be 0, the default.
 * Structs may grow in later versions. The library accepts the smaller struct of an older header, and the larger one of
 * a newer header if its new fields are 0. Structs that the library fills need struct_size, too.
 *
 * Strings are UTF-8 and NUL-ended; paths are the platform's bytes. Many functions take a name and its length. Length 0
 * means that the name is NUL-ended; otherwise it has that many bytes and may contain NULs. Names in a file are any
 * bytes: see zt_object_name.
 *
 * Enumerations are integers of fixed width. An unknown value is ZT_ERROR_INVALID_ARGUMENT.
 * Units: sizes and offsets are bytes, counts and shapes are elements. Sizes of objects and files are uint64_t, sizes of your
 * memory are size_t. Elements are in the host's byte order.
 *
 * The library never prints, aborts, exits, reads the environment or installs a signal handler.
 */

#ifndef ZTENSOR_H
#define ZTENSOR_H

/* Generated from src/capi by cbindgen; do not edit. */

#include <stddef.h>
#include <stdint.h>

/// C++17, C23 and clang warn if a status is ignored, except from hints and functions that end a load.
#if defined(__cplusplus) && __cplusplus >= 201703L || defined(__STDC_VERSION__) && __STDC_VERSION__ >= 202311L
#define ZT_NODISCARD [[nodiscard]]
#elif defined(__clang__) && !defined(__cplusplus)
#define ZT_NODISCARD __attribute__((warn_unused_result))
#else
#define ZT_NODISCARD
#endif

/// Initializes a struct that begins with struct_size: zt_tensor tensor = ZT_INIT(zt_tensor);
#ifdef __cplusplus
#define ZT_INIT(T) ([] { T value = T(); value.struct_size = sizeof(T); return value; }())
#else
#define ZT_INIT(T) {.struct_size = sizeof(T)}
#endif

#ifdef __cplusplus
extern "C" {
#endif

/// An open file or model. It never changes.
typedef struct zt_file zt_file;

/// A named tensor of an open file.
typedef struct zt_object zt_object;

/// One blob of bytes of an object.
typedef struct zt_component zt_component;

/// A value of an attribute.
typedef struct zt_value zt_value;

/// Decoded bytes of a component. A buffer keeps its file open.
typedef struct zt_buffer zt_buffer;

/// Slices of open files in a fixed amount of memory (ztensor_advanced.h).
typedef struct zt_cache zt_cache;

/// A file that is being written.
///
/// A call with wrong arguments changes nothing. If writing fails (ZT_ERROR_IO, ZT_ERROR_CANCELLED, a failure
/// of a sink, ZT_ERROR_OUT_OF_MEMORY while bytes are written), the writer has failed: every later call
/// returns ZT_ERROR_STATE, and the destination is unchanged. End it with zt_write_abort or zt_write_finish,
/// never with both.
typedef struct zt_writer zt_writer;

/// Requests that are being read in the background.
typedef struct zt_load zt_load;

typedef uint32_t zt_advice; ///< A hint about what will be done with bytes.
typedef int32_t zt_attribute_kind; ///< What a zt_attribute holds.
typedef int32_t zt_cache_policy; ///< Which slice a cache removes when it needs a slot (ztensor_advanced.h).
typedef int32_t zt_container; ///< How a file is laid out.
typedef int32_t zt_digest; ///< A checksum algorithm.
typedef int32_t zt_direct; ///< Whether reads bypass the page cache.
typedef int32_t zt_dtype; ///< A storage type: how elements are stored.
typedef int32_t zt_encoding; ///< How stored bytes are encoded.
typedef int32_t zt_format; ///< Which components an object has.
typedef int32_t zt_load_kind; ///< What a zt_load_event reports.
typedef int32_t zt_load_order; ///< The order in which a load begins its requests.
typedef int32_t zt_mode; ///< How the file's bytes are reached.
typedef uint32_t zt_spec; ///< The version of the file to write.
typedef int32_t zt_status; ///< Outcome of a call. Numbers never change; treat an unknown one as an error.
typedef int32_t zt_type; ///< A logical type: what stored elements mean if they are not plain numbers of their dtype.
typedef int32_t zt_value_kind; ///< The kind of a value.

typedef struct zt_allocator zt_allocator;
typedef struct zt_array zt_array;
typedef struct zt_attribute zt_attribute;
typedef struct zt_cache_options zt_cache_options;
typedef struct zt_cache_pin zt_cache_pin;
typedef struct zt_cache_stats zt_cache_stats;
typedef struct zt_component_desc zt_component_desc;
typedef struct zt_component_info zt_component_info;
typedef struct zt_coo zt_coo;
typedef struct zt_copy_options zt_copy_options;
typedef struct zt_csr zt_csr;
typedef struct zt_identity zt_identity;
typedef struct zt_load_event zt_load_event;
typedef struct zt_load_options zt_load_options;
typedef struct zt_load_part_stats zt_load_part_stats;
typedef struct zt_model_info zt_model_info;
typedef struct zt_object_desc zt_object_desc;
typedef struct zt_object_info zt_object_info;
typedef struct zt_open_options zt_open_options;
typedef struct zt_part_info zt_part_info;
typedef struct zt_quantized zt_quantized;
typedef struct zt_quantized_desc zt_quantized_desc;
typedef struct zt_read_options zt_read_options;
typedef struct zt_read_request zt_read_request;
typedef struct zt_read_stats zt_read_stats;
typedef struct zt_repair_options zt_repair_options;
typedef struct zt_repair_report zt_repair_report;
typedef struct zt_sink zt_sink;
typedef struct zt_source zt_source;
typedef struct zt_source_range zt_source_range;
typedef struct zt_store zt_store;
typedef struct zt_tensor zt_tensor;
typedef struct zt_thread_hooks zt_thread_hooks;
typedef struct zt_verify_options zt_verify_options;
typedef struct zt_verify_report zt_verify_report;
typedef struct zt_write_options zt_write_options;
typedef struct zt_write_request zt_write_request;
typedef struct zt_write_summary zt_write_summary;

// -------------------------------------------------------------------------------------------------------------------
// 1. Status and errors
//
// A function that can fail returns a zt_status. Programs decide by the status; the message is for people.

/// The values of zt_status.
typedef enum zt_status_value {
    ZT_OK = 0, ///< Success.
    /// An argument is invalid: NULL, an unknown enum value, an index or range that is too large.
    ZT_ERROR_INVALID_ARGUMENT = 1,
    ZT_ERROR_IO = 2, ///< The operating system or a callback of the caller failed.
    ZT_ERROR_NOT_FOUND = 3, ///< The object, component, attribute or name does not exist.
    ZT_ERROR_UNKNOWN_CONTAINER = 4, ///< The content is not in a format that the library reads.
    ZT_ERROR_CORRUPT = 5, ///< The file breaks a rule of its format; the message names the rule.
    ZT_ERROR_DIGEST_MISMATCH = 6, ///< The bytes do not match their digest.
    ZT_ERROR_UNSUPPORTED = 7, ///< The library does not support this: an encoding, a dtype, a version.
    ZT_ERROR_LIMIT = 8, ///< A limit is exceeded: manifest size, decoded size, object count, memory, range of a dtype.
    /// The caller's memory is too small, or the data does not have the size that its shape needs.
    ZT_ERROR_BUFFER_SIZE = 9,
    /// The bytes cannot be borrowed: compressed, byte-swapped, not aligned, or not in memory.
    ZT_ERROR_NOT_MAPPABLE = 10,
    ZT_ERROR_STATE = 11, ///< The call is out of order: for example the writer has failed.
    ZT_ERROR_EXISTS = 12, ///< An object or component of that name exists already.
    ZT_ERROR_CANCELLED = 13, ///< A callback of the caller stopped the call.
    ZT_ERROR_OUT_OF_MEMORY = 14, ///< Memory could not be allocated.
    ZT_ERROR_INTERNAL = 15, ///< A bug of this library; please report the message.
    ZT_ERROR_NO_FILE = 16, ///< Nothing exists at the path.
    ZT_ERROR_TIMEOUT = 17, ///< The timeout passed.
    ZT_ERROR_BUSY = 18, ///< Another writer has the file: an append, an edit or a repair that has not ended.
} zt_status_value;

/// The calling thread's last failure in one line: path, object, component, offset, rule, the expected and
/// found numbers.
///
/// Returns "no error" before the first failure. The string is UTF-8, with names from the file escaped. It is
/// valid until the same thread's next failing call. Read it only after a failure. zt_load_next also sets it
/// if it returns ZT_OK but reports a failure.
const char *zt_last_error(void);

/// Returns the name of a status as this header spells it; "ZT_ERROR_UNKNOWN" for an unknown number. Never
/// NULL.
const char *zt_status_name(zt_status status);

/// Returns the short name of the broken rule, such as "range-manifest", if the calling thread's last failure
/// is a broken rule of a format; else "". Names never change their meaning.
const char *zt_last_error_rule(void);

/// Version of this header, first number.
#define ZT_VERSION_MAJOR 1
/// Second number.
#define ZT_VERSION_MINOR 0
/// Third number.
#define ZT_VERSION_PATCH 0
/// The binary interface that this header describes.
#define ZT_ABI_VERSION 1

/// Returns the version of the loaded library, such as "1.0.0".
const char *zt_version(void);

/// Returns the binary interface of the loaded library. It is compatible if it equals ZT_ABI_VERSION.
uint32_t zt_abi_version(void);

// -------------------------------------------------------------------------------------------------------------------
// 2. Opening
//
// Opening checks everything that the manifest and the file's size can show. It reads no tensor.

/// Opens one file. The content decides the container (docs/formats.md), not the name. For models use
/// zt_open_model.
///
/// path: used during the call only. options: NULL for the defaults. file: receives the handle, NULL on
/// failure. End it with zt_close.
/// Time and memory grow with the manifest, not with the tensors. Tensor bytes are read only if options.verify
/// is set. Returns ZT_ERROR_NO_FILE, ZT_ERROR_IO, ZT_ERROR_UNKNOWN_CONTAINER, ZT_ERROR_CORRUPT,
/// ZT_ERROR_LIMIT, ZT_ERROR_UNSUPPORTED (another major version; a file that cannot be mapped), ZT_ERROR_BUSY
/// (an append, an edit or a repair has not ended), and with options.verify ZT_ERROR_DIGEST_MISMATCH. If an
/// append was interrupted, ZT_ERROR_CORRUPT: zt_repair restores the file. Spec 1.2 section 5.
ZT_NODISCARD zt_status zt_open(const char *path, const zt_open_options *options, zt_file **file);

/// Opens a model of one or many files as one file.
///
/// path: a file of the model, its index, or its folder (docs/models.md). An index (JSON with "weight_map"),
/// or any of the files that it names, opens all of them. A numbered file (x-00001-of-00005.gguf) opens all
/// five. options.shards says when shards of zTensor 2 are opened. If path is a symbolic link, the other files
/// are looked for beside the link, then beside its target.
/// options: as for zt_open; max_objects and max_memory limit all files together. file: as for zt_open.
/// Returns what zt_open returns for each file. ZT_ERROR_NO_FILE if files are missing, which the message
/// names, or a folder has no model. ZT_ERROR_CORRUPT if two tensors share a name, or the files disagree on
/// their number; also if the index names a wrong file, or one outside of its folder.
/// ZT_ERROR_INVALID_ARGUMENT if a folder holds several models; the message lists them.
ZT_NODISCARD zt_status zt_open_model(const char *path, const zt_open_options *options, zt_file **file);

/// Opens a file that is in memory.
///
/// data, size: not copied; must stay valid and unchanged until the file is closed. Borrowed pointers point
/// into data. If it is not aligned for the elements, zt_component_ptr returns ZT_ERROR_NOT_MAPPABLE, and
/// zt_tensor_find copies.
/// options: mode and advice are ignored. file, statuses: as for zt_open.
ZT_NODISCARD zt_status zt_open_memory(const void *data, size_t size, const zt_open_options *options, zt_file **file);

/// Ends the handle. The file and everything borrowed from it end when no buffer, cache or load uses it.
void zt_close(zt_file *file);

// -------------------------------------------------------------------------------------------------------------------
// 3. Finding
//
// A file holds named objects. An object has a shape, a format and components; a dense tensor has one component,
// "data".

/// A dense tensor.
struct zt_tensor {
    size_t struct_size;
    const void *data; ///< The elements, row-major, in the host's byte order. Not NULL. Always aligned.
    size_t size; ///< Bytes at data.
    zt_dtype dtype; ///< The storage type.
    zt_type type; ///< The logical type.
    const uint64_t *shape; ///< The dimensions, outermost first.
    size_t rank; ///< Number of dimensions.
};

/// Finds a dense tensor, or a tensor that consists of blocks, by name and gives its bytes: borrowed if
/// zt_component_ptr works, else decoded once into memory that the file keeps until it is closed.
///
/// name: NUL-ended, as for zt_object_find. view: filled on success.
/// Returns ZT_ERROR_NOT_FOUND, ZT_ERROR_UNSUPPORTED (another format, unknown dtype or encoding), or what
/// zt_component_read returns. Spec 1.2 section 3.
ZT_NODISCARD zt_status zt_tensor_find(const zt_file *file, const char *name, zt_tensor *view);

/// As zt_tensor_find, for an object.
ZT_NODISCARD zt_status zt_tensor_view(const zt_object *object, zt_tensor *view);

/// The object of that name; NULL if absent. The first one if a 0.1 file has several.
/// name: the bytes of zt_object_name, NUL-ended. For names that contain a NUL, use zt_object_find_n.
/// A missing object is not a failure: zt_last_error stays unchanged.
const zt_object *zt_object_find(const zt_file *file, const char *name);

/// Number of objects.
size_t zt_object_count(const zt_file *file);

/// The object at index, in file order, for a model one file after the other; NULL if index is not below
/// zt_object_count.
const zt_object *zt_object_at(const zt_file *file, size_t index);

/// Metadata of an object. offset, stored_size, size, dtype, type and encoding describe component; they are 0
/// if it is NULL.
struct zt_object_info {
    size_t struct_size;
    const zt_object *object; ///< The object.
    const char *name; ///< The name, NUL-ended, not NULL.
    size_t name_length; ///< Bytes of the name without the NUL.
    const uint64_t *shape; ///< The dimensions, outermost first, not NULL.
    size_t rank; ///< Number of dimensions.
    const zt_value *attributes; ///< The attributes, a map; NULL if absent.
    size_t component_count; ///< Number of components.
    const zt_component *component; ///< Component "data" of a dense object or of blocks; NULL for other formats.
    uint64_t offset; ///< First stored byte, counted from the start of its file (zt_part_info).
    uint64_t stored_size; ///< Stored bytes.
    uint64_t size; ///< Decoded bytes, as for zt_component_size.
    zt_format format; ///< The format.
    zt_dtype dtype; ///< The storage type.
    zt_type type; ///< The logical type.
    zt_encoding encoding; ///< The encoding.
    /// With ZT_FORMAT_OTHER the name in the file, with ZT_FORMAT_BLOCKS a name such as "gguf.q4_0/1", else
    /// NULL.
    const char *format_name;
};

/// Fills a struct for each of many objects, in file order. The fastest way to list a file: it allocates and
/// decodes nothing.
///
/// first: the first object; beyond the last one the call fills nothing and returns ZT_OK. infos, count: an
/// array; set struct_size of the first struct only. filled: receives the number of filled structs.
ZT_NODISCARD zt_status zt_object_list(const zt_file *file, size_t first, zt_object_info *infos, size_t count,
    size_t *filled);

/// Fills info for an object.
ZT_NODISCARD zt_status zt_object_get_info(const zt_object *object, zt_object_info *info);

/// The name as in the file, and a NUL. UTF-8, but GGUF and PyTorch files may have other bytes. It may contain
/// a NUL: zt_object_info has the length. If a PyTorch or npz file has several objects "a.b", the later ones
/// are called "a.b#2", "a.b#3".
const char *zt_object_name(const zt_object *object);

/// Number of dimensions; 0 for a scalar.
size_t zt_object_rank(const zt_object *object);

/// The dimensions, outermost first. Not NULL for a scalar.
const uint64_t *zt_object_shape(const zt_object *object);

/// Product of the dimensions; 1 for a scalar. UINT64_MAX if it exceeds 64 bits (only sparse and unknown
/// formats).
uint64_t zt_object_element_count(const zt_object *object);

/// The format; ZT_FORMAT_OTHER if it is unknown.
zt_format zt_object_format(const zt_object *object);

/// The component of that role ("data", "values", "scales"); NULL if absent, which is not a failure.
const zt_component *zt_component_find(const zt_object *object, const char *role);

/// Number of components.
size_t zt_component_count(const zt_object *object);

/// The component at index, in file order; NULL if index is not below zt_component_count.
const zt_component *zt_component_at(const zt_object *object, size_t index);

/// Metadata of a component.
struct zt_component_info {
    size_t struct_size;
    const zt_component *component; ///< The component.
    const zt_object *object; ///< Its object.
    const char *role; ///< The role, NUL-ended, not NULL.
    size_t role_length; ///< Bytes of the role without the NUL.
    const char *digest; ///< The digest; NULL if absent.
    /// First stored byte, counted from the start of its file (zt_part_info); a multiple of 64 in a .zt file.
    uint64_t offset;
    uint64_t stored_size; ///< Stored bytes: compressed if the encoding compresses.
    uint64_t size; ///< Decoded bytes, as for zt_component_size.
    zt_dtype dtype; ///< The storage type.
    zt_type type; ///< The logical type.
    zt_encoding encoding; ///< The encoding.
    uint32_t part; ///< The part of the model that has its bytes.
    const char *dtype_name; ///< The file's own name of the storage type if dtype is ZT_DTYPE_OTHER, else NULL.
    const char *type_name; ///< The file's own name of the logical type if type is ZT_TYPE_OTHER, else NULL.
    const char *encoding_name; ///< The file's own name of the encoding if encoding is ZT_ENCODING_OTHER, else NULL.
};

/// Fills info for a component.
ZT_NODISCARD zt_status zt_component_get_info(const zt_component *component, zt_component_info *info);

/// The component's name within its object, UTF-8.
const char *zt_component_role(const zt_component *component);

/// The storage type; ZT_DTYPE_OTHER if it is unknown. Spec 1.2 section 2.
zt_dtype zt_component_dtype(const zt_component *component);

/// The logical type; ZT_TYPE_NONE if the elements are what the dtype says, ZT_TYPE_OTHER if it is unknown.
/// Spec 1.2 section 2.
zt_type zt_component_type(const zt_component *component);

/// The encoding; ZT_ENCODING_OTHER if it is unknown.
zt_encoding zt_component_encoding(const zt_component *component);

/// Decoded bytes: the memory that zt_component_read needs. ZT_UNKNOWN_SIZE if the file does not declare it
/// (some compressed components before 1.2, unknown encodings); see zt_component_measure.
uint64_t zt_component_size(const zt_component *component);

/// The digest as in the file, "sha256:8f4a..." or "crc32c:0x449BD6A9"; NULL if absent. In zTensor 2 it covers
/// the decoded bytes, else the stored bytes.
const char *zt_component_digest(const zt_component *component);

// -------------------------------------------------------------------------------------------------------------------
// 4. How a file is open
//
// Options of opening; the files that a model is made of.

/// The values of zt_mode.
typedef enum zt_mode_value {
    /// Map the file; bytes can be borrowed. If another program truncates the file, touching the lost part
    /// raises SIGBUS. If it writes to the file, the bytes change and no call detects it.
    ZT_MODE_MAP = 0,
    /// Read the file, never map it. After the file's size or modification time has changed, reads return
    /// ZT_ERROR_IO, unless a .zt file only grew by an append.
    ZT_MODE_READ = 1,
    /// ZT_MODE_READ on a network or user-space file system, if the system refuses to map the file, or if the
    /// address space is too small; else ZT_MODE_MAP. zt_file_mode returns the choice.
    ZT_MODE_AUTO = 2,
    /// ZT_MODE_MAP, but the caller may write to borrowed bytes after casting away const. Pages that are
    /// written become private copies of this handle; the file does not change. Borrowed pointers and buffers
    /// show the changes. Other reads, zt_verify and zt_write_copy use the file's bytes.
    ZT_MODE_PRIVATE = 3,
} zt_mode_value;

/// Reports progress: done of total bytes. Return 0 to go on, anything else to stop the call with
/// ZT_ERROR_CANCELLED.
/// Calls come from one thread at a time, not always the caller's. After a stop no further call comes.
typedef int32_t (*zt_progress_callback)(void *context, uint64_t done, uint64_t total);

/// How to open a file.
struct zt_open_options {
    size_t struct_size;
    zt_mode mode; ///< How bytes are reached; 0 is ZT_MODE_MAP.
    uint32_t verify; ///< 1: also check every digest, including those of whole shards. 0: check the structure.
    /// 1: opening rejects unknown dtypes, encodings and formats, malformed digests and versions, and 1.2
    /// sparse indices other than u64; reading rejects bool bytes other than 0 and 1, zt_verify nonzero
    /// padding. 0: opening and reading accept all of this.
    uint32_t strict;
    zt_advice advice; ///< A hint for the whole file; the system may ignore it.
    uint64_t max_manifest_size; ///< Largest manifest in bytes; 0: 1 GiB.
    /// Largest decoded size of a compressed component in bytes; 0: the larger of 1 GiB and 256 times its
    /// stored size.
    uint64_t max_decoded_size;
    uint64_t max_objects; ///< Largest number of objects; 0: 2^24.
    /// Threads for one large component in calls without an options argument, such as zt_component_read. 1:
    /// the caller's thread only. 0: the library chooses, at most 4.
    uint32_t threads;
    /// Containers that may be opened: a set of 1u << ZT_CONTAINER_...; 0: all. Others are
    /// ZT_ERROR_UNSUPPORTED.
    uint32_t containers;
    /// Largest memory in bytes for manifests, tables, names and attributes, checked before it is allocated.
    /// 0: the larger of 256 MiB and 16 times the model's largest manifest.
    uint64_t max_memory;
    void *context; ///< Passed to progress.
    zt_progress_callback progress; ///< With verify: reports the stored bytes that were checked.
    const char *name; ///< What messages call the file; NULL: its path. Copied.
    /// Allocates what zt_component_load and zt_tensor_find decode into; NULL: the library's. Copied.
    const zt_allocator *allocator;
    /// Called on threads that the library starts for the file; NULL: none. Copied.
    const zt_thread_hooks *thread_hooks;
    const char *shard_folder; ///< The folder of shards; NULL: the folder of the file. Copied.
    uint32_t shards; ///< When shards are opened: a ZT_SHARDS_ value of ztensor_advanced.h.
    uint32_t part; ///< 1: zt_open_model opens only the file at path. 0: the whole model.
    uint32_t include_unlisted; ///< 1: include tensors that an index does not name; zt_model_get_info counts them.
    uint32_t allow_trailing; ///< 1: accept bytes behind the content of a safetensors, npz or PyTorch file.
    /// 1: join the tensors of a quantized weight (GPTQ, AWQ, fp8, ...; docs/quantised.md) to one object with
    /// its name and shape; zt_object_read_as reads its numbers. Most schemes need config.json beside the
    /// model. 0: list packed integers and scales as separate tensors.
    uint32_t combine_quantized;
    uint32_t reserved; ///< Must be 0.
};

/// The file's mode, never ZT_MODE_AUTO: you get the mode that AUTO chose. ZT_MODE_MAP for a file in memory;
/// ZT_MODE_READ for a zt_source, and for a model whose files have different modes.
zt_mode zt_file_mode(const zt_file *file);

/// The version in the file: "0.1.0", "1.0", "1.1.0", "1.2.0", "2", of GGUF "3"; "" if the container has none.
/// Of a model, the version of part 0.
const char *zt_file_version(const zt_file *file);

/// Number of files of a model. Shards that a zTensor 2 file lists come last. 1 for a single file.
size_t zt_part_count(const zt_file *file);

/// One file of a model. A single file is its own part 0.
struct zt_part_info {
    size_t struct_size;
    const char *path; ///< The path of the part, or the path where a missing shard is expected; NULL if it has none.
    uint64_t size; ///< Bytes of the part; 0 for a shard that is not open.
    zt_container container; ///< The part's container; ZT_CONTAINER_NONE for a shard that is not open.
    uint32_t reserved; ///< 0.
};

/// Fills info for a part, which has to be below zt_part_count. Opens nothing.
ZT_NODISCARD zt_status zt_part_get_info(const zt_file *file, size_t part, zt_part_info *info);

// -------------------------------------------------------------------------------------------------------------------
// 5. Reading
//
// zt_component_ptr borrows bytes, zt_object_read_as converts numbers, zt_component_read copies bytes.
// zt_read_batch does all of this for many requests on several threads.

/// Borrows the component's bytes without copying. They are read-only, except in ZT_MODE_PRIVATE.
///
/// ptr: receives a pointer, not NULL even for 0 bytes. In a .zt file that was opened by path it is 64-byte
/// aligned. size: receives the number of bytes; may be NULL.
/// Returns ZT_ERROR_NOT_MAPPABLE if the component is compressed, of the other byte order, not aligned for its
/// elements, or in a file that is neither mapped nor in memory. Then use zt_component_read.
/// ZT_ERROR_UNSUPPORTED for an unknown dtype or encoding. Spec 1.2 section 3.
ZT_NODISCARD zt_status zt_component_ptr(const zt_component *component, const void **ptr, size_t *size);

/// Reads all numbers of an object as elements of another dtype, row-major.
///
/// dtype: the target. dst, dst_size: memory for at least the bytes that zt_object_size_as gives; a smaller
/// dst_size is ZT_ERROR_BUFFER_SIZE. written: receives the bytes written; may be NULL. The rest of dst stays
/// unchanged. On failure the content of dst is undefined.
/// Each number is rounded once, to the nearest value of dtype, ties to even. As an integer, 1.5 and 2.5
/// become 2. Float types keep infinity and NaN. With ZT_DTYPE_BOOL any nonzero number becomes true. A complex
/// element becomes two numbers. Elements that a sparse object does not have are 0. Blocks of GGUF are first
/// decoded to f32 by ggml's scalar formula. Quantized weights are decoded as docs/quantised.md and
/// docs/formats.md define. From blocks and quantized weights, dtype must be a float type. Returns
/// ZT_ERROR_LIMIT if a finite number is too large for a float type, or an integer type cannot hold a number,
/// infinity or NaN; the message gives the count. To accept such loss, use zt_read_batch with
/// zt_read_request.lossy. Otherwise returns what zt_object_size_as and zt_component_read return.
ZT_NODISCARD zt_status zt_object_read_as(const zt_object *object, zt_dtype dtype, void *dst, size_t dst_size,
    size_t *written);

/// The bytes that zt_object_read_as writes: elements (complex ones twice) times zt_dtype_size. Reads nothing.
/// Returns ZT_ERROR_UNSUPPORTED if the library cannot convert the numbers; the message names the type or the
/// format (docs/formats.md). ZT_ERROR_CORRUPT if components are missing; ZT_ERROR_LIMIT above 64 bits.
ZT_NODISCARD zt_status zt_object_size_as(const zt_object *object, zt_dtype dtype, uint64_t *size);

/// Reads the component's decoded bytes into the caller's memory, in the host's byte order.
///
/// dst, dst_size: memory for at least zt_component_size bytes, of any alignment; a smaller dst_size is
/// ZT_ERROR_BUFFER_SIZE. The rest of dst stays unchanged. On failure the content of dst is undefined.
/// Does not check digests: see zt_verify, zt_read_options.verify and zt_open_options.verify.
/// Returns ZT_ERROR_CORRUPT (compressed bytes are damaged or have another size than declared),
/// ZT_ERROR_UNSUPPORTED (unknown dtype or encoding), ZT_ERROR_LIMIT, ZT_ERROR_IO.
/// For a large component the call may start threads (zt_open_options.threads). Spec 1.2 section 5.
ZT_NODISCARD zt_status zt_component_read(const zt_component *component, void *dst, size_t dst_size);

/// Reads size decoded bytes from offset on. Of zstd data only the frames that the range touches are decoded,
/// if the frames declare their sizes.
/// Returns ZT_ERROR_INVALID_ARGUMENT if the range exceeds zt_component_size, ZT_ERROR_UNSUPPORTED for zstd
/// frames that do not declare their size and have a window above 128 MiB, else as zt_component_read.
ZT_NODISCARD zt_status zt_component_read_range(const zt_component *component, uint64_t offset, void *dst,
    size_t size);

/// Reads a slice of a dense object: in dimension i the count[i] elements start[i], start[i] + step[i], and so
/// on. Only these bytes are read if the encoding allows it.
///
/// start, count: rank numbers each; NULL only for a scalar. step: likewise; NULL for 1 in every dimension, 0
/// is invalid. dst, dst_size: receives the elements row-major without gaps, in the host's byte order; too
/// little is ZT_ERROR_BUFFER_SIZE.
/// Returns ZT_ERROR_INVALID_ARGUMENT if the slice exceeds the shape, ZT_ERROR_UNSUPPORTED if the object is
/// not dense (zt_read_batch reads slices of the numbers of any object), else as zt_component_read.
ZT_NODISCARD zt_status zt_object_read_slice(const zt_object *object, const uint64_t *start, const uint64_t *count,
    const uint64_t *step, void *dst, size_t dst_size);

/// The length of a range that goes to the end.
#define ZT_WHOLE 18446744073709551615ull

/// One read of a batch or load. To read bytes, set component. To read numbers, set convert, and component or
/// object. Set dst, dst_size, and one of these: length = ZT_WHOLE for everything; offset and length for a
/// range of a component; start and count for a slice; rows (of a component: and row_length).
struct zt_read_request {
    size_t struct_size;
    const zt_component *component; ///< The component to read; NULL if object is set.
    uint64_t offset; ///< First decoded byte of a range.
    uint64_t length; ///< Bytes of the range: ZT_WHOLE to the end; 0 reads nothing. For a slice or rows it must be 0.
    const uint64_t *start; ///< For a slice: rank starts, as for zt_object_read_slice; else NULL.
    const uint64_t *count; ///< For a slice: rank counts; else NULL.
    const uint64_t *step; ///< Rank steps; NULL for 1.
    /// Receives the bytes. The memory of two requests in one call must not overlap. In a load, NULL and
    /// dst_size 0 ask for a slot of the ring.
    void *dst;
    size_t dst_size; ///< Bytes at dst: at least what the request reads.
    uint64_t tag; ///< Passed to on_done and events; the library does not use it.
    /// For evenly spaced rows: their number; else 0. Row i is row_length bytes at offset + i * row_stride and
    /// goes to dst + i * dst_stride.
    uint64_t rows;
    uint64_t row_length; ///< Decoded bytes of a row; whole elements if they are converted or swapped.
    uint64_t row_stride; ///< From one row to the next in the component, at least row_length; 0 for row_length.
    /// From one row to the next at dst, at least row_length; 0 for row_length. Bytes between rows stay
    /// unchanged.
    uint64_t dst_stride;
    uint32_t verify; ///< 1: check digests if everything is read; not for a range, slice or rows.
    /// The dtype to convert to, as zt_object_read_as does; 0 for none. Sizes at dst are those after
    /// conversion. Ranges, rows and slices must then be whole elements or blocks.
    zt_dtype convert;
    /// 1: a conversion may lose numbers: too large floats become infinity, integers saturate, NaN becomes 0.
    /// 0: ZT_ERROR_LIMIT.
    uint32_t lossy;
    uint32_t reserved; ///< Must be 0.
    /// The object whose numbers to read, as zt_object_read_as does; NULL if component is set. A row of an
    /// object is its whole last dimension: offset and row_stride count rows, row_length must be 0, dst_stride
    /// is in bytes.
    const zt_object *object;
};

/// The values of zt_direct.
typedef enum zt_direct_value {
    /// Bypass the page cache where that is faster: in a large batch, for bytes that are not in the page
    /// cache.
    ZT_DIRECT_AUTO = 0,
    ZT_DIRECT_NEVER = 1, ///< Read through the page cache: for bytes that will be read again.
    /// Bypass the page cache; ZT_ERROR_UNSUPPORTED if the file system cannot. A failed direct read is
    /// repeated through the page cache; zt_read_stats.reason says so.
    ZT_DIRECT_ALWAYS = 2,
} zt_direct_value;

/// Reports that a request is done, with its tag and status. message: as for zt_last_error, valid during the
/// call; "" for ZT_OK.
/// Calls come from one thread at a time, not always the caller's. The callback must not call zt_read_batch on
/// the same file.
typedef void (*zt_done_callback)(void *context, uint64_t tag, zt_status status, const char *message);

/// How to read a batch.
struct zt_read_options {
    size_t struct_size;
    uint32_t threads; ///< Number of threads; 1: the caller's only. 0: the library chooses, at most 16.
    zt_direct direct; ///< Whether to bypass the page cache.
    uint64_t chunk_size; ///< Bytes that a thread reads at a time, at least 4096; 0: 4 MiB.
    /// Largest temporary memory of all threads together in bytes; 0: 256 MiB. One request may use more if it
    /// needs it.
    uint64_t in_flight;
    uint32_t verify; ///< 1: check the digest of every component that is read whole and has one.
    /// 1: your memory at every dst is page-locked (CUDA: pinned) or on huge pages. Direct reads then go
    /// straight into it.
    uint32_t pinned;
    void *context; ///< Passed to the callbacks.
    zt_done_callback on_done; ///< Called for every request that is done; may be NULL.
    zt_progress_callback progress; ///< Reports the bytes delivered; may be NULL.
    /// 1: go on past requests that fail, but wrong arguments still refuse all. on_done gets every status,
    /// zt_read_stats.failed counts the failures.
    uint32_t keep_going;
    uint32_t reserved; ///< Must be 0.
};

/// What a batch or load did.
struct zt_read_stats {
    size_t struct_size;
    uint64_t bytes; ///< Bytes delivered.
    uint64_t stored_bytes; ///< Stored bytes that were read for them.
    uint64_t requests; ///< Requests that are done.
    uint64_t digests_verified; ///< Requests whose digests were checked and match.
    uint64_t nanoseconds; ///< Elapsed time.
    uint32_t threads; ///< Threads that were used.
    uint32_t direct; ///< 1 if reads bypassed the page cache.
    const char *reason; ///< Why the page cache was used or bypassed, in one line; valid as long as the library.
    uint64_t failed; ///< Requests that failed; 0 if wrong arguments refused the batch.
};

/// Reads many components, ranges and slices in one call: sorted by file position, on several threads,
/// straight into the caller's memory where the encoding allows.
///
/// requests, count: used during the call. options: NULL for the defaults. stats: may be NULL; filled on
/// failure, too.
/// Returns the first failure, which stops the batch unless options.keep_going is set. on_done reports which
/// requests are done; the content of the other destinations is undefined.
/// Returns what zt_component_read, zt_component_read_range, zt_object_read_slice and zt_verify return;
/// ZT_ERROR_CANCELLED if progress stops it.
ZT_NODISCARD zt_status zt_read_batch(const zt_file *file, const zt_read_request *requests, size_t count,
    const zt_read_options *options, zt_read_stats *stats);

/// Gives the component's decoded bytes in a buffer, 64-byte aligned: borrowed if they are mapped and aligned,
/// else in new memory (zt_open_options.allocator).
///
/// options: NULL to read as zt_component_read; else as zt_read_batch with this one request. buffer: receives
/// the buffer, NULL on failure. End it with zt_buffer_free. It keeps the file open.
/// Returns as zt_component_read and zt_read_batch. Before it allocates, the library checks that the stored
/// bytes can give the declared size.
ZT_NODISCARD zt_status zt_component_load(const zt_component *component, const zt_read_options *options,
    zt_buffer **buffer);

/// The bytes of a buffer, valid until zt_buffer_free; NULL only for NULL.
const void *zt_buffer_data(const zt_buffer *buffer);

/// Number of bytes of a buffer.
size_t zt_buffer_size(const zt_buffer *buffer);

/// Ends a buffer and releases its reference to the file. No other thread may use the buffer.
void zt_buffer_free(zt_buffer *buffer);

// -------------------------------------------------------------------------------------------------------------------
// 6. Types
//
// A zt_dtype is a storage type, a zt_type a logical type. If a file has a name that this version does not know,
// the value is OTHER, and zt_object_info or zt_component_info has the name.

/// A size that the file does not declare and that is not known yet.
#define ZT_UNKNOWN_SIZE 18446744073709551615ull

/// The values of zt_dtype. 0.1 and 1.0 files use other names, such as "float32" for ZT_DTYPE_F32.
typedef enum zt_dtype_value {
    ZT_DTYPE_OTHER = 0, ///< An unknown name: zt_component_info.dtype_name.
    ZT_DTYPE_F64 = 1, ///< IEEE 754 double precision, 8 bytes.
    ZT_DTYPE_F32 = 2, ///< IEEE 754 single precision, 4 bytes.
    ZT_DTYPE_F16 = 3, ///< IEEE 754 half precision, 2 bytes.
    ZT_DTYPE_BF16 = 4, ///< bfloat16, 2 bytes.
    ZT_DTYPE_I64 = 5, ///< Two's complement, 8 bytes.
    ZT_DTYPE_I32 = 6, ///< Two's complement, 4 bytes.
    ZT_DTYPE_I16 = 7, ///< Two's complement, 2 bytes.
    ZT_DTYPE_I8 = 8, ///< Two's complement, 1 byte.
    ZT_DTYPE_U64 = 9, ///< Unsigned, 8 bytes.
    ZT_DTYPE_U32 = 10, ///< Unsigned, 4 bytes.
    ZT_DTYPE_U16 = 11, ///< Unsigned, 2 bytes.
    ZT_DTYPE_U8 = 12, ///< Unsigned, 1 byte.
    ZT_DTYPE_BOOL = 13, ///< 1 byte: 0 is false, 1 is true. From 1.1 on, writing and zt_verify reject other bytes.
} zt_dtype_value;

/// The values of zt_type. An f8 or complex tensor has a dtype and a type, such as ZT_DTYPE_U8 and
/// ZT_TYPE_F8_E4M3FN (a 1.1 file has one name for both). ZT_TYPE_GGUF_ are block types, stored as u8: see
/// zt_type_block.
typedef enum zt_type_value {
    ZT_TYPE_NONE = 0, ///< None: the elements are what the dtype says.
    ZT_TYPE_F8_E4M3FN = 1, ///< 8-bit float, 4 exponent bits, finite: stored as u8.
    ZT_TYPE_F8_E5M2 = 2, ///< 8-bit float, 5 exponent bits: stored as u8.
    ZT_TYPE_F8_E4M3FNUZ = 3, ///< 8-bit float, 4 exponent bits, finite, unsigned zero: stored as u8.
    ZT_TYPE_F8_E5M2FNUZ = 4, ///< 8-bit float, 5 exponent bits, finite, unsigned zero: stored as u8.
    ZT_TYPE_COMPLEX64 = 5, ///< Pairs of f32: real, imaginary.
    ZT_TYPE_COMPLEX128 = 6, ///< Pairs of f64: real, imaginary.
    ZT_TYPE_OTHER = 7, ///< An unknown name: zt_component_info.type_name.
    ZT_TYPE_F8_E8M0 = 8, ///< 8-bit power of two: a scale. Stored as u8.
    ZT_TYPE_F4_E2M1 = 9, ///< 4-bit float: 2 elements in a byte, the first one in its low bits.
    ZT_TYPE_F6_E2M3 = 10, ///< 6-bit float, 2 exponent bits: 4 elements in 3 bytes, the first one in the lowest bits.
    ZT_TYPE_F6_E3M2 = 11, ///< 6-bit float, 3 exponent bits: 4 elements in 3 bytes, the first one in the lowest bits.
    ZT_TYPE_COMPLEX32 = 12, ///< Pairs of f16: real, imaginary.
    ZT_TYPE_GGUF_Q4_0 = 32, ZT_TYPE_GGUF_Q4_1 = 33, ZT_TYPE_GGUF_Q5_0 = 34, ZT_TYPE_GGUF_Q5_1 = 35,
    ZT_TYPE_GGUF_Q8_0 = 36, ZT_TYPE_GGUF_Q8_1 = 37, ZT_TYPE_GGUF_Q2_K = 38, ZT_TYPE_GGUF_Q3_K = 39,
    ZT_TYPE_GGUF_Q4_K = 40, ZT_TYPE_GGUF_Q5_K = 41, ZT_TYPE_GGUF_Q6_K = 42, ZT_TYPE_GGUF_Q8_K = 43,
    ZT_TYPE_GGUF_IQ2_XXS = 44, ZT_TYPE_GGUF_IQ2_XS = 45, ZT_TYPE_GGUF_IQ3_XXS = 46, ZT_TYPE_GGUF_IQ1_S = 47,
    ZT_TYPE_GGUF_IQ4_NL = 48, ZT_TYPE_GGUF_IQ3_S = 49, ZT_TYPE_GGUF_IQ2_S = 50, ZT_TYPE_GGUF_IQ4_XS = 51,
    ZT_TYPE_GGUF_IQ1_M = 52, ZT_TYPE_GGUF_TQ1_0 = 53, ZT_TYPE_GGUF_TQ2_0 = 54, ZT_TYPE_GGUF_MXFP4 = 55,
    ZT_TYPE_GGUF_NVFP4 = 56, ZT_TYPE_GGUF_Q1_0 = 57, ZT_TYPE_GGUF_Q2_0 = 58,
} zt_type_value;

/// The values of zt_format. Spec 1.2 section 3.
typedef enum zt_format_value {
    ZT_FORMAT_OTHER = 0, ///< An unknown name (zt_object_info.format_name), or a layout of 0.1 that is not dense.
    ZT_FORMAT_DENSE = 1, ///< One row-major array: component "data".
    ZT_FORMAT_SPARSE_CSR = 2, ///< Compressed sparse rows: "values", "indices", "indptr".
    ZT_FORMAT_SPARSE_COO = 3, ///< Coordinate list: "values", "coords".
    ZT_FORMAT_QUANTIZED_GROUP = 4, ///< Quantized groups: "packed_weight", "scales" and optionally "zeros".
    ZT_FORMAT_BLOCKS = 5, ///< Blocks of a ZT_TYPE_GGUF_ type: component "data". See zt_type_block.
} zt_format_value;

/// The values of zt_encoding.
typedef enum zt_encoding_value {
    ZT_ENCODING_DEFAULT = 0, ///< Only for writing: the writer's option. Components of files never have it.
    ZT_ENCODING_RAW = 1, ///< As they are.
    ZT_ENCODING_ZSTD = 2, ///< Zstandard frames (RFC 8878).
    ZT_ENCODING_OTHER = 3, ///< An unknown name: zt_component_info.encoding_name. The bytes cannot be decoded.
    ZT_ENCODING_DEFLATE = 4, ///< Deflate (RFC 1951), in npz files. Read only.
    /// Zstandard frames and their table: the form of ZT_ENCODING_ZSTD in zTensor 2; not for other versions.
    ZT_ENCODING_ZSTD_SEEKABLE = 5,
} zt_encoding_value;

/// The values of zt_container, detected by content. docs/formats.md lists what is read.
typedef enum zt_container_value {
    ZT_CONTAINER_NONE = 0, ///< No file.
    ZT_CONTAINER_ZT_0_1 = 1, ZT_CONTAINER_ZT_1_0 = 2, ZT_CONTAINER_ZT_1_1 = 3, ZT_CONTAINER_ZT_1_2 = 4,
    ZT_CONTAINER_ZT_2 = 5, ZT_CONTAINER_SAFETENSORS = 6, ZT_CONTAINER_GGUF = 7, ZT_CONTAINER_NPZ = 8,
    ZT_CONTAINER_TORCH = 9,
} zt_container_value;

/// The name of a dtype, "bf16"; NULL if it has none.
const char *zt_dtype_name(zt_dtype dtype);

/// The dtype of a name such as "bf16" or, of 0.1, "bfloat16". Returns ZT_ERROR_NOT_FOUND for an unknown name.
ZT_NODISCARD zt_status zt_dtype_from_name(const char *name, zt_dtype *dtype);

/// Bytes of one element; 0 for ZT_DTYPE_OTHER and unknown numbers.
size_t zt_dtype_size(zt_dtype dtype);

/// The name of a logical type, "f8_e4m3fn", "gguf.q4_0"; NULL if it has none.
const char *zt_type_name(zt_type type);

/// The logical type of a name. Returns ZT_ERROR_NOT_FOUND for an unknown name.
ZT_NODISCARD zt_status zt_type_from_name(const char *name, zt_type *type);

/// How many elements of a type lie in how many bytes: 2 in 1 for ZT_TYPE_F4_E2M1, 32 in 18 for
/// ZT_TYPE_GGUF_Q4_0, 1 in 8 for ZT_TYPE_COMPLEX64. elements, bytes: either may be NULL.
/// Returns ZT_ERROR_INVALID_ARGUMENT for ZT_TYPE_NONE, ZT_TYPE_OTHER and unknown numbers.
ZT_NODISCARD zt_status zt_type_block(zt_type type, size_t *elements, size_t *bytes);

/// The name of a format, "sparse_csr"; NULL for ZT_FORMAT_OTHER and ZT_FORMAT_BLOCKS.
const char *zt_format_name(zt_format format);

/// The name of an encoding, "zstd"; NULL for ZT_ENCODING_DEFAULT and ZT_ENCODING_OTHER.
const char *zt_encoding_name(zt_encoding encoding);

/// The name of a container, "safetensors"; NULL for ZT_CONTAINER_NONE and unknown numbers.
const char *zt_container_name(zt_container container);

// -------------------------------------------------------------------------------------------------------------------
// 7. Streaming
//
// A load reads many requests in the background and hands out each piece when it is there, in a ring of slots
// that never grows.

/// Starts to read the requests in the background and returns at once; zt_load_next gives what was read.
///
/// requests, count: used during the call; each may be of another file. options: NULL for the defaults. load:
/// receives the handle, NULL on failure. End it with zt_load_finish. Until then the load keeps its files
/// open, and you keep every dst and the ring. Do not touch a dst before its event.
/// A request without dst (NULL, dst_size 0) is delivered in a slot of the ring. Small requests share a slot.
/// A request larger than a slot comes in several pieces, in any order; event.offset says where a piece
/// belongs, and it may end within an element. Such a request needs temporary memory for its whole size if it
/// is compressed, verified, a slice, rows, sparse or quantized; if that exceeds in_flight, it is
/// ZT_ERROR_LIMIT.
/// For wrong requests returns what zt_read_batch returns; errors of reading come as events. Starts threads,
/// which live until zt_load_finish. If no thread can be started, zt_load_next reads.
ZT_NODISCARD zt_status zt_load_start(const zt_read_request *requests, size_t count, const zt_load_options *options,
    zt_load **load);

/// Waits for the next event of a load: bytes, a failed request, the end, or nothing if the timeout passes.
///
/// timeout_ns: nanoseconds; 0 does not wait, below 0 waits without limit. After the end every call reports
/// the end. A request of 0 bytes gives one event of size 0. Bytes for the ring need a free slot: release
/// events before you wait again, or a wait without a timeout may never end. Returns ZT_OK also if the event
/// reports a failed request or a failed load. ZT_ERROR_STATE in a forked child.
/// Several threads may call it at once; each event goes to one of them.
ZT_NODISCARD zt_status zt_load_next(const zt_load *load, int64_t timeout_ns, zt_load_event *event);

/// Releases the bytes of an event. When all bytes of a slot are released, the slot is filled again.
/// event: as zt_load_next filled it, or a copy. NULL, an event without a slot and a second release do
/// nothing. Any thread may call it.
void zt_load_release(const zt_load *load, const zt_load_event *event);

/// Stops a load: every thread that waits in zt_load_next gets ZT_LOAD_KIND_DONE with status
/// ZT_ERROR_CANCELLED. A load that has ended stays unchanged. Returns ZT_ERROR_STATE in a forked child.
zt_status zt_load_cancel(const zt_load *load);

/// Ends a load: stops it if it is not done, waits for its threads, frees its ring.
///
/// load: NULL does nothing. stats: may be NULL; filled on failure, too.
/// Returns ZT_OK if everything was read, else the first failure, or ZT_ERROR_CANCELLED. In a forked child
/// ZT_ERROR_STATE, and nothing changes. No other thread may use load.
zt_status zt_load_finish(zt_load *load, zt_read_stats *stats);

/// The values of zt_load_order.
typedef enum zt_load_order_value {
    ZT_LOAD_ORDER_POSITION = 0, ///< By file and offset, which suits disks.
    ZT_LOAD_ORDER_GIVEN = 1, ///< As given.
    ZT_LOAD_ORDER_LARGEST = 2, ///< Largest first.
} zt_load_order_value;

/// How to load.
struct zt_load_options {
    size_t struct_size;
    uint32_t threads; ///< Number of reading threads; 0: the library chooses, at most 16.
    zt_direct direct; ///< Whether to bypass the page cache.
    uint64_t chunk_size; ///< As in zt_read_options.
    /// Largest temporary memory beside the ring in bytes; 0: 256 MiB. A request that needs more is
    /// ZT_ERROR_LIMIT.
    uint64_t in_flight;
    uint32_t verify; ///< 1: check the digest of every component that is read whole and has one.
    uint32_t pinned; ///< As in zt_read_options.
    zt_load_order order; ///< Which requests begin first.
    /// 1: report a request that fails and go on; zt_load_start still refuses what manifests show to be wrong.
    /// 0: the first failure is reported and ends the load.
    uint32_t keep_going;
    /// Your memory for slot_count slots of slot_size bytes, valid until zt_load_finish; NULL: the library's.
    void *ring;
    size_t slot_size; ///< Bytes of a slot: a multiple of 64, at least 65536. If ring is NULL, 0 means 16 MiB.
    size_t slot_count; ///< Number of slots, at least 1. If ring is NULL, 0 means 4.
    const zt_thread_hooks *thread_hooks; ///< Called on each reading thread; NULL: those of the first request's file.
};

/// The values of zt_load_kind.
typedef enum zt_load_kind_value {
    ZT_LOAD_KIND_NOTHING = 0, ///< The timeout passed.
    ZT_LOAD_KIND_DATA = 1, ///< Bytes of a request, at data.
    ZT_LOAD_KIND_FAILED = 2, ///< A request failed: see status and message. No more events follow for it.
    ZT_LOAD_KIND_DONE = 3, ///< The load has ended; status is its result.
} zt_load_kind_value;

/// The slot of an event without one: the bytes are at the request's dst, or kind is not ZT_LOAD_KIND_DATA.
#define ZT_NO_SLOT UINT32_MAX

/// What zt_load_next reports.
struct zt_load_event {
    size_t struct_size;
    zt_load_kind kind; ///< The kind of event.
    zt_status status; ///< ZT_OK, the request's failure, or the load's result.
    const char *message; ///< This thread's zt_last_error if status is a failure, else "".
    uint64_t tag; ///< The tag of the request.
    /// The bytes: at the request's dst, or in a slot until zt_load_release. If the ring begins at a multiple
    /// of 64, converted numbers are aligned for their dtype. Other bytes are aligned at least as in the file,
    /// up to 64.
    const void *data;
    size_t size; ///< Bytes at data.
    uint64_t offset; ///< Where these bytes belong, counted from the first byte that the request delivers.
    uint32_t last; ///< 1 if no more events follow for the request.
    uint32_t slot; ///< The slot of data, or ZT_NO_SLOT.
    uint32_t piece; ///< Used by zt_load_release; do not change it.
    uint32_t reserved; ///< 0.
};

// -------------------------------------------------------------------------------------------------------------------
// 8. Attributes
//
// Attributes of a file or an object are a tree of values: JSON's, byte strings and tags.

/// The file's attributes, a map (of safetensors its "__metadata__"); NULL if absent. Of a model, those of
/// part 0.
const zt_value *zt_file_attributes(const zt_file *file);

/// The object's attributes, a map; NULL if absent.
const zt_value *zt_object_attributes(const zt_object *object);

/// The value of a text key in a map, by linear search (slow for large maps); NULL if absent.
const zt_value *zt_value_find(const zt_value *value, const char *key);

/// The values of zt_value_kind.
typedef enum zt_value_kind_value {
    ZT_VALUE_KIND_NULL = 0, ///< null; also the kind of NULL.
    ZT_VALUE_KIND_BOOL = 1, ///< True or false.
    ZT_VALUE_KIND_INT = 2, ///< An integer from -2^64 to 2^64-1.
    ZT_VALUE_KIND_FLOAT = 3, ///< A float.
    ZT_VALUE_KIND_STRING = 4, ///< UTF-8 text.
    ZT_VALUE_KIND_BYTES = 5, ///< A byte string.
    ZT_VALUE_KIND_ARRAY = 6, ///< A list of values.
    ZT_VALUE_KIND_MAP = 7, ///< Pairs of key and value; keys may have any kind.
    ZT_VALUE_KIND_TAG = 8, ///< A number and one value, at index 0.
    ZT_VALUE_KIND_OTHER = 9, ///< CBOR's undefined, or another simple value.
} zt_value_kind_value;

/// The kind of a value.
zt_value_kind zt_value_get_kind(const zt_value *value);

/// Gives a bool as 0 or 1. Like all zt_value_get_ functions it returns ZT_ERROR_INVALID_ARGUMENT if the value
/// has another kind.
ZT_NODISCARD zt_status zt_value_get_bool(const zt_value *value, int32_t *out);

/// Gives an integer; ZT_ERROR_INVALID_ARGUMENT if it does not fit.
ZT_NODISCARD zt_status zt_value_get_i64(const zt_value *value, int64_t *out);

/// Gives an integer; ZT_ERROR_INVALID_ARGUMENT if it does not fit.
ZT_NODISCARD zt_status zt_value_get_u64(const zt_value *value, uint64_t *out);

/// Gives a float; an integer becomes the nearest double.
ZT_NODISCARD zt_status zt_value_get_f64(const zt_value *value, double *out);

/// Gives a text, NUL-ended; it may contain a NUL. length: receives its bytes without the NUL at the end; may
/// be NULL.
ZT_NODISCARD zt_status zt_value_get_string(const zt_value *value, const char **text, size_t *length);

/// Gives a byte string; a NUL follows it. size: may be NULL.
ZT_NODISCARD zt_status zt_value_get_bytes(const zt_value *value, const void **bytes, size_t *size);

/// Items of an array, pairs of a map, 1 for a tag, else 0.
size_t zt_value_count(const zt_value *value);

/// The item of an array, the value of a map's pair, or a tag's value, in file order; NULL if index is not
/// below zt_value_count.
const zt_value *zt_value_at(const zt_value *value, size_t index);

/// The key of a map's pair; NULL if index is not below zt_value_count, and for other kinds.
const zt_value *zt_value_key_at(const zt_value *value, size_t index);

/// The dtype that the container states for a number or an array's elements (GGUF does), ZT_DTYPE_BOOL for a
/// bool, else 0.
zt_dtype zt_value_dtype(const zt_value *value);

/// Reads an array of numbers at once, or one number, without rounding.
///
/// dtype: of the elements at dst. BOOL accepts bools. An integer dtype accepts integers in its range. A float
/// dtype accepts numbers that it holds exactly: F32 refuses 0.1. The dtype that zt_value_dtype returns
/// accepts every element, unless it is 0.
/// dst: receives zt_value_count elements (1 for a number or bool), of any alignment. Unchanged on failure.
/// count: elements that fit at dst.
/// Returns ZT_ERROR_BUFFER_SIZE if count is too small, ZT_ERROR_INVALID_ARGUMENT if an element does not fit;
/// the message names it.
ZT_NODISCARD zt_status zt_value_read_numbers(const zt_value *value, zt_dtype dtype, void *dst, size_t count);

/// Reads an array of strings at once. Byte strings are accepted: some tokens of GGUF vocabularies are not
/// UTF-8.
///
/// strings: receives zt_value_count NUL-ended strings. lengths: receives their bytes without the NUL; may be
/// NULL. count: elements that fit.
/// Returns ZT_ERROR_BUFFER_SIZE if count is too small, ZT_ERROR_INVALID_ARGUMENT if an item is not a string.
ZT_NODISCARD zt_status zt_value_read_strings(const zt_value *value, const char **strings, size_t *lengths,
    size_t count);

/// Writes a value as compact JSON. Values that JSON does not have become {"$bytes":"hex"}, {"$float":"nan"}
/// (or "inf", "-inf"), {"$tag":[number,value]}, {"$undefined":true}, {"$simple":number} and, for keys that
/// are not text, {"$map":[[key,value],...]}. Integers are written in full, also above 2^53.
///
/// buf, size: receives the text and a NUL. If size is too small, buf gets the beginning of the text and a
/// NUL, and the call returns ZT_ERROR_BUFFER_SIZE. (NULL, 0) only asks for the size and returns ZT_OK.
/// needed: receives the bytes of the whole text with its NUL; may be NULL.
ZT_NODISCARD zt_status zt_value_to_json(const zt_value *value, char *buf, size_t size, size_t *needed);

// -------------------------------------------------------------------------------------------------------------------
// 9. Verifying
//
// zt_verify checks what opening does not read.

/// Verifies a file, an object or a component: digests, decoding, sizes, sparse and quantized structure, bool
/// bytes. After ZT_OK no read fails because of the contents. Changed raw bytes are found only by digests.
///
/// options: NULL for digests, contents and shards of the whole file. report: may be NULL; filled on failure,
/// too.
/// A component without a digest passes, unless ZT_VERIFY_REQUIRE_DIGESTS is set; the report counts it.
/// Returns ZT_OK only if everything was checked and is right. Otherwise the first failure in file order:
/// ZT_ERROR_DIGEST_MISMATCH, ZT_ERROR_CORRUPT, ZT_ERROR_LIMIT, ZT_ERROR_IO, ZT_ERROR_CANCELLED.
/// ZT_ERROR_UNSUPPORTED if nothing is wrong but something could not be checked; report.not_checked counts it.
/// Starts threads and waits for them; to verify one object or component it starts none. Spec 1.2 sections 1
/// to 5.
ZT_NODISCARD zt_status zt_verify(const zt_file *file, const zt_verify_options *options, zt_verify_report *report);

/// Check digests.
#define ZT_VERIFY_DIGESTS 1
/// Check decoding, sizes, structure and bool bytes.
#define ZT_VERIFY_CONTENTS 2
/// Reject nonzero padding.
#define ZT_VERIFY_PADDING 4
/// Compare whole shards with their digests.
#define ZT_VERIFY_SHARDS 8
/// Check digests, and report ZT_ERROR_UNSUPPORTED for each component without a digest or CRC-32 that can be
/// checked.
#define ZT_VERIFY_REQUIRE_DIGESTS 16

/// Reports one failure, or with ZT_ERROR_UNSUPPORTED something that could not be checked. component is NULL
/// for a whole object; object and component are NULL for padding and shards. message: valid during the call.
/// Return 0 to go on, anything else to stop.
/// Calls come from one thread at a time, not always the caller's, in any order.
typedef int32_t (*zt_failure_callback)(void *context,
                                       const zt_object *object,
                                       const zt_component *component,
                                       zt_status status,
                                       const char *message);

/// What to verify.
struct zt_verify_options {
    size_t struct_size;
    uint32_t checks; ///< A set of ZT_VERIFY_ bits; 0 for digests, contents and shards.
    uint32_t threads; ///< Number of threads; 0: the library chooses, at most 16.
    void *context; ///< Passed to the callbacks.
    zt_progress_callback progress; ///< Reports the stored bytes that were checked; may be NULL.
    /// Called for each failure, so that one call lists all of them. NULL: stop at the first.
    zt_failure_callback on_failure;
    const zt_object *object; ///< Verify only this object of the file; else NULL.
    const zt_component *component; ///< Verify only this component of the file; else NULL.
};

/// What was verified.
struct zt_verify_report {
    size_t struct_size;
    uint64_t objects; ///< Objects that were checked completely.
    uint64_t components; ///< Components that were checked completely.
    uint64_t bytes; ///< Stored bytes that were read.
    uint64_t digests_verified; ///< Digests that match, including the CRC-32 of archives.
    uint64_t digests_absent; ///< Components without a digest or CRC-32.
    uint64_t digests_unknown; ///< Digests of an unknown algorithm.
    uint64_t padding_nonzero; ///< Nonzero bytes outside of components: padding, or what zt_write_remove left.
    /// Stored bytes without a digest or CRC-32 that could be checked. Damage there is not found.
    uint64_t bytes_not_covered;
    /// Components, objects and shards that could not be checked completely: an unknown dtype, encoding,
    /// digest algorithm or, in zTensor 2, type; a digest that is missing and required. If it is not 0,
    /// zt_verify does not return ZT_OK.
    uint64_t not_checked;
};

// -------------------------------------------------------------------------------------------------------------------
// 10. Writing
//
// Create or append, write objects, set attributes (zt_write_attribute), finish. A new file appears whole or not
// at all. Equal calls write equal files.

/// Begins a new file. It is written under another name beside path and replaces path atomically in
/// zt_write_finish. Until then the file at path stays unchanged.
///
/// path: used during the call only. options: NULL for the defaults. writer: receives the handle, NULL on
/// failure. End it with zt_write_finish or zt_write_abort.
/// If path is a symbolic link, its target is replaced or created. Permissions of a replaced file are kept; a
/// read-only file is ZT_ERROR_IO. If the folder is renamed while you write, zt_write_finish returns
/// ZT_ERROR_NO_FILE. Processes that have the old file open keep reading the old contents (docs/platforms.md
/// for Windows).
/// Returns ZT_ERROR_NO_FILE if the folder does not exist, ZT_ERROR_IO, ZT_ERROR_UNSUPPORTED for options that
/// the version cannot represent. Spec 1.2 section 4.
ZT_NODISCARD zt_status zt_write_create(const char *path, const zt_write_options *options, zt_writer **writer);

/// Writes a dense object, without attributes (zt_write_object has them). Nothing is kept after the call.
///
/// name, name_length: UTF-8. dtype: not ZT_DTYPE_OTHER. type: ZT_TYPE_NONE, or a known type that belongs to
/// dtype. shape: rank dimensions, outermost first; NULL only if rank is 0. data, size: the elements,
/// row-major, in the host's byte order. A block type makes an object of blocks (ZT_FORMAT_BLOCKS).
/// Returns ZT_ERROR_BUFFER_SIZE if size is not what shape, dtype and type need, ZT_ERROR_EXISTS if the name
/// is taken, ZT_ERROR_LIMIT if the name exceeds 64 KiB, ZT_ERROR_UNSUPPORTED if the version cannot represent
/// the object, ZT_ERROR_STATE if an object is open or the writer has failed, ZT_ERROR_IO. ZT_ERROR_CORRUPT if
/// the data breaks a rule that zt_verify checks: a bool other than 0 and 1 (allowed in 0.1) or, in zTensor 2,
/// nonzero bits behind the last element of a packed type. Spec 1.2 section 3.
ZT_NODISCARD zt_status zt_write_dense(zt_writer *writer, const char *name, size_t name_length, zt_dtype dtype,
    zt_type type, const uint64_t *shape, size_t rank, const void *data, size_t size);

/// Writes the manifest, publishes the file and ends the writer, also on failure.
///
/// writer: NULL does nothing. summary: may be NULL.
/// Returns ZT_ERROR_STATE if an object is open or the writer has failed, ZT_ERROR_IO. On failure the
/// destination is unchanged, unless the message contains "in place": then the new file is there, but syncing
/// or cleaning up failed. Spec 1.2 section 4.
ZT_NODISCARD zt_status zt_write_finish(zt_writer *writer, zt_write_summary *summary);

/// Ends the writer and leaves the destination as it was. If an append cannot be undone because the disk
/// fails, zt_open returns ZT_ERROR_CORRUPT, and zt_repair undoes it. If the system refuses to truncate the
/// file (Windows, while it is mapped), extra bytes stay at its end; its old content is intact.
/// writer: NULL does nothing.
void zt_write_abort(zt_writer *writer);

/// What a finished writer wrote.
struct zt_write_summary {
    size_t struct_size;
    uint64_t file_size; ///< Bytes of the file.
    uint64_t objects; ///< Objects in the file.
    uint64_t components; ///< Components in the file.
    uint64_t stored_bytes; ///< Stored bytes of the components that this writer wrote.
    uint64_t data_bytes; ///< Their bytes before encoding.
    uint64_t damaged; ///< Damaged components that were copied (zt_write_options.allow_damaged).
};

/// The values of zt_spec.
typedef enum zt_spec_value {
    ZT_SPEC_DEFAULT = 0, ///< 1.2.0.
    ZT_SPEC_0_1_0 = 100, ///< 0.1.0: dense objects only, no logical types, no attributes of the file.
    ZT_SPEC_1_1_0 = 10100, ///< 1.1.0.
    ZT_SPEC_1_2_0 = 10200, ///< 1.2.0.
    /// zTensor 2, another container: components at multiples of 4096, digests of decoded bytes, seekable
    /// zstd.
    ZT_SPEC_2 = 20000,
} zt_spec_value;

/// The values of zt_digest.
typedef enum zt_digest_value {
    /// In a component: zt_write_options.digest. In zt_write_options: CRC-32C, or XXH3 for zTensor 2.
    ZT_DIGEST_DEFAULT = 0,
    ZT_DIGEST_NONE = 1, ///< No digest.
    ZT_DIGEST_CRC32C = 2, ///< CRC-32C (Castagnoli): detects accidental damage.
    ZT_DIGEST_SHA256 = 3, ///< SHA-256: detects intentional changes, too, if nobody can change the manifest.
    ZT_DIGEST_XXH3 = 4, ///< XXH3, 64 bits: detects accidental damage. zTensor 2 only, in place of CRC-32C.
} zt_digest_value;

/// How to write a file.
struct zt_write_options {
    size_t struct_size;
    /// The version to write. What it cannot represent is ZT_ERROR_UNSUPPORTED. Must be 0 for zt_write_append.
    zt_spec spec;
    zt_encoding encoding; ///< The encoding of components that do not name one; 0 is raw.
    /// Components start at multiples of this: a power of two from 64 to 2^40; 0 for 64, in zTensor 2 for
    /// 4096.
    uint64_t alignment;
    /// A coarser alignment for components of at least large_size bytes, such as 4096 for direct I/O; 0 for
    /// none.
    uint64_t large_alignment;
    /// A component of this many bytes or more, before encoding, gets large_alignment; 0: 1 MiB. Streamed
    /// components of unknown size count as large.
    uint64_t large_size;
    int32_t zstd_level; ///< The zstd level, -7 to 22; 0 for 3.
    /// The digest of components that ask for ZT_DIGEST_DEFAULT, and of copied components that have none.
    zt_digest digest;
    /// Number of threads that compress, hash and write; 0: the library chooses, at most 16. The bytes written
    /// do not depend on it.
    uint32_t threads;
    /// 1: sync the file and its folder to the disk before zt_write_finish returns. Large files then bypass
    /// the page cache.
    uint32_t durable;
    /// Compressed components are split into zstd frames of this many bytes, so that they decode in parallel
    /// and by range: 1024 to 2^30; 0: 1 MiB.
    uint64_t frame_size;
    void *context; ///< Passed to progress.
    /// Reports the bytes of the file so far; total is 0. It must not use this writer. If it returns other
    /// than 0, the writer has failed. NULL: not called.
    zt_progress_callback progress;
    const zt_thread_hooks *thread_hooks; ///< Called on threads that the writer starts; NULL: none. Copied.
    /// 1: canonical form of zTensor 2: equal tensors and attributes give equal files. You have to write
    /// objects in the order of the bytes of their names, and streamed components in the order of their roles.
    /// Another order is ZT_ERROR_INVALID_ARGUMENT.
    uint32_t canonical;
    /// 1: copy components that do not match their digest or CRC-32 and count them in
    /// zt_write_summary.damaged. They get no new digest. 0: such a copy fails.
    uint32_t allow_damaged;
};

/// Opens an object that is written in pieces: call zt_write_component for each component, zt_write_data for
/// its bytes, then zt_write_end.
/// desc: without components; nothing is kept after the call.
/// Returns ZT_ERROR_STATE if an object is open, else as zt_write_object.
ZT_NODISCARD zt_status zt_write_begin(zt_writer *writer, const zt_object_desc *desc);

/// Opens a component of the open object. That ends the previous component.
///
/// desc: nothing is kept after the call. With data the component is written whole. Without, give
/// zt_write_data exactly size bytes, or any number if size is 0.
/// Returns ZT_ERROR_STATE if no object is open, ZT_ERROR_EXISTS if the role is taken, ZT_ERROR_BUFFER_SIZE if
/// the previous component has another size than announced, else as zt_write_dense.
ZT_NODISCARD zt_status zt_write_component(zt_writer *writer, const zt_component_desc *desc);

/// Adds bytes to the open component, in the host's byte order. A call may end within an element. Nothing is
/// kept after the call.
/// Returns ZT_ERROR_STATE if no component is open, ZT_ERROR_BUFFER_SIZE if the bytes exceed the announced
/// size or the shape, ZT_ERROR_CORRUPT if they break a rule that zt_verify checks, ZT_ERROR_IO.
/// A refused call writes nothing, and you may call again, unless the writer has failed.
ZT_NODISCARD zt_status zt_write_data(zt_writer *writer, const void *data, size_t size);

/// Ends the open object.
/// Returns ZT_ERROR_STATE if none is open, ZT_ERROR_BUFFER_SIZE if a component has another size than
/// announced or than its shape needs (more zt_write_data may follow), ZT_ERROR_INVALID_ARGUMENT if a
/// component that the format needs is missing. After these failures the object stays open. After the
/// following ones the writer has failed: ZT_ERROR_IO; ZT_ERROR_CORRUPT if the components of a sparse or
/// quantized object do not fit each other; ZT_ERROR_UNSUPPORTED if, in canonical form, the streamed bytes
/// equal those of an earlier component.
ZT_NODISCARD zt_status zt_write_end(zt_writer *writer);

/// A component to write.
struct zt_component_desc {
    size_t struct_size;
    const char *role; ///< The role, UTF-8, not NULL: "data", "values", "scales" or another.
    size_t role_length; ///< Bytes of the role; 0 if it is NUL-ended.
    zt_dtype dtype; ///< The storage type, not ZT_DTYPE_OTHER.
    zt_type type; ///< The logical type; with ZT_TYPE_OTHER set type_name.
    const char *type_name; ///< The name of a type that the library does not know; else NULL.
    zt_encoding encoding; ///< The encoding; 0 for the writer's option.
    zt_digest digest; ///< The digest; 0 for the writer's option.
    /// The elements, in the host's byte order. NULL to stream them with zt_write_data, or if size is 0.
    const void *data;
    uint64_t size; ///< Bytes at data. When streaming: how many will follow, or 0 if that is not known.
    size_t type_name_length; ///< Bytes of type_name; 0 if it is NUL-ended.
};

/// An object to write.
struct zt_object_desc {
    size_t struct_size;
    const char *name; ///< The name, UTF-8, not NULL.
    size_t name_length; ///< Bytes of the name; 0 if it is NUL-ended.
    zt_format format; ///< The format; for blocks ZT_FORMAT_OTHER, not ZT_FORMAT_BLOCKS.
    uint32_t reserved; ///< Must be 0.
    const char *format_name; ///< The name for ZT_FORMAT_OTHER, also of blocks: "gguf.q4_0/1". Else NULL.
    const uint64_t *shape; ///< The dimensions, outermost first.
    size_t rank; ///< Number of dimensions.
    const zt_component_desc *components; ///< The components for zt_write_object; NULL for zt_write_begin.
    size_t component_count; ///< Number of components.
    const zt_value *attributes; ///< Attributes to copy from an open file, a map; may be NULL.
    /// More attributes as a JSON object, NUL-ended; may be NULL. A key in both is ZT_ERROR_EXISTS.
    const char *attributes_json;
    size_t format_name_length; ///< Bytes of format_name; 0 if it is NUL-ended.
};

/// Writes an object of any format with its components. Nothing is kept after the call.
/// Returns ZT_ERROR_EXISTS if the name or a role is taken, ZT_ERROR_INVALID_ARGUMENT if a component that the
/// format needs is missing, else as zt_write_dense. Sparse and quantized objects are checked as zt_verify
/// checks them. Spec 1.2 sections 1 to 3.
ZT_NODISCARD zt_status zt_write_object(zt_writer *writer, const zt_object_desc *desc);

/// A dense object of zt_write_batch.
struct zt_write_request {
    size_t struct_size;
    const char *name; ///< The name, UTF-8, not NULL.
    const uint64_t *shape; ///< The dimensions, outermost first; NULL only if rank is 0.
    size_t rank; ///< Number of dimensions.
    const void *data; ///< The elements, row-major, in the host's byte order; NULL only if size is 0.
    size_t size; ///< Bytes at data: what shape, dtype and type need.
    zt_dtype dtype; ///< The storage type, not ZT_DTYPE_OTHER.
    zt_type type; ///< The logical type: ZT_TYPE_NONE, or a known type that belongs to dtype.
    zt_encoding encoding; ///< The encoding; 0 for the writer's option.
    zt_digest digest; ///< The digest; 0 for the writer's option.
    size_t name_length; ///< Bytes of the name; 0 if it is NUL-ended.
};

/// Writes many dense objects. The file is the same as with zt_write_dense for each, but compression and
/// hashing run in parallel.
///
/// All requests are checked before the first byte is written: if one is refused, none is written, and the
/// message names it. Returns as zt_write_dense.
/// Starts threads and waits for them (zt_write_options.threads).
ZT_NODISCARD zt_status zt_write_batch(zt_writer *writer, const zt_write_request *requests, size_t count);

/// How to copy an object.
struct zt_copy_options {
    size_t struct_size;
    const char *name; ///< The name of the copy; NULL for the object's name.
    size_t name_length; ///< Bytes of the name; 0 if it is NUL-ended.
    zt_encoding encoding; ///< The encoding; 0 keeps the encoding of each component.
    zt_digest digest; ///< The digest; 0 for the kind that each component has, or the writer's option if it has none.
    zt_dtype dtype; ///< Converts floats, also f8 and quantized ones, to dense f64, f32, f16 or bf16; 0 keeps them.
    /// Quantizes dense floats to the blocks that ggml's C makes: ZT_TYPE_GGUF_Q8_0, Q4_0, Q4_1, Q5_0, Q5_1,
    /// IQ4_NL, MXFP4, TQ1_0 or TQ2_0. ZT_TYPE_NONE to keep them. Not together with dtype.
    zt_type type;
};

/// Copies an object of an open file of any container. Stored bytes are copied with their digests and
/// attributes if the options and the version allow it. Else they are decoded and encoded again, in pieces.
///
/// options: NULL for a copy under the same name. Blocks of GGUF get the attributes "elems_per_block" and
/// "block_bytes". Objects that share bytes (tied weights) share them in the copy, too.
/// The object is checked first (the rules of zt_verify, digests, checksums) and copied then, so its bytes are
/// read twice. If the check fails, nothing is written, and the writer goes on. zt_write_options.allow_damaged
/// copies damaged bytes.
/// Returns ZT_ERROR_DIGEST_MISMATCH or ZT_ERROR_CORRUPT if the object is damaged; ZT_ERROR_UNSUPPORTED if the
/// version cannot represent it, its name is not UTF-8, or it has an unknown type of GGUF or big-endian
/// blocks. ZT_ERROR_LIMIT if options.dtype or type cannot hold a number,
/// ZT_ERROR_INVALID_ARGUMENT if a row is not whole blocks of type; else as zt_write_dense.
ZT_NODISCARD zt_status zt_write_copy(zt_writer *writer, const zt_object *object, const zt_copy_options *options);

/// The values of zt_attribute_kind, and the fields that each uses.
typedef enum zt_attribute_kind_value {
    ZT_ATTRIBUTE_KIND_NULL = 0, ///< null; no field.
    ZT_ATTRIBUTE_KIND_BOOL = 1, ///< i64: 0 or 1.
    ZT_ATTRIBUTE_KIND_I64 = 2, ///< i64; dtype.
    ZT_ATTRIBUTE_KIND_U64 = 3, ///< u64; dtype.
    ZT_ATTRIBUTE_KIND_F64 = 4, ///< f64, also infinity and NaN; dtype.
    ZT_ATTRIBUTE_KIND_STRING = 5, ///< data: UTF-8 of size bytes, NUL-ended if size is 0.
    ZT_ATTRIBUTE_KIND_BYTES = 6, ///< data: size bytes.
    /// data: JSON text of size bytes, NUL-ended if size is 0; at most 64 levels. Forms such as
    /// {"$bytes":...}: see zt_value_to_json. Numbers with a fraction or exponent become floats.
    ZT_ATTRIBUTE_KIND_JSON = 7,
    ZT_ATTRIBUTE_KIND_NUMBERS = 8, ///< An array. data: count elements of dtype, of any alignment.
    /// An array. data: count pointers to UTF-8 texts of lengths[i] bytes, NUL-ended if lengths is NULL.
    ZT_ATTRIBUTE_KIND_STRINGS = 9,
    ZT_ATTRIBUTE_KIND_VALUE = 10, ///< data: a const zt_value * of an open file.
    ZT_ATTRIBUTE_KIND_REMOVE = 11, ///< Removes the attribute; ZT_ERROR_NOT_FOUND if it does not exist.
} zt_attribute_kind_value;

/// The value of an attribute to set.
struct zt_attribute {
    size_t struct_size;
    zt_attribute_kind kind; ///< Which of the fields below are used.
    /// The dtype of the elements of ZT_ATTRIBUTE_KIND_NUMBERS. For one number set 0, or a dtype that holds
    /// the number exactly.
    zt_dtype dtype;
    int64_t i64; ///< A bool or signed integer.
    uint64_t u64; ///< An unsigned integer.
    double f64; ///< A float.
    const void *data; ///< Text, bytes, elements, pointers to texts, or a zt_value.
    size_t size; ///< Bytes of a text or byte string.
    size_t count; ///< Elements of an array.
    const size_t *lengths; ///< Bytes of each text; NULL: all are NUL-ended.
    size_t key_length; ///< Bytes of the key; 0 if it is NUL-ended.
};

#ifndef __cplusplus
/// A zt_attribute in one expression of C: &ZT_ATTRIBUTE_I64 (7), &ZT_ATTRIBUTE_STRING ("bert"),
/// &ZT_ATTRIBUTE (.kind = ZT_ATTRIBUTE_KIND_NUMBERS, .dtype = ZT_DTYPE_F32, .data = p, .count = n).
#define ZT_ATTRIBUTE(...) ((zt_attribute){.struct_size = sizeof(zt_attribute), __VA_ARGS__})
#define ZT_ATTRIBUTE_BOOL(v) ZT_ATTRIBUTE(.kind = ZT_ATTRIBUTE_KIND_BOOL, .i64 = (v))
#define ZT_ATTRIBUTE_I64(v) ZT_ATTRIBUTE(.kind = ZT_ATTRIBUTE_KIND_I64, .i64 = (v))
#define ZT_ATTRIBUTE_U64(v) ZT_ATTRIBUTE(.kind = ZT_ATTRIBUTE_KIND_U64, .u64 = (v))
#define ZT_ATTRIBUTE_F64(v) ZT_ATTRIBUTE(.kind = ZT_ATTRIBUTE_KIND_F64, .f64 = (v))
#define ZT_ATTRIBUTE_STRING(v) ZT_ATTRIBUTE(.kind = ZT_ATTRIBUTE_KIND_STRING, .data = (v))
#define ZT_ATTRIBUTE_JSON(v) ZT_ATTRIBUTE(.kind = ZT_ATTRIBUTE_KIND_JSON, .data = (v))
#endif

/// Sets an attribute of the file or of an object, replaces it, or removes it with ZT_ATTRIBUTE_KIND_REMOVE.
/// In C: zt_write_attribute(w, NULL, 0, "layers", &ZT_ATTRIBUTE_I64(32)). Nothing is kept after the call.
///
/// object, object_length: NULL for the file; else the name of the open object (zt_write_begin) or, after
/// zt_write_append, of an object that the file had before. An object of zt_write_dense is never open: for
/// attributes use zt_write_object. key: UTF-8. Returns ZT_ERROR_STATE if the writer has failed, or if this
/// writer wrote object and it is not open now; ZT_ERROR_NOT_FOUND if the object does not exist;
/// ZT_ERROR_UNSUPPORTED if the version cannot represent the attribute.
ZT_NODISCARD zt_status zt_write_attribute(zt_writer *writer, const char *object, size_t object_length,
    const char *key, const zt_attribute *attribute);

/// Begins to add objects to a 1.1, 1.2 or 2 file, in place. Existing objects can be changed, too
/// (zt_write_remove, zt_write_rename, zt_write_attribute).
///
/// The old content stays valid until zt_write_finish. After a crash, the file is either complete, or zt_open
/// reports an interrupted append and zt_repair restores the old file. In a 1.1 or 1.2 file new objects follow
/// the rules of 1.2. If a new object uses what 1.1 lacks, the version of a 1.1 file becomes 1.2.0. It stays
/// 1.1 if an old object would not be valid in 1.2; the new object is written anyway (docs/versions.md).
/// The writer locks the file until it ends: other writers get ZT_ERROR_BUSY, and zt_open may get it, too.
/// Files that are open stay readable. Forked children share the lock. On file systems without locks the
/// library compares the file's identity, size and time before it writes; there two appends that begin at the
/// same moment can damage the file. zt_write_finish is ZT_ERROR_IO if the file was removed or replaced.
/// path, options, writer: as for zt_write_create. Returns what zt_open returns, ZT_ERROR_UNSUPPORTED for a
/// 0.1 or 1.0 file, ZT_ERROR_BUSY.
ZT_NODISCARD zt_status zt_write_append(const char *path, const zt_write_options *options, zt_writer **writer);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* ZTENSOR_H */
