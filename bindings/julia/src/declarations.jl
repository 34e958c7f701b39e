# Generated from the headers by bindings/generate.py; do not edit.

const ZT_VERSION_MAJOR = 1
const ZT_VERSION_MINOR = 0
const ZT_VERSION_PATCH = 0
const ZT_ABI_VERSION = 1
const ZT_WHOLE = 18446744073709551615
const ZT_UNKNOWN_SIZE = 18446744073709551615
const ZT_VERIFY_DIGESTS = 1
const ZT_VERIFY_CONTENTS = 2
const ZT_VERIFY_PADDING = 4
const ZT_VERIFY_SHARDS = 8
const ZT_VERIFY_REQUIRE_DIGESTS = 16
const ZT_OK = 0
const ZT_ERROR_INVALID_ARGUMENT = 1
const ZT_ERROR_IO = 2
const ZT_ERROR_NOT_FOUND = 3
const ZT_ERROR_UNKNOWN_CONTAINER = 4
const ZT_ERROR_CORRUPT = 5
const ZT_ERROR_DIGEST_MISMATCH = 6
const ZT_ERROR_UNSUPPORTED = 7
const ZT_ERROR_LIMIT = 8
const ZT_ERROR_BUFFER_SIZE = 9
const ZT_ERROR_NOT_MAPPABLE = 10
const ZT_ERROR_STATE = 11
const ZT_ERROR_EXISTS = 12
const ZT_ERROR_CANCELLED = 13
const ZT_ERROR_OUT_OF_MEMORY = 14
const ZT_ERROR_INTERNAL = 15
const ZT_ERROR_NO_FILE = 16
const ZT_ERROR_TIMEOUT = 17
const ZT_ERROR_BUSY = 18
const ZT_MODE_MAP = 0
const ZT_MODE_READ = 1
const ZT_MODE_AUTO = 2
const ZT_MODE_PRIVATE = 3
const ZT_DIRECT_AUTO = 0
const ZT_DIRECT_NEVER = 1
const ZT_DIRECT_ALWAYS = 2
const ZT_DTYPE_OTHER = 0
const ZT_DTYPE_F64 = 1
const ZT_DTYPE_F32 = 2
const ZT_DTYPE_F16 = 3
const ZT_DTYPE_BF16 = 4
const ZT_DTYPE_I64 = 5
const ZT_DTYPE_I32 = 6
const ZT_DTYPE_I16 = 7
const ZT_DTYPE_I8 = 8
const ZT_DTYPE_U64 = 9
const ZT_DTYPE_U32 = 10
const ZT_DTYPE_U16 = 11
const ZT_DTYPE_U8 = 12
const ZT_DTYPE_BOOL = 13
const ZT_TYPE_NONE = 0
const ZT_TYPE_F8_E4M3FN = 1
const ZT_TYPE_F8_E5M2 = 2
const ZT_TYPE_F8_E4M3FNUZ = 3
const ZT_TYPE_F8_E5M2FNUZ = 4
const ZT_TYPE_COMPLEX64 = 5
const ZT_TYPE_COMPLEX128 = 6
const ZT_TYPE_OTHER = 7
const ZT_TYPE_F8_E8M0 = 8
const ZT_TYPE_F4_E2M1 = 9
const ZT_TYPE_F6_E2M3 = 10
const ZT_TYPE_F6_E3M2 = 11
const ZT_TYPE_COMPLEX32 = 12
const ZT_TYPE_GGUF_Q4_0 = 32
const ZT_TYPE_GGUF_Q4_1 = 33
const ZT_TYPE_GGUF_Q5_0 = 34
const ZT_TYPE_GGUF_Q5_1 = 35
const ZT_TYPE_GGUF_Q8_0 = 36
const ZT_TYPE_GGUF_Q8_1 = 37
const ZT_TYPE_GGUF_Q2_K = 38
const ZT_TYPE_GGUF_Q3_K = 39
const ZT_TYPE_GGUF_Q4_K = 40
const ZT_TYPE_GGUF_Q5_K = 41
const ZT_TYPE_GGUF_Q6_K = 42
const ZT_TYPE_GGUF_Q8_K = 43
const ZT_TYPE_GGUF_IQ2_XXS = 44
const ZT_TYPE_GGUF_IQ2_XS = 45
const ZT_TYPE_GGUF_IQ3_XXS = 46
const ZT_TYPE_GGUF_IQ1_S = 47
const ZT_TYPE_GGUF_IQ4_NL = 48
const ZT_TYPE_GGUF_IQ3_S = 49
const ZT_TYPE_GGUF_IQ2_S = 50
const ZT_TYPE_GGUF_IQ4_XS = 51
const ZT_TYPE_GGUF_IQ1_M = 52
const ZT_TYPE_GGUF_TQ1_0 = 53
const ZT_TYPE_GGUF_TQ2_0 = 54
const ZT_TYPE_GGUF_MXFP4 = 55
const ZT_TYPE_GGUF_NVFP4 = 56
const ZT_TYPE_GGUF_Q1_0 = 57
const ZT_TYPE_GGUF_Q2_0 = 58
const ZT_FORMAT_OTHER = 0
const ZT_FORMAT_DENSE = 1
const ZT_FORMAT_SPARSE_CSR = 2
const ZT_FORMAT_SPARSE_COO = 3
const ZT_FORMAT_QUANTIZED_GROUP = 4
const ZT_FORMAT_BLOCKS = 5
const ZT_ENCODING_DEFAULT = 0
const ZT_ENCODING_RAW = 1
const ZT_ENCODING_ZSTD = 2
const ZT_ENCODING_OTHER = 3
const ZT_ENCODING_DEFLATE = 4
const ZT_ENCODING_ZSTD_SEEKABLE = 5
const ZT_CONTAINER_NONE = 0
const ZT_CONTAINER_ZT_0_1 = 1
const ZT_CONTAINER_ZT_1_0 = 2
const ZT_CONTAINER_ZT_1_1 = 3
const ZT_CONTAINER_ZT_1_2 = 4
const ZT_CONTAINER_ZT_2 = 5
const ZT_CONTAINER_SAFETENSORS = 6
const ZT_CONTAINER_GGUF = 7
const ZT_CONTAINER_NPZ = 8
const ZT_CONTAINER_TORCH = 9
const ZT_LOAD_ORDER_POSITION = 0
const ZT_LOAD_ORDER_GIVEN = 1
const ZT_LOAD_ORDER_LARGEST = 2
const ZT_LOAD_KIND_NOTHING = 0
const ZT_LOAD_KIND_DATA = 1
const ZT_LOAD_KIND_FAILED = 2
const ZT_LOAD_KIND_DONE = 3
const ZT_VALUE_KIND_NULL = 0
const ZT_VALUE_KIND_BOOL = 1
const ZT_VALUE_KIND_INT = 2
const ZT_VALUE_KIND_FLOAT = 3
const ZT_VALUE_KIND_STRING = 4
const ZT_VALUE_KIND_BYTES = 5
const ZT_VALUE_KIND_ARRAY = 6
const ZT_VALUE_KIND_MAP = 7
const ZT_VALUE_KIND_TAG = 8
const ZT_VALUE_KIND_OTHER = 9
const ZT_SPEC_DEFAULT = 0
const ZT_SPEC_0_1_0 = 100
const ZT_SPEC_1_1_0 = 10100
const ZT_SPEC_1_2_0 = 10200
const ZT_SPEC_2 = 20000
const ZT_DIGEST_DEFAULT = 0
const ZT_DIGEST_NONE = 1
const ZT_DIGEST_CRC32C = 2
const ZT_DIGEST_SHA256 = 3
const ZT_DIGEST_XXH3 = 4
const ZT_ATTRIBUTE_KIND_NULL = 0
const ZT_ATTRIBUTE_KIND_BOOL = 1
const ZT_ATTRIBUTE_KIND_I64 = 2
const ZT_ATTRIBUTE_KIND_U64 = 3
const ZT_ATTRIBUTE_KIND_F64 = 4
const ZT_ATTRIBUTE_KIND_STRING = 5
const ZT_ATTRIBUTE_KIND_BYTES = 6
const ZT_ATTRIBUTE_KIND_JSON = 7
const ZT_ATTRIBUTE_KIND_NUMBERS = 8
const ZT_ATTRIBUTE_KIND_STRINGS = 9
const ZT_ATTRIBUTE_KIND_VALUE = 10
const ZT_ATTRIBUTE_KIND_REMOVE = 11
const ZT_CAP_MAP = 1
const ZT_CAP_READ = 2
const ZT_CAP_RANGE = 4
const ZT_CAP_DIRECT = 8
const ZT_CAP_VERIFY = 16
const ZT_CAP_PAGE_EXCLUSIVE = 32
const ZT_ADVICE_NONE = 0
const ZT_ADVICE_SEQUENTIAL = 1
const ZT_ADVICE_WILLNEED = 3
const ZT_ADVICE_POPULATE = 4
const ZT_ADVICE_EVICT = 6
const ZT_ADVICE_RELEASE = 7
const ZT_CACHE_LRU = 0
const ZT_CACHE_SLRU = 1
const ZT_SHARDS_OF_MODELS = 0
const ZT_SHARDS_ON_USE = 1
const ZT_SHARDS_AT_OPEN = 2
const ZT_SHARDS_NEVER = 3

struct zt_tensor
    struct_size::Csize_t
    data::Ptr{Cvoid}
    size::Csize_t
    dtype::Int32
    type_::Int32
    shape::Ptr{UInt64}
    rank::Csize_t
end

struct zt_object_info
    struct_size::Csize_t
    object::Ptr{Cvoid}
    name::Ptr{UInt8}
    name_length::Csize_t
    shape::Ptr{UInt64}
    rank::Csize_t
    attributes::Ptr{Cvoid}
    component_count::Csize_t
    component::Ptr{Cvoid}
    offset::UInt64
    stored_size::UInt64
    size::UInt64
    format::Int32
    dtype::Int32
    type_::Int32
    encoding::Int32
    format_name::Ptr{UInt8}
end

struct zt_component_info
    struct_size::Csize_t
    component::Ptr{Cvoid}
    object::Ptr{Cvoid}
    role::Ptr{UInt8}
    role_length::Csize_t
    digest::Ptr{UInt8}
    offset::UInt64
    stored_size::UInt64
    size::UInt64
    dtype::Int32
    type_::Int32
    encoding::Int32
    part::UInt32
    dtype_name::Ptr{UInt8}
    type_name::Ptr{UInt8}
    encoding_name::Ptr{UInt8}
end

struct zt_allocator
    struct_size::Csize_t
    context::Ptr{Cvoid}
    allocate::Ptr{Cvoid}
    free::Ptr{Cvoid}
end

struct zt_thread_hooks
    struct_size::Csize_t
    context::Ptr{Cvoid}
    on_start::Ptr{Cvoid}
    on_end::Ptr{Cvoid}
end

struct zt_open_options
    struct_size::Csize_t
    mode::Int32
    verify::UInt32
    strict::UInt32
    advice::UInt32
    max_manifest_size::UInt64
    max_decoded_size::UInt64
    max_objects::UInt64
    threads::UInt32
    containers::UInt32
    max_memory::UInt64
    context::Ptr{Cvoid}
    progress::Ptr{Cvoid}
    name::Ptr{UInt8}
    allocator::Ptr{zt_allocator}
    thread_hooks::Ptr{zt_thread_hooks}
    shard_folder::Ptr{UInt8}
    shards::UInt32
    part::UInt32
    include_unlisted::UInt32
    allow_trailing::UInt32
    combine_quantized::UInt32
    reserved::UInt32
end

struct zt_part_info
    struct_size::Csize_t
    path::Ptr{UInt8}
    size::UInt64
    container::Int32
    reserved::UInt32
end

struct zt_read_request
    struct_size::Csize_t
    component::Ptr{Cvoid}
    offset::UInt64
    length::UInt64
    start::Ptr{UInt64}
    count::Ptr{UInt64}
    step::Ptr{UInt64}
    dst::Ptr{Cvoid}
    dst_size::Csize_t
    tag::UInt64
    rows::UInt64
    row_length::UInt64
    row_stride::UInt64
    dst_stride::UInt64
    verify::UInt32
    convert::Int32
    lossy::UInt32
    reserved::UInt32
    object::Ptr{Cvoid}
end

struct zt_read_options
    struct_size::Csize_t
    threads::UInt32
    direct::Int32
    chunk_size::UInt64
    in_flight::UInt64
    verify::UInt32
    pinned::UInt32
    context::Ptr{Cvoid}
    on_done::Ptr{Cvoid}
    progress::Ptr{Cvoid}
    keep_going::UInt32
    reserved::UInt32
end

struct zt_read_stats
    struct_size::Csize_t
    bytes::UInt64
    stored_bytes::UInt64
    requests::UInt64
    digests_verified::UInt64
    nanoseconds::UInt64
    threads::UInt32
    direct::UInt32
    reason::Ptr{UInt8}
    failed::UInt64
end

struct zt_load_options
    struct_size::Csize_t
    threads::UInt32
    direct::Int32
    chunk_size::UInt64
    in_flight::UInt64
    verify::UInt32
    pinned::UInt32
    order::Int32
    keep_going::UInt32
    ring::Ptr{Cvoid}
    slot_size::Csize_t
    slot_count::Csize_t
    thread_hooks::Ptr{zt_thread_hooks}
end

struct zt_load_event
    struct_size::Csize_t
    kind::Int32
    status::Int32
    message::Ptr{UInt8}
    tag::UInt64
    data::Ptr{Cvoid}
    size::Csize_t
    offset::UInt64
    last::UInt32
    slot::UInt32
    piece::UInt32
    reserved::UInt32
end

struct zt_verify_options
    struct_size::Csize_t
    checks::UInt32
    threads::UInt32
    context::Ptr{Cvoid}
    progress::Ptr{Cvoid}
    on_failure::Ptr{Cvoid}
    object::Ptr{Cvoid}
    component::Ptr{Cvoid}
end

struct zt_verify_report
    struct_size::Csize_t
    objects::UInt64
    components::UInt64
    bytes::UInt64
    digests_verified::UInt64
    digests_absent::UInt64
    digests_unknown::UInt64
    padding_nonzero::UInt64
    bytes_not_covered::UInt64
    not_checked::UInt64
end

struct zt_write_summary
    struct_size::Csize_t
    file_size::UInt64
    objects::UInt64
    components::UInt64
    stored_bytes::UInt64
    data_bytes::UInt64
    damaged::UInt64
end

struct zt_write_options
    struct_size::Csize_t
    spec::UInt32
    encoding::Int32
    alignment::UInt64
    large_alignment::UInt64
    large_size::UInt64
    zstd_level::Int32
    digest::Int32
    threads::UInt32
    durable::UInt32
    frame_size::UInt64
    context::Ptr{Cvoid}
    progress::Ptr{Cvoid}
    thread_hooks::Ptr{zt_thread_hooks}
    canonical::UInt32
    allow_damaged::UInt32
end

struct zt_component_desc
    struct_size::Csize_t
    role::Ptr{UInt8}
    role_length::Csize_t
    dtype::Int32
    type_::Int32
    type_name::Ptr{UInt8}
    encoding::Int32
    digest::Int32
    data::Ptr{Cvoid}
    size::UInt64
    type_name_length::Csize_t
end

struct zt_object_desc
    struct_size::Csize_t
    name::Ptr{UInt8}
    name_length::Csize_t
    format::Int32
    reserved::UInt32
    format_name::Ptr{UInt8}
    shape::Ptr{UInt64}
    rank::Csize_t
    components::Ptr{zt_component_desc}
    component_count::Csize_t
    attributes::Ptr{Cvoid}
    attributes_json::Ptr{UInt8}
    format_name_length::Csize_t
end

struct zt_write_request
    struct_size::Csize_t
    name::Ptr{UInt8}
    shape::Ptr{UInt64}
    rank::Csize_t
    data::Ptr{Cvoid}
    size::Csize_t
    dtype::Int32
    type_::Int32
    encoding::Int32
    digest::Int32
    name_length::Csize_t
end

struct zt_copy_options
    struct_size::Csize_t
    name::Ptr{UInt8}
    name_length::Csize_t
    encoding::Int32
    digest::Int32
    dtype::Int32
    type_::Int32
end

struct zt_attribute
    struct_size::Csize_t
    kind::Int32
    dtype::Int32
    i64::Int64
    u64::UInt64
    f64::Float64
    data::Ptr{Cvoid}
    size::Csize_t
    count::Csize_t
    lengths::Ptr{Csize_t}
    key_length::Csize_t
end

struct zt_model_info
    struct_size::Csize_t
    passed_over::UInt64
    unlisted::UInt64
end

struct zt_identity
    struct_size::Csize_t
    size::UInt64
    modified_ns::Int64
    manifest_offset::UInt64
    manifest_hash::UInt64
    source_identity::UInt64
end

struct zt_source_range
    offset::UInt64
    dst::Ptr{Cvoid}
    size::Csize_t
end

struct zt_source
    struct_size::Csize_t
    context::Ptr{Cvoid}
    size::Ptr{Cvoid}
    read_at::Ptr{Cvoid}
    close::Ptr{Cvoid}
    read_many::Ptr{Cvoid}
    name::Ptr{UInt8}
    gap::UInt64
    largest_request::UInt64
    concurrency::UInt32
    callers_thread::UInt32
    identity::UInt64
end

struct zt_store
    struct_size::Csize_t
    context::Ptr{Cvoid}
    open::Ptr{Cvoid}
    list::Ptr{Cvoid}
end

struct zt_sink
    struct_size::Csize_t
    context::Ptr{Cvoid}
    write::Ptr{Cvoid}
    finish::Ptr{Cvoid}
    close::Ptr{Cvoid}
end

struct zt_load_part_stats
    struct_size::Csize_t
    file::Ptr{Cvoid}
    stored_bytes::UInt64
    direct_bytes::UInt64
    reason::Ptr{UInt8}
    part::UInt32
    reserved::UInt32
end

struct zt_array
    data::Ptr{Cvoid}
    size::Csize_t
    count::UInt64
    dtype::Int32
    type_::Int32
    reserved::UInt64
    reserved2::UInt64
end

struct zt_csr
    struct_size::Csize_t
    rows::UInt64
    columns::UInt64
    nnz::UInt64
    values::zt_array
    indices::zt_array
    indptr::zt_array
end

struct zt_coo
    struct_size::Csize_t
    nnz::UInt64
    shape::Ptr{UInt64}
    rank::Csize_t
    values::zt_array
    coords::zt_array
end

struct zt_quantized
    struct_size::Csize_t
    shape::Ptr{UInt64}
    rank::Csize_t
    bits::UInt64
    group_size::UInt64
    packing::Ptr{UInt8}
    packed_weight::zt_array
    scales::zt_array
    zeros::zt_array
    weights_per_element::UInt64
    axis::UInt64
    zero_point::Int64
    msb_first::UInt32
    zeros_packed::UInt32
end

struct zt_quantized_desc
    struct_size::Csize_t
    bits::UInt64
    group_size::UInt64
    packing::Ptr{UInt8}
    packed_weight::Ptr{Cvoid}
    packed_weight_size::UInt64
    scales::Ptr{Cvoid}
    scales_size::UInt64
    zeros::Ptr{Cvoid}
    zeros_size::UInt64
    packed_weight_dtype::Int32
    scales_dtype::Int32
    zeros_dtype::Int32
    reserved::UInt32
    scales_type::Int32
    has_axis::UInt32
    axis::UInt64
    zero_point::Int64
    msb_first::UInt32
    zeros_packed::UInt32
end

struct zt_cache_options
    struct_size::Csize_t
    budget::UInt64
    slot_size::UInt64
    memory::Ptr{Cvoid}
    threads::UInt32
    verify::UInt32
    policy::Int32
    reserved::UInt32
    thread_hooks::Ptr{zt_thread_hooks}
end

struct zt_cache_pin
    struct_size::Csize_t
    data::Ptr{Cvoid}
    size::Csize_t
    pin::UInt64
end

struct zt_cache_stats
    struct_size::Csize_t
    slots::UInt64
    used::UInt64
    pinned::UInt64
    queued::UInt64
    overhead::UInt64
    hits::UInt64
    joined::UInt64
    misses::UInt64
    prefetches::UInt64
    prefetches_used::UInt64
    prefetches_dropped::UInt64
    evictions::UInt64
    failures::UInt64
    bytes_read::UInt64
end

struct zt_repair_options
    struct_size::Csize_t
    dry_run::UInt32
    reserved::UInt32
    max_manifest_size::UInt64
    cut_at::UInt64
    context::Ptr{Cvoid}
    progress::Ptr{Cvoid}
end

struct zt_repair_report
    struct_size::Csize_t
    old_size::UInt64
    new_size::UInt64
    objects::UInt64
end

zt_last_error() = ccall((:zt_last_error, libztensor), Cstring, ())
zt_status_name(status) = ccall((:zt_status_name, libztensor), Cstring, (Int32,), status)
zt_last_error_rule() = ccall((:zt_last_error_rule, libztensor), Cstring, ())
zt_version() = ccall((:zt_version, libztensor), Cstring, ())
zt_abi_version() = ccall((:zt_abi_version, libztensor), UInt32, ())
zt_open(path, options, file) = ccall((:zt_open, libztensor), Int32, (Cstring, Ptr{zt_open_options}, Ptr{Ptr{Cvoid}}), path, options, file)
zt_open_model(path, options, file) = ccall((:zt_open_model, libztensor), Int32, (Cstring, Ptr{zt_open_options}, Ptr{Ptr{Cvoid}}), path, options, file)
zt_open_memory(data, size, options, file) = ccall((:zt_open_memory, libztensor), Int32, (Ptr{Cvoid}, Csize_t, Ptr{zt_open_options}, Ptr{Ptr{Cvoid}}), data, size, options, file)
zt_close(file) = ccall((:zt_close, libztensor), Cvoid, (Ptr{Cvoid},), file)
zt_tensor_find(file, name, view) = ccall((:zt_tensor_find, libztensor), Int32, (Ptr{Cvoid}, Cstring, Ptr{zt_tensor}), file, name, view)
zt_tensor_view(object, view) = ccall((:zt_tensor_view, libztensor), Int32, (Ptr{Cvoid}, Ptr{zt_tensor}), object, view)
zt_object_find(file, name) = ccall((:zt_object_find, libztensor), Ptr{Cvoid}, (Ptr{Cvoid}, Cstring), file, name)
zt_object_count(file) = ccall((:zt_object_count, libztensor), Csize_t, (Ptr{Cvoid},), file)
zt_object_at(file, index) = ccall((:zt_object_at, libztensor), Ptr{Cvoid}, (Ptr{Cvoid}, Csize_t), file, index)
zt_object_list(file, first, infos, count, filled) = ccall((:zt_object_list, libztensor), Int32, (Ptr{Cvoid}, Csize_t, Ptr{zt_object_info}, Csize_t, Ptr{Csize_t}), file, first, infos, count, filled)
zt_object_get_info(object, info) = ccall((:zt_object_get_info, libztensor), Int32, (Ptr{Cvoid}, Ptr{zt_object_info}), object, info)
zt_object_name(object) = ccall((:zt_object_name, libztensor), Cstring, (Ptr{Cvoid},), object)
zt_object_rank(object) = ccall((:zt_object_rank, libztensor), Csize_t, (Ptr{Cvoid},), object)
zt_object_shape(object) = ccall((:zt_object_shape, libztensor), Ptr{UInt64}, (Ptr{Cvoid},), object)
zt_object_element_count(object) = ccall((:zt_object_element_count, libztensor), UInt64, (Ptr{Cvoid},), object)
zt_object_format(object) = ccall((:zt_object_format, libztensor), Int32, (Ptr{Cvoid},), object)
zt_component_find(object, role) = ccall((:zt_component_find, libztensor), Ptr{Cvoid}, (Ptr{Cvoid}, Ptr{UInt8}), object, role)
zt_component_count(object) = ccall((:zt_component_count, libztensor), Csize_t, (Ptr{Cvoid},), object)
zt_component_at(object, index) = ccall((:zt_component_at, libztensor), Ptr{Cvoid}, (Ptr{Cvoid}, Csize_t), object, index)
zt_component_get_info(component, info) = ccall((:zt_component_get_info, libztensor), Int32, (Ptr{Cvoid}, Ptr{zt_component_info}), component, info)
zt_component_role(component) = ccall((:zt_component_role, libztensor), Cstring, (Ptr{Cvoid},), component)
zt_component_dtype(component) = ccall((:zt_component_dtype, libztensor), Int32, (Ptr{Cvoid},), component)
zt_component_type(component) = ccall((:zt_component_type, libztensor), Int32, (Ptr{Cvoid},), component)
zt_component_encoding(component) = ccall((:zt_component_encoding, libztensor), Int32, (Ptr{Cvoid},), component)
zt_component_size(component) = ccall((:zt_component_size, libztensor), UInt64, (Ptr{Cvoid},), component)
zt_component_digest(component) = ccall((:zt_component_digest, libztensor), Cstring, (Ptr{Cvoid},), component)
zt_file_mode(file) = ccall((:zt_file_mode, libztensor), Int32, (Ptr{Cvoid},), file)
zt_file_version(file) = ccall((:zt_file_version, libztensor), Cstring, (Ptr{Cvoid},), file)
zt_part_count(file) = ccall((:zt_part_count, libztensor), Csize_t, (Ptr{Cvoid},), file)
zt_part_get_info(file, part, info) = ccall((:zt_part_get_info, libztensor), Int32, (Ptr{Cvoid}, Csize_t, Ptr{zt_part_info}), file, part, info)
zt_component_ptr(component, ptr, size) = ccall((:zt_component_ptr, libztensor), Int32, (Ptr{Cvoid}, Ptr{Ptr{Cvoid}}, Ptr{Csize_t}), component, ptr, size)
zt_object_read_as(object, dtype, dst, dst_size, written) = ccall((:zt_object_read_as, libztensor), Int32, (Ptr{Cvoid}, Int32, Ptr{Cvoid}, Csize_t, Ptr{Csize_t}), object, dtype, dst, dst_size, written)
zt_object_size_as(object, dtype, size) = ccall((:zt_object_size_as, libztensor), Int32, (Ptr{Cvoid}, Int32, Ptr{UInt64}), object, dtype, size)
zt_component_read(component, dst, dst_size) = ccall((:zt_component_read, libztensor), Int32, (Ptr{Cvoid}, Ptr{Cvoid}, Csize_t), component, dst, dst_size)
zt_component_read_range(component, offset, dst, size) = ccall((:zt_component_read_range, libztensor), Int32, (Ptr{Cvoid}, UInt64, Ptr{Cvoid}, Csize_t), component, offset, dst, size)
zt_object_read_slice(object, start, count, step, dst, dst_size) = ccall((:zt_object_read_slice, libztensor), Int32, (Ptr{Cvoid}, Ptr{UInt64}, Ptr{UInt64}, Ptr{UInt64}, Ptr{Cvoid}, Csize_t), object, start, count, step, dst, dst_size)
zt_read_batch(file, requests, count, options, stats) = ccall((:zt_read_batch, libztensor), Int32, (Ptr{Cvoid}, Ptr{zt_read_request}, Csize_t, Ptr{zt_read_options}, Ptr{zt_read_stats}), file, requests, count, options, stats)
zt_component_load(component, options, buffer) = ccall((:zt_component_load, libztensor), Int32, (Ptr{Cvoid}, Ptr{zt_read_options}, Ptr{Ptr{Cvoid}}), component, options, buffer)
zt_buffer_data(buffer) = ccall((:zt_buffer_data, libztensor), Ptr{Cvoid}, (Ptr{Cvoid},), buffer)
zt_buffer_size(buffer) = ccall((:zt_buffer_size, libztensor), Csize_t, (Ptr{Cvoid},), buffer)
zt_buffer_free(buffer) = ccall((:zt_buffer_free, libztensor), Cvoid, (Ptr{Cvoid},), buffer)
zt_dtype_name(dtype) = ccall((:zt_dtype_name, libztensor), Cstring, (Int32,), dtype)
zt_dtype_from_name(name, dtype) = ccall((:zt_dtype_from_name, libztensor), Int32, (Cstring, Ptr{Int32}), name, dtype)
zt_dtype_size(dtype) = ccall((:zt_dtype_size, libztensor), Csize_t, (Int32,), dtype)
zt_type_name(type_) = ccall((:zt_type_name, libztensor), Cstring, (Int32,), type_)
zt_type_from_name(name, type_) = ccall((:zt_type_from_name, libztensor), Int32, (Cstring, Ptr{Int32}), name, type_)
zt_type_block(type_, elements, bytes) = ccall((:zt_type_block, libztensor), Int32, (Int32, Ptr{Csize_t}, Ptr{Csize_t}), type_, elements, bytes)
zt_format_name(format) = ccall((:zt_format_name, libztensor), Cstring, (Int32,), format)
zt_encoding_name(encoding) = ccall((:zt_encoding_name, libztensor), Cstring, (Int32,), encoding)
zt_container_name(container) = ccall((:zt_container_name, libztensor), Cstring, (Int32,), container)
zt_load_start(requests, count, options, load) = ccall((:zt_load_start, libztensor), Int32, (Ptr{zt_read_request}, Csize_t, Ptr{zt_load_options}, Ptr{Ptr{Cvoid}}), requests, count, options, load)
zt_load_next(load, timeout_ns, event) = ccall((:zt_load_next, libztensor), Int32, (Ptr{Cvoid}, Int64, Ptr{zt_load_event}), load, timeout_ns, event)
zt_load_release(load, event) = ccall((:zt_load_release, libztensor), Cvoid, (Ptr{Cvoid}, Ptr{zt_load_event}), load, event)
zt_load_cancel(load) = ccall((:zt_load_cancel, libztensor), Int32, (Ptr{Cvoid},), load)
zt_load_finish(load, stats) = ccall((:zt_load_finish, libztensor), Int32, (Ptr{Cvoid}, Ptr{zt_read_stats}), load, stats)
zt_file_attributes(file) = ccall((:zt_file_attributes, libztensor), Ptr{Cvoid}, (Ptr{Cvoid},), file)
zt_object_attributes(object) = ccall((:zt_object_attributes, libztensor), Ptr{Cvoid}, (Ptr{Cvoid},), object)
zt_value_find(value, key) = ccall((:zt_value_find, libztensor), Ptr{Cvoid}, (Ptr{Cvoid}, Ptr{UInt8}), value, key)
zt_value_get_kind(value) = ccall((:zt_value_get_kind, libztensor), Int32, (Ptr{Cvoid},), value)
zt_value_get_bool(value, out) = ccall((:zt_value_get_bool, libztensor), Int32, (Ptr{Cvoid}, Ptr{Int32}), value, out)
zt_value_get_i64(value, out) = ccall((:zt_value_get_i64, libztensor), Int32, (Ptr{Cvoid}, Ptr{Int64}), value, out)
zt_value_get_u64(value, out) = ccall((:zt_value_get_u64, libztensor), Int32, (Ptr{Cvoid}, Ptr{UInt64}), value, out)
zt_value_get_f64(value, out) = ccall((:zt_value_get_f64, libztensor), Int32, (Ptr{Cvoid}, Ptr{Float64}), value, out)
zt_value_get_string(value, text, length) = ccall((:zt_value_get_string, libztensor), Int32, (Ptr{Cvoid}, Ptr{Ptr{UInt8}}, Ptr{Csize_t}), value, text, length)
zt_value_get_bytes(value, bytes, size) = ccall((:zt_value_get_bytes, libztensor), Int32, (Ptr{Cvoid}, Ptr{Ptr{Cvoid}}, Ptr{Csize_t}), value, bytes, size)
zt_value_count(value) = ccall((:zt_value_count, libztensor), Csize_t, (Ptr{Cvoid},), value)
zt_value_at(value, index) = ccall((:zt_value_at, libztensor), Ptr{Cvoid}, (Ptr{Cvoid}, Csize_t), value, index)
zt_value_key_at(value, index) = ccall((:zt_value_key_at, libztensor), Ptr{Cvoid}, (Ptr{Cvoid}, Csize_t), value, index)
zt_value_dtype(value) = ccall((:zt_value_dtype, libztensor), Int32, (Ptr{Cvoid},), value)
zt_value_read_numbers(value, dtype, dst, count) = ccall((:zt_value_read_numbers, libztensor), Int32, (Ptr{Cvoid}, Int32, Ptr{Cvoid}, Csize_t), value, dtype, dst, count)
zt_value_read_strings(value, strings, lengths, count) = ccall((:zt_value_read_strings, libztensor), Int32, (Ptr{Cvoid}, Ptr{Ptr{UInt8}}, Ptr{Csize_t}, Csize_t), value, strings, lengths, count)
zt_value_to_json(value, buf, size, needed) = ccall((:zt_value_to_json, libztensor), Int32, (Ptr{Cvoid}, Ptr{UInt8}, Csize_t, Ptr{Csize_t}), value, buf, size, needed)
zt_verify(file, options, report) = ccall((:zt_verify, libztensor), Int32, (Ptr{Cvoid}, Ptr{zt_verify_options}, Ptr{zt_verify_report}), file, options, report)
zt_write_create(path, options, writer) = ccall((:zt_write_create, libztensor), Int32, (Cstring, Ptr{zt_write_options}, Ptr{Ptr{Cvoid}}), path, options, writer)
zt_write_dense(writer, name, name_length, dtype, type_, shape, rank, data, size) = ccall((:zt_write_dense, libztensor), Int32, (Ptr{Cvoid}, Ptr{UInt8}, Csize_t, Int32, Int32, Ptr{UInt64}, Csize_t, Ptr{Cvoid}, Csize_t), writer, name, name_length, dtype, type_, shape, rank, data, size)
zt_write_finish(writer, summary) = ccall((:zt_write_finish, libztensor), Int32, (Ptr{Cvoid}, Ptr{zt_write_summary}), writer, summary)
zt_write_abort(writer) = ccall((:zt_write_abort, libztensor), Cvoid, (Ptr{Cvoid},), writer)
zt_write_begin(writer, desc) = ccall((:zt_write_begin, libztensor), Int32, (Ptr{Cvoid}, Ptr{zt_object_desc}), writer, desc)
zt_write_component(writer, desc) = ccall((:zt_write_component, libztensor), Int32, (Ptr{Cvoid}, Ptr{zt_component_desc}), writer, desc)
zt_write_data(writer, data, size) = ccall((:zt_write_data, libztensor), Int32, (Ptr{Cvoid}, Ptr{Cvoid}, Csize_t), writer, data, size)
zt_write_end(writer) = ccall((:zt_write_end, libztensor), Int32, (Ptr{Cvoid},), writer)
zt_write_object(writer, desc) = ccall((:zt_write_object, libztensor), Int32, (Ptr{Cvoid}, Ptr{zt_object_desc}), writer, desc)
zt_write_batch(writer, requests, count) = ccall((:zt_write_batch, libztensor), Int32, (Ptr{Cvoid}, Ptr{zt_write_request}, Csize_t), writer, requests, count)
zt_write_copy(writer, object, options) = ccall((:zt_write_copy, libztensor), Int32, (Ptr{Cvoid}, Ptr{Cvoid}, Ptr{zt_copy_options}), writer, object, options)
zt_write_attribute(writer, object, object_length, key, attribute) = ccall((:zt_write_attribute, libztensor), Int32, (Ptr{Cvoid}, Ptr{UInt8}, Csize_t, Ptr{UInt8}, Ptr{zt_attribute}), writer, object, object_length, key, attribute)
zt_write_append(path, options, writer) = ccall((:zt_write_append, libztensor), Int32, (Cstring, Ptr{zt_write_options}, Ptr{Ptr{Cvoid}}), path, options, writer)
zt_retain(file) = ccall((:zt_retain, libztensor), Ptr{Cvoid}, (Ptr{Cvoid},), file)
zt_open_fd(fd, offset, length, options, file) = ccall((:zt_open_fd, libztensor), Int32, (Cint, UInt64, UInt64, Ptr{zt_open_options}, Ptr{Ptr{Cvoid}}), fd, offset, length, options, file)
zt_open_handle(handle, offset, length, options, file) = ccall((:zt_open_handle, libztensor), Int32, (Ptr{Cvoid}, UInt64, UInt64, Ptr{zt_open_options}, Ptr{Ptr{Cvoid}}), handle, offset, length, options, file)
zt_open_parts(paths, count, options, file) = ccall((:zt_open_parts, libztensor), Int32, (Ptr{Ptr{UInt8}}, Csize_t, Ptr{zt_open_options}, Ptr{Ptr{Cvoid}}), paths, count, options, file)
zt_model_get_info(file, info) = ccall((:zt_model_get_info, libztensor), Int32, (Ptr{Cvoid}, Ptr{zt_model_info}), file, info)
zt_file_identity(file, identity) = ccall((:zt_file_identity, libztensor), Int32, (Ptr{Cvoid}, Ptr{zt_identity}), file, identity)
zt_part_identity(file, part, identity) = ccall((:zt_part_identity, libztensor), Int32, (Ptr{Cvoid}, Csize_t, Ptr{zt_identity}), file, part, identity)
zt_file_bytes(file, part, ptr, size) = ccall((:zt_file_bytes, libztensor), Int32, (Ptr{Cvoid}, Csize_t, Ptr{Ptr{Cvoid}}, Ptr{UInt64}), file, part, ptr, size)
zt_open_source(source, options, file) = ccall((:zt_open_source, libztensor), Int32, (Ptr{zt_source}, Ptr{zt_open_options}, Ptr{Ptr{Cvoid}}), source, options, file)
zt_open_model_from(store, name, options, file) = ccall((:zt_open_model_from, libztensor), Int32, (Ptr{zt_store}, Cstring, Ptr{zt_open_options}, Ptr{Ptr{Cvoid}}), store, name, options, file)
zt_write_create_sink(sink, options, writer) = ccall((:zt_write_create_sink, libztensor), Int32, (Ptr{zt_sink}, Ptr{zt_write_options}, Ptr{Ptr{Cvoid}}), sink, options, writer)
zt_set_last_error(message) = ccall((:zt_set_last_error, libztensor), Cvoid, (Cstring,), message)
zt_last_os_error() = ccall((:zt_last_os_error, libztensor), Int32, ())
zt_object_find_n(file, name, length) = ccall((:zt_object_find_n, libztensor), Ptr{Cvoid}, (Ptr{Cvoid}, Ptr{UInt8}, Csize_t), file, name, length)
zt_component_find_n(object, role, length) = ccall((:zt_component_find_n, libztensor), Ptr{Cvoid}, (Ptr{Cvoid}, Ptr{UInt8}, Csize_t), object, role, length)
zt_value_find_n(value, key, length) = ccall((:zt_value_find_n, libztensor), Ptr{Cvoid}, (Ptr{Cvoid}, Ptr{UInt8}, Csize_t), value, key, length)
zt_value_get_tag(value, out) = ccall((:zt_value_get_tag, libztensor), Int32, (Ptr{Cvoid}, Ptr{UInt64}), value, out)
zt_component_list(file, object, first, infos, count, filled) = ccall((:zt_component_list, libztensor), Int32, (Ptr{Cvoid}, Ptr{Cvoid}, Csize_t, Ptr{zt_component_info}, Csize_t, Ptr{Csize_t}), file, object, first, infos, count, filled)
zt_component_caps(component) = ccall((:zt_component_caps, libztensor), UInt32, (Ptr{Cvoid},), component)
zt_component_read_stored(component, dst, dst_size) = ccall((:zt_component_read_stored, libztensor), Int32, (Ptr{Cvoid}, Ptr{Cvoid}, Csize_t), component, dst, dst_size)
zt_component_measure(component, progress, context, size) = ccall((:zt_component_measure, libztensor), Int32, (Ptr{Cvoid}, Ptr{Cvoid}, Ptr{Cvoid}, Ptr{UInt64}), component, progress, context, size)
zt_component_advise(component, advice) = ccall((:zt_component_advise, libztensor), Int32, (Ptr{Cvoid}, UInt32), component, advice)
zt_load_get_part_stats(load, first, stats, count, filled) = ccall((:zt_load_get_part_stats, libztensor), Int32, (Ptr{Cvoid}, Csize_t, Ptr{zt_load_part_stats}, Csize_t, Ptr{Csize_t}), load, first, stats, count, filled)
zt_csr_view(object, view) = ccall((:zt_csr_view, libztensor), Int32, (Ptr{Cvoid}, Ptr{zt_csr}), object, view)
zt_coo_view(object, view) = ccall((:zt_coo_view, libztensor), Int32, (Ptr{Cvoid}, Ptr{zt_coo}), object, view)
zt_quantized_view(object, view) = ccall((:zt_quantized_view, libztensor), Int32, (Ptr{Cvoid}, Ptr{zt_quantized}), object, view)
zt_write_csr(writer, name, name_length, dtype, type_, shape, nnz, values, values_size, indices, indptr) = ccall((:zt_write_csr, libztensor), Int32, (Ptr{Cvoid}, Ptr{UInt8}, Csize_t, Int32, Int32, Ptr{UInt64}, Csize_t, Ptr{Cvoid}, Csize_t, Ptr{UInt64}, Ptr{UInt64}), writer, name, name_length, dtype, type_, shape, nnz, values, values_size, indices, indptr)
zt_write_coo(writer, name, name_length, dtype, type_, shape, rank, nnz, values, values_size, coords) = ccall((:zt_write_coo, libztensor), Int32, (Ptr{Cvoid}, Ptr{UInt8}, Csize_t, Int32, Int32, Ptr{UInt64}, Csize_t, Csize_t, Ptr{Cvoid}, Csize_t, Ptr{UInt64}), writer, name, name_length, dtype, type_, shape, rank, nnz, values, values_size, coords)
zt_write_quantized(writer, name, name_length, shape, rank, desc) = ccall((:zt_write_quantized, libztensor), Int32, (Ptr{Cvoid}, Ptr{UInt8}, Csize_t, Ptr{UInt64}, Csize_t, Ptr{zt_quantized_desc}), writer, name, name_length, shape, rank, desc)
zt_type_ggml(dtype, type_, ggml_type) = ccall((:zt_type_ggml, libztensor), Int32, (Int32, Int32, Ptr{Int32}), dtype, type_, ggml_type)
zt_type_from_ggml(ggml_type, dtype, type_) = ccall((:zt_type_from_ggml, libztensor), Int32, (Int32, Ptr{Int32}, Ptr{Int32}), ggml_type, dtype, type_)
zt_cache_create(options, cache) = ccall((:zt_cache_create, libztensor), Int32, (Ptr{zt_cache_options}, Ptr{Ptr{Cvoid}}), options, cache)
zt_cache_get(cache, slice, timeout_ns, out) = ccall((:zt_cache_get, libztensor), Int32, (Ptr{Cvoid}, Ptr{zt_read_request}, Int64, Ptr{zt_cache_pin}), cache, slice, timeout_ns, out)
zt_cache_unpin(cache, slice) = ccall((:zt_cache_unpin, libztensor), Int32, (Ptr{Cvoid}, Ptr{zt_cache_pin}), cache, slice)
zt_cache_prefetch(cache, slices, count) = ccall((:zt_cache_prefetch, libztensor), Int32, (Ptr{Cvoid}, Ptr{zt_read_request}, Csize_t), cache, slices, count)
zt_cache_drop(cache, slices, count) = ccall((:zt_cache_drop, libztensor), Int32, (Ptr{Cvoid}, Ptr{zt_read_request}, Csize_t), cache, slices, count)
zt_cache_cancel(cache) = ccall((:zt_cache_cancel, libztensor), Int32, (Ptr{Cvoid},), cache)
zt_cache_get_stats(cache, stats) = ccall((:zt_cache_get_stats, libztensor), Int32, (Ptr{Cvoid}, Ptr{zt_cache_stats}), cache, stats)
zt_cache_free(cache) = ccall((:zt_cache_free, libztensor), Cvoid, (Ptr{Cvoid},), cache)
zt_write_remove(writer, name, name_length) = ccall((:zt_write_remove, libztensor), Int32, (Ptr{Cvoid}, Ptr{UInt8}, Csize_t), writer, name, name_length)
zt_write_rename(writer, name, name_length, new_name, new_name_length) = ccall((:zt_write_rename, libztensor), Int32, (Ptr{Cvoid}, Ptr{UInt8}, Csize_t, Ptr{UInt8}, Csize_t), writer, name, name_length, new_name, new_name_length)
zt_write_copy_attributes(writer, file) = ccall((:zt_write_copy_attributes, libztensor), Int32, (Ptr{Cvoid}, Ptr{Cvoid}), writer, file)
zt_write_shard(writer, name, name_length, file) = ccall((:zt_write_shard, libztensor), Int32, (Ptr{Cvoid}, Ptr{UInt8}, Csize_t, Ptr{Cvoid}), writer, name, name_length, file)
zt_write_link(writer, object, new_name, new_name_length) = ccall((:zt_write_link, libztensor), Int32, (Ptr{Cvoid}, Ptr{Cvoid}, Ptr{UInt8}, Csize_t), writer, object, new_name, new_name_length)
zt_repair(path, options, report) = ccall((:zt_repair, libztensor), Int32, (Cstring, Ptr{zt_repair_options}, Ptr{zt_repair_report}), path, options, report)
zt_object_to_dlpack(object, tensor) = ccall((:zt_object_to_dlpack, libztensor), Int32, (Ptr{Cvoid}, Ptr{Ptr{Cvoid}}), object, tensor)
zt_component_to_dlpack(component, tensor) = ccall((:zt_component_to_dlpack, libztensor), Int32, (Ptr{Cvoid}, Ptr{Ptr{Cvoid}}), component, tensor)
zt_object_to_dlpack_unversioned(object, tensor) = ccall((:zt_object_to_dlpack_unversioned, libztensor), Int32, (Ptr{Cvoid}, Ptr{Ptr{Cvoid}}), object, tensor)
zt_write_dlpack(writer, name, name_length, tensor) = ccall((:zt_write_dlpack, libztensor), Int32, (Ptr{Cvoid}, Ptr{UInt8}, Csize_t, Ptr{Cvoid}), writer, name, name_length, tensor)
zt_write_dlpack_unversioned(writer, name, name_length, tensor) = ccall((:zt_write_dlpack_unversioned, libztensor), Int32, (Ptr{Cvoid}, Ptr{UInt8}, Csize_t, Ptr{Cvoid}), writer, name, name_length, tensor)
