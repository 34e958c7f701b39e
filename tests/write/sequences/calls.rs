//! The calls of a sequence, and whether each must succeed.

use super::model::{self, Load};
use super::session::Session;
use crate::common::{self, Sample};
use crate::validator::{Object, Part};
use ztensor::error::{Cause, Error};
use ztensor::model::dtype::{Dtype, Logical};
use ztensor::model::manifest::{Encoding, Version};
use ztensor::model::value::Attributes;
use ztensor::model::value::Value;
use ztensor::writer::{Algorithm, ComponentSpec, DenseSpec, LogicalSpec, ObjectSpec, Recode};

/// Causes of a rejected call. None of them ends a writer.
fn is_refusal(error: &Error) -> bool {
    let cause = error.cause();
    matches!(
        cause,
        Cause::InvalidArgument
            | Cause::Unsupported
            | Cause::Exists
            | Cause::BufferSize
            | Cause::Limit
            | Cause::State
            | Cause::NotFound
            | Cause::Broken(_)
            | Cause::DigestMismatch
    )
}

impl Session<'_> {
    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.random.below(of.len() as u64) as usize]
    }

    pub fn call(&mut self) {
        match self.random.below(20) {
            18..=19 => self.content(),
            0..=1 => self.sample(false),
            2..=4 => self.sample(true),
            5..=6 => self.batch(),
            7 => self.narrow(),
            8 => self.attribute(),
            15..=17 => self.edit(),
            9 => self.wrong(),
            _ => self.copy(),
        }
    }

    fn name(&mut self) -> String {
        self.next += 1;
        match self.random.below(8) {
            0 => self.model.objects.first().map_or("x".into(), |o| o.name.clone()),
            _ => format!("{}-{}", self.model.objects.len(), self.next),
        }
    }

    fn expect_refused(&mut self, outcome: Result<(), Error>, why: &str) {
        let error = outcome.err().unwrap_or_else(|| panic!("taken: {why}"));
        assert!(is_refusal(&error), "{why}: {error:?}");
        self.counts.refused += 1;
    }

    /// An object of any format and type, in one call or in pieces.
    fn sample(&mut self, streamed: bool) {
        let (dtype, logical) = self.pick(&common::every_type());
        let mut sample = common::every_format(dtype, logical).remove(self.random.below(5) as usize);
        sample.name = self.name();
        if sample.format == "dense" && self.random.below(2) == 0 {
            let count = self.random.below(5000);
            sample.shape = vec![count];
            sample.parts[0].bytes =
                common::elements(dtype, count as usize * logical.map_or(1, Logical::ratio) as usize);
        }
        let sayable = sample.can_be_said_in(self.version)
            && (self.version != Version::V0_1
                || common::pairs(sample.attributes).iter().all(|(k, _)| k.as_text() != Some("name")));
        let fits = sayable && !self.model.has(&sample.name);
        if streamed && !fits {
            return; // an object that was started must be ended
        }
        let outcome = match streamed {
            true => self.stream(&sample),
            false => sample.write(&mut self.writer),
        };
        match fits {
            true => outcome.unwrap_or_else(|e| panic!("{:?}: {e}", sample.name)),
            false => return self.expect_refused(outcome, &sample.name),
        }
        self.counts.written += 1;
        self.counts.streamed += u64::from(streamed);
        self.model.strict &= sample.format != "block_mx";
        self.model.objects.push(object_of(&sample));
    }

    /// An object whose bytes may break a rule of some versions: bools, bits after the last element,
    /// positions, elements of an unknown type.
    fn content(&mut self) {
        let (is_0_1, is_2) = (self.version == Version::V0_1, self.version == Version::V2);
        let mut sample = common::every_format(Dtype::Bool, None).remove(self.random.below(3) as usize);
        let wrong = self.random.below(2) == 0;
        let fits = match (sample.format, self.random.below(2)) {
            ("dense", 0) if !is_0_1 && self.version != Version::V1_1 => {
                let part = common::Part {
                    role: "data",
                    dtype: Dtype::U8,
                    logical: Some(Logical::F4E2m1),
                    bytes: vec![0x21, if wrong { 0x35 } else { 5 }],
                };
                (sample.shape, sample.parts) = (vec![3], vec![part]);
                !(wrong && is_2)
            }
            ("sparse_csr", 0) if wrong => {
                sample.parts[1].bytes = common::numbers(&[5, 5, 2, 1, 3]);
                !is_2
            }
            ("sparse_coo", 0) if wrong => {
                sample.parts[1].bytes = common::numbers(&[0, 0, 2, 3, 3, 1, 1, 1, 0]);
                !is_2
            }
            _ if wrong => {
                sample.parts[0].bytes[1] = 7;
                is_0_1
            }
            _ => true,
        };
        let has_logical = sample.parts.iter().any(|part| part.logical.is_some());
        let fits = fits
            && (sample.format == "dense" || !is_0_1)
            && (has_logical || sample.can_be_said_in(self.version));
        sample.name = self.name();
        sample.attributes = "{}";
        let outcome = sample.write(&mut self.writer);
        if !fits || self.model.has(&sample.name) {
            return self.expect_refused(outcome, "contents that break a rule");
        }
        outcome.unwrap_or_else(|e| panic!("{:?}: {e}", sample.name));
        self.counts.written += 1;
        self.model.strict &= !wrong;
        self.model.objects.push(object_of(&sample));
        let (name, shape) = (self.name(), [2]);
        let object = ObjectSpec { name: &name, format: "dense", shape: &shape };
        let logical = Some(LogicalSpec::Other("x.int6"));
        let part = ComponentSpec { logical, ..ComponentSpec::new("data", Dtype::U8) };
        let outcome = self.writer.write_object(&object, Attributes::default(), &[(part, &[1, 2, 3])]);
        if self.version != Version::V1_2 || self.model.has(&name) {
            return self.expect_refused(outcome, "elements of an unknown type");
        }
        outcome.unwrap();
        self.model.strict = false;
        let part = Part {
            role: "data".into(),
            dtype: "u8".into(),
            logical: Some("x.int6".into()),
            bytes: vec![1, 2, 3],
            stored: 0..0,
        };
        let (shape, format) = (shape.to_vec(), "dense".into());
        self.model.objects.push(Object { name, shape, format, attributes: Vec::new(), parts: vec![part] });
    }

    /// In pieces, with calls between them that must fail without effect.
    fn stream(&mut self, sample: &Sample) -> Result<(), Error> {
        self.writer.begin(&sample.spec(), common::pairs(sample.attributes))?;
        let again = self.writer.begin(&sample.spec(), Attributes::default());
        self.expect_refused(again, "an object within another");
        let out_of_turn = self.writer.data(&[1]);
        self.expect_refused(out_of_turn, "bytes of no component");
        for (at, part) in sample.parts.iter().enumerate() {
            if self.random.below(4) == 0 {
                self.writer.component_whole(&part.spec(), &part.bytes)?;
            } else {
                let size = (self.random.below(2) == 0).then_some(part.bytes.len() as u64);
                self.writer.component(&ComponentSpec { size, ..part.spec() })?;
                let most = 1 + self.random.below(3000) as usize;
                for piece in part.bytes.chunks(most) {
                    self.writer.data(piece)?;
                }
                if size.is_some() {
                    let over = self.writer.data(&[0]);
                    self.expect_refused(over, "more than announced");
                }
            }
            let twice = self.writer.component(&part.spec());
            self.expect_refused(twice, "a role twice");
            if at + 1 < sample.parts.len() && sample.format != "block_mx" && part.role != "scales" {
                let early = self.writer.end();
                self.expect_refused(early, "an end without all components");
            }
        }
        let early = self.writer.finish().map(drop);
        self.expect_refused(early, "a finish within an object");
        self.writer.end()
    }

    /// Dense objects. A wrong one rejects the batch.
    fn batch(&mut self) {
        let count = 1 + self.random.below(5);
        let mut samples = Vec::new();
        for _ in 0..count {
            let dtype = self.pick(&Dtype::ALL);
            let elements = self.random.below(600);
            let bytes = common::elements(dtype, elements as usize);
            samples.push(Sample::dense(&self.name(), dtype, &[elements], bytes));
        }
        let wrong = self.random.below(6) == 0;
        if wrong {
            samples.last_mut().unwrap().parts[0].bytes.push(0);
        }
        let encoding = self.pick(&[None, Some(Encoding::Raw), Some(Encoding::Zstd)]);
        let digest =
            self.pick(&[None, Some(None), Some(Some(Algorithm::Sha256)), Some(Some(Algorithm::Crc32c))]);
        let requests: Vec<DenseSpec<'_>> = samples
            .iter()
            .map(|s| DenseSpec {
                encoding,
                digest,
                ..DenseSpec::new(&s.name, s.parts[0].dtype, &s.shape, &s.parts[0].bytes)
            })
            .collect();
        let outcome = self.writer.write_batch(&requests);
        let mut names: Vec<_> = samples.iter().map(|s| &s.name).collect();
        names.sort();
        names.dedup();
        let no_crc = self.version == Version::V2 && digest == Some(Some(Algorithm::Crc32c));
        if wrong || no_crc || names.len() < samples.len() || samples.iter().any(|s| self.model.has(&s.name)) {
            return self.expect_refused(outcome, "a batch with a wrong request");
        }
        outcome.unwrap();
        self.counts.written += count;
        samples.iter_mut().for_each(|s| s.attributes = "{}");
        self.model.objects.extend(samples.iter().map(object_of));
    }

    /// A sparse object with indices of a random dtype.
    fn narrow(&mut self) {
        let mut sample = common::every_format(Dtype::F32, None).remove(1);
        sample.name = self.name();
        let dtype = self.pick(&[Dtype::U8, Dtype::I16, Dtype::U32, Dtype::I64, Dtype::U64, Dtype::F32]);
        for part in &mut sample.parts[1..] {
            let wide: Vec<u8> = part.bytes.chunks(8).map(|n| n[0]).collect();
            part.bytes = wide
                .iter()
                .flat_map(|n| {
                    let mut b = vec![*n];
                    b.resize(dtype.size(), 0);
                    b
                })
                .collect();
            part.dtype = dtype;
        }
        let fits = match self.version {
            Version::V0_1 => false,
            Version::V1_1 => dtype.is_integer(),
            Version::V2 => matches!(dtype, Dtype::U32 | Dtype::U64),
            _ => dtype == Dtype::U64,
        };
        let outcome = sample.write(&mut self.writer);
        if !fits || self.model.has(&sample.name) {
            return self.expect_refused(outcome, "an index of that dtype");
        }
        outcome.unwrap();
        self.counts.written += 1;
        self.model.objects.push(object_of(&sample));
    }

    fn attribute(&mut self) {
        let (key, value) = (format!("a{}", self.random.below(3)), self.random.below(100) as i64);
        let outcome = self
            .writer
            .set_attribute(&key, ztensor::container::json::parse(&value.to_string()).unwrap().get());
        if self.version == Version::V0_1 {
            return self.expect_refused(outcome, "attributes of a 0.1 file");
        }
        outcome.unwrap();
        self.model.attributes.retain(|(k, _)| *k != key);
        self.model.attributes.push((key, value));
    }

    /// Changes an object; succeeds if the file had it before.
    fn edit(&mut self) {
        let count = self.model.objects.len() as u64;
        let at = self.random.below(count + 1) as usize;
        let name = self.model.objects.get(at).map_or("nobody".into(), |o| o.name.clone());
        let is_old = self.old.contains(&name);
        let key = format!("e{}", self.random.below(2));
        let text = ciborium::Value::from(key.as_str());
        let has = |pairs: &[(ciborium::Value, ciborium::Value)]| pairs.iter().position(|(k, _)| *k == text);
        let place = self.model.objects.get(at).and_then(|o| has(&o.attributes));
        let new_name = self.name();
        let kind = self.random.below(4);
        let (outcome, fits) = match kind {
            0 => (self.writer.remove_object(&name), true),
            1 => (self.writer.rename_object(&name, &new_name), !self.model.has(&new_name)),
            2 => (self.writer.remove_attribute_of(&name, &key), place.is_some()),
            _ => (self.writer.set_attribute_of(&name, &key, Value::NULL), true),
        };
        if !is_old || !fits {
            return self.expect_refused(outcome, "an edit of an object that does not exist");
        }
        outcome.unwrap();
        self.counts.edited += 1;
        let object = &mut self.model.objects[at];
        match (kind, place) {
            (0, _) => {
                self.old.retain(|old| *old != name);
                self.model.objects.remove(at);
                self.model.strict = false; // the removed bytes are padding now
            }
            (1, _) => {
                self.old.retain(|old| *old != name);
                self.old.push(new_name.clone());
                object.name = new_name;
            }
            (2, Some(place)) => drop(object.attributes.remove(place)),
            (_, Some(place)) => object.attributes[place].1 = ciborium::Value::Null,
            (_, None) => object.attributes.push((text, ciborium::Value::Null)),
        }
    }

    fn wrong(&mut self) {
        let part = ComponentSpec::new("data", Dtype::F32);
        let object = |shape| ObjectSpec { name: "wrong", format: "dense", shape };
        let outcome = match self.random.below(5) {
            0 => self.writer.write_object(&object(&[2]), Attributes::default(), &[(part, &[0; 7])]),
            1 => self.writer.write_object(&object(&[u64::MAX, 9]), Attributes::default(), &[(part, &[0; 8])]),
            2 => self.writer.write_object(
                &object(&[2]),
                Attributes::default(),
                &[(part, &[0; 8]), (part, &[0; 8])],
            ),
            3 => self.writer.write_csr("wrong", Dtype::U8, None, &[1, 2], &[1], &[2], &[0, 1]),
            _ => self.writer.write_coo("wrong", Dtype::U8, None, &[3], 2, &[1], &[0, 1]),
        };
        self.expect_refused(outcome, "a wrong object");
    }

    /// Copies an object of the corpus or of an earlier sequence.
    fn copy(&mut self) {
        let damaged = self.random.below(6) == 0;
        let sources: Vec<_> = self.sources.iter().copied().filter(|s| s.valid.is_none() == damaged).collect();
        let source = self.pick(&sources);
        if source.file.object_count() == 0 {
            return;
        }
        let at = self.random.below(source.file.object_count() as u64) as usize;
        let object = source.file.object(at).unwrap();
        let name = self.name();
        let recode = match self.random.below(3) {
            0 => Recode {
                encoding: Some(self.pick(&common::encodings())),
                digest: self.pick(&[None, Some(None), Some(Some(Algorithm::Crc32c))]),
                ..Recode::default()
            },
            _ => Recode::default(),
        };
        let outcome = self.writer.copy_as(object, &name, &recode);
        let valid = source.valid.as_ref().map(|v| v.objects[at].clone());
        let taken = self.model.has(&name);
        if let Err(error) = outcome {
            assert!(is_refusal(&error), "{} {at}: {error:?}", source.name);
            let lacks_algorithm = error.message().contains("as its algorithm is unknown");
            let due = valid.is_some() && !taken && self.version == Version::V1_2 && !lacks_algorithm;
            assert!(!due, "{} {at}: {error:?}", source.name);
            self.counts.refused += 1;
            return;
        }
        assert!(!taken, "a name twice");
        match valid {
            Some(valid) => self.model.objects.push(Object { name, ..valid }),
            // Damaged objects stay damaged, so their values cannot be compared.
            None => {
                let attributes = Vec::new();
                let (shape, format, parts) = (Vec::new(), String::new(), Vec::new());
                self.model.objects.push(Object { name, shape, format, attributes, parts });
                let loads = object.components().map(|c| Load::of(&c)).collect();
                let name = self.model.objects.last().unwrap().name.clone();
                self.model.loads.push((name, loads));
                self.model.damaged = true;
            }
        }
        self.model.unsupported |= source.unsupported;
        self.model.strict &= source.strict;
        self.counts.copied += 1;
        self.counts.recoded += u64::from(recode != Recode::default());
    }
}

/// The object that the second reader must find.
fn object_of(sample: &Sample) -> Object {
    let part = |part: &common::Part| Part {
        role: part.role.into(),
        dtype: part.dtype.name().into(),
        logical: part.logical.map(|t| t.name().into()),
        bytes: part.bytes.clone(),
        stored: 0..0,
    };
    Object {
        name: sample.name.clone(),
        shape: sample.shape.clone(),
        format: sample.format.into(),
        attributes: model::pairs(&common::pairs(sample.attributes)),
        parts: sample.parts.iter().map(part).collect(),
    }
}
