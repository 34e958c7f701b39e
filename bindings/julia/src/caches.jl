# Slices of files that are larger than memory, in slots.

const CACHE_POLICIES = enumeration("ZT_CACHE_")
"""
    Cache(budget, slot_size; policy = :lru, threads = 0, verify = false)

Holds at most budget bytes in slots of slot_size bytes. Each cached component occupies one slot. `close` it,
or leave it to the garbage collector.
"""
mutable struct Cache
    handle::Ptr{Cvoid}
    memory::Vector{Any} # memory of files that are read until the cache is closed
    function Cache(budget::Integer, slot_size::Integer; policy = :lru, more...)
        handle = Ref{Ptr{Cvoid}}(C_NULL)
        check(zt_cache_create(sized(zt_cache_options; budget = budget, slot_size = slot_size,
                                    policy = chosen(CACHE_POLICIES, policy), more...), handle))
        cache = new(handle[], [])
        finalizer(close, cache)
    end
end
function Base.close(cache::Cache)
    zt_cache_free(cache.handle)
    cache.handle = C_NULL
    empty!(cache.memory)
    return nothing
end
live(cache::Cache) = cache.handle == C_NULL ? throw(ArgumentError("the cache is closed")) : cache.handle

slice_of(c::Component) = sized(zt_read_request; component = c.handle, length = ZT_WHOLE)[]
"A slice. The cache may read it after its file is closed."
function slice_of(cache::Cache, c::Component)
    memory = c.file.kept
    memory === nothing || any(other -> other === memory, cache.memory) || push!(cache.memory, memory)
    return slice_of(c)
end

"""
Calls body with the bytes of a component, which stay pinned during the call. timeout: nanoseconds; a negative
value waits without a limit.
"""
function pinned(body, cache::Cache, c::Component; timeout = -1)
    out = sized(zt_cache_pin)
    check(zt_cache_get(live(cache), Ref(slice_of(cache, c)), timeout, out))
    try
        return body(bytes_at(out[].data, out[].size))
    finally
        check(zt_cache_unpin(live(cache), out))
    end
end
"Reads components ahead, in the given order."
function prefetch(cache::Cache, components)
    slices = zt_read_request[slice_of(cache, c) for c in components]
    check(zt_cache_prefetch(live(cache), slices, length(slices)))
end
"Evicts components; without arguments all that are not pinned."
function drop(cache::Cache, components = ())
    slices = zt_read_request[slice_of(c) for c in components]
    check(zt_cache_drop(live(cache), isempty(slices) ? C_NULL : slices, length(slices)))
end
"Removes prefetches that have not started."
cancel(cache::Cache) = check(zt_cache_cancel(live(cache)))
"Counts what the cache holds and what it did."
stats(cache::Cache) = report(got(zt_cache_stats, zt_cache_get_stats, live(cache)))
