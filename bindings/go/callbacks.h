// Functions that C calls, and functions that set the fields for them. A handle is a number that C keeps as a
// pointer. Go must never treat it as a pointer.
#ifndef ZTENSOR_GO_CALLBACKS_H
#define ZTENSOR_GO_CALLBACKS_H

#include <stdint.h>
#include <ztensor_advanced.h>

int32_t goProgress(uintptr_t handle, uint64_t done, uint64_t total);
int32_t goFailure(uintptr_t handle, zt_object *object, zt_component *component, zt_status status, char *message);
void goDone(uintptr_t handle, uint64_t tag, zt_status status, char *message);
void goThread(uintptr_t handle, uint32_t index, int32_t end);
void *goAllocate(uintptr_t handle, size_t size, size_t alignment);
void goFree(uintptr_t handle, void *memory, size_t size, size_t alignment);
zt_status goSize(uintptr_t handle, uint64_t *size);
zt_status goReadAt(uintptr_t handle, uint64_t offset, void *dst, size_t n);
zt_status goReadMany(uintptr_t handle, zt_source_range *ranges, size_t count);
void goClose(uintptr_t handle);
zt_status goWrite(uintptr_t handle, void *data, size_t n);
zt_status goStoreOpen(uintptr_t handle, char *name, zt_source *source);
zt_status goStoreList(uintptr_t handle, char *folder, void *add, void *names);

static inline int32_t zt_go_progress(void *c, uint64_t done, uint64_t total) { return goProgress((uintptr_t)c, done, total); }
static inline int32_t zt_go_failure(void *c, const zt_object *o, const zt_component *p, zt_status s, const char *message)
{
	return goFailure((uintptr_t)c, (zt_object *)o, (zt_component *)p, s, (char *)message);
}
static inline void zt_go_done(void *c, uint64_t tag, zt_status s, const char *message) { goDone((uintptr_t)c, tag, s, (char *)message); }
static inline void zt_go_thread_start(void *c, uint32_t index) { goThread((uintptr_t)c, index, 0); }
static inline void zt_go_thread_end(void *c, uint32_t index) { goThread((uintptr_t)c, index, 1); }
static inline void *zt_go_allocate(void *c, size_t size, size_t alignment) { return goAllocate((uintptr_t)c, size, alignment); }
static inline void zt_go_free(void *c, void *m, size_t size, size_t alignment) { goFree((uintptr_t)c, m, size, alignment); }
static inline zt_status zt_go_size(void *c, uint64_t *size) { return goSize((uintptr_t)c, size); }
static inline zt_status zt_go_read_at(void *c, uint64_t offset, void *dst, size_t n) { return goReadAt((uintptr_t)c, offset, dst, n); }
static inline zt_status zt_go_read_many(void *c, const zt_source_range *ranges, size_t count)
{
	return goReadMany((uintptr_t)c, (zt_source_range *)ranges, count);
}
static inline void zt_go_close(void *c) { goClose((uintptr_t)c); }
static inline zt_status zt_go_write(void *c, const void *data, size_t n) { return goWrite((uintptr_t)c, (void *)data, n); }
static inline zt_status zt_go_store_open(void *c, const char *name, zt_source *source)
{
	return goStoreOpen((uintptr_t)c, (char *)name, source);
}
static inline zt_status zt_go_store_list(void *c, const char *folder, zt_name_callback add, void *names)
{
	return goStoreList((uintptr_t)c, (char *)folder, (void *)add, names);
}

#define ZT_GO_WATCH(what, options)                                                   \
	static inline void zt_go_watch_##what(options *o, uintptr_t handle) \
	{                                                                            \
		o->context = (void *)handle;                                         \
		o->progress = zt_go_progress;                                        \
	}
ZT_GO_WATCH(open, zt_open_options)
ZT_GO_WATCH(read, zt_read_options)
ZT_GO_WATCH(verify, zt_verify_options)
ZT_GO_WATCH(repair, zt_repair_options)
ZT_GO_WATCH(write, zt_write_options)

static inline zt_status zt_go_measure(const zt_component *c, uintptr_t handle, uint64_t *size)
{
	return zt_component_measure(c, zt_go_progress, (void *)handle, size);
}
static inline void zt_go_on_failure(zt_verify_options *o) { o->on_failure = zt_go_failure; }
static inline void zt_go_on_done(zt_read_options *o) { o->on_done = zt_go_done; }
static inline void zt_go_allocator(zt_allocator *a, uintptr_t handle)
{
	a->context = (void *)handle;
	a->allocate = zt_go_allocate;
	a->free = zt_go_free;
}
static inline void zt_go_thread_hooks(zt_thread_hooks *h, uintptr_t handle)
{
	h->context = (void *)handle;
	h->on_start = zt_go_thread_start;
	h->on_end = zt_go_thread_end;
}
static inline void zt_go_source(zt_source *s, uintptr_t handle, int many)
{
	s->context = (void *)handle;
	s->size = zt_go_size;
	s->read_at = zt_go_read_at;
	s->read_many = many ? zt_go_read_many : 0;
	s->close = zt_go_close;
}
static inline void zt_go_sink(zt_sink *s, uintptr_t handle)
{
	s->context = (void *)handle;
	s->write = zt_go_write;
	s->close = zt_go_close;
}
static inline void zt_go_store(zt_store *s, uintptr_t handle, int list)
{
	s->context = (void *)handle;
	s->open = zt_go_store_open;
	s->list = list ? zt_go_store_list : 0;
}

#endif
