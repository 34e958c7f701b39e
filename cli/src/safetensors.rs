//! Safetensors files: mapped, read by the `safetensors` crate, their dtypes in the words of zTensor.

use memmap2::Mmap;
use safetensors::tensor::{Dtype as SafetensorsDtype, SafeTensorError};
use safetensors::SafeTensors;
use std::borrow::Cow;
use std::fs::File;
use std::path::Path;
use ztensor::model::dtype::{Dtype, Logical};

/// A mapped file.
pub struct Mapping(Mmap);

/// What the header says.
pub struct Header<'m> {
    /// `__metadata__`, sorted by key.
    pub metadata: Vec<(String, String)>,
    /// In the order of their bytes.
    pub tensors: Vec<Tensor<'m>>,
}

pub struct Tensor<'m> {
    pub name: String,
    pub dtype: Dtype,
    pub logical: Option<Logical>,
    pub shape: Vec<u64>,
    /// Its elements, little-endian.
    pub data: &'m [u8],
}

impl Mapping {
    pub fn open(path: &Path) -> std::io::Result<Mapping> {
        let file = File::open(path)?;
        // SAFETY: the mapping is only read. That nobody changes or cuts the file meanwhile is what
        // every program that maps its input has to ask of its user.
        #[allow(unsafe_code)]
        let map = unsafe { Mmap::map(&file)? };
        #[cfg(unix)]
        let _ = map.advise(memmap2::Advice::Sequential); // a hint: all goes well without
        Ok(Mapping(map))
    }

    pub fn header(&self) -> Result<Header<'_>, String> {
        let (_, header) = SafeTensors::read_metadata(&self.0).map_err(|e| explain(&self.0, &e))?;
        let tensors = SafeTensors::deserialize(&self.0).map_err(|e| e.to_string())?;
        let mut metadata: Vec<_> =
            header.metadata().iter().flatten().map(|(k, v)| (k.clone(), v.clone())).collect();
        metadata.sort_unstable();
        let mut tensors = tensors
            .iter()
            .map(|(name, view)| {
                let (dtype, logical) = from_safetensors_dtype(view.dtype())
                    .ok_or_else(|| unmapped(name, &view.dtype().to_string()))?;
                let shape = view.shape().iter().map(|d| *d as u64).collect();
                Ok(Tensor { name: name.to_owned(), dtype, logical, shape, data: view.data() })
            })
            .collect::<Result<Vec<_>, String>>()?;
        // Tensors without elements share their place with others: the name decides.
        tensors.sort_by(|a, b| (a.data.as_ptr(), &a.name).cmp(&(b.data.as_ptr(), &b.name)));
        Ok(Header { metadata, tensors })
    }

    /// These bytes will not be looked at again: they may leave this process's memory.
    pub fn forget(&self, bytes: &[u8]) {
        #[cfg(unix)]
        {
            let start = bytes.as_ptr().addr() - self.0.as_ptr().addr();
            // SAFETY: a mapping of a file that is only read; pages that go are read anew from the file.
            #[allow(unsafe_code)]
            let _ = unsafe {
                self.0.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, start, bytes.len())
            };
        }
        #[cfg(not(unix))]
        let _ = bytes;
    }
}

fn from_safetensors_dtype(dtype: SafetensorsDtype) -> Option<(Dtype, Option<Logical>)> {
    Some(match dtype {
        SafetensorsDtype::F64 => (Dtype::F64, None),
        SafetensorsDtype::F32 => (Dtype::F32, None),
        SafetensorsDtype::F16 => (Dtype::F16, None),
        SafetensorsDtype::BF16 => (Dtype::Bf16, None),
        SafetensorsDtype::I64 => (Dtype::I64, None),
        SafetensorsDtype::I32 => (Dtype::I32, None),
        SafetensorsDtype::I16 => (Dtype::I16, None),
        SafetensorsDtype::I8 => (Dtype::I8, None),
        SafetensorsDtype::U64 => (Dtype::U64, None),
        SafetensorsDtype::U32 => (Dtype::U32, None),
        SafetensorsDtype::U16 => (Dtype::U16, None),
        SafetensorsDtype::U8 => (Dtype::U8, None),
        SafetensorsDtype::BOOL => (Dtype::Bool, None),
        SafetensorsDtype::F8_E4M3 => (Dtype::U8, Some(Logical::F8E4m3fn)),
        SafetensorsDtype::F8_E5M2 => (Dtype::U8, Some(Logical::F8E5m2)),
        SafetensorsDtype::F8_E4M3FNUZ => (Dtype::U8, Some(Logical::F8E4m3fnuz)),
        SafetensorsDtype::F8_E5M2FNUZ => (Dtype::U8, Some(Logical::F8E5m2fnuz)),
        SafetensorsDtype::C64 => (Dtype::F32, Some(Logical::Complex64)),
        _ => return None, // elements of 4 and 6 bits, bare exponents
    })
}

fn unmapped(tensor: &str, dtype: &str) -> String {
    format!("tensor {tensor:?}: the dtype {dtype:?} has no counterpart in zTensor")
}

/// A dtype that the crate does not know makes the whole header unreadable to it: find the tensor.
fn explain(file: &[u8], error: &SafeTensorError) -> String {
    let header = file.first_chunk::<8>().map(|length| u64::from_le_bytes(*length));
    let end = header.and_then(|length| usize::try_from(length).ok()?.checked_add(8));
    let json = end.and_then(|end| serde_json::from_slice::<serde_json::Value>(file.get(8..end)?).ok());
    let known = |dtype: &str| serde_json::from_value::<SafetensorsDtype>(dtype.into()).is_ok();
    let tensors = json.as_ref().and_then(|json| json.as_object()).into_iter().flatten();
    let mut dtypes = tensors.filter_map(|(name, tensor)| Some((name, tensor.get("dtype")?.as_str()?)));
    match dtypes.find(|(_, dtype)| !known(dtype)) {
        Some((name, dtype)) => unmapped(name, dtype),
        None => format!("not a sound safetensors file: {error}"),
    }
}

/// What the writer takes: elements in this machine's byte order.
pub fn bytes_in_host_order(bytes: &[u8], width: usize) -> Cow<'_, [u8]> {
    if cfg!(target_endian = "little") || width == 1 {
        return Cow::Borrowed(bytes);
    }
    let mut turned = bytes.to_vec();
    turned.chunks_exact_mut(width).for_each(<[u8]>::reverse);
    Cow::Owned(turned)
}
