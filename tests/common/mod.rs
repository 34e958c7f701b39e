//! Common code of the test programs: sample objects of every kind, files in memory, and temporary folders.
#![allow(dead_code)] // each program uses a part of it

pub mod byte_order;
pub mod content;
pub mod shards;
pub mod tree;
pub mod ztensor_2;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use ztensor::container::json;
use ztensor::error::{Result, Rule};
use ztensor::model::dtype::{Dtype, Logical};
use ztensor::model::manifest::{Encoding, Version};
use ztensor::model::value::Attributes;
use ztensor::reader::{Component, File, OpenOptions, VerifyOptions, VerifyReport};
use ztensor::sink::ByteSink;
use ztensor::source::ByteSource;
use ztensor::writer::{Algorithm, ComponentSpec, LogicalSpec, ObjectSpec, Writer, WriterOptions};

/// The three versions that can be written.
pub const VERSIONS: [Version; 3] = [Version::V0_1, Version::V1_1, Version::V1_2];
/// Every digest, and no digest.
pub const DIGESTS: [Option<Algorithm>; 3] = [None, Some(Algorithm::Crc32c), Some(Algorithm::Sha256)];

/// Options for a writer that writes a digest only if the call names one.
pub fn without_digests() -> WriterOptions {
    WriterOptions { usual_digest: false, ..WriterOptions::default() }
}

/// Every way to write a component's bytes.
pub fn encodings() -> Vec<Encoding> {
    Encoding::written().collect()
}

/// The path of a file or folder in the repository.
pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The `.zt` files of a folder of the corpus, sorted by name.
pub fn corpus(folder: &str) -> Vec<PathBuf> {
    let folder = repository("tests/data").join(folder);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|e| e.unwrap().path()).collect();
    files.retain(|p| p.extension().is_some_and(|e| e == "zt"));
    files.sort();
    assert!(!files.is_empty(), "{} has no .zt files", folder.display());
    files
}

/// The folders of the corpus with valid files.
pub const VALID: [&str; 5] = ["v0.1", "v1.0", "v1.1", "v1.2", "valid-odd"];

/// A new folder, which is removed with its contents.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new() -> Folder {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The sorted names of its entries.
    pub fn names(&self) -> Vec<String> {
        let names =
            std::fs::read_dir(&self.0).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Whether [`run_alone`] started this process.
pub fn is_alone() -> bool {
    std::env::var_os("ZT_ALONE").is_some()
}

/// Runs one test of this program in a separate process, which a shell starts after `prepare`. If the system
/// cannot start this program, as under an emulator, it prints that and does nothing.
#[cfg(target_os = "linux")]
pub fn run_alone(test: &str, prepare: &str) {
    use std::process::Command;
    let program = std::env::current_exe().unwrap();
    let listed = Command::new(&program).arg("--list").output().map(|output| output.stdout);
    if !String::from_utf8_lossy(&listed.unwrap_or_default()).contains(&format!("{test}: test")) {
        println!("{test}: skipped: this system cannot start this program");
        return;
    }
    let script = format!("{prepare} exec \"$0\" --exact {test}");
    let output = Command::new("sh").arg("-c").arg(script).arg(program).env("ZT_ALONE", "1").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{prepare} {test}: {text}");
}

/// Pseudo-random numbers, the same in every run (xorshift).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

/// `count` storage elements. The same arguments give the same elements. bools are 0 and 1.
pub fn elements(dtype: Dtype, count: usize) -> Vec<u8> {
    let mut random = Random(0x9e37_79b9 + dtype as u64);
    let most = if dtype == Dtype::Bool { 2 } else { 256 };
    (0..count * dtype.size()).map(|_| random.below(most) as u8).collect()
}

/// Bytes that zstd compresses moderately.
pub fn compressible(size: usize) -> Vec<u8> {
    let mut random = Random(41);
    (0..size).map(|at| if at % 7 < 4 { (at / 512) as u8 } else { random.below(16) as u8 }).collect()
}

/// The bytes of 64-bit numbers in the host's order.
pub fn numbers(values: &[u64]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_ne_bytes()).collect()
}

/// Every storage type alone, and every logical type of the spec on its storage type.
pub fn every_type() -> Vec<(Dtype, Option<Logical>)> {
    let plain = Dtype::ALL.map(|dtype| (dtype, None));
    let logical = Logical::ALL.into_iter().filter(|logical| logical.is_in_spec());
    let logical = logical.map(|logical| (logical.dtype(), Some(logical)));
    plain.into_iter().chain(logical).collect()
}

/// A component that a test writes or expects.
pub struct Part {
    pub role: &'static str,
    pub dtype: Dtype,
    pub logical: Option<Logical>,
    pub bytes: Vec<u8>,
}

/// An object that a test writes or expects. Its attributes are compact JSON.
pub struct Sample {
    pub name: String,
    pub format: &'static str,
    pub shape: Vec<u64>,
    pub attributes: &'static str,
    pub parts: Vec<Part>,
}

impl Part {
    pub fn spec(&self) -> ComponentSpec<'static> {
        let logical = self.logical.map(LogicalSpec::Known);
        ComponentSpec { logical, ..ComponentSpec::new(self.role, self.dtype) }
    }
}

impl Sample {
    pub fn dense(name: &str, dtype: Dtype, shape: &[u64], bytes: Vec<u8>) -> Sample {
        let parts = vec![Part { role: "data", dtype, logical: None, bytes }];
        Sample { name: String::from(name), format: "dense", shape: shape.to_vec(), attributes: "{}", parts }
    }

    pub fn spec(&self) -> ObjectSpec<'_> {
        ObjectSpec { name: &self.name, format: self.format, shape: &self.shape }
    }

    /// Whether a version can store it.
    pub fn can_be_said_in(&self, version: Version) -> bool {
        let known_to_1_1 = |logical: Logical| logical.name_in_1_1().is_some();
        match version {
            Version::V0_1 => self.format == "dense" && self.parts.iter().all(|p| p.logical.is_none()),
            Version::V2 => matches!(self.format, "dense" | "sparse_csr" | "sparse_coo"),
            Version::V1_1 => self.parts.iter().all(|p| p.logical.is_none_or(known_to_1_1)),
            _ => true,
        }
    }

    /// Writes it in one call.
    pub fn write(&self, writer: &mut Writer) -> Result<()> {
        let parts: Vec<_> = self.parts.iter().map(|p| (p.spec(), p.bytes.as_slice())).collect();
        writer.write_object(&self.spec(), pairs(self.attributes), &parts)
    }

    /// Writes it in pieces of 1, 2, 3, ... `most` bytes, and then from 1 again.
    pub fn stream(&self, writer: &mut Writer, most: usize) -> Result<()> {
        writer.begin(&self.spec(), pairs(self.attributes))?;
        for part in &self.parts {
            writer.component(&part.spec())?;
            let (mut rest, mut size) = (part.bytes.as_slice(), 0);
            while !rest.is_empty() {
                size = size % most + 1;
                let (now, later) = rest.split_at(size.min(rest.len()));
                writer.data(now)?;
                rest = later;
            }
        }
        writer.end()
    }
}

/// An object of each format. Its elements, values or scales have the given type.
pub fn every_format(dtype: Dtype, logical: Option<Logical>) -> Vec<Sample> {
    let named = logical.map_or(dtype.name(), Logical::name);
    let ratio = logical.map_or(1, Logical::ratio) as usize;
    let part = |role, count: usize| Part { role, dtype, logical, bytes: elements(dtype, count * ratio) };
    let index =
        |role, values: &[u64]| Part { role, dtype: Dtype::U64, logical: None, bytes: numbers(values) };
    let packed =
        Part { role: "packed_weight", dtype: Dtype::I32, logical: None, bytes: elements(Dtype::I32, 8) };
    let sample = |format, shape: &[u64], attributes, parts| {
        let name = format!("{format} of {named}");
        Sample { name, format, shape: shape.to_vec(), attributes, parts }
    };
    vec![
        sample("dense", &[3, 5], r#"{"unit":"m"}"#, vec![part("data", 15)]),
        sample(
            "sparse_csr",
            &[4, 6],
            "{}",
            vec![part("values", 5), index("indices", &[0, 5, 2, 1, 3]), index("indptr", &[0, 2, 2, 3, 5])],
        ),
        sample(
            "sparse_coo",
            &[3, 4, 2],
            "{}",
            vec![part("values", 3), index("coords", &[0, 1, 2, 3, 0, 1, 1, 1, 0])],
        ),
        sample(
            "quantized_group",
            &[4, 16],
            r#"{"bits":4,"group_size":8,"packing":"8_per_i32"}"#,
            vec![packed, part("scales", 8), part("zeros", 8)],
        ),
        sample(
            "block_mx",
            &[2, 1 << 40, 1 << 40],
            r#"{"block":32}"#,
            vec![
                part("mantissa", 7),
                Part { role: "exponent", dtype: Dtype::I8, logical: None, bytes: elements(Dtype::I8, 3) },
            ],
        ),
    ]
}

/// Tensors with sizes around 4096, the frame size of the tests.
pub fn tensors() -> Vec<Sample> {
    let sizes = [0, 1, 4095, 4096, 4097, 3 * 4096, 100_003];
    let dense =
        |size: usize| Sample::dense(&format!("t{size}"), Dtype::U8, &[size as u64], compressible(size));
    sizes.into_iter().map(dense).collect()
}

/// zstd in frames of 4096 bytes.
pub fn small_frames() -> WriterOptions {
    let digest = Some(Algorithm::Crc32c);
    WriterOptions {
        encoding: Encoding::Zstd,
        frame_size: 4096,
        digest,
        threads: 1,
        ..WriterOptions::default()
    }
}

/// The pairs of a JSON object.
pub fn pairs(text: &str) -> Attributes {
    let parsed = json::parse(text).unwrap();
    assert!(parsed.get().as_map().is_some(), "{text} is not a map");
    Attributes::of(Some(parsed.get())).unwrap()
}

/// A sink into memory that the test can read.
#[derive(Clone, Default)]
pub struct MemorySink(pub Arc<Mutex<Vec<u8>>>);

impl ByteSink for MemorySink {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(())
    }

    fn publish(&mut self) -> Result<()> {
        Ok(())
    }
}

/// A source that can only be read, like one with callbacks.
pub struct ReadOnly(pub Vec<u8>);

impl ByteSource for ReadOnly {
    fn size(&self) -> u64 {
        self.0.len() as u64
    }

    fn slice(&self, _range: std::ops::Range<u64>) -> Option<&[u8]> {
        None
    }

    fn read_at(&self, offset: u64, dst: &mut [u8]) -> Result<()> {
        let start = offset as usize;
        dst.copy_from_slice(&self.0[start..start + dst.len()]);
        Ok(())
    }
}

/// The file that `body` writes.
pub fn written(options: &WriterOptions, body: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let sink = MemorySink::default();
    let mut writer = Writer::to_sink(Box::new(sink.clone()), options).unwrap();
    body(&mut writer);
    let summary = writer.finish().unwrap();
    let bytes = std::mem::take(&mut *sink.0.lock().unwrap());
    assert_eq!(summary.file_size, bytes.len() as u64);
    bytes
}

/// The file with these samples.
pub fn file_of(options: &WriterOptions, samples: &[Sample]) -> Vec<u8> {
    written(options, |writer| samples.iter().for_each(|s| s.write(writer).unwrap()))
}

/// Opens a file in memory.
pub fn open(bytes: Vec<u8>) -> File {
    File::open_memory(Aligned::of(&bytes), &OpenOptions::default()).unwrap()
}

/// Bytes at a multiple of 64, like a mapping's.
pub struct Aligned {
    memory: Vec<u8>,
    start: usize,
}

impl Aligned {
    pub fn of(bytes: &[u8]) -> Aligned {
        let mut memory: Vec<u8> = Vec::with_capacity(bytes.len() + 63);
        let start = memory.as_ptr().align_offset(64);
        memory.resize(start, 0);
        memory.extend_from_slice(bytes);
        Aligned { memory, start }
    }
}

impl AsRef<[u8]> for Aligned {
    fn as_ref(&self) -> &[u8] {
        &self.memory[self.start..]
    }
}

/// Verifies everything, including padding.
pub fn verify(file: &File) -> Result<VerifyReport> {
    let mut report = VerifyReport::default();
    let options = VerifyOptions { padding: true, threads: 1, ..VerifyOptions::default() };
    file.verify(&options, &|_, _| true, &mut report).map(|()| report)
}

/// All decoded bytes.
pub fn read(component: &Component<'_>) -> Vec<u8> {
    let mut bytes = vec![0xaa; usize::try_from(component.size().unwrap()).unwrap()];
    component.read(&mut bytes).unwrap_or_else(|e| panic!("{e}"));
    bytes
}

/// The only component of a dense object.
pub fn data<'f>(file: &'f File, name: &str) -> Component<'f> {
    file.find(name).unwrap_or_else(|| panic!("no {name:?}")).component("data").unwrap()
}

/// The manifest's bytes of a file that this library wrote.
pub fn manifest_bytes(file: &[u8]) -> &[u8] {
    let padding = if file.starts_with(b"ZTEN0001") { 8 } else { 16 };
    let (front, tail) = file.split_at(file.len() - padding);
    let size = u64::from_le_bytes(tail[..8].try_into().unwrap()) as usize;
    &front[front.len() - size..]
}

/// A digest in the form that we promise, made without the library's code.
pub fn digest_text(algorithm: Algorithm, stored: &[u8]) -> String {
    use sha2::Digest as _;
    match algorithm {
        Algorithm::Crc32c => format!("crc32c:0x{:08X}", crc32c::crc32c(stored)),
        Algorithm::Sha256 => {
            let hash = sha2::Sha256::digest(stored);
            hash.iter().fold(String::from("sha256:"), |text, b| text + &format!("{b:02x}"))
        }
        Algorithm::Xxh3 => format!("xxh3:{:016x}", xxhash_rust::xxh3::xxh3_64(stored)),
    }
}

/// The broken rule of a failure.
pub fn rule<T: std::fmt::Debug>(result: Result<T>) -> Option<Rule> {
    result.expect_err("it did not fail").rule()
}

/// The page size of this system.
#[cfg(unix)]
pub fn page_size() -> u64 {
    // SAFETY: sysconf does not access memory.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as u64 }
}
