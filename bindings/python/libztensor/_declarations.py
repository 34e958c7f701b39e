"""Generated from the headers by bindings/generate.py; do not edit."""

from ctypes import (CFUNCTYPE, POINTER, Structure, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t,
                    c_uint32, c_uint64, c_void_p)

ZT_VERSION_MAJOR = 1
ZT_VERSION_MINOR = 0
ZT_VERSION_PATCH = 0
ZT_ABI_VERSION = 1
ZT_WHOLE = 18446744073709551615
ZT_UNKNOWN_SIZE = 18446744073709551615
ZT_VERIFY_DIGESTS = 1
ZT_VERIFY_CONTENTS = 2
ZT_VERIFY_PADDING = 4
ZT_VERIFY_SHARDS = 8
ZT_VERIFY_REQUIRE_DIGESTS = 16
ZT_OK = 0
ZT_ERROR_INVALID_ARGUMENT = 1
ZT_ERROR_IO = 2
ZT_ERROR_NOT_FOUND = 3
ZT_ERROR_UNKNOWN_CONTAINER = 4
ZT_ERROR_CORRUPT = 5
ZT_ERROR_DIGEST_MISMATCH = 6
ZT_ERROR_UNSUPPORTED = 7
ZT_ERROR_LIMIT = 8
ZT_ERROR_BUFFER_SIZE = 9
ZT_ERROR_NOT_MAPPABLE = 10
ZT_ERROR_STATE = 11
ZT_ERROR_EXISTS = 12
ZT_ERROR_CANCELLED = 13
ZT_ERROR_OUT_OF_MEMORY = 14
ZT_ERROR_INTERNAL = 15
ZT_ERROR_NO_FILE = 16
ZT_ERROR_TIMEOUT = 17
ZT_ERROR_BUSY = 18
ZT_MODE_MAP = 0
ZT_MODE_READ = 1
ZT_MODE_AUTO = 2
ZT_MODE_PRIVATE = 3
ZT_DIRECT_AUTO = 0
ZT_DIRECT_NEVER = 1
ZT_DIRECT_ALWAYS = 2
ZT_DTYPE_OTHER = 0
ZT_DTYPE_F64 = 1
ZT_DTYPE_F32 = 2
ZT_DTYPE_F16 = 3
ZT_DTYPE_BF16 = 4
ZT_DTYPE_I64 = 5
ZT_DTYPE_I32 = 6
ZT_DTYPE_I16 = 7
ZT_DTYPE_I8 = 8
ZT_DTYPE_U64 = 9
ZT_DTYPE_U32 = 10
ZT_DTYPE_U16 = 11
ZT_DTYPE_U8 = 12
ZT_DTYPE_BOOL = 13
ZT_TYPE_NONE = 0
ZT_TYPE_F8_E4M3FN = 1
ZT_TYPE_F8_E5M2 = 2
ZT_TYPE_F8_E4M3FNUZ = 3
ZT_TYPE_F8_E5M2FNUZ = 4
ZT_TYPE_COMPLEX64 = 5
ZT_TYPE_COMPLEX128 = 6
ZT_TYPE_OTHER = 7
ZT_TYPE_F8_E8M0 = 8
ZT_TYPE_F4_E2M1 = 9
ZT_TYPE_F6_E2M3 = 10
ZT_TYPE_F6_E3M2 = 11
ZT_TYPE_COMPLEX32 = 12
ZT_TYPE_GGUF_Q4_0 = 32
ZT_TYPE_GGUF_Q4_1 = 33
ZT_TYPE_GGUF_Q5_0 = 34
ZT_TYPE_GGUF_Q5_1 = 35
ZT_TYPE_GGUF_Q8_0 = 36
ZT_TYPE_GGUF_Q8_1 = 37
ZT_TYPE_GGUF_Q2_K = 38
ZT_TYPE_GGUF_Q3_K = 39
ZT_TYPE_GGUF_Q4_K = 40
ZT_TYPE_GGUF_Q5_K = 41
ZT_TYPE_GGUF_Q6_K = 42
ZT_TYPE_GGUF_Q8_K = 43
ZT_TYPE_GGUF_IQ2_XXS = 44
ZT_TYPE_GGUF_IQ2_XS = 45
ZT_TYPE_GGUF_IQ3_XXS = 46
ZT_TYPE_GGUF_IQ1_S = 47
ZT_TYPE_GGUF_IQ4_NL = 48
ZT_TYPE_GGUF_IQ3_S = 49
ZT_TYPE_GGUF_IQ2_S = 50
ZT_TYPE_GGUF_IQ4_XS = 51
ZT_TYPE_GGUF_IQ1_M = 52
ZT_TYPE_GGUF_TQ1_0 = 53
ZT_TYPE_GGUF_TQ2_0 = 54
ZT_TYPE_GGUF_MXFP4 = 55
ZT_TYPE_GGUF_NVFP4 = 56
ZT_TYPE_GGUF_Q1_0 = 57
ZT_TYPE_GGUF_Q2_0 = 58
ZT_FORMAT_OTHER = 0
ZT_FORMAT_DENSE = 1
ZT_FORMAT_SPARSE_CSR = 2
ZT_FORMAT_SPARSE_COO = 3
ZT_FORMAT_QUANTIZED_GROUP = 4
ZT_FORMAT_BLOCKS = 5
ZT_ENCODING_DEFAULT = 0
ZT_ENCODING_RAW = 1
ZT_ENCODING_ZSTD = 2
ZT_ENCODING_OTHER = 3
ZT_ENCODING_DEFLATE = 4
ZT_ENCODING_ZSTD_SEEKABLE = 5
ZT_CONTAINER_NONE = 0
ZT_CONTAINER_ZT_0_1 = 1
ZT_CONTAINER_ZT_1_0 = 2
ZT_CONTAINER_ZT_1_1 = 3
ZT_CONTAINER_ZT_1_2 = 4
ZT_CONTAINER_ZT_2 = 5
ZT_CONTAINER_SAFETENSORS = 6
ZT_CONTAINER_GGUF = 7
ZT_CONTAINER_NPZ = 8
ZT_CONTAINER_TORCH = 9
ZT_LOAD_ORDER_POSITION = 0
ZT_LOAD_ORDER_GIVEN = 1
ZT_LOAD_ORDER_LARGEST = 2
ZT_LOAD_KIND_NOTHING = 0
ZT_LOAD_KIND_DATA = 1
ZT_LOAD_KIND_FAILED = 2
ZT_LOAD_KIND_DONE = 3
ZT_VALUE_KIND_NULL = 0
ZT_VALUE_KIND_BOOL = 1
ZT_VALUE_KIND_INT = 2
ZT_VALUE_KIND_FLOAT = 3
ZT_VALUE_KIND_STRING = 4
ZT_VALUE_KIND_BYTES = 5
ZT_VALUE_KIND_ARRAY = 6
ZT_VALUE_KIND_MAP = 7
ZT_VALUE_KIND_TAG = 8
ZT_VALUE_KIND_OTHER = 9
ZT_SPEC_DEFAULT = 0
ZT_SPEC_0_1_0 = 100
ZT_SPEC_1_1_0 = 10100
ZT_SPEC_1_2_0 = 10200
ZT_SPEC_2 = 20000
ZT_DIGEST_DEFAULT = 0
ZT_DIGEST_NONE = 1
ZT_DIGEST_CRC32C = 2
ZT_DIGEST_SHA256 = 3
ZT_DIGEST_XXH3 = 4
ZT_ATTRIBUTE_KIND_NULL = 0
ZT_ATTRIBUTE_KIND_BOOL = 1
ZT_ATTRIBUTE_KIND_I64 = 2
ZT_ATTRIBUTE_KIND_U64 = 3
ZT_ATTRIBUTE_KIND_F64 = 4
ZT_ATTRIBUTE_KIND_STRING = 5
ZT_ATTRIBUTE_KIND_BYTES = 6
ZT_ATTRIBUTE_KIND_JSON = 7
ZT_ATTRIBUTE_KIND_NUMBERS = 8
ZT_ATTRIBUTE_KIND_STRINGS = 9
ZT_ATTRIBUTE_KIND_VALUE = 10
ZT_ATTRIBUTE_KIND_REMOVE = 11
ZT_CAP_MAP = 1
ZT_CAP_READ = 2
ZT_CAP_RANGE = 4
ZT_CAP_DIRECT = 8
ZT_CAP_VERIFY = 16
ZT_CAP_PAGE_EXCLUSIVE = 32
ZT_ADVICE_NONE = 0
ZT_ADVICE_SEQUENTIAL = 1
ZT_ADVICE_WILLNEED = 3
ZT_ADVICE_POPULATE = 4
ZT_ADVICE_EVICT = 6
ZT_ADVICE_RELEASE = 7
ZT_CACHE_LRU = 0
ZT_CACHE_SLRU = 1
ZT_SHARDS_OF_MODELS = 0
ZT_SHARDS_ON_USE = 1
ZT_SHARDS_AT_OPEN = 2
ZT_SHARDS_NEVER = 3

zt_advice = c_uint32
zt_attribute_kind = c_int32
zt_cache_policy = c_int32
zt_container = c_int32
zt_digest = c_int32
zt_direct = c_int32
zt_dtype = c_int32
zt_encoding = c_int32
zt_format = c_int32
zt_load_kind = c_int32
zt_load_order = c_int32
zt_mode = c_int32
zt_spec = c_uint32
zt_status = c_int32
zt_type = c_int32
zt_value_kind = c_int32


class zt_tensor(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("data", c_void_p),
        ("size", c_size_t),
        ("dtype", zt_dtype),
        ("type", zt_type),
        ("shape", POINTER(c_uint64)),
        ("rank", c_size_t),
    ]


class zt_object_info(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("object", c_void_p),
        ("name", c_char_p),
        ("name_length", c_size_t),
        ("shape", POINTER(c_uint64)),
        ("rank", c_size_t),
        ("attributes", c_void_p),
        ("component_count", c_size_t),
        ("component", c_void_p),
        ("offset", c_uint64),
        ("stored_size", c_uint64),
        ("size", c_uint64),
        ("format", zt_format),
        ("dtype", zt_dtype),
        ("type", zt_type),
        ("encoding", zt_encoding),
        ("format_name", c_char_p),
    ]


class zt_component_info(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("component", c_void_p),
        ("object", c_void_p),
        ("role", c_char_p),
        ("role_length", c_size_t),
        ("digest", c_char_p),
        ("offset", c_uint64),
        ("stored_size", c_uint64),
        ("size", c_uint64),
        ("dtype", zt_dtype),
        ("type", zt_type),
        ("encoding", zt_encoding),
        ("part", c_uint32),
        ("dtype_name", c_char_p),
        ("type_name", c_char_p),
        ("encoding_name", c_char_p),
    ]


class zt_allocator(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("context", c_void_p),
        ("allocate", CFUNCTYPE(c_void_p, c_void_p, c_size_t, c_size_t)),
        ("free", CFUNCTYPE(None, c_void_p, c_void_p, c_size_t, c_size_t)),
    ]


class zt_thread_hooks(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("context", c_void_p),
        ("on_start", CFUNCTYPE(None, c_void_p, c_uint32)),
        ("on_end", CFUNCTYPE(None, c_void_p, c_uint32)),
    ]
zt_progress_callback = CFUNCTYPE(c_int32, c_void_p, c_uint64, c_uint64)


class zt_open_options(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("mode", zt_mode),
        ("verify", c_uint32),
        ("strict", c_uint32),
        ("advice", zt_advice),
        ("max_manifest_size", c_uint64),
        ("max_decoded_size", c_uint64),
        ("max_objects", c_uint64),
        ("threads", c_uint32),
        ("containers", c_uint32),
        ("max_memory", c_uint64),
        ("context", c_void_p),
        ("progress", zt_progress_callback),
        ("name", c_char_p),
        ("allocator", POINTER(zt_allocator)),
        ("thread_hooks", POINTER(zt_thread_hooks)),
        ("shard_folder", c_char_p),
        ("shards", c_uint32),
        ("part", c_uint32),
        ("include_unlisted", c_uint32),
        ("allow_trailing", c_uint32),
        ("combine_quantized", c_uint32),
        ("reserved", c_uint32),
    ]


class zt_part_info(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("path", c_char_p),
        ("size", c_uint64),
        ("container", zt_container),
        ("reserved", c_uint32),
    ]


class zt_read_request(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("component", c_void_p),
        ("offset", c_uint64),
        ("length", c_uint64),
        ("start", POINTER(c_uint64)),
        ("count", POINTER(c_uint64)),
        ("step", POINTER(c_uint64)),
        ("dst", c_void_p),
        ("dst_size", c_size_t),
        ("tag", c_uint64),
        ("rows", c_uint64),
        ("row_length", c_uint64),
        ("row_stride", c_uint64),
        ("dst_stride", c_uint64),
        ("verify", c_uint32),
        ("convert", zt_dtype),
        ("lossy", c_uint32),
        ("reserved", c_uint32),
        ("object", c_void_p),
    ]
zt_done_callback = CFUNCTYPE(None, c_void_p, c_uint64, zt_status, c_char_p)


class zt_read_options(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("threads", c_uint32),
        ("direct", zt_direct),
        ("chunk_size", c_uint64),
        ("in_flight", c_uint64),
        ("verify", c_uint32),
        ("pinned", c_uint32),
        ("context", c_void_p),
        ("on_done", zt_done_callback),
        ("progress", zt_progress_callback),
        ("keep_going", c_uint32),
        ("reserved", c_uint32),
    ]


class zt_read_stats(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("bytes", c_uint64),
        ("stored_bytes", c_uint64),
        ("requests", c_uint64),
        ("digests_verified", c_uint64),
        ("nanoseconds", c_uint64),
        ("threads", c_uint32),
        ("direct", c_uint32),
        ("reason", c_char_p),
        ("failed", c_uint64),
    ]


class zt_load_options(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("threads", c_uint32),
        ("direct", zt_direct),
        ("chunk_size", c_uint64),
        ("in_flight", c_uint64),
        ("verify", c_uint32),
        ("pinned", c_uint32),
        ("order", zt_load_order),
        ("keep_going", c_uint32),
        ("ring", c_void_p),
        ("slot_size", c_size_t),
        ("slot_count", c_size_t),
        ("thread_hooks", POINTER(zt_thread_hooks)),
    ]


class zt_load_event(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("kind", zt_load_kind),
        ("status", zt_status),
        ("message", c_char_p),
        ("tag", c_uint64),
        ("data", c_void_p),
        ("size", c_size_t),
        ("offset", c_uint64),
        ("last", c_uint32),
        ("slot", c_uint32),
        ("piece", c_uint32),
        ("reserved", c_uint32),
    ]
zt_failure_callback = CFUNCTYPE(c_int32, c_void_p, c_void_p, c_void_p, zt_status, c_char_p)


class zt_verify_options(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("checks", c_uint32),
        ("threads", c_uint32),
        ("context", c_void_p),
        ("progress", zt_progress_callback),
        ("on_failure", zt_failure_callback),
        ("object", c_void_p),
        ("component", c_void_p),
    ]


class zt_verify_report(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("objects", c_uint64),
        ("components", c_uint64),
        ("bytes", c_uint64),
        ("digests_verified", c_uint64),
        ("digests_absent", c_uint64),
        ("digests_unknown", c_uint64),
        ("padding_nonzero", c_uint64),
        ("bytes_not_covered", c_uint64),
        ("not_checked", c_uint64),
    ]


class zt_write_summary(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("file_size", c_uint64),
        ("objects", c_uint64),
        ("components", c_uint64),
        ("stored_bytes", c_uint64),
        ("data_bytes", c_uint64),
        ("damaged", c_uint64),
    ]


class zt_write_options(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("spec", zt_spec),
        ("encoding", zt_encoding),
        ("alignment", c_uint64),
        ("large_alignment", c_uint64),
        ("large_size", c_uint64),
        ("zstd_level", c_int32),
        ("digest", zt_digest),
        ("threads", c_uint32),
        ("durable", c_uint32),
        ("frame_size", c_uint64),
        ("context", c_void_p),
        ("progress", zt_progress_callback),
        ("thread_hooks", POINTER(zt_thread_hooks)),
        ("canonical", c_uint32),
        ("allow_damaged", c_uint32),
    ]


class zt_component_desc(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("role", c_char_p),
        ("role_length", c_size_t),
        ("dtype", zt_dtype),
        ("type", zt_type),
        ("type_name", c_char_p),
        ("encoding", zt_encoding),
        ("digest", zt_digest),
        ("data", c_void_p),
        ("size", c_uint64),
        ("type_name_length", c_size_t),
    ]


class zt_object_desc(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("name", c_char_p),
        ("name_length", c_size_t),
        ("format", zt_format),
        ("reserved", c_uint32),
        ("format_name", c_char_p),
        ("shape", POINTER(c_uint64)),
        ("rank", c_size_t),
        ("components", POINTER(zt_component_desc)),
        ("component_count", c_size_t),
        ("attributes", c_void_p),
        ("attributes_json", c_char_p),
        ("format_name_length", c_size_t),
    ]


class zt_write_request(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("name", c_char_p),
        ("shape", POINTER(c_uint64)),
        ("rank", c_size_t),
        ("data", c_void_p),
        ("size", c_size_t),
        ("dtype", zt_dtype),
        ("type", zt_type),
        ("encoding", zt_encoding),
        ("digest", zt_digest),
        ("name_length", c_size_t),
    ]


class zt_copy_options(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("name", c_char_p),
        ("name_length", c_size_t),
        ("encoding", zt_encoding),
        ("digest", zt_digest),
        ("dtype", zt_dtype),
        ("type", zt_type),
    ]


class zt_attribute(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("kind", zt_attribute_kind),
        ("dtype", zt_dtype),
        ("i64", c_int64),
        ("u64", c_uint64),
        ("f64", c_double),
        ("data", c_void_p),
        ("size", c_size_t),
        ("count", c_size_t),
        ("lengths", POINTER(c_size_t)),
        ("key_length", c_size_t),
    ]


class zt_model_info(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("passed_over", c_uint64),
        ("unlisted", c_uint64),
    ]


class zt_identity(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("size", c_uint64),
        ("modified_ns", c_int64),
        ("manifest_offset", c_uint64),
        ("manifest_hash", c_uint64),
        ("source_identity", c_uint64),
    ]


class zt_source_range(Structure):
    _fields_ = [
        ("offset", c_uint64),
        ("dst", c_void_p),
        ("size", c_size_t),
    ]


class zt_source(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("context", c_void_p),
        ("size", CFUNCTYPE(zt_status, c_void_p, POINTER(c_uint64))),
        ("read_at", CFUNCTYPE(zt_status, c_void_p, c_uint64, c_void_p, c_size_t)),
        ("close", CFUNCTYPE(None, c_void_p)),
        ("read_many", CFUNCTYPE(zt_status, c_void_p, POINTER(zt_source_range), c_size_t)),
        ("name", c_char_p),
        ("gap", c_uint64),
        ("largest_request", c_uint64),
        ("concurrency", c_uint32),
        ("callers_thread", c_uint32),
        ("identity", c_uint64),
    ]
zt_name_callback = CFUNCTYPE(zt_status, c_void_p, c_char_p)


class zt_store(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("context", c_void_p),
        ("open", CFUNCTYPE(zt_status, c_void_p, c_char_p, POINTER(zt_source))),
        ("list", CFUNCTYPE(zt_status, c_void_p, c_char_p, zt_name_callback, c_void_p)),
    ]


class zt_sink(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("context", c_void_p),
        ("write", CFUNCTYPE(zt_status, c_void_p, c_void_p, c_size_t)),
        ("finish", CFUNCTYPE(zt_status, c_void_p)),
        ("close", CFUNCTYPE(None, c_void_p)),
    ]


class zt_load_part_stats(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("file", c_void_p),
        ("stored_bytes", c_uint64),
        ("direct_bytes", c_uint64),
        ("reason", c_char_p),
        ("part", c_uint32),
        ("reserved", c_uint32),
    ]


class zt_array(Structure):
    _fields_ = [
        ("data", c_void_p),
        ("size", c_size_t),
        ("count", c_uint64),
        ("dtype", zt_dtype),
        ("type", zt_type),
        ("reserved", c_uint64),
        ("reserved2", c_uint64),
    ]


class zt_csr(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("rows", c_uint64),
        ("columns", c_uint64),
        ("nnz", c_uint64),
        ("values", zt_array),
        ("indices", zt_array),
        ("indptr", zt_array),
    ]


class zt_coo(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("nnz", c_uint64),
        ("shape", POINTER(c_uint64)),
        ("rank", c_size_t),
        ("values", zt_array),
        ("coords", zt_array),
    ]


class zt_quantized(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("shape", POINTER(c_uint64)),
        ("rank", c_size_t),
        ("bits", c_uint64),
        ("group_size", c_uint64),
        ("packing", c_char_p),
        ("packed_weight", zt_array),
        ("scales", zt_array),
        ("zeros", zt_array),
        ("weights_per_element", c_uint64),
        ("axis", c_uint64),
        ("zero_point", c_int64),
        ("msb_first", c_uint32),
        ("zeros_packed", c_uint32),
    ]


class zt_quantized_desc(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("bits", c_uint64),
        ("group_size", c_uint64),
        ("packing", c_char_p),
        ("packed_weight", c_void_p),
        ("packed_weight_size", c_uint64),
        ("scales", c_void_p),
        ("scales_size", c_uint64),
        ("zeros", c_void_p),
        ("zeros_size", c_uint64),
        ("packed_weight_dtype", zt_dtype),
        ("scales_dtype", zt_dtype),
        ("zeros_dtype", zt_dtype),
        ("reserved", c_uint32),
        ("scales_type", zt_type),
        ("has_axis", c_uint32),
        ("axis", c_uint64),
        ("zero_point", c_int64),
        ("msb_first", c_uint32),
        ("zeros_packed", c_uint32),
    ]


class zt_cache_options(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("budget", c_uint64),
        ("slot_size", c_uint64),
        ("memory", c_void_p),
        ("threads", c_uint32),
        ("verify", c_uint32),
        ("policy", zt_cache_policy),
        ("reserved", c_uint32),
        ("thread_hooks", POINTER(zt_thread_hooks)),
    ]


class zt_cache_pin(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("data", c_void_p),
        ("size", c_size_t),
        ("pin", c_uint64),
    ]


class zt_cache_stats(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("slots", c_uint64),
        ("used", c_uint64),
        ("pinned", c_uint64),
        ("queued", c_uint64),
        ("overhead", c_uint64),
        ("hits", c_uint64),
        ("joined", c_uint64),
        ("misses", c_uint64),
        ("prefetches", c_uint64),
        ("prefetches_used", c_uint64),
        ("prefetches_dropped", c_uint64),
        ("evictions", c_uint64),
        ("failures", c_uint64),
        ("bytes_read", c_uint64),
    ]


class zt_repair_options(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("dry_run", c_uint32),
        ("reserved", c_uint32),
        ("max_manifest_size", c_uint64),
        ("cut_at", c_uint64),
        ("context", c_void_p),
        ("progress", zt_progress_callback),
    ]


class zt_repair_report(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("old_size", c_uint64),
        ("new_size", c_uint64),
        ("objects", c_uint64),
    ]


FUNCTIONS = {
    "zt_last_error": (c_char_p, []),
    "zt_status_name": (c_char_p, [zt_status]),
    "zt_last_error_rule": (c_char_p, []),
    "zt_version": (c_char_p, []),
    "zt_abi_version": (c_uint32, []),
    "zt_open": (zt_status, [c_char_p, POINTER(zt_open_options), POINTER(c_void_p)]),
    "zt_open_model": (zt_status, [c_char_p, POINTER(zt_open_options), POINTER(c_void_p)]),
    "zt_open_memory": (zt_status, [c_void_p, c_size_t, POINTER(zt_open_options), POINTER(c_void_p)]),
    "zt_close": (None, [c_void_p]),
    "zt_tensor_find": (zt_status, [c_void_p, c_char_p, POINTER(zt_tensor)]),
    "zt_tensor_view": (zt_status, [c_void_p, POINTER(zt_tensor)]),
    "zt_object_find": (c_void_p, [c_void_p, c_char_p]),
    "zt_object_count": (c_size_t, [c_void_p]),
    "zt_object_at": (c_void_p, [c_void_p, c_size_t]),
    "zt_object_list": (zt_status, [c_void_p, c_size_t, POINTER(zt_object_info), c_size_t, POINTER(c_size_t)]),
    "zt_object_get_info": (zt_status, [c_void_p, POINTER(zt_object_info)]),
    "zt_object_name": (c_char_p, [c_void_p]),
    "zt_object_rank": (c_size_t, [c_void_p]),
    "zt_object_shape": (POINTER(c_uint64), [c_void_p]),
    "zt_object_element_count": (c_uint64, [c_void_p]),
    "zt_object_format": (zt_format, [c_void_p]),
    "zt_component_find": (c_void_p, [c_void_p, c_char_p]),
    "zt_component_count": (c_size_t, [c_void_p]),
    "zt_component_at": (c_void_p, [c_void_p, c_size_t]),
    "zt_component_get_info": (zt_status, [c_void_p, POINTER(zt_component_info)]),
    "zt_component_role": (c_char_p, [c_void_p]),
    "zt_component_dtype": (zt_dtype, [c_void_p]),
    "zt_component_type": (zt_type, [c_void_p]),
    "zt_component_encoding": (zt_encoding, [c_void_p]),
    "zt_component_size": (c_uint64, [c_void_p]),
    "zt_component_digest": (c_char_p, [c_void_p]),
    "zt_file_mode": (zt_mode, [c_void_p]),
    "zt_file_version": (c_char_p, [c_void_p]),
    "zt_part_count": (c_size_t, [c_void_p]),
    "zt_part_get_info": (zt_status, [c_void_p, c_size_t, POINTER(zt_part_info)]),
    "zt_component_ptr": (zt_status, [c_void_p, POINTER(c_void_p), POINTER(c_size_t)]),
    "zt_object_read_as": (zt_status, [c_void_p, zt_dtype, c_void_p, c_size_t, POINTER(c_size_t)]),
    "zt_object_size_as": (zt_status, [c_void_p, zt_dtype, POINTER(c_uint64)]),
    "zt_component_read": (zt_status, [c_void_p, c_void_p, c_size_t]),
    "zt_component_read_range": (zt_status, [c_void_p, c_uint64, c_void_p, c_size_t]),
    "zt_object_read_slice": (zt_status, [c_void_p, POINTER(c_uint64), POINTER(c_uint64), POINTER(c_uint64), c_void_p, c_size_t]),
    "zt_read_batch": (zt_status, [c_void_p, POINTER(zt_read_request), c_size_t, POINTER(zt_read_options), POINTER(zt_read_stats)]),
    "zt_component_load": (zt_status, [c_void_p, POINTER(zt_read_options), POINTER(c_void_p)]),
    "zt_buffer_data": (c_void_p, [c_void_p]),
    "zt_buffer_size": (c_size_t, [c_void_p]),
    "zt_buffer_free": (None, [c_void_p]),
    "zt_dtype_name": (c_char_p, [zt_dtype]),
    "zt_dtype_from_name": (zt_status, [c_char_p, POINTER(zt_dtype)]),
    "zt_dtype_size": (c_size_t, [zt_dtype]),
    "zt_type_name": (c_char_p, [zt_type]),
    "zt_type_from_name": (zt_status, [c_char_p, POINTER(zt_type)]),
    "zt_type_block": (zt_status, [zt_type, POINTER(c_size_t), POINTER(c_size_t)]),
    "zt_format_name": (c_char_p, [zt_format]),
    "zt_encoding_name": (c_char_p, [zt_encoding]),
    "zt_container_name": (c_char_p, [zt_container]),
    "zt_load_start": (zt_status, [POINTER(zt_read_request), c_size_t, POINTER(zt_load_options), POINTER(c_void_p)]),
    "zt_load_next": (zt_status, [c_void_p, c_int64, POINTER(zt_load_event)]),
    "zt_load_release": (None, [c_void_p, POINTER(zt_load_event)]),
    "zt_load_cancel": (zt_status, [c_void_p]),
    "zt_load_finish": (zt_status, [c_void_p, POINTER(zt_read_stats)]),
    "zt_file_attributes": (c_void_p, [c_void_p]),
    "zt_object_attributes": (c_void_p, [c_void_p]),
    "zt_value_find": (c_void_p, [c_void_p, c_char_p]),
    "zt_value_get_kind": (zt_value_kind, [c_void_p]),
    "zt_value_get_bool": (zt_status, [c_void_p, POINTER(c_int32)]),
    "zt_value_get_i64": (zt_status, [c_void_p, POINTER(c_int64)]),
    "zt_value_get_u64": (zt_status, [c_void_p, POINTER(c_uint64)]),
    "zt_value_get_f64": (zt_status, [c_void_p, POINTER(c_double)]),
    "zt_value_get_string": (zt_status, [c_void_p, POINTER(c_char_p), POINTER(c_size_t)]),
    "zt_value_get_bytes": (zt_status, [c_void_p, POINTER(c_void_p), POINTER(c_size_t)]),
    "zt_value_count": (c_size_t, [c_void_p]),
    "zt_value_at": (c_void_p, [c_void_p, c_size_t]),
    "zt_value_key_at": (c_void_p, [c_void_p, c_size_t]),
    "zt_value_dtype": (zt_dtype, [c_void_p]),
    "zt_value_read_numbers": (zt_status, [c_void_p, zt_dtype, c_void_p, c_size_t]),
    "zt_value_read_strings": (zt_status, [c_void_p, POINTER(c_char_p), POINTER(c_size_t), c_size_t]),
    "zt_value_to_json": (zt_status, [c_void_p, c_char_p, c_size_t, POINTER(c_size_t)]),
    "zt_verify": (zt_status, [c_void_p, POINTER(zt_verify_options), POINTER(zt_verify_report)]),
    "zt_write_create": (zt_status, [c_char_p, POINTER(zt_write_options), POINTER(c_void_p)]),
    "zt_write_dense": (zt_status, [c_void_p, c_char_p, c_size_t, zt_dtype, zt_type, POINTER(c_uint64), c_size_t, c_void_p, c_size_t]),
    "zt_write_finish": (zt_status, [c_void_p, POINTER(zt_write_summary)]),
    "zt_write_abort": (None, [c_void_p]),
    "zt_write_begin": (zt_status, [c_void_p, POINTER(zt_object_desc)]),
    "zt_write_component": (zt_status, [c_void_p, POINTER(zt_component_desc)]),
    "zt_write_data": (zt_status, [c_void_p, c_void_p, c_size_t]),
    "zt_write_end": (zt_status, [c_void_p]),
    "zt_write_object": (zt_status, [c_void_p, POINTER(zt_object_desc)]),
    "zt_write_batch": (zt_status, [c_void_p, POINTER(zt_write_request), c_size_t]),
    "zt_write_copy": (zt_status, [c_void_p, c_void_p, POINTER(zt_copy_options)]),
    "zt_write_attribute": (zt_status, [c_void_p, c_char_p, c_size_t, c_char_p, POINTER(zt_attribute)]),
    "zt_write_append": (zt_status, [c_char_p, POINTER(zt_write_options), POINTER(c_void_p)]),
    "zt_retain": (c_void_p, [c_void_p]),
    "zt_open_fd": (zt_status, [c_int, c_uint64, c_uint64, POINTER(zt_open_options), POINTER(c_void_p)]),
    "zt_open_handle": (zt_status, [c_void_p, c_uint64, c_uint64, POINTER(zt_open_options), POINTER(c_void_p)]),
    "zt_open_parts": (zt_status, [POINTER(c_char_p), c_size_t, POINTER(zt_open_options), POINTER(c_void_p)]),
    "zt_model_get_info": (zt_status, [c_void_p, POINTER(zt_model_info)]),
    "zt_file_identity": (zt_status, [c_void_p, POINTER(zt_identity)]),
    "zt_part_identity": (zt_status, [c_void_p, c_size_t, POINTER(zt_identity)]),
    "zt_file_bytes": (zt_status, [c_void_p, c_size_t, POINTER(c_void_p), POINTER(c_uint64)]),
    "zt_open_source": (zt_status, [POINTER(zt_source), POINTER(zt_open_options), POINTER(c_void_p)]),
    "zt_open_model_from": (zt_status, [POINTER(zt_store), c_char_p, POINTER(zt_open_options), POINTER(c_void_p)]),
    "zt_write_create_sink": (zt_status, [POINTER(zt_sink), POINTER(zt_write_options), POINTER(c_void_p)]),
    "zt_set_last_error": (None, [c_char_p]),
    "zt_last_os_error": (c_int32, []),
    "zt_object_find_n": (c_void_p, [c_void_p, c_char_p, c_size_t]),
    "zt_component_find_n": (c_void_p, [c_void_p, c_char_p, c_size_t]),
    "zt_value_find_n": (c_void_p, [c_void_p, c_char_p, c_size_t]),
    "zt_value_get_tag": (zt_status, [c_void_p, POINTER(c_uint64)]),
    "zt_component_list": (zt_status, [c_void_p, c_void_p, c_size_t, POINTER(zt_component_info), c_size_t, POINTER(c_size_t)]),
    "zt_component_caps": (c_uint32, [c_void_p]),
    "zt_component_read_stored": (zt_status, [c_void_p, c_void_p, c_size_t]),
    "zt_component_measure": (zt_status, [c_void_p, zt_progress_callback, c_void_p, POINTER(c_uint64)]),
    "zt_component_advise": (zt_status, [c_void_p, zt_advice]),
    "zt_load_get_part_stats": (zt_status, [c_void_p, c_size_t, POINTER(zt_load_part_stats), c_size_t, POINTER(c_size_t)]),
    "zt_csr_view": (zt_status, [c_void_p, POINTER(zt_csr)]),
    "zt_coo_view": (zt_status, [c_void_p, POINTER(zt_coo)]),
    "zt_quantized_view": (zt_status, [c_void_p, POINTER(zt_quantized)]),
    "zt_write_csr": (zt_status, [c_void_p, c_char_p, c_size_t, zt_dtype, zt_type, POINTER(c_uint64), c_size_t, c_void_p, c_size_t, POINTER(c_uint64), POINTER(c_uint64)]),
    "zt_write_coo": (zt_status, [c_void_p, c_char_p, c_size_t, zt_dtype, zt_type, POINTER(c_uint64), c_size_t, c_size_t, c_void_p, c_size_t, POINTER(c_uint64)]),
    "zt_write_quantized": (zt_status, [c_void_p, c_char_p, c_size_t, POINTER(c_uint64), c_size_t, POINTER(zt_quantized_desc)]),
    "zt_type_ggml": (zt_status, [zt_dtype, zt_type, POINTER(c_int32)]),
    "zt_type_from_ggml": (zt_status, [c_int32, POINTER(zt_dtype), POINTER(zt_type)]),
    "zt_cache_create": (zt_status, [POINTER(zt_cache_options), POINTER(c_void_p)]),
    "zt_cache_get": (zt_status, [c_void_p, POINTER(zt_read_request), c_int64, POINTER(zt_cache_pin)]),
    "zt_cache_unpin": (zt_status, [c_void_p, POINTER(zt_cache_pin)]),
    "zt_cache_prefetch": (zt_status, [c_void_p, POINTER(zt_read_request), c_size_t]),
    "zt_cache_drop": (zt_status, [c_void_p, POINTER(zt_read_request), c_size_t]),
    "zt_cache_cancel": (zt_status, [c_void_p]),
    "zt_cache_get_stats": (zt_status, [c_void_p, POINTER(zt_cache_stats)]),
    "zt_cache_free": (None, [c_void_p]),
    "zt_write_remove": (zt_status, [c_void_p, c_char_p, c_size_t]),
    "zt_write_rename": (zt_status, [c_void_p, c_char_p, c_size_t, c_char_p, c_size_t]),
    "zt_write_copy_attributes": (zt_status, [c_void_p, c_void_p]),
    "zt_write_shard": (zt_status, [c_void_p, c_char_p, c_size_t, c_void_p]),
    "zt_write_link": (zt_status, [c_void_p, c_void_p, c_char_p, c_size_t]),
    "zt_repair": (zt_status, [c_char_p, POINTER(zt_repair_options), POINTER(zt_repair_report)]),
    "zt_object_to_dlpack": (zt_status, [c_void_p, POINTER(c_void_p)]),
    "zt_component_to_dlpack": (zt_status, [c_void_p, POINTER(c_void_p)]),
    "zt_object_to_dlpack_unversioned": (zt_status, [c_void_p, POINTER(c_void_p)]),
    "zt_write_dlpack": (zt_status, [c_void_p, c_char_p, c_size_t, c_void_p]),
    "zt_write_dlpack_unversioned": (zt_status, [c_void_p, c_char_p, c_size_t, c_void_p]),
}
