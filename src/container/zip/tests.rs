use super::directory::{Directory, Method, Unread};
use crate::container::frame::{InMemory, Limits};
use crate::error::{Cause, Result, Rule};
use crate::memory::Budget;

/// A member of an archive that the tests build: its name, its bytes, and the fields of its headers.
#[derive(Clone, Default)]
struct Made {
    name: &'static str,
    data: &'static [u8],
    flags: u16,
    method: u16,
    size: Option<u64>,
    local_extra: Vec<u8>,
    extra: Vec<u8>,
    descriptor: Vec<u8>,
}

fn made(name: &'static str, data: &'static [u8]) -> Made {
    Made { name, data, ..Made::default() }
}

fn numbers(out: &mut Vec<u8>, short: &[u16], long: &[u32]) {
    short.iter().for_each(|n| out.extend(n.to_le_bytes()));
    long.iter().for_each(|n| out.extend(n.to_le_bytes()));
}

/// The archive, and the offsets of its directory and its end record.
fn archive(members: &[Made]) -> (Vec<u8>, usize, usize) {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for member in members {
        let at = out.len() as u32;
        let (stored, crc32) = (member.data.len() as u32, 0x1234_5678);
        let size = member.size.map_or(stored, |size| size as u32);
        let local = if member.flags & 8 == 0 { [crc32, stored, size] } else { [0; 3] };
        out.extend(b"PK\x03\x04");
        numbers(&mut out, &[20, member.flags, member.method, 0, 0], &local);
        numbers(&mut out, &[member.name.len() as u16, member.local_extra.len() as u16], &[]);
        out.extend(member.name.as_bytes());
        out.extend(&member.local_extra);
        out.extend(member.data);
        out.extend(&member.descriptor);
        directory.extend(b"PK\x01\x02");
        numbers(&mut directory, &[20, 20, member.flags, member.method, 0, 0], &[crc32, stored, size]);
        numbers(&mut directory, &[member.name.len() as u16, member.extra.len() as u16, 0, 0, 0], &[0, at]);
        directory.extend(member.name.as_bytes());
        directory.extend(&member.extra);
    }
    let start = out.len();
    out.extend(&directory);
    let end = out.len();
    out.extend(b"PK\x05\x06");
    let count = members.len() as u16;
    numbers(&mut out, &[0, 0, count, count], &[directory.len() as u32, start as u32]);
    numbers(&mut out, &[0], &[]);
    (out, start, end)
}

fn two() -> (Vec<u8>, usize, usize) {
    archive(&[made("a", b"first"), made("b/c", b"second one")])
}

/// The names of the members, and their stored bytes.
fn read(bytes: &[u8]) -> Result<Vec<(String, Vec<u8>)>> {
    read_within(bytes, &Limits::default())
}

fn read_within(bytes: &[u8], limits: &Limits) -> Result<Vec<(String, Vec<u8>)>> {
    let mut input = InMemory::file(bytes);
    let budget = Budget::new(1 << 20);
    let mut directory = Directory::read(&mut input, limits, &budget)?;
    directory.visit(&mut input, 2, &budget, &mut |_, member, head| {
        assert_eq!(head, &bytes[member.data as usize..][..head.len()]);
        assert!(head.len() as u64 >= member.stored_size.min(2));
        Ok((member.stored_size == 3).then_some(3))
    })?;
    let found = directory.members.iter().map(|member| {
        let stored = member.stored();
        let name = String::from_utf8(directory.name(member).to_vec()).unwrap();
        (name, bytes[stored.start as usize..stored.end as usize].to_vec())
    });
    Ok(found.collect())
}

fn rule(bytes: &[u8]) -> Option<Rule> {
    read(bytes).unwrap_err().rule()
}

fn changed(at: usize, to: &[u8]) -> Vec<u8> {
    let (mut bytes, ..) = two();
    bytes[at..at + to.len()].copy_from_slice(to);
    bytes
}

#[test]
fn members_are_found_with_their_bytes() {
    let (bytes, ..) = two();
    let found = read(&bytes).unwrap();
    assert_eq!(found, [("a".into(), b"first".to_vec()), ("b/c".into(), b"second one".to_vec())]);
    assert_eq!(read(&archive(&[]).0).unwrap(), []);
    let three = archive(&[made("a", b"123")]).0;
    assert_eq!(read(&three).unwrap(), [("a".into(), b"123".to_vec())]);
}

#[test]
fn a_comment_ends_where_the_file_does() {
    let (mut bytes, _, end) = two();
    bytes[end + 20] = 3;
    bytes.extend(b"abc");
    assert_eq!(read(&bytes).unwrap().len(), 2);
    bytes.push(0);
    assert_eq!(rule(&bytes), Some(Rule::ZipEndRecord));
    let (mut bytes, _, end) = two();
    bytes[end + 20] = 4;
    bytes.extend(b"PK\x05\x06");
    assert_eq!(rule(&bytes), Some(Rule::ZipEndRecord));
}

#[test]
fn an_archive_that_was_cut_is_refused() {
    let (bytes, ..) = two();
    for size in 0..bytes.len() {
        assert_eq!(rule(&bytes[..size]), Some(Rule::ZipEndRecord), "{size}");
    }
}

#[test]
fn each_number_of_the_end_record_is_checked() {
    let (bytes, start, end) = two();
    let of = |at: usize, to: &[u8]| rule(&changed(end + at, to));
    assert_eq!(read(&changed(end + 4, &[1])).unwrap_err().cause(), Cause::Unsupported);
    assert_eq!(read(&changed(end + 6, &[1])).unwrap_err().cause(), Cause::Unsupported);
    assert_eq!(of(8, &[1]), Some(Rule::ZipEndRecord), "two numbers of members");
    assert_eq!(of(8, &[1, 0, 1, 0]), Some(Rule::ZipDirectory), "an entry is left");
    assert_eq!(of(8, &[3, 0, 3, 0]), Some(Rule::ZipEndRecord), "no room for three");
    assert_eq!(of(8, &[0, 9, 0, 9]), Some(Rule::ZipEndRecord));
    assert_eq!(of(12, &((end - start) as u32 + 1).to_le_bytes()), Some(Rule::ZipEndRecord));
    assert_eq!(of(16, &(start as u32 - 1).to_le_bytes()), Some(Rule::ZipEndRecord));
    assert_eq!(of(16, &[0xff; 4]), Some(Rule::ZipEndRecord), "no record of 64 bits");
    let few = Limits { objects: 1, ..Limits::default() };
    assert_eq!(read_within(&bytes, &few).unwrap_err().cause(), Cause::Limit);
    let short = Limits { manifest_size: 20, ..Limits::default() };
    assert_eq!(read_within(&bytes, &short).unwrap_err().cause(), Cause::Limit);
}

#[test]
fn as_many_members_as_16_bits_can_say_need_no_record_of_64_bits() {
    let names = (0..u16::MAX).map(|number| -> &'static str { number.to_string().leak() });
    let members: Vec<Made> = names.map(|name| made(name, b"")).collect();
    let (bytes, _, end) = archive(&members);
    let read = |bytes: &[u8]| {
        let budget = Budget::new(64 << 20);
        Directory::read(&mut InMemory::file(bytes), &Limits::default(), &budget)
            .map(|found| found.members.len())
    };
    assert_eq!(read(&bytes).unwrap(), 65_535);
    let (mut fewer, _, end_of_fewer) = archive(&members[1..]);
    fewer[end_of_fewer + 8..end_of_fewer + 12].copy_from_slice(&bytes[end + 8..end + 12]);
    assert_eq!(read(&fewer).unwrap_err().rule(), Some(Rule::ZipDirectory));
}

/// `two` with a 64-bit record and its locator, and the offset of the record.
fn wide(saturated: bool) -> (Vec<u8>, usize) {
    let (mut bytes, start, end) = two();
    let mut tail = bytes.split_off(end);
    bytes.extend(b"PK\x06\x06");
    bytes.extend(44u64.to_le_bytes());
    numbers(&mut bytes, &[45, 45], &[0, 0]);
    [2, 2, (end - start) as u64, start as u64].iter().for_each(|n| bytes.extend(n.to_le_bytes()));
    bytes.extend(b"PK\x06\x07");
    numbers(&mut bytes, &[], &[0]);
    bytes.extend((end as u64).to_le_bytes());
    numbers(&mut bytes, &[], &[1]);
    if saturated {
        tail[8..20].fill(0xff);
    }
    bytes.extend(tail);
    (bytes, end)
}

#[test]
fn a_record_of_64_bits_counts_and_agrees() {
    for saturated in [false, true] {
        let (bytes, at) = wide(saturated);
        assert_eq!(read(&bytes).unwrap().len(), 2);
        // Its size, members on this disk, members, directory size, directory offset; then the locator's
        // offset.
        for (field, shown) in [(4, true), (24, true), (32, true), (40, true), (48, true), (64, true)] {
            for high in [0, 7] {
                let mut bytes = bytes.clone();
                bytes[at + field + high] ^= 0x80;
                assert_eq!(read(&bytes).is_err(), shown, "{field}");
            }
        }
        for magic in [0, 56] {
            let mut bytes = bytes.clone();
            bytes[at + magic] = 0;
            assert_eq!(rule(&bytes), Some(Rule::ZipEndRecord), "{magic}");
        }
    }
}

#[test]
fn each_number_of_an_entry_is_checked() {
    let (bytes, start, _) = two();
    let of = |at: usize, to: &[u8]| rule(&changed(start + at, to));
    assert_eq!(of(0, b"PK\x01\x03"), Some(Rule::ZipDirectory));
    assert_eq!(read(&changed(start + 9, &[1 << 5])).unwrap_err().cause(), Cause::Unsupported, "a directory");
    assert_eq!(read(&changed(start + 34, &[1])).unwrap_err().cause(), Cause::Unsupported, "a disk");
    for (field, what) in [(8, 2), (10, 8), (16, 1)] {
        assert_eq!(of(field, &[what]), Some(Rule::ZipLocalHeader), "{field}: flags, method, CRC-32");
    }
    assert_eq!(of(20, &[4]), Some(Rule::ZipDirectory), "stored, but of two sizes");
    assert_eq!(of(20, &[4, 0, 0, 0, 4]), Some(Rule::ZipLocalHeader), "sizes");
    assert_eq!(of(20, &[0xff; 8]), Some(Rule::ZipDirectory), "sizes of 64 bits are missing");
    assert_eq!(of(20, &[0xf0; 8]), Some(Rule::ZipDirectory), "sizes pass the directory");
    assert_eq!(of(28, &[200]), Some(Rule::ZipDirectory), "a name that passes the directory");
    assert_eq!(of(42, &[1]), Some(Rule::ZipOverlap), "a byte later it reaches into the next");
    assert_eq!(of(42, &(start as u32).to_le_bytes()), Some(Rule::ZipDirectory));
    assert_eq!(of(46, b"z"), Some(Rule::ZipLocalHeader), "names");
    assert_eq!(of(46, b"\xff"), Some(Rule::ZipLocalHeader));
    let mut not_utf8 = bytes.clone();
    not_utf8[start + 9] = 8;
    not_utf8[start + 46] = 0xff;
    assert_eq!(rule(&not_utf8), Some(Rule::ZipName));
    assert_eq!(rule(&archive(&[made("a", b"1"), made("a", b"2")]).0), Some(Rule::NameDuplicate));
    let bomb = Made { method: 8, size: Some(2081), ..made("a", b"12") };
    assert_eq!(rule(&archive(std::slice::from_ref(&bomb)).0), Some(Rule::DeflateLength));
    assert!(read(&archive(&[Made { size: Some(2080), ..bomb }]).0).is_ok());
}

#[test]
fn each_number_of_a_local_header_is_checked() {
    for (at, to) in
        [(0, 0), (6, 2), (8, 8), (14, 1), (18, 1), (22, 1), (26, 2), (27, 200), (29, 200), (30, 0)]
    {
        assert_eq!(rule(&changed(at, &[to])), Some(Rule::ZipLocalHeader), "{at}");
    }
    // An extra field moves the data to where it does not fit.
    let (bytes, start, _) = two();
    let second = 30 + 1 + 5;
    assert_eq!(rule(&changed(second + 28, &[1])), Some(Rule::ZipLocalHeader));
    assert_eq!(start, bytes.len() - 22 - 46 - 46 - 4);
}

#[test]
fn no_two_members_share_bytes() {
    // The second entry describes a complete member inside the first member's data.
    let inner = archive(&[made("b", b"inside")]).0;
    let inner: &'static [u8] = inner[..37].to_vec().leak();
    let (mut bytes, start, _) = archive(&[made("a", inner), made("b", b"inside")]);
    let at = start + 46 + 1 + 42;
    bytes[at..at + 4].copy_from_slice(&31u32.to_le_bytes());
    assert_eq!(rule(&bytes), Some(Rule::ZipOverlap));
    let budget = Budget::new(1 << 20);
    let mut directory = Directory::read(&mut InMemory::file(&bytes), &Limits::default(), &budget).unwrap();
    let visited =
        directory.visit(&mut InMemory::file(&bytes), 2, &budget, &mut |_, _, _| panic!("before any is read"));
    assert_eq!(visited.unwrap_err().rule(), Some(Rule::ZipOverlap));
    // Two members may be in another order than in the directory.
    let (mut bytes, start, end) = archive(&[made("a", b"1"), made("b", b"2")]);
    let (first, second) = bytes[start..end].split_at_mut(47);
    first.swap_with_slice(second);
    assert_eq!(read(&bytes).unwrap().iter().map(|(name, _)| name.as_str()).collect::<String>(), "ba");
}

#[test]
fn sizes_of_64_bits_stand_in_extra_fields() {
    let item = |numbers: &[u64]| {
        let size = (numbers.len() as u16 * 8).to_le_bytes();
        [&[1, 0], &size[..], &numbers.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<_>>()].concat()
    };
    let wide = |local: &[u64], central: &[u64], padding: &[u8]| {
        let extra = |numbers: &[u64]| [&[9, 9, 2, 0, 7, 7], &item(numbers)[..], padding].concat();
        let member = Made { local_extra: extra(local), extra: extra(central), ..made("a", b"12345") };
        let (mut bytes, start, _) = archive(&[member]);
        bytes[18..26].fill(0xff);
        bytes[start + 20..start + 28].fill(0xff);
        read(&bytes)
    };
    assert_eq!(wide(&[5, 5], &[5, 5], &[]).unwrap()[0].1, b"12345");
    assert!(wide(&[5, 5], &[5, 5], &[0, 0, 0]).is_ok(), "padding");
    for (local, central) in [([5, 6], [5, 5]), ([5, 5], [5, 6]), ([6, 6], [5, 5]), ([5, 5], [u64::MAX; 2])] {
        assert!(wide(&local, &central, &[]).is_err());
    }
    assert!(wide(&[5], &[5, 5], &[]).is_err() && wide(&[5, 5], &[5], &[]).is_err(), "too few");
    assert!(wide(&[5, 5], &[5, 5], &item(&[5, 5])).is_err(), "twice");
    assert!(wide(&[5, 5], &[5, 5], &[9, 9, 3, 0]).is_err(), "an item that passes the end");
}

#[test]
fn what_stands_behind_the_data_agrees() {
    let of = |descriptor: &[u8]| {
        let member = Made { flags: 8, descriptor: descriptor.to_vec(), ..made("a", b"12345") };
        read(&archive(&[member, made("b", b"1")]).0).map_err(|e| e.rule())
    };
    let parts = |crc32: u32, sizes: [u32; 2]| [crc32, sizes[0], sizes[1]].map(u32::to_le_bytes).concat();
    let right = parts(0x1234_5678, [5, 5]);
    let long = [&right[..4], &5u64.to_le_bytes(), &5u64.to_le_bytes()].concat();
    for right in [&right, &long] {
        assert!(of(right).is_ok() && of(&[b"PK\x07\x08", &right[..]].concat()).is_ok());
    }
    for wrong in [parts(1, [5, 5]), parts(0x1234_5678, [5, 6]), parts(0x1234_5678, [6, 5]), vec![0; 5]] {
        assert_eq!(of(&wrong), Err(Some(Rule::ZipLocalHeader)));
    }
}

#[test]
fn each_method_has_its_name() {
    let unread = |number| Method::Unread(Unread::Method(number));
    let flagged = |flags| Method::Unread(Unread::Flags(flags));
    let encrypted = Method::Unread(Unread::Encrypted);
    for (flags, number, method, name) in [
        (0, 0, Method::Stored, ""),
        (0, 8, Method::Deflated, ""),
        (0, 9, unread(9), "zip.deflate64"),
        (0, 12, unread(12), "zip.bzip2"),
        (2, 14, unread(14), "zip.lzma"),
        (0, 93, unread(93), "zip.zstd"),
        (0, 95, unread(95), "zip.xz"),
        (0, 20, unread(20), "zip.method-20"),
        (1, 0, encrypted, "zip.encrypted"),
        (1, 99, encrypted, "zip.encrypted"),
        (1 << 6, 8, encrypted, "zip.encrypted"),
        (1 << 4, 0, flagged(16), "zip.flags-0x10"),
        (1 << 5, 8, flagged(32), "zip.flags-0x20"),
        (1 << 15, 0, flagged(1 << 15), "zip.flags-0x8000"),
    ] {
        let bytes = archive(&[Made { flags, method: number, ..made("a", b"12345") }, made("b", b"1")]).0;
        let directory =
            Directory::read(&mut InMemory::file(&bytes), &Limits::default(), &Budget::new(1 << 20)).unwrap();
        assert_eq!(directory.members[0].method(), method);
        assert_eq!(directory.members[1].method(), Method::Stored);
        if let Method::Unread(unread) = method {
            assert_eq!(unread.to_string(), name);
        }
        assert!(read(&bytes).is_ok());
    }
}
