//! A stand-in for Cray's library between MPI and a GPU: that it is in the process is all that is looked for.

#[unsafe(no_mangle)]
extern "C" fn numabench_stand_in_gtl() {}
