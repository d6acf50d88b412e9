#include "shell/system_call_name.h"

#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace heaptape {

namespace {

struct Name {
  std::uint64_t number = 0;
  std::string_view name;
};

constexpr std::array kNames{
    Name{SYS_read, "read"},
    Name{SYS_write, "write"},
    Name{SYS_close, "close"},
    Name{SYS_fstat, "fstat"},
    Name{SYS_poll, "poll"},
    Name{SYS_mmap, "mmap"},
    Name{SYS_mprotect, "mprotect"},
    Name{SYS_munmap, "munmap"},
    Name{SYS_brk, "brk"},
    Name{SYS_ioctl, "ioctl"},
    Name{SYS_pread64, "pread64"},
    Name{SYS_pwrite64, "pwrite64"},
    Name{SYS_readv, "readv"},
    Name{SYS_writev, "writev"},
    Name{SYS_select, "select"},
    Name{SYS_sched_yield, "sched_yield"},
    Name{SYS_mremap, "mremap"},
    Name{SYS_madvise, "madvise"},
    Name{SYS_pause, "pause"},
    Name{SYS_nanosleep, "nanosleep"},
    Name{SYS_sendfile, "sendfile"},
    Name{SYS_connect, "connect"},
    Name{SYS_accept, "accept"},
    Name{SYS_sendto, "sendto"},
    Name{SYS_recvfrom, "recvfrom"},
    Name{SYS_sendmsg, "sendmsg"},
    Name{SYS_recvmsg, "recvmsg"},
    Name{SYS_clone, "clone"},
    Name{SYS_fork, "fork"},
    Name{SYS_vfork, "vfork"},
    Name{SYS_execve, "execve"},
    Name{SYS_wait4, "wait4"},
    Name{SYS_semop, "semop"},
    Name{SYS_msgsnd, "msgsnd"},
    Name{SYS_msgrcv, "msgrcv"},
    Name{SYS_fcntl, "fcntl"},
    Name{SYS_flock, "flock"},
    Name{SYS_fsync, "fsync"},
    Name{SYS_fdatasync, "fdatasync"},
    Name{SYS_rt_sigreturn, "rt_sigreturn"},
    Name{SYS_rt_sigsuspend, "rt_sigsuspend"},
    Name{SYS_rt_sigtimedwait, "rt_sigtimedwait"},
    Name{SYS_futex, "futex"},
    Name{SYS_restart_syscall, "restart_syscall"},
    Name{SYS_semtimedop, "semtimedop"},
    Name{SYS_clock_nanosleep, "clock_nanosleep"},
    Name{SYS_exit, "exit"},
    Name{SYS_exit_group, "exit_group"},
    Name{SYS_epoll_wait, "epoll_wait"},
    Name{SYS_tgkill, "tgkill"},
    Name{SYS_mq_timedreceive, "mq_timedreceive"},
    Name{SYS_waitid, "waitid"},
    Name{SYS_openat, "openat"},
    Name{SYS_pselect6, "pselect6"},
    Name{SYS_ppoll, "ppoll"},
    Name{SYS_splice, "splice"},
    Name{SYS_epoll_pwait, "epoll_pwait"},
    Name{SYS_accept4, "accept4"},
    Name{SYS_preadv, "preadv"},
    Name{SYS_recvmmsg, "recvmmsg"},
    Name{SYS_process_vm_readv, "process_vm_readv"},
    Name{SYS_getrandom, "getrandom"},
    Name{SYS_membarrier, "membarrier"},
    Name{SYS_copy_file_range, "copy_file_range"},
    Name{SYS_clone3, "clone3"},
};

} // namespace

std::string system_call_name(std::uint64_t number) {
  const auto found = std::ranges::find(kNames, number, &Name::number);
  return found != kNames.end() ? std::string(found->name) : "system call " + std::to_string(number);
}

} // namespace heaptape
