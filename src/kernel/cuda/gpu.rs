//! A GPU, through the CUDA driver. Used by the worker process, and by checks that a sanitizer watches.
//!
//! A fault of a kernel breaks the context for good, and with it everything that this process could do on the GPU:
//! that is why users' cases run in a worker that can be replaced.

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_int, c_uint, c_void};
use std::ptr::null_mut;

use cudarc::driver::sys::{self, CUdevice_attribute, CUfunction_attribute, CUresult};

use super::CudaError;
use super::cache::Image;
use crate::kernel::cpu::ffi::RawJudge;
use crate::kernel::launch::{Device, DeviceError, DeviceInfo, Footprint, Launch, Params, Result};

/// The oldest driver that serves what is used here.
const OLDEST: c_int = 12000;

/// Dynamic shared memory that a kernel may have without asking.
const FREE_SHARED: u32 = 48 * 1024;

/// A visible GPU, with its primary context of this process.
struct Gpu {
    info: DeviceInfo,
    context: sys::CUcontext,
    /// Loaded kernels by image key.
    functions: HashMap<String, sys::CUfunction>,
    allocations: Vec<u64>,
    /// Where a stretch of launches that is timed begins and ends.
    watch: Option<[Event; 2]>,
    threads_of_multiprocessor: u32,
}

// SAFETY: the driver's handles are valid in every thread; one in which the context is not current is told so by every call.
unsafe impl Send for Gpu {}

/// Whether the driver's library can be loaded.
pub fn driver_present() -> Result<(), CudaError> {
    // SAFETY: loads and unloads a library, whose constructors are trusted.
    if unsafe { sys::is_culib_present() } {
        return Ok(());
    }
    Err(CudaError::NoLibrary {
        library: "libcuda",
        hint: "install the NVIDIA driver, or run where there is a GPU",
    })
}

/// Opens the first visible device.
pub fn open() -> Result<Box<dyn Device>, CudaError> {
    Ok(Box::new(Gpu::open(0)?))
}

/// Opens the device of this number for launches beside those of somebody else, in whose context they are: which one is current in this
/// thread does not change.
pub fn open_beside(ordinal: i32) -> Result<Box<dyn Device>, CudaError> {
    driver_present()?;
    let mut before = null_mut();
    // SAFETY: the library is present, the pointer valid. Before anybody has initialized the driver nothing is current.
    let _ = unsafe { sys::cuCtxGetCurrent(&mut before) };
    let gpu = Gpu::open(ordinal)?;
    // SAFETY: what was current before, or null for none.
    check("cuCtxSetCurrent", unsafe { sys::cuCtxSetCurrent(before) })?;
    Ok(Box::new(gpu))
}

impl Gpu {
    fn open(ordinal: c_int) -> Result<Self, CudaError> {
        driver_present()?;
        let mut cuda = 0;
        // SAFETY: the library is present; the pointer is valid; allowed before cuInit.
        check("cuDriverGetVersion", unsafe { sys::cuDriverGetVersion(&mut cuda) })?;
        if cuda < OLDEST {
            let found = format!("{}.{}", cuda / 1000, cuda % 1000 / 10);
            let (library, update) = ("libcuda", "the NVIDIA driver");
            return Err(CudaError::TooOld { library, found, expected: "12.0", update });
        }
        // SAFETY: no arguments to get wrong.
        match unsafe { sys::cuInit(0) } {
            CUresult::CUDA_ERROR_NO_DEVICE => return Err(CudaError::NoDevice),
            status => check("cuInit", status)?,
        }
        let (mut devices, mut device) = (0, 0);
        // SAFETY: initialized; the pointers are valid.
        check("cuDeviceGetCount", unsafe { sys::cuDeviceGetCount(&mut devices) })?;
        if !(0..devices).contains(&ordinal) {
            return Err(CudaError::NoDevice);
        }
        // SAFETY: there is such a device.
        check("cuDeviceGet", unsafe { sys::cuDeviceGet(&mut device, ordinal) })?;
        let mut context = null_mut();
        // SAFETY: the device exists; the primary context lives until the process ends.
        check("cuDevicePrimaryCtxRetain", unsafe { sys::cuDevicePrimaryCtxRetain(&mut context, device) })?;
        // SAFETY: a context that was just retained.
        check("cuCtxSetCurrent", unsafe { sys::cuCtxSetCurrent(context) })?;
        let mut name = [0u8; 256];
        let mut memory = 0;
        // SAFETY: the buffer is as long as announced, the pointer valid.
        check("cuDeviceGetName", unsafe {
            sys::cuDeviceGetName(name.as_mut_ptr().cast(), name.len() as c_int, device)
        })?;
        // SAFETY: the pointer is valid.
        check("cuDeviceTotalMem", unsafe { sys::cuDeviceTotalMem_v2(&mut memory, device) })?;
        let attribute = |which| {
            let mut value = 0;
            // SAFETY: the pointer is valid, the device exists.
            check("cuDeviceGetAttribute", unsafe { sys::cuDeviceGetAttribute(&mut value, which, device) })
                .map(|()| value)
        };
        // Of what no kernel depends on.
        let count = |which| attribute(which).ok().and_then(|value| u32::try_from(value).ok()).unwrap_or(0);
        let info = DeviceInfo {
            name: CStr::from_bytes_until_nul(&name).unwrap_or_default().to_string_lossy().into_owned(),
            major: attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            minor: attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
            memory_bytes: memory as u64,
            driver: driver_version(),
            cuda,
            devices,
            needs_images: true,
            multiprocessors: count(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
            cache_bytes: count(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE).into(),
            clock_khz: count(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE),
        };
        let threads_of_multiprocessor =
            count(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
        let (functions, allocations) = (HashMap::new(), Vec::new());
        Ok(Gpu { info, context, functions, allocations, watch: None, threads_of_multiprocessor })
    }

    fn function(&mut self, image: &Image) -> Result<sys::CUfunction> {
        if let Some(&function) = self.functions.get(&image.key) {
            return Ok(function);
        }
        let symbol = CString::new(image.symbol.as_str()).unwrap_or_default();
        let (mut module, mut function) = (null_mut(), null_mut());
        // SAFETY: a cubin carries its own length; it comes from NVRTC, by way of a checksum. It is copied.
        on_device("cuModuleLoadData", unsafe {
            sys::cuModuleLoadData(&mut module, image.cubin.as_ptr().cast())
        })?;
        // SAFETY: a loaded module, never unloaded; a valid string.
        on_device("cuModuleGetFunction", unsafe {
            sys::cuModuleGetFunction(&mut function, module, symbol.as_ptr())
        })?;
        self.functions.insert(image.key.clone(), function);
        Ok(function)
    }

    /// Asks for the dynamic shared memory of a launch, where it is more than every kernel may have.
    fn allow_shared(&self, function: sys::CUfunction, launch: &Launch, image: &Image) -> Result<()> {
        if launch.shared + image.resources.shared <= FREE_SHARED {
            return Ok(());
        }
        let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: a loaded function.
        on_device("cuFuncSetAttribute", unsafe {
            sys::cuFuncSetAttribute(function, attribute, launch.shared as c_int)
        })
    }

    /// Works with the device's context current in this thread, whichever one is before and after.
    fn inside<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        // SAFETY: the context is retained.
        on_device("cuCtxPushCurrent", unsafe { sys::cuCtxPushCurrent_v2(self.context) })?;
        let worked = work(self);
        // SAFETY: the one that was pushed; the pointer is valid.
        let popped = unsafe { sys::cuCtxPopCurrent_v2(&mut null_mut()) };
        worked.and_then(|value| on_device("cuCtxPopCurrent", popped).map(|()| value))
    }

    /// What a launch takes, its kernel loaded.
    fn taken_by(&mut self, launch: &Launch) -> Result<Footprint> {
        let Some(image) = launch.image else { return Ok(Footprint::default()) };
        let function = self.function(image)?;
        let attribute = |which| {
            let mut value = 0;
            // SAFETY: a loaded function, a valid pointer.
            on_device("cuFuncGetAttribute", unsafe { sys::cuFuncGetAttribute(&mut value, which, function) })
                .map(|()| u32::try_from(value).unwrap_or(0))
        };
        self.allow_shared(function, launch, image)?;
        let mut blocks = 0;
        // SAFETY: a loaded function, a valid pointer.
        on_device("cuOccupancyMaxActiveBlocksPerMultiprocessor", unsafe {
            sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &mut blocks,
                function,
                launch.threads as c_int,
                launch.shared as usize,
            )
        })?;
        Ok(Footprint {
            blocks: launch.blocks,
            threads: launch.threads,
            registers: attribute(CUfunction_attribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
            local_bytes: attribute(CUfunction_attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?,
            shared_bytes: launch.shared + image.resources.shared,
            occupancy: f64::from(blocks) * f64::from(launch.threads)
                / f64::from(self.threads_of_multiprocessor.max(1)),
        })
    }

    /// Null is the default stream.
    fn launch(&mut self, launch: &Launch, stream: sys::CUstream) -> Result<()> {
        let no_image = || DeviceError::Fault("no compiled image came with the kernel".to_owned());
        let image = launch.image.ok_or_else(no_image)?;
        let function = self.function(image)?;
        self.allow_shared(function, launch, image)?;
        let params: *const c_void = match &launch.params {
            Params::Scan(params) => (params as *const _ as *const c_void).cast(),
            Params::Discretize(params) => (params as *const _ as *const c_void).cast(),
            Params::Backward(params) => (params as *const _ as *const c_void).cast(),
            Params::Differentiate(params) => (params as *const _ as *const c_void).cast(),
            Params::Dense(params) => (params as *const _ as *const c_void).cast(),
            Params::Evaluate(params) => (params as *const _ as *const c_void).cast(),
            Params::Function(params) => (params as *const _ as *const c_void).cast(),
            Params::Judge(params) => (*params as *const RawJudge).cast(),
            Params::Measure(params) => (params as *const _ as *const c_void).cast(),
        };
        let mut arguments = [params.cast_mut()];
        // SAFETY: the kernel takes one struct by value, whose layout table.inc asserts; the driver copies it.
        let status = unsafe {
            sys::cuLaunchKernel(
                function,
                launch.blocks as c_uint,
                1,
                1,
                launch.threads as c_uint,
                1,
                1,
                launch.shared as c_uint,
                stream,
                arguments.as_mut_ptr(),
                null_mut(),
            )
        };
        on_device("cuLaunchKernel", status)
    }
}

impl Device for Gpu {
    fn info(&self) -> DeviceInfo {
        self.info.clone()
    }

    fn allocate(&mut self, bytes: usize) -> Result<u64> {
        let mut address = 0;
        // SAFETY: the pointer is valid.
        match unsafe { sys::cuMemAlloc_v2(&mut address, bytes) } {
            CUresult::CUDA_ERROR_OUT_OF_MEMORY => {
                let (mut free, mut total) = (0, 0);
                // SAFETY: the pointers are valid. Where it fails, 0 bytes are reported as free.
                let _ = unsafe { sys::cuMemGetInfo_v2(&mut free, &mut total) };
                Err(DeviceError::OutOfMemory { needed: bytes as u64, free: free as u64 })
            }
            status => {
                on_device("cuMemAlloc", status)?;
                self.allocations.push(address);
                Ok(address)
            }
        }
    }

    fn free_all(&mut self) {
        for address in self.allocations.drain(..) {
            // SAFETY: allocated by `allocate`, freed once.
            let _ = unsafe { sys::cuMemFree_v2(address) };
        }
    }

    fn fill(&mut self, address: u64, byte: u8, len: usize) -> Result<()> {
        // SAFETY: the driver checks addresses.
        on_device("cuMemsetD8", unsafe { sys::cuMemsetD8_v2(address, byte, len) })
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        // SAFETY: the host side is as long as announced, the driver checks the device's.
        on_device("cuMemcpyHtoD", unsafe {
            sys::cuMemcpyHtoD_v2(address, bytes.as_ptr().cast(), bytes.len())
        })
    }

    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        // SAFETY: as for `write`.
        on_device("cuMemcpyDtoH", unsafe {
            sys::cuMemcpyDtoH_v2(bytes.as_mut_ptr().cast(), address, bytes.len())
        })
    }

    fn run(&mut self, launch: &Launch) -> Result<()> {
        self.launch(launch, null_mut())?;
        self.wait()
    }

    fn enqueue(&mut self, launch: &Launch) -> Result<()> {
        self.launch(launch, null_mut())
    }

    fn enqueue_on(&mut self, launch: &Launch, stream: u64) -> Result<()> {
        self.inside(|gpu| gpu.launch(launch, stream as usize as sys::CUstream))
    }

    /// A kernel's faults show here, not at its launch.
    fn wait(&mut self) -> Result<()> {
        // SAFETY: no arguments to get wrong.
        on_device("cuCtxSynchronize", unsafe { sys::cuCtxSynchronize() })
    }

    fn start(&mut self) -> Result<()> {
        // The newer of the two functions that tell the time between events is the only one bound here.
        if self.info.cuda < 12080 {
            let found = format!("CUDA {}.{}", self.info.cuda / 1000, self.info.cuda % 1000 / 10);
            return Err(DeviceError::Fault(format!("the driver serves {found}, timing needs 12.8 or newer")));
        }
        if self.watch.is_none() {
            self.watch = Some([Event::new()?, Event::new()?]);
        }
        self.watch.as_ref().map_or(Ok(()), |[start, _]| start.record())
    }

    fn stop(&mut self) -> Result<Option<f64>> {
        let Some([start, end]) = &self.watch else { return Ok(None) };
        end.record()?;
        end.since(start).map(|milliseconds| Some(f64::from(milliseconds) * 1e-3))
    }

    fn footprint(&mut self, launch: &Launch) -> Result<Footprint> {
        self.inside(|gpu| gpu.taken_by(launch))
    }
}

struct Event(sys::CUevent);

impl Event {
    fn new() -> Result<Self> {
        let mut event = null_mut();
        // SAFETY: the pointer is valid.
        on_device("cuEventCreate", unsafe { sys::cuEventCreate(&mut event, 0) }).map(|()| Event(event))
    }

    fn record(&self) -> Result<()> {
        // SAFETY: a live event, the default stream.
        on_device("cuEventRecord", unsafe { sys::cuEventRecord(self.0, null_mut()) })
    }

    /// Waits for this event; milliseconds since `start`.
    fn since(&self, start: &Event) -> Result<f32> {
        let mut time = 0.0;
        // SAFETY: live events, both recorded.
        on_device("cuEventSynchronize", unsafe { sys::cuEventSynchronize(self.0) })?;
        // SAFETY: as above; the pointer is valid.
        on_device("cuEventElapsedTime", unsafe { sys::cuEventElapsedTime_v2(&mut time, start.0, self.0) })?;
        Ok(time)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: created once, destroyed once.
        let _ = unsafe { sys::cuEventDestroy_v2(self.0) };
    }
}

fn check(call: &'static str, status: CUresult) -> Result<(), CudaError> {
    if status == CUresult::CUDA_SUCCESS {
        return Ok(());
    }
    let (mut name, mut text) = (std::ptr::null(), std::ptr::null());
    // SAFETY: the library is present; the pointers are valid, and null or static strings afterwards.
    unsafe {
        let _ = sys::cuGetErrorName(status, &mut name);
        let _ = sys::cuGetErrorString(status, &mut text);
        let words = |text: *const std::ffi::c_char| match text.is_null() {
            true => format!("status {}", status as u32),
            false => CStr::from_ptr(text).to_string_lossy().into_owned(),
        };
        Err(CudaError::Call { call, name: words(name), text: words(text) })
    }
}

/// After any failed call but an allocation the process gives the device up: most such errors are for good.
fn on_device(call: &'static str, status: CUresult) -> Result<()> {
    check(call, status).map_err(|error| DeviceError::Broken(error.to_string()))
}

/// The version in `/proc/driver/nvidia/version`: "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95  …".
fn driver_version() -> Option<String> {
    let text = std::fs::read_to_string("/proc/driver/nvidia/version").ok()?;
    let line = text.lines().next()?;
    let is_version =
        |word: &&str| word.contains('.') && word.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    line.split_whitespace().find(is_version).map(str::to_owned)
}
