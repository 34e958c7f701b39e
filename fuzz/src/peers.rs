//! Compares our readers of GGUF, npz and PyTorch files with released ones: if both accept a file, they read
//! the same.
//!
//! The released readers are not made for hostile files. They are called through `guarded`, and only on files
//! that we opened, so every size that they allocate is true. `README.md` lists those that are not called.

use crate::guarded::guarded;
use std::collections::BTreeMap;
use std::io::{Cursor, Read};
use std::path::PathBuf;
use ztensor::reader::{Component, File};

/// Archives that decode to more than this are not given to other readers.
const MOST: u64 = 1 << 20;

/// A tensor: dtype, shape, and its bytes if they were read.
#[derive(Debug, PartialEq)]
struct Tensor {
    dtype: String,
    shape: Vec<u64>,
    bytes: Vec<u8>,
}

fn own_dtype(component: &Component<'_>) -> String {
    String::from(component.logical_name().unwrap_or(component.dtype_name()))
}

/// Our tensors by name, without unreadable ones.
fn own_tensors(own: &File) -> BTreeMap<String, Tensor> {
    let named = own.objects().filter_map(|object| Some((String::from(object.text_name().ok()?), object)));
    named
        .filter_map(|(name, object)| {
            let component = object.component("data")?;
            let bytes = component.load().ok()?.as_slice().to_vec();
            Some((name, Tensor { dtype: own_dtype(&component), shape: object.shape().to_vec(), bytes }))
        })
        .collect()
}

/// Whether every size is safe for readers that trust it.
fn is_small(own: &File) -> bool {
    let components = || own.objects().flat_map(|o| o.components());
    components().all(|c| c.size().is_ok())
        && components()
            .filter_map(|c| c.size().ok())
            .try_fold(0u64, u64::checked_add)
            .is_some_and(|size| size <= MOST)
}

/// The input as a file, for readers that open paths.
fn path_of(bytes: &[u8]) -> PathBuf {
    let path = std::env::temp_dir().join(format!("peer-{}", std::process::id()));
    std::fs::write(&path, bytes).expect("could not write a temporary file");
    path
}

/// Upstream's `ztensor-compat`: GGUF, npz and checkpoints.
pub fn compare_compat(bytes: &[u8], own: &File) {
    if !is_small(own) {
        return;
    }
    let path = path_of(bytes);
    let Some(reference) = guarded(|| compat::open(&path)) else { return };
    let own = own_tensors(own);
    for tensor in reference.tensors() {
        let Some(known) = own.get(tensor.name()) else { continue };
        let Some(part) = guarded(|| tensor.data()) else { continue };
        let Some(data) = guarded(|| part.bytes()) else { continue };
        // Types that they store as bytes with a layout are types in our library.
        let layout = tensor.layout().strip_suffix("/1");
        let dtype = layout.or(part.logical()).unwrap_or(part.dtype().as_str());
        assert_eq!((known.dtype.as_str(), &known.shape[..]), (dtype, tensor.shape()), "{:?}", tensor.name());
        assert!(known.bytes == *data, "{:?}: different bytes", tensor.name());
    }
}

/// The npyz crate, on every member of an archive, or on a single array.
pub fn compare_npyz(bytes: &[u8], own: &File) {
    if !is_small(own) {
        return;
    }
    let own = own_tensors(own);
    if bytes.starts_with(b"\x93NUMPY") {
        own.values().for_each(|tensor| same_array(bytes, tensor));
        return;
    }
    let Some(mut archive) = guarded(|| zip::ZipArchive::new(Cursor::new(bytes))) else { return };
    for (name, tensor) in &own {
        let mut data = Vec::new();
        let read = guarded(|| {
            let member = archive.by_name(&format!("{name}.npy"))?;
            member.take(MOST).read_to_end(&mut data).map_err(zip::result::ZipError::Io)
        });
        if read.is_some() {
            same_array(&data, tensor);
        }
    }
}

fn same_array(member: &[u8], own: &Tensor) {
    use npyz::{DType, NpyFile, Order};
    let Some(file) = guarded(|| NpyFile::new(member)) else { return };
    let DType::Plain(descr) = file.dtype() else { return };
    assert_eq!(file.shape(), own.shape);
    // The elements of the others are in a different order than in this library.
    if file.order() != Order::C {
        return;
    }
    let descr = descr.to_string();
    macro_rules! read {
        ($type:ty) => {
            guarded(|| file.into_vec::<$type>()).map(|all| all.iter().flat_map(|n| n.to_le_bytes()).collect())
        };
    }
    let bytes: Option<Vec<u8>> = match descr.trim_start_matches(['<', '>', '|', '=']) {
        "f4" => read!(f32),
        "f8" => read!(f64),
        "i1" => read!(i8),
        "i2" => read!(i16),
        "i4" => read!(i32),
        "i8" => read!(i64),
        "u1" => read!(u8),
        "u2" => read!(u16),
        "u4" => read!(u32),
        "u8" => read!(u64),
        _ => return,
    };
    let name = own.dtype.replace("64", "8").replace("32", "4").replace("16", "2");
    assert_eq!(descr[1..].replace("i1", "i8").replace("u1", "u8"), name);
    if let Some(bytes) = bytes {
        assert!(bytes == own.bytes, "{descr}: different bytes");
    }
}

/// Candle's readers: only positions of tensors, because they read bytes of GGUF only on request.
#[cfg(feature = "candle")]
pub mod candle {
    use super::{is_small, own_dtype, path_of};
    use crate::guarded::guarded;
    use candle_core::quantized::gguf_file::Content;
    use std::io::Cursor;
    use ztensor::reader::File;

    /// GGUF: little-endian files; candle does not support others.
    pub fn compare_gguf(bytes: &[u8], own: &File) {
        let Some(reference) = guarded(|| Content::read(&mut Cursor::new(bytes))) else { return };
        assert_eq!(reference.tensor_infos.len(), own.object_count());
        for (name, info) in &reference.tensor_infos {
            // Names that are not UTF-8 are different in candle.
            let Some(object) = own.find(name) else { continue };
            let component = object.component("data").expect("one component");
            let shape: Vec<u64> = info.shape.dims().iter().map(|n| *n as u64).collect();
            let type_name =
                format!("{:?}", info.ggml_dtype).to_lowercase().replace("k", "_k").replace("__", "_");
            let own_name = own_dtype(&component);
            assert_eq!(own_name.strip_prefix("gguf.").unwrap_or(&own_name), type_name, "{name:?}");
            assert_eq!(object.shape(), shape, "{name:?}");
            assert_eq!(component.offset(), reference.tensor_data_offset + info.offset, "{name:?}");
        }
    }

    /// Checkpoints: dtype and shape of tensors that both name.
    pub fn compare_torch(bytes: &[u8], own: &File) {
        if !is_small(own) {
            return;
        }
        let path = path_of(bytes);
        let Some(reference) = guarded(|| candle_core::pickle::read_pth_tensor_info(&path, false, None))
        else {
            return;
        };
        for info in reference {
            let Some(object) = own.find(&info.name) else { continue };
            let Some(component) = object.component("data").filter(|c| c.load().is_ok()) else { continue };
            let shape: Vec<u64> = info.layout.dims().iter().map(|n| *n as u64).collect();
            assert_eq!(
                (own_dtype(&component).as_str(), object.shape()),
                (info.dtype.as_str(), &shape[..]),
                "{:?}",
                info.name
            );
        }
    }
}
