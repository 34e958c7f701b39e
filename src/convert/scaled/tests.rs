//! Matrices that are packed here code by code, as the formats say, and read back in every form, order and
//! width; numbers beside a loop that computes them one by one.

use super::loops::{e4m3, fp4};
use super::*;
use crate::simd::look_up;

/// Numbers of a fixed sequence.
struct Sequence(u64);

impl Sequence {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

/// Puts a code at a bit of a stream.
fn put(bytes: &mut [u8], bit: u64, bits: u32, code: u8) {
    for at in 0..u64::from(bits) {
        let place = bit + at;
        bytes[(place / 8) as usize] |= (code >> at & 1) << (place % 8);
    }
}

/// Where a code begins in its stream, in bits.
fn bit_of(order: Order, at: u64, bits: u32) -> u64 {
    const AWQ: [u64; 8] = [0, 4, 1, 5, 2, 6, 3, 7]; // at which place of a word a value stands
    let per = u64::from(32 / bits);
    match order {
        Order::Low => at * u64::from(bits),
        Order::HighHalf => (at ^ 1) * 4,
        Order::Awq => at / 8 * 32 + AWQ[(at % 8) as usize] * 4,
        Order::InWords => at / per * 32 + at % per * u64::from(bits),
    }
}

/// The bytes of a matrix, whose codes are in rows.
fn pack(packed: &Packed, codes: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0u8; packed.size().unwrap() as usize];
    for (at, code) in (0u64..).zip(codes) {
        let (row, column) = (at / packed.columns, at % packed.columns);
        let (stream, place) = if packed.is_transposed { (column, row) } else { (row, column) };
        match packed.form {
            Form::Rows { bytes: of_row } => {
                let start = (stream * of_row) as usize;
                put(&mut bytes[start..], bit_of(packed.order, place, packed.bits), packed.bits, *code);
            }
            Form::Words => {
                let streams = if packed.is_transposed { packed.columns } else { packed.rows };
                for bit in 0..u64::from(packed.bits) {
                    let place = bit_of(packed.order, place, packed.bits) + bit;
                    let word = place / 32 * streams + stream;
                    put(&mut bytes[(word * 4) as usize..], place % 32, 1, code >> bit & 1);
                }
            }
            Form::Parts { rows, unit } => {
                let (part, within) = (row / rows, row % rows);
                let top = if unit == 1 { 8 } else { 30 };
                let shift = top - (part + 1) * u64::from(packed.bits);
                let start = ((within * packed.columns + column) * unit) as usize;
                put(&mut bytes[start..], shift, packed.bits, *code);
            }
        }
    }
    bytes
}

fn layouts(rows: u64, columns: u64) -> Vec<Packed> {
    let mut all = Vec::new();
    for bits in 1..=8u32 {
        for is_transposed in [false, true] {
            let codes = if is_transposed { rows } else { columns };
            let mut orders = vec![Order::Low, Order::InWords];
            if bits == 4 {
                orders.extend([Order::HighHalf, Order::Awq]);
            }
            for order in orders {
                let words = match order {
                    Order::InWords => codes.div_ceil(u64::from(32 / bits)),
                    _ => (codes * u64::from(bits)).div_ceil(32),
                };
                let packed = Packed { form: Form::Words, bits, order, is_transposed, rows, columns };
                if matches!(order, Order::Low | Order::InWords) {
                    all.push(packed);
                }
                all.push(Packed { form: Form::Rows { bytes: words * 4 }, ..packed });
                if order == Order::Low {
                    let bytes = bytes_of_row(codes, bits);
                    all.push(Packed { form: Form::Rows { bytes }, ..packed });
                }
            }
        }
        let (unit, parts) = if bits == 3 { (4, 10) } else { (1, u64::from(8 / bits)) };
        if [1, 2, 3, 4, 8].contains(&bits) {
            let form = Form::Parts { rows: rows.div_ceil(parts), unit };
            all.push(Packed { form, bits, order: Order::Low, is_transposed: false, rows, columns });
        }
    }
    all
}

#[test]
fn every_part_of_a_packed_matrix_is_read_in_every_form() {
    let mut sequence = Sequence(1);
    for (rows, columns) in [(1, 1), (3, 5), (16, 32), (24, 70), (65, 33), (40, 8)] {
        for packed in layouts(rows, columns) {
            let codes: Vec<u8> = (0..rows * columns).map(|_| sequence.next(1 << packed.bits) as u8).collect();
            let bytes = pack(&packed, &codes);
            for turn in 0..12 {
                let (first, left) = (sequence.next(rows), sequence.next(columns));
                let part = match turn {
                    0 => (0..rows, 0..columns),
                    _ => (
                        first..first + 1 + sequence.next(rows - first),
                        left..left + 1 + sequence.next(columns - left),
                    ),
                };
                let count = length(&part.0) * length(&part.1);
                let (mut out, mut scratch) = (vec![99u8; count], vec![0u8; count]);
                let range = packed.range(&part.0, &part.1);
                let stored = &bytes[range.start as usize..range.end as usize];
                packed.read(stored, &part.0, &part.1, &mut out, &mut scratch);
                let wanted: Vec<u8> = part
                    .0
                    .clone()
                    .flat_map(|row| part.1.clone().map(move |column| row * columns + column))
                    .map(|at| codes[at as usize])
                    .collect();
                assert_eq!(out, wanted, "{packed:?} {part:?}");
            }
        }
    }
}

struct Whole<'a>(&'a [u8]);

impl CodeBytes for Whole<'_> {
    fn get(&mut self, range: Range<u64>) -> Result<&[u8]> {
        Ok(&self.0[range.start as usize..range.end as usize])
    }
}

/// What an element is, computed by itself.
fn number(formula: Formula, table: &[f32; 256], code: u8, scale: f32, zero: f32) -> f32 {
    match formula {
        Formula::Less { is_signed: false } => (f32::from(code) - zero) * scale,
        Formula::Less { is_signed: true } => (f32::from(code as i8) - zero) * scale,
        Formula::Plus => f32::from(code) * scale + zero,
        Formula::Table => table[usize::from(code)] * scale,
        Formula::Over127 => (f32::from(code as i8) * scale) * (1.0 / 127.0),
    }
}

/// A range as elements of 16 bits, and whether they were looked up.
fn halves(decoder: &mut ScaledDecoder<'_>, range: Range<u64>, to: Dtype, bytes: &[u8]) -> (Vec<u8>, bool) {
    let (mut found, mut are_looked_up) = (Vec::new(), false);
    let body = &mut |made: Made<'_>| {
        match made {
            Made::Elements(elements) => {
                are_looked_up = true;
                found.extend_from_slice(elements);
            }
            Made::Floats(numbers) => {
                let start = found.len();
                found.resize(start + 2 * numbers.len(), 0);
                convert_floats(numbers, to, &mut found[start..], 0);
            }
        }
        Ok(())
    };
    decoder.decode(range, Some(to), &mut Whole(bytes), body).unwrap();
    (found, are_looked_up)
}

#[test]
fn numbers_are_what_the_formulas_give_in_every_range() {
    let mut sequence = Sequence(2);
    let formulas = [
        Formula::Less { is_signed: false },
        Formula::Less { is_signed: true },
        Formula::Plus,
        Formula::Table,
        Formula::Over127,
    ];
    for (rows, columns) in [(5u64, 96u64), (130, 40), (2, 9000), (70, 1100)] {
        for (height, width) in [(1, 32), (1, columns), (rows, columns), (16, 24), (1, 1), (rows, 1)] {
            for is_by_column in [false, true] {
                let groups = columns.div_ceil(width);
                let tall = rows.div_ceil(height);
                let steps = match is_by_column {
                    false => Steps { rows: height, columns: width, row_step: groups, column_step: 1 },
                    true => Steps { rows: height, columns: width, row_step: 1, column_step: tall },
                };
                let formula = formulas[sequence.next(5) as usize];
                let is_words = sequence.next(2) == 0;
                let packed = match is_words {
                    true => {
                        let (form, order) = (Form::Words, Order::Low);
                        Packed { form, bits: 4, order, is_transposed: false, rows, columns }
                    }
                    false => Packed::bytes(rows, columns),
                };
                let below = if is_words { 16 } else { 256 };
                let codes: Vec<u8> = (0..rows * columns).map(|_| sequence.next(below) as u8).collect();
                let bytes = pack(&packed, &codes);
                let mut floats = |count: u64| -> Vec<f32> {
                    (0..count).map(|_| sequence.next(1000) as f32 / 64.0 - 7.0).collect()
                };
                let (scales, zeros) = (floats(tall * groups), floats(tall * groups));
                let table: [f32; 256] = std::array::from_fn(|at| at as f32 / 3.0);
                let elements =
                    |floats| Elements { bytes: crate::simd::as_bytes(floats), from: (Dtype::F32, None) };
                let scaling = Scaling {
                    scales: elements(&scales),
                    factor: Factor::One,
                    zeros: Some(elements(&zeros)),
                    groups: None,
                    codebook: Codebook::Table(&table),
                };
                let layout = Layout { codes: packed, formula, scales: steps, zeros: Zeros::Elements(steps) };
                let mut decoder = ScaledDecoder::new(layout, scaling);
                let all = rows * columns;
                for turn in 0..4 {
                    let first = if turn == 0 { 0 } else { sequence.next(all) };
                    let end = if turn == 0 { all } else { first + 1 + sequence.next(all - first) };
                    let mut found = Vec::new();
                    let body = &mut |made: Made<'_>| {
                        let Made::Floats(numbers) = made else { panic!("no type was asked for") };
                        found.extend_from_slice(numbers);
                        Ok(())
                    };
                    decoder.decode(first..end, None, &mut Whole(&bytes), body).unwrap();
                    for to in [Dtype::F16, Dtype::Bf16] {
                        let (halves, are_looked_up) = halves(&mut decoder, first..end, to, &bytes);
                        assert_eq!(are_looked_up, is_words && width >= 32, "{layout:?}");
                        let mut wanted = vec![0u8; 2 * found.len()];
                        convert_floats(&found, to, &mut wanted, 0);
                        assert!(halves == wanted, "{layout:?} as {}", to.name());
                    }
                    assert_eq!(found.len() as u64, end - first);
                    for (at, found) in (first..end).zip(found) {
                        let (row, column) = (at / columns, at % columns);
                        let place = row / height * steps.row_step + column / width * steps.column_step;
                        let (scale, zero) = (scales[place as usize], zeros[place as usize]);
                        let wanted = number(formula, &table, codes[at as usize], scale, zero);
                        assert_eq!(found.to_bits(), wanted.to_bits(), "{layout:?} {at}");
                    }
                }
            }
        }
    }
}

#[test]
fn columns_have_the_groups_that_are_stated_and_zeros_are_unpacked() {
    let (rows, columns, groups, bits) = (19u64, 64u64, 4u64, 4);
    let mut sequence = Sequence(3);
    let packed = Packed { form: Form::Words, bits, order: Order::Low, is_transposed: false, rows, columns };
    let codes: Vec<u8> = (0..rows * columns).map(|_| sequence.next(16) as u8).collect();
    let bytes = pack(&packed, &codes);
    let of_zeros = Packed {
        form: Form::Rows { bytes: rows.div_ceil(8) * 4 },
        bits,
        order: Order::Low,
        is_transposed: true,
        rows,
        columns: groups,
    };
    let zeros: Vec<u8> = (0..rows * groups).map(|_| sequence.next(16) as u8).collect();
    let packed_zeros = pack(&of_zeros, &zeros);
    let scales: Vec<f32> = (0..rows * groups).map(|at| at as f32 + 0.5).collect();
    let of_columns: Vec<i32> = (0..columns).map(|_| sequence.next(groups) as i32).collect();
    let group_bytes: Vec<u8> = of_columns.iter().flat_map(|group| group.to_ne_bytes()).collect();
    let layout = Layout {
        codes: packed,
        formula: Formula::Less { is_signed: false },
        scales: Steps { rows: 1, columns: 16, row_step: 1, column_step: rows },
        zeros: Zeros::Packed { codes: of_zeros, added: 1, mask: 15 },
    };
    let scaling = Scaling {
        scales: Elements { bytes: crate::simd::as_bytes(&scales), from: (Dtype::F32, None) },
        factor: Factor::One,
        zeros: Some(Elements { bytes: &packed_zeros, from: (Dtype::I32, None) }),
        groups: Some(&group_bytes),
        codebook: Codebook::Fp4,
    };
    let mut found = Vec::new();
    let body = &mut |made: Made<'_>| {
        let Made::Floats(numbers) = made else { panic!("each column states its group") };
        found.extend_from_slice(numbers);
        Ok(())
    };
    let mut decoder = ScaledDecoder::new(layout, scaling);
    decoder.decode(0..rows * columns, Some(Dtype::F16), &mut Whole(&bytes), body).unwrap();
    for (at, found) in (0u64..).zip(found) {
        let (row, group) = (at / columns, of_columns[(at % columns) as usize] as u64);
        let zero = (zeros[(row * groups + group) as usize] + 1) & 15;
        let scale = scales[(group * rows + row) as usize];
        assert_eq!(found, (f32::from(codes[at as usize]) - f32::from(zero)) * scale, "{at}");
    }
}

#[test]
fn small_floats_are_what_their_tables_say() {
    let e4m3_table = float::float8_values(Some(Logical::F8E4m3fn)).unwrap();
    for (code, wanted) in (0..=255u8).zip(e4m3_table) {
        let found = e4m3(code);
        assert!(found.to_bits() == wanted.to_bits() || found.is_nan() && wanted.is_nan(), "{code}");
    }
    let map: [f32; 16] = std::array::from_fn(|at| at as f32 / 7.0 - 1.0);
    let codes: Vec<u8> = (0..99u8).map(|at| at % 16 * 5 % 16).collect();
    let mut found = vec![0f32; codes.len()];
    let done = look_up(&codes, &map, 0.3, &mut found);
    assert!(done == 0 || done == 96, "{done}");
    for (code, found) in codes.iter().zip(&found).take(done) {
        assert_eq!(found.to_bits(), (map[usize::from(*code)] * 0.3).to_bits());
    }
    let values = [0.0f32, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];
    for (code, value) in (0u8..).zip(values) {
        assert_eq!(fp4(code).to_bits(), value.to_bits());
        assert_eq!(fp4(code + 8).to_bits(), (-value).to_bits());
    }
}
