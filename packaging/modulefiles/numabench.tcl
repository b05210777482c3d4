#%Module1.0
# numabench for Environment Modules. It finds the release by its own place (…/share/modulefiles/numabench/VERSION), so the whole folder can be
# moved. Lmod takes the .lua file beside it.
proc ModulesHelp { } {
    puts stderr "numabench shows which CPUs, memory and GPUs of a node belong together, measures copies between them, and places ranks."
    puts stderr "man numabench; numabench --help; job scripts are in share/numabench/jobs."
}
module-whatis "CPU, memory and GPU locality of a node: shown, measured, applied"

set root [file dirname [file dirname [file dirname [file dirname [file normalize $ModulesCurrentModulefile]]]]]
conflict numabench
prepend-path PATH $root/bin
prepend-path MANPATH $root/share/man
# An empty element keeps the system's own pages where MANPATH was not set.
append-path MANPATH ""
setenv NUMABENCH_JOBS $root/share/numabench/jobs
