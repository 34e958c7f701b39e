//! An unknown item does not spoil the rest of a file, in any container. The files have several items. Some
//! are unknown, in one of the ways of a table. All others are read with the right bytes. The unknown ones are
//! listed. Reading one fails with UNSUPPORTED and a message with its type.

use ztensor::error::Cause;
use ztensor::reader::{File, Mode, OpenOptions, VerifyOptions, VerifyReport};

/// An item: its name, its bytes (two floats), and the way in which it is unknown, or None.
struct Item {
    name: String,
    bytes: [u8; 8],
    wrong: Option<usize>,
}

/// A container: the ways in which an item may be unknown, with the type in the message, and the function that
/// writes a file.
struct Table {
    name: &'static str,
    types: &'static [&'static str],
    write: fn(&[Item]) -> Vec<u8>,
}

const TABLES: [Table; 4] = [
    Table {
        name: "npz",
        types: &[
            "numpy.<f1",
            "numpy.|O",
            "numpy.<U2",
            "numpy.<M8[s]",
            "numpy.[('a', '<f4'), ('b', '<f4')]",
            "numpy.float32",
            "npy.version-9.0",
            "npz.not_an_array",
            "zip.bzip2",
            "zip.lzma",
            "zip.zstd",
            "zip.method-77",
            "zip.encrypted",
            "zip.flags-0x20",
        ],
        write: npz,
    },
    Table {
        name: "safetensors",
        types: &[
            "safetensors.F128",
            "safetensors.f32",
            "safetensors.",
            "safetensors.F8_NEW",
            "safetensors.\u{e9}",
        ],
        write: safetensors,
    },
    Table {
        name: "GGUF",
        types: &[
            "ggml.4", "ggml.5", "ggml.31", "ggml.32", "ggml.33", "ggml.36", "ggml.37", "ggml.38", "ggml.200",
        ],
        write: gguf,
    },
    Table {
        name: "PyTorch",
        types: &[
            "torch.quantized",
            "torch.cuda.FloatStorage",
            "torch.NewStorage",
            "torch._utils._rebuild_new",
            "torch.subclass",
            "torch.sparse",
            "torch.meta",
            "zip.bzip2",
            "zip.encrypted",
        ],
        write: torch,
    },
];

#[test]
fn unknown_items_are_listed_and_the_rest_is_read() {
    let mut seed = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = move |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed >> 33) as usize % below
    };
    for table in &TABLES {
        // First each way alone, then random combinations.
        for round in 0..table.types.len() + 60 {
            let items: Vec<Item> = (0..1 + random(6))
                .map(|at| {
                    let wrong = match table.types.get(round) {
                        Some(_) if at == 0 => Some(round),
                        Some(_) => None,
                        None => Some(random(table.types.len())).filter(|_| random(2) == 0),
                    };
                    let bytes = std::array::from_fn(|_| random(256) as u8 & 0x3f);
                    Item { name: format!("item.{at}"), bytes, wrong }
                })
                .collect();
            check(table, &items);
        }
    }
}

fn check(table: &Table, items: &[Item]) {
    let file = (table.write)(items);
    let wanted: Vec<_> = items.iter().map(|item| item.wrong.map(|at| table.types[at])).collect();
    let what = format!("{}: {wanted:?}", table.name);
    let path = std::env::temp_dir().join(format!("zt-not-understood-{}", std::process::id()));
    std::fs::write(&path, &file).unwrap();
    let read = OpenOptions { mode: Mode::Read, ..OpenOptions::default() };
    let files = [File::open_memory(file, &OpenOptions::default()), File::open(&path, &read)];
    for file in files {
        let file = file.unwrap_or_else(|e| panic!("{what}: {e}"));
        assert_eq!(file.container().name(), table.name);
        assert_eq!(file.object_count(), items.len(), "{what}");
        for item in items {
            let object = file.find(&item.name).unwrap_or_else(|| panic!("{what}: {:?} is lost", item.name));
            let data = object.component("data").unwrap();
            let mut bytes = [0; 8];
            match item.wrong.map(|at| table.types[at]) {
                None => {
                    data.read(&mut bytes).unwrap_or_else(|e| panic!("{what}: {e}"));
                    assert_eq!(bytes, item.bytes, "{what}");
                }
                Some(kind) => {
                    assert_eq!(data.dtype_name(), kind, "{what}");
                    let failures =
                        [data.read(&mut bytes).unwrap_err(), data.load().map(drop).unwrap_err(), {
                            object.tensor_view().map(drop).unwrap_err()
                        }];
                    for e in failures {
                        assert_eq!(e.cause(), Cause::Unsupported, "{what}: {e}");
                    }
                    let e = data.read(&mut bytes).unwrap_err();
                    assert!(e.message().contains(kind), "{what}: {e}");
                    assert!(e.message().contains(&item.name), "{what}: {e}");
                }
            }
        }
        // Verification finds no damage. It may report that it could not check everything.
        let mut report = VerifyReport::default();
        if let Err(e) = file.verify(&VerifyOptions::default(), &|_, _| true, &mut report) {
            assert_eq!(e.cause(), Cause::Unsupported, "{what}: {e}");
        }
    }
    std::fs::remove_file(path).unwrap();
}

/// A member of an archive: name, bytes, flags, method.
type Member = (String, Vec<u8>, u16, u16);

fn zip(members: &[Member]) -> Vec<u8> {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for (name, bytes, flags, method) in members {
        let mut sum = crc32fast::Hasher::new();
        sum.update(bytes);
        let (offset, size) = (out.len() as u32, bytes.len() as u32);
        let fields = |to: &mut Vec<u8>| {
            to.extend([flags.to_le_bytes(), method.to_le_bytes(), [0; 2], [0; 2]].concat());
            to.extend([sum.clone().finalize(), size, size].map(u32::to_le_bytes).concat());
            to.extend([name.len() as u16, 0].map(u16::to_le_bytes).concat());
        };
        out.extend(b"PK\x03\x04\x14\0");
        fields(&mut out);
        out.extend(name.as_bytes());
        out.extend(bytes);
        directory.extend(b"PK\x01\x02\x14\0\x14\0");
        fields(&mut directory);
        directory.extend([0; 10]);
        directory.extend(offset.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let (start, count) = (out.len() as u32, members.len() as u16);
    out.extend(&directory);
    out.extend(b"PK\x05\x06\0\0\0\0");
    out.extend([count, count].map(u16::to_le_bytes).concat());
    out.extend([directory.len() as u32, start].map(u32::to_le_bytes).concat());
    out.extend([0, 0]);
    out
}

/// The flags and the method of a member, with unsupported ones for an unknown item.
fn stored_as(kind: &str) -> (u16, u16) {
    match kind {
        "zip.bzip2" => (0, 12),
        "zip.lzma" => (2, 14),
        "zip.zstd" => (0, 93),
        "zip.method-77" => (0, 77),
        "zip.encrypted" => (1, 0),
        "zip.flags-0x20" => (0x20, 0),
        _ => (0, 0),
    }
}

fn npz(items: &[Item]) -> Vec<u8> {
    let members = items.iter().map(|item| {
        let kind = item.wrong.map_or("", |at| TABLES[0].types[at]);
        let (descr, count) = match kind.strip_prefix("numpy.") {
            Some(text) if text.starts_with('[') => (text.to_owned(), 1),
            Some(text) => (format!("'{text}'"), 1),
            None => (String::from("'<f4'"), 2),
        };
        let text = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': ({count},)}}");
        let version = if kind == "npy.version-9.0" { 9 } else { 1 };
        let header =
            [b"\x93NUMPY", &[version, 0][..], &(text.len() as u16).to_le_bytes(), text.as_bytes()].concat();
        let bytes = match kind {
            "npz.not_an_array" => b"\0\x05\x16\x07 resource fork".to_vec(),
            _ => [&header[..], &item.bytes].concat(),
        };
        let (flags, method) = stored_as(kind);
        // Arrays without the suffix are also arrays.
        let suffix = if item.wrong.is_none() && item.bytes[0] % 2 == 0 { "" } else { ".npy" };
        (format!("{}{suffix}", item.name), bytes, flags, method)
    });
    let folder = (String::from("folder/"), Vec::new(), 0, 0);
    zip(&members.chain([folder]).collect::<Vec<_>>())
}

fn safetensors(items: &[Item]) -> Vec<u8> {
    let entries = items.iter().enumerate().map(|(at, item)| {
        let kind = item.wrong.map_or("safetensors.F32", |at| TABLES[1].types[at]);
        let dtype = kind.strip_prefix("safetensors.").unwrap();
        let (begin, end) = (at * 8, at * 8 + 8);
        format!(r#""{}":{{"dtype":"{dtype}","shape":[2],"data_offsets":[{begin},{end}]}}"#, item.name)
    });
    let header = format!(r#"{{"__metadata__":null,{}}}"#, entries.collect::<Vec<_>>().join(","));
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.as_bytes());
    items.iter().for_each(|item| file.extend(item.bytes));
    file
}

fn gguf(items: &[Item]) -> Vec<u8> {
    let mut file = b"GGUF\x03\0\0\0".to_vec();
    file.extend([items.len() as u64, 0].map(u64::to_le_bytes).concat());
    for (at, item) in items.iter().enumerate() {
        let kind = item.wrong.map_or("0", |at| TABLES[2].types[at].strip_prefix("ggml.").unwrap());
        file.extend((item.name.len() as u64).to_le_bytes());
        file.extend(item.name.as_bytes());
        file.extend(1u32.to_le_bytes());
        file.extend(2u64.to_le_bytes());
        file.extend(kind.parse::<u32>().unwrap().to_le_bytes());
        file.extend((at as u64 * 32).to_le_bytes());
    }
    for item in items {
        file.resize(file.len().next_multiple_of(32), 0);
        file.extend(item.bytes);
    }
    file
}

/// A checkpoint with a flat dict that contains a value of a foreign class.
fn torch(items: &[Item]) -> Vec<u8> {
    zip(&torch_members(items))
}

/// The checkpoint's members, the pickle last.
fn torch_members(items: &[Item]) -> Vec<Member> {
    let text = |text: &str| [b"X", &(text.len() as u32).to_le_bytes()[..], text.as_bytes()].concat();
    let global = |module: &str, name: &str| format!("c{module}\n{name}\n").into_bytes();
    let mut pickle = b"\x80\x02}(".to_vec();
    let mut members = Vec::new();
    for (at, item) in items.iter().enumerate() {
        let kind = item.wrong.map_or("", |at| TABLES[3].types[at]);
        let class = match kind {
            "torch.quantized" => global("torch", "QInt8Storage"),
            "torch.cuda.FloatStorage" => global("torch.cuda", "FloatStorage"),
            "torch.NewStorage" => global("torch", "NewStorage"),
            _ => global("torch", "FloatStorage"),
        };
        let key = at.to_string();
        let storage = [b"(", &text("storage")[..], &class, &text(&key), &text("cpu"), b"K\x02tQ"].concat();
        let view = [b"(", &storage[..], b"K\0K\x02\x85K\x01\x85\x89}t"].concat();
        let rebuild = |function: &str| global("torch._utils", function);
        pickle.extend(text(&item.name));
        pickle.extend(match kind {
            "torch.subclass" => [
                &global("torch._tensor", "_rebuild_from_type_v2")[..],
                b"(",
                &rebuild("_rebuild_tensor_v2"),
                &global("my", "Tensor"),
                &view,
                b"}tR",
            ]
            .concat(),
            "torch._utils._rebuild_new" => [&rebuild("_rebuild_new")[..], &view, b"R"].concat(),
            "torch.sparse" => [&rebuild("_rebuild_sparse_tensor")[..], b"N", b"K\x02\x85\x85\x86R"].concat(),
            "torch.meta" => [
                &rebuild("_rebuild_meta_tensor_no_storage")[..],
                b"(",
                &global("torch", "float32"),
                b"K\x02\x85K\x01\x85\x89tR",
            ]
            .concat(),
            _ => [&rebuild("_rebuild_tensor_v2")[..], &view, b"R"].concat(),
        });
        let (flags, method) = stored_as(kind);
        members.push((format!("m/data/{key}"), item.bytes.to_vec(), flags, method));
    }
    pickle.extend(text("args"));
    pickle.extend([&global("argparse", "Namespace")[..], b")\x81}", &text("lr")[..], b"K\x01sb"].concat());
    pickle.extend(b"u.");
    members.push((String::from("m/data.pkl"), pickle, 0, 0));
    members
}

/// Names in a checkpoint are bytes: Python writes a lone surrogate as three bytes that are not UTF-8.
#[test]
fn a_name_that_is_not_utf8_is_found_by_its_bytes() {
    let item = |name: &str, byte| Item { name: name.to_owned(), bytes: [byte; 8], wrong: None };
    let mut members = torch_members(&[item("a\u{d7ff}b", 1), item("other", 2)]);
    let pickle = &mut members.last_mut().unwrap().1;
    let at = pickle.windows(3).position(|window| window == "\u{d7ff}".as_bytes()).unwrap();
    pickle[at..at + 3].copy_from_slice(b"\xed\xa0\x80");
    let file = File::open_memory(zip(&members), &OpenOptions::default()).unwrap();
    for (name, byte) in [(&b"a\xed\xa0\x80b"[..], 1), (b"other", 2)] {
        let object = file.object(file.find_position(name).unwrap()).unwrap();
        assert_eq!(object.name_bytes(), name);
        let mut bytes = [0; 8];
        object.component("data").unwrap().read(&mut bytes).unwrap();
        assert_eq!(bytes, [byte; 8]);
    }
    assert!(file.find("a\u{d7ff}b").is_none());
}

#[test]
fn names_that_clash_are_marked() {
    // The second of "a" and "a.npy" is marked.
    let text = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}";
    let array = |byte: u8| {
        [b"\x93NUMPY\x01\0", &(text.len() as u16).to_le_bytes()[..], text.as_bytes(), &[byte; 8]].concat()
    };
    let file =
        zip(&[("a".into(), array(1), 0, 0), ("a.npy".into(), array(2), 0, 0), ("b".into(), array(3), 0, 0)]);
    let file = File::open_memory(file, &OpenOptions::default()).unwrap();
    assert_eq!(file.objects().map(|object| object.name()).collect::<Vec<_>>(), ["a", "a#2", "b"]);
    let mut bytes = [0; 8];
    file.find("a#2").unwrap().component("data").unwrap().read(&mut bytes).unwrap();
    assert_eq!(bytes, [2; 8]);
}

#[test]
fn bytes_behind_the_content_are_passed_over_where_that_is_allowed() {
    let items: Vec<Item> =
        (0..3u8).map(|at| Item { name: format!("item.{at}"), bytes: [at; 8], wrong: None }).collect();
    let single = {
        let text = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}";
        [b"\x93NUMPY\x01\0", &(text.len() as u16).to_le_bytes()[..], text.as_bytes(), &[7; 8]].concat()
    };
    let whole = [npz(&items), safetensors(&items), torch(&items), single];
    for file in whole {
        for behind in [
            &b"\0"[..],
            b"PK\x05\x06",
            &[0; 100],
            &[b'x'; 200_000],
            b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
        ] {
            let longer = [&file[..], behind].concat();
            let open = |allow_trailing| {
                File::open_memory(longer.clone(), &OpenOptions { allow_trailing, ..OpenOptions::default() })
            };
            let is_an_archive = file.starts_with(b"PK") && behind.len() == 22;
            if is_an_archive {
                continue; // ends like an archive without members
            }
            let e = open(false).unwrap_err();
            assert!(matches!(e.cause(), Cause::Broken(_)), "{e}");
            assert!(e.message().contains("zt convert --allow-trailing"), "{e}");
            let rescued = open(true).unwrap_or_else(|e| panic!("{} bytes behind: {e}", behind.len()));
            for object in rescued.objects() {
                let mut bytes = [0; 8];
                object.component("data").unwrap().read(&mut bytes).unwrap();
                let due = object.name().strip_prefix("item.").map_or(7, |at| at.parse().unwrap());
                assert_eq!(bytes, [due; 8]);
            }
        }
    }
}
