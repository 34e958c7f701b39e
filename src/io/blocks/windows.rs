//! Windows: handles without buffering (FILE_FLAG_NO_BUFFERING), and the alignment for reads and writes with
//! them.

use super::{Access, Alignment, DirectAccess, File, IoSliceMut, Range, Result, PAGE};
use std::os::windows::fs::FileExt;
use std::os::windows::io::{AsRawHandle, FromRawHandle};
use windows_sys::Win32::Foundation::{
    ERROR_CALL_NOT_IMPLEMENTED, ERROR_INVALID_FUNCTION, ERROR_INVALID_PARAMETER, ERROR_NOACCESS,
    ERROR_NOT_SUPPORTED, ERROR_OFFSET_ALIGNMENT_VIOLATION, GENERIC_READ, GENERIC_WRITE, INVALID_HANDLE_VALUE,
};
use windows_sys::Win32::Storage::FileSystem::{
    FileAllocationInfo, FileStorageInfo, GetFileInformationByHandle, GetFileInformationByHandleEx,
    ReOpenFile, SetFileInformationByHandle, BY_HANDLE_FILE_INFORMATION, FILE_ALLOCATION_INFO,
    FILE_FLAG_NO_BUFFERING, FILE_SHARE_DELETE, FILE_SHARE_READ, FILE_SHARE_WRITE, FILE_STORAGE_INFO,
};

/// The larger of the logical and the physical sector size. It is at least a page, so that it does not matter
/// how a device defines its sectors.
pub fn direct_access(file: &File) -> DirectAccess {
    let mut info = FILE_STORAGE_INFO::default();
    let size = size_of::<FILE_STORAGE_INFO>() as u32;
    let place = (&raw mut info).cast();
    // SAFETY: the handle is open, and the struct has the given size and only integers.
    match unsafe { GetFileInformationByHandleEx(file.as_raw_handle(), FileStorageInfo, place, size) } {
        0 => DirectAccess::Unknown,
        _ => access_of(&info),
    }
}

fn access_of(info: &FILE_STORAGE_INFO) -> DirectAccess {
    let sector = info
        .LogicalBytesPerSector
        .max(info.PhysicalBytesPerSectorForAtomicity)
        .max(info.FileSystemEffectivePhysicalBytesPerSectorForAtomicity);
    match usize::try_from(sector) {
        Ok(0) | Err(_) => DirectAccess::Unknown,
        Ok(sector) if sector.is_power_of_two() => {
            let unit = sector.max(PAGE);
            DirectAccess::Aligned(Alignment { memory: unit, offset: unit as u64 })
        }
        Ok(_) => DirectAccess::No,
    }
}

/// Uses the handle, so it opens the same file even if its path refers to another one now. `None` also if the
/// file was opened without sharing.
pub fn reopen(file: &File, access: Access) -> Result<Option<File>> {
    let rights = match access {
        Access::Read => GENERIC_READ,
        Access::Write | Access::CreateNew | Access::CreatePrivate => GENERIC_WRITE,
        Access::ReadWrite => GENERIC_READ | GENERIC_WRITE,
    };
    let shared = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
    // SAFETY: a handle that is open, and numbers.
    let opened = unsafe { ReOpenFile(file.as_raw_handle(), rights, shared, FILE_FLAG_NO_BUFFERING) };
    if opened.is_null() || opened == INVALID_HANDLE_VALUE {
        return Ok(None);
    }
    // SAFETY: it was just opened, and nothing else owns it.
    let opened = unsafe { File::from_raw_handle(opened) };
    // Wine opens the file that has the name now.
    let same = identity(file).is_some_and(|wanted| identity(&opened) == Some(wanted));
    Ok(same.then_some(opened))
}

/// The volume, and the file's number on it; `None` if the system does not say.
fn identity(file: &File) -> Option<(u32, u32, u32)> {
    let mut info = BY_HANDLE_FILE_INFORMATION::default();
    // SAFETY: the handle is open, and the struct of integers is local.
    let done = unsafe { GetFileInformationByHandle(file.as_raw_handle(), &raw mut info) } != 0;
    done.then_some((info.dwVolumeSerialNumber, info.nFileIndexHigh, info.nFileIndexLow))
}

/// Allocates space on the disk without making the file longer. Space after its end is released when it is
/// closed.
pub fn allocate(file: &File, range: &Range<u64>) -> bool {
    // Allocating less than the file's size would cut it.
    if file.metadata().map_or(true, |meta| meta.len() > range.end) {
        return false;
    }
    let Ok(end) = i64::try_from(range.end) else { return false };
    let info = FILE_ALLOCATION_INFO { AllocationSize: end };
    let size = size_of::<FILE_ALLOCATION_INFO>() as u32;
    let place = (&raw const info).cast();
    // SAFETY: the handle is open, and the struct has the given size.
    unsafe { SetFileInformationByHandle(file.as_raw_handle(), FileAllocationInfo, place, size) != 0 }
}

pub fn write_at(file: &File, bytes: &[u8], at: u64) -> std::io::Result<usize> {
    file.seek_write(bytes, at)
}

/// ReadFileScatter only fills whole pages, and needs a handle that was opened for it.
pub fn read_scattered_at(_: &File, _: &mut [IoSliceMut<'_>], _at: u64) -> std::io::Result<usize> {
    Err(std::io::ErrorKind::Unsupported.into())
}

/// Whether the error means that the device or file system does not accept such a write, or not from this
/// memory.
pub fn is_refusal(error: &std::io::Error) -> bool {
    const REFUSALS: [u32; 6] = [
        ERROR_CALL_NOT_IMPLEMENTED,
        ERROR_INVALID_FUNCTION,
        ERROR_INVALID_PARAMETER,
        ERROR_NOACCESS,
        ERROR_NOT_SUPPORTED,
        ERROR_OFFSET_ALIGNMENT_VIOLATION,
    ];
    error.raw_os_error().is_some_and(|number| REFUSALS.contains(&(number as u32)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::OpenOptions;

    #[repr(align(4096))]
    struct Blocks([u8; 8192]);

    /// A file with these bytes, and its path.
    fn file_of(name: &str, bytes: &[u8]) -> (File, std::path::PathBuf) {
        let path = std::env::temp_dir().join(format!("ztensor-{name}-{}", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        (OpenOptions::new().read(true).write(true).open(&path).unwrap(), path)
    }

    #[test]
    fn the_larger_sector_counts_and_a_page_at_least() {
        let of = |logical, physical, effective| {
            access_of(&FILE_STORAGE_INFO {
                LogicalBytesPerSector: logical,
                PhysicalBytesPerSectorForAtomicity: physical,
                FileSystemEffectivePhysicalBytesPerSectorForAtomicity: effective,
                ..FILE_STORAGE_INFO::default()
            })
        };
        let aligned = |unit: usize| DirectAccess::Aligned(Alignment { memory: unit, offset: unit as u64 });
        assert_eq!(of(512, 512, 512), aligned(4096));
        assert_eq!(of(512, 4096, 4096), aligned(4096));
        assert_eq!(of(512, 16384, 4096), aligned(16384));
        assert_eq!(of(8192, 0, 0), aligned(8192));
        assert_eq!(of(0, 0, 0), DirectAccess::Unknown);
        assert_eq!(of(512, 4095, 0), DirectAccess::No);
    }

    #[test]
    fn a_second_handle_is_on_the_same_file_even_when_its_name_is_anothers() {
        let (file, path) = file_of("reopened", &[7; 8192]);
        let access = direct_access(&file);
        println!("{access:?}");
        assert!(access.alignment().is_some_and(|a| a.offset >= 4096 && a.memory >= 4096));
        let moved = path.with_extension("moved");
        for byte in [7, 0] {
            let (Some(reading), Some(writing)) =
                (reopen(&file, Access::Read).unwrap(), reopen(&file, Access::Write).unwrap())
            else {
                println!("blocks: skipped: no second handle here, byte {byte}");
                break;
            };
            let mut memory = Box::new(Blocks([1; 8192]));
            assert_eq!(reading.seek_read(&mut memory.0, 0).unwrap(), 8192);
            assert!(memory.0.iter().all(|there| *there == byte));
            memory.0.fill(0);
            assert_eq!(write_at(&writing, &memory.0, 0).unwrap(), 8192);
            assert!(writing.seek_read(&mut memory.0[..4096], 0).is_err(), "for writing alone");
            assert!(write_at(&reading, &memory.0[..4096], 0).is_err(), "for reading alone");
            if byte == 7 {
                std::fs::rename(&path, &moved).unwrap();
                std::fs::write(&path, [8; 8192]).unwrap();
            }
        }
        assert!([[7; 8192], [8; 8192]].iter().any(|bytes| std::fs::read(&path).unwrap() == bytes));
        drop(file);
        std::fs::remove_file(&path).unwrap();
        std::fs::remove_file(&moved).ok(); // where it was moved
    }

    #[test]
    fn what_is_allocated_changes_no_byte_and_no_length() {
        let (file, path) = file_of("allocated", &[7; 5000]);
        println!("made: {}", allocate(&file, &(5000..1 << 20)));
        assert!(!allocate(&file, &(0..4999)), "it would cut the file");
        drop(file);
        assert!(std::fs::read(&path).unwrap() == [7; 5000]);
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_refusal_is_no_other_failure() {
        let error = |number: u32| std::io::Error::from_raw_os_error(number as i32);
        assert!(is_refusal(&error(ERROR_INVALID_PARAMETER)));
        assert!(!is_refusal(&error(windows_sys::Win32::Foundation::ERROR_DISK_FULL)));
        assert!(!is_refusal(&std::io::ErrorKind::WriteZero.into()));
    }
}
