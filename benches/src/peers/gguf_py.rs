//! gguf-py, ggml's Python package, which `tools/fetch_gguf_py.sh` installs beside our library.

use crate::outcome::not_measured;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The seconds of `dequantize` for the tensor of each file; None if it cannot read the type.
const SCRIPT: &str = "
import sys, time
import numpy
from gguf import GGUFReader
from gguf.quants import dequantize
numpy.seterr(all='ignore')
for path in sys.argv[1:]:
    tensor = GGUFReader(path).tensors[0]
    tensor.data.sum()
    start = time.perf_counter()
    try:
        out = dequantize(tensor.data, tensor.tensor_type)
        print(time.perf_counter() - start)
    except NotImplementedError:
        print('none')
";

pub fn to_f32(files: &[PathBuf]) -> Vec<Option<f64>> {
    let packages = Path::new(env!("ZT_LIB_DIR")).join("../gguf-py");
    if !packages.join("gguf").exists() {
        not_measured(format!("gguf is missing in {} (sh tools/fetch_gguf_py.sh)", packages.display()));
    }
    let python = std::env::var("PYTHON").unwrap_or("python3".into());
    let mut command = Command::new(python);
    command.args(["-c", SCRIPT]).args(files).env("PYTHONPATH", packages).env("OPENBLAS_NUM_THREADS", "1");
    let out = command.output().unwrap_or_else(|e| not_measured(format!("python3: {e}")));
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "gguf-py: {}", said.lines().last().unwrap_or_default());
    String::from_utf8_lossy(&out.stdout).lines().map(|line| line.parse().ok()).collect()
}
