/*
 * ztensor_dlpack.h: tensors of .zt files as tensors of NumPy, PyTorch, JAX, TVM and whatever else speaks DLPack, without
 * a copy where the file is mapped, and such tensors written to .zt files. DLPack versions 1.1 and, unversioned, 0.8.
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * dlpack.h is not needed and may be included before or after: only its structs' names are declared here. What ztensor.h
 * says of failures, NULL and threads holds here, too.
 *
 * | dtype or logical type            | DLPack's code               | bits          |
 * |----------------------------------|-----------------------------|---------------|
 * | f64 f32 f16                      | 2  kDLFloat                 | 64, 32, 16    |
 * | bf16                             | 4  kDLBfloat                | 16            |
 * | i64 i32 i16 i8, u64 u32 u16 u8   | 0  kDLInt, 1 kDLUInt        | 64, 32, 16, 8 |
 * | bool                             | 6  kDLBool                  | 8             |
 * | complex64, complex128            | 5  kDLComplex               | 64, 128       |
 * | f8_e4m3fn, f8_e4m3fnuz           | 10, 11 kDLFloat8_e4m3fn(uz) | 8             |
 * | f8_e5m2, f8_e5m2fnuz             | 12, 13 kDLFloat8_e5m2(fnuz) | 8             |
 *
 * Handed out, and not taken by a writer; several elements are packed in a byte, or in three, as in the file:
 *
 * | complex32                        | 5  kDLComplex               | 32            |
 * | f8_e8m0                          | 14 kDLFloat8_e8m0fnu        | 8             |
 * | f6_e2m3, f6_e3m2                 | 15, 16 kDLFloat6_e...fn     | 6             |
 * | f4_e2m1                          | 17 kDLFloat4_e2m1fn         | 4             |
 */
#ifndef ZTENSOR_DLPACK_H
#define ZTENSOR_DLPACK_H

#include "ztensor.h"

#ifdef __cplusplus
extern "C" {
#endif

struct DLManagedTensorVersioned;
struct DLManagedTensor;

/// A dense object as a DLPack tensor in the host's memory: its shape, row-major strides, byte_offset 0.
///
/// In the mapped file where zt_component_ptr would work and the bytes are 64-byte aligned: then with the flag for
/// read-only memory, and writing to it is a fault. Else in fresh memory, decoded, with the flag for a copy; that may be
/// written to. data is aligned to 64 bytes, not to the 256 that DLPack wishes for; it is not NULL even if there are no
/// elements. A scalar has no dimensions.
/// tensor: receives the tensor, NULL on failure; end it with its own deleter. It holds a reference to the file, so that
/// it may outlive the caller's zt_close, and any thread may call the deleter.
/// Returns ZT_ERROR_UNSUPPORTED (not dense, or a dtype or type that DLPack has not), else as zt_component_load.
/// Threads: any.
zt_status zt_object_to_dlpack(const zt_object *object, struct DLManagedTensorVersioned **tensor);

/// One component as a DLPack tensor of one dimension: the values, indices, scales of any object.
///
/// component, tensor, statuses: as zt_object_to_dlpack. Threads: any.
zt_status zt_component_to_dlpack(const zt_component *component, struct DLManagedTensorVersioned **tensor);

/// zt_object_to_dlpack for consumers that know only DLPack before version 1.0.
///
/// That has no flags: no flag tells the consumer that mapped memory is read-only. Give it only to code that does not
/// write, or open with ZT_MODE_READ, where memory is fresh.
/// Threads: any.
zt_status zt_object_to_dlpack_unversioned(const zt_object *object, struct DLManagedTensor **tensor);

/// Writes a DLPack tensor as a dense object.
///
/// name, name_length: UTF-8 of name_length bytes, NUL-ended if that is 0; not NULL. tensor: in the host's memory
/// (kDLCPU, kDLCUDAHost, kDLROCMHost), lanes 1, of any strides: what is not row-major is packed into memory of the
/// library first. It is used during the call and stays the caller's: its deleter is not called.
/// Returns ZT_ERROR_UNSUPPORTED for another device, major version or type, ZT_ERROR_INVALID_ARGUMENT for dimensions that
/// cannot be, ZT_ERROR_OUT_OF_MEMORY, else as zt_write_dense.
/// Threads: one at a time for writer.
zt_status zt_write_dlpack(zt_writer *writer, const char *name, size_t name_length,
    const struct DLManagedTensorVersioned *tensor);

/// zt_write_dlpack for an unversioned tensor.
///
/// Threads: one at a time for writer.
zt_status zt_write_dlpack_unversioned(zt_writer *writer, const char *name, size_t name_length,
    const struct DLManagedTensor *tensor);

#ifdef __cplusplus
}
#endif

#endif /* ZTENSOR_DLPACK_H */
