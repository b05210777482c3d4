-- numabench for Lmod. It finds the release by its own place (…/share/modulefiles/numabench/VERSION.lua), so the whole folder can be moved.
help([[numabench shows which CPUs, memory and GPUs of a node belong together, measures copies between them, and places ranks.
man numabench; numabench --help; job scripts are in share/numabench/jobs.]])
whatis("Name: numabench")
whatis("Version: " .. myModuleVersion())
whatis("Description: CPU, memory and GPU locality of a node: shown, measured, applied")

local root = myFileName():match("^(.*)/share/modulefiles/[^/]+/[^/]+$")
conflict("numabench")
prepend_path("PATH", pathJoin(root, "bin"))
prepend_path("MANPATH", pathJoin(root, "share/man"))
-- An empty element keeps the system's own pages where MANPATH was not set.
append_path("MANPATH", "")
setenv("NUMABENCH_JOBS", pathJoin(root, "share/numabench/jobs"))
