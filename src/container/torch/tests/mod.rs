//! Pickles that the tests build: every opcode, every rule, every budget.

mod legacy;
mod tensors;

use super::decode::Attributes;
use super::globals::Global;
use super::pickle::{read, Pickle};
use super::tree::walk;
use super::values::{CollectionKind, Heap, Id, Value};
use crate::error::{Cause, Result, Rule};
use crate::memory::Budget;
use crate::model::value::Tape;

const MEMORY: u64 = 16 << 20;

/// A text of protocol 2.
fn text(text: &str) -> Vec<u8> {
    [b"X", &(text.len() as u32).to_le_bytes()[..], text.as_bytes()].concat()
}

fn global(module: &str, name: &str) -> Vec<u8> {
    format!("c{module}\n{name}\n").into_bytes()
}

/// An integer of 64 bits.
fn int(number: i64) -> Vec<u8> {
    [b"\x8a\x08", &number.to_le_bytes()[..]].concat()
}

fn tuple(items: &[Vec<u8>]) -> Vec<u8> {
    [b"(", &items.concat()[..], b"t"].concat()
}

fn ints(numbers: &[i64]) -> Vec<u8> {
    tuple(&numbers.iter().map(|n| int(*n)).collect::<Vec<_>>())
}

fn storage(class: &str, key: &str, count: i64) -> Vec<u8> {
    let (module, name) = class.rsplit_once('.').unwrap();
    let id = [text("storage"), global(module, name), text(key), text("cpu"), int(count)];
    [tuple(&id), b"Q".to_vec()].concat()
}

fn rebuild(function: &str, arguments: &[Vec<u8>]) -> Vec<u8> {
    [global("torch._utils", function), tuple(arguments), b"R".to_vec()].concat()
}

/// A tensor of f32 in a storage with `count` elements.
fn view(count: i64, offset: i64, size: &[i64], stride: &[i64]) -> Vec<u8> {
    let storage = storage("torch.FloatStorage", "0", count);
    rebuild(
        "_rebuild_tensor_v2",
        &[storage, int(offset), ints(size), ints(stride), b"\x89".to_vec(), b"}".to_vec()],
    )
}

fn tensor() -> Vec<u8> {
    view(6, 0, &[2, 3], &[3, 1])
}

/// A complete pickle of protocol 2.
fn whole(body: impl AsRef<[u8]>) -> Vec<u8> {
    [b"\x80\x02", body.as_ref(), b"."].concat()
}

/// Describes a tensor in a line.
fn line_of(heap: &Heap<'_>, path: &[u8], id: Id) -> String {
    let tensor = heap.tensor(id).unwrap();
    let (shape, strides) = heap.shape(tensor);
    let path = String::from_utf8_lossy(path);
    let element = tensor.element.map_or("", |element| element.name());
    let name = tensor.unreadable.map_or(element.to_owned(), |why| heap.shown(why).to_string());
    format!("{path}: {name} {shape:?} by {strides:?} from {}", tensor.offset)
}

/// The tensors of a pickle, and its attributes as a map.
fn list_within(pickle: &[u8], memory: u64) -> Result<(Vec<String>, String)> {
    let budget = Budget::new(memory);
    let Pickle { heap, root, .. } = &read(pickle, &budget)?;
    let mut tape = Tape::default();
    let (mut lines, mut attributes) = (Vec::new(), Attributes::new(&budget));
    walk(heap, *root, &mut |path, value| {
        match value {
            Value::Tensor(id) => lines.push(line_of(heap, path, id)),
            Value::Storage(id) => {
                let count = heap.storage(id).unwrap().count;
                lines.push(format!("{}: storage of {count}", String::from_utf8_lossy(path)));
            }
            plain => attributes.add(path, plain)?,
        }
        Ok(())
    })?;
    let at = attributes.write(heap, &mut tape)?;
    let shown = at.map_or(String::new(), |at| format!("{:?}", tape.get(at)));
    Ok((lines, shown))
}

fn list(pickle: &[u8]) -> Result<(Vec<String>, String)> {
    list_within(pickle, MEMORY)
}

/// The lines for a root, or the error.
#[track_caller]
fn lines(body: impl AsRef<[u8]>) -> Vec<String> {
    list(&whole(body)).unwrap().0
}

#[track_caller]
fn attributes(body: impl AsRef<[u8]>) -> String {
    list(&whole(body)).unwrap().1
}

fn cause(body: impl AsRef<[u8]>) -> Cause {
    list(&whole(&body)).map(|found| panic!("{:?} was read: {found:?}", body.as_ref())).unwrap_err().cause()
}

fn rule(body: impl AsRef<[u8]>) -> Option<Rule> {
    match cause(body) {
        Cause::Broken(rule) => Some(rule),
        _ => None,
    }
}

/// A dict with texts as keys.
fn dict(pairs: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let items: Vec<u8> = pairs.iter().flat_map(|(key, value)| [text(key), value.clone()].concat()).collect();
    [b"}(", &items[..], b"u"].concat()
}

#[test]
fn all_protocols_are_read() {
    let framed =
        |body: &[u8]| [b"\x80\x04\x95", &(body.len() as u64 + 1).to_le_bytes()[..], body, b"."].concat();
    let memoized = framed(b"}\x94\x8c\x01a\x94K\x01s");
    assert!(list(&memoized).unwrap().1.contains("\"a\""));
    let named = framed(b"\x8c\x05torch\x8c\x04Size\x93K\x03K\x04\x86\x85R");
    assert!(list(&named).unwrap().1.contains('4'));
    assert!(list(b"\x80\x05\x96\x02\0\0\0\0\0\0\0ab.").is_ok() && list(b"N.").is_ok());
    assert!(list(b"\x80\x04\x8f(K\x01K\x02\x90.").is_ok(), "a set");
    assert!(list(b"\x80\x04(K\x01K\x02\x91.").is_ok(), "a frozenset");
    assert!(list(b"\x80\x01(lp0\nI5\na(dp1\ng0\n0.").is_err(), "two values are left");
    assert!(list(b"(lp0\nI5\nag0\n0.").is_ok());
    assert_eq!(list(b"\x80\x06N.").unwrap_err().cause(), Cause::Unsupported);
}

#[test]
fn opcodes_and_states_that_no_checkpoint_has_are_refused() {
    for body in [
        b"(ios\nsystem\n".to_vec(),
        b"(cos\nsystem\no".to_vec(),
        b"\x82\x01".to_vec(),
        b"\x84\x01\0\0\0".to_vec(),
        b"P0\n".to_vec(),
        b"\x97".to_vec(),
        [tensor(), b"}b".to_vec()].concat(),
        [b"}".to_vec(), tuple(&[b"N".to_vec(), b"}".to_vec()]), b"b".to_vec()].concat(),
        b"V\\u0041\n".to_vec(),
    ] {
        assert_eq!(cause(&body), Cause::Unsupported, "{body:?}");
    }
    assert_eq!(rule([text("f"), b")R".to_vec()].concat()), Some(Rule::PickleType));
    assert_eq!(rule([global("torch", "Size"), b"K\x01R".to_vec()].concat()), Some(Rule::PickleType));
    assert_eq!(rule([int(1), text("system"), b"\x93".to_vec()].concat()), Some(Rule::PickleType));
}

/// A foreign function is only a name. Tensors next to and inside the value that it would make are found.
#[test]
fn foreign_functions_are_names_and_are_never_called() {
    let system = || global("os", "system");
    let called = || [system(), text("true"), b"\x85R".to_vec()].concat();
    let newobj_ex = [system(), b")}".to_vec(), vec![0x92]].concat();
    let float32 = [global("torch", "float32"), b")R".to_vec()].concat();
    let storage = [global("torch", "FloatStorage"), b")\x81".to_vec()].concat();
    let as_key = [b"}".to_vec(), called(), b"K\x01s".to_vec()].concat();
    for (value, shown) in [
        (called(), "<os.system>"),
        (system(), "<os.system>"),
        ([text("os"), text("system"), b"\x93".to_vec()].concat(), "<os.system>"),
        ([called(), b")R".to_vec()].concat(), "<torch.unknown>"),
        ([called(), b"}b".to_vec()].concat(), "<os.system>"),
        ([called(), b"K\x01b".to_vec()].concat(), "<os.system>"),
        ([called(), b"K\x01a(K\x02e".to_vec()].concat(), "<os.system>"),
        ([called(), text("k"), b"K\x01s".to_vec()].concat(), "<os.system>"),
        (newobj_ex, "<os.system>"),
        (float32, "<torch.unknown>"),
        (storage, "<torch.unknown>"),
        (as_key, "x.<os.system>"),
        ([global("o s", "\\"), b")R".to_vec()].concat(), "o s"),
    ] {
        let (lines, attributes) = list(&whole(dict(&[("t", tensor()), ("x", value.clone())]))).unwrap();
        assert_eq!(lines, ["t: float32 [2, 3] by [3, 1] from 0"], "{value:?}");
        assert!(attributes.contains(shown), "{value:?}: {attributes}");
    }
    let dropped = [system(), b"0".to_vec(), tensor()].concat();
    assert_eq!(lines(dropped).len(), 1);
    // A module that was saved as a whole: the class, then the state with parameters and modules.
    let class =
        |state: Vec<u8>| [global("my.models", "Net"), b")\x81".to_vec(), state, b"b".to_vec()].concat();
    let inner = class(dict(&[("_parameters", dict(&[("w", tensor())])), ("training", b"\x88".to_vec())]));
    let module = class(dict(&[("_modules", dict(&[("fc", inner)])), ("b", tensor())]));
    let (lines, attributes) = list(&whole(module.clone())).unwrap();
    assert_eq!(
        lines,
        ["_modules.fc._parameters.w: float32 [2, 3] by [3, 1] from 0", "b: float32 [2, 3] by [3, 1] from 0"]
    );
    assert!(attributes.contains("<my.models.Net>") && !attributes.contains("training"), "{attributes}");
    let (lines, _) = list(&whole(dict(&[("model", module)]))).unwrap();
    assert!(lines[0].starts_with("model._modules.fc._parameters.w:"), "{lines:?}");
    // Values of a foreign class may contain themselves.
    let cycle = [global("m", "C"), b")\x81q\0".to_vec(), dict(&[("me", b"h\0".to_vec()), ("t", tensor())])];
    let (lines, _) = list(&whole([cycle.concat(), b"b".to_vec()].concat())).unwrap();
    assert_eq!(lines.len(), 1);
    let many = [b"cm\nC\n)\x81".repeat(200_000), tensor(), b"b".repeat(200_000)].concat();
    assert_eq!(list_within(&whole(many), 1 << 30).unwrap().0.len(), 1);
}

#[test]
fn each_stack_rule_is_kept() {
    for body in [
        &b"0N"[..],
        b"K\x01\x87",
        b"}K\x01s",
        b"]a",
        b"K\x01K\x02t",
        b"(K\x01s",
        b"](K\x01a",
        b"R",
        b"(1",
        b"1",
        b"2",
        b"(2",
        b"u",
        b"e",
        b"\x86",
        b"}(K\x01u",
        b"K\x01K\x02",
        b"(K\x01",
        b"",
    ] {
        assert_eq!(rule(body), Some(Rule::PickleStack), "{body:?}");
    }
    for body in [
        &b"K\x01K\x02K\x03s"[..],
        b"K\x01K\x02a",
        b"}K\x01a",
        b"])}(]K\x01u",
        b"}}K\x01s",
        b"}(]K\x01u",
        b"](K\x01u",
    ] {
        assert!(matches!(rule(body), Some(Rule::PickleType)), "{body:?}");
    }
    assert_eq!(rule([tensor(), text("k"), b"K\x01s".to_vec()].concat()), Some(Rule::PickleType));
    assert_eq!(rule([b"}".to_vec(), tensor(), b"K\x01s".to_vec()].concat()), Some(Rule::PickleType));
    for body in [&b"h\0"[..], b"j\xff\xff\xff\xff", b"g7\n", b"Nq\x01h\0"] {
        assert_eq!(rule(body), Some(Rule::PickleMemo), "{body:?}");
    }
    assert_eq!(cause(b"Nr\xff\xff\xff\xff"), Cause::Limit);
    assert_eq!(cause(b"Np99999999999\n"), Cause::Limit);
}

#[test]
fn the_memo_is_numbered_as_by_python() {
    // MEMOIZE uses the number of entries as the index, not the index after the last entry.
    for (puts, number) in
        [("Xq\x05Y\u{94}", 1), ("Xq\x01Y\u{94}", 1), ("Xq\0Nq\0Y\u{94}", 1), ("Xp0\nNq\x07Y\u{94}", 2)]
    {
        let mut body = vec![b'('];
        for character in puts.chars() {
            match character {
                'X' | 'Y' => body.extend(text(&character.to_string())),
                _ => body.push(character as u8),
            }
        }
        body.extend([b"1h", &[number][..]].concat());
        let shown = attributes(&body);
        assert!(shown.contains('Y'), "{puts:?}: {shown}");
    }
    // A one-byte index may have any value, even in a short pickle.
    assert!(list(&whole(b"Nq\xff0h\xff")).is_ok());
    assert_eq!(cause(b"Nr\0\x01\0\0"), Cause::Limit);
}

#[test]
fn what_ends_too_early_is_refused() {
    let pickle =
        whole(dict(&[("a", tensor()), ("b", b"F1.5\n".to_vec()), ("c", b"\x8b\x01\0\0\0\x07".to_vec())]));
    list(&pickle).unwrap();
    for cut in 0..pickle.len() {
        assert_eq!(list(&pickle[..cut]).unwrap_err().rule(), Some(Rule::PickleSyntax), "{cut}");
    }
    assert_eq!(list(&[&pickle[..], b"N."].concat()).unwrap_err().rule(), Some(Rule::PickleSyntax));
    for body in [
        &b"\xff"[..],
        b"X\xff\xff\xff\xffa",
        b"\x8d\xff\xff\xff\xff\xff\xff\xff\xffa",
        b"\x8b\xff\xff\xff\xff",
        b"\x8b\xff\xff\xff\x7f",
        b"B\0\x01\0\0",
        b"\x95\0\x01\0\0\0\0\0\0N",
        b"X\x01\0\0\0\xff",
        b"I\n",
        b"I9223372036854775808\n",
        b"F1.5x\n",
        b"Sbare\n",
        b"S'half\n",
        b"T\xff\xff\xff\xff",
    ] {
        assert_eq!(rule(body), Some(Rule::PickleSyntax), "{body:?}");
    }
    let digits = [b"L", &[b'1'; 100_000][..], b"L\n"].concat();
    assert_eq!(rule(digits), Some(Rule::PickleSyntax));
}

#[test]
fn integers_of_any_length_are_what_they_are() {
    for (bytes, number) in [
        (&b""[..], 0),
        (b"\0", 0),
        (b"\xff", -1),
        (b"\x80", -128),
        (b"\xff\0", 255),
        (b"\xff\xff\0\0\0\0\0\0\0\0", 65535),
    ] {
        let pickle = whole([b"\x8a", &[bytes.len() as u8][..], bytes].concat());
        let budget = Budget::new(MEMORY);
        assert_eq!(read(&pickle, &budget).unwrap().root, Value::Int(number));
    }
    let budget = Budget::new(MEMORY);
    let pickle = whole(b"\x8a\x09\0\0\0\0\0\0\0\x80\0");
    assert!(matches!(read(&pickle, &budget).unwrap().root, Value::BigInt(_)));
    assert!(attributes(b"\x8a\x09\0\0\0\0\0\0\0\x80\0").contains("9223372036854775808"));
    assert!(
        attributes(b"\x8a\x09\xff\xff\xff\xff\xff\xff\xff\x7f\xff").contains("Negative(9223372036854775808)")
    );
}

#[test]
fn depth_takes_no_stack() {
    for (open, close, count) in [(&b"("[..], &b"t"[..], 200_000), (b"(", b"l", 200_000)] {
        let nested = [open.repeat(count), b"K\x01".to_vec(), close.repeat(count)].concat();
        let (_, shown) = list_within(&whole(nested), 1 << 30).unwrap();
        assert!(shown.contains("0.0.0.0"));
    }
    let dicts = [b"}X\x01\0\0\0k".repeat(2000), tensor(), b"s".repeat(2000)].concat();
    assert!(lines(dicts)[0].starts_with("k.k.k."));
}

#[test]
fn what_holds_itself_or_doubles_ends() {
    assert_eq!(cause(b"]q\0h\0a"), Cause::Unsupported);
    assert_eq!(cause([b"}q\0".to_vec(), text("k"), b"h\0s".to_vec()].concat()), Cause::Unsupported);
    assert_eq!(cause([b"}q\0".to_vec(), text("k"), b"]q\x01h\0as".to_vec()].concat()), Cause::Unsupported);
    for leaf in [b")".to_vec(), b"}".to_vec(), tensor()] {
        let doubled: Vec<u8> =
            (0..60u8).flat_map(|at| [b"q", &[at][..], b"h", &[at], b"\x86"].concat()).collect();
        let body = [leaf, doubled].concat();
        assert_eq!(cause(&body), Cause::Limit, "{body:?}");
    }
    // A text that occurs many times is stored once for the pickle, and once for each attribute.
    let many = [b"](".to_vec(), text(&"x".repeat(1000)), b"q\0".to_vec(), b"h\0".repeat(5000), b"e".to_vec()]
        .concat();
    assert!(list(&whole(&many)).is_ok());
    assert_eq!(list_within(&whole(&many), 1 << 20).unwrap_err().cause(), Cause::Limit);
}

/// Comparing all of them would take hours.
#[test]
fn long_keys_that_are_repeated_are_refused() {
    let pairs = b"h\0N".repeat(3000);
    let many = [b"}(".to_vec(), text(&"x".repeat(1 << 20)), b"q\0N".to_vec(), pairs, b"u".to_vec()].concat();
    assert_eq!(cause(many), Cause::Limit);
    let with_key = |length| {
        let one = storage("torch.FloatStorage", &"1".repeat(length), 0);
        rebuild("_rebuild_tensor", &[one, int(0), ints(&[0]), ints(&[1])])
    };
    assert_eq!(lines(with_key(256)).len(), 1);
    assert_eq!(rule(with_key(257)), Some(Rule::TorchStorage));
}

#[test]
fn memory_is_charged() {
    let values = |byte: &[u8]| [b"(".to_vec(), byte.repeat(100_000), b"l".to_vec()].concat();
    for body in [values(b"N"), values(b"]"), values(b"N\x94"), values(b"("), values(&tensor())] {
        let e = list_within(&whole(&body), 100_000).unwrap_err();
        assert_eq!(e.cause(), Cause::Limit, "{e}");
    }
    let views: Vec<u8> = [
        b"(".to_vec(),
        ints(&[0; 64]),
        b"q\0".to_vec(),
        storage("torch.FloatStorage", "0", 0),
        b"q\x01".to_vec(),
        global("torch._utils", "_rebuild_tensor"),
        b"q\x02".to_vec(),
        b"h\x02(h\x01K\0h\0h\0tR".repeat(20_000),
        b"l".to_vec(),
    ]
    .concat();
    assert_eq!(list(&whole(views)).unwrap_err().cause(), Cause::Limit);
}

#[test]
fn kinds_are_named_in_messages() {
    let kinds =
        [Value::None, Value::Opaque, Value::Global(Global::Dict), Value::Items(CollectionKind::Dict, 0)]
            .map(Value::kind);
    assert_eq!(kinds, ["None", "a device or a complex number", "a function or class", "a dict"]);
}

/// Python encodes an unpaired surrogate in three bytes, which are not valid UTF-8.
#[test]
fn surrogates_by_themselves_are_kept_as_their_bytes() {
    let of = |bytes: &[u8]| [b"X", &(bytes.len() as u32).to_le_bytes()[..], bytes].concat();
    for bytes in [&b"\xed\xa0\x80"[..], b"a\xed\xbf\xbfb\xed\xa0\x80", "\u{e9}\u{d7ff}".as_bytes()] {
        let pickle = whole([b"}", &of(bytes)[..], &tensor(), b"s"].concat());
        let budget = Budget::new(MEMORY);
        let Pickle { heap, root: Value::Items(CollectionKind::Dict, id), .. } =
            &read(&pickle, &budget).unwrap()
        else {
            panic!("{bytes:?}")
        };
        assert_eq!(heap.text(heap.items(*id).next().unwrap()), Some(bytes));
        assert!(attributes(dict(&[("x", of(bytes))])).contains("x"));
    }
    for bytes in [&b"\xff"[..], b"\xed\xa0", b"\xed\xc0\x80", b"\xed\xa0\x80\x80", b"a\xed\xa0\x80\xed"] {
        assert_eq!(rule(of(bytes)), Some(Rule::PickleSyntax), "{bytes:?}");
    }
    let encoded =
        [global("_codecs", "encode"), of(b"\xed\xa0\x80"), text("latin1"), b"\x86R".to_vec()].concat();
    assert_eq!(rule(encoded), Some(Rule::PickleType));
}
