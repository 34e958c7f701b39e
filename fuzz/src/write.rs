//! Sequences of writer calls from an input, and the expected contents of the file.

use crate::read::check_error;
use crate::tree::{attributes, Tree};
use crate::values;
use arbitrary::{Result, Unstructured};
use ztensor::error::Cause;
use ztensor::model::dtype::{Dtype, Logical};
use ztensor::model::manifest::{Encoding, Version};
use ztensor::model::value::Value;
use ztensor::reader::{File, VerifyOptions, VerifyReport};
use ztensor::writer::{Algorithm, ComponentSpec, LogicalSpec, ObjectSpec, Writer, WriterOptions};

/// A component that was written.
#[derive(Clone, Debug)]
pub struct Part {
    role: String,
    dtype: Dtype,
    logical: Option<LogicalSpec<'static>>,
    encoding: Option<Encoding>,
    digest: Option<Option<Algorithm>>,
    data: Vec<u8>,
}

/// An object that was written.
#[derive(Debug, Default)]
pub struct Given {
    name: String,
    format: &'static str,
    shape: Vec<u64>,
    attributes: Vec<(Tree, Tree)>,
    parts: Vec<Part>,
}

/// The contents of the file from successful calls.
#[derive(Debug, Default)]
pub struct Model {
    pub objects: Vec<Given>,
    pub attributes: Vec<(Tree, Tree)>,
    open: Option<Given>,
    /// The component that is open for bytes.
    streaming: Option<Part>,
    /// A permanent failure.
    pub over: bool,
}

const ROLES: [&str; 10] = [
    "data",
    "values",
    "indices",
    "indptr",
    "coords",
    "packed_weight",
    "scales",
    "zeros",
    "",
    "other\u{0}role",
];
const FORMATS: [&str; 6] = ["dense", "dense", "sparse_csr", "sparse_coo", "quantized_group", "own format"];

/// Options that use little memory.
pub fn options(u: &mut Unstructured<'_>) -> Result<WriterOptions> {
    let encodings: Vec<_> = Encoding::written().collect();
    Ok(WriterOptions {
        thread_hooks: Default::default(),
        version: [Version::V1_2, Version::V1_2, Version::V1_1, Version::V0_1][u.choose_index(4)?],
        alignment: 64 << u.int_in_range(0..=7)?,
        large_alignment: [0, 64, 4096, 65536][u.choose_index(4)?],
        large_size: u.int_in_range(0..=3000)?,
        encoding: *u.choose(&encodings)?,
        zstd_level: u.int_in_range(-7..=4)?,
        digest: [None, Some(Algorithm::Crc32c), Some(Algorithm::Sha256)][u.choose_index(3)?],
        threads: u.int_in_range(1..=2)?,
        durable: false,
        frame_size: u.int_in_range(1024..=4096)?,
        canonical: false,
        allow_damaged: false,
        usual_digest: false,
    })
}

fn part(u: &mut Unstructured<'_>, size: Option<u64>) -> Result<Part> {
    let dtype = Dtype::ALL[u.choose_index(Dtype::ALL.len())?];
    let logical = match u.int_in_range(0..=15u8)? {
        at @ 0..=5 => Some(LogicalSpec::Known(Logical::ALL[usize::from(at)])),
        6 => Some(LogicalSpec::Other("own type")),
        7 => Some(LogicalSpec::Other("f32")),
        _ => None,
    };
    let dtype = match logical {
        Some(LogicalSpec::Known(t)) if u.ratio(7, 8)? => t.dtype(),
        _ => dtype,
    };
    let ratio = if let Some(LogicalSpec::Known(t)) = logical { t.ratio() } else { 1 };
    let mut count = size.unwrap_or(u.int_in_range(0..=40)?);
    if u.ratio(1, 8)? {
        count = u.int_in_range(0..=900)?;
    }
    let mut data = vec![0; (count.min(4000) * ratio) as usize * dtype.size() + usize::from(u.ratio(1, 16)?)];
    u.fill_buffer(&mut data)?;
    let encodings: Vec<_> = [None, None].into_iter().chain(Encoding::written().map(Some)).collect();
    Ok(Part {
        role: ROLES[if u.ratio(1, 2)? { 0 } else { u.choose_index(ROLES.len())? }].to_owned(),
        dtype,
        logical,
        encoding: *u.choose(&encodings)?,
        digest: [None, None, Some(None), Some(Some(Algorithm::Crc32c)), Some(Some(Algorithm::Sha256))]
            [u.choose_index(5)?],
        data,
    })
}

impl Part {
    fn spec(&self) -> ComponentSpec<'_> {
        ComponentSpec {
            logical: self.logical,
            encoding: self.encoding,
            digest: self.digest,
            ..ComponentSpec::new(&self.role, self.dtype)
        }
    }
}

impl Given {
    fn spec(&self) -> ObjectSpec<'_> {
        ObjectSpec { name: &self.name, format: self.format, shape: &self.shape }
    }

    fn elements(&self) -> Option<u64> {
        let product = self.shape.iter().try_fold(1u64, |n, d| n.checked_mul(*d));
        if self.shape.contains(&0) {
            Some(0)
        } else {
            product
        }
    }
}

fn given(u: &mut Unstructured<'_>) -> Result<Given> {
    let rank = u.int_in_range(0..=3)?;
    let dimension =
        |u: &mut Unstructured<'_>| Ok(if u.ratio(1, 30)? { u.arbitrary()? } else { u.int_in_range(0..=7)? });
    Ok(Given {
        name: format!("o{}", u.int_in_range(0..=9)?),
        format: FORMATS[u.choose_index(FORMATS.len())?],
        shape: (0..rank).map(|_| dimension(u)).collect::<Result<_>>()?,
        attributes: if u.ratio(1, 3)? { values::attributes(u)? } else { Vec::new() },
        parts: Vec::new(),
    })
}

fn set(pairs: &mut Vec<(Tree, Tree)>, key: &str, value: Tree) {
    match pairs.iter_mut().find(|(k, _)| matches!(k, Tree::Text(k) if k == key)) {
        Some((_, place)) => *place = value,
        None => pairs.push((Tree::text(key), value)),
    }
}

/// Makes as many writer calls as the input asks for.
pub fn script(u: &mut Unstructured<'_>, writer: &mut Writer, model: &mut Model) -> Result<()> {
    for _ in 0..u.int_in_range(1..=20)? {
        let outcome = step(u, writer, model)?;
        if let Err(e) = outcome {
            let (cause, _) = check_error(&e);
            model.over |= cause == Cause::Io;
        }
        if model.over {
            let after = writer.set_attribute("k", Value::NULL).unwrap_err();
            assert!(matches!(after.cause(), Cause::State), "{after}");
            return Ok(());
        }
    }
    Ok(())
}

fn step(
    u: &mut Unstructured<'_>,
    writer: &mut Writer,
    model: &mut Model,
) -> Result<ztensor::error::Result<()>> {
    let how = u.int_in_range(0..=11u8)?;
    let open = model.open.as_ref();
    Ok(match how {
        0 | 1 => {
            let mut new = given(u)?;
            let whole = new.elements().filter(|n| *n < 1000);
            for at in 0..u.int_in_range(1..=3)? {
                new.parts.push(part(u, whole.filter(|_| at == 0))?);
            }
            let parts: Vec<_> = new.parts.iter().map(|p| (p.spec(), &p.data[..])).collect();
            let outcome = writer.write_object(&new.spec(), attributes(&new.attributes), &parts);
            drop(parts);
            outcome.map(|()| model.objects.push(new))
        }
        2 | 3 => {
            let new = given(u)?;
            writer.begin(&new.spec(), attributes(&new.attributes)).map(|()| model.open = Some(new))
        }
        4 | 5 => {
            let size = open.and_then(Given::elements).filter(|n| *n < 1000);
            let mut new = part(u, size)?;
            let announced = [None, Some(new.data.len() as u64), Some(7)][u.choose_index(3)?];
            let spec = ComponentSpec { size: announced, ..new.spec() };
            writer.component(&spec).map(|()| {
                new.data.clear();
                close_part(model);
                model.streaming = Some(new);
            })
        }
        6 => {
            let mut data = vec![0; u.int_in_range(0..=3000)?];
            u.fill_buffer(&mut data)?;
            writer.data(&data).map(|()| model.streaming.as_mut().unwrap().data.extend(data))
        }
        7 => {
            let new = part(u, open.and_then(Given::elements).filter(|n| *n < 1000))?;
            writer.component_whole(&new.spec(), &new.data).map(|()| {
                close_part(model);
                model.open.as_mut().unwrap().parts.push(new);
            })
        }
        8 => writer.end().map(|()| finish_object(model)),
        9 => {
            let value = values::value(u, 3)?;
            let outcome = writer.set_object_attribute("set", value.owned().get());
            outcome.map(|()| set(&mut model.open.as_mut().unwrap().attributes, "set", value))
        }
        10 => {
            let (key, value) = (["k", "", "other"][u.choose_index(3)?], values::value(u, 3)?);
            writer.set_attribute(key, value.owned().get()).map(|()| set(&mut model.attributes, key, value))
        }
        _ => fill_up(u, writer, model)?,
    })
}

/// Writes the missing bytes of the open component, so that long sequences make progress.
fn fill_up(
    u: &mut Unstructured<'_>,
    writer: &mut Writer,
    model: &mut Model,
) -> Result<ztensor::error::Result<()>> {
    let Some((open, part)) = model.open.as_ref().zip(model.streaming.as_mut()) else { return Ok(Ok(())) };
    let width = part.dtype.size() as u64;
    let ratio = if let Some(LogicalSpec::Known(t)) = part.logical { t.ratio() } else { 1 };
    let wanted = open.elements().filter(|n| *n < 1000).map_or(width, |n| n * width * ratio) as usize;
    let mut data = vec![0; wanted.saturating_sub(part.data.len())];
    u.fill_buffer(&mut data)?;
    Ok(writer.data(&data).map(|()| part.data.extend(data)))
}

fn close_part(model: &mut Model) {
    if let Some(part) = model.streaming.take() {
        model.open.as_mut().unwrap().parts.push(part);
    }
}

fn finish_object(model: &mut Model) {
    close_part(model);
    model.objects.push(model.open.take().unwrap());
}

/// Finishes the writer. Returns whether there is a file.
pub fn finish(writer: &mut Writer, model: &mut Model) -> bool {
    if model.open.is_some() && !model.over {
        match writer.end() {
            Ok(()) => finish_object(model),
            Err(e) => {
                check_error(&e);
                assert_eq!(writer.finish().unwrap_err().cause(), Cause::State);
                return false;
            }
        }
    }
    match writer.finish() {
        Ok(summary) => {
            assert!(!model.over && summary.objects >= model.objects.len() as u64);
            true
        }
        Err(e) => {
            let (cause, _) = check_error(&e);
            let expected = model.over || cause == Cause::Io || e.message().contains("exceeds 64 bits");
            assert!(expected, "every call succeeded, but: {e}");
            false
        }
    }
}

/// Checks that the file has the written contents, and is otherwise valid.
pub fn check(file: &File, model: &Model) {
    objects(file, model);
    same_attributes(file.attributes(), &model.attributes);
    let options = VerifyOptions { contents: false, padding: true, threads: 1, ..VerifyOptions::default() };
    file.verify(&options, &|_, _| true, &mut VerifyReport::default()).unwrap_or_else(|e| panic!("{e}"));
}

/// Checks that the file has the written contents and its old ones. Attributes replace those with the same
/// key.
pub fn holds(file: &File, model: &Model, old: Option<Value<'_>>) {
    objects(file, model);
    let old = old.unwrap_or(Value::EMPTY_MAP).pairs();
    let mut wanted: Vec<_> = old.map(|(k, v)| (Tree::of(k), Tree::of(v))).collect();
    for (key, value) in model.attributes.clone() {
        let Tree::Text(key) = key else { panic!("{key:?}") };
        set(&mut wanted, &key, value);
    }
    same_attributes(file.attributes(), &wanted);
}

fn objects(file: &File, model: &Model) {
    for wanted in &model.objects {
        let object = file.find(&wanted.name).unwrap_or_else(|| panic!("no {:?}", wanted.name));
        assert_eq!((object.shape(), object.format_name()), (&wanted.shape[..], wanted.format));
        same_attributes(object.attributes(), &wanted.attributes);
        assert_eq!(object.components().len(), wanted.parts.len());
        for (c, part) in object.components().zip(&wanted.parts) {
            assert_eq!((c.role(), c.dtype()), (&part.role[..], Some(part.dtype)));
            let name = part.logical.map(|l| match l {
                LogicalSpec::Known(t) => t.name(),
                LogicalSpec::Other(name) => name,
            });
            assert_eq!(c.logical_name(), name);
            assert_eq!(c.load().unwrap().as_slice(), part.data);
        }
    }
}

fn same_attributes(found: Option<Value<'_>>, wanted: &[(Tree, Tree)]) {
    let wanted = Tree::Map(wanted.to_vec()).owned();
    let found = found.unwrap_or(Value::EMPTY_MAP);
    assert!(values::same(found, wanted.get()), "{found:?}, not {wanted:?}");
}
