//! The chapters of include/ztensor.h and include/ztensor_advanced.h in the order that a caller needs, and the
//! items of each, in order. If an item is in no chapter, or in two, the test fails.

pub struct Header {
    pub file: &'static str,
    /// The text before the chapters. For ztensor.h, cbindgen makes it from cbindgen.toml.
    pub prologue: Option<&'static str>,
    pub chapters: &'static [Chapter],
}

pub struct Chapter {
    pub title: &'static str,
    pub intro: &'static str,
    pub items: &'static str,
}

/// Opaque types.
pub const HANDLES: &[&str] =
    &["zt_file", "zt_object", "zt_component", "zt_value", "zt_buffer", "zt_cache", "zt_writer", "zt_load"];

/// Declarations that are not Rust items.
pub const MACROS: &str = "\
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
";

/// The same for ztensor_advanced.h, and the item that it follows.
pub const ATTRIBUTE_MACROS: (&str, &str) = (
    "zt_attribute",
    "\n#ifndef __cplusplus
/// A zt_attribute in one expression of C: &ZT_ATTRIBUTE_I64 (7), &ZT_ATTRIBUTE_STRING (\"bert\"),
/// &ZT_ATTRIBUTE (.kind = ZT_ATTRIBUTE_KIND_NUMBERS, .dtype = ZT_DTYPE_F32, .data = p, .count = n).
#define ZT_ATTRIBUTE(...) ((zt_attribute){.struct_size = sizeof(zt_attribute), __VA_ARGS__})
#define ZT_ATTRIBUTE_BOOL(v) ZT_ATTRIBUTE(.kind = ZT_ATTRIBUTE_KIND_BOOL, .i64 = (v))
#define ZT_ATTRIBUTE_I64(v) ZT_ATTRIBUTE(.kind = ZT_ATTRIBUTE_KIND_I64, .i64 = (v))
#define ZT_ATTRIBUTE_U64(v) ZT_ATTRIBUTE(.kind = ZT_ATTRIBUTE_KIND_U64, .u64 = (v))
#define ZT_ATTRIBUTE_F64(v) ZT_ATTRIBUTE(.kind = ZT_ATTRIBUTE_KIND_F64, .f64 = (v))
#define ZT_ATTRIBUTE_STRING(v) ZT_ATTRIBUTE(.kind = ZT_ATTRIBUTE_KIND_STRING, .data = (v))
#define ZT_ATTRIBUTE_JSON(v) ZT_ATTRIBUTE(.kind = ZT_ATTRIBUTE_KIND_JSON, .data = (v))
#endif\n",
);

/// Functions whose status may be ignored: hints, and calls that stop work.
pub const DISCARDABLE: &[&str] = &[
    "zt_component_advise",
    "zt_load_cancel",
    "zt_load_finish",
    "zt_cache_prefetch",
    "zt_cache_unpin",
    "zt_cache_drop",
    "zt_cache_cancel",
];

pub const HEADERS: [Header; 2] = [
    Header {
        file: "ztensor.h",
        prologue: None,
        chapters: &[
            Chapter {
                title: "1. Status and errors",
                intro: "A function that can fail returns a zt_status. Programs decide by the \
                        status; the message is for people.",
                items: "zt_status_value zt_last_error zt_status_name \
                        zt_last_error_rule ZT_VERSION_MAJOR ZT_VERSION_MINOR \
                        ZT_VERSION_PATCH ZT_ABI_VERSION zt_version zt_abi_version",
            },
            Chapter {
                title: "2. Opening",
                intro: "Opening checks everything that the manifest and the file's size can show. \
                        It reads no tensor.",
                items: "zt_open zt_open_model zt_open_memory zt_close",
            },
            Chapter {
                title: "3. Finding",
                intro: "A file holds named objects. An object has a shape, a format and \
                        components; a dense tensor has one component,\n\
                        \"data\".",
                items: "zt_tensor zt_tensor_find zt_tensor_view zt_object_find \
                        zt_object_count zt_object_at zt_object_info zt_object_list \
                        zt_object_get_info zt_object_name zt_object_rank zt_object_shape \
                        zt_object_element_count zt_object_format zt_component_find \
                        zt_component_count zt_component_at zt_component_info \
                        zt_component_get_info zt_component_role zt_component_dtype \
                        zt_component_type zt_component_encoding zt_component_size \
                        zt_component_digest",
            },
            Chapter {
                title: "4. How a file is open",
                intro: "Options of opening; the files that a model is made of.",
                items: "zt_mode_value zt_progress_callback zt_open_options \
                        zt_file_mode zt_file_version zt_part_count zt_part_info \
                        zt_part_get_info",
            },
            Chapter {
                title: "5. Reading",
                intro: "zt_component_ptr borrows bytes, zt_object_read_as converts numbers, \
                        zt_component_read copies bytes.\n\
                        zt_read_batch does all of this for many requests on several threads.",
                items: "zt_component_ptr zt_object_read_as zt_object_size_as \
                        zt_component_read zt_component_read_range zt_object_read_slice \
                        ZT_WHOLE zt_read_request \
                        zt_direct_value zt_done_callback zt_read_options zt_read_stats \
                        zt_read_batch zt_component_load zt_buffer_data zt_buffer_size \
                        zt_buffer_free",
            },
            Chapter {
                title: "6. Types",
                intro: "A zt_dtype is a storage type, a zt_type a logical type. If a file has a \
                        name that this version does not know,\n\
                        the value is OTHER, and zt_object_info or zt_component_info has the name.",
                items: "ZT_UNKNOWN_SIZE zt_dtype_value zt_type_value zt_format_value \
                        zt_encoding_value zt_container_value zt_dtype_name \
                        zt_dtype_from_name zt_dtype_size zt_type_name zt_type_from_name \
                        zt_type_block zt_format_name zt_encoding_name zt_container_name",
            },
            Chapter {
                title: "7. Streaming",
                intro: "A load reads many requests in the background and hands out each piece when \
                        it is there, in a ring of slots\n\
                        that never grows.",
                items: "zt_load_start zt_load_next zt_load_release zt_load_cancel \
                        zt_load_finish zt_load_order_value zt_load_options \
                        zt_load_kind_value ZT_NO_SLOT zt_load_event",
            },
            Chapter {
                title: "8. Attributes",
                intro:
                    "Attributes of a file or an object are a tree of values: JSON's, byte strings and tags.",
                items: "zt_file_attributes zt_object_attributes zt_value_find \
                        zt_value_kind_value zt_value_get_kind zt_value_get_bool \
                        zt_value_get_i64 zt_value_get_u64 zt_value_get_f64 \
                        zt_value_get_string zt_value_get_bytes \
                        zt_value_count zt_value_at zt_value_key_at zt_value_dtype \
                        zt_value_read_numbers zt_value_read_strings zt_value_to_json",
            },
            Chapter {
                title: "9. Verifying",
                intro: "zt_verify checks what opening does not read.",
                items: "zt_verify ZT_VERIFY_DIGESTS ZT_VERIFY_CONTENTS ZT_VERIFY_PADDING \
                        ZT_VERIFY_SHARDS ZT_VERIFY_REQUIRE_DIGESTS zt_failure_callback \
                        zt_verify_options zt_verify_report",
            },
            Chapter {
                title: "10. Writing",
                intro: "Create or append, write objects, set attributes (zt_write_attribute), \
                        finish. A new file appears whole or not\n\
                        at all. Equal calls write equal files.",
                items: "zt_write_create zt_write_dense zt_write_finish zt_write_abort \
                        zt_write_summary zt_spec_value zt_digest_value zt_write_options \
                        zt_write_begin zt_write_component zt_write_data zt_write_end \
                        zt_component_desc zt_object_desc zt_write_object zt_write_request \
                        zt_write_batch zt_copy_options zt_write_copy \
                        zt_attribute_kind_value zt_attribute \
                        zt_write_attribute zt_write_append",
            },
        ],
    },
    Header {
        file: "ztensor_advanced.h",
        prologue: Some(
            "/*
 * ztensor_advanced.h: what few programs need beside ztensor.h.
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The first page of ztensor.h holds here, too.
 */

#ifndef ZTENSOR_ADVANCED_H
#define ZTENSOR_ADVANCED_H

/* Generated from src/capi by cbindgen; do not edit. */

#include \"ztensor.h\"
",
        ),
        chapters: &[
            Chapter {
                title: "1. Opening",
                intro: "Descriptors, several files as one model, your allocator and threads, the \
                        identity of a file.",
                items: "zt_retain zt_open_fd zt_open_handle zt_open_parts zt_allocator zt_thread_hooks \
                        zt_model_info zt_model_get_info zt_identity zt_file_identity \
                        zt_part_identity zt_file_bytes",
            },
            Chapter {
                title: "2. Your own input and output",
                intro: "Functions of yours that read or write the bytes: a network, an archive, a \
                        decryptor.",
                items: "zt_source_range zt_source zt_open_source zt_name_callback zt_store \
                        zt_open_model_from zt_sink zt_write_create_sink zt_set_last_error \
                        zt_last_os_error",
            },
            Chapter {
                title: "3. Objects and components",
                intro: "Names with a length, for bindings; what works on a component; stored bytes; \
                        sizes that a file does not declare.",
                items: "zt_object_find_n zt_component_find_n zt_value_find_n zt_value_get_tag \
                        zt_component_list ZT_CAP_MAP ZT_CAP_READ ZT_CAP_RANGE \
                        ZT_CAP_DIRECT ZT_CAP_VERIFY ZT_CAP_PAGE_EXCLUSIVE \
                        zt_component_caps zt_component_read_stored zt_component_measure \
                        zt_advice_value zt_component_advise zt_load_part_stats \
                        zt_load_get_part_stats",
            },
            Chapter {
                title: "4. Sparse and quantized objects",
                intro: "A whole object in one call: pointers, counts and shapes, checked so that \
                        an engine may index without checks.",
                items: "zt_array zt_csr zt_coo zt_quantized zt_csr_view zt_coo_view \
                        zt_quantized_view zt_write_csr zt_write_coo zt_quantized_desc \
                        zt_write_quantized zt_type_ggml zt_type_from_ggml",
            },
            Chapter {
                title: "5. A cache of slices",
                intro: "A cache keeps slices of a model that is larger than memory.",
                items: "zt_cache_create zt_cache_get zt_cache_unpin zt_cache_prefetch \
                        zt_cache_drop zt_cache_cancel zt_cache_get_stats zt_cache_free \
                        zt_cache_policy_value zt_cache_options zt_cache_pin zt_cache_stats",
            },
            Chapter {
                title: "6. Editing, shards, repair",
                intro: "Changes of a file that zt_write_append opened; files whose bytes are in \
                        other files; unfinished appends.",
                items: "zt_write_remove zt_write_rename zt_write_copy_attributes \
                        zt_shards_value zt_write_shard zt_write_link \
                        zt_repair_options zt_repair_report zt_repair",
            },
        ],
    },
];
