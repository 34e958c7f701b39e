/* Offsets of the fields of each struct with a struct_size, for hostile_structs.c. */
#ifndef STRUCT_FIELDS_H
#define STRUCT_FIELDS_H

#include "support.h"

/* Offsets of the numbers and pointers of a struct. Those of a zt_array are listed separately. */
typedef struct field { size_t at, size; } field;
#define F(T, f) {offsetof(T, f), sizeof(((T *)0)->f)}
#define A(T, f) F(T, f.data), F(T, f.size), F(T, f.count), F(T, f.dtype), F(T, f.type), F(T, f.reserved), F(T, f.reserved2)
static const field zt_open_options_fields[] = {
    F(zt_open_options, struct_size), F(zt_open_options, mode), F(zt_open_options, verify),
    F(zt_open_options, strict), F(zt_open_options, advice), F(zt_open_options, max_manifest_size),
    F(zt_open_options, max_decoded_size), F(zt_open_options, max_objects), F(zt_open_options, threads),
    F(zt_open_options, containers), F(zt_open_options, max_memory), F(zt_open_options, context),
    F(zt_open_options, progress), F(zt_open_options, name), F(zt_open_options, allocator),
    F(zt_open_options, thread_hooks), F(zt_open_options, shard_folder), F(zt_open_options, shards),
    F(zt_open_options, part), F(zt_open_options, include_unlisted), F(zt_open_options, allow_trailing),
    F(zt_open_options, combine_quantized), F(zt_open_options, reserved)};
static const field zt_allocator_fields[] = {
    F(zt_allocator, struct_size), F(zt_allocator, context), F(zt_allocator, allocate), F(zt_allocator, free)};
static const field zt_thread_hooks_fields[] = {
    F(zt_thread_hooks, struct_size), F(zt_thread_hooks, context), F(zt_thread_hooks, on_start),
    F(zt_thread_hooks, on_end)};
static const field zt_component_info_fields[] = {
    F(zt_component_info, struct_size), F(zt_component_info, component), F(zt_component_info, object),
    F(zt_component_info, role), F(zt_component_info, role_length), F(zt_component_info, digest),
    F(zt_component_info, offset), F(zt_component_info, stored_size), F(zt_component_info, size),
    F(zt_component_info, dtype), F(zt_component_info, type), F(zt_component_info, encoding),
    F(zt_component_info, part), F(zt_component_info, dtype_name), F(zt_component_info, type_name),
    F(zt_component_info, encoding_name)};
static const field zt_part_info_fields[] = {
    F(zt_part_info, struct_size), F(zt_part_info, path), F(zt_part_info, size), F(zt_part_info, container),
    F(zt_part_info, reserved)};
static const field zt_copy_options_fields[] = {
    F(zt_copy_options, struct_size), F(zt_copy_options, name), F(zt_copy_options, name_length),
    F(zt_copy_options, encoding), F(zt_copy_options, digest), F(zt_copy_options, dtype), F(zt_copy_options, type)};
static const field zt_identity_fields[] = {
    F(zt_identity, struct_size), F(zt_identity, size), F(zt_identity, modified_ns),
    F(zt_identity, manifest_offset), F(zt_identity, manifest_hash), F(zt_identity, source_identity)};
static const field zt_model_info_fields[] = {
    F(zt_model_info, struct_size), F(zt_model_info, passed_over), F(zt_model_info, unlisted)};
static const field zt_store_fields[] = {
    F(zt_store, struct_size), F(zt_store, context), F(zt_store, open), F(zt_store, list)};
static const field zt_source_fields[] = {
    F(zt_source, struct_size), F(zt_source, context), F(zt_source, size), F(zt_source, read_at),
    F(zt_source, close), F(zt_source, read_many), F(zt_source, name), F(zt_source, gap),
    F(zt_source, largest_request), F(zt_source, concurrency), F(zt_source, callers_thread),
    F(zt_source, identity)};
static const field zt_read_options_fields[] = {
    F(zt_read_options, struct_size), F(zt_read_options, threads), F(zt_read_options, direct),
    F(zt_read_options, chunk_size), F(zt_read_options, in_flight), F(zt_read_options, verify),
    F(zt_read_options, pinned), F(zt_read_options, context), F(zt_read_options, on_done),
    F(zt_read_options, progress), F(zt_read_options, keep_going), F(zt_read_options, reserved)};
static const field zt_read_request_fields[] = {
    F(zt_read_request, struct_size), F(zt_read_request, component), F(zt_read_request, offset),
    F(zt_read_request, length), F(zt_read_request, start), F(zt_read_request, count),
    F(zt_read_request, step), F(zt_read_request, dst), F(zt_read_request, dst_size), F(zt_read_request, tag),
    F(zt_read_request, rows), F(zt_read_request, row_length), F(zt_read_request, row_stride),
    F(zt_read_request, dst_stride), F(zt_read_request, verify), F(zt_read_request, convert),
    F(zt_read_request, lossy), F(zt_read_request, reserved), F(zt_read_request, object)};
static const field zt_load_options_fields[] = {
    F(zt_load_options, struct_size), F(zt_load_options, threads), F(zt_load_options, direct),
    F(zt_load_options, chunk_size), F(zt_load_options, in_flight), F(zt_load_options, verify),
    F(zt_load_options, pinned), F(zt_load_options, order), F(zt_load_options, keep_going), F(zt_load_options, ring),
    F(zt_load_options, slot_size), F(zt_load_options, slot_count), F(zt_load_options, thread_hooks)};
static const field zt_load_event_fields[] = {
    F(zt_load_event, struct_size), F(zt_load_event, kind), F(zt_load_event, status), F(zt_load_event, message),
    F(zt_load_event, tag), F(zt_load_event, data), F(zt_load_event, size), F(zt_load_event, offset),
    F(zt_load_event, last), F(zt_load_event, slot), F(zt_load_event, piece), F(zt_load_event, reserved)};
static const field zt_load_part_stats_fields[] = {
    F(zt_load_part_stats, struct_size), F(zt_load_part_stats, file), F(zt_load_part_stats, stored_bytes),
    F(zt_load_part_stats, direct_bytes), F(zt_load_part_stats, reason), F(zt_load_part_stats, part),
    F(zt_load_part_stats, reserved)};
static const field zt_read_stats_fields[] = {
    F(zt_read_stats, struct_size), F(zt_read_stats, bytes), F(zt_read_stats, stored_bytes),
    F(zt_read_stats, requests), F(zt_read_stats, digests_verified), F(zt_read_stats, nanoseconds),
    F(zt_read_stats, threads), F(zt_read_stats, direct), F(zt_read_stats, reason), F(zt_read_stats, failed)};
static const field zt_cache_options_fields[] = {
    F(zt_cache_options, struct_size), F(zt_cache_options, budget), F(zt_cache_options, slot_size),
    F(zt_cache_options, memory), F(zt_cache_options, threads), F(zt_cache_options, verify),
    F(zt_cache_options, policy), F(zt_cache_options, reserved), F(zt_cache_options, thread_hooks)};
static const field zt_cache_pin_fields[] = {
    F(zt_cache_pin, struct_size), F(zt_cache_pin, data), F(zt_cache_pin, size), F(zt_cache_pin, pin)};
static const field zt_cache_stats_fields[] = {
    F(zt_cache_stats, struct_size), F(zt_cache_stats, slots), F(zt_cache_stats, used),
    F(zt_cache_stats, pinned), F(zt_cache_stats, queued), F(zt_cache_stats, overhead),
    F(zt_cache_stats, hits), F(zt_cache_stats, joined), F(zt_cache_stats, misses),
    F(zt_cache_stats, prefetches), F(zt_cache_stats, prefetches_used), F(zt_cache_stats, prefetches_dropped),
    F(zt_cache_stats, evictions), F(zt_cache_stats, failures), F(zt_cache_stats, bytes_read)};
static const field zt_verify_options_fields[] = {
    F(zt_verify_options, struct_size), F(zt_verify_options, checks), F(zt_verify_options, threads),
    F(zt_verify_options, context), F(zt_verify_options, progress),
    F(zt_verify_options, on_failure), F(zt_verify_options, object), F(zt_verify_options, component)};
static const field zt_verify_report_fields[] = {
    F(zt_verify_report, struct_size), F(zt_verify_report, objects), F(zt_verify_report, components),
    F(zt_verify_report, bytes), F(zt_verify_report, digests_verified), F(zt_verify_report, digests_absent),
    F(zt_verify_report, digests_unknown), F(zt_verify_report, padding_nonzero),
    F(zt_verify_report, bytes_not_covered), F(zt_verify_report, not_checked)};
static const field zt_repair_options_fields[] = {
    F(zt_repair_options, struct_size), F(zt_repair_options, dry_run), F(zt_repair_options, reserved),
    F(zt_repair_options, max_manifest_size), F(zt_repair_options, cut_at), F(zt_repair_options, context),
    F(zt_repair_options, progress)};
static const field zt_repair_report_fields[] = {
    F(zt_repair_report, struct_size), F(zt_repair_report, old_size), F(zt_repair_report, new_size),
    F(zt_repair_report, objects)};
static const field zt_tensor_fields[] = {
    F(zt_tensor, struct_size), F(zt_tensor, data), F(zt_tensor, size), F(zt_tensor, dtype),
    F(zt_tensor, type), F(zt_tensor, shape), F(zt_tensor, rank)};
static const field zt_object_info_fields[] = {
    F(zt_object_info, struct_size), F(zt_object_info, object), F(zt_object_info, name),
    F(zt_object_info, name_length), F(zt_object_info, shape), F(zt_object_info, rank),
    F(zt_object_info, attributes), F(zt_object_info, component_count), F(zt_object_info, component),
    F(zt_object_info, offset), F(zt_object_info, stored_size), F(zt_object_info, size),
    F(zt_object_info, format), F(zt_object_info, dtype), F(zt_object_info, type), F(zt_object_info, encoding), F(zt_object_info, format_name)};
static const field zt_csr_fields[] = {
    F(zt_csr, struct_size), F(zt_csr, rows), F(zt_csr, columns), F(zt_csr, nnz), A(zt_csr, values),
    A(zt_csr, indices), A(zt_csr, indptr)};
static const field zt_coo_fields[] = {
    F(zt_coo, struct_size), F(zt_coo, nnz), F(zt_coo, shape), F(zt_coo, rank), A(zt_coo, values),
    A(zt_coo, coords)};
static const field zt_quantized_fields[] = {
    F(zt_quantized, struct_size), F(zt_quantized, shape), F(zt_quantized, rank), F(zt_quantized, bits),
    F(zt_quantized, group_size), F(zt_quantized, packing), A(zt_quantized, packed_weight),
    A(zt_quantized, scales), A(zt_quantized, zeros), F(zt_quantized, weights_per_element),
    F(zt_quantized, axis), F(zt_quantized, zero_point), F(zt_quantized, msb_first), F(zt_quantized, zeros_packed)};
static const field zt_write_request_fields[] = {
    F(zt_write_request, struct_size), F(zt_write_request, name), F(zt_write_request, shape),
    F(zt_write_request, rank), F(zt_write_request, data), F(zt_write_request, size),
    F(zt_write_request, dtype), F(zt_write_request, type), F(zt_write_request, encoding),
    F(zt_write_request, digest), F(zt_write_request, name_length)};
static const field zt_write_options_fields[] = {
    F(zt_write_options, struct_size), F(zt_write_options, spec), F(zt_write_options, encoding),
    F(zt_write_options, alignment), F(zt_write_options, large_alignment), F(zt_write_options, large_size),
    F(zt_write_options, zstd_level), F(zt_write_options, digest), F(zt_write_options, threads),
    F(zt_write_options, durable), F(zt_write_options, frame_size), F(zt_write_options, context),
    F(zt_write_options, progress), F(zt_write_options, thread_hooks), F(zt_write_options, canonical),
    F(zt_write_options, allow_damaged)};
static const field zt_sink_fields[] = {
    F(zt_sink, struct_size), F(zt_sink, context), F(zt_sink, write), F(zt_sink, finish), F(zt_sink, close)};
static const field zt_object_desc_fields[] = {
    F(zt_object_desc, struct_size), F(zt_object_desc, name), F(zt_object_desc, name_length),
    F(zt_object_desc, format), F(zt_object_desc, reserved), F(zt_object_desc, format_name),
    F(zt_object_desc, shape), F(zt_object_desc, rank), F(zt_object_desc, components),
    F(zt_object_desc, component_count), F(zt_object_desc, attributes), F(zt_object_desc, attributes_json),
    F(zt_object_desc, format_name_length)};
static const field zt_component_desc_fields[] = {
    F(zt_component_desc, struct_size), F(zt_component_desc, role), F(zt_component_desc, role_length),
    F(zt_component_desc, dtype), F(zt_component_desc, type), F(zt_component_desc, type_name),
    F(zt_component_desc, encoding), F(zt_component_desc, digest), F(zt_component_desc, data),
    F(zt_component_desc, size), F(zt_component_desc, type_name_length)};
static const field zt_quantized_desc_fields[] = {
    F(zt_quantized_desc, struct_size), F(zt_quantized_desc, bits), F(zt_quantized_desc, group_size),
    F(zt_quantized_desc, packing), F(zt_quantized_desc, packed_weight),
    F(zt_quantized_desc, packed_weight_size), F(zt_quantized_desc, scales),
    F(zt_quantized_desc, scales_size), F(zt_quantized_desc, zeros), F(zt_quantized_desc, zeros_size),
    F(zt_quantized_desc, packed_weight_dtype), F(zt_quantized_desc, scales_dtype),
    F(zt_quantized_desc, zeros_dtype), F(zt_quantized_desc, reserved), F(zt_quantized_desc, scales_type),
    F(zt_quantized_desc, has_axis), F(zt_quantized_desc, axis), F(zt_quantized_desc, zero_point),
    F(zt_quantized_desc, msb_first), F(zt_quantized_desc, zeros_packed)};
static const field zt_attribute_fields[] = {
    F(zt_attribute, struct_size), F(zt_attribute, kind), F(zt_attribute, dtype), F(zt_attribute, i64),
    F(zt_attribute, u64), F(zt_attribute, f64), F(zt_attribute, data), F(zt_attribute, size),
    F(zt_attribute, count), F(zt_attribute, lengths), F(zt_attribute, key_length)};
static const field zt_write_summary_fields[] = {
    F(zt_write_summary, struct_size), F(zt_write_summary, file_size), F(zt_write_summary, objects),
    F(zt_write_summary, components), F(zt_write_summary, stored_bytes), F(zt_write_summary, data_bytes),
    F(zt_write_summary, damaged)};

#endif
