//! Advice applies exactly to the given bytes: pages are released, also in a file that is inside a larger one.
#![cfg(target_os = "linux")]

use crate::common;

use common::{compressible, file_of, Folder, Sample};
use std::path::Path;
use ztensor::error::Cause;
use ztensor::model::dtype::Dtype;
use ztensor::reader::{Advice, Component, File, Mode, OpenOptions};
use ztensor::writer::WriterOptions;

const PAGE: u64 = 65536; // a multiple of every page size

/// The large objects together are smaller than a huge page, which the kernel maps and drops as one.
const SIZE: u64 = 256 << 10;

fn sample(name: &str, size: u64) -> Sample {
    Sample::dense(name, Dtype::U8, &[size], compressible(size as usize))
}

/// Three large objects on separate pages, and two that share a page.
fn samples() -> Vec<Sample> {
    vec![sample("x", SIZE), sample("y", SIZE), sample("z", (SIZE) + 5), sample("p", 100), sample("q", 100)]
}

fn bytes() -> Vec<u8> {
    let options = WriterOptions { large_alignment: PAGE, large_size: SIZE, ..WriterOptions::default() };
    file_of(&options, &samples())
}

fn open(path: &Path, mode: Mode) -> File {
    File::open(path, &OpenOptions { mode, ..OpenOptions::default() }).unwrap()
}

/// `bytes` with `before` other bytes before them and after them.
fn embedded(path: &Path, before: u64, bytes: &[u8], mode: Mode) -> File {
    let around = vec![0xa5; before as usize];
    std::fs::write(path, [&around, bytes, &around].concat()).unwrap();
    let file = std::fs::File::open(path).unwrap();
    File::open_file(file, before, bytes.len() as u64, &OpenOptions { mode, ..OpenOptions::default() })
        .unwrap()
}

fn data<'f>(file: &'f File, name: &str) -> Component<'f> {
    file.find(name).unwrap().component("data").unwrap()
}

/// The sum of a field of /proc/self/smaps over the mappings of a file that have a flag, in bytes.
fn of_mappings(path: &Path, field: &str, flag: &str) -> u64 {
    let (mut sum, mut its, mut is_its) = (0, 0, false);
    for line in std::fs::read_to_string("/proc/self/smaps").unwrap().lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if !words[0].ends_with(':') {
            is_its = line.ends_with(path.to_str().unwrap());
        } else if is_its && words[0].trim_end_matches(':') == field {
            its = 1024 * words[1].parse::<u64>().unwrap();
        } else if is_its && words[0] == "VmFlags:" && words.contains(&flag) {
            sum += its;
        }
    }
    sum
}

#[test]
fn a_release_gives_back_this_processs_pages_of_those_bytes() {
    let folder = Folder::new();
    for before in [0, 64, 4096, 3 * PAGE] {
        let path = folder.path(&format!("released{before}.zt"));
        let file = embedded(&path, before, &bytes(), Mode::Map);
        let touch =
            |name: &str| data(&file, name).borrow().unwrap().iter().map(|b| u64::from(*b)).sum::<u64>();
        let sums = ["x", "y", "z"].map(touch);
        let mapped = of_mappings(&path, "Rss", "rd");
        assert!(mapped >= 3 * SIZE, "{mapped}");
        data(&file, "y").advise(Advice::Release).unwrap();
        let left = of_mappings(&path, "Rss", "rd");
        let page = 4096.max(PAGE * u64::from(before % 4096 != 0)); // its first and last page are shared
        assert!(mapped - left <= SIZE, "{before}: {mapped} -> {left}: released a neighbour's pages");
        // The kernel may have mapped the bytes beside it with larger pages.
        assert!(mapped - left >= (SIZE) - 2 * page, "{before}: {mapped} -> {left}");
        assert_eq!(["x", "y", "z"].map(touch), sums);
    }
}

#[test]
fn pages_are_counted_from_the_start_of_the_larger_file() {
    let folder = Folder::new();
    let bytes = bytes();
    for mode in [Mode::Map, Mode::Read] {
        for before in [0, 64, 512, 4096 - 64, 4096, 5 * PAGE, 5 * PAGE + 4096] {
            let file = embedded(&folder.path("larger"), before, &bytes, mode);
            let system = common::page_size();
            for name in ["x", "y", "z", "p", "q"] {
                let component = data(&file, name);
                let (place, caps) = (before + component.offset(), component.caps());
                assert_eq!(caps.direct, place % 4096 == 0, "{before} {name}");
                let alone = ["x", "y"].contains(&name); // p begins where z ends
                let starts = place % system == 0;
                assert_eq!(caps.page_exclusive, starts && alone, "{before} {name}");
            }
        }
        // The last page also has the next bytes of the larger file.
        let last = [sample("only", SIZE)];
        let aligned = WriterOptions { alignment: PAGE, ..WriterOptions::default() };
        let mut small = file_of(&aligned, &last);
        let file = embedded(&folder.path("followed"), PAGE, &small, mode);
        assert!(data(&file, "only").caps().page_exclusive, "the end of the file ends its last page");
        let odd = [sample("only", (SIZE) + 5)];
        small = file_of(&aligned, &odd);
        let file = embedded(&folder.path("followed"), PAGE, &small, mode);
        assert!(small.len() as u64 % PAGE < 4096 && !data(&file, "only").caps().page_exclusive);
        std::fs::write(folder.path("alone"), &small).unwrap();
        assert!(data(&open(&folder.path("alone"), mode), "only").caps().page_exclusive);
    }
}

#[test]
fn advice_that_a_mode_does_not_support_is_unsupported() {
    let folder = Folder::new();
    let path = folder.path("modes.zt");
    std::fs::write(&path, bytes()).unwrap();
    let all = [
        Advice::Normal,
        Advice::Sequential,
        Advice::WillNeed,
        Advice::Populate,
        Advice::Evict,
        Advice::Release,
    ];
    let refused = |file: &File| -> Vec<Advice> {
        let outcome = |advice: &Advice| data(file, "x").advise(*advice);
        let refused: Vec<_> = all.into_iter().filter(|a| outcome(a).is_err()).collect();
        for advice in &refused {
            let e = outcome(advice).unwrap_err();
            assert_eq!(e.cause(), Cause::Unsupported, "{}", e.message());
            assert!(e.message().contains(&format!("ZT_ADVICE_{}", advice.name())), "{}", e.message());
        }
        refused
    };
    assert_eq!(refused(&open(&path, Mode::Map)), []);
    assert_eq!(refused(&open(&path, Mode::Read)), [Advice::Release]);
    assert_eq!(refused(&open(&path, Mode::Private)), [Advice::Evict, Advice::Release]);
    for advice in all {
        // At open, advice is ignored for bytes that are not in a file.
        let options = OpenOptions { advice, ..OpenOptions::default() };
        let memory = File::open_memory(common::Aligned::of(&bytes()), &options).unwrap();
        assert_eq!(refused(&memory), all[1..]);
    }
}
