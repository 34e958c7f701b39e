//! From a .zt file of any version: objects are copied as they are stored, or written anew where
//! another encoding or a digest is asked for.

use crate::arguments::Convert;
use crate::failure::{report, Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::progress;
use ztensor::model::manifest::Encoding;
use ztensor::model::value::Attributes;
use ztensor::reader::{Advice, Component, File, OpenOptions};
use ztensor::writer::{Recode, Summary};

pub fn convert(arguments: &Convert, interrupt: &Interrupt) -> Outcome<Summary> {
    let (input, output) = (&arguments.input, &arguments.output);
    // Mapped: compressed components need no memory for their stored bytes.
    let file = File::open(input, &OpenOptions::default()).map_err(|e| Failure::at(input, e))?;
    let mut writer = arguments.writer()?;
    let attributes = Attributes::of(file.attributes()).map_err(|e| Failure::at(input, e))?;
    writer.set_attributes(attributes).map_err(|e| Failure::at(output, e))?;
    let recode = arguments.recode();
    let total = file.objects().flat_map(|o| o.components()).map(|c| c.stored_size()).sum();
    let bar = progress::bar(total, output);
    let written = file.objects().try_for_each(|object| {
        interrupt.check()?;
        if let (true, Some(unknown)) = (recode != Recode::default(), object.components().find(is_unknown)) {
            let (file, name, role) = (input.display(), object.name(), unknown.role());
            let why = "it has an unknown dtype or encoding, and is kept as it is stored";
            bar.suspend(|| report(&format!("{file}: object {name:?}: component {role:?}: {why}")));
        }
        // What goes wrong here names its file; else it is about what is to be written.
        writer.copy_as(object, object.name(), &recode).map_err(|e| Failure::at_either(input, output, e))?;
        for component in object.components() {
            let _ = component.advise(Advice::Evict); // a hint: it will not be looked at again
            bar.inc(component.stored_size());
        }
        Ok(())
    });
    bar.finish_and_clear();
    written?;
    arguments.finish(writer, interrupt)
}

impl Convert {
    fn recode(&self) -> Recode {
        Recode { encoding: self.encoding(), digest: self.digest().map(Some) }
    }
}

fn is_unknown(component: &Component<'_>) -> bool {
    component.dtype().is_none() || component.encoding() == Encoding::Other
}
