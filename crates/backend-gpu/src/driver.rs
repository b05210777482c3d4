//! What a driver must be able to do, in the words of CUDA's driver API.
//!
//! One method for each function that the shared files call, in the order of a device's life. Out-parameters,
//! flags and the spelling of a call are the backend's; a result code that is not success is a [`CallError`]
//! with the driver's own words.
//!
//! Some 590 lines because a trait is one item, and most of them are the conditions under which a function may
//! be called.

use std::ffi::{c_int, c_void};

use device::{CallError, DeviceError, KernelModule, MemoryHome, MemoryInfo, MemoryKind, PlatformKind};
use stats::PciAddress;

use crate::kernel::{DriverKernel, LaunchGrid};
use crate::math_names::MathNames;

/// The arrays of a call that queues many copies, as many entries in each; addresses are words.
#[derive(Debug, Default)]
pub struct CopyBatch {
    /// Where the bytes go.
    pub to: Vec<u64>,
    /// Where they come from.
    pub from: Vec<u64>,
    /// How many.
    pub bytes: Vec<usize>,
}

/// A driver that was initialised.
///
/// # Safety
///
/// The handles (the associated types) are tokens that any thread may pass to the driver's functions, and a
/// function does what is said here. Functions that work in a device's context are called on a thread that
/// made it current before ([`Driver::context_set_current`]).
pub unsafe trait Driver: Send + Sync + Sized + 'static {
    /// The family of devices.
    const KIND: PlatformKind;
    /// The result code for memory that is not there.
    const OUT_OF_MEMORY: i64;
    /// The result codes by which pinning fails for lack of memory that may be locked.
    const NOT_LOCKABLE: &'static [i64];
    /// Whether RLIMIT_MEMLOCK bounds what the driver pins.
    const HEEDS_MEMLOCK: bool;

    /// A device, before it is opened.
    type Device: Copy + Send + Sync;
    /// A device's context.
    type Context: Copy;
    /// A stream.
    type Stream: Copy;
    /// An event.
    type Event: Copy;
    /// An address on a device.
    type Address: Copy;
    /// The kernel that holds a stream, loaded.
    type SpinKernel;
    /// The other kernels, loaded.
    type Kernels;
    /// A program of someone else's kernels, loaded.
    type Program;

    /// A plan of the library of Fourier transforms, and a value that is none.
    type FftPlan: Copy;
    /// See [`Driver::FftPlan`].
    const NO_FFT_PLAN: Self::FftPlan;
    /// The vendor's library of dense matrices.
    const BLAS: MathNames;
    /// The vendor's library of Fourier transforms.
    const FFT: MathNames;
    /// The kernel that has the tensor memory accelerator copy, or why there is none.
    const TMA: Result<&'static KernelModule, &'static str>;

    /// A stream as the vendor's libraries take it.
    fn stream_address(stream: Self::Stream) -> *mut c_void;

    /// The version of the driver's API, as `MAJOR.MINOR`.
    ///
    /// # Errors
    /// The call that failed.
    fn version(&self) -> Result<String, CallError>;

    /// What a stand-in driver says of itself; a real one says nothing.
    fn simulation(&self) -> Option<String>;

    /// [`DeviceError::NoDevice`] for this answer of the driver, with what is the matter most often.
    fn no_device(answer: &str) -> DeviceError;

    /// How many devices there are.
    ///
    /// # Errors
    /// [`DeviceError::NoDevice`] where the driver says so by a code, or the call that failed.
    fn device_count(&self) -> Result<c_int, DeviceError>;

    /// The device of this number.
    ///
    /// # Errors
    /// The call that failed.
    fn device(&self, ordinal: c_int) -> Result<Self::Device, CallError>;

    /// The device's marketing name.
    ///
    /// # Errors
    /// The call that failed.
    fn device_name(&self, device: Self::Device) -> Result<String, CallError>;

    /// The device's PCI address.
    ///
    /// # Errors
    /// The call that failed.
    fn device_pci_address(&self, device: Self::Device) -> Result<String, CallError>;

    /// Bytes of memory in all.
    ///
    /// # Errors
    /// The call that failed.
    fn device_total_bytes(&self, device: Self::Device) -> Result<usize, CallError>;

    /// The NUMA node the driver names as the device's own, where it names one.
    fn device_host_node(&self, device: Self::Device) -> Option<u32>;

    /// Where the driver says that the device's memory is.
    fn device_memory_home(&self, device: Self::Device) -> MemoryHome;

    /// The device's UUID in the vendor's spelling, where the driver tells.
    fn device_uuid(&self, device: Self::Device) -> Option<String>;

    /// Gives devices to which the driver gave one address, because they are parts of one GPU, addresses of
    /// their own, if the vendor has a way to number them. `addresses` is in the order of the driver.
    fn tell_parts_apart(_addresses: &mut [PciAddress]) {}

    /// Retains the device's primary context.
    ///
    /// # Errors
    /// The call that failed.
    fn context_retain(&self, device: Self::Device) -> Result<Self::Context, CallError>;

    /// A number that no other context of this driver has while this one is retained, and that is not 0.
    fn context_number(context: Self::Context) -> usize;

    /// Makes a context the calling thread's, or none.
    ///
    /// # Errors
    /// The call that failed.
    ///
    /// # Safety
    /// The context must be retained.
    unsafe fn context_set_current(&self, context: Option<Self::Context>) -> Result<(), CallError>;

    /// Releases what [`Driver::context_retain`] retained.
    ///
    /// # Errors
    /// The call that failed.
    ///
    /// # Safety
    /// Once for each time it was retained; nothing that was made in the context is used after.
    unsafe fn context_release(&self, device: Self::Device) -> Result<(), CallError>;

    /// Free and total memory of the current device.
    ///
    /// # Errors
    /// The call that failed.
    fn memory_info(&self) -> Result<MemoryInfo, CallError>;

    /// Allocates device memory; what is in it is not defined.
    ///
    /// # Errors
    /// The call that failed.
    fn mem_alloc(&self, len: usize) -> Result<Self::Address, CallError>;

    /// Frees device memory.
    ///
    /// # Errors
    /// The call that failed.
    ///
    /// # Safety
    /// `address` came from [`Driver::mem_alloc`] and is freed once.
    unsafe fn mem_free(&self, address: Self::Address) -> Result<(), CallError>;

    /// The address so many bytes after this one.
    fn offset(address: Self::Address, bytes: usize) -> Self::Address;

    /// Allocates host memory that is pinned for every device and not write-combined, by the calling thread's
    /// memory policy.
    ///
    /// # Errors
    /// The call that failed.
    fn host_alloc(&self, len: usize) -> Result<*mut c_void, CallError>;

    /// Frees pinned host memory.
    ///
    /// # Errors
    /// The call that failed.
    ///
    /// # Safety
    /// `address` came from [`Driver::host_alloc`] and is freed once.
    unsafe fn host_free(&self, address: *mut c_void) -> Result<(), CallError>;

    /// Pins host memory for every device.
    ///
    /// # Errors
    /// The call that failed.
    ///
    /// # Safety
    /// The range must be valid, and must stay until it is unregistered.
    unsafe fn host_register(&self, address: *mut c_void, len: usize) -> Result<(), CallError>;

    /// Unpins host memory.
    ///
    /// # Errors
    /// The call that failed.
    ///
    /// # Safety
    /// `address` is registered, and no copy of it is queued.
    unsafe fn host_unregister(&self, address: *mut c_void) -> Result<(), CallError>;

    /// Whether pages of memory of this kind, managed or system, migrate on touch, and host and device may
    /// touch them concurrently.
    ///
    /// # Errors
    /// Why not.
    fn can_move(&self, device: Self::Device, kind: MemoryKind) -> Result<(), String>;

    /// Allocates memory whose pages go to whoever touches them, under one address for host and devices.
    ///
    /// # Errors
    /// The call that failed.
    fn managed_alloc(&self, len: usize) -> Result<*mut c_void, CallError>;

    /// Frees such memory.
    ///
    /// # Errors
    /// The call that failed.
    ///
    /// # Safety
    /// `address` came from [`Driver::managed_alloc`], is freed once, and nothing that is queued uses it.
    unsafe fn managed_free(&self, address: *mut c_void) -> Result<(), CallError>;

    /// Queues that pages go to a device, or to the host.
    ///
    /// # Errors
    /// The call that failed.
    ///
    /// # Safety
    /// The range is of memory that moves, and lives until the stream has been waited for; the stream is live.
    unsafe fn prefetch_async(
        &self,
        range: (*mut c_void, usize),
        to: Option<Self::Device>,
        stream: Self::Stream,
    ) -> Result<(), CallError>;

    /// Copies to the device, blocking, as the driver defines it.
    ///
    /// # Errors
    /// The call that failed.
    ///
    /// # Safety
    /// `from` must be valid to read for `len` bytes.
    unsafe fn copy_h2d(&self, to: Self::Address, from: *const c_void, len: usize) -> Result<(), CallError>;

    /// Copies from the device, blocking.
    ///
    /// # Errors
    /// The call that failed.
    ///
    /// # Safety
    /// `to` must be valid to write for `len` bytes.
    unsafe fn copy_d2h(&self, to: *mut c_void, from: Self::Address, len: usize) -> Result<(), CallError>;

    /// Queues a copy to the device.
    ///
    /// # Errors
    /// The call that failed.
    ///
    /// # Safety
    /// As [`Driver::copy_h2d`], until the stream has been waited for; both ranges and the stream live until
    /// then.
    unsafe fn copy_h2d_async(
        &self,
        to: Self::Address,
        from: *const c_void,
        len: usize,
        stream: Self::Stream,
    ) -> Result<(), CallError>;

    /// Queues a copy from the device.
    ///
    /// # Errors
    /// The call that failed.
    ///
    /// # Safety
    /// As [`Driver::copy_d2h`], until the stream has been waited for; both ranges and the stream live until
    /// then.
    unsafe fn copy_d2h_async(
        &self,
        to: *mut c_void,
        from: Self::Address,
        len: usize,
        stream: Self::Stream,
    ) -> Result<(), CallError>;

    /// Whether the driver has a call that queues many copies.
    ///
    /// # Errors
    /// Why not.
    fn can_batch(&self) -> Result<(), String>;

    /// Queues copies between pinned host memory and the device, in no order, by one call: `to[i]` gets what
    /// is at `from[i]`.
    ///
    /// # Errors
    /// The call that failed.
    ///
    /// # Safety
    /// As [`Driver::copy_h2d_async`] or [`Driver::copy_d2h_async`] for each of them, and
    /// [`Driver::can_batch`].
    unsafe fn copy_batch_async(&self, batch: &mut CopyBatch, stream: Self::Stream) -> Result<(), CallError>;

    /// A stream without implicit order with the default stream, on which blocking copies run.
    ///
    /// # Errors
    /// The call that failed.
    fn stream_create(&self) -> Result<Self::Stream, CallError>;

    /// Destroys a stream; work that is queued goes on.
    ///
    /// # Errors
    /// The call that failed.
    ///
    /// # Safety
    /// `stream` is live, and destroyed once.
    unsafe fn stream_destroy(&self, stream: Self::Stream) -> Result<(), CallError>;

    /// Waits for everything queued on the stream.
    ///
    /// # Errors
    /// The call that failed, or an earlier asynchronous fault.
    ///
    /// # Safety
    /// `stream` is live.
    unsafe fn stream_synchronize(&self, stream: Self::Stream) -> Result<(), CallError>;

    /// Whether everything queued on the stream has ended.
    ///
    /// # Errors
    /// The call that failed, or an earlier asynchronous fault.
    ///
    /// # Safety
    /// `stream` is live.
    unsafe fn stream_query(&self, stream: Self::Stream) -> Result<bool, CallError>;

    /// Lets what is queued on the stream from here on wait for what was recorded last.
    ///
    /// # Errors
    /// The call that failed.
    ///
    /// # Safety
    /// Both are live, of one context.
    unsafe fn stream_wait_event(&self, stream: Self::Stream, event: Self::Event) -> Result<(), CallError>;

    /// An event with time stamps.
    ///
    /// # Errors
    /// The call that failed.
    fn event_create(&self) -> Result<Self::Event, CallError>;

    /// Destroys an event; a record that is queued goes on.
    ///
    /// # Errors
    /// The call that failed.
    ///
    /// # Safety
    /// `event` is live, and destroyed once.
    unsafe fn event_destroy(&self, event: Self::Event) -> Result<(), CallError>;

    /// Queues the event's time stamp.
    ///
    /// # Errors
    /// The call that failed.
    ///
    /// # Safety
    /// Both are live, of one context.
    unsafe fn event_record(&self, event: Self::Event, stream: Self::Stream) -> Result<(), CallError>;

    /// Whether the event, which must have been recorded, has been reached.
    ///
    /// # Errors
    /// The call that failed, or an earlier asynchronous fault.
    ///
    /// # Safety
    /// `event` is live.
    unsafe fn event_query(&self, event: Self::Event) -> Result<bool, CallError>;

    /// Milliseconds between two events that were reached.
    ///
    /// # Errors
    /// The call that failed.
    ///
    /// # Safety
    /// Both are live, of one context.
    unsafe fn event_elapsed_ms(&self, start: Self::Event, end: Self::Event) -> Result<f32, CallError>;

    /// Two 32-bit words of host memory, aligned, that the device reads (by the address beside them) while the
    /// host writes.
    ///
    /// # Errors
    /// [`DeviceError::MissingSymbol`], [`DeviceError::Unsupported`], or the call that failed.
    fn words_alloc(&self) -> Result<(*mut c_void, Self::Address), DeviceError>;

    /// Frees such words.
    ///
    /// # Errors
    /// The call that failed.
    ///
    /// # Safety
    /// They came from [`Driver::words_alloc`], nobody waits for them, and they are freed once.
    unsafe fn words_free(&self, words: *mut c_void) -> Result<(), CallError>;

    /// Whether the device says that streams can wait for a word; the reason if not. Where it does not say, it
    /// is to be tried.
    ///
    /// # Errors
    /// Why not.
    fn stream_can_wait(&self, device: Self::Device) -> Result<(), String>;

    /// Queues a wait until the first word is at least `value`.
    ///
    /// # Errors
    /// [`DeviceError::MissingSymbol`], or the call that failed.
    ///
    /// # Safety
    /// The stream is live, and the words outlive the wait.
    unsafe fn stream_wait_word(
        &self,
        stream: Self::Stream,
        words: Self::Address,
        value: u32,
    ) -> Result<(), DeviceError>;

    /// Loads the kernel that waits as [`Driver::stream_wait_word`] does, by spinning.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] where there is none, or the call that failed.
    fn spin_kernel_load(&self) -> Result<Self::SpinKernel, DeviceError>;

    /// Queues that kernel: it ends when the first word is at least `value`, or after `limit_ns`, and then
    /// leaves `value` in the second word.
    ///
    /// # Errors
    /// The call that failed.
    ///
    /// # Safety
    /// As [`Driver::stream_wait_word`]; the kernel was loaded in this context.
    unsafe fn spin_kernel_launch(
        &self,
        kernel: &Self::SpinKernel,
        stream: Self::Stream,
        words: Self::Address,
        value: u32,
        limit_ns: u64,
    ) -> Result<(), CallError>;

    /// Unloads the kernel.
    ///
    /// # Errors
    /// The call that failed.
    ///
    /// # Safety
    /// Once, in the context it was loaded in, and nothing of it runs any more.
    unsafe fn spin_kernel_unload(&self, kernel: &Self::SpinKernel) -> Result<(), CallError>;

    /// The address as a kernel's parameter.
    fn word(address: Self::Address) -> u64;

    /// The address by which the device of the current context reaches pinned host memory.
    ///
    /// # Errors
    /// The call that failed.
    ///
    /// # Safety
    /// `address` is in memory of [`Driver::host_alloc`] or [`Driver::host_register`] that lives.
    unsafe fn host_on_device(&self, address: *mut c_void) -> Result<Self::Address, CallError>;

    /// Whether a device can reach another one's memory.
    ///
    /// # Errors
    /// The call that failed.
    fn can_reach(&self, device: Self::Device, other: Self::Device) -> Result<bool, CallError>;

    /// Lets the current context's device reach the memory of the other device's context. What is enabled
    /// already is no failure.
    ///
    /// # Errors
    /// The call that failed.
    ///
    /// # Safety
    /// The other context is retained.
    unsafe fn enable_reach(&self, other: Self::Context) -> Result<(), CallError>;

    /// Queues a copy between the memories of two contexts' devices, which may be one, on a stream of one of
    /// them.
    ///
    /// # Errors
    /// The call that failed.
    ///
    /// # Safety
    /// Both areas have so many bytes, and live until the stream, which is of the current context, has been
    /// waited for.
    unsafe fn copy_peer_async(
        &self,
        to: (Self::Address, Self::Context),
        from: (Self::Address, Self::Context),
        len: usize,
        stream: Self::Stream,
    ) -> Result<(), CallError>;

    /// Loads the kernels.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] where there are none, or the call that failed.
    fn kernels_load(&self) -> Result<Self::Kernels, DeviceError>;

    /// Queues one for about `threads` threads, on a stream, or on the default one, where blocking copies come
    /// after it.
    ///
    /// # Errors
    /// The call that failed.
    ///
    /// # Safety
    /// The parameters are the kernel's (see [`DriverKernel`]) and what they address lives until the kernel
    /// has been waited for; the kernels were loaded in this context, and the stream is of it.
    unsafe fn kernel_launch(
        &self,
        kernels: &Self::Kernels,
        kernel: DriverKernel,
        threads: u64,
        stream: Option<Self::Stream>,
        parameters: &mut [u64],
    ) -> Result<(), CallError>;

    /// Unloads them.
    ///
    /// # Errors
    /// The call that failed.
    ///
    /// # Safety
    /// As [`Driver::spin_kernel_unload`].
    unsafe fn kernels_unload(&self, kernels: &Self::Kernels) -> Result<(), CallError>;

    /// Loads a program for the device of the current context.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] where it cannot be compiled for this device, or the call that failed.
    fn program_load(
        &self,
        device: Self::Device,
        program: &KernelModule,
    ) -> Result<Self::Program, DeviceError>;

    /// Queues one of its kernels, by its number, on a stream.
    ///
    /// # Errors
    /// The call that failed.
    ///
    /// # Safety
    /// As [`Driver::kernel_launch`]: the parameters are the kernel's.
    unsafe fn program_launch(
        &self,
        program: &Self::Program,
        kernel: usize,
        grid: LaunchGrid,
        stream: Self::Stream,
        parameters: &mut [u64],
    ) -> Result<(), CallError>;

    /// Unloads it.
    ///
    /// # Errors
    /// The call that failed.
    ///
    /// # Safety
    /// As [`Driver::spin_kernel_unload`].
    unsafe fn program_unload(&self, program: &Self::Program) -> Result<(), CallError>;
}
