#!/bin/sh
# A rank of a launch: writes its number, its number on the node and the PUs that the launcher bound it to.
pus=free
[ -r "$TRUTH_FOLDER/$$" ] && read -r pus < "$TRUTH_FOLDER/$$"
echo "${OMPI_COMM_WORLD_RANK-$PMI_RANK} ${OMPI_COMM_WORLD_LOCAL_RANK-$MPI_LOCALRANKID} $pus" >> "$TRUTH_FOLDER/ranks"
