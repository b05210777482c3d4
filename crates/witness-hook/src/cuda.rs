//! The functions of NVIDIA's driver that are watched.
//!
//! A function with a stream has two names: the second one takes a thread's own stream for stream 0. `since`
//! is the version of the driver's interface from which `cuGetProcAddress` gives this function for its name
//! without suffix (cudaTypedefs.h). Left out: the 32-bit functions of before CUDA 3.2, copies between arrays,
//! 3D copies and prefetches in batches, and copies with attributes. Functions that open a device are in
//! `openings`.

use core::ffi::{c_char, c_int, c_uint, c_void};

use crate::hooks::{
    allocating_managed, batch, beginning_capture, changing, copied, devices, ending, ending_capture,
    forgetting, freeing, instantiating, launching, pinning, plane, prefetch, releasing, solid, to_device,
    to_host, unified,
};
use crate::volume;

type Plane = *const [usize; volume::PLANE_WORDS];
type Solid = *const [usize; volume::WORDS];

hooks! {
    Cuda;
    "cuMemcpy" 4000 [cuMemcpy, cuMemcpy_ptds] (to, from, bytes) => |on| unified(to, from, bytes, on);
    "cuMemcpyAsync" 4000 [cuMemcpyAsync, cuMemcpyAsync_ptsz] (to, from, bytes, stream)
        => |on| unified(to, from, bytes, on.queued(stream));
    "cuMemcpyHtoD" 3020 [cuMemcpyHtoD_v2, cuMemcpyHtoD_v2_ptds] (to, from, bytes)
        => |on| copied(to_device(from, bytes), on);
    "cuMemcpyDtoH" 3020 [cuMemcpyDtoH_v2, cuMemcpyDtoH_v2_ptds] (to, from, bytes)
        => |on| copied(to_host(to, bytes), on);
    "cuMemcpyHtoDAsync" 3020 [cuMemcpyHtoDAsync_v2, cuMemcpyHtoDAsync_v2_ptsz] (to, from, bytes, stream)
        => |on| copied(to_device(from, bytes), on.queued(stream));
    "cuMemcpyDtoHAsync" 3020 [cuMemcpyDtoHAsync_v2, cuMemcpyDtoHAsync_v2_ptsz] (to, from, bytes, stream)
        => |on| copied(to_host(to, bytes), on.queued(stream));
    "cuMemcpyDtoD" 3020 [cuMemcpyDtoD_v2, cuMemcpyDtoD_v2_ptds] (to, from, bytes)
        => |on| copied(devices(bytes), on);
    "cuMemcpyDtoDAsync" 3020 [cuMemcpyDtoDAsync_v2, cuMemcpyDtoDAsync_v2_ptsz] (to, from, bytes, stream)
        => |on| copied(devices(bytes), on.queued(stream));
    "cuMemcpyPeer" 4000 [cuMemcpyPeer, cuMemcpyPeer_ptds] (to, to_context, from, from_context, bytes)
        => |on| copied(devices(bytes), on);
    "cuMemcpyPeerAsync" 4000 [cuMemcpyPeerAsync, cuMemcpyPeerAsync_ptsz]
        (to, to_context, from, from_context, bytes, stream) => |on| copied(devices(bytes), on.queued(stream));
    "cuMemcpyHtoA" 3020 [cuMemcpyHtoA_v2] (to, offset, from, bytes)
        => |on| copied(to_device(from, bytes), on);
    "cuMemcpyAtoH" 3020 [cuMemcpyAtoH_v2] (to, from, offset, bytes) => |on| copied(to_host(to, bytes), on);
    "cuMemcpyHtoAAsync" 3020 [cuMemcpyHtoAAsync_v2] (to, offset, from, bytes, stream)
        => |on| copied(to_device(from, bytes), on.queued(stream));
    "cuMemcpyAtoHAsync" 3020 [cuMemcpyAtoHAsync_v2] (to, from, offset, bytes, stream)
        => |on| copied(to_host(to, bytes), on.queued(stream));
    "cuMemcpy2D" 3020 [cuMemcpy2D_v2, cuMemcpy2D_v2_ptds] (words: Plane) => |on| plane(words, on);
    "cuMemcpy2DUnaligned" 3020 [cuMemcpy2DUnaligned_v2, cuMemcpy2DUnaligned_v2_ptds] (words: Plane)
        => |on| plane(words, on);
    "cuMemcpy2DAsync" 3020 [cuMemcpy2DAsync_v2, cuMemcpy2DAsync_v2_ptsz] (words: Plane, stream)
        => |on| plane(words, on.queued(stream));
    "cuMemcpy3D" 3020 [cuMemcpy3D_v2, cuMemcpy3D_v2_ptds] (words: Solid) => |on| solid(words, on);
    "cuMemcpy3DAsync" 3020 [cuMemcpy3DAsync_v2, cuMemcpy3DAsync_v2_ptsz] (words: Solid, stream)
        => |on| solid(words, on.queued(stream));
    "cuMemcpy3DPeer" 4000 [cuMemcpy3DPeer, cuMemcpy3DPeer_ptds] (words: Solid) => |on| solid(words, on);
    "cuMemcpy3DPeerAsync" 4000 [cuMemcpy3DPeerAsync, cuMemcpy3DPeerAsync_ptsz] (words: Solid, stream)
        => |on| solid(words, on.queued(stream));
    "cuMemcpyBatchAsync" 12080 [cuMemcpyBatchAsync, cuMemcpyBatchAsync_ptsz]
        (to: *const usize, from: *const usize, sizes: *const usize, count, attributes: *const c_void,
        indices: *const usize, kinds, failed: *mut usize, stream)
        => |on| batch([to, from, sizes], count, on.queued(stream));
    "cuMemcpyBatchAsync" 13000 [cuMemcpyBatchAsync_v2, cuMemcpyBatchAsync_v2_ptsz]
        (to: *const usize, from: *const usize, sizes: *const usize, count, attributes: *const c_void,
        indices: *const usize, kinds, stream)
        => |on| batch([to, from, sizes], count, on.queued(stream));
    "cuMemPrefetchAsync" 8000 [cuMemPrefetchAsync, cuMemPrefetchAsync_ptsz] (at, bytes, device: c_int, stream)
        => |_on| prefetch(bytes);
    "cuMemPrefetchAsync" 12020 [cuMemPrefetchAsync_v2, cuMemPrefetchAsync_v2_ptsz]
        (at, bytes, location: u64, flags, stream) => |_on| prefetch(bytes);
    "cuMemHostAlloc" 2020 [cuMemHostAlloc] (to: *mut usize, bytes, flags: c_uint) => |_on| pinning;
    "cuMemAllocHost" 3020 [cuMemAllocHost_v2] (to: *mut usize, bytes) => |_on| pinning;
    "cuMemFreeHost" 2000 [cuMemFreeHost] (at) => |_on| pinning;
    "cuMemHostRegister" 6050 [cuMemHostRegister_v2] (at, bytes, flags: c_uint) => |_on| pinning;
    "cuMemHostUnregister" 4000 [cuMemHostUnregister] (at) => |_on| pinning;
    "cuMemAllocManaged" 6000 [cuMemAllocManaged] (to: *mut usize, bytes, flags: c_uint)
        => |_on| allocating_managed;
    "cuMemFree" 3020 [cuMemFree_v2] (at) => |_on| freeing;
    "cuCtxDestroy" 4000 [cuCtxDestroy_v2] (context) => |_on| ending(Some(context));
    "cuDevicePrimaryCtxReset" 11000 [cuDevicePrimaryCtxReset_v2] (device: c_int) => |_on| ending(None);
    "cuDevicePrimaryCtxRelease" 11000 [cuDevicePrimaryCtxRelease_v2] (device: c_int)
        => |_on| releasing(device);
    "cuStreamBeginCapture" 10000 [cuStreamBeginCapture, cuStreamBeginCapture_ptsz] (stream)
        => |_on| beginning_capture;
    "cuStreamBeginCapture" 10010 [cuStreamBeginCapture_v2, cuStreamBeginCapture_v2_ptsz] (stream, mode: c_int)
        => |_on| beginning_capture;
    "cuStreamBeginCaptureToGraph" 12030 [cuStreamBeginCaptureToGraph, cuStreamBeginCaptureToGraph_ptsz]
        (stream, graph, nodes: *const usize, data: *const c_void, count, mode: c_int)
        => |_on| beginning_capture;
    "cuStreamEndCapture" 10000 [cuStreamEndCapture, cuStreamEndCapture_ptsz] (stream, graph: *mut usize)
        => |_on| ending_capture;
    "cuGraphInstantiate" 10000 [cuGraphInstantiate]
        (exec: *mut usize, graph, node: *mut usize, log: *mut c_char, size)
        => |on| instantiating(on.api, exec, graph);
    "cuGraphInstantiate" 11000 [cuGraphInstantiate_v2]
        (exec: *mut usize, graph, node: *mut usize, log: *mut c_char, size)
        => |on| instantiating(on.api, exec, graph);
    "cuGraphInstantiate" 12000 [cuGraphInstantiateWithFlags] (exec: *mut usize, graph, flags: u64)
        => |on| instantiating(on.api, exec, graph);
    "cuGraphInstantiateWithParams" 12000 [cuGraphInstantiateWithParams, cuGraphInstantiateWithParams_ptsz]
        (exec: *mut usize, graph, parameters: *mut c_void) => |on| instantiating(on.api, exec, graph);
    "cuGraphLaunch" 10000 [cuGraphLaunch, cuGraphLaunch_ptsz] (exec, stream)
        => |on| launching(on.queued(stream), exec);
    "cuGraphExecDestroy" 10000 [cuGraphExecDestroy] (exec) => |_on| forgetting(exec);
    "cuGraphExecMemcpyNodeSetParams" 10020 [cuGraphExecMemcpyNodeSetParams]
        (exec, node, parameters: *const c_void, context) => |_on| changing(exec);
    "cuGraphExecChildGraphNodeSetParams" 11010 [cuGraphExecChildGraphNodeSetParams] (exec, node, child)
        => |_on| changing(exec);
    "cuGraphExecNodeSetParams" 12020 [cuGraphExecNodeSetParams] (exec, node, parameters: *const c_void)
        => |_on| changing(exec);
    "cuGraphNodeSetEnabled" 11060 [cuGraphNodeSetEnabled] (exec, node, enabled: c_uint)
        => |_on| changing(exec);
    "cuGraphExecUpdate" 10020 [cuGraphExecUpdate] (exec, graph, node: *mut usize, result: *mut c_int)
        => |_on| changing(exec);
    "cuGraphExecUpdate" 12000 [cuGraphExecUpdate_v2] (exec, graph, result: *mut c_void)
        => |_on| changing(exec);
}
