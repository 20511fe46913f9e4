#!/bin/bash
#SBATCH --job-name=wirespeed-groups
#SBATCH --output=%x-%j.out
#SBATCH --time=00:30:00
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --gpus-per-node=4
#SBATCH --cpus-per-task=16
#SBATCH --account=abcd-delta-gpu
#SBATCH --partition=gpuA100x4
#SBATCH --mem=0
#SBATCH --exclusive
#
# Written by: wirespeed script groups --system delta --nodes 2 --group 4 --paths host,aware --account abcd-delta-gpu
# Delta (NCSA, Urbana). A node: 4 x NVIDIA A100, 40 GB; 1 x AMD EPYC 7763, 64 cores.
# --between, the GPU nearest to each rank of a node: GPU 0 has cores 48-63, GPU 1 32-47, GPU 2 16-31, GPU 3 0-15 and the network adapter.

if ! command -v wirespeed > /dev/null; then
    echo "wirespeed is not on PATH: activate its environment first (wirespeed script --setup 'source .../activate')" >&2
    exit 3
fi
results=wirespeed-groups-"${SLURM_JOB_ID:-$$}".jsonl
# Every rank sees all GPUs of its node, as paths that open each other's memory need.
# After the first rank the others have 60 s to end: the code of a rank that srun kills would hide theirs.
start=(srun --nodes=2 --ntasks=8 --ntasks-per-node=4 --cpus-per-task=16 --gpus-per-node=4 --gpu-bind=none --kill-on-bad-exit=0 --wait=60)

# Each path is a job step of its own: one that crashes or hangs costs its own figures alone.
status=0 measured=no
for path in host aware; do
    "${start[@]}" wirespeed groups --group 4 --between 3,2,1,0 --paths "$path" --out "$results" --resume
    code=$?
    case $code in
        0) measured=yes ;;
        3) echo "$path is not available here, and was skipped" >&2 ;;
        *) status=$code ;;
    esac
done
# As wirespeed itself: code 3 if nothing could be measured.
if [ "$status" = 0 ] && [ "$measured" = no ]; then status=3; fi
exit "$status"
