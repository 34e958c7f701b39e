//! Random sequences of writer calls. A finished file opens and has the same bytes, also after an append.
#![no_main]

use arbitrary::{Result, Unstructured};
use ztensor::model::manifest::Version;
use ztensor::writer::Writer;
use ztensor_fuzz::append::TemporaryFile;
use ztensor_fuzz::memory::Sink;
use ztensor_fuzz::{read, write};

fn run(u: &mut Unstructured<'_>) -> Result<()> {
    let options = write::options(u)?;
    let append = u.ratio(1, 4)?;
    let sink = Sink::new(if u.ratio(1, 16)? { u.int_in_range(8..=2000)? } else { 8 << 20 });
    let mut writer = Writer::to_sink(Box::new(sink.clone()), &options).unwrap();
    let mut model = write::Model::default();
    write::script(u, &mut writer, &mut model)?;
    if !write::finish(&mut writer, &mut model) {
        return Ok(());
    }
    let bytes = sink.take();
    let file = read::open(&bytes, false).unwrap_or_else(|e| panic!("the finished file: {e}"));
    assert_eq!(file.object_count(), model.objects.len());
    write::check(&file, &model);
    if !append || options.version == Version::V0_1 {
        return Ok(());
    }
    let place = TemporaryFile::new();
    place.put(&bytes);
    let mut writer = Writer::append(place.path(), &options).unwrap_or_else(|e| panic!("{e}"));
    write::script(u, &mut writer, &mut model)?;
    if write::finish(&mut writer, &mut model) {
        let file =
            read::open(&place.get(), false).unwrap_or_else(|e| panic!("the file after the append: {e}"));
        assert_eq!(file.object_count(), model.objects.len());
        write::check(&file, &model);
    } else {
        drop(writer);
        assert_eq!(place.get(), bytes, "nothing was appended, but the file changed");
    }
    Ok(())
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let _ = run(&mut Unstructured::new(input));
});
