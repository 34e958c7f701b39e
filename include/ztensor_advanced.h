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

/// Adds a reference; call zt_close once more. Returns file.
zt_file *zt_retain(zt_file *file);

/// Opens a file inside a larger one, such as an archive that stores it uncompressed.
///
/// fd: a descriptor of a regular file; the library duplicates it, so you may close it. offset, length: the
/// range; ZT_WHOLE as length goes to the end.
/// Pointers have the alignment of offset. If that is less than the element size, zt_component_ptr fails.
/// options, file, statuses: as for zt_open. ZT_ERROR_UNSUPPORTED on Windows: use zt_open_handle.
ZT_NODISCARD zt_status zt_open_fd(int fd, uint64_t offset, uint64_t length, const zt_open_options *options,
    zt_file **file);

/// Opens a file inside a larger one on Windows.
///
/// handle: a readable HANDLE of a disk file; the library duplicates it, so you may close it. The duplicate
/// shares the file pointer. The library moves it but never relies on it. Handles with FILE_FLAG_OVERLAPPED or
/// FILE_FLAG_NO_BUFFERING are ZT_ERROR_INVALID_ARGUMENT. Direct reads open the file again and need
/// FILE_SHARE_READ.
/// offset, length: as for zt_open_fd. options, file, statuses: as for zt_open. ZT_ERROR_IO if handle is not a
/// file. ZT_ERROR_UNSUPPORTED on other systems: use zt_open_fd.
ZT_NODISCARD zt_status zt_open_handle(void *handle, uint64_t offset, uint64_t length, const zt_open_options *options,
    zt_file **file);

/// Opens several files as one model, in the given order. They may have different containers.
/// paths, count: at least one. options, file, statuses: as for zt_open_model.
ZT_NODISCARD zt_status zt_open_parts(const char *const *paths, size_t count, const zt_open_options *options,
    zt_file **file);

/// Allocates memory that is handed out: buffers of zt_component_load, DLPack tensors, decoded views. Any
/// thread may call the functions, several at once, never under a lock of the library. They are used until the
/// last zt_close and the end of every buffer and DLPack tensor.
struct zt_allocator {
    size_t struct_size;
    void *context; ///< Passed to both functions.
    /// Returns size bytes (at least 1) at a multiple of alignment, a power of two. The bytes need not be
    /// zero. NULL is ZT_ERROR_OUT_OF_MEMORY, a wrong alignment ZT_ERROR_INVALID_ARGUMENT.
    void *(*allocate)(void *context, size_t size, size_t alignment);
    /// Frees what allocate returned for the same size and alignment.
    void (*free)(void *context, void *memory, size_t size, size_t alignment);
};

/// Functions that run on each thread that the library starts, to name it, bind it to processors or set up a
/// device. Several threads may call them at once, never under a lock of the library. They are used as long as
/// the file, its buffers or the writer exist.
struct zt_thread_hooks {
    size_t struct_size;
    void *context; ///< Passed to both functions.
    /// Called first on the thread; index numbers the threads of one call from 0. May be NULL.
    void (*on_start)(void *context, uint32_t index);
    void (*on_end)(void *context, uint32_t index); ///< Called last on the thread, with the same index. May be NULL.
};

/// What zt_open_model left out of a model.
struct zt_model_info {
    size_t struct_size;
    /// If the model was opened by its folder: files there that belong to other models or to training states.
    uint64_t passed_over;
    uint64_t unlisted; ///< Tensors that the index does not name; zt_open_options.include_unlisted includes them.
};

/// Fills info for a model. For a file that was opened in another way all counts are 0.
ZT_NODISCARD zt_status zt_model_get_info(const zt_file *file, zt_model_info *info);

/// Numbers that change when a file changes, for caches.
struct zt_identity {
    size_t struct_size;
    uint64_t size; ///< Bytes of the file.
    int64_t modified_ns; ///< Time of the last change at opening, in nanoseconds since 1970; 0 if it is not known.
    uint64_t manifest_offset; ///< First byte of the manifest.
    uint64_t manifest_hash; ///< XXH3 (64 bits) of the manifest at opening.
    uint64_t source_identity; ///< zt_source.identity; for a model a hash of those of all parts; 0 if it is not known.
};

/// Fills identity for an open file; for a model, of all parts together. It describes what was opened, also
/// after an append. A component that was changed in place shows in modified_ns, source_identity or its digest
/// only.
/// May read manifests: ZT_ERROR_IO.
ZT_NODISCARD zt_status zt_file_identity(const zt_file *file, zt_identity *identity);

/// Fills identity for one part.
/// part: below zt_part_count. Statuses as for zt_file_identity.
ZT_NODISCARD zt_status zt_part_identity(const zt_file *file, size_t part, zt_identity *identity);

/// Borrows all bytes of a part as they are stored: to register the mapping with a device, to lock it in
/// memory, or to send the file.
///
/// ptr: receives a pointer, at a page border if the file was opened by path. zt_component_info.offset counts
/// from it. size: receives the bytes; may be NULL. The bytes are read-only, except in ZT_MODE_PRIVATE.
/// Returns ZT_ERROR_NOT_MAPPABLE if the part is neither mapped nor in memory.
ZT_NODISCARD zt_status zt_file_bytes(const zt_file *file, size_t part, const void **ptr, uint64_t *size);

// -------------------------------------------------------------------------------------------------------------------
// 2. Your own input and output
//
// Functions of yours that read or write the bytes: a network, an archive, a decryptor.

/// A range that a source is asked for.
struct zt_source_range {
    uint64_t offset; ///< First byte.
    void *dst; ///< Receives the bytes.
    size_t size; ///< Number of bytes, at least 1.
};

/// Your functions that read a file. Any thread that uses the file may call them, several at once (but see
/// callers_thread). They must not call zt_close on the same file. They return ZT_OK or a ZT_ERROR_ status,
/// which the failing call returns; other values become ZT_ERROR_IO. zt_set_last_error sets the message.
struct zt_source {
    size_t struct_size;
    void *context; ///< Passed to every function.
    zt_status (*size)(void *context, uint64_t *size); ///< Gives the bytes of the file. Called once. Not NULL.
    /// Reads exactly size bytes from offset on into dst, or fails. Not NULL.
    zt_status (*read_at)(void *context, uint64_t offset, void *dst, size_t size);
    void (*close)(void *context); ///< Called once, last; may be NULL.
    /// Reads all ranges, or fails. They are sorted by offset and may overlap; the array is valid during the
    /// call. After a failure the library calls read_at for each. NULL: read_at is used.
    zt_status (*read_many)(void *context, const zt_source_range *ranges, size_t count);
    const char *name; ///< What messages call the file; NULL for "the caller's source". Copied.
    uint64_t gap; ///< Bytes between two wanted ranges that are better read than skipped; 0 for the default.
    /// Largest useful read_at and read_many in bytes; 0 for the default, 1 to never join reads.
    uint64_t largest_request;
    /// Number of concurrent reads that help, at most 16. Calls whose options leave threads at 0 use this many
    /// threads. 0 and 1: as for a file.
    uint32_t concurrency;
    /// 1: call the functions only from threads that call the library. (close may come from a thread of a
    /// zt_cache.) 0: from any thread.
    uint32_t callers_thread;
    /// A number that changes when the bytes do, such as a hash of an ETag, for zt_file_identity. 0: not
    /// known.
    uint64_t identity;
};

/// Opens a file that your functions read.
///
/// source: copied. Its functions are used until the last zt_close. close is called once, also if this call
/// fails, unless struct_size is refused.
/// Opening reads both ends in one read_many or two read_at, and then the rest of the manifest.
/// options: mode and advice are ignored. file, statuses: as for zt_open.
ZT_NODISCARD zt_status zt_open_source(const zt_source *source, const zt_open_options *options, zt_file **file);

/// Takes a file name of a folder; copied. Return what it returns if that is not ZT_OK.
typedef zt_status (*zt_name_callback)(void *names, const char *name);

/// Your functions that open the files of a model. Several threads may call them at once during
/// zt_open_model_from. Statuses as for zt_source.
struct zt_store {
    size_t struct_size;
    void *context; ///< Passed to every function.
    /// Fills source for the file of that name; all its fields but struct_size are 0 before. ZT_ERROR_NO_FILE
    /// if the file does not exist. Not NULL.
    zt_status (*open)(void *context, const char *name, zt_source *source);
    /// Calls add(names, ...) with the name of each file in a folder; ZT_ERROR_NOT_FOUND if it is not a
    /// folder. The folder may end in '/'. NULL: there are no folders.
    zt_status (*list)(void *context, const char *folder, zt_name_callback add, void *names);
};

/// Opens a model whose files your functions open.
///
/// store: used during the call only, so shards are opened now and stay open, unless ZT_SHARDS_NEVER is set.
/// name: a file or folder, with '/' between folders. options: mode and advice are ignored; threads is the
/// number of files that are opened at once. file, statuses: as for zt_open_model.
ZT_NODISCARD zt_status zt_open_model_from(const zt_store *store, const char *name, const zt_open_options *options,
    zt_file **file);

/// Your functions that receive a written file, front to back. The thread that uses the writer calls them.
/// Statuses as for zt_source.
struct zt_sink {
    size_t struct_size;
    void *context; ///< Passed to every function.
    /// Takes the next size bytes completely, or fails; after a failure nothing more is written. Not NULL.
    zt_status (*write)(void *context, const void *data, size_t size);
    /// Called when everything was written; zt_write_finish returns its status. Not called after a failure or
    /// an abort. May be NULL.
    zt_status (*finish)(void *context);
    void (*close)(void *context); ///< Called once, last; may be NULL.
};

/// Begins a file that goes to your functions, front to back, without seeking.
/// sink: copied. close is called once, also if this call fails, unless struct_size is refused. A function of
/// the sink that uses the writer gets ZT_ERROR_STATE. options: durable is ignored. writer, statuses: as for
/// zt_write_create.
ZT_NODISCARD zt_status zt_write_create_sink(const zt_sink *sink, const zt_write_options *options, zt_writer **writer);

/// Sets the message of the calling thread's failure. For functions of a zt_source, zt_store or zt_sink before
/// they return a failure. message: copied; NULL changes nothing.
void zt_set_last_error(const char *message);

/// Returns errno (on Windows GetLastError) of the calling thread's last failure; 0 if the system did not
/// fail.
int32_t zt_last_os_error(void);

// -------------------------------------------------------------------------------------------------------------------
// 3. Objects and components
//
// Names with a length, for bindings; what works on a component; stored bytes; sizes that a file does not declare.

/// As zt_object_find, for a name of length bytes.
const zt_object *zt_object_find_n(const zt_file *file, const char *name, size_t length);

/// As zt_component_find, for a role of length bytes.
const zt_component *zt_component_find_n(const zt_object *object, const char *role, size_t length);

/// As zt_value_find, for a key of length bytes.
const zt_value *zt_value_find_n(const zt_value *value, const char *key, size_t length);

/// Gives the number of a tag; zt_value_at(value, 0) is the tagged value.
ZT_NODISCARD zt_status zt_value_get_tag(const zt_value *value, uint64_t *out);

/// Fills a struct for each of many components, in file order.
/// object: its components; NULL for those of all objects. The rest as for zt_object_list.
ZT_NODISCARD zt_status zt_component_list(const zt_file *file, const zt_object *object, size_t first,
    zt_component_info *infos, size_t count, size_t *filled);

/// zt_component_ptr works.
#define ZT_CAP_MAP 1
/// zt_component_read and zt_component_load work.
#define ZT_CAP_READ 2
/// A range can be read without decoding everything.
#define ZT_CAP_RANGE 4
/// The stored bytes are the decoded bytes and start at a multiple of 4096 in a real file: they can go from
/// disk to memory without a copy.
#define ZT_CAP_DIRECT 8
/// There is a digest, or the CRC-32 of an archive, that this version can check.
#define ZT_CAP_VERIFY 16
/// No other bytes are in the component's pages: ZT_ADVICE_RELEASE and ZT_ADVICE_EVICT reach all of it and
/// nothing else.
#define ZT_CAP_PAGE_EXCLUSIVE 32

/// What works on the component: a set of ZT_CAP_ bits.
uint32_t zt_component_caps(const zt_component *component);

/// Copies the component's stored bytes: compressed, of an unknown encoding, in the file's byte order.
/// dst, dst_size: memory for zt_component_info.stored_size bytes; less is ZT_ERROR_BUFFER_SIZE. Returns
/// ZT_ERROR_IO.
ZT_NODISCARD zt_status zt_component_read_stored(const zt_component *component, void *dst, size_t dst_size);

/// Finds the decoded size of a component that does not declare it, from the headers of its frames or by
/// decoding it once. zt_component_size returns it from then on.
/// progress, context: may be NULL.
/// Returns ZT_ERROR_CORRUPT, ZT_ERROR_LIMIT, ZT_ERROR_UNSUPPORTED (unknown dtype or encoding),
/// ZT_ERROR_CANCELLED, ZT_ERROR_IO.
ZT_NODISCARD zt_status zt_component_measure(const zt_component *component, zt_progress_callback progress,
    void *context, uint64_t *size);

/// The values of zt_advice.
typedef enum zt_advice_value {
    ZT_ADVICE_NONE = 0, ///< No hint.
    ZT_ADVICE_SEQUENTIAL = 1, ///< Bytes will be read front to back.
    ZT_ADVICE_WILLNEED = 3, ///< Start reading the bytes and return at once.
    ZT_ADVICE_POPULATE = 4, ///< Read the bytes into memory before returning, where the system can.
    /// No process needs the bytes soon: as ZT_ADVICE_RELEASE, and the page cache drops them, unless another
    /// process maps them or they are not written yet. Linux only.
    ZT_ADVICE_EVICT = 6,
    /// This process does not need the bytes soon: it gives back its mapped pages; the page cache keeps them.
    ZT_ADVICE_RELEASE = 7,
} zt_advice_value;

/// Advises the system what will be done with the component's stored bytes.
///
/// ZT_ADVICE_RELEASE and ZT_ADVICE_EVICT reach only whole pages of the component: see ZT_CAP_PAGE_EXCLUSIVE.
/// Other advice reaches every page that the bytes touch. In ZT_MODE_READ, ZT_ADVICE_SEQUENTIAL and
/// ZT_ADVICE_NONE count for the whole file.
/// Returns ZT_ERROR_UNSUPPORTED if the system or the mode does not have the advice (docs/big_models.md),
/// ZT_ERROR_IO if the system fails.
zt_status zt_component_advise(const zt_component *component, zt_advice advice);

/// What a load read of one part.
struct zt_load_part_stats {
    size_t struct_size;
    const zt_file *file; ///< The file.
    uint64_t stored_bytes; ///< Stored bytes that were read.
    uint64_t direct_bytes; ///< Bytes that were read past the page cache, including gaps.
    const char *reason; ///< Why the page cache was used or bypassed, as zt_read_stats.reason.
    uint32_t part; ///< The part of the file.
    uint32_t reserved; ///< 0.
};

/// Fills a struct for each part that a load reads, with what was read so far.
/// load: before zt_load_finish. first, stats, count, filled: as for zt_object_list. Returns ZT_ERROR_STATE in
/// a forked child.
ZT_NODISCARD zt_status zt_load_get_part_stats(const zt_load *load, size_t first, zt_load_part_stats *stats,
    size_t count, size_t *filled);

// -------------------------------------------------------------------------------------------------------------------
// 4. Sparse and quantized objects
//
// A whole object in one call: pointers, counts and shapes, checked so that an engine may index without checks.

/// One component of a view.
struct zt_array {
    /// The decoded elements in the host's byte order, aligned as for zt_component_ptr; NULL if the component
    /// is absent.
    const void *data;
    size_t size; ///< Bytes at data.
    uint64_t count; ///< Elements of the dtype; a complex number is two.
    zt_dtype dtype; ///< The storage type.
    zt_type type; ///< The logical type.
    uint64_t reserved; ///< 0.
    uint64_t reserved2; ///< 0.
};

/// A matrix of compressed sparse rows. Row r has the entries indptr[r] up to indptr[r + 1].
struct zt_csr {
    size_t struct_size;
    uint64_t rows; ///< Number of rows.
    uint64_t columns; ///< Number of columns.
    uint64_t nnz; ///< Number of stored entries.
    zt_array values; ///< The entries.
    zt_array indices; ///< The column of each entry: below columns.
    zt_array indptr; ///< rows + 1 numbers from 0 to nnz that never decrease.
};

/// A coordinate list.
struct zt_coo {
    size_t struct_size;
    uint64_t nnz; ///< Number of stored entries.
    const uint64_t *shape; ///< The dimensions, outermost first.
    size_t rank; ///< Number of dimensions.
    zt_array values; ///< The entries.
    zt_array coords; ///< rank runs of nnz numbers, one run for each dimension, each below it.
};

/// A tensor of quantized groups: a quantized_group object or, in zTensor 2, zt.quant_group/1 or zt.mx/1,
/// whose "data" is packed_weight. A number is (weight - zero point) * scale.
struct zt_quantized {
    size_t struct_size;
    const uint64_t *shape; ///< The dimensions, outermost first.
    size_t rank; ///< Number of dimensions.
    uint64_t bits; ///< Bits of a weight; 0 if the file does not state it.
    /// Weights of a group; 0 if the file does not state it. zt.quant_group/1: 0 for one scale for each index
    /// of axis, or each weight.
    uint64_t group_size;
    const char *packing; ///< The attribute "packing" of a quantized_group; NULL if absent.
    zt_array packed_weight; ///< The packed weights.
    zt_array scales; ///< The scale of each group. With ZT_TYPE_F8_E8M0 scales are powers of two.
    zt_array zeros; ///< The zero point of each group; data is NULL if absent.
    uint64_t weights_per_element; ///< Weights in an element of packed_weight; 0 if the file does not state it.
    /// The dimension that groups lie along. This and the following fields are 0 for a quantized_group.
    uint64_t axis;
    int64_t zero_point; ///< The zero point of all weights if there are no zeros.
    uint32_t msb_first; ///< 1: the first weight of an element is in its highest bits. 0: in its lowest.
    uint32_t zeros_packed; ///< 1: zeros are packed like weights. 0: each has an element.
};

/// Gives the components of a sparse_csr object, after checking counts, the order of indptr and all columns.
/// Borrowed where zt_component_ptr works for every component, else decoded into memory that the file keeps.
///
/// view: filled on success.
/// Returns ZT_ERROR_UNSUPPORTED (another format, unknown dtype or encoding), ZT_ERROR_CORRUPT (the structure
/// is broken), ZT_ERROR_LIMIT, ZT_ERROR_IO. Indices of a 1.0 or 1.1 file may have any integer dtype.
/// Spec 1.2 section 3.
ZT_NODISCARD zt_status zt_csr_view(const zt_object *object, zt_csr *view);

/// Gives the components of a sparse_coo object, after checking counts and coordinates. As zt_csr_view
/// otherwise.
ZT_NODISCARD zt_status zt_coo_view(const zt_object *object, zt_coo *view);

/// Gives the components of a quantized object, after checking that they fit each other as far as the
/// attributes state it. As zt_csr_view otherwise. For blocks of GGUF use zt_tensor_view and zt_type_block.
/// Spec 1.2 section 3, spec 2 section 6.
ZT_NODISCARD zt_status zt_quantized_view(const zt_object *object, zt_quantized *view);

/// Writes a sparse_csr object. Its structure is checked as in zt_csr_view; in zTensor 2 the columns of a row
/// must increase. Nothing is kept after the call.
///
/// shape: rows and columns. values, values_size: nnz elements of dtype. indices: nnz columns. indptr: rows +
/// 1 numbers. The rest as for zt_write_dense.
/// Returns ZT_ERROR_CORRUPT if the structure is broken, else as zt_write_dense.
ZT_NODISCARD zt_status zt_write_csr(zt_writer *writer, const char *name, size_t name_length, zt_dtype dtype,
    zt_type type, const uint64_t *shape, size_t nnz, const void *values, size_t values_size, const uint64_t *indices,
    const uint64_t *indptr);

/// Writes a sparse_coo object. Its structure is checked as in zt_coo_view; in zTensor 2 no two entries may
/// have the same coordinates.
/// coords: rank runs of nnz numbers, the first dimension first. The rest and statuses as for zt_write_csr.
ZT_NODISCARD zt_status zt_write_coo(zt_writer *writer, const char *name, size_t name_length, zt_dtype dtype,
    zt_type type, const uint64_t *shape, size_t rank, size_t nnz, const void *values, size_t values_size,
    const uint64_t *coords);

/// The components of a quantized object to write. Fields have the meaning of those of zt_quantized.
struct zt_quantized_desc {
    size_t struct_size;
    uint64_t bits; ///< The attribute "bits"; 0 leaves it out.
    uint64_t group_size; ///< The attribute "group_size"; 0 leaves it out.
    const char *packing; ///< The attribute "packing", such as "8_per_i32"; NULL leaves it out.
    const void *packed_weight; ///< The packed weights.
    uint64_t packed_weight_size; ///< Bytes at packed_weight.
    const void *scales; ///< The scale of each group.
    uint64_t scales_size; ///< Bytes at scales.
    const void *zeros; ///< The zero point of each group; NULL if absent.
    uint64_t zeros_size; ///< Bytes at zeros.
    zt_dtype packed_weight_dtype; ///< The storage type of packed_weight.
    zt_dtype scales_dtype; ///< The storage type of scales.
    zt_dtype zeros_dtype; ///< The storage type of zeros.
    uint32_t reserved; ///< Must be 0.
    zt_type scales_type; ///< ZT_TYPE_F8_E8M0 for powers of two, else ZT_TYPE_NONE.
    /// 1: axis and the fields behind it are stated, as zTensor 2 needs. 0: they must be 0, as in 1.x.
    uint32_t has_axis;
    uint64_t axis; ///< The dimension that groups lie along.
    int64_t zero_point; ///< The zero point of all weights if zeros is NULL.
    uint32_t msb_first; ///< 1: the first weight of an element is in its highest bits. 0: in its lowest.
    uint32_t zeros_packed; ///< 1: zeros are packed like weights. 0: each has an element.
};

/// Writes a quantized_group object or, in zTensor 2, a zt.quant_group/1 object. Its structure is checked as
/// in zt_quantized_view. Nothing is kept after the call.
///
/// shape: rank dimensions of the tensor before quantization. name, name_length: as for zt_write_dense.
/// zt.quant_group/1 needs has_axis, bits of 2, 4 or 8, and a group_size that divides the axis. It needs
/// packed weights of an integer dtype without unused bits, scales of f32, bf16, f16 or ZT_TYPE_F8_E8M0, and
/// either zeros or a zero_point. Otherwise ZT_ERROR_UNSUPPORTED.
/// Returns as zt_write_csr. Spec 1.2 section 3, spec 2 section 6.
ZT_NODISCARD zt_status zt_write_quantized(zt_writer *writer, const char *name, size_t name_length,
    const uint64_t *shape, size_t rank, const zt_quantized_desc *desc);

/// ggml's number (enum ggml_type) of a type: 2 for ZT_TYPE_GGUF_Q4_0, 0 for ZT_DTYPE_F32 with ZT_TYPE_NONE.
/// Returns ZT_ERROR_NOT_FOUND if ggml has no such type.
ZT_NODISCARD zt_status zt_type_ggml(zt_dtype dtype, zt_type type, int32_t *ggml_type);

/// The dtype and type of ggml's number; either may be NULL. Returns ZT_ERROR_NOT_FOUND for a number that the
/// library does not know.
ZT_NODISCARD zt_status zt_type_from_ggml(int32_t ggml_type, zt_dtype *dtype, zt_type *type);

// -------------------------------------------------------------------------------------------------------------------
// 5. A cache of slices
//
// A cache keeps slices of a model that is larger than memory.

/// Makes a cache. It keeps the files of its slices open.
///
/// cache: receives the handle, NULL on failure. End it with zt_cache_free.
/// Returns ZT_ERROR_LIMIT if the budget has no room for a slot.
/// Starts the cache's threads. If the system gives none, only zt_cache_get reads. In a forked child only
/// zt_cache_free may be called.
ZT_NODISCARD zt_status zt_cache_create(const zt_cache_options *options, zt_cache **cache);

/// Pins a slice. A slice in the cache costs no read, no copy and no allocation; otherwise it is read, or
/// waited for if another thread reads it.
///
/// slice: as for zt_read_batch, of any file; dst and dst_size are ignored, dst_stride must be 0. Two slices
/// are equal if all fields but tag are equal. out: filled on success. End it with zt_cache_unpin.
/// timeout_ns: below 0, for a zt_source with callers_thread, and if the cache has no threads, the calling
/// thread reads and waits without limit. Otherwise a thread of the cache reads, and the call waits no longer
/// than that; the read continues for a later call.
/// Returns ZT_ERROR_TIMEOUT if the time passes, also because every slot is pinned; ZT_ERROR_LIMIT if the
/// slice is larger than a slot; else as zt_read_batch. A failed read is reported to every call that waits for
/// it; the next call reads again.
ZT_NODISCARD zt_status zt_cache_get(const zt_cache *cache, const zt_read_request *slice, int64_t timeout_ns,
    zt_cache_pin *out);

/// Releases a pin and sets it to zero. The slice stays until its slot is needed. NULL and a pin that is zero
/// are ignored. Any thread may call it.
/// Returns ZT_ERROR_STATE if the slice is not pinned.
zt_status zt_cache_unpin(const zt_cache *cache, zt_cache_pin *slice);

/// Reads slices ahead on the cache's threads, in the given order, after slices that zt_cache_get waits for.
/// Pinned slices are never evicted for it.
///
/// slices, count: as for zt_cache_get. Slices of a zt_source with callers_thread are ignored. If no slot can
/// be freed or the queue is full, a slice is dropped (zt_cache_stats.prefetches_dropped).
/// Returns ZT_ERROR_LIMIT as zt_cache_get; the slices before that one are prefetched. Failed reads are not
/// reported: zt_cache_get reads again.
zt_status zt_cache_prefetch(const zt_cache *cache, const zt_read_request *slices, size_t count);

/// Drops slices from the cache and from the queue. A pinned slice goes when its last pin is released.
///
/// slices, count: as for zt_cache_get; slices that are not in the cache are ignored. (NULL, 0) drops
/// everything that is neither pinned nor being read, and closes its files.
zt_status zt_cache_drop(const zt_cache *cache, const zt_read_request *slices, size_t count);

/// Drops all prefetches that no thread has begun to read.
zt_status zt_cache_cancel(const zt_cache *cache);

/// Fills stats: what the cache holds, and what it did since it was made.
ZT_NODISCARD zt_status zt_cache_get_stats(const zt_cache *cache, zt_cache_stats *stats);

/// Ends a cache and every pin; waits for reads in progress. No other thread may use the cache.
void zt_cache_free(zt_cache *cache);

/// The values of zt_cache_policy.
typedef enum zt_cache_policy_value {
    ZT_CACHE_LRU = 0, ///< The slice that was not used for the longest time.
    ZT_CACHE_SLRU = 1, ///< Slices that were used only once go first: a scan does not evict what is used often.
} zt_cache_policy_value;

/// How to make a cache. budget and slot_size are required.
struct zt_cache_options {
    size_t struct_size;
    /// Bytes of all slots and of the tables that track them. Temporary memory of reads is not counted.
    uint64_t budget;
    /// Bytes of the largest slice, rounded up to a multiple of 64. Every slice takes one slot, so keep slices
    /// of very different sizes in separate caches.
    uint64_t slot_size;
    /// Memory of budget bytes for the slots, 64-byte aligned, valid until zt_cache_free, such as pinned
    /// memory of a device. NULL: the library's.
    void *memory;
    uint32_t threads; ///< Threads that read ahead; 0 for a few.
    uint32_t verify; ///< 1: check the digest of every component that is read whole and has one.
    zt_cache_policy policy; ///< Which slice is evicted; 0 is ZT_CACHE_LRU.
    uint32_t reserved; ///< Must be 0.
    const zt_thread_hooks *thread_hooks; ///< Called on the cache's threads; NULL: none. Copied.
};

/// A pinned slice: its bytes stay valid until zt_cache_unpin.
struct zt_cache_pin {
    size_t struct_size;
    const void *data; ///< The bytes, 64-byte aligned, not NULL.
    size_t size; ///< Bytes at data.
    uint64_t pin; ///< Identifies the pin; 0: none.
};

/// What a cache holds, and what it did.
struct zt_cache_stats {
    size_t struct_size;
    uint64_t slots; ///< Slots.
    uint64_t used; ///< Slots that hold a slice or are being filled.
    uint64_t pinned; ///< Slots that are pinned or being filled.
    uint64_t queued; ///< Slices that wait to be read.
    uint64_t overhead; ///< Bytes of the tables.
    uint64_t hits; ///< Requested slices that were in the cache.
    uint64_t joined; ///< Requested slices that were being read already.
    uint64_t misses; ///< Requested slices that had to be read.
    uint64_t prefetches; ///< Slices that were read ahead.
    uint64_t prefetches_used; ///< Slices that were read ahead and requested later.
    uint64_t prefetches_dropped; ///< Slices that were not read ahead: cancelled, or no slot was free.
    uint64_t evictions; ///< Slices that were evicted.
    uint64_t failures; ///< Reads that failed.
    uint64_t bytes_read; ///< Bytes that were read.
};

// -------------------------------------------------------------------------------------------------------------------
// 6. Editing, shards, repair
//
// Changes of a file that zt_write_append opened; files whose bytes are in other files; unfinished appends.

/// Removes an object of the file that zt_write_append opened. To replace an object, remove it and write
/// another of that name.
///
/// The edit takes effect in zt_write_finish. The object's bytes stay in the file as padding; copying to a new
/// file leaves them out.
/// Returns ZT_ERROR_NOT_FOUND if the file has no such object, ZT_ERROR_STATE if this writer wrote it, an
/// object is open, or the writer has failed.
ZT_NODISCARD zt_status zt_write_remove(zt_writer *writer, const char *name, size_t name_length);

/// Renames an object of the file that zt_write_append opened; it keeps its place.
/// Returns ZT_ERROR_EXISTS if new_name is taken, ZT_ERROR_LIMIT if it exceeds 64 KiB, else as
/// zt_write_remove.
ZT_NODISCARD zt_status zt_write_rename(zt_writer *writer, const char *name, size_t name_length, const char *new_name,
    size_t new_name_length);

/// Replaces all attributes of the file by those of an open file. If that file has another container, it adds
/// the attribute "ztensor.origin": zt convert makes the original file of it again (docs/formats.md). Returns
/// ZT_ERROR_STATE if the writer has failed, ZT_ERROR_UNSUPPORTED if the version has no attributes of the
/// file.
ZT_NODISCARD zt_status zt_write_copy_attributes(zt_writer *writer, const zt_file *file);

/// When shards of a zTensor 2 file are opened. Shard NAME of STEM.zt is the file STEM-NAME.zt beside it. In
/// zt_open_options.shard_folder the names NAME.zt and blobs/ALGORITHM/HEX are tried, too, HEX being the
/// digest. At most 65,536 shards.
typedef enum zt_shards_value {
    ZT_SHARDS_OF_MODELS = 0, ///< ZT_SHARDS_ON_USE if a model was opened (zt_open_model), else ZT_SHARDS_NEVER.
    ZT_SHARDS_ON_USE = 1, ///< Each shard when it is first read.
    ZT_SHARDS_AT_OPEN = 2, ///< All shards with the file; opening fails if one is missing or does not match.
    ZT_SHARDS_NEVER = 3, ///< Never: their objects are listed, but reading them is ZT_ERROR_UNSUPPORTED.
} zt_shards_value;

/// Makes an open zTensor 2 file a shard of the zTensor 2 file that is written. Its bytes are read for their
/// XXH3. Add its objects with zt_write_link.
///
/// name, name_length: 1 to 64 letters, digits, ".", "_" and "-", not beginning with ".". Readers look for
/// shard NAME of STEM.zt as STEM-NAME.zt beside it. file: may be closed when its objects are linked. Objects
/// of its own shards cannot be linked.
/// Returns ZT_ERROR_UNSUPPORTED if either file is not zTensor 2, for an append, and for an invalid name;
/// ZT_ERROR_EXISTS if the name is taken; ZT_ERROR_LIMIT above 65,536 shards; ZT_ERROR_INVALID_ARGUMENT in
/// canonical form; ZT_ERROR_STATE if an object is open or the writer has failed; ZT_ERROR_CANCELLED,
/// ZT_ERROR_IO. Spec 2 section 8.
ZT_NODISCARD zt_status zt_write_shard(zt_writer *writer, const char *name, size_t name_length, const zt_file *file);

/// Adds an object of a shard: its shape, format, attributes and digests; the bytes stay in the shard.
///
/// object: of the handle that was given to zt_write_shard. new_name: NULL for the object's name.
/// Returns ZT_ERROR_INVALID_ARGUMENT if its file is not a shard, ZT_ERROR_UNSUPPORTED if a component is in a
/// shard of that file, ZT_ERROR_EXISTS if the name is taken, ZT_ERROR_STATE if an object is open or the
/// writer has failed. Spec 2 section 8.
ZT_NODISCARD zt_status zt_write_link(zt_writer *writer, const zt_object *object, const char *new_name,
    size_t new_name_length);

/// How to repair.
struct zt_repair_options {
    size_t struct_size;
    uint32_t dry_run; ///< 1: only report what would be done.
    uint32_t reserved; ///< Must be 0.
    uint64_t max_manifest_size; ///< Largest manifest in bytes; 0: 1 GiB.
    uint64_t cut_at; ///< Size that the file shall have; a whole file must end there. 0: zt_repair finds it.
    void *context; ///< Passed to progress.
    /// Reports the bytes that were searched; may be NULL. If it stops, the file is unchanged.
    zt_progress_callback progress;
};

/// What a repair did, or would do.
struct zt_repair_report {
    size_t struct_size;
    uint64_t old_size; ///< Bytes of the file before.
    uint64_t new_size; ///< Bytes of the file after; equal if there was nothing to repair.
    uint64_t objects; ///< Objects of the file after.
};

/// Undoes an interrupted append: the file has its content from before the append again.
///
/// path: used during the call only. report: may be NULL; filled on success.
/// An append leaves a record in the file's head until it is complete. If there is no record, the file is cut
/// only where exactly one whole file ends; otherwise the message names the places and options.cut_at chooses.
/// A file of zTensor 2 has no record: it is cut at its last end.
/// Returns ZT_ERROR_CORRUPT if no such place exists or several do (an incomplete download cannot be
/// repaired), ZT_ERROR_BUSY if a writer has the file, ZT_ERROR_NO_FILE, ZT_ERROR_UNKNOWN_CONTAINER,
/// ZT_ERROR_UNSUPPORTED, ZT_ERROR_LIMIT, ZT_ERROR_CANCELLED. On failure the file is unchanged. ZT_ERROR_IO
/// after the cut is the exception; its message says so. Then call zt_repair again.
ZT_NODISCARD zt_status zt_repair(const char *path, const zt_repair_options *options, zt_repair_report *report);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* ZTENSOR_ADVANCED_H */
