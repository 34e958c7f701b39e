/*
 * ztensor_advanced.h: what few programs need beside ztensor.h.
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The first page of ztensor.h holds here, too.
 */

#ifndef ZTENSOR_ADVANCED_H
#define ZTENSOR_ADVANCED_H

/* Generated from src/capi by cbindgen; do not edit. */

#include "ztensor.h"

#ifdef __cplusplus
extern "C" {
#endif

// -------------------------------------------------------------------------------------------------------------------
// 1. Opening
//
// Descriptors, several files as one model, your allocator and threads, the identity of a file.

/// Opens a file, of any container that zt_open takes, that is part of a larger one (an APK, an archive that stores it).
///
/// fd: an open descriptor of a regular file; it is duplicated, so close yours whenever you like.
/// offset, length: the part, in bytes; ZT_WHOLE as length is to the end of the file. Pointers that zt_component_ptr
/// lends are as aligned as offset is: 64 bytes if it is a multiple of 64, and refused where it is none of the
/// element's size (see zt_component_caps).
/// options, file, statuses: as zt_open. Not available on Windows (ZT_ERROR_UNSUPPORTED): zt_open_handle.
/// Threads: any.
ZT_NODISCARD zt_status zt_open_fd(int fd, uint64_t offset, uint64_t length, const zt_open_options *options,
    zt_file **file);

/// As zt_open_fd, on Windows: opens a file that is part of a larger one, or whose path others may change.
///
/// handle: a HANDLE of CreateFileW (or of _get_osfhandle) of a file on a disk that can be read; it is duplicated, so
/// close yours whenever you like. The duplicate has the same file pointer: reads of the library set it, and go by none.
/// One opened with FILE_FLAG_OVERLAPPED or FILE_FLAG_NO_BUFFERING is ZT_ERROR_INVALID_ARGUMENT: a read by several threads
/// could not tell whose read has ended, or would have to be of whole sectors. Reads past the page cache
/// (zt_read_options.direct) open the file anew, which needs FILE_SHARE_READ of whoever has it open.
/// offset, length: the part, in bytes; ZT_WHOLE as length is to the end of the file. Any offset can be mapped; pointers
/// that are lent are as aligned as it is, as in zt_open_fd.
/// options, file, statuses: as zt_open. ZT_ERROR_INVALID_ARGUMENT for NULL and INVALID_HANDLE_VALUE, ZT_ERROR_IO for what
/// is no handle, or none of a file. Off Windows ZT_ERROR_UNSUPPORTED: zt_open_fd.
/// Threads: any.
ZT_NODISCARD zt_status zt_open_handle(void *handle, uint64_t offset, uint64_t length, const zt_open_options *options,
    zt_file **file);

/// Opens several files as one, in the order in which they are given; they may be of different containers.
/// paths, count: at least one; each a file, as zt_open takes it. options, file, statuses: as zt_open_model.
/// Threads: any.
ZT_NODISCARD zt_status zt_open_parts(const char *const *paths, size_t count, const zt_open_options *options,
    zt_file **file);

/// Where memory comes from that is handed out: the bytes of zt_component_load's buffers, of DLPack tensors and what
/// views decode. The functions are called with context, from any thread, several at once, never under a lock of the
/// library; until the last zt_close, and the end of every buffer and DLPack tensor.
struct zt_allocator {
    size_t struct_size;
    void *context; ///< Passed to both functions; may be NULL.
    /// Returns size bytes, never 0 of them, at a multiple of alignment, a power of two; they need not be zero. NULL
    /// if there are none: the call is ZT_ERROR_OUT_OF_MEMORY; ZT_ERROR_INVALID_ARGUMENT at another place. Not NULL.
    void *(*allocate)(void *context, size_t size, size_t alignment);
    /// Takes back what allocate returned for the same size and alignment. Not NULL.
    void (*free)(void *context, void *memory, size_t size, size_t alignment);
};

/// Functions that are called on each thread that the library starts, never on the caller's: to bind it to processors,
/// to name it, to set up a device. Called with context, several at once, never under a lock of the library, as long as
/// the file, every buffer of it, or the writer is there.
struct zt_thread_hooks {
    size_t struct_size;
    void *context; ///< Passed to both functions; may be NULL.
    /// The first that the thread does; index: its number among the threads of one call, from 0. May be NULL.
    void (*on_start)(void *context, uint32_t index);
    /// The last that the thread does, with the same index; may be NULL.
    void (*on_end)(void *context, uint32_t index);
};

/// What a model has beside what is shown of it.
struct zt_model_info {
    size_t struct_size;
    /// If the model was opened by its folder: files of other models and of states of trainings in that folder.
    uint64_t passed_over;
    /// Tensors that its files hold and its index names nowhere. They are not objects of the model;
    /// zt_open_options.include_unlisted makes them objects. A tensor that the index takes from another file does not count.
    uint64_t unlisted;
};

/// Counts what zt_open_model and zt_open_model_from left out of a model.
/// info: set struct_size; not NULL; filled on success, untouched on failure. After any other open all counts are 0.
/// Returns ZT_ERROR_INVALID_ARGUMENT.
/// Threads: any.
ZT_NODISCARD zt_status zt_model_get_info(const zt_file *file, zt_model_info *info);

/// What changes when a file does: two files of the same numbers have, but for a forger, the same objects.
struct zt_identity {
    size_t struct_size;
    uint64_t size; ///< Bytes of the file.
    /// When it was changed last, at opening: nanoseconds since 1970; 0 where that is not known, as in memory.
    int64_t modified_ns;
    uint64_t manifest_offset; ///< First byte of the manifest.
    uint64_t manifest_hash; ///< The XXH3 (64 bits) of the manifest at opening.
    /// zt_source.identity; of a model a hash of those of all parts. 0 where it is not known.
    uint64_t source_identity;
};

/// The identity of an open file, for caches: another one means another content. A component that was changed in
/// place shows in modified_ns or source_identity alone, or by its digest. Of a model it is that of all parts: their
/// bytes together, the latest change, a hash of their hashes; the index by which it was opened is no part of it.
/// It describes what was opened, also after somebody has appended to the file. May read the manifests' bytes.
///
/// identity: set struct_size; not NULL; filled on success, untouched on failure.
/// Returns ZT_ERROR_IO, ZT_ERROR_OUT_OF_MEMORY, ZT_ERROR_INVALID_ARGUMENT.
/// Threads: any.
ZT_NODISCARD zt_status zt_file_identity(const zt_file *file, zt_identity *identity);

/// The identity of one of the files of a model; of a file, its part 0 is the file.
/// part: below zt_part_count, else ZT_ERROR_INVALID_ARGUMENT. identity, statuses: as zt_file_identity.
/// Threads: any.
ZT_NODISCARD zt_status zt_part_identity(const zt_file *file, size_t part, zt_identity *identity);

/// Lends all bytes of a part of the file, from its first to its last, as they are stored: its mapping, or the memory
/// that zt_open_memory was given. zt_component_info.offset counts from the first of them. For registering a whole mapping
/// with a device, advice of one's own, or sending a file as it is.
///
/// part: 0; of a model, below zt_part_count. ptr: receives a pointer that lives until the last zt_close; at a
/// page border if the file was opened by path, else as zt_open_fd and zt_open_memory say. size: receives
/// the bytes, as many as zt_part_info.size; may be NULL. Both are untouched on failure.
/// Returns ZT_ERROR_NOT_MAPPABLE if it is neither mapped nor in memory, ZT_ERROR_INVALID_ARGUMENT if there is no such part.
/// The bytes are read-only, writing to them is a fault, but see ZT_MODE_PRIVATE; see ZT_MODE_MAP for what a file that
/// changes under us does. Threads: any.
ZT_NODISCARD zt_status zt_file_bytes(const zt_file *file, size_t part, const void **ptr, uint64_t *size);

// -------------------------------------------------------------------------------------------------------------------
// 2. Your own input and output
//
// Functions of yours that read or write the bytes: a network, an archive, a decryptor.

/// Bytes that a source is asked for.
struct zt_source_range {
    uint64_t offset; ///< Where the first one is in the file.
    void *dst; ///< Receives them.
    size_t size; ///< Bytes; never 0.
};

/// Where the bytes of a file come from: the caller's functions. All are called with context, from any thread that
/// uses the file, also several at once (but see callers_thread); they must not call back into the same file's
/// zt_close. They return ZT_OK or the status that the failing call shall return; one that is no ZT_ERROR_ value
/// becomes ZT_ERROR_IO. zt_set_last_error says why.
struct zt_source {
    size_t struct_size;
    void *context; ///< Passed to every function; may be NULL.
    zt_status (*size)(void *context, uint64_t *size); ///< Returns the bytes of the file. Called once. Not NULL.
    /// Fills dst with size bytes from offset on: all of them, or a failure. Not NULL.
    zt_status (*read_at)(void *context, uint64_t offset, void *dst, size_t size);
    void (*close)(void *context); ///< The file is done with the source. Called once, last; may be NULL.
    /// Fills the dst of each of count ranges: all of them, or a failure. They are in order of their offsets, may
    /// overlap, and the array is the function's only during the call. After a failure read_at is called for each, and
    /// says whose it is. NULL: every range is a read_at.
    zt_status (*read_many)(void *context, const zt_source_range *ranges, size_t count);
    const char *name; ///< What messages call the file: NUL-ended UTF-8, copied; NULL for "the caller's source".
    uint64_t gap; ///< Bytes between two wanted ranges that are rather read than skipped; 0 for the default.
    /// Bytes of the largest read_at that zt_read_batch makes out of several short reads, and of what a thread asks
    /// read_many for at once, or more where fewer threads than concurrency read; 0 for the default, 1 for no such reads.
    uint64_t largest_request;
    /// Reads worth having under way at once. So many threads, at most 16, read in calls whose options say nothing of
    /// threads; 0 and 1: as many as of a file, and one component by only the caller's.
    uint32_t concurrency;
    /// 0: the functions may be called from any thread. 1: only from threads that call the library; close alone may come
    /// from a thread of a zt_cache that evicts the last slice of a file that was closed.
    uint32_t callers_thread;
    /// A number that changes when the bytes do, as a hash of an ETag, for zt_file_identity. 0: not known.
    uint64_t identity;
};

/// Opens a file, of any container that zt_open takes, that the caller reads: from a network, an archive, a decryptor.
///
/// source: copied during the call; not NULL. Its context and functions are used until the last zt_close, from any
/// thread that uses the file, also several at once. Its close function is called once, also when this call fails, but
/// for a struct_size that is refused.
/// Opening reads both ends, which is one call of read_many or two of read_at, and then what of the manifest that did
/// not give; a file that is broken may take more.
/// options: NULL for the defaults; mode and advice do not matter. file, statuses: as zt_open, and whatever status a
/// function of source gives.
/// Threads: any.
ZT_NODISCARD zt_status zt_open_source(const zt_source *source, const zt_open_options *options, zt_file **file);

/// Takes a name: NUL-ended UTF-8, copied. Returns ZT_OK, or what the function that calls it shall return at once.
typedef zt_status (*zt_name_callback)(void *names, const char *name);

/// Where the files of a model come from: the caller's functions. They are called only during zt_open_model_from, with
/// context, from several threads at once, and return what those of zt_source return.
struct zt_store {
    size_t struct_size;
    void *context; ///< Passed to every function; may be NULL.
    /// Fills source, all zero but for its struct_size, for the file of that name, and returns ZT_OK: its close is then
    /// called as zt_open_source does. ZT_ERROR_NO_FILE where there is none: only then is a shard asked for by its next
    /// name. Any other status is why the file, or what is in the shard, cannot be read. Not NULL.
    zt_status (*open)(void *context, const char *name, zt_source *source);
    /// Calls add (names, ...) with the name of each file in a folder; ZT_ERROR_NOT_FOUND if that is not a folder. It is also
    /// asked for the folder that a file is in, with and without '/' behind it. NULL: there are no folders.
    zt_status (*list)(void *context, const char *folder, zt_name_callback add, void *names);
};

/// Opens a model as zt_open_model does, whose files the caller's functions open: the file of that name, the parts that
/// an index or its name lead to, or the model in a folder.
///
/// store: copied, not NULL; used only during the call, so all shards, at most 65,536, are opened then and stay open
/// (ZT_SHARDS_NEVER: none): what is wrong with one is reported when it is read, or by this call with ZT_SHARDS_AT_OPEN.
/// name: NUL-ended, as its functions take it, with
/// '/' between folders. options: mode and advice do not matter; threads is how many files are opened at once (0: up to
/// 16). file, statuses: as zt_open_model, and whatever status a function gives.
/// Threads: any.
ZT_NODISCARD zt_status zt_open_model_from(const zt_store *store, const char *name, const zt_open_options *options,
    zt_file **file);

/// Where the bytes of a written file go: the caller's functions, called with context from the thread that uses the
/// writer, front to back. They return ZT_OK or the status that the failing call shall return; one that is no
/// ZT_ERROR_ value becomes ZT_ERROR_IO.
struct zt_sink {
    size_t struct_size;
    void *context; ///< Passed to every function; may be NULL.
    /// Takes the next size bytes: all of them, or a failure, after which nothing more is written. Not NULL.
    zt_status (*write)(void *context, const void *data, size_t size);
    /// Everything was written; what it returns zt_write_finish returns. Not called after a failure or an abort; may
    /// be NULL.
    zt_status (*finish)(void *context);
    void (*close)(void *context); ///< The writer is done with the sink. Called once, last; may be NULL.
};

/// Begins a file that goes to the caller's functions, front to back, never seeking.
/// sink: copied during the call; not NULL. Its close function is called once, also when this call fails, but for a
/// struct_size that is refused. A function of it that uses the writer gets ZT_ERROR_STATE. options: NULL for the
/// defaults; durable does not matter. writer, statuses: as zt_write_create, and what zt_sink.write returns.
/// Threads: any; the functions are called from the thread that uses the writer.
ZT_NODISCARD zt_status zt_write_create_sink(const zt_sink *sink, const zt_write_options *options, zt_writer **writer);

/// Sets what zt_last_error gives to the calling thread: for libraries on top of this one, and for functions of yours
/// that this one calls. If such a function sets a message and returns a failure, the call that fails gives this message,
/// after the names of the file and the object.
/// message: NUL-ended UTF-8, copied: up to 2,048 bytes of it, or to what is no UTF-8; line breaks become spaces. NULL
/// and "" do nothing. zt_last_os_error is 0 after it, zt_last_error_rule "".
/// Threads: any; each has its own.
void zt_set_last_error(const char *message);

// -------------------------------------------------------------------------------------------------------------------
// 3. Objects and components
//
// Names with a length, for bindings; lists of components; stored bytes; sizes that a file does not declare.

/// The object of a name that is given with its length, so that it may hold a NUL.
/// name, length: that many bytes; (NULL, 0) is the empty name. Returns as zt_object_find.
/// Threads: any.
const zt_object *zt_object_find_n(const zt_file *file, const char *name, size_t length);

/// The component of a role that is given with its length, so that it may hold a NUL.
/// role, length: that many bytes; (NULL, 0) is the empty role. Returns as zt_component_find.
/// Threads: any.
const zt_component *zt_component_find_n(const zt_object *object, const char *role, size_t length);

/// What a map has under a text key that is given with its length, so that it may hold a NUL.
/// key, length: that many bytes; (NULL, 0) is the empty key. Returns as zt_value_find.
/// Threads: any.
const zt_value *zt_value_find_n(const zt_value *value, const char *key, size_t length);

/// Fills a struct for each of many components with what its getters return, in file order.
/// object: whose components; of this file. NULL for those of all objects. All else: as zt_object_list.
/// Threads: any. Spec 1.2 section 1.
ZT_NODISCARD zt_status zt_component_list(const zt_file *file, const zt_object *object, size_t first,
    zt_component_info *infos, size_t count, size_t *filled);

/// Copies the component's stored bytes as they are: compressed, of an unknown encoding, little-endian.
/// dst: receives zt_component_info.stored_size bytes; NULL only if there are none. dst_size: its bytes; fewer is
/// ZT_ERROR_BUFFER_SIZE, what is over is left alone. On failure the content of dst is undefined.
/// Returns ZT_ERROR_IO, ZT_ERROR_BUFFER_SIZE, ZT_ERROR_INVALID_ARGUMENT.
/// Threads: any.
ZT_NODISCARD zt_status zt_component_read_stored(const zt_component *component, void *dst, size_t dst_size);

/// Finds out the decoded bytes that zt_component_size gives from then on: by the headers of the stored bytes or, if
/// they do not say it, by decoding all of them once.
///
/// progress: called with context and the stored bytes that were decoded, where they are; NULL: not called. size:
/// receives the decoded bytes; not NULL, untouched on failure.
/// Returns ZT_ERROR_CORRUPT, ZT_ERROR_LIMIT (max_decoded_size), ZT_ERROR_UNSUPPORTED (unknown dtype or encoding),
/// ZT_ERROR_CANCELLED if progress stops it, ZT_ERROR_IO, ZT_ERROR_OUT_OF_MEMORY, ZT_ERROR_INVALID_ARGUMENT.
/// Threads: any.
ZT_NODISCARD zt_status zt_component_measure(const zt_component *component, zt_progress_callback progress,
    void *context, uint64_t *size);

/// The values of zt_advice.
typedef enum zt_advice_value {
    ZT_ADVICE_NONE = 0, ///< Nothing is known.
    ZT_ADVICE_SEQUENTIAL = 1, ///< Front to back.
    ZT_ADVICE_WILLNEED = 3, ///< Needed next: starts reading and returns at once.
    ZT_ADVICE_POPULATE = 4, ///< Now: returns when the bytes are in memory (where the system can; else as WILLNEED).
    /// Not needed soon by any process: as ZT_ADVICE_RELEASE where the file is mapped, and the page cache gives the pages
    /// back, too, unless another process has them mapped or they were not written yet. Linux only.
    ZT_ADVICE_EVICT = 6,
    /// Not needed soon by this process: it gives back its pages of the mapping, which are mapped anew when they are
    /// touched. The page cache keeps them. Of a mapping only, and not in ZT_MODE_PRIVATE: it would undo changes.
    ZT_ADVICE_RELEASE = 7,
} zt_advice_value;

/// Advises the system what will be done with the component's stored bytes. To keep bytes in memory, lock what
/// zt_file_bytes returns.
///
/// ZT_ADVICE_RELEASE and ZT_ADVICE_EVICT reach only pages without bytes of another component or of anything else in the
/// file: all pages of a component with ZT_CAP_PAGE_EXCLUSIVE, the whole pages inside any other component. The others
/// reach every page that the bytes touch. In ZT_MODE_READ on Linux and macOS, ZT_ADVICE_SEQUENTIAL and ZT_ADVICE_NONE
/// count for the whole file.
/// Returns ZT_ERROR_UNSUPPORTED if the advice is not available, and then nothing was done: all but ZT_ADVICE_NONE if
/// the bytes are in memory or of a zt_source, or in ZT_MODE_READ off Linux and macOS; ZT_ADVICE_SEQUENTIAL on Windows;
/// _EVICT off Linux; _RELEASE in ZT_MODE_READ; _RELEASE and _EVICT in ZT_MODE_PRIVATE; an advice that the system
/// refuses. ZT_ERROR_INVALID_ARGUMENT for an unknown advice, ZT_ERROR_IO if the system fails at it.
/// Threads: any.
zt_status zt_component_advise(const zt_component *component, zt_advice advice);

/// What a load read of one file, or of one part of a model, and how.
struct zt_load_part_stats {
    size_t struct_size;
    const zt_file *file; ///< The file; zt_part_get_info of it and part gives the path.
    uint64_t stored_bytes; ///< Stored bytes that were read of it; zt_read_stats.stored_bytes is the sum.
    uint64_t direct_bytes; ///< Bytes that were read past the page cache, with those between that nobody asked for.
    const char *reason; ///< Why they were read so: as zt_read_stats.reason.
    uint32_t part; ///< Which of its parts; 0 if it is one file.
    uint32_t reserved; ///< 0.
};

/// Fills a struct for each file, or part of a model, that a load reads, with what was read of it so far: in the order
/// in which the requests name the files, and of parts. After ZT_LOAD_KIND_DONE nothing changes, unless the load was cut short.
///
/// load: not NULL; before zt_load_finish. first: where to begin. stats, count: as many structs, of which the first
/// one's struct_size is set; (NULL, 0) fills nothing. filled: receives how many were filled; not NULL.
/// Returns ZT_ERROR_INVALID_ARGUMENT, ZT_ERROR_OUT_OF_MEMORY, ZT_ERROR_STATE in a child of the load's process.
/// Threads: any, at the same time as other calls on load.
ZT_NODISCARD zt_status zt_load_get_part_stats(const zt_load *load, size_t first, zt_load_part_stats *stats,
    size_t count, size_t *filled);

// -------------------------------------------------------------------------------------------------------------------
// 4. Sparse and quantized objects
//
// A whole object in one call: pointers, counts and shapes, checked so that an engine may index without checks.

/// One component of a view.
struct zt_array {
    /// The decoded elements in the host's byte order, aligned as zt_component_ptr says; not NULL unless absent.
    const void *data;
    size_t size; ///< Bytes.
    uint64_t count; ///< Elements of the dtype (a complex value is two).
    zt_dtype dtype; ///< The storage type.
    zt_type type; ///< The logical type.
    uint64_t reserved; ///< 0: for later versions.
    uint64_t reserved2; ///< 0: for later versions.
};

/// A matrix of compressed sparse rows. Row r has the entries indptr[r] up to indptr[r + 1].
struct zt_csr {
    size_t struct_size;
    uint64_t rows; ///< Number of rows.
    uint64_t columns; ///< Number of columns.
    uint64_t nnz; ///< Number of stored entries.
    zt_array values; ///< The entries.
    zt_array indices; ///< The column of each entry, checked to be below columns.
    zt_array indptr; ///< rows + 1 numbers, checked to begin with 0, never to decrease and to end with nnz.
};

/// A coordinate list.
struct zt_coo {
    size_t struct_size;
    uint64_t nnz; ///< Number of stored entries.
    const uint64_t *shape; ///< The dimensions, rank of them.
    size_t rank; ///< Number of dimensions.
    zt_array values; ///< The entries.
    zt_array coords; ///< rank runs of nnz numbers, a run for each dimension, checked to be below it.
};

/// A tensor of quantized groups: a quantized_group object, or one of zt.quant_group/1 or zt.mx/1 in zTensor 2, whose "data"
/// is packed_weight. A number is (weight - its zero point) * its scale; scales of ZT_TYPE_F8_E8M0 are powers of two.
struct zt_quantized {
    size_t struct_size;
    const uint64_t *shape; ///< The dimensions, rank of them.
    size_t rank; ///< Number of dimensions.
    uint64_t bits; ///< Bits of a weight; 0 if nothing says it.
    /// Weights of a group; 0 if nothing says it. zt.quant_group/1: 0 for a scale for each index of axis, or each weight.
    uint64_t group_size;
    const char *packing; ///< The attribute "packing" of a quantized_group, NUL-ended; NULL if it is not there.
    zt_array packed_weight; ///< The packed weights.
    zt_array scales; ///< The scale of each group.
    zt_array zeros; ///< The zero point of each group; data is NULL if there are none.
    uint64_t weights_per_element; ///< Weights in an element of packed_weight; 0 if nothing says it.
    /// The dimension that groups lie along. 0, as all that follows, for a quantized_group, which does not say it.
    uint64_t axis;
    int64_t zero_point; ///< The zero point of all weights where zeros.data is NULL.
    uint32_t msb_first; ///< 1: the first weight of an element is in its highest bits, 0: in its lowest.
    uint32_t zeros_packed; ///< 1: zeros are packed as weights are, 0: each has an element.
};

/// The parts of a sparse_csr object, checked to be one: counts, order of indptr, columns in range.
///
/// Without a copy where zt_component_ptr would work for every part; else decoded into memory that the file keeps.
/// Checking reads indices and indptr once.
/// view: set struct_size; filled on success, untouched on failure. What it points to lives until the last zt_close.
/// Returns ZT_ERROR_UNSUPPORTED (another format, unknown dtype or encoding), ZT_ERROR_CORRUPT (the structure is
/// broken, or the indices are not u64 in a 1.2 file), ZT_ERROR_LIMIT, ZT_ERROR_IO, ZT_ERROR_OUT_OF_MEMORY,
/// ZT_ERROR_INVALID_ARGUMENT. Indices of a 1.0 or 1.1 file may be of any integer dtype: look at it.
/// Threads: any. Spec 1.2 section 3.
ZT_NODISCARD zt_status zt_csr_view(const zt_object *object, zt_csr *view);

/// The parts of a sparse_coo object, checked to be one: counts, coordinates in range. As zt_csr_view in all else.
/// Threads: any. Spec 1.2 section 3.
ZT_NODISCARD zt_status zt_coo_view(const zt_object *object, zt_coo *view);

/// The parts of a quantized_group object, checked to fit each other as far as its attributes allow: whole elements,
/// room for every weight, a scale for every group, as many zeros as they need. Or those of zt.quant_group/1 or zt.mx/1 in
/// zTensor 2, checked to be what the layout demands; an object that lacks some of it is ZT_ERROR_CORRUPT.
/// As zt_csr_view in all else. Blocks of GGUF are arrays: see zt_tensor_view and zt_type_block.
/// Threads: any. Spec 1.2 section 3, spec 2 section 6.
ZT_NODISCARD zt_status zt_quantized_view(const zt_object *object, zt_quantized *view);

/// Writes a sparse_csr object at once. Its structure is checked as zt_csr_view does: in zTensor 2 the columns of a row
/// have to rise.
///
/// shape: two numbers, rows and columns. values, values_size: nnz elements of dtype (pairs for complex types).
/// indices: nnz columns. indptr: rows + 1 numbers. All in the host's byte order; nothing is kept after the call.
/// name, name_length, dtype, type: as zt_write_dense.
/// Returns ZT_ERROR_CORRUPT if the structure is broken, else as zt_write_dense.
/// Threads: one at a time. Spec 1.2 section 3.
ZT_NODISCARD zt_status zt_write_csr(zt_writer *writer, const char *name, size_t name_length, zt_dtype dtype,
    zt_type type, const uint64_t *shape, size_t nnz, const void *values, size_t values_size, const uint64_t *indices,
    const uint64_t *indptr);

/// Writes a sparse_coo object at once. Its structure is checked as zt_coo_view does: in zTensor 2 no two entries may be
/// the same element.
/// shape: rank dimensions. values, values_size: nnz elements of dtype (pairs for complex types).
/// coords: rank runs of nnz numbers, all of the first dimension first. All in the host's byte order; nothing is kept
/// after the call. name, name_length, dtype, type: as zt_write_dense. Returns as zt_write_csr.
/// Threads: one at a time. Spec 1.2 section 3.
ZT_NODISCARD zt_status zt_write_coo(zt_writer *writer, const char *name, size_t name_length, zt_dtype dtype,
    zt_type type, const uint64_t *shape, size_t rank, size_t nnz, const void *values, size_t values_size,
    const uint64_t *coords);

/// The parts of a quantized_group object, or of one of zt.quant_group/1, to be written; the fields mean what those of
/// zt_quantized do.
struct zt_quantized_desc {
    size_t struct_size;
    uint64_t bits; ///< The attribute "bits"; 0 to leave it out.
    uint64_t group_size; ///< The attribute "group_size"; 0 to leave it out.
    const char *packing; ///< The attribute "packing", NUL-ended, such as "8_per_i32"; NULL to leave it out.
    const void *packed_weight; ///< The packed weights.
    uint64_t packed_weight_size; ///< Bytes at packed_weight.
    const void *scales; ///< The scale of each group.
    uint64_t scales_size; ///< Bytes at scales.
    const void *zeros; ///< The zero point of each group; NULL if there are none.
    uint64_t zeros_size; ///< Bytes at zeros.
    zt_dtype packed_weight_dtype; ///< The storage type of packed_weight.
    zt_dtype scales_dtype; ///< The storage type of scales.
    zt_dtype zeros_dtype; ///< The storage type of zeros.
    uint32_t reserved; ///< Must be 0.
    zt_type scales_type; ///< The type of scales: ZT_TYPE_F8_E8M0 for powers of two; else ZT_TYPE_NONE.
    /// 1: axis and the fields behind it are stated, as zTensor 2 demands; 0: they are not, as in 1.x, and have to be 0.
    uint32_t has_axis;
    uint64_t axis; ///< The dimension that groups lie along.
    int64_t zero_point; ///< The zero point of all weights where zeros is NULL.
    uint32_t msb_first; ///< 1: the first weight of an element is in its highest bits, 0: in its lowest.
    uint32_t zeros_packed; ///< 1: zeros are packed as weights are, 0: each has an element.
};

/// Writes an object of codes with scales at once: a quantized_group object, or in zTensor 2 one of zt.quant_group/1,
/// whose parts are "data", "scales" and perhaps "zeros". Its geometry is checked as zt_quantized_view does.
///
/// shape: rank dimensions of the tensor that was quantized. desc: its parts; not NULL; nothing is kept after the
/// call. name, name_length: as zt_write_dense.
/// zt.quant_group/1 says more than a quantized_group, and less freely. desc has to have has_axis; bits of 2, 4 or 8; a
/// group_size above 0 that divides the axis; packed weights of an integer dtype without unused bits; scales of f32,
/// bf16, f16 or, of powers of two, u8 with scales_type ZT_TYPE_F8_E8M0; not both zeros and a zero_point; a packing
/// that says what packed_weight_dtype and bits do, or NULL. Else it is ZT_ERROR_UNSUPPORTED, as has_axis is before 2.
/// Returns as zt_write_csr.
/// Threads: one at a time. Spec 1.2 section 3, spec 2 section 6.
ZT_NODISCARD zt_status zt_write_quantized(zt_writer *writer, const char *name, size_t name_length,
    const uint64_t *shape, size_t rank, const zt_quantized_desc *desc);

// -------------------------------------------------------------------------------------------------------------------
// 5. A cache of slices
//
// A cache keeps slices of a model that is larger than memory.

/// Makes a cache, with all of its tables. It keeps references to the files of its slices. Its threads stay until
/// zt_cache_free; those that the system does not give are no error, and without any only zt_cache_get reads. A child
/// of fork has none of them: nothing but zt_cache_free may be called there, which gives nothing back.
///
/// options: not NULL. cache: receives the handle, NULL on failure; end it with zt_cache_free.
/// Returns ZT_ERROR_LIMIT if the budget has no place for a slot, ZT_ERROR_INVALID_ARGUMENT, ZT_ERROR_OUT_OF_MEMORY.
/// Threads: any; it starts those of the cache.
ZT_NODISCARD zt_status zt_cache_create(const zt_cache_options *options, zt_cache **cache);

/// Pins a slice: where it is there without a read, a copy or memory of the heap; else it is read, or waited for if
/// another thread reads it. A failure is given to each that waits; the next call tries again.
///
/// slice: as for zt_read_batch, of any file; dst and dst_size mean nothing here, dst_stride is 0. Two slices are the
/// same if all other fields but tag are equal. timeout_ns: below 0, or of a zt_source with callers_thread, the calling
/// thread reads, and waits as long as it takes. Else a thread of the cache reads, before all prefetches, and this call
/// waits no longer than that: the read goes on for a later call. out: set struct_size; filled on success, then end it with
/// zt_cache_unpin.
/// Returns ZT_ERROR_TIMEOUT if the slice is not there in that time, also where every slot is pinned; ZT_ERROR_LIMIT if
/// it is larger than a slot; else as zt_read_batch.
/// Threads: any.
ZT_NODISCARD zt_status zt_cache_get(const zt_cache *cache, const zt_read_request *slice, int64_t timeout_ns,
    zt_cache_pin *out);

/// Gives a pin back, and zeroes what zt_cache_get filled. The slice stays until its slot is wanted.
/// slice: NULL, or of pin 0, does nothing.
/// Returns ZT_ERROR_STATE if it is not pinned, ZT_ERROR_INVALID_ARGUMENT.
/// Threads: any, also another one than that of zt_cache_get.
zt_status zt_cache_unpin(const zt_cache *cache, zt_cache_pin *slice);

/// Has slices read ahead by the threads of the cache, those of a higher priority first, and of equal ones those that
/// were asked for first. It never evicts what is pinned, nor what was prefetched with a higher priority and not got
/// since; where it finds no slot, or as many as there are slots wait already, the slice of the lowest priority is left
/// out: that is no failure (zt_cache_stats.prefetches_dropped). Of slices that are there it raises the priority.
///
/// slices, count: as for zt_cache_get; (NULL, 0) does nothing. Slices of a zt_source with callers_thread are left out.
/// Returns as zt_read_batch for arguments that no read could make right, and ZT_ERROR_LIMIT as zt_cache_get: the
/// slices in front of that one are prefetched. A read that fails is not reported: zt_cache_get tries again.
/// Threads: any; the call waits for no read, but it finds out sizes that are not declared.
zt_status zt_cache_prefetch(const zt_cache *cache, const zt_read_request *slices, size_t count, uint32_t priority);

/// Drops slices: their slots are free, and what was queued is not read. One that is pinned or being read goes when its
/// last pin is given back, and a zt_cache_get meanwhile reads it anew.
///
/// slices, count: as for zt_cache_get; slices that are not there are passed over. (NULL, 0): all that are neither
/// pinned nor being read, and the references to their files with them.
/// Returns ZT_ERROR_INVALID_ARGUMENT, but not for a slice outside of its component: it is not there.
/// Threads: any.
zt_status zt_cache_drop(const zt_cache *cache, const zt_read_request *slices, size_t count);

/// Drops all prefetches that no thread has begun to read. Threads: any.
zt_status zt_cache_cancel(const zt_cache *cache);

/// What the cache has, and what it did since it was made.
/// stats: not NULL; set struct_size. Returns ZT_ERROR_INVALID_ARGUMENT.
/// Threads: any.
ZT_NODISCARD zt_status zt_cache_get_stats(const zt_cache *cache, zt_cache_stats *stats);

/// Ends a cache, and every slice that is pinned with it; waits for the reads under way. What is queued is not read.
/// cache: NULL is fine. Threads: any; no other thread may be using the cache.
void zt_cache_free(zt_cache *cache);

/// A slice that may be evicted.
struct zt_cache_candidate {
    uint64_t tag; ///< zt_read_request.tag of the call that brought it.
    uint64_t size; ///< Bytes of it.
    uint64_t uses; ///< How often it was got since it was read.
};

/// Chooses which of count slices, at least one, is evicted: returns its index. They are in the order of their last
/// use, the longest ago first; any number that is none of them evicts that one. Called with the cache locked: it must
/// not call the cache, and every other call waits for it.
typedef size_t (*zt_cache_choose_callback)(void *context,
                                           const zt_cache_candidate *candidates,
                                           size_t count);

/// How to make a cache. budget and slot_size are not 0; all else zero are the defaults.
struct zt_cache_options {
    size_t struct_size;
    /// Most bytes of the slots and of the tables that keep track of them (zt_cache_stats.overhead); nothing else is
    /// kept. The temporary memory of a read, as for decoding, and the threads' stacks are not counted.
    uint64_t budget;
    /// Bytes of the largest slice, rounded up to a multiple of 64: each takes one slot, however small it is. Slices of
    /// very different sizes are best kept in a cache each.
    uint64_t slot_size;
    /// The caller's memory for the slots: budget bytes (pinned for a device, say), 64-byte aligned, until
    /// zt_cache_free. The tables are then in other memory, which is not counted. NULL: the library's own.
    void *memory;
    uint32_t threads; ///< Threads that read what is prefetched; 0 for a few.
    uint32_t verify; ///< 1: check the digest of every component that is read whole and has one that can be checked.
    void *context; ///< Passed to choose; may be NULL.
    zt_cache_choose_callback choose; ///< Chooses what is evicted; NULL: what was not used for the longest time.
    const zt_thread_hooks *thread_hooks; ///< Called on the threads of the cache; NULL: nothing is. Copied.
};

/// A slice that is pinned: its bytes stay where they are, and as they are, until zt_cache_unpin.
struct zt_cache_pin {
    size_t struct_size;
    const void *data; ///< Its bytes, 64-byte aligned; not NULL.
    size_t size; ///< How many.
    uint64_t pin; ///< Which pin it is; 0: none.
};

/// What a cache has, and what it did.
struct zt_cache_stats {
    size_t struct_size;
    uint64_t slots; ///< Slots that there are.
    uint64_t used; ///< Slots that have a slice, or are read into.
    uint64_t pinned; ///< Slots of slices that are pinned or being read.
    uint64_t queued; ///< Slices that wait to be read.
    uint64_t overhead; ///< Bytes of the tables.
    uint64_t hits; ///< Slices that were there when they were asked for.
    uint64_t joined; ///< Slices that others had asked for already, and that were not there yet.
    uint64_t misses; ///< Slices that were read because they were asked for.
    uint64_t prefetches; ///< Slices that were read ahead.
    uint64_t prefetches_used; ///< Slices that were read ahead, and were asked for later.
    /// Slices that were to be read ahead and were not: cancelled, or no slot was to be had.
    uint64_t prefetches_dropped;
    uint64_t evictions; ///< Slices that went for others.
    uint64_t failures; ///< Reads that failed.
    uint64_t bytes_read; ///< Bytes that were read.
};

// -------------------------------------------------------------------------------------------------------------------
// 6. Editing, shards, repair
//
// Changes of a file that zt_write_append opened; files whose bytes are in other files; unfinished appends.

/// Takes away an object of the file that zt_write_append opened. Its name is free then: to replace an object, remove
/// it and write another one of that name, in any way. The new one stands behind the others.
///
/// An edit is part of the append: the file is as it was until zt_write_finish, and a crash leaves the old file or
/// the new one. What is not edited stays as it is encoded. The bytes of a removed object stay in the file, where
/// ZT_VERIFY_PADDING counts them; copying to a new file leaves them out.
/// name, name_length: UTF-8 of name_length bytes, NUL-ended if that is 0; not NULL.
/// Returns ZT_ERROR_NOT_FOUND if the file has no such object, ZT_ERROR_STATE if this writer wrote it, if an object is
/// open or the writer has failed, ZT_ERROR_INVALID_ARGUMENT.
/// Threads: one at a time.
ZT_NODISCARD zt_status zt_write_remove(zt_writer *writer, const char *name, size_t name_length);

/// Gives an object of the file that zt_write_append opened another name; it keeps its place among the others. May be
/// called again, so that two objects can exchange their names by a third one.
/// name, name_length, new_name, new_name_length: as for zt_write_remove.
/// Returns ZT_ERROR_EXISTS if new_name is taken, ZT_ERROR_LIMIT if it is over 64 KiB, else as zt_write_remove.
/// Threads: one at a time.
ZT_NODISCARD zt_status zt_write_rename(zt_writer *writer, const char *name, size_t name_length, const char *new_name,
    size_t new_name_length);

/// Makes an open file of zTensor 2 a shard of the file of zTensor 2 that is written: its name, its size and the XXH3 of
/// all of its bytes, which are read for that, go into the table of shards. No object is added: zt_write_link does.
///
/// name, name_length: 1 to 64 letters, digits, ".", "_" and "-", the first no "."; NUL-ended if name_length is 0; not NULL.
/// Readers look for the shard NAME of STEM.zt as STEM-NAME.zt next to it. file: not NULL; one file, as zt_open opens
/// it, or a root, of whose own shards no object can be linked. It may be closed once its objects are linked.
/// Returns ZT_ERROR_UNSUPPORTED if the version that is written or the file is not zTensor 2, of an append, and of a
/// name that no shard has (zt_last_error_rule: ShardName); ZT_ERROR_EXISTS if a shard of that name is there;
/// ZT_ERROR_LIMIT if there are 65,536; ZT_ERROR_INVALID_ARGUMENT in canonical form; ZT_ERROR_STATE if an object is
/// open or the writer has failed; ZT_ERROR_CANCELLED if progress stops it; ZT_ERROR_IO.
/// Threads: one at a time for writer, any for file. Spec 2 section 8.
ZT_NODISCARD zt_status zt_write_shard(zt_writer *writer, const char *name, size_t name_length, const zt_file *file);

/// Adds an object of a file that zt_write_shard made a shard, with its shape, format, attributes and digests; its
/// bytes stay where they are. Files of several shards, and overlays whose objects are partly those of a base model, are
/// made of such objects and others.
///
/// object: of the very handle that was made a shard; not NULL. If that was made several, of the first. new_name: NULL
/// for the same name. new_name_length: its bytes; 0 if it is NUL-ended.
/// Returns ZT_ERROR_INVALID_ARGUMENT if its file was not made a shard, ZT_ERROR_UNSUPPORTED if a component is in a shard
/// of that file, ZT_ERROR_EXISTS if the name is taken, ZT_ERROR_STATE if an object is open or the writer has failed.
/// Threads: one at a time for writer, any for object. Spec 2 section 8.
ZT_NODISCARD zt_status zt_write_link(zt_writer *writer, const zt_object *object, const char *new_name,
    size_t new_name_length);

/// How to repair. All fields zero (but struct_size) are the defaults.
struct zt_repair_options {
    size_t struct_size;
    uint32_t dry_run; ///< 1: only report what would be done.
    uint32_t reserved; ///< Must be 0.
    uint64_t max_manifest_size; ///< Largest manifest in bytes; 0 for the specs' 1 GiB.
    /// Where the file is to end, in bytes from its beginning; 0: zt_repair finds out. A place where no whole file
    /// ends is refused.
    uint64_t cut_at;
    void *context; ///< Passed to progress; may be NULL.
    /// Called with the bytes that were looked at and those of the file, the last time before it is cut. If it stops,
    /// the call is ZT_ERROR_CANCELLED and the file is as it was. NULL: not called.
    zt_progress_callback progress;
};

/// What a repair did, or would do.
struct zt_repair_report {
    size_t struct_size;
    uint64_t old_size; ///< Bytes of the file before.
    uint64_t new_size; ///< Bytes of the file after; the same if there was nothing to repair.
    uint64_t objects; ///< Objects that the file then has.
};

/// Cuts a file that ends in an unfinished append back to where it ended before: everything that was in it before the
/// append is there again. What it leaves opens, checked as zt_open checks it.
///
/// An append records in the file's head where the file ended, and clears that record when its new end is on the
/// disk: until then a killed append is taken back, from then on it is complete. A file that opens keeps its bytes,
/// but for the record of an append that was killed before it wrote anything more; then old_size is new_size. A file
/// without a record, of a writer that keeps none, is cut where a whole file ends only if there is one such place in
/// it, and nothing but zeros in front of it where its manifest has nothing. Otherwise the data could
/// decide: ZT_ERROR_CORRUPT, and the message names the places; zt_repair_options.cut_at chooses. A file of zTensor 2
/// has no record and keeps its old ends: the last place counts, and data that was appended can imitate one.
///
/// path: NUL-ended. options: NULL for the defaults. report: may be NULL; set struct_size; untouched on failure.
/// Returns ZT_ERROR_CORRUPT if no good end is in it (a download that was cut short cannot be repaired) or if it is in
/// doubt, ZT_ERROR_NO_FILE, ZT_ERROR_UNKNOWN_CONTAINER, ZT_ERROR_UNSUPPORTED, ZT_ERROR_LIMIT (max_manifest_size),
/// ZT_ERROR_CANCELLED, ZT_ERROR_OUT_OF_MEMORY, ZT_ERROR_IO, ZT_ERROR_INVALID_ARGUMENT, also for a cut_at that
/// is past the end or contradicts the record. The file is then as it was, with one exception: ZT_ERROR_IO whose
/// message says that it is cut back already, but could not be synced, or that the append record could not be cleared.
/// Such a file loses nothing; call zt_repair again. ZT_ERROR_BUSY: an append, an edit or another repair has the file,
/// also for a dry run; zt_write_append says who holds the lock, and what happens where there are no locks.
/// Threads: any.
ZT_NODISCARD zt_status zt_repair(const char *path, const zt_repair_options *options, zt_repair_report *report);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* ZTENSOR_ADVANCED_H */
