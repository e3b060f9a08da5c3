"""Search and save under ``mpiexec -n 3 python -m mpi4py.futures on_mpi.py FOLDER FILE``."""

import sys

import numpy as np
from evaluations import Evaluation
from mpi4py.futures import MPIPoolExecutor

from skgpb import GPUCBOptimizer

if __name__ == "__main__":
    folder, path = sys.argv[1:]
    optimizer = GPUCBOptimizer(arms=np.linspace(0.0, 1.0, 30)[:, None], random_state=0)
    with MPIPoolExecutor() as executor:
        optimizer.run(Evaluation(folder, 2), 20, executor=executor, checkpoint=path)
