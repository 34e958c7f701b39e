//! PyTorch's checkpoints.
mod attributes;
mod calls;
mod cursor;
mod element;
mod globals;
mod opcodes;
mod pickle;
mod scalars;
#[cfg(test)]
mod tests;
mod tree;
mod values;
