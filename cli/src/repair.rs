//! `zt repair`: cuts off an unfinished append.

use crate::arguments::Repair;
use crate::failure::{Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::output::Output;
use crate::text;
use ztensor::writer::{repair, RepairOptions};

pub fn run(arguments: &Repair) -> Outcome<()> {
    let _waits = Interrupt::listen_and_protect(); // a signal waits until the file is valid
    let path = &arguments.file;
    let cut_at = arguments.cut_at.unwrap_or(0);
    let options = RepairOptions { dry_run: arguments.dry_run, cut_at, ..RepairOptions::default() };
    let report = repair(path, &options).map_err(|e| Failure::at(path, e))?;
    let shown = path.display().to_string();
    let shown = text::one_line(&shown);
    let objects = text::count(report.objects, "object");
    let mut out = Output::new();
    let (old, new) = (report.old_size, report.new_size);
    if old == new {
        out.line(format_args!("{shown}: nothing to repair, {objects}"))?;
    } else {
        let done = if arguments.dry_run { "would be cut" } else { "cut" };
        out.line(format_args!("{shown}: {done} from {old} to {new} bytes, {objects}"))?;
    }
    out.flush()
}
