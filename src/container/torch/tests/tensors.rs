//! The contents of a pickle: tensors, views, plain values.

use super::*;

#[test]
fn tensors_are_named_by_their_key_paths() {
    let list = [b"](", &tensor()[..], b"K\x07", &tensor(), b"e"].concat();
    let keyed = [b"}", &int(-3)[..], &tensor(), b"s\x88", &tensor(), b"sN", &tensor(), b"s"].concat();
    let keyed = [&keyed[..], b"G\x3f\xf8\0\0\0\0\0\0", &tensor(), b"s"].concat();
    let root = dict(&[("a.b", tensor()), ("", tensor()), ("x", dict(&[("list", list)])), ("y", keyed)]);
    let names: Vec<_> = lines(root).iter().map(|line| line.split(':').next().unwrap().to_owned()).collect();
    assert_eq!(names, ["a.b", "", "x.list.0", "x.list.2", "y.-3", "y.True", "y.None", "y.1.5"]);
    let of_key =
        |key: &[u8]| lines([b"}", key, &tensor(), b"s"].concat())[0].split(':').next().unwrap().to_owned();
    for (number, name) in [
        (1e15, "1000000000000000.0"),
        (1e16, "1e+16"),
        (1.5e100, "1.5e+100"),
        (1e-4, "0.0001"),
        (1e-5, "1e-05"),
        (5e-324, "5e-324"),
        (-0.0, "-0.0"),
        (f64::INFINITY, "inf"),
        (f64::NAN, "nan"),
    ] {
        assert_eq!(of_key(&[b"G", &f64::to_be_bytes(number)[..]].concat()), name, "as Python writes it");
    }
    let of_integer = |bytes: &[u8]| [b"\x8a", &[bytes.len() as u8][..], bytes].concat();
    assert_eq!(of_key(&of_integer(b"\0\0\0\0\0\0\0\x80\0")), "9223372036854775808");
    assert_eq!(of_key(&of_integer(b"\xff\xff\xff\xff\xff\xff\xff\x7f\xff")), "-9223372036854775809");
    assert_eq!(of_key(&of_integer(&i128::MIN.to_le_bytes())), i128::MIN.to_string());
    let widest = of_integer(&[&[0; 16][..], b"\x01"].concat());
    assert_eq!(of_key(&widest), "<an integer>", "one of more than 16 bytes");
    assert_eq!(of_key(&ints(&[1])), "<a tuple>");
    assert_eq!(of_key(b"B\x01\0\0\0x"), "<bytes>");
    assert_eq!(lines(tensor()), [": float32 [2, 3] by [3, 1] from 0"]);
    assert_eq!(lines([tensor(), tensor(), b"\x86".to_vec()].concat()).len(), 2, "a tuple");
    assert_eq!(lines(storage("torch.FloatStorage", "0", 5)), [": storage of 5"]);
}

#[test]
fn plain_values_are_attributes() {
    let big = [b"\x8a\x09", &[0xff; 8][..], b"\0"].concat();
    let bigger = [b"\x8a\x0a", &[0; 8][..], b"\x01\0"].concat();
    let negative = [b"\x8a\x09", &[0; 8][..], b"\xff"].concat();
    let bytes = [global("_codecs", "encode"), text("\0\u{ff}"), text("latin1"), b"\x86R".to_vec()].concat();
    let root = dict(&[
        ("n", b"J\xff\xff\xff\xff".to_vec()),
        ("m", b"M\x01\x02".to_vec()),
        ("f", b"G\x3f\xc0\0\0\0\0\0\0".to_vec()),
        ("t", b"(I01\nI-7\nL123L\nNtq\x01".to_vec()),
        ("none", b"N".to_vec()),
        ("big", big),
        ("bigger", bigger),
        ("negative", negative),
        ("bytes", bytes),
        ("raw", b"C\x01\xfe".to_vec()),
        ("s", b"S'quoted'\n".to_vec()),
        ("v", b"Vplain\n".to_vec()),
        ("d", dict(&[("inner", b"]".to_vec())])),
        ("device", [global("torch", "device"), text("cpu"), b"\x85R".to_vec()].concat()),
    ]);
    let shown = attributes(root);
    for part in [
        "negative(0)",
        "513",
        "0.125",
        "true",
        "negative(6)",
        "123",
        "null",
        "18446744073709551615",
        "quoted",
        "plain",
        "d.inner",
    ] {
        assert!(shown.to_lowercase().contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains("device"), "{shown}");
    assert_eq!(attributes(b"}"), "");
    assert!(attributes(b"K\x05").contains('5'), "the root is a number");
}

#[test]
fn functions_make_what_they_do_in_python() {
    let call = |module: &str, name: &str, arguments: &[Vec<u8>]| {
        [global(module, name), tuple(arguments), b"R".to_vec()].concat()
    };
    let pairs = [b"](](", &text("k")[..], &tensor(), b"ee"].concat();
    assert_eq!(lines(call("collections", "OrderedDict", &[pairs])).len(), 1);
    assert_eq!(lines(call("collections", "Counter", &[dict(&[("k", tensor())])])).len(), 1);
    let factory = call("collections", "defaultdict", &[global("__builtin__", "dict")]);
    assert_eq!(lines([factory, text("k"), tensor(), b"s".to_vec()].concat()).len(), 1);
    let of_hooks = call("collections", "OrderedDict", &[]);
    let parameter = rebuild("_rebuild_parameter", &[tensor(), b"\x88".to_vec(), of_hooks]);
    assert_eq!(lines(&parameter), lines(tensor()));
    let arguments = tuple(&[
        storage("torch.FloatStorage", "0", 1),
        int(0),
        ints(&[1]),
        ints(&[1]),
        b"\x89".to_vec(),
        b"}".to_vec(),
    ]);
    let of_type =
        [global("torch._utils", "_rebuild_tensor_v2"), global("torch", "Tensor"), arguments, b"}".to_vec()];
    assert_eq!(lines(call("torch._tensor", "_rebuild_from_type_v2", &of_type)).len(), 1);
    let with_state =
        [dict(&[("k", tensor())]), dict(&[("_metadata", b"N".to_vec())]), b"b".to_vec()].concat();
    assert_eq!(lines(with_state).len(), 1, "BUILD");
    let arguments = [
        storage("torch.storage.UntypedStorage", "0", 8),
        int(1),
        ints(&[3]),
        ints(&[2]),
        b"\x89".to_vec(),
        b"}".to_vec(),
    ];
    let v3 =
        |dtype: &str| rebuild("_rebuild_tensor_v3", &[&arguments[..], &[global("torch", dtype)]].concat());
    assert_eq!(lines(v3("float8_e4m3fn")), [": float8_e4m3fn [3] by [2] from 1"]);
    assert_eq!(rule(v3("uint16")), Some(Rule::TorchView), "a storage of 8 bytes has 4 elements");
    let mut typed = arguments.to_vec();
    (typed[0], typed[1]) = (storage("torch.ByteStorage", "0", 8), int(0));
    (typed[2], typed[3]) = (ints(&[8]), ints(&[1]));
    let of_bytes =
        |dtype: &str| rebuild("_rebuild_tensor_v3", &[&typed[..], &[global("torch", dtype)]].concat());
    assert_eq!(lines(of_bytes("int8")), [": int8 [8] by [1] from 0"]);
    assert_eq!(rule(of_bytes("float64")), Some(Rule::TorchView), "8 bytes are one element, not 8");
    assert_eq!(rule(rebuild("_rebuild_tensor_v3", &arguments)), Some(Rule::PickleType));
    assert_eq!(
        rule(rebuild("_rebuild_tensor_v3", &[&arguments[..], &[text("float8_e4m3fn")]].concat())),
        Some(Rule::PickleType)
    );
    assert_eq!(rule(rebuild("_rebuild_tensor_v2", &arguments)), Some(Rule::PickleType), "no dtype");
}

#[test]
fn functions_take_as_many_arguments_as_they_do_in_python() {
    let none = || b"N".to_vec();
    let of_view = [
        storage("torch.FloatStorage", "0", 1),
        int(0),
        ints(&[1]),
        ints(&[1]),
        b"\x89".to_vec(),
        b"}".to_vec(),
        global("torch", "float32"),
        none(),
        none(),
    ];
    let of_parameter = [tensor(), b"\x89".to_vec(), b"}".to_vec(), none(), none()];
    let of_type = [
        global("torch._utils", "_rebuild_tensor_v2"),
        global("torch", "Tensor"),
        tuple(&of_view[..6]),
        b"}".to_vec(),
        none(),
    ];
    let metadata = |mut arguments: Vec<Vec<u8>>| {
        arguments.iter_mut().skip(6).for_each(|argument| *argument = none());
        arguments
    };
    for (module, name, arguments, due) in [
        ("torch._utils", "_rebuild_tensor", of_view.to_vec(), 4..=4),
        ("torch._utils", "_rebuild_tensor_v2", metadata(of_view.to_vec()), 6..=7),
        ("torch._utils", "_rebuild_tensor_v3", of_view.to_vec(), 7..=8),
        ("torch._utils", "_rebuild_parameter", of_parameter.to_vec(), 3..=4),
        ("torch._tensor", "_rebuild_from_type_v2", of_type.to_vec(), 4..=4),
        ("collections", "OrderedDict", vec![b"}".to_vec(), b"}".to_vec()], 0..=1),
        ("torch", "Size", vec![ints(&[1]), ints(&[1])], 1..=1),
    ] {
        for count in 0..=arguments.len() {
            let body = [global(module, name), tuple(&arguments[..count]), b"R".to_vec()].concat();
            match due.contains(&count) {
                true => drop(list(&whole(body)).unwrap_or_else(|e| panic!("{name} {count}: {e}"))),
                false => assert_eq!(rule(body), Some(Rule::PickleType), "{name} {count}"),
            }
        }
    }
}

#[test]
fn what_is_made_of_another_is_a_copy() {
    let made = |function: &str, module: &str| [global(module, function), b"h\0\x85R".to_vec()].concat();
    // {}, a dict that contains it, then a tensor in place of the first: the second is left.
    let dict =
        [b"}q\x000", &made("OrderedDict", "collections")[..], b"q\x010h\0", &text("k"), &tensor()].concat();
    assert_eq!(lines([&dict[..], b"s0h\x01"].concat()), Vec::<String>::new());
    assert_eq!(lines([&dict[..], b"s"].concat()).len(), 1);
    let set = [b"]q\0(K\x07e0", &made("set", "__builtin__")[..], b"q\x010h\0K\x08a0h\x01"].concat();
    let shown = attributes(set);
    assert!(shown.contains('7') && !shown.contains('8'), "{shown}");
}

#[test]
fn what_is_no_plain_tensor_is_listed() {
    let metadata = |pairs: &[(&str, Vec<u8>)]| {
        let storage = storage("torch.ComplexFloatStorage", "0", 2);
        lines(rebuild(
            "_rebuild_tensor_v2",
            &[storage, int(0), ints(&[2]), ints(&[1]), b"\x89".to_vec(), b"}".to_vec(), dict(pairs)],
        ))
    };
    let truth = |is: bool| vec![if is { 0x88 } else { 0x89 }];
    for (pairs, name) in [
        (vec![("conj", truth(true))], "torch.conjugated"),
        (vec![("conj", truth(false)), ("neg", truth(true))], "torch.negated"),
        (vec![("other", truth(true))], "torch.metadata"),
        (vec![("conj", truth(false))], "complex64"),
    ] {
        assert!(metadata(&pairs)[0].starts_with(&format!(": {name} [2]")), "{name}");
    }
    let storage = |class: &str| storage(class, "0", 4);
    let flag = || b"\x89".to_vec();
    let quantized = [storage("torch.QInt8Storage"), int(0), ints(&[4]), ints(&[1]), flag(), flag(), flag()];
    assert!(lines(rebuild("_rebuild_qtensor", &quantized))[0].contains("torch.quantized [4]"));
    assert!(lines(rebuild("_rebuild_tensor_v2", &quantized[..6]))[0].contains("torch.quantized [4]"));
    let layout =
        [global("torch.serialization", "_get_layout"), text("torch.sparse_coo"), b"\x85R".to_vec()].concat();
    let parts = tuple(&[tensor(), tensor(), ints(&[3, 5])]);
    assert!(lines(rebuild("_rebuild_sparse_tensor", &[layout, parts]))[0].contains("torch.sparse [3, 5]"));
    let parts = tuple(&[tensor(), tensor(), tensor(), ints(&[3, 5])]);
    let of_1_13 = rebuild("_rebuild_sparse_csr_tensor", &[global("torch", "device"), parts]);
    assert!(lines(of_1_13)[0].contains("torch.sparse [3, 5]"));
    let meta = [global("torch", "float32"), ints(&[9]), ints(&[1]), flag()];
    assert!(lines(rebuild("_rebuild_meta_tensor_no_storage", &meta))[0].contains("torch.meta [9]"));
    assert!(lines(rebuild("_rebuild_nested_tensor", &[tensor(), tensor(), tensor(), tensor()]))[0]
        .contains("torch.nested []"));
    assert_eq!(rule(rebuild("_rebuild_nested_tensor", &[flag()])), Some(Rule::PickleType));
    assert!(lines(rebuild("_rebuild_of_a_later_version", &[flag()]))[0]
        .contains("torch._utils._rebuild_of_a_later_version []"));
    // An unknown class or type.
    let of_cuda = storage("torch.cuda.FloatStorage");
    assert_eq!(lines(&of_cuda), [": storage of 4"]);
    let view = [of_cuda, int(0), ints(&[4]), ints(&[1]), flag(), b"}".to_vec()];
    assert!(lines(rebuild("_rebuild_tensor_v2", &view))[0].contains("torch.cuda.FloatStorage [4]"));
    let of_dtype = [&view[..], &[global("torch", "float3_new"), b"N".to_vec()]].concat();
    assert!(lines(rebuild("_rebuild_tensor_v3", &of_dtype))[0].contains("torch.float3_new [4]"));
    let long = storage(&format!("m.{}\u{e9}", "C".repeat(1000)));
    let view = [&[long], &view[1..]].concat();
    let shown = &lines(rebuild("_rebuild_tensor_v2", &view))[0];
    assert!(shown.starts_with(": \"m\".\"CCC") && shown.contains("...") && shown.len() < 250, "{shown}");
    let view = [&[storage("m.\u{e9}")], &view[1..]].concat();
    assert!(lines(rebuild("_rebuild_tensor_v2", &view))[0].contains("m.\"\u{e9}\" [4]"));
    let plain = [storage("torch.FloatStorage"), int(0), ints(&[4]), ints(&[1]), flag(), b"}".to_vec()];
    let subclass =
        [global("torch._utils", "_rebuild_tensor_v2"), global("my", "Tensor"), tuple(&plain), b"}".to_vec()];
    let of_type =
        [global("torch._tensor", "_rebuild_from_type_v2"), tuple(&subclass), b"R".to_vec()].concat();
    assert!(lines(of_type)[0].contains("torch.subclass [4]"));
    let wrapped = [global("my", "Tensor"), tuple(&[tensor()]), b"R".to_vec()].concat();
    assert_eq!(lines(rebuild("_rebuild_parameter", &[wrapped, flag(), b"}".to_vec()])).len(), 1);
}

#[test]
fn views_stay_within_their_storage() {
    assert_eq!(lines(view(4, 3, &[], &[])).len(), 1, "a scalar");
    assert_eq!(lines(view(1, 0, &[1 << 40, 1 << 20], &[0, 0])).len(), 1, "stride 0");
    assert_eq!(lines(view(0, 0, &[0, 1 << 40], &[1 << 40, 1])).len(), 1, "empty");
    assert_eq!(lines(view(4, 5, &[0], &[1])).len(), 1, "empty, past its storage");
    assert_eq!(lines(view(4, i64::MAX, &[2, 0], &[i64::MAX, 1])).len(), 1, "empty, anywhere");
    assert_eq!(lines(view(4, 1, &[1, 3], &[i64::MAX, 1])).len(), 1, "a stride of one element");
    for (offset, size, stride, expected) in [
        (4, vec![1], vec![1], Rule::TorchView),
        (-1, vec![1], vec![1], Rule::TorchView),
        (i64::MAX, vec![1], vec![1], Rule::TorchView),
        (1 << 62, vec![4], vec![1], Rule::TorchView),
        (0, vec![5], vec![1], Rule::TorchView),
        (0, vec![4], vec![2], Rule::TorchView),
        (3, vec![4], vec![-1], Rule::TorchView),
        (0, vec![3], vec![i64::MAX], Rule::TorchView),
        (0, vec![-4], vec![1], Rule::TorchView),
        (1, vec![2, 2], vec![2, 1], Rule::TorchView),
        (0, vec![2, 2], vec![2], Rule::TorchView),
        (0, vec![1 << 32, 1 << 32], vec![0, 0], Rule::ShapeOverflow),
        (0, vec![1 << 62], vec![0], Rule::ShapeOverflow),
        (0, vec![1; 65], vec![1; 65], Rule::ShapeRank),
    ] {
        assert_eq!(rule(view(4, offset, &size, &stride)), Some(expected), "{offset} {size:?} {stride:?}");
    }
    let of = |size: Vec<u8>| {
        let storage = storage("torch.FloatStorage", "0", 4);
        rule(rebuild(
            "_rebuild_tensor_v2",
            &[storage, int(0), tuple(&[size]), ints(&[1]), b"N".to_vec(), b"N".to_vec()],
        ))
    };
    for dimension in [&b"G\0\0\0\0\0\0\0\0"[..], b"N", b"\x88", b"\x8a\x09\0\0\0\0\0\0\0\x80\0", &text("4")] {
        assert_eq!(of(dimension.to_vec()), Some(Rule::TorchView), "{dimension:?}");
    }
}

#[test]
fn storages_are_announced_in_two_forms() {
    let of = |items: &[Vec<u8>]| rule([tuple(items), b"Q".to_vec()].concat());
    let class = || global("torch", "FloatStorage");
    let right = [text("storage"), class(), text("0"), text("cpu"), int(4)];
    let with = |at: usize, item: Vec<u8>| {
        let mut items = right.clone();
        items[at] = item;
        of(&items)
    };
    assert_eq!(rule(b"K\x01Q"), Some(Rule::PickleType));
    assert_eq!(of(&right[..4]), Some(Rule::PickleType));
    let before_1_6 = [&right[..], &[b"N".to_vec()]].concat();
    assert_eq!(lines([tuple(&before_1_6), b"Q".to_vec()].concat()), [": storage of 4"]);
    assert_eq!(of(&[&before_1_6[..], &[b"N".to_vec()]].concat()), Some(Rule::PickleType));
    assert_eq!(with(0, text("module")), Some(Rule::PickleType));
    assert_eq!(with(1, global("torch", "Size")), Some(Rule::PickleType));
    assert_eq!(with(2, int(0)), Some(Rule::TorchStorage));
    assert_eq!(with(3, int(0)), Some(Rule::PickleType));
    for count in [
        int(-1),
        b"\x88".to_vec(),
        b"G\x40\x10\0\0\0\0\0\0".to_vec(),
        b"\x8a\x09\0\0\0\0\0\0\0\0\x01".to_vec(),
    ] {
        assert_eq!(with(4, count), Some(Rule::TorchStorage));
    }
}

#[test]
fn of_two_plain_values_with_one_path_the_second_has_a_mark() {
    let keys = [b"}".to_vec(), int(0), b"K\x05s".to_vec(), text("0"), b"K\x06s".to_vec()].concat();
    let shown = attributes(keys);
    assert!(shown.contains(r#""0""#) && shown.contains(r#""0#2""#), "{shown}");
    let shown = attributes(dict(&[("a.b", int(1)), ("a", dict(&[("b", int(2))])), ("a.b#2", int(3))]));
    assert!([r#""a.b""#, r#""a.b#2""#, r#""a.b#3""#].iter().all(|key| shown.contains(key)), "{shown}");
}

#[test]
fn a_dict_has_each_key_once() {
    let inner = |key: &str| dict(&[(key, tensor())]);
    for count in [0, 20] {
        let mut pairs: Vec<_> = (0..count).map(int).collect();
        pairs.extend([text("a"), text("b"), int(-1)]);
        let body = |more: &[Vec<u8>]| {
            let keys = pairs.iter().chain(more).enumerate();
            let items = keys.map(|(at, key)| [&key[..], &inner(&at.to_string())].concat());
            [b"}(", &items.collect::<Vec<_>>().concat()[..], b"u"].concat()
        };
        assert_eq!(lines(body(&[])).len(), pairs.len());
        for twice in [text("a"), text("b"), int(-1)] {
            assert_eq!(rule(body(&[twice])), Some(Rule::NameDuplicate));
        }
    }
    let later = [inner("a"), text("a"), b"K\x01s".to_vec()].concat();
    assert_eq!(rule(later), Some(Rule::NameDuplicate), "a plain value in place of a tensor");
}
