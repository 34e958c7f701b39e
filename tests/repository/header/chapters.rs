//! The chapters of include/ztensor.h, in the order in which a caller needs them, and the files of src/capi whose items
//! each holds, in the order in which they stand there.

pub struct Chapter {
    pub title: &'static str,
    pub intro: &'static str,
    pub files: &'static [&'static str],
    /// The types and functions from here on have C linkage; the handles are declared first.
    pub opens_c_linkage: bool,
}

/// Opaque types, which every chapter speaks of.
pub const HANDLES: &[&str] =
    &["zt_file", "zt_object", "zt_component", "zt_value", "zt_buffer", "zt_cache", "zt_writer", "zt_load"];

/// What no Rust item is, and the item that it stands behind.
pub const MACROS: (&str, &str) = (
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

pub const CHAPTERS: &[Chapter] = &[
    Chapter {
        title: "1. Version, status, errors",
        intro: "Every call that can fail returns a zt_status. The message of the calling thread's last failure is one line\n\
                for people; programs decide by the status.",
        files: &["status.rs", "library.rs"],
        opens_c_linkage: true,
    },
    Chapter {
        title: "2. Types, formats, encodings",
        intro: "A component has a storage type (dtype), perhaps a logical type, and an encoding; an object has a format. All are\n\
                integers here. Where a file has a name that this version does not know, the value is OTHER and a _name function\n\
                of the object or component gives the name.",
        files: &["types.rs"],
        opens_c_linkage: false,
    },
    Chapter {
        title: "3. Opening",
        intro: "zt_open checks everything that the manifest and the file's size can show and reads no tensor. An open file is\n\
                immutable. What is borrowed from it lives until its last zt_close.",
        files: &["mode.rs", "progress.rs", "hooks.rs", "open_options.rs", "open.rs", "model.rs", "identity.rs", "mapping.rs", "container.rs", "names.rs"],
        opens_c_linkage: false,
    },
    Chapter {
        title: "4. Objects and components",
        intro: "By position or by name. Getters neither fail nor allocate nor lock: they give 0 or NULL for NULL.",
        files: &["object.rs"],
        opens_c_linkage: false,
    },
    Chapter {
        title: "5. Bytes, cheapest first",
        intro: "zt_component_ptr borrows, zt_component_read fills your memory, zt_component_read_range and zt_object_read_slice\n\
                read a part, zt_component_load gives a buffer, zt_object_read_as converts. zt_component_caps says what works.",
        files: &["component.rs", "read_options.rs", "buffer.rs"],
        opens_c_linkage: false,
    },
    Chapter { title: "6. Views", intro: "A whole object by one call: pointers, counts and shapes, checked so that an engine may index them blindly.\n\
                Without a copy where every component can be borrowed.", files: &["view.rs"], opens_c_linkage: false },
    Chapter { title: "7. Many at once", intro: "zt_object_list fills an array with the metadata of many objects. zt_read_batch reads many components, ranges and\n\
                slices at once, on several threads, in the order of the file; a load (zt_load_start) does it while its results are\n\
                used already, in as much memory as is given to it. A zt_cache keeps slices of a model that is larger than\n\
                memory.", files: &["list.rs", "component_list.rs", "batch.rs", "load_event.rs", "load.rs", "load_stats.rs", "cache.rs"], opens_c_linkage: false },
    Chapter { title: "8. Attributes", intro: "Attributes of a file or an object: a tree of values in CBOR's data model.", files: &["value.rs", "value_find.rs"], opens_c_linkage: false },
    Chapter { title: "9. Verification and repair", intro: "zt_verify checks what opening does not read. zt_repair cuts an unfinished append back.", files: &["verify.rs"], opens_c_linkage: false },
    Chapter {
        title: "10. Writing",
        intro: "Create or append, write objects, finish. A new file appears whole or not at all; a failed append leaves the old\n\
                file. Same calls, same bytes: the file does not depend on threads, clock or run.",
        files: &["writer_options.rs", "writer.rs", "copy.rs", "link.rs", "write.rs", "write_quantized.rs", "write_batch.rs", "attribute.rs", "edit.rs"],
        opens_c_linkage: false,
    },
    Chapter { title: "11. Your own input and output", intro: "Functions of yours that read or write the bytes: a network, an archive, a decryptor.", files: &["source.rs", "store.rs", "sink.rs"], opens_c_linkage: false },
];
