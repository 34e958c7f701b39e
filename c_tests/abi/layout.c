/*
 * The binary layout of every public struct with 64-bit pointers, on which compiled programs rely. A field may
 * be added at the end. Otherwise nothing here may change, except the size of the struct with the new field.
 * Structs for writing are in layout_writing.c.
 */
#include "layout.h"

/* These have the same size on every platform. */
SIZE(zt_status, 4);
SIZE(zt_dtype, 4);
SIZE(zt_type, 4);
SIZE(zt_format, 4);
SIZE(zt_encoding, 4);
SIZE(zt_mode, 4);
SIZE(zt_advice, 4);
SIZE(zt_value_kind, 4);
SIZE(zt_direct, 4);

#if UINTPTR_MAX == UINT64_MAX

SIZE(zt_allocator, 32);
AT(zt_allocator, struct_size, 0);
AT(zt_allocator, context, 8);
AT(zt_allocator, allocate, 16);
AT(zt_allocator, free, 24);

SIZE(zt_thread_hooks, 32);
AT(zt_thread_hooks, struct_size, 0);
AT(zt_thread_hooks, context, 8);
AT(zt_thread_hooks, on_start, 16);
AT(zt_thread_hooks, on_end, 24);

SIZE(zt_open_options, 136);
AT(zt_open_options, struct_size, 0);
AT(zt_open_options, mode, 8);
AT(zt_open_options, verify, 12);
AT(zt_open_options, strict, 16);
AT(zt_open_options, advice, 20);
AT(zt_open_options, max_manifest_size, 24);
AT(zt_open_options, max_decoded_size, 32);
AT(zt_open_options, max_objects, 40);
AT(zt_open_options, threads, 48);
AT(zt_open_options, containers, 52);
AT(zt_open_options, max_memory, 56);
AT(zt_open_options, context, 64);
AT(zt_open_options, progress, 72);
AT(zt_open_options, name, 80);
AT(zt_open_options, allocator, 88);
AT(zt_open_options, thread_hooks, 96);
AT(zt_open_options, shard_folder, 104);
AT(zt_open_options, shards, 112);
AT(zt_open_options, part, 116);
AT(zt_open_options, include_unlisted, 120);
AT(zt_open_options, allow_trailing, 124);
AT(zt_open_options, combine_quantized, 128);
AT(zt_open_options, reserved, 132);

SIZE(zt_model_info, 24);
AT(zt_model_info, struct_size, 0);
AT(zt_model_info, passed_over, 8);
AT(zt_model_info, unlisted, 16);

SIZE(zt_identity, 48);
AT(zt_identity, struct_size, 0);
AT(zt_identity, size, 8);
AT(zt_identity, modified_ns, 16);
AT(zt_identity, manifest_offset, 24);
AT(zt_identity, manifest_hash, 32);
AT(zt_identity, source_identity, 40);

SIZE(zt_source_range, 24);
AT(zt_source_range, offset, 0);
AT(zt_source_range, dst, 8);
AT(zt_source_range, size, 16);
SIZE(zt_source, 88);
AT(zt_source, struct_size, 0);
AT(zt_source, context, 8);
AT(zt_source, size, 16);
AT(zt_source, read_at, 24);
AT(zt_source, close, 32);
AT(zt_source, read_many, 40);
AT(zt_source, name, 48);
AT(zt_source, gap, 56);
AT(zt_source, largest_request, 64);
AT(zt_source, concurrency, 72);
AT(zt_source, callers_thread, 76);
AT(zt_source, identity, 80);
SIZE(zt_store, 32);
AT(zt_store, struct_size, 0);
AT(zt_store, context, 8);
AT(zt_store, open, 16);
AT(zt_store, list, 24);

SIZE(zt_object_info, 120);
AT(zt_object_info, struct_size, 0);
AT(zt_object_info, object, 8);
AT(zt_object_info, name, 16);
AT(zt_object_info, name_length, 24);
AT(zt_object_info, shape, 32);
AT(zt_object_info, rank, 40);
AT(zt_object_info, attributes, 48);
AT(zt_object_info, component_count, 56);
AT(zt_object_info, component, 64);
AT(zt_object_info, offset, 72);
AT(zt_object_info, stored_size, 80);
AT(zt_object_info, size, 88);
AT(zt_object_info, format, 96);
AT(zt_object_info, dtype, 100);
AT(zt_object_info, type, 104);
AT(zt_object_info, encoding, 108);
AT(zt_object_info, format_name, 112);

SIZE(zt_tensor, 48);
AT(zt_tensor, struct_size, 0);
AT(zt_tensor, data, 8);
AT(zt_tensor, size, 16);
AT(zt_tensor, dtype, 24);
AT(zt_tensor, type, 28);
AT(zt_tensor, shape, 32);
AT(zt_tensor, rank, 40);

SIZE(zt_array, 48);
AT(zt_array, data, 0);
AT(zt_array, size, 8);
AT(zt_array, count, 16);
AT(zt_array, dtype, 24);
AT(zt_array, type, 28);

SIZE(zt_csr, 176);
AT(zt_csr, struct_size, 0);
AT(zt_csr, rows, 8);
AT(zt_csr, columns, 16);
AT(zt_csr, nnz, 24);
AT(zt_csr, values, 32);
AT(zt_csr, indices, 80);
AT(zt_csr, indptr, 128);

SIZE(zt_coo, 128);
AT(zt_coo, struct_size, 0);
AT(zt_coo, nnz, 8);
AT(zt_coo, shape, 16);
AT(zt_coo, rank, 24);
AT(zt_coo, values, 32);
AT(zt_coo, coords, 80);

SIZE(zt_quantized, 224);
AT(zt_quantized, struct_size, 0);
AT(zt_quantized, shape, 8);
AT(zt_quantized, rank, 16);
AT(zt_quantized, bits, 24);
AT(zt_quantized, group_size, 32);
AT(zt_quantized, packing, 40);
AT(zt_quantized, packed_weight, 48);
AT(zt_quantized, scales, 96);
AT(zt_quantized, zeros, 144);
AT(zt_quantized, weights_per_element, 192);
AT(zt_quantized, axis, 200);
AT(zt_quantized, zero_point, 208);
AT(zt_quantized, msb_first, 216);
AT(zt_quantized, zeros_packed, 220);

SIZE(zt_component_info, 112);
AT(zt_component_info, struct_size, 0);
AT(zt_component_info, component, 8);
AT(zt_component_info, object, 16);
AT(zt_component_info, role, 24);
AT(zt_component_info, role_length, 32);
AT(zt_component_info, digest, 40);
AT(zt_component_info, offset, 48);
AT(zt_component_info, stored_size, 56);
AT(zt_component_info, size, 64);
AT(zt_component_info, dtype, 72);
AT(zt_component_info, type, 76);
AT(zt_component_info, encoding, 80);
AT(zt_component_info, part, 84);
AT(zt_component_info, dtype_name, 88);
AT(zt_component_info, type_name, 96);
AT(zt_component_info, encoding_name, 104);

SIZE(zt_part_info, 32);
AT(zt_part_info, struct_size, 0);
AT(zt_part_info, path, 8);
AT(zt_part_info, size, 16);
AT(zt_part_info, container, 24);
AT(zt_part_info, reserved, 28);

SIZE(zt_read_request, 136);
AT(zt_read_request, struct_size, 0);
AT(zt_read_request, component, 8);
AT(zt_read_request, offset, 16);
AT(zt_read_request, length, 24);
AT(zt_read_request, start, 32);
AT(zt_read_request, count, 40);
AT(zt_read_request, step, 48);
AT(zt_read_request, dst, 56);
AT(zt_read_request, dst_size, 64);
AT(zt_read_request, tag, 72);
AT(zt_read_request, rows, 80);
AT(zt_read_request, row_length, 88);
AT(zt_read_request, row_stride, 96);
AT(zt_read_request, dst_stride, 104);
AT(zt_read_request, verify, 112);
AT(zt_read_request, convert, 116);
AT(zt_read_request, lossy, 120);
AT(zt_read_request, reserved, 124);
AT(zt_read_request, object, 128);

SIZE(zt_cache_options, 56);
AT(zt_cache_options, struct_size, 0);
AT(zt_cache_options, budget, 8);
AT(zt_cache_options, slot_size, 16);
AT(zt_cache_options, memory, 24);
AT(zt_cache_options, threads, 32);
AT(zt_cache_options, verify, 36);
AT(zt_cache_options, policy, 40);
AT(zt_cache_options, reserved, 44);
AT(zt_cache_options, thread_hooks, 48);

SIZE(zt_cache_pin, 32);
AT(zt_cache_pin, struct_size, 0);
AT(zt_cache_pin, data, 8);
AT(zt_cache_pin, size, 16);
AT(zt_cache_pin, pin, 24);

SIZE(zt_cache_stats, 120);
AT(zt_cache_stats, struct_size, 0);
AT(zt_cache_stats, slots, 8);
AT(zt_cache_stats, used, 16);
AT(zt_cache_stats, pinned, 24);
AT(zt_cache_stats, queued, 32);
AT(zt_cache_stats, overhead, 40);
AT(zt_cache_stats, hits, 48);
AT(zt_cache_stats, joined, 56);
AT(zt_cache_stats, misses, 64);
AT(zt_cache_stats, prefetches, 72);
AT(zt_cache_stats, prefetches_used, 80);
AT(zt_cache_stats, prefetches_dropped, 88);
AT(zt_cache_stats, evictions, 96);
AT(zt_cache_stats, failures, 104);
AT(zt_cache_stats, bytes_read, 112);

SIZE(zt_read_options, 72);
AT(zt_read_options, struct_size, 0);
AT(zt_read_options, threads, 8);
AT(zt_read_options, direct, 12);
AT(zt_read_options, chunk_size, 16);
AT(zt_read_options, in_flight, 24);
AT(zt_read_options, verify, 32);
AT(zt_read_options, pinned, 36);
AT(zt_read_options, context, 40);
AT(zt_read_options, on_done, 48);
AT(zt_read_options, progress, 56);
AT(zt_read_options, keep_going, 64);
AT(zt_read_options, reserved, 68);

SIZE(zt_read_stats, 72);
AT(zt_read_stats, struct_size, 0);
AT(zt_read_stats, bytes, 8);
AT(zt_read_stats, stored_bytes, 16);
AT(zt_read_stats, requests, 24);
AT(zt_read_stats, digests_verified, 32);
AT(zt_read_stats, nanoseconds, 40);
AT(zt_read_stats, threads, 48);
AT(zt_read_stats, direct, 52);
AT(zt_read_stats, reason, 56);
AT(zt_read_stats, failed, 64);

SIZE(zt_load_options, 80);
AT(zt_load_options, struct_size, 0);
AT(zt_load_options, threads, 8);
AT(zt_load_options, direct, 12);
AT(zt_load_options, chunk_size, 16);
AT(zt_load_options, in_flight, 24);
AT(zt_load_options, verify, 32);
AT(zt_load_options, pinned, 36);
AT(zt_load_options, order, 40);
AT(zt_load_options, keep_going, 44);
AT(zt_load_options, ring, 48);
AT(zt_load_options, slot_size, 56);
AT(zt_load_options, slot_count, 64);
AT(zt_load_options, thread_hooks, 72);

SIZE(zt_load_event, 72);
AT(zt_load_event, struct_size, 0);
AT(zt_load_event, kind, 8);
AT(zt_load_event, status, 12);
AT(zt_load_event, message, 16);
AT(zt_load_event, tag, 24);
AT(zt_load_event, data, 32);
AT(zt_load_event, size, 40);
AT(zt_load_event, offset, 48);
AT(zt_load_event, last, 56);
AT(zt_load_event, slot, 60);
AT(zt_load_event, piece, 64);
AT(zt_load_event, reserved, 68);
SIZE(zt_load_part_stats, 48);
AT(zt_load_part_stats, struct_size, 0);
AT(zt_load_part_stats, file, 8);
AT(zt_load_part_stats, stored_bytes, 16);
AT(zt_load_part_stats, direct_bytes, 24);
AT(zt_load_part_stats, reason, 32);
AT(zt_load_part_stats, part, 40);
AT(zt_load_part_stats, reserved, 44);

SIZE(zt_verify_options, 56);
AT(zt_verify_options, struct_size, 0);
AT(zt_verify_options, checks, 8);
AT(zt_verify_options, threads, 12);
AT(zt_verify_options, context, 16);
AT(zt_verify_options, progress, 24);
AT(zt_verify_options, on_failure, 32);
AT(zt_verify_options, object, 40);
AT(zt_verify_options, component, 48);

SIZE(zt_verify_report, 80);
AT(zt_verify_report, struct_size, 0);
AT(zt_verify_report, objects, 8);
AT(zt_verify_report, components, 16);
AT(zt_verify_report, bytes, 24);
AT(zt_verify_report, digests_verified, 32);
AT(zt_verify_report, digests_absent, 40);
AT(zt_verify_report, digests_unknown, 48);
AT(zt_verify_report, padding_nonzero, 56);
AT(zt_verify_report, bytes_not_covered, 64);
AT(zt_verify_report, not_checked, 72);

SIZE(zt_repair_options, 48);
AT(zt_repair_options, struct_size, 0);
AT(zt_repair_options, dry_run, 8);
AT(zt_repair_options, reserved, 12);
AT(zt_repair_options, max_manifest_size, 16);
AT(zt_repair_options, cut_at, 24);
AT(zt_repair_options, context, 32);
AT(zt_repair_options, progress, 40);

SIZE(zt_repair_report, 32);
AT(zt_repair_report, struct_size, 0);
AT(zt_repair_report, old_size, 8);
AT(zt_repair_report, new_size, 16);
AT(zt_repair_report, objects, 24);

#endif
