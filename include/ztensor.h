/*
 * ztensor.h: open, read, verify and write zTensor .zt files (spec 0.1, 1.0, 1.1, 1.2, 2).
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A file holds named objects (tensors). An object has a shape, a format and components. A component
 * is one blob of bytes with a storage type (dtype), perhaps a logical type, an encoding and a digest.
 *
 *     zt_file *file;
 *     if (zt_open("model.zt", NULL, &file) != ZT_OK) {
 *         fprintf(stderr, "%s\n", zt_last_error());
 *         return 1;
 *     }
 *     zt_tensor t = { .struct_size = sizeof t };
 *     if (zt_tensor_find(file, "layer1.weight", &t) == ZT_OK)
 *         use(t.data, t.size, t.shape, t.rank);
 *     zt_close(file);
 *
 * What holds for every function, unless its own words say otherwise:
 *
 * Failure. What can fail returns a zt_status; ZT_OK is 0. Results come through the last pointer arguments; on failure
 * they are untouched, handles are set to NULL. zt_last_error() has the calling thread's last failure as one line. Any
 * may return ZT_ERROR_INVALID_ARGUMENT and ZT_ERROR_OUT_OF_MEMORY; and where bytes are read or written, whatever a
 * function of a zt_source, zt_sink or zt_store returned, ZT_ERROR_CANCELLED if a progress callback stopped it, and what
 * zt_open returns of a shard that has to be opened (ZT_ERROR_UNSUPPORTED if none may be). Docs name what comes on top.
 * What cannot fail on a valid handle, a metadata getter, returns its value; 0 or NULL for NULL or an index out of range.
 *
 * Ownership. A pointer that is returned is borrowed: const, and valid until the file's last zt_close (zt_retain
 * excepted). A handle that is delivered through a pointer argument is yours; its doc names the function that ends it.
 * Ending functions take NULL. Using a handle after it ended is undefined.
 *
 * Threads. An open zt_file never changes: any number of threads may use it, and all that is borrowed from it, at once.
 * A zt_writer belongs to one thread at a time. The last line of each doc says which. A child of fork may use open files;
 * a writer is its parent's alone: ending it in the child takes the unfinished file away.
 *
 * Stack. No function takes more than 32 KiB (s390x: 40) of the calling thread's stack, beside what the caller's own
 * callbacks take. On Linux threads of 48 KiB are enough for all of them.
 *
 * Structs. Those that begin with struct_size want sizeof of the struct there; all else zero means the defaults, and
 * NULL options are all defaults. A smaller struct from an older header is fine, if its size does not end within a number
 * or a pointer; a larger one, up to 4096 bytes, if what this version does not know is zero (in a struct that is filled
 * it is made zero). Anything else is ZT_ERROR_INVALID_ARGUMENT.
 *
 * Strings. Out: UTF-8, NUL-ended; a _length twin tells the length, because names may hold a NUL. In: NUL-ended UTF-8;
 * paths are the platform's bytes. The name of an object is the bytes of the file: see zt_object_name.
 *
 * Enumerations are integers of fixed width; an unknown value is ZT_ERROR_INVALID_ARGUMENT.
 *
 * Units. Sizes and offsets are bytes, counts and shapes are elements. uint64_t is of the file, size_t
 * of the caller's memory. Elements are handed out and taken in the host's byte order.
 *
 * The library never prints, aborts, exits, reads the environment or installs a signal handler.
 */

#ifndef ZTENSOR_H
#define ZTENSOR_H

/* Generated from src/capi by cbindgen; do not edit. */

#include <stddef.h>
#include <stdint.h>

/// Returned statuses are to be looked at; hints and aborts do not have it.
#if defined(__cplusplus) && __cplusplus >= 201703L || defined(__STDC_VERSION__) && __STDC_VERSION__ >= 202311L
#define ZT_NODISCARD [[nodiscard]]
#elif defined(__clang__) && !defined(__cplusplus)
#define ZT_NODISCARD __attribute__((warn_unused_result))
#else
#define ZT_NODISCARD
#endif

/// The first value of a struct that begins with struct_size: zt_tensor tensor = ZT_INIT(zt_tensor);
#ifdef __cplusplus
#define ZT_INIT(T) ([] { T value = T(); value.struct_size = sizeof(T); return value; }())
#else
#define ZT_INIT(T) {.struct_size = sizeof(T)}
#endif

#ifdef __cplusplus
extern "C" {
#endif

/// An open file. It never changes: any number of threads may use it at once. Everything that is borrowed from it
/// (objects, components, values, strings, shapes, pointers to bytes) lives until its last zt_close.
typedef struct zt_file zt_file;

/// A named tensor of an open file; borrowed, lives until the file's last zt_close.
typedef struct zt_object zt_object;

/// One blob of an object; borrowed, lives until the file's last zt_close.
typedef struct zt_component zt_component;

/// An attribute value of a file or an object: CBOR's data model; borrowed, lives until the file's last zt_close.
typedef struct zt_value zt_value;

/// Decoded bytes of a component. A buffer keeps its file open.
typedef struct zt_buffer zt_buffer;

/// Slices of any number of files, in slots of memory; see zt_cache_create. Any number of threads may use it at once.
typedef struct zt_cache zt_cache;

/// A file that is being written. It belongs to one thread at a time.
///
/// A call that fails leaves it as it was before the call, unless writing itself failed (ZT_ERROR_IO,
/// ZT_ERROR_CANCELLED, what a sink returned, or ZT_ERROR_OUT_OF_MEMORY while bytes were on their way): then it has
/// failed for good, every further call but zt_write_abort is ZT_ERROR_STATE, and the destination is as it was before
/// the writer. What a call has accepted zt_write_finish can write.
typedef struct zt_writer zt_writer;

/// Requests that are being read.
typedef struct zt_load zt_load;

typedef uint32_t zt_advice; ///< What will be done with bytes: one of the ZT_ADVICE_ values.
typedef int32_t zt_attribute_kind; ///< What a zt_attribute is: one of the ZT_ATTRIBUTE_ values.
typedef int32_t zt_container; ///< How a file is laid out: one of the ZT_CONTAINER_ values.
typedef int32_t zt_digest; ///< A checksum algorithm: one of the ZT_DIGEST_ values.
typedef int32_t zt_direct; ///< Whether batch reads go past the page cache: one of the ZT_DIRECT_ values.
typedef int32_t zt_dtype; ///< A storage type: one of the ZT_DTYPE_ values. Spec 1.2 section 2.
typedef int32_t zt_encoding; ///< How stored bytes become the component's bytes: one of the ZT_ENCODING_ values.
typedef int32_t zt_format; ///< A layout of components: one of the ZT_FORMAT_ values. Spec 1.2 section 3.
typedef int32_t zt_load_kind; ///< What zt_load_next has: one of the ZT_LOAD_ values.
typedef int32_t zt_load_order; ///< In which order the requests of a load are begun: one of the ZT_LOAD_ORDER_ values.
typedef int32_t zt_mode; ///< How the file's bytes are reached: one of the ZT_MODE_ values.
typedef uint32_t zt_spec; ///< A version of the spec to write: one of the ZT_SPEC_ values.
typedef int32_t zt_status; ///< Outcome of a call: ZT_OK, or one of the ZT_ERROR_ values. Numbers never change; an unknown one is an error.
typedef int32_t zt_type; ///< A logical type: one of the ZT_TYPE_ values. Spec 1.2 section 2.
typedef int32_t zt_value_kind; ///< What kind of thing an attribute value is: one of the ZT_VALUE_ values. RFC 7049 section 2.

typedef struct zt_allocator zt_allocator;
typedef struct zt_array zt_array;
typedef struct zt_attribute zt_attribute;
typedef struct zt_cache_candidate zt_cache_candidate;
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
    ZT_OK = 0, ///< Done.
    ZT_ERROR_INVALID_ARGUMENT = 1, ///< No file could make the argument right: NULL, an unknown value.
    ZT_ERROR_IO = 2, ///< The operating system or a callback of the caller failed.
    ZT_ERROR_NOT_FOUND = 3, ///< No such object, component, attribute or key.
    ZT_ERROR_UNKNOWN_CONTAINER = 4, ///< No container that is read here, by the file's content.
    ZT_ERROR_CORRUPT = 5, ///< The file breaks a rule of the format; the message names the rule.
    ZT_ERROR_DIGEST_MISMATCH = 6, ///< The bytes do not have the digest that the file gives for them.
    ZT_ERROR_UNSUPPORTED = 7, ///< Well-formed, but unknown here: an encoding, a dtype, a digest algorithm, a version.
    /// Above a stated limit: of the manifest, of a decoded size, of the number of objects, of the numbers of a dtype.
    ZT_ERROR_LIMIT = 8,
    ZT_ERROR_BUFFER_SIZE = 9, ///< The caller's memory is too small, or given data is not of the shape's size.
    ZT_ERROR_NOT_MAPPABLE = 10, ///< The bytes cannot be lent: compressed, of the other byte order, or not in memory.
    ZT_ERROR_STATE = 11, ///< A call out of order: of a writer that has failed, say.
    ZT_ERROR_EXISTS = 12, ///< An object or component of that name is there already.
    ZT_ERROR_CANCELLED = 13, ///< A callback of the caller asked to stop.
    ZT_ERROR_OUT_OF_MEMORY = 14, ///< Memory could not be had.
    ZT_ERROR_INTERNAL = 15, ///< A bug of this library; please report the message.
    ZT_ERROR_NO_FILE = 16, ///< There is nothing at the path.
    ZT_ERROR_TIMEOUT = 17, ///< What was waited for did not happen in the time that was given.
    ZT_ERROR_BUSY = 18, ///< Another writer has the file: an append, an edit or a repair that has not ended.
} zt_status_value;

/// The calling thread's last failure in one line: path, object, component, offset, rule, the numbers that disagree.
/// Only a failing call changes it, and zt_load_next with a failure; any other call that succeeds leaves it as it was.
/// Returns a string that is never NULL ("no error" before the first failure). It is valid until the same thread's
/// next failing call; copy it to keep it. It is UTF-8; names from the file are escaped.
/// Threads: any; each has its own.
const char *zt_last_error(void);

/// The name of a status as it stands in this header, "ZT_ERROR_CORRUPT".
/// Returns a string that is never NULL and lives as long as the library; "ZT_ERROR_UNKNOWN" for a number that this
/// version does not know.
/// Threads: any.
const char *zt_status_name(zt_status status);

/// The system's error in the calling thread's last failure: errno, on Windows GetLastError; 0 if there was none.
/// Threads: any; each has its own.
int32_t zt_last_os_error(void);

/// The rule of the format that the file broke in the calling thread's last failure, by its short name,
/// "range-manifest"; "" if it broke none. For programs: a name never changes its meaning.
/// Returns a string that is never NULL and lives as long as the library.
/// Threads: any; each has its own.
const char *zt_last_error_rule(void);

/// Version of this header, first number.
#define ZT_VERSION_MAJOR 0
/// Version of this header, second number.
#define ZT_VERSION_MINOR 9
/// Version of this header, third number.
#define ZT_VERSION_PATCH 0
/// What zt_abi_version gave when this header was made.
#define ZT_ABI_VERSION 0

/// The version of the library that is loaded, "0.9.0".
/// Compare with ZT_VERSION_MAJOR and its neighbours, which are those of the header.
/// Returns a string that is never NULL and lives as long as the library.
/// Threads: any.
const char *zt_version(void);

/// The version of the binary interface that is loaded. It moves only when programs have to be compiled anew.
/// Threads: any.
uint32_t zt_abi_version(void);

// -------------------------------------------------------------------------------------------------------------------
// 2. Opening
//
// Opening checks everything that the manifest and the file's size can show. It reads no tensor.

/// Opens the file at path, whatever its name: .zt of any version that is read (docs/versions.md), or another container
/// (docs/formats.md); zt_part_get_info says which. Checks everything that the manifest and the file's size can show, in
/// time and memory proportional to the manifest; no component's bytes are read (but see zt_open_options.verify).
/// path: NUL-ended, in the platform's encoding (UTF-8 on Windows), used only during the call.
/// options: NULL for the defaults. file: receives the handle, NULL on failure; end it with zt_close.
/// Returns ZT_ERROR_NO_FILE, ZT_ERROR_IO (a folder, a FIFO), ZT_ERROR_UNKNOWN_CONTAINER, ZT_ERROR_CORRUPT,
/// ZT_ERROR_UNSUPPORTED (another major version; a file that cannot be mapped in ZT_MODE_MAP or ZT_MODE_PRIVATE:
/// ZT_MODE_AUTO reads it), ZT_ERROR_LIMIT, ZT_ERROR_OUT_OF_MEMORY, ZT_ERROR_INVALID_ARGUMENT; with verify
/// ZT_ERROR_DIGEST_MISMATCH, and ZT_ERROR_CANCELLED if progress stops it. A file that ends in an unfinished append is
/// ZT_ERROR_BUSY while a writer has it (zt_write_append), else ZT_ERROR_CORRUPT: zt_repair cuts it back. A file that
/// changes while it is being opened is looked at again; if it goes on changing, it is ZT_ERROR_BUSY.
/// Threads: any. Spec 1.2 section 5.
ZT_NODISCARD zt_status zt_open(const char *path, const zt_open_options *options, zt_file **file);

/// Opens a model, which may be of many files, as one file: the objects of all parts are found, listed, lent, read,
/// verified and copied as those of one. zt_component_info.part is the part of a component.
///
/// path: any file of the model, or its folder; all of them open the same model (docs/formats.md). A file of zTensor 2 is
/// opened with its shards (zt_open_options.shards). An index (JSON with a "weight_map", as Hugging Face writes it) is
/// opened with the files that it names, and so is a file that an index in its own folder names. One of several files
/// named x-00001-of-00005.gguf is opened with the others. If path is a symbolic link, the other files are looked for
/// beside the link, then beside its target. NUL-ended, in the platform's encoding.
/// options: NULL for the defaults. max_objects and max_memory are for all parts together, shards among them whenever they
/// are opened; max_manifest_size is for each and for the index; threads also open the parts. file: as zt_open.
/// Returns what zt_open returns: ZT_ERROR_NO_FILE if a part is missing (the message names the missing ones, and
/// zt_open_options.part opens a part alone), ZT_ERROR_CORRUPT if two tensors have the same name, a part lacks a tensor
/// that the index gives it, the index leads out of its folder, or parts disagree on how many they are;
/// ZT_ERROR_INVALID_ARGUMENT if a folder holds several models, which the message lists.
/// Threads: any.
ZT_NODISCARD zt_status zt_open_model(const char *path, const zt_open_options *options, zt_file **file);

/// Opens a file, of any container that zt_open takes, that is in memory.
/// data, size: its bytes; they are not copied and must stay as they are until the last zt_close. Pointers that
/// zt_component_ptr lends are as aligned as data is, and refused where that is less than the element's size.
/// options: NULL for the defaults; mode and advice do not matter. file, statuses: as zt_open.
/// Threads: any.
ZT_NODISCARD zt_status zt_open_memory(const void *data, size_t size, const zt_open_options *options, zt_file **file);

/// Gives a reference back. The last one closes the file and ends everything borrowed from it; buffers of
/// zt_component_load hold a reference of their own.
/// file: NULL is fine. Using it after its last zt_close is undefined.
/// Threads: any; no other thread may be using the reference that is given back.
void zt_close(zt_file *file);

/// Another reference to an open file: zt_close has to be called once more.
/// file: NULL is fine. Returns file.
/// Threads: any, at the same time as any other call on file.
zt_file *zt_retain(zt_file *file);

/// The values of zt_mode.
typedef enum zt_mode_value {
    /// The file is mapped and bytes can be lent. If somebody cuts the file short while it is open,
    /// touching the lost pages raises SIGBUS in the toucher; if somebody writes to it, the bytes change, and no call can
    /// detect that: ZT_MODE_READ does.
    ZT_MODE_MAP = 0,
    /// Positioned reads only, never a mapping. A call fails with ZT_ERROR_IO if the file was cut short, or if its size or
    /// modification time, compared after reading, was changed. A .zt file that only grew by an append stays readable.
    ZT_MODE_READ = 1,
    /// As ZT_MODE_MAP, but as ZT_MODE_READ where the file is on a network file system or one that a program serves
    /// (NFS, SMB, FUSE, 9p, Ceph, Lustre and others; known on Linux and macOS), where the system refuses the mapping,
    /// and where the file does not fit the process's address space. zt_file_mode tells which it is.
    ZT_MODE_AUTO = 2,
    /// As ZT_MODE_MAP, and the caller may write, const cast away, to what is lent (zt_component_ptr, zt_file_bytes,
    /// views, zt_component_load, DLPack): a page that is written to becomes this file handle's own copy, in memory;
    /// neither the file on disk nor anybody else sees it. All that the handle lends shows the change. What copies or
    /// checks (zt_component_read, ranges, slices, batches, conversions, verification, zt_write_copy) sees the file's
    /// bytes. The library writes nothing there. Two threads at the same bytes are the caller's to keep apart.
    ZT_MODE_PRIVATE = 3,
} zt_mode_value;

/// When shards are opened: other files, which a file of zTensor 2 has bytes of its objects in. The shard NAME of STEM.zt is
/// STEM-NAME.zt next to it; if STEM.zt is a symbolic link, next to the link, else next to its target, by the name of
/// that. In zt_open_options.shard_folder it may also be NAME.zt or blobs/ALGORITHM/HEX, its digest.
/// More than 65,536 shards are ZT_ERROR_LIMIT, whenever they would be opened.
typedef enum zt_shards_value {
    /// By zt_open_model, zt_open_model_from and zt_open_parts as ZT_SHARDS_ON_USE, else as ZT_SHARDS_NEVER.
    ZT_SHARDS_OF_MODELS = 0,
    ZT_SHARDS_ON_USE = 1, ///< Each when it is first read; until then it need not be there.
    ZT_SHARDS_AT_OPEN = 2, ///< All with the file, which fails where one is missing or no shard of it.
    ZT_SHARDS_NEVER = 3, ///< Never: what is in them is listed, and reading it is ZT_ERROR_UNSUPPORTED.
} zt_shards_value;

/// Called with progress: done of total bytes. Returns 0 to go on, anything else to stop with ZT_ERROR_CANCELLED, after
/// which the same call does not call it again. Called from one thread at a time, not necessarily the caller's.
typedef int32_t (*zt_progress_callback)(void *context, uint64_t done, uint64_t total);

/// How to open a file. All fields zero (but struct_size) are the defaults.
struct zt_open_options {
    size_t struct_size; ///< sizeof (zt_open_options)
    zt_mode mode; ///< How the bytes are reached; ZT_MODE_MAP is the default.
    uint32_t verify; ///< 0: check the structure. 1: check every digest, too, those of whole shards among them.
    /// 0: what a lenient reader may pass over is passed over. 1: it is refused: unknown dtypes, encodings and
    /// formats, malformed digests and versions, sparse indices that are not u64 in 1.2, bool bytes other than 0 and 1
    /// (in components when these are read or verified) and, when verified, padding that is not zero.
    uint32_t strict;
    zt_advice advice; ///< What will be done with the whole file: a hint, which the system may refuse.
    uint64_t max_manifest_size; ///< Largest manifest in bytes; 0 for the specs' 1 GiB.
    uint64_t max_decoded_size; ///< Largest decoded size of a compressed component in bytes; 0: docs/tuning.md.
    uint64_t max_objects; ///< Most objects; 0 for 2^24.
    /// Threads that a call without options of its own may use for a large component, and waits for. 0: a few
    /// (docs/tuning.md). 1: only the caller's. A zt_source is read by at most as many as its concurrency.
    uint32_t threads;
    /// What may be opened, 1u << ZT_CONTAINER_... of each; 0: all. A file of another: ZT_ERROR_UNSUPPORTED.
    uint32_t containers;
    /// Most memory in bytes for opening the file and its shards, and what stays of that: manifest, tables, names,
    /// attributes; not components. Over it is ZT_ERROR_LIMIT, before the memory is asked for. 0: docs/tuning.md.
    uint64_t max_memory;
    void *context; ///< Handed to progress; may be NULL.
    zt_progress_callback progress; ///< With verify: called with stored bytes as they are checked.
    const char *name; ///< What messages call the file; NULL: its path, or how it is opened. Copied.
    const zt_allocator *allocator; ///< Where memory that is handed out comes from; NULL: the library's own. Copied.
    const zt_thread_hooks *thread_hooks; ///< Called on threads that are started for the file; NULL: none. Copied.
    const char *shard_folder; ///< The folder that shards are in; NULL: that of the file that names them. Copied.
    uint32_t shards; ///< When shards are opened: one of the ZT_SHARDS_ values.
    /// 1: zt_open_model and zt_open_model_from open the file at the path alone, although it is a part of a model. 0: the
    /// whole model.
    uint32_t part;
    /// 1: include tensors that the files of a model hold and its index names nowhere. 0: leave them out;
    /// zt_model_get_info counts them.
    uint32_t include_unlisted;
    /// 0: a safetensors, npz or PyTorch file with bytes behind its content is refused. 1: they are passed over.
    uint32_t allow_trailing;
};

/// The mode that the file is in: ZT_MODE_MAP, ZT_MODE_READ or ZT_MODE_PRIVATE, never ZT_MODE_AUTO, of
/// which it is what came of it. ZT_MODE_MAP for a file in memory, whose bytes are lent likewise;
/// ZT_MODE_READ for a zt_source, and for a model whose parts are in several modes. 0 (ZT_MODE_MAP) for NULL.
/// Threads: any.
zt_mode zt_file_mode(const zt_file *file);

/// The version as the file says it: "0.1.0", "1.0", "1.1.0", "1.2.0"; "" where it says none, as safetensors. Of a
/// model, that of its first part.
/// Returns a string that lives until the last zt_close; NULL for NULL.
/// Threads: any. Spec 1.2 section 1.
const char *zt_file_version(const zt_file *file);

/// How many files it is made of, of which its shards are the last; 0 for NULL. Threads: any.
size_t zt_part_count(const zt_file *file);

/// What is known of one of the files of a model. A file that zt_open opened is part 0 of itself.
struct zt_part_info {
    size_t struct_size; ///< sizeof (zt_part_info), set by the caller.
    /// The path that the part was opened by, in the platform's encoding, NUL-ended; the path where the library looks for
    /// a shard that is not open. NULL if the part was not opened by a path. Lives until the last zt_close.
    const char *path;
    uint64_t size; ///< Bytes of the part; 0 for a shard that is not open.
    zt_container container; ///< The part's container; ZT_CONTAINER_NONE for a shard that is not open.
    uint32_t reserved; ///< 0.
};

/// Fills a struct with what is known of a part. Opens nothing.
/// part: below zt_part_count, else ZT_ERROR_INVALID_ARGUMENT. info: set struct_size; not NULL; filled on success,
/// untouched on failure.
/// Threads: any.
ZT_NODISCARD zt_status zt_part_get_info(const zt_file *file, size_t part, zt_part_info *info);

// -------------------------------------------------------------------------------------------------------------------
// 3. Finding
//
// A file holds named objects. An object has a shape, a format and components; a dense tensor has one
// component, "data".

/// A dense tensor.
struct zt_tensor {
    size_t struct_size; ///< sizeof (zt_tensor), set by the caller.
    /// The elements, row-major, in the host's byte order, aligned as zt_component_ptr says; not NULL.
    const void *data;
    size_t size; ///< Bytes.
    zt_dtype dtype; ///< The storage type.
    zt_type type; ///< The logical type.
    const uint64_t *shape; ///< The dimensions, rank of them.
    size_t rank; ///< Number of dimensions.
};

/// The dense tensor of that name, ready to use.
///
/// Without a copy where zt_component_ptr would work; else the bytes are decoded into memory that the file keeps, and
/// a second call gives the same memory.
/// name: as for zt_object_find. view: set struct_size; untouched on failure. What it points to lives until the last
/// zt_close.
/// Returns ZT_ERROR_NOT_FOUND, ZT_ERROR_UNSUPPORTED (not dense, unknown dtype or encoding), ZT_ERROR_CORRUPT,
/// ZT_ERROR_LIMIT, ZT_ERROR_IO, ZT_ERROR_OUT_OF_MEMORY, ZT_ERROR_INVALID_ARGUMENT.
/// Threads: any. Spec 1.2 section 3.
ZT_NODISCARD zt_status zt_tensor_find(const zt_file *file, const char *name, zt_tensor *view);

/// As zt_tensor_find, of an object in hand; so for names that hold a NUL, too.
/// Threads: any. Spec 1.2 section 3.
ZT_NODISCARD zt_status zt_tensor_view(const zt_object *object, zt_tensor *view);

/// The object of that name; the first one where a 0.1 file has several.
/// name: NUL-ended, the bytes of zt_object_name, which need not be UTF-8; NULL finds nothing. A name that holds a NUL
/// is found by zt_object_find_n.
/// Returns an object that lives until the last zt_close; NULL if there is none, and for NULL. It is no failure:
/// zt_last_error is left as it was.
/// Threads: any.
const zt_object *zt_object_find(const zt_file *file, const char *name);

/// Number of objects; 0 for NULL. Threads: any.
size_t zt_object_count(const zt_file *file);

/// The object at index, in file order, part by part.
/// Returns an object that lives until the last zt_close; NULL if index is not below zt_object_count, and for NULL.
/// Threads: any.
const zt_object *zt_object_at(const zt_file *file, size_t index);

/// What is known of an object without touching its bytes. The fields from offset on are of component, 0 if it is NULL.
struct zt_object_info {
    /// sizeof (zt_object_info): set by the caller in the first struct of an array, filled in the others.
    size_t struct_size;
    const zt_object *object; ///< The object.
    const char *name; ///< As zt_object_name: NUL-ended, not NULL.
    size_t name_length; ///< Bytes of the name, without the NUL at its end.
    const uint64_t *shape; ///< As zt_object_shape: the dimensions, rank of them, outermost first; not NULL.
    size_t rank; ///< As zt_object_rank.
    const zt_value *attributes; ///< As zt_object_attributes: NULL if it has none.
    size_t component_count; ///< As zt_component_count.
    /// "data" of a dense object or of blocks; NULL for any other format, as no component is all of it.
    const zt_component *component;
    uint64_t offset; ///< First stored byte, counted from the start of its part.
    uint64_t stored_size; ///< Stored bytes.
    uint64_t size; ///< As zt_component_size; ZT_UNKNOWN_SIZE where the file does not declare it.
    zt_format format; ///< As zt_object_format.
    zt_dtype dtype; ///< As zt_component_dtype.
    zt_type type; ///< As zt_component_type.
    zt_encoding encoding; ///< As zt_component_encoding.
    const char *format_name; ///< The file's own name of the format if format is ZT_FORMAT_OTHER, else NULL.
};

/// Fills a struct for each of many objects with what its getters return, in file order. Nothing is allocated, locked
/// or decoded: for a listing of everything, the cheapest way.
///
/// first: where to begin; not below zt_object_count is fine, and fills nothing. infos, count: as many structs, of
/// which the first one's struct_size is set; (NULL, 0) fills nothing.
/// filled: receives how many were filled, count or as many as there are from first on; not NULL. Both are untouched on
/// failure. What the structs point to lives until the last zt_close.
/// Returns ZT_ERROR_INVALID_ARGUMENT for NULL and for a struct_size that is none.
/// Threads: any. Spec 1.2 section 1.
ZT_NODISCARD zt_status zt_object_list(const zt_file *file, size_t first, zt_object_info *infos, size_t count,
    size_t *filled);

/// Fills a struct with what is known of an object, as zt_object_list does.
/// info: set struct_size; not NULL; filled on success, untouched on failure.
/// Threads: any. Spec 1.2 section 1.
ZT_NODISCARD zt_status zt_object_get_info(const zt_object *object, zt_object_info *info);

/// Name of the object: the bytes of the file, and a NUL. It may hold a NUL itself (see zt_object_name_length).
/// It is UTF-8, but in GGUF and PyTorch files, where names may be any bytes; zt_object_find finds it by the same bytes.
/// If a PyTorch or npz file has several objects of one name (the keys "a.b" and "a" -> "b"), each but the first has a
/// mark behind its name: "a.b#2", "a.b#3". A marked name that is in the file itself is passed over.
/// Returns a string that lives until the last zt_close; NULL for NULL.
/// Threads: any.
const char *zt_object_name(const zt_object *object);

/// Number of dimensions; 0 for a scalar, and for NULL.
/// Threads: any. Spec 1.2 section 1.
size_t zt_object_rank(const zt_object *object);

/// The dimensions, zt_object_rank of them, outermost first.
/// Returns an array that lives until the last zt_close; not NULL for a scalar, NULL for NULL.
/// Threads: any. Spec 1.2 section 1.
const uint64_t *zt_object_shape(const zt_object *object);

/// Product of the dimensions: 1 for a scalar, 0 for NULL, UINT64_MAX where it leaves 64 bits (sparse and unknown
/// formats may have such shapes). Threads: any.
uint64_t zt_object_element_count(const zt_object *object);

/// The layout of the components; ZT_FORMAT_OTHER for an unknown one, and for NULL.
/// Threads: any. Spec 1.2 section 3.
zt_format zt_object_format(const zt_object *object);

/// The component of that role: "data", "values", "scales" and so on.
/// role: NUL-ended; NULL finds nothing. Returns a component that lives until the last zt_close; NULL if there is
/// none, and for NULL. It is no failure: zt_last_error is left as it was.
/// Threads: any.
const zt_component *zt_component_find(const zt_object *object, const char *role);

/// Number of components; 0 for NULL. Threads: any.
size_t zt_component_count(const zt_object *object);

/// The component at index, in file order.
/// Returns a component that lives until the last zt_close; NULL if index is not below zt_component_count.
/// Threads: any.
const zt_component *zt_component_at(const zt_object *object, size_t index);

/// What is known of a component without touching its bytes, as zt_component_list fills it.
struct zt_component_info {
    /// sizeof (zt_component_info): set by the caller in the first struct of an array, filled in the others.
    size_t struct_size;
    const zt_component *component; ///< The component.
    const zt_object *object; ///< The object that it is part of.
    const char *role; ///< As zt_component_role: NUL-ended, not NULL.
    size_t role_length; ///< Bytes of the role, without the NUL at its end.
    const char *digest; ///< As zt_component_digest: NULL if there is none.
    uint64_t offset; ///< First stored byte, counted from the start of its part; a multiple of 64 in a .zt file.
    uint64_t stored_size; ///< Stored bytes: compressed ones if the encoding compresses.
    uint64_t size; ///< As zt_component_size.
    zt_dtype dtype; ///< As zt_component_dtype.
    zt_type type; ///< As zt_component_type.
    zt_encoding encoding; ///< As zt_component_encoding.
    uint32_t part; ///< The part of the model that its bytes are in: below zt_part_count.
    const char *dtype_name; ///< The file's own name of the storage type if dtype is ZT_DTYPE_OTHER, else NULL.
    const char *type_name; ///< The file's own name of the logical type if type is ZT_TYPE_OTHER, else NULL.
    const char *encoding_name; ///< The file's own name of the encoding if encoding is ZT_ENCODING_OTHER, else NULL.
};

/// Fills a struct with what is known of a component, as zt_component_list does.
/// info: set struct_size; not NULL; filled on success, untouched on failure.
/// Threads: any. Spec 1.2 section 1.
ZT_NODISCARD zt_status zt_component_get_info(const zt_component *component, zt_component_info *info);

/// The component's name within its object: UTF-8 and NUL-ended.
/// Returns a string that lives until the last zt_close; NULL for NULL.
/// Threads: any. Spec 1.2 section 3.
const char *zt_component_role(const zt_component *component);

/// The storage type; ZT_DTYPE_OTHER for an unknown one, and for NULL.
/// Threads: any. Spec 1.2 section 2.
zt_dtype zt_component_dtype(const zt_component *component);

/// The logical type: ZT_TYPE_NONE where the elements are what the dtype says, also where the file writes that out;
/// ZT_TYPE_OTHER for an unknown one; ZT_TYPE_NONE for NULL.
/// Threads: any. Spec 1.2 section 2.
zt_type zt_component_type(const zt_component *component);

/// The encoding; ZT_ENCODING_OTHER for an unknown one, 0 for NULL.
/// Threads: any. Spec 1.2 section 1.
zt_encoding zt_component_encoding(const zt_component *component);

/// Decoded bytes: what zt_component_read needs room for. 0 for NULL; ZT_UNKNOWN_SIZE where the file does not declare
/// it (some compressed components before 1.2, unknown encodings) and zt_component_measure has not found it yet.
/// Threads: any. Spec 1.2 section 1.
uint64_t zt_component_size(const zt_component *component);

/// The digest as the file has it, "sha256:8f4a...": of the stored bytes, in zTensor 2 of the decoded ones.
/// Returns a string that lives until the last zt_close; NULL if there is none, and for NULL.
/// Threads: any. Spec 1.2 section 1.
const char *zt_component_digest(const zt_component *component);

// -------------------------------------------------------------------------------------------------------------------
// 4. Reading
//
// zt_component_ptr borrows bytes, zt_object_read_as converts numbers, zt_component_read copies bytes.
// zt_read_batch does all of this for many requests on several threads.

/// Lends the component's bytes where they are, without copying.
///
/// ptr: receives a pointer that lives until the last zt_close; not NULL. It is not NULL for a component of no bytes.
/// It is 64-byte aligned in a .zt file that was opened by path (else see zt_open_fd and zt_open_memory); other
/// containers align as they like, and what is not aligned for its elements is ZT_ERROR_NOT_MAPPABLE. size: receives
/// the bytes; may be NULL. Both are untouched on failure.
/// Returns ZT_ERROR_NOT_MAPPABLE if the component is compressed, of the other byte order, or the file is neither mapped
/// nor in memory (zt_component_read works then); ZT_ERROR_UNSUPPORTED for an unknown dtype or encoding.
/// The bytes are read-only; writing to them is a fault, but in ZT_MODE_PRIVATE. In ZT_MODE_MAP see there what a file
/// that changes under us does. Threads: any. Spec 1.2 section 3 ("SHOULD memory-map").
ZT_NODISCARD zt_status zt_component_ptr(const zt_component *component, const void **ptr, size_t *size);

/// Reads all numbers of an object as elements of another dtype, row-major.
///
/// Floats become narrower floats by rounding once to nearest, ties to even; infinity and NaN stay what they are. Floats
/// become integers by rounding to nearest even, and integers become floats by rounding once. To bool, all but zero is
/// 1; from bool, all but zero is 1. The four f8 types are read exactly. A complex element becomes two.
/// A number is lost if it is finite and becomes infinite, or if an integer dtype has no value for it. Then the call is
/// ZT_ERROR_LIMIT, and the message gives the object and the count. zt_read_batch with zt_read_request.lossy reads such
/// elements: as infinity, as the nearest integer that the dtype has, and NaN as 0.
/// dtype: what to read as; not ZT_DTYPE_OTHER. dst: receives the bytes that zt_object_size_as gives; NULL only if
/// there are none. dst_size: its bytes; fewer is ZT_ERROR_BUFFER_SIZE, and then dst is not touched.
/// written: receives the bytes that were written; may be NULL, untouched on failure. Memory behind that size stays as it
/// was, also on failure, when the content of dst in front of it is undefined.
/// Returns what zt_object_size_as and zt_component_read return. Threads: any.
ZT_NODISCARD zt_status zt_object_read_as(const zt_object *object, zt_dtype dtype, void *dst, size_t dst_size,
    size_t *written);

/// The bytes that zt_object_read_as writes: elements (complex ones count twice) times zt_dtype_size (dtype). Reads
/// nothing: they follow from the shape.
/// size: receives them; not NULL, untouched on failure.
/// Returns ZT_ERROR_UNSUPPORTED if the object is not one array of numbers that the library converts; the message names
/// the format or the type. These are sparse objects, quantized groups, block types, packed types such as
/// ZT_TYPE_F4_E2M1, and all that is unknown. No component is read in place of such an object. ZT_ERROR_LIMIT if the size
/// leaves 64 bits. Threads: any.
ZT_NODISCARD zt_status zt_object_size_as(const zt_object *object, zt_dtype dtype, uint64_t *size);

/// Reads the component's decoded bytes straight into the caller's memory.
///
/// dst: receives zt_component_size bytes in the host's byte order, of any alignment; NULL only if there are none.
/// dst_size: its bytes; fewer is ZT_ERROR_BUFFER_SIZE, what is over is left alone. On failure dst is undefined.
/// Returns ZT_ERROR_CORRUPT (the compressed bytes are damaged or of another size than declared), ZT_ERROR_UNSUPPORTED
/// (unknown dtype or encoding), ZT_ERROR_LIMIT, ZT_ERROR_IO. Digests are not checked here: see zt_verify,
/// zt_read_batch, zt_open_options.verify.
/// Threads: any; for a large one the call may start its own (zt_open_options.threads). Spec 1.2 section 5.
ZT_NODISCARD zt_status zt_component_read(const zt_component *component, void *dst, size_t dst_size);

/// Reads a range of the component's decoded bytes. Of a zstd component only the frames that the range touches are
/// decoded, where the frames declare their sizes, as those that this library writes do. Where the file is neither
/// mapped nor in memory, the first range of a component walks the headers of its frames, which is kept for some
/// components; a small component is read whole (docs/tuning.md).
///
/// offset: first decoded byte. dst, size: receives size bytes; NULL only if size is 0.
/// Returns ZT_ERROR_INVALID_ARGUMENT if the range passes zt_component_size, ZT_ERROR_UNSUPPORTED for zstd frames that do
/// not say their sizes with a window over 128 MiB, else as zt_component_read.
/// Threads: any.
ZT_NODISCARD zt_status zt_component_read_range(const zt_component *component, uint64_t offset, void *dst,
    size_t size);

/// Reads a hyperslab of a dense object: in each dimension count elements from start, step apart. What tensor-parallel
/// ranks need: only those bytes are read, as far as the encoding allows, or copied out of the mapping in ZT_MODE_MAP
/// where their pages are in memory. Several threads share large slabs: see zt_open_options.threads.
///
/// start, count: zt_object_rank numbers each; NULL only for a scalar. step: likewise, or NULL for 1 in every
/// dimension; a step of 0 is ZT_ERROR_INVALID_ARGUMENT. dst: receives the elements row-major and without gaps, in the
/// host's byte order. dst_size: its bytes, at least the product of the counts times the element size (with the pair
/// of a complex type); fewer is ZT_ERROR_BUFFER_SIZE.
/// Returns ZT_ERROR_INVALID_ARGUMENT if the slab leaves the shape, ZT_ERROR_UNSUPPORTED if the object is not dense,
/// else as zt_component_read. On failure the content of dst is undefined.
/// Threads: any.
ZT_NODISCARD zt_status zt_object_read_slice(const zt_object *object, const uint64_t *start, const uint64_t *count,
    const uint64_t *step, void *dst, size_t dst_size);

/// The component's decoded bytes can be lent: zt_component_ptr works.
#define ZT_CAP_MAP 1
/// The component's decoded bytes can be had: zt_component_read and zt_component_load work.
#define ZT_CAP_READ 2
/// A range of the decoded bytes can be had without decoding all of them.
#define ZT_CAP_RANGE 4
/// The stored bytes are the decoded bytes and start at a multiple of 4096 of a real file, counted from its own start
/// (zt_open_fd's offset included): they can go from the disk to their place without a copy.
#define ZT_CAP_DIRECT 8
/// There is a digest that this version can check, or the CRC-32 that an archive (npz, PyTorch) has of the bytes.
#define ZT_CAP_VERIFY 16
/// It starts at a page boundary of the real file, counted from that file's own start, or of memory, and no byte of
/// another component, nor of what the file is part of, is in its pages: ZT_ADVICE_RELEASE and ZT_ADVICE_EVICT reach
/// all of it and nothing else.
#define ZT_CAP_PAGE_EXCLUSIVE 32

/// What would work on the component: a set of ZT_CAP_ bits. 0 for NULL.
/// Threads: any.
uint32_t zt_component_caps(const zt_component *component);

/// As the length of a range: all from its offset to the end. A length of 0 is an empty range.
#define ZT_WHOLE 18446744073709551615ull

/// One read of a batch. The whole component has offset 0 and length ZT_WHOLE.
struct zt_read_request {
    size_t struct_size; ///< sizeof (zt_read_request), the same in every request of a call.
    const zt_component *component; ///< What to read; of the file that the call names.
    uint64_t offset; ///< First decoded byte of a range.
    uint64_t length; ///< Bytes of the range: ZT_WHOLE for all to the end, 0 for none. 0 for a hyperslab.
    /// A hyperslab of a dense object's data instead, as in zt_object_read_slice: the rank's number of starts. NULL
    /// unless count is given.
    const uint64_t *start;
    const uint64_t *count; ///< The rank's number of counts; NULL if this is not a hyperslab.
    const uint64_t *step; ///< The rank's number of steps; NULL for 1 in every dimension.
    /// Receives the bytes; two requests of a call that fill the same memory are ZT_ERROR_INVALID_ARGUMENT.
    void *dst;
    size_t dst_size; ///< Bytes at dst: at least as many as the request reads.
    uint64_t tag; ///< Given to on_done; means nothing here.
    /// How many evenly spaced rows to read instead of a range; 0 for none. With rows length is 0, and start, count and
    /// step are NULL. Row i is row_length bytes at offset + i * row_stride, and goes to dst + i * dst_stride.
    uint64_t rows;
    /// Decoded bytes of a row; whole elements if their byte order changes, or they are converted or gathered.
    uint64_t row_length;
    uint64_t row_stride; ///< From one row to the next in the component, at least row_length; 0 for row_length.
    /// From one row to the next at dst, at least row_length; bytes between rows are left alone. 0 for row_length.
    uint64_t dst_stride;
    uint32_t verify; ///< 1: check the digest if the component is read whole, as zt_read_options.verify does.
    /// The dtype to convert to, as zt_object_read_as does; 0 for none. Sizes at dst are those after conversion.
    zt_dtype convert;
    uint32_t lossy; ///< 1: a conversion may lose numbers. 0: a request that would lose one fails with ZT_ERROR_LIMIT.
    uint32_t reserved; ///< 0
};

/// The values of zt_direct.
typedef enum zt_direct_value {
    /// Past the page cache where that is faster: in a large batch, the parts that are not in memory already, if the
    /// file system says that it has direct reads. What was read so is not in the page cache afterwards.
    ZT_DIRECT_AUTO = 0,
    ZT_DIRECT_NEVER = 1, ///< Through the page cache: for what will be read again.
    /// Past the page cache; ZT_ERROR_UNSUPPORTED where the file system has no such reads. Where one fails all the
    /// same, that and those after it go through the page cache, and zt_read_stats.reason tells.
    ZT_DIRECT_ALWAYS = 2,
} zt_direct_value;

/// Called when a request is done, with its tag: ZT_OK and dst is filled, or its failure, whose message is as
/// zt_last_error's, valid during the call, and "" for ZT_OK. Called from one thread at a time, not necessarily the
/// caller's; it must not call zt_read_batch on the same file.
typedef void (*zt_done_callback)(void *context, uint64_t tag, zt_status status, const char *message);

/// How to read a batch. All fields zero (but struct_size) are the defaults.
struct zt_read_options {
    size_t struct_size; ///< sizeof (zt_read_options)
    /// Threads; 0 for as many as there are processors, within reason. 1 reads on the caller's thread.
    uint32_t threads;
    zt_direct direct; ///< Whether to go past the page cache.
    uint64_t chunk_size; ///< Bytes that a thread reads at a time, at least 4096; 0 for the default.
    /// Most bytes of temporary memory in use at once, over all threads; 0 for the default. One request may always use
    /// what it alone needs.
    uint64_t in_flight;
    uint32_t verify; ///< 1: check the digest of every component that is read whole and has one that can be checked.
    /// 1: the destinations are pinned and physically contiguous (registered with a device, or of a driver's pool), so
    /// that reads past the page cache go straight into them where their address and the offset are aligned: worth it
    /// for memory on huge pages, too. 0: through memory of the library's, quicker for pages that lie anywhere.
    uint32_t pinned;
    void *context; ///< Passed to the callbacks; may be NULL.
    zt_done_callback on_done; ///< Called for every request that is done; may be NULL.
    /// Called with the bytes that were delivered, to ask whether to go on; may be NULL.
    zt_progress_callback progress;
};

/// What a batch did.
struct zt_read_stats {
    size_t struct_size; ///< sizeof (zt_read_stats), set by the caller.
    uint64_t bytes; ///< Bytes delivered to the caller's memory.
    /// Stored bytes that were read for it; for a part of a compressed component, those of the frames around it.
    uint64_t stored_bytes;
    uint64_t requests; ///< Requests that are done.
    uint64_t digests_verified; ///< Digests that were checked and agreed.
    uint64_t nanoseconds; ///< Time, in nanoseconds.
    uint32_t threads; ///< Threads that were used.
    uint32_t direct; ///< 1 if reads went past the page cache.
    /// Why the reads went past the page cache or through it: one line, lives as long as the library. If a read past the
    /// page cache failed and the page cache was used instead, it has the error.
    const char *reason;
};

/// Reads many components, ranges and hyperslabs in one call: sorted by their place in the file, cut into chunks, on
/// several threads, straight into the caller's memory where the encoding allows. In ZT_MODE_MAP hyperslabs are copied
/// out of the mapping where their pages are in memory; all else that is not compressed is read.
///
/// requests, count: the reads, used during the call; (NULL, 0) does nothing. options: NULL for the defaults. stats:
/// may be NULL; set struct_size; filled on success and on failure.
/// The first failure stops the batch and is returned; which requests were done before is reported by on_done. On
/// failure the content of the dst of requests that are not done is undefined.
/// Returns what zt_component_read, zt_component_read_range, zt_object_read_slice and zt_verify return,
/// ZT_ERROR_CANCELLED if progress stops it, ZT_ERROR_UNSUPPORTED where the file system cannot ZT_DIRECT_ALWAYS.
/// Threads: any; the call starts its own and waits for them.
ZT_NODISCARD zt_status zt_read_batch(const zt_file *file, const zt_read_request *requests, size_t count,
    const zt_read_options *options, zt_read_stats *stats);

/// Gives the component's decoded bytes, 64-byte aligned: borrowed from the mapping where they lie so (zt_component_ptr
/// lends more), else in fresh memory (zt_open_options.allocator).
///
/// options: NULL to read as zt_component_read does; else as zt_read_batch of this one request, with tag 0: its
/// threads, digest, progress. Borrowed bytes are not read, but for a digest that verify asks for.
/// buffer: receives the buffer, NULL on failure; end it with zt_buffer_free. It holds a reference to the file, so
/// that it may outlive the caller's zt_close.
/// Returns as zt_component_read, with options as zt_read_batch, and ZT_ERROR_OUT_OF_MEMORY. Memory is asked for only
/// after the stored bytes were seen to be able to fill it.
/// Threads: any; as zt_component_read.
ZT_NODISCARD zt_status zt_component_load(const zt_component *component, const zt_read_options *options,
    zt_buffer **buffer);

/// The bytes of a buffer.
/// Returns a pointer that lives until zt_buffer_free, never NULL for a buffer; NULL for NULL.
/// Threads: any.
const void *zt_buffer_data(const zt_buffer *buffer);

/// Number of bytes of a buffer; 0 for NULL.
/// Threads: any.
size_t zt_buffer_size(const zt_buffer *buffer);

/// Ends a buffer and gives its reference to the file back.
/// buffer: NULL is fine. Threads: any; no other thread may be using the buffer.
void zt_buffer_free(zt_buffer *buffer);

// -------------------------------------------------------------------------------------------------------------------
// 5. Types
//
// A zt_dtype is a storage type, a zt_type a logical type. If a file has a name that this version does not
// know, the value is OTHER, and zt_object_info or zt_component_info has the name.

/// A size that the file does not declare and that nobody found out yet.
#define ZT_UNKNOWN_SIZE 18446744073709551615ull

/// The values of zt_dtype. What 0.1 and 1.0 files name differently ("float32") is given in its 1.2 meaning.
typedef enum zt_dtype_value {
    ZT_DTYPE_OTHER = 0, ///< A name that this version does not know; zt_component_dtype_name returns it.
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
    /// 1 byte: 0 is false, 1 is true. Other bytes are not written, and reads return them as they are stored. Verification refuses them in `.zt` files, and in other containers if zt_open_options.strict is set.
    ZT_DTYPE_BOOL = 13,
} zt_dtype_value;

/// The values of zt_type. The 1.1 dtypes f8_e4m3, f8_e5m2, complex64 and complex128 are given as dtype and type.
/// ZT_TYPE_GGUF_ are the block types of GGUF, stored as u8; see zt_type_block.
typedef enum zt_type_value {
    ZT_TYPE_NONE = 0, ///< Absent: the elements are what the dtype says.
    ZT_TYPE_F8_E4M3FN = 1, ///< 8-bit float, 4 exponent bits, finite: stored as u8.
    ZT_TYPE_F8_E5M2 = 2, ///< 8-bit float, 5 exponent bits: stored as u8.
    ZT_TYPE_F8_E4M3FNUZ = 3, ///< 8-bit float, 4 exponent bits, finite, unsigned zero: stored as u8.
    ZT_TYPE_F8_E5M2FNUZ = 4, ///< 8-bit float, 5 exponent bits, finite, unsigned zero: stored as u8.
    ZT_TYPE_COMPLEX64 = 5, ///< Pairs of f32: real, imaginary.
    ZT_TYPE_COMPLEX128 = 6, ///< Pairs of f64: real, imaginary.
    ZT_TYPE_OTHER = 7, ///< A name that this version does not know; zt_component_type_name returns it.
    ZT_TYPE_F8_E8M0 = 8, ///< 8-bit power of two: a scale. Stored as u8.
    ZT_TYPE_F4_E2M1 = 9, ///< 4-bit float: 2 elements in a byte, the first one in its low bits.
    ZT_TYPE_F6_E2M3 = 10, ///< 6-bit float, 2 exponent bits: 4 elements in 3 bytes.
    ZT_TYPE_F6_E3M2 = 11, ///< 6-bit float, 3 exponent bits: 4 elements in 3 bytes.
    ZT_TYPE_COMPLEX32 = 12, ///< Pairs of f16: real, imaginary.
    ZT_TYPE_GGUF_Q4_0 = 32, ZT_TYPE_GGUF_Q4_1 = 33, ZT_TYPE_GGUF_Q5_0 = 34, ZT_TYPE_GGUF_Q5_1 = 35,
    ZT_TYPE_GGUF_Q8_0 = 36, ZT_TYPE_GGUF_Q8_1 = 37, ZT_TYPE_GGUF_Q2_K = 38, ZT_TYPE_GGUF_Q3_K = 39,
    ZT_TYPE_GGUF_Q4_K = 40, ZT_TYPE_GGUF_Q5_K = 41, ZT_TYPE_GGUF_Q6_K = 42, ZT_TYPE_GGUF_Q8_K = 43,
    ZT_TYPE_GGUF_IQ2_XXS = 44, ZT_TYPE_GGUF_IQ2_XS = 45, ZT_TYPE_GGUF_IQ3_XXS = 46, ZT_TYPE_GGUF_IQ1_S = 47,
    ZT_TYPE_GGUF_IQ4_NL = 48, ZT_TYPE_GGUF_IQ3_S = 49, ZT_TYPE_GGUF_IQ2_S = 50, ZT_TYPE_GGUF_IQ4_XS = 51,
    ZT_TYPE_GGUF_IQ1_M = 52, ZT_TYPE_GGUF_TQ1_0 = 53, ZT_TYPE_GGUF_TQ2_0 = 54, ZT_TYPE_GGUF_MXFP4 = 55,
    ZT_TYPE_GGUF_NVFP4 = 56, ZT_TYPE_GGUF_Q1_0 = 57, ZT_TYPE_GGUF_Q2_0 = 58,
} zt_type_value;

/// The values of zt_format.
typedef enum zt_format_value {
    ZT_FORMAT_OTHER = 0, ///< A name that this version does not know, or a 0.1 layout that is not dense.
    ZT_FORMAT_DENSE = 1, ///< One row-major array: component "data".
    ZT_FORMAT_SPARSE_CSR = 2, ///< Compressed sparse rows: "values", "indices", "indptr".
    ZT_FORMAT_SPARSE_COO = 3, ///< Coordinate list: "values", "coords".
    ZT_FORMAT_QUANTIZED_GROUP = 4, ///< Quantized groups: "packed_weight", "scales" and perhaps "zeros".
    ZT_FORMAT_BLOCKS = 5, ///< Blocks of a ZT_TYPE_GGUF_ type: component "data". See zt_type_block.
} zt_format_value;

/// The values of zt_encoding.
typedef enum zt_encoding_value {
    ZT_ENCODING_DEFAULT = 0, ///< When writing: what the writer's options say. Never given for a component of a file.
    ZT_ENCODING_RAW = 1, ///< As they are.
    ZT_ENCODING_ZSTD = 2, ///< Zstandard frames (RFC 8878).
    ZT_ENCODING_OTHER = 3, ///< A name that this version does not know; its bytes cannot be read.
    ZT_ENCODING_DEFLATE = 4, ///< Deflate (RFC 1951), as archives have it. Read only.
    /// Zstandard frames and their table: what ZT_ENCODING_ZSTD writes into a file of zTensor 2.
    ZT_ENCODING_ZSTD_SEEKABLE = 5,
} zt_encoding_value;

/// The values of zt_container, detected by the content of a file, never by its name. What is read: docs/formats.md.
typedef enum zt_container_value {
    ZT_CONTAINER_NONE = 0, ///< None: no file.
    ZT_CONTAINER_ZT_0_1 = 1, ZT_CONTAINER_ZT_1_0 = 2, ZT_CONTAINER_ZT_1_1 = 3, ZT_CONTAINER_ZT_1_2 = 4,
    ZT_CONTAINER_ZT_2 = 5, ZT_CONTAINER_SAFETENSORS = 6, ZT_CONTAINER_GGUF = 7, ZT_CONTAINER_NPZ = 8,
    ZT_CONTAINER_TORCH = 9,
} zt_container_value;

/// The name of a dtype in spec 1.2, "bf16"; NULL for ZT_DTYPE_OTHER and numbers that are none. The string lives as
/// long as the library. Threads: any.
const char *zt_dtype_name(zt_dtype dtype);

/// The dtype of a name in spec 1.2, such as "bf16"; 0.1's names ("bfloat16") are taken too.
/// name: NUL-ended, not NULL. dtype: receives the number, untouched on failure, not NULL.
/// Returns ZT_ERROR_NOT_FOUND for an unknown name, ZT_ERROR_INVALID_ARGUMENT for NULL.
/// Threads: any.
ZT_NODISCARD zt_status zt_dtype_from_name(const char *name, zt_dtype *dtype);

/// Bytes of one element of a dtype; 0 for ZT_DTYPE_OTHER and numbers that this version does not know.
/// Threads: any.
size_t zt_dtype_size(zt_dtype dtype);

/// The name of a logical type, "f8_e4m3fn", "gguf.q4_0"; NULL for ZT_TYPE_NONE and ZT_TYPE_OTHER. The string lives as
/// long as the library. Threads: any.
const char *zt_type_name(zt_type type);

/// The logical type of a name, such as "f8_e4m3fn" of spec 1.2.
/// name: NUL-ended, not NULL. type: receives the number, untouched on failure, not NULL.
/// Returns ZT_ERROR_NOT_FOUND for an unknown name, ZT_ERROR_INVALID_ARGUMENT for NULL.
/// Threads: any.
ZT_NODISCARD zt_status zt_type_from_name(const char *name, zt_type *type);

/// How elements of a type lie in bytes: 2 in 1 for ZT_TYPE_F4_E2M1, 32 in 18 for ZT_TYPE_GGUF_Q4_0, 1 in 8 for
/// ZT_TYPE_COMPLEX64. elements, bytes: receive that, untouched on failure; either may be NULL.
/// Returns ZT_ERROR_INVALID_ARGUMENT for ZT_TYPE_NONE, ZT_TYPE_OTHER and numbers that are none.
/// Threads: any.
ZT_NODISCARD zt_status zt_type_block(zt_type type, size_t *elements, size_t *bytes);

/// The name of a format in the spec, "sparse_csr"; NULL for ZT_FORMAT_OTHER and ZT_FORMAT_BLOCKS, which has a name
/// for each type (zt_object_format_name). The string lives as long as the library. Threads: any.
const char *zt_format_name(zt_format format);

/// The name of an encoding in the spec, "zstd"; NULL for ZT_ENCODING_DEFAULT and ZT_ENCODING_OTHER. The string lives
/// as long as the library. Threads: any.
const char *zt_encoding_name(zt_encoding encoding);

/// The name of a container, "safetensors"; NULL for ZT_CONTAINER_NONE and numbers that are none. The string lives as
/// long as the library. Threads: any.
const char *zt_container_name(zt_container container);

// -------------------------------------------------------------------------------------------------------------------
// 6. Streaming
//
// A load reads many requests in the background and hands out each piece when it is there, in a ring of slots
// that never grows.

/// Begins to read what the requests ask for, of any number of files, and returns at once; zt_load_next gives what was
/// read. A request without dst (NULL, dst_size 0) is delivered in a slot of a ring, which is filled again when all
/// that is in it was given back by zt_load_release; small requests share slots. What does not fit a slot comes in
/// several, in any order. If that is compressed, strided, converted or verified, it is first read whole into
/// temporary memory, one such request at a time: ZT_ERROR_LIMIT if it is larger than in_flight.
///
/// requests, count: the reads, used during the call; each may be of another file, which stays open until
/// zt_load_finish. options: NULL for the defaults. load: receives the handle, NULL on failure; end it with
/// zt_load_finish, until when every dst and the ring are the load's.
/// Returns as zt_read_batch what the manifests alone show, and ZT_ERROR_OUT_OF_MEMORY.
/// Threads: any; starts its own, which live until zt_load_finish. Sources with callers_thread are read by the threads
/// that call zt_load_next, and so is all where no thread can be had.
ZT_NODISCARD zt_status zt_load_start(const zt_read_request *requests, size_t count, const zt_load_options *options,
    zt_load **load);

/// Waits for what is next of a load.
///
/// timeout_ns: how long, in nanoseconds; 0 to look only, below 0 for ever. event: set struct_size; receives what is
/// next: bytes, a failure, nothing within the time, or the end, which every later call gets, too.
/// Bytes for a ring come when a slot is free: a thread that holds all slots and waits for ever waits for itself.
/// Returns ZT_OK also for an event that is a failure; ZT_ERROR_INVALID_ARGUMENT; ZT_ERROR_STATE as zt_load_finish.
/// Threads: any, several at once: each event goes to one of them.
ZT_NODISCARD zt_status zt_load_next(const zt_load *load, int64_t timeout_ns, zt_load_event *event);

/// Gives back the bytes of an event, which are not used after that. A slot of which all was given back is filled again.
/// event: as zt_load_next gave it, or a copy; NULL is fine, as is one without a slot, or that was given back.
/// Threads: any, several at once, others than the one that got it.
void zt_load_release(const zt_load *load, const zt_load_event *event);

/// Stops a load: nothing more is begun, and every thread that waits in zt_load_next gets ZT_LOAD_KIND_DONE with
/// ZT_ERROR_CANCELLED. A load whose end zt_load_next gave is not changed.
/// Returns ZT_OK; ZT_ERROR_INVALID_ARGUMENT for NULL; ZT_ERROR_STATE as zt_load_finish.
/// Threads: any, at the same time as other calls on load.
zt_status zt_load_cancel(const zt_load *load);

/// Ends a load, whatever is returned: stops it where it is not done, waits for its threads, ends its handle and ring.
/// load: NULL is fine. stats: may be NULL; set struct_size; filled on success and on failure.
/// Returns ZT_OK if all was read, the first failure, or ZT_ERROR_CANCELLED. In a child of the process that started it,
/// which has none of its threads, it is ZT_ERROR_STATE, and all is left as it is.
/// Threads: any; no other thread may be using load.
zt_status zt_load_finish(zt_load *load, zt_read_stats *stats);

/// The values of zt_load_order.
typedef enum zt_load_order_value {
    ZT_LOAD_ORDER_POSITION = 0, ///< By file and offset in it, which suits disks.
    ZT_LOAD_ORDER_GIVEN = 1, ///< As they are given.
    ZT_LOAD_ORDER_LARGEST = 2, ///< The requests of the most bytes first.
} zt_load_order_value;

/// How to load. All fields zero (but struct_size) are the defaults.
struct zt_load_options {
    size_t struct_size; ///< sizeof (zt_load_options)
    uint32_t threads; ///< Threads that read; 0 for as many as there are processors, within reason.
    zt_direct direct; ///< Whether to go past the page cache.
    uint64_t chunk_size; ///< Bytes that a thread reads at a time, at least 4096; 0 for the default.
    uint64_t in_flight; ///< Most bytes of temporary memory beside the ring; as in zt_read_options.
    uint32_t verify; ///< 1: check the digest of every component that is read whole and has one that can be checked.
    uint32_t pinned; ///< 1: all memory that is given is pinned and contiguous; as in zt_read_options.
    zt_load_order order; ///< Which requests are begun first.
    /// 1: a request that fails is reported, and the others go on. 0: the first failure ends the load.
    uint32_t keep_going;
    /// Memory for requests without dst, as slot_count slots of slot_size bytes, yours until zt_load_finish; NULL: the
    /// library's, on huge pages, if it is needed.
    void *ring;
    size_t slot_size; ///< Bytes of a slot, at least 65536; 0 for the default, if ring is NULL.
    size_t slot_count; ///< Slots; 0 for the default, if ring is NULL.
    /// Called on each thread that reads; NULL for those that the first request's file was opened with.
    const zt_thread_hooks *thread_hooks;
};

/// The values of zt_load_kind.
typedef enum zt_load_kind_value {
    ZT_LOAD_KIND_NOTHING = 0, ///< Nothing came within the time.
    ZT_LOAD_KIND_DATA = 1, ///< Bytes of a request, at data.
    ZT_LOAD_KIND_FAILED = 2, ///< A request failed: status and message say why. Nothing more comes of it.
    ZT_LOAD_KIND_DONE = 3, ///< There will be nothing more; status is how the load ended.
} zt_load_kind_value;

/// The slot of bytes that are in memory of the request's own.
#define ZT_NO_SLOT UINT32_MAX

/// What zt_load_next has.
struct zt_load_event {
    size_t struct_size; ///< sizeof (zt_load_event), set by the caller.
    zt_load_kind kind; ///< Which of these it is.
    zt_status status; ///< ZT_OK, or why the request failed, or how the load ended.
    const char *message; ///< For a failure this thread's zt_last_error, valid until its next failure; else "".
    uint64_t tag; ///< The tag of the request.
    const void *data; ///< The bytes: at the request's dst, or in a slot until zt_load_release.
    size_t size; ///< Bytes at data.
    /// The first of them, counted in what the request reads: what does not fit a slot comes in several events.
    uint64_t offset;
    uint32_t last; ///< 1 with the event after which nothing more comes of the request.
    uint32_t slot; ///< The slot that data is in, or ZT_NO_SLOT.
    uint32_t piece; ///< For zt_load_release.
    uint32_t reserved; ///< 0.
};

// -------------------------------------------------------------------------------------------------------------------
// 7. Attributes
//
// Attributes of a file or an object are a tree of values in CBOR's data model.

/// The file's own attributes; of a model, those of its first part.
/// Returns a map that lives until the last zt_close; NULL if the file has none, and for NULL.
/// Threads: any. Spec 1.2 section 1.
const zt_value *zt_file_attributes(const zt_file *file);

/// The object's attributes.
/// Returns a map that lives until the last zt_close; NULL if it has none, and for NULL.
/// Threads: any. Spec 1.2 section 1.
const zt_value *zt_object_attributes(const zt_object *object);

/// What a map has under a text key; the pairs are looked at one after the other.
/// key: NUL-ended; NULL finds nothing. Returns a value that lives until the last zt_close; NULL if there is none.
/// Threads: any.
const zt_value *zt_value_find(const zt_value *value, const char *key);

/// The values of zt_value_kind.
typedef enum zt_value_kind_value {
    ZT_VALUE_KIND_NULL = 0, ///< null; also what zt_value_get_kind says of NULL.
    ZT_VALUE_KIND_BOOL = 1, ///< true or false.
    ZT_VALUE_KIND_INT = 2, ///< An integer from -2^64 to 2^64-1.
    ZT_VALUE_KIND_FLOAT = 3, ///< A float.
    ZT_VALUE_KIND_STRING = 4, ///< UTF-8 text.
    ZT_VALUE_KIND_BYTES = 5, ///< A byte string.
    ZT_VALUE_KIND_ARRAY = 6, ///< A sequence of values.
    ZT_VALUE_KIND_MAP = 7, ///< Pairs of key and value; keys may be of any kind.
    ZT_VALUE_KIND_TAG = 8, ///< A number and one value, at index 0.
    ZT_VALUE_KIND_OTHER = 9, ///< CBOR's undefined, or a simple value without a meaning of its own.
} zt_value_kind_value;

/// What kind of thing a value is; ZT_VALUE_KIND_NULL for NULL.
/// Threads: any.
zt_value_kind zt_value_get_kind(const zt_value *value);

/// The truth of a bool.
/// out: receives 0 or 1, untouched on failure, not NULL.
/// Returns ZT_ERROR_INVALID_ARGUMENT if the value is of another kind, and for NULL.
/// Threads: any.
ZT_NODISCARD zt_status zt_value_get_bool(const zt_value *value, int32_t *out);

/// The number of an integer that fits an int64_t.
/// out: receives it, untouched on failure, not NULL.
/// Returns ZT_ERROR_INVALID_ARGUMENT if the value is of another kind or does not fit, and for NULL.
/// Threads: any.
ZT_NODISCARD zt_status zt_value_get_i64(const zt_value *value, int64_t *out);

/// The number of an integer that fits a uint64_t.
/// out: receives it, untouched on failure, not NULL.
/// Returns ZT_ERROR_INVALID_ARGUMENT if the value is of another kind or does not fit, and for NULL.
/// Threads: any.
ZT_NODISCARD zt_status zt_value_get_u64(const zt_value *value, uint64_t *out);

/// The number of a float, or of an integer, which is rounded if it has to be.
/// out: receives it, untouched on failure, not NULL.
/// Returns ZT_ERROR_INVALID_ARGUMENT if the value is of another kind, and for NULL.
/// Threads: any.
ZT_NODISCARD zt_status zt_value_get_f64(const zt_value *value, double *out);

/// The text of a string, UTF-8 and NUL-ended; it may hold a NUL itself.
/// text: receives a string that lives until the last zt_close. length: receives its bytes without the NUL at the end;
/// may be NULL. Both are untouched on failure.
/// Returns ZT_ERROR_INVALID_ARGUMENT if the value is of another kind, and for NULL.
/// Threads: any.
ZT_NODISCARD zt_status zt_value_get_string(const zt_value *value, const char **text, size_t *length);

/// The content of a byte string.
/// bytes: receives a pointer that lives until the last zt_close; a NUL stands behind them. size: receives the number
/// of bytes; may be NULL. Both are untouched on failure.
/// Returns ZT_ERROR_INVALID_ARGUMENT if the value is of another kind, and for NULL.
/// Threads: any.
ZT_NODISCARD zt_status zt_value_get_bytes(const zt_value *value, const void **bytes, size_t *size);

/// The number of a tag; the tagged value is zt_value_at (value, 0).
/// out: receives it, untouched on failure, not NULL.
/// Returns ZT_ERROR_INVALID_ARGUMENT if the value is of another kind, and for NULL.
/// Threads: any.
ZT_NODISCARD zt_status zt_value_get_tag(const zt_value *value, uint64_t *out);

/// Number of items of an array, of pairs of a map, 1 for a tag; 0 for all else, and for NULL.
/// Threads: any.
size_t zt_value_count(const zt_value *value);

/// The item of an array, the value of a map's pair, or what a tag tags (index 0), in the file's order.
/// Returns a value that lives until the last zt_close; NULL if index is not below zt_value_count, and for NULL.
/// Threads: any.
const zt_value *zt_value_at(const zt_value *value, size_t index);

/// The key of a map's pair, in the file's order.
/// Returns a value that lives until the last zt_close; NULL if index is not below zt_value_count, and for other kinds.
/// Threads: any.
const zt_value *zt_value_key_at(const zt_value *value, size_t index);

/// The dtype that the container states for a number or an array's elements (GGUF does); of a bool ZT_DTYPE_BOOL.
/// Returns 0 if none is stated, for other kinds, and for NULL.
/// Threads: any.
zt_dtype zt_value_dtype(const zt_value *value);

/// The numbers of an array, all at once, or one alone: the content of a dtype, or an error.
///
/// value: an array, or a number or bool, which is as an array of one. dtype: of the elements in dst. BOOL takes
/// bools, integers take integers in their range, floats take floats and integers that they hold without rounding.
/// What zt_value_dtype says gives each element bit for bit.
/// dst: receives zt_value_count elements, of a number or bool one, in the host's byte order, of any alignment;
/// untouched on failure. count: elements that dst has room for.
/// Returns ZT_ERROR_BUFFER_SIZE if count is smaller than that, ZT_ERROR_INVALID_ARGUMENT, with the element in the
/// message, if one is another thing or would be rounded, and for other kinds.
/// Threads: any.
ZT_NODISCARD zt_status zt_value_read_numbers(const zt_value *value, zt_dtype dtype, void *dst, size_t count);

/// The texts of an array of strings, all at once. A byte string is given as it is: GGUF files have vocabularies with
/// some tokens that are no UTF-8.
///
/// strings: receives zt_value_count pointers, each to bytes with a NUL behind them, that live until the last zt_close.
/// lengths: receives their bytes without that NUL; may be NULL. Both are untouched on failure. count: elements that
/// each has room for.
/// Returns ZT_ERROR_BUFFER_SIZE if count is smaller than zt_value_count, ZT_ERROR_INVALID_ARGUMENT if an item is no
/// string, and for other kinds.
/// Threads: any.
ZT_NODISCARD zt_status zt_value_read_strings(const zt_value *value, const char **strings, size_t *lengths,
    size_t count);

/// Writes a value as compact JSON text. What JSON lacks: byte strings are {"$bytes":"hex"}, floats that are not
/// finite {"$float":"nan"} (or "inf", "-inf"), tags {"$tag":[number,value]}, undefined {"$undefined":true}, other
/// simple values {"$simple":number}, maps whose keys are not all text {"$map":[[key,value],...]}. Integers are
/// written in full, also those past 2^53.
///
/// buf, size: receives the text and a NUL, as many characters as fit; (NULL, 0) asks for the size only.
/// needed: receives the bytes of the whole text with its NUL, also on ZT_ERROR_BUFFER_SIZE; may be NULL.
/// Returns ZT_ERROR_BUFFER_SIZE if size is smaller, but ZT_OK for (NULL, 0).
/// Threads: any.
ZT_NODISCARD zt_status zt_value_to_json(const zt_value *value, char *buf, size_t size, size_t *needed);

// -------------------------------------------------------------------------------------------------------------------
// 8. Verifying
//
// zt_verify checks what opening does not read.

/// Verifies a whole file: digests, that components decode to their sizes, sparse and quantized structure, bool bytes.
///
/// options: NULL for digests, contents and shards. report: may be NULL; set struct_size; filled on success and, with what was checked
/// so far, on failure. A file without digests verifies, unless ZT_VERIFY_REQUIRE_DIGESTS is set: digests_absent counts
/// components, bytes_not_covered their bytes. Bytes that several components have are looked at once, and counted for
/// each.
/// Returns ZT_OK only if all of that was checked and nothing is wrong. Otherwise the first failure in file order:
/// ZT_ERROR_DIGEST_MISMATCH, ZT_ERROR_CORRUPT, ZT_ERROR_LIMIT, ZT_ERROR_IO, ZT_ERROR_CANCELLED,
/// ZT_ERROR_OUT_OF_MEMORY. If nothing is wrong, but something could not be checked, ZT_ERROR_UNSUPPORTED: not_checked
/// counts it. The rest of the file was checked then, and on_failure has got each item with this status. An object of a
/// format that the library does not know has no rules but those of its components.
/// What this function has checked, every read accepts.
/// Threads: any; the call starts its own and waits for them. Spec 1.2 sections 1 to 5.
ZT_NODISCARD zt_status zt_verify(const zt_file *file, const zt_verify_options *options, zt_verify_report *report);

/// Check the digests of components that have one.
#define ZT_VERIFY_DIGESTS 1
/// Check the contents: decoding, sizes, sparse and quantized structure, bool bytes.
#define ZT_VERIFY_CONTENTS 2
/// Refuse padding that is not zero, too.
#define ZT_VERIFY_PADDING 4
/// Compare all bytes of shards with their digests, too.
#define ZT_VERIFY_SHARDS 8
/// Check the digests, and fail with ZT_ERROR_UNSUPPORTED for each component whose bytes have neither a digest nor a
/// CRC-32 that can be checked.
#define ZT_VERIFY_REQUIRE_DIGESTS 16

/// Called by zt_verify for each failure, and with ZT_ERROR_UNSUPPORTED for what could not be checked: of a component
/// (the first of each), of an object as a whole (component is NULL), or of the padding or a shard (both are NULL). message: as zt_last_error's, valid during the call.
/// Returns 0 to go on, anything else to end the call. Called from one thread at a time, not necessarily the caller's,
/// in any order.
typedef int32_t (*zt_failure_callback)(void *context,
                                       const zt_object *object,
                                       const zt_component *component,
                                       zt_status status,
                                       const char *message);

/// What to verify. All fields zero (but struct_size) are the defaults.
struct zt_verify_options {
    size_t struct_size; ///< sizeof (zt_verify_options)
    uint32_t checks; ///< A set of ZT_VERIFY_ bits; 0 for digests, contents and shards.
    uint32_t threads; ///< Threads; 0 for as many as there are processors, within reason.
    void *context; ///< Passed to the callbacks; may be NULL.
    /// Called with the stored bytes that were checked, to ask whether to go on; may be NULL.
    zt_progress_callback progress;
    /// Called for each failure: so one call lists all that is broken. NULL: the first one ends it.
    zt_failure_callback on_failure;
    /// Only this object of the file, on the caller's thread; NULL: all of them, and the padding.
    const zt_object *object;
    const zt_component *component; ///< Only this component of the file, on the caller's thread; NULL: all of them.
};

/// What was verified.
struct zt_verify_report {
    size_t struct_size; ///< sizeof (zt_verify_report), set by the caller.
    uint64_t objects; ///< Objects that were checked in full.
    uint64_t components; ///< Components that were checked in full.
    uint64_t bytes; ///< Stored bytes that were read.
    uint64_t digests_verified; ///< Digests that agree, the CRC-32 of archives among them.
    uint64_t digests_absent; ///< Components without a digest or CRC-32.
    uint64_t digests_unknown; ///< Digests of an algorithm that this version does not know: not verified.
    /// Bytes outside of all components that are not zero: padding, which readers may ignore, or what
    /// zt_write_remove left.
    uint64_t padding_nonzero;
    /// Stored bytes of components that have neither a digest nor a CRC-32 that could be checked. Damage of these is
    /// not found.
    uint64_t bytes_not_covered;
    /// Components, objects and shards that could not be checked, or not in full: an unknown dtype, encoding or digest
    /// algorithm, in zTensor 2 an unknown type. If it is not 0, zt_verify does not return ZT_OK. In other files a component
    /// of an unknown type is read, and checked, as one of its dtype.
    uint64_t not_checked;
};

// -------------------------------------------------------------------------------------------------------------------
// 9. Writing
//
// Create or append, write objects, finish. A new file appears whole or not at all. The same calls write the
// same bytes.

/// Begins a new file. It grows beside path under another name and takes path's place, atomically, at
/// zt_write_finish; until then whatever is at path stays as it is.
///
/// path: NUL-ended, used only during the call. Behind a symbolic link its target is replaced, or created where there
/// is none, and the link stays. A replaced file's permissions are kept; a read-only one is ZT_ERROR_IO. The folder
/// has to keep its path until the writer ends: if it is renamed meanwhile, zt_write_finish is ZT_ERROR_NO_FILE and
/// the unfinished file stays in it. options: NULL for the defaults. writer: receives the handle, NULL on failure; end
/// it with zt_write_finish or zt_write_abort.
/// Who has the replaced file open reads what it was, to the end. Windows replaces a file that is open since Windows 10, on
/// file systems that can (NTFS), if whoever opened it shares it for deletion, as this library does; elsewhere, and where it
/// will not give up a file that is mapped, zt_write_finish is ZT_ERROR_IO and the file at path stays.
/// Returns ZT_ERROR_NO_FILE (no such folder), ZT_ERROR_IO, ZT_ERROR_UNSUPPORTED (options that the version cannot
/// represent), ZT_ERROR_INVALID_ARGUMENT, ZT_ERROR_OUT_OF_MEMORY.
/// Threads: any. Spec 1.2 section 4.
ZT_NODISCARD zt_status zt_write_create(const char *path, const zt_write_options *options, zt_writer **writer);

/// Writes a dense object at once.
///
/// name, name_length: UTF-8 of name_length bytes, NUL-ended if that is 0; not NULL. dtype: one of the 13.
/// type: ZT_TYPE_NONE or a known one that goes with dtype. shape: rank dimensions, outermost first; NULL only if rank
/// is 0. data, size: the elements, row-major, in the host's byte order; size has to be what shape, dtype and type
/// make it, else ZT_ERROR_BUFFER_SIZE. Nothing is kept after the call.
/// Returns ZT_ERROR_EXISTS if the name is taken, ZT_ERROR_LIMIT if it is over 64 KiB, ZT_ERROR_UNSUPPORTED if the
/// version cannot represent it, ZT_ERROR_STATE if an object is open or the writer has failed,
/// ZT_ERROR_INVALID_ARGUMENT, ZT_ERROR_IO. ZT_ERROR_CORRUPT if the data breaks a rule that zt_verify checks: a bool is
/// neither 0 nor 1 (0.1 allows any byte), or, in zTensor 2, bits behind the last element of a type below 8 bits are
/// not 0. The message says where, and what to do.
/// Threads: one at a time. Spec 1.2 section 3.
ZT_NODISCARD zt_status zt_write_dense(zt_writer *writer, const char *name, size_t name_length, zt_dtype dtype,
    zt_type type, const uint64_t *shape, size_t rank, const void *data, size_t size);

/// Writes manifest and footer, publishes the file, and ends the writer, whatever is returned.
///
/// writer: NULL is ZT_OK and does nothing. summary: may be NULL; set struct_size; untouched on failure.
/// Returns ZT_ERROR_STATE if an object is open or the writer has failed, ZT_ERROR_IO. On failure the destination is
/// as it was before the writer, but for what comes when the new one stands and whose messages say "in place": a folder
/// that could not be synced after the rename; after an append, an old manifest that could not be cleared or synced.
/// Threads: one at a time. Spec 1.2 section 4.
ZT_NODISCARD zt_status zt_write_finish(zt_writer *writer, zt_write_summary *summary);

/// Ends the writer and leaves the destination as it was before. Where an append cannot be taken back (the disk
/// fails), zt_open says so, and zt_repair does it. Where the system refuses to make a file shorter (Windows, while it
/// is mapped), it is longer, and holds what it held. Nothing is returned, as by zt_close: the next zt_open
/// says what is left of the file.
/// writer: NULL is fine. Threads: one at a time.
void zt_write_abort(zt_writer *writer);

/// What a finished writer wrote.
struct zt_write_summary {
    size_t struct_size; ///< sizeof (zt_write_summary), set by the caller.
    uint64_t file_size; ///< Bytes of the whole file.
    uint64_t objects; ///< Objects in the file.
    uint64_t components; ///< Components in the file.
    uint64_t stored_bytes; ///< Stored bytes of the components that this writer wrote.
    uint64_t data_bytes; ///< Their bytes before encoding.
    uint64_t damaged; ///< Components that were copied although they are damaged (zt_write_options.allow_damaged).
};

/// The values of zt_spec.
typedef enum zt_spec_value {
    ZT_SPEC_DEFAULT = 0, ///< 1.2.0.
    ZT_SPEC_0_1_0 = 100, ///< 0.1.0: dense only, one dtype, no logical types, no attributes of the file.
    ZT_SPEC_1_1_0 = 10100, ///< 1.1.0.
    ZT_SPEC_1_2_0 = 10200, ///< 1.2.0.
    /// zTensor 2, another container: components at multiples of 4096, digests of decoded bytes, tables of zstd frames.
    ZT_SPEC_2 = 20000,
} zt_spec_value;

/// The values of zt_digest.
typedef enum zt_digest_value {
    /// The digest of the writer's options. In these: CRC-32C in versions 0.1 to 1.2, XXH3 in zTensor 2.
    ZT_DIGEST_DEFAULT = 0,
    ZT_DIGEST_NONE = 1, ///< No digest.
    ZT_DIGEST_CRC32C = 2, ///< CRC-32C (Castagnoli): finds accidents.
    ZT_DIGEST_SHA256 = 3, ///< SHA-256: finds intent, too, if the manifest is trusted.
    ZT_DIGEST_XXH3 = 4, ///< XXH3 of 64 bits: finds accidents. In zTensor 2, in place of CRC-32C.
} zt_digest_value;

/// How to write a file. All fields zero (but struct_size) are the defaults.
struct zt_write_options {
    size_t struct_size; ///< sizeof (zt_write_options)
    /// Which text of the spec to follow; ZT_SPEC_DEFAULT is 1.2.0. What the version cannot represent is
    /// ZT_ERROR_UNSUPPORTED. Appending follows the file.
    zt_spec spec;
    zt_encoding encoding; ///< The encoding of components that ask for none; ZT_ENCODING_DEFAULT is raw.
    /// Components start at multiples of this: a power of two from 64 to 2^40; 0 for 64, in zTensor 2 for 4096, its least.
    uint64_t alignment;
    /// Components of at least large_size bytes start at multiples of this coarser alignment (4096 or more for direct
    /// I/O and eviction page by page); 0 for no difference.
    uint64_t large_alignment;
    /// From how many bytes (before encoding) a component is large; 0 for the default. A streamed component whose size
    /// is not said counts as large.
    uint64_t large_size;
    int32_t zstd_level; ///< The zstd level, -7 to 22; 0 for zstd's default, 3.
    /// The digest of components that say ZT_DIGEST_DEFAULT, and of copies of components without a digest.
    /// ZT_DIGEST_DEFAULT is CRC-32C, in zTensor 2 XXH3. ZT_DIGEST_NONE writes no digests.
    zt_digest digest;
    /// Threads for compression, to hash a large component or many of a batch while they are written, and to write a
    /// large one of a durable file; 0 for as many as there are processors, within reason. The bytes written do not
    /// depend on it.
    uint32_t threads;
    /// 1: the file and its folder are synced to the disk before zt_write_finish returns. A new file that is not
    /// small then goes past the page cache where the file system can, which is faster; its bytes are the same, but
    /// whoever reads it next reads it from the disk (docs/tuning.md).
    uint32_t durable;
    /// A compressed component of more bytes than this is written as independent zstd frames of this many bytes, so
    /// that it decodes in parallel and by range: from 1024 to 2^30; 0 for the default.
    uint64_t frame_size;
    void *context; ///< Handed to progress; may be NULL.
    /// Called as the file grows, copies included, and before it is published, by a thread of a call to the writer:
    /// done is bytes of the file, total is 0. It must not use this writer. If it stops, the call is
    /// ZT_ERROR_CANCELLED, the writer has failed and the destination is as it was. NULL: not called.
    zt_progress_callback progress;
    /// Called on the threads that are started for the file; NULL: nothing is. Copied.
    const zt_thread_hooks *thread_hooks;
    /// 1: the canonical form of zTensor 2, in which the same tensors and attributes are the same bytes: raw, with xxh3, at
    /// multiples of 65536, equal bytes stored once. Objects have to come in the order of their names' bytes, streamed
    /// components in that of their roles; else ZT_ERROR_INVALID_ARGUMENT.
    uint32_t canonical;
    /// 0: a copy fails if the bytes do not agree with a digest or CRC-32 of their file. 1: it goes on, and
    /// zt_write_summary.damaged counts. Damaged bytes get no new digest: if they are copied as they are stored, they
    /// keep the digest that they have, which does not agree; otherwise they have no digest.
    uint32_t allow_damaged;
};

/// Opens an object that is written piece by piece: zt_write_component for each component, and zt_write_data
/// for its bytes, as often as you like, then zt_write_end.
/// desc: not NULL, without components; nothing is kept after the call.
/// Returns ZT_ERROR_STATE if an object is open already, else as zt_write_object.
/// Threads: one at a time.
ZT_NODISCARD zt_status zt_write_begin(zt_writer *writer, const zt_object_desc *desc);

/// Opens a component of the open object; the one before it ends.
///
/// desc: not NULL; nothing is kept after the call. With data the component is written whole, and no
/// zt_write_data follows. Without, its bytes are streamed; if size is not 0, that many have to come.
/// Returns ZT_ERROR_STATE if no object is open, ZT_ERROR_EXISTS if the role is taken, ZT_ERROR_BUFFER_SIZE if the
/// component before it got another size than it announced, else as zt_write_dense.
/// Threads: one at a time.
ZT_NODISCARD zt_status zt_write_component(zt_writer *writer, const zt_component_desc *desc);

/// Adds bytes to the open component, in the host's byte order. A call may end within an element.
/// data, size: (NULL, 0) adds nothing. Nothing is kept after the call.
/// Returns ZT_ERROR_STATE if no component is open for streaming, ZT_ERROR_BUFFER_SIZE if more comes than was
/// announced or than the shape of a dense object takes, ZT_ERROR_CORRUPT if the bytes break a rule that zt_verify
/// checks (as zt_write_dense; columns and row pointers of a sparse object that are out of range), ZT_ERROR_IO.
/// Bytes that are refused, but with ZT_ERROR_IO, count as not given. The row pointers of a sparse_csr object of
/// zTensor 2 and the coordinates of a sparse_coo object are kept in memory until the object ends.
/// Threads: one at a time.
ZT_NODISCARD zt_status zt_write_data(zt_writer *writer, const void *data, size_t size);

/// Ends the open object.
/// Returns ZT_ERROR_STATE if none is open, ZT_ERROR_BUFFER_SIZE if a component has another size than announced or
/// than the shape of a dense object takes (more zt_write_data may follow), ZT_ERROR_INVALID_ARGUMENT if a
/// component that the format requires is missing, ZT_ERROR_UNSUPPORTED in canonical form if streamed bytes turn out to
/// be those of a component that is there, ZT_ERROR_CORRUPT if the parts of a sparse or quantized object do not belong
/// together or its positions break a rule, ZT_ERROR_IO. After the last two the writer has failed.
/// Threads: one at a time.
ZT_NODISCARD zt_status zt_write_end(zt_writer *writer);

/// A component to be written. All fields zero but struct_size, role, dtype, data and size are the usual one.
struct zt_component_desc {
    size_t struct_size; ///< sizeof (zt_component_desc), the same in every element of an array.
    const char *role; ///< The role, UTF-8, not NULL: "data", "values", "scales", or any other.
    size_t role_length; ///< Bytes of the role; 0 if it is NUL-ended.
    zt_dtype dtype; ///< The storage type; one of the 13.
    zt_type type; ///< The logical type; for ZT_TYPE_OTHER see type_name.
    const char *type_name; ///< The logical type's name, UTF-8, where type is ZT_TYPE_OTHER; else NULL.
    zt_encoding encoding; ///< The encoding; ZT_ENCODING_DEFAULT is what the writer's options say.
    zt_digest digest; ///< The digest; ZT_DIGEST_DEFAULT is what the writer's options say.
    /// The elements, in the host's byte order; used during the call. NULL to stream them with zt_write_data
    /// (after zt_write_component), or if there are none.
    const void *data;
    uint64_t size; ///< Bytes at data. When streaming: how many will come, or 0 if that is not known yet.
    size_t type_name_length; ///< Bytes of type_name; 0 if it is NUL-ended.
};

/// An object to be written. All fields zero but struct_size, name, format, shape and rank are the usual one.
struct zt_object_desc {
    size_t struct_size; ///< sizeof (zt_object_desc)
    const char *name; ///< The name, UTF-8, not NULL.
    size_t name_length; ///< Bytes of the name; 0 if it is NUL-ended.
    zt_format format; ///< The layout; for ZT_FORMAT_OTHER see format_name. Not ZT_FORMAT_BLOCKS, which is only read.
    uint32_t reserved; ///< Must be 0.
    const char *format_name; ///< The layout's name, UTF-8, where format is ZT_FORMAT_OTHER; else NULL.
    const uint64_t *shape; ///< The dimensions, rank of them.
    size_t rank; ///< Number of dimensions.
    /// The components of zt_write_object, component_count of them; must be empty for zt_write_begin.
    const zt_component_desc *components;
    size_t component_count; ///< Number of components.
    const zt_value *attributes; ///< Attributes to take over from an open file, a map; may be NULL.
    /// Attributes as JSON text, an object, NUL-ended; may be NULL. See ZT_ATTRIBUTE_KIND_JSON.
    const char *attributes_json;
    size_t format_name_length; ///< Bytes of format_name; 0 if it is NUL-ended.
};

/// Writes an object of any format with any components at once.
///
/// desc: not NULL; nothing is kept after the call. A component's data may be NULL only if its size is 0.
/// Returns ZT_ERROR_EXISTS if the name or a role is taken, ZT_ERROR_INVALID_ARGUMENT if a component that the format
/// requires is missing, else as zt_write_dense. The structure of a sparse or quantized object is checked as
/// zt_verify does.
/// Threads: one at a time. Spec 1.2 sections 1 to 3.
ZT_NODISCARD zt_status zt_write_object(zt_writer *writer, const zt_object_desc *desc);

/// One dense object of a batch to be written. Zero in type and in what follows it is the default.
struct zt_write_request {
    size_t struct_size; ///< sizeof (zt_write_request), the same in every request of a call.
    const char *name; ///< The name, UTF-8, not NULL.
    const uint64_t *shape; ///< The dimensions, rank of them, outermost first; NULL only if rank is 0.
    size_t rank; ///< Number of dimensions.
    const void *data; ///< The elements, row-major, in the host's byte order; NULL only if size is 0.
    size_t size; ///< Bytes at data: what shape, dtype and type make it.
    zt_dtype dtype; ///< The storage type; one of the 13.
    zt_type type; ///< The logical type: ZT_TYPE_NONE or a known one that goes with dtype.
    zt_encoding encoding; ///< The encoding; ZT_ENCODING_DEFAULT is what the writer's options say.
    zt_digest digest; ///< The digest; ZT_DIGEST_DEFAULT is what the writer's options say.
    size_t name_length; ///< Bytes of the name, which may hold a NUL then; 0 if it is NUL-ended.
};

/// Writes many dense objects in one call: the file is byte for byte what zt_write_dense, called for each in turn
/// (with the request's encoding and digest as the writer's options), makes it. For small objects it is faster:
/// different ones are compressed side by side, and SHA-256 is computed while others are written.
///
/// requests, count: the objects, used during the call; (NULL, 0) does nothing.
/// All requests are checked before the first byte is written: a call that is refused writes none of them, and the
/// message names the first request that is at fault, by its position from 0 and its name. A name that two requests
/// have is ZT_ERROR_EXISTS. Returns as zt_write_dense.
/// Threads: one at a time; the call starts as many as zt_write_options.threads allows, if there is enough to do, and
/// waits for them. The functions of a zt_sink are called from the caller's thread alone.
ZT_NODISCARD zt_status zt_write_batch(zt_writer *writer, const zt_write_request *requests, size_t count);

/// How to copy an object. All fields zero (but struct_size) copy it as it is stored, under its name.
struct zt_copy_options {
    size_t struct_size; ///< sizeof (zt_copy_options)
    const char *name; ///< The name of the copy, UTF-8; NULL for the object's name.
    size_t name_length; ///< Bytes of the name, which may hold a NUL then; 0 if it is NUL-ended.
    zt_encoding encoding; ///< The encoding; ZT_ENCODING_DEFAULT for the one that each component has.
    /// The digest; ZT_DIGEST_DEFAULT for the kind that each component has, or the writer's if it has none.
    zt_digest digest;
    /// The dtype of the data of a dense object of f64, f32, f16, bf16 or an f8 type; ZT_DTYPE_OTHER for the one that
    /// it has. If finite numbers would become infinite, the message gives the object and the count; to have them so,
    /// read with zt_read_request.lossy and write the result. A component of an unknown dtype or encoding stays as it is
    /// stored.
    zt_dtype dtype;
    /// The logical type to convert to: ZT_TYPE_NONE, as this version converts to no other (ZT_ERROR_UNSUPPORTED).
    zt_type type;
};

/// Copies an object of an open file. Without options it is copied as it is stored: its bytes are not decoded, its digests
/// and attributes stay. If options ask for another encoding, digest or dtype, the bytes are decoded and encoded again, a
/// part at a time. What
/// the version to be written cannot represent as it stands is decoded and written anew, with a digest of the same
/// kind: big-endian data, bools of 0.1 that are neither 0 nor 1, sparse indices that are not u64 where 1.2 is written
/// or appended to, and, before 1.2, compressed bytes whose size neither a shape nor their frames give. Components
/// that are the same bytes of the file (tied weights) are read once for each, and share their bytes in the copy, too.
///
/// All of the object is checked, and what will be decoded is decoded once, before a byte is written: an object that
/// is refused leaves the writer as it was. The checks are also those of the source: digests, the CRC-32 of an archive's
/// member (of the whole member, once for all of its tensors), the checksums in compressed frames. Bytes that do not
/// agree are refused, or copied without a new digest if zt_write_options.allow_damaged is set. A component without a
/// digest gets the digest of the writer's options. So the bytes of the source are read twice.
/// object: of an open file of any container; not NULL. Blocks of GGUF get the attributes "elems_per_block" and
/// "block_bytes". options: NULL for a copy of the same name as it is stored; nothing is kept after the call.
/// Bools, bits behind the last element and the positions of sparse objects are checked as those of a new object are.
/// Returns ZT_ERROR_UNSUPPORTED if the version to be written cannot represent it (an unknown encoding in 0.1, an unknown
/// type in zTensor 2, whose elements nobody can read or check) or it
/// has a name that is no UTF-8, an unknown ggml type or big-endian blocks, ZT_ERROR_CORRUPT also for a negative index
/// that would become another number, ZT_ERROR_DIGEST_MISMATCH or ZT_ERROR_CORRUPT if the bytes do not agree with a
/// digest or checksum, ZT_ERROR_LIMIT if finite numbers would become infinite in options.dtype, else as zt_write_dense and
/// zt_component_read.
/// Threads: one at a time for writer, any for object.
ZT_NODISCARD zt_status zt_write_copy(zt_writer *writer, const zt_object *object, const zt_copy_options *options);

/// Sets all attributes of the file to those of an open file; of another container also "ztensor.origin", by which
/// zt convert makes that file of the copy again (docs/formats.md).
/// file: not NULL. Attributes that were set before are gone.
/// Returns ZT_ERROR_STATE if the writer has failed, ZT_ERROR_UNSUPPORTED if the version has no attributes of the file.
/// Threads: one at a time for writer, any for file.
ZT_NODISCARD zt_status zt_write_copy_attributes(zt_writer *writer, const zt_file *file);

/// The values of zt_attribute_kind, and the fields that each takes.
typedef enum zt_attribute_kind_value {
    ZT_ATTRIBUTE_KIND_NULL = 0, ///< null; no field.
    ZT_ATTRIBUTE_KIND_BOOL = 1, ///< i64: 0 or 1.
    ZT_ATTRIBUTE_KIND_I64 = 2, ///< i64; dtype.
    ZT_ATTRIBUTE_KIND_U64 = 3, ///< u64; dtype.
    ZT_ATTRIBUTE_KIND_F64 = 4, ///< f64, also infinity and NaN; dtype.
    ZT_ATTRIBUTE_KIND_STRING = 5, ///< data: UTF-8 of size bytes, or NUL-ended if size is 0.
    ZT_ATTRIBUTE_KIND_BYTES = 6, ///< data: size bytes; (NULL, 0) is empty.
    /// data: JSON text of size bytes, or NUL-ended if size is 0. The forms of zt_value_to_json for what JSON lacks
    /// are understood; numbers with a fraction or an exponent become floats, others integers. At most 64 levels deep.
    ZT_ATTRIBUTE_KIND_JSON = 7,
    /// An array. data: count elements of dtype, in the host's byte order, of any alignment.
    ZT_ATTRIBUTE_KIND_NUMBERS = 8,
    /// An array. data: count pointers (const char *const *) to UTF-8, of lengths[i] bytes each, or NUL-ended if
    /// lengths is NULL.
    ZT_ATTRIBUTE_KIND_STRINGS = 9,
    ZT_ATTRIBUTE_KIND_VALUE = 10, ///< data: a const zt_value * of an open file, which is copied.
    /// No value: takes the attribute of that key away. ZT_ERROR_NOT_FOUND if there is none.
    ZT_ATTRIBUTE_KIND_REMOVE = 11,
} zt_attribute_kind_value;

/// The value of an attribute that is set. All it points to is copied by the call.
struct zt_attribute {
    size_t struct_size; ///< sizeof (zt_attribute).
    zt_attribute_kind kind; ///< Which of the fields below are looked at.
    /// The dtype of the elements of ZT_ATTRIBUTE_KIND_NUMBERS. For a number: the dtype to state, if the container can (.zt
    /// cannot), into which it has to fit without rounding; 0 for none.
    zt_dtype dtype;
    int64_t i64; ///< A bool or a signed integer.
    uint64_t u64; ///< An unsigned integer.
    double f64; ///< A float.
    const void *data; ///< Text, bytes, elements, pointers to texts, or a zt_value.
    size_t size; ///< Bytes of a text or byte string.
    size_t count; ///< Elements of an array.
    const size_t *lengths; ///< Bytes of each text of ZT_ATTRIBUTE_KIND_STRINGS; NULL: all are NUL-ended.
    size_t key_length; ///< Bytes of the key, which may hold a NUL then; 0 if it is NUL-ended.
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

/// Sets an attribute of the file or of an object; one of the same key is replaced, or taken away by
/// ZT_ATTRIBUTE_KIND_REMOVE. In C: zt_write_attribute (w, NULL, 0, "layers", &ZT_ATTRIBUTE_I64 (32)).
///
/// object: NULL for the file; else the name of the object that is open (zt_write_begin) or, if none is open, of an object
/// that the file had before zt_write_append. In the latter case an attribute of the same key keeps its place and a new
/// one comes last. object_length: bytes of the name; 0 if it is NUL-ended.
/// key: UTF-8, not NULL; NUL-ended unless attribute has its key_length. attribute: not NULL; nothing of it is kept.
/// Returns ZT_ERROR_STATE if the writer has failed, if another object is open, or if this writer has ended the object;
/// ZT_ERROR_NOT_FOUND if there is no such object, or no attribute to remove; ZT_ERROR_UNSUPPORTED if the version cannot
/// represent it; ZT_ERROR_INVALID_ARGUMENT. Attributes are then as they were.
/// Threads: one at a time. Spec 1.2 section 1.
ZT_NODISCARD zt_status zt_write_attribute(zt_writer *writer, const char *object, size_t object_length,
    const char *key, const zt_attribute *attribute);

/// Begins to add objects to an existing 1.1, 1.2 or 2 file, in place.
///
/// What is there stays whole until the new manifest is safely behind it: a crash at any moment leaves either the new
/// file or the old bytes followed by an unfinished append, which zt_open names and zt_repair cuts off. What is
/// appended does not matter for that: from its first write to its end a record of the append stands in the file's
/// head, and until it is gone zt_open refuses the file. A file without any data has no room for that record; a new
/// one takes its place at zt_write_finish. The old manifest is carried over as it is, unknown fields included, and
/// its place becomes padding. The file's version is raised to 1.2.0 where 1.2 features are added, unless an object
/// that is there would break a rule of 1.2; then the version stays, as the released writers leave it. What is added
/// keeps the rules of 1.2 either way: sparse indices are u64. File attributes that are set replace those of the same
/// key. What the file has can be edited: zt_write_remove.
/// A file of zTensor 2 has no place for a record, and its old ends stay: zt_repair cuts it back to the last of them.
///
/// The writer holds a lock on the file until it ends (flock; LockFileEx on a byte past the end on Windows), as
/// zt_repair does: the second of two is ZT_ERROR_BUSY. Readers are not stopped. Children that the process forks share
/// the lock, which lasts until the writer has ended and they have exited or called exec. Where a file system has no
/// locks, the file's identity, size and time are compared before the first write, identity and size again before the
/// new end counts. That is weaker: two appends that pass these checks at the same moment damage each other.
/// zt_write_finish is ZT_ERROR_IO if the file was removed, or replaced by another one, since this call.
/// path, options, writer: as zt_write_create; spec must be ZT_SPEC_DEFAULT.
/// Returns what zt_open returns, ZT_ERROR_UNSUPPORTED for a 0.1 or 1.0 file, ZT_ERROR_BUSY.
/// Threads: any.
ZT_NODISCARD zt_status zt_write_append(const char *path, const zt_write_options *options, zt_writer **writer);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* ZTENSOR_H */
