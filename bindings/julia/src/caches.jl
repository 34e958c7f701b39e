# Slices of files that are larger than memory, in slots.

const CACHE_POLICIES = enumeration("ZT_CACHE_")
"""
    Cache(budget, slot_size; policy = :lru, threads = 0, verify = false)

At most budget bytes in slots of slot_size bytes, one for each component that is asked for. `close` it, or leave it to the garbage
collector.
"""
mutable struct Cache
    handle::Ptr{Cvoid}
    memory::Vector{Any} # of files in memory, which are read from until the cache is closed
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
"A slice that may be read when nobody else has the file."
function slice_of(cache::Cache, c::Component)
    memory = c.file.kept
    memory === nothing || any(other -> other === memory, cache.memory) || push!(cache.memory, memory)
    return slice_of(c)
end

"Gives the bytes of a component to body, pinned as long as that runs. timeout: nanoseconds; negative waits as long as it takes."
function pinned(body, cache::Cache, c::Component; timeout = -1)
    out = sized(zt_cache_pin)
    check(zt_cache_get(live(cache), Ref(slice_of(cache, c)), timeout, out))
    try
        return body(bytes_at(out[].data, out[].size))
    finally
        check(zt_cache_unpin(live(cache), out))
    end
end
"Has components read ahead, in their order."
function prefetch(cache::Cache, components)
    slices = zt_read_request[slice_of(cache, c) for c in components]
    check(zt_cache_prefetch(live(cache), slices, length(slices)))
end
"Drops components; without arguments all that are not pinned."
function drop(cache::Cache, components = ())
    slices = zt_read_request[slice_of(c) for c in components]
    check(zt_cache_drop(live(cache), isempty(slices) ? C_NULL : slices, length(slices)))
end
"Drops what was prefetched and is not being read."
cancel(cache::Cache) = check(zt_cache_cancel(live(cache)))
"What the cache has, and what it did."
stats(cache::Cache) = report(got(zt_cache_stats, zt_cache_get_stats, live(cache)))
