# Copyright the numabench developers. SPDX-License-Identifier: (Apache-2.0 OR MIT)
import os

from spack_repo.builtin.build_systems.cargo import CargoPackage

from spack.package import *


class Numabench(CargoPackage):
    """Shows which CPUs, memory and GPUs of a node belong together, measures copies between them with proven placement, and places ranks.
    GPU drivers are opened at run time: there is no dependency on CUDA or ROCm."""

    homepage = "file://README.md"
    # The source archive in the current folder: git archive --prefix=numabench-0.3.0/ -o numabench-0.3.0.tar.gz HEAD
    url = "file://{0}/numabench-0.3.0.tar.gz".format(os.getcwd())
    manual_download = True

    license("Apache-2.0 OR MIT")

    # Whoever makes the archive fills in its sum; until then: spack install --no-checksum.
    version("0.3.0")

    variant("mpi", default=False, description="Build the plug-in by which ranks are MPI processes")

    depends_on("c", type="build")
    depends_on("rust@1.89:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("hwloc@2.4:2", type=("build", "link"))
    # hwlocality's build asks pkg-config for all that hwloc was built with.
    depends_on("libpciaccess", type="build", when="^hwloc+pci")
    depends_on("mpi", when="+mpi")
    # bindgen reads mpi.h.
    depends_on("llvm+clang", type="build", when="+mpi")

    @property
    def build_directory(self):
        return join_path(self.stage.source_path, "crates", "numabench")

    @run_after("install")
    def pages(self):
        numabench = Executable(self.prefix.bin.numabench)
        numabench("man", "--dir", self.prefix.share.man.man1)
        for shell, folder, name in (
            ("bash", "bash-completion/completions", "numabench"),
            ("zsh", "zsh/site-functions", "_numabench"),
            ("fish", "fish/vendor_completions.d", "numabench.fish"),
        ):
            mkdirp(join_path(self.prefix.share, folder))
            with open(join_path(self.prefix.share, folder, name), "w") as script:
                numabench("completions", shell, output=script)

    @run_after("install")
    def witness_hook(self):
        with working_dir(self.stage.source_path):
            which("cargo", required=True)("build", "--locked", "--release", "--package", "numabench-witness-hook")
            mkdirp(self.prefix.lib.numabench)
            install("target/release/libnumabench_witness.so", self.prefix.lib.numabench)

    @run_after("install", when="+mpi")
    def plugin(self):
        with working_dir(self.stage.source_path):
            cargo = which("cargo", required=True)
            cargo.add_default_env("MPICC", self.spec["mpi"].mpicc)
            cargo.add_default_env("LIBCLANG_PATH", self.spec["llvm"].prefix.lib)
            mkdirp(self.prefix.lib)
            cargo("xtask", "mpi-plugin", "--out", self.prefix.lib.join("libnumabench_mpi.so"))

    def test_topo(self):
        """the machine can be read"""
        numabench = which(self.prefix.bin.numabench, required=True)
        numabench("--version", "--verbose")
        numabench("topo")
