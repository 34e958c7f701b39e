/*
 * ztensor_dlpack.h: share tensors with NumPy, PyTorch, JAX, TVM and others by DLPack, versions 1.1 and, unversioned, 0.8.
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Mapped tensors are shared without a copy. Writers take DLPack tensors, too. dlpack.h is not needed; it may be included
 * before or after. The rules on the first page of ztensor.h hold here.
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
 * Shared, but not accepted by a writer; elements are packed as in the file:
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

/// Shares a dense object as a DLPack tensor in the host's memory: its shape, row-major strides, byte_offset 0.
///
/// If zt_component_ptr works and the bytes are 64-byte aligned, the tensor is borrowed and has the read-only flag. Otherwise
/// the bytes are decoded into new memory, which may be written, and the tensor has the copied flag. data is not NULL.
/// tensor: receives the tensor, NULL on failure. End it with its own deleter, from any thread. It keeps the file open.
/// Returns ZT_ERROR_UNSUPPORTED (not dense, or DLPack lacks the dtype or type), else as zt_component_load.
ZT_NODISCARD zt_status zt_object_to_dlpack(const zt_object *object, struct DLManagedTensorVersioned **tensor);

/// Shares one component as a DLPack tensor of one dimension. As zt_object_to_dlpack otherwise.
ZT_NODISCARD zt_status zt_component_to_dlpack(const zt_component *component, struct DLManagedTensorVersioned **tensor);

/// As zt_object_to_dlpack, for consumers of DLPack before 1.0.
/// No flag tells them that mapped memory is read-only. Use it for code that does not write, or open with ZT_MODE_READ.
ZT_NODISCARD zt_status zt_object_to_dlpack_unversioned(const zt_object *object, struct DLManagedTensor **tensor);

/// Writes a DLPack tensor as a dense object.
///
/// name, name_length: as for zt_write_dense. tensor: in the host's memory (kDLCPU, kDLCUDAHost, kDLROCMHost), lanes 1, any
/// strides. It is used during the call; its deleter is not called.
/// Returns ZT_ERROR_UNSUPPORTED for another device, major version or type, else as zt_write_dense.
ZT_NODISCARD zt_status zt_write_dlpack(zt_writer *writer, const char *name, size_t name_length,
    const struct DLManagedTensorVersioned *tensor);

/// As zt_write_dlpack, for an unversioned tensor.
ZT_NODISCARD zt_status zt_write_dlpack_unversioned(zt_writer *writer, const char *name, size_t name_length,
    const struct DLManagedTensor *tensor);

#ifdef __cplusplus
}
#endif

#endif /* ZTENSOR_DLPACK_H */
