/* The binary layout of the structs for writing, like layout.c. */
#include "layout.h"

/* These have the same size on every platform. */
SIZE(zt_spec, 4);
SIZE(zt_digest, 4);
SIZE(zt_attribute_kind, 4);

#if UINTPTR_MAX == UINT64_MAX

SIZE(zt_write_options, 96);
AT(zt_write_options, struct_size, 0);
AT(zt_write_options, spec, 8);
AT(zt_write_options, encoding, 12);
AT(zt_write_options, alignment, 16);
AT(zt_write_options, large_alignment, 24);
AT(zt_write_options, large_size, 32);
AT(zt_write_options, zstd_level, 40);
AT(zt_write_options, digest, 44);
AT(zt_write_options, threads, 48);
AT(zt_write_options, durable, 52);
AT(zt_write_options, frame_size, 56);
AT(zt_write_options, context, 64);
AT(zt_write_options, progress, 72);
AT(zt_write_options, thread_hooks, 80);
AT(zt_write_options, canonical, 88);
AT(zt_write_options, allow_damaged, 92);

SIZE(zt_sink, 40);
AT(zt_sink, struct_size, 0);
AT(zt_sink, context, 8);
AT(zt_sink, write, 16);
AT(zt_sink, finish, 24);
AT(zt_sink, close, 32);

SIZE(zt_quantized_desc, 128);
AT(zt_quantized_desc, struct_size, 0);
AT(zt_quantized_desc, bits, 8);
AT(zt_quantized_desc, group_size, 16);
AT(zt_quantized_desc, packing, 24);
AT(zt_quantized_desc, packed_weight, 32);
AT(zt_quantized_desc, packed_weight_size, 40);
AT(zt_quantized_desc, scales, 48);
AT(zt_quantized_desc, scales_size, 56);
AT(zt_quantized_desc, zeros, 64);
AT(zt_quantized_desc, zeros_size, 72);
AT(zt_quantized_desc, packed_weight_dtype, 80);
AT(zt_quantized_desc, scales_dtype, 84);
AT(zt_quantized_desc, zeros_dtype, 88);
AT(zt_quantized_desc, reserved, 92);
AT(zt_quantized_desc, scales_type, 96);
AT(zt_quantized_desc, has_axis, 100);
AT(zt_quantized_desc, axis, 104);
AT(zt_quantized_desc, zero_point, 112);
AT(zt_quantized_desc, msb_first, 120);
AT(zt_quantized_desc, zeros_packed, 124);

SIZE(zt_component_desc, 72);
AT(zt_component_desc, struct_size, 0);
AT(zt_component_desc, role, 8);
AT(zt_component_desc, role_length, 16);
AT(zt_component_desc, dtype, 24);
AT(zt_component_desc, type, 28);
AT(zt_component_desc, type_name, 32);
AT(zt_component_desc, encoding, 40);
AT(zt_component_desc, digest, 44);
AT(zt_component_desc, data, 48);
AT(zt_component_desc, size, 56);
AT(zt_component_desc, type_name_length, 64);

SIZE(zt_object_desc, 96);
AT(zt_object_desc, struct_size, 0);
AT(zt_object_desc, name, 8);
AT(zt_object_desc, name_length, 16);
AT(zt_object_desc, format, 24);
AT(zt_object_desc, reserved, 28);
AT(zt_object_desc, format_name, 32);
AT(zt_object_desc, shape, 40);
AT(zt_object_desc, rank, 48);
AT(zt_object_desc, components, 56);
AT(zt_object_desc, component_count, 64);
AT(zt_object_desc, attributes, 72);
AT(zt_object_desc, attributes_json, 80);
AT(zt_object_desc, format_name_length, 88);

SIZE(zt_write_request, 72);
AT(zt_write_request, struct_size, 0);
AT(zt_write_request, name, 8);
AT(zt_write_request, shape, 16);
AT(zt_write_request, rank, 24);
AT(zt_write_request, data, 32);
AT(zt_write_request, size, 40);
AT(zt_write_request, dtype, 48);
AT(zt_write_request, type, 52);
AT(zt_write_request, encoding, 56);
AT(zt_write_request, digest, 60);
AT(zt_write_request, name_length, 64);

SIZE(zt_copy_options, 40);
AT(zt_copy_options, struct_size, 0);
AT(zt_copy_options, name, 8);
AT(zt_copy_options, name_length, 16);
AT(zt_copy_options, encoding, 24);
AT(zt_copy_options, digest, 28);
AT(zt_copy_options, dtype, 32);
AT(zt_copy_options, type, 36);

SIZE(zt_write_summary, 56);
AT(zt_write_summary, struct_size, 0);
AT(zt_write_summary, file_size, 8);
AT(zt_write_summary, objects, 16);
AT(zt_write_summary, components, 24);
AT(zt_write_summary, stored_bytes, 32);
AT(zt_write_summary, data_bytes, 40);
AT(zt_write_summary, damaged, 48);

SIZE(zt_attribute, 80);
AT(zt_attribute, struct_size, 0);
AT(zt_attribute, kind, 8);
AT(zt_attribute, dtype, 12);
AT(zt_attribute, i64, 16);
AT(zt_attribute, u64, 24);
AT(zt_attribute, f64, 32);
AT(zt_attribute, data, 40);
AT(zt_attribute, size, 48);
AT(zt_attribute, count, 56);
AT(zt_attribute, lengths, 64);
AT(zt_attribute, key_length, 72);

#endif
