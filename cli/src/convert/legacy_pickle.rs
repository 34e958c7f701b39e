//! Checkpoints of PyTorch before 1.6: a magic number, a version and facts of the system, the object, the keys
//! of its storages, each a pickle, then the storages' bytes.
//!
//! The same object is the pickle of today's archives. So it is put into one, in a temporary file, with a
//! member for each storage, and the library opens that with all its rules. Here nothing is called and nothing
//! is built: pickles are passed over, and of the object only the persistent ids of storages are looked at, as
//! a storage says how many elements it has, but not of how many bytes.

use super::zip::{central, end, local, Member};
use crate::failure::{Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::temporary::without_name;
use std::collections::HashMap;
use std::fs::File as SystemFile;
use std::io::{BufReader, Error, ErrorKind, Read, Result, Seek, SeekFrom, Write};
use std::path::Path;
use ztensor::reader::{File, OpenOptions};

/// The number that such a file begins with, as a pickle.
pub const MAGIC: &[u8] = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.";
/// The most bytes of one pickled object.
const MAX_PICKLED_SIZE: usize = 1 << 26;
/// The most entries of its memo.
const MAX_NAMES: usize = 1 << 20;
/// Neither a class nor the key of a storage has more bytes.
const LONGEST_NAME: usize = 255;
/// Fields of a persistent id.
const FIELDS: usize = 6;

/// Opens one.
pub fn open(path: &Path, interrupt: &Interrupt) -> Outcome<File> {
    let at = |e: Error| Failure::at(path, e);
    let mut archive = without_name().map_err(at)?;
    let continues = || interrupt.check().is_ok();
    let written = SystemFile::open(path).and_then(|file| to_archive(file, &mut archive, &continues));
    interrupt.check()?; // why it failed, if a signal stopped it
    written.map_err(at)?;
    let options = OpenOptions { name: Some(path.display().to_string()), ..OpenOptions::default() };
    File::open_file(archive, 0, u64::MAX, &options).map_err(|e| Failure::at(path, e))
}

fn wrong(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidData, what.into())
}

/// What a value of a pickle is, as far as it matters here.
#[derive(Clone, PartialEq)]
enum Item {
    Text(Vec<u8>),
    /// The name of a class or function, without its module.
    Global(Vec<u8>),
    None,
    Other,
}

/// What was found out about a pickle.
#[derive(Default)]
struct Pickle {
    /// Its bytes, without the sixth field of persistent ids, which is None.
    bytes: Vec<u8>,
    /// Bytes of an element, of each storage by its key.
    element_sizes: HashMap<Vec<u8>, u64>,
    /// Its texts, in order.
    texts: Vec<Vec<u8>>,
}

/// Passes over a pickle.
struct Scan<'r, R> {
    from: &'r mut R,
    pickle: Pickle,
    memo: HashMap<usize, Item>,
    /// What was pushed since the last mark, and where in the bytes.
    since_mark: Vec<(Item, usize)>,
    last: Item,
}

impl<R: Read> Scan<'_, R> {
    /// Takes bytes over; gives them.
    fn take(&mut self, size: usize) -> Result<&[u8]> {
        let start = self.pickle.bytes.len();
        if size > MAX_PICKLED_SIZE - start.min(MAX_PICKLED_SIZE) {
            return Err(wrong(format!("a pickle has more than {MAX_PICKLED_SIZE} bytes")));
        }
        let read = self.from.by_ref().take(size as u64).read_to_end(&mut self.pickle.bytes)?;
        match read == size {
            true => Ok(&self.pickle.bytes[start..]),
            false => Err(wrong("the file ends within a pickle")),
        }
    }

    fn number(&mut self, width: usize) -> Result<usize> {
        let number = self.take(width)?.iter().rev().fold(0u64, |n, byte| n << 8 | u64::from(*byte));
        usize::try_from(number).map_err(|_| wrong("a number of a pickle leaves the address space"))
    }

    fn line(&mut self) -> Result<Vec<u8>> {
        let mut line = Vec::new();
        loop {
            match self.take(1)?[0] {
                b'\n' => return Ok(line),
                byte => line.push(byte),
            }
        }
    }

    fn push(&mut self, item: Item, start: usize) {
        self.last = item.clone();
        // One item more than there are fields is kept, which shows that there are too many.
        if self.since_mark.len() <= FIELDS {
            self.since_mark.push((item, start));
        }
    }

    fn text(&mut self, size: usize, start: usize) -> Result<()> {
        let text = self.take(size)?;
        let item = if text.len() <= LONGEST_NAME { Item::Text(text.to_vec()) } else { Item::Other };
        if let (Item::Text(text), true) = (&item, self.pickle.texts.len() < MAX_NAMES) {
            self.pickle.texts.push(text.clone());
        }
        self.push(item, start);
        Ok(())
    }

    fn put(&mut self, key: usize) -> Result<()> {
        match &self.last {
            Item::Other => drop(self.memo.remove(&key)),
            _ if self.memo.len() >= MAX_NAMES => {
                return Err(wrong(format!("a pickle has more than {MAX_NAMES} names")))
            }
            named => drop(self.memo.insert(key, named.clone())),
        }
        Ok(())
    }

    fn get(&mut self, key: usize, start: usize) {
        let item = self.memo.get(&key).cloned();
        self.push(item.unwrap_or(Item::Other), start);
    }

    /// The fields of the persistent id that was just pushed; keeps the size of the storage's elements.
    fn storage(&mut self, tuple: &[(Item, usize)]) -> Result<()> {
        let [(Item::Text(mark), _), (Item::Global(class), _), (Item::Text(key), _), _, _, view @ ..] = tuple
        else {
            return Err(wrong("a persistent id is not that of a storage"));
        };
        match view {
            [] => {}
            [(Item::None, at)] => drop(self.pickle.bytes.remove(*at)),
            _ => {
                return Err(wrong(
                    "a storage is a view of another one, as PyTorch 0.3 saved them, which is not read",
                ))
            }
        }
        let class_name = String::from_utf8_lossy(class);
        let size = element_size(&class_name)
            .filter(|_| mark == b"storage")
            .ok_or_else(|| wrong(format!("storages of the class {class_name:?} are not read")))?;
        match self.pickle.element_sizes.insert(key.clone(), size) {
            Some(other) if other != size => Err(wrong("a storage is there with two classes")),
            _ => Ok(()),
        }
    }

    fn passed_over(mut self) -> Result<Pickle> {
        let (mut tuple, mut memoized) = (Vec::new(), 0);
        loop {
            let start = self.pickle.bytes.len();
            let opcode = self.take(1)?[0];
            match opcode {
                b'.' => return Ok(self.pickle),
                b'(' => self.since_mark.clear(),
                b'N' => self.push(Item::None, start),
                b'X' | b'T' | b'B' => {
                    let size = self.number(4)?;
                    self.text(size, start)?;
                }
                b'U' | b'C' | 0x8c => {
                    let size = self.number(1)?;
                    self.text(size, start)?;
                }
                b'c' => {
                    self.line()?;
                    let name = self.line()?;
                    let item = if name.len() <= LONGEST_NAME { Item::Global(name) } else { Item::Other };
                    self.push(item, start);
                }
                b'q' => self.number(1).and_then(|key| self.put(key))?,
                b'r' => self.number(4).and_then(|key| self.put(key))?,
                0x94 => {
                    self.put(memoized)?;
                    memoized += 1;
                }
                b'h' => {
                    let key = self.number(1)?;
                    self.get(key, start);
                }
                b'j' => {
                    let key = self.number(4)?;
                    self.get(key, start);
                }
                b't' => {
                    tuple = std::mem::take(&mut self.since_mark);
                    self.last = Item::Other;
                }
                b'Q' => {
                    self.storage(&std::mem::take(&mut tuple))?;
                    self.push(Item::Other, start);
                }
                _ => {
                    let size = match opcode {
                        b'K' | 0x80 => 1,
                        b'M' => 2,
                        b'J' => 4,
                        b'G' => 8,
                        0x8a => self.number(1)?,
                        0x8b => self.number(4)?,
                        // Without an argument: containers, calls, truth values.
                        b'0'
                        | b'1'
                        | b'2'
                        | b'R'
                        | b'a'
                        | b'b'
                        | b'd'
                        | b'e'
                        | b'l'
                        | b's'
                        | b'u'
                        | b'}'
                        | b']'
                        | b')'
                        | 0x81
                        | 0x85..=0x89 => 0,
                        _ => {
                            return Err(wrong(format!(
                                "a pickle has the opcode {opcode:#x}, which is not read"
                            )))
                        }
                    };
                    self.take(size)?;
                    self.push(Item::Other, start);
                }
            }
            if !matches!(opcode, b't' | b'q' | b'r' | 0x94) {
                tuple.clear(); // a persistent id stands right behind its tuple
            }
        }
    }
}

/// Bytes of an element of a class of storages.
fn element_size(class: &str) -> Option<u64> {
    Some(match class {
        "BoolStorage" | "ByteStorage" | "CharStorage" | "QInt8Storage" | "QUInt8Storage"
        | "UntypedStorage" => 1,
        "HalfStorage" | "BFloat16Storage" | "ShortStorage" => 2,
        "FloatStorage" | "IntStorage" | "QInt32Storage" => 4,
        "DoubleStorage" | "LongStorage" | "ComplexFloatStorage" => 8,
        "ComplexDoubleStorage" => 16,
        _ => return None,
    })
}

fn pickle(from: &mut impl Read) -> Result<Pickle> {
    let last = Item::Other;
    Scan { from, pickle: Pickle::default(), memo: HashMap::new(), since_mark: Vec::new(), last }.passed_over()
}

/// Writes a checkpoint as an archive.
fn to_archive(file: SystemFile, to: &mut SystemFile, continues: &dyn Fn() -> bool) -> Result<()> {
    let mut from = BufReader::with_capacity(1 << 20, file);
    for _ in ["magic number", "version", "system"] {
        pickle(&mut from)?;
    }
    let object = pickle(&mut from)?;
    let keys = pickle(&mut from)?.texts;
    let mut members = vec![
        add(to, b"archive/data.pkl", object.bytes.len() as u64, &mut &object.bytes[..], continues)?,
        add(to, b"archive/version", 2, &mut &b"3\n"[..], continues)?,
    ];
    for key in &keys {
        let shown = String::from_utf8_lossy(key);
        let each = object.element_sizes.get(key);
        let each =
            each.ok_or_else(|| wrong(format!("no tensor says of what class the storage {shown:?} is")))?;
        let mut count = [0; 8];
        from.read_exact(&mut count)?;
        let size = u64::from_le_bytes(count).checked_mul(*each);
        let size = size.filter(|size| i64::try_from(*size).is_ok());
        let size = size.ok_or_else(|| wrong(format!("the size of the storage {shown:?} leaves 63 bits")))?;
        members.push(add(to, &[b"archive/data/", &key[..]].concat(), size, &mut from, continues)?);
    }
    let directory = to.stream_position()?;
    members.iter().try_for_each(|member| to.write_all(&central(member)))?;
    let size = to.stream_position()? - directory;
    to.write_all(&end(members.len() as u64, directory, size))
}

/// Adds a member with the next bytes of `from`; its sum is entered afterwards.
fn add(
    to: &mut SystemFile,
    name: &[u8],
    size: u64,
    from: &mut dyn Read,
    continues: &dyn Fn() -> bool,
) -> Result<Member> {
    let mut member = Member { name: name.to_vec(), crc: 0, size, offset: to.stream_position()? };
    to.write_all(&local(&member))?;
    let (mut sum, mut left, mut chunk) = (crc32fast::Hasher::new(), size, vec![0; 1 << 16]);
    while left > 0 {
        let most = usize::try_from(left).map_or(chunk.len(), |left| left.min(chunk.len()));
        let read = from.read(&mut chunk[..most])?;
        if read == 0 || !continues() {
            return Err(wrong(format!("the file ends {left} bytes before a storage does")));
        }
        sum.update(&chunk[..read]);
        to.write_all(&chunk[..read])?;
        left -= read as u64;
    }
    let next = to.stream_position()?;
    member.crc = sum.finalize();
    to.seek(SeekFrom::Start(member.offset))?;
    to.write_all(&local(&member))?;
    to.seek(SeekFrom::Start(next))?;
    Ok(member)
}
