#!/bin/bash
#SBATCH --job-name=holdfast
#SBATCH --array=1-@PARTS@
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=holdfast-%A_%a.log
# `holdfast @COMMAND@` in @PARTS@ parts, an element of the array each, and a job after them that merges what they found:
#
#   bash job.sh      submits both; `sbatch job.sh` submits the parts alone
#   holdfast plan --status @OUT@
#
# An element that ends without a verdict goes back into the queue, @RETRIES@ times at most, and goes on where it stopped.
#
# What clusters differ in comes from the environment of the submission:
#
#   HOLDFAST               the program [holdfast]
#   HOLDFAST_OUT           the parts' folder, which every node sees [@OUT@]
#   HOLDFAST_REPORT        the report's folder [@REPORT@]
#   HOLDFAST_SETUP         a file to source first
#   HOLDFAST_MODULES       modules to load, as "gcc/13 cuda/13.0"
#   HOLDFAST_CUDA_ARCH     what kernels are compiled for, as sm_90
#   HOLDFAST_SBATCH        options of the parts, as "--partition=gpu --gres=gpu:1 --cpus-per-task=8 --time=2:00:00"
#   HOLDFAST_SBATCH_MERGE  options of the job that merges, as "--partition=cpu --mem=8G"
set -euo pipefail

holdfast=${HOLDFAST:-holdfast}
out=${HOLDFAST_OUT:-@OUT@}
report=${HOLDFAST_REPORT:-@REPORT@}

if [ -z "${SLURM_JOB_ID:-}" ]; then
  # Several words each.
  # shellcheck disable=SC2086
  parts=$(sbatch --parsable ${HOLDFAST_SBATCH:-} "$0")
  # shellcheck disable=SC2086
  merge=$(sbatch --parsable --array=0 --dependency="afterany:${parts%%;*}" ${HOLDFAST_SBATCH_MERGE:-} "$0")
  echo "submitted the parts as ${parts%%;*}, their merging as ${merge%%;*}"
  exit
fi

# Neither is written for a strict shell.
set +eu
# shellcheck disable=SC1090
[ -z "$HOLDFAST_SETUP" ] || source "$HOLDFAST_SETUP"
# shellcheck disable=SC2086
[ -z "$HOLDFAST_MODULES" ] || module load $HOLDFAST_MODULES
set -eu
export RAYON_NUM_THREADS=${SLURM_CPUS_PER_TASK:-1}

if [ "$SLURM_ARRAY_TASK_ID" = 0 ]; then
  exec "$holdfast" merge "$out" --out "$report"
fi

status=0
"$holdfast" @COMMAND@ @OPTIONS@--partition "$SLURM_ARRAY_TASK_ID/@PARTS@" --out "$out" || status=$?
# 0 and 1 are verdicts.
[ "$status" -gt 1 ] || exit 0
if [ "${SLURM_RESTART_COUNT:-0}" -lt @RETRIES@ ]; then
  echo "part $SLURM_ARRAY_TASK_ID ended with status $status: back into the queue" >&2
  scontrol requeue "${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID"
  # Slurm ends this script when it puts it back.
  sleep 60
fi
exit "$status"
