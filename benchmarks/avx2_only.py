"""Runs a command whose libraries are told that the processor has AVX2 and no AVX-512.

    python -m benchmarks.avx2_only FLAMBEAU_CPU=x86-64-v3 python -m benchmarks.full_size

ONNX Runtime has no switch for its instructions: it asks the processor. Linux can have that question (`cpuid`) fault, on
processors that support it (`arch_prctl(2)`, ARCH_SET_CPUID; `cpuid_fault` in /proc/cpuinfo), and what is preloaded here
answers it without AVX-512, AVX-VNNI and AMX. Needs a C compiler, and Linux on x86-64.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

SOURCE: Final = r"""
#define _GNU_SOURCE
#include <cpuid.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum { ARCH_SET_CPUID = 0x1012 };

static void answer(int signal_number, siginfo_t *info, void *context) {
  greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
  const unsigned char *at = (const unsigned char *)r[REG_RIP];
  (void)info;
  if (at[0] != 0x0f || at[1] != 0xa2) { signal(signal_number, SIG_DFL); return; }
  unsigned a, b, c, d, leaf = r[REG_RAX], part = r[REG_RCX];
  syscall(SYS_arch_prctl, ARCH_SET_CPUID, 1);
  __cpuid_count(leaf, part, a, b, c, d);
  syscall(SYS_arch_prctl, ARCH_SET_CPUID, 0);
  if (leaf == 7 && part == 0) {
    b &= ~0xdc230000u; /* AVX512 F, DQ, IFMA, PF, ER, CD, BW, VL */
    c &= ~0x00005842u; /* VBMI, VBMI2, VNNI, BITALG, VPOPCNTDQ */
    d &= ~0x03c0010cu; /* 4VNNIW, 4FMAPS, VP2INTERSECT, AMX, FP16 */
  }
  if (leaf == 7 && part == 1) { a &= ~0x00200030u; d = 0; } /* AVX-VNNI, BF16, AMX-FP16, AVX10 */
  r[REG_RAX] = a; r[REG_RBX] = b; r[REG_RCX] = c; r[REG_RDX] = d;
  r[REG_RIP] += 2;
}

__attribute__((constructor)) static void begin(void) {
  struct sigaction action = {0};
  action.sa_sigaction = answer;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGSEGV, &action, 0);
  if (syscall(SYS_arch_prctl, ARCH_SET_CPUID, 0)) _exit(78);
}
"""
UNSUPPORTED: Final = 78
"""The exit status of a process on a processor, or a system, whose `cpuid` cannot fault."""


def preloaded(folder: Path) -> Path:
    """The shared library, compiled into a folder. Raises FileNotFoundError without a C compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        raise FileNotFoundError("expected a C compiler named cc on the path")
    library = folder / "avx2_only.so"
    command = [compiler, "-O1", "-shared", "-fPIC", "-x", "c", "-", "-o", str(library)]
    subprocess.run(command, input=SOURCE, text=True, check=True)
    return library


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; its exit status. Words with `=` in front of it are its environment."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    environment = dict(os.environ)
    while words and "=" in words[0]:
        name, _, value = words.pop(0).partition("=")
        environment[name] = value
    if not words:
        print(__doc__)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        environment["LD_PRELOAD"] = str(preloaded(Path(folder)))
        status = subprocess.run(words, env=environment, check=False).returncode
    if status == UNSUPPORTED:
        print("this processor, or its system, cannot have cpuid answered otherwise", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
