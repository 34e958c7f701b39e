# Reads components while the caller uses those that were read.

"""
    Load(targets; slots = 0, slot_size = 0, threads = 0, verify = false, direct = :auto, order = :position, keep_going = false, ...)

Starts to read components. A target `component => array` is read into its array, the others into slots of a
ring. Iterating over the load makes each event's slot available again at the next step:

    for event in load # (number of the target from 1, offset, last, bytes, error)
        use(event.number, event.offset, event.bytes)
    end

An event with an error is about a target that failed; it does not have bytes. An error that ended the load is
thrown after all events. order: :position in the files, :given, or :largest first. keep_going: if a target
fails, the others continue. `close` it, or leave it to the garbage collector. With a function, as
`Load(targets) do load`, it is closed when the function returns.
"""
mutable struct Load
    handle::Ptr{Cvoid}
    kept::Any # targets and the ring
    last::Base.RefValue{zt_load_event}
    function Load(targets; slots = 0, slot_size = 0, ring = nothing, direct = :auto, order = :position, more...)
        given, handle = collect(targets), Ref{Ptr{Cvoid}}(C_NULL)
        requests = zt_read_request[load_request(i, target) for (i, target) in enumerate(given)]
        ring === nothing || slots * slot_size <= sizeof(ring) || throw(ArgumentError("the ring has less than slots * slot_size bytes"))
        GC.@preserve given ring begin
            options = sized(zt_load_options; slot_count = slots, slot_size = slot_size, ring = ring === nothing ? C_NULL : pointer(ring),
                direct = chosen(DIRECT, direct), order = chosen(ORDERS, order), more...)
            check(zt_load_start(requests, length(requests), options, handle))
        end
        finalizer(close, new(handle[], (given, ring), sized(zt_load_event)))
    end
end
Load(body::Function, targets; how...) = closing(body, Load(targets; how...))
const ORDERS = enumeration("ZT_LOAD_ORDER_")

load_request(i, c::Component) = sized(zt_read_request; component = c.handle, length = ZT_WHOLE, tag = i)[]
load_request(i, (c, array)::Pair) = sized(zt_read_request; component = c.handle, length = ZT_WHOLE, tag = i, dst = pointer(array),
    dst_size = sizeof(array))[]

live(load::Load) = load.handle == C_NULL ? throw(ArgumentError("the load is closed")) : load.handle
"Stops the load. The bytes of events become invalid, except those in the caller's arrays."
function Base.close(load::Load)
    load.handle == C_NULL || zt_load_finish(load.handle, C_NULL)
    load.handle = C_NULL
    load.kept = nothing
    return nothing
end
"""
Counts, for each file or part of a model, what was read so far, and the reason for the way of reading. Call it
before close.
"""
part_stats(load::Load) = map(listed((at...) -> zt_load_get_part_stats(live(load), at...), zt_load_part_stats)) do s
    (path = part_of(s.file, s.part).path, part = Int(s.part) + 1, stored_bytes = Int(s.stored_bytes),
        direct_bytes = Int(s.direct_bytes), reason = text(s.reason))
end
"Iterations in progress throw ZT_ERROR_CANCELLED."
cancel(load::Load) = check(zt_load_cancel(live(load)))

"""
Returns the next event of a load, and releases the one before. Returns nothing at the end, or if there is no
event within timeout nanoseconds. A negative timeout waits without a limit.
"""
function next_event(load::Load; timeout = -1)
    zt_load_release(live(load), load.last)
    load.last = sized(zt_load_event)
    check(zt_load_next(load.handle, timeout, load.last))
    event = load.last[]
    event.kind == ZT_LOAD_KIND_NOTHING && return nothing
    event.kind == ZT_LOAD_KIND_DONE && return check(event.status)
    failure = event.status == ZT_OK ? nothing : ZTensorError(event.status, unsafe_string(event.message))
    return (number = Int(event.tag), offset = Int(event.offset), last = event.last == 1, bytes = bytes_of(event), error = failure)
end
bytes_of(event) = event.size == 0 ? UInt8[] : bytes_at(event.data, event.size)

function Base.iterate(load::Load, _ = nothing)
    event = next_event(load)
    return event === nothing ? nothing : (event, nothing)
end
Base.IteratorSize(::Type{Load}) = Base.SizeUnknown()
