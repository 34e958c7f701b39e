//! The structs of `core` are those of ztensor.h, compared with the numbers that the library's own tests check
//! for the header.

use std::mem::offset_of;
use ztensor_remote::capi::zt_remote_options;
use ztensor_remote::core::{status, zt_source, zt_source_range, zt_store};

#[test]
fn structs_lie_as_the_header_has_them() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let layout = std::fs::read_to_string(root.join("c_tests/abi/layout.c")).unwrap();
    let holds = |line: String| assert!(layout.contains(&line), "c_tests/abi/layout.c does not have {line}");
    macro_rules! is {
        ($name:ident: $($field:ident),+) => {
            holds(format!("SIZE({}, {});", stringify!($name), size_of::<$name>()));
            $(holds(format!("AT({}, {}, {});", stringify!($name), stringify!($field), offset_of!($name, $field)));)+
        };
    }
    is!(zt_source_range: offset, dst, size);
    is!(zt_source: struct_size, context, size, read_at, close, read_many, name, gap, largest_request, concurrency,
        callers_thread, identity);
    is!(zt_store: struct_size, context, open, list);
    assert_eq!((size_of::<zt_remote_options>(), offset_of!(zt_remote_options, timeout_ms)), (88, 64));
}

#[test]
fn statuses_are_those_of_the_header() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let header = std::fs::read_to_string(root.join("include/ztensor.h")).unwrap();
    for (name, value) in [
        ("ZT_OK", status::OK),
        ("ZT_ERROR_INVALID_ARGUMENT", status::INVALID_ARGUMENT),
        ("ZT_ERROR_IO", status::IO),
        ("ZT_ERROR_NOT_FOUND", status::NOT_FOUND),
        ("ZT_ERROR_UNSUPPORTED", status::UNSUPPORTED),
        ("ZT_ERROR_LIMIT", status::LIMIT),
        ("ZT_ERROR_BUFFER_SIZE", status::BUFFER_SIZE),
        ("ZT_ERROR_OUT_OF_MEMORY", status::OUT_OF_MEMORY),
        ("ZT_ERROR_INTERNAL", status::INTERNAL),
        ("ZT_ERROR_NO_FILE", status::NO_FILE),
    ] {
        assert!(header.contains(&format!(" {name} = {value},")), "{name}");
    }
}
